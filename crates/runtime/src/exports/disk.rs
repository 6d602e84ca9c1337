//! One file or directory of the exports at a time: replaced whole, grown by whole lines, read without trusting it. Which file holds
//! what is not known here.

use super::files::TEMPORARY;
use super::tail;
use fugato_model::{Words, words};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why an export could not be written. The run itself is never touched by it.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {error}", path.display())]
pub struct ExportError {
    pub path: PathBuf,
    pub error: io::Error,
}

impl ExportError {
    pub(super) fn at(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_owned(), error }
    }

    pub fn words(&self) -> Words {
        let (path, error) = (self.path.display(), &self.error);
        words!(
            "the files for other programs are not up to date: {path}: {error}; the run itself goes on. When it is over: \
             fugato doctor --rebuild",
            "供其他程序读取的文件未能更新：{path}：{error}；运行本身不受影响。结束后可执行：fugato doctor --rebuild"
        )
    }
}

/// When must bytes be on the disk itself?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Before a file takes its name.
    Now,
    /// Whoever takes the files over sees to it.
    Later,
}

/// What became of a file that grows.
pub(super) struct Written {
    pub length: u64,
    /// Somebody else took something out of it.
    pub was_shortened: bool,
}

pub(super) fn write_lines(path: &Path, bytes: &[u8], expected: u64) -> io::Result<Written> {
    if expected == 0 {
        let mut options = OpenOptions::new();
        match options.append(true).create_new(true).mode(0o600).open(path) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                return Ok(Written { length: bytes.len() as u64, was_shortened: false });
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let mut file = open_to_append(path)?;
    let length = file.metadata()?.len();
    // Somebody else shortened it, or wrote to it: theirs stays, and ours begins on a line of its own.
    let was_shortened = length < expected;
    if length > expected && !tail::ends_with_newline(&file)? {
        file.write_all(b"\n")?;
    }
    file.write_all(bytes)?;
    Ok(Written { length: file.metadata()?.len(), was_shortened })
}

pub(super) fn replace_at(path: &Path, bytes: &[u8], durability: Durability) -> Result<(), ExportError> {
    if has_content(path, bytes) {
        return Ok(());
    }
    let at = |error| ExportError::at(path, error);
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(parent).map_err(at)?;
    temporary.write_all(bytes).map_err(at)?;
    if durability == Durability::Now {
        temporary.as_file().sync_all().map_err(at)?;
    }
    temporary.persist(path).map(drop).map_err(|error| at(error.error))
}

/// Hundreds of small files are written by a few threads: making one is mostly waiting for the file system. The answers
/// are in the order of the jobs; there are fewer of them only when a thread broke down.
pub(super) fn spread<J: Sync, A: Send>(jobs: &[J], work: impl Fn(&J) -> A + Sync) -> Vec<A> {
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS));
    if threads == 1 || jobs.len() < FEW {
        return jobs.iter().map(work).collect();
    }
    let work = &work;
    let (here, rest) = jobs.split_at(jobs.len().div_ceil(threads));
    std::thread::scope(|scope| {
        let parts = rest.chunks(jobs.len().div_ceil(threads));
        let helpers: Vec<_> = parts
            .map(|part| {
                let spawned = std::thread::Builder::new()
                    .name("fugato-exports".to_owned())
                    .spawn_scoped(scope, move || part.iter().map(work).collect::<Vec<A>>());
                (part, spawned)
            })
            .collect();
        let mut answers: Vec<A> = here.iter().map(work).collect();
        for (part, spawned) in helpers {
            match spawned {
                Ok(helper) => answers.extend(helper.join().unwrap_or_default()),
                // No thread to be had: one is enough.
                Err(_) => answers.extend(part.iter().map(work)),
            }
        }
        answers
    })
}

pub(super) const FEW: usize = 64;
const MOST_THREADS: usize = 4;

/// Asks the file system to begin each directory made in this one at a place of its own. Where it does not (ext4 alone
/// knows how), directories begin beside their parent, and beside whatever a build or another run has deleted there a
/// moment ago: for some minutes a new file then costs ten times as much.
pub(super) fn begin_apart(dir: &Path) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
        let Ok(dir) = File::open(dir) else { return };
        if let Ok(flags) = ioctl_getflags(&dir)
            && !flags.contains(IFlags::TOPDIR)
        {
            // A wish, and nothing is lost without it.
            let _ = ioctl_setflags(&dir, flags | IFlags::TOPDIR);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = dir;
}

/// Makes one directory; `false`: it was there. A link to a directory is not one: it could lead anywhere.
pub(super) fn make_dir(dir: &Path) -> Result<bool, ExportError> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => match fs::symlink_metadata(dir) {
            Ok(found) if found.is_dir() => Ok(false),
            Ok(_) => Err(ExportError::at(dir, ErrorKind::NotADirectory.into())),
            Err(error) => Err(ExportError::at(dir, error)),
        },
        Err(error) => Err(ExportError::at(dir, error)),
    }
}

/// One writer for each run's directory, whoever it is; the turn ends with the file, at the latest with the process.
pub(super) fn take_turn(dir: &Path) -> Result<File, ExportError> {
    let turn = File::open(dir).map_err(|error| ExportError::at(dir, error))?;
    for _ in 0..TRIES {
        match turn.try_lock() {
            // A process that another thread is just starting holds copies of our files for a moment.
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            // Some network file systems have no locks; the lease of the run is what really keeps writers apart.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(turn),
        }
    }
    Err(ExportError::at(dir, ErrorKind::ResourceBusy.into()))
}

const TRIES: u32 = 30;

/// What a writer that was killed left; only names of our own making.
pub(super) fn remove_temporaries(dir: &Path) {
    remove_temporaries_but(dir, Path::new(""));
}

pub(super) fn remove_temporaries_but(dir: &Path, spared: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(TEMPORARY) && entry.path() != spared;
        match entry.file_type() {
            Ok(kind) if ours && kind.is_file() => drop(fs::remove_file(entry.path())),
            Ok(kind) if ours && kind.is_dir() => drop(fs::remove_dir_all(entry.path())),
            _ => {}
        }
    }
}

/// Never follows a link, never waits for the other end of a pipe.
fn open_to_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).read(true).create(true).mode(0o600).custom_flags(tail::CAREFULLY);
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
}

pub(super) fn has_content(path: &Path, bytes: &[u8]) -> bool {
    let same_size = |found: fs::Metadata| found.is_file() && found.len() == bytes.len() as u64;
    fs::symlink_metadata(path).is_ok_and(same_size)
        && read_file(path, bytes.len()).is_some_and(|found| found == bytes)
}

pub(super) fn read_file(path: &Path, most: usize) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let file = tail::open_carefully(path).ok()?;
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= most).then_some(bytes)
}
