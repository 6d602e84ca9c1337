//! The fold of agents outside, as far as a run as a whole shows them. What their hook decides by is in `crate::outside`.

use super::Run;
use crate::event::EventKind;
use fugato_model::chat::Message;

impl Run {
    pub(super) fn fold_outside(&mut self, kind: &EventKind) {
        match kind {
            EventKind::AgentJoined { agent, parent, description, .. } => {
                let depth = self.depth_below(*parent, None);
                let is_held = self.held;
                self.with_agent(*agent, |state| {
                    (state.parent, state.depth) = (*parent, depth);
                    state.description.clone_from(description);
                    state.paused |= is_held;
                });
            }
            EventKind::AgentReported { agent, report } => {
                self.with_agent(*agent, |state| state.report = Some(*report));
            }
            EventKind::ToolAsked { .. } => self.spent.tool_calls += 1,
            EventKind::MessageDelivered { agent, count } => {
                self.with_agent(*agent, |state| {
                    let count = (*count as usize).min(state.inbox.len());
                    let heard: Vec<String> = state.inbox.drain(..count).collect();
                    // Of an agent that a host works for, the conversation is kept here too.
                    if state.kind.executor.is_host() && !heard.is_empty() {
                        state.say(Message::user(heard.join("\n\n")));
                    }
                });
            }
            _ => {}
        }
    }
}
