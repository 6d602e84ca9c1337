//! The digest of a skill directory, file by file: what lock, verify and export build on.

use super::contents::{Known, Scratch, gather, list};
use super::stamp::Stamp;
use crate::beneath::DIRECTORY;
use fugato_model::{Digest, RelPath};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{CWD, Mode, fstat, openat};
use std::io;
use std::path::Path;

/// One file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    pub path: RelPath,
    pub len: u64,
    pub digest: Digest,
}

/// Hashes every file of a skill directory, sorted by path. The definition is `fugato_skill::digest_files`'.
/// Fails when a file cannot be read or a limit is passed: a digest that skips content would lie.
pub fn skill_digest(dir: &Path) -> io::Result<(Digest, Vec<FileEntry>)> {
    let fd = openat(CWD, dir, DIRECTORY, Mode::empty())?;
    let mut scratch = Scratch::default();
    let stamp = Stamp::of(&fstat(&fd)?);
    scratch.listing.read(fd.as_fd())?;
    let contents = gather(fd.as_fd(), stamp, &Nothing, &mut scratch, &mut |_, _| {});
    let Some(digest) = contents.digest() else {
        let hidden = contents.problems.iter().find(|problem| problem.hides_content());
        let shown = dir.to_string_lossy();
        let why = hidden.map(|problem| problem.diagnostic(&shown).message.en).unwrap_or_default();
        return Err(io::Error::other(why));
    };
    let entry = |file: super::contents::ContentFile| FileEntry {
        path: file.path,
        len: file.length,
        digest: file.digest,
    };
    Ok((digest, contents.files.into_iter().map(entry).collect()))
}

/// The paths of all files of a skill, sorted, without reading any. What a digest skips is skipped here.
pub(crate) fn list_files(dir: BorrowedFd<'_>) -> Vec<RelPath> {
    let mut scratch = Scratch::default();
    // A handle of its own: the position of a directory handle is shared by all that use it.
    let Ok(own) = openat(dir, ".", DIRECTORY, Mode::empty()) else { return Vec::new() };
    let (Ok(stat), Ok(())) = (fstat(&own), scratch.listing.read(own.as_fd())) else { return Vec::new() };
    list(own.as_fd(), Stamp::of(&stat), &mut scratch)
}

/// Nothing is known: every file is read.
pub(crate) struct Nothing;

impl Known for Nothing {
    fn file(&self, _path: &str) -> Option<(Stamp, Digest)> {
        None
    }
}
