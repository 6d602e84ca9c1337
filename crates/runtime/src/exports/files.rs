//! The directory of one run's exports: files replaced whole, files that grow by whole lines, and one writer at a time.
//!
//! Whatever is found there may be foreign, torn, missing or of the wrong kind. Nothing of it is trusted, followed or
//! deleted: what is in the way of a repair goes to `.quarantine`.

use super::tail::{self, Tail};
use fugato_model::{Words, words};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

#[derive(Debug)]
pub(super) struct Files {
    dir: PathBuf,
    durability: Durability,
    /// Files and directories by their names under `dir`.
    tails: BTreeMap<String, Tail>,
    pending: BTreeMap<String, Vec<u8>>,
    pending_bytes: usize,
    /// Directories with new names in them.
    renamed: BTreeSet<PathBuf>,
    made: BTreeMap<String, Made>,
    /// Something is in the log and, by no fault of ours, not in a file.
    pub lost: bool,
    _turn: Option<File>,
}

/// How a directory that is known to be there came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// By us, empty.
    Here,
    Before,
}

/// A file that ours took the place of. Whoever had it open may still write into it; it goes when this does.
#[derive(Debug)]
pub(super) struct Displaced {
    old: tempfile::TempPath,
    pub since: Instant,
    /// What of it was taken.
    pub seen: Option<u64>,
}

impl Displaced {
    pub fn path(&self) -> &Path {
        &self.old
    }
}

