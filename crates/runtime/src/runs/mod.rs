//! Running runs: one session per run decides through the engine, stores what was decided, and only then does it.
//!
//! Reconcile, do not remember: after every commit the session compares what the run wants with what is under way. A
//! session that takes over after a crash starts with nothing under way; that is the whole of recovery.

mod import;
mod journal;
mod perform;
mod rerun;
mod session;
mod start;

pub use import::{import, spool};
pub use journal::{JournalError, decode, encode, load, names_blob};
pub use perform::World;
pub use rerun::{Again, Rerun, RerunError, plan_rerun};
pub use session::{Control, End, Notice, RunError, Session};
pub use start::{StartError, Started, plan_run};
