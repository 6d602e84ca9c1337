//! Where a call happens and what it may use: roots, access, limits, environment.

use super::kept::Kept;
use crate::process::{End, ProcessLog, Spec, Together};
use fugato_model::{Words, words};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
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
    /// What searches through directories leave out.
    pub unread: Option<Unread>,
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
    /// Of a command and everything it starts, at once.
    pub together: Together,
    /// Of a file a command writes.
    pub largest_file_bytes: Option<u64>,
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
            together: Together::default(),
            largest_file_bytes: None,
            inline_bytes: 16 << 10,
            file_bytes: 16 << 20,
            results: 1000,
        }
    }
}

impl ToolLimits {
    /// Which limit on everything together was met.
    pub(super) fn overrun(&self, end: &End) -> Words {
        match end {
            End::MemoryLimit => {
                let mib = self.together.memory.unwrap_or_default() >> 20;
                words!("it used more than {mib} MiB of memory", "内存用量超过 {mib} MiB")
            }
            _ => {
                let most = self.together.processes.unwrap_or_default();
                words!("it started more than {most} processes at once", "同时启动的进程超过 {most} 个")
            }
        }
    }
}

/// Paths, relative to the project or absolute, that the agent is kept from reading.
#[derive(Clone)]
pub struct Unread(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl Unread {
    pub fn new(has: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(has))
    }

    pub(super) fn has(&self, path: &str) -> bool {
        (self.0)(path)
    }
}

impl fmt::Debug for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unread")
    }
}

/// Rewrites a command into one that runs confined, or says why it cannot.
#[derive(Clone)]
pub struct Wrapper(Arc<Wrap>);

type Wrap = dyn Fn(Spec, &ToolContext, &[&Path]) -> Result<Spec, Words> + Send + Sync;

impl Wrapper {
    /// Given the command, where it runs, and what it must be able to read besides.
    pub fn new(
        wrap: impl Fn(Spec, &ToolContext, &[&Path]) -> Result<Spec, Words> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(wrap))
    }
}

impl fmt::Debug for Wrapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wrapper")
    }
}

impl ToolContext {
    /// Makes the scratch directory when the first program needs it: most runs start none.
    fn has_scratch(&self) -> bool {
        use std::os::unix::fs::DirBuilderExt as _;
        !self.scratch.as_os_str().is_empty()
            && (self.scratch.is_dir()
                || std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.scratch).is_ok())
    }

    /// A process with the limits, the environment and the wrapper of this context.
    pub(crate) fn confined(&self, spec: Spec) -> Result<Spec, Words> {
        self.confined_with(spec, &[])
    }

    /// The same, for a program that must be able to read these places wherever they are.
    pub(super) fn confined_with(&self, mut spec: Spec, reads: &[&Path]) -> Result<Spec, Words> {
        spec.time_limit = self.limits.time;
        spec.output_limit = self.limits.output_bytes;
        spec.memory_limit = self.limits.memory_bytes;
        spec.together = self.limits.together;
        spec.file_limit = self.limits.largest_file_bytes;
        spec.grace = self.limits.grace;
        spec.log = self.processes.clone();
        let own = std::mem::replace(&mut spec.env, self.env.clone());
        spec.env.extend(own);
        if self.has_scratch() {
            spec.env.push(("TMPDIR".into(), self.scratch.clone().into_os_string()));
        }
        match &self.wrapper {
            Some(Wrapper(wrap)) => wrap(spec, self, reads),
            None => Ok(spec),
        }
    }
}
