//! Looking at a store: never recovers, migrates or writes, and works while a writer is busy.

use super::events::Events;
use super::lease::{self, LEASE_COLUMNS, LeaseRow, unsigned};
use super::row::{RunFilter, RunRow, RunStatus};
use super::{StoreError, blobs, leaves, place::Place, schema};
use fugato_model::{Code, Digest, Exit, Words, escape_for_terminal, nearest, words};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, named_params};
use std::path::Path;
use std::time::Duration;

/// A read-only connection. Opens in well under a millisecond, so threads open their own.
#[derive(Debug)]
pub struct Reader {
    pub(super) connection: Connection,
    place: Place,
    /// When the directory cannot be written and the log was not folded: what is read is a copy.
    _copy: Option<tempfile::TempDir>,
}

/// Why a run was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lookup {
    #[error("there is no such run")]
    Unknown { nearest: Option<String> },
    /// At most [`Lookup::SHOWN`] of them, newest first.
    #[error("several runs start like this: {}", .0.join(", "))]
    Ambiguous(Vec<String>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Lookup {
    pub const SHOWN: usize = 10;

    pub fn code(&self) -> Code {
        match self {
            Self::Unknown { .. } => Code::F0707,
            Self::Ambiguous(_) => Code::F0708,
            Self::Store(error) => error.code(),
        }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Unknown { .. } => Exit::NotFound,
            Self::Ambiguous(_) => Exit::NotFound,
            Self::Store(error) => error.exit(),
        }
    }

    /// What happened to the id somebody typed.
    pub fn words(&self, typed: &str) -> Words {
        let typed = escape_for_terminal(typed);
        match self {
            Self::Unknown { .. } => words!("there is no run `{typed}`", "没有运行 `{typed}`"),
            Self::Ambiguous(ids) => {
                let ids = ids.join(", ");
                words!("several runs start with `{typed}`: {ids}", "有多个运行以 `{typed}` 开头：{ids}")
            }
            Self::Store(error) => error.words(),
        }
    }

    /// Something to type.
    pub fn hint(&self) -> Option<Words> {
        match self {
            Self::Unknown { nearest: Some(id) } => Some(words!("did you mean `{id}`?", "是否指 `{id}`？")),
            Self::Unknown { nearest: None } => {
                Some(words!("list them: `fugato runs`", "列出所有运行：`fugato runs`"))
            }
            Self::Ambiguous(_) => Some(words!("type more of the id", "请多写几个字符")),
            Self::Store(error) => error.hint(),
        }
    }
}

const RUN_COLUMNS: &str =
    "id, status, skill, title, created_at, updated_at, last_seq, bytes, parent, details, outside IS NOT NULL";
const RUN_COLUMN_COUNT: usize = 11;

