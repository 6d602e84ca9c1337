//! Going through the files beneath a place, in order of their paths, over held directory handles.
//!
//! No link is followed and no path is resolved twice, so a directory that is swapped for a link meanwhile is not
//! entered. Bounded in depth, number and time; past a bound the walk says that it is not whole.

use super::CancelToken;
use super::outcome::Failure;
use super::place::Place;
use super::rules::Rules;
use crate::beneath::{DIRECTORY, open_beneath};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Each level holds a handle; deeper trees are loops of mounts or made to hurt.
const MAX_DEPTH: usize = 128;
/// As large as the largest repositories; past it a search of everything was not meant.
const MAX_ENTRIES: u64 = 1_000_000;
/// The inner life of version control.
const NEVER: [&[u8]; 4] = [b".git", b".hg", b".jj", b".svn"];

/// A file or link that the walk came to.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub dir: BorrowedFd<'a>,
    pub name: &'a [u8],
    /// Relative to the root.
    pub path: &'a [u8],
    /// Relative to where the walk began.
    pub below: &'a [u8],
    pub is_link: bool,
}

/// Whether everything was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walked {
    Whole,
    /// The visitor had enough.
    Stopped,
    /// A bound was met.
    Cut(&'static str),
}

/// A cancel and a clock.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    cancel: &'a CancelToken,
    until: Option<Instant>,
}

impl<'a> Watch<'a> {
    pub fn new(cancel: &'a CancelToken, time: Duration) -> Self {
        Self { cancel, until: Instant::now().checked_add(time) }
    }

    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub fn check(&self) -> Result<(), Failure> {
        if self.is_cancelled() {
            return Err(Failure::cancelled());
        }
        if self.is_late() {
            return Err(Failure::new("the time limit was met"));
        }
        Ok(())
    }
}

/// A directory on the way, with what is still to be visited in it.
struct Frame {
    dir: OwnedFd,
    names: std::vec::IntoIter<(Vec<u8>, FileType)>,
    /// Length of the path of this directory, its last `/` included.
    length: usize,
    has_rules: bool,
}

struct Walk {
    rules: Rules,
    /// Of the entry that is looked at, relative to the root.
    path: Vec<u8>,
    /// How much of the path leads to the start.
    begin: usize,
    entries: u64,
    is_too_deep: bool,
    frames: Vec<Frame>,
}

/// Visits every file beneath `place` (a directory) that the rules do not leave out.
pub(super) fn walk(
    place: &Place,
    watch: &Watch<'_>,
    visit: &mut dyn FnMut(&Found<'_>) -> ControlFlow<()>,
) -> Result<Walked, Failure> {
    let start = place.open_dir()?;
    let mut rules = Rules::around(&place.root_dir);
    let path = enter_start(place, &mut rules);
    let begin = path.len();
    let mut walk = Walk { rules, path, begin, entries: 0, is_too_deep: false, frames: Vec::new() };
    walk.enter(start).map_err(|error| place.error(error))?;
    while let Some((name, kind)) = walk.next() {
        if watch.is_cancelled() {
            return Err(Failure::cancelled());
        }
        if watch.is_late() {
            return Ok(Walked::Cut("the time limit was met"));
        }
        if walk.entries > MAX_ENTRIES {
            return Ok(Walked::Cut("there are more than a million files"));
        }
        let is_dir = kind == FileType::Directory;
        let is_left_out = NEVER.contains(&name.as_slice()) || walk.rules.leaves_out(&walk.path, is_dir);
        if is_left_out || place.keeps(&walk.path) {
            continue;
        }
        if is_dir {
            walk.descend(&name);
        } else if walk.visit(&name, kind, visit).is_break() {
            return Ok(Walked::Stopped);
        }
    }
    let deep = Walked::Cut("directories nested more than 128 deep were left out");
    Ok(if walk.is_too_deep { deep } else { Walked::Whole })
}

impl Walk {
    /// The next entry; `path` is then its path.
    fn next(&mut self) -> Option<(Vec<u8>, FileType)> {
        loop {
            let top = self.frames.last_mut()?;
            if let Some((name, kind)) = top.names.next() {
                self.path.truncate(top.length);
                self.path.extend_from_slice(&name);
                return Some((name, kind));
            }
            if top.has_rules {
                self.rules.leave();
            }
            self.frames.pop();
        }
    }

    fn visit(
        &self,
        name: &[u8],
        kind: FileType,
        visit: &mut dyn FnMut(&Found<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let is_link = match kind {
            FileType::RegularFile => false,
            FileType::Symlink => true,
            _ => return ControlFlow::Continue(()),
        };
        let Some(top) = self.frames.last() else { return ControlFlow::Continue(()) };
        let below = self.path.get(self.begin..).unwrap_or_default();
        visit(&Found { dir: top.dir.as_fd(), name, path: &self.path, below, is_link })
    }

    /// What cannot be opened (no permission, gone, now a link) is passed over, as in every search.
    fn descend(&mut self, name: &[u8]) {
        if self.frames.len() >= MAX_DEPTH {
            self.is_too_deep = true;
            return;
        }
        let Some(top) = self.frames.last() else { return };
        if let Ok(dir) = openat(&top.dir, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
            self.path.push(b'/');
            let _ = self.enter(dir);
        }
    }

    fn enter(&mut self, dir: OwnedFd) -> rustix::io::Result<()> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                break;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            names.push((name.to_vec(), kind));
        }
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let has_rules = self.rules.enter(dir.as_fd(), self.path.len());
        let length = self.path.len();
        self.frames.push(Frame { dir, names: names.into_iter(), length, has_rules });
        Ok(())
    }
}

/// The path of the start with a `/` at its end, and the rules on the way there.
fn enter_start(place: &Place, rules: &mut Rules) -> Vec<u8> {
    // Through `..` the way is not the path; then only rules at and beneath the start hold.
    let is_straight = !place.rel.split('/').any(|name| name == "..");
    let mut path = String::new();
    for name in place.rel.split('/').filter(|name| !matches!(*name, "" | ".")) {
        let here = if path.is_empty() { "." } else { path.as_str() };
        if is_straight && let Ok(dir) = open_beneath(place.root(), here, DIRECTORY) {
            rules.enter(dir.as_fd(), path.len());
        }
        path.push_str(name);
        path.push('/');
    }
    path.into_bytes()
}
