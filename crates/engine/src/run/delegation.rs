//! The fold of delegation: who waits for a slot, who was started by whom, and what is kept of the budget for each.

use super::Run;
use crate::agent::WaitsFor;
use crate::agent_type::{AgentType, Rights};
use crate::event::{AgentPath, CallRef, Delegated};
use crate::limits::Reserve;
use crate::plan::{Access, Work};
use crate::tools;
use fugato_model::chat::{ToolCall, Usage};
use std::sync::Arc;

/// An agent that waits for a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    pub agent: AgentPath,
    /// The call that waits for it; `None`: a person asked.
    pub call: Option<CallRef>,
    pub background: bool,
    /// The provider's name for the call, and what the agent is to do.
    pub call_id: String,
    pub prompt: String,
    pub agent_type: String,
    /// What people see of it.
    pub description: String,
}

/// Our name for a call that starts an agent or has it go on; without a call, for what this agent does from this step on.
pub(crate) fn own_id(call: Option<CallRef>, agent: u32, step: u32) -> String {
    match call {
        Some(CallRef { agent, step, index }) => format!("sub_{agent}_{step}_{index}"),
        None => format!("sub_{agent}_{step}"),
    }
}

/// For calls that name no kind.
const DEFAULT_TYPE: &str = "general-purpose";

/// The kind of agent that a call would start. The one reading of it: who is admitted, asked about and started must be
/// the same.
pub(crate) fn wanted_type(call: &ToolCall) -> &str {
    let named = call.arguments.get("subagent_type").and_then(|value| value.as_str()).map(str::trim);
    named.filter(|name| !name.is_empty()).unwrap_or(DEFAULT_TYPE)
}

impl Run {
    pub(super) fn agent_queued(&mut self, agent: &AgentPath, call: Option<CallRef>, background: bool) {
        let asked = call.and_then(|call| self.call_of(call));
        let text = |keys: &[&str]| {
            let arguments = asked.as_ref().map(|asked| &asked.arguments);
            let found = keys.iter().find_map(|key| arguments?.get(key)?.as_str());
            found.unwrap_or_default().to_owned()
        };
        let queued = Queued {
            agent: agent.clone(),
            call,
            background,
            prompt: text(&["prompt", "message"]),
            agent_type: asked.as_ref().map_or(DEFAULT_TYPE, wanted_type).to_owned(),
            description: text(&["description"]),
            call_id: asked.map(|call| call.id).unwrap_or_default(),
        };
        if let Some(CallRef { agent: by, step, index }) = call {
            self.with_agent(by, |state| state.wait_for(WaitsFor::Agent, step, index));
        }
        if !self.by_path.contains_key(agent) {
            let kind = agent.as_str().rsplit_once('-').map_or(agent.as_str(), |(kind, _)| kind);
            *self.named.entry(kind.to_owned()).or_default() += 1;
        }
        self.queue.push_back(queued);
    }

    /// An agent begins what somebody gave it to do.
    pub(super) fn delegated(&mut self, agent: u32, delegated: Option<Delegated>) {
        let Some(delegated) = delegated else { return };
        let Some(state) = self.agents.get_mut(agent as usize) else { return };
        (state.call, state.background) = (delegated.call, delegated.background);
        state.share = delegated.share;
        self.reserved.add(delegated.share.unwrap_or_default());
        let path = state.path.clone();
        let is_this = |queued: &Queued| queued.agent == path && queued.call == delegated.call;
        let Some(at) = self.queue.iter().position(is_this) else { return };
        let Some(Queued { call_id, description, .. }) = self.queue.remove(at) else { return };
        let Some(state) = self.agents.get_mut(agent as usize) else { return };
        state.call_id = own_id(delegated.call, agent, state.step);
        state.provider_call_id.clone_from(&call_id);
        if !description.is_empty() {
            state.description = description;
        }
        let names = [state.call_id.clone(), call_id];
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            self.by_call.entry(name).or_default().insert(agent);
        }
    }

    /// A call of the answer that an agent has just given.
    pub(crate) fn call_of(&self, call: CallRef) -> Option<ToolCall> {
        let state = self.agents.get(call.agent as usize)?;
        state.messages.last()?.tool_calls().nth(call.index as usize).cloned()
    }

    /// Agents that wait for a slot.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The call has its result: nobody need be started for it.
    pub(super) fn call_answered(&mut self, call: CallRef) {
        self.call_delivered(call);
        if !self.queue.is_empty() {
            self.queue.retain(|queued| queued.call != Some(call) || queued.background);
        }
    }

    /// What a stopped agent had asked for is not started.
    pub(super) fn leave_queue(&mut self, agent: u32) {
        self.queue.retain(|queued| queued.call.is_none_or(|call| call.agent != agent));
    }

    /// What an answer used comes out of what was kept.
    pub(super) fn use_share(&mut self, agent: u32, usage: Usage, micro_usd: Option<u64>) {
        let Some(share) = self.agents.get_mut(agent as usize).and_then(|state| state.share.as_mut()) else {
            return;
        };
        let tokens = usage.input_tokens.unwrap_or(0).saturating_add(usage.output_tokens.unwrap_or(0));
        let used = Reserve {
            tokens: tokens.min(share.tokens),
            micro_usd: micro_usd.unwrap_or(0).min(share.micro_usd),
        };
        share.give_back(used);
        self.reserved.give_back(used);
    }

    /// What is left of it goes back.
    pub(super) fn end_share(&mut self, agent: u32) {
        if let Some(share) = self.agents.get_mut(agent as usize).and_then(|state| state.share.take()) {
            self.reserved.give_back(share);
        }
    }

    pub(super) fn kind_of(&self, name: &str) -> Arc<AgentType> {
        self.spec.types.get(name).cloned().unwrap_or_else(|| Arc::new(AgentType::named(name)))
    }

    /// What an agent of this name may use: the master everything its access allows, whoever it starts never more.
    pub(super) fn rights_of(
        &self,
        name: &str,
        access: Access,
        parent: Option<u32>,
        node: Option<u32>,
    ) -> Option<Arc<Rights>> {
        if self.spec.types.is_empty() {
            return None;
        }
        if let Some(node) = node {
            // Phases have kinds of their own only where the plan names one; they delegate to nobody. Who called the
            // sub-skill they belong to had a kind too.
            let callers = self.callers(node).filter_map(|call| self.plan_node(call)).filter_map(|call| {
                match &call.work {
                    Work::Phases { agent_type, .. } => Some(agent_type.as_str()),
                    _ => None,
                }
            });
            let names = std::iter::once(name).chain(callers);
            let mut kinds = names.filter_map(|name| self.spec.types.get(name)).peekable();
            kinds.peek()?;
            let all = Rights::of_master(tools::names(), access, 0);
            return Some(Arc::new(kinds.fold(all, |rights, kind| rights.narrowed(kind))));
        }
        let Some(parent) = parent.and_then(|parent| self.agents.get(parent as usize)) else {
            return Some(Arc::new(Rights::of_master(tools::names(), access, self.spec.limits.depth)));
        };
        parent.rights.as_ref().map(|rights| Arc::new(rights.for_child(&self.kind_of(name))))
    }

    /// The main agent is above all others; whoever works for a phase is a subagent of the run itself.
    pub(super) fn depth_below(&self, parent: Option<u32>, node: Option<u32>) -> u32 {
        match parent.and_then(|parent| self.agents.get(parent as usize)) {
            Some(parent) => parent.depth + 1,
            None => u32::from(node.is_some()),
        }
    }
}
