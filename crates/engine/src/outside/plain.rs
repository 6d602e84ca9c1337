//! Calls that need no decision: an agent about which nothing is pending uses a tool, and that is all. Whoever knows that an
//! agent is plain can record such a call without looking at a row.

use super::observe::Input;
use super::rows::AgentRow;
use crate::event::EventKind;

impl AgentRow {
    /// At work, and there is nothing it has to be told or kept from. In a run that goes on.
    pub fn is_plain(&self) -> bool {
        self.is_live() && !self.paused && !self.waiting && self.due.is_empty() && self.unread.is_empty()
    }
}

/// The one event that [`super::decide`] makes of this when the agent is plain, with no words and no denial; for a call that
/// writes files, when nobody else wrote them last. `None`: it takes a decision.
pub fn plain_event(agent: u32, input: &Input) -> Option<EventKind> {
    match input.clone() {
        Input::Asks { call, tool, arguments, files, spawn: None } => {
            Some(EventKind::ToolAsked { agent, call, tool, arguments, files })
        }
        Input::Used { call, tool, content, is_error, whole, started: None, spawn: None } => {
            Some(EventKind::ToolAnswered { agent, call, tool, content, is_error, whole })
        }
        _ => None,
    }
}
