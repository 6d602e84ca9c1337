//! Child processes: each in a session of its own, limited in time, output and memory, and never outliving its owner.
//!
//! Owns starting, listening, ending and reaping. Knows no tools, no skills and no policy: who may start what was
//! decided before. Every way to end is a value of [`End`]; dropping the future of [`run`] ends the processes too.

mod attach;
mod ending;
mod fence;
mod group;
mod guardian;
mod keeper;
mod launch;
mod ledger;
mod listen;
mod procfs;
mod record;
mod sweep;
mod tag;
#[cfg(test)]
mod tests;

use fugato_model::Words;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use attach::{Attached, Pipes, attach};
pub use fence::{Fence, Gate};
pub use guardian::{appoint_guardian, guard_if_asked};
pub use launch::find_program;
pub use ledger::{record_in, sweep_dead_owners};
pub use record::{Note, ProcessLog, Recorded};
pub use sweep::{Swept, sweep};
/// How a call is asked to end. Cancelling a parent cancels its children.
pub use tokio_util::sync::CancellationToken as CancelToken;

/// What to start and how much it may use.
#[derive(Clone, Debug)]
pub struct Spec {
    /// A path, or a name that is looked up in the `PATH` of `env`.
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    /// The whole environment: nothing of ours is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Given to the process and then closed; without it, standard input is empty.
    pub stdin: Option<Vec<u8>>,
    pub streams: Streams,
    pub time_limit: Duration,
    /// Bytes of both streams together; past it the processes are ended.
    pub output_limit: usize,
    /// Bytes of each stream that [`Finished`] holds, from the beginning; whoever listens hears the rest all the same.
    pub kept_limit: usize,
    /// Bytes of private memory of each process; the kernel holds to it.
    pub memory_limit: Option<u64>,
    /// Of everything that runs below it, together: looked at several times a second, because only a control group
    /// could hold to it exactly.
    pub together: Together,
    /// Bytes of the largest file it may write.
    pub file_limit: Option<u64>,
    /// Closes the process in before it does anything.
    pub fence: Option<Arc<dyn Fence>>,
    /// Between asking (TERM) and forcing (KILL).
    pub grace: Duration,
    pub log: ProcessLog,
}

/// What a process and everything below it may use together; past it all of them are ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Together {
    pub processes: Option<u64>,
    /// Bytes of private memory.
    pub memory: Option<u64>,
}

/// Where standard error goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    Separate,
    /// Into standard output, in the order in which things were written.
    Merged,
}

/// Which stream some output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Cancelled,
    OutputLimit,
    /// More processes at once than [`Together::processes`].
    ProcessLimit,
    /// More memory than [`Together::memory`].
    MemoryLimit,
    CouldNotStart(Words),
}

/// What remains of a process. When this exists, everything that was started is gone.
#[derive(Clone, Debug)]
pub struct Finished {
    pub end: End,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub elapsed: Duration,
}

impl Spec {
    /// A program with no arguments, no environment, no input and the ordinary limits.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: None,
            streams: Streams::Separate,
            time_limit: Duration::from_secs(120),
            output_limit: 16 << 20,
            kept_limit: usize::MAX,
            memory_limit: None,
            together: Together::default(),
            file_limit: None,
            fence: None,
            grace: Duration::from_secs(5),
            log: ProcessLog::default(),
        }
    }
}

/// Starts the process, passes its output on as it comes, and returns when it and everything below it is gone.
///
/// On cancel, on a limit, and for what a finished process left running: TERM, then KILL after the grace. Reached are
/// the whole session and, on Linux, whatever left it but still carries our mark in its environment.
pub async fn run(
    mut spec: Spec,
    cancel: CancelToken,
    on_output: &mut (dyn FnMut(Stream, &[u8]) + Send),
) -> Finished {
    let began = Instant::now();
    let finished = |end, stdout, stderr| Finished { end, stdout, stderr, elapsed: began.elapsed() };
    if cancel.is_cancelled() {
        return finished(End::Cancelled, Vec::new(), Vec::new());
    }
    let stdin = spec.stdin.take();
    let limits = listen::Limits {
        time: spec.time_limit,
        output: spec.output_limit,
        kept: spec.kept_limit,
        grace: spec.grace,
    };
    let started = match keeper::start(spec, stdin.is_some()).await {
        Ok(started) => started,
        Err(words) => return finished(End::CouldNotStart(words), Vec::new(), Vec::new()),
    };
    match listen::Listener::new(started, stdin, limits) {
        Ok(listener) => {
            let (end, stdout, stderr) = listener.listen(cancel, on_output).await;
            finished(end, stdout, stderr)
        }
        Err(words) => finished(End::CouldNotStart(words), Vec::new(), Vec::new()),
    }
}
