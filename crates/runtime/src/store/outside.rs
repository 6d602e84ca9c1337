//! Runs of agents outside: their rows, and one lean way to the database for a process that lives a millisecond.
//!
//! What the rows mean and what becomes of them is decided in `fugato_engine::outside`. Everything here happens inside a write
//! transaction of the caller, so a log has one order whoever appends.

use super::lease::{LEASE_COLUMNS, LeaseRow, signed, unsigned};
use super::place::Place;
use super::row::{NewRun, RunStatus};
use super::{Owner, Store, StoreError, chunk, group, leaves, schema};
use fugato_engine::outside::{AgentRow, Changed, Look, RunRow};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, TransactionBehavior};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

/// A run of agents outside, as it stands in the store.
#[derive(Clone, Debug)]
pub struct Found {
    pub no: i64,
    pub id: String,
    pub run: RunRow,
    pub created_at: i64,
    pub control: Known,
    pub lease: Option<LeaseRow>,
    /// Its leaves, once this transaction has closed them.
    pub closed: Option<leaves::Closed>,
}

/// What may stand in `control.json` without being news.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Known {
    /// What was last read or written there.
    last: String,
    /// What was written there lately: a process that was slow, or a disk that was full, may have left an old one.
    ours: Vec<String>,
}

impl Known {
    const MOST: usize = 8;

    pub fn has(&self, text: &[u8]) -> bool {
        self.last.as_bytes() == text || self.ours.iter().any(|ours| ours.as_bytes() == text)
    }

    pub fn last(&self) -> &str {
        &self.last
    }

    pub fn read(&mut self, text: String) {
        self.last = text;
    }

    pub fn wrote(&mut self, text: String) {
        self.ours.push(text.clone());
        let surplus = self.ours.len().saturating_sub(Self::MOST);
        self.ours.drain(..surplus);
        self.last = text;
    }
}

/// What the files of an agent need beside its row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    pub progress: String,
    pub heartbeat: i64,
    /// Bytes of its inbox and outbox files that are known.
    pub inbox: u64,
    pub outbox: u64,
}

/// What changes about it; `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewAside {
    pub progress: Option<String>,
    pub heartbeat: Option<i64>,
    pub inbox: Option<u64>,
    pub outbox: Option<u64>,
}

const COLUMNS: &str = "no, id, status, last_seq, updated_at, outside, created_at, outside_control";
const COLUMN_COUNT: usize = 8;

fn read_found(row: &Row<'_>) -> rusqlite::Result<Found> {
    let id: String = row.get(1)?;
    let body = row.get_ref(5)?.as_str_or_null()?.unwrap_or("{}");
    let mut run: RunRow = serde_json::from_str(body).map_err(|error| unreadable(5, error))?;
    (run.seq, run.at) = (unsigned(row.get(3)?), row.get(4)?);
    Ok(Found {
        no: row.get(0)?,
        run,
        created_at: row.get(6)?,
        control: row
            .get_ref(7)?
            .as_str_or_null()?
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default(),
        lease: LeaseRow::read(row, &id, COLUMN_COUNT)?,
        closed: None,
        id,
    })
}

fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

/// The newest run in which somebody with this key is an agent.
pub fn find_by_key(connection: &Connection, key: &str) -> rusqlite::Result<Option<Found>> {
    let query = format!(
        "SELECT {COLUMNS}, {LEASE_COLUMNS} FROM runs WHERE no =
         (SELECT run FROM outside_agents WHERE key = ?1 ORDER BY run DESC LIMIT 1)"
    );
    connection.prepare_cached(&query)?.query_row([key], read_found).optional()
}

pub fn find(connection: &Connection, id: &str) -> rusqlite::Result<Option<Found>> {
    let query = format!("SELECT {COLUMNS}, {LEASE_COLUMNS} FROM runs WHERE id = ?1 AND outside IS NOT NULL");
    connection.prepare_cached(&query)?.query_row([id], read_found).optional()
}

/// The newest run of agents outside that has not ended.
pub fn find_open(connection: &Connection) -> rusqlite::Result<Option<Found>> {
    let query = format!(
        "SELECT {COLUMNS}, {LEASE_COLUMNS} FROM runs WHERE outside IS NOT NULL AND status IN ('running', 'paused')
         ORDER BY no DESC LIMIT 1"
    );
    connection.prepare_cached(&query)?.query_row([], read_found).optional()
}

/// The rows of one run, for a decision.
#[derive(Debug)]
pub struct Rows<'c> {
    connection: &'c Connection,
    no: i64,
    failed: RefCell<Option<rusqlite::Error>>,
}

