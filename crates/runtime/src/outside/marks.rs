//! Who wrote each file last, as links named by the file's digest: a call that writes need not ask the database whether somebody
//! else does, unless somebody else did.

use crate::store::leaves;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

/// More files than this in one call are looked up in the database.
const MOST: usize = 4;

fn dir(state: &Path, run: &str) -> PathBuf {
    leaves::dir(state, run).join("files")
}

fn mark(dir: &Path, file: &str) -> PathBuf {
    dir.join(fugato_skill::digest_bytes(file.as_bytes()).short())
}

/// Did nobody but this agent write these files last? From now on it did. While the leaves are held.
pub fn are_free(state: &Path, run: &str, files: &[String], agent: u32) -> bool {
    if files.len() > MOST {
        return false;
    }
    let (dir, own) = (dir(state, run), agent.to_string());
    files.iter().all(|file| {
        let mark = mark(&dir, file);
        match fs::read_link(&mark) {
            Ok(by) => by.as_os_str() == own.as_str(),
            Err(error) => error.kind() == ErrorKind::NotFound && symlink(&own, mark).is_ok(),
        }
    })
}

/// These agents wrote these files. While the leaves are closed.
pub fn keep<'f>(
    state: &Path,
    run: &str,
    written: impl IntoIterator<Item = (&'f String, &'f u32)>,
) -> io::Result<()> {
    let dir = dir(state, run);
    for (file, agent) in written {
        let mark = mark(&dir, file);
        match fs::remove_file(&mark) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => symlink(agent.to_string(), mark)?,
        }
    }
    Ok(())
}

/// Anew, without any.
pub fn begin(state: &Path, run: &str) -> io::Result<()> {
    let dir = dir(state, run);
    match fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fs::DirBuilder::new().recursive(true).mode(0o700).create(dir),
    }
}
