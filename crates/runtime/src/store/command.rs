//! What other processes want of a run: written by anybody, answered by the run's owner with the events it led to.
//!
//! The number of a command is its place in one total order. A command outlives both processes: an owner that takes over
//! finds what was not answered.

use super::lease::now;
use super::row::Batch;
use super::{Reader, Store, StoreError};
use rusqlite::{Connection, OptionalExtension as _};

/// A command nobody has answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub id: i64,
    /// What is wanted, as one JSON document.
    pub body: String,
}

impl Store {
    /// Records a command. Durable when this returns its number.
    pub fn command(&self, run: &str, body: &str) -> Result<i64, StoreError> {
        let body = match self.redactor() {
            Some(redactor) => String::from_utf8_lossy(&redactor.clean(body.as_bytes())).into_owned(),
            None => body.to_owned(),
        };
        let run = run.to_owned();
        let insert = move |connection: &Connection, place: &super::Place| {
            let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
            let known = connection
                .query_row("SELECT 1 FROM runs WHERE id = ?1", [&run], |_| Ok(()))
                .optional()
                .map_err(sql)?;
            known.ok_or_else(|| StoreError::UnknownRun { id: run.clone() })?;
            connection
                .execute(
                    "INSERT INTO commands (run, body, issued_at) VALUES (?1, ?2, ?3)",
                    (&run, &body, now()),
                )
                .map_err(sql)?;
            Ok(connection.last_insert_rowid())
        };
        self.change(insert).wait()
    }
}

impl Store {
    /// Records what was found in files of other programs, all of it or nothing. What asks for nothing is only remembered.
    pub(crate) fn import(&self, run: &str, found: Vec<Imported>) -> Result<(), StoreError> {
        let run = run.to_owned();
        let clean = |text: String| match self.redactor() {
            Some(redactor) => String::from_utf8_lossy(&redactor.clean(text.as_bytes())).into_owned(),
            None => text,
        };
        let found: Vec<Imported> =
            found.into_iter().map(|one| Imported { body: clean(one.body), ..one }).collect();
        let insert = move |connection: &Connection, place: &super::Place| {
            let mut statement = connection
                .prepare_cached("INSERT INTO commands (run, body, issued_at, answer) VALUES (?1, ?2, ?3, ?4)")
                .map_err(|error| StoreError::sql(&place.database, &error))?;
            for one in &found {
                let answer = one.is_only_remembered.then_some("{}");
                statement
                    .execute((&run, &one.body, now(), answer))
                    .map_err(|error| StoreError::sql(&place.database, &error))?;
            }
            Ok(())
        };
        self.change(insert).wait()
    }
}

/// A command that another program left in a file: a JSON document with an `origin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Imported {
    pub body: String,
    pub is_only_remembered: bool,
}

impl Reader {
    /// Where everything stood that was ever imported into a run, each one JSON document.
    pub(crate) fn imported(&self, run: &str) -> Result<Vec<String>, StoreError> {
        let collect = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT json_extract(body, '$.origin') FROM commands
                 WHERE run = ?1 AND body LIKE '%\"origin\":%' AND json_extract(body, '$.origin') IS NOT NULL",
            )?;
            statement.query_map([run], |row| row.get(0))?.collect()
        };
        collect().map_err(|error| self.sql(&error))
    }

    /// Commands of a run that wait for an answer, in order, after the one with this number.
    pub fn commands(&self, run: &str, after: i64) -> Result<Vec<Waiting>, StoreError> {
        let collect = || -> rusqlite::Result<Vec<Waiting>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT id, body FROM commands WHERE run = ?1 AND id > ?2 AND answer IS NULL ORDER BY id",
            )?;
            let rows = statement
                .query_map((run, after), |row| Ok(Waiting { id: row.get(0)?, body: row.get(1)? }))?;
            rows.collect()
        };
        collect().map_err(|error| self.sql(&error))
    }

    /// The owner's answer, once there is one.
    pub fn command_answer(&self, id: i64) -> Result<Option<String>, StoreError> {
        let look = || {
            self.connection
                .prepare_cached("SELECT answer FROM commands WHERE id = ?1")?
                .query_row([id], |row| row.get::<_, Option<String>>(0))
                .optional()
        };
        look().map(Option::flatten).map_err(|error| self.sql(&error))
    }

    /// Changes whenever another connection wrote: a cheap look before a query.
    pub fn stamp(&self) -> Result<i64, StoreError> {
        self.connection
            .query_row("PRAGMA data_version", [], |row| row.get(0))
            .map_err(|error| self.sql(&error))
    }

    /// Changes whenever an agent outside did something, also when that is not in the database yet.
    pub fn stamp_outside(&self) -> u64 {
        super::leaves::stamp(self.dir())
    }
}

/// Inside the transaction of the events.
pub(super) fn answer(connection: &Connection, batch: &Batch) -> rusqlite::Result<()> {
    for (id, text) in &batch.answers {
        connection
            .prepare_cached("UPDATE commands SET answer = ?2 WHERE id = ?1 AND answer IS NULL")?
            .execute((id, text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{batch, new_run};
    use super::*;
    use crate::store::Owner;

    #[test]
    fn a_command_is_answered_once_with_the_events_it_led_to() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        store.create_run(new_run("run_a")).unwrap();
        assert!(matches!(store.command("run_b", "{}"), Err(StoreError::UnknownRun { .. })));
        let (one, two) = (store.command("run_a", "1").unwrap(), store.command("run_a", "2").unwrap());
        assert!(one < two);
        let reader = store.reader().unwrap();
        let waiting: Vec<_> = reader.commands("run_a", 0).unwrap().into_iter().map(|c| c.body).collect();
        assert_eq!(waiting, ["1", "2"]);
        let lease = store.acquire("run_a", &Owner::this_process()).unwrap();
        let answers = vec![(one, "ok".to_owned())];
        store.append(Batch { answers, ..batch("run_a", lease.epoch, 2, 1) }).wait().unwrap();
        // A batch that is refused answers nothing.
        let late = Batch { answers: vec![(two, "no".to_owned())], ..batch("run_a", lease.epoch + 1, 3, 1) };
        assert!(store.append(late).wait().is_err());
        assert_eq!(reader.command_answer(one).unwrap().as_deref(), Some("ok"));
        assert_eq!(reader.command_answer(two).unwrap(), None);
        assert_eq!(reader.commands("run_a", one).unwrap().len(), 1);
    }
}