impl<'c> Rows<'c> {
    pub fn new(connection: &'c Connection, no: i64) -> Self {
        Self { connection, no, failed: RefCell::default() }
    }

    /// Something could not be read: the decision is worth nothing.
    pub fn failure(&self) -> Option<rusqlite::Error> {
        self.failed.borrow_mut().take()
    }

    fn ask<T: Default>(&self, result: rusqlite::Result<T>) -> T {
        result.unwrap_or_else(|error| {
            self.failed.borrow_mut().get_or_insert(error);
            T::default()
        })
    }

    fn number(&self, query: &str, text: &str) -> Option<u32> {
        let ask =
            || self.connection.prepare_cached(query)?.query_row((self.no, text), |row| row.get(0)).optional();
        self.ask(ask())
    }

    pub fn all(&self) -> rusqlite::Result<Vec<(u32, AgentRow)>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT agent, body FROM outside_agents WHERE run = ?1 ORDER BY agent")?;
        let rows = statement.query_map([self.no], |row| Ok((row.get(0)?, read_agent(row, 1)?)))?;
        rows.collect()
    }

    /// Every file of the run, and who wrote it last.
    pub fn files(&self) -> rusqlite::Result<BTreeMap<String, u32>> {
        let mut statement =
            self.connection.prepare_cached("SELECT file, agent FROM outside_files WHERE run = ?1")?;
        statement.query_map([self.no], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    pub fn aside(&self, agent: u32) -> rusqlite::Result<Aside> {
        let read = |row: &Row<'_>| {
            Ok(Aside {
                progress: row.get(0)?,
                heartbeat: row.get(1)?,
                inbox: unsigned(row.get(2)?),
                outbox: unsigned(row.get(3)?),
            })
        };
        let found = self
            .connection
            .prepare_cached(
                "SELECT progress, heartbeat, inbox, outbox FROM outside_agents WHERE run = ?1 AND agent = ?2",
            )?
            .query_row((self.no, agent), read)
            .optional()?;
        Ok(found.unwrap_or_default())
    }
}

fn read_agent(row: &Row<'_>, column: usize) -> rusqlite::Result<AgentRow> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error))
}

impl Look for Rows<'_> {
    fn agent(&self, number: u32) -> Option<AgentRow> {
        let ask = || {
            self.connection
                .prepare_cached("SELECT body FROM outside_agents WHERE run = ?1 AND agent = ?2")?
                .query_row((self.no, number), |row| read_agent(row, 0))
                .optional()
        };
        self.ask(ask())
    }

    fn by_path(&self, path: &str) -> Option<u32> {
        self.number("SELECT agent FROM outside_agents WHERE run = ?1 AND path = ?2", path)
    }

    fn by_key(&self, key: &str) -> Option<u32> {
        self.number("SELECT agent FROM outside_agents WHERE run = ?1 AND key = ?2", key)
    }

    fn live(&self) -> Vec<u32> {
        let ask = || -> rusqlite::Result<Vec<u32>> {
            let mut statement = self
                .connection
                .prepare_cached("SELECT agent FROM outside_agents WHERE run = ?1 AND live ORDER BY agent")?;
            let rows = statement.query_map([self.no], |row| row.get(0))?;
            rows.collect()
        };
        self.ask(ask())
    }

    fn writer_of(&self, file: &str) -> Option<u32> {
        self.number("SELECT agent FROM outside_files WHERE run = ?1 AND file = ?2", file)
    }

    fn paths(&self) -> Vec<String> {
        let ask = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self
                .connection
                .prepare_cached("SELECT path FROM outside_agents WHERE run = ?1 ORDER BY agent")?;
            let rows = statement.query_map([self.no], |row| row.get(0))?;
            rows.collect()
        };
        self.ask(ask())
    }
}

/// What one decision led to.
#[derive(Debug)]
pub struct Step<'s> {
    pub run: &'s RunRow,
    pub agents: &'s BTreeMap<u32, AgentRow>,
    pub changed: &'s Changed,
    pub asides: &'s BTreeMap<u32, NewAside>,
    /// When that has changed.
    pub control: Option<&'s Known>,
    /// Each one JSON document, numbered on from the log's end.
    pub events: &'s [Vec<u8>],
}

