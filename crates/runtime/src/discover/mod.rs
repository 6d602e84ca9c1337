//! Finding skills: from roots to an inventory.
//!
//! Architecture invariant: discovery reports and never judges. A broken skill is listed with its diagnostics, an
//! unreadable corner is a note, and nothing that lies in a directory can make the rest of the walk fail or block.

mod contents;
mod digest;
mod index;
mod inspect;
mod listing;
mod paths;
mod problem;
mod stamp;
mod walk;

pub(crate) use contents::MAX_FILE_BYTES;
pub(crate) use digest::list_files;
pub use digest::{FileEntry, skill_digest};
pub use paths::discover_paths;

use crate::Root;
use crate::beneath::DIRECTORY;
use fugato_model::{Code, Diagnostic};
use fugato_skill::{Installed, Inventory};
use index::{Bytes, IndexFile, Section};
use rustix::fs::{CWD, Mode, openat};
use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use walk::{Found, FoundSkill, OpenRoot, walk};

/// What was found.
#[derive(Debug, Default)]
pub struct Discovery {
    pub inventory: Inventory,
    pub stats: Stats,
    /// Problems that belong to no single skill.
    pub notes: Vec<Diagnostic>,
}

/// What finding it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    pub skills: usize,
    /// Skills whose directory was read.
    pub read: usize,
    /// Skills taken from the index.
    pub reused: usize,
    pub files_read: usize,
    pub dirs_listed: usize,
    pub millis: u64,
    pub index: IndexUse,
}

/// What became of the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IndexUse {
    /// None was asked for.
    #[default]
    Off,
    /// Nothing changed, nothing was written.
    Fresh,
    Written,
    /// It should have been written and could not be: a read-only home. Everything works, only slower.
    NotWritten(String),
}

/// Finds the skills below `roots`. With an index, what did not change since the last time is not read again.
pub fn discover(roots: &[Root], index: Option<&Path>) -> Discovery {
    discover_at(roots, index, SystemTime::now())
}

/// As [`discover`], at a given time: the index distrusts what changed shortly before it.
pub fn discover_at(roots: &[Root], index: Option<&Path>, now: SystemTime) -> Discovery {
    let started = Instant::now();
    let file = index.map(IndexFile::load).unwrap_or_default();
    let sections = file.sections();
    let mut notes = Vec::new();
    let open: Vec<_> = roots.iter().filter_map(|root| open_root(root, &sections, &mut notes)).collect();
    let mut found = walk(&open);
    let now_ns =
        now.duration_since(UNIX_EPOCH).map_or(0, |age| i64::try_from(age.as_nanos()).unwrap_or(i64::MAX));
    notes.append(&mut found.notes);
    notes.sort_by(|a, b| a.path.cmp(&b.path));
    let (read, files_read) = (found.skills_read as usize, found.files_read as usize);
    let dirs_listed = found.dirs_listed as usize;
    let total = found.skills.len();
    let skills = std::mem::take(&mut found.skills);
    // Sorting ten thousand skills and writing the index take some milliseconds each, and do not need each other.
    let (inventory, index) = std::thread::scope(|scope| {
        let write = |path| remember(path, now_ns, &open, &sections, &found);
        let writer = index.filter(|_| changed(&open, &found)).map(|path| scope.spawn(move || write(path)));
        let inventory = Inventory::new(installed(skills, roots));
        let outcome =
            writer.map(|writer| writer.join().unwrap_or_else(|_| IndexUse::NotWritten(String::new())));
        (inventory, outcome.unwrap_or(if index.is_some() { IndexUse::Fresh } else { IndexUse::Off }))
    });
    let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (skills, reused) = (inventory.len(), total - read);
    Discovery {
        inventory,
        stats: Stats { skills, read, reused, files_read, dirs_listed, millis, index },
        notes,
    }
}

fn open_root<'a>(
    root: &'a Root,
    sections: &[(&'a [u8], &'a [u8])],
    notes: &mut Vec<Diagnostic>,
) -> Option<OpenRoot<'a>> {
    let fd = match openat(CWD, &root.path, DIRECTORY, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return None,
        Err(error) => {
            notes.push(Diagnostic::warning(Code::F0121, root.shown.clone(), walk::unlistable(error)));
            return None;
        }
    };
    let name = root.path.as_os_str().as_bytes();
    let section =
        sections.iter().find(|(known, _)| *known == name).and_then(|(_, bytes)| Section::decode(bytes));
    let (scanned_ns, known) = match &section {
        Some(section) => (section.scanned_ns, section.by_path()),
        None => (0, HashMap::new()),
    };
    Some(OpenRoot { root, fd, scanned_ns, known, above: std::sync::OnceLock::new() })
}

/// Does something differ from the index?
fn changed(open: &[OpenRoot<'_>], found: &Found<'_>) -> bool {
    let known: usize = open.iter().map(|root| root.known.len()).sum();
    let same = |entry: &Cow<'_, [u8]>| matches!(entry, Cow::Borrowed(_));
    known != found.entries.len() || !found.entries.iter().all(|kept| same(&kept.entry))
}

fn remember(
    path: &Path,
    now_ns: i64,
    open: &[OpenRoot<'_>],
    sections: &[(&[u8], &[u8])],
    found: &Found<'_>,
) -> IndexUse {
    let mut by_root: Vec<Vec<(Bytes<'_>, Bytes<'_>)>> = vec![Vec::new(); open.len()];
    for kept in &found.entries {
        if let Some(entries) = by_root.get_mut(kept.root) {
            entries.push((Bytes(&kept.path), Bytes(&kept.entry)));
        }
    }
    let encoded: Vec<_> = open
        .iter()
        .zip(by_root)
        .filter_map(|(root, entries)| {
            let section = Section { scanned_ns: now_ns, entries };
            Some((root.root.path.as_os_str().as_bytes(), section.encode()?))
        })
        .collect();
    let is_ours = |name: &[u8]| encoded.iter().any(|(own, _)| *own == name);
    let others = sections.iter().copied().filter(|(name, _)| !is_ours(name));
    let all: Vec<_> = others.chain(encoded.iter().map(|(name, bytes)| (*name, bytes.as_slice()))).collect();
    match index::save(path, &all) {
        Ok(()) => IndexUse::Written,
        Err(error) => IndexUse::NotWritten(error.to_string()),
    }
}

/// One directory counts once per scope, by whatever links it is reached: installers link one copy of a skill into the
/// directories of several clients, and that is not shadowing.
fn installed(mut found: Vec<FoundSkill>, roots: &[Root]) -> Vec<Installed> {
    if found.iter().any(|skill| skill.is_link) || roots.len() > 1 {
        found.sort_by(|a, b| {
            let (one, other) = (&a.installed, &b.installed);
            (other.rank, a.is_link, &one.dir).cmp(&(one.rank, b.is_link, &other.dir))
        });
        let mut seen = HashSet::with_capacity(found.len());
        let keep: Vec<_> =
            found.iter().map(|skill| seen.insert((&skill.installed.scope, skill.id))).collect();
        let mut keep = keep.into_iter();
        found.retain(|_| keep.next().unwrap_or(true));
    }
    found.into_iter().map(|skill| *skill.installed).collect()
}

#[cfg(test)]
mod tests;
