//! What should be under way: wanted from its request to its outcome.

use super::{Change, Run};
use crate::agent_type::Executor;
use crate::effect::{Effect, EffectKey};
use crate::event::EffectClass;

/// An effect as it is kept: many nodes are nothing to do, and take no room.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted(Option<Box<Effect>>);

static NOTHING: Effect = Effect::Noop;

impl Wanted {
    pub(super) fn effect(&self) -> &Effect {
        self.0.as_deref().unwrap_or(&NOTHING)
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.0.is_none()
    }
}

impl From<Effect> for Wanted {
    fn from(effect: Effect) -> Self {
        Self((effect != NOTHING).then(|| Box::new(effect)))
    }
}

impl Run {
    /// Effects that should be under way now.
    pub fn wanted(&self) -> impl Iterator<Item = (EffectKey, &Effect)> {
        let wanted = self.wanted.iter().filter(|_| self.ended.is_none());
        wanted.map(|(key, wanted)| (*key, wanted.effect()))
    }

    pub fn effect(&self, key: EffectKey) -> Option<&Effect> {
        self.wanted.get(&key).filter(|_| self.ended.is_none()).map(Wanted::effect)
    }

    /// What changed about them since the last call, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    pub(super) fn want(&mut self, key: EffectKey, effect: Effect) {
        self.wanted.insert(key, effect.into());
        self.changes.push(Change::Wanted(key));
    }

    pub(super) fn close(&mut self, key: EffectKey) {
        // The outcome came from whoever performed it: nothing is left to stop.
        self.wanted.remove(&key);
    }

    pub(super) fn drop_effects(&mut self, which: impl Fn(EffectKey) -> bool) {
        if self.wanted.is_empty() {
            return;
        }
        let dropped: Vec<EffectKey> = self.wanted.keys().copied().filter(|key| which(*key)).collect();
        for key in dropped {
            self.wanted.remove(&key);
            self.changes.push(Change::Dropped(key));
        }
    }

    /// An agent is stopped while a once-only call of it is under way: nobody knows whether it happened.
    pub(super) fn doubt_calls_of(&mut self, agent: u32) {
        let of_agent = EffectKey::Tool { agent, step: 0, index: 0 }..=EffectKey::Tool {
            agent,
            step: u32::MAX,
            index: u32::MAX,
        };
        let once = |effect: &Effect| matches!(effect, Effect::RunTool { class: EffectClass::Once, .. });
        if self.wanted.range(of_agent).any(|(_, wanted)| once(wanted.effect())) {
            self.doubt(self.agents.get(agent as usize).and_then(|state| state.node));
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
        // A program that does an agent's work may have done some of it.
        let by_program = |key: &EffectKey| match key {
            EffectKey::Model { agent, .. } => self
                .agents
                .get(*agent as usize)
                .is_some_and(|state| matches!(state.kind.executor, Executor::Script { .. })),
            _ => false,
        };
        let is_once = |(key, wanted): &(&EffectKey, &Wanted)| once(wanted.effect()) || by_program(key);
        let mut keys: Vec<EffectKey> = self.wanted.iter().filter(is_once).map(|(key, _)| *key).collect();
        keys.sort();
        keys
    }
}
