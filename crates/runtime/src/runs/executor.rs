//! Agents whose work another program does: Claude Code, Codex, or a program of the person's own. To the engine each is a
//! model that answers once; what it does meanwhile becomes events, and its conversation can be continued.

mod post;
mod rules;

use post::Post;

use super::perform::World;
use super::session::Notice;
use crate::hosts::gate::{GATE, Gate};
use crate::hosts::letters::Letterbox;
use crate::hosts::{self, Ending, Guard, Host, HostEnd, HostEvent, HostSession, HostSettings, HostTask};
use crate::process::{self, End, Spec};
use crate::tools::{Access, ToolContext};
use crate::wiring::{self, Program};
use fugato_engine::{AgentState, Completion, Executor, Run, Used};
use fugato_model::Words;
use fugato_model::chat::{Answer, Message, ModelFault, Role, StopReason, Usage};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// What is known of the hosts: their settings, and the environment they are started with.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    known: Vec<Known>,
    /// What hosts call before each of their tool calls.
    hook: Option<Program>,
    /// The turns of each agent come one after the other: a conversation has one process at a time.
    turns: Arc<Mutex<HashMap<String, Conversation>>>,
    /// Where agents that are in the middle of a turn are told something.
    letters: Arc<Mutex<HashMap<String, Arc<Letterbox>>>>,
}

#[derive(Clone, Debug)]
struct Known {
    host: Host,
    settings: HostSettings,
    env: Vec<(OsString, OsString)>,
}

/// What is known here of an agent's conversation; held while a turn of it is under way.
type Conversation = Arc<tokio::sync::Mutex<Option<HostSession>>>;

impl Hosts {
    /// `all`: the whole environment; each host gets what it needs of it.
    pub fn new(settings: impl Fn(Host) -> HostSettings, all: &[(OsString, OsString)]) -> Self {
        let of = |host: Host| {
            let settings = settings(host);
            let env = hosts::environment(host, all.iter().cloned(), &settings.env);
            Known { host, settings, env }
        };
        Self {
            known: Host::ALL.into_iter().map(of).collect(),
            hook: None,
            turns: Arc::default(),
            letters: Arc::default(),
        }
    }

    /// Hosts ask this program before each of their tool calls.
    #[must_use]
    pub fn with_hook(mut self, program: Program) -> Self {
        self.hook = Some(program);
        self
    }

    /// Why nothing can be done with this host, as far as that is seen without starting it.
    pub fn lacks(&self, host: Host) -> Option<Words> {
        let Known { settings, env, .. } = self.of(host)?;
        let is_there = hosts::is_there(&settings.program, env);
        (!is_there).then(|| hosts::missing(host, &settings.program.to_string_lossy()))
    }

    fn of(&self, host: Host) -> Option<&Known> {
        self.known.iter().find(|known| known.host == host)
    }

    fn conversation(&self, agent: &str) -> Conversation {
        // A poisoned map is still a map: the panic was elsewhere.
        let mut all = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(agent.to_owned()).or_default().clone()
    }
}

/// One step of such an agent, with everything it needs.
pub(super) struct Work {
    agent: String,
    step: u32,
    job: Job,
}

enum Job {
    Host { task: Box<HostTask>, conversation: Conversation, gates: PathBuf, post: Post },
    Program { spec: Result<Box<Spec>, String> },
    Nobody(String),
}

/// How often is looked whether a letter was taken. Only while there is one.
const LOOK: Duration = Duration::from_millis(50);
/// What a program is told that was stopped in the middle.
const INTERRUPTED: &str = "You were interrupted while you worked on this. Look at what you have done already, do not do it \
again, and go on to the end of your task.";
/// The same, when there is something new besides.
const INTERRUPTED_FOR: &str = "You were interrupted while you worked on this. Look at what you have done already, and do not \
do it again.";
/// Of a result of a host's tool, for the log.
const HEAD_CHARS: usize = 300;

impl Work {
    pub fn of(state: &AgentState, run: &Run, world: &World) -> Self {
        let job = match &state.kind.executor {
            Executor::Claude => host(Host::Claude, state, run, world),
            Executor::Codex => host(Host::Codex, state, run, world),
            Executor::Script { command } => program(command, state, run, world),
            Executor::Model | Executor::Human => Job::Nobody("nobody does the work of this agent".to_owned()),
        };
        Self { agent: state.path.to_string(), step: state.step, job }
    }

    pub async fn run(self, token: CancellationToken, live: UnboundedSender<Notice>) -> Completion {
        match self.job {
            Job::Host { task, conversation, gates, post } => {
                let turn =
                    HostTurn { agent: self.agent, step: self.step, live, gates, letters: post.letters };
                turn.has_heard(post.heard);
                let completion = hosted(&turn, *task, &conversation, token).await;
                post.hosts.turn_over(&turn.agent, &turn.letters);
                completion
            }
            Job::Program { spec: Ok(spec) } => answered_by(process::run(*spec, token, &mut |_, _| {}).await),
            Job::Program { spec: Err(problem) } | Job::Nobody(problem) => failed(problem),
        }
    }
}

