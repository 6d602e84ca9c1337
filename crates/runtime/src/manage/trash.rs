//! `$FUGATO_HOME/trash/<time>-<name>/`: what was replaced or removed, kept until a person deletes it.

use super::disk::{Disk, DiskError, at, crosses_devices, taken};
use super::stage::{Stage, clean_on};
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
    match put_as(disk, from, &dir, name) {
        Err(error) if crosses_devices(&error) => put_copy(disk, places, from, &dir, name),
        result => result,
    }
}

fn put_as(disk: &Disk, from: &Path, dir: &Path, name: &str) -> Result<PathBuf, DiskError> {
    let time = stamp(SystemTime::now());
    let mut attempt = 1u32;
    loop {
        let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
        let to = dir.join(format!("{time}-{name}{suffix}"));
        match disk.rename_new(from, &to) {
            Ok(()) => return disk.sync_dir(dir).map(|()| to),
            Err(error) if taken(&error) && to.symlink_metadata().is_ok() => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

/// The trash is on another file system: the copy is complete before it gets its name, and the original goes only then.
fn put_copy(disk: &Disk, places: &Places, from: &Path, dir: &Path, name: &str) -> Result<PathBuf, DiskError> {
    // Copies that crashed before they got their name. They never hold the only copy of anything.
    let _ = clean_on(disk, places, dir);
    let kind = at(from, from.symlink_metadata())?;
    let stage = Stage::create(disk, dir)?;
    let staged = stage.path(name);
    let copied = if kind.is_symlink() {
        at(from, std::fs::read_link(from)).and_then(|target| disk.link(&target, &staged))
    } else if kind.is_dir() {
        copy_tree(disk, from, &staged)
    } else {
        at(from, std::fs::read(from)).and_then(|bytes| disk.write_new(&staged, &bytes, 0o644))
    };
    let put = copied.and_then(|()| put_as(disk, &staged, dir, name));
    stage.discard();
    let to = put?;
    let gone = if kind.is_dir() { purge(disk, from) } else { disk.remove_file(from) };
    gone.map(|()| to)
}

/// Deletes a directory: out of sight in one step, so that no one ever sees a skill with half its files.
pub(super) fn purge(disk: &Disk, dir: &Path) -> Result<(), DiskError> {
    let Some(root) = dir.parent() else { return disk.remove_tree(dir) };
    let stage = Stage::create(disk, root)?;
    let moved = disk.rename_new(dir, &stage.path("purged"));
    stage.discard();
    moved
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
