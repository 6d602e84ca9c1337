//! One directory that holds a skill file becomes one [`Installed`]: from the index when nothing changed, else by reading
//! what did.

use super::contents::{Contents, Known, Scratch, gather};
use super::index::{Bytes, SkillEntry};
use super::problem::Problem;
use super::stamp::Stamp;
use fugato_model::{Diagnostic, Digest, RelPath};
use fugato_skill::{Reading, SKILL_FILE_NAMES, SkillHead, SkillText, problems, read_named};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, statat};

/// What a skill directory turned out to hold, without its place in the inventory.
#[derive(Debug)]
pub(super) struct Inspected {
    pub head: SkillHead,
    pub file: String,
    pub digest: Option<Digest>,
    pub diagnostics: Vec<Diagnostic>,
    pub usable: bool,
    /// Device and inode of the directory.
    pub id: (u64, u64),
    pub files_read: u32,
    /// What to remember; `None` when the finding may not last.
    pub entry: Option<Vec<u8>>,
}

/// An entry of the index with what is needed to judge it.
pub(super) struct Remembered<'a> {
    pub entry: SkillEntry<'a>,
    pub scanned_ns: i64,
}

impl Known for Remembered<'_> {
    fn file(&self, path: &str) -> Option<(Stamp, Digest)> {
        let at = self.entry.files.binary_search_by(|(known, _, _)| known.cmp(&path)).ok()?;
        let (_, stamp, digest) = self.entry.files.get(at)?;
        let digest = Digest::from_bytes(digest.0.try_into().ok()?);
        stamp.is_settled(self.scanned_ns).then_some((*stamp, digest))
    }
}

impl Remembered<'_> {
    /// Is every directory and every file of the skill as it was? `dir` is its path below `root`; `path` is a buffer.
    pub(super) fn is_unchanged(&self, root: BorrowedFd<'_>, dir: &[u8], path: &mut Vec<u8>) -> bool {
        let mut same = |below: &str, stamp: &Stamp| {
            path.clear();
            path.extend_from_slice(if dir.is_empty() { b"." } else { dir });
            if !below.is_empty() {
                path.push(b'/');
                path.extend_from_slice(below.as_bytes());
            }
            stamp.is_settled(self.scanned_ns)
                && statat(root, path.as_slice(), AtFlags::empty())
                    .is_ok_and(|stat| Stamp::of(&stat) == *stamp)
        };
        self.entry.dirs.iter().all(|(below, stamp)| same(below, stamp))
            && self.entry.files.iter().all(|(below, stamp, _)| same(below, stamp))
    }

    /// `shown`: the skill's directory as people name it now.
    pub(super) fn into_inspected(self, shown: impl FnOnce() -> String) -> Inspected {
        let entry = self.entry;
        let mut diagnostics = entry.around;
        diagnostics.extend(entry.reading);
        if !diagnostics.is_empty() {
            place(&mut diagnostics, &shown());
        }
        Inspected {
            head: entry.head,
            file: entry.file.to_owned(),
            digest: entry.digest,
            diagnostics,
            usable: entry.usable,
            id: entry.dirs.first().map(|(_, stamp)| stamp.id()).unwrap_or_default(),
            files_read: 0,
            entry: None,
        }
    }
}

/// A skill directory that is open, stamped and listed (in the scratch).
#[derive(Clone, Copy)]
pub(super) struct OpenDir<'a> {
    pub fd: BorrowedFd<'a>,
    pub stamp: Stamp,
    /// Its last component.
    pub name: &'a str,
    /// The directory as people name it.
    pub shown: &'a str,
}

