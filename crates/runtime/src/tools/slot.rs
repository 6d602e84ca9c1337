//! A place in which a file is written: an open directory, a name in it, and the turn to write there.
//!
//! The new file replaces the old in one step, through a temporary one in the same directory. The directory was opened
//! beneath the root and is held, and a rename never follows a link, so no race leads outside. A hard link to a file
//! elsewhere is replaced, never written through.

use super::place::{Place, PlaceError};
use crate::beneath::{DIRECTORY, READ, open_beneath};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, fchmod, flock, fsync, mkdirat, openat, readlinkat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What happens to directories that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parents {
    Make,
    MustExist,
}

/// As many links as Linux follows before it says "loop".
const MAX_LINKS: u32 = 40;
/// Writers of one directory take turns of milliseconds, seconds on a busy disk; who holds it longer is not one of us.
const TURN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Slot<'a> {
    place: &'a Place,
    dir: OwnedFd,
    name: String,
    /// Permissions of the file that is there now.
    existing: Option<Mode>,
}

impl<'a> Slot<'a> {
    /// Opens the slot and waits for its turn, which lasts as long as the slot.
    pub fn open(place: &'a Place, parents: Parents) -> Result<Self, PlaceError> {
        let (dir, name) = resolve(place, parents)?;
        take_turn(&dir, place)?;
        let existing = match statat(&dir, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => None,
            Err(error) => return Err(place.error(error)),
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Some(Mode::from_raw_mode(stat.st_mode)),
                FileType::Directory => return Err(PlaceError::IsDirectory(place.shown.clone())),
                FileType::Symlink => return Err(PlaceError::Outside(place.shown.clone())),
                _ => return Err(PlaceError::NotRegular(place.shown.clone())),
            },
        };
        // A rename would succeed, but whoever took the write bits away meant it.
        if existing.is_some_and(|mode| !mode.intersects(Mode::WUSR | Mode::WGRP | Mode::WOTH)) {
            return Err(PlaceError::ReadOnly(place.shown.clone()));
        }
        Ok(Self { place, dir, name, existing })
    }

    pub fn exists(&self) -> bool {
        self.existing.is_some()
    }

    /// What is there now.
    pub fn read(&self, limit: usize) -> Result<Vec<u8>, PlaceError> {
        let fd = openat(&self.dir, self.name.as_str(), READ | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|error| self.place.error(error))?;
        let size = self.place.regular(&fd)?;
        let mut bytes = Vec::new();
        let cap = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        File::from(fd).take(cap).read_to_end(&mut bytes).map_err(|error| self.io(error))?;
        if bytes.len() > limit {
            let size = size.max(cap);
            return Err(PlaceError::TooLarge { path: self.place.shown.clone(), size, limit });
        }
        Ok(bytes)
    }

    /// Puts the new content there, whole or not at all. Permissions of an existing file stay.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), PlaceError> {
        let (fd, temporary) = self.create_temporary().map_err(|error| self.place.error(error))?;
        let done = self.fill(fd, bytes).and_then(|()| {
            renameat(&self.dir, temporary.as_str(), &self.dir, self.name.as_str())
                .map_err(|error| self.place.error(error))
        });
        if done.is_err() {
            let _ = unlinkat(&self.dir, temporary.as_str(), AtFlags::empty());
        }
        // The rename must survive a power cut too; a file system that cannot sync a directory has no such promise.
        let _ = fsync(&self.dir);
        done
    }

    fn create_temporary(&self) -> rustix::io::Result<(OwnedFd, String)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let temporary = format!(".fugato-{}-{number}.tmp", std::process::id());
            match openat(&self.dir, temporary.as_str(), flags, Mode::from_raw_mode(0o666)) {
                // Left by a crash of a process that had our number; the next number is free or the one after it.
                Err(Errno::EXIST) => {}
                answer => return answer.map(|fd| (fd, temporary)),
            }
        }
    }

    fn fill(&self, fd: OwnedFd, bytes: &[u8]) -> Result<(), PlaceError> {
        if let Some(mode) = self.existing {
            let kept = mode & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
            fchmod(&fd, kept).map_err(|error| self.place.error(error))?;
        }
        let mut file = File::from(fd);
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| self.io(error))
    }

    fn io(&self, error: std::io::Error) -> PlaceError {
        PlaceError::Io { path: self.place.shown.clone(), error }
    }
}

/// The directory and the name in it, following links of the last component as long as they stay beneath the root.
fn resolve(place: &Place, parents: Parents) -> Result<(OwnedFd, String), PlaceError> {
    let (mut path, mut parents) = (place.rel.clone(), parents);
    for _ in 0..MAX_LINKS {
        let (parent, name) = path.rsplit_once('/').unwrap_or((".", &path));
        if matches!(name, "" | "." | "..") {
            return Err(PlaceError::IsDirectory(place.shown.clone()));
        }
        let parent = if parent.is_empty() { "." } else { parent };
        let dir = open_parent(place, parent, parents)?;
        let target = match readlinkat(&dir, name, Vec::new()) {
            // Not a link, or nothing yet.
            Err(Errno::INVAL | Errno::NOENT) => return Ok((dir, name.to_owned())),
            Err(error) => return Err(place.error(error)),
            Ok(target) => {
                target.into_string().map_err(|_| PlaceError::Unusable("a link in it is not UTF-8"))?
            }
        };
        if target.starts_with('/') {
            return Err(PlaceError::Outside(place.shown.clone()));
        }
        path = format!("{parent}/{target}");
        // A dangling link is no wish for directories.
        parents = Parents::MustExist;
    }
    Err(PlaceError::Outside(place.shown.clone()))
}

fn open_parent(place: &Place, parent: &str, parents: Parents) -> Result<OwnedFd, PlaceError> {
    match open_beneath(place.root(), parent, DIRECTORY) {
        Err(Errno::NOENT) if parents == Parents::Make => {
            make_dirs(place.root(), parent).map_err(|error| place.error(error))
        }
        Err(Errno::NOENT) => Err(PlaceError::NotFound(place.shown.clone())),
        answer => answer.map_err(|error| place.error(error)),
    }
}

/// Opens each directory on the way from the root, making those that are missing.
fn make_dirs(root: BorrowedFd<'_>, path: &str) -> rustix::io::Result<OwnedFd> {
    let mut here = open_beneath(root, ".", DIRECTORY)?;
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let mut way = String::new();
    for (at, name) in names.iter().enumerate() {
        way.push_str(name);
        here = match open_beneath(root, &way, DIRECTORY) {
            // `missing/../x` means a directory that is expected to be there, not one to be made on the way.
            Err(Errno::NOENT) if !names.iter().skip(at).any(|name| *name == "..") => {
                match mkdirat(here.as_fd(), *name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => open_beneath(root, &way, DIRECTORY)?,
                    Err(error) => return Err(error),
                }
            }
            answer => answer?,
        };
        way.push('/');
    }
    Ok(here)
}

/// Two edits of one file at once would lose one of them.
fn take_turn(dir: &OwnedFd, place: &Place) -> Result<(), PlaceError> {
    let began = Instant::now();
    loop {
        match flock(dir, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK | Errno::INTR) if began.elapsed() < TURN => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(Errno::WOULDBLOCK) => {
                let error =
                    std::io::Error::new(std::io::ErrorKind::TimedOut, "another program locked its directory");
                return Err(PlaceError::Io { path: place.shown.clone(), error });
            }
            // Some network disks have no locks; then there are no turns.
            _ => return Ok(()),
        }
    }
}
