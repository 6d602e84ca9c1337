//! Identities: names of skills and ids of agents. One canonical form each, checked once at the edge.

use crate::Words;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// The canonical name of a skill: 1–64 characters, NFKC, lower-case letters and digits of any script, single inner
/// hyphens. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct SkillName(Arc<str>);

/// Which rule a skill name breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the name is empty")]
    Empty,
    #[error("the name has {0} characters (limit 64)")]
    TooLong(usize),
    #[error("the name has hidden or non-canonical characters ({0})")]
    NotCanonical(String),
    #[error("the name has upper-case letters")]
    UpperCase,
    #[error("the name starts or ends with a hyphen")]
    OuterHyphen,
    #[error("the name has two hyphens in a row")]
    DoubleHyphen,
    #[error("the name contains {0:?} (only letters, digits and hyphens)")]
    BadCharacter(char),
    #[error("the name is a reserved word")]
    Reserved,
}

impl NameError {
    /// The same sentence in both languages.
    pub fn words(&self) -> Words {
        let zh = match self {
            Self::Empty => "名称为空".to_owned(),
            Self::TooLong(n) => format!("名称有 {n} 个字符（上限 64）"),
            Self::NotCanonical(points) => format!("含有不可见或未规范化的字符（{points}）"),
            Self::UpperCase => "含有大写字母".to_owned(),
            Self::OuterHyphen => "以连字符开头或结尾".to_owned(),
            Self::DoubleHyphen => "含有连续的两个连字符".to_owned(),
            Self::BadCharacter(c) => format!("含有 {c:?}（只允许字母、数字和连字符）"),
            Self::Reserved => "是保留字".to_owned(),
        };
        Words { en: self.to_string(), zh }
    }
}

/// Words with a meaning of their own where a skill name may stand.
pub const RESERVED_NAMES: [&str; 5] = ["all", "none", "+", "*", "-"];

const MAX_NAME_CHARS: usize = 64;

impl SkillName {
    /// Accepts only the canonical form; nothing is folded silently.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        // Nearly every name is plain ASCII: no normalisation tables for those.
        let ascii = text.is_ascii();
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if RESERVED_NAMES.contains(&text) || crate::path::is_device_name(text) || text == "." || text == ".."
        {
            return Err(NameError::Reserved);
        }
        if !ascii && !text.nfkc().eq(text.chars()) {
            let odd = |c: char| crate::is_hidden(c) || !std::iter::once(c).nfkc().eq(std::iter::once(c));
            let shown = crate::show_code_points(text, odd);
            // A decomposed sequence has no odd character of its own: show the marks.
            let shown =
                if shown.is_empty() { crate::show_code_points(text, |c| !c.is_ascii()) } else { shown };
            return Err(NameError::NotCanonical(shown));
        }
        if let Some((_, c)) = text.char_indices().find(|(_, c)| crate::is_hidden(*c)) {
            return Err(NameError::NotCanonical(crate::show_code_points(text, |x| x == c)));
        }
        let chars = if ascii { text.len() } else { text.chars().count() };
        if chars > MAX_NAME_CHARS {
            return Err(NameError::TooLong(chars));
        }
        if text.chars().any(|c| c.is_uppercase() || c.to_lowercase().next() != Some(c)) {
            return Err(NameError::UpperCase);
        }
        if let Some(bad) = text.chars().find(|c| !is_name_char(*c)) {
            return Err(NameError::BadCharacter(bad));
        }
        if text.starts_with('-') || text.ends_with('-') {
            return Err(NameError::OuterHyphen);
        }
        if text.contains("--") {
            return Err(NameError::DoubleHyphen);
        }
        Ok(Self(text.into()))
    }

    /// The nearest canonical name to what a person wrote, for messages and fixes. Never applied silently.
    pub fn suggest(text: &str) -> Option<Self> {
        let mut name = String::new();
        for c in text.trim().nfkc().filter(|c| !crate::is_hidden(*c)).flat_map(char::to_lowercase) {
            if is_name_char(c) && c != '-' {
                name.push(c);
            } else if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
        }
        let cut: String = name.nfkc().take(MAX_NAME_CHARS).collect();
        Self::parse(cut.trim_end_matches('-')).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Letters and digits of any script; combining marks belong to letters (Devanagari, Thai).
fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || unicode_normalization::char::is_combining_mark(c)
}

impl Borrow<str> for SkillName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0)
    }
}

