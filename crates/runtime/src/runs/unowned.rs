//! A run that nobody works on, and that is to end: nothing has to be done for that, so whoever asks records it.
//!
//! Everything else that is said to such a run waits for whoever takes it over. Deciding it here could request work that
//! nobody performs, and what may be done once only would have to be asked about later.

use super::commands::{CommandError, write_answer};
use super::journal::{self, JournalError};
use super::session::status_of;
use crate::exports;
use crate::store::{Batch, Owner, RunSummary, Store, StoreError};
use fugato_engine::{Command, Event, Input, Refusal, Run, Target, Verb};
use fugato_model::words;

/// Answers what waits for the run, up to and including its end. `false`: somebody else has the run.
pub(super) fn end(store: &Store, id: &str) -> Result<bool, CommandError> {
    let lease = match store.acquire(id, &Owner::this_process()) {
        Ok(lease) => lease,
        Err(StoreError::Held { .. }) => return Ok(true),
        Err(error) => return Err(error.into()),
    };
    let reader = store.reader()?;
    let Some(mut run) = Run::replay(&journal::load(&reader, id).map_err(store_error)?) else {
        return Ok(false);
    };
    let first_seq = run.seq + 1;
    let now = super::clock::wall().max(run.last_at());
    let (mut events, mut answers): (Vec<Event>, Vec<(i64, String)>) = (Vec::new(), Vec::new());
    for waiting in reader.commands(id, 0)? {
        let decided = match serde_json::from_str::<Command>(&waiting.body) {
            Ok(Command::Direct { verb: Verb::Cancel, target: Target::All, text }) => {
                run.decide(Input::Direct { verb: Verb::Cancel, target: Target::All, text }, now)
            }
            Ok(Command::Direct { verb, target, text }) => {
                let refusal = too_late();
                events.extend(run.refused(verb, target, text, &refusal, now));
                Err(refusal)
            }
            _ => Err(too_late()),
        };
        let decided = decided.map(|new| events.extend(new));
        answers.push((waiting.id, write_answer(&decided)));
    }
    let encoded = events.iter().map(|event| journal::encode(event, store)).collect::<Result<_, _>>();
    let (status, title, updated_at, details) = (status_of(&run), None, now, None);
    let batch = Batch {
        run: id.to_owned(),
        epoch: lease.epoch,
        first_seq,
        events: encoded.map_err(store_error)?,
        summary: Some(RunSummary { status, title, updated_at, details }),
        answers,
    };
    store.append(batch).wait()?;
    // The files are a view: `doctor --rebuild` makes them again should this fail.
    let _ = exports::renew(store.dir(), id);
    drop(lease);
    Ok(true)
}

fn too_late() -> Refusal {
    Refusal {
        words: words!(
            "the run was cancelled before anybody worked on it again",
            "在有人继续该运行之前它已被取消"
        ),
    }
}

fn store_error(error: JournalError) -> CommandError {
    match error {
        JournalError::Store(error) => error.into(),
        other => Refusal { words: words!("{other}", "{other}") }.into(),
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
