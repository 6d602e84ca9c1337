//! When a directive that lies in an agent's inbox is acted on, and when it is too late.

use crate::event::{Asked, EventKind, Outcome};
use crate::run::Run;

/// Receipts that belong to an event.
#[derive(Default)]
pub(super) struct Receipts {
    pub before: Vec<EventKind>,
    pub after: Vec<EventKind>,
}

/// An agent sees its inbox when it is asked for its next step. One that stops before that never will.
pub(super) fn of(run: &Run, kind: &EventKind) -> Receipts {
    let mut receipts = Receipts::default();
    if run.undelivered.is_empty() {
        return receipts;
    }
    let open = |agent: u32| run.undelivered.get(&agent).cloned().unwrap_or_default();
    match kind {
        EventKind::ModelRequested { agent, .. }
        | EventKind::InputRequested { about: Asked::Task { agent }, .. } => {
            let applied = |generation| EventKind::DirectiveApplied { generation, agent: *agent };
            receipts.after = open(*agent).into_iter().map(applied).collect();
        }
        EventKind::AgentStopped { agent, .. } => {
            let expired = |generation| EventKind::DirectiveExpired { generation, agent: *agent };
            receipts.before = open(*agent).into_iter().map(expired).collect();
        }
        EventKind::RunEnded { outcome: Outcome::Complete | Outcome::Failed | Outcome::Aborted, .. } => {
            for (agent, open) in &run.undelivered {
                let expired =
                    |generation: &u64| EventKind::DirectiveExpired { generation: *generation, agent: *agent };
                receipts.before.extend(open.iter().map(expired));
            }
        }
        _ => {}
    }
    receipts
}
