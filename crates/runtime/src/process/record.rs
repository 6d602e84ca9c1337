//! What is remembered of a running process, so that a later start can find it if this program dies.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Identifies one process for ever: numbers are reused, a number with its start and boot is not.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Recorded {
    pub pid: u32,
    /// Clock ticks since boot; 0 where the system does not say.
    pub start_time: u64,
    pub boot_id: String,
    /// What the environment of the process and of everything it started carries. One that ends in `-` stands for all
    /// marks of its owner.
    pub mark: String,
}

/// A line for the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note<'a> {
    Started(&'a Recorded),
    /// It was reaped and nothing below it is left.
    Ended(&'a Recorded),
}

/// Who is told of processes that start and end. Called on a thread of its own, so it may write to a disk.
#[derive(Clone, Default)]
pub struct ProcessLog(Option<Arc<Tell>>);

type Tell = dyn Fn(Note<'_>) + Send + Sync;

impl ProcessLog {
    pub fn new(tell: impl Fn(Note<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// A listener that panics must not take the thread with it that has a child to reap.
    pub(super) fn tell(&self, note: Note<'_>) {
        if let Some(tell) = &self.0 {
            let _ = catch_unwind(AssertUnwindSafe(|| tell(note)));
        }
    }
}

impl fmt::Debug for ProcessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "ProcessLog(told)" } else { "ProcessLog(nobody)" })
    }
}
