//! One run, one owner, one loop: inputs in, events out and stored, then effects started or stopped.

mod intake;
mod pipeline;

use intake::Commands;
use pipeline::OnTheWay;

use super::clock::Clock;
use super::commands::LOOK;
use super::foreign;
use super::journal::{self, JournalError};
use super::perform::{Performed, World};
use super::washing;
use crate::exports::Exporter;
use crate::store::{
    Batch, Hurry, Lease, NewRun, Owner, Reader, RunStatus, RunSummary, Store, StoreError, Turn,
};
use fugato_engine::{
    AgentPath, Completion, Effect, EffectKey, Event, EventKind, Input, Refusal, Run, RunSpec, Used,
};
use fugato_model::chat::ModelFault;
use fugato_model::{Words, words};
use futures_util::FutureExt as _;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Something to tell a running session.
#[derive(Debug)]
pub enum Control {
    Input(Input, oneshot::Sender<Result<(), Refusal>>),
    /// Stop working; the run can be resumed.
    Stop,
}

/// What a session tells whoever watches.
#[derive(Clone, Debug)]
pub enum Notice {
    /// It is stored.
    Event(Stored),
    /// Text of a model or output of a program as it arrives: not stored, may be lost.
    Live { agent: String, text: String },
    /// The program that does an agent's work has a conversation of this name.
    Hosted { agent: String, step: u32, session: Value, used: Option<Used> },
    /// It has used a tool of its own.
    Acted { agent: String, tool: String, arguments: Value, is_error: bool, head: String },
    /// It was told its oldest messages while it worked on this step.
    Heard { agent: String, step: u32, count: u32 },
    /// The text of an agent that was arriving is whole.
    Said { agent: String },
    /// A model call failed and is tried again after this wait: not stored.
    Retry { agent: String, wait: Duration, reason: Words },
    /// An agent that ended left memory, or came back because somebody spoke to it: not stored.
    Memory { agent: String, place: Place },
    /// Something beside the run went wrong; the run goes on.
    Warning(Words),
}

/// A durable event. It shares memory with those that were stored with it: to be read and let go.
#[derive(Clone, Debug)]
pub struct Stored {
    part: Arc<Vec<Event>>,
    at: usize,
}

impl Stored {
    fn each(part: &Arc<Vec<Event>>) -> impl Iterator<Item = Self> {
        (0..part.len()).map(|at| Self { part: part.clone(), at })
    }
}

impl std::ops::Deref for Stored {
    type Target = Event;

    #[expect(clippy::indexing_slicing, reason = "made in one place, for each place of the part")]
    fn deref(&self) -> &Event {
        &self.part[self.at]
    }
}

/// Where the conversation of an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the log alone.
    Log,
    /// In memory too.
    Memory,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The run ended; its log says how.
    Ended,
    /// Only a person can go on.
    AwaitingInput,
    Paused,
    Stopped,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{}", .0.words.en)]
    Refused(Refusal),
}

pub(super) type Watcher = Box<dyn FnMut(Notice) + Send>;

/// A run in this process.
pub struct Session {
    /// The files for other programs. First, so that the last of them is written before the lease is let go.
    exporter: Exporter,
    run: Run,
    store: Store,
    lease: Lease,
    world: Arc<World>,
    watcher: Watcher,
    clock: Clock,
    queue: VecDeque<Queued>,
    /// What was decided and is on its way to the disk, first to last.
    on_the_way: VecDeque<OnTheWay>,
    /// What the caller asked for and the run refused: the session ends with it.
    refused: Option<Refusal>,
    /// Where commands of other processes are read, and the last one taken.
    commands: Commands,
    tasks: JoinSet<Performed>,
    under_way: HashMap<EffectKey, CancellationToken>,
    live: (mpsc::UnboundedSender<Notice>, mpsc::UnboundedReceiver<Notice>),
    when_paused: WhenPaused,
}

/// A plan of so many nodes is stored and folded within a fraction of what a commit takes.
const SMALL: usize = 256;

