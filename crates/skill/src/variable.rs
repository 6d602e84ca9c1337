//! Names of variables in the context of a run with phases: `VAULT`, `CALENDAR`. Knows no values.

use fugato_model::{Words, words};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// A name of the form `[A-Za-z_][A-Za-z0-9_]*`. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct VarName(Arc<str>);

/// Which rule a variable name breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VarNameError {
    #[error("the name is empty")]
    Empty,
    #[error("the name has {0} characters (limit 64)")]
    TooLong(usize),
    #[error("the name starts with {0:?} (a letter or `_` is expected)")]
    BadStart(char),
    #[error("the name contains {0:?} (only letters A-Z, digits and `_`)")]
    BadCharacter(char),
    /// Set by the run itself.
    #[error("`{0}` is set by the run itself")]
    BuiltIn(String),
    /// Means something else to programs that read the context.
    #[error("`{0}` is reserved")]
    Reserved(String),
}

/// Longer than any real name; prompts and logs show names whole.
const MAX_CHARS: usize = 64;

/// What a property of this name does to an object in JavaScript, which reads our exports.
const RESERVED: [&str; 3] = ["__proto__", "prototype", "constructor"];

impl VarName {
    /// What every run has: the arguments, the day it started, the zone that made it that day, and the day the arguments
    /// speak of.
    pub const BUILT_IN: [&'static str; 4] = ["ARGUMENTS", "TODAY", "TODAY_ZONE", "TARGET_DATE"];

    /// A name as it may be referred to.
    pub fn parse(text: &str) -> Result<Self, VarNameError> {
        let Some(first) = text.chars().next() else { return Err(VarNameError::Empty) };
        if !first.is_ascii_alphabetic() && first != '_' {
            return Err(VarNameError::BadStart(first));
        }
        if let Some(bad) = text.chars().find(|c| !is_name_character(*c)) {
            return Err(VarNameError::BadCharacter(bad));
        }
        if text.len() > MAX_CHARS {
            return Err(VarNameError::TooLong(text.len()));
        }
        Ok(Self(text.into()))
    }

    /// A name as it may be given to an output: not one that has a meaning already.
    pub fn parse_output(text: &str) -> Result<Self, VarNameError> {
        let name = Self::parse(text)?;
        if name.is_built_in() {
            return Err(VarNameError::BuiltIn(text.to_owned()));
        }
        if RESERVED.contains(&text) {
            return Err(VarNameError::Reserved(text.to_owned()));
        }
        Ok(name)
    }

    /// The nearest name that is allowed for an output: `my-result` → `my_result`.
    pub fn suggest(text: &str) -> Option<Self> {
        let clean: String =
            text.trim().chars().map(|c| if is_name_character(c) { c } else { '_' }).take(MAX_CHARS).collect();
        let clean = clean.trim_end_matches('_').trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
        let named = match Self::parse_output(clean) {
            Err(VarNameError::BuiltIn(name) | VarNameError::Reserved(name)) => {
                Self::parse_output(&format!("MY_{name}"))
            }
            other => other,
        };
        named.ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_built_in(&self) -> bool {
        Self::BUILT_IN.contains(&self.as_str())
    }
}

pub(crate) const fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The words of a text that could name a variable, with their offsets, in order; repetitions too.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    // Every byte of a character outside ASCII separates, so a word never cuts one.
    let words = text.as_bytes().split(|byte| !is_name_character(char::from(*byte))).map(move |word| {
        let start = at;
        at += word.len() + 1;
        (start, word.len())
    });
    words
        .filter_map(move |(start, len)| Some((start, text.get(start..start + len)?)))
        .filter(|(_, word)| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

impl VarNameError {
    pub fn words(&self) -> Words {
        match self {
            Self::Empty => words!("the name is empty", "名称是空的"),
            Self::TooLong(found) => {
                words!(
                    "the name has {found} characters (limit {MAX_CHARS})",
                    "名称有 {found} 个字符（上限 {MAX_CHARS}）"
                )
            }
            Self::BadStart(c) => words!(
                "the name starts with {c:?}; a letter A-Z or `_` is expected",
                "名称以 {c:?} 开头；应以英文字母或 `_` 开头"
            ),
            Self::BadCharacter(c) => words!(
                "the name contains {c:?}; only letters A-Z, digits and `_` are accepted",
                "名称含有 {c:?}；只接受英文字母、数字和 `_`"
            ),
            Self::BuiltIn(name) => {
                words!("`{name}` is set by the run itself", "`{name}` 由运行本身设定")
            }
            Self::Reserved(name) => words!("`{name}` is reserved", "`{name}` 是保留名"),
        }
    }
}

impl Borrow<str> for VarName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for VarName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VarName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VarName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0)
    }
}

impl<'de> Deserialize<'de> for VarName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_broken_rule_has_its_error() {
        assert_eq!(VarName::parse(""), Err(VarNameError::Empty));
        assert_eq!(VarName::parse("a-b"), Err(VarNameError::BadCharacter('-')));
        assert_eq!(VarName::parse("2x"), Err(VarNameError::BadStart('2')));
        assert_eq!(VarName::parse("变量"), Err(VarNameError::BadStart('变')));
        assert_eq!(VarName::parse(&"a".repeat(65)), Err(VarNameError::TooLong(65)));
        assert!(VarName::parse("ARGUMENTS").is_ok());
        assert_eq!(VarName::parse_output("ARGUMENTS"), Err(VarNameError::BuiltIn("ARGUMENTS".into())));
        assert_eq!(VarName::parse_output("__proto__"), Err(VarNameError::Reserved("__proto__".into())));
        assert!(VarName::parse_output("_x9").is_ok());
    }

    #[test]
    fn suggestions_are_allowed_names() {
        for (text, suggestion) in [
            ("a-b", "a_b"),
            ("$VAULT", "VAULT"),
            ("2 days", "days"),
            ("TODAY", "MY_TODAY"),
            ("__proto__", "proto"),
        ] {
            assert_eq!(VarName::suggest(text).unwrap().as_str(), suggestion, "{text}");
        }
        assert_eq!(VarName::suggest("变量"), None);
    }

    #[test]
    fn words_that_could_be_names_are_found_with_their_offsets() {
        let text = "技能VAULT, $a_b 2x {{C}}é";
        let found: Vec<_> = identifiers(text).collect();
        assert_eq!(found, [(6, "VAULT"), (14, "a_b"), (23, "C")]);
        assert!(found.iter().all(|(at, word)| text.get(*at..at + word.len()) == Some(word)));
    }

    proptest! {
        #[test]
        fn parsing_is_total_and_suggestions_parse(text in "\\PC{0,70}") {
            if let Ok(name) = VarName::parse(&text) {
                prop_assert_eq!(name.as_str(), text.as_str());
            }
            if let Some(name) = VarName::suggest(&text) {
                prop_assert!(VarName::parse_output(name.as_str()).is_ok());
            }
        }
    }
}
