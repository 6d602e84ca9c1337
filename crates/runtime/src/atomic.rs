//! Single files of people, replaced in one step: whoever looks sees the old content or the new, whole.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Writes a file through a temporary one beside it. Follows a link to the file it means (dotfiles are often linked into
/// a repository) and keeps the permissions of an existing file.
pub fn write_atomically(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let dir = parent(&target);
    std::fs::create_dir_all(&dir)?;
    let mut temporary = tempfile::Builder::new().prefix(".fugato.").tempfile_in(&dir)?;
    temporary.write_all(bytes)?;
    match std::fs::metadata(&target) {
        Ok(existing) => std::fs::set_permissions(temporary.path(), existing.permissions())?,
        Err(_) => set_ordinary_mode(temporary.path())?,
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|error| error.error)?;
    // The rename itself must survive a power cut too; a file system that cannot sync a directory has no such promise.
    let _ = std::fs::File::open(&dir).and_then(|dir| dir.sync_all());
    Ok(())
}

/// The same for content that is written piece by piece and is for its owner's eyes only.
pub fn write_privately<E: From<io::Error>>(
    file: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> Result<(), E>,
) -> Result<(), E> {
    let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let dir = parent(&target);
    // Temporary files are private (0600), and the name keeps what it had.
    let mut temporary = tempfile::Builder::new().prefix(".fugato.").tempfile_in(&dir)?;
    let mut buffered = io::BufWriter::new(temporary.as_file_mut());
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|error| error.error)?;
    let _ = std::fs::File::open(&dir).and_then(|dir| dir.sync_all());
    Ok(())
}

/// Why a file was not replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    #[error("`{}` changed since it was read", .0.display())]
    Changed(PathBuf),
    #[error("cannot write `{}`: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Replaces a file that must still have the content that was read, so that two editors never overwrite each other.
///
/// Writers that use this function take turns; for others the window between looking and renaming is microseconds.
pub fn replace_unchanged(file: &Path, before: &[u8], after: &[u8]) -> Result<(), ReplaceError> {
    let failed = |error| ReplaceError::Io { path: file.to_owned(), error };
    let target = file.canonicalize().map_err(failed)?;
    let turn = std::fs::File::open(parent(&target)).map_err(failed)?;
    turn.lock().map_err(failed)?;
    if std::fs::read(&target).map_err(failed)? != before {
        return Err(ReplaceError::Changed(file.to_owned()));
    }
    write_atomically(&target, after).map_err(failed)
}

/// Could something be written into this directory, which need not exist yet? Leaves nothing behind.
pub fn probe_writable(dir: &Path) -> io::Result<()> {
    let existing = dir.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(dir);
    tempfile::Builder::new().prefix(".fugato-probe.").tempfile_in(existing).map(|_| ())
}

fn parent(file: &Path) -> PathBuf {
    match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Temporary files are private; a new file of the person's is not more private than their other files.
#[cfg(unix)]
fn set_ordinary_mode(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_ordinary_mode(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_meanwhile_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("p.jsonc");
        write_atomically(&file, b"one").unwrap();
        replace_unchanged(&file, b"one", b"two").unwrap();
        assert!(matches!(replace_unchanged(&file, b"one", b"three"), Err(ReplaceError::Changed(_))));
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn of_many_writers_from_one_state_exactly_one_wins() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("p.jsonc");
        write_atomically(&file, b"start").unwrap();
        let won: usize = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|n: u8| {
                    let file = &file;
                    scope.spawn(move || usize::from(replace_unchanged(file, b"start", &[n]).is_ok()))
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).sum()
        });
        assert_eq!(won, 1);
    }

    #[test]
    fn a_link_stays_a_link_and_modes_are_kept() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::write(&real, "a").unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_atomically(&link, b"b").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_in_the_way_is_not_writable() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "x").unwrap();
        assert!(probe_writable(&dir.path().join("file").join("below")).is_err());
        assert!(probe_writable(&dir.path().join("new").join("below")).is_ok());
    }
}
