//! Doing what a run wants: asking models, running tools and scripts. Each ends in exactly one outcome, or in none when
//! it was stopped.

use super::session::Notice;
use crate::models::{About, Delta, ModelRequest, Models, Retry, ToolChoice, Transcript, call_with_retries};
use crate::tools::{self, ToolContext};
use fugato_engine::{Access, Completion, Effect, EffectKey, Run};
use fugato_model::RelPath;
use fugato_model::chat::{Message, ToolCall, ToolSpec};
use serde_json::json;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
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
    /// Conversations in the form they are sent; grows with each agent, never rebuilt.
    transcripts: Mutex<HashMap<u32, Arc<tokio::sync::Mutex<Transcript>>>>,
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
        Self { models, skill_dir, project, scratch, env, transcripts: Mutex::default() }
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
            Effect::CallModel { agent, model, step, wrap_up } => {
                let (EffectKey::Model { agent: index, .. }, Some((_, state))) =
                    (key, run.agent(agent.as_str()))
                else {
                    return Job::Model(Box::pin(async { Completion::Noop }));
                };
                let transcript = self.transcript(index);
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
                    access: state.access,
                    step: *step,
                    wrap_up: *wrap_up,
                    live,
                };
                let models = self.models.clone();
                Job::Model(Box::pin(async move { ask(&models, &transcript, call).await }))
            }
            Effect::RunTool { agent, call, .. } => {
                let access = run.agent(agent.as_str()).map_or(Access::ReadOnly, |(_, state)| state.access);
                let (call, agent) = (call.clone(), agent.to_string());
                Job::Process(Box::pin(async move { self.tool(&agent, &call, access, token, live).await }))
            }
            Effect::RunScript { node, skill, entry, arguments, .. } => {
                let (node, skill, entry, arguments) =
                    (node.clone(), skill.clone(), entry.clone(), arguments.clone());
                Job::Process(Box::pin(async move {
                    self.script(&node, &skill, &entry, &arguments, token, live).await
                }))
            }
            Effect::Noop => Job::Model(Box::pin(async { Completion::Noop })),
        }
    }

    fn transcript(&self, agent: u32) -> Arc<tokio::sync::Mutex<Transcript>> {
        // A poisoned map is still a map: the panic was elsewhere.
        let mut all = self.transcripts.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(agent).or_insert_with(|| Arc::new(tokio::sync::Mutex::new(Transcript::new()))).clone()
    }

    fn context(&self, access: Access) -> ToolContext {
        let access = match access {
            Access::ReadOnly => tools::Access::ReadOnly,
            Access::ReadWrite => tools::Access::ReadWrite,
        };
        ToolContext {
            roots: vec![self.project.clone()],
            scratch: self.scratch.clone(),
            access,
            env: self.env.clone(),
            ..ToolContext::default()
        }
    }

    async fn tool(
        &self,
        agent: &str,
        call: &ToolCall,
        access: Access,
        token: CancellationToken,
        live: UnboundedSender<Notice>,
    ) -> Completion {
        let context = self.context(access);
        let mut tell = |text: &str| {
            let _ = live.send(Notice::Live { agent: agent.to_owned(), text: text.to_owned() });
        };
        let outcome = tools::perform(call, &context, token, &mut tell).await;
        Completion::Tool { content: outcome.content, is_error: outcome.is_error }
    }

    async fn script(
        &self,
        node: &str,
        skill: &str,
        entry: &str,
        arguments: &serde_json::Value,
        token: CancellationToken,
        live: UnboundedSender<Notice>,
    ) -> Completion {
        let failed = |message| Completion::ScriptFailed { message };
        let (Ok(skill), Ok(entry)) = (RelPath::parse(skill), RelPath::parse(entry)) else {
            return failed(fugato_model::words!("the script's path is not usable", "脚本路径无法使用"));
        };
        let dir = self.skill_dir.join(skill.as_str());
        let context = self.context(Access::ReadWrite);
        let _ = live.send(Notice::Live { agent: node.to_owned(), text: String::new() });
        match tools::script::run(&dir, &entry, arguments, &context, token).await {
            Ok(stdout) => Completion::Script { stdout },
            Err(failure) => failed(failure.words()),
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
    access: Access,
    step: u32,
    wrap_up: bool,
    live: UnboundedSender<Notice>,
}

async fn ask(models: &Models, transcript: &tokio::sync::Mutex<Transcript>, call: Call) -> Completion {
    let mut transcript = transcript.lock().await;
    let known = transcript.len().saturating_sub(call.from);
    for message in call.messages.iter().skip(known) {
        transcript.push(message.clone());
    }
    let tools = if call.wrap_up { Vec::new() } else { tool_specs(call.access) };
    let request = ModelRequest {
        model: "",
        system: &call.system,
        transcript: &transcript,
        tools: &tools,
        tool_choice: ToolChoice::Auto,
        max_tokens: None,
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
    match call_with_retries(models, &call.model, request, &mut on_delta, &mut on_retry).await {
        Ok(answer) => {
            let micro_usd =
                models.price(&call.model).and_then(|price| price.cost(&answer.usage)).map(|nano| nano / 1000);
            Completion::Answered { answer: Box::new(answer), micro_usd }
        }
        Err(error) => Completion::ModelFailed { fault: error.fault, message: error.words.en },
    }
}

/// World tools of the access, then the engine's own.
fn tool_specs(access: Access) -> Vec<ToolSpec> {
    let mut specs = tools::specs(match access {
        Access::ReadOnly => tools::Access::ReadOnly,
        Access::ReadWrite => tools::Access::ReadWrite,
    });
    specs.push(ToolSpec {
        name: "submit_result".into(),
        description: "Give the result of your task, as any JSON. This ends your work.".into(),
        parameters: json!({
            "type": "object", "properties": {"result": {"description": "the result"}}, "required": ["result"],
        }),
    });
    specs.push(ToolSpec {
        name: "ask_user".into(),
        description: "Ask the person a question and wait for the answer, however long it takes.".into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "question": {"type": "string"},
                "options": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["question"],
        }),
    });
    specs
}
