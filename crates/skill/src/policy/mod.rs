//! Which skills an agent may see, and why. One function decides ([`resolve`]); catalog, tools, scripts, API and UI ask it.
//!
//! Must not know files, models or time: profile and inventory in, answer out.

mod agent_policy;
mod diff;
pub mod edit;
mod key;
mod lint;
mod resolve;
mod rule;
mod why;

pub use agent_policy::AgentPolicy;
pub use diff::{AgentChange, Change, diff};
pub(crate) use key::stamp_of;
pub use lint::lint;
pub use resolve::{Resolution, TraceLine, decided, resolve, unrestricted};
pub use why::{By, Level, Why};

#[cfg(test)]
mod tests;
