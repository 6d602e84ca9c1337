//! Pinning what is installed, and comparing it with the pins later.

use super::error::ManageError;
use super::tree::digest_of;
use crate::Places;
use fugato_skill::lock::{Drift, LockFile, LockedSkill, compare};
use fugato_skill::{Installed, Inventory};
use std::path::Path;

/// Pins skills as they are on the disk now. Skills without a usable name cannot be pinned and are left out.
pub fn lock<'a>(
    places: &Places,
    installed: impl IntoIterator<Item = &'a Installed>,
) -> Result<LockFile, ManageError> {
    let mut skills = Vec::new();
    for skill in installed {
        let Some(name) = skill.head.name.clone().filter(|_| skill.usable) else { continue };
        let (digest, entries) = digest_of(&skill.dir)?;
        skills.push(LockedSkill {
            name,
            source: source(places, &skill.dir),
            scope: skill.scope.clone(),
            digest,
            files: entries.into_iter().map(|entry| (entry.path, entry.digest)).collect(),
        });
    }
    Ok(LockFile::new(skills))
}

/// What differs between a lock and the effective skills of an inventory. Reads the files, not the index.
pub fn verify(places: &Places, pinned: &LockFile, inventory: &Inventory) -> Result<Vec<Drift>, ManageError> {
    let effective = inventory.all().iter().filter(|skill| skill.usable && !inventory.is_shadowed(skill));
    Ok(compare(pinned, &lock(places, effective)?))
}

/// A place without the names of machine and person, so that the lock is the same for everyone.
fn source(places: &Places, dir: &Path) -> String {
    let project = places.project_root();
    let bases = [
        ("$FUGATO_HOME", Some(places.home.as_path())),
        (".", Some(project)),
        ("~", places.user_home.as_deref()),
    ];
    bases
        .into_iter()
        .find_map(|(shown, base)| {
            Some(format!("{shown}/{}", dir.strip_prefix(base?).ok()?.to_string_lossy()))
        })
        .unwrap_or_else(|| dir.to_string_lossy().into_owned())
}
