//! Content too large for an event, in files named by their digest: `<state>/blobs/ab/cdef…`.
//!
//! A blob is whole or absent: written beside its name, synced, renamed, and the directory synced, before an event may
//! name it. The same content is stored once.

use super::StoreError;
use super::faults::{Faults, Step};
use fugato_model::Digest;
use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// A blob nobody names yet is not swept before this age: its event may be on the way.
const GRACE: Duration = Duration::from_secs(60 * 60);
/// Digests remembered as durable; past this the memory starts anew, which costs a sync, not correctness.
const REMEMBERED: usize = 65_536;

#[derive(Debug)]
pub struct Blobs {
    dir: PathBuf,
    faults: Faults,
    durable: Mutex<HashSet<Digest>>,
}

impl Blobs {
    pub fn new(dir: PathBuf, faults: Faults) -> Self {
        Self { dir, faults, durable: Mutex::default() }
    }

    /// Durable when this returns.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = fugato_skill::digest_bytes(bytes);
        let path = path_of(&self.dir, &digest);
        self.try_put(&digest, &path, bytes).map_err(|error| StoreError::io(&path, &error))?;
        Ok(digest)
    }

    fn try_put(&self, digest: &Digest, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let shelf = path.parent().unwrap_or(&self.dir);
        if !shelf.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(shelf)?;
            self.sync(&self.dir)?;
            self.sync(self.dir.parent().unwrap_or(&self.dir))?;
        }
        // A sweep must not remove the file between our look and the event that names it.
        let _turn = turn(&self.dir)?.shared()?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if fs::metadata(path).is_ok_and(|file| file.len() == length) {
            File::options().append(true).open(path)?.set_modified(SystemTime::now())?;
            if !self.remembered().contains(digest) {
                // Whoever renamed it may not have synced the name yet.
                self.sync(shelf)?;
            }
        } else {
            self.write(shelf, path, bytes)?;
        }
        let mut durable = self.remembered();
        if durable.len() >= REMEMBERED {
            durable.clear();
        }
        durable.insert(*digest);
        Ok(())
    }

    fn write(&self, shelf: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut temporary = tempfile::Builder::new().prefix(".new.").tempfile_in(shelf)?;
        if let Err(error) = self.faults.check(Step::BlobWrite) {
            // Disks fill in the middle of a write, not between two.
            temporary.write_all(bytes.get(..bytes.len() / 2).unwrap_or_default())?;
            return Err(error);
        }
        temporary.write_all(bytes)?;
        self.faults.check(Step::BlobSync)?;
        temporary.as_file().sync_all()?;
        self.faults.check(Step::BlobRename)?;
        temporary.persist(path).map_err(|error| error.error)?;
        self.sync(shelf)
    }

    fn sync(&self, dir: &Path) -> io::Result<()> {
        self.faults.check(Step::DirSync)?;
        File::open(dir)?.sync_all()
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashSet<Digest>> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what nobody names and nobody wrote or asked for lately, and temporary files of the dead. Returns how many
    /// bytes came free.
    pub fn sweep(&self, is_named: &dyn Fn(&Digest) -> bool) -> Result<u64, StoreError> {
        self.sweep_before(SystemTime::now().checked_sub(GRACE).unwrap_or(SystemTime::UNIX_EPOCH), is_named)
            .map_err(|error| StoreError::io(&self.dir, &error))
    }

    fn sweep_before(&self, before: SystemTime, is_named: &dyn Fn(&Digest) -> bool) -> io::Result<u64> {
        let mut freed = 0;
        if !self.dir.is_dir() {
            return Ok(0);
        }
        for shelf in fs::read_dir(&self.dir)? {
            let shelf = shelf?.path();
            if !shelf.is_dir() {
                continue;
            }
            // One shelf at a time, so that writers wait milliseconds.
            let _turn = turn(&self.dir)?.exclusive()?;
            for file in fs::read_dir(&shelf)? {
                let file = file?;
                let meta = file.metadata()?;
                let named = digest_of(&file.path()).is_some_and(|digest| is_named(&digest));
                if !named && meta.modified()? < before {
                    fs::remove_file(file.path())?;
                    freed += meta.len();
                }
            }
        }
        self.remembered().clear();
        Ok(freed)
    }
}

/// Reads a blob and proves that it is what its name says.
pub fn read(dir: &Path, digest: &Digest) -> Result<Vec<u8>, StoreError> {
    let path = path_of(dir, digest);
    match fs::read(&path) {
        Ok(bytes) if fugato_skill::digest_bytes(&bytes) == *digest => Ok(bytes),
        Ok(_) => Err(StoreError::LostBlob { digest: *digest }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(StoreError::LostBlob { digest: *digest })
        }
        Err(error) => Err(StoreError::io(&path, &error)),
    }
}