/// Reads a skill directory, sparing what is remembered and unchanged.
pub(super) fn inspect(
    dir: OpenDir<'_>,
    remembered: Option<&Remembered<'_>>,
    scratch: &mut Scratch,
) -> Inspected {
    let shown = dir.shown;
    let mut readings: Vec<(String, Reading)> = Vec::new();
    let mut on_skill_file = |name: &str, bytes: &[u8]| {
        let path = format!("{shown}/{name}");
        let text = SkillText { dir_name: dir.name, path: &path, bytes };
        let reading = read_named(name, text);
        readings.push((name.to_owned(), reading));
    };
    let known: &dyn Known = match remembered {
        Some(known) => known,
        None => &super::digest::Nothing,
    };
    let mut contents = gather(dir.fd, dir.stamp, known, scratch, &mut on_skill_file);
    let names = skill_files_of(&contents);
    if names.len() > 1 {
        contents.problems.push(Problem::TwoSkillFiles { names: names.clone() });
    }
    let file = names.into_iter().next().unwrap_or_else(|| "SKILL.md".to_owned());
    let read = readings.into_iter().find(|(name, _)| *name == file).map(|(_, reading)| reading);
    let kept = contents.files.iter().any(|content| content.path.as_str() == file);
    let reading = match (read, remembered) {
        (Some(reading), _) => reading,
        (None, Some(known)) if kept && known.entry.file == file => reading_of(known, &file, shown),
        // Its content is known but not what it says: it was the second of two skill files.
        (None, Some(_)) if kept => return inspect(dir, None, scratch),
        (None, _) => Reading::default(),
    };
    finish(&contents, file, reading, shown)
}

fn skill_files_of(contents: &Contents) -> Vec<String> {
    let is_there = |name: &&str| {
        contents.files.iter().any(|file| file.path.as_str() == *name)
            || contents.problems.iter().any(|problem| problem.path() == *name)
    };
    SKILL_FILE_NAMES.iter().copied().filter(is_there).map(str::to_owned).collect()
}

/// The skill file itself is unchanged and only something around it is not.
fn reading_of(known: &Remembered<'_>, file: &str, shown: &str) -> Reading {
    let mut diagnostics = known.entry.reading.clone();
    for diagnostic in &mut diagnostics {
        diagnostic.path = format!("{shown}/{file}");
    }
    let usable = known.entry.reading_usable;
    Reading { head: known.entry.head.clone(), diagnostics, usable, ..Reading::default() }
}

fn finish(contents: &Contents, file: String, reading: Reading, shown: &str) -> Inspected {
    let mut around: Vec<_> = contents.problems.iter().map(|problem| problem.diagnostic(shown)).collect();
    around.extend(missing_side_file(&reading.head, contents, &file, shown));
    let mut said = reading.diagnostics;
    unplace(&mut around, shown);
    unplace(&mut said, shown);
    let entry = SkillEntry {
        dirs: contents.dirs.iter().map(|(path, stamp)| (path.as_str(), *stamp)).collect(),
        files: contents
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.stamp, Bytes(file.digest.as_bytes())))
            .collect(),
        file: &file,
        usable: reading.usable && !contents.problems.iter().any(Problem::is_fatal),
        head: reading.head,
        reading: said,
        around,
        reading_usable: reading.usable,
        digest: contents.digest(),
    };
    let lasting = contents.problems.iter().all(Problem::is_lasting);
    let bytes = if lasting { entry.encode() } else { None };
    let mut diagnostics = entry.around;
    diagnostics.extend(entry.reading);
    place(&mut diagnostics, shown);
    Inspected {
        head: entry.head,
        digest: entry.digest,
        diagnostics,
        usable: entry.usable,
        id: contents.dirs.first().map(|(_, stamp)| stamp.id()).unwrap_or_default(),
        files_read: contents.files_read,
        entry: bytes,
        file,
    }
}

/// Paths below the skill become paths as people name them from where they are.
fn place(diagnostics: &mut [Diagnostic], shown: &str) {
    for diagnostic in diagnostics {
        diagnostic.path.insert_str(0, shown);
    }
}

/// The reverse of [`place`].
fn unplace(diagnostics: &mut [Diagnostic], shown: &str) {
    for diagnostic in diagnostics {
        if let Some(below) = diagnostic.path.strip_prefix(shown) {
            diagnostic.path = below.to_owned();
        }
    }
}

/// The frontmatter refers to a file of phases that is not there. (A path that is none is the reader's to report.)
fn missing_side_file(head: &SkillHead, contents: &Contents, file: &str, shown: &str) -> Option<Diagnostic> {
    let side = RelPath::parse(head.phases_file.as_deref()?).ok()?;
    if contents.files.iter().any(|content| content.path == side) {
        return None;
    }
    Some(problems::side_file_missing(&format!("{shown}/{file}"), "metadata", side.as_str()))
}
