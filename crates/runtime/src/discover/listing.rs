//! The names in one directory, kept in one buffer that is reused from directory to directory.

use rustix::fd::BorrowedFd;
use rustix::fs::FileType;
use std::ops::Range;

/// Names (bytes, without `.` and `..`) with their kind, which may be [`FileType::Unknown`].
#[derive(Default)]
pub(crate) struct Listing {
    text: Vec<u8>,
    names: Vec<(Range<usize>, FileType)>,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "the portable reader has its own buffer")
    )]
    buffer: Vec<u8>,
}

impl Listing {
    /// Reads the directory from its current position, replacing what was here.
    pub(crate) fn read(&mut self, dir: BorrowedFd<'_>) -> rustix::io::Result<()> {
        self.text.clear();
        self.names.clear();
        self.fill(dir)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = (&[u8], FileType)> {
        self.names.iter().map(|(range, kind)| (self.text.get(range.clone()).unwrap_or_default(), *kind))
    }

    #[cfg(target_os = "linux")]
    fn fill(&mut self, dir: BorrowedFd<'_>) -> rustix::io::Result<()> {
        /// Holds some hundreds of names; larger directories take several calls.
        const BUFFER_BYTES: usize = 32 * 1024;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.reserve(BUFFER_BYTES);
        let mut entries = rustix::fs::RawDir::new(dir, buffer.spare_capacity_mut());
        let mut outcome = Ok(());
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) => self.push(entry.file_name().to_bytes(), entry.file_type()),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        self.buffer = buffer;
        outcome
    }

    #[cfg(not(target_os = "linux"))]
    fn fill(&mut self, dir: BorrowedFd<'_>) -> rustix::io::Result<()> {
        for entry in rustix::fs::Dir::read_from(dir)? {
            let entry = entry?;
            self.push(entry.file_name().to_bytes(), entry.file_type());
        }
        Ok(())
    }

    fn push(&mut self, name: &[u8], kind: FileType) {
        if name != b"." && name != b".." {
            let start = self.text.len();
            self.text.extend_from_slice(name);
            self.names.push((start..self.text.len(), kind));
        }
    }
}
