//! The thread that keeps a running run's files up to date, and the handle its session holds.
//!
//! The session hands over what it has stored; what is too much to hold is read from the log again. Nothing here can fail
//! or delay a run. Changes are gathered for a tenth of a second, in large runs for longer: a millisecond for each agent
//! there is by then, and ten times as long as writing takes, so that exports never cost more than a tenth of one core.

use super::files::Files;
use super::fold::Owner;
use super::intake::{Import, Intake};
use super::pointer::point_at;
use super::rebuild;
use super::writer::{WriteError, Writer};
use crate::runs::JournalError;
use crate::store::Reader;
use fugato_engine::{Event, EventKind};
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
/// Nobody reads hundreds of files ten times a second.
const GATHER_PER_AGENT: Duration = Duration::from_millis(1);
const LONGEST_GATHER: Duration = Duration::from_secs(2);
/// More events than this are not held for the writer; it is woken when half of them wait.
const HELD: usize = 65_536;
/// A disk that hangs must not hold a run for ever; past this the files are left to `doctor --rebuild`.
const PATIENCE: Duration = Duration::from_secs(30);

impl Exporter {
    /// Begins to export a run of about this many agents from its log. `warn` is called at most once, when something cannot be written.
    pub fn start(state: &Path, run: &str, agents: usize, warn: impl FnOnce(Words) + Send + 'static) -> Self {
        let exporter = Self::begin(state, run, agents, Box::new(warn), None);
        exporter.committed(&Arc::default());
        exporter
    }

    /// The same as soon as it is told that something was stored; whatever other programs write into the files is taken.
    pub(crate) fn listen(
        state: &Path,
        run: &str,
        agents: usize,
        warn: impl FnOnce(Words) + Send + 'static,
        import: Import,
    ) -> Self {
        Self::begin(state, run, agents, Box::new(warn), Some(import))
    }

    fn begin(state: &Path, run: &str, agents: usize, warn: Warn, import: Option<Import>) -> Self {
        let shared = Arc::new(Shared::default());
        let mut asked = shared.lock();
        asked.agents = u32::try_from(agents).unwrap_or(u32::MAX);
        drop(asked);
        let work = Work {
            state: state.to_owned(),
            run: run.to_owned(),
            shared: shared.clone(),
            open: None,
            warn: Some(warn),
            import,
            intake: None,
            owner: Owner::Gone,
            beaten: Instant::now(),
        };
        // Without a thread there are no exports, as with a disk that cannot be written; the run does not need them.
        let thread =
            std::thread::Builder::new().name("fugato-exports".to_owned()).spawn(move || work.run()).ok();
        Self { shared, thread }
    }

    /// The log has grown by these events. Whoever does not have them gives none: they are read from the log.
    pub fn committed(&self, events: &Arc<Vec<Event>>) {
        let mut asked = self.shared.lock();
        (asked.has_log, asked.changed, asked.resting) = (true, true, false);
        asked.held += events.len();
        let begun = events.iter().filter(|event| is_beginning(&event.kind)).count();
        asked.begun = asked.begun.saturating_add(u32::try_from(begun).unwrap_or(u32::MAX));
        asked.behind |= events.is_empty() || asked.held > HELD;
        if asked.behind {
            asked.fresh.clear();
        } else {
            asked.fresh.push(events.clone());
        }
        drop(asked);
        self.shared.bell.notify_all();
    }

    /// Nobody works on the run any more: the files are written now, and not waited for.
    pub fn rest(&self) {
        drop(self.ask_to_settle());
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
    /// There is something in the log: before that, nobody knows whether there will ever be a run.
    has_log: bool,
    changed: bool,
    /// Events that were stored since the last pass, as they were stored together, and how many they are.
    fresh: Vec<Arc<Vec<Event>>>,
    held: usize,
    /// Agents the plan has, and agents that were begun: a master adds its own.
    agents: u32,
    begun: u32,
    /// There were more of them than are held.
    behind: bool,
    /// Nobody works on the run.
    resting: bool,
    settle: Vec<oneshot::Sender<()>>,
    closing: bool,
    ended: bool,
}

impl Asked {
    /// How long changes are gathered.
    fn gather(&self) -> Duration {
        GATHER_PER_AGENT.saturating_mul(self.agents.max(self.begun)).clamp(GATHER, LONGEST_GATHER)
    }

    fn is_urgent(&self) -> bool {
        self.closing || !self.settle.is_empty() || self.held > HELD / 2
    }
}

/// One more agent, or a skill that is called while the run goes on.
fn is_beginning(kind: &EventKind) -> bool {
    use EventKind as E;
    matches!(
        kind,
        E::AgentStarted { .. } | E::AgentQueued { .. } | E::AgentHosted { .. } | E::SkillCalled { .. }
    )
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
    open: Option<Writer>,
    warn: Option<Warn>,
    /// Until the files are open; then the intake has it.
    import: Option<Import>,
    intake: Option<Intake>,
    /// As the files show it.
    owner: Owner,
    beaten: Instant,
}

/// How often agents at work are said to be alive although nothing is heard of them.
const BEAT: Duration = Duration::from_secs(10);

type Warn = Box<dyn FnOnce(Words) + Send>;

/// How often files of the run are looked at that others may have written. A look costs a microsecond.
const LISTEN: Duration = Duration::from_millis(50);

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
    has_log: bool,
    owner: Owner,
    /// `None`: only the log has them all.
    fresh: Option<Vec<Arc<Vec<Event>>>>,
    settle: Vec<oneshot::Sender<()>>,
    closing: bool,
}