impl Reader {
    /// `None`: there is no store yet.
    pub fn open(state_dir: &Path) -> Result<Option<Self>, StoreError> {
        let place = Place::new(state_dir);
        match std::fs::metadata(&place.database) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(&place.database, &error)),
            Ok(_) => {}
        }
        let (connection, copy) = connect(&place)?;
        let reader = Self { connection, place, _copy: copy };
        let (version, application) =
            schema::identity(&reader.connection).map_err(|error| reader.sql(&error))?;
        schema::refuse_foreign(&reader.place, version, application, schema::current())?;
        match version {
            0 => Ok(None),
            found if found < schema::current() => {
                let (path, supported) = (reader.place.database, schema::current());
                Err(StoreError::Older { path, found, supported })
            }
            _ => Ok(Some(reader)),
        }
    }

    /// Newest first, by the order in which they were made: clocks jump.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        let query = format!(
            "SELECT {RUN_COLUMNS}, {LEASE_COLUMNS} FROM runs
             WHERE (:status IS NULL OR status = :status) AND (:parent IS NULL OR parent = :parent)
             ORDER BY no DESC LIMIT :limit"
        );
        let rows = || -> rusqlite::Result<Vec<RunRow>> {
            let mut statement = self.connection.prepare_cached(&query)?;
            statement
                .query_map(
                    named_params! {
                        ":status": filter.status.as_ref().map(RunStatus::as_str),
                        ":parent": filter.parent,
                        ":limit": filter.limit.map_or(-1, i64::from),
                    },
                    |row| read_run(row).map(|run| self.with_leaves(run)),
                )?
                .collect()
        };
        rows().map_err(|error| self.sql(&error))
    }

    /// The run with this id, or the only one whose id starts like this; the prefix `run_` may be left out.
    pub fn run(&self, id: &str) -> Result<RunRow, Lookup> {
        if let Some(run) = self.exact(id)? {
            return Ok(run);
        }
        let mut found = if id.is_empty() { Vec::new() } else { self.starting_with(id)? };
        if found.is_empty() && !id.is_empty() {
            found = self.starting_with(&format!("run_{id}"))?;
        }
        match found.as_slice() {
            [] => Err(Lookup::Unknown { nearest: self.nearest(id)? }),
            [only] => self.exact(only)?.ok_or(Lookup::Unknown { nearest: None }),
            _ => Err(Lookup::Ambiguous(found)),
        }
    }

    pub(super) fn exact(&self, id: &str) -> Result<Option<RunRow>, StoreError> {
        let query = format!("SELECT {RUN_COLUMNS}, {LEASE_COLUMNS} FROM runs WHERE id = ?1");
        let row = || self.connection.prepare_cached(&query)?.query_row([id], read_run).optional();
        Ok(row().map_err(|error| self.sql(&error))?.map(|run| self.with_leaves(run)))
    }

    /// What agents outside did last may not be bound into the log yet; it counts all the same.
    fn with_leaves(&self, mut run: RunRow) -> RunRow {
        if run.is_outside
            && !run.status.is_final()
            && let Some(leaf) = leaves::read(&self.place.dir, &run.id).last()
        {
            (run.last_seq, run.updated_at) = (run.last_seq.max(leaf.seq), run.updated_at.max(leaf.at));
        }
        run
    }

    fn starting_with(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let ids = || -> rusqlite::Result<Vec<String>> {
            // Ids are ASCII, so everything that starts like this sorts before the prefix and a larger character.
            let mut statement = self.connection.prepare_cached(
                "SELECT id FROM runs WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) ORDER BY no DESC LIMIT ?2",
            )?;
            let limit = i64::try_from(Lookup::SHOWN).unwrap_or(i64::MAX);
            statement.query_map((prefix, limit), |row| row.get(0))?.collect()
        };
        ids().map_err(|error| self.sql(&error))
    }

    fn nearest(&self, id: &str) -> Result<Option<String>, StoreError> {
        let ids = || -> rusqlite::Result<Vec<String>> {
            let mut statement =
                self.connection.prepare_cached("SELECT id FROM runs ORDER BY no DESC LIMIT 200")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        let ids = ids().map_err(|error| self.sql(&error))?;
        Ok(nearest(id, ids.iter().map(String::as_str)).map(str::to_owned))
    }

    /// Events of a run from `from_seq` on, at most `limit`. Of a run that does not exist there are none.
    pub fn events(&self, run: &str, from_seq: u64, limit: u64) -> Result<Events<'_>, StoreError> {
        let number = || {
            self.connection
                .prepare_cached("SELECT no FROM runs WHERE id = ?1")?
                .query_row([run], |row| row.get(0))
                .optional()
        };
        // Before the first look at the rows: what is bound in between is found there.
        let leaves = leaves::read(&self.place.dir, run);
        let number = number().map_err(|error| self.sql(&error))?;
        Ok(Events::new(self, number, from_seq, limit, leaves))
    }

    /// 0: no events, or no such run.
    pub fn last_seq(&self, run: &str) -> Result<u64, StoreError> {
        let last = || {
            self.connection
                .prepare_cached("SELECT last_seq FROM runs WHERE id = ?1")?
                .query_row([run], |row| row.get(0))
                .optional()
        };
        let loose = leaves::read(&self.place.dir, run).last().map_or(0, |leaf| leaf.seq);
        Ok(last().map_err(|error| self.sql(&error))?.map_or(0, |last| unsigned(last).max(loose)))
    }

    pub(super) fn last_seq_of(&self, number: i64) -> Result<Option<u64>, StoreError> {
        let last = || {
            self.connection
                .prepare_cached("SELECT last_seq FROM runs WHERE no = ?1")?
                .query_row([number], |row| row.get(0))
                .optional()
        };
        Ok(last().map_err(|error| self.sql(&error))?.map(unsigned))
    }

    /// Which run commands mean when they name none.
    pub fn active(&self) -> Result<Option<RunRow>, StoreError> {
        let active = || {
            self.connection
                .prepare_cached("SELECT run FROM pointers WHERE name = 'active'")?
                .query_row([], |row| row.get::<_, String>(0))
                .optional()
        };
        match active().map_err(|error| self.sql(&error))? {
            Some(id) => self.exact(&id),
            None => Ok(None),
        }
    }

    /// Who holds the run, or held it and never let go.
    pub fn lease(&self, run: &str) -> Result<Option<LeaseRow>, StoreError> {
        let found = lease::find(&self.connection, run).map_err(|error| self.sql(&error))?;
        Ok(found.and_then(|(_, lease)| lease))
    }

    pub fn blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        blobs::read(&self.place.blobs, digest)
    }

    pub fn has_blob(&self, digest: &Digest) -> bool {
        blobs::exists(&self.place.blobs, digest)
    }

    /// Reads every page of the database: is it sound? Slow on large stores, for `doctor`.
    pub fn check(&self) -> Result<(), StoreError> {
        super::writer::verify(&self.connection, &self.place)
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn dir(&self) -> &Path {
        &self.place.dir
    }

    pub(super) fn sql(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sql(&self.place.database, error)
    }

    pub(super) fn damaged(&self, detail: String) -> StoreError {
        StoreError::Damaged { path: self.place.database.clone(), detail }
    }
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let id: String = row.get(0)?;
    Ok(RunRow {
        status: RunStatus::from(row.get_ref(1)?.as_str()?),
        skill: row.get(2)?,
        title: row.get(3)?,
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
        last_seq: unsigned(row.get(6)?),
        bytes: unsigned(row.get(7)?),
        parent: row.get(8)?,
        details: row.get(9)?,
        is_outside: row.get(10)?,
        epoch: unsigned(row.get(RUN_COLUMN_COUNT)?),
        lease: LeaseRow::read(row, &id, RUN_COLUMN_COUNT)?,
        id,
    })
}

