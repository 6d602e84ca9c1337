//! Delegation: agents that other agents start. They wait for a slot in order, work like any agent, and their end is the
//! result of the call that started them, or a message.

use crate::agent::{AgentState, WaitsFor};
use crate::agent_type::{AgentType, Executor};
use crate::decide::Recorder;
use crate::event::{CallRef, Delegated, EventKind, MessageKind, Verdict};
use crate::limits::{Reserve, left};
use crate::plan::Access;
use crate::run::{Queued, Run};
use serde_json::{Value, json};

/// Starts whoever waits longest. `false`: nobody waits.
pub fn start_next(recorder: &mut Recorder<'_>) -> bool {
    let Some(queued) = recorder.run.queue.front().cloned() else { return false };
    let share = share(recorder.run);
    let delegated = Some(Delegated { call: queued.call, background: queued.background, share });
    match recorder.run.agent(queued.agent.as_str()).map(|(at, state)| (at, state.node)) {
        Some((agent, node)) => {
            recorder.emit(EventKind::AgentContinued { agent, node, prompt: queued.prompt, delegated });
        }
        None => start(recorder, queued, delegated),
    }
    true
}

fn start(recorder: &mut Recorder<'_>, queued: Queued, delegated: Option<Delegated>) {
    let spec = recorder.run.spec.clone();
    let parent = queued.call.and_then(|call| recorder.run.agents.get(call.agent as usize));
    let (access, model) =
        parent.map_or((Access::ReadOnly, spec.model.clone()), |parent| (parent.access, parent.model.clone()));
    let kind = spec.types.get(&queued.agent_type);
    let access = match kind.map(|kind| kind.access) {
        Some(Access::ReadWrite) => access,
        _ => Access::ReadOnly,
    };
    recorder.emit(EventKind::AgentStarted {
        agent: queued.agent,
        node: None,
        agent_type: queued.agent_type.clone(),
        access,
        model: self::model(kind.map(AsRef::as_ref), &model),
        system: system_of(kind.map(AsRef::as_ref), &spec.catalog),
        prompt: queued.prompt,
        delegated,
    });
}

/// What an agent of this kind is told before its task.
pub fn system_of(kind: Option<&AgentType>, catalog: &str) -> String {
    let prompt = kind.map(|kind| kind.prompt.as_str()).unwrap_or_default();
    // A kind with skills of its own is told their names; the catalog is that of the whole run.
    match kind.filter(|kind| kind.executor == Executor::Model).and_then(|kind| kind.skills.as_ref()) {
        Some(skills) if skills.is_empty() => prompt.to_owned(),
        Some(skills) => {
            system(prompt, &format!("Skills you may read with skill_read: {}", skills.join(", ")))
        }
        None => system(prompt, self::catalog(kind, catalog)),
    }
}

/// Other programs have no tool of ours to read a skill with.
pub fn catalog<'a>(kind: Option<&AgentType>, catalog: &'a str) -> &'a str {
    if kind.is_none_or(|kind| kind.executor == Executor::Model) { catalog } else { "" }
}

/// Its own, or its parent's. A program that brings its own is called by its name: what it costs is another matter.
pub fn model(kind: Option<&AgentType>, parent: &str) -> String {
    let own = kind.and_then(|kind| kind.model.clone());
    let program = kind.and_then(|kind| match kind.executor {
        Executor::Model => None,
        Executor::Claude => Some("host:claude"),
        Executor::Codex => Some("host:codex"),
        Executor::Script { .. } => Some("program"),
        Executor::Human => Some("person"),
    });
    own.unwrap_or_else(|| program.unwrap_or(parent).to_owned())
}

/// Two parts of a system text, either of which may be missing.
pub fn system(first: &str, second: &str) -> String {
    match (first.is_empty(), second.is_empty()) {
        (_, true) => first.to_owned(),
        (true, false) => second.to_owned(),
        (false, false) => format!("{first}\n\n{second}"),
    }
}

/// An equal part of what is left for everyone who may work at once, and for the master: taken out before the agent starts.
fn share(run: &Run) -> Option<Reserve> {
    let left = left(run)?;
    let free = u64::from(run.spec.limits.concurrent.saturating_sub(run.busy()).max(1));
    Some(Reserve { tokens: left.tokens / (free + 1), micro_usd: left.micro_usd / (free + 1) })
}

