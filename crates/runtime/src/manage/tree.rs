//! Whole directories: reading one as the files of a skill, copying one as it is.

use super::disk::{Disk, DiskError, at};
use super::error::ManageError;
use crate::beneath::{DIRECTORY, READ, open_beneath};
use fugato_model::{Digest, RelPath};
use fugato_skill::archive::BundledFile;
use rustix::fd::AsFd as _;
use rustix::fs::{CWD, Mode, openat};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The files of a skill, exactly those its digest is over.
pub(super) fn read_tree(dir: &Path) -> Result<(Digest, BTreeMap<RelPath, BundledFile>), ManageError> {
    let (digest, entries) = digest_of(dir)?;
    let mut files = BTreeMap::new();
    for entry in entries {
        let file = at(
            &dir.join(&entry.path),
            open_file(dir, &entry.path).and_then(|file| read_all(file, entry.len)),
        )?;
        files.insert(entry.path, file);
    }
    let found = fugato_skill::digest_files(files.iter().map(|(path, file)| (path, file.bytes.as_slice())));
    if found != digest {
        let source = io::Error::other("it changed while it was read");
        return Err(DiskError { path: dir.to_owned(), source }.into());
    }
    Ok((digest, files))
}

/// [`crate::skill_digest`] with our errors.
pub(super) fn digest_of(dir: &Path) -> Result<(Digest, Vec<crate::FileEntry>), ManageError> {
    crate::skill_digest(dir).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ManageError::NotInstalled { dir: dir.to_owned() },
        _ => DiskError { path: dir.to_owned(), source }.into(),
    })
}

/// Opens a file of a directory, following links only inside it.
pub(super) fn open_file(dir: &Path, path: &RelPath) -> io::Result<File> {
    let handle = openat(CWD, dir, DIRECTORY, Mode::empty())?;
    let file = File::from(open_beneath(handle.as_fd(), path.as_str(), READ)?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// Reads at most `most` bytes; more is an error, because someone is writing.
pub(super) fn read_all(file: File, most: u64) -> io::Result<BundledFile> {
    let executable = file.metadata()?.permissions().mode() & 0o111 != 0;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "the file is larger than allowed, or growing",
        ));
    }
    Ok(BundledFile { bytes, executable })
}

/// Writes the files of a skill into a new directory and puts everything on the platter.
pub(super) fn write_tree(
    disk: &Disk,
    dir: &Path,
    files: &BTreeMap<RelPath, BundledFile>,
) -> Result<(), DiskError> {
    disk.create_dir(dir)?;
    let mut made = std::collections::BTreeSet::from([dir.to_owned()]);
    for (path, file) in files {
        let full = dir.join(path);
        if let Some(parent) = full.parent().filter(|parent| !made.contains(*parent)) {
            disk.create_dirs(parent)?;
            made.extend(parent.ancestors().take_while(|above| above.starts_with(dir)).map(Path::to_owned));
        }
        disk.write_new(&full, &file.bytes, if file.executable { 0o755 } else { 0o644 })?;
    }
    made.iter().try_for_each(|dir| disk.sync_dir(dir))
}

/// Copies a directory with everything in it: hidden files, modes, links as links. For moves between file systems.
pub(super) fn copy_tree(disk: &Disk, from: &Path, to: &Path) -> Result<(), DiskError> {
    let mut waiting = vec![(from.to_owned(), to.to_owned())];
    let mut made = Vec::new();
    while let Some((from, to)) = waiting.pop() {
        disk.create_dir(&to)?;
        for entry in at(&from, std::fs::read_dir(&from))? {
            let entry = at(&from, entry)?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let kind = at(&source, entry.file_type())?;
            if kind.is_dir() {
                waiting.push((source, target));
            } else if kind.is_symlink() {
                disk.link(&at(&source, std::fs::read_link(&source))?, &target)?;
            } else if kind.is_file() {
                let file = at(&source, File::open(&source).and_then(|file| read_all(file, u64::MAX - 1)))?;
                disk.write_new(&target, &file.bytes, if file.executable { 0o755 } else { 0o644 })?;
            } else {
                return at(&source, Err(io::Error::other("a device, pipe or socket cannot be copied")));
            }
        }
        made.push(to);
    }
    made.iter().try_for_each(|dir| disk.sync_dir(dir))
}
