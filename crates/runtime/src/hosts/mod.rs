//! Agents run by somebody else's program: Claude Code and Codex as child processes, and plain scripts.
//!
//! Owns what to start for a task, what of our environment it sees, and what its output means. Knows neither runs nor the
//! log: whoever calls records the events. Whatever the program does, [`run`] gives one definite end, and then nothing that
//! was started is left.

mod claude;
mod codex;
mod environment;
mod find;
pub mod gate;
pub(crate) mod letters;
mod lines;
mod listen;
mod script;
mod stream;
#[cfg(test)]
mod tests;

pub use environment::environment;
pub use find::{Found, Lacking, Version, find, is_there, missing};
pub use script::{ScriptTask, run_script};

use crate::process::{CancelToken, ProcessLog};
use crate::tools::Access;
use fugato_model::Words;
use fugato_model::chat::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A program that can run an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Host {
    Claude,
    Codex,
}

impl Host {
    pub const ALL: [Self; 2] = [Self::Claude, Self::Codex];

    /// As in `--agent-host NAME`, `[hosts.NAME]` and the name of the program.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// What people call it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.as_str() == name)
    }
}

/// One task for a host.
#[derive(Clone, Debug)]
pub struct HostTask {
    pub host: Host,
    /// A path, or a name looked up in the `PATH` of `env`.
    pub program: OsString,
    pub cwd: PathBuf,
    /// What is to be done. Given on standard input, so it may be long.
    pub prompt: String,
    /// Added to the host's own system prompt. A continued session keeps the one it began with.
    pub system: String,
    /// In the host's own words; without it, the host's own choice.
    pub model: Option<String>,
    pub tools: HostTools,
    pub access: Access,
    pub guard: Guard,
    /// Answers of the model. Claude Code counts them itself; with Codex they are counted by what it reports.
    pub max_turns: Option<u32>,
    /// What it may cost. Only Claude Code knows what it costs and stops by itself.
    pub max_micro_usd: Option<u64>,
    /// Goes on with a conversation of this host in the same directory.
    pub resume: Option<HostSession>,
    /// Further arguments, before the session: settings, MCP servers, hooks.
    pub arguments: Vec<OsString>,
    /// The whole environment; see [`environment`].
    pub env: Vec<(OsString, OsString)>,
    pub limits: HostLimits,
    pub log: ProcessLog,
}

impl HostTask {
    /// A task with read-only access, the ordinary limits and an empty environment.
    pub fn new(host: Host, cwd: impl Into<PathBuf>, prompt: impl Into<String>) -> Self {
        Self {
            host,
            program: host.as_str().into(),
            cwd: cwd.into(),
            prompt: prompt.into(),
            system: String::new(),
            model: None,
            tools: HostTools::default(),
            access: Access::ReadOnly,
            guard: Guard::Kept,
            max_turns: None,
            max_micro_usd: None,
            resume: None,
            arguments: Vec::new(),
            env: Vec::new(),
            limits: HostLimits::default(),
            log: ProcessLog::default(),
        }
    }
}

/// What the settings say about a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSettings {
    pub program: OsString,
    pub model: Option<String>,
    pub guard: Guard,
    /// Names of further variables it may see.
    pub env: Vec<String>,
}

/// Which of its tools a host may use. Codex has no such lists: there only access counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTools {
    /// Only these are there. Names the host does not know are left out. `None`: what access allows.
    pub only: Option<Vec<String>>,
    /// These need no permission: `Bash`, or `Bash(git log:*)`.
    pub approved: Vec<String>,
    /// These are not there, whatever else is said.
    pub denied: Vec<String>,
}

/// Whether the host's own permission checks and sandbox stay on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guard {
    #[default]
    Kept,
    /// Only because the person's own settings say so (`hosts.NAME.guard = "off"`), and only with read-write access.
    Off,
}

/// How much a task may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLimits {
    /// In all.
    pub time: Duration,
    /// Between asking it to end and forcing it.
    pub grace: Duration,
    /// How long it may stay silent after its last word was said.
    pub linger: Duration,
    /// The same while it tells of work of its own in the background: what that brings may be worth another word.
    pub background: Duration,
    /// Of everything it prints.
    pub output_bytes: usize,
    /// Of one line: a longer one is passed over, with a notice.
    pub line_bytes: usize,
}

impl Default for HostLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(3600),
            grace: Duration::from_secs(5),
            linger: Duration::from_secs(30),
            background: Duration::from_secs(600),
            // Hours of streamed text with every tool result in it stay below.
            output_bytes: 1 << 30,
            // A screenshot in a result is a few megabytes of base64.
            line_bytes: 32 << 20,
        }
    }
}

/// A conversation that a host keeps, and what of it was counted already: Codex counts from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSession {
    pub id: String,
    #[serde(default)]
    pub counted: Usage,
}

/// What happens while a host works.
#[derive(Clone, Debug, PartialEq)]
pub enum HostEvent {
    /// Its conversation has this name, from here on also if it is killed.
    Session(String),
    /// A piece of what it says, in order.
    Text(String),
    ToolStarted {
        /// Unique within the task.
        id: String,
        name: String,
        arguments: Value,
        /// The call of an agent that the host itself started.
        parent: Option<String>,
    },
    /// For every started one, also when it was cut off.
    ToolEnded {
        id: String,
        is_error: bool,
        /// The beginning of its result.
        head: String,
    },
    /// Of this task so far.
    Usage(Usage),
    /// Something worth a line: a retry, a warning, output that was passed over.
    Notice(String),
}

/// What became of a task. When this exists, everything that was started is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct HostEnd {
    pub end: Ending,
    /// Its last message; of a task that did not finish, as much as was said.
    pub text: String,
    /// With it, the conversation can go on.
    pub session: Option<HostSession>,
    /// Of this task alone.
    pub usage: Usage,
    /// As the host reckons it. `None` when it does not know the price, which is not zero.
    pub micro_usd: Option<u64>,
    /// Answers of the model, as far as the host reports them.
    pub steps: u32,
    pub elapsed: Duration,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Done,
    Failed(Words),
    /// It used all its turns, or all it may cost.
    TurnLimit,
    Cancelled,
    TimedOut,
}

/// Runs one task to its end.
///
/// The session, its whole process group and what left the group but carries our mark are ended on cancel, at the limits,
/// and when the future is dropped.
pub async fn run(
    task: HostTask,
    cancel: CancelToken,
    on_event: &mut (dyn FnMut(HostEvent) + Send),
) -> HostEnd {
    listen::run(task, cancel, on_event).await
}
