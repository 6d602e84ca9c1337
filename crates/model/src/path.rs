//! Paths inside a skill or an archive. A raw string from a model, a zip or a profile becomes a [`RelPath`] or nothing.
//!
//! The rules are those of all systems at once: what is unsafe on any of Linux, macOS or Windows is refused on each, so
//! a skill checked here is safe there.

use crate::Words;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A path of one or more plain components, joined by `/`, that cannot leave the directory it is resolved in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RelPath(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty")]
    Empty,
    #[error("the path is {0} bytes long (limit 1024)")]
    Long(usize),
    #[error("the path is absolute")]
    Absolute,
    #[error("the path starts with a drive letter")]
    Drive,
    #[error("the path goes up with `..`")]
    Parent,
    #[error("the path contains a backslash")]
    Backslash,
    #[error("the path contains {0:?}")]
    Hidden(char),
    #[error("the path has an empty component")]
    EmptyComponent,
    #[error("`{0}` is a device name on Windows")]
    Device(String),
    #[error("`{0}` is not portable: {1}")]
    NotPortable(String, Unportable),
}

impl PathError {
    /// The same sentence in both languages.
    pub fn words(&self) -> Words {
        let zh = match self {
            Self::Empty => "路径为空".to_owned(),
            Self::Long(bytes) => format!("路径长 {bytes} 字节（最多 1024）"),
            Self::Absolute => "路径是绝对路径".to_owned(),
            Self::Drive => "路径以盘符开头".to_owned(),
            Self::Parent => "路径用 `..` 跳到上级目录".to_owned(),
            Self::Backslash => "路径含有反斜杠".to_owned(),
            Self::Hidden(c) => format!("路径含有 {c:?}"),
            Self::EmptyComponent => "路径含有空的一段".to_owned(),
            Self::Device(name) => format!("`{name}` 在 Windows 上是设备名"),
            Self::NotPortable(name, why) => format!("`{name}` 不可移植：{}", why.zh()),
        };
        Words { en: self.to_string(), zh }
    }
}

/// Why some system cannot create a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unportable {
    #[error("longer than 255 bytes")]
    Long,
    #[error("ends with a dot or a space")]
    Ending,
    #[error("contains one of : * ? \" < > |")]
    Character,
    #[error("contains an invisible character")]
    Invisible,
}

impl Unportable {
    const fn zh(self) -> &'static str {
        match self {
            Self::Long => "超过 255 字节",
            Self::Ending => "以点或空格结尾",
            Self::Character => "含有 : * ? \" < > | 之一",
            Self::Invisible => "含有不可见字符",
        }
    }
}

/// Longer than any real skill path, shorter than what any system truncates.
const MAX_BYTES: usize = 1024;
/// The longest file name of ext4, APFS and NTFS.
const MAX_COMPONENT_BYTES: usize = 255;

impl RelPath {
    /// Accepts `a/b.md` and `./a/b.md`; refuses everything that could name something outside.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(PathError::Long(text.len()));
        }
        if let Some(bad) = text.chars().find(|c| c.is_control() || crate::is_tag_block(*c)) {
            return Err(PathError::Hidden(bad));
        }
        if text.contains('\\') {
            return Err(PathError::Backslash);
        }
        if text.starts_with('/') {
            return Err(PathError::Absolute);
        }
        let mut clean = String::with_capacity(text.len());
        for component in text.split('/') {
            match component {
                "" => return Err(PathError::EmptyComponent),
                "." => continue,
                ".." => return Err(PathError::Parent),
                name if is_device_name(name) => return Err(PathError::Device(name.to_owned())),
                name => {
                    if !clean.is_empty() {
                        clean.push('/');
                    }
                    clean.push_str(name);
                }
            }
        }
        match clean.as_bytes() {
            [] => Err(PathError::Empty),
            // Judged on what is kept: `./C:x` is `C:x` to whoever joins it.
            [letter, b':', ..] if letter.is_ascii_alphabetic() => Err(PathError::Drive),
            _ => Ok(Self(clean)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The last component.
    pub fn file_name(&self) -> &str {
        self.components().next_back().unwrap_or(&self.0)
    }

    /// Can this be created on every system? Asked before writing what came from elsewhere.
    pub fn check_portable(&self) -> Result<(), PathError> {
        for name in self.components() {
            // Shown to people: what is invisible must not act on their terminal.
            let wrong = |why| Err(PathError::NotPortable(crate::escape_for_terminal(name).into_owned(), why));
            if name.len() > MAX_COMPONENT_BYTES {
                return wrong(Unportable::Long);
            }
            if name.ends_with(['.', ' ']) {
                return wrong(Unportable::Ending);
            }
            if name.contains([':', '*', '?', '"', '<', '>', '|']) {
                return wrong(Unportable::Character);
            }
            if name.chars().any(crate::is_hidden) {
                return wrong(Unportable::Invisible);
            }
        }
        Ok(())
    }
}

/// `CON`, `nul.txt`, `Com1` and friends: opening them talks to a device on Windows.
pub(crate) fn is_device_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    match stem.as_str() {
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" => true,
        _ => {
            let port = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
            port.is_some_and(|n| {
                matches!(n, "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
            })
        }
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<std::path::Path> for RelPath {
    fn as_ref(&self) -> &std::path::Path {
        std::path::Path::new(&self.0)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_paths_are_accepted() {
        for (text, clean) in [
            ("SKILL.md", "SKILL.md"),
            ("./a/./b.md", "a/b.md"),
            ("参考/说明.md", "参考/说明.md"),
            ("...", "..."),
        ] {
            assert_eq!(RelPath::parse(text).unwrap().as_str(), clean);
        }
    }

    #[test]
    fn what_could_leave_is_refused() {
        for text in [
            "",
            ".",
            "/",
            "/x",
            "..",
            "../x",
            "a/../b",
            "a/..",
            "a//b",
            "a/",
            "C:\\x",
            "C:x",
            "c:/x",
            "./C:x",
            "a\\b",
            "\\\\host\\share",
            "a\0b",
            "a\nb",
            "CON",
            "nul.txt",
            "a/COM1",
            "lpt9.md",
            "AUX .x",
        ] {
            assert!(RelPath::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn portable_names_exclude_what_other_systems_cannot_create() {
        for text in ["a.", "a ", "x/a:b", "x/what?", "a*", "bi\u{202e}di"] {
            assert!(RelPath::parse(text).unwrap().check_portable().is_err(), "{text:?}");
        }
        assert!(RelPath::parse(&"x".repeat(256)).unwrap().check_portable().is_err());
        assert!(RelPath::parse("参考/说明 1.md").unwrap().check_portable().is_ok());
    }

    proptest! {
        #[test]
        fn an_accepted_path_never_leaves(text in "[./\\\\a:C]{0,12}|\\PC{0,12}") {
            if let Ok(path) = RelPath::parse(&text) {
                let mut depth = 0i32;
                for component in std::path::Path::new(path.as_str()).components() {
                    match component {
                        std::path::Component::Normal(_) => depth += 1,
                        other => prop_assert!(false, "{other:?}"),
                    }
                }
                prop_assert!(depth >= 1);
                prop_assert_eq!(RelPath::parse(path.as_str()), Ok(path));
            }
        }
    }
}