/// What a session does when everybody is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenPaused {
    End,
    /// Whoever resumes an agent from elsewhere finds somebody who works on the run.
    Stay,
}

/// An input, and who waits for what becomes of it.
struct Queued {
    input: Input,
    asked_by: AskedBy,
}

enum AskedBy {
    Nobody,
    /// Whoever holds the session: a refusal is an error of theirs.
    Caller,
    Here(oneshot::Sender<Result<(), Refusal>>),
    /// Another process, by the number of its command.
    Command(i64),
    /// Another program, through a file of the run: it waits for nothing, so a refusal is said in the log.
    File(i64, String),
}

impl From<Input> for Queued {
    fn from(input: Input) -> Self {
        Self { input, asked_by: AskedBy::Nobody }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("run", &self.run.spec.id)
            .field("seq", &self.run.seq)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Creates a run. It exists, durably, when this returns; nothing has been done yet.
    pub fn create(
        store: Store,
        spec: RunSpec,
        world: Arc<World>,
        watcher: Watcher,
    ) -> Result<Self, RunError> {
        Self::create_in(store, spec, world, watcher, None)
    }

    /// The same as the next request of a conversation; refused when another one came first.
    pub fn create_in(
        store: Store,
        spec: RunSpec,
        world: Arc<World>,
        watcher: Watcher,
        turn: Option<&Turn>,
    ) -> Result<Self, RunError> {
        let (created, new) = Self::creation(&store, spec);
        let run = Run::created(&created).ok_or(JournalError::Empty)?;
        let new = NewRun { events: vec![journal::encode(&created, &store)?], ..new };
        let lease = store.create_owned_run_in(new, &Owner::this_process(), turn)?;
        let mut session = Self::new(run, store, lease, world, watcher);
        session.tell_stored(vec![created]);
        session.queue.push_back(Input::Go.into());
        Ok(session)
    }

    /// Creates a run and does not wait for the disk: the run exists, durably, when whoever watches hears of its first
    /// event. If it cannot exist, [`Session::drive`] says so, and nothing has been done.
    pub fn begin(store: Store, spec: RunSpec, world: Arc<World>, watcher: Watcher) -> Result<Self, RunError> {
        // The plan of a large run takes a while to store, and to fold: both at once. A small run waits for its first
        // decision, and both are one commit.
        let hurry = if spec.plan.nodes.len() > SMALL { Hurry::Now } else { Hurry::WithTheNext };
        let (created, new) = Self::creation(&store, spec);
        let new = NewRun { events: vec![journal::encode(&created, &store)?], ..new };
        let (lease, receipt) = store.begin_owned_run(new, &Owner::this_process(), None, hurry);
        let run = Run::created(&created).ok_or(JournalError::Empty)?;
        let mut session = Self::new(run, store, lease, world, watcher);
        session.on_the_way.push_back(OnTheWay::creation(created, receipt));
        session.queue.push_back(Input::Go.into());
        Ok(session)
    }

    /// The first event of a run, and its row without events.
    fn creation(store: &Store, mut spec: RunSpec) -> (Event, NewRun) {
        let now = super::clock::wall();
        if let Some(redactor) = store.redactor() {
            washing::spec(&redactor, &mut spec);
        }
        let new = NewRun {
            id: spec.id.clone(),
            status: RunStatus::Running,
            skill: Some(spec.skill.name.clone()),
            title: Some(spec.title.clone()),
            created_at: now,
            parent: spec.parent.clone(),
            events: Vec::new(),
        };
        let kind = EventKind::RunCreated { spec: Arc::new(spec) };
        (Event { v: Event::VERSION, seq: 1, at: now, by: fugato_engine::By::User, kind }, new)
    }

    /// Takes over a run whose owner is gone.
    pub fn resume(
        store: Store,
        state: &Path,
        id: &str,
        world: Arc<World>,
        watcher: Watcher,
    ) -> Result<Self, RunError> {
        let reader = Reader::open(state)?.ok_or(JournalError::Empty)?;
        let events = journal::load(&reader, id)?;
        let run = Run::replay(&events).ok_or(JournalError::Empty)?;
        drop(events);
        Self::take_over(store, &reader, run, world, watcher)
    }

    /// Takes over a run that was read already: of its log only what came since is read.
    pub fn take_over(
        store: Store,
        reader: &Reader,
        mut run: Run,
        world: Arc<World>,
        watcher: Watcher,
    ) -> Result<Self, RunError> {
        let lease = store.acquire(&run.spec.id, &Owner::this_process())?;
        for event in journal::load_from(reader, &run.spec.id, run.seq + 1)? {
            run.apply(&event);
        }
        let epoch = lease.epoch;
        let mut session = Self::new(run, store, lease, world, watcher);
        // What was said while nobody worked on it comes first.
        session.exporter.committed(&Arc::default());
        session.hear()?;
        session.queue.push_back(Input::Recover { epoch }.into());
        Ok(session)
    }

    fn new(run: Run, store: Store, lease: Lease, world: Arc<World>, watcher: Watcher) -> Self {
        world.take_charge(&store);
        let watcher = super::live::overheard(store.dir(), &run.spec.id, watcher);
        let watcher = match store.redactor() {
            Some(redactor) => washing::watcher(redactor, watcher),
            None => watcher,
        };
        let live = mpsc::unbounded_channel();
        let warnings = live.0.clone();
        let agents = run.spec.plan.nodes.len();
        let warn = move |words| {
            let _ = warnings.send(Notice::Warning(words));
        };
        let import = foreign::importer(store.clone(), &run.spec.id);
        let exporter = Exporter::listen(store.dir(), &run.spec.id, agents, warn, import);
        Self {
            clock: Clock::start(run.last_at()),
            commands: Commands::default(),
            exporter,
            run,
            store,
            lease,
            world,
            watcher,
            queue: VecDeque::new(),
            on_the_way: VecDeque::new(),
            refused: None,
            tasks: JoinSet::new(),
            under_way: HashMap::new(),
            live,
            when_paused: WhenPaused::End,
        }
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    /// From now on the session waits while everybody is paused, instead of ending.
    pub fn stay_while_paused(&mut self) {
        self.when_paused = WhenPaused::Stay;
    }

    /// Puts an input before the first turn: an answer, a raised limit.
    pub fn tell(&mut self, input: Input) {
        self.queue.push_back(Queued { input, asked_by: AskedBy::Caller });
    }

    /// Works until the run ends, waits for a person, is paused, or is told to stop. The files for other programs follow
    /// shortly; [`Session::files_written`] waits for them, and so does the end of the session.
    pub async fn drive(&mut self, mut controls: mpsc::Receiver<Control>) -> Result<End, RunError> {
        let outcome = self.work(&mut controls).await;
        // Whatever ended it, nothing of ours goes on.
        self.settle().await;
        self.world.let_go().await;
        if let Err(error) = &outcome {
            // What was decided last is not in the log: the run in memory is worth nothing any more.
            self.say_why(error);
        }
        outcome
    }

    async fn work(&mut self, controls: &mut mpsc::Receiver<Control>) -> Result<End, RunError> {
        // The lease is new now: a first renewal at once would only be a commit that everything waits for.
        let mut renew = tokio::time::interval_at(tokio::time::Instant::now() + RENEW, RENEW);
        let mut look = tokio::time::interval_at(tokio::time::Instant::now() + LOOK, LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // Nobody notices whether an agent is a few seconds too long in memory.
        let tidy_every = self.world.remembers.clamp(Duration::from_secs(1), RENEW);
        let mut tidy = tokio::time::interval_at(tokio::time::Instant::now() + tidy_every, tidy_every);
        tidy.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            // What was said on the way to an outcome is heard before it.
            self.pass_on();
            self.decide()?;
            if self.on_the_way.is_empty()
                && let Some(refusal) = self.refused.take()
            {
                return Err(RunError::Refused(refusal));
            }
            if let Some(end) = self.end() {
                // Somebody may have spoken while the last events were stored.
                self.hear()?;
                if self.queue.is_empty() {
                    return Ok(end);
                }
                continue;
            }
            let deadline = self.run.deadline().map(|at| self.clock.until(at));
            tokio::select! {
                stored = pipeline::first(&mut self.on_the_way), if !self.on_the_way.is_empty() => {
                    self.stored(stored)?;
                }
                Some(done) = self.tasks.join_next() => self.take(done),
                Some(notice) = self.live.1.recv() => self.heard(notice),
                control = controls.recv() => match control {
                    Some(Control::Input(input, reply)) => {
                        self.queue.push_back(Queued { input, asked_by: AskedBy::Here(reply) });
                    }
                    Some(Control::Stop) => return Ok(End::Stopped),
                    None => {}
                },
                () = tokio::time::sleep(deadline.unwrap_or_default()), if deadline.is_some() => {
                    self.queue.push_back(Input::Tick.into());
                }
                _ = look.tick() => self.hear()?,
                _ = tidy.tick() => self.tidy(),
                _ = renew.tick() => self.lease.renew()?,
            }
            // Whatever else is ready belongs to the same commit.
            while let Some(done) = self.tasks.try_join_next() {
                self.take(done);
            }
        }
    }

    /// Agents that ended a while ago leave memory; the log has them.
    fn tidy(&mut self) {
        let kept_ms = i64::try_from(self.world.remembers.as_millis()).unwrap_or(i64::MAX);
        for agent in self.run.forgettable(self.clock.now(), kept_ms) {
            self.run.forget(agent);
            self.world.forget(agent);
            let name = self.run.agents.get(agent as usize).map(|state| state.path.to_string());
            (self.watcher)(Notice::Memory { agent: name.unwrap_or_default(), place: Place::Log });
        }
    }

    /// What a performer says while it works goes to whoever watches; that it tries again also into the log.
    fn heard(&mut self, notice: Notice) {
        if let Notice::Retry { agent, wait, reason } = &notice {
            let (agent, reason) = (AgentPath::new(agent), reason.clone());
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            self.queue.push_back(Input::Retrying { agent, wait_ms, reason }.into());
        }
        // What becomes an event is told as one.
        match notice {
            Notice::Hosted { agent, step, session, used } => {
                let agent = AgentPath::new(&agent);
                self.queue.push_back(Input::Hosted { agent, step, session, used }.into());
            }
            Notice::Acted { agent, tool, arguments, is_error, head } => {
                let agent = AgentPath::new(&agent);
                self.queue.push_back(Input::Acted { agent, tool, arguments, is_error, head }.into());
            }
            Notice::Heard { agent, step, count } => {
                let agent = AgentPath::new(&agent);
                self.queue.push_back(Input::Heard { agent, step, count }.into());
            }
            notice => (self.watcher)(notice),
        }
    }

    fn start(&mut self, key: EffectKey) {
        if self.under_way.contains_key(&key) {
            return;
        }
        let Some(effect) = self.run.effect(key) else { return };
        if *effect == Effect::Noop {
            let completion = Completion::Noop;
            self.queue.push_back(Input::Completed { key, completion }.into());
            return;
        }
        let token = CancellationToken::new();
        let work = self.world.clone().perform(key, effect, &self.run, token.clone(), self.live.0.clone());
        self.under_way.insert(key, token);
        self.tasks.spawn(
            AssertUnwindSafe(work).catch_unwind().map(move |done| done.unwrap_or_else(|_| broken(key))),
        );
    }

    fn take(&mut self, done: Result<Performed, tokio::task::JoinError>) {
        // What it said on the way comes before its outcome.
        self.pass_on();
        // Only one that was aborted gives nothing.
        let Ok(Performed { key, completion }) = done else { return };
        self.under_way.remove(&key);
        if let Some(completion) = completion {
            self.queue.push_back(Input::Completed { key, completion }.into());
        }
    }

    /// Is there anything left that this session could wait for?
    fn end(&self) -> Option<End> {
        if !self.on_the_way.is_empty() {
            return None;
        }
        if self.run.ended.is_some() {
            return Some(End::Ended);
        }
        // What was stopped may have a last word: what it used.
        if !self.under_way.is_empty() || !self.tasks.is_empty() || !self.queue.is_empty() {
            return None;
        }
        if self.run.open_questions().next().is_some() {
            return Some(End::AwaitingInput);
        }
        let is_paused = self.run.status() == "paused";
        (is_paused && self.when_paused == WhenPaused::End).then_some(End::Paused)
    }

    /// Lists show why a run stands still that nobody paused. There is space kept aside for this.
    fn say_why(&self, error: &RunError) {
        let (RunError::Store(StoreError::DiskFull { .. })
        | RunError::Journal(JournalError::Store(StoreError::DiskFull { .. }))) = error
        else {
            return;
        };
        let summary = RunSummary {
            status: RunStatus::from("disk_full"),
            title: None,
            updated_at: self.clock.now(),
            details: None,
        };
        let stored = self.store.reader().and_then(|reader| reader.last_seq(&self.run.spec.id));
        // What the disk did not confirm may be there all the same, the end of the run included; then its own word stands.
        if let Ok(last) = stored
            && last < self.run.seq
        {
            let batch = Batch {
                run: self.run.spec.id.clone(),
                epoch: self.lease.epoch,
                first_seq: last + 1,
                events: Vec::new(),
                summary: Some(summary),
                answers: Vec::new(),
            };
            // Not even that: then the list says `interrupted`, which is true as well.
            let _ = self.store.append_final(batch).wait();
        }
    }

    /// Nothing of ours goes on after the session: every effect is told to stop, and waited for.
    async fn settle(&mut self) {
        for (_, token) in self.under_way.drain() {
            token.cancel();
        }
        let all = async { while self.tasks.join_next().await.is_some() {} };
        // Performers stop their processes within the grace they were given; this is for one that does not.
        let _ = tokio::time::timeout(Duration::from_secs(20), all).await;
        self.tasks.abort_all();
        self.exporter.rest();
        self.pass_on();
    }

    /// Waits until the files for other programs say what the log says. Whoever reads them knows the end then.
    pub async fn files_written(&mut self) {
        self.exporter.settle().await;
        self.pass_on();
    }

    fn pass_on(&mut self) {
        while let Ok(notice) = self.live.1.try_recv() {
            self.heard(notice);
        }
    }
}

/// A performer that panicked is a bug of ours. The run must not wait for it for ever, nor take it as done.
fn broken(key: EffectKey) -> Performed {
    let message = "fugato failed inside while doing this; it may or may not have taken effect";
    let completion = match key {
        EffectKey::Model { .. } => {
            Completion::ModelFailed { fault: ModelFault::Rejected, message: message.into() }
        }
        EffectKey::Tool { .. } => Completion::Tool { content: message.into(), is_error: true, used: None },
        EffectKey::Recall { .. } => Completion::Recalled { messages: Vec::new() },
        EffectKey::Node { .. } => Completion::ScriptCutShort {
            message: words!("fugato failed inside while doing this", "执行时 fugato 内部出错"),
        },
    };
    Performed { key, completion: Some(completion) }
}

/// A lease is judged by its owner's life, not by time; renewing keeps the age that people see honest.
const RENEW: Duration = Duration::from_secs(10);

pub(super) fn status_of(run: &Run) -> RunStatus {
    match run.status() {
        "complete" => RunStatus::Complete,
        "failed" => RunStatus::Failed,
        "aborted" => RunStatus::Aborted,
        "paused" => RunStatus::Paused,
        "running" => RunStatus::Running,
        // Waiting for a person, or for a larger budget: nobody need be alive for that.
        other => RunStatus::from(other),
    }
}
