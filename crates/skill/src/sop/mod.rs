//! The SOP language: small dataflow programs over commands.
//!
//! `@name command arg $other` declares a variable as what a command gives; references between variables are the only
//! order there is. This room reads, checks, prints and updates programs and says which command is next
//! ([`Interpreter`]); it never runs one: what a command does, how long it takes and where it is journaled is the
//! driver's. Same program and same outcomes, same steps.

mod budget;
mod commands;
mod edit;
mod error;
mod extract;
mod given;
mod graph;
mod interpreter;
mod lines;
mod parse;
mod planning;
mod print;
mod program;
#[cfg(test)]
mod tests;
mod token;
mod update;
mod value;

pub use budget::{Budget, Halt};
pub use commands::{ASSIGN, BUILT_IN, CANNOT_COMPLETE, FINAL_ANSWER};
pub use edit::Edit;
pub use error::{Problem, SopError};
pub use extract::{NoProgram, program_in};
pub use given::{Given, INPUT, with_given, written_with_given};
pub use interpreter::{Answer, Command, Interpreter, NotRunning};
pub use planning::{Brief, Failure, Request, repair_prompt, request_prompt, retry_prompt, system_prompt};
pub use program::{Argument, Declaration, Program};
pub use update::{Busy, Change, NotUpdated};
pub use value::{Outcome, Undefined, Value};
