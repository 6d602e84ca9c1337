//! Doing what a run wants: asking models, running tools and scripts. Each ends in exactly one outcome, or in none when
//! it was stopped.

use super::artifact;
use super::executor::{self, Hosts};
use super::session::{Notice, Place};
use super::shelf::Shelf;
use super::specs;
use crate::models::{
    About, Delta, ModelRequest, Models, Offer, Retry, ToolChoice, Transcript, call_with_retries,
};
use crate::process::{self, ProcessLog};
use crate::sandbox::Sandbox;
use crate::store::Store;
use crate::tools::{self, Kept, ToolContext, WebSettings};
use fugato_engine::{Access, AgentState, Completion, Duty, Effect, EffectKey, Executor, Names, Purpose, Run};
use fugato_model::chat::{Message, ToolCall};
use fugato_model::{Digest, RelPath, words};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// Everything outside the run.
#[derive(Debug)]
pub struct World {
    pub models: Models,
    /// The skill's directory, for its scripts.
    pub skill_dir: PathBuf,
    pub project: PathBuf,
    pub scratch: PathBuf,
    /// The environment of programs; what must stay secret is not in it.
    pub env: Vec<(OsString, OsString)>,
    /// The skills agents may read.
    pub shelf: Shelf,
    /// Around every command and script.
    sandbox: Arc<Sandbox>,
    /// Where long results go; set by the session.
    store: OnceLock<Store>,
    /// Conversations in the form they are sent; grows with each agent, rebuilt only when it was compacted.
    transcripts: Mutex<HashMap<u32, Conversation>>,
    /// What models are told of their tools, by kind of agent: written once.
    specs: Mutex<HashMap<(String, u32, bool), Specs>>,
    /// Told of every process, so that a later start can end what we leave when we are killed.
    processes: OnceLock<ProcessLog>,
    /// What tools keep between calls: connections and the browser.
    kept: Arc<Kept>,
    /// Programs that can do an agent's work, with their environment.
    pub(super) hosts: Hosts,
    /// How long an agent that ended stays in memory.
    pub(super) remembers: Duration,
}

type Specs = Arc<Offer>;

#[derive(Clone, Debug)]
struct Conversation {
    compactions: u32,
    transcript: Arc<tokio::sync::Mutex<Transcript>>,
}

/// What became of an effect. No completion: it was stopped and nothing is known.
#[derive(Debug)]
pub struct Performed {
    pub key: EffectKey,
    pub completion: Option<Completion>,
}

impl World {
    pub fn new(
        models: Models,
        skill_dir: PathBuf,
        project: PathBuf,
        scratch: PathBuf,
        env: impl Iterator<Item = (OsString, OsString)>,
    ) -> Self {
        let env = env.filter(|(name, _)| !is_secret(&name.to_string_lossy())).collect();
        Self {
            models,
            skill_dir,
            project,
            scratch,
            env,
            shelf: Shelf::empty(),
            sandbox: Arc::default(),
            store: OnceLock::new(),
            transcripts: Mutex::default(),
            specs: Mutex::default(),
            hosts: Hosts::default(),
            processes: OnceLock::new(),
            kept: Arc::default(),
            remembers: Duration::from_millis(fugato_engine::KEPT_MS.unsigned_abs()),
        }
    }

    /// What agents may reach on the web, whom they ask for searches, and which browser they use.
    #[must_use]
    pub fn with_web(mut self, settings: WebSettings) -> Self {
        self.kept = Arc::new(Kept::new(settings));
        self
    }

    /// Ends what tools keep between calls; the next call that needs it starts it anew.
    pub(super) async fn let_go(&self) {
        self.kept.close().await;
    }

    /// How long agents that ended stay in memory; the log has them for ever.
    #[must_use]
    pub fn with_memory(mut self, remembers: Duration) -> Self {
        self.remembers = remembers;
        self
    }

