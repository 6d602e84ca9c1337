//! Whether a run that was asked for exists. What is written under its lease before anybody knows counts only if it does:
//! there might be another run of that name, with a first owner of its own.

use super::conversation::{self, Turn};
use super::lease::{self, Asker, Owner};
use super::place::Place;
use super::queue::Change;
use super::receipt::Answer;
use super::row::NewRun;
use super::{StoreError, group};
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Known to the writer, which alone creates runs.
#[derive(Clone, Debug, Default)]
pub struct Creation(Arc<AtomicBool>);

impl Creation {
    pub fn has_happened(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn set(&self, has_happened: bool) {
        self.0.store(has_happened, Ordering::SeqCst);
    }
}

/// A new run and its lease, in one transaction.
pub(super) struct Create {
    pub new: NewRun,
    pub owner: Owner,
    pub asker: Asker,
    pub turn: Option<Turn>,
    pub creation: Creation,
    pub answer: Answer,
}

impl Change for Create {
    fn run(&mut self, connection: &Connection, place: &Place) -> Result<(), StoreError> {
        self.creation.set(false);
        group::create(connection, place, &self.new)?;
        self.turn.iter().try_for_each(|turn| conversation::enter(connection, place, &self.new.id, turn))?;
        lease::take(connection, place, &self.new.id, &self.owner, self.asker)?;
        self.creation.set(true);
        Ok(())
    }

    fn answer(self: Box<Self>, result: Result<(), StoreError>) {
        // Before anything of the next transaction.
        self.creation.set(result.is_ok());
        self.answer.give(result);
    }
}
