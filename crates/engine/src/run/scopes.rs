//! The fold of sub-skills with phases of their own: each is a scope with variables, nodes and an end of its own.
//!
//! A scope opens when its call starts, and closes with the call's end. Cost follows the scope, once for each time it
//! opens or closes.

use super::growth::{Given, by_operator};
use super::{NodeStatus, Run, index};
use crate::effect::{Effect, EffectKey};
use crate::event::EffectClass;
use crate::plan::{Access, Plan, Work};
use fugato_model::{Words, words};
use serde_json::Value;
use std::collections::BTreeMap;

/// A sub-skill at work, or that will be.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// The node that calls it.
    pub call: u32,
    /// Its nodes, without those of scopes further inside.
    pub members: Vec<u32>,
    /// Members whose phase no other phase waits for: what they give is the result.
    last: Vec<u32>,
    pub variables: BTreeMap<String, Value>,
    /// What the last members gave.
    given: BTreeMap<u32, Value>,
    unended: u32,
    is_open: bool,
    /// The member whose failure ends it.
    failed: Option<u32>,
    pub(super) kind: ScopeKind,
}

/// What a scope is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    /// The phases of a skill: they all end, or one of them fails, and so does the call.
    Phases,
    /// What an orchestrator calls, one after the other, in this phase: how it ends is its own decision.
    Session { phase: u32 },
}

/// The scopes of a plan, and the scope of each phase.
pub(super) fn scopes(plan: &Plan) -> (Vec<Scope>, Vec<Option<u32>>) {
    if plan.phases.iter().all(|phase| phase.within.is_none()) {
        return (Vec::new(), Vec::new());
    }
    let mut scopes: Vec<Scope> = Vec::new();
    let mut by_call: BTreeMap<u32, u32> = BTreeMap::new();
    let mut by_phase = Vec::with_capacity(plan.phases.len());
    let mut is_last = vec![true; plan.phases.len()];
    for phase in &plan.phases {
        by_phase.push(phase.within.map(|call| {
            *by_call.entry(call).or_insert_with(|| {
                scopes.push(Scope::new(call, ScopeKind::Phases));
                index(scopes.len() - 1)
            })
        }));
        for on in &phase.depends_on {
            if let Some(last) = is_last.get_mut(*on as usize) {
                *last = false;
            }
        }
    }
    for (at, node) in (0u32..).zip(&plan.nodes) {
        let phase = node.phase as usize;
        let scope = by_phase.get(phase).copied().flatten();
        let Some(scope) = scope.and_then(|scope| scopes.get_mut(scope as usize)) else { continue };
        scope.members.push(at);
        if is_last.get(phase) == Some(&true) && !matches!(node.work, Work::Gate) {
            scope.last.push(at);
        }
    }
    (scopes, by_phase)
}

impl Scope {
    fn new(call: u32, kind: ScopeKind) -> Self {
        Self {
            call,
            kind,
            members: Vec::new(),
            last: Vec::new(),
            variables: BTreeMap::new(),
            given: BTreeMap::new(),
            unended: 0,
            is_open: false,
            failed: None,
        }
    }
}

impl Run {
    pub(super) fn add_scope(&mut self, call: u32, kind: ScopeKind) -> u32 {
        let at = index(self.scopes.len());
        self.scopes.push(Scope::new(call, kind));
        self.scope_by_call.insert(call, at);
        at
    }

    /// A node that was added is a member of the scope of its phase.
    pub(super) fn joins_scope(&mut self, node: u32) {
        let Some(plan) = self.plan_node(node) else { return };
        let is_last = !self.waited_for.contains(&plan.phase) && !matches!(plan.work, Work::Gate);
        let scope = self.scope_of(node).and_then(|at| self.scopes.get_mut(at as usize));
        let Some(scope) = scope else { return };
        scope.members.push(node);
        if is_last && scope.kind == ScopeKind::Phases {
            scope.last.push(node);
        }
    }

    /// The scope a node belongs to; `None`: the run itself.
    pub(crate) fn scope_of(&self, node: u32) -> Option<u32> {
        if self.scopes.is_empty() {
            return None;
        }
        let phase = self.plan_node(node)?.phase;
        self.scope_by_phase.get(phase as usize).copied().flatten()
    }

    /// The scope a node calls.
    pub(crate) fn called_by(&self, node: u32) -> Option<u32> {
        if self.scopes.is_empty() {
            return None;
        }
        self.scope_by_call.get(&node).copied()
    }

    pub(crate) fn scope(&self, scope: u32) -> Option<&Scope> {
        self.scopes.get(scope as usize)
    }

    /// The variables a node sees.
    pub fn variables_of(&self, node: u32) -> &BTreeMap<String, Value> {
        match self.scope_of(node).and_then(|scope| self.scope(scope)) {
            Some(scope) => &scope.variables,
            None => &self.variables,
        }
    }

