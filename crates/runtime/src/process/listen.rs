//! The caller's side of a running process: feeds it, hears it, watches the clock and the cancel, and stops it.

use super::keeper::{Leash, Started};
use super::{CancelToken, End, Stream};
use fugato_model::{Words, words};
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

/// A pipe of Linux holds this much; reading more at once gains nothing.
const CHUNK: usize = 64 << 10;
/// After a kill, how long we wait for the kernel. Past it the keeper goes on waiting alone.
const UNKILLABLE: Duration = Duration::from_secs(10);
/// How long output is still read when everyone is gone: it is all in the pipe by then, unless a stranger holds it open.
const DRAIN: Duration = Duration::from_millis(200);
/// Further away than any run.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub time: Duration,
    pub output: usize,
    pub kept: usize,
    pub grace: Duration,
}

/// How far stopping has come.
#[derive(Clone, Copy)]
enum Stage {
    Running,
    Asked,
    Killed,
}

#[derive(Debug)]
pub(super) struct Listener {
    leash: Leash,
    ended: oneshot::Receiver<End>,
    feed: Feed,
    out: Tap,
    err: Tap,
    limits: Limits,
}

impl Listener {
    pub fn new(started: Started, input: Option<Vec<u8>>, limits: Limits) -> Result<Self, Words> {
        let failed = |error| words!("the output cannot be read: {error}", "无法读取输出：{error}");
        let Started { leash, stdin, stdout, stderr, ended } = started;
        let sender = stdin.map(pipe::Sender::from_owned_fd).transpose().map_err(failed)?;
        let feed = Feed { sender, input: input.unwrap_or_default(), given: 0 };
        let out = Tap::open(Some(stdout), Stream::Out, limits.kept).map_err(failed)?;
        let err = Tap::open(stderr, Stream::Err, limits.kept).map_err(failed)?;
        Ok(Self { leash, ended, feed, out, err, limits })
    }

    /// Until everything is gone.
    pub async fn listen(
        mut self,
        cancel: CancelToken,
        on_output: &mut (dyn FnMut(Stream, &[u8]) + Send),
    ) -> (End, Vec<u8>, Vec<u8>) {
        let (mut stage, mut verdict) = (Stage::Running, None);
        let mut next = Instant::now() + self.limits.time.min(FOREVER);
        let exit = loop {
            let room = self.limits.output.saturating_sub(self.out.heard + self.err.heard);
            // In this order, so that a flood of output cannot keep us from hearing a cancel.
            let wish = tokio::select! {
                biased;
                exit = &mut self.ended => break exit.ok(),
                () = cancel.cancelled(), if matches!(stage, Stage::Running) => Some(End::Cancelled),
                () = sleep_until(next) => Some(End::TimedOut),
                read = self.out.read() => self.out.keep(read, room, on_output),
                read = self.err.read() => self.err.keep(read, room, on_output),
                () = self.feed.give() => None,
            };
            let Some(wish) = wish else { continue };
            stage = match (stage, wish) {
                (Stage::Running, wish) => {
                    verdict = Some(wish);
                    self.leash.0.terminate();
                    next = Instant::now() + self.limits.grace.min(FOREVER);
                    Stage::Asked
                }
                (Stage::Asked, End::TimedOut) => {
                    self.leash.0.kill();
                    next = Instant::now() + UNKILLABLE;
                    Stage::Killed
                }
                (Stage::Killed, End::TimedOut) => break None,
                (stage, _) => stage,
            };
        };
        // A short program may be gone before its output was read; the limit holds for it too.
        let drained = timeout(DRAIN, self.drain(on_output)).await.unwrap_or(None);
        let end = verdict.or(drained).or(exit).unwrap_or(End::Cancelled);
        (end, self.out.kept, self.err.kept)
    }

    /// What is left in the pipes; [`End::OutputLimit`] if that was too much.
    async fn drain(&mut self, on_output: &mut (dyn FnMut(Stream, &[u8]) + Send)) -> Option<End> {
        let mut wish = None;
        while wish.is_none() && (self.out.receiver.is_some() || self.err.receiver.is_some()) {
            let room = self.limits.output.saturating_sub(self.out.heard + self.err.heard);
            wish = tokio::select! {
                biased;
                read = self.out.read() => self.out.keep(read, room, on_output),
                read = self.err.read() => self.err.keep(read, room, on_output),
            };
        }
        wish
    }
}

/// One stream of output.
#[derive(Debug)]
struct Tap {
    receiver: Option<pipe::Receiver>,
    stream: Stream,
    chunk: Vec<u8>,
    kept: Vec<u8>,
    /// The most that is kept.
    most: usize,
    /// All that came, kept or not.
    heard: usize,
}

impl Tap {
    fn open(end: Option<OwnedFd>, stream: Stream, most: usize) -> std::io::Result<Self> {
        let receiver = end.map(pipe::Receiver::from_owned_fd).transpose()?;
        let chunk = if receiver.is_some() { vec![0; CHUNK] } else { Vec::new() };
        Ok(Self { receiver, stream, chunk, kept: Vec::new(), most, heard: 0 })
    }

    /// The number of bytes now in the chunk; 0 at the end. A closed stream is never ready.
    async fn read(&mut self) -> usize {
        match &mut self.receiver {
            Some(receiver) => receiver.read(&mut self.chunk).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    /// Keeps what there is room for; wishes for an end when there was more.
    fn keep(
        &mut self,
        read: usize,
        room: usize,
        on_output: &mut (dyn FnMut(Stream, &[u8]) + Send),
    ) -> Option<End> {
        if read == 0 {
            self.receiver = None;
            return None;
        }
        let fresh = self.chunk.get(..read.min(room)).unwrap_or_default();
        if !fresh.is_empty() {
            let free = self.most.saturating_sub(self.kept.len()).min(fresh.len());
            self.kept.extend_from_slice(fresh.get(..free).unwrap_or_default());
            self.heard += fresh.len();
            on_output(self.stream, fresh);
        }
        (read > room).then_some(End::OutputLimit)
    }
}

/// What is still to be given to the process.
#[derive(Debug)]
struct Feed {
    sender: Option<pipe::Sender>,
    input: Vec<u8>,
    given: usize,
}

impl Feed {
    /// Gives a piece; closes the input when all is given or nobody wants more.
    async fn give(&mut self) {
        let Some(sender) = &mut self.sender else { return std::future::pending().await };
        let rest = self.input.get(self.given..).unwrap_or_default();
        let given = if rest.is_empty() { 0 } else { sender.write(rest).await.unwrap_or(0) };
        self.given += given;
        if given == 0 {
            self.sender = None;
            self.input = Vec::new();
        }
    }
}