impl Work {
    fn run(mut self) {
        let _ended = Ended(self.shared.clone());
        let mut rest = Duration::ZERO;
        loop {
            let Order { has_log, owner, fresh, settle, closing } = self.next(rest);
            let is_last = closing || !settle.is_empty();
            let began = Instant::now();
            if has_log
                && let Err(error) = self.pass(owner, fresh.as_deref(), is_last)
                && let Some(warn) = self.warn.take()
            {
                warn(error.words());
            }
            self.owner = owner;
            if owner == Owner::Here {
                // Without it the run goes on, deaf to its files.
                let _ = self.listen();
                self.look();
            }
            rest = began.elapsed() * 10;
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
    fn next(&mut self, rest: Duration) -> Order {
        let waiting = |asked: &mut Asked| !asked.changed && !asked.is_urgent();
        let began = Instant::now();
        let shared = self.shared.clone();
        let mut asked = loop {
            let asked = shared.lock();
            let waited = shared.bell.wait_timeout_while(asked, LISTEN, waiting);
            let (asked, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            if !waited.timed_out() {
                break asked;
            }
            drop(asked);
            self.look();
        };
        // What came while nothing was going on is gathered too: a run shorter than this is written once. More agents
        // may begin meanwhile; those are gathered with the others.
        let (rested, heard) = (began.elapsed(), Instant::now());
        let still = |asked: &Asked| {
            let wait = rest.saturating_sub(rested).max(asked.gather());
            wait.checked_sub(heard.elapsed()).filter(|_| !asked.is_urgent())
        };
        let mut looked = heard;
        while let Some(left) = still(&asked) {
            asked =
                shared.bell.wait_timeout(asked, left.min(LISTEN)).unwrap_or_else(PoisonError::into_inner).0;
            if looked.elapsed() >= LISTEN {
                drop(asked);
                self.look();
                looked = Instant::now();
                asked = shared.lock();
            }
        }
        asked.changed = false;
        let owner = if asked.resting || asked.closing { Owner::Gone } else { Owner::Here };
        let (fresh, settle) = (std::mem::take(&mut asked.fresh), std::mem::take(&mut asked.settle));
        asked.held = 0;
        let fresh = (!std::mem::take(&mut asked.behind)).then_some(fresh);
        Order { has_log: asked.has_log, owner, fresh, settle, closing: asked.closing }
    }

    /// Takes what others wrote, and now and then gives a sign of life.
    fn look(&mut self) {
        if self.owner == Owner::Here && self.beaten.elapsed() >= BEAT {
            self.beaten = Instant::now();
            // What cannot be written now is tried with the next pass, which says so.
            let _ = self.open.as_mut().map(|writer| writer.beat(crate::runs::wall_clock()));
        }
        if let (Some(writer), Some(intake)) = (&self.open, &mut self.intake)
            && !writer.is_over()
        {
            intake.look(writer);
        }
    }

    /// From now on what others write is taken; what was taken before is known to the store.
    fn listen(&mut self) -> Result<(), JournalError> {
        let (Some(import), Some(_)) = (self.import.take(), &self.open) else { return Ok(()) };
        let reader = Reader::open(&self.state)?.ok_or(JournalError::Empty)?;
        let before = reader.imported(&self.run)?;
        let before = before.iter().filter_map(|origin| serde_json::from_str(origin).ok());
        let dir = self.state.join("runs").join(&self.run);
        self.intake = Some(Intake::new(&dir, before.collect(), import));
        Ok(())
    }

    fn pass(
        &mut self,
        owner: Owner,
        fresh: Option<&[Arc<Vec<Event>>]>,
        is_last: bool,
    ) -> Result<(), WriteError> {
        let mut pointed = Ok(());
        if self.open.is_none() {
            let files = Files::open(&self.state.join("runs").join(&self.run))?;
            self.open = Some(Writer::new(&self.run, files));
            pointed = point_at(&self.state, &self.run);
        }
        let state = &self.state;
        let open = || -> Result<Reader, JournalError> { Reader::open(state)?.ok_or(JournalError::Empty) };
        let Some(writer) = &mut self.open else { return Ok(()) };
        let mut intake = self.intake.as_mut().filter(|_| owner == Owner::Here);
        let followed = fresh.and_then(|fresh| writer.follow(fresh, owner, intake.as_deref_mut()));
        let passed = match followed {
            Some(passed) => passed,
            None => open().map_err(WriteError::from).and_then(|reader| writer.pass(&reader, owner, intake)),
        };
        if is_last {
            writer.sync();
        }
        if is_last && writer.has_lost_something() {
            // Somebody meddled with the files, or the disk was full for a while: once more from the log.
            self.open = None;
            rebuild::one(&open()?, &self.state, &self.run, owner)?;
        }
        passed.and(pointed.map_err(WriteError::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_more_agents_are_gathered_for_longer_also_when_a_master_starts_them_later() {
        let mut asked = Asked::default();
        assert_eq!(asked.gather(), GATHER);
        asked.agents = 300;
        assert_eq!(asked.gather(), Duration::from_millis(300));
        asked.begun = 512;
        assert_eq!(asked.gather(), Duration::from_millis(512));
        asked.begun = 1_000_000;
        assert_eq!(asked.gather(), LONGEST_GATHER);
    }
}
