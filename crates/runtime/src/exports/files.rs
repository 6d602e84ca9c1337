//! The directory of one run's exports: files replaced whole, files that grow by whole lines, and one writer at a time.
//!
//! Whatever is found there may be foreign, torn, missing or of the wrong kind. Nothing of it is trusted, followed or
//! deleted: what is in the way of a repair goes to `.quarantine`.

pub use super::disk::ExportError;
pub(super) use super::disk::{
    Durability, make_dir, read_file, remove_temporaries, remove_temporaries_but, take_turn,
};
use super::disk::{begin_apart, has_content, replace_at, spread, write_lines};
use super::tail::{self, Tail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

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
    /// Directories that are about to be made, together: making one is mostly waiting for the file system.
    to_make: BTreeSet<String>,
    /// Something is in the log and, by no fault of ours, not in a file.
    pub lost: bool,
    _turn: Option<File>,
}

/// How a directory that is known to be there came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// By us, empty; the newest are made with what is written next.
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

fn make_all(dir: &Path) -> Result<(), ExportError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| ExportError::at(dir, error))
}

/// Lines are handed to the system at the latest when this much waits.
const MOST_PENDING: usize = 256 * 1024;
pub(super) const TEMPORARY: &str = ".fugato-export.";
pub(super) const QUARANTINE: &str = ".quarantine";

impl Files {
    /// Takes the directory of a run. Refused while another writer has it.
    pub fn open(dir: &Path) -> Result<Self, ExportError> {
        if !dir.exists()
            && let Some(runs) = dir.parent()
        {
            make_all(runs)?;
            begin_apart(runs);
        }
        make_all(dir)?;
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
            to_make: BTreeSet::new(),
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
        let made = self.make_all_planned();
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
        made.and(first)
    }

    fn make_all_planned(&mut self) -> Result<(), ExportError> {
        let planned: Vec<String> = std::mem::take(&mut self.to_make).into_iter().collect();
        let dir = &self.dir;
        let made = spread(&planned, |name| make_dir(&dir.join(name)));
        self.lost |= made.len() < planned.len();
        let mut first = Ok(());
        for (name, made) in planned.iter().zip(made) {
            if made.is_err() {
                // What was to be written there is lost for now; the next that is written tries again.
                self.lost = true;
                self.made.remove(name);
            }
            first = first.and(made.map(drop));
        }
        first
    }

    /// Replaces a file as a whole; one that has this content already is left alone.
    pub fn replace(&mut self, file: &str, bytes: &[u8], durability: Durability) -> Result<(), ExportError> {
        let durability = if self.durability == Durability::Now { durability } else { Durability::Later };
        let path = self.dir.join(file);
        let made = self.make_parent(file).and_then(|_| self.make_all_planned());
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
        first = first.and(self.make_all_planned());
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
                // Others are made in any order, and what is in this one after it.
                Some(_) if end < parent.len() && self.to_make.remove(name) => self.make(name)?,
                Some(made) => *made,
                None if end == parent.len() => self.plan(name)?,
                None => self.make(name)?,
            };
        }
        Ok(last)
    }

    /// A directory that is not there is made later, with the others. Whoever makes it meanwhile harms nothing: what is
    /// found in it then stays.
    fn plan(&mut self, name: &str) -> Result<Made, ExportError> {
        let dir = self.dir.join(name);
        let is_there =
            !fs::symlink_metadata(&dir).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if is_there {
            return self.make(name);
        }
        self.renamed.extend(dir.parent().map(Path::to_owned));
        self.to_make.insert(name.to_owned());
        self.made.insert(name.to_owned(), Made::Here);
        Ok(Made::Here)
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
        let documents = many(super::super::disk::FEW * 5);
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
        let newer: Vec<_> =
            many(super::super::disk::FEW * 5).into_iter().map(|(file, _)| (file, b"new".to_vec())).collect();
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
        fs::create_dir(dir.path().join("agents/a")).unwrap();
        fs::write(dir.path().join("agents/a/inbox.jsonl"), "{\"theirs\":1}").unwrap();
        files.append("agents/a/inbox.jsonl", 2, b"{\"seq\":2}\n").unwrap();
        files.flush().unwrap();
        let inbox = fs::read_to_string(dir.path().join("agents/a/inbox.jsonl")).unwrap();
        assert_eq!(inbox, "{\"theirs\":1}\n{\"seq\":2}\n");
        assert!(!files.lost);
    }

    #[test]
    fn a_directory_that_could_not_be_made_is_made_with_the_next_that_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Files::open(dir.path()).unwrap();
        files.append("agents/a/stream.jsonl", 1, b"{\"seq\":1}\n").unwrap();
        // Whoever plans does not see it yet.
        fs::write(dir.path().join("agents/a"), "in the way").unwrap();
        assert_eq!(files.flush().unwrap_err().path, dir.path().join("agents/a"));
        assert!(files.lost);
        fs::remove_file(dir.path().join("agents/a")).unwrap();
        files.replace_all(&[("agents/a/status.json".to_owned(), b"0".to_vec())]).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("agents/a/status.json")).unwrap(), "0");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn each_run_begins_at_a_place_of_its_own_where_the_file_system_knows_how() {
        use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
        let dir = tempfile::tempdir().unwrap();
        let flags = |path: &Path| ioctl_getflags(File::open(path).unwrap());
        let probe = dir.path().join("probe");
        fs::create_dir(&probe).unwrap();
        let is_known = flags(&probe).is_ok_and(|found| {
            ioctl_setflags(File::open(&probe).unwrap(), found | IFlags::TOPDIR).is_ok()
                && flags(&probe).is_ok_and(|now| now.contains(IFlags::TOPDIR))
        });
        let runs = dir.path().join("state/runs");
        drop(Files::open(&runs.join("run_a")).unwrap());
        assert_eq!(flags(&runs).is_ok_and(|found| found.contains(IFlags::TOPDIR)), is_known);
        assert!(flags(&runs.join("run_a")).is_ok_and(|found| !found.contains(IFlags::TOPDIR)) || !is_known);
    }
}
