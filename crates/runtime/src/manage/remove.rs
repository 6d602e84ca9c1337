//! Taking a skill out. It vanishes in one step; by default it is in the trash afterwards.

use super::disk::{Disk, at};
use super::error::ManageError;
use super::stage::clean_on;
use super::trash;
use crate::Places;
use fugato_skill::Installed;
use std::path::{Path, PathBuf};

/// What becomes of a removed skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    Trash,
    /// Deleted for good.
    Purge,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    pub dir: PathBuf,
    /// Where it is now; `None` when purged.
    pub trash: Option<PathBuf>,
}

/// Removes an installed skill. Of a linked skill only the link is removed.
pub fn remove(places: &Places, installed: &Installed, removal: Removal) -> Result<Removed, ManageError> {
    remove_on(&Disk::real(), places, installed, removal)
}

/// As [`remove`], on a given disk.
pub fn remove_on(
    disk: &Disk,
    places: &Places,
    installed: &Installed,
    removal: Removal,
) -> Result<Removed, ManageError> {
    let dir = &installed.dir;
    let (root, name) = root_and_name(dir)?;
    let metadata = dir.symlink_metadata().map_err(|_| ManageError::NotInstalled { dir: dir.clone() })?;
    clean_on(disk, places, root)?;
    let trash = match removal {
        Removal::Trash => Some(trash::put(disk, places, dir, &name)?),
        Removal::Purge if metadata.is_symlink() => {
            disk.remove_file(dir)?;
            None
        }
        Removal::Purge => {
            trash::purge(disk, dir)?;
            None
        }
    };
    disk.sync_dir(root)?;
    Ok(Removed { dir: dir.clone(), trash })
}

/// The directory of skills that holds this one, and the name of its own.
pub(super) fn root_and_name(dir: &Path) -> Result<(&Path, String), ManageError> {
    match (dir.parent(), dir.file_name()) {
        (Some(root), Some(name)) => Ok((root, name.to_string_lossy().into_owned())),
        _ => Err(ManageError::NotInstalled { dir: dir.to_owned() }),
    }
}

/// Changes to a linked skill would change a directory that someone else manages.
pub(super) fn refuse_link(dir: &Path) -> Result<(), ManageError> {
    let metadata = dir.symlink_metadata().map_err(|_| ManageError::NotInstalled { dir: dir.to_owned() })?;
    if metadata.is_symlink() {
        let target = at(dir, std::fs::read_link(dir))?;
        return Err(ManageError::IsLink { dir: dir.to_owned(), target });
    }
    Ok(())
}
