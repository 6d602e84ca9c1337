//! The one table of settings: key, type, default, environment variable, meaning. A new setting is a new row.

use std::path::PathBuf;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Dotted: `catalog.budget_bytes` is `budget_bytes` in `[catalog]`.
    pub key: &'static str,
    pub kind: Kind,
    pub default: Default,
    pub env: &'static str,
    pub doc_en: &'static str,
    pub doc_zh: &'static str,
}

/// What values a setting accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Choice(&'static [&'static str]),
    Integer {
        min: i64,
        max: i64,
    },
    Text,
    /// Directories; in files relative to the file, elsewhere to the working directory. `~/` is the home directory.
    Directories,
}

/// What holds when nobody says anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    Unset,
    Text(&'static str),
    Integer(i64),
    NoDirectories,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Unset,
    Text(String),
    Integer(i64),
    Directories(Vec<PathBuf>),
}

/// All settings, in the order they are listed.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "lang",
        kind: Kind::Choice(&["auto", "en", "zh"]),
        default: Default::Text("auto"),
        env: "FUGATO_LANG",
        doc_en: "language of messages; `auto` follows the locale",
        doc_zh: "界面语言；`auto` 跟随系统区域设置",
    },
    Setting {
        key: "color",
        kind: Kind::Choice(&["auto", "always", "never"]),
        default: Default::Text("auto"),
        env: "FUGATO_COLOR",
        doc_en: "colour on the terminal; `auto` means only on a terminal and without `NO_COLOR`",
        doc_zh: "终端颜色；`auto` 表示仅在终端中且未设置 `NO_COLOR` 时启用",
    },
    Setting {
        key: "catalog.budget_bytes",
        kind: Kind::Integer { min: 256, max: 4 * 1024 * 1024 },
        default: Default::Integer(24 * 1024),
        env: "FUGATO_CATALOG_BUDGET_BYTES",
        doc_en: "largest catalog of skills put into a prompt, in bytes",
        doc_zh: "写入提示词的技能目录的最大字节数",
    },
    Setting {
        key: "skills.extra",
        kind: Kind::Directories,
        default: Default::NoDirectories,
        env: "FUGATO_SKILLS_EXTRA",
        doc_en: "further directories with skills, as global roots; a later one wins",
        doc_zh: "额外的技能目录，作为全局根目录；靠后的优先",
    },
    Setting {
        key: "skills.preset",
        kind: Kind::Text,
        default: Default::Unset,
        env: "FUGATO_SKILLS_PRESET",
        doc_en: "the active preset scope",
        doc_zh: "当前启用的预设作用域",
    },
    Setting {
        key: "skills.character",
        kind: Kind::Text,
        default: Default::Unset,
        env: "FUGATO_SKILLS_CHARACTER",
        doc_en: "the active character scope",
        doc_zh: "当前启用的角色作用域",
    },
    Setting {
        key: "ui.ambiguous_width",
        kind: Kind::Integer { min: 1, max: 2 },
        default: Default::Integer(1),
        env: "FUGATO_UI_AMBIGUOUS_WIDTH",
        doc_en: "cells of characters of ambiguous width: 2 on terminals set up for East Asian text",
        doc_zh: "宽度不定的字符所占的列数：按东亚文字设置的终端为 2",
    },
];

impl Setting {
    pub fn find(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    pub(super) fn default_value(&self) -> Value {
        match self.default {
            Default::Unset => Value::Unset,
            Default::Text(text) => Value::Text(text.to_owned()),
            Default::Integer(number) => Value::Integer(number),
            Default::NoDirectories => Value::Directories(Vec::new()),
        }
    }
}

impl Kind {
    /// What is accepted, for messages: in English and in Chinese.
    pub(super) fn expected(self) -> (String, String) {
        match self {
            Self::Choice(words) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
                (format!("one of {}", quoted.join(", ")), format!("{} 之一", quoted.join("、")))
            }
            Self::Integer { min, max } => {
                (format!("a whole number from {min} to {max}"), format!("{min} 到 {max} 之间的整数"))
            }
            Self::Text => ("text".to_owned(), "文本".to_owned()),
            Self::Directories => ("a list of directories".to_owned(), "目录列表".to_owned()),
        }
    }

    /// Reads a value as typed in a flag or a variable. Directories are separated like those of `PATH`.
    pub(super) fn read(self, text: &str) -> Option<Value> {
        match self {
            Self::Choice(_) | Self::Text => self.accept(Value::Text(text.to_owned())),
            Self::Integer { .. } => self.accept(Value::Integer(text.trim().parse().ok()?)),
            Self::Directories => {
                let dirs = std::env::split_paths(text).filter(|dir| !dir.as_os_str().is_empty());
                Some(Value::Directories(dirs.collect()))
            }
        }
    }

    /// The value, if it is one of those accepted.
    pub(super) fn accept(self, value: Value) -> Option<Value> {
        let fits = match (self, &value) {
            (Self::Choice(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Self::Integer { min, max }, Value::Integer(number)) => (min..=max).contains(number),
            (Self::Text, Value::Text(text)) => !text.is_empty(),
            (Self::Directories, Value::Directories(_)) => true,
            _ => false,
        };
        fits.then_some(value)
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unset => Ok(()),
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => number.fmt(f),
            Self::Directories(dirs) => {
                let shown: Vec<_> = dirs.iter().map(|dir| dir.to_string_lossy()).collect();
                f.write_str(&shown.join(":"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_sound() {
        for setting in SETTINGS {
            let env = format!("FUGATO_{}", setting.key.replace('.', "_").to_uppercase());
            assert_eq!(setting.env, env);
            assert!(!setting.doc_en.is_empty() && !setting.doc_zh.is_empty());
            assert_eq!(SETTINGS.iter().filter(|other| other.key == setting.key).count(), 1);
            if setting.default != Default::Unset {
                assert!(setting.kind.accept(setting.default_value()).is_some(), "{}", setting.key);
            }
            // A key is either a table or a value, never both.
            assert!(!SETTINGS.iter().any(|other| other.key.starts_with(&format!("{}.", setting.key))));
        }
    }
}
