//! What the exports remember of one agent: its names, how it stands, when. No conversation, no results.

use super::name::agent_dir;
use super::status::AgentWord;
use fugato_engine::Report;
use std::sync::Arc;

/// How far an agent has come, as its log alone says; pauses, questions and the end of the run are looked at when shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Pending,
    Working,
    Done,
    Concerns,
    Blocked,
    NeedsContext,
    Failed,
    Cancelled,
}

/// How the run stands, as far as it matters to each agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// Somebody works on it.
    Live,
    /// Nobody does, but it can go on.
    Held,
    /// It has ended for good, at this moment.
    Over(i64),
}

#[derive(Debug)]
pub(super) struct Record {
    pub id: Arc<str>,
    pub role: Arc<str>,
    pub task: Box<str>,
    pub phase: Option<u32>,
    /// Where its files are, if not where its id says.
    pub dir: Option<Box<str>>,
    /// A node that does nothing has nothing to say, and no directory.
    pub speaks: bool,
    pub stage: Stage,
    /// In which word it summed up its work.
    pub report: Option<Report>,
    pub paused: bool,
    pub questions: u32,
    pub started_at: Option<i64>,
    pub completed_at: Option<i64>,
    pub heartbeat: Option<i64>,
    pub acked: u64,
    /// What it did last.
    pub progress: Box<str>,
    /// Its `status.json` is not what it should be.
    pub stale: bool,
    /// It has said something: its directory exists whatever the size of the plan.
    pub heard: bool,
}

impl Record {
    pub fn new(id: Arc<str>, role: Arc<str>, task: &str, phase: Option<u32>) -> Self {
        let dir = Some(agent_dir(&id)).filter(|dir| **dir != *id);
        Self {
            dir: dir.map(|dir| format!("agents/{dir}").into()),
            id,
            role,
            task: task.into(),
            phase,
            speaks: true,
            stage: Stage::Pending,
            report: None,
            paused: false,
            questions: 0,
            started_at: None,
            completed_at: None,
            heartbeat: None,
            acked: 0,
            progress: "".into(),
            stale: true,
            heard: false,
        }
    }

    /// A file of this agent.
    pub fn file(&self, name: &str) -> String {
        match &self.dir {
            Some(dir) => format!("{dir}/{name}"),
            None => format!("agents/{}/{name}", self.id),
        }
    }

    /// It works, for the first time or again.
    pub fn begin(&mut self, now: i64) {
        self.started_at.get_or_insert(now);
        (self.completed_at, self.report) = (None, None);
        self.stage = Stage::Working;
    }

    pub fn end(&mut self, stage: Stage, now: i64) {
        self.stage = stage;
        self.paused = false;
        self.questions = 0;
        if self.started_at.is_some() {
            self.completed_at = Some(now);
        }
    }

    /// The stage of one that has answered.
    pub fn answered(&self) -> Stage {
        match self.report {
            None | Some(Report::Done) => Stage::Done,
            Some(Report::DoneWithConcerns) => Stage::Concerns,
            Some(Report::Blocked) => Stage::Blocked,
            Some(Report::NeedsContext) => Stage::NeedsContext,
        }
    }

    pub fn is_over(&self) -> bool {
        !matches!(self.stage, Stage::Pending | Stage::Working)
    }

    pub fn shown(&self, around: Around) -> AgentWord {
        match (self.stage, around) {
            (Stage::Done, _) => AgentWord::Done,
            (Stage::Concerns, _) => AgentWord::DoneWithConcerns,
            (Stage::Blocked, _) => AgentWord::Blocked,
            (Stage::NeedsContext, _) => AgentWord::NeedsContext,
            (Stage::Failed, _) => AgentWord::Failed,
            // What has not ended with its run never will.
            (Stage::Cancelled, _) | (Stage::Pending | Stage::Working, Around::Over(_)) => {
                AgentWord::Cancelled
            }
            (Stage::Pending, _) => AgentWord::Pending,
            (Stage::Working, _) if self.paused => AgentWord::Paused,
            (Stage::Working, _) if self.questions > 0 => AgentWord::AwaitingInput,
            (Stage::Working, Around::Live) => AgentWord::Running,
            (Stage::Working, Around::Held) => AgentWord::Paused,
        }
    }

    pub fn shown_completed_at(&self, around: Around) -> Option<i64> {
        match around {
            Around::Over(at) if !self.is_over() && self.started_at.is_some() => Some(at),
            _ => self.completed_at,
        }
    }
}
