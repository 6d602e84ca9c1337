//! Agents outside: `fugato hook`, called by Claude Code, Codex and others before and after everything their agents do.
//!
//! One call: read what the host says, decide in one transaction (`fugato_engine::outside`), answer as that host understands
//! it. No runtime, no network, no model; the cost does not grow with the run. A guard that cannot tell denies. An agent about
//! which nothing is pending has a pass, and its calls a short way (`quick`) without a transaction.

mod answer;
mod bind;
mod call;
mod foreign;
mod hook;
mod host;
mod marks;
mod pass;
mod payload;
mod quick;
mod read;
mod spool;
mod step;
#[cfg(test)]
mod tests;
mod text;

/// How long a paused agent waits inside its hook. Installed hooks have a minute; past that the host goes ahead.
pub const WAIT_MS: i64 = 50_000;
pub const LONGEST_WAIT_MS: i64 = 55_000;

pub use hook::{Reply, hook};
pub use host::Host;
pub use payload::{Payload, PayloadError, clean, parse};
pub(crate) use step::command;
