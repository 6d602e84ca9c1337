//! The fold of programs that sessions run: what is planned, which commands run, what they gave.
//!
//! The interpreter is a part of the fold: planning gives it a program, the ends of called nodes give it outcomes, and both
//! follow from the log alone. One event costs what the declaration it concerns has to do with others.

use super::Run;
use super::growth::Given;
use crate::driver::session::MAX_CALLS;
use crate::orchestration::{Caller, CarriedSop, SessionKind, SopValue};
use fugato_model::Words;
use fugato_skill::sop::{Command, Interpreter, NotUpdated, Outcome, Program};
use serde_json::Value;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// How far a session is with its program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SopState {
    /// `None`: nothing that can be run is planned yet.
    interpreter: Option<Interpreter>,
    /// The program of the turn before, with what its commands gave, until this one has a plan of its own.
    carried: Option<Box<Interpreter>>,
    /// Plans so far, those that cannot be run too.
    plans: u32,
    is_planning: bool,
    /// Commands that are next and have not been called.
    to_call: VecDeque<Command>,
    /// What there is to be called.
    known: HashSet<String>,
}

impl SopState {
    pub(super) fn after(carried: Option<Interpreter>) -> Self {
        Self { carried: carried.map(Box::new), ..Self::default() }
    }

    /// The program of the turn before, as long as there is no other.
    pub(crate) fn carried(&self) -> Option<&Interpreter> {
        self.carried.as_deref()
    }

    /// Is there something to decide without an outcome from outside?
    pub(crate) fn is_due(&self) -> bool {
        !self.is_planning
            && self
                .interpreter
                .as_ref()
                .is_none_or(|interpreter| !self.to_call.is_empty() || interpreter.is_finished())
    }

    /// A plan is on its way.
    pub(super) fn planner_works(&mut self) {
        self.is_planning = true;
    }

    pub fn interpreter(&self) -> Option<&Interpreter> {
        self.interpreter.as_ref()
    }

    pub fn plans(&self) -> u32 {
        self.plans
    }

    /// The command that is to be called now.
    pub(crate) fn next(&self) -> Option<&Command> {
        self.to_call.front()
    }

    /// Takes the next level out of the interpreter. What nobody knows fails at once, which may make the next one ready.
    fn pump(&mut self) {
        let Some(interpreter) = &mut self.interpreter else { return };
        while self.to_call.is_empty() {
            let ready = interpreter.ready();
            if ready.is_empty() {
                return;
            }
            for command in ready {
                if !self.known.contains(&*command.command) {
                    let reason = format!("unknown {}", command.command);
                    // It runs: it was just made ready.
                    let _ = interpreter.finished(&command.name, Outcome::Failed(reason.into()));
                } else {
                    self.to_call.push_back(command);
                }
            }
        }
    }
}

impl Run {
    pub(super) fn program_planned(&mut self, session: u32, text: &str) {
        let Some(orchestrator) = self.orchestrator(session).cloned() else { return };
        let SessionKind::Sop { budget, .. } = &orchestrator.session else { return };
        let Some(state) = self.sessions.get_mut(&session) else { return };
        let sop = &mut state.sop;
        match sop.interpreter.as_mut().or(sop.carried.as_deref_mut()) {
            None => {
                let Ok(program) = Program::parse(text) else { return };
                sop.interpreter = Some(Interpreter::new(program, (*budget).into()));
            }
            Some(before) => {
                // Nothing runs: a program is replaced only when it has come to its end.
                if let Err(NotUpdated::Wrong(_)) = before.update_to(text) {
                    return;
                }
            }
        }
        sop.interpreter = sop.interpreter.take().or_else(|| sop.carried.take().map(|carried| *carried));
        sop.carried = None;
        (sop.plans, sop.is_planning) = (sop.plans + 1, false);
        sop.known = orchestrator.allowed.iter().cloned().collect();
        sop.to_call.clear();
        sop.pump();
        // More of them than a run may call are refused.
        let expected = sop.to_call.len().min(MAX_CALLS as usize);
        self.expect_calls(expected);
    }

    pub(super) fn program_refused(&mut self, session: u32, _problems: &[Words]) {
        if let Some(state) = self.sessions.get_mut(&session) {
            (state.sop.plans, state.sop.is_planning) = (state.sop.plans + 1, false);
        }
    }

    /// The command of a declaration was called.
    pub(super) fn command_called(&mut self, session: u32, name: &str, _node: u32) {
        let Some(state) = self.sessions.get_mut(&session) else { return };
        let to_call = &mut state.sop.to_call;
        if to_call.front().is_some_and(|next| &*next.name == name) {
            to_call.pop_front();
        }
    }

    /// The node of a command has ended.
    pub(super) fn command_ended(&mut self, session: u32, name: &str, node: u32, given: &Given) {
        let outcome = match self.answer_of_program(node, given) {
            Some(answer) => Outcome::Success(answer),
            None => outcome_of(given),
        };
        let Some(state) = self.sessions.get_mut(&session) else { return };
        let sop = &mut state.sop;
        let Some(interpreter) = &mut sop.interpreter else { return };
        // An outcome for what does not run belongs to a program that is gone.
        if interpreter.finished(name, outcome).is_ok() {
            sop.pump();
        }
    }

