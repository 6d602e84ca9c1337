//! The two languages fugato speaks, and words that exist in both.
//!
//! A sentence is written in both languages at the place that raises it ([`words!`](crate::words)), so a translation
//! can neither be missing nor drift to another file.

use serde::{Deserialize, Serialize};

/// A language of the user interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    #[default]
    En,
    Zh,
}

impl Lang {
    /// Reads `en`, `zh`, or a POSIX locale such as `zh_CN.UTF-8`. Anything else is `None`.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let head = tag.split(['_', '-', '.', '@']).next().unwrap_or_default();
        match head.to_ascii_lowercase().as_str() {
            "zh" => Some(Self::Zh),
            "en" | "c" | "posix" => Some(Self::En),
            _ => None,
        }
    }
}

/// One sentence in every language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    pub en: String,
    pub zh: String,
}

impl Words {
    pub fn in_lang(&self, lang: Lang) -> &str {
        match lang {
            Lang::En => &self.en,
            Lang::Zh => &self.zh,
        }
    }
}

/// Builds [`Words`] from two format strings over the same variables in scope.
///
/// ```
/// let found = 3;
/// let words = fugato_model::words!("found {found} skills", "找到 {found} 个技能");
/// assert_eq!(words.zh, "找到 3 个技能");
/// ```
#[macro_export]
macro_rules! words {
    ($en:literal, $zh:literal $(, $($arg:tt)*)?) => {
        $crate::Words { en: ::std::format!($en $(, $($arg)*)?), zh: ::std::format!($zh $(, $($arg)*)?) }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_choose_a_language() {
        assert_eq!(Lang::from_tag("zh_CN.UTF-8"), Some(Lang::Zh));
        assert_eq!(Lang::from_tag("zh-Hant"), Some(Lang::Zh));
        assert_eq!(Lang::from_tag("C.UTF-8"), Some(Lang::En));
        assert_eq!(Lang::from_tag("tlh"), None);
    }
}
