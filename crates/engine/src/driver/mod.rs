//! What happens next when an input has been recorded. A driver reacts to four things: the run goes on, a node's effect
//! ended, an agent ended, and (through these) a person answered. The graph and the single agent are two drivers of the
//! same machine; delegation, loop and SOP sessions and the modes are further ones.

mod graph;
mod single;

pub(crate) use graph::{node_ended, start_script};

use crate::decide::Recorder;
use crate::event::{EventKind, Outcome, Verdict};
use fugato_model::{Words, words};

/// Starts whatever can start, until nothing more can be decided without an outcome from outside.
pub fn advance(recorder: &mut Recorder<'_>) {
    while recorder.run.ended.is_none() {
        if let Some(reason) = recorder.run.aborting.clone() {
            abort(recorder, reason);
            return;
        }
        if let Some(agent) = recorder.run.runnable.first().copied() {
            step(recorder, agent);
            continue;
        }
        let moved = if recorder.run.spec.single.is_some() {
            single::advance(recorder)
        } else {
            graph::advance(recorder)
        };
        if !moved {
            return;
        }
    }
}

/// An agent ended: its node has a result or a failure; without a node, the run has.
pub fn agent_ended(recorder: &mut Recorder<'_>, agent: u32, verdict: Verdict) {
    match recorder.run.agents.get(agent as usize).and_then(|state| state.node) {
        Some(node) => graph::agent_ended(recorder, agent, node, verdict),
        None => single::agent_ended(recorder, verdict),
    }
}

/// Asks an idle agent for its next step, if its limits leave room for one.
fn step(recorder: &mut Recorder<'_>, agent: u32) {
    let limits = &recorder.run.spec.limits;
    let late = limits.wall_ms.is_some_and(|limit| {
        u64::try_from(recorder.now.saturating_sub(recorder.run.started_at)).is_ok_and(|spent| spent >= limit)
    });
    let exhausted = if late { Some("wall time") } else { recorder.run.spent.exhausted(limits) };
    if let Some(limit) = exhausted {
        let reason = words!("the budget is used up: {limit}", "预算已用完：{limit}");
        return recorder.emit(EventKind::RunEnded {
            outcome: Outcome::BudgetExhausted,
            reason,
            result: None,
        });
    }
    let Some(state) = recorder.run.agents.get(agent as usize) else { return };
    let taken = state.steps_of_task();
    if taken >= limits.steps {
        let verdict = Verdict::LimitReached { limit: "steps".into(), text: state.last_text() };
        recorder.emit(EventKind::AgentStopped { agent, verdict: verdict.clone() });
        return agent_ended(recorder, agent, verdict);
    }
    let (step, wrap_up) = (state.step + 1, taken + 1 == limits.steps);
    recorder.emit(EventKind::ModelRequested { agent, step, wrap_up });
}

/// The first failure that nothing catches ends the run; what was under way is stopped first.
fn abort(recorder: &mut Recorder<'_>, reason: Words) {
    let live: Vec<u32> =
        (0u32..).zip(&recorder.run.agents).filter(|(_, agent)| agent.is_live()).map(|(at, _)| at).collect();
    for agent in live {
        recorder.emit(EventKind::AgentStopped { agent, verdict: Verdict::Cancelled });
    }
    recorder.emit(EventKind::RunEnded { outcome: Outcome::Failed, reason, result: None });
}
