//! Agents outside: processes of other programs that call a hook before and after everything they do. Nobody owns such a
//! run; each call decides for itself, by a few small rows, and appends to the run's log.
//!
//! Architecture invariant: the rows are a fold of the log and nothing else ([`Desk`] changes them only by folding the events
//! it makes), and one decision looks only at the rows it concerns, whatever the size of the run. No I/O.

mod command;
mod desk;
mod ending;
mod fold;
mod join;
mod name;
mod observe;
mod plain;
mod report;
mod rows;
#[cfg(test)]
mod tests;

pub use command::command;
pub use desk::{Desk, Look, Nothing};
pub use ending::lose;
pub use name::agent_name;
pub use observe::{Answer, Denial, Guard, Input, Spawn, Who, decide, refers_to};
pub use plain::plain_event;
pub use report::report_of;
pub use rows::{AgentRow, Changed, Due, DueStage, RunRow, Stopped, Unread, key_of};
