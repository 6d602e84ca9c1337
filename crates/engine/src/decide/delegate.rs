//! `Agent` and `SendMessage`: one admission for whoever is started, continued or told something.

use super::completion::{ask_for, denied, permitted};
use super::{Recorder, refuse};
use crate::agent::AgentState;
use crate::event::{AgentPath, CallRef, EffectClass, EventKind, MessageKind};
use crate::input::Refusal;
use crate::permission::Decision;
use crate::run::{Queued, Run, own_id, wanted_type};
use crate::tools::DELEGATE;
use fugato_model::chat::ToolCall;
use fugato_model::words;

/// What an agent may hold unread; whoever sends more is told.
const MAX_UNREAD: usize = 1000;
const MAX_UNREAD_BYTES: usize = 1 << 20;
/// Agents of one run: far more than anybody reads about, few enough to keep.
const MAX_AGENTS: usize = 10_000;

/// An agent calls one of the two: the run's rules are asked first. Delegating changes nothing by itself, and whoever is
/// started goes by the same rules, so no mode stands in its way.
pub fn asked(recorder: &mut Recorder<'_>, by: CallRef, call: &ToolCall) {
    let CallRef { agent, step, index } = by;
    let rights = recorder.run.agents.get(agent as usize).and_then(|state| state.rights.clone());
    match permitted(recorder.run, &as_meant(call), EffectClass::Read, rights.as_deref()) {
        Decision::Allow => called(recorder, by, call),
        Decision::Deny { why } => {
            let content = denied(&why);
            recorder.emit(EventKind::ToolCompleted { agent, step, index, content, is_error: true });
        }
        Decision::Ask { why } => {
            let question = ask_for(recorder.run, by, call, &why);
            recorder.emit(question);
        }
    }
}

/// Rules are about the kind that would be started, however it is written.
fn as_meant(call: &ToolCall) -> ToolCall {
    let mut meant = call.clone();
    if call.name == DELEGATE
        && let Some(arguments) = meant.arguments.as_object_mut()
    {
        arguments.insert("subagent_type".to_owned(), wanted_type(call).into());
    }
    meant
}

/// One of the two, allowed.
pub fn called(recorder: &mut Recorder<'_>, by: CallRef, call: &ToolCall) {
    let outcome = if call.name == DELEGATE { spawn(recorder, by, call) } else { send(recorder, by, call) };
    let CallRef { agent, step, index } = by;
    match outcome {
        Ok(Answer::Later) => {}
        Ok(Answer::Now(content)) => {
            recorder.emit(EventKind::ToolCompleted { agent, step, index, content, is_error: false });
        }
        Err(Problem::Wrong(content)) => {
            recorder.emit(EventKind::ToolCompleted { agent, step, index, content, is_error: true });
        }
        Err(Problem::Forbidden(reason)) => {
            recorder.emit(EventKind::ToolRefused { agent, step, index, reason });
        }
    }
}

/// When the call has its result.
enum Answer {
    Now(String),
    Later,
}

enum Problem {
    /// Something to do better.
    Wrong(String),
    /// Not for this agent, however often it asks.
    Forbidden(String),
}

fn wrong<T>(text: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::Wrong(text.into()))
}

fn spawn(recorder: &mut Recorder<'_>, by: CallRef, call: &ToolCall) -> Result<Answer, Problem> {
    let run = &*recorder.run;
    may_delegate(run, by.agent, &call.name)?;
    let text = |key: &str| call.arguments.get(key).and_then(|value| value.as_str()).map(str::trim);
    if text("prompt").is_none_or(str::is_empty) {
        return wrong("`prompt` is missing: the whole instruction for the subagent, which sees nothing else");
    }
    let name = wanted_type(call);
    if !run.spec.types.contains_key(name) {
        let known: Vec<&str> = run.spec.types.keys().map(String::as_str).collect();
        let near = fugato_model::nearest(name, known.iter().copied());
        let near = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
        return wrong(format!("there is no subagent_type `{name}`; there are: {}.{near}", known.join(", ")));
    }
    if run.agents.len() + run.queue.len() >= MAX_AGENTS {
        return wrong(format!("not started: a run has at most {MAX_AGENTS} agents"));
    }
    let number = run.named.get(name).copied().unwrap_or(0) + 1;
    let agent = AgentPath::new(&format!("{name}-{number}"));
    Ok(admit(recorder, &agent, Some(by), is_background(call)))
}

