//! What waits for the writer. Bounded: who is faster than the disk waits here, not in memory.

use super::row::Batch;
use super::{StoreError, place::Place, receipt::Answer};
use rusqlite::Connection;
use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes of events that may wait, and that one transaction takes at most.
const ROOM: usize = 32 * 1024 * 1024;
/// Each job also costs something besides its bytes.
const OVERHEAD: usize = 512;

/// May this work use the space kept aside for final states?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    Ordinary,
    /// Must be written even when the disk is full.
    Final,
}

pub struct Job {
    pub work: Work,
    pub urgency: Urgency,
}

pub enum Work {
    Append(Batch, Answer),
    Change(Box<dyn Change>),
}

/// A change of rows other than an append. May run again when the first transaction did not fit on the disk.
pub trait Change: Send {
    fn run(&mut self, connection: &Connection, place: &Place) -> Result<(), StoreError>;
    fn answer(self: Box<Self>, result: Result<(), StoreError>);
}

impl Job {
    fn size(&self) -> usize {
        let body = match &self.work {
            Work::Append(batch, _) => batch.events.iter().map(Vec::len).sum(),
            Work::Change(_) => 0,
        };
        body + OVERHEAD
    }

    pub fn answer(self, result: Result<(), StoreError>) {
        match self.work {
            Work::Append(_, answer) => answer.give(result),
            Work::Change(change) => change.answer(result),
        }
    }
}

#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    bytes: usize,
    is_closed: bool,
}

impl Queue {
    /// A job that comes too late is dropped, and with it its answer, which says so.
    pub fn put(&self, job: Job) {
        let size = job.size();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // A single job above the bound must still get through.
        let is_full = |state: &mut State| state.bytes > 0 && state.bytes + size > ROOM && !state.is_closed;
        let mut state = self.emptied.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner);
        if state.is_closed {
            return;
        }
        state.bytes += size;
        state.jobs.push(job);
        drop(state);
        self.filled.notify_one();
    }

    /// Everything that waits, as soon as anything does; `None` when the queue is closed and empty.
    pub fn take(&self) -> Option<Vec<Job>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = |state: &mut State| state.jobs.is_empty() && !state.is_closed;
        let mut state = self.filled.wait_while(state, is_idle).unwrap_or_else(PoisonError::into_inner);
        state.bytes = 0;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        self.emptied.notify_all();
        (!jobs.is_empty()).then_some(jobs)
    }

    pub fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }
}
