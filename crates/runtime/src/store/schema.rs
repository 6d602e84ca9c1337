//! The tables, how a connection is set up, and how an older store becomes a newer one.
//!
//! A change of the schema is one transaction, made alone (no other process has the store open for writing), after a
//! complete copy was put beside the database.

use super::{StoreError, place::Place};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::cell::Cell;
use std::fs::File;
use std::time::{Duration, Instant};

/// "Fuga", so that a foreign SQLite file is not taken for a store.
const APPLICATION_ID: i64 = 0x4675_6761;

/// Step `n` (from 1) leads from schema `n - 1` to schema `n`. Steps are never edited after a release.
pub const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE runs (
        no INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL,
        skill TEXT,
        title TEXT,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        last_seq INTEGER NOT NULL DEFAULT 0,
        bytes INTEGER NOT NULL DEFAULT 0,
        parent TEXT,
        details TEXT,
        epoch INTEGER NOT NULL DEFAULT 0,
        owner_pid INTEGER,
        owner_started INTEGER,
        owner_boot TEXT,
        owner_namespace TEXT,
        owner_host TEXT,
        acquired_at INTEGER,
        renewed_at INTEGER
    );
    CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL;
    CREATE TABLE chunks (
        key INTEGER PRIMARY KEY,
        last_seq INTEGER NOT NULL,
        body BLOB NOT NULL
    );
    CREATE TABLE pointers (
        name TEXT PRIMARY KEY,
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE
    ) WITHOUT ROWID;
",
    "
    CREATE TABLE commands (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        body TEXT NOT NULL,
        issued_at INTEGER NOT NULL,
        answer TEXT
    );
    CREATE INDEX commands_open ON commands (run, id) WHERE answer IS NULL;
",
    // Runs of agents outside: `outside` holds the row of the run; who is in it is found by the host's names or by id.
    "
    ALTER TABLE runs ADD COLUMN outside TEXT;
    ALTER TABLE runs ADD COLUMN outside_control TEXT;
    CREATE TABLE outside_agents (
        run INTEGER NOT NULL REFERENCES runs (no) ON DELETE CASCADE,
        agent INTEGER NOT NULL,
        path TEXT NOT NULL,
        key TEXT NOT NULL,
        live INTEGER NOT NULL,
        body TEXT NOT NULL,
        progress TEXT NOT NULL DEFAULT '',
        heartbeat INTEGER NOT NULL DEFAULT 0,
        inbox INTEGER NOT NULL DEFAULT 0,
        outbox INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (run, agent)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX outside_paths ON outside_agents (run, path);
    CREATE INDEX outside_keys ON outside_agents (key, run);
    CREATE TABLE outside_files (
        run INTEGER NOT NULL REFERENCES runs (no) ON DELETE CASCADE,
        file TEXT NOT NULL,
        agent INTEGER NOT NULL,
        PRIMARY KEY (run, file)
    ) WITHOUT ROWID;
",
    // Requests to orchestrators: each a run, found by the conversation it belongs to.
    "
    ALTER TABLE runs ADD COLUMN conversation TEXT;
    ALTER TABLE runs ADD COLUMN orchestrator TEXT;
    CREATE INDEX runs_by_conversation ON runs (conversation, orchestrator, no) WHERE conversation IS NOT NULL;
",
];

/// How long a writer waits for another process to finish its transaction.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn current() -> i64 {
    version_of(MIGRATIONS)
}

fn version_of(migrations: &[&str]) -> i64 {
    i64::try_from(migrations.len()).unwrap_or(i64::MAX)
}

/// The write connection, at the current schema. `turn` is the store's lock file: shared while the store is open,
/// exclusive while its tables are made or changed.
pub fn open_to_write(place: &Place, turn: &File, migrations: &[&str]) -> Result<Connection, StoreError> {
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    share(place, turn)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&place.database, flags).map_err(sql)?;
    connection.busy_handler(Some(wait_for_the_others)).map_err(sql)?;
    connection.set_prepared_statement_cache_capacity(64);
    let (version, application) = identity(&connection).map_err(sql)?;
    refuse_foreign(place, version, application, version_of(migrations))?;
    match version {
        0 => create(&mut connection, place, turn, migrations)?,
        old if old < version_of(migrations) => migrate(&mut connection, place, turn, migrations)?,
        _ => {}
    }
    set_up(&connection).map_err(sql)?;
    Ok(connection)
}

