//! Letting old runs go: by age, by size, or by name; never one that a living process holds.

use super::lease::{self, LeaseRow};
use super::row::{Millis, RunFilter, RunRow};
use super::{Reader, Store, StoreError, blobs, chunk, leaves, place::Place};
use fugato_model::Digest;
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::HashSet;

/// What a pruning removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub runs: Vec<String>,
    /// Of logs and blobs together.
    pub bytes: u64,
}

impl Store {
    /// Removes runs last changed before `older_than`, then the oldest ended ones until all logs together fit in
    /// `max_bytes`. Spared are runs that are live, the active one, and the parents of those. An interrupted run could
    /// still be resumed, so only age removes it.
    pub fn prune(&self, older_than: Option<Millis>, max_bytes: Option<u64>) -> Result<Pruned, StoreError> {
        let reader = self.reader()?;
        let mut pruned = Pruned::default();
        for run in reader.prunable(older_than, max_bytes)? {
            match self.remove_run(&run.id) {
                Ok(()) => {
                    pruned.bytes += run.bytes;
                    pruned.runs.push(run.id.clone());
                }
                // Taken or removed by somebody since we looked.
                Err(StoreError::Held { .. } | StoreError::UnknownRun { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let named = named_blobs(&reader)?;
        pruned.bytes += self.0.blobs.sweep(&|digest| named.contains(digest))?;
        Ok(pruned)
    }

    /// Removes one run and its exports. Its blobs go with the next [`Store::prune`], unless others name them.
    pub fn remove_run(&self, run: &str) -> Result<(), StoreError> {
        let id = run.to_owned();
        self.change_even_when_full(move |connection, place| remove(connection, place, &id)).wait()?;
        leaves::remove(self.dir(), run);
        let exports = self.place().exports(run);
        match std::fs::remove_dir_all(&exports) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::io(&exports, &error))
            }
            _ => Ok(()),
        }
    }
}

impl Reader {
    /// What [`Store::prune`] would remove now, oldest first.
    pub fn prunable(
        &self,
        older_than: Option<Millis>,
        max_bytes: Option<u64>,
    ) -> Result<Vec<RunRow>, StoreError> {
        let runs = self.runs(&RunFilter::default())?;
        let spared = spared(self, &runs)?;
        let mut total: u64 = runs.iter().map(|run| run.bytes).sum();
        let mut due = Vec::new();
        for run in runs.iter().rev().filter(|run| !spared.contains(run.id.as_str())) {
            let is_old = older_than.is_some_and(|limit| run.updated_at < limit);
            let is_too_much = run.status.is_final() && max_bytes.is_some_and(|limit| total > limit);
            if is_old || is_too_much {
                total = total.saturating_sub(run.bytes);
                due.push(run.clone());
            }
        }
        Ok(due)
    }
}

fn spared<'r>(reader: &Reader, runs: &'r [RunRow]) -> Result<HashSet<&'r str>, StoreError> {
    let active = reader.active()?.map(|run| run.id);
    let is_needed = |run: &&RunRow| run.is_live() || Some(&run.id) == active.as_ref();
    let mut spared: HashSet<&str> = HashSet::new();
    // Newest first: children are made after their parents, so one pass reaches every ancestor.
    let mut parents: HashSet<&str> = HashSet::new();
    for run in runs {
        if is_needed(&run) || parents.contains(run.id.as_str()) {
            spared.insert(&run.id);
            parents.extend(run.parent.as_deref());
        }
    }
    Ok(spared)
}

fn remove(connection: &Connection, place: &Place, run: &str) -> Result<(), StoreError> {
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    let (_, held) = lease::find(connection, run)
        .map_err(sql)?
        .ok_or_else(|| StoreError::UnknownRun { id: run.to_owned() })?;
    if let Some(by) = held.filter(LeaseRow::is_alive) {
        return Err(StoreError::Held { by: Box::new(by) });
    }
    let number: Option<i64> = connection
        .query_row("SELECT no FROM runs WHERE id = ?1", [run], |row| row.get(0))
        .optional()
        .map_err(sql)?;
    let Some(number) = number else { return Ok(()) };
    connection
        .execute(
            "DELETE FROM chunks WHERE key BETWEEN ?1 AND ?2",
            (chunk::key(number, 0), chunk::key(number, chunk::MAX_SEQ)),
        )
        .map_err(sql)?;
    connection.execute("DELETE FROM runs WHERE no = ?1", [number]).map_err(sql)?;
    // Gives the pages back to the file system at the next checkpoint.
    let mut statement = connection.prepare("PRAGMA incremental_vacuum").map_err(sql)?;
    let mut rows = statement.query([]).map_err(sql)?;
    while rows.next().map_err(sql)?.is_some() {}
    Ok(())
}

/// Every digest any log mentions.
fn named_blobs(reader: &Reader) -> Result<HashSet<Digest>, StoreError> {
    let mut named = HashSet::new();
    let mut collect = || -> rusqlite::Result<()> {
        let mut statement = reader.connection.prepare("SELECT body FROM chunks")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            named.extend(blobs::mentioned(row.get_ref(0)?.as_blob()?));
        }
        Ok(())
    };
    collect().map_err(|error| reader.sql(&error))?;
    Ok(named)
}
