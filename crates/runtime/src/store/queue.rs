//! What waits for the writer. Bounded: who is faster than the disk waits here, not in memory.

use super::creation::Creation;
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

/// When is a job taken?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hurry {
    Now,
    /// Together with the next one, which follows at once: one commit for both.
    WithTheNext,
}

pub struct Job {
    pub work: Work,
    pub urgency: Urgency,
    /// It counts only if this has happened.
    pub after: Option<Creation>,
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
    /// One of them is not to wait for another.
    is_urgent: bool,
    is_closed: bool,
}

impl Queue {
    /// A job that comes too late is dropped, and with it its answer, which says so.
    pub fn put(&self, job: Job, hurry: Hurry) {
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
        state.is_urgent |= hurry == Hurry::Now;
        drop(state);
        self.filled.notify_one();
    }

    /// Nothing follows what waits.
    pub fn nudge(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_urgent = !state.jobs.is_empty();
        drop(state);
        self.filled.notify_one();
    }

    /// Everything that waits, as soon as anything does; `None` when the queue is closed and empty.
    pub fn take(&self) -> Option<Vec<Job>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = |state: &mut State| !state.is_urgent && !state.is_closed;
        let mut state = self.filled.wait_while(state, is_idle).unwrap_or_else(PoisonError::into_inner);
        (state.bytes, state.is_urgent) = (0, false);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    fn job() -> Job {
        let batch = Batch {
            run: "run_a".to_owned(),
            epoch: 1,
            first_seq: 1,
            events: Vec::new(),
            summary: None,
            answers: Vec::new(),
        };
        let (answer, receipt) = super::super::receipt::pair();
        drop(receipt);
        Job { work: Work::Append(batch, answer), urgency: Urgency::Ordinary, after: None }
    }

    #[test]
    fn what_goes_with_the_next_waits_for_it_or_until_nothing_follows() {
        let queue = Arc::new(Queue::default());
        let (taken, heard) = channel();
        let taker = queue.clone();
        let thread = std::thread::spawn(move || {
            while let Some(jobs) = taker.take() {
                taken.send(jobs.len()).unwrap();
            }
        });
        let soon = Duration::from_millis(100);
        queue.put(job(), Hurry::WithTheNext);
        assert_eq!(heard.recv_timeout(soon), Err(RecvTimeoutError::Timeout));
        queue.put(job(), Hurry::Now);
        assert_eq!(heard.recv().unwrap(), 2);
        queue.put(job(), Hurry::WithTheNext);
        assert_eq!(heard.recv_timeout(soon), Err(RecvTimeoutError::Timeout));
        queue.nudge();
        assert_eq!(heard.recv().unwrap(), 1);
        queue.nudge();
        assert_eq!(heard.recv_timeout(soon), Err(RecvTimeoutError::Timeout), "nothing waits");
        queue.put(job(), Hurry::WithTheNext);
        queue.close();
        assert_eq!(heard.recv().unwrap(), 1, "what waits is taken at the end");
        thread.join().unwrap();
    }
}
