//! Who owns a run. One owner at a time; every write carries the epoch under which it was decided, and an old epoch is
//! refused, so a process that was thought dead can do no harm when it wakes up.

use super::creation::{Create, Creation};
use super::process::{self, Seen, this_machine};
use super::queue::{Hurry, Job, Urgency, Work};
use super::row::{Millis, NewRun};
use super::{Receipt, Store, StoreError, Turn};
use fugato_model::{Words, escape_for_terminal, words};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Only for owners this machine cannot look at (another host or container): without a sign for this long they are gone.
const SILENCE: Millis = 30_000;

/// One process, for ever: pids are reused, start times within one boot are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    pub started: u64,
    pub boot: String,
    pub namespace: String,
    pub host: String,
}

impl Owner {
    /// The process that asks.
    pub fn this_process() -> Self {
        let pid = std::process::id();
        let started = match process::look(pid) {
            Seen::Started(at) => at,
            Seen::Gone => 0,
        };
        let machine = this_machine().clone();
        Self { pid, started, boot: machine.boot, namespace: machine.namespace, host: machine.host }
    }

    /// Another process of this machine.
    pub(crate) fn of_process(pid: u32, started: u64) -> Self {
        let machine = this_machine().clone();
        Self { pid, started, boot: machine.boot, namespace: machine.namespace, host: machine.host }
    }

    pub(crate) fn lives_here(&self) -> bool {
        self.is_alive().unwrap_or(true)
    }

    /// `None`: it lives where we cannot look.
    fn is_alive(&self) -> Option<bool> {
        let machine = this_machine();
        if self.boot == machine.boot && self.namespace == machine.namespace {
            return Some(process::look(self.pid) == Seen::Started(self.started));
        }
        // This very host, before it was started again.
        (self.boot != machine.boot && self.host == machine.host).then_some(false)
    }
}

/// A lease as it stands in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    pub run: String,
    pub epoch: u64,
    pub owner: Owner,
    pub acquired_at: Millis,
    pub renewed_at: Millis,
}

impl LeaseRow {
    pub fn is_alive(&self) -> bool {
        self.owner.is_alive().unwrap_or_else(|| {
            // A clock that went backwards is no reason to take a run from anybody.
            now().saturating_sub(self.renewed_at) < SILENCE
        })
    }

    /// Why nobody works on the run, when its holder does not live.
    pub fn why_gone(&self) -> Words {
        let (pid, machine) = (self.owner.pid, this_machine());
        if self.owner.host == machine.host && self.owner.boot != machine.boot {
            return words!("the machine was started again meanwhile", "机器在此期间重新启动过");
        }
        if self.owner.namespace == machine.namespace {
            return words!("its process (pid {pid}) is gone", "其进程（pid {pid}）已不存在");
        }
        let host = escape_for_terminal(&self.owner.host).into_owned();
        words!("nothing was heard from its process on `{host}`", "在 `{host}` 上的进程没有消息")
    }

    pub(super) fn new(run: &str, epoch: u64, owner: &Owner) -> Self {
        let at = now();
        Self { run: run.to_owned(), epoch, owner: owner.clone(), acquired_at: at, renewed_at: at }
    }

    /// Columns of `runs` as this module names them, from a query that selects [`LEASE_COLUMNS`] after `before` others.
    pub(super) fn read(row: &Row<'_>, run: &str, before: usize) -> rusqlite::Result<Option<Self>> {
        let Some(pid) = row.get::<_, Option<i64>>(before + 1)? else { return Ok(None) };
        Ok(Some(Self {
            run: run.to_owned(),
            epoch: unsigned(row.get(before)?),
            owner: Owner {
                pid: u32::try_from(pid).unwrap_or(0),
                started: unsigned(row.get(before + 2)?),
                boot: row.get(before + 3)?,
                namespace: row.get(before + 4)?,
                host: row.get(before + 5)?,
            },
            acquired_at: row.get(before + 6)?,
            renewed_at: row.get(before + 7)?,
        }))
    }
}