/// Is there a blob of this name?
pub fn exists(dir: &Path, digest: &Digest) -> bool {
    path_of(dir, digest).is_file()
}

/// Every digest that a text mentions. Digests of other things do no harm: they name no blob.
pub fn mentioned(text: &[u8]) -> impl Iterator<Item = Digest> + '_ {
    const PREFIX: &[u8] = b"sha256:";
    memchr::memmem::find_iter(text, PREFIX).filter_map(|at| {
        let word = text.get(at..at + PREFIX.len() + 64)?;
        std::str::from_utf8(word).ok()?.parse().ok()
    })
}

fn path_of(dir: &Path, digest: &Digest) -> PathBuf {
    let text = digest.to_string();
    let hex = text.strip_prefix("sha256:").unwrap_or(&text);
    let (shelf, name) = hex.split_at_checked(2).unwrap_or(("", hex));
    dir.join(shelf).join(name)
}

fn digest_of(path: &Path) -> Option<Digest> {
    let name = path.file_name()?.to_str()?;
    let shelf = path.parent()?.file_name()?.to_str()?;
    format!("sha256:{shelf}{name}").parse().ok()
}

struct Turn(File);

/// The lock between writers (shared) and the sweeper (alone); the system drops it when a process dies.
fn turn(dir: &Path) -> io::Result<Turn> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    Ok(Turn(options.open(dir.join(".lock"))?))
}

impl Turn {
    fn shared(self) -> io::Result<Self> {
        self.0.lock_shared().map(|()| self)
    }

    fn exclusive(self) -> io::Result<Self> {
        self.0.lock().map(|()| self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    fn files(dir: &Path) -> usize {
        let shelves =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        shelves.map(|shelf| fs::read_dir(shelf).unwrap().count()).sum()
    }

    #[test]
    fn content_is_stored_once_and_proved_when_read() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path().join("blobs"), Faults::none());
        let digest = blobs.put(b"a fugue").unwrap();
        assert_eq!(blobs.put(b"a fugue").unwrap(), digest);
        assert_eq!(files(&blobs.dir), 1);
        assert_eq!(read(&blobs.dir, &digest).unwrap(), b"a fugue");
        fs::write(path_of(&blobs.dir, &digest), b"a fugu3").unwrap();
        assert_eq!(read(&blobs.dir, &digest), Err(StoreError::LostBlob { digest }));
    }

    #[test]
    fn a_torn_file_under_the_name_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path().join("blobs"), Faults::none());
        let digest = blobs.put(b"whole").unwrap();
        fs::write(path_of(&blobs.dir, &digest), b"who").unwrap();
        blobs.put(b"whole").unwrap();
        assert_eq!(read(&blobs.dir, &digest).unwrap(), b"whole");
    }

    #[test]
    fn a_failed_step_leaves_no_blob_that_is_not_whole() {
        for step in [Step::BlobWrite, Step::BlobSync, Step::BlobRename, Step::DirSync] {
            for error in [Errno::NOSPC, Errno::IO] {
                let dir = tempfile::tempdir().unwrap();
                let blobs = Blobs::new(dir.path().join("blobs"), Faults::from(step, 1, error));
                let failed = blobs.put(b"some content").unwrap_err();
                assert_eq!(matches!(failed, StoreError::DiskFull { .. }), error == Errno::NOSPC, "{failed}");
                blobs.faults.lift();
                let digest = blobs.put(b"some content").unwrap();
                assert_eq!(read(&blobs.dir, &digest).unwrap(), b"some content");
                assert_eq!(files(&blobs.dir), 1, "nothing else lies about after {step:?}");
            }
        }
    }

    #[test]
    fn the_sweep_keeps_what_is_named_or_young() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path().join("blobs"), Faults::none());
        let (named, lost) = (blobs.put(b"named").unwrap(), blobs.put(b"lost").unwrap());
        assert_eq!(blobs.sweep(&|_| false).unwrap(), 0, "both are young");
        let later = SystemTime::now() + Duration::from_secs(5);
        assert_eq!(blobs.sweep_before(later, &|digest| *digest == named).unwrap(), 4);
        assert!(exists(&blobs.dir, &named) && !exists(&blobs.dir, &lost));
    }

    #[test]
    fn digests_are_found_in_any_text() {
        let digest = fugato_skill::digest_bytes(b"x");
        let text = format!("{{\"a\":\"{digest}\",\"b\":\"sha256:nothing\"}}sha256:");
        assert_eq!(mentioned(text.as_bytes()).collect::<Vec<_>>(), [digest]);
    }
}
