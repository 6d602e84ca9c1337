//! Sub-skills with phases of their own: what they begin with, and what their end means to whoever called them.
//!
//! The nodes inside are nodes like all others; here is only what happens at the edge of a scope.

use super::delegation;
use super::graph::{Fallback, agent_path, fail, finish, schema};
use super::single::MAIN;
use crate::bridge;
use crate::decide::Recorder;
use crate::event::{EventKind, Verdict};
use crate::run::Run;
use fugato_model::Words;
use fugato_skill::dates;
use serde_json::{Map, Value};

/// The conversation of inline phases: each skill at work has its own.
pub fn main_of(run: &Run, node: u32) -> String {
    let call = run.callers(node).next().and_then(|call| run.plan_node(call));
    call.map_or_else(|| MAIN.to_owned(), |call| format!("{}/{MAIN}", call.id))
}

/// The variables a sub-skill begins with. A date in its arguments is its target date; else it has the caller's.
pub fn variables(run: &Run, call: u32, arguments: String) -> Value {
    let outside = run.variables_of(call);
    let known = |name: &str| outside.get(name).cloned().unwrap_or_default();
    let today = outside.get("TODAY").and_then(Value::as_str).and_then(|today| today.parse().ok());
    let target = today.and_then(|today| dates::date_in(&arguments, today));
    let target = target.map_or_else(|| known("TARGET_DATE"), |date| date.to_string().into());
    let mut inside = Map::new();
    inside.insert("ARGUMENTS".into(), arguments.into());
    inside.insert("TODAY".into(), known("TODAY"));
    inside.insert("TODAY_ZONE".into(), known("TODAY_ZONE"));
    inside.insert("TARGET_DATE".into(), target);
    Value::Object(inside)
}

/// Ends one sub-skill whose work has ended. `false`: there is none.
pub fn settle(recorder: &mut Recorder<'_>) -> bool {
    // The outermost last: its end is decided by what is inside.
    if let Some(scope) = recorder.run.failing.last().copied() {
        failed(recorder, scope);
        return true;
    }
    let Some(scope) = recorder.run.finished.last().copied() else { return false };
    let Some(call) = recorder.run.scope(scope).map(|scope| scope.call) else { return false };
    let value = recorder.run.result_in(scope);
    let result = result(recorder.run, call, value);
    finish(recorder, call, result);
    true
}

/// Read as the result of an agent that submitted it.
fn result(run: &Run, call: u32, value: Value) -> Result<(Value, Vec<Words>), Words> {
    let plan = run.plan_node(call);
    let output = plan.and_then(|plan| plan.output.as_deref());
    let read = bridge::result_of(Verdict::Submitted { value }, output, schema(plan));
    read.map_err(|unusable| unusable.message)
}

/// The first failure that nothing inside catches: what is under way inside is stopped, and the caller's order decides.
fn failed(recorder: &mut Recorder<'_>, scope: u32) {
    let Some(call) = recorder.run.scope(scope).map(|scope| scope.call) else { return };
    let Some((node, message)) = recorder.run.failure_in(scope) else { return };
    let in_doubt = recorder.run.at_work_in(scope).into_iter().any(|node| recorder.run.is_once(node));
    let was_cancelled = agent_of(recorder.run, node)
        .and_then(|agent| recorder.run.agents.get(agent as usize))
        .is_some_and(|agent| agent.verdict == Some(Verdict::Cancelled));
    stop_agents(recorder, scope);
    let id = recorder.run.plan_node(node).map(|plan| plan.id.clone()).unwrap_or_default();
    let Words { en, zh } = message;
    let message = match recorder.run.called_by(node) {
        // It names the innermost one already.
        Some(_) => Words { en, zh },
        None => Words { en: format!("`{id}`: {en}"), zh: format!("`{id}`：{zh}") },
    };
    let fallback = if in_doubt || was_cancelled { Fallback::No } else { Fallback::Allowed };
    fail(recorder, call, message, fallback);
}

/// Stops whoever works inside.
pub fn stop_agents(recorder: &mut Recorder<'_>, scope: u32) {
    let at_work = recorder.run.at_work_in(scope);
    let mut agents: Vec<u32> = at_work.into_iter().filter_map(|node| agent_of(recorder.run, node)).collect();
    agents.sort_unstable();
    agents.dedup();
    for agent in agents.into_iter().rev() {
        if recorder.run.agents.get(agent as usize).is_some_and(crate::AgentState::is_live) {
            delegation::stop_children(recorder, agent);
            recorder.emit(EventKind::AgentStopped { agent, verdict: Verdict::Cancelled });
        }
    }
}

/// Whoever works, or worked last, on a node.
fn agent_of(run: &Run, node: u32) -> Option<u32> {
    if let Some(session) = run.session(node) {
        return session.agent;
    }
    let (plan, state) = (run.plan_node(node)?, run.node(node)?);
    let path =
        if state.inline { main_of(run, node) } else { agent_path(&plan.id, state.attempt).to_string() };
    run.agent(&path).map(|(at, _)| at)
}
