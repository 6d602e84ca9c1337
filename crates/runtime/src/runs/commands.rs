//! Telling a run something from outside its process: recorded in the store, decided by the run's owner, answered with the
//! events it led to.

use super::unowned;
use crate::store::{Lookup, Store, StoreError};
use fugato_engine::{Command, Refusal, Target, Verb};
use fugato_model::{Words, words};
use std::time::{Duration, Instant};

/// Why a command had no effect.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}", .0.words.en)]
    Refused(Refusal),
    /// It is recorded, and nobody owns the run any more: whoever takes it over decides it first.
    #[error("recorded; nobody works on the run")]
    Unowned,
    /// It is recorded, and will be decided when the run's owner gets to it or another takes over.
    #[error("recorded, not decided yet")]
    Pending,
}

/// How often an owner looks for commands, and whoever waits for its answer.
pub(super) const LOOK: Duration = Duration::from_millis(25);

/// Tells a run something and waits for the answer of whoever works on it. The one way in, for every kind of run and
/// every surface.
pub fn command(store: &Store, run: &str, command: &Command, patience: Duration) -> Result<(), CommandError> {
    let is_outside = match store.reader()?.run(run) {
        // Nobody will ever take it up: it must not wait for that.
        Ok(row) if row.status.is_final() && !row.is_outside => {
            let status = row.status;
            return Err(Refusal {
                words: words!("the run has ended: {status}", "运行已结束：{status}")
            }
            .into());
        }
        Ok(row) => row.is_outside,
        // Not knowing whose it is, nothing is recorded for an owner that may not exist.
        Err(Lookup::Store(error)) => return Err(error.into()),
        Err(_) => false,
    };
    if is_outside {
        // Nobody owns it: whoever tells it something decides, in the same order as everybody else.
        return crate::outside::command(store, run, command)?.map_err(CommandError::Refused);
    }
    let body = serde_json::to_string(command).unwrap_or_default();
    let id = store.command(run, &body)?;
    let is_end = matches!(command, Command::Direct { verb: Verb::Cancel, target: Target::All, .. });
    let reader = store.reader()?;
    let until = Instant::now() + patience;
    loop {
        // Looked at first: an owner that ends right after its answer has answered.
        let is_owned = reader.run(run).is_ok_and(|row| row.is_live());
        if let Some(answer) = reader.command_answer(id)? {
            return read_answer(&answer).map_err(CommandError::Refused);
        }
        // The end of a run needs nobody who works on it.
        let is_taken = is_owned || (is_end && unowned::end(store, run)?);
        if !is_taken {
            return Err(CommandError::Unowned);
        }
        if Instant::now() > until {
            return Err(CommandError::Pending);
        }
        std::thread::sleep(LOOK);
    }
}

/// What the owner writes beside the command.
pub(super) fn write_answer(decided: &Result<(), Refusal>) -> String {
    match decided {
        Ok(()) => serde_json::json!({"applied": true}).to_string(),
        Err(refusal) => serde_json::json!({"refused": refusal.words}).to_string(),
    }
}

fn read_answer(text: &str) -> Result<(), Refusal> {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let Some(refused) = value.get("refused") else { return Ok(()) };
    let unreadable = || words!("refused", "已拒绝");
    let words: Words = serde_json::from_value(refused.clone()).unwrap_or_else(|_| unreadable());
    Err(Refusal { words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives_the_way_through_the_store() {
        assert!(read_answer(&write_answer(&Ok(()))).is_ok());
        let refusal = Refusal { words: words!("agent `a` has finished", "代理 `a` 已结束") };
        assert_eq!(read_answer(&write_answer(&Err(refusal.clone()))), Err(refusal));
        assert!(read_answer("not JSON").is_ok());
    }
}
