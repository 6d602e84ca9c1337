//! What other processes told the run: rows of the store, taken in order, each once.

use super::{AskedBy, Queued, RunError, Session};
use crate::runs::foreign;
use crate::store::Reader;
use fugato_engine::{Command, Input};

#[derive(Default)]
pub(super) struct Commands {
    reader: Option<Reader>,
    stamp: Option<i64>,
    taken: i64,
}

impl Session {
    /// Takes what other processes told the run.
    pub(super) fn hear(&mut self) -> Result<(), RunError> {
        if self.commands.reader.is_none() {
            self.commands.reader = Some(self.store.reader()?);
        }
        let Some(reader) = &self.commands.reader else { return Ok(()) };
        let stamp = reader.stamp()?;
        if self.commands.stamp == Some(stamp) {
            return Ok(());
        }
        for waiting in reader.commands(&self.run.spec.id, self.commands.taken)? {
            self.commands.taken = waiting.id;
            let asked_by = match foreign::file_of(&waiting.body) {
                Some(file) => AskedBy::File(waiting.id, file),
                None => AskedBy::Command(waiting.id),
            };
            let queued = match serde_json::from_str::<Command>(&waiting.body) {
                Ok(command) => Queued { input: command.into(), asked_by },
                // Of a later version: refused with its words, because nobody may wait for ever.
                Err(_) => Queued { input: Input::Go, asked_by },
            };
            self.queue.push_back(queued);
        }
        self.commands.stamp = Some(stamp);
        Ok(())
    }
}
