//! The one thread that writes. It takes everything that waits, commits it in one transaction, and only then answers.
//!
//! What the disk refused is told to everybody who was in the transaction. After an I/O error the connection is not
//! trusted any more: nothing is acknowledged until the database was opened again and verified.

use super::faults::{Faults, Step};
use super::group::Group;
use super::queue::{Job, Queue, Urgency};
use super::reserve::Reserve;
use super::{StoreError, place::Place, schema};
use rusqlite::Connection;
use std::fs::File;
use std::sync::Arc;

pub struct Writer {
    pub place: Place,
    /// The lock file, shared for as long as this store may write.
    pub turn: File,
    pub connection: Option<Connection>,
    /// Device and number of the database file.
    pub file: (u64, u64),
    pub reserve: Reserve,
    pub faults: Faults,
    pub queue: Arc<Queue>,
}

type Results = Vec<Result<(), StoreError>>;

impl Writer {
    pub fn run(mut self) {
        // Also when this thread panics: nobody may wait for an answer that cannot come.
        let _closing = Closing(self.queue.clone());
        while let Some(jobs) = self.queue.take() {
            self.commit(jobs);
        }
    }

    fn commit(&mut self, jobs: Vec<Job>) {
        let mut jobs = self.refuse_what_has_no_space(jobs);
        if jobs.is_empty() {
            return;
        }
        let mut outcome = self.attempt(&mut jobs);
        if matches!(outcome, Err(StoreError::DiskFull { .. })) && !self.reserve.is_spent() {
            let (last, ordinary): (Vec<_>, Vec<_>) =
                jobs.into_iter().partition(|job| job.urgency == Urgency::Final);
            let full = StoreError::DiskFull { path: self.place.database.clone() };
            ordinary.into_iter().for_each(|job| job.answer(Err(full.clone())));
            jobs = last;
            if !jobs.is_empty() && self.reserve.spend().is_ok() {
                outcome = self.attempt(&mut jobs);
            }
        }
        match outcome {
            Ok(results) => jobs.into_iter().zip(results).for_each(|(job, result)| job.answer(result)),
            Err(error) => jobs.into_iter().for_each(|job| job.answer(Err(error.clone()))),
        }
    }

    /// Once the reserve was spent, what is left of it is for final states; being able to make it again is the sign that
    /// ordinary work has space.
    fn refuse_what_has_no_space(&mut self, jobs: Vec<Job>) -> Vec<Job> {
        if !self.reserve.is_spent() || jobs.iter().all(|job| job.urgency == Urgency::Final) {
            return jobs;
        }
        let Err(refused) = self.reserve.refill(&self.faults) else { return jobs };
        let (last, ordinary): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|job| job.urgency == Urgency::Final);
        // Usually that it is full; a disk that is broken says so.
        let full = StoreError::io(&self.place.database, &refused);
        ordinary.into_iter().for_each(|job| job.answer(Err(full.clone())));
        last
    }

    fn attempt(&mut self, jobs: &mut [Job]) -> Result<Results, StoreError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.reopen()?,
        };
        let outcome = self.transact(&connection, jobs);
        if let Err(StoreError::Io { .. } | StoreError::Damaged { .. }) = outcome {
            return outcome; // and the connection is dropped
        }
        self.connection = Some(connection);
        outcome
    }

    fn transact(&self, connection: &Connection, jobs: &mut [Job]) -> Result<Results, StoreError> {
        let sql = |error: rusqlite::Error| StoreError::sql(&self.place.database, &error);
        let step =
            |step| self.faults.check(step).map_err(|error| StoreError::io(&self.place.database, &error));
        let execute = |statement| connection.prepare_cached(statement)?.execute([]);
        execute("BEGIN IMMEDIATE").map_err(sql)?;
        let outcome = Group::new(connection, &self.place).apply_all(jobs).and_then(|results| {
            self.still_there()?;
            step(Step::Commit)?;
            execute("COMMIT").map_err(sql)?;
            step(Step::CommitSync)?;
            Ok(results)
        });
        if outcome.is_err() && !connection.is_autocommit() {
            // Fails only when SQLite has rolled back already, or the connection is useless and will be dropped.
            let _ = connection.execute_batch("ROLLBACK");
        }
        outcome
    }

    /// A file that was deleted or replaced while open goes on taking writes that nobody will ever see.
    fn still_there(&self) -> Result<(), StoreError> {
        if self.place.identity() == Some(self.file) {
            return Ok(());
        }
        let detail = "the file was deleted or replaced while it was open".to_owned();
        Err(StoreError::Damaged { path: self.place.database.clone(), detail })
    }

    /// A new connection on a database that was proved sound.
    fn reopen(&self) -> Result<Connection, StoreError> {
        let sql = |error: rusqlite::Error| StoreError::sql(&self.place.database, &error);
        self.faults.check(Step::Reopen).map_err(|error| StoreError::io(&self.place.database, &error))?;
        let connection = schema::open_to_write(&self.place, &self.turn, schema::MIGRATIONS)?;
        // Brings everything committed to the database file and syncs it, so that a disk that still fails says so now.
        connection.query_row("PRAGMA wal_checkpoint(FULL)", [], |_| Ok(())).map_err(sql)?;
        verify(&connection, &self.place)?;
        Ok(connection)
    }
}

/// Is the database sound, and does every run end where its row says?
pub fn verify(connection: &Connection, place: &Place) -> Result<(), StoreError> {
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    let damaged = |detail: String| StoreError::Damaged { path: place.database.clone(), detail };
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(sql)?;
    if found != "ok" {
        return Err(damaged(found));
    }
    let mut statement = connection
        .prepare(
            "SELECT id FROM runs WHERE last_seq <> coalesce((SELECT c.last_seq FROM chunks c
             WHERE c.key > (no << 40) AND c.key < ((no + 1) << 40) ORDER BY c.key DESC LIMIT 1), 0) LIMIT 1",
        )
        .map_err(sql)?;
    let torn: Vec<String> =
        statement.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(sql)?;
    match torn.first() {
        Some(run) => Err(damaged(format!("the log of run `{run}` does not end where it should"))),
        None => Ok(()),
    }
}

struct Closing(Arc<Queue>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
        drop(self.0.take());
    }
}
