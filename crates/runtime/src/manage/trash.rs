//! `$FUGATO_HOME/trash/<time>-<name>/`: what was replaced or removed, kept until a person deletes it.

use super::disk::{Disk, DiskError, crosses_devices, taken};
use super::tree::copy_tree;
use crate::Places;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The trash, usable or an error: asked before a change that will need it.
pub(super) fn open(disk: &Disk, places: &Places) -> Result<PathBuf, DiskError> {
    let dir = places.home.join("trash");
    disk.create_dirs(&dir)?;
    Ok(dir)
}

/// Moves a skill (or a link to one) into the trash and says where it is now.
pub(super) fn put(disk: &Disk, places: &Places, from: &Path, name: &str) -> Result<PathBuf, DiskError> {
    let dir = open(disk, places)?;
    let time = stamp(SystemTime::now());
    for attempt in 1u32.. {
        let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
        let to = dir.join(format!("{time}-{name}{suffix}"));
        match disk.rename_new(from, &to) {
            Ok(()) => return Ok(to),
            Err(error) if taken(&error) && to.symlink_metadata().is_ok() => {}
            Err(error) if crosses_devices(&error) => return put_copy(disk, from, &dir, &to),
            Err(error) => return Err(error),
        }
    }
    Ok(dir)
}

/// The trash is on another file system: the copy is complete under another name before it gets its own, and the original
/// goes only then.
fn put_copy(disk: &Disk, from: &Path, dir: &Path, to: &Path) -> Result<PathBuf, DiskError> {
    let metadata = super::disk::at(from, from.symlink_metadata())?;
    if metadata.is_symlink() {
        disk.link(&super::disk::at(from, std::fs::read_link(from))?, to)?;
        disk.remove_file(from)?;
        return Ok(to.to_owned());
    }
    let partial = dir.join(format!(".partial-{}-{}", std::process::id(), stamp(SystemTime::now())));
    let copied = copy_tree(disk, from, &partial).and_then(|()| disk.rename_new(&partial, to));
    if let Err(error) = copied {
        let _ = disk.remove_tree(&partial);
        return Err(error);
    }
    disk.sync_dir(dir)?;
    disk.remove_tree(from)?;
    Ok(to.to_owned())
}

/// `20260729T081530Z`: sorts by time, and no file system objects to it.
fn stamp(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Days since 1970 → year, month, day. Years are counted from 1 March, so that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    const ERA_DAYS: u64 = 146_097;
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / ERA_DAYS, shifted % ERA_DAYS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn stamps_are_utc_dates() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_709_251_199, "20240229T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(stamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
