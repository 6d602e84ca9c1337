//! The language and its interpreter, from the contract's cases to random programs.

mod cases;
mod language;
mod properties;
mod running;
mod updating;

use super::{Budget, Command, Interpreter, Outcome, Program};

/// The commands the contract's cases are written for.
pub(super) fn registry(command: &str, arguments: &[&str]) -> Outcome {
    let first = arguments.first().copied();
    match command {
        "emit" => Outcome::Success(first.unwrap_or_default().into()),
        "join" => Outcome::Success(arguments.join("|").into()),
        "fail" => Outcome::Failed(first.unwrap_or_default().into()),
        "cancel" => Outcome::Canceled(first.map(Into::into)),
        "none" => Outcome::NoResponse,
        "throw" => Outcome::Failed("boom".into()),
        _ => Outcome::Failed(format!("unknown {command}").into()),
    }
}

pub(super) fn answer(command: &Command) -> Outcome {
    let arguments: Vec<&str> = command.arguments.iter().map(|text| &**text).collect();
    registry(&command.command, &arguments)
}

/// `emit foo`: a command as it was run.
pub(super) fn shown(command: &Command) -> String {
    let mut words = vec![&*command.command];
    words.extend(command.arguments.iter().map(|text| &**text));
    words.join(" ")
}

/// Runs to the end; what was run, in order.
pub(super) fn run(interpreter: &mut Interpreter) -> Vec<String> {
    let mut history = Vec::new();
    loop {
        let commands = interpreter.ready();
        if commands.is_empty() {
            assert!(interpreter.is_finished());
            return history;
        }
        for command in commands {
            history.push(shown(&command));
            interpreter.finished(&command.name, answer(&command)).unwrap();
        }
    }
}

pub(super) fn program(text: &str) -> Program {
    Program::parse(text).unwrap_or_else(|errors| panic!("{text}\n{errors:#?}"))
}

pub(super) fn start(text: &str) -> Interpreter {
    Interpreter::new(program(text), Budget::default())
}

/// The program run to its end.
pub(super) fn ran(text: &str) -> Interpreter {
    let mut interpreter = start(text);
    run(&mut interpreter);
    interpreter
}

pub(super) fn errors(text: &str) -> Vec<String> {
    Program::parse(text).unwrap_err().iter().map(ToString::to_string).collect()
}

pub(super) fn value(interpreter: &Interpreter, name: &str) -> String {
    interpreter.value(name).unwrap().to_string()
}
