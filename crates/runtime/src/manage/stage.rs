//! Directories in which changes are prepared, beside the skills they are for: same file system, so one rename finishes.
//!
//! A stage is owned by whoever holds the lock on its `owner.lock`; the system drops that lock when the owner dies, however
//! it dies. So a stage that can be locked is left over, and one that cannot is in use. What a dead owner left is removed,
//! except skills that may be the only copy: those are put back or moved to the trash.

use super::disk::{Disk, DiskError, at, missing};
use super::error::ManageError;
use super::trash;
use crate::Places;
use fugato_skill::STAGE_PREFIX;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const OWNER: &str = "owner.lock";
/// Present before a stage receives an installed skill: from then on nothing in it may simply be deleted.
const KEEP: &str = "keep.mark";
/// `old.<n>.<name>`: an installed skill that was taken out of its place for the moment. Skill names have no dots.
const OLD: &str = "old.";

/// A place to prepare changes for one directory of skills.
#[derive(Debug)]
pub(super) struct Stage {
    disk: Disk,
    dir: PathBuf,
    _owner: Owner,
    is_kept: bool,
}

/// A held lock. Unlocked by word, not by closing: a child between fork and exec has a copy of the handle, and for that
/// moment a closed lock would still look held.
#[derive(Debug)]
struct Owner(File);

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// What a crashed change left, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// An unfinished copy was deleted.
    Deleted { stage: PathBuf },
    /// A skill that was out of place is back.
    Restored { dir: PathBuf },
    /// A skill that had been replaced is in the trash now.
    Trashed { to: PathBuf },
}

impl Stage {
    /// A fresh stage inside `root`, which is created if needed.
    pub(super) fn create(disk: &Disk, root: &Path) -> Result<Self, DiskError> {
        disk.create_dirs(root)?;
        // Someone may clean the new directory away before it is locked; then another one is made.
        for _ in 0..64 {
            let dir = root.join(unique_name());
            disk.create_dir(&dir)?;
            if let Some(owner) = take_lock(&dir)? {
                return Ok(Self { disk: disk.clone(), dir, _owner: owner, is_kept: false });
            }
        }
        at(root, Err(std::io::Error::other("no stage could be locked")))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Where an installed skill is put when it must leave its place before the new one can enter.
    pub(super) fn old_path(&self, name: &str) -> PathBuf {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        self.dir.join(format!("{OLD}{count}.{name}"))
    }

    /// From now on a crash must not cost what is in here.
    pub(super) fn keep(&mut self) -> Result<(), DiskError> {
        if !self.is_kept {
            self.disk.write_new(&self.dir.join(KEEP), b"", 0o644)?;
            self.disk.sync_dir(&self.dir)?;
            self.is_kept = true;
        }
        Ok(())
    }

    /// Deletes the stage, unless a skill that was moved aside is still in it. Best effort: what stays is cleaned by the
    /// next change.
    pub(super) fn discard(self) {
        let is_old = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(OLD);
        let holds_old = std::fs::read_dir(&self.dir)
            .is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(is_old)));
        if !holds_old {
            let _ = discard(&self.disk, &self.dir);
        }
    }

    /// Leaves everything for [`clean_stale_stages`]: something in here is the only copy and could not be moved.
    pub(super) fn abandon(self) -> PathBuf {
        self.dir
    }
}

fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |age| age.subsec_nanos());
    format!("{STAGE_PREFIX}{}-{}-{nanos:x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn take_lock(dir: &Path) -> Result<Option<Owner>, DiskError> {
    let path = dir.join(OWNER);
    match OpenOptions::new().create(true).append(true).open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        opened => Ok(locked(at(&path, opened)?, &path)),
    }
}

/// The file, if its lock is free and it is still the one at `path`: its owner may have deleted it and let go of the lock
/// between our opening and our locking.
fn locked(owner: File, path: &Path) -> Option<Owner> {
    use std::os::unix::fs::MetadataExt as _;
    owner.try_lock().ok()?;
    let owner = Owner(owner);
    let (held, there) = (owner.0.metadata().ok()?, path.metadata().ok()?);
    (held.ino() == there.ino() && held.dev() == there.dev()).then_some(owner)
}

/// The lock file goes last, so that a half-deleted stage is still recognised.
fn discard(disk: &Disk, dir: &Path) -> Result<(), DiskError> {
    for entry in at(dir, std::fs::read_dir(dir))? {
        let entry = at(dir, entry)?;
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => disk.remove_tree(&path)?,
            _ if entry.file_name() == OWNER => {}
            _ => disk.remove_file(&path)?,
        }
    }
    disk.remove_file(&dir.join(OWNER))?;
    match disk.remove_dir(dir) {
        // Without its lock file an empty stage is anyone's to remove.
        Err(error) if missing(&error) => Ok(()),
        removed => removed,
    }
}

/// Cleans what crashed changes left in a directory of skills. Stages in use, and everything that is not ours, stay.
pub fn clean_stale_stages(places: &Places, root: &Path) -> Result<Vec<Recovered>, ManageError> {
    clean_on(&Disk::real(), places, root)
}

pub(super) fn clean_on(disk: &Disk, places: &Places, root: &Path) -> Result<Vec<Recovered>, ManageError> {
    let Ok(entries) = std::fs::read_dir(root) else { return Ok(Vec::new()) };
    let mut recovered = Vec::new();
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(STAGE_PREFIX));
        // A link of that name was not made by us.
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let stage = entry.path();
        if !stage.join(OWNER).exists() {
            // Ours lose the lock file only when they are empty; anything else is someone's.
            let _ = disk.remove_dir(&stage);
            continue;
        }
        let path = stage.join(OWNER);
        // Held while recovering, so that nobody else does the same.
        if let Some(_owner) = File::open(&path).ok().and_then(|owner| locked(owner, &path)) {
            recover(disk, places, root, &stage, &mut recovered)?;
        }
    }
    Ok(recovered)
}

fn recover(
    disk: &Disk,
    places: &Places,
    root: &Path,
    stage: &Path,
    recovered: &mut Vec<Recovered>,
) -> Result<(), ManageError> {
    if stage.join(KEEP).exists() {
        for entry in at(stage, std::fs::read_dir(stage))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if matches!(name.as_str(), OWNER | KEEP) {
                continue;
            }
            let old =
                name.strip_prefix(OLD).and_then(|rest| rest.split_once('.')).map(|(_, name)| name.to_owned());
            if let Some(dir) = old.as_ref().map(|name| root.join(name))
                && disk.rename_new(&entry.path(), &dir).is_ok()
            {
                recovered.push(Recovered::Restored { dir });
                continue;
            }
            let to = trash::put(disk, places, &entry.path(), old.as_deref().unwrap_or(&name))?;
            recovered.push(Recovered::Trashed { to });
        }
    }
    discard(disk, stage)?;
    recovered.push(Recovered::Deleted { stage: stage.to_owned() });
    Ok(())
}