    /// Lets Claude Code and Codex do agents' work, as the settings have them.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Hosts) -> Self {
        self.hosts = hosts;
        self
    }

    #[must_use]
    pub fn with_skills(mut self, shelf: Shelf) -> Self {
        self.shelf = shelf;
        self
    }

    /// Instead of the one that closes everything.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Arc::new(sandbox);
        self
    }

    /// Before anything is started: ends what dead owners left running, and records what this one starts.
    pub(super) fn take_charge(&self, store: &Store) {
        // A second session of the same world has the same store.
        let _ = self.store.set(store.clone());
        process::sweep_dead_owners(store.dir());
        self.processes.get_or_init(|| process::record_in(store.dir()));
    }

    /// The work of one effect, with everything it needs taken from the run now.
    pub fn perform(
        self: Arc<Self>,
        key: EffectKey,
        effect: &Effect,
        run: &Run,
        token: CancellationToken,
        live: UnboundedSender<Notice>,
    ) -> impl Future<Output = Performed> + Send + use<> {
        let job = self.clone().prepare(key, effect, run, live, token.clone());
        async move {
            let completion = match job {
                // Dropping the request is how it is stopped; nothing happened elsewhere.
                Job::Model(call) => tokio::select! {
                    completion = call => Some(completion),
                    () = token.cancelled() => None,
                },
                // Processes must be stopped properly: the tool itself listens to the token.
                Job::Process(work) => {
                    let completion = work.await;
                    (!token.is_cancelled()).then_some(completion)
                }
            };
            Performed { key, completion }
        }
    }

    fn prepare(
        self: Arc<Self>,
        key: EffectKey,
        effect: &Effect,
        run: &Run,
        live: UnboundedSender<Notice>,
        token: CancellationToken,
    ) -> Job {
        match effect {
            Effect::CallModel { agent, model, step, purpose, max_tokens } => {
                let (EffectKey::Model { agent: index, .. }, Some((_, state))) =
                    (key, run.agent(agent.as_str()))
                else {
                    return Job::Model(Box::pin(async { Completion::Noop }));
                };
                if state.kind.executor != Executor::Model {
                    let work = executor::Work::of(state, run, &self);
                    return Job::Process(Box::pin(async move { work.run(token, live).await }));
                }
                let transcript = self.transcript(index, state.compactions);
                // An agent has one request at a time, so nobody holds the lock now; only what is new is handed over.
                let from = transcript.try_lock().map_or(0, |sent| sent.len());
                let call = Call {
                    run: run.spec.id.clone(),
                    skill: run.spec.skill.name.clone(),
                    agent: agent.to_string(),
                    model: model.clone(),
                    system: state.system.clone(),
                    from,
                    messages: state.messages.get(from..).unwrap_or_default().to_vec(),
                    tools: self.tool_specs(state, run),
                    step: *step,
                    purpose: *purpose,
                    max_tokens: *max_tokens,
                    live,
                };
                let models = self.models.clone();
                Job::Model(Box::pin(async move { ask(&models, &transcript, call).await }))
            }
            Effect::RunTool { agent, call, .. } if call.name.starts_with("skill_") => {
                let visible = visible_to(run, agent.as_str());
                let (call, pinned) = (call.clone(), run.skills_used.clone());
                Job::Process(Box::pin(async move { self.skill_tool(call, visible, pinned).await }))
            }
            Effect::RunTool { agent, call, .. } => {
                let access = run.agent(agent.as_str()).map_or(Access::ReadOnly, |(_, state)| state.access);
                let unread = unread(run, agent.as_str());
                let (mut call, agent) = (call.clone(), agent.to_string());
                let artifact = artifact::wanted(&call, run);
                Job::Process(Box::pin(async move {
                    if let Some(artifact) = artifact {
                        let placed = artifact.place(&mut call, &self.scratch, self.store.get());
                        if let Err(problem) = placed {
                            return told(Err(problem));
                        }
                    }
                    let context = ToolContext { unread, ..self.context(&agent, access) };
                    self.tool(&call, &context, token, live).await
                }))
            }
            Effect::RunScript { node, skill, dir, entry, arguments, .. } => {
                let script = Script {
                    node: node.clone(),
                    dir: dir.as_ref().map_or_else(|| self.skill_dir.join(skill), PathBuf::from),
                    pinned: run.spec.digests.get(&format!("{skill}/{entry}")).copied(),
                    entry: entry.clone(),
                    arguments: arguments.clone(),
                };
                Job::Process(Box::pin(async move { self.script(&script, token, live).await }))
            }
            Effect::Recall { agent, messages } => {
                let (id, agent, count) = (run.spec.id.clone(), agent.to_string(), *messages as usize);
                Job::Model(Box::pin(async move {
                    let recalled = self.recall(id, agent.clone(), count).await;
                    let _ = live.send(Notice::Memory { agent, place: Place::Memory });
                    recalled
                }))
            }
            Effect::Noop => Job::Model(Box::pin(async { Completion::Noop })),
        }
    }

    fn transcript(&self, agent: u32, compactions: u32) -> Arc<tokio::sync::Mutex<Transcript>> {
        let new = || Conversation { compactions, transcript: Arc::default() };
        // A poisoned map is still a map: the panic was elsewhere.
        let mut all = self.transcripts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(agent).or_insert_with(new);
        if known.compactions != compactions {
            *known = new();
        }
        known.transcript.clone()
    }

    /// What an agent that ended is not kept for.
    pub(super) fn forget(&self, agent: u32) {
        self.transcripts.lock().unwrap_or_else(PoisonError::into_inner).remove(&agent);
    }

    fn tool_specs(&self, agent: &AgentState, run: &Run) -> Specs {
        let has_skills = !run.spec.visible.is_empty();
        let access = if agent.access == Access::ReadWrite { "w" } else { "r" };
        // The tools of a session are those of its orchestrator.
        let of_session = agent.node.filter(|_| agent.duty != Duty::Task);
        let of_session = of_session.and_then(|node| run.orchestrator(node)).map_or("", |of| of.name.as_str());
        let key = (format!("{access} {} {of_session}", agent.agent_type), agent.depth, has_skills);
        let mut known = self.specs.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert_with(|| Arc::new(Offer::new(specs::of(agent, run)))).clone()
    }

    /// The first messages of an agent that had left memory. Without them it cannot go on: what the log has lost is a
    /// conversation that begins later.
    async fn recall(&self, run: String, agent: String, count: usize) -> Completion {
        let Some(store) = self.store.get().cloned() else {
            return Completion::Recalled { messages: Vec::new() };
        };
        let read = tokio::task::spawn_blocking(move || {
            let events = super::journal::load(&store.reader().ok()?, &run).ok()?;
            let run = Run::replay(&events)?;
            let (_, state) = run.agent(&agent)?;
            Some(state.messages.iter().take(count).cloned().collect())
        });
        Completion::Recalled { messages: read.await.ok().flatten().unwrap_or_default() }
    }

    pub(super) fn context(&self, agent: &str, access: Access) -> ToolContext {
        let access = match access {
            Access::ReadOnly => tools::Access::ReadOnly,
            Access::ReadWrite => tools::Access::ReadWrite,
        };
        ToolContext {
            roots: vec![self.project.clone()],
            scratch: self.scratch.clone(),
            access,
            env: self.env.clone(),
            processes: self.processes.get().cloned().unwrap_or_default(),
            limits: self.sandbox.limits(),
            wrapper: Some(self.sandbox.wrapper()),
            unread: None,
            agent: agent.to_owned(),
            kept: Arc::clone(&self.kept),
        }
    }

    async fn tool(
        &self,
        call: &ToolCall,
        context: &ToolContext,
        token: CancellationToken,
        live: UnboundedSender<Notice>,
    ) -> Completion {
        let mut tell = |text: &str| {
            let _ = live.send(Notice::Live { agent: context.agent.clone(), text: text.to_owned() });
        };
        let mut outcome = tools::perform(call, context, token, &mut tell).await;
        if let Some(whole) = outcome.full.take()
            && let Some(digest) = self.keep(whole).await
        {
            outcome.content.push_str(&format!("\n[the whole result: Read with path {digest}]"));
        }
        Completion::Tool { content: outcome.content, is_error: outcome.is_error, used: None }
    }

    /// Puts what did not fit into a conversation beside the log. Without it the answer is still true, only shorter.
    async fn keep(&self, whole: Vec<u8>) -> Option<Digest> {
        let store = self.store.get()?.clone();
        tokio::task::spawn_blocking(move || store.put_blob(&whole).ok()).await.ok().flatten()
    }

    async fn skill_tool(
        self: Arc<Self>,
        call: ToolCall,
        visible: String,
        pinned: BTreeMap<String, Digest>,
    ) -> Completion {
        let work = tokio::task::spawn_blocking(move || self.shelf.call(&call, &visible, &pinned));
        match work.await {
            Ok(given) => {
                Completion::Tool { content: given.content, is_error: given.is_error, used: given.used }
            }
            Err(error) => told(Err(format!("the tool broke off: {error}"))),
        }
    }

    async fn script(
        &self,
        script: &Script,
        token: CancellationToken,
        live: UnboundedSender<Notice>,
    ) -> Completion {
        let failed = |message| Completion::ScriptFailed { message, last_line: None };
        let Ok(entry) = RelPath::parse(&script.entry) else {
            return failed(words!("the script's path is not usable", "脚本路径无法使用"));
        };
        if let Some(pinned) = script.pinned
            && super::start::digest_of(&script.dir, &entry).is_some_and(|found| found != pinned)
        {
            return failed(words!(
                "the script `{entry}` was changed since this run was created; `fugato rerun` uses the new one",
                "脚本 `{entry}` 在本次运行创建后已被修改；使用新脚本请执行 `fugato rerun`"
            ));
        }
        let context = self.context(&script.node, Access::ReadWrite);
        let mut tell = |text: &str| {
            let _ = live.send(Notice::Live { agent: script.node.clone(), text: text.to_owned() });
        };
        // A sign of life before the first word.
        tell("");
        let (dir, arguments) = (&script.dir, &script.arguments);
        match tools::script::run_heard(dir, &entry, arguments, &context, token, &mut tell).await {
            Ok(stdout) => Completion::Script { stdout },
            Err(failure) if failure.was_cut_short() => {
                Completion::ScriptCutShort { message: failure.words() }
            }
            Err(failure) => {
                let last_line = failure.last_line().map(str::to_owned);
                Completion::ScriptFailed { message: failure.words(), last_line }
            }
        }
    }
}

