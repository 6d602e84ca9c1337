//! The thread that keeps a running run's files up to date, and the handle its session holds.
//!
//! The session only says how far the log goes: there is no queue that could grow, and nothing here can fail or delay a
//! run. Changes are gathered for a tenth of a second; when writing is slow (thousands of agents, a slow disk), for ten
//! times as long as it takes, so that exports never cost more than a tenth of one core.

use super::files::Files;
use super::fold::Owner;
use super::pointer::point_at;
use super::rebuild;
use super::writer::{WriteError, Writer};
use crate::runs::JournalError;
use crate::store::Reader;
use fugato_model::Words;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Keeps the exports of one run.
#[derive(Debug)]
pub struct Exporter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

const GATHER: Duration = Duration::from_millis(100);
/// A disk that hangs must not hold a run for ever; past this the files are left to `doctor --rebuild`.
const PATIENCE: Duration = Duration::from_secs(30);

impl Exporter {
    /// Begins to export. `warn` is called at most once, when something cannot be written.
    pub fn start(state: &Path, run: &str, warn: impl FnOnce(Words) + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        shared.lock().changed = true;
        let work = Work {
            state: state.to_owned(),
            run: run.to_owned(),
            shared: shared.clone(),
            open: None,
            warn: Some(Box::new(warn)),
        };
        // Without a thread there are no exports, as with a disk that cannot be written; the run does not need them.
        let thread =
            std::thread::Builder::new().name("fugato-exports".to_owned()).spawn(move || work.run()).ok();
        Self { shared, thread }
    }

    /// The log has grown.
    pub fn committed(&self) {
        let mut asked = self.shared.lock();
        (asked.changed, asked.resting) = (true, false);
        drop(asked);
        self.shared.bell.notify_all();
    }

    /// Waits until the files say exactly what the log says, with nobody at work on the run.
    pub async fn settle(&self) {
        if self.thread.is_none() {
            return;
        }
        let settled = self.ask_to_settle();
        let _ = tokio::time::timeout(PATIENCE, settled).await;
    }
}

impl Exporter {
    fn ask_to_settle(&self) -> oneshot::Receiver<()> {
        let (done, settled) = oneshot::channel();
        let mut asked = self.shared.lock();
        (asked.changed, asked.resting) = (true, true);
        asked.settle.push(done);
        self.shared.bell.notify_all();
        settled
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let mut asked = self.shared.lock();
        asked.closing = true;
        self.shared.bell.notify_all();
        let ended = |asked: &mut Asked| !asked.ended;
        let (asked, waited) = self
            .shared
            .bell
            .wait_timeout_while(asked, PATIENCE, ended)
            .unwrap_or_else(PoisonError::into_inner);
        drop(asked);
        // A thread inside a system call that never returns cannot be ended; the process will take it along.
        if !waited.timed_out() {
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    asked: Mutex<Asked>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct Asked {
    changed: bool,
    /// Nobody works on the run.
    resting: bool,
    settle: Vec<oneshot::Sender<()>>,
    closing: bool,
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Work {
    state: PathBuf,
    run: String,
    shared: Arc<Shared>,
    open: Option<(Reader, Writer)>,
    warn: Option<Box<dyn FnOnce(Words) + Send>>,
}

/// Says that the thread has ended, however it ended.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        let mut asked = self.0.lock();
        asked.ended = true;
        asked.settle.clear();
        drop(asked);
        self.0.bell.notify_all();
    }
}

/// What to do next.
struct Order {
    owner: Owner,
    settle: Vec<oneshot::Sender<()>>,
    closing: bool,
}

impl Work {
    fn run(mut self) {
        let _ended = Ended(self.shared.clone());
        let mut rest = GATHER;
        loop {
            let Order { owner, settle, closing } = self.next(rest);
            let is_last = closing || !settle.is_empty();
            let began = Instant::now();
            if let Err(error) = self.pass(owner, is_last)
                && let Some(warn) = self.warn.take()
            {
                warn(error.words());
            }
            rest = GATHER.max(began.elapsed() * 10);
            for done in settle {
                // Whoever waited may be gone.
                let _ = done.send(());
            }
            if closing {
                return;
            }
        }
    }

    /// Waits for a change, then for more of them.
    fn next(&self, rest: Duration) -> Order {
        let urgent = |asked: &Asked| asked.closing || !asked.settle.is_empty();
        let waiting = |asked: &mut Asked| !asked.changed && !urgent(asked);
        let began = Instant::now();
        let asked = self.shared.lock();
        let asked = self.shared.bell.wait_while(asked, waiting).unwrap_or_else(PoisonError::into_inner);
        // What came while nothing was going on is gathered too: a run shorter than this is written once.
        let left = rest.saturating_sub(began.elapsed()).max(GATHER);
        let (mut asked, _) = self
            .shared
            .bell
            .wait_timeout_while(asked, left, |asked| !urgent(asked))
            .unwrap_or_else(PoisonError::into_inner);
        asked.changed = false;
        let owner = if asked.resting || asked.closing { Owner::Gone } else { Owner::Here };
        Order { owner, settle: std::mem::take(&mut asked.settle), closing: asked.closing }
    }

    fn pass(&mut self, owner: Owner, is_last: bool) -> Result<(), WriteError> {
        let mut pointed = Ok(());
        if self.open.is_none() {
            let reader = self.reader()?;
            let files = Files::open(&self.state.join("runs").join(&self.run))?;
            self.open = Some((reader, Writer::new(&self.run, files)));
            pointed = point_at(&self.state, &self.run);
        }
        let Some((reader, writer)) = &mut self.open else { return Ok(()) };
        let passed = writer.pass(reader, owner);
        if is_last {
            writer.sync();
        }
        if is_last && writer.has_lost_something() {
            // Somebody meddled with the files, or the disk was full for a while: once more from the log.
            self.open = None;
            rebuild::one(&self.reader()?, &self.state, &self.run, owner)?;
        }
        passed.and(pointed.map_err(WriteError::from))
    }

    fn reader(&self) -> Result<Reader, JournalError> {
        Reader::open(&self.state)?.ok_or(JournalError::Empty)
    }
}
