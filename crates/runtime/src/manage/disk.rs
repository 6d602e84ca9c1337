//! The few operations that change a disk, each counted, so that a test can stop the world before any one of them.
//!
//! Knows nothing of skills. Reading is not here: it cannot leave anything half done.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The disk, real or about to fail.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    fault: Option<Arc<Fault>>,
    system: FileSystem,
}

/// What the file system can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileSystem {
    #[default]
    Real,
    /// Knows plain rename only, as NFS does.
    WithoutExchange,
    /// Every directory of skills, and the trash, is a file system of its own.
    OnePerDirectory,
}

#[derive(Debug)]
struct Fault {
    at: u64,
    then: Then,
    done: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
enum Then {
    /// This step and all later ones do nothing: the process is gone.
    Die,
    /// Only this step fails.
    Fail(rustix::io::Errno),
}

/// An operation that failed, and the path it was about.
#[derive(Debug, thiserror::Error)]
#[error("`{}`: {source}", path.display())]
pub struct DiskError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

type Result<T> = std::result::Result<T, DiskError>;

pub(super) fn at<T>(path: &Path, result: io::Result<T>) -> Result<T> {
    result.map_err(|source| DiskError { path: path.to_owned(), source })
}

impl Disk {
    pub fn real() -> Self {
        Self::default()
    }

    /// A disk whose process dies before step `step` (from 1); a write in progress is torn.
    pub fn dying_at(step: u64) -> Self {
        Self::faulty(step, Then::Die)
    }

    /// A disk that is full at step `step` and has room again after it.
    pub fn full_at(step: u64) -> Self {
        Self::faulty(step, Then::Fail(rustix::io::Errno::NOSPC))
    }

    /// The same disk with another file system on it.
    #[must_use]
    pub fn with(self, system: FileSystem) -> Self {
        Self { system, ..self }
    }

    fn faulty(at: u64, then: Then) -> Self {
        Self { fault: Some(Arc::new(Fault { at, then, done: AtomicU64::new(0) })), ..Self::default() }
    }

    /// Did the fault happen? A sweep over all steps ends when it no longer does.
    pub fn is_struck(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.done.load(Ordering::SeqCst) >= fault.at)
    }

    fn step(&self) -> io::Result<()> {
        let Some(fault) = &self.fault else { return Ok(()) };
        let now = fault.done.fetch_add(1, Ordering::SeqCst) + 1;
        match fault.then {
            Then::Die if now >= fault.at => Err(io::Error::other("the process died here")),
            Then::Fail(errno) if now == fault.at => Err(errno.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn create_dir(&self, path: &Path) -> Result<()> {
        at(path, self.step().and_then(|()| std::fs::create_dir(path)))
    }

    pub(super) fn create_dirs(&self, path: &Path) -> Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        at(path, self.step().and_then(|()| std::fs::create_dir_all(path)))
    }

    /// A new file with these bytes, on the platter when this returns.
    pub(super) fn write_new(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
        at(path, self.try_write_new(path, bytes, mode))
    }

    fn try_write_new(&self, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.step()?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        if let Err(error) = self.step() {
            // Power does not fail between two writes but in one.
            let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
            file.write_all(half)?;
            return Err(error);
        }
        file.write_all(bytes)?;
        self.step()?;
        file.sync_all()
    }

    pub(super) fn link(&self, target: &Path, path: &Path) -> Result<()> {
        at(path, self.step().and_then(|()| symlink(target, path)))
    }

    /// The names in a directory are on the platter when this returns.
    pub(super) fn sync_dir(&self, path: &Path) -> Result<()> {
        at(path, self.step().and_then(|()| File::open(path)?.sync_all()))
    }

    /// Moves something to a name that must be free. [`taken`] recognises the error when it is not.
    pub(super) fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        at(to, self.step().and_then(|()| self.try_rename_new(from, to)))
    }

    fn try_rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.system {
            FileSystem::OnePerDirectory if are_apart(from, to) => Err(io::ErrorKind::CrossesDevices.into()),
            FileSystem::WithoutExchange => plain_noreplace(from, to),
            _ => rename_noreplace(from, to),
        }
    }

    /// Moves a file over another.
    pub(super) fn rename_over(&self, from: &Path, to: &Path) -> Result<()> {
        at(to, self.step().and_then(|()| std::fs::rename(from, to)))
    }

    /// Two names swap what they name, in one step no one can see the middle of. `Ok(false)`: this file system cannot.
    pub(super) fn exchange(&self, one: &Path, other: &Path) -> Result<bool> {
        let swapped = self.step().and_then(|()| match self.system {
            FileSystem::WithoutExchange => Err(io::ErrorKind::Unsupported.into()),
            _ => exchange(one, other),
        });
        match swapped {
            Err(error) if is_unsupported(&error) => Ok(false),
            result => at(other, result).map(|()| true),
        }
    }

    pub(super) fn remove_file(&self, path: &Path) -> Result<()> {
        at(path, self.step().and_then(|()| std::fs::remove_file(path)))
    }

    pub(super) fn remove_dir(&self, path: &Path) -> Result<()> {
        at(path, self.step().and_then(|()| std::fs::remove_dir(path)))
    }

    /// Removes a directory and everything in it; links are removed, not followed.
    pub(super) fn remove_tree(&self, path: &Path) -> Result<()> {
        at(path, self.step().and_then(|()| std::fs::remove_dir_all(path)))
    }
}

/// Neither lies beside or below the other.
fn are_apart(one: &Path, other: &Path) -> bool {
    let holds = |a: &Path, b: &Path| a.parent().is_some_and(|parent| b.starts_with(parent));
    !holds(one, other) && !holds(other, one)
}

/// Is the name of a [`Disk::rename_new`] in use?
pub(super) fn taken(error: &DiskError) -> bool {
    use io::ErrorKind as K;
    matches!(
        error.source.kind(),
        K::AlreadyExists | K::DirectoryNotEmpty | K::NotADirectory | K::IsADirectory
    )
}

pub(super) fn crosses_devices(error: &DiskError) -> bool {
    error.source.kind() == io::ErrorKind::CrossesDevices
}

pub(super) fn missing(error: &DiskError) -> bool {
    error.source.kind() == io::ErrorKind::NotFound
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from) {
        Err(error) if is_unsupported(&error) => plain_noreplace(from, to),
        result => result,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    plain_noreplace(from, to)
}

/// A directory can only be renamed over an empty directory, so for skills plain rename already refuses to replace; the
/// look before it is for links and files.
fn plain_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    match to.symlink_metadata() {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::rename(from, to),
        Err(error) => Err(error),
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// NFS, old kernels and some overlays know plain rename only.
fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    error.kind() == io::ErrorKind::Unsupported
        || [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
