//! One megabyte kept aside: when the disk is full it is given back, so that the final state of a run can be written.
//!
//! Once spent, making it again is the test that space has returned.

use super::faults::{Faults, Step};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// Room for a few hundred final states, and for SQLite to fold its log.
const SIZE: u64 = 1024 * 1024;

#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
    is_spent: bool,
}

impl Reserve {
    /// A store opens on a full disk too; it then starts without a reserve.
    pub fn prepare(path: PathBuf, faults: &Faults) -> Self {
        let mut reserve = Self { path, is_spent: true };
        reserve.is_spent = reserve.refill(faults).is_err();
        reserve
    }

    pub fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Gives the space to whoever writes next.
    pub fn spend(&mut self) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        self.is_spent = true;
        Ok(())
    }

    /// Takes the space back.
    pub fn refill(&mut self, faults: &Faults) -> io::Result<()> {
        if fs::metadata(&self.path).is_ok_and(|file| file.len() == SIZE) {
            self.is_spent = false;
            return Ok(());
        }
        let made = self.make(faults);
        match made {
            Ok(()) => self.is_spent = false,
            // Half a reserve would be taken for a whole one, and takes the space it found.
            Err(_) => drop(fs::remove_file(&self.path)),
        }
        made
    }

    fn make(&self, faults: &Faults) -> io::Result<()> {
        faults.check(Step::Reserve)?;
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&self.path)?;
        if allocate(&file).is_err() {
            // Not every file system can promise blocks; written ones are there.
            file.write_all(&vec![0x5a; usize::try_from(SIZE).unwrap_or(0)])?;
            file.sync_all()?;
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn allocate(file: &File) -> io::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, SIZE).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn allocate(_file: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
