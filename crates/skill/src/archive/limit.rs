//! How much one import may bring, and the running count of what it brought. Counts are of real bytes, never of what a
//! header claims.

use fugato_model::{Code, Words, words};

/// Files and directories of one import: a skill of the full [`SKILL_FILES`](crate::limits::SKILL_FILES) with room for its
/// directories, so that whatever may be installed can also be exported and imported. Past it the whole archive is refused:
/// it is a collection to be unpacked by hand.
pub const MAX_ENTRIES: usize = 600;
/// One skill: what discovery would not hash must not be installed either.
pub(super) const MAX_SKILL_FILES: usize = crate::limits::SKILL_FILES;
/// All files of an archive together. Past it the whole archive is refused; memory stays under twice this.
pub const MAX_TOTAL_BYTES: u64 = 50_000_000;
/// One file of a skill: larger ones are not served to agents, so installing them would only look like success.
pub const MAX_FILE_BYTES: u64 = crate::limits::FILE_BYTES as u64;
/// One skill.
pub const MAX_SKILL_BYTES: u64 = crate::limits::SKILL_BYTES as u64;
/// What may be read from disk before looking inside: [`MAX_TOTAL_BYTES`] as base64 in JSON, with room for a card.
pub const MAX_PACKED_BYTES: u64 = 96 << 20;
/// Directories inside directories. Real skills stop at 6; deeper trees only make every later walk slow.
pub(super) const MAX_DEPTH: usize = 16;
/// Text rarely deflates beyond 20:1; deflate itself ends at 1032:1.
pub(super) const MAX_RATIO: u64 = 100;
/// Below this an entry may have any ratio: a small table of zeros is no bomb.
pub(super) const RATIO_FLOOR: u64 = 1 << 20;

/// What an import has brought so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    entries: usize,
    bytes: u64,
}

impl Tally {
    /// Counts one more entry.
    pub fn entry(&mut self) -> Result<(), (Code, Words)> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err((
                Code::F0303,
                words!("more than {MAX_ENTRIES} entries", "条目超过 {MAX_ENTRIES} 个"),
            ));
        }
        Ok(())
    }

    /// Counts the bytes of one file.
    pub fn bytes(&mut self, count: u64) -> Result<(), (Code, Words)> {
        self.bytes = self.bytes.saturating_add(count);
        if self.bytes > MAX_TOTAL_BYTES {
            return Err(too_large());
        }
        Ok(())
    }

    /// How many bytes the import may still bring.
    pub fn left(&self) -> u64 {
        MAX_TOTAL_BYTES.saturating_sub(self.bytes)
    }
}

pub(super) fn too_large() -> (Code, Words) {
    let limit = MAX_TOTAL_BYTES / 1_000_000;
    (Code::F0303, words!("the files are larger than {limit} MB together", "所有文件合计超过 {limit} MB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_is_accepted_and_one_more_is_not() {
        let mut tally = Tally::default();
        for _ in 0..MAX_ENTRIES {
            tally.entry().unwrap();
        }
        assert_eq!(tally.entry().unwrap_err().0, Code::F0303);
        tally.bytes(MAX_TOTAL_BYTES).unwrap();
        assert_eq!(tally.left(), 0);
        assert!(tally.bytes(1).is_err() && tally.bytes(u64::MAX).is_err());
    }
}
