//! A new plan for a program that has already run: what can stay does, and is never done twice.

use super::interpreter::{Interpreter, State};
use super::program::Program;
use super::value::Value;
use std::sync::Arc;

/// What an update means for each variable, in the order of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Declared as before, from variables that are as before: the values stay, whatever they are.
    pub kept: Vec<Arc<str>>,
    /// New, changed, dependent on such, or never run.
    pub to_run: Vec<Arc<str>>,
    /// No longer declared.
    pub dropped: Vec<Arc<str>>,
}

/// Commands of the old program are still running; their outcomes would be for nobody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} commands of the program are running", names.len())]
pub struct Busy {
    pub names: Vec<Arc<str>>,
}

impl Interpreter {
    /// Goes on with another program. A halt is over, what was used of the budget stays used.
    pub fn update(&mut self, program: Program) -> Result<Change, Busy> {
        if self.running > 0 {
            return Err(Busy { names: self.running().cloned().collect() });
        }
        let is_changed = changed(&self.program, &program);
        let mut change = Change::default();
        for old in self.program.declarations() {
            if !program.by_name.contains_key(&old.name) {
                change.dropped.push(Arc::clone(&old.name));
            }
        }
        let mut known = Vec::with_capacity(program.len());
        for (declaration, is_changed) in program.declarations().iter().zip(is_changed) {
            let value = if is_changed { None } else { self.take(&declaration.name) };
            let names = if value.is_some() { &mut change.kept } else { &mut change.to_run };
            names.push(Arc::clone(&declaration.name));
            known.push(value);
        }
        self.take_up(program, known);
        Ok(change)
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

/// For each declaration of the new program: is it other than in the old one, or does it depend on one that is?
fn changed(old: &Program, new: &Program) -> Vec<bool> {
    let is_other = |index: usize| {
        let declaration = new.at(index);
        declaration.is_none_or(|new| old.get(&new.name).is_none_or(|old| !old.is_same_work(new)))
    };
    let mut changed: Vec<bool> = (0..new.len()).map(is_other).collect();
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