/// A subagent that can be asked for its next step whatever the others have left; one that comes back needs a slot.
pub fn next_with_share(run: &Run, has_room: bool) -> Option<u32> {
    let limits = &run.spec.limits;
    if limits.tokens.is_none() && limits.micro_usd.is_none() {
        return None;
    }
    let has_share = |at: &u32| run.agents.get(*at as usize).is_some_and(|state| state.share.is_some());
    let returning = || run.children.intersection(&run.returning).copied().find(has_share);
    let next = run.children.intersection(&run.runnable).copied().find(has_share);
    next.or_else(|| returning().filter(|_| has_room))
}

/// Are there agents in the background whose end this one has not heard of?
pub fn has_work_outstanding(run: &Run, agent: u32) -> bool {
    let is_of = |queued: &Queued| match queued.call {
        Some(call) => call.agent == agent,
        None => run.agent(queued.agent.as_str()).is_some_and(|(_, state)| state.parent == Some(agent)),
    };
    run.queue.iter().any(is_of)
        || children(run, agent).next().is_some()
        || run.agents.get(agent as usize).is_some_and(|state| state.depth == 0 && !state.inbox.is_empty())
}

fn children(run: &Run, agent: u32) -> impl Iterator<Item = u32> {
    let is_child =
        move |at: &u32| run.agents.get(*at as usize).is_some_and(|state| state.parent == Some(agent));
    run.children.iter().copied().filter(is_child)
}

/// Nobody works for somebody who has ended.
pub fn stop_children(recorder: &mut Recorder<'_>, agent: u32) {
    let children: Vec<u32> = children(recorder.run, agent).collect();
    for child in children.into_iter().rev() {
        stop_children(recorder, child);
        recorder.emit(EventKind::AgentStopped { agent: child, verdict: Verdict::Cancelled });
    }
}

/// A subagent ended: whoever waits for it is told, always in the same form.
pub fn ended(recorder: &mut Recorder<'_>, agent: u32, verdict: &Verdict) {
    let Some(state) = recorder.run.agents.get(agent as usize) else { return };
    let (content, is_error) = (report(state, verdict).to_string(), is_error(verdict));
    let path = state.path.to_string();
    let parent = |run: &Run, at: u32| run.agents.get(at as usize).is_some_and(AgentState::is_live);
    match (state.call, state.background) {
        (Some(CallRef { agent, step, index }), false) => {
            let waits = recorder.run.agents.get(agent as usize);
            if waits.is_some_and(|parent| parent.waits(WaitsFor::Agent, step, index)) {
                recorder.emit(EventKind::ToolCompleted { agent, step, index, content, is_error });
            }
        }
        _ => {
            let Some(to) = state.parent.filter(|to| parent(recorder.run, *to)) else { return };
            let text = format!("Agent `{path}` has ended.\n{content}");
            recorder.emit(EventKind::MessageSent { to, from: path, text, kind: Some(MessageKind::Result) });
        }
    }
}

fn is_error(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Failed { .. } | Verdict::Cancelled)
}

/// Who it was, how it ended and why, what it took, and what it has to say.
fn report(state: &AgentState, verdict: &Verdict) -> Value {
    let (word, why, result) = match verdict {
        Verdict::Submitted { value } => ("completed", "it submitted its result".to_owned(), value.clone()),
        Verdict::Answered { text } => ("completed", "it answered".to_owned(), Value::String(text.clone())),
        Verdict::LimitReached { limit, text } => (
            "limit_reached",
            format!("its limit of {limit} was reached; this is what it had"),
            Value::String(text.clone()),
        ),
        Verdict::Failed { message } => ("failed", message.clone(), Value::Null),
        Verdict::Cancelled => ("cancelled", "cancelled by the operator".to_owned(), Value::Null),
    };
    let usage = json!({
        "input_tokens": state.spent.usage.input_tokens.unwrap_or(0),
        "output_tokens": state.spent.usage.output_tokens.unwrap_or(0),
    });
    json!({
        "agentId": state.path.as_str(), "state": word, "why": why, "steps": state.steps_of_task(),
        "usage": usage, "result": fitted(result),
    })
}

/// What a result may add to the conversation of whoever waits for it, in bytes: programs can answer with megabytes.
const MOST_OF_A_RESULT: usize = 64 << 10;

/// The result, or the beginning and the end of a long one.
fn fitted(result: Value) -> Value {
    let text = match &result {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= MOST_OF_A_RESULT {
        return result;
    }
    let half = MOST_OF_A_RESULT / 2;
    let head = (0..=half).rev().find_map(|at| text.get(..at)).unwrap_or_default();
    let tail = (text.len() - half..text.len()).find_map(|at| text.get(at..)).unwrap_or_default();
    let left_out = text.len() - head.len() - tail.len();
    let note = "bytes left out; ask the agent for a shorter answer, or to write it to a file";
    Value::String(format!("{head}\n[… {left_out} {note} …]\n{tail}"))
}
