//! The names in one directory, read with one reused buffer.

use rustix::fd::BorrowedFd;
use rustix::fs::FileType;

/// Calls `each` with every name (bytes, without `.` and `..`) and its kind, which may be [`FileType::Unknown`].
#[cfg(target_os = "linux")]
pub(crate) fn for_each_name(
    dir: BorrowedFd<'_>,
    buffer: &mut Vec<u8>,
    mut each: impl FnMut(&[u8], FileType),
) -> rustix::io::Result<()> {
    buffer.reserve(BUFFER_BYTES);
    let mut entries = rustix::fs::RawDir::new(dir, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            each(name, entry.file_type());
        }
    }
    Ok(())
}

/// Calls `each` with every name (bytes, without `.` and `..`) and its kind, which may be [`FileType::Unknown`].
#[cfg(not(target_os = "linux"))]
pub(crate) fn for_each_name(
    dir: BorrowedFd<'_>,
    _buffer: &mut Vec<u8>,
    mut each: impl FnMut(&[u8], FileType),
) -> rustix::io::Result<()> {
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            each(name, entry.file_type());
        }
    }
    Ok(())
}

/// Holds some hundreds of names; larger directories take several calls.
#[cfg(target_os = "linux")]
const BUFFER_BYTES: usize = 32 * 1024;
