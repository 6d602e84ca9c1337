//! The files of runs for other programs: `run.json`, `status.json`, `stream.jsonl`, inboxes, outboxes and directives.
//!
//! Exports are views and never the truth. They are written from the committed log by one thread per run, can be deleted,
//! torn or replaced without harm, and are rebuilt from the log. What others write there is parsed in [`foreign`], found
//! in `intake` and handed over as commands: nothing in this room changes a run.

mod disk;
mod exporter;
mod files;
mod fold;
pub mod foreign;
mod glance;
mod graph;
mod intake;
mod lines;
mod moment;
mod name;
mod news;
pub(crate) mod outside;
mod overlook;
mod pointer;
mod rebuild;
mod record;
mod render;
mod sentence;
mod status;
mod tail;
#[cfg(test)]
pub(crate) mod tests;
mod writer;

pub use exporter::Exporter;
pub use files::ExportError;
pub use foreign::{
    Foreign, ForeignRun, Lines, read_control_json, read_jsonl, read_run_json, read_status_json,
};
pub(crate) use intake::{Import, Taken};
pub use moment::timestamp;
pub use name::{agent_dir, agent_of_dir};
pub(crate) use overlook::{Overlooked, overlook, read_end, read_whole};
pub use pointer::{point_at, pointed_at};
pub(crate) use rebuild::renew;
pub use rebuild::{Compared, Rebuilt, compare, rebuild};
pub use sentence::{Sentence, of_event as sentence_of};
pub use status::{Action, AgentWord, MessageType, RunWord};
