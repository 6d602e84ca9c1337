//! A new plan for a program that has already run: what can stay does, and is never done twice.
//!
//! From a text, only what is other in it is read, and only what depends on that is looked at; a program that was read
//! already is compared with the old one declaration by declaration. Both come to the same.

use super::edit::Edit;
use super::error::SopError;
use super::interpreter::{Interpreter, State};
use super::program::{Declaration, Program};
use super::value::Value;
use std::sync::Arc;

/// What an update means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// How many values stay: declared as before, from variables that are as before, and their commands have given something.
    pub kept: usize,
    /// New, changed, or dependent on such, in the order of the program.
    pub to_run: Vec<Arc<str>>,
    /// No longer declared, in the order they had.
    pub dropped: Vec<Arc<str>>,
}

/// Commands of the old program are still running; their outcomes would be for nobody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} commands of the program are running", names.len())]
pub struct Busy {
    pub names: Vec<Arc<str>>,
}

/// Why a program is not replaced by what a text says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotUpdated {
    Busy(Busy),
    /// The text is no program.
    Wrong(Vec<SopError>),
}

impl Interpreter {
    /// Goes on with the program of a text. The cost follows what is other in it and what depends on that.
    pub fn update_to(&mut self, text: &str) -> Result<Change, NotUpdated> {
        if self.running > 0 {
            return Err(NotUpdated::Busy(self.busy()));
        }
        match self.program.edit(text) {
            Some(edit) => Ok(self.edited(edit)),
            None => {
                let program = Program::parse(text).map_err(NotUpdated::Wrong)?;
                self.update(program).map_err(NotUpdated::Busy)
            }
        }
    }

    /// Goes on with another program. A halt is over, what was used of the budget stays used.
    pub fn update(&mut self, program: Program) -> Result<Change, Busy> {
        if self.running > 0 {
            return Err(self.busy());
        }
        let is_changed = changed(&self.program, &program);
        let is_changed = |number: usize| is_changed.get(number) == Some(&true);
        let named = |declaration: &Declaration| Arc::clone(&declaration.name);
        let gone = self.program.declarations().iter().filter(|old| !program.by_name.contains_key(&old.name));
        let dropped = gone.map(named).collect();
        let to_run = program.declarations().iter().filter(|new| is_changed(new.number)).map(named).collect();
        let stays = |new: &&Declaration| !is_changed(new.number);
        let known: Vec<Option<Value>> =
            program.by_number().map(|new| new.filter(stays).and_then(|new| self.take(&new.name))).collect();
        let kept = known.iter().filter(|value| value.is_some()).count();
        self.take_up(program, known);
        Ok(Change { kept, to_run, dropped })
    }

    fn busy(&self) -> Busy {
        Busy { names: self.running().cloned().collect() }
    }

    /// The same for a part of the program: nothing else is touched.
    fn edited(&mut self, edit: Edit) -> Change {
        let dropped = edit.dropped.iter().filter_map(|number| self.name(*number).cloned()).collect();
        for number in edit.dropped.iter().chain(&edit.affected) {
            self.set(*number, State::Waiting);
        }
        self.next.retain(|number| matches!(self.states.get(*number), Some(State::Ready)));
        (self.joined, self.halted) = (0, None);
        let mut affected = self.program.apply(edit);
        self.states.resize(self.program.places.len(), State::Waiting);
        self.open.resize(self.program.places.len(), 0);
        affected.sort_unstable_by_key(|number| self.program.places.get(*number));
        for number in &affected {
            let is_open = |on: &&usize| !matches!(self.states.get(**on), Some(State::Settled(_)));
            let dependencies = self.program.at(*number).map(|declaration| &declaration.dependencies);
            let count = dependencies.into_iter().flatten().filter(is_open).count();
            if let Some(open) = self.open.get_mut(*number) {
                *open = count;
            }
        }
        let is_free = |number: &&usize| self.open.get(**number) == Some(&0);
        let free = affected.iter().filter(is_free).copied().collect();
        let kept = self.gave;
        self.set_out(free);
        let to_run = affected.iter().filter_map(|number| self.name(*number).cloned()).collect();
        Change { kept, to_run, dropped }
    }

    /// The value a command gave, out of the old program.
    fn take(&mut self, name: &str) -> Option<Value> {
        let state = self.program.by_name.get(name).and_then(|at| self.states.get_mut(*at))?;
        match std::mem::replace(state, State::Waiting) {
            State::Settled(value) if value.is_of_command() => Some(value),
            _ => None,
        }
    }
}

/// By the numbers of the new program: is a declaration other than in the old one, or does it depend on one that is?
fn changed(old: &Program, new: &Program) -> Vec<bool> {
    let is_other = |new: &Declaration| old.get(&new.name).is_none_or(|old| !old.is_same_work(new));
    let mut changed: Vec<bool> = new.by_number().map(|new| new.is_some_and(is_other)).collect();
    let mut spreading: Vec<usize> =
        changed.iter().enumerate().filter(|(_, changed)| **changed).map(|(at, _)| at).collect();
    while let Some(index) = spreading.pop() {
        for &dependent in new.dependents_of(index) {
            if let Some(slot) = changed.get_mut(dependent)
                && !*slot
            {
                *slot = true;
                spreading.push(dependent);
            }
        }
    }
    changed
}