#[cfg(target_os = "linux")]
fn swap(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn swap(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Lines are handed to the system at the latest when this much waits.
const MOST_PENDING: usize = 256 * 1024;
pub(super) const TEMPORARY: &str = ".fugato-export.";
pub(super) const QUARANTINE: &str = ".quarantine";

impl Files {
    /// Takes the directory of a run. Refused while another writer has it.
    pub fn open(dir: &Path) -> Result<Self, ExportError> {
        let at = |error| ExportError::at(dir, error);
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(at)?;
        let turn = take_turn(dir)?;
        remove_temporaries(dir);
        Ok(Self::new(dir, Durability::Now, Some(turn)))
    }

    /// A new directory of our own, which nobody else knows.
    pub fn stage(dir: &Path) -> Self {
        Self::new(dir, Durability::Later, None)
    }

    fn new(dir: &Path, durability: Durability, turn: Option<File>) -> Self {
        Self {
            dir: dir.to_owned(),
            durability,
            tails: BTreeMap::new(),
            pending: BTreeMap::new(),
            pending_bytes: 0,
            renamed: BTreeSet::new(),
            made: BTreeMap::new(),
            lost: false,
            _turn: turn,
        }
    }

    /// Queues one line, unless the file has it already.
    pub fn append(&mut self, file: &str, seq: u64, line: &[u8]) -> Result<(), ExportError> {
        if !self.tails.contains_key(file) {
            let found = self.look(file);
            self.lost |= found.is_err();
            self.tails.insert(file.to_owned(), found.as_ref().map_or(Tail::BROKEN, |tail| *tail));
            found?;
        }
        let Some(tail) = self.tails.get_mut(file).filter(|tail| seq > tail.last_seq) else { return Ok(()) };
        tail.last_seq = seq;
        match self.pending.get_mut(file) {
            Some(lines) => lines.extend_from_slice(line),
            None => drop(self.pending.insert(file.to_owned(), line.to_owned())),
        }
        self.pending_bytes += line.len();
        if self.pending_bytes > MOST_PENDING { self.flush() } else { Ok(()) }
    }

    /// A directory that we have just made holds nothing to look at.
    fn look(&mut self, file: &str) -> Result<Tail, ExportError> {
        let is_new = self.make_parent(file)? == Made::Here;
        if is_new {
            return Ok(Tail::EMPTY);
        }
        let path = self.dir.join(file);
        tail::look(&path).map_err(|error| ExportError::at(&path, error))
    }

    /// Hands all queued lines to the system. The first failure is told; the other files are written all the same.
    pub fn flush(&mut self) -> Result<(), ExportError> {
        self.pending_bytes = 0;
        let pending: Vec<(String, Vec<u8>)> = std::mem::take(&mut self.pending).into_iter().collect();
        let (dir, tails) = (&self.dir, &self.tails);
        let written = spread(&pending, |(file, bytes)| {
            let path = dir.join(file);
            let expected = tails.get(file).map_or(0, |tail| tail.length);
            write_lines(&path, bytes, expected).map_err(|error| ExportError::at(&path, error))
        });
        self.lost |= written.len() < pending.len();
        let mut first = Ok(());
        for ((file, _), written) in pending.iter().zip(written) {
            self.lost |= written.as_ref().map_or(true, |written| written.was_shortened);
            if let (Ok(written), Some(tail)) = (&written, self.tails.get_mut(file)) {
                tail.length = written.length;
            }
            first = first.and(written.map(drop));
        }
        first
    }

    /// Replaces a file as a whole; one that has this content already is left alone.
    pub fn replace(&mut self, file: &str, bytes: &[u8], durability: Durability) -> Result<(), ExportError> {
        let durability = if self.durability == Durability::Now { durability } else { Durability::Later };
        let path = self.dir.join(file);
        let made = self.make_parent(file).map(drop);
        let replaced = made.and_then(|()| replace_at(&path, bytes, durability));
        self.lost |= replaced.is_err();
        if durability == Durability::Now
            && let Some(parent) = path.parent()
        {
            self.renamed.insert(parent.to_owned());
        }
        replaced
    }

    /// The same for many at once, none of them hurried. The first failure is told; the others are written all the same.
    pub fn replace_all(&mut self, documents: &[(String, Vec<u8>)]) -> Result<(), ExportError> {
        let mut first = Ok(());
        for (file, _) in documents {
            first = first.and(self.make_parent(file).map(drop));
        }
        let dir = &self.dir;
        let replaced =
            spread(documents, |(file, bytes)| replace_at(&dir.join(file), bytes, Durability::Later));
        self.lost |= first.is_err() || replaced.len() < documents.len();
        for replaced in replaced {
            self.lost |= replaced.is_err();
            first = first.and(replaced);
        }
        first
    }

    /// Replaces a file and hands over what stood there, whatever was written meanwhile: nothing can fall between a look and
    /// a rename. `None`: nothing stood there.
    pub fn exchange(&mut self, file: &str, bytes: &[u8]) -> Result<Option<Displaced>, ExportError> {
        let path = self.dir.join(file);
        let is_there = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        if !is_there || has_content(&path, bytes) {
            return self.replace(file, bytes, Durability::Now).map(|()| None);
        }
        let at = |error| ExportError::at(&path, error);
        let mut new = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.dir).map_err(at)?;
        new.write_all(bytes).map_err(at)?;
        new.as_file().sync_all().map_err(at)?;
        let new = new.into_temp_path();
        match swap(&new, &path) {
            Ok(()) => {
                self.renamed.insert(self.dir.clone());
                Ok(Some(Displaced { old: new, since: Instant::now(), seen: None }))
            }
            // A file system that cannot swap: the moment between look and rename is as small as it can be.
            Err(_) => {
                new.persist(&path).map_err(|error| at(error.error))?;
                self.renamed.insert(self.dir.clone());
                Ok(None)
            }
        }
    }

    /// Every new name survives a power cut. A file system that cannot sync a directory has no such promise to keep.
    pub fn sync_names(&mut self) {
        for dir in std::mem::take(&mut self.renamed) {
            if self.durability == Durability::Now {
                let _ = File::open(&dir).and_then(|dir| dir.sync_all());
            }
        }
    }

    /// What stands in a small file now; `None` when it is missing, large or not a file.
    pub fn read_small(&self, file: &str) -> Option<Vec<u8>> {
        read_file(&self.dir.join(file), 64 * 1024)
    }

    /// Keeps a copy of what stands in a file that is about to be replaced.
    pub fn keep_copy(&self, file: &str, bytes: &[u8]) -> Result<(), ExportError> {
        let path = self.dir.join(file);
        tail::quarantine_bytes(&path, &mut io::Cursor::new(bytes))
            .map_err(|error| ExportError::at(&path, error))
    }

    /// The directory a file belongs in, made if it is not there.
    fn make_parent(&mut self, file: &str) -> Result<Made, ExportError> {
        let Some((parent, _)) = file.rsplit_once('/') else { return Ok(Made::Before) };
        if let Some(made) = self.made.get(parent) {
            return Ok(*made);
        }
        let ends = parent.match_indices('/').map(|(at, _)| at).chain([parent.len()]);
        let mut last = Made::Before;
        for end in ends {
            let Some(name) = parent.get(..end) else { continue };
            // One that was looked at is not read again for every agent in it.
            last = match self.made.get(name) {
                Some(made) => *made,
                None => self.make(name)?,
            };
        }
        Ok(last)
    }

    fn make(&mut self, name: &str) -> Result<Made, ExportError> {
        let dir = self.dir.join(name);
        let made = if make_dir(&dir)? {
            self.renamed.extend(dir.parent().map(Path::to_owned));
            Made::Here
        } else {
            remove_temporaries(&dir);
            Made::Before
        };
        self.made.insert(name.to_owned(), made);
        Ok(made)
    }
}

/// What became of a file that grows.
struct Written {
    length: u64,
    /// Somebody else took something out of it.
    was_shortened: bool,
}

fn write_lines(path: &Path, bytes: &[u8], expected: u64) -> io::Result<Written> {
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

fn replace_at(path: &Path, bytes: &[u8], durability: Durability) -> Result<(), ExportError> {
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
fn spread<J: Sync, A: Send>(jobs: &[J], work: impl Fn(&J) -> A + Sync) -> Vec<A> {
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

const FEW: usize = 64;
const MOST_THREADS: usize = 4;

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

fn has_content(path: &Path, bytes: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn many(count: usize) -> Vec<(String, Vec<u8>)> {
        (0..count).map(|at| (format!("agents/a{at}/status.json"), at.to_string().into_bytes())).collect()
    }

    #[test]
    fn many_files_written_by_several_threads_are_all_there_and_one_in_the_way_harms_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Files::open(dir.path()).unwrap();
        let documents = many(FEW * 5);
        for (at, (file, _)) in documents.iter().enumerate() {
            let stream = file.replace("status.json", "stream.jsonl");
            files.append(&stream, 1, format!("{{\"seq\":1,\"at\":{at}}}\n").as_bytes()).unwrap();
        }
        files.flush().unwrap();
        files.replace_all(&documents).unwrap();
        assert!(!files.lost);
        for (at, (file, bytes)) in documents.iter().enumerate() {
            assert_eq!(&fs::read(dir.path().join(file)).unwrap(), bytes);
            let stream = dir.path().join(file.replace("status.json", "stream.jsonl"));
            assert_eq!(fs::read_to_string(stream).unwrap(), format!("{{\"seq\":1,\"at\":{at}}}\n"));
        }
        let blocked = dir.path().join("agents/a7/status.json");
        fs::remove_file(&blocked).unwrap();
        fs::create_dir_all(blocked.join("x")).unwrap();
        let newer: Vec<_> = many(FEW * 5).into_iter().map(|(file, _)| (file, b"new".to_vec())).collect();
        assert_eq!(files.replace_all(&newer).unwrap_err().path, blocked);
        assert!(files.lost);
        for (file, bytes) in newer.iter().filter(|(file, _)| !file.contains("/a7/")) {
            assert_eq!(&fs::read(dir.path().join(file)).unwrap(), bytes);
        }
    }

    #[test]
    fn a_file_somebody_put_into_a_new_directory_keeps_what_it_had() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Files::open(dir.path()).unwrap();
        files.append("agents/a/stream.jsonl", 1, b"{\"seq\":1}\n").unwrap();
        fs::write(dir.path().join("agents/a/inbox.jsonl"), "{\"theirs\":1}").unwrap();
        files.append("agents/a/inbox.jsonl", 2, b"{\"seq\":2}\n").unwrap();
        files.flush().unwrap();
        let inbox = fs::read_to_string(dir.path().join("agents/a/inbox.jsonl")).unwrap();
        assert_eq!(inbox, "{\"theirs\":1}\n{\"seq\":2}\n");
        assert!(!files.lost);
    }
}
