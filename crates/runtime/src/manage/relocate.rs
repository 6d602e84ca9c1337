//! Moving a skill to another scope: one rename, or on another file system a finished copy first.

use super::disk::{Disk, DiskError, crosses_devices, taken};
use super::error::ManageError;
use super::remove::{refuse_link, root_and_name};
use super::stage::{Stage, clean_on};
use super::trash;
use super::tree::{copy_tree, digest_of};
use crate::Places;
use fugato_model::Scope;
use fugato_skill::Installed;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub from: PathBuf,
    pub to: PathBuf,
    /// The original, when the move was a copy between file systems.
    pub kept: Option<PathBuf>,
}

/// Moves an installed skill to another scope. A skill of its name there is a conflict, whatever its content.
pub fn move_to_scope(places: &Places, installed: &Installed, scope: &Scope) -> Result<Moved, ManageError> {
    move_to_scope_on(&Disk::real(), places, installed, scope)
}

/// As [`move_to_scope`], on a given disk.
pub fn move_to_scope_on(
    disk: &Disk,
    places: &Places,
    installed: &Installed,
    scope: &Scope,
) -> Result<Moved, ManageError> {
    let from = installed.dir.clone();
    let (from_root, name) = root_and_name(&from)?;
    refuse_link(&from)?;
    let to_root = places.scope_dir(scope);
    let to = to_root.join(&name);
    if to == from {
        return Ok(Moved { from, to, kept: None });
    }
    disk.create_dirs(&to_root)?;
    clean_on(disk, places, &to_root)?;
    match disk.rename_new(&from, &to) {
        Ok(()) => {
            disk.sync_dir(&to_root)?;
            disk.sync_dir(from_root)?;
            Ok(Moved { from, to, kept: None })
        }
        Err(error) if crosses_devices(&error) => {
            copy_over(disk, &from, &to_root, &to, &name)?;
            let kept = trash::put(disk, places, &from, &name)?;
            Ok(Moved { from, to, kept: Some(kept) })
        }
        Err(error) => Err(in_the_way(error, name, to)),
    }
}

fn copy_over(disk: &Disk, from: &Path, to_root: &Path, to: &Path, name: &str) -> Result<(), ManageError> {
    let stage = Stage::create(disk, to_root)?;
    let staged = stage.path(name);
    let copied = copy_tree(disk, from, &staged).map_err(ManageError::from).and_then(|()| {
        let (before, after) = (digest_of(from)?.0, digest_of(&staged)?.0);
        if before == after {
            return disk
                .rename_new(&staged, to)
                .map_err(|error| in_the_way(error, name.to_owned(), to.to_owned()));
        }
        let source = std::io::Error::other("it changed while it was copied");
        Err(DiskError { path: from.to_owned(), source }.into())
    });
    stage.discard();
    copied?;
    Ok(disk.sync_dir(to_root)?)
}

pub(super) fn in_the_way(error: DiskError, name: String, dir: PathBuf) -> ManageError {
    if taken(&error) { ManageError::Conflict { name, dir } } else { error.into() }
}
