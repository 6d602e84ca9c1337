//! What was told to a run, and what became of it: recorded → delivered → applied, or refused and why.

use super::news::{Body, News};
use fugato_engine::{EventKind, Run, Target, Verb};
use fugato_model::Words;

/// One directive of the log.
#[derive(Clone, Debug)]
pub struct Directive {
    pub generation: u64,
    pub at: i64,
    pub verb: Verb,
    pub target: Target,
    pub text: Option<String>,
    /// Agents in whom it has taken effect.
    pub applied: Vec<String>,
    pub refused: Option<Words>,
    /// It ended the run, or had a node begin again: nobody is left who could say so.
    pub is_done: bool,
}

/// All of them, oldest first.
#[derive(Debug, Default)]
pub struct Directives {
    pub list: Vec<Directive>,
}

/// How far one has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The owner of the run has it.
    Delivered,
    Applied,
    Refused,
}

impl Directives {
    pub fn event(&mut self, news: &News, run: &Run) {
        let Body::Known(event) = &news.body else { return };
        match &event.kind {
            EventKind::DirectiveRecorded { generation, verb, target, text } => self.list.push(Directive {
                generation: *generation,
                at: event.at,
                verb: *verb,
                target: target.clone(),
                text: text.clone(),
                applied: Vec::new(),
                refused: None,
                is_done: false,
            }),
            EventKind::DirectiveApplied { generation, agent } => {
                let path = run.agents.get(*agent as usize).map(|agent| agent.path.to_string());
                if let Some(own) = self.find(*generation) {
                    own.applied.extend(path);
                }
            }
            EventKind::DirectiveRefused { generation, reason } => {
                if let Some(own) = self.find(*generation) {
                    own.refused = Some(reason.clone());
                }
            }
            EventKind::NodeRestarted { .. } => {
                if let Some(own) = self.list.last_mut().filter(|own| own.verb == Verb::Restart) {
                    own.is_done = true;
                }
            }
            EventKind::RunEnded { .. } => {
                if let Some(own) = self.list.last_mut().filter(|own| own.verb == Verb::Cancel) {
                    own.is_done = true;
                }
            }
            _ => {}
        }
    }

    fn find(&mut self, generation: u64) -> Option<&mut Directive> {
        // Receipts follow their directive closely.
        self.list.iter_mut().rev().find(|own| own.generation == generation)
    }
}

impl Directive {
    pub fn receipt(&self) -> Receipt {
        // `pause all` and `resume all` hold the run itself, also where no agent is at work.
        let holds = self.target == Target::All && matches!(self.verb, Verb::Pause | Verb::Resume);
        match (&self.refused, self.is_done || holds || !self.applied.is_empty()) {
            (Some(_), _) => Receipt::Refused,
            (None, true) => Receipt::Applied,
            (None, false) => Receipt::Delivered,
        }
    }
}