pub(super) const LEASE_COLUMNS: &str =
    "epoch, owner_pid, owner_started, owner_boot, owner_namespace, owner_host, acquired_at, renewed_at";

/// A held lease. Dropping it lets go, without waiting for the disk: a lease that stays behind belongs to a dead process
/// and is taken over.
#[derive(Debug)]
pub struct Lease {
    pub epoch: u64,
    run: String,
    store: Store,
    is_held: bool,
    /// Of the run, when this lease is its first.
    creation: Option<Creation>,
    _claim: Option<Claim>,
}

/// That this process really has a [`Lease`] on a run. A commit may fail after the fact, and so leave a row that names us
/// though nobody here holds it: without this the run would be stuck until the process ends.
#[derive(Debug)]
struct Claim(ClaimKey);

/// The database file, and the run in it.
type ClaimKey = ((u64, u64), String);

static CLAIMS: Mutex<BTreeSet<ClaimKey>> = Mutex::new(BTreeSet::new());

impl Claim {
    /// `None`: somebody in this process has it.
    fn stake(key: ClaimKey) -> Option<Self> {
        let is_new = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        is_new.then(|| Self(key))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMS.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

impl Lease {
    /// How often an owner should [`Lease::renew`]: two signs may be late before it counts as silent.
    pub const RENEW_EVERY: Duration = Duration::from_secs(10);

    pub fn run(&self) -> &str {
        &self.run
    }

    /// Says "still here"; needed by those who cannot look at our process. Fails when the run was taken over.
    pub fn renew(&self) -> Result<(), StoreError> {
        let (run, epoch) = (self.run.clone(), self.epoch);
        let creation = self.creation.clone();
        self.store.change_after(creation, move |connection, _| touch(connection, &run, epoch, RENEW)).wait()
    }

    /// Queues events of the run. Under the lease of a run that does not exist yet they count if it comes to exist.
    pub fn append(&self, batch: super::Batch) -> Receipt {
        self.store.enqueue(batch, Urgency::Ordinary, self.creation.clone())
    }

    /// Lets go; afterwards the epoch is over.
    pub fn release(mut self) -> Result<(), StoreError> {
        self.is_held = false;
        self.let_go().wait()
    }

    fn let_go(&self) -> Receipt {
        let (run, epoch) = (self.run.clone(), self.epoch);
        let creation = self.creation.clone();
        self.store.change_after(creation, move |connection, _| touch(connection, &run, epoch, RELEASE))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.is_held {
            drop(self.let_go());
        }
    }
}

/// On whose behalf a run is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// This process, and nobody else in it: a row that names us is an orphan.
    Claimant,
    /// This process, where somebody else has the run or is about to.
    Latecomer,
    /// A process other than this one.
    Other,
}

pub(super) fn acquire(store: &Store, run: &str, owner: &Owner) -> Result<Lease, StoreError> {
    let (id, owner) = (run.to_owned(), owner.clone());
    let (claim, asker) = stake(store, run, &owner);
    let epoch = store.change(move |connection, place| take(connection, place, &id, &owner, asker)).wait()?;
    Ok(Lease {
        epoch,
        run: run.to_owned(),
        store: store.clone(),
        is_held: true,
        creation: None,
        _claim: claim,
    })
}

/// A new run and its lease, in one transaction: one wait for the disk instead of two, and never a run without an owner.
/// The lease is worth something once the receipt says so.
pub(super) fn create(
    store: &Store,
    new: NewRun,
    owner: &Owner,
    turn: Option<Turn>,
    hurry: Hurry,
) -> (Lease, Receipt) {
    let (run, owner) = (new.id.clone(), owner.clone());
    let (claim, asker) = stake(store, &run, &owner);
    let creation = Creation::default();
    let (answer, receipt) = super::receipt::pair();
    let create = Create { new, owner, asker, turn, creation: creation.clone(), answer };
    let work = Work::Change(Box::new(create));
    store.put(Job { work, urgency: Urgency::Ordinary, after: None }, hurry);
    let store = store.clone();
    let lease =
        Lease { epoch: FIRST_EPOCH, run, store, is_held: true, creation: Some(creation), _claim: claim };
    (lease, receipt)
}

/// Rows of runs begin with none; whoever creates one is its first owner.
const FIRST_EPOCH: u64 = 1;

fn stake(store: &Store, run: &str, owner: &Owner) -> (Option<Claim>, Asker) {
    if *owner != Owner::this_process() {
        return (None, Asker::Other);
    }
    let key = (store.place().identity().unwrap_or_default(), run.to_owned());
    match Claim::stake(key) {
        Some(claim) => (Some(claim), Asker::Claimant),
        None => (None, Asker::Latecomer),
    }
}

/// Within one write transaction, so of many who try exactly one wins.
pub(super) fn take(
    connection: &Connection,
    place: &super::place::Place,
    run: &str,
    owner: &Owner,
    asker: Asker,
) -> Result<u64, StoreError> {
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    let (epoch, row) =
        find(connection, run).map_err(sql)?.ok_or_else(|| StoreError::UnknownRun { id: run.to_owned() })?;
    let is_outside = connection
        .query_row("SELECT 1 FROM runs WHERE id = ?1 AND outside IS NOT NULL", [run], |_| Ok(()))
        .optional()
        .map_err(sql)?;
    if is_outside.is_some() {
        return Err(StoreError::Outside { run: run.to_owned() });
    }
    let holder = match (asker, row) {
        (Asker::Latecomer, row) => {
            Some(row.filter(LeaseRow::is_alive).unwrap_or_else(|| LeaseRow::new(run, epoch, owner)))
        }
        (Asker::Claimant, Some(row)) if row.owner == *owner => None,
        (Asker::Claimant | Asker::Other, row) => row.filter(LeaseRow::is_alive),
    };
    if let Some(by) = holder {
        return Err(StoreError::Held { by: Box::new(by) });
    }
    let mut statement = connection
        .prepare_cached(
            "UPDATE runs SET epoch = epoch + 1, owner_pid = :pid, owner_started = :started, owner_boot = :boot,
             owner_namespace = :namespace, owner_host = :host, acquired_at = :now, renewed_at = :now WHERE id = :run",
        )
        .map_err(sql)?;
    statement
        .execute(named_params! {
            ":run": run, ":pid": owner.pid, ":started": signed(owner.started), ":boot": owner.boot,
            ":namespace": owner.namespace, ":host": owner.host, ":now": now(),
        })
        .map_err(sql)?;
    Ok(epoch + 1)
}

/// The epoch of a run and the lease on it.
pub(super) fn find(connection: &Connection, run: &str) -> rusqlite::Result<Option<(u64, Option<LeaseRow>)>> {
    let query = format!("SELECT {LEASE_COLUMNS} FROM runs WHERE id = ?1");
    let mut statement = connection.prepare_cached(&query)?;
    statement.query_row([run], |row| Ok((unsigned(row.get(0)?), LeaseRow::read(row, run, 0)?))).optional()
}

const RENEW: &str = "UPDATE runs SET renewed_at = ?3 WHERE id = ?1 AND epoch = ?2 AND owner_pid IS NOT NULL";
const RELEASE: &str = "UPDATE runs SET owner_pid = NULL, renewed_at = ?3
     WHERE id = ?1 AND epoch = ?2 AND owner_pid IS NOT NULL";

fn touch(connection: &Connection, run: &str, epoch: u64, statement: &str) -> Result<(), StoreError> {
    let sql =
        |error: rusqlite::Error| StoreError::sql(connection.path().unwrap_or_default().as_ref(), &error);
    let changed = connection
        .prepare_cached(statement)
        .and_then(|mut statement| statement.execute((run, signed(epoch), now())))
        .map_err(sql)?;
    if changed == 1 {
        return Ok(());
    }
    let current = find(connection, run).map_err(sql)?.map_or(0, |(epoch, _)| epoch);
    Err(StoreError::Fenced { run: run.to_owned(), epoch, current })
}

pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
