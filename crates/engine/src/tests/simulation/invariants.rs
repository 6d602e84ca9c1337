//! What must be true of every run at every moment, computed here from scratch: slowly, plainly, and apart from the
//! bookkeeping that the engine keeps step by step.

use super::generate;
use crate::agent::Slot;
use crate::event::Asked;
use crate::run::Question;
use crate::*;
use std::collections::{BTreeMap, BTreeSet};

/// Checks a run between two commits.
pub fn check(run: &Run, shadow: &Run, under_way: &BTreeMap<EffectKey, Effect>) {
    let mut replayed = shadow.clone();
    replayed.take_changes();
    let mut live = run.clone();
    live.take_changes();
    assert!(live == replayed, "replay differs\n live {live:#?}\n replayed {replayed:#?}");
    let wanted: BTreeSet<EffectKey> = run.wanted().map(|(key, _)| key).collect();
    assert_eq!(wanted, wanted_from_scratch(run), "what is wanted");
    assert_eq!(
        under_way.keys().copied().collect::<BTreeSet<_>>(),
        wanted,
        "what is under way is what is wanted"
    );
    counters(run);
    let at_work: BTreeSet<u32> = wanted.iter().filter_map(|key| node_of(run, *key)).collect();
    let limit = run.spec.limits.concurrent as usize;
    assert!(at_work.len() <= limit, "{} nodes at work, {limit} allowed: {wanted:?}", at_work.len());
    let sub: BTreeSet<u32> = wanted.iter().filter_map(|key| child_of(run, *key)).collect();
    assert!(sub.len() <= limit, "{} subagents at work, {limit} allowed: {wanted:?}", sub.len());
    for (at, state) in (0u32..).zip(&run.agents).filter(|(_, state)| state.is_live()) {
        let calls = state.node.into_iter().flat_map(|node| run.callers(node));
        for call in calls {
            let may = run.plan_node(call).unwrap().access();
            assert!(may == Access::ReadWrite || state.access == may, "agent {at} may more than its caller");
        }
        let parent = state.parent.map(|parent| &run.agents[parent as usize]);
        assert!(parent.is_none_or(AgentState::is_live), "agent {at} outlives its parent");
        let rights = parent.and_then(|parent| parent.rights.as_ref()).zip(state.rights.as_ref());
        assert!(rights.is_none_or(|(above, own)| above.covers(own)), "agent {at} may more than its parent");
        assert!(state.depth <= run.spec.limits.depth, "too deep");
    }
    let kept: u64 = run.agents.iter().map(|agent| agent.share.map_or(0, |share| share.tokens)).sum();
    let calls: u64 = run.agents.iter().map(|agent| agent.reserved.tokens).sum();
    assert_eq!(run.reserved.tokens, kept + calls, "what is set aside");
    if run.ended.is_none() && wanted.is_empty() {
        assert!(way_on(run).is_some(), "stuck: {}\n{run:#?}", run.status());
        assert_ne!(run.status(), "running", "nothing is under way, and the status does not say why");
    }
}

/// What somebody could do so that a run goes on that does nothing. `None`: it ended, or it is stuck.
pub fn way_on(run: &Run) -> Option<Input> {
    if let Some((outcome, ..)) = &run.ended {
        return (*outcome == Outcome::BudgetExhausted)
            .then(|| Input::Raise { limits: generate::raised(run) });
    }
    let is_paused = run.held
        || !run.held_nodes.is_empty()
        || run.agents.iter().any(|agent| agent.is_live() && agent.paused);
    if is_paused {
        return Some(generate::direct(Verb::Resume, Target::All));
    }
    let open = (0u32..).zip(&run.questions).find(|(_, question)| is_open(run, question));
    open.map(|(question, _)| Input::Answer { question, answer: "repeat".into() })
}

/// Does anybody still wait for the answer?
fn is_open(run: &Run, question: &Question) -> bool {
    question.answer.is_none()
        && match question.about {
            Asked::Agent { agent, step, .. } | Asked::Permission { agent, step, .. } => {
                run.agents.get(agent as usize).is_some_and(|state| state.is_live() && state.step == step)
            }
            Asked::Task { agent } => run.agents.get(agent as usize).is_some_and(AgentState::is_live),
            Asked::Uncertain { node } => run.nodes[node as usize].status == NodeStatus::Uncertain,
        }
}

