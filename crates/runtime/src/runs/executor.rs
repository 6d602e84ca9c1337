//! Agents whose work another program does: Claude Code, Codex, or a program of the person's own. To the engine each is a
//! model that answers once; what it does meanwhile becomes events, and its conversation can be continued.

use super::perform::World;
use super::session::Notice;
use crate::hosts::{
    self, Ending, Guard, Host, HostEnd, HostEvent, HostSession, HostSettings, HostTask, HostTools,
};
use crate::process::{self, End, Spec};
use crate::tools::{Access, ToolContext};
use fugato_engine::permission::{Mode, Rule};
use fugato_engine::{AgentState, Completion, Executor, Run};
use fugato_model::chat::{Answer, Message, ModelFault, Role, StopReason, Usage};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsString;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// What is known of the hosts: their settings, and the environment they are started with.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    known: Vec<Known>,
}

#[derive(Clone, Debug)]
struct Known {
    host: Host,
    settings: HostSettings,
    env: Vec<(OsString, OsString)>,
}

impl Hosts {
    /// `all`: the whole environment; each host gets what it needs of it.
    pub fn new(settings: impl Fn(Host) -> HostSettings, all: &[(OsString, OsString)]) -> Self {
        let of = |host: Host| {
            let settings = settings(host);
            let env = hosts::environment(host, all.iter().cloned(), &settings.env);
            Known { host, settings, env }
        };
        Self { known: Host::ALL.into_iter().map(of).collect() }
    }
}

/// One step of such an agent, with everything it needs.
pub(super) struct Work {
    agent: String,
    job: Job,
}

enum Job {
    Host(Box<HostTask>),
    Program { spec: Result<Box<Spec>, String> },
    Nobody(String),
}

/// What a program is told that was cut off in the middle.
const INTERRUPTED: &str = "You were interrupted while you worked on this. Look at what you have done already, do not do it \
again, and go on to the end of your task.";
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
        Self { agent: state.path.to_string(), job }
    }

    pub async fn run(self, token: CancellationToken, live: UnboundedSender<Notice>) -> Completion {
        match self.job {
            Job::Host(task) => hosted(self.agent, *task, token, live).await,
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

fn host(host: Host, state: &AgentState, run: &Run, world: &World) -> Job {
    let known = world.hosts.known.iter().find(|known| known.host == host);
    let Some(Known { settings, env, .. }) = known else {
        return Job::Nobody(format!("{} is not available here", host.as_str()));
    };
    let session = state.session.as_ref().and_then(|(step, session)| {
        let session: HostSession = serde_json::from_value(session.clone()).ok()?;
        Some((*step == state.step, session))
    });
    let mut task = HostTask::new(host, world.project.clone(), told(state));
    if let Some((true, _)) = &session {
        task.prompt = INTERRUPTED.to_owned();
    }
    task.resume = session.map(|(_, session)| session);
    task.program.clone_from(&settings.program);
    task.system = state.system.to_string();
    // The run's own model is one of ours; a host has models of its own.
    task.model = state.kind.model.clone().or_else(|| settings.model.clone());
    let mode = run.spec.permissions.rules.mode;
    task.access = match (state.access, mode) {
        (fugato_engine::Access::ReadWrite, Mode::Default | Mode::AcceptEdits) => Access::ReadWrite,
        // It works where nobody can be asked: what would be asked does not happen.
        _ => Access::ReadOnly,
    };
    task.guard = if mode == Mode::Default { settings.guard } else { Guard::Kept };
    task.max_turns = state.kind.steps;
    task.tools = tools(state, run);
    task.env.clone_from(env);
    task.log = world.context(state.path.as_str(), state.access).processes;
    Job::Host(Box::new(task))
}

/// The host's tools by its kind and the run's rules; what nobody allowed, the host's own checks decide about.
fn tools(state: &AgentState, run: &Run) -> HostTools {
    let rules = &run.spec.permissions.rules;
    let words = |rules: &[Rule]| rules.iter().map(|rule| rule.as_str().to_owned()).collect::<Vec<_>>();
    let mut denied: Vec<String> = words(&rules.deny);
    denied.extend(words(&rules.ask));
    denied.extend(state.kind.deny.iter().cloned());
    denied.extend(state.kind.disallowed.iter().cloned());
    let allowed = if rules.mode == Mode::ReadOnly { Vec::new() } else { words(&rules.allow) };
    let approved = narrowed(&allowed, &state.kind.only);
    HostTools { only: state.kind.tools.clone(), approved, denied }
}

/// Of what is allowed, what a kind that is for parts of some tools leaves of it.
fn narrowed(allowed: &[String], only: &[String]) -> Vec<String> {
    let tool = |rule: &str| rule.split('(').next().unwrap_or_default().to_owned();
    let whole: Vec<&String> = only.iter().filter(|rule| allowed.contains(&tool(rule))).collect();
    let kept = allowed
        .iter()
        .filter(|rule| only.contains(rule) || !only.iter().any(|part| tool(part) == tool(rule)));
    let mut approved: Vec<String> = kept.chain(whole).cloned().collect();
    approved.dedup();
    approved
}

async fn hosted(
    agent: String,
    task: HostTask,
    token: CancellationToken,
    live: UnboundedSender<Notice>,
) -> Completion {
    let counted = task.resume.clone().map(|session| session.counted).unwrap_or_default();
    let mut calls: HashMap<String, (String, Value)> = HashMap::new();
    let mut on_event = |event: HostEvent| {
        let agent = agent.clone();
        let notice = match event {
            HostEvent::Session(id) => Notice::Hosted { agent, session: json!(HostSession { id, counted }) },
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
        };
        // Whoever listened may be gone.
        let _ = live.send(notice);
    };
    let ended = hosts::run(task, token, &mut on_event).await;
    let _ = live.send(Notice::Said { agent: agent.clone() });
    if let Some(session) = &ended.session {
        let _ = live.send(Notice::Hosted { agent, session: json!(session) });
    }
    completion(ended)
}

fn completion(ended: HostEnd) -> Completion {
    let text = match ended.end {
        Ending::Done => ended.text,
        Ending::TurnLimit => format!("{}\n\n[its limit of turns was reached]", ended.text),
        Ending::Failed(words) => return failed(words.en),
        Ending::Cancelled => return failed("cancelled".to_owned()),
        Ending::TimedOut => return failed("it took too long and was ended".to_owned()),
    };
    answered(text, ended.usage, ended.micro_usd)
}

fn answered(text: String, usage: Usage, micro_usd: Option<u64>) -> Completion {
    let answer = Answer { message: Message::assistant(text), stop: StopReason::EndTurn, usage };
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
    let context: ToolContext = world.context(state.path.as_str(), state.access);
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
        End::Exited(0) => answered(said, Usage::default(), None),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_for_parts_of_a_tool_is_approved_for_those_only() {
        let of = |allowed: &[&str], only: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            narrowed(&owned(allowed), &owned(only))
        };
        assert_eq!(of(&["Bash", "Read"], &["Bash(git:*)"]), ["Read", "Bash(git:*)"]);
        assert_eq!(of(&["Bash(npm:*)", "Read"], &["Bash(git:*)"]), ["Read"]);
        assert_eq!(of(&["Bash(git:*)"], &["Bash(git:*)"]), ["Bash(git:*)"]);
        assert_eq!(of(&["Bash", "Read"], &[]), ["Bash", "Read"]);
    }
}