/// Only a master delegates.
fn may_delegate(run: &Run, agent: u32, tool: &str) -> Result<(), Problem> {
    let Some(state) = run.agents.get(agent as usize) else { return wrong("unknown agent") };
    if run.spec.types.is_empty() {
        return Err(Problem::Forbidden(format!("there is no tool `{tool}` in this run")));
    }
    if state.depth >= run.spec.limits.depth {
        let (depth, most) = (state.depth.saturating_add(1), run.spec.limits.depth.saturating_add(1));
        return Err(Problem::Forbidden(format!(
            "`{tool}` is not for subagents: this is level {depth} of {most} (a master and its subagents, which \
             start none). Do the work yourself, or answer with what is missing so that your master can delegate it"
        )));
    }
    if !state.has_tool(tool) {
        return Err(Problem::Forbidden(format!("there is no tool `{tool}` for this agent")));
    }
    Ok(())
}

fn is_background(call: &ToolCall) -> bool {
    call.arguments.get("run_in_background").is_some_and(|value| value.as_bool() == Some(true))
}

/// The one way to a slot, for a new agent and for one that goes on.
fn admit(recorder: &mut Recorder<'_>, agent: &AgentPath, call: Option<CallRef>, background: bool) -> Answer {
    let run = &recorder.run;
    let free = run.spec.limits.concurrent.saturating_sub(run.busy()) as usize;
    let before = run.queue.len();
    let position = if before < free { 0 } else { before + 1 - free };
    let position = u32::try_from(position).unwrap_or(u32::MAX);
    recorder.emit(EventKind::AgentQueued { agent: agent.clone(), call, position, background });
    match background {
        false => Answer::Later,
        true => {
            let state = if position == 0 { "started" } else { "queued" };
            let told = "its end arrives as a message";
            Answer::Now(
                serde_json::json!({"agentId": agent.as_str(), "state": state, "note": told}).to_string(),
            )
        }
    }
}

fn send(recorder: &mut Recorder<'_>, by: CallRef, call: &ToolCall) -> Result<Answer, Problem> {
    let run = &*recorder.run;
    may_delegate(run, by.agent, &call.name)?;
    let text = |key: &str| call.arguments.get(key).and_then(|value| value.as_str()).map(str::trim);
    let Some(message) = text("message").filter(|message| !message.is_empty()) else {
        return wrong("`message` is missing");
    };
    let Some(to) = text("toolCallId").or_else(|| text("to")).filter(|to| !to.is_empty()) else {
        return wrong(
            "`toolCallId` (or `to`) is missing: the call that started the agent, or the agent's id",
        );
    };
    let found = match started_by(run, to).as_slice() {
        [] => run.agent(to).map(|(at, _)| at),
        [one] => Some(*one),
        several => {
            let paths = several.iter().filter_map(|at| run.agents.get(*at as usize));
            let paths: Vec<&str> = paths.map(|state| state.path.as_str()).collect();
            let list = paths.join(", ");
            return wrong(format!(
                "the call `{to}` started several agents ({list}): send to one of these ids"
            ));
        }
    };
    let Some((at, state)) = found.and_then(|at| Some((at, run.agents.get(at as usize)?))) else {
        if let Some(place) = run.queue.iter().position(|queued| is_named(queued, to)) {
            return wrong(format!("`{to}` has not started yet: {place} agents wait before it"));
        }
        let known: Vec<String> = run.agents.iter().map(|agent| agent.path.to_string()).collect();
        return wrong(format!("there is no agent `{to}`; there are: {}", known.join(", ")));
    };
    let path = state.path.clone();
    if at == by.agent {
        return wrong("that is you");
    }
    if state.was_cancelled() {
        return wrong(format!(
            "`{path}` was cancelled and does not go on; start a new one if it is still needed"
        ));
    }
    if state.is_live() {
        if is_full(state, message) {
            return wrong(format!("not sent: the inbox of `{path}` is full"));
        }
        let from = run.agents.get(by.agent as usize).map(|state| state.path.to_string()).unwrap_or_default();
        let told = serde_json::json!({
            "agentId": path.as_str(), "state": "running", "steps": state.steps_of_task(),
            "note": "the message is seen at its next step",
        });
        let (text, kind) = (message.to_owned(), Some(MessageKind::Handoff));
        recorder.emit(EventKind::MessageSent { to: at, from, text, kind });
        return Ok(Answer::Now(told.to_string()));
    }
    if run.queue.iter().any(|queued| queued.agent == path) {
        return wrong(format!("`{path}` is about to go on; send it more when it runs"));
    }
    if state.parent != Some(by.agent) {
        return wrong(format!("`{path}` has finished, and only the agent that started it can have it go on"));
    }
    Ok(admit(recorder, &path, Some(by), is_background(call)))
}

