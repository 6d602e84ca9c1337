//! Running runs: one session per run decides through the engine, stores what was decided, and only then does it.
//!
//! Reconcile, do not remember: after every commit the session compares what the run wants with what is under way. A
//! session that takes over after a crash starts with nothing under way; that is the whole of recovery.

mod artifact;
#[cfg(test)]
mod begin_tests;
mod clock;
#[cfg(test)]
mod clock_tests;
mod commands;
#[cfg(test)]
mod corpus_tests;
mod executor;
#[cfg(test)]
mod fault_tests;
mod foreign;
mod import;
mod journal;
mod kinds;
mod live;
#[cfg(test)]
mod long_call_tests;
mod moment;
mod orchestrators;
#[cfg(test)]
mod order_tests;
mod perform;
mod recorded;
mod rerun;
mod session;
mod shelf;
mod specs;
mod start;
mod streams;
#[cfg(test)]
mod test_bed;
mod unowned;
mod washing;

pub(crate) use clock::{wall, wall as wall_clock};
pub use commands::{CommandError, command};
pub use executor::Hosts;
pub use import::{import, spool};
pub(crate) use journal::encode_short;
pub use journal::{JournalError, decode, encode, load, names_blob};
pub use kinds::let_do;
pub use live::{Listener, Speech, Spoken, stop_listening};
pub use moment::Moment;
pub use orchestrators::{OpenLists, Orchestration, ProgramRun, plan_program};
pub use perform::World;
pub use recorded::RecordedRuns;
pub use rerun::{Again, Rerun, RerunError, is_task, plan_rerun};
pub use session::{Control, End, Notice, Place, RunError, Session, Stored};
pub use shelf::Shelf;
pub(crate) use start::new_id;
pub use start::{MASTER_STEPS, StartError, Started, Task, plan_run, plan_task};
pub use streams::{StreamPart, Streams};
