//! The fold of programs that sessions run: what is planned, which commands run, what they gave.

use super::Run;
use super::growth::Given;
use fugato_model::Words;

/// How far a session is with its program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SopState {}

impl SopState {
    /// Is there something to decide without an outcome from outside?
    pub(crate) fn is_due(&self) -> bool {
        true
    }
}

impl Run {
    pub(super) fn program_planned(&mut self, _session: u32, _program: &str) {}

    pub(super) fn program_refused(&mut self, _session: u32, _problems: &[Words]) {}

    /// The command of a declaration runs as this node.
    pub(super) fn command_called(&mut self, _session: u32, _name: &str, _node: u32) {}

    pub(super) fn command_ended(&mut self, _session: u32, _name: &str, _node: u32, _given: &Given) {}
}
