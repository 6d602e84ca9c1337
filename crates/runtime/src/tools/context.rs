//! Where a call happens and what it may use: roots, access, limits, environment.

use super::kept::Kept;
use crate::process::{ProcessLog, Spec};
use fugato_model::Words;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Whether tools may change anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    #[default]
    ReadOnly,
    ReadWrite,
}

/// The surroundings of a call.
#[derive(Clone, Debug, Default)]
pub struct ToolContext {
    /// Directories that paths must stay beneath. The project comes first: relative paths start there.
    pub roots: Vec<PathBuf>,
    /// A root for throw-away files and the `TMPDIR` of commands. Empty: there is none.
    pub scratch: PathBuf,
    pub access: Access,
    pub limits: ToolLimits,
    /// The whole environment of commands and scripts; what must stay secret is not in it.
    pub env: Vec<(OsString, OsString)>,
    /// Told of every process that starts and ends.
    pub processes: ProcessLog,
    /// Put around every command before it starts: the place of a sandbox.
    pub wrapper: Option<Wrapper>,
    /// Whose call it is.
    pub agent: String,
    /// What lives longer than a call: connections and the browser.
    pub kept: Arc<Kept>,
}

/// How much a call may use. Past a limit the call ends, or its answer is cut, and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// For a command that asks for nothing else, a script, a search.
    pub time: Duration,
    /// The most a command may ask for.
    pub longest_time: Duration,
    /// Between asking a process to end and forcing it.
    pub grace: Duration,
    /// Of a command, both streams together.
    pub output_bytes: usize,
    /// Private memory of each process of a command.
    pub memory_bytes: Option<u64>,
    /// Of an answer; the rest goes to a blob.
    pub inline_bytes: usize,
    /// Of a file that is written or edited.
    pub file_bytes: usize,
    /// Paths of a Glob, matches of a Grep.
    pub results: usize,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(120),
            longest_time: Duration::from_secs(600),
            grace: Duration::from_secs(5),
            output_bytes: 16 << 20,
            // Enough for a linker or a test suite, less than what makes an ordinary machine swap.
            memory_bytes: Some(4 << 30),
            inline_bytes: 16 << 10,
            file_bytes: 16 << 20,
            results: 1000,
        }
    }
}

/// Rewrites a command into one that runs confined, or says why it cannot.
#[derive(Clone)]
pub struct Wrapper(Arc<Wrap>);

type Wrap = dyn Fn(Spec, &ToolContext) -> Result<Spec, Words> + Send + Sync;

impl Wrapper {
    pub fn new(wrap: impl Fn(Spec, &ToolContext) -> Result<Spec, Words> + Send + Sync + 'static) -> Self {
        Self(Arc::new(wrap))
    }
}

impl fmt::Debug for Wrapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wrapper")
    }
}

impl ToolContext {
    /// A process with the limits, the environment and the wrapper of this context.
    pub(super) fn confined(&self, mut spec: Spec) -> Result<Spec, Words> {
        spec.time_limit = self.limits.time;
        spec.output_limit = self.limits.output_bytes;
        spec.memory_limit = self.limits.memory_bytes;
        spec.grace = self.limits.grace;
        spec.log = self.processes.clone();
        let own = std::mem::replace(&mut spec.env, self.env.clone());
        spec.env.extend(own);
        if self.scratch.is_dir() {
            spec.env.push(("TMPDIR".into(), self.scratch.clone().into_os_string()));
        }
        match &self.wrapper {
            Some(Wrapper(wrap)) => wrap(spec, self),
            None => Ok(spec),
        }
    }
}