/// Agents and nodes as they stand say what must be under way.
fn wanted_from_scratch(run: &Run) -> BTreeSet<EffectKey> {
    let mut wanted = BTreeSet::new();
    if run.ended.is_some() {
        return wanted;
    }
    for (agent, state) in (0u32..).zip(&run.agents) {
        let step = state.step;
        match &state.turn {
            Turn::Thinking => drop(wanted.insert(EffectKey::Model { agent, step })),
            Turn::Acting { calls } => {
                let asked: BTreeSet<u32> =
                    run.questions.iter().filter_map(|question| slot_of(question, agent, step)).collect();
                let is_tool = |slot: &Slot| slot.result.is_none() && slot.waits_for == WaitsFor::Tool;
                let open = (0u32..).zip(calls).filter(|(_, slot)| is_tool(slot));
                let tools = open.map(|(index, _)| index).filter(|index| !asked.contains(index));
                wanted.extend(tools.map(|index| EffectKey::Tool { agent, step, index }));
            }
            _ => {}
        }
    }
    for (node, (state, plan)) in (0u32..).zip(run.nodes.iter().zip(run.plan_nodes())) {
        let is_effect = matches!(plan.work, Work::Noop | Work::Script { .. }) && !state.inline;
        if state.status == NodeStatus::Running && is_effect {
            wanted.insert(EffectKey::Node { node, attempt: state.attempt });
        }
    }
    wanted
}

fn slot_of(question: &Question, of: u32, at: u32) -> Option<u32> {
    match question.about {
        Asked::Agent { agent, step, index } if (agent, step) == (of, at) => Some(index),
        _ => None,
    }
}

fn counters(run: &Run) {
    let all = || (0u32..).zip(run.nodes.iter().zip(run.plan_nodes()));
    assert_eq!(run.nodes.len(), run.plan_nodes().count(), "every node has a state");
    let call_of = |node: &PlanNode| run.plan_phase(node.phase).and_then(|phase| phase.within);
    let is_call = |node: &NodeState, plan: &PlanNode| {
        matches!(plan.work, Work::Phases { .. } | Work::Session { .. }) && !node.inline
    };
    let at_work = all().filter(|(_, (node, plan))| {
        matches!(node.status, NodeStatus::Running | NodeStatus::Uncertain) && !is_call(node, plan)
    });
    assert_eq!(run.working as usize, at_work.count(), "nodes at work");
    let has_ended = |node: &NodeState, of: &PlanNode| match node.status {
        NodeStatus::Done | NodeStatus::Null | NodeStatus::Skipped => true,
        // The call it belongs to takes note of it; of the run's own, the whole run.
        NodeStatus::Failed => call_of(of).is_some(),
        _ => false,
    };
    let unended = all().filter(|(_, (node, plan))| !has_ended(node, plan));
    assert_eq!(run.unended as usize, unended.count(), "nodes that have not ended");
    let ready = |inline| {
        let chosen =
            all().filter(move |(_, (node, _))| node.status == NodeStatus::Ready && node.inline == inline);
        chosen.map(|(at, _)| at).filter(|at| !run.held_nodes.contains(at)).collect::<BTreeSet<u32>>()
    };
    let ready_inline: BTreeSet<u32> = run.ready_inline.iter().map(|(_, node)| *node).collect();
    assert_eq!((&run.ready, &ready_inline), (&ready(false), &ready(true)), "ready nodes");
    for (at, (node, of)) in all().filter(|_| run.ended.is_none()) {
        let Some(call) = call_of(of) else { continue };
        // Inside of a call that has not begun or has ended nobody works; what ended in one that works is over.
        let works =
            run.nodes[call as usize].status == NodeStatus::Running && !run.nodes[call as usize].inline;
        let moves = matches!(node.status, NodeStatus::Ready | NodeStatus::Running | NodeStatus::Uncertain);
        assert!(works || !moves, "{at} is {:?} and its call is not at work", node.status);
        // What preparation had called and not waited for is skipped, and so is what an attempt before had.
        let is_session = run.orchestrator(call).is_some();
        let is_skipped = node.status == NodeStatus::Skipped && !is_session;
        assert!(!works || !is_skipped, "{at} is skipped while its call works");
    }
    sessions(run);
    assert!(run.agents.iter().all(|agent| agent.step >= agent.task_began_at));
}

