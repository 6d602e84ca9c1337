//! The files of a store, and how its directory comes to be.

use super::StoreError;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Place {
    pub dir: PathBuf,
    pub database: PathBuf,
    pub lock: PathBuf,
    pub blobs: PathBuf,
    pub reserve: PathBuf,
}

impl Place {
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            database: dir.join("fugato.db"),
            lock: dir.join("fugato.lock"),
            blobs: dir.join("blobs"),
            reserve: dir.join("fugato.reserve"),
        }
    }

    pub fn backup(&self, version: i64) -> PathBuf {
        self.dir.join(format!("fugato.v{version}.backup.db"))
    }

    /// The exports of a run, which go when the run goes.
    pub fn exports(&self, run: &str) -> PathBuf {
        self.dir.join("runs").join(run)
    }

    /// Makes what is missing: the directory for its owner alone, an empty database only they can read (SQLite gives its
    /// side files the same mode), and the lock file, which is returned.
    pub fn prepare(&self) -> Result<File, StoreError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| StoreError::io(&path, &error)
        };
        let is_new = !self.dir.is_dir();
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(at(&self.dir))?;
        let mut private = OpenOptions::new();
        private.read(true).write(true).create(true).truncate(false).mode(0o600);
        let lock = private.open(&self.lock).map_err(at(&self.lock))?;
        if !self.database.exists() {
            self.make_database().map_err(at(&self.database))?;
            self.sync_dir().map_err(at(&self.dir))?;
        }
        if is_new {
            // The new directory is a name in its parent, which must survive a power cut too.
            let parent = self.dir.parent().filter(|parent| !parent.as_os_str().is_empty());
            let _ = parent.map(|parent| File::open(parent).and_then(|dir| dir.sync_all()));
        }
        Ok(lock)
    }

    /// An empty database, made under another name and closed before it gets its own: to close any descriptor of a file
    /// drops the locks that SQLite holds on it elsewhere in this process, so nobody but SQLite opens it once it is there.
    fn make_database(&self) -> io::Result<()> {
        let staged = tempfile::Builder::new().prefix(".fugato.db.").tempfile_in(&self.dir)?.into_temp_path();
        match fs::hard_link(&staged, &self.database) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            // Where a file can have only one name it is made in its place: a second store of this very process that
            // opens in the same instant is the lesser risk.
            Err(_) => {
                match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.database) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    _ => Ok(()),
                }
            }
            Ok(()) => Ok(()),
        }
    }

    /// Device and number of the database file.
    pub fn identity(&self) -> Option<(u64, u64)> {
        fs::metadata(&self.database).ok().map(|file| (file.dev(), file.ino()))
    }

    pub fn sync_dir(&self) -> io::Result<()> {
        File::open(&self.dir)?.sync_all()
    }

    /// Is there anything in the write-ahead log that the database file does not have yet?
    pub fn has_log(&self) -> bool {
        fs::metadata(self.dir.join("fugato.db-wal")).is_ok_and(|log| log.len() > 0)
    }
}
