//! Where a skill is installed, and who wins when two places have one name.

use crate::Words;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A physical scope. Ordered by precedence: a later scope replaces a skill of the same name in an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Global,
    Project,
    Preset(String),
    Character(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    #[error("`{0}` is not a scope (expected `global`, `project`, `preset:NAME` or `character:NAME`)")]
    Unknown(String),
    #[error("scope name is empty")]
    EmptyName,
    #[error("scope name `{name}` contains {bad:?}, which is not safe in a file name")]
    HostileName { name: String, bad: char },
    #[error("scope name `{0}` is reserved")]
    ReservedName(String),
    #[error("scope name is {0} bytes long (limit 200)")]
    LongName(usize),
}

impl ScopeError {
    /// The same sentence in both languages.
    pub fn words(&self) -> Words {
        let zh = match self {
            Self::Unknown(text) => {
                format!("`{text}` 不是作用域（应为 `global`、`project`、`preset:名称` 或 `character:名称`）")
            }
            Self::EmptyName => "作用域名称为空".to_owned(),
            Self::HostileName { name, bad } => {
                format!("作用域名称 `{name}` 含有 {bad:?}，不能用作文件名")
            }
            Self::ReservedName(name) => format!("作用域名称 `{name}` 是保留名称"),
            Self::LongName(bytes) => format!("作用域名称有 {bytes} 字节（上限 200）"),
        };
        Words { en: self.to_string(), zh }
    }
}

/// 255 bytes is the longest file name of common file systems; the rest is room for suffixes of staged directories.
const MAX_NAME_BYTES: usize = 200;

impl Scope {
    pub fn preset(name: &str) -> Result<Self, ScopeError> {
        check_name(name).map(|()| Self::Preset(name.to_owned()))
    }

    pub fn character(name: &str) -> Result<Self, ScopeError> {
        check_name(name).map(|()| Self::Character(name.to_owned()))
    }

    /// The name of a preset or character scope.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Global | Self::Project => None,
            Self::Preset(name) | Self::Character(name) => Some(name),
        }
    }
}

/// Scope names are directory names in any script; only what a path could misread is refused.
fn check_name(name: &str) -> Result<(), ScopeError> {
    if name.trim().is_empty() {
        return Err(ScopeError::EmptyName);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(ScopeError::LongName(name.len()));
    }
    if let Some(bad) = name
        .chars()
        .find(|c| matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|') || crate::is_hidden(*c))
    {
        return Err(ScopeError::HostileName { name: name.to_owned(), bad });
    }
    if name.starts_with('.') || name.ends_with(['.', ' ']) || crate::path::is_device_name(name) {
        return Err(ScopeError::ReservedName(name.to_owned()));
    }
    Ok(())
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Project => f.write_str("project"),
            Self::Preset(name) => write!(f, "preset:{name}"),
            Self::Character(name) => write!(f, "character:{name}"),
        }
    }
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        match text.split_once(':') {
            None if text == "global" => Ok(Self::Global),
            None if text == "project" => Ok(Self::Project),
            Some(("preset", name)) => Self::preset(name),
            Some(("character", name)) => Self::character(name),
            _ => Err(ScopeError::Unknown(text.to_owned())),
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_scopes_win() {
        let character = Scope::character("林黛玉").unwrap();
        let preset = Scope::preset("中文导演").unwrap();
        assert!(Scope::Global < Scope::Project && Scope::Project < preset && preset < character);
    }

    #[test]
    fn text_form_round_trips_and_hostile_names_are_refused() {
        for text in ["global", "project", "preset:中文 导演", "character:Ada"] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "globl",
            "preset:",
            "preset:..",
            "preset:a/b",
            "preset:a\\b",
            "character:CON",
            "preset:x.",
            "character:a\u{202e}b",
        ] {
            assert!(text.parse::<Scope>().is_err(), "{text}");
        }
    }
}
