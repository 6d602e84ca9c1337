//! The files of runs once more from the log, for `doctor --rebuild` and for a run whose files were meddled with.
//!
//! They are made in a directory of their own and take their places one by one. Nothing that was there and is not in the
//! log is lost: it goes to `.quarantine`.

use super::files::{self, ExportError, Files, TEMPORARY};
use super::fold::Owner;
use super::foreign;
use super::pointer::{point_at, pointed_at};
use super::tail;
use super::writer::{WriteError, Writer};
use crate::store::{Reader, RunRow, StoreError};
use fugato_model::Words;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// What rebuilding did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Runs whose files are exact now.
    pub runs: usize,
    /// Files that were right already.
    pub intact: usize,
    /// Files that were written anew.
    pub restored: usize,
    /// Runs at work: their own process keeps their files.
    pub live: Vec<String>,
    /// Runs that could not be rebuilt, and why.
    pub failed: Vec<(String, Words)>,
}

/// Rebuilds the exports of every run of a state directory.
pub fn rebuild(state: &Path) -> Result<Rebuilt, StoreError> {
    let mut sum = Rebuilt::default();
    let Some(reader) = Reader::open(state)? else { return Ok(sum) };
    let rows = reader.runs(&Default::default())?;
    for row in &rows {
        if row.is_live() && !row.is_outside {
            sum.live.push(row.id.clone());
            continue;
        }
        let owner = if row.is_live() { Owner::Here } else { Owner::Gone };
        match one(&reader, state, &row.id, owner) {
            Ok((intact, restored)) => {
                sum.runs += 1;
                sum.intact += intact;
                sum.restored += restored;
            }
            Err(error) => sum.failed.push((row.id.clone(), error.words())),
        }
    }
    let active = reader.active()?;
    if let Some(run) = active.as_ref().or(rows.first()).filter(|_| pointed_at(state).is_none())
        && let Err(error) = point_at(state, &run.id)
    {
        sum.failed.push(("orchestrator".to_owned(), error.words()));
    }
    Ok(sum)
}

/// How the exports compare with the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    pub looked_at: usize,
    /// Runs whose `run.json` is missing, unreadable or behind the log.
    pub behind: Vec<String>,
    /// Something else than our link stands at `orchestrator`.
    pub blocked: bool,
}

/// Looks at `run.json` of the newest runs; reads no log.
pub fn compare(state: &Path, most: u32) -> Result<Compared, StoreError> {
    let mut compared = Compared::default();
    let Some(reader) = Reader::open(state)? else { return Ok(compared) };
    let rows = reader.runs(&crate::store::RunFilter { limit: Some(most), ..Default::default() })?;
    for row in rows.iter().filter(|row| !row.is_live()) {
        compared.looked_at += 1;
        if !is_exact(state, row) {
            compared.behind.push(row.id.clone());
        }
    }
    let link = fs::symlink_metadata(state.join("orchestrator"));
    compared.blocked = link.is_ok_and(|found| !found.is_symlink());
    Ok(compared)
}

fn is_exact(state: &Path, row: &RunRow) -> bool {
    let path = state.join("runs").join(&row.id).join("run.json");
    let bytes = files::read_file(&path, foreign::LARGEST).unwrap_or_default();
    foreign::read_run_json(&bytes)
        .is_ok_and(|run| run.rest.get("seq").and_then(serde_json::Value::as_u64) == Some(row.last_seq))
}

/// Rebuilds one run. Returns how many files were right, and how many were written.
pub(super) fn one(
    reader: &Reader,
    state: &Path,
    run: &str,
    owner: Owner,
) -> Result<(usize, usize), WriteError> {
    let runs = state.join("runs");
    clear_way(&runs)?;
    let target = runs.join(run);
    clear_way(&target)?;
    let _turn = files::take_turn(&target)?;
    files::remove_temporaries(&target);
    let stage = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempdir_in(&target)
        .map_err(|error| ExportError::at(&target, error))?;
    Writer::new(run, Files::stage(stage.path())).pass(reader, owner)?;
    let mut install = Install::default();
    install.directory(stage.path(), &target)?;
    Ok((install.intact, install.restored))
}

#[derive(Default)]
struct Install {
    intact: usize,
    restored: usize,
}

impl Install {
    /// As deep as an agent's id has parts, which is bounded.
    fn directory(&mut self, from: &Path, to: &Path) -> Result<(), ExportError> {
        files::remove_temporaries_but(to, from);
        let mut renamed = false;
        let entries = fs::read_dir(from).map_err(|error| ExportError::at(from, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| ExportError::at(from, error))?;
            let target = to.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                renamed |= clear_way(&target)?;
                self.directory(&entry.path(), &target)?;
            } else if is_settled(&entry.path(), &target) {
                self.intact += 1;
            } else {
                put(&entry.path(), &target).map_err(|error| ExportError::at(&target, error))?;
                self.restored += 1;
                renamed = true;
            }
        }
        if renamed {
            let _ = File::open(to).and_then(|dir| dir.sync_all());
        }
        Ok(())
    }
}

/// Makes a directory, moving aside what has its name; `true`: it is new.
fn clear_way(dir: &Path) -> Result<bool, ExportError> {
    if fs::symlink_metadata(dir).is_ok_and(|found| !found.is_dir()) {
        tail::quarantine(dir).map_err(|error| ExportError::at(dir, error))?;
    }
    files::make_dir(dir)
}

/// Is the file as it should be, or a newer directive that waits to be imported?
fn is_settled(new: &Path, old: &Path) -> bool {
    if compare_content(new, old).is_ok_and(|content| content == Content::Same) {
        return true;
    }
    let is_control = new.file_name().is_some_and(|name| name == "control.json");
    let generation =
        |path| files::read_file(path, 64 * 1024).and_then(|bytes| foreign::control_generation(&bytes));
    is_control && generation(old) > generation(new)
}

fn put(new: &Path, old: &Path) -> io::Result<()> {
    let grows = new.extension().is_some_and(|extension| extension == "jsonl");
    match fs::symlink_metadata(old) {
        // Lines of others, or of a log that was lost, are kept.
        Ok(found) if found.is_file() && grows && compare_content(new, old)? == Content::Differs => {
            tail::quarantine(old)?;
        }
        Ok(found) if !found.is_file() => tail::quarantine(old)?,
        _ => {}
    }
    File::open(new)?.sync_all()?;
    fs::rename(new, old)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Same,
    /// The old one is the beginning of the new one.
    Shorter,
    Differs,
}

fn compare_content(new: &Path, old: &Path) -> io::Result<Content> {
    let (mut new, mut old) = (File::open(new)?, tail::open_carefully(old)?);
    let (mut a, mut b) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let from_old = old.read(&mut b)?;
        if from_old == 0 {
            return Ok(if new.read(&mut a)? == 0 { Content::Same } else { Content::Shorter });
        }
        let (Some(here), Some(there)) = (a.get_mut(..from_old), b.get(..from_old)) else {
            return Ok(Content::Differs);
        };
        match new.read_exact(here) {
            Ok(()) if here == there => {}
            Ok(()) => return Ok(Content::Differs),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Content::Differs),
            Err(error) => return Err(error),
        }
    }
}
