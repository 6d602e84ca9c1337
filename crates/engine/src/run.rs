//! The state of a run: the fold of its events. `apply` is the only function that changes it, live and in replay alike.
//!
//! Cost follows the event: what becomes ready, runnable or wanted is maintained step by step, never searched for.

use crate::agent::{AgentState, Slot, Turn};
use crate::context::{self, ContextSize};
use crate::decide::REPEAT;
use crate::effect::{Effect, EffectKey};
use crate::event::{
    AfterFailure, AgentPath, Asked, EffectClass, Event, EventKind, Outcome, Purpose, RunSpec, Target, Verb,
};
use crate::limits::{Reserve, Spent};
use crate::plan::{PlanNode, Work};
use crate::question::Wants;
use crate::reuse::{Reused, ReusedStatus};
use fugato_model::chat::{Message, Usage};
use fugato_model::{Digest, Words};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A run, as far as its log tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub spec: Arc<RunSpec>,
    /// Number of the last event.
    pub seq: u64,
    pub started_at: i64,
    pub variables: BTreeMap<String, Value>,
    pub nodes: Vec<NodeState>,
    pub agents: Vec<AgentState>,
    pub questions: Vec<Question>,
    pub ended: Option<(Outcome, Words, Option<Value>)>,
    pub spent: Spent,
    /// What calls under way may still use.
    pub reserved: Reserve,
    /// Skills that agents have read, with the content they have had ever since.
    pub skills_used: BTreeMap<String, Digest>,
    /// Milliseconds that earlier owners worked on the run, and when the present one began.
    pub(crate) worked_ms: u64,
    pub(crate) owned_since: i64,
    pub(crate) last_at: i64,
    /// `pause all`: nothing new starts.
    pub held: bool,
    pub generation: u64,
    /// A failure that ends the run once its consequences are recorded.
    pub(crate) aborting: Option<Words>,
    pub(crate) by_path: HashMap<AgentPath, u32>,
    /// Nodes whose dependencies have ended, in plan order; those for the main agent's conversation apart.
    pub(crate) ready: BTreeSet<u32>,
    pub(crate) ready_inline: BTreeSet<u32>,
    /// Agents that should be asked for their next step.
    pub(crate) runnable: BTreeSet<u32>,
    /// Agents that were answered and wait for a slot before they are asked for their next step.
    pub(crate) returning: BTreeSet<u32>,
    /// Nodes at work, and how many of them only wait for a person to say whether they happened.
    pub(crate) working: u32,
    pub(crate) waiting: u32,
    /// Agents without a slot: they only wait for a person, or for a slot to come back to.
    resting: BTreeSet<u32>,
    /// What was under way when a budget ran out: wanted again once it is raised.
    suspended: BTreeMap<EffectKey, Effect>,
    pub(crate) unended: u32,
    /// Live agents that are paused.
    pub(crate) paused: BTreeSet<u32>,
    open_questions: BTreeSet<u32>,
    // Ordered, so that the same log stops and starts things in the same order.
    wanted: BTreeMap<EffectKey, Effect>,
    changes: Vec<Change>,
    dependents: Vec<Vec<u32>>,
}

/// The state of one node of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeState {
    pub status: NodeStatus,
    /// Dependencies that have not ended.
    pub missing: u32,
    pub attempt: u32,
    /// Its fallback is under way: the sub-skill runs in the main conversation.
    pub inline: bool,
    pub message: Option<Words>,
    /// What a person should know although it went on, oldest first.
    pub warnings: Vec<Words>,
    /// Something of it may or may not have happened: nobody does it again unasked.
    pub had_uncertain_effect: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    Pending,
    Ready,
    Running,
    /// A once-only effect may or may not have happened; a person decides.
    Uncertain,
    Done,
    /// Failed, but optional: its output is null.
    Null,
    Failed,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub about: Asked,
    pub text: String,
    pub options: Vec<String>,
    pub wants: Wants,
    /// The node of the agent that asked.
    pub node: Option<u32>,
    pub answer: Option<String>,
}

/// What the last inputs changed about the effects that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Wanted(EffectKey),
    Dropped(EffectKey),
}

