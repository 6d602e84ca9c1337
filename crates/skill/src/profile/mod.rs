//! An orchestrator profile as a value: its modes, their agents, and the skills block of each.
//!
//! Owns the reading of the file and the shape of what was read. Knows nothing of what is installed: that a name is
//! stale is the business of [`crate::policy`].

mod agents;
mod block;
mod entry;
mod fields;
mod json;
mod lists;
mod looks;
mod read;
mod report;
mod schema;
mod stages;
mod template;
mod values;

pub use block::{Listed, Place, SkillsBlock, Standing};
pub use entry::{Entry, EntryError};
pub use json::MAX_BYTES;
pub(crate) use json::{OPTIONS, without_bom};
pub use looks::has_mode;
pub(crate) use report::Report;
pub use schema::schema;
pub use stages::{Stage, StageMode};
pub use template::template;

use fugato_model::{AgentId, Diagnostic};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// How the agents of a profile work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Single,
    Loop,
    Director,
    Spec,
    Agenda,
}

impl Mode {
    pub const ALL: [Self; 5] = [Self::Single, Self::Loop, Self::Director, Self::Spec, Self::Agenda];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Loop => "loop",
            Self::Director => "director",
            Self::Spec => "spec",
            Self::Agenda => "agenda",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Not one of the five modes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a mode (expected `single`, `loop`, `director`, `spec` or `agenda`)")]
pub struct ModeError(pub String);

impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Self, ModeError> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| ModeError(text.chars().take(80).collect()))
    }
}

/// What an agent is in its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRole {
    /// director: `mainAgent`
    Main,
    /// director: an element of `subAgents`
    Sub,
    /// loop: `loopAgent`
    Loop,
    /// spec: a node of type `worker`
    WorkerNode,
    /// spec: a node of type `review`
    ReviewNode,
    /// agenda: `planner`
    Planner,
    /// agenda: an element of `workers`
    Worker,
    /// agenda: `finalWorker`
    FinalWorker,
    /// single: `node`
    Single,
}

impl AgentRole {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Sub => "sub",
            Self::Loop => "loop",
            Self::WorkerNode => "worker_node",
            Self::ReviewNode => "review_node",
            Self::Planner => "planner",
            Self::Worker => "worker",
            Self::FinalWorker => "final_worker",
            Self::Single => "single",
        }
    }

    /// Review nodes judge; a catalog in their prompt would be noise. Their skill tools work all the same.
    pub const fn gets_catalog(self) -> bool {
        !matches!(self, Self::ReviewNode)
    }
}

impl fmt::Display for AgentRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One agent of one mode.
#[derive(Clone, Debug)]
pub struct Agent {
    /// What the file says, or the fixed id of a block that needs none: `main`, `loop`, `planner`, `final`, `node`.
    pub id: AgentId,
    pub role: AgentRole,
    pub description: Option<String>,
    pub system_prompt: Option<String>,
    /// spec: the template of a node's user message.
    pub user_prompt_template: Option<String>,
    pub model: Option<String>,
    pub preset: Option<String>,
    /// `None`: what the profile gives.
    pub tools: Option<Vec<String>>,
    pub max_rounds: Option<u32>,
    /// spec: its failure does not fail the stage.
    pub optional: bool,
    /// JSON pointer of its block in the file, such as `/subAgents/0`.
    pub pointer: String,
    pub skills: Option<SkillsBlock>,
    pub standing: Standing,
    pub place: Place,
}

/// The policy and agents of one mode of a profile.
#[derive(Clone, Debug)]
pub struct ModePolicy {
    pub mode: Mode,
    /// JSON pointer of the mode's block: empty for the flat form, `/modes/director` otherwise.
    pub pointer: String,
    pub skills: Option<SkillsBlock>,
    pub agents: Vec<Agent>,
    /// spec: which nodes run when. Empty in other modes.
    pub stages: Vec<Stage>,
    pub tools: Option<Vec<String>>,
    pub limits: Vec<(String, f64)>,
}

/// A profile that could be read. It may still carry blocks that are refused: those resolve to nothing.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The file, as diagnostics name it.
    pub path: String,
    /// The active mode.
    pub mode: Mode,
    pub preset: Option<String>,
    pub character: Option<String>,
    pub description: Option<String>,
    /// An error that leaves open what the whole file means (a duplicate key, policy beside `modes`, a scope that is none): every agent
    /// resolves to nothing.
    pub standing: Standing,
    policies: Vec<ModePolicy>,
    source: Arc<str>,
}

/// What reading a profile gave. Without a profile there is at least one error.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub profile: Option<Profile>,
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

impl Profile {
    /// Reads JSON or JSONC. Never fails without saying why; `path` is only used in diagnostics.
    pub fn parse(path: &str, text: &str) -> Parsed {
        read::read(path, text)
    }

    /// As [`Profile::parse`], from a file's bytes: says where they are not UTF-8.
    pub fn parse_bytes(path: &str, bytes: &[u8]) -> Parsed {
        match json::text_of(path, bytes) {
            Ok(text) => read::read(path, text),
            Err(diagnostic) => Parsed { profile: None, diagnostics: vec![*diagnostic] },
        }
    }

    /// The modes that have a policy in this file, in the order of the file.
    pub fn modes(&self) -> Vec<Mode> {
        self.policies.iter().map(|policy| policy.mode).collect()
    }

    pub fn policy(&self, mode: Mode) -> Option<&ModePolicy> {
        self.policies.iter().find(|policy| policy.mode == mode)
    }

    pub fn policies(&self) -> &[ModePolicy] {
        &self.policies
    }

    /// The agents of a mode, in the order of the file; none when the file does not have that mode.
    pub fn agents(&self, mode: Mode) -> &[Agent] {
        self.policy(mode).map_or(&[], |policy| policy.agents.as_slice())
    }

    pub fn agent(&self, mode: Mode, id: &str) -> Option<&Agent> {
        self.agents(mode).iter().find(|agent| agent.id.as_str() == id)
    }

    pub fn mode_skills(&self, mode: Mode) -> Option<&SkillsBlock> {
        self.policy(mode).and_then(|policy| policy.skills.as_ref())
    }

    /// The text the profile was read from, without a byte-order mark.
    pub fn source(&self) -> &str {
        &self.source
    }
}

#[cfg(test)]
mod tests;