/// Appends the events and writes the rows.
pub fn write(connection: &Connection, found: &Found, step: &Step<'_>) -> rusqlite::Result<()> {
    if let Some(control) = step.control {
        connection
            .prepare_cached("UPDATE runs SET outside_control = ?2 WHERE no = ?1")?
            .execute((found.no, serde_json::to_string(control).unwrap_or_default()))?;
    }
    if step.events.is_empty() {
        for (number, aside) in step.asides {
            write_aside(connection, found.no, *number, aside)?;
        }
        return Ok(());
    }
    let mut body = Vec::new();
    step.events.iter().for_each(|event| chunk::push(&mut body, event));
    let first = found.run.seq + 1;
    connection.prepare_cached("INSERT INTO chunks (key, last_seq, body) VALUES (?1, ?2, ?3)")?.execute((
        chunk::key(found.no, first),
        signed(step.run.seq),
        &body,
    ))?;
    let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
    if step.changed.run || step.changed.shown {
        let status = status_of(step.run);
        // What has ended is nobody's.
        connection
            .prepare_cached(
                "UPDATE runs SET last_seq = ?2, bytes = bytes + ?3, updated_at = ?4, outside = ?5, status = ?6,
                 owner_pid = CASE WHEN ?7 THEN NULL ELSE owner_pid END WHERE no = ?1",
            )?
            .execute((
                found.no,
                signed(step.run.seq),
                bytes,
                step.run.at,
                serde_json::to_string(step.run).unwrap_or_default(),
                status.as_str(),
                status.is_final(),
            ))?;
    } else {
        connection
            .prepare_cached(
                "UPDATE runs SET last_seq = ?2, bytes = bytes + ?3, updated_at = ?4 WHERE no = ?1",
            )?
            .execute((found.no, signed(step.run.seq), bytes, step.run.at))?;
    }
    for (number, row) in step.agents {
        write_agent(connection, found.no, *number, row)?;
    }
    for (number, aside) in step.asides {
        write_aside(connection, found.no, *number, aside)?;
    }
    for (file, agent) in &step.changed.files {
        connection
            .prepare_cached(
                "INSERT INTO outside_files (run, file, agent) VALUES (?1, ?2, ?3)
                 ON CONFLICT (run, file) DO UPDATE SET agent = excluded.agent",
            )?
            .execute((found.no, file, agent))?;
    }
    Ok(())
}

fn write_agent(connection: &Connection, no: i64, number: u32, row: &AgentRow) -> rusqlite::Result<()> {
    let body = serde_json::to_string(row).unwrap_or_default();
    let changed = connection
        .prepare_cached("UPDATE outside_agents SET body = ?3, live = ?4 WHERE run = ?1 AND agent = ?2")?
        .execute((no, number, &body, row.is_live()))?;
    if changed == 0 {
        connection
            .prepare_cached(
                "INSERT INTO outside_agents (run, agent, path, key, live, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute((no, number, &row.path, row.key(), row.is_live(), &body))?;
    }
    Ok(())
}

fn write_aside(connection: &Connection, no: i64, number: u32, aside: &NewAside) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE outside_agents SET progress = coalesce(?3, progress), heartbeat = coalesce(?4, heartbeat),
             inbox = coalesce(?5, inbox), outbox = coalesce(?6, outbox) WHERE run = ?1 AND agent = ?2",
        )?
        .execute((
            no,
            number,
            &aside.progress,
            aside.heartbeat,
            aside.inbox.map(signed),
            aside.outbox.map(signed),
        ))
        .map(drop)
}

fn status_of(run: &RunRow) -> RunStatus {
    use fugato_engine::Outcome;
    match run.ended {
        Some(Outcome::Complete) => RunStatus::Complete,
        Some(Outcome::Failed) => RunStatus::Failed,
        Some(Outcome::Aborted | Outcome::BudgetExhausted) => RunStatus::Aborted,
        None if run.held || run.paused > 0 => RunStatus::Paused,
        None => RunStatus::Running,
    }
}

/// A new run with its first event; it becomes the active one (`true`) unless another is at work.
pub fn create(connection: &Connection, place: &Place, new: &NewRun) -> Result<(Found, bool), StoreError> {
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    group::create(connection, place, new)?;
    connection.execute("UPDATE runs SET outside = '{}' WHERE id = ?1", [&new.id]).map_err(sql)?;
    let active = format!(
        "SELECT status, {LEASE_COLUMNS} FROM runs WHERE id = (SELECT run FROM pointers WHERE name = 'active')"
    );
    let is_taken = connection
        .query_row(&active, [], |row| {
            let is_over = RunStatus::from(row.get_ref(0)?.as_str()?).is_final();
            Ok(!is_over && LeaseRow::read(row, "", 1)?.is_some_and(|lease| lease.is_alive()))
        })
        .optional()
        .map_err(sql)?;
    let is_active = is_taken != Some(true);
    if is_active {
        super::point(connection, place, Some(&new.id))?;
    }
    let found = find(connection, &new.id).map_err(sql)?.ok_or(StoreError::Closed)?;
    Ok((found, is_active))
}

