//! The durable store: runs, their event logs, their leases and their blobs, in one directory per project.
//!
//! [`Store`] is a handle to the one thread that writes; [`Reader`] looks without ever changing anything. The store knows
//! events as numbered documents and runs as rows: what they mean is the business of `engine`.
//!
//! Promises: an acknowledged event survives the death of the process and of the machine; a log has no gaps; one owner
//! writes a run at a time; a blob is there before the event that names it.

mod archive;
mod blobs;
mod chunk;
mod command;
mod conversation;
mod creation;
mod error;
mod events;
pub mod faults;
mod group;
mod lease;
pub(crate) mod leaves;
pub(crate) mod outside;
mod place;
pub(crate) mod process;
mod queue;
mod reader;
mod receipt;
mod redact;
mod reserve;
mod retention;
mod row;
mod schema;
mod writer;

pub use archive::{ExportError, Imported, Part, export_run, import_run, read_archive};
pub(crate) use command::Imported as ImportedCommand;
pub use command::Waiting;
pub use conversation::{ConversationRow, Turn};
pub use error::StoreError;
pub use events::Events;
pub use lease::{Lease, LeaseRow, Owner};
pub(crate) use process::{name_and_parent, started};
pub use reader::{Lookup, Reader};
pub use receipt::Receipt;
pub use redact::Redactor;
pub use retention::Pruned;
pub(crate) use row::is_run_id;
pub use row::{Batch, Millis, NewRun, RunFilter, RunRow, RunStatus, RunSummary};

use creation::Creation;
use faults::Faults;
use fugato_model::Digest;
pub(crate) use place::Place;
pub use queue::Hurry;
use queue::{Change, Job, Queue, Urgency, Work};
use receipt::Answer;
use rusqlite::Connection;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

/// A store that can be written. Cheap to clone; the last one to go waits until everything queued is committed.
#[derive(Clone, Debug)]
pub struct Store(Arc<Shared>);

struct Shared {
    place: Place,
    queue: Arc<Queue>,
    blobs: blobs::Blobs,
    redactor: RwLock<Option<Arc<Redactor>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens the store of a state directory, making or migrating it when needed.
    pub fn open(state_dir: &Path) -> Result<Self, StoreError> {
        Self::open_with(state_dir, Faults::none())
    }