    /// What another program that was called answers; its variables are its own.
    fn answer_of_program(&self, node: u32, given: &Given) -> Option<Arc<str>> {
        let Given::Done(value) = given else { return None };
        let orchestrator = self.orchestrator(node)?;
        let is_program = matches!(orchestrator.session, SessionKind::Sop { .. });
        value.get("result").filter(|_| is_program)?.as_str().map(Into::into)
    }

    /// The program that a session runs, with how far it is.
    pub fn program(&self, session: u32) -> Option<&Interpreter> {
        self.session(session)?.sop.interpreter()
    }

    /// What the program says of the command that a node is.
    pub fn says(&self, node: u32) -> Option<&str> {
        match &self.called(node)?.by {
            Caller::Command { says, .. } => says.as_deref(),
            Caller::Tool { .. } => None,
        }
    }

    /// The program of the turn before this one, with what its commands gave. Read once, when the session begins.
    pub(super) fn carried(&self, session: u32) -> Option<Interpreter> {
        let conversation = self.spec.conversation.as_ref().filter(|_| session == 0)?;
        let carried = conversation.carried.as_ref()?;
        let orchestrator = self.orchestrator(session)?;
        let SessionKind::Sop { budget, .. } = &orchestrator.session else { return None };
        let program = Program::parse(&carried.program).ok()?;
        let value = |name: &str| carried.values.get(name).map(SopValue::value);
        Some(Interpreter::resume(program, (*budget).into(), value))
    }

    /// What a turn after this one goes on with.
    pub fn carried_sop(&self, session: u32) -> Option<CarriedSop> {
        let Some(interpreter) = self.program(session) else {
            // It never had a program of its own: what it was given stays.
            return self.spec.conversation.as_ref().filter(|_| session == 0)?.carried.clone();
        };
        let values = interpreter.values();
        let values = values.filter_map(|(name, value)| Some((name.to_string(), SopValue::of(&value)?)));
        Some(CarriedSop { program: interpreter.program().to_string(), values: values.collect() })
    }
}

/// What the end of a node is to the program that called it.
fn outcome_of(given: &Given) -> Outcome {
    match given {
        Given::Done(Value::Null) => Outcome::NoResponse,
        Given::Done(Value::String(text)) => match canceled(text) {
            Some(reason) => Outcome::Canceled(reason),
            None => Outcome::Success(text.as_str().into()),
        },
        Given::Done(value) => match cancel_in(value) {
            Some(reason) => Outcome::Canceled(reason),
            None => Outcome::Success(value.to_string().into()),
        },
        Given::Failed(Words { en, .. }) => Outcome::Failed(en.as_str().into()),
        Given::Cancelled(Words { en, .. }) => Outcome::Canceled(Some(en.as_str().into())),
    }
}

/// A text that is `{"cancel": …}`, and the reason in it.
fn canceled(text: &str) -> Option<Option<Arc<str>>> {
    // Long results are not read as JSON on the chance that they are a short one.
    let inside = text.trim().strip_prefix('{')?.trim_start();
    inside.strip_prefix("\"cancel\"")?;
    cancel_in(&serde_json::from_str(text).ok()?)
}

fn cancel_in(value: &Value) -> Option<Option<Arc<str>>> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    Some(match object.get("cancel")? {
        Value::String(reason) => Some(reason.as_str().into()),
        Value::Null => None,
        other => Some(other.to_string().into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_model::words;
    use serde_json::json;

    #[test]
    fn the_end_of_a_node_is_a_success_a_failure_a_cancellation_or_silence() {
        let text = |text: &str| Given::Done(Value::String(text.to_owned()));
        for (given, expected) in [
            (text(""), Outcome::Success("".into())),
            (text("{\"cancels\": 1}"), Outcome::Success("{\"cancels\": 1}".into())),
            (text("{\"cancel\": \"not today\"}"), Outcome::Canceled(Some("not today".into()))),
            (text(" { \"cancel\": null }\n"), Outcome::Canceled(None)),
            (
                text("{\"cancel\": \"x\", \"more\": 1}"),
                Outcome::Success("{\"cancel\": \"x\", \"more\": 1}".into()),
            ),
            (text("{\"cancel\": "), Outcome::Success("{\"cancel\": ".into())),
            (Given::Done(Value::Null), Outcome::NoResponse),
            (Given::Done(json!({"cancel": ""})), Outcome::Canceled(Some("".into()))),
            (Given::Done(json!({"a": [1]})), Outcome::Success("{\"a\":[1]}".into())),
            (Given::Failed(words!("boom", "砰")), Outcome::Failed("boom".into())),
            (Given::Cancelled(words!("stopped", "停")), Outcome::Canceled(Some("stopped".into()))),
        ] {
            assert_eq!(outcome_of(&given), expected, "{given:?}");
        }
    }
}