/// Programs of agents get no keys.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"].iter().any(|word| name.contains(word))
}

enum Job {
    Model(std::pin::Pin<Box<dyn Future<Output = Completion> + Send>>),
    Process(std::pin::Pin<Box<dyn Future<Output = Completion> + Send>>),
}

/// A script to run, with what it was when the run was created.
struct Script {
    node: String,
    dir: PathBuf,
    entry: String,
    arguments: Value,
    pinned: Option<Digest>,
}

fn told(result: Result<String, String>) -> Completion {
    let is_error = result.is_err();
    Completion::Tool { content: result.unwrap_or_else(|problem| problem), is_error, used: None }
}

/// One question to a model, with everything it needs.
struct Call {
    run: String,
    skill: String,
    agent: String,
    model: String,
    system: Arc<str>,
    /// Messages the transcript had when this was prepared, and those after them.
    from: usize,
    messages: Vec<Arc<Message>>,
    tools: Specs,
    step: u32,
    purpose: Purpose,
    max_tokens: Option<u32>,
    live: UnboundedSender<Notice>,
}

async fn ask(models: &Models, transcript: &tokio::sync::Mutex<Transcript>, call: Call) -> Completion {
    let mut transcript = transcript.lock().await;
    let known = transcript.len().saturating_sub(call.from);
    for message in call.messages.iter().skip(known) {
        transcript.push(message.clone());
    }
    // What only this request is told does not become part of the conversation.
    let extended = match call.purpose {
        Purpose::Step => None,
        Purpose::WrapUp => Some(WRAP_UP),
        Purpose::Summary => Some(SUMMARY),
    };
    let extended = extended.map(|text| {
        let mut longer = transcript.clone();
        longer.push(Arc::new(Message::user(text)));
        longer
    });
    // The tools are named also where none may be called: a conversation that used them must define them.
    let tool_choice = if call.purpose == Purpose::Step { ToolChoice::Auto } else { ToolChoice::None };
    let request = ModelRequest {
        model: "",
        system: &call.system,
        transcript: extended.as_ref().unwrap_or(&transcript),
        tools: call.tools.specs(),
        written: Some(call.tools.written()),
        tool_choice,
        max_tokens: call.max_tokens,
        schema: None,
        about: About { run: &call.run, agent: &call.agent, skill: &call.skill, step: call.step, attempt: 0 },
    };
    let mut on_delta = |delta: Delta| {
        if let Delta::Text(text) = delta {
            let _ = call.live.send(Notice::Live { agent: call.agent.clone(), text });
        }
    };
    let mut on_retry = |retry: Retry<'_>| {
        let empty = || fugato_model::words!("the answer was empty", "回答为空");
        let reason = retry.error.map_or_else(empty, |error| error.words.clone());
        let _ = call.live.send(Notice::Retry { agent: call.agent.clone(), wait: retry.wait, reason });
    };
    let answered = call_with_retries(models, &call.model, request, &mut on_delta, &mut on_retry).await;
    let _ = call.live.send(Notice::Said { agent: call.agent.clone() });
    match answered {
        Ok(answer) => {
            // Rounded up: a thousand tiny answers are not free.
            let micro_usd = models
                .price(&call.model)
                .and_then(|price| price.cost(&answer.usage))
                .map(|nano| nano.div_ceil(1000));
            Completion::Answered { answer: Box::new(answer), micro_usd }
        }
        Err(error) => Completion::ModelFailed { fault: error.fault, message: error.words.en },
    }
}

const WRAP_UP: &str = "This is your last step. Answer now with the result you have; no tool will be called.";
const SUMMARY: &str = "The conversation is about to be shortened. Write a summary for yourself: what the task is, what \
you did, what you found (facts, numbers, file names), what is left to do. Call no tool.";

/// What the rules of the run and of its kind keep an agent from reading.
fn unread(run: &Run, agent: &str) -> Option<tools::Unread> {
    let rights = run.agent(agent).and_then(|(_, state)| state.rights.as_deref());
    let unread = run.spec.permissions.unread(rights)?;
    Some(tools::Unread::new(move |path| unread.has(path)))
}

/// The skills an agent may read: those of the run, as far as its kind goes.
fn visible_to(run: &Run, agent: &str) -> String {
    let rights = run.agent(agent).and_then(|(_, state)| state.rights.as_ref());
    match rights {
        Some(rights) if rights.skills != Names::All => {
            let names = run.spec.visible.lines().filter(|name| rights.skills.has(name));
            names.collect::<Vec<_>>().join("\n")
        }
        _ => run.spec.visible.clone(),
    }
}
