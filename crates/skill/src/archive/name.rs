//! Names that came from elsewhere: which may be written, and which two are one on some file system.

use super::limit::MAX_DEPTH;
use fugato_model::{Code, PathError, RelPath, Words, words};
use std::collections::HashMap;
use unicode_normalization::UnicodeNormalization;

/// Accepts a path that stays inside and can be created on every system; else says why not.
pub fn safe_path(text: &str) -> Result<RelPath, (Code, Words)> {
    let path = RelPath::parse(text).map_err(|error| explain(&error))?;
    path.check_portable().map_err(|error| explain(&error))?;
    let depth = path.components().count();
    if depth > MAX_DEPTH {
        return Err((
            Code::F0303,
            words!(
                "the path is {depth} levels deep (limit {MAX_DEPTH})",
                "路径有 {depth} 层（最多 {MAX_DEPTH} 层）"
            ),
        ));
    }
    Ok(path)
}

/// What could leave has another code than what some system cannot create.
fn explain(error: &PathError) -> (Code, Words) {
    use PathError as E;
    let code = match error {
        E::Absolute | E::Drive | E::Parent | E::Backslash => Code::F0301,
        E::Empty | E::EmptyComponent | E::Long(_) | E::Hidden(_) | E::Device(_) | E::NotPortable(..) => {
            Code::F0308
        }
    };
    (code, error.words())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    File,
    Directory,
}

/// Remembers every path of an import, folded, to find two that would be one file on a file system that ignores case or
/// normalises Unicode (macOS, Windows).
#[derive(Debug, Default)]
pub struct Twins {
    seen: HashMap<String, (String, Node)>,
}

impl Twins {
    /// Adds a file. The error is the path it collides with.
    pub fn file(&mut self, path: &RelPath) -> Result<(), String> {
        self.parents(path)?;
        match self.seen.insert(fold(path.as_str()), (path.to_string(), Node::File)) {
            None => Ok(()),
            Some((other, _)) => Err(other),
        }
    }

    /// Adds a directory entry. The same directory may be listed twice.
    pub fn directory(&mut self, path: &RelPath) -> Result<(), String> {
        self.parents(path)?;
        self.open(path.as_str())
    }

    fn parents(&mut self, path: &RelPath) -> Result<(), String> {
        let text = path.as_str();
        text.match_indices('/').try_for_each(|(at, _)| self.open(text.get(..at).unwrap_or(text)))
    }

    fn open(&mut self, directory: &str) -> Result<(), String> {
        let entry = self.seen.entry(fold(directory));
        let (first, node) = entry.or_insert_with(|| (directory.to_owned(), Node::Directory));
        if *node == Node::Directory && first == directory { Ok(()) } else { Err(first.clone()) }
    }
}

/// Upper then lower case maps `ß`/`SS`, `ſ`/`s` and the Kelvin sign together, as full case folding does.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfd().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_and_unportable_names_have_different_codes() {
        for (text, code) in [
            ("../x", Code::F0301),
            ("/x", Code::F0301),
            ("C:\\x", Code::F0301),
            ("C:x", Code::F0301),
            ("a\\..\\..\\x", Code::F0301),
            ("CON.md", Code::F0308),
            ("x/a:b", Code::F0308),
            ("a.", Code::F0308),
            ("a ", Code::F0308),
            ("a\0b", Code::F0308),
            ("a//b", Code::F0308),
            ("", Code::F0308),
        ] {
            assert_eq!(safe_path(text).unwrap_err().0, code, "{text:?}");
        }
        assert_eq!(safe_path(&"x".repeat(300)).unwrap_err().0, Code::F0308);
        assert_eq!(safe_path(&vec!["d"; 17].join("/")).unwrap_err().0, Code::F0303);
        assert!(safe_path("参考/说明 1.md").is_ok());
    }

    fn twins(first: &str, second: &str) -> bool {
        let mut twins = Twins::default();
        twins.file(&RelPath::parse(first).unwrap()).unwrap();
        twins.file(&RelPath::parse(second).unwrap()).is_err()
    }

    #[test]
    fn names_that_some_file_system_merges_are_twins() {
        for (first, second) in [
            ("SKILL.md", "skill.md"),
            ("caf\u{e9}.md", "cafe\u{301}.md"),
            ("CAF\u{c9}.md", "cafe\u{301}.md"),
            ("stra\u{df}e", "STRASSE"),
            ("\u{212a}", "k"),
            ("a/x.md", "A/y.md"),
            ("a", "a/b"),
            ("a/b", "A"),
            ("x", "x"),
        ] {
            assert!(twins(first, second), "{first} {second}");
        }
        assert!(!twins("a/x.md", "a/y.md") && !twins("甲.md", "乙.md"));
    }
}