    /// Opens a store whose disk will fail as planned.
    pub fn open_with(state_dir: &Path, faults: Faults) -> Result<Self, StoreError> {
        let place = Place::new(state_dir);
        let turn = place.prepare()?;
        let connection = schema::open_to_write(&place, &turn, schema::MIGRATIONS)?;
        let queue = Arc::new(Queue::default());
        let writer = writer::Writer {
            place: place.clone(),
            turn,
            connection: Some(connection),
            file: place.identity().unwrap_or_default(),
            reserve: reserve::Reserve::prepare(place.reserve.clone(), &faults),
            faults: faults.clone(),
            queue: queue.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("fugato-store".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| StoreError::io(&place.dir, &error))?;
        Ok(Self(Arc::new(Shared {
            blobs: blobs::Blobs::new(place.blobs.clone(), faults),
            place,
            queue,
            redactor: RwLock::default(),
            thread: Mutex::new(Some(thread)),
        })))
    }

    /// From now on these secrets reach neither the log nor the blobs.
    pub fn set_redactor(&self, redactor: impl Into<Arc<Redactor>>) {
        *self.0.redactor.write().unwrap_or_else(PoisonError::into_inner) = Some(redactor.into());
    }

    /// Queues events. Whoever appends faster than the disk writes waits here once 32 MiB are queued.
    pub fn append(&self, batch: Batch) -> Receipt {
        self.enqueue(batch, Urgency::Ordinary, None)
    }

    /// Whatever waits for something to go with need not wait any longer.
    pub(crate) fn nudge(&self) {
        self.0.queue.nudge();
    }

    /// Queues the last word of a run (paused, failed): on a full disk it may use the space kept aside for this.
    pub fn append_final(&self, batch: Batch) -> Receipt {
        self.enqueue(batch, Urgency::Final, None)
    }

    fn enqueue(&self, mut batch: Batch, urgency: Urgency, after: Option<Creation>) -> Receipt {
        if let Some(redactor) = self.redactor() {
            redactor.clean_batch(&mut batch);
        }
        let (answer, receipt) = receipt::pair();
        self.put(Job { work: Work::Append(batch, answer), urgency, after }, Hurry::Now);
        receipt
    }

    /// The row of a run and its first events, numbered from 1, in one transaction.
    pub fn create_run(&self, mut new: NewRun) -> Result<(), StoreError> {
        if let Some(redactor) = self.redactor() {
            redactor.clean_new(&mut new);
        }
        self.change(move |connection, place| group::create(connection, place, &new)).wait()
    }

    /// The same, and the caller owns the run from its first moment.
    pub fn create_owned_run(&self, new: NewRun, owner: &Owner) -> Result<Lease, StoreError> {
        self.create_owned_run_in(new, owner, None)
    }

    /// The same as the next request of a conversation; refused when another one came first.
    pub fn create_owned_run_in(
        &self,
        new: NewRun,
        owner: &Owner,
        turn: Option<&Turn>,
    ) -> Result<Lease, StoreError> {
        let (lease, receipt) = self.begin_owned_run(new, owner, turn, Hurry::Now);
        receipt.wait().map(|()| lease)
    }

    /// The same, without waiting: what is appended under the lease meanwhile is stored after the run, or not at all.
    pub fn begin_owned_run(
        &self,
        mut new: NewRun,
        owner: &Owner,
        turn: Option<&Turn>,
        hurry: Hurry,
    ) -> (Lease, Receipt) {
        if let Some(redactor) = self.redactor() {
            redactor.clean_new(&mut new);
        }
        lease::create(self, new, owner, turn.cloned(), hurry)
    }

    /// Stores content under its digest (of what is stored, should a secret have been removed). Durable on return.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        match self.redactor() {
            Some(redactor) => self.0.blobs.put(&redactor.clean(bytes)),
            None => self.0.blobs.put(bytes),
        }
    }

    /// Becomes the owner of a run; refused with the holder while that one lives.
    pub fn acquire(&self, run: &str, owner: &Owner) -> Result<Lease, StoreError> {
        lease::acquire(self, run, owner)
    }

    /// Which run commands mean when they name none.
    pub fn set_active(&self, run: Option<&str>) -> Result<(), StoreError> {
        let run = run.map(str::to_owned);
        self.change(move |connection, place| point(connection, place, run.as_deref())).wait()
    }

    /// A reader of the same store.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Reader::open(&self.0.place.dir)?.ok_or(StoreError::Closed)
    }

    /// The state directory.
    pub fn dir(&self) -> &Path {
        &self.0.place.dir
    }

    pub(crate) fn redactor(&self) -> Option<Arc<Redactor>> {
        self.0.redactor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn place(&self) -> &Place {
        &self.0.place
    }

    fn change<T: Send + 'static>(
        &self,
        change: impl FnMut(&Connection, &Place) -> Result<T, StoreError> + Send + 'static,
    ) -> Receipt<T> {
        self.submit(Urgency::Ordinary, None, change)
    }

    fn change_even_when_full<T: Send + 'static>(
        &self,
        change: impl FnMut(&Connection, &Place) -> Result<T, StoreError> + Send + 'static,
    ) -> Receipt<T> {
        self.change_after(None, change)
    }

    /// The same; nothing when the run it is for never came to exist.
    fn change_after<T: Send + 'static>(
        &self,
        creation: Option<Creation>,
        change: impl FnMut(&Connection, &Place) -> Result<T, StoreError> + Send + 'static,
    ) -> Receipt<T> {
        self.submit(Urgency::Final, creation, change)
    }

    fn submit<T: Send + 'static>(
        &self,
        urgency: Urgency,
        after: Option<Creation>,
        change: impl FnMut(&Connection, &Place) -> Result<T, StoreError> + Send + 'static,
    ) -> Receipt<T> {
        let (answer, receipt) = receipt::pair();
        let work = Work::Change(Box::new(Closure { change, value: None, answer }));
        self.put(Job { work, urgency, after }, Hurry::Now);
        receipt
    }

    fn put(&self, job: Job, hurry: Hurry) {
        self.0.queue.put(job, hurry);
    }
}

/// A change as a closure, and the value it will answer with after the commit.
struct Closure<T, F> {
    change: F,
    value: Option<T>,
    answer: Answer<T>,
}

impl<T, F> Change for Closure<T, F>
where
    T: Send,
    F: FnMut(&Connection, &Place) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, connection: &Connection, place: &Place) -> Result<(), StoreError> {
        self.value = Some((self.change)(connection, place)?);
        Ok(())
    }

    fn answer(self: Box<Self>, result: Result<(), StoreError>) {
        let Self { value, answer, .. } = *self;
        answer.give(result.and_then(|()| value.ok_or(StoreError::Closed)));
    }
}

fn point(connection: &Connection, place: &Place, run: Option<&str>) -> Result<(), StoreError> {
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    let Some(run) = run else {
        return connection.execute("DELETE FROM pointers WHERE name = 'active'", []).map(drop).map_err(sql);
    };
    let changed = connection
        .execute(
            "INSERT INTO pointers (name, run) SELECT 'active', id FROM runs WHERE id = ?1
             ON CONFLICT (name) DO UPDATE SET run = excluded.run",
            [run],
        )
        .map_err(sql)?;
    if changed == 0 { Err(StoreError::UnknownRun { id: run.to_owned() }) } else { Ok(()) }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dir", &self.place.dir).finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // A writer that panicked has already answered everybody with an error.
        let _ = thread.map(JoinHandle::join);
    }
}

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod power_tests;
#[cfg(test)]
mod tests;