impl<'de> Deserialize<'de> for SkillName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The id of an agent in a profile or run: any script, no path syntax, no reserved word.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct AgentId(Arc<str>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentIdError {
    #[error("the id is empty")]
    Empty,
    #[error("the id has {0} characters (limit 64)")]
    TooLong(usize),
    #[error("`{0}` is a reserved word")]
    Reserved(String),
    #[error("the id contains {0:?} (letters, digits, `_`, `-` and `.` are accepted)")]
    BadCharacter(char),
}

impl AgentIdError {
    /// The same sentence in both languages.
    pub fn words(&self) -> Words {
        let zh = match self {
            Self::Empty => "id 为空".to_owned(),
            Self::TooLong(n) => format!("id 有 {n} 个字符（上限 64）"),
            Self::Reserved(word) => format!("`{word}` 是保留字"),
            Self::BadCharacter(c) => format!("id 含有 {c:?}（只接受字母、数字、`_`、`-` 和 `.`）"),
        };
        Words { en: self.to_string(), zh }
    }
}

impl AgentId {
    /// The agent of a run that names none.
    pub fn main() -> Self {
        Self("main".into())
    }

    pub fn parse(text: &str) -> Result<Self, AgentIdError> {
        if text.is_empty() {
            return Err(AgentIdError::Empty);
        }
        let chars = text.chars().count();
        if chars > MAX_NAME_CHARS {
            return Err(AgentIdError::TooLong(chars));
        }
        if matches!(text, "all" | "none" | "user" | "." | "..") || crate::path::is_device_name(text) {
            return Err(AgentIdError::Reserved(text.to_owned()));
        }
        match text.chars().find(|c| !(is_name_char(*c) || matches!(c, '_' | '.'))) {
            Some(bad) => Err(AgentIdError::BadCharacter(bad)),
            None => Ok(Self(text.into())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for AgentId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0)
    }
}

impl<'de> Deserialize<'de> for AgentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_any_script_are_accepted() {
        for name in ["a", "pdf-tools", "navegação", "мой-навык", "技能", "x2", "हिन्दी", &"a".repeat(64)]
        {
            assert!(SkillName::parse(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn each_broken_rule_has_its_error() {
        type Case = (&'static str, fn(&NameError) -> bool);
        let cases: [Case; 12] = [
            ("", |e| *e == NameError::Empty),
            ("PDF-Tools", |e| *e == NameError::UpperCase),
            ("-x", |e| *e == NameError::OuterHyphen),
            ("a--b", |e| *e == NameError::DoubleHyphen),
            ("a b", |e| *e == NameError::BadCharacter(' ')),
            ("a_b", |e| *e == NameError::BadCharacter('_')),
            ("cafe\u{301}", |e| matches!(e, NameError::NotCanonical(_))),
            ("ｐｄｆ", |e| matches!(e, NameError::NotCanonical(p) if p.contains("U+FF50"))),
            ("a\u{200b}b", |e| matches!(e, NameError::NotCanonical(p) if p == "U+200B")),
            ("all", |e| *e == NameError::Reserved),
            ("CON", |e| *e == NameError::Reserved),
            ("..", |e| *e == NameError::Reserved),
        ];
        for (text, expected) in cases {
            let error = SkillName::parse(text).unwrap_err();
            assert!(expected(&error), "{text}: {error:?}");
        }
        assert_eq!(SkillName::parse(&"a".repeat(65)), Err(NameError::TooLong(65)));
    }

    #[test]
    fn suggestions_are_canonical() {
        for (text, suggestion) in [
            ("PDF Tools", "pdf-tools"),
            ("-x_", "x"),
            ("a--b", "a-b"),
            ("ｐｄｆ", "pdf"),
            ("My_Skill!", "my-skill"),
        ] {
            assert_eq!(SkillName::suggest(text).unwrap().as_str(), suggestion);
        }
        assert_eq!(SkillName::suggest("***"), None);
    }

    #[test]
    fn agent_ids_have_no_path_syntax() {
        for id in ["voice_critic", "旁白", "a.b-2"] {
            assert!(AgentId::parse(id).is_ok(), "{id}");
        }
        for id in ["", "all", "../x", "a/b", "CON", "a b", &"x".repeat(300)] {
            assert!(AgentId::parse(id).is_err(), "{id}");
        }
    }

    proptest! {
        #[test]
        fn parsing_is_total_and_idempotent(text in "\\PC{0,70}") {
            if let Ok(name) = SkillName::parse(&text) {
                prop_assert_eq!(name.as_str(), text.as_str());
                prop_assert_eq!(SkillName::suggest(&text), Some(name));
            }
        }
    }
}
