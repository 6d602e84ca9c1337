//! The fold of directives: who is held, and which of them an agent has not acted on yet.

use super::{NodeStatus, Run, index};
use crate::effect::EffectKey;
use crate::event::{EventKind, Target, Verb};

impl Run {
    pub(super) fn fold_directive(&mut self, kind: &EventKind) {
        match kind {
            EventKind::DirectiveRecorded { generation, verb, target, .. } => {
                self.generation = *generation;
                match (verb, target) {
                    (Verb::Pause, Target::All) => self.held = true,
                    (Verb::Resume, Target::All) => {
                        self.held = false;
                        let held: Vec<u32> = self.held_nodes.iter().copied().collect();
                        held.into_iter().for_each(|node| self.let_go(node));
                    }
                    _ => {}
                }
                self.pause_or_resume(*verb, target);
            }
            EventKind::DirectiveRefused { generation, .. } => self.generation = *generation,
            EventKind::DirectiveDelivered { generation, agent } => {
                self.undelivered.entry(*agent).or_default().push(*generation);
            }
            EventKind::DirectiveApplied { generation, agent }
            | EventKind::DirectiveExpired { generation, agent } => {
                if let Some(open) = self.undelivered.get_mut(agent) {
                    open.retain(|open| open != generation);
                    if open.is_empty() {
                        self.undelivered.remove(agent);
                    }
                }
            }
            _ => {}
        }
    }

    fn pause_or_resume(&mut self, verb: Verb, target: &Target) {
        let paused = match verb {
            Verb::Pause => true,
            Verb::Resume => false,
            Verb::Cancel | Verb::Redirect | Verb::Restart => return,
        };
        let agents: Vec<u32> = match target {
            Target::All => (0..index(self.agents.len())).collect(),
            Target::Agent(path) => match self.target(path.as_str()) {
                Some(Found::Agent(agent)) => vec![agent],
                Some(Found::Node(node)) => {
                    if paused {
                        self.hold(node);
                    } else {
                        self.let_go(node);
                    }
                    Vec::new()
                }
                None => Vec::new(),
            },
        };
        for agent in agents {
            self.with_agent(agent, |state| state.paused = paused && state.is_live());
        }
    }

    /// A node that has not started does not start.
    fn hold(&mut self, node: u32) {
        if !matches!(self.node(node).map(|state| state.status), Some(NodeStatus::Pending | NodeStatus::Ready))
        {
            return;
        }
        self.held_nodes.insert(node);
        self.no_longer_ready(node);
    }

    fn let_go(&mut self, node: u32) {
        let is_ready = |run: &Self| run.node(node).is_some_and(|state| state.status == NodeStatus::Ready);
        if self.held_nodes.remove(&node) && is_ready(self) {
            self.make_ready(node);
        }
    }

    /// Who is meant by the name of an agent or a node: whoever works under it, else the node, else who worked there.
    pub(crate) fn target(&self, path: &str) -> Option<Found> {
        let agent = self.by_path.get(path).copied();
        let is_live = |agent: &u32| self.live.contains(agent);
        if let Some(agent) = agent.filter(is_live) {
            return Some(Found::Agent(agent));
        }
        let node = (0u32..).zip(self.plan_nodes()).find(|(_, node)| node.id == path).map(|(at, _)| at);
        let Some(node) = node else { return agent.map(Found::Agent) };
        let works =
            |agent: &&u32| self.agents.get(**agent as usize).is_some_and(|state| state.node == Some(node));
        match self.live.iter().find(works) {
            Some(agent) => Some(Found::Agent(*agent)),
            None => Some(Found::Node(node)),
        }
    }

    /// Nobody works, because somebody said so.
    pub(crate) fn is_paused(&self) -> bool {
        let is_any = self.held || !self.paused.is_empty() || !self.held_nodes.is_empty();
        let at_work = || self.wanted.keys().any(|key| matches!(key, EffectKey::Node { .. }));
        let all_rest = || self.live.len() == self.paused.len() && (self.held || !at_work());
        is_any && (self.wanted.is_empty() || all_rest())
    }
}

/// Whom a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Agent(u32),
    Node(u32),
}
