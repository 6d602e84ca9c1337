//! What agents of the run on the screen are saying just now. Not in the log yet, and perhaps not all of it: the finished message
//! takes its place when it comes.

use fugato_engine::{EventKind, Run};
use fugato_runtime::runs::{Listener, Speech, Spoken};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use super::model::Message;

/// Texts by the agent, or by the program of the plan, that says them.
#[derive(Debug, Default)]
pub struct Live {
    said: HashMap<String, Said>,
}

#[derive(Debug, Default)]
struct Said {
    text: String,
    /// What comes now is something else.
    is_over: bool,
}

/// More is not shown: the end of it is what is new.
const KEPT: usize = 16 * 1024;

impl Live {
    pub fn hears(&mut self, spoken: Spoken) {
        let said = self.said.entry(spoken.agent).or_default();
        match spoken.what {
            Speech::SoFar(text) => *said = Said { text, is_over: false },
            Speech::More(text) => {
                if std::mem::take(&mut said.is_over) {
                    said.text.clear();
                }
                said.text.push_str(&text);
            }
            Speech::Over => said.is_over = true,
        }
        if said.text.len() > 2 * KEPT {
            let from = said.text.len() - KEPT;
            let from = (from..said.text.len()).find(|at| said.text.is_char_boundary(*at)).unwrap_or(from);
            said.text.drain(..from);
        }
    }

    /// The log has it, or it will never be whole.
    pub fn event(&mut self, kind: &EventKind, run: &Run) {
        if self.said.is_empty() {
            return;
        }
        let over = match kind {
            EventKind::ModelAnswered { agent, .. }
            | EventKind::ModelFailed { agent, .. }
            | EventKind::ModelRetried { agent, .. }
            | EventKind::AgentInterrupted { agent, .. }
            | EventKind::AgentStopped { agent, .. } => {
                run.agents.get(*agent as usize).map(|state| state.path.as_str())
            }
            EventKind::NodeCompleted { node, .. } | EventKind::NodeFailed { node, .. } => {
                run.plan_node(*node).map(|node| node.id.as_str())
            }
            EventKind::RunEnded { .. } => return self.said.clear(),
            _ => None,
        };
        over.map(|name| self.said.remove(name));
    }

    pub fn of(&self, name: &str) -> Option<&str> {
        self.said.get(name).map(|said| said.text.as_str()).filter(|text| !text.trim().is_empty())
    }
}

/// Listens to one run until it goes.
#[derive(Debug)]
pub struct Ear(Arc<AtomicBool>);

/// How long after its end an ear may still be open.
const WAIT: Duration = Duration::from_millis(300);

impl Ear {
    /// `None`: nothing can be heard here; what is said is seen when it is whole.
    pub fn open(state: &Path, run: String, out: SyncSender<Message>) -> Option<Self> {
        let listener = Listener::open(state, &run).ok()?;
        let is_shut = Arc::new(AtomicBool::new(false));
        let shut = Arc::clone(&is_shut);
        std::thread::spawn(move || {
            while !shut.load(Ordering::Relaxed) {
                let Some(spoken) = listener.hear(WAIT) else { continue };
                if out.send(Message::Spoken { run: run.clone(), spoken }).is_err() {
                    return;
                }
            }
        });
        Some(Self(is_shut))
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
