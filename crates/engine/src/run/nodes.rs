//! The fold of nodes: what waits, is ready, at work, ended; and what their end makes ready.

use super::{Change, NodeState, NodeStatus, Run};
use crate::effect::{Effect, EffectKey};
use crate::event::{AfterFailure, EventKind};
use crate::plan::Work;
use crate::reuse::{Reused, ReusedStatus};
use fugato_model::Words;
use serde_json::Value;

impl Run {
    /// Folds what happens to nodes.
    pub(super) fn fold_node(&mut self, kind: &EventKind) {
        match kind {
            EventKind::NodeStarted { node, attempt, arguments } => {
                self.node_started(*node, *attempt, arguments.as_ref());
            }
            EventKind::NodeCompleted { node, value, warnings } => {
                self.warn(*node, warnings);
                self.node_completed(*node, value);
            }
            EventKind::NodeWarned { node, warnings } => self.warn(*node, warnings),
            EventKind::NodePrinted { .. } => {}
            EventKind::NodeFailed { node, message, then } => self.node_failed(*node, message, *then),
            EventKind::NodeRestarted { node } => {
                self.leave_work(*node);
                self.close_scope(*node);
                self.make_ready(*node);
            }
            EventKind::NodeUncertain { node } => {
                self.drop_node_effect(*node);
                self.doubt(Some(*node));
                self.set_status(*node, NodeStatus::Uncertain);
                self.waiting += 1;
            }
            _ => {}
        }
    }

    /// What a rerun brought along has ended before anything starts.
    pub(super) fn take_over(&mut self, nodes: &[u32]) {
        let spec = self.spec.clone();
        if spec.reused.is_empty() {
            return;
        }
        for at in nodes {
            let Some(reused) = spec.plan.nodes.get(*at as usize).and_then(|node| spec.reused.get(&node.id))
            else {
                continue;
            };
            self.take_over_scope(*at);
            match reused {
                Reused { status: ReusedStatus::Done, value } => self.node_completed(*at, value),
                Reused { status: ReusedStatus::Null, .. } => self.node_is_null(*at),
            }
        }
    }

    pub(crate) fn node(&self, node: u32) -> Option<&NodeState> {
        self.nodes.get(node as usize)
    }

    /// Was its result taken over from another run?
    pub fn is_reused(&self, node: u32) -> bool {
        self.plan_node(node).is_some_and(|plan| self.spec.reused.contains_key(&plan.id))
    }

    pub(super) fn node_started(&mut self, node: u32, attempt: u32, arguments: Option<&Value>) {
        self.no_longer_ready(node);
        if self.node(node).is_some_and(|state| state.status == NodeStatus::Uncertain) {
            self.waiting = self.waiting.saturating_sub(1);
            self.working = self.working.saturating_sub(1);
        }
        let Some(state) = self.nodes.get_mut(node as usize) else { return };
        state.status = NodeStatus::Running;
        state.attempt = attempt;
        let is_inline = state.inline;
        if self.is_call(node) {
            return self.open_scope(node, arguments);
        }
        self.working += 1;
        let effect = match self.plan_node(node).map(|node| (&node.work, &node.id)) {
            Some((Work::Noop, _)) => Effect::Noop,
            Some((Work::Script { skill, dir, entry, class, .. }, id)) if !is_inline => Effect::RunScript {
                node: id.clone(),
                skill: skill.clone(),
                dir: dir.clone(),
                entry: entry.clone(),
                arguments: arguments.cloned().unwrap_or(Value::Null),
                class: *class,
            },
            _ => return,
        };
        self.want(EffectKey::Node { node, attempt }, effect);
    }

    pub(super) fn node_completed(&mut self, node: u32, value: &Value) {
        let Some(plan) = self.plan_node(node) else { return };
        let (output, sets) = match &plan.work {
            Work::Inline { sets, .. } => (plan.output.clone(), sets.clone()),
            _ => (plan.output.clone(), Vec::new()),
        };
        if let Some(output) = output {
            self.set_variable(node, output, value.clone());
        }
        self.member_gave(node, value);
        // An inline phase sets its variables from an object by name; a single variable takes the value whole.
        let single = sets.len() == 1;
        for name in sets {
            let part = value.get(&name).cloned();
            if part.is_none() && self.was_answered(node, &name) {
                continue;
            }
            let taken = part.or_else(|| single.then(|| value.clone())).unwrap_or(Value::Null);
            self.set_variable(node, name, taken);
        }
        self.end_node(node, NodeStatus::Done);
    }

