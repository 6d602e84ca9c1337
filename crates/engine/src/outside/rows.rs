//! What is kept of a run and of each of its agents, so that a decision need not read the log.

use crate::event::{Announced, Origin, Outcome, Report, Verb};
use fugato_model::Words;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A run of agents outside. Small, whatever its log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRow {
    /// Number and time of the last event; kept with the run itself.
    #[serde(skip)]
    pub seq: u64,
    #[serde(skip)]
    pub at: i64,
    pub generation: u64,
    /// `pause all`: whoever joins is paused.
    pub held: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Words>,
    /// Agents so far, and how many of them have not ended.
    pub agents: u32,
    pub live: u32,
    /// Live agents that are paused.
    pub paused: u32,
    /// Calls that will start an agent, oldest first, with the agent that made each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub announced: Vec<(u32, Announced)>,
    /// Who waits for whom: the id of the agent waited for, and the number of the one that waits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<(String, u32)>,
}

/// One agent outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRow {
    pub path: String,
    pub role: String,
    pub task: String,
    pub origin: Origin,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    pub started_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    pub paused: bool,
    /// It has answered, and goes on when one of its agents ends or somebody speaks to it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
    /// Directives it has not heard of, or not gone by yet; at most one of each kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<Due>,
    /// The last directive it has gone by.
    pub acked: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
}

/// How an agent outside ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    Done,
    Failed,
    Cancelled,
}

/// A directive on its way to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    pub generation: u64,
    pub verb: Verb,
    pub text: String,
    pub stage: DueStage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DueStage {
    Recorded,
    Delivered,
}

/// A message the agent has not seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    pub from: String,
    pub text: String,
}

impl AgentRow {
    pub fn is_live(&self) -> bool {
        self.stopped.is_none()
    }

    pub fn is_cancelled(&self) -> bool {
        self.stopped == Some(Stopped::Cancelled)
    }

    pub fn key(&self) -> String {
        key_of(&self.origin.host, &self.origin.session, self.origin.subagent.as_deref())
    }
}

/// Under which an agent is found again. Names of hosts are short words; the lengths keep the parts apart.
pub fn key_of(host: &str, session: &str, subagent: Option<&str>) -> String {
    match subagent {
        None => format!("{host}:{}:{session}", session.len()),
        Some(subagent) => format!("{host}:{}:{session}:{subagent}", session.len()),
    }
}

/// What a decision changed, to be written with its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub run: bool,
    pub agents: BTreeSet<u32>,
    /// Agents that are new, or whose state is another one: what lists show.
    pub shown: bool,
    pub files: BTreeMap<String, u32>,
}