/// Whoever leads a session works, waits, or has something to decide; and nobody waits for what has ended.
fn sessions(run: &Run) {
    if run.ended.is_some() {
        return;
    }
    assert!(run.returned.is_empty(), "somebody has not been told: {:?}", run.returned);
    let leads = |agent: &AgentState, node: u32| agent.node == Some(node) && agent.is_live();
    for (node, state) in (0u32..).zip(&run.nodes).filter(|(node, _)| run.orchestrator(*node).is_some()) {
        let is_led = run.agents.iter().any(|agent| leads(agent, node));
        let is_at_work = state.status == NodeStatus::Running;
        let waits = |member: &u32| {
            let status = run.nodes[*member as usize].status;
            matches!(status, NodeStatus::Ready | NodeStatus::Running | NodeStatus::Uncertain)
        };
        let members = run.called_by(node).and_then(|scope| run.scope(scope)).map(|scope| &scope.members);
        let is_waiting = members.is_some_and(|members| members.iter().any(waits));
        let moves = is_led || is_waiting || run.due.contains(&node);
        assert!(!is_at_work || moves, "session {node} stands still");
        assert!(is_at_work || (!is_led && !run.due.contains(&node)), "session {node} is over and goes on");
    }
    for (agent, state) in (0u32..).zip(&run.agents) {
        let Turn::Acting { calls } = &state.turn else { continue };
        for (index, slot) in (0u32..).zip(calls).filter(|(_, slot)| slot.result.is_none()) {
            if slot.waits_for == WaitsFor::Skill {
                let node = run.node_of_call(CallRef { agent, step: state.step, index });
                let status = node.map(|node| run.nodes[node as usize].status);
                let moves = [NodeStatus::Ready, NodeStatus::Running, NodeStatus::Uncertain];
                assert!(status.is_some_and(|status| moves.contains(&status)), "waits for {status:?}");
            }
        }
    }
}

fn node_of(run: &Run, key: EffectKey) -> Option<u32> {
    match key {
        EffectKey::Node { node, .. } => Some(node),
        EffectKey::Model { agent, .. } | EffectKey::Tool { agent, .. } | EffectKey::Recall { agent } => {
            run.agents[agent as usize].node
        }
    }
}

fn child_of(run: &Run, key: EffectKey) -> Option<u32> {
    match key {
        EffectKey::Model { agent, .. } | EffectKey::Tool { agent, .. } | EffectKey::Recall { agent } => {
            run.agents[agent as usize].parent.map(|_| agent)
        }
        EffectKey::Node { .. } => None,
    }
}

pub fn is_once(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::RunTool { class: EffectClass::Once, .. } | Effect::RunScript { class: EffectClass::Once, .. }
    )
}

/// The effect whose outcome an event records.
pub fn outcome_of(kind: &EventKind, before: &Run) -> Option<EffectKey> {
    match kind {
        EventKind::ModelAnswered { agent, step, .. } | EventKind::ModelFailed { agent, step, .. } => {
            Some(EffectKey::Model { agent: *agent, step: *step })
        }
        EventKind::ToolCompleted { agent, step, index, .. }
        | EventKind::ToolUncertain { agent, step, index } => {
            Some(EffectKey::Tool { agent: *agent, step: *step, index: *index })
        }
        EventKind::NodeCompleted { node, .. }
        | EventKind::NodeFailed { node, .. }
        | EventKind::NodeUncertain { node } => {
            let attempt = before.nodes.get(*node as usize)?.attempt;
            Some(EffectKey::Node { node: *node, attempt })
        }
        _ => None,
    }
}
