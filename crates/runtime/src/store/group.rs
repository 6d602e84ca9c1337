//! One transaction of the writer: many batches of many runs, checked one by one, written as few rows as possible.
//!
//! A batch that is refused (old epoch, wrong sequence number) leaves the others in the transaction alone; an error of the
//! disk ends them all.

use super::chunk;
use super::command;
use super::lease::{now, signed, unsigned};
use super::leaves;
use super::queue::{Job, Work};
use super::row::{Batch, NewRun, RunSummary, is_run_id};
use super::{StoreError, place::Place};
use rusqlite::{Connection, OptionalExtension as _, named_params};
use std::collections::HashMap;

pub struct Group<'c> {
    connection: &'c Connection,
    place: &'c Place,
    open: HashMap<String, Open>,
}

/// A run that this transaction has touched: where it stands, and what is not yet a row.
struct Open {
    no: i64,
    epoch: u64,
    is_held: bool,
    last_seq: u64,
    /// Agents outside added to the log's end; only their hook binds that.
    has_leaves: bool,
    pending: Chunk,
    summary: Option<RunSummary>,
}

#[derive(Default)]
struct Chunk {
    first_seq: u64,
    body: Vec<u8>,
}

type Refusal = StoreError;

impl<'c> Group<'c> {
    pub fn new(connection: &'c Connection, place: &'c Place) -> Self {
        Self { connection, place, open: HashMap::new() }
    }

    /// The outer error ends the transaction; the inner ones are the answers of single jobs.
    pub fn apply_all(mut self, jobs: &mut [Job]) -> Result<Vec<Result<(), Refusal>>, StoreError> {
        let mut results = Vec::with_capacity(jobs.len());
        for job in jobs {
            let is_void = job.after.as_ref().is_some_and(|creation| !creation.has_happened());
            results.push(match &mut job.work {
                Work::Append(batch, _) if is_void => Err(StoreError::UnknownRun { id: batch.run.clone() }),
                Work::Change(_) if is_void => Err(StoreError::Closed),
                Work::Append(batch, _) => self.append(batch)?,
                Work::Change(change) => {
                    self.flush()?;
                    let connection = self.connection;
                    let place = self.place;
                    self.guarded(|| change.run(connection, place))?
                }
            });
        }
        self.flush()?;
        Ok(results)
    }

    fn append(&mut self, batch: &Batch) -> Result<Result<(), Refusal>, StoreError> {
        if !self.open.contains_key(&batch.run) {
            let Some(open) = self.look_up(&batch.run)? else {
                return Ok(Err(StoreError::UnknownRun { id: batch.run.clone() }));
            };
            self.open.insert(batch.run.clone(), open);
        }
        let Some(open) = self.open.get_mut(&batch.run) else { return Err(StoreError::Closed) };
        if let Err(refusal) = open.admits(batch) {
            return Ok(Err(refusal));
        }
        open.add(batch);
        command::answer(self.connection, batch)
            .map_err(|error| StoreError::sql(&self.place.database, &error))?;
        if open.pending.body.len() > chunk::FULL_AT {
            write(self.connection, open).map_err(|error| self.sql(&error))?;
        }
        Ok(Ok(()))
    }

    fn look_up(&self, run: &str) -> Result<Option<Open>, StoreError> {
        let look_up = || {
            self.connection
                .prepare_cached(
                    "SELECT no, epoch, owner_pid IS NOT NULL, last_seq, outside IS NOT NULL FROM runs WHERE id = ?1",
                )?
                .query_row([run], |row| {
                    let last_seq = unsigned(row.get(3)?);
                    Ok(Open {
                        no: row.get(0)?,
                        epoch: unsigned(row.get(1)?),
                        is_held: row.get(2)?,
                        last_seq,
                        has_leaves: row.get(4)? && self.has_leaves(run, last_seq),
                        pending: Chunk::default(),
                        summary: None,
                    })
                })
                .optional()
        };
        look_up().map_err(|error| self.sql(&error))
    }

    /// Closed first: a line that comes later would have the number of an event.
    fn has_leaves(&self, run: &str, last_seq: u64) -> bool {
        let (boot, token) = (super::process::boot(), format!("{}-{}", std::process::id(), now()));
        let closed = leaves::close(&self.place.dir, run, &boot, &token, leaves::Patience::Short);
        closed.map_or(true, |closed| closed.leaves.iter().any(|leaf| leaf.seq > last_seq))
    }

    /// Writes what is pending and forgets what is known: whatever comes next may change it.
    fn flush(&mut self) -> Result<(), StoreError> {
        for (_, mut open) in std::mem::take(&mut self.open) {
            write(self.connection, &mut open).map_err(|error| self.sql(&error))?;
        }
        Ok(())
    }

    /// A change that fails half-way leaves nothing behind.
    fn guarded(
        &self,
        mut change: impl FnMut() -> Result<(), StoreError>,
    ) -> Result<Result<(), Refusal>, StoreError> {
        let execute = |statement| self.connection.execute_batch(statement).map_err(|error| self.sql(&error));
        execute("SAVEPOINT change")?;
        match change() {
            Ok(()) => execute("RELEASE change").map(Ok),
            Err(error) if ends_the_transaction(&error) => Err(error),
            Err(refusal) => execute("ROLLBACK TO change; RELEASE change").map(|()| Err(refusal)),
        }
    }

