//! The part of the plan that grows while the run goes on: nodes of called skills. The run's own plan stays as it was
//! pinned; both have one numbering, and the cost of a call follows the skill that is called.

use super::{NodeState, Run, ScopeKind, index};
use crate::agent::WaitsFor;
use crate::called::Standing;
use crate::event::{CallRef, RunSpec};
use crate::orchestration::{CallableWork, Caller};
use crate::plan::{Phase, PlanNode, Work};
use fugato_model::{Words, words};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Everything that calls have added.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Growth {
    nodes: Vec<Arc<PlanNode>>,
    phases: Vec<Phase>,
    /// Beside the first node of each call.
    called: Vec<Option<Called>>,
    /// Which node a tool call waits for.
    by_tool: HashMap<CallRef, u32>,
    /// Names that are taken, and how often each was asked for once more.
    ids: HashSet<Box<str>>,
    asked: HashMap<String, u32>,
}

/// A call, and what came of it until its caller has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    pub by: Caller,
    /// The node of the session that called.
    pub session: u32,
    pub skill: Arc<str>,
    pub arguments: Arc<[Arc<str>]>,
    pub given: Option<Given>,
}

impl Called {
    pub(super) fn new(by: &Caller, skill: &Arc<str>, arguments: &Arc<[Arc<str>]>) -> Self {
        let (skill, arguments) = (Arc::clone(skill), Arc::clone(arguments));
        Self { by: by.clone(), session: 0, skill, arguments, given: None }
    }

    pub fn prompt(&self) -> String {
        self.arguments.join(" ")
    }

    /// What a program is handed that is called.
    pub fn for_script(&self) -> Value {
        json!({"args": self.arguments, "prompt": self.prompt()})
    }
}

/// How a called skill ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    Done(Value),
    Failed(Words),
    Cancelled(Words),
}

/// A node of the plan that can be held while the run changes.
pub(crate) enum Planned {
    Own(Arc<RunSpec>, u32),
    Added(Arc<PlanNode>),
}

impl Planned {
    pub fn node(&self) -> Option<&PlanNode> {
        match self {
            Self::Own(spec, node) => spec.plan.nodes.get(*node as usize),
            Self::Added(node) => Some(node),
        }
    }
}

/// Why a node failed that somebody stopped.
pub(crate) fn by_operator() -> Words {
    words!("cancelled by the operator", "已被操作者取消")
}

/// Names that the agents of a session have themselves.
const OWN_NAMES: [&str; 2] = ["prepare", "plan"];

impl Run {
    pub fn plan_node(&self, node: u32) -> Option<&PlanNode> {
        let own = &self.spec.plan.nodes;
        match own.get(node as usize) {
            Some(node) => Some(node),
            None => self.growth.nodes.get(node as usize - own.len()).map(AsRef::as_ref),
        }
    }

    pub(crate) fn planned(&self, node: u32) -> Planned {
        let own = self.spec.plan.nodes.len();
        match (node as usize).checked_sub(own).and_then(|at| self.growth.nodes.get(at)) {
            Some(added) => Planned::Added(added.clone()),
            None => Planned::Own(self.spec.clone(), node),
        }
    }

    /// All nodes, in the order of their numbers: those of the pinned plan, then those that calls have added.
    pub fn plan_nodes(&self) -> impl DoubleEndedIterator<Item = &PlanNode> {
        self.spec.plan.nodes.iter().chain(self.growth.nodes.iter().map(AsRef::as_ref))
    }

    pub fn plan_phase(&self, phase: u32) -> Option<&Phase> {
        let own = &self.spec.plan.phases;
        match own.get(phase as usize) {
            Some(phase) => Some(phase),
            None => self.growth.phases.get(phase as usize - own.len()),
        }
    }

    /// All phases, in the order of their numbers.
    pub fn plan_phases(&self) -> impl DoubleEndedIterator<Item = &Phase> {
        self.spec.plan.phases.iter().chain(&self.growth.phases)
    }