impl Run {
    /// The run right after its first event. `None`: that event is not `run.created`.
    pub fn created(event: &Event) -> Option<Self> {
        let EventKind::RunCreated { spec } = &event.kind else { return None };
        let count = spec.plan.nodes.len();
        let mut dependents: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut nodes = Vec::with_capacity(count);
        for (at, node) in spec.plan.nodes.iter().enumerate() {
            for after in &node.after {
                dependents.get_mut(*after as usize)?.push(index(at));
            }
            nodes.push(NodeState {
                status: NodeStatus::Pending,
                missing: index(node.after.len()),
                attempt: 0,
                inline: matches!(node.work, Work::Inline { .. }),
                message: None,
                warnings: Vec::new(),
                had_uncertain_effect: false,
            });
        }
        let mut run = Self {
            variables: spec.context.clone(),
            spec: spec.clone(),
            seq: event.seq,
            started_at: event.at,
            nodes,
            agents: Vec::new(),
            questions: Vec::new(),
            ended: None,
            spent: Spent::default(),
            reserved: Reserve::default(),
            skills_used: BTreeMap::new(),
            worked_ms: 0,
            owned_since: event.at,
            last_at: event.at,
            held: false,
            generation: 0,
            aborting: None,
            by_path: HashMap::new(),
            ready: BTreeSet::new(),
            ready_inline: BTreeSet::new(),
            runnable: BTreeSet::new(),
            returning: BTreeSet::new(),
            resting: BTreeSet::new(),
            suspended: BTreeMap::new(),
            working: 0,
            waiting: 0,
            unended: index(count),
            paused: BTreeSet::new(),
            open_questions: BTreeSet::new(),
            wanted: BTreeMap::new(),
            changes: Vec::new(),
            dependents,
        };
        run.take_over();
        let is_free = |node: &NodeState| node.missing == 0 && node.status == NodeStatus::Pending;
        let free: Vec<u32> = (0..index(count)).filter(|at| run.node(*at).is_some_and(is_free)).collect();
        free.into_iter().for_each(|at| run.make_ready(at));
        Some(run)
    }

    /// What a rerun brought along has ended before anything starts.
    fn take_over(&mut self) {
        let spec = self.spec.clone();
        if spec.reused.is_empty() {
            return;
        }
        for (at, node) in (0u32..).zip(&spec.plan.nodes) {
            match spec.reused.get(&node.id) {
                Some(Reused { status: ReusedStatus::Done, value }) => self.node_completed(at, value),
                Some(Reused { status: ReusedStatus::Null, .. }) => self.node_is_null(at),
                None => {}
            }
        }
    }

