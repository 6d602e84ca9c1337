//! One element of a `visible` or `deny` list: parsed once, so that `+` and `*` are never compared as names again.

use fugato_model::{NameError, SkillName, Words, words};
use serde::{Serialize, Serializer};
use std::fmt;

/// One element of a skills list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// `"+"`: the mode's list first.
    Inherit,
    /// `"*"`: every installed skill that is not internal or hidden.
    All,
    /// `"-"`: nothing at all.
    Nothing,
    Name(SkillName),
}

/// Why a text is no entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error("`{text}` joins `+` and a name")]
    PlusPrefix { text: String, name: Option<SkillName> },
    #[error("`{text}` starts with `-`")]
    MinusPrefix { text: String, name: Option<SkillName> },
    #[error("`{text}` is a partial pattern")]
    Pattern { text: String },
    #[error("`{text}` is not a canonical skill name: {error}")]
    Name { text: String, error: NameError, suggestion: Option<SkillName> },
}

impl Entry {
    pub fn parse(text: &str) -> Result<Self, EntryError> {
        match text {
            "+" => return Ok(Self::Inherit),
            "*" => return Ok(Self::All),
            "-" => return Ok(Self::Nothing),
            _ => {}
        }
        let error = match SkillName::parse(text) {
            Ok(name) => return Ok(Self::Name(name)),
            Err(error) => error,
        };
        let shown: String = text.chars().take(80).collect();
        if let Some(rest) = text.strip_prefix('+') {
            return Err(EntryError::PlusPrefix { text: shown, name: SkillName::suggest(rest) });
        }
        if text.contains(['*', '?']) {
            return Err(EntryError::Pattern { text: shown });
        }
        if let Some(rest) = text.strip_prefix('-') {
            return Err(EntryError::MinusPrefix { text: shown, name: SkillName::suggest(rest) });
        }
        Err(EntryError::Name { text: shown, error, suggestion: SkillName::suggest(text) })
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Inherit => "+",
            Self::All => "*",
            Self::Nothing => "-",
            Self::Name(name) => name.as_str(),
        }
    }

    pub fn name(&self) -> Option<&SkillName> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl EntryError {
    /// The sentence for a person.
    pub fn words(&self) -> Words {
        match self {
            Self::PlusPrefix { text, .. } => words!(
                "`{text}` is not a skill name: `+` is an element of its own",
                "`{text}` 不是技能名：`+` 必须单独作为一个元素"
            ),
            Self::MinusPrefix { text, .. } => {
                words!(
                    "`{text}` starts with `-`, which no skill name does",
                    "`{text}` 以 `-` 开头，技能名不能这样写"
                )
            }
            Self::Pattern { text } => words!(
                "`{text}` is a partial pattern (only a whole name or `*` is accepted)",
                "`{text}` 是部分通配（只接受完整的名称或 `*`）"
            ),
            Self::Name { text, error, .. } => {
                let Words { en, zh } = error.words();
                words!("`{text}` is not a canonical skill name: {en}", "`{text}` 不是规范的技能名：{zh}")
            }
        }
    }

    /// What to write instead, when we can tell.
    pub fn hint(&self) -> Option<Words> {
        match self {
            Self::PlusPrefix { name: Some(name), .. } => {
                Some(words!("did you mean [\"+\", \"{name}\"]?", "是否想写 [\"+\", \"{name}\"]？"))
            }
            Self::MinusPrefix { name: Some(name), .. } => Some(words!(
                "to take a skill away, write \"deny\": [\"{name}\"]",
                "要去掉某个技能，请写 \"deny\": [\"{name}\"]"
            )),
            Self::Pattern { .. } => Some(words!(
                "write the names one by one, or \"*\" for every installed skill",
                "请逐个写出名称，或用 \"*\" 表示全部已安装的技能"
            )),
            Self::Name { suggestion: Some(name), .. } => Some(words!("use `{name}`", "请写作 `{name}`")),
            _ => None,
        }
    }

    /// The canonical name the text was probably meant to be.
    pub fn suggestion(&self) -> Option<&SkillName> {
        match self {
            Self::Name { suggestion, .. } => suggestion.as_ref(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_marks_are_never_names() {
        assert_eq!(Entry::parse("+"), Ok(Entry::Inherit));
        assert_eq!(Entry::parse("*"), Ok(Entry::All));
        assert_eq!(Entry::parse("-"), Ok(Entry::Nothing));
        for text in ["+", "*", "-", "中文技能", "a"] {
            assert_eq!(Entry::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn near_misses_say_what_was_meant() {
        let hint = |text: &str| Entry::parse(text).unwrap_err().hint().map(|words| words.en);
        assert_eq!(hint("+foo").as_deref(), Some("did you mean [\"+\", \"foo\"]?"));
        assert_eq!(hint("-foo").as_deref(), Some("to take a skill away, write \"deny\": [\"foo\"]"));
        assert_eq!(hint("Foo").as_deref(), Some("use `foo`"));
        assert!(matches!(Entry::parse("foo-*"), Err(EntryError::Pattern { .. })));
        assert!(Entry::parse("").is_err());
    }
}
