//! Running runs: one session per run decides through the engine, stores what was decided, and only then does it.
//!
//! Reconcile, do not remember: after every commit the session compares what the run wants with what is under way. A
//! session that takes over after a crash starts with nothing under way; that is the whole of recovery.

mod clock;
mod commands;
mod journal;
mod perform;
mod session;
mod shelf;
mod start;

pub use commands::{CommandError, command};
pub use journal::{JournalError, decode, encode, load};
pub use perform::World;
pub use session::{Control, End, Notice, RunError, Session};
pub use shelf::Shelf;
pub use start::{StartError, Started, plan_run};