    pub(super) fn set_variable(&mut self, node: u32, name: String, value: Value) {
        let scope = self.scope_of(node).and_then(|scope| self.scopes.get_mut(scope as usize));
        scope.map_or(&mut self.variables, |scope| &mut scope.variables).insert(name, value);
    }

    /// What whoever does this node may do: never more than the kinds of those that called it.
    pub(crate) fn access_of(&self, node: u32) -> Option<Access> {
        let own = self.plan_node(node)?.access();
        let narrow = |call: u32| self.plan_node(call).is_some_and(|call| call.access() == Access::ReadOnly);
        Some(if self.callers(node).any(narrow) { Access::ReadOnly } else { own })
    }

    /// The calls a node is within, innermost first.
    pub fn callers(&self, node: u32) -> impl Iterator<Item = u32> {
        let above = |node: u32| Some(self.scope(self.scope_of(node)?)?.call);
        std::iter::successors(above(node), move |call| above(*call))
    }

    /// A call starts: its phases begin, with these variables.
    pub(super) fn open_scope(&mut self, call: u32, arguments: Option<&Value>) {
        let Some(at) = self.called_by(call) else { return };
        let nulls = match self.plan_node(call).map(|plan| &plan.work) {
            Some(Work::Phases { nulls, .. }) => {
                nulls.iter().map(|name| (name.clone(), Value::Null)).collect()
            }
            _ => BTreeMap::new(),
        };
        let given = arguments.and_then(Value::as_object).into_iter().flatten();
        let Some(scope) = self.scopes.get_mut(at as usize) else { return };
        let is_session = scope.kind != ScopeKind::Phases;
        if is_session {
            // What an attempt before had called has ended with it.
            scope.members.clear();
        }
        scope.variables = nulls;
        scope.variables.extend(given.map(|(name, value)| (name.clone(), value.clone())));
        scope.given.clear();
        scope.failed = None;
        scope.is_open = true;
        scope.unended = index(scope.members.len());
        let members = scope.members.clone();
        if is_session {
            return self.session_begins(call);
        }
        for node in &members {
            self.renew(*node);
        }
        self.take_over(&members);
        // Whoever waits for nobody inside waited for the call.
        for node in members {
            let is_first = self.plan_node(node).is_some_and(|plan| plan.after.is_empty());
            if is_first && self.node(node).is_some_and(|state| state.status == NodeStatus::Pending) {
                self.make_ready(node);
            }
        }
    }

    /// As it was before the run began, but for what it had tried.
    fn renew(&mut self, node: u32) {
        let Some(plan) = self.plan_node(node) else { return };
        let (missing, inline) = (index(plan.after.len()), matches!(plan.work, Work::Inline { .. }));
        let Some(state) = self.nodes.get_mut(node as usize) else { return };
        if state.status.has_ended() || state.status == NodeStatus::Failed {
            self.unended += 1;
        }
        state.status = NodeStatus::Pending;
        (state.missing, state.inline, state.message) = (missing, inline, None);
    }

    /// A call has ended, however it did: what is left inside is not done any more.
    pub(super) fn close_scope(&mut self, call: u32) {
        let mut calls = vec![call];
        while let Some(call) = calls.pop() {
            let Some(at) = self.called_by(call) else { continue };
            self.failing.remove(&at);
            self.finished.remove(&at);
            let Some(scope) = self.scopes.get_mut(at as usize) else { continue };
            scope.is_open = false;
            let is_session = scope.kind != ScopeKind::Phases;
            self.skip_members(at, &mut calls);
            if is_session {
                self.session_ends(call);
            }
        }
    }

    /// Members that have not ended are not done any more; those that are calls themselves are left to the caller.
    pub(super) fn skip_members(&mut self, scope: u32, calls: &mut Vec<u32>) {
        let Some(members) = self.scope(scope).map(|scope| scope.members.clone()) else { return };
        for node in members {
            let Some(state) = self.node(node) else { continue };
            if state.status.has_ended() || state.status == NodeStatus::Failed {
                self.call_dropped(node);
                continue;
            }
            if self.is_once(node) {
                self.doubt(Some(node));
            }
            self.leave_work(node);
            self.no_longer_ready(node);
            self.call_dropped(node);
            self.set_status(node, NodeStatus::Skipped);
            self.unended = self.unended.saturating_sub(1);
            if self.called_by(node).is_some() {
                calls.push(node);
            }
        }
    }

