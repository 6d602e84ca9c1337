//! A path from a model becomes a place beneath a root, or a refusal. Nothing here trusts a path after looking at it:
//! what is judged is the opened file, and opening itself cannot leave the root.

use super::{ToolContext, Unread};
use crate::beneath::{DIRECTORY, READ, open_beneath};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Longer than what Linux takes.
const MAX_PATH: usize = 4096;

/// Why a path was not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    #[error("the path is not usable: {0}")]
    Unusable(&'static str),
    #[error("`{0}` is outside the project; paths must stay beneath it, links included")]
    Outside(String),
    #[error("`{0}` does not exist")]
    NotFound(String),
    #[error("`{0}` is a directory")]
    IsDirectory(String),
    #[error("`{0}` is not a directory")]
    NotDirectory(String),
    #[error("`{0}` is not a regular file")]
    NotRegular(String),
    #[error("`{0}` is read-only")]
    ReadOnly(String),
    #[error("`{path}` has {size} bytes; the limit is {limit}")]
    TooLarge { path: String, size: u64, limit: usize },
    #[error("`{path}`: {error}")]
    Io { path: String, error: io::Error },
}

/// A path beneath an open root.
#[derive(Debug)]
pub(super) struct Place {
    root: OwnedFd,
    /// Relative to the root; `.` is the root itself. May still contain `..` and links: only opening resolves them.
    pub rel: String,
    /// As the model wrote it.
    pub shown: String,
    /// What stands before paths beneath the root when they are shown: nothing for the project.
    pub prefix: PathBuf,
    pub root_dir: PathBuf,
    unread: Option<Unread>,
}

impl Place {
    pub fn new(context: &ToolContext, path: &str) -> Result<Self, PlaceError> {
        if path.is_empty() {
            return Err(PlaceError::Unusable("it is empty"));
        }
        if path.contains('\0') {
            return Err(PlaceError::Unusable("it contains a NUL character"));
        }
        if path.len() > MAX_PATH {
            return Err(PlaceError::Unusable("it is longer than 4096 bytes"));
        }
        if path == "~" || path.starts_with("~/") {
            return Err(PlaceError::Unusable("`~` has no meaning here; paths are relative to the project"));
        }
        if path.contains("://") {
            return Err(PlaceError::Unusable("it is an address; write the path of a file"));
        }
        let (root_dir, rel) = locate(context, path)?;
        let is_project = context.roots.first().is_some_and(|first| *first == root_dir);
        let root = openat(CWD, &root_dir, DIRECTORY, Mode::empty()).map_err(|error| PlaceError::Io {
            path: root_dir.to_string_lossy().into_owned(),
            error: error.into(),
        })?;
        let prefix = if is_project { PathBuf::new() } else { root_dir.clone() };
        let unread = context.unread.clone();
        Ok(Self { root, rel, shown: path.to_owned(), prefix, root_dir, unread })
    }

    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Is the agent kept from reading what is at this path below the root?
    pub fn keeps(&self, path: &[u8]) -> bool {
        let Some(unread) = &self.unread else { return false };
        unread.has(&self.prefix.join(String::from_utf8_lossy(path).as_ref()).to_string_lossy())
    }

    /// The regular file here, for reading.
    pub fn open_file(&self) -> Result<File, PlaceError> {
        let fd = self.open(READ)?;
        self.regular(&fd)?;
        Ok(File::from(fd))
    }

    /// The directory here.
    pub fn open_dir(&self) -> Result<OwnedFd, PlaceError> {
        self.open(DIRECTORY)
    }

    fn open(&self, flags: OFlags) -> Result<OwnedFd, PlaceError> {
        open_beneath(self.root(), &self.rel, flags).map_err(|error| self.error(error))
    }

    /// Judged after opening: what is checked is what is used.
    pub fn regular(&self, fd: &OwnedFd) -> Result<u64, PlaceError> {
        let stat = fstat(fd).map_err(|error| self.error(error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(u64::try_from(stat.st_size).unwrap_or(0)),
            FileType::Directory => Err(PlaceError::IsDirectory(self.shown.clone())),
            _ => Err(PlaceError::NotRegular(self.shown.clone())),
        }
    }

    pub fn error(&self, error: Errno) -> PlaceError {
        let path = self.shown.clone();
        match error {
            Errno::NOENT => PlaceError::NotFound(path),
            Errno::NOTDIR => PlaceError::NotDirectory(path),
            Errno::ISDIR => PlaceError::IsDirectory(path),
            // A loop of links leads nowhere, which is not beneath the project either.
            Errno::XDEV | Errno::LOOP => PlaceError::Outside(path),
            // Sockets and devices without a driver cannot even be opened.
            Errno::NXIO | Errno::NODEV => PlaceError::NotRegular(path),
            error => PlaceError::Io { path, error: error.into() },
        }
    }

    /// A path beneath the root as the model should name it.
    pub fn show(&self, beneath: &[u8]) -> String {
        let beneath = String::from_utf8_lossy(beneath);
        super::text::on_one_line(&self.prefix.join(beneath.as_ref()).to_string_lossy())
    }
}

/// Which root a path belongs to, and what remains of it there.
fn locate(context: &ToolContext, path: &str) -> Result<(PathBuf, String), PlaceError> {
    if !path.starts_with('/') {
        let first = context.roots.first().ok_or(PlaceError::Unusable("there is no project directory"))?;
        return Ok((first.clone(), path.to_owned()));
    }
    let scratch = Some(&context.scratch).filter(|scratch| scratch.is_absolute());
    let mut best: Option<(usize, PathBuf, String)> = None;
    for root in context.roots.iter().chain(scratch) {
        // Models copy paths from the output of commands, which may name the root without its links.
        let real = root.canonicalize().ok();
        for name in std::iter::once(root).chain(real.as_ref()) {
            let Ok(rest) = Path::new(path).strip_prefix(name) else { continue };
            let length = name.as_os_str().len();
            if best.as_ref().is_none_or(|(longest, ..)| length > *longest) {
                let rest = rest.to_string_lossy().into_owned();
                best = Some((length, root.clone(), if rest.is_empty() { ".".into() } else { rest }));
            }
        }
    }
    best.map(|(_, root, rest)| (root, rest)).ok_or_else(|| PlaceError::Outside(path.to_owned()))
}
