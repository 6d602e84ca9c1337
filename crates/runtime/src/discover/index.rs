//! The persistent memory of discovery: one file, one section per root, one entry per directory.
//!
//! A cache and nothing more: every entry is checked against the file system before it is believed, a file that is
//! foreign, torn or corrupt is ignored, and writing replaces the whole file by rename, so that concurrent processes
//! can lose each other's work but never damage it. Sections of roots that this invocation does not use are carried
//! along, so that two projects do not evict each other.

use super::stamp::Stamp;
use fugato_model::{Code, Diagnostic, Digest};
use fugato_skill::SkillHead;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::Path;

/// Grows with every change of the structures below or of what reading a skill file yields.
const VERSION: u64 = 3;
const MAGIC: &[u8; 16] = b"fugato-index\r\n\x1a\n";
/// Roots remembered; the longest unused ones go first.
const MAX_SECTIONS: usize = 64;
/// Twenty times what 10,000 skills need. A larger file is not ours or not worth reading.
const MAX_BYTES: u64 = 128 * 1024 * 1024;

/// One directory, as an earlier scan saw it.
pub(super) enum Entry<'a> {
    Container(ContainerEntry<'a>),
    Skill(Box<SkillEntry<'a>>),
}

/// Not a skill: its subdirectories and links.
#[derive(Serialize, Deserialize)]
pub(super) struct ContainerEntry<'a> {
    pub stamp: Stamp,
    #[serde(borrow)]
    pub children: Vec<Child<'a>>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Child<'a> {
    #[serde(borrow)]
    pub name: Bytes<'a>,
    pub is_link: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SkillEntry<'a> {
    /// The skill's directory (`""`) and those below it.
    #[serde(borrow)]
    pub dirs: Vec<(&'a str, Stamp)>,
    /// Sorted by path: stamp and SHA-256 of the content.
    #[serde(borrow)]
    pub files: Vec<(&'a str, Stamp, Bytes<'a>)>,
    pub file: &'a str,
    pub head: SkillHead,
    /// What reading the skill file said. Paths of diagnostics are below the skill: how its root is shown to people depends
    /// on where they are.
    pub reading: Vec<Diagnostic>,
    /// What the directory around it is blamed for.
    pub around: Vec<Diagnostic>,
    /// What reading the skill file alone decided.
    pub reading_usable: bool,
    pub usable: bool,
    pub digest: Option<Digest>,
}

const CONTAINER: u8 = 0;
const SKILL: u8 = 1;

impl<'a> Entry<'a> {
    pub(super) fn decode(bytes: &'a [u8]) -> Option<Self> {
        match bytes.split_first()? {
            (&CONTAINER, rest) => postcard::from_bytes(rest).ok().map(Self::Container),
            (&SKILL, rest) => postcard::from_bytes(rest).ok().map(Box::new).map(Self::Skill),
            _ => None,
        }
    }
}

impl ContainerEntry<'_> {
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        postcard::to_extend(self, vec![CONTAINER]).ok()
    }
}

impl SkillEntry<'_> {
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        postcard::to_extend(self, vec![SKILL]).ok()
    }
}

/// What is known of one root.
#[derive(Serialize, Deserialize)]
pub(super) struct Section<'a> {
    /// When the scan began.
    pub scanned_ns: i64,
    /// (path below the root, encoded [`Entry`])
    #[serde(borrow)]
    pub entries: Vec<(Bytes<'a>, Bytes<'a>)>,
}

/// Bytes that are written at once; serde would write a slice one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Bytes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(Self)
    }
}

#[derive(Serialize, Deserialize)]
struct Body<'a> {
    /// (root, encoded [`Section`]), most recently used last.
    #[serde(borrow)]
    sections: Vec<(Bytes<'a>, Bytes<'a>)>,
}

/// The bytes of an index file, checked as a whole. Empty when there is none.
#[derive(Default)]
pub(super) struct IndexFile {
    bytes: Vec<u8>,
}

impl IndexFile {
    pub(super) fn load(path: &Path) -> Self {
        let fits = std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES);
        let bytes = if fits { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
        let whole = split(&bytes).is_some_and(|(mark, sum, body)| {
            mark == fingerprint().to_le_bytes() && sum == checksum(body).to_le_bytes()
        });
        Self { bytes: if whole { bytes } else { Vec::new() } }
    }

