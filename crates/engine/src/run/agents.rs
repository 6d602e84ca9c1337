//! The fold of agents: their conversations, turns, pauses, and what their calls hold of the budget.

use super::{Run, index};
use crate::agent::{AgentState, Duty, Slot, Turn, WaitsFor};
use crate::agent_type::AgentType;
use crate::context::{self, ContextSize};
use crate::effect::{Effect, EffectKey};
use crate::event::{CallRef, EventKind, Purpose, Used};
use crate::limits::{Reserve, Spent};
use fugato_model::chat::{Message, Usage};
use std::sync::Arc;

/// What a model is told when nobody knows whether its tool call happened.
const UNCERTAIN: &str = "uncertain: the process ended while this call was under way; it may or may not have taken \
effect. Look before you repeat it.";

impl Run {
    /// Folds what agents, their models and their tools do.
    pub(super) fn fold_agent(&mut self, kind: &EventKind) {
        match kind {
            EventKind::AgentStarted { agent, node, agent_type, access, model, system, prompt, delegated } => {
                let messages = vec![Arc::new(Message::user(prompt.clone()))];
                let parent = delegated.and_then(|delegated| delegated.call).map(|call| call.agent);
                let duty = self.duty_at(*node);
                // Whoever works for a session is no kind that somebody wrote, whatever that one is called.
                let (kind, rights) = match duty {
                    Duty::Task => {
                        (self.kind_of(agent_type), self.rights_of(agent_type, *access, parent, *node))
                    }
                    Duty::Prepare | Duty::Orchestrate | Duty::Plan => {
                        (Arc::new(AgentType::named(agent_type)), None)
                    }
                };
                let state = AgentState {
                    path: agent.clone(),
                    node: *node,
                    agent_type: agent_type.clone(),
                    duty,
                    kind,
                    rights,
                    access: *access,
                    parent,
                    depth: self.depth_below(parent, *node),
                    call: None,
                    call_id: String::new(),
                    provider_call_id: String::new(),
                    description: String::new(),
                    background: false,
                    share: None,
                    session: None,
                    cut_at: None,
                    report: None,
                    verdict: None,
                    stopped_at: 0,
                    forgotten: 0,
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
                self.works_for(*node, at);
                self.delegated(at, *delegated);
                self.refresh(at);
            }
            EventKind::AgentWaiting { agent } => {
                self.with_agent(*agent, |state| {
                    state.turn = if state.inbox.is_empty() { Turn::Waiting } else { Turn::Idle };
                });
            }
            EventKind::AgentContinued { agent, node, prompt, delegated } => {
                self.works_for(*node, *agent);
                self.delegated(*agent, *delegated);
                self.want_back(*agent);
                // A fallback in the main conversation has the rights of its own type, not those of the phase before it.
                let access = node.and_then(|node| self.access_of(node));
                let is_held = self.held;
                self.with_agent(*agent, |state| {
                    if state.turn == Turn::Stopped {
                        state.paused = is_held;
                    }
                    state.access = access.unwrap_or(state.access);
                    state.node = *node;
                    state.task_began_at = state.step;
                    (state.missteps, state.repairs) = (0, 0);
                    (state.report, state.verdict) = (None, None);
                    // Without words of its own, it goes on for what is in its inbox.
                    if !prompt.is_empty() {
                        state.say(Message::user(prompt.clone()));
                    }
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
                    state.task_began_at = state.task_began_at.saturating_add(1).min(state.step);
                    state.turn = Turn::Idle;
                });
            }
            EventKind::RepairAsked { agent, problem } => {
                self.with_agent(*agent, |state| state.repair(problem));
            }
            EventKind::AgentStopped { agent, verdict } => {
                self.free(*agent);
                self.forget_questions(*agent);
                self.leave_queue(*agent);
                let now = self.last_at;
                self.with_agent(*agent, |state| {
                    state.stop();
                    state.verdict = Some(verdict.clone());
                    state.stopped_at = now;
                });
                self.end_share(*agent);
                let agent = *agent;
                self.doubt_calls_of(agent);
                self.drop_effects(|key| match key {
                    EffectKey::Model { agent: a, .. }
                    | EffectKey::Tool { agent: a, .. }
                    | EffectKey::Recall { agent: a } => a == agent,
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
                self.use_share(*agent, answer.usage, *micro_usd);
                self.with_agent(*agent, |state| {
                    state.cut_at = None;
                    state.spent.add(answer.usage, *micro_usd);
                    state.say(answer.message.clone());
                    state.context.counted(answer.usage);
                    let slot = |call: &fugato_model::chat::ToolCall| Slot {
                        call: call.id.clone(),
                        waits_for: WaitsFor::Tool,
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
                    state.cut();
                    state.misstep(*step);
                    state.turn = Turn::Idle;
                });
            }
            EventKind::AgentInterrupted { agent, step } => {
                let (agent, step) = (*agent, *step);
                self.free(agent);
                self.drop_effects(|key| key == EffectKey::Model { agent, step });
                self.with_agent(agent, |state| {
                    state.cut();
                    state.turn = Turn::Idle;
                });
            }
            EventKind::AgentRestarted { agent } => {
                let agent = *agent;
                self.free(agent);
                self.forget_questions(agent);
                self.leave_queue(agent);
                self.drop_effects(|key| match key {
                    EffectKey::Model { agent: a, .. } | EffectKey::Tool { agent: a, .. } => a == agent,
                    EffectKey::Recall { .. } | EffectKey::Node { .. } => false,
                });
                self.with_agent(agent, |state| {
                    state.cut();
                    state.stop();
                    state.turn = Turn::Idle;
                    state.paused = false;
                    state.task_began_at = state.step;
                    (state.missteps, state.repairs) = (0, 0);
                });
            }
            EventKind::AgentHosted { agent, step, session, used } => {
                if let Some(Used { usage, micro_usd }) = used {
                    self.spent.add(*usage, *micro_usd);
                    self.use_share(*agent, *usage, *micro_usd);
                }
                // Nothing about its turn changes.
                if let Some(state) = self.agents.get_mut(*agent as usize) {
                    state.session = Some((*step, session.clone()));
                    used.iter().for_each(|used| state.spent.add(used.usage, used.micro_usd));
                }
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
                self.call_answered(CallRef { agent: *agent, step: *step, index: *index });
                self.with_agent(*agent, |state| state.result(*index, content.clone(), *is_error));
            }
            EventKind::ToolRefused { agent, step, index, reason } => {
                self.with_agent(*agent, |state| {
                    state.misstep(*step);
                    state.result(*index, reason.clone(), true);
                });
            }
            EventKind::ToolUncertain { agent, step, index } => {
                self.close(EffectKey::Tool { agent: *agent, step: *step, index: *index });
                self.doubt(self.agents.get(*agent as usize).and_then(|state| state.node));
                self.with_agent(*agent, |state| state.result(*index, UNCERTAIN.to_owned(), true));
            }
            _ => {}
        }
    }

    pub(super) fn model_requested(
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
    pub(super) fn free(&mut self, agent: u32) {
        if let Some(state) = self.agents.get_mut(agent as usize) {
            self.reserved.give_back(std::mem::take(&mut state.reserved));
        }
    }

    /// Nodes and subagents that hold a slot.
    pub(crate) fn busy(&self) -> u32 {
        let at_work = self.working.saturating_add(index(self.children.len()));
        at_work.saturating_sub(self.waiting).saturating_sub(index(self.resting.len()))
    }

    pub(super) fn with_agent(&mut self, agent: u32, change: impl FnOnce(&mut AgentState)) {
        if let Some(state) = self.agents.get_mut(agent as usize) {
            change(state);
            self.refresh(agent);
        }
    }

    /// Keeps the sets of agents that wait for their next step, for a person, for a slot, or are paused.
    pub(super) fn refresh(&mut self, agent: u32) {
        let Some(state) = self.agents.get(agent as usize) else { return };
        match &state.turn {
            Turn::Acting { .. } if state.rests() && state.counts() => drop(self.resting.insert(agent)),
            // Whoever rested comes back with the next step, when a slot is free.
            Turn::Idle => {}
            Turn::Thinking | Turn::Acting { .. } | Turn::Waiting | Turn::Stopped => {
                self.resting.remove(&agent);
            }
        }
        if state.has_own_slot() && state.is_live() {
            self.children.insert(agent);
        } else {
            self.children.remove(&agent);
        }
        self.runnable.remove(&agent);
        self.returning.remove(&agent);
        self.paused.remove(&agent);
        if state.paused && state.is_live() {
            self.paused.insert(agent);
        }
        if state.is_live() {
            self.live.insert(agent);
        } else {
            self.live.remove(&agent);
        }
        if state.turn == Turn::Idle && !state.paused && state.forgotten == 0 && self.ended.is_none() {
            let set = if self.resting.contains(&agent) { &mut self.returning } else { &mut self.runnable };
            set.insert(agent);
        }
    }
}
