//! Agents that have ended leave memory after a while. Nothing is lost: the log has their conversations, and whoever goes
//! on gets its own back first. This is about memory alone; a run that was never forgotten decides the same.

use super::{NodeStatus, Run, index};
use crate::agent::AgentState;
use crate::effect::{Effect, EffectKey};
use fugato_model::chat::Message;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An agent that ended is kept at hand this long, in milliseconds, unless a person set another time.
pub const KEPT_MS: i64 = 5 * 60 * 1000;

impl Run {
    /// Agents that ended at least `kept_ms` ago and are still in memory. Looks at all of them: for a timer, not for a
    /// turn.
    pub fn forgettable(&self, now: i64, kept_ms: i64) -> Vec<u32> {
        let is_old = |at: u32| {
            self.agents.get(at as usize).is_some_and(|state| {
                (state.parent.is_some() || self.worked_for_a_call(state))
                    && !state.is_live()
                    && !state.messages.is_empty()
                    && now.saturating_sub(state.stopped_at) >= kept_ms
            })
        };
        let waiting: BTreeSet<u32> =
            self.queue.iter().filter_map(|queued| self.by_path.get(&queued.agent).copied()).collect();
        (0..index(self.agents.len())).filter(|at| is_old(*at) && !waiting.contains(at)).collect()
    }

    /// Did it work for a skill that was called while the run went on, and that has ended? There may be thousands.
    fn worked_for_a_call(&self, state: &AgentState) -> bool {
        let is_over = |node: u32| {
            let status = self.node(node).map(|state| state.status);
            status.is_some_and(|status| status.has_ended() || status == NodeStatus::Failed)
        };
        let is_called = |node: u32| self.called(node).is_some();
        state.node.is_some_and(|node| is_over(node) && (is_called(node) || self.callers(node).any(is_called)))
    }

    /// Takes the conversation of an agent that ended out of memory.
    pub fn forget(&mut self, agent: u32) {
        let Some(state) = self.agents.get_mut(agent as usize).filter(|state| !state.is_live()) else {
            return;
        };
        state.forgotten += index(state.messages.len());
        state.messages = Vec::new();
    }

    /// An agent goes on that is not in memory: before anything else, it is brought back.
    pub(super) fn want_back(&mut self, agent: u32) {
        let Some(state) = self.agents.get(agent as usize).filter(|state| state.forgotten > 0) else { return };
        let effect = Effect::Recall { agent: state.path.clone(), messages: state.forgotten };
        self.want(EffectKey::Recall { agent }, effect);
    }

    /// Its conversation is here again.
    pub(crate) fn recall(&mut self, agent: u32, messages: Vec<Arc<Message>>) {
        self.close(EffectKey::Recall { agent });
        self.with_agent(agent, |state| {
            let since = std::mem::take(&mut state.messages);
            state.messages = messages.into_iter().take(state.forgotten as usize).chain(since).collect();
            state.forgotten = 0;
        });
    }
}