    pub(super) fn node_failed(&mut self, node: u32, message: &Words, then: AfterFailure) {
        if let Some(state) = self.nodes.get_mut(node as usize) {
            state.message = Some(message.clone());
        }
        self.close_scope(node);
        match then {
            AfterFailure::Inline => {
                self.leave_work(node);
                // It may have failed before it started.
                self.no_longer_ready(node);
                if let Some(state) = self.nodes.get_mut(node as usize) {
                    state.inline = true;
                }
                self.make_ready(node);
            }
            AfterFailure::Null => self.node_is_null(node),
            AfterFailure::Abort => {
                self.leave_work(node);
                self.no_longer_ready(node);
                self.set_status(node, NodeStatus::Failed);
                if !self.member_failed(node) {
                    self.aborting.get_or_insert_with(|| message.clone());
                }
            }
        }
    }

    pub(super) fn node_is_null(&mut self, node: u32) {
        if let Some(output) = self.plan_node(node).and_then(|plan| plan.output.clone()) {
            self.set_variable(node, output, Value::Null);
        }
        self.member_gave(node, &Value::Null);
        self.end_node(node, NodeStatus::Null);
    }

    /// A node that was at work is so no more.
    pub(super) fn leave_work(&mut self, node: u32) {
        match self.node(node).map(|state| state.status) {
            Some(NodeStatus::Running) if self.is_call(node) => {}
            Some(NodeStatus::Running) => self.working = self.working.saturating_sub(1),
            Some(NodeStatus::Uncertain) => {
                self.working = self.working.saturating_sub(1);
                self.waiting = self.waiting.saturating_sub(1);
            }
            _ => {}
        }
        self.drop_node_effect(node);
    }

    pub(super) fn end_node(&mut self, node: u32, status: NodeStatus) {
        self.leave_work(node);
        self.no_longer_ready(node);
        self.close_scope(node);
        self.set_status(node, status);
        // Joints end with what they wait for; a work list, because a chain of them must not grow the stack.
        let mut ended = vec![node];
        while let Some(node) = ended.pop() {
            self.unended = self.unended.saturating_sub(1);
            self.member_ended(node);
            // By number, because what follows changes the run; a copy per node would cost more than all the rest.
            let next = |run: &Self, at: usize| run.dependents.get(node as usize)?.get(at).copied();
            for at in 0.. {
                let Some(after) = next(self, at) else { break };
                let Some(state) = self.nodes.get_mut(after as usize) else { continue };
                state.missing = state.missing.saturating_sub(1);
                if state.missing == 0 && state.status == NodeStatus::Pending {
                    match self.plan_node(after).map(|plan| &plan.work) {
                        Some(Work::Gate) => {
                            self.set_status(after, NodeStatus::Done);
                            ended.push(after);
                        }
                        _ => self.make_ready(after),
                    }
                }
            }
        }
    }

    pub(super) fn make_ready(&mut self, node: u32) {
        if matches!(self.plan_node(node).map(|plan| &plan.work), Some(Work::Gate)) {
            self.end_node(node, NodeStatus::Done);
            return;
        }
        let place = self.conversation_of(node);
        let Some(state) = self.nodes.get_mut(node as usize) else { return };
        state.status = NodeStatus::Ready;
        if self.held_nodes.contains(&node) {
            return;
        }
        if state.inline {
            self.ready_inline.insert((place, node));
        } else {
            self.ready.insert(node);
        }
    }

    pub(super) fn no_longer_ready(&mut self, node: u32) {
        self.ready.remove(&node);
        self.ready_inline.remove(&(self.conversation_of(node), node));
    }

    /// Whose main conversation an inline node is for: 0 is the run's.
    pub(crate) fn conversation_of(&self, node: u32) -> u32 {
        self.scope_of(node).map_or(0, |scope| scope + 1)
    }

    /// Is its work that of others? Its fallback is its own.
    pub(crate) fn is_call(&self, node: u32) -> bool {
        self.called_by(node).is_some() && self.node(node).is_some_and(|state| !state.inline)
    }

    pub(super) fn warn(&mut self, node: u32, warnings: &[Words]) {
        if let Some(state) = self.nodes.get_mut(node as usize) {
            state.warnings.extend_from_slice(warnings);
        }
    }

    /// Also of whatever it is a part of.
    pub(super) fn doubt(&mut self, node: Option<u32>) {
        let Some(node) = node else { return };
        let callers: Vec<u32> = self.callers(node).collect();
        for node in std::iter::once(node).chain(callers) {
            if let Some(state) = self.nodes.get_mut(node as usize) {
                state.had_uncertain_effect = true;
            }
        }
    }

    pub(super) fn set_status(&mut self, node: u32, status: NodeStatus) {
        if let Some(state) = self.nodes.get_mut(node as usize) {
            state.status = status;
        }
    }

    /// The one effect a node can have: its outcome is here, or it is no longer wanted.
    pub(super) fn drop_node_effect(&mut self, node: u32) {
        let Some(attempt) = self.node(node).map(|state| state.attempt) else { return };
        let key = EffectKey::Node { node, attempt };
        // Nothing is under way for nothing.
        if self.wanted.remove(&key).is_some_and(|wanted| !wanted.is_nothing()) {
            self.changes.push(Change::Dropped(key));
        }
    }
}
