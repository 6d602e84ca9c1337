//! What the file system says about a file without opening it: when none of it changed, neither did the content.

use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};

/// Identity, size and times of a file or directory. The change time is set by the system at every write, rename and
/// change of rights, and no program can set it back: two equal stamps mean the same content, except within one tick
/// of the clock (see [`Stamp::is_settled`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub dev: u64,
    pub ino: u64,
    pub size: u64,
    pub modified_ns: i64,
    pub changed_ns: i64,
}

/// A write within this time before a scan may carry the same time as the scan saw: clocks of file systems tick in
/// milliseconds on ext4, in two seconds on FAT. Such files are read again.
const RACY_NS: i64 = 2_000_000_000;

impl Stamp {
    #[expect(clippy::unnecessary_cast, reason = "the widths of these fields differ between systems")]
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    /// Was the last change long enough before `scanned_ns` that the scan cannot have missed a later one?
    pub(crate) fn is_settled(&self, scanned_ns: i64) -> bool {
        self.changed_ns < scanned_ns.saturating_sub(RACY_NS)
    }

    pub(crate) fn id(&self) -> (u64, u64) {
        (self.dev, self.ino)
    }
}

pub(crate) fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