    /// (root, encoded section) of every root.
    pub(super) fn sections(&self) -> Vec<(&[u8], &[u8])> {
        let body = split(&self.bytes).and_then(|(_, _, body)| postcard::from_bytes::<Body<'_>>(body).ok());
        let sections = body.map(|body| body.sections).unwrap_or_default();
        sections.into_iter().map(|(root, section)| (root.0, section.0)).collect()
    }
}

impl<'a> Section<'a> {
    pub(super) fn decode(bytes: &'a [u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }

    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        postcard::to_stdvec(self).ok()
    }

    pub(super) fn by_path(&self) -> HashMap<&'a [u8], &'a [u8]> {
        self.entries.iter().map(|(path, entry)| (path.0, entry.0)).collect()
    }
}

/// Replaces the index file. `sections`: (root, encoded section), most recently used last.
pub(super) fn save(path: &Path, sections: &[(&[u8], &[u8])]) -> io::Result<()> {
    let from = sections.len().saturating_sub(MAX_SECTIONS);
    let kept = sections.get(from..).unwrap_or_default().iter();
    let sections = kept.map(|(root, section)| (Bytes(root), Bytes(section))).collect();
    let body = postcard::to_stdvec(&Body { sections }).map_err(io::Error::other)?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    let mut file = tempfile::Builder::new().prefix(".skills.index.").tempfile_in(dir)?;
    file.write_all(MAGIC)?;
    file.write_all(&fingerprint().to_le_bytes())?;
    file.write_all(&checksum(&body).to_le_bytes())?;
    file.write_all(&body)?;
    // No fsync: after a power cut the checksum tells, and the index is rebuilt.
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// (fingerprint, checksum, body)
fn split(bytes: &[u8]) -> Option<([u8; 8], [u8; 8], &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (mark, rest) = rest.split_first_chunk::<8>()?;
    let (sum, body) = rest.split_first_chunk::<8>()?;
    Some((*mark, *sum, body))
}

/// Another version of the program, or another list of codes (they are stored by number), is another format. So is
/// another build: what reading a file yields may have changed without anybody raising the version.
fn fingerprint() -> u64 {
    let build =
        std::env::current_exe().and_then(std::fs::metadata).map(|exe| (exe.len(), exe.modified().ok()));
    let mut text = format!("{VERSION} {} {build:?}", env!("CARGO_PKG_VERSION"));
    Code::ALL.iter().for_each(|code| text.push_str(code.as_str()));
    checksum(text.as_bytes())
}

/// Finds torn and rotten files, not forged ones: whoever can write here owns the skills anyway. Eight bytes a step,
/// because a cryptographic hash of the index would cost as much as the rest of a warm start.
fn checksum(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut sum = (bytes.len() as u64).wrapping_mul(ODD);
    let mut step = |word: u64| sum = (sum ^ word).wrapping_mul(ODD).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().for_each(|word| step(u64::from_le_bytes(*word)));
    rest.iter().for_each(|byte| step(u64::from(*byte) | 0x100));
    sum ^ (sum >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_index_is_read_back_and_a_damaged_one_is_ignored() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("缓存/skills.index");
        save(&path, &[(b"/a", b"first section"), (b"/b", b"second")]).unwrap();
        let index = IndexFile::load(&path);
        assert_eq!(index.sections(), [(b"/a".as_slice(), b"first section".as_slice()), (b"/b", b"second")]);
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            assert!(IndexFile::load(&path).sections().is_empty(), "flipped bit in byte {at}");
            std::fs::write(&path, &good[..at]).unwrap();
            assert!(IndexFile::load(&path).sections().is_empty(), "cut at {at}");
        }
        assert!(IndexFile::load(temp.path()).sections().is_empty());
    }

    #[test]
    fn the_longest_unused_roots_are_forgotten() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("skills.index");
        let names: Vec<_> = (0..MAX_SECTIONS + 3).map(|n| format!("/{n}")).collect();
        let sections: Vec<_> = names.iter().map(|name| (name.as_bytes(), b"x".as_slice())).collect();
        save(&path, &sections).unwrap();
        let index = IndexFile::load(&path);
        assert_eq!(index.sections().len(), MAX_SECTIONS);
        assert_eq!(index.sections()[0].0, b"/3");
    }
}