    /// The call that a node was added for.
    pub fn called(&self, node: u32) -> Option<&Called> {
        let at = self.place_in_growth(node)?;
        self.growth.called.get(at)?.as_ref()
    }

    fn called_mut(&mut self, node: u32) -> Option<&mut Called> {
        let at = self.place_in_growth(node)?;
        self.growth.called.get_mut(at)?.as_mut()
    }

    fn keep_call(&mut self, node: u32, called: Called) {
        let Some(at) = self.place_in_growth(node) else { return };
        self.growth.called.resize_with(self.growth.called.len().max(at + 1), || None);
        if let Some(place) = self.growth.called.get_mut(at) {
            *place = Some(called);
        }
    }

    fn place_in_growth(&self, node: u32) -> Option<usize> {
        (node as usize).checked_sub(self.spec.plan.nodes.len())
    }

    /// So many calls are about to come.
    pub(super) fn expect_calls(&mut self, count: usize) {
        self.nodes.reserve(count);
        let Growth { nodes, called, ids, .. } = &mut self.growth;
        nodes.reserve(count);
        called.reserve(count);
        ids.reserve(count);
    }

    /// The number the next added node gets.
    pub(crate) fn next_node(&self) -> u32 {
        index(self.nodes.len())
    }

    /// What a call is called: by who called it and what was called, numbered from the second one on.
    pub(crate) fn free_id(&self, session: u32, name: &str) -> String {
        let base = self.base_id(session, name);
        let asked = self.growth.asked.get(&base).copied().unwrap_or(0);
        let numbered = (asked.saturating_add(1)..).map(|number| match number {
            1 => base.clone(),
            number => format!("{base}~{number}"),
        });
        let is_free =
            |id: &String| !self.growth.ids.contains(id.as_str()) && !self.by_path.contains_key(id.as_str());
        let is_own = |id: &String| OWN_NAMES.contains(&name) && *id == base;
        numbered.into_iter().find(|id| is_free(id) && !is_own(id)).unwrap_or_default()
    }

    fn base_id(&self, session: u32, name: &str) -> String {
        let above = self.plan_node(session).map(|plan| plan.id.as_str()).unwrap_or_default();
        format!("{above}/{}", name.replace('/', "-"))
    }

    /// Folds a call: the plan grows by its nodes, and the first of them is ready, or starts.
    pub(super) fn skill_called(&mut self, node: u32, id: &str, mut called: Called, starts: bool) {
        let session = match &called.by {
            Caller::Tool { agent, .. } => self.agents.get(*agent as usize).and_then(|state| state.node),
            Caller::Command { session, .. } => Some(*session),
        };
        let Some(callable) = self.spec.skills.get(&*called.skill).cloned() else { return };
        let Some((session, phase)) = session.and_then(|node| Some((node, self.phase_of_session(node)?)))
        else {
            return;
        };
        if node != self.next_node() {
            return;
        }
        // Only who was asked for once more has a number.
        if id.contains('~') {
            let name = match &called.by {
                Caller::Tool { .. } => &called.skill,
                Caller::Command { name, .. } => name,
            };
            *self.growth.asked.entry(self.base_id(session, name)).or_default() += 1;
        }
        self.growth.ids.insert(id.into());
        let first_phase = index(self.spec.plan.phases.len() + self.growth.phases.len());
        let expansion = callable.expand(&called.skill, id, Standing { node, phase, first_phase });
        self.add_phases(expansion.phases);
        self.add_nodes(expansion.nodes);
        called.session = session;
        let by = called.by.clone();
        let arguments =
            (starts && matches!(callable.work, CallableWork::Script { .. })).then(|| called.for_script());
        self.keep_call(node, called);
        self.call_begins(node, session, &by);
        if starts {
            self.node_started(node, 1, arguments.as_ref());
        } else {
            self.make_ready(node);
        }
    }

