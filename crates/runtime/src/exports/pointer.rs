//! `orchestrator`: the link through which other programs find the active run.

use super::files::ExportError;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

const LINK: &str = "orchestrator";

/// Points to a run, in one step. A directory or file of another program with this name is left alone.
pub fn point_at(state: &Path, run: &str) -> Result<(), ExportError> {
    let link = state.join(LINK);
    let at = |error| ExportError::at(&link, error);
    match fs::symlink_metadata(&link) {
        Ok(found) if !found.is_symlink() => return Err(at(ErrorKind::AlreadyExists.into())),
        _ => {}
    }
    let target = Path::new("runs").join(run);
    if fs::read_link(&link).is_ok_and(|found| found == target) {
        return Ok(());
    }
    // The library removes the name again when the rename fails.
    let new = tempfile::Builder::new()
        .prefix(super::files::TEMPORARY)
        .make_in(state, |path| std::os::unix::fs::symlink(&target, path))
        .map_err(at)?;
    new.persist(&link).map(drop).map_err(|error| at(error.error))
}

/// The run it points to, if that has a directory.
pub fn pointed_at(state: &Path) -> Option<String> {
    let target = fs::read_link(state.join(LINK)).ok()?;
    let run = target.strip_prefix("runs").ok()?.to_str()?.to_owned();
    state.join(&target).is_dir().then_some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_moves_in_one_step_and_spares_what_is_not_a_link() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("runs/run_b")).unwrap();
        point_at(dir.path(), "run_a").unwrap();
        assert_eq!(pointed_at(dir.path()), None, "no such directory yet");
        point_at(dir.path(), "run_b").unwrap();
        assert_eq!(pointed_at(dir.path()).as_deref(), Some("run_b"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left behind");
        fs::remove_file(dir.path().join(LINK)).unwrap();
        fs::create_dir(dir.path().join(LINK)).unwrap();
        assert!(point_at(dir.path(), "run_a").is_err());
        assert!(dir.path().join(LINK).is_dir());
    }
}
