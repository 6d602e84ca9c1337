//! A process somebody talks with for as long as it lives: its pipes are handed over, its end is not awaited.

use super::keeper::{self, Leash, Started};
use super::{End, Spec};
use fugato_model::{Words, words};
use std::time::Duration;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// After a kill, how long we wait for the kernel.
const UNKILLABLE: Duration = Duration::from_secs(10);

/// A running process. Whoever drops it ends the process and everything below it.
#[derive(Debug)]
pub struct Attached {
    leash: Leash,
    ended: oneshot::Receiver<End>,
    pid: u32,
}

/// The ends of its pipes that are ours.
#[derive(Debug)]
pub struct Pipes {
    pub input: pipe::Sender,
    pub output: pipe::Receiver,
    /// None when it was merged into the output.
    pub errors: Option<pipe::Receiver>,
}

/// Starts a process. Of the limits of `spec` only memory and grace count: it lives until it is let go.
pub async fn attach(spec: Spec) -> Result<(Attached, Pipes), Words> {
    let failed = |error| words!("its pipes cannot be used: {error}", "无法使用其管道：{error}");
    let Started { leash, stdin, stdout, stderr, ended } = keeper::start(spec, true).await?;
    let input = stdin.ok_or_else(|| words!("it has no input", "它没有输入"))?;
    let pipes = Pipes {
        input: pipe::Sender::from_owned_fd(input).map_err(failed)?,
        output: pipe::Receiver::from_owned_fd(stdout).map_err(failed)?,
        errors: stderr.map(pipe::Receiver::from_owned_fd).transpose().map_err(failed)?,
    };
    let pid = leash.0.recorded.pid;
    Ok((Attached { leash, ended, pid }, pipes))
}

impl Attached {
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the end until `patience` is over, then forces it. When this returns, everything is gone.
    pub async fn end(mut self, patience: Duration) {
        if timeout(patience, &mut self.ended).await.is_err() {
            self.leash.0.kill();
            // What the kernel holds on to longer, the keeper goes on waiting for alone.
            let _ = timeout(UNKILLABLE, &mut self.ended).await;
        }
    }

    /// Ends it without waiting; what comes gets to know when everything is gone.
    pub(crate) fn kill(self) -> oneshot::Receiver<End> {
        self.leash.0.kill();
        self.ended
    }
}
