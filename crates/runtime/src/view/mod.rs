//! A run as people watch it: its agents, who waits for whom, what happened last, what was said to it and what came of
//! that. Plain values, made from the run's files or its log; the dashboard, the terminal interface and programs show
//! the same ones.
//!
//! Nothing here changes anything, and nothing here knows a terminal.

mod gap;
mod parse;
mod read;
#[cfg(test)]
mod tests;

pub use read::{Active, ViewError, active, foreign, of_run};

use crate::exports::{AgentWord, RunWord};
use fugato_model::Words;
use std::collections::BTreeMap;

/// How a run stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    pub id: String,
    pub title: Option<String>,
    pub status: RunWord,
    /// Why it does not go on.
    pub reason: Option<Words>,
    /// Milliseconds since 1970, here and below.
    pub started_at: Option<i64>,
    pub updated_at: Option<i64>,
    /// The last event these facts know of.
    pub seq: u64,
    /// The number of the newest directive.
    pub generation: u64,
    pub agents: Vec<AgentRow>,
    /// Key waits for values.
    pub dependencies: BTreeMap<String, Vec<String>>,
    /// The newest of all agents, newest first, at most [`Overview::RECENT`].
    pub events: Vec<EventRow>,
    /// What people said to the run, newest first; of very many only the newest.
    pub interventions: Vec<Intervention>,
    /// Lines of the run's files that could not be read.
    pub unreadable: usize,
}

/// An agent of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRow {
    pub id: String,
    pub role: String,
    pub task: String,
    pub status: AgentWord,
    pub phase: String,
    pub started_at: Option<i64>,
    pub completed_at: Option<i64>,
    pub last_event: Option<EventRow>,
    pub last_heartbeat: Option<i64>,
    /// The newest directive that took effect on it.
    pub acked_generation: u64,
    /// Messages it has not seen yet.
    pub unread: u64,
}

/// One thing that happened to an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    pub seq: u64,
    pub at: Option<i64>,
    pub agent: String,
    pub kind: String,
    pub message: Words,
}

/// A directive, and what came of it for each agent it concerns.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervention {
    /// `None`: recorded, and nobody who works on the run has taken it yet.
    pub generation: Option<u64>,
    pub at: Option<i64>,
    pub action: String,
    pub target: String,
    pub message: String,
    pub receipts: Vec<AgentReceipt>,
}

/// How far a directive has come with one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentReceipt {
    /// `None`: the directive as a whole was refused.
    pub agent: Option<String>,
    pub state: ReceiptState,
    pub at: Option<i64>,
    pub why: Option<Words>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReceiptState {
    Recorded,
    /// It reached the agent, which has not acted on it yet.
    Delivered,
    Applied,
    Refused,
    /// The agent ended before it could act on it.
    Expired,
}

impl ReceiptState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Delivered => "delivered",
            Self::Applied => "applied",
            Self::Refused => "refused",
            Self::Expired => "expired",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Recorded, Self::Delivered, Self::Applied, Self::Refused, Self::Expired];
        all.into_iter().find(|state| state.as_str() == word)
    }
}

impl Intervention {
    /// The whole in one word: refused or expired only when that is all there is.
    pub fn state(&self) -> ReceiptState {
        let states = || self.receipts.iter().map(|receipt| receipt.state);
        let has = |wanted| states().any(|state| state == wanted);
        match self.receipts.as_slice() {
            [] => ReceiptState::Recorded,
            _ if has(ReceiptState::Delivered) => ReceiptState::Delivered,
            _ if has(ReceiptState::Applied) => ReceiptState::Applied,
            _ => states().max().unwrap_or(ReceiptState::Recorded),
        }
    }

    /// Why it was refused, if it was.
    pub fn why(&self) -> Option<&Words> {
        self.receipts.iter().find_map(|receipt| receipt.why.as_ref())
    }
}

/// An agent that is at work and was not heard of for this long is worth a look.
const SILENT_MS: i64 = 60_000;

impl AgentRow {
    /// Milliseconds from its start to its end, or to now; `None`: it has not started.
    pub fn elapsed(&self, now: i64) -> Option<i64> {
        let until = self.completed_at.unwrap_or(now);
        self.started_at.map(|from| until.saturating_sub(from).max(0))
    }

    /// For how long nothing was heard of it although it is at work, if that is worth saying.
    pub fn silent(&self, now: i64) -> Option<i64> {
        let heard = self.last_event.as_ref().and_then(|event| event.at).or(self.started_at)?;
        let silent = now.saturating_sub(heard);
        (self.status == AgentWord::Running && silent >= SILENT_MS).then_some(silent)
    }

    pub fn is_finished(&self) -> bool {
        matches!(
            self.status,
            AgentWord::Done | AgentWord::DoneWithConcerns | AgentWord::Failed | AgentWord::Cancelled
        )
    }
}

impl Overview {
    /// How many events a dashboard shows.
    pub const RECENT: usize = 5;

    /// Can it still be told something?
    pub fn is_active(&self) -> bool {
        !matches!(self.status, RunWord::Complete | RunWord::Failed | RunWord::Aborted)
    }

    pub fn is_running(&self) -> usize {
        self.agents.iter().filter(|agent| agent.status == AgentWord::Running).count()
    }

    /// Up to when times are counted: a run that nobody works on stands where it was last heard of.
    pub fn until(&self, now: i64) -> i64 {
        match self.status {
            RunWord::Running | RunWord::Paused => now,
            _ => self.updated_at.unwrap_or(now),
        }
    }

    /// Milliseconds since its start.
    pub fn elapsed(&self, now: i64) -> Option<i64> {
        self.started_at.map(|from| self.until(now).saturating_sub(from).max(0))
    }
}