/// What the agent has been told since it last spoke.
fn told(state: &AgentState) -> String {
    let new = state.messages.iter().rev().take_while(|message| message.role != Role::Assistant);
    let texts: Vec<String> = new.map(|message| message.text()).filter(|text| !text.is_empty()).collect();
    texts.into_iter().rev().collect::<Vec<_>>().join("\n\n")
}

/// What a host is told now: what is new, or that it goes on with what it had heard already.
fn prompt(state: &AgentState) -> String {
    // Its conversation was heard of in this very step: whoever ran it before has died.
    let was_left = state.session.as_ref().is_some_and(|(step, _)| *step == state.step);
    let heard = match state.cut_at {
        Some(heard) => heard as usize,
        None if was_left => state.messages.len(),
        None => return told(state),
    };
    let new: Vec<String> = state.messages.iter().skip(heard).map(|message| message.text()).collect();
    match new.is_empty() {
        true => INTERRUPTED.to_owned(),
        false => format!("{INTERRUPTED_FOR}\n\n{}", new.join("\n\n")),
    }
}

fn host(host: Host, state: &AgentState, run: &Run, world: &World) -> Job {
    let Some(Known { settings, env, .. }) = world.hosts.of(host) else {
        return Job::Nobody(format!("{} is not available here", host.as_str()));
    };
    let mut task = HostTask::new(host, world.project.clone(), prompt(state));
    let session = state.session.as_ref().map(|(_, session)| session.clone());
    task.resume = session.and_then(|session| serde_json::from_value(session).ok());
    task.program.clone_from(&settings.program);
    task.system = state.system.to_string();
    // The run's own model is one of ours; a host has models of its own.
    task.model = state.kind.model.clone().or_else(|| settings.model.clone());
    let access = rules::access(state, run);
    task.access = match access {
        fugato_engine::Access::ReadOnly => Access::ReadOnly,
        fugato_engine::Access::ReadWrite => Access::ReadWrite,
    };
    task.tools = rules::tools(state, run);
    // Rules that only the host's own checks keep need these checks.
    task.guard = if rules::has_rules(state, run) { Guard::Kept } else { settings.guard };
    task.max_turns = Some(state.kind.steps.unwrap_or(run.spec.limits.steps));
    if run.spec.limits.micro_usd.is_some() {
        task.max_micro_usd = Some(state.share.unwrap_or(state.reserved).micro_usd);
    }
    task.env.clone_from(env);
    task.env.push(("FUGATO_RUN".into(), (&run.spec.id).into()));
    task.env.push(("FUGATO_AGENT".into(), state.path.as_str().into()));
    if let Some(program) = &world.hosts.hook {
        task.arguments.extend(wiring::arguments(host, program));
    }
    task.log = world.context(state.path.as_str(), access).processes;
    let conversation = world.hosts.conversation(state.path.as_str());
    let gates = world.scratch.join("hosted");
    let post = Post::open(&gates, state, &world.hosts);
    Job::Host { task: Box::new(task), conversation, gates, post }
}

/// Whose turn it is, and who hears of it.
struct HostTurn {
    agent: String,
    step: u32,
    live: UnboundedSender<Notice>,
    /// Where the door before its tool calls is kept.
    gates: PathBuf,
    letters: Arc<Letterbox>,
}

impl HostTurn {
    fn tell(&self, notice: Notice) {
        // Whoever listened may be gone.
        let _ = self.live.send(notice);
    }

    fn has_heard(&self, count: u32) {
        if count > 0 {
            self.tell(Notice::Heard { agent: self.agent.clone(), step: self.step, count });
        }
    }

    fn has_session(&self, session: &HostSession, used: Option<Used>) {
        let (agent, session) = (self.agent.clone(), json!(session));
        self.tell(Notice::Hosted { agent, step: self.step, session, used });
    }
}

