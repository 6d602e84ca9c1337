//! One file of a skill: read it with its digest, write it against the digest that was read.

use super::disk::{Disk, DiskError, at, missing};
use super::error::ManageError;
use super::remove::root_and_name;
use super::stage::{Stage, clean_on};
use super::trash;
use super::tree::{open_file, read_all};
use crate::Places;
use fugato_model::{Code, Diagnostic, Digest, RelPath, words};
use fugato_skill::archive::{MAX_FILE_BYTES, safe_path};
use fugato_skill::{Installed, SkillText, digest_bytes, is_skill_file, read_named};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    pub bytes: Vec<u8>,
    /// To be given to [`write_file`].
    pub digest: Digest,
}

/// A file as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub digest: Digest,
    pub previous: Option<Digest>,
    /// Where the previous content is, when it was overwritten without being checked.
    pub kept: Option<PathBuf>,
    /// What reading the skill file says about the new content.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads one file of a skill. Links are followed only inside the skill.
pub fn read_file(installed: &Installed, path: &RelPath) -> Result<FileText, ManageError> {
    let (bytes, digest, _) = current(&installed.dir, path)?
        .ok_or_else(|| ManageError::NoFile { skill: installed.label(), path: path.clone() })?;
    Ok(FileText { bytes, digest })
}

/// Replaces or creates one file of a skill in one step.
///
/// With `expected`, the file must still have that digest. Without, it is written unconditionally and the previous content
/// goes to the trash.
pub fn write_file(
    places: &Places,
    installed: &Installed,
    path: &RelPath,
    bytes: &[u8],
    expected: Option<Digest>,
) -> Result<Written, ManageError> {
    write_file_on(&Disk::real(), places, installed, path, bytes, expected)
}

/// As [`write_file`], on a given disk.
pub fn write_file_on(
    disk: &Disk,
    places: &Places,
    installed: &Installed,
    path: &RelPath,
    bytes: &[u8],
    expected: Option<Digest>,
) -> Result<Written, ManageError> {
    let diagnostics = check(installed, path, bytes)?;
    let gone = |_| ManageError::NotInstalled { dir: installed.dir.clone() };
    let dir = installed.dir.canonicalize().map_err(gone)?;
    // Writers of one skill take turns, so comparing and replacing are one act among them.
    let _turn = at(&dir, File::open(&dir).and_then(|handle| handle.lock().map(|()| handle)))?;
    refuse_links(&dir, path)?;
    let before = current(&dir, path)?;
    let previous = before.as_ref().map(|(_, digest, _)| *digest);
    if let Some(expected) = expected
        && previous != Some(expected)
    {
        return Err(ManageError::FileChanged {
            skill: installed.label(),
            path: path.clone(),
            expected,
            found: previous,
        });
    }
    let digest = digest_bytes(bytes);
    if previous == Some(digest) {
        return Ok(Written { digest, previous, kept: None, diagnostics });
    }
    let kept = match before.filter(|_| expected.is_none()) {
        Some((old, _, _)) => Some(keep_old(disk, places, installed, path, &old)?),
        None => None,
    };
    replace_file(disk, &dir, path, bytes)?;
    Ok(Written { digest, previous, kept, diagnostics })
}

/// Refuses content that would break a skill that works.
fn check(installed: &Installed, path: &RelPath, bytes: &[u8]) -> Result<Vec<Diagnostic>, ManageError> {
    let shown = installed.dir.join(path).to_string_lossy().into_owned();
    safe_path(path.as_str())
        .map_err(|(code, why)| ManageError::invalid(Diagnostic::error(code, shown.clone(), why)))?;
    if !fugato_skill::belongs(path) {
        let why = words!("`{path}` is not content of a skill", "`{path}` 不属于技能内容");
        return Err(ManageError::invalid(Diagnostic::error(Code::F0308, shown, why)));
    }
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let (size, limit) = (bytes.len(), MAX_FILE_BYTES >> 20);
        let why = words!(
            "the content has {size} bytes (limit {limit} MiB)",
            "内容有 {size} 字节（最多 {limit} MiB）"
        );
        return Err(ManageError::invalid(Diagnostic::error(Code::F0122, shown, why)));
    }
    if !is_skill_file(path.as_str()) {
        return Ok(Vec::new());
    }
    let dir_name =
        installed.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = SkillText { dir_name: &dir_name, path: &shown, bytes };
    let mut reading = read_named(path.as_str(), text);
    if installed.usable && !reading.usable {
        reading.diagnostics.sort_by_key(|diagnostic| !diagnostic.is_error());
        return Err(ManageError::Invalid(reading.diagnostics));
    }
    Ok(reading.diagnostics)
}

type Content = (Vec<u8>, Digest, bool);

fn current(dir: &Path, path: &RelPath) -> Result<Option<Content>, ManageError> {
    let full = dir.join(path);
    let file = match open_file(dir, path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return if dir.is_dir() {
                Ok(None)
            } else {
                Err(ManageError::NotInstalled { dir: dir.to_owned() })
            };
        }
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let why = words!("`{path}` is a link that leaves the skill", "`{path}` 是指向技能之外的链接");
            return Err(ManageError::invalid(Diagnostic::error(Code::F0126, full.to_string_lossy(), why)));
        }
        Err(source) => return Err(DiskError { path: full, source }.into()),
    };
    let file = at(&full, read_all(file, fugato_skill::limits::SKILL_BYTES as u64))?;
    let digest = digest_bytes(&file.bytes);
    Ok(Some((file.bytes, digest, file.executable)))
}

/// Writing through a link would change another file than the one that was named.
fn refuse_links(dir: &Path, path: &RelPath) -> Result<(), ManageError> {
    let mut here = dir.to_owned();
    for component in path.components() {
        here.push(component);
        if here.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            let target = at(&here, std::fs::read_link(&here))?;
            return Err(ManageError::IsLink { dir: here, target });
        }
    }
    Ok(())
}

fn keep_old(
    disk: &Disk,
    places: &Places,
    installed: &Installed,
    path: &RelPath,
    old: &[u8],
) -> Result<PathBuf, ManageError> {
    let trash = trash::open(disk, places)?;
    clean_on(disk, places, &trash)?;
    let stage = Stage::create(disk, &trash)?;
    let staged = stage.path("file");
    let kept = disk.write_new(&staged, old, 0o644).and_then(|()| {
        trash::put(disk, places, &staged, &format!("{}-{}", installed.label(), path.file_name()))
    });
    stage.discard();
    Ok(kept?)
}

/// Puts bytes in the place of a file in one step. The new file waits beside the skill, not in it, so that a crash adds
/// nothing to the skill's content.
pub(super) fn replace_file(disk: &Disk, dir: &Path, path: &RelPath, bytes: &[u8]) -> Result<(), ManageError> {
    let (root, _) = root_and_name(dir)?;
    let full = dir.join(path);
    let executable = current(dir, path)?.is_some_and(|(_, _, executable)| executable);
    let stage = Stage::create(disk, root)?;
    let staged = stage.path("file");
    let parent = full.parent().unwrap_or(dir);
    let written = disk
        .create_dirs(parent)
        .and_then(|()| disk.write_new(&staged, bytes, if executable { 0o755 } else { 0o644 }))
        .and_then(|()| disk.rename_over(&staged, &full))
        .and_then(|()| disk.sync_dir(parent));
    stage.discard();
    match written {
        Err(error) if missing(&error) => Err(ManageError::NotInstalled { dir: dir.to_owned() }),
        written => Ok(written?),
    }
}