    fn sql(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sql(&self.place.database, error)
    }
}

impl Open {
    fn admits(&self, batch: &Batch) -> Result<(), Refusal> {
        if !self.is_held || self.epoch != batch.epoch {
            let (run, epoch) = (batch.run.clone(), batch.epoch);
            return Err(StoreError::Fenced { run, epoch, current: self.epoch });
        }
        if self.has_leaves {
            return Err(StoreError::Outside { run: batch.run.clone() });
        }
        let count = u64::try_from(batch.events.len()).unwrap_or(u64::MAX);
        let continues = batch.events.is_empty() || batch.first_seq == self.last_seq + 1;
        if !continues || self.last_seq.saturating_add(count) >= chunk::MAX_SEQ {
            return Err(StoreError::Conflict { expected_seq: self.last_seq + 1 });
        }
        Ok(())
    }

    fn add(&mut self, batch: &Batch) {
        for event in &batch.events {
            self.last_seq += 1;
            self.pending.add(self.last_seq, event);
        }
        if let Some(new) = &batch.summary {
            let old = self.summary.take();
            let (title, details) = old.map_or((None, None), |old| (old.title, old.details));
            let mut new = new.clone();
            new.title = new.title.or(title);
            new.details = new.details.or(details);
            self.summary = Some(new);
        }
    }
}

impl Chunk {
    fn add(&mut self, seq: u64, event: &[u8]) {
        if self.body.is_empty() {
            self.first_seq = seq;
        }
        chunk::push(&mut self.body, event);
    }
}

fn write(connection: &Connection, open: &mut Open) -> rusqlite::Result<()> {
    if open.pending.body.is_empty() && open.summary.is_none() {
        return Ok(());
    }
    let pending = std::mem::take(&mut open.pending);
    insert(connection, open.no, open.last_seq, &pending)?;
    let summary = open.summary.take();
    connection
        .prepare_cached(
            "UPDATE runs SET last_seq = :last, bytes = bytes + :bytes, status = coalesce(:status, status),
             title = coalesce(:title, title), details = coalesce(:details, details), updated_at = max(created_at, :updated)
             WHERE no = :no",
        )?
        .execute(named_params! {
            ":no": open.no,
            ":last": signed(open.last_seq),
            ":bytes": i64::try_from(pending.body.len()).unwrap_or(i64::MAX),
            ":status": summary.as_ref().map(|summary| summary.status.as_str()),
            ":title": summary.as_ref().and_then(|summary| summary.title.as_deref()),
            ":details": summary.as_ref().and_then(|summary| summary.details.as_deref()),
            ":updated": summary.as_ref().map_or_else(now, |summary| summary.updated_at),
        })?;
    Ok(())
}

fn insert(connection: &Connection, no: i64, last_seq: u64, chunk: &Chunk) -> rusqlite::Result<()> {
    if chunk.body.is_empty() {
        return Ok(());
    }
    connection
        .prepare_cached("INSERT INTO chunks (key, last_seq, body) VALUES (?1, ?2, ?3)")?
        .execute((chunk::key(no, chunk.first_seq), signed(last_seq), &chunk.body))
        .map(drop)
}

/// The row of a run and its first events.
pub fn create(connection: &Connection, place: &Place, new: &NewRun) -> Result<(), StoreError> {
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    if !is_run_id(&new.id) {
        return Err(StoreError::InvalidId { id: new.id.chars().take(200).collect() });
    }
    let inserted = connection
        .prepare_cached(
            "INSERT INTO runs (id, status, skill, title, created_at, updated_at, parent)
             VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6) ON CONFLICT (id) DO NOTHING",
        )
        .and_then(|mut statement| {
            statement.execute((
                &new.id,
                new.status.as_str(),
                &new.skill,
                &new.title,
                new.created_at,
                &new.parent,
            ))
        })
        .map_err(sql)?;
    let no = connection.last_insert_rowid();
    if inserted == 0 {
        return Err(StoreError::RunExists { id: new.id.clone() });
    }
    if no > chunk::MAX_RUN {
        let detail = "the store has no more numbers for runs".to_owned();
        return Err(StoreError::Io { path: place.database.clone(), detail });
    }
    let (mut chunk, mut bytes, mut last_seq) = (Chunk::default(), 0, 0);
    for event in &new.events {
        if chunk.body.len() > chunk::FULL_AT {
            insert(connection, no, last_seq, &std::mem::take(&mut chunk)).map_err(sql)?;
        }
        last_seq += 1;
        let before = chunk.body.len();
        chunk.add(last_seq, event);
        bytes += chunk.body.len() - before;
    }
    insert(connection, no, last_seq, &chunk).map_err(sql)?;
    connection
        .prepare_cached("UPDATE runs SET last_seq = ?2, bytes = ?3 WHERE no = ?1")
        .and_then(|mut statement| {
            statement.execute((no, signed(last_seq), i64::try_from(bytes).unwrap_or(i64::MAX)))
        })
        .map_err(sql)?;
    Ok(())
}

fn ends_the_transaction(error: &StoreError) -> bool {
    use StoreError as E;
    matches!(
        error,
        E::DiskFull { .. } | E::Io { .. } | E::Damaged { .. } | E::Busy { .. } | E::ReadOnly { .. }
    )
}
