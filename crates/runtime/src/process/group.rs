//! The handle on one started process and its group: signals reach it only as long as its number is surely ours.

use super::{Recorded, procfs, tag};
use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Group {
    pub recorded: Recorded,
    tag: Option<u64>,
    leader: Pid,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    reaped: bool,
    at_once: bool,
}

impl Group {
    pub fn new(leader: Pid, mark: String) -> Self {
        let pid = leader.as_raw_pid().unsigned_abs();
        // The process cannot be reaped yet, so this is its own start even if it has ended already.
        let start_time = procfs::stat(pid).map_or(0, |stat| stat.start);
        let tag = tag::of_mark(&mark);
        let recorded = Recorded { pid, start_time, boot_id: procfs::boot_id(), mark };
        Self { recorded, tag, leader, state: Mutex::default(), changed: Condvar::new() }
    }

    pub fn leader(&self) -> Pid {
        self.leader
    }

    /// Whether a process carries our mark, in its limits or in its environment.
    pub fn marked(&self, pid: u32) -> bool {
        (self.tag.is_some() && procfs::tag(pid) == self.tag)
            || procfs::marks(pid).contains(&self.recorded.mark)
    }

    /// Asks everyone to end. A stopped process must be woken to hear it.
    pub fn terminate(&self) {
        self.signal(&self.lock(), Signal::TERM);
        self.signal(&self.lock(), Signal::CONT);
    }

    /// Ends everyone, now and without asking.
    pub fn kill(&self) {
        let mut state = self.lock();
        state.at_once = true;
        self.signal(&state, Signal::KILL);
        self.changed.notify_all();
    }

    pub fn is_killed(&self) -> bool {
        self.lock().at_once
    }

    /// Sleeps, but not past [`Group::kill`].
    pub fn pause(&self, time: Duration) {
        let state = self.lock();
        if !state.at_once {
            drop(self.changed.wait_timeout(state, time));
        } else {
            drop(state);
            std::thread::sleep(time);
        }
    }

    /// Gives the number back to the system. From here on signals go nowhere.
    pub fn reap<T>(&self, wait: impl FnOnce() -> T) -> T {
        let mut state = self.lock();
        state.reaped = true;
        wait()
    }

    fn signal(&self, state: &State, signal: Signal) {
        if !state.reaped {
            // Fails only if nobody is there to hear it.
            let _ = kill_process_group(self.leader, signal);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