    fn call_begins(&mut self, node: u32, session: u32, by: &Caller) {
        match by {
            Caller::Tool { agent, step, index } => {
                let call = CallRef { agent: *agent, step: *step, index: *index };
                self.spent.tool_calls += 1;
                self.growth.by_tool.insert(call, node);
                self.with_agent(*agent, |state| state.wait_for(WaitsFor::Skill, *step, *index));
            }
            Caller::Command { name, .. } => {
                self.command_called(session, name, node);
                self.stir(session);
            }
        }
    }

    /// Phases of a called skill, each within a call that is there already or comes right after them.
    pub(super) fn add_phases(&mut self, phases: Vec<Phase>) {
        // Without a scope there was nothing to say of the plan's own phases.
        let known = self.spec.plan.phases.len() + self.growth.phases.len();
        self.scope_by_phase.resize(known, None);
        for phase in phases {
            self.waited_for.extend(phase.depends_on.iter().copied());
            let scope = phase.within.map(|call| match self.scope_by_call.get(&call) {
                Some(scope) => *scope,
                None => self.add_scope(call, ScopeKind::Phases),
            });
            self.scope_by_phase.push(scope);
            self.growth.phases.push(phase);
        }
    }

    fn add_nodes(&mut self, nodes: Vec<PlanNode>) {
        let first = self.nodes.len();
        for node in &nodes {
            self.nodes.push(NodeState::of(node));
            self.dependents.push(Vec::new());
            self.unended += 1;
        }
        for (at, node) in (first..).zip(nodes) {
            for after in &node.after {
                if let Some(next) = self.dependents.get_mut(*after as usize) {
                    next.push(index(at));
                }
            }
            let is_session = matches!(node.work, Work::Session { .. });
            self.growth.nodes.push(Arc::new(node));
            self.joins_scope(index(at));
            if is_session {
                self.add_session(index(at));
            }
        }
    }

    /// A session has a place for what it calls.
    pub(super) fn add_session(&mut self, node: u32) {
        let phase = index(self.spec.plan.phases.len() + self.growth.phases.len());
        let name = self.plan_node(node).map(|plan| plan.id.clone()).unwrap_or_default();
        self.add_scope(node, ScopeKind::Session { phase });
        self.add_phases(vec![Phase { name, parallel: true, depends_on: Vec::new(), within: Some(node) }]);
    }

    /// A called skill has ended, however it did: whoever called it has to be told.
    pub(super) fn call_ended(&mut self, node: u32, given: Given) {
        let Some(called) = self.called_mut(node) else { return };
        let (by, session) = (called.by.clone(), called.session);
        match &by {
            Caller::Tool { agent, step, index } => {
                called.given = Some(given);
                let waits = self.agents.get(*agent as usize);
                if waits.is_some_and(|state| state.waits(WaitsFor::Skill, *step, *index)) {
                    self.returned.insert(node);
                }
            }
            Caller::Command { name, .. } => {
                self.command_ended(session, name, node, &given);
                self.stir(session);
            }
        }
    }

    /// The node whose end a tool call waits for, until the call has its result.
    pub(crate) fn node_of_call(&self, call: CallRef) -> Option<u32> {
        if self.growth.by_tool.is_empty() {
            return None;
        }
        self.growth.by_tool.get(&call).copied()
    }

    /// A tool call has its result: nobody waits for the node any more, and what it gave is needed no longer.
    pub(super) fn call_delivered(&mut self, call: CallRef) {
        if self.growth.by_tool.is_empty() {
            return;
        }
        let Some(node) = self.growth.by_tool.remove(&call) else { return };
        self.returned.remove(&node);
        let Some(called) = self.called_mut(node) else { return };
        let (session, given) = (called.session, called.given.take());
        if let Some(given) = given {
            self.keep_result(session, &given);
        }
    }

    /// Nobody waits for what a member of a session gives.
    pub(super) fn call_dropped(&mut self, node: u32) {
        let Some(called) = self.called_mut(node) else { return };
        called.given = None;
        if let Caller::Tool { agent, step, index } = called.by {
            self.growth.by_tool.remove(&CallRef { agent, step, index });
        }
        self.returned.remove(&node);
    }
}
