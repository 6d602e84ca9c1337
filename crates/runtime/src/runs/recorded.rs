//! The answers of recorded runs, for `replay:RUN`: by agent and step, as the log has them.

use super::journal::load;
use crate::models::{About, Past, Recorded};
use crate::store::{Lookup, Reader};
use fugato_engine::{Event, EventKind};
use fugato_model::chat::{Answer, Message, StopReason};
use fugato_model::{Words, words};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The runs of one state directory. Each is read once.
#[derive(Debug)]
pub struct RecordedRuns {
    state: PathBuf,
    read: Mutex<HashMap<String, Arc<Answers>>>,
}

/// How each call of a run ended, by agent and step. Agents that were started anew under the same path follow each other
/// with growing steps, so one place is enough; should two share a step, the later one is what the run went on with.
type Answers = HashMap<(String, u32), Past>;

impl RecordedRuns {
    pub fn new(state: PathBuf) -> Self {
        Self { state, read: Mutex::default() }
    }

    fn answers(&self, run: &str) -> Result<Arc<Answers>, Words> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answers) = read.get(run) {
            return Ok(Arc::clone(answers));
        }
        let unknown = || words!("there is no recorded run `{run}`", "没有已记录的运行 `{run}`");
        let reader = Reader::open(&self.state).map_err(|error| error.words())?.ok_or_else(unknown)?;
        let row = reader.run(run).map_err(|error| match error {
            Lookup::Store(error) => error.words(),
            _ => unknown(),
        })?;
        let events = load(&reader, &row.id).map_err(|error| words!("{error}", "{error}"))?;
        let answers = Arc::new(answers_of(&events));
        read.insert(run.to_owned(), Arc::clone(&answers));
        Ok(answers)
    }
}

impl Recorded for RecordedRuns {
    fn past(&self, run: &str, about: &About<'_>) -> Result<Option<Past>, Words> {
        let answers = self.answers(run)?;
        Ok(answers.get(&(about.agent.to_owned(), about.step)).cloned())
    }
}

fn answers_of(events: &[Event]) -> Answers {
    let mut paths = Vec::new();
    let mut answers = Answers::new();
    for event in events {
        let (agent, step, past) = match &event.kind {
            EventKind::AgentStarted { agent, .. } => {
                paths.push(agent.to_string());
                continue;
            }
            EventKind::ModelAnswered { agent, step, answer, .. } => {
                (agent, step, Past::Answered((**answer).clone()))
            }
            // A summary is an answer too, to the question for one.
            EventKind::AgentCompacted { agent, step, summary, usage, .. } => {
                let message = Message::assistant(summary.clone());
                (agent, step, Past::Answered(Answer { message, stop: StopReason::EndTurn, usage: *usage }))
            }
            EventKind::ModelFailed { agent, step, fault, message, .. } => {
                (agent, step, Past::Failed { fault: *fault, message: message.clone() })
            }
            _ => continue,
        };
        if let Some(path) = paths.get(*agent as usize) {
            answers.insert((path.clone(), *step), past);
        }
    }
    answers
}