async fn hosted(
    turn: &HostTurn,
    mut task: HostTask,
    conversation: &tokio::sync::Mutex<Option<HostSession>>,
    token: CancellationToken,
) -> Completion {
    // The turn before this one may still be ending.
    let mut last = conversation.lock().await;
    if token.is_cancelled() {
        return failed("cancelled".to_owned());
    }
    if let (Some(resumed), Some(last)) = (&mut task.resume, last.as_ref())
        && resumed.id == last.id
    {
        resumed.counted = last.counted;
    }
    let counted = task.resume.clone().map(|session| session.counted).unwrap_or_default();
    let mut calls: HashMap<String, (String, Value)> = HashMap::new();
    let mut on_event = |event: HostEvent| {
        let agent = turn.agent.clone();
        turn.tell(match event {
            HostEvent::Session(id) => return turn.has_session(&HostSession { id, counted }, None),
            HostEvent::Text(text) => Notice::Live { agent, text },
            HostEvent::ToolStarted { id, name, arguments, .. } => {
                let text = format!("\n[{name}]\n");
                calls.insert(id, (name, arguments));
                Notice::Live { agent, text }
            }
            HostEvent::ToolEnded { id, is_error, head } => {
                let Some((tool, arguments)) = calls.remove(&id) else { return };
                let head = head.chars().take(HEAD_CHARS).collect();
                Notice::Acted { agent, tool, arguments, is_error, head }
            }
            HostEvent::Notice(text) => Notice::Live { agent, text: format!("\n[{text}]\n") },
            HostEvent::Usage(_) => return,
        });
    };
    let gate = match Gate::open(&turn.gates, turn.letters.dir()) {
        Ok(gate) => gate,
        Err(error) => return failed(format!("its tool calls cannot be watched over: {error}")),
    };
    task.env.push((GATE.into(), gate.file().into()));
    let ended = {
        let running = hosts::run(task, token.clone(), &mut on_event);
        tokio::pin!(running);
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut is_open = true;
        loop {
            tokio::select! {
                biased;
                // Before the program hears of it: from here on no call of it begins.
                () = token.cancelled(), if is_open => {
                    gate.shut();
                    is_open = false;
                }
                ended = &mut running => break ended,
                _ = look.tick(), if turn.letters.is_waiting() => turn.has_heard(turn.letters.newly_taken()),
            }
        }
    };
    drop(gate);
    turn.has_heard(turn.letters.close());
    turn.tell(Notice::Said { agent: turn.agent.clone() });
    if let Some(session) = &ended.session {
        // An answer brings its own bill.
        let is_answer = matches!(ended.end, Ending::Done | Ending::TurnLimit);
        let used = Used { usage: ended.usage, micro_usd: ended.micro_usd };
        turn.has_session(session, Some(used).filter(|used| !is_answer && used.usage != Usage::default()));
    }
    last.clone_from(&ended.session);
    completion(ended)
}

fn completion(ended: HostEnd) -> Completion {
    let stop = match ended.end {
        Ending::Done => StopReason::EndTurn,
        // The engine's word for an answer that was cut off.
        Ending::TurnLimit => StopReason::MaxTokens,
        Ending::Failed(words) => return failed(words.en),
        Ending::Cancelled => return failed("cancelled".to_owned()),
        Ending::TimedOut => return failed("it took too long and was ended".to_owned()),
    };
    answered(ended.text, stop, ended.usage, ended.micro_usd)
}

fn answered(text: String, stop: StopReason, usage: Usage, micro_usd: Option<u64>) -> Completion {
    let answer = Answer { message: Message::assistant(text), stop, usage };
    Completion::Answered { answer: Box::new(answer), micro_usd }
}

fn failed(message: String) -> Completion {
    Completion::ModelFailed { fault: ModelFault::Rejected, message }
}

/// A program in the project directory, closed in like every other: the task in, the answer out.
fn program(command: &[String], state: &AgentState, run: &Run, world: &World) -> Job {
    let Some((name, arguments)) = command.split_first() else {
        return Job::Nobody("the agent's `command` is empty".to_owned());
    };
    let context: ToolContext = world.context(state.path.as_str(), rules::access(state, run));
    let mut spec = Spec::new(OsString::from(name), &world.project);
    spec.args = arguments.iter().map(OsString::from).collect();
    let task = json!({
        "task": told(state), "agent": state.path.as_str(), "type": state.agent_type, "run": run.spec.id,
    });
    spec.stdin = Some(task.to_string().into_bytes());
    Job::Program { spec: context.confined(spec).map(Box::new).map_err(|words| words.en) }
}

fn answered_by(finished: process::Finished) -> Completion {
    let said = String::from_utf8_lossy(&finished.stdout).trim().to_owned();
    let complaint = String::from_utf8_lossy(&finished.stderr).trim().to_owned();
    let complaint = complaint.lines().last().unwrap_or_default().to_owned();
    match finished.end {
        // It asked no model: it used nothing, and that is known.
        End::Exited(0) => answered(said, StopReason::EndTurn, Usage::default(), Some(0)),
        End::Exited(code) => failed(format!("its program ended with exit code {code}: {complaint}")),
        End::Signalled(signal) => failed(format!("its program was ended by signal {signal}")),
        End::TimedOut => failed("its program took too long and was ended".to_owned()),
        End::OutputLimit => failed("its program wrote too much and was ended".to_owned()),
        End::ProcessLimit => failed("its program started too many processes and was ended".to_owned()),
        End::MemoryLimit => failed("its program took too much memory and was ended".to_owned()),
        End::Cancelled => failed("cancelled".to_owned()),
        End::CouldNotStart(words) => failed(words.en),
    }
}
