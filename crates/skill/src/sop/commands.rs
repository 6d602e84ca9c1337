//! The commands of the language itself, and the check that every other one is known.

use super::error::{Problem, SopError};
use super::program::Program;
use crate::limits::{REPORTED_KEYS, SOP_ERRORS};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Joins its arguments with a space.
pub const ASSIGN: &str = "assign";
/// As [`ASSIGN`]; what it gives is the result of the program.
pub const FINAL_ANSWER: &str = "final_answer";
/// Fails with its arguments joined by a space: the request cannot be met.
pub const CANNOT_COMPLETE: &str = "cannot_complete";

/// What every program can use without anybody doing anything.
pub const BUILT_IN: [&str; 3] = [ASSIGN, FINAL_ANSWER, CANNOT_COMPLETE];

pub(super) fn is_built_in(command: &str) -> bool {
    BUILT_IN.contains(&command)
}

pub(super) fn unknown(program: &Program, known: &[&str]) -> Vec<SopError> {
    let set: HashSet<&str> = known.iter().copied().collect();
    let mut nearest: HashMap<&str, Option<Arc<str>>> = HashMap::new();
    let mut errors = Vec::new();
    for declaration in program.declarations() {
        let command: &str = &declaration.command;
        if is_built_in(command) || set.contains(command) {
            continue;
        }
        if errors.len() >= SOP_ERRORS {
            break;
        }
        // Looking for the nearest costs a walk over everything known: not for more mistakes than anybody reads.
        let may_look = nearest.len() < REPORTED_KEYS;
        let near = nearest.entry(command).or_insert_with(|| {
            let candidates = known.iter().copied().chain(BUILT_IN);
            may_look.then(|| fugato_model::nearest(command, candidates)).flatten().map(Arc::from)
        });
        errors.push(SopError {
            line: declaration.line,
            place: declaration.command_place,
            problem: Problem::UnknownCommand {
                name: Arc::clone(&declaration.name),
                command: Arc::clone(&declaration.command),
                near: near.clone(),
            },
        });
    }
    errors
}