/// Reading a database with a write-ahead log wants files beside it. In a directory that cannot be written they may be
/// missing; then nobody writes, and the file alone is the truth, or with a log left by a crash, a copy of both.
fn connect(place: &Place) -> Result<(Connection, Option<tempfile::TempDir>), StoreError> {
    let first = match open_and_touch(&place.database, OpenFlags::empty()) {
        Ok(connection) => return Ok((connection, None)),
        Err(error) => StoreError::sql(&place.database, &error),
    };
    if !matches!(first, StoreError::ReadOnly { .. }) {
        return Err(first);
    }
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    if !place.has_log() {
        let address = format!("file:{}?immutable=1", percent_encoded(&place.database));
        return Ok((open_and_touch(address.as_ref(), OpenFlags::SQLITE_OPEN_URI).map_err(sql)?, None));
    }
    let io = |error: std::io::Error| StoreError::io(&place.database, &error);
    let copy = tempfile::tempdir().map_err(io)?;
    let inside = Place::new(copy.path());
    let log = |place: &Place| place.dir.join("fugato.db-wal");
    std::fs::copy(&place.database, &inside.database).map_err(io)?;
    std::fs::copy(log(place), log(&inside)).map_err(io)?;
    Ok((open_and_touch(&inside.database, OpenFlags::empty()).map_err(sql)?, Some(copy)))
}

/// SQLite opens lazily: only a first query shows whether the file can be read.
fn open_and_touch(address: &Path, more: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(address, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn percent_encoded(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.') {
            encoded.push(char::from(*byte));
        } else {
            let _ = write!(encoded, "%{byte:02x}");
        }
    }
    encoded
}