    /// The result of a call was taken over from another run: nothing of it runs.
    pub(super) fn take_over_scope(&mut self, call: u32) {
        let mut calls = vec![call];
        while let Some(call) = calls.pop() {
            let Some(scope) = self.called_by(call).and_then(|at| self.scope(at)) else { continue };
            for node in scope.members.clone() {
                let Some(plan) = self.plan_node(node) else { continue };
                let status = match (&plan.work, self.spec.reused.get(&plan.id).map(|reused| reused.status)) {
                    (Work::Gate, _) | (_, Some(crate::reuse::ReusedStatus::Done)) => NodeStatus::Done,
                    (_, Some(crate::reuse::ReusedStatus::Null)) => NodeStatus::Null,
                    (_, None) => NodeStatus::Skipped,
                };
                if matches!(plan.work, Work::Phases { .. }) {
                    calls.push(node);
                }
                self.set_status(node, status);
                self.unended = self.unended.saturating_sub(1);
            }
        }
    }

    /// A member has ended; the last one ends the scope.
    pub(super) fn member_ended(&mut self, node: u32) {
        let Some(at) = self.scope_of(node) else { return };
        let Some(scope) = self.scopes.get_mut(at as usize) else { return };
        if scope.kind != ScopeKind::Phases {
            let given = scope.given.remove(&node).unwrap_or_default();
            return self.call_ended(node, Given::Done(given));
        }
        scope.unended = scope.unended.saturating_sub(1);
        if scope.is_open && scope.unended == 0 && scope.failed.is_none() {
            self.finished.insert(at);
        }
    }

    /// What a member gave may be (a part of) the result.
    pub(super) fn member_gave(&mut self, node: u32, value: &Value) {
        let scope = self.scope_of(node).and_then(|at| self.scopes.get_mut(at as usize));
        if let Some(scope) = scope
            && (scope.kind != ScopeKind::Phases || scope.last.binary_search(&node).is_ok())
        {
            scope.given.insert(node, value.clone());
        }
    }

    /// A member failed, and nothing inside catches it. `false`: it is a node of the run itself.
    pub(super) fn member_failed(&mut self, node: u32) -> bool {
        let Some(at) = self.scope_of(node) else { return false };
        let Some(scope) = self.scopes.get_mut(at as usize) else { return false };
        scope.unended = scope.unended.saturating_sub(1);
        self.unended = self.unended.saturating_sub(1);
        if scope.kind != ScopeKind::Phases {
            let message = self.node(node).and_then(|state| state.message.clone());
            let message = message.unwrap_or_else(|| words!("failed", "失败"));
            let was_cancelled = message == by_operator();
            let given = if was_cancelled { Given::Cancelled(message) } else { Given::Failed(message) };
            self.call_ended(node, given);
            return true;
        }
        scope.failed.get_or_insert(node);
        self.failing.insert(at);
        true
    }

    /// Why a scope fails: the member, and what it said.
    pub(crate) fn failure_in(&self, scope: u32) -> Option<(u32, Words)> {
        let node = self.scope(scope)?.failed?;
        Some((node, self.node(node)?.message.clone()?))
    }

    /// What the last phases gave: one value as it is, several by the names of their variables.
    pub(crate) fn result_in(&self, scope: u32) -> Value {
        let Some(scope) = self.scope(scope) else { return Value::Null };
        let mut named: Vec<(&str, Value)> = Vec::new();
        let mut unnamed: Vec<Value> = Vec::new();
        for (node, value) in &scope.given {
            let sets = self.plan_node(*node).map(|plan| plan.sets()).unwrap_or_default();
            if sets.is_empty() {
                unnamed.push(value.clone());
            }
            let value = |name: &str| scope.variables.get(name).cloned().unwrap_or_default();
            named.extend(sets.into_iter().map(|name| (name, value(name))));
        }
        match (named.len(), unnamed.len()) {
            (0, 0) => Value::Null,
            (0, 1) => unnamed.pop().unwrap_or_default(),
            (0, _) => Value::Array(unnamed),
            (1, _) => named.pop().map(|(_, value)| value).unwrap_or_default(),
            _ => Value::Object(named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        }
    }

    /// Members at work, those of scopes further inside too.
    pub(crate) fn at_work_in(&self, scope: u32) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open = vec![scope];
        while let Some(at) = open.pop() {
            for node in self.scope(at).map(|scope| scope.members.as_slice()).unwrap_or_default() {
                let status = self.node(*node).map(|state| state.status);
                if !matches!(status, Some(NodeStatus::Running | NodeStatus::Uncertain)) {
                    continue;
                }
                found.push(*node);
                open.extend(self.called_by(*node));
            }
        }
        found
    }

    /// Is a once-only program of this node under way?
    pub(crate) fn is_once(&self, node: u32) -> bool {
        let Some(attempt) = self.node(node).map(|state| state.attempt) else { return false };
        let effect = self.effect(EffectKey::Node { node, attempt });
        matches!(effect, Some(Effect::RunScript { class: EffectClass::Once, .. }))
    }
}
