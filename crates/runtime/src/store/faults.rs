//! The steps that can fail on the way to the disk, each counted, so that a test can make any one of them fail.
//!
//! Not a simulation of SQLite: a fault strikes where our code asks for durability.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A place where the disk may say no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Just before a transaction is committed: nothing of it is on the disk.
    Commit,
    /// Just after: the transaction may be there, but the disk did not confirm it.
    CommitSync,
    BlobWrite,
    BlobSync,
    BlobRename,
    /// The sync of a directory after a rename.
    DirSync,
    /// Making the reserve file.
    Reserve,
    /// Opening the database again after a failure.
    Reopen,
}

/// What will fail. The default fails nothing and costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Faults(Option<Arc<Plan>>);

#[derive(Debug)]
struct Plan {
    only: Option<Step>,
    at: u64,
    lasting: bool,
    errno: i32,
    is_lifted: AtomicBool,
    is_struck: AtomicBool,
    counted: AtomicU64,
}

impl Faults {
    pub fn none() -> Self {
        Self::default()
    }

    /// The `nth` (from 1) step of this kind fails once.
    pub fn once(step: Step, nth: u64, error: rustix::io::Errno) -> Self {
        Self::planned(Some(step), nth, false, error)
    }

    /// The `nth` step of this kind and all later ones fail, until [`Faults::lift`].
    pub fn from(step: Step, nth: u64, error: rustix::io::Errno) -> Self {
        Self::planned(Some(step), nth, true, error)
    }

    /// The `nth` step of any kind fails once.
    pub fn once_at(nth: u64, error: rustix::io::Errno) -> Self {
        Self::planned(None, nth, false, error)
    }

    /// The `nth` step of any kind fails, and everything after it: the machine is gone.
    pub fn dying_at(nth: u64) -> Self {
        Self::planned(None, nth, true, rustix::io::Errno::IO)
    }

    /// The `nth` step of any kind and all later ones fail, until [`Faults::lift`].
    pub fn lasting_from(nth: u64, error: rustix::io::Errno) -> Self {
        Self::planned(None, nth, true, error)
    }

    fn planned(only: Option<Step>, at: u64, lasting: bool, error: rustix::io::Errno) -> Self {
        Self(Some(Arc::new(Plan {
            only,
            at,
            lasting,
            errno: error.raw_os_error(),
            is_lifted: AtomicBool::new(false),
            is_struck: AtomicBool::new(false),
            counted: AtomicU64::new(0),
        })))
    }

    /// The disk works again.
    pub fn lift(&self) {
        if let Some(plan) = &self.0 {
            plan.is_lifted.store(true, Ordering::SeqCst);
        }
    }

    /// Did anything fail? A sweep over all steps ends when nothing does.
    pub fn is_struck(&self) -> bool {
        self.0.as_ref().is_some_and(|plan| plan.is_struck.load(Ordering::SeqCst))
    }

    /// How often steps of this kind were taken, when nothing is to fail.
    #[cfg(test)]
    pub fn counting(step: Step) -> Self {
        Self::once(step, u64::MAX, rustix::io::Errno::IO)
    }

    #[cfg(test)]
    pub fn counted(&self) -> u64 {
        self.0.as_ref().map_or(0, |plan| plan.counted.load(Ordering::SeqCst))
    }

    pub(super) fn check(&self, step: Step) -> io::Result<()> {
        let Some(plan) = &self.0 else { return Ok(()) };
        if plan.only.is_some_and(|only| only != step) {
            return Ok(());
        }
        let now = plan.counted.fetch_add(1, Ordering::SeqCst) + 1;
        let strikes = if plan.lasting { now >= plan.at } else { now == plan.at };
        if !strikes || plan.is_lifted.load(Ordering::SeqCst) {
            return Ok(());
        }
        plan.is_struck.store(true, Ordering::SeqCst);
        Err(io::Error::from_raw_os_error(plan.errno))
    }
}