/// The run belongs to whom this process does; nobody else is asked, and an earlier holder is gone or has let go.
pub fn hand_over(connection: &Connection, found: &Found, owner: &Owner) -> rusqlite::Result<LeaseRow> {
    let lease = LeaseRow::new(&found.id, found.lease.as_ref().map_or(1, |held| held.epoch + 1), owner);
    connection
        .prepare_cached(
            "UPDATE runs SET epoch = epoch + 1, owner_pid = ?2, owner_started = ?3, owner_boot = ?4, owner_namespace = ?5,
             owner_host = ?6, acquired_at = ?7, renewed_at = ?7 WHERE no = ?1",
        )?
        .execute((
            found.no,
            owner.pid,
            signed(owner.started),
            &owner.boot,
            &owner.namespace,
            &owner.host,
            lease.acquired_at,
        ))
        .map(|_| lease)
}

/// The database, opened for one short transaction.
#[derive(Debug)]
pub struct Lean {
    pub connection: Connection,
    pub place: Place,
    /// Keeps whoever changes the tables away.
    _turn: Option<File>,
}

/// Pages in the log beside the database after which they are brought home. Whoever opens the database alone reads that log
/// from its beginning, so it is kept short: 128 pages are half a megabyte, a third of a millisecond.
const HOME_AFTER: i64 = 128;

/// A call that finds no way in for this long puts what it has aside: an agent waits for the answer.
const PATIENCE: Duration = Duration::from_millis(80);

impl Lean {
    /// `None`: there is no store, or one without these tables: nobody is in it.
    pub fn open(state: &Path) -> Result<Option<Self>, StoreError> {
        let place = Place::new(state);
        let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
        let turn = match File::open(&place.lock) {
            Ok(turn) => turn,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(&place.lock, &error)),
        };
        wait_turn(&turn).map_err(|()| StoreError::Busy { path: place.database.clone() })?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = match Connection::open_with_flags(&place.database, flags) {
            Ok(connection) => connection,
            Err(_) if !place.database.exists() => return Ok(None),
            Err(error) => return Err(sql(error)),
        };
        connection.busy_handler(Some(wait_a_little)).map_err(sql)?;
        let (version, application) = schema::identity(&connection).map_err(sql)?;
        schema::refuse_foreign(&place, version, application, schema::current())?;
        if version < schema::current() {
            return Ok(None);
        }
        set_up(&connection).map_err(sql)?;
        Ok(Some(Self { connection, place, _turn: Some(turn) }))
    }

    /// The same, and there is a store afterwards.
    pub fn make(state: &Path) -> Result<Self, StoreError> {
        let place = Place::new(state);
        let turn = place.prepare()?;
        let mut connection = schema::open_to_write(&place, &turn, schema::MIGRATIONS)?;
        let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
        connection.busy_handler(Some(wait_a_little)).map_err(sql)?;
        set_up(&connection).map_err(sql)?;
        Ok(Self { connection, place, _turn: Some(turn) })
    }

    /// One write transaction; what fails leaves nothing.
    pub fn transact<T>(
        &mut self,
        change: impl FnOnce(&Connection, &Place) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let place = self.place.clone();
        let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let value = change(&transaction, &place)?;
        transaction.commit().map_err(sql)?;
        Ok(value)
    }
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    // Whoever closes last would bring the whole log home and wait for the disk.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // What was observed survives the death of this process; the last of it may be lost with the power.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", HOME_AFTER)
}

fn wait_turn(turn: &File) -> Result<(), ()> {
    let until = Instant::now() + PATIENCE;
    while turn.try_lock_shared().is_err() {
        if Instant::now() > until {
            return Err(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Transactions here take a fraction of a millisecond; the library's own waiting begins with a whole one and grows.
fn wait_a_little(tries: i32) -> bool {
    const PAUSE: Duration = Duration::from_micros(200);
    std::thread::sleep(PAUSE);
    PAUSE * u32::try_from(tries).unwrap_or(0) < PATIENCE
}

impl Store {
    /// A decision about a run of agents outside, in the store's own transaction.
    pub(crate) fn change_outside<T: Send + 'static>(
        &self,
        change: impl FnMut(&Connection, &Place) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.change(change).wait()
    }
}