    /// Builds a run from its whole log.
    pub fn replay<'e>(events: impl IntoIterator<Item = &'e Event>) -> Option<Self> {
        let mut events = events.into_iter();
        let mut run = Self::created(events.next()?)?;
        events.for_each(|event| run.apply(event));
        Some(run)
    }

    /// Folds one event. Events that do not fit (a late outcome, an unknown number) change nothing.
    pub fn apply(&mut self, event: &Event) {
        self.seq = event.seq;
        if matches!(event.kind, EventKind::RunRecovered { .. }) {
            // What the last owner worked is known by its last event; the time until now belongs to nobody.
            self.worked_ms = self.worked_ms.saturating_add(since(self.owned_since, self.last_at));
            self.owned_since = event.at;
        }
        self.last_at = event.at;
        match &event.kind {
            EventKind::RunCreated { .. }
            | EventKind::RunRecovered { .. }
            | EventKind::TimerFired { .. }
            | EventKind::ModelRetried { .. }
            | EventKind::DirectiveApplied { .. }
            | EventKind::DirectiveRefused { .. } => {}
            EventKind::LimitsRaised { limits } => {
                let mut spec = (*self.spec).clone();
                spec.limits = limits.clone();
                self.spec = Arc::new(spec);
                if matches!(self.ended, Some((Outcome::BudgetExhausted, ..))) {
                    self.ended = None;
                    (0..self.agents.len()).for_each(|at| self.refresh(index(at)));
                    for (key, effect) in std::mem::take(&mut self.suspended) {
                        self.want(key, effect);
                    }
                }
            }
            EventKind::RunEnded { outcome, reason, result } => {
                self.ended = Some((*outcome, reason.clone(), result.clone()));
                if *outcome == Outcome::BudgetExhausted {
                    self.suspended = self.wanted.clone();
                }
                self.drop_effects(|_| true);
                self.runnable.clear();
                self.returning.clear();
            }
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
                self.make_ready(*node);
            }
            EventKind::NodeUncertain { node } => {
                self.drop_node_effect(*node);
                self.doubt(Some(*node));
                self.set_status(*node, NodeStatus::Uncertain);
                self.waiting += 1;
            }
            EventKind::AgentStarted { agent, node, agent_type, access, model, system, prompt } => {
                let messages = vec![Arc::new(Message::user(prompt.clone()))];
                let state = AgentState {
                    path: agent.clone(),
                    node: *node,
                    agent_type: agent_type.clone(),
                    access: *access,
                    model: model.clone(),
                    system: system.as_str().into(),
                    context: ContextSize::of(system, &messages),
                    messages,
                    compactions: 0,
                    asked: Purpose::Step,
                    reserved: Reserve::default(),
                    step: 0,
                    task_began_at: 0,
                    turn: Turn::Idle,
                    paused: false,
                    inbox: Vec::new(),
                    missteps: 0,
                    misstep_at: 0,
                    repairs: 0,
                    spent: Spent::default(),
                };
                let at = index(self.agents.len());
                self.by_path.insert(agent.clone(), at);
                self.agents.push(state);
                self.refresh(at);
            }
            EventKind::AgentContinued { agent, node, prompt } => {
                // A fallback in the main conversation has the rights of its own type, not those of the phase before it.
                let access = node.and_then(|node| self.plan_node(node)).map(PlanNode::access);
                self.with_agent(*agent, |state| {
                    state.access = access.unwrap_or(state.access);
                    state.node = *node;
                    state.task_began_at = state.step;
                    (state.missteps, state.repairs) = (0, 0);
                    state.say(Message::user(prompt.clone()));
                    state.turn = Turn::Idle;
                });
            }
            EventKind::AgentCompacted { agent, step, summary, kept_from, usage, micro_usd } => {
                self.close(EffectKey::Model { agent: *agent, step: *step });
                self.free(*agent);
                if *usage != Usage::default() {
                    self.spent.add(*usage, *micro_usd);
                }
                self.with_agent(*agent, |state| {
                    if *usage != Usage::default() {
                        state.spent.add(*usage, *micro_usd);
                    }
                    context::compact(state, summary, *kept_from);
                    // A summary is no step of the task.
                    state.task_began_at = (state.task_began_at + 1).min(state.step);
                    state.turn = Turn::Idle;
                });
            }
            EventKind::RepairAsked { agent, problem } => {
                self.with_agent(*agent, |state| state.repair(problem));
            }
            EventKind::AgentStopped { agent, .. } => {
                self.free(*agent);
                self.forget_questions(*agent);
                self.with_agent(*agent, AgentState::stop);
                let agent = *agent;
                self.drop_effects(|key| match key {
                    EffectKey::Model { agent: a, .. } | EffectKey::Tool { agent: a, .. } => a == agent,
                    EffectKey::Node { .. } => false,
                });
            }
            EventKind::ModelRequested { agent, step, purpose, reserve, max_tokens } => {
                self.model_requested(*agent, *step, *purpose, *reserve, *max_tokens);
            }
            EventKind::ModelAnswered { agent, step, answer, micro_usd } => {
                self.close(EffectKey::Model { agent: *agent, step: *step });
                self.free(*agent);
                self.spent.add(answer.usage, *micro_usd);
                self.with_agent(*agent, |state| {
                    state.spent.add(answer.usage, *micro_usd);
                    state.say(answer.message.clone());
                    state.context.counted(answer.usage);
                    let slot = |call: &fugato_model::chat::ToolCall| Slot {
                        call: call.id.clone(),
                        asked: false,
                        result: None,
                    };
                    let calls: Vec<Slot> = answer.message.tool_calls().map(slot).collect();
                    state.turn = if calls.is_empty() { Turn::Idle } else { Turn::Acting { calls } };
                });
            }
            EventKind::ModelFailed { agent, step, .. } => {
                self.close(EffectKey::Model { agent: *agent, step: *step });
                self.free(*agent);
                self.with_agent(*agent, |state| {
                    state.misstep(*step);
                    state.turn = Turn::Idle;
                });
            }
            EventKind::ToolRequested { agent, step, index, call, class } => {
                let key = EffectKey::Tool { agent: *agent, step: *step, index: *index };
                self.spent.tool_calls += 1;
                if let Some(state) = self.agents.get(*agent as usize) {
                    let path = state.path.clone();
                    self.want(key, Effect::RunTool { agent: path, call: call.clone(), class: *class });
                }
            }
            EventKind::ToolCompleted { agent, step, index, content, is_error } => {
                self.close(EffectKey::Tool { agent: *agent, step: *step, index: *index });
                self.with_agent(*agent, |state| state.result(*index, content.clone(), *is_error));
            }
            EventKind::ToolRefused { agent, step, index, reason } => {
                self.with_agent(*agent, |state| {
                    state.misstep(*step);
                    state.result(*index, reason.clone(), true);
                });
            }
            EventKind::SkillUsed { name, digest, .. } => {
                self.skills_used.entry(name.clone()).or_insert(*digest);
            }
            EventKind::ToolUncertain { agent, step, index } => {
                self.close(EffectKey::Tool { agent: *agent, step: *step, index: *index });
                self.doubt(self.agents.get(*agent as usize).and_then(|state| state.node));
                self.with_agent(*agent, |state| state.result(*index, UNCERTAIN.to_owned(), true));
            }
            EventKind::InputRequested { about, text, options, .. } => {
                if let Asked::Agent { agent, step, index } = *about {
                    self.with_agent(agent, |state| state.ask(step, index));
                }
                let (wants, node) = self.wants_of(*about);
                let (text, options) = (text.clone(), options.clone());
                self.open_questions.insert(index(self.questions.len()));
                self.questions.push(Question { about: *about, text, options, wants, node, answer: None });
            }
            EventKind::InputAnswered { question, answer } => self.answered(*question, answer),
            EventKind::MessageSent { to, text, .. } => {
                self.with_agent(*to, |state| state.inbox.push(text.clone()));
            }
            EventKind::DirectiveRecorded { generation, verb, target, .. } => {
                self.generation = *generation;
                match (verb, target) {
                    (Verb::Pause, Target::All) => self.held = true,
                    (Verb::Resume, Target::All) => self.held = false,
                    _ => {}
                }
                self.pause_or_resume(*verb, target);
            }
        }
    }

    /// Effects that should be under way now.
    pub fn wanted(&self) -> impl Iterator<Item = (EffectKey, &Effect)> {
        let wanted = self.wanted.iter().filter(|_| self.ended.is_none());
        wanted.map(|(key, effect)| (*key, effect))
    }

    pub fn effect(&self, key: EffectKey) -> Option<&Effect> {
        self.wanted.get(&key).filter(|_| self.ended.is_none())
    }

    /// What changed about them since the last call, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    pub fn agent(&self, path: &str) -> Option<(u32, &AgentState)> {
        let at = *self.by_path.get(path)?;
        Some((at, self.agents.get(at as usize)?))
    }

    pub fn plan_node(&self, node: u32) -> Option<&PlanNode> {
        self.spec.plan.nodes.get(node as usize)
    }

    /// Was its result taken over from another run?
    pub fn is_reused(&self, node: u32) -> bool {
        self.plan_node(node).is_some_and(|plan| self.spec.reused.contains_key(&plan.id))
    }

    pub(crate) fn node(&self, node: u32) -> Option<&NodeState> {
        self.nodes.get(node as usize)
    }

    fn node_started(&mut self, node: u32, attempt: u32, arguments: Option<&Value>) {
        self.ready.remove(&node);
        self.ready_inline.remove(&node);
        if self.node(node).is_some_and(|state| state.status == NodeStatus::Uncertain) {
            self.waiting = self.waiting.saturating_sub(1);
            self.working = self.working.saturating_sub(1);
        }
        self.working += 1;
        let Some(state) = self.nodes.get_mut(node as usize) else { return };
        state.status = NodeStatus::Running;
        state.attempt = attempt;
        let is_inline = state.inline;
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

    fn node_completed(&mut self, node: u32, value: &Value) {
        let Some(plan) = self.plan_node(node) else { return };
        let (output, sets) = match &plan.work {
            Work::Inline { sets, .. } => (plan.output.clone(), sets.clone()),
            _ => (plan.output.clone(), Vec::new()),
        };
        if let Some(output) = output {
            self.variables.insert(output, value.clone());
        }
        // An inline phase sets its variables from an object by name; a single variable takes the value whole.
        let single = sets.len() == 1;
        for name in sets {
            let part = value.get(&name).cloned();
            if part.is_none() && self.was_answered(node, &name) {
                continue;
            }
            let taken = part.or_else(|| single.then(|| value.clone())).unwrap_or(Value::Null);
            self.variables.insert(name, taken);
        }
        self.end_node(node, NodeStatus::Done);
    }

    fn node_failed(&mut self, node: u32, message: &Words, then: AfterFailure) {
        if let Some(state) = self.nodes.get_mut(node as usize) {
            state.message = Some(message.clone());
        }
        match then {
            AfterFailure::Inline => {
                self.leave_work(node);
                // It may have failed before it started.
                self.ready.remove(&node);
                if let Some(state) = self.nodes.get_mut(node as usize) {
                    state.inline = true;
                }
                self.make_ready(node);
            }
            AfterFailure::Null => self.node_is_null(node),
            AfterFailure::Abort => {
                self.leave_work(node);
                self.ready.remove(&node);
                self.ready_inline.remove(&node);
                self.set_status(node, NodeStatus::Failed);
                self.aborting.get_or_insert_with(|| message.clone());
            }
        }
    }

    fn node_is_null(&mut self, node: u32) {
        if let Some(output) = self.plan_node(node).and_then(|plan| plan.output.clone()) {
            self.variables.insert(output, Value::Null);
        }
        self.end_node(node, NodeStatus::Null);
    }

    /// A node that was at work is so no more.
    fn leave_work(&mut self, node: u32) {
        match self.node(node).map(|state| state.status) {
            Some(NodeStatus::Running) => self.working = self.working.saturating_sub(1),
            Some(NodeStatus::Uncertain) => {
                self.working = self.working.saturating_sub(1);
                self.waiting = self.waiting.saturating_sub(1);
            }
            _ => {}
        }
        self.drop_node_effect(node);
    }

    fn end_node(&mut self, node: u32, status: NodeStatus) {
        self.leave_work(node);
        self.ready.remove(&node);
        self.ready_inline.remove(&node);
        self.set_status(node, status);
        // Joints end with what they wait for; a work list, because a chain of them must not grow the stack.
        let mut ended = vec![node];
        while let Some(node) = ended.pop() {
            self.unended = self.unended.saturating_sub(1);
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

    fn make_ready(&mut self, node: u32) {
        if matches!(self.plan_node(node).map(|plan| &plan.work), Some(Work::Gate)) {
            self.end_node(node, NodeStatus::Done);
            return;
        }
        let Some(state) = self.nodes.get_mut(node as usize) else { return };
        state.status = NodeStatus::Ready;
        let set = if state.inline { &mut self.ready_inline } else { &mut self.ready };
        set.insert(node);
    }

    fn model_requested(
        &mut self,
        agent: u32,
        step: u32,
        purpose: Purpose,
        reserve: Reserve,
        max_tokens: Option<u32>,
    ) {
        let mut effect = None;
        self.free(agent);
        self.reserved.add(reserve);
        self.with_agent(agent, |state| {
            state.take_inbox();
            state.step = step;
            state.asked = purpose;
            state.reserved = reserve;
            state.turn = Turn::Thinking;
            let (path, model) = (state.path.clone(), state.model.clone());
            effect = Some(Effect::CallModel { agent: path, model, step, purpose, max_tokens });
        });
        if let Some(effect) = effect {
            self.want(EffectKey::Model { agent, step }, effect);
        }
    }

    /// What an agent's call did not use goes back.
    fn free(&mut self, agent: u32) {
        if let Some(state) = self.agents.get_mut(agent as usize) {
            self.reserved.give_back(std::mem::take(&mut state.reserved));
        }
    }

    /// Time of the last event: no later one may be earlier.
    pub fn last_at(&self) -> i64 {
        self.last_at
    }

    /// When the clock must be looked at next.
    pub fn deadline(&self) -> Option<i64> {
        let limit = self.spec.limits.wall_ms.filter(|_| self.ended.is_none())?;
        let left = limit.saturating_sub(self.worked_ms);
        Some(self.owned_since.saturating_add(i64::try_from(left).unwrap_or(i64::MAX)))
    }

    fn answered(&mut self, question: u32, answer: &str) {
        let is_open = self.is_open(question);
        let Some(asked) = self.questions.get_mut(question as usize) else { return };
        self.open_questions.remove(&question);
        asked.answer = Some(answer.to_owned());
        match asked.about {
            _ if !is_open => {}
            Asked::Agent { agent, index, .. } => {
                // Checked before it was recorded; a log that says otherwise still has the person's words.
                let value = asked.wants.answer_type.read(answer, &asked.options);
                let value = value.unwrap_or_else(|_| Value::String(answer.to_owned()));
                let told = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                if let Some(name) = asked.wants.variable.clone() {
                    self.variables.insert(name, value);
                }
                self.with_agent(agent, |state| state.result(index, told, false));
            }
            // It waits for a slot like any other node.
            Asked::Uncertain { node } if answer == REPEAT => {
                self.leave_work(node);
                self.make_ready(node);
            }
            Asked::Uncertain { .. } => {}
        }
    }

    /// What the agent's own call says about the answer it wants.
    fn wants_of(&self, about: Asked) -> (Wants, Option<u32>) {
        let Asked::Agent { agent, index, .. } = about else { return (Wants::default(), None) };
        let Some(state) = self.agents.get(agent as usize) else { return (Wants::default(), None) };
        let call = state.messages.last().and_then(|message| message.tool_calls().nth(index as usize));
        let node = state.node.and_then(|node| self.plan_node(node));
        let wants = call.and_then(|call| Wants::of(&call.arguments, node).ok());
        (wants.unwrap_or_default(), state.node)
    }

    /// Did a person's answer set this variable of an inline phase?
    fn was_answered(&self, node: u32, name: &str) -> bool {
        self.questions.iter().any(|question| {
            question.node == Some(node)
                && question.answer.is_some()
                && question.wants.variable.as_deref() == Some(name)
        })
    }

    fn warn(&mut self, node: u32, warnings: &[Words]) {
        if let Some(state) = self.nodes.get_mut(node as usize) {
            state.warnings.extend_from_slice(warnings);
        }
    }

    fn doubt(&mut self, node: Option<u32>) {
        if let Some(state) = node.and_then(|node| self.nodes.get_mut(node as usize)) {
            state.had_uncertain_effect = true;
        }
    }

    /// Does anybody still wait for an answer to this?
    pub fn is_open(&self, question: u32) -> bool {
        self.questions.get(question as usize).is_some_and(|question| {
            question.answer.is_none()
                && match question.about {
                    Asked::Agent { agent, step, index } => {
                        self.agents.get(agent as usize).is_some_and(|state| state.asks(step, index))
                    }
                    Asked::Uncertain { node } => {
                        self.node(node).is_some_and(|state| state.status == NodeStatus::Uncertain)
                    }
                }
        })
    }

    /// Questions that somebody should answer, with their numbers, oldest first.
    pub fn open_questions(&self) -> impl Iterator<Item = (u32, &Question)> {
        let open = self.open_questions.iter().copied().filter(|at| self.is_open(*at));
        open.filter_map(|at| Some((at, self.questions.get(at as usize)?)))
    }

    /// Whoever asked is gone: nobody waits for these answers.
    fn forget_questions(&mut self, agent: u32) {
        let questions = &self.questions;
        let is_of = |at: &u32| {
            let about = questions.get(*at as usize).map(|question| question.about);
            matches!(about, Some(Asked::Agent { agent: a, .. }) if a == agent)
        };
        self.open_questions.retain(|at| !is_of(at));
    }

    /// Nodes that hold a slot.
    pub(crate) fn busy(&self) -> u32 {
        self.working.saturating_sub(self.waiting).saturating_sub(index(self.resting.len()))
    }

    fn pause_or_resume(&mut self, verb: Verb, target: &Target) {
        let paused = match verb {
            Verb::Pause => true,
            Verb::Resume => false,
            Verb::Cancel | Verb::Redirect | Verb::Restart => return,
        };
        let agents: Vec<u32> = match target {
            Target::All => (0..index(self.agents.len())).collect(),
            Target::Agent(path) => self.by_path.get(path).copied().into_iter().collect(),
        };
        for agent in agents {
            self.with_agent(agent, |state| state.paused = paused && state.is_live());
        }
    }

    fn set_status(&mut self, node: u32, status: NodeStatus) {
        if let Some(state) = self.nodes.get_mut(node as usize) {
            state.status = status;
        }
    }

    fn with_agent(&mut self, agent: u32, change: impl FnOnce(&mut AgentState)) {
        if let Some(state) = self.agents.get_mut(agent as usize) {
            change(state);
            self.refresh(agent);
        }
    }

    /// Keeps the sets of agents that wait for their next step, for a person, for a slot, or are paused.
    fn refresh(&mut self, agent: u32) {
        let Some(state) = self.agents.get(agent as usize) else { return };
        match &state.turn {
            Turn::Acting { .. } if state.waits_for_a_person() => drop(self.resting.insert(agent)),
            // Whoever rested comes back with the next step, when a slot is free.
            Turn::Idle => {}
            Turn::Thinking | Turn::Acting { .. } | Turn::Stopped => drop(self.resting.remove(&agent)),
        }
        self.runnable.remove(&agent);
        self.returning.remove(&agent);
        self.paused.remove(&agent);
        if state.paused && state.is_live() {
            self.paused.insert(agent);
        }
        if state.turn == Turn::Idle && !state.paused && self.ended.is_none() {
            let set = if self.resting.contains(&agent) { &mut self.returning } else { &mut self.runnable };
            set.insert(agent);
        }
    }

    fn want(&mut self, key: EffectKey, effect: Effect) {
        self.wanted.insert(key, effect);
        self.changes.push(Change::Wanted(key));
    }

    fn close(&mut self, key: EffectKey) {
        // The outcome came from whoever performed it: nothing is left to stop.
        self.wanted.remove(&key);
    }

    /// The one effect a node can have: its outcome is here, or it is no longer wanted.
    fn drop_node_effect(&mut self, node: u32) {
        let Some(attempt) = self.node(node).map(|state| state.attempt) else { return };
        let key = EffectKey::Node { node, attempt };
        if self.wanted.remove(&key).is_some() {
            self.changes.push(Change::Dropped(key));
        }
    }

    fn drop_effects(&mut self, which: impl Fn(EffectKey) -> bool) {
        if self.wanted.is_empty() {
            return;
        }
        let dropped: Vec<EffectKey> = self.wanted.keys().copied().filter(|key| which(*key)).collect();
        for key in dropped {
            self.wanted.remove(&key);
            self.changes.push(Change::Dropped(key));
        }
    }

    /// Once-only effects that were under way: after a crash nobody knows whether they happened.
    pub(crate) fn uncertain(&self) -> Vec<EffectKey> {
        let once = |effect: &Effect| {
            matches!(
                effect,
                Effect::RunTool { class: EffectClass::Once, .. }
                    | Effect::RunScript { class: EffectClass::Once, .. }
            )
        };
        let mut keys: Vec<EffectKey> =
            self.wanted.iter().filter(|(_, effect)| once(effect)).map(|(key, _)| *key).collect();
        keys.sort();
        keys
    }
}

/// What a model is told when nobody knows whether its tool call happened.
const UNCERTAIN: &str = "uncertain: the process ended while this call was under way; it may or may not have taken \
effect. Look before you repeat it.";

/// Milliseconds between two times; a clock that went back gives none.
fn since(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

/// Plans and conversations are bounded far below this.
fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