/// Asks again soon. The library's own waiting grows to a tenth of a second between two tries: among dozens of processes
/// that write at once, some never meet a moment in which nobody writes.
fn wait_for_the_others(tries: i32) -> bool {
    thread_local! {
        static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    if tries == 0 {
        SINCE.set(Some(Instant::now()));
    }
    let pause = if tries < 10 { Duration::from_millis(1) } else { Duration::from_millis(4) };
    std::thread::sleep(pause);
    SINCE.get().is_none_or(|since| since.elapsed() < PATIENCE)
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    for (pragma, value) in [
        ("synchronous", "FULL"),
        ("foreign_keys", "ON"),
        ("trusted_schema", "OFF"),
        ("cell_size_check", "ON"),
        // Fewer, larger checkpoints: each costs two syncs. 4096 pages are 16 MiB.
        ("wal_autocheckpoint", "4096"),
        ("journal_size_limit", "33554432"),
    ] {
        connection.pragma_update(None, pragma, value)?;
    }
    Ok(())
}

/// Waits its turn among the processes that have the store open; only one that changes tables keeps others out.
fn share(place: &Place, turn: &File) -> Result<(), StoreError> {
    let until = Instant::now() + PATIENCE;
    while turn.try_lock_shared().is_err() {
        if Instant::now() > until {
            return Err(StoreError::Busy { path: place.database.clone() });
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Version and application of the file behind a connection.
pub fn identity(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let application = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    Ok((version, application))
}

pub fn refuse_foreign(place: &Place, found: i64, application: i64, supported: i64) -> Result<(), StoreError> {
    let path = place.database.clone();
    // SQLite takes a file below its smallest page for an empty one, and would write over what somebody put there.
    if std::fs::metadata(&path).is_ok_and(|file| (1..512).contains(&file.len())) {
        return Err(StoreError::Damaged { path, detail: "too short for a database".to_owned() });
    }
    if application != APPLICATION_ID && (application != 0 || found != 0) {
        return Err(StoreError::Damaged { path, detail: format!("application id {application:#x}") });
    }
    if found > supported {
        return Err(StoreError::Newer { path, found, supported });
    }
    Ok(())
}

/// Makes the tables, unless another process is faster.
fn create(
    connection: &mut Connection,
    place: &Place,
    turn: &File,
    migrations: &[&str],
) -> Result<(), StoreError> {
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    let until = Instant::now() + PATIENCE;
    turn.unlock().map_err(|error| StoreError::io(&place.lock, &error))?;
    while turn.try_lock().is_err() {
        if identity(connection).map_err(sql)?.0 != 0 {
            return share(place, turn);
        }
        if Instant::now() > until {
            return Err(StoreError::Busy { path: place.database.clone() });
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    if identity(connection).map_err(sql)?.0 == 0 {
        // Possible only while the file is empty; pages of deleted runs can then be given back without rewriting the rest.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(sql)?;
        let mode: String =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(sql)?;
        if mode != "wal" {
            let detail = format!("journal mode is `{mode}`, expected `wal`");
            return Err(StoreError::Io { path: place.database.clone(), detail });
        }
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        apply(&transaction, migrations, 0).map_err(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
        transaction.commit().map_err(sql)?;
    }
    turn.unlock().map_err(|error| StoreError::io(&place.lock, &error))?;
    share(place, turn)
}

fn migrate(
    connection: &mut Connection,
    place: &Place,
    turn: &File,
    migrations: &[&str],
) -> Result<(), StoreError> {
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    let busy = || StoreError::Busy { path: place.database.clone() };
    let io = |error: std::io::Error| StoreError::io(&place.lock, &error);
    // An older program must not go on writing by its own idea of the tables.
    turn.unlock().map_err(io)?;
    turn.try_lock().map_err(|_| busy())?;
    let version = identity(connection).map_err(sql)?.0;
    if version < version_of(migrations) {
        back_up(connection, place, version)?;
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(sql)?;
        apply(&transaction, migrations, version).map_err(sql)?;
        transaction.commit().map_err(sql)?;
    }
    turn.unlock().map_err(io)?;
    share(place, turn)
}

fn apply(connection: &Connection, migrations: &[&str], from: i64) -> rusqlite::Result<()> {
    for step in migrations.iter().skip(usize::try_from(from).unwrap_or(0)) {
        connection.execute_batch(step)?;
    }
    connection.pragma_update(None, "user_version", version_of(migrations))
}

/// A complete, synced copy under a name that says its schema. A copy left by an earlier attempt is replaced.
fn back_up(connection: &Connection, place: &Place, version: i64) -> Result<(), StoreError> {
    let target = place.backup(version);
    let partial = target.with_extension("partial");
    let io = |error: std::io::Error| StoreError::io(&target, &error);
    match std::fs::remove_file(&partial) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
        _ => {}
    }
    let name = partial.to_string_lossy();
    connection
        .execute("VACUUM INTO ?1", [name.as_ref()])
        .map_err(|error| StoreError::sql(&target, &error))?;
    File::open(&partial).and_then(|file| file.sync_all()).map_err(io)?;
    std::fs::rename(&partial, &target).map_err(io)?;
    place.sync_dir().map_err(io)
}
