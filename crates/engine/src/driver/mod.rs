//! What happens next when an input has been recorded. A driver reacts to four things: the run goes on, a node's effect
//! ended, an agent ended, and (through these) a person answered. The graph and the single agent are two drivers of the
//! same machine; delegation, loop and SOP sessions and the modes are further ones.

mod calls;
mod delegation;
mod graph;
mod loop_session;
mod preparation;
pub(crate) mod session;
mod single;
mod sop;

pub(crate) use calls::stop_agents;
pub(crate) use delegation::stop_children;
pub(crate) use graph::{give_up, node_ended};
pub(crate) use preparation::{is_at_work as is_preparing, needs_a_person};

use crate::agent::{AgentState, Duty};
use crate::agent_type::Executor;
use crate::context;
use crate::decide::Recorder;
use crate::event::{Asked, EventKind, Outcome, Purpose, Verdict};
use crate::limits::{Fit, Reserve, fit, is_last_of_share};
use crate::orchestration::{SessionKind, TURN_STEPS};
use crate::run::Run;
use fugato_model::{Words, words};

/// Starts whatever can start, until nothing more can be decided without an outcome from outside.
pub fn advance(recorder: &mut Recorder<'_>) {
    while recorder.run.ended.is_none() {
        if let Some(reason) = recorder.run.aborting.clone() {
            abort(recorder, reason);
            return;
        }
        // Before anybody inside is asked for another step.
        if calls::settle(recorder) || session::settle(recorder) {
            continue;
        }
        let has_room = recorder.run.busy() < recorder.run.spec.limits.concurrent;
        let returning = recorder.run.returning.first().copied().filter(|_| has_room);
        // One that must wait for the budget keeps those behind it waiting too: first come, first served.
        if let Some(agent) = recorder.run.runnable.first().copied().or(returning)
            && step(recorder, agent)
        {
            continue;
        }
        // Whoever has a share of its own waits for nobody.
        if let Some(agent) = delegation::next_with_share(recorder.run, has_room)
            && step(recorder, agent)
        {
            continue;
        }
        if has_room && !recorder.run.held && delegation::start_next(recorder) {
            continue;
        }
        if !recorder.run.held && session::advance(recorder, has_room) {
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

/// Ends an agent and whatever it had started, and tells whoever waits for it.
pub fn stop(recorder: &mut Recorder<'_>, agent: u32, verdict: Verdict) {
    if matches!(verdict, Verdict::Answered { .. }) && delegation::has_work_outstanding(recorder.run, agent) {
        return recorder.emit(EventKind::AgentWaiting { agent });
    }
    stop_children(recorder, agent);
    recorder.emit(EventKind::AgentStopped { agent, verdict: verdict.clone() });
    let Some(state) = recorder.run.agents.get(agent as usize) else { return };
    match (state.parent, state.node) {
        (Some(_), _) => {
            delegation::ended(recorder, agent, &verdict);
            // What was said to it while it gave its answer is still to be seen.
            if matches!(verdict, Verdict::Answered { .. } | Verdict::Submitted { .. }) {
                crate::decide::goes_on(recorder, agent);
            }
        }
        // Its node has a result or a failure; without a node, the run has.
        (None, Some(node)) => graph::agent_ended(recorder, node, verdict),
        (None, None) => single::agent_ended(recorder, verdict),
    }
}

/// Ends an agent that may have done something nobody knows of: no fallback does it again.
pub fn stop_in_doubt(recorder: &mut Recorder<'_>, agent: u32, verdict: Verdict) {
    let state = recorder.run.agents.get(agent as usize);
    match (state.and_then(|state| state.node), verdict) {
        (Some(node), Verdict::Failed { message }) => {
            recorder.emit(EventKind::AgentStopped {
                agent,
                verdict: Verdict::Failed { message: message.clone() },
            });
            give_up(recorder, node, words!("{message}", "{message}"));
        }
        (_, verdict) => stop(recorder, agent, verdict),
    }
}

/// What is wrong with an agent's result, if a shape was declared for it.
pub fn problem(run: &Run, agent: u32, verdict: &Verdict) -> Option<String> {
    let node = run.agents.get(agent as usize)?.node?;
    graph::problem(run, node, verdict)
}

/// Asks an idle agent for its next step, if its limits leave room for one. `false`: it must wait.
fn step(recorder: &mut Recorder<'_>, agent: u32) -> bool {
    if recorder.run.deadline().is_some_and(|at| recorder.now >= at) {
        exhaust(recorder, "wall time");
        return true;
    }
    let limits = &recorder.run.spec.limits;
    let Some(state) = recorder.run.agents.get(agent as usize) else { return false };
    if state.kind.executor == Executor::Human {
        let task = match state.inbox.as_slice() {
            [] => state.messages.last().map(|said| said.text()),
            told => Some(told.join("\n\n")),
        };
        let question = u32::try_from(recorder.run.questions.len()).unwrap_or(u32::MAX);
        let (about, text, options) = (Asked::Task { agent }, task.unwrap_or_default(), Vec::new());
        recorder.emit(EventKind::InputRequested { question, about, text, options });
        return true;
    }
    let taken = state.steps_of_task();
    let is_master = state.parent.is_none() && state.node.is_none();
    // Other programs count their own steps: to us a whole turn of theirs is one.
    let by_model = state.kind.executor == Executor::Model;
    let own = turn_steps(recorder.run, state).or(state.kind.steps.filter(|_| by_model && !is_master));
    let most = own.unwrap_or(limits.steps);
    if taken >= most {
        let verdict = Verdict::LimitReached { limit: "steps".into(), text: state.last_text() };
        stop(recorder, agent, verdict);
        return true;
    }
    let room = limits.context_tokens;
    let purpose = if !by_model {
        Purpose::Step
    } else if taken.saturating_add(1) == most || is_last_of_share(recorder.run, state) {
        Purpose::WrapUp
    } else if state.context.tokens() > room && context::cut(state, room).is_some() {
        Purpose::Summary
    } else {
        Purpose::Step
    };
    // A program of the person's own asks no model: it uses nothing of the budget.
    let asks_nobody = matches!(state.kind.executor, Executor::Script { .. });
    let fitting = if asks_nobody { Fit::Yes(Reserve::default(), None) } else { fit(recorder.run, state) };
    match fitting {
        Fit::Yes(reserve, max_tokens) => {
            let step = state.step.saturating_add(1);
            recorder.emit(EventKind::ModelRequested { agent, step, purpose, reserve, max_tokens });
            true
        }
        // Whatever is under way may come to its end; the run stops when nothing is.
        Fit::Wait => false,
        // What was kept for this agent alone: the others go on.
        Fit::Exhausted(limit) if state.share.is_some() => {
            let verdict = Verdict::LimitReached { limit: limit.into(), text: state.last_text() };
            stop(recorder, agent, verdict);
            true
        }
        Fit::Exhausted(_) if recorder.run.wanted().next().is_some() => false,
        Fit::Exhausted(limit) => {
            exhaust(recorder, limit);
            true
        }
    }
}

/// Steps of one turn of whoever works for a session.
fn turn_steps(run: &Run, state: &AgentState) -> Option<u32> {
    if state.duty == Duty::Task {
        return None;
    }
    match run.orchestrator(state.node?)?.session {
        // The last one is for wrapping up: with that alone nothing could ever be done.
        SessionKind::Loop { steps } => Some(steps.max(2)),
        SessionKind::Sop { .. } => Some(TURN_STEPS),
    }
}

/// The budget is used up: a state with the partial result, from which a larger budget leads on.
pub fn exhaust(recorder: &mut Recorder<'_>, limit: &str) {
    let reason = words!("the budget is used up: {limit}", "预算已用完：{limit}");
    let result = if recorder.run.spec.single.is_some() {
        single::partial(recorder.run)
    } else {
        graph::last_output(recorder.run).or_else(|| loop_session::partial(recorder.run))
    };
    recorder.emit(EventKind::RunEnded { outcome: Outcome::BudgetExhausted, reason, result });
}

/// The budget was raised: what a limit had ended goes on.
pub fn reopen(recorder: &mut Recorder<'_>) {
    if recorder.run.spec.single.is_some() {
        single::reopen(recorder);
    } else {
        loop_session::reopen(recorder);
    }
}

/// The first failure that nothing catches ends the run; what was under way is stopped first.
fn abort(recorder: &mut Recorder<'_>, reason: Words) {
    let live: Vec<u32> =
        (0u32..).zip(&recorder.run.agents).filter(|(_, agent)| agent.is_live()).map(|(at, _)| at).collect();
    for agent in live.into_iter().rev() {
        recorder.emit(EventKind::AgentStopped { agent, verdict: Verdict::Cancelled });
    }
    recorder.emit(EventKind::RunEnded { outcome: Outcome::Failed, reason, result: None });
}