/// Whom the calls of this name started; only a provider's name can be that of several.
fn started_by(run: &Run, name: &str) -> Vec<u32> {
    /// More need not be listed for somebody who must choose.
    const LISTED: usize = 20;
    run.by_call.get(name).into_iter().flatten().copied().take(LISTED).collect()
}

fn is_named(queued: &Queued, name: &str) -> bool {
    let own = || queued.call.map(|call| own_id(Some(call), call.agent, call.step));
    queued.call_id == name || queued.agent.as_str() == name || own().is_some_and(|own| own == name)
}

/// A person, or another program, says something to an agent. One that had stopped goes on, when its parent is there to
/// be told what came of it.
pub fn told(
    recorder: &mut Recorder<'_>,
    to: u32,
    from: &str,
    text: &str,
    kind: MessageKind,
) -> Result<(), Refusal> {
    takes(recorder.run, to, text)?;
    let Some(state) = recorder.run.agents.get(to as usize) else { return Ok(()) };
    let path = state.path.clone();
    let goes_on = !state.is_live() && state.parent.is_some();
    let (from, text, kind) = (from.to_owned(), text.to_owned(), Some(kind));
    recorder.emit(EventKind::MessageSent { to, from, text, kind });
    if goes_on && !recorder.run.queue.iter().any(|queued| queued.agent == path) {
        admit(recorder, &path, None, true);
    }
    Ok(())
}

/// May this agent be told something, and is there room for it?
pub fn takes(run: &Run, to: u32, text: &str) -> Result<(), Refusal> {
    let Some(state) = run.agents.get(to as usize) else { return Ok(()) };
    let path = &state.path;
    if state.was_cancelled() {
        return refuse(words!("agent `{path}` was cancelled", "代理 `{path}` 已被取消"));
    }
    if is_full(state, text) {
        return refuse(words!("inbox full", "收件箱已满"));
    }
    Ok(())
}

/// An agent that stopped with something unread goes on, when its parent is there to be told what came of it.
pub fn goes_on(recorder: &mut Recorder<'_>, agent: u32) {
    let run = &*recorder.run;
    let Some(state) = run.agents.get(agent as usize) else { return };
    let parent = state.parent.and_then(|parent| run.agents.get(parent as usize));
    let is_wanted = !state.is_live() && !state.inbox.is_empty() && parent.is_some_and(AgentState::is_live);
    let path = state.path.clone();
    if is_wanted && run.ended.is_none() && !run.queue.iter().any(|queued| queued.agent == path) {
        admit(recorder, &path, None, true);
    }
}

fn is_full(state: &AgentState, more: &str) -> bool {
    let bytes: usize = state.inbox.iter().map(String::len).sum();
    state.inbox.len() >= MAX_UNREAD || bytes + more.len() > MAX_UNREAD_BYTES
}
