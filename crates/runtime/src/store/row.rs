//! What the store knows about a run without reading its log.

use super::lease::LeaseRow;
use std::fmt;

/// Milliseconds since 1970. For eyes only: order comes from sequence numbers.
pub type Millis = i64;

/// How a run stands. Words of a later version are kept, not refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RunStatus {
    Running,
    Paused,
    Complete,
    Failed,
    Aborted,
    Interrupted,
    Other(String),
}

impl RunStatus {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Interrupted => "interrupted",
            Self::Other(word) => word,
        }
    }

    /// Has the run ended for good?
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Complete | Self::Failed | Self::Aborted)
    }
}

impl From<&str> for RunStatus {
    fn from(word: &str) -> Self {
        match word {
            "running" => Self::Running,
            "paused" => Self::Paused,
            "complete" => Self::Complete,
            "failed" => Self::Failed,
            "aborted" => Self::Aborted,
            "interrupted" => Self::Interrupted,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What lists show of a run; changes in the same transaction as the events it sums up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    pub status: RunStatus,
    /// `None` leaves the title as it is.
    pub title: Option<String>,
    pub updated_at: Millis,
    /// A small JSON document for lists (cost, tokens, agents); `None` leaves it as it is.
    pub details: Option<String>,
}

/// Events that continue the log of a run.
#[derive(Clone, Debug)]
pub struct Batch {
    pub run: String,
    /// The epoch of the lease under which these events were decided.
    pub epoch: u64,
    pub first_seq: u64,
    /// Each one JSON document.
    pub events: Vec<Vec<u8>>,
    pub summary: Option<RunSummary>,
    /// Commands of other processes that these events answer, by number: recorded together or not at all.
    pub answers: Vec<(i64, String)>,
}

/// A run to be: its row and its first events (numbered from 1) appear together.
#[derive(Clone, Debug)]
pub struct NewRun {
    pub id: String,
    pub status: RunStatus,
    pub skill: Option<String>,
    pub title: Option<String>,
    pub created_at: Millis,
    pub parent: Option<String>,
    pub events: Vec<Vec<u8>>,
}

/// A run as the list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    pub id: String,
    /// As last written by an owner; see [`RunRow::effective_status`].
    pub status: RunStatus,
    pub skill: Option<String>,
    pub title: Option<String>,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub last_seq: u64,
    /// Size of the log.
    pub bytes: u64,
    pub parent: Option<String>,
    pub details: Option<String>,
    /// Its agents are processes of other programs: nobody owns it, and the lease names the program that was heard of.
    pub is_outside: bool,
    pub epoch: u64,
    /// Who holds the run, or held it and never let go.
    pub lease: Option<LeaseRow>,
}

impl RunRow {
    /// A run that says it runs, but whose owner is gone, is interrupted.
    pub fn effective_status(&self) -> RunStatus {
        match self.status {
            RunStatus::Running | RunStatus::Paused if !self.is_live() => RunStatus::Interrupted,
            _ => self.status.clone(),
        }
    }

    /// Does a living process hold this run?
    pub fn is_live(&self) -> bool {
        self.lease.as_ref().is_some_and(LeaseRow::is_alive)
    }
}

/// Which runs to list. The default lists all.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// As stored, not the effective one.
    pub status: Option<RunStatus>,
    pub parent: Option<String>,
    pub limit: Option<u32>,
}

/// May this text name a run, and a directory of its exports?
pub(crate) fn is_run_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=128).contains(&id.len()) && id.bytes().all(allowed) && !id.starts_with('.')
}
