//! How an agent is told something in the middle of its turn: what is recorded for it becomes a letter at the door of its program.

use super::Hosts;
use crate::hosts::letters::{Letter, Letterbox};
use fugato_engine::{AgentState, EventKind, MessageKind, Run};
use std::path::Path;
use std::sync::{Arc, PoisonError};

/// How an agent is told something in the middle of its turn.
pub(super) struct Post {
    pub letters: Arc<Letterbox>,
    /// What it was told so under an owner that died before it could be recorded.
    pub heard: u32,
    pub hosts: Hosts,
}

impl Post {
    /// From here on: whoever speaks to it before its program is up is heard as well.
    pub fn open(gates: &Path, state: &AgentState, hosts: &Hosts) -> Self {
        // Only of one whose owner died in this very step: what is decided now becomes a letter when it is stored.
        let was_left = state.session.as_ref().is_some_and(|(step, _)| *step == state.step);
        let unread = if was_left { state.inbox.as_slice() } else { &[] };
        let (letters, heard) = Letterbox::open(gates.join(letters_of(state)), unread);
        let letters = Arc::new(letters);
        hosts.turn_of(state.path.as_str(), &letters);
        Self { letters, heard, hosts: hosts.clone() }
    }
}

impl Hosts {
    /// Something was recorded. A message to an agent that is in the middle of a turn is handed over after its next tool
    /// call; a redirect ends the turn instead.
    pub(in crate::runs) fn recorded(&self, kind: &EventKind, run: &Run) {
        let to = match kind {
            EventKind::MessageSent { to, kind, .. } if *kind != Some(MessageKind::Redirect) => *to,
            EventKind::MessageDelivered { agent, .. } => *agent,
            _ => return,
        };
        let Some(agent) = run.agents.get(to as usize) else { return };
        let all = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(letters) = all.get(agent.path.as_str()) else { return };
        match kind {
            EventKind::MessageSent { from, text, .. } => {
                letters.put(&Letter { from: Some(from.clone()), text: text.clone() });
            }
            EventKind::MessageDelivered { count, .. } => letters.recorded(*count),
            _ => {}
        }
    }

    fn turn_of(&self, agent: &str, letters: &Arc<Letterbox>) {
        let mut all = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(agent.to_owned(), letters.clone());
    }

    pub(super) fn turn_over(&self, agent: &str, letters: &Arc<Letterbox>) {
        let mut all = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        // The next turn may have begun.
        if all.get(agent).is_some_and(|known| Arc::ptr_eq(known, letters)) {
            all.remove(agent);
        }
    }
}

/// The same for whoever takes this step over.
fn letters_of(state: &AgentState) -> String {
    use sha2::Digest as _;
    let digest: [u8; 32] = sha2::Sha256::digest(state.path.as_str()).into();
    format!("letters-{}-{}", fugato_model::Digest::from_bytes(digest).short(), state.step)
}
