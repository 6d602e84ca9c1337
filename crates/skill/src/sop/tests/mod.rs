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

/// Edited or read whole: the same declarations in the same places, with the same references.
pub(super) fn assert_same_places(edited: &Program, whole: &Program) {
    assert_eq!(edited.len(), whole.len());
    for (a, b) in edited.declarations().iter().zip(whole.declarations()) {
        assert!(a.says_same(b), "{a:?} {b:?}");
        assert_eq!(
            (a.line, a.place, a.command_place, a.end),
            (b.line, b.place, b.command_place, b.end),
            "{a:?}"
        );
        assert!(edited.dependencies(a).eq(whole.dependencies(b)), "{a:?} {b:?}");
        let dependents = |program: &Program, number: usize| {
            let names = program.dependents_of(number).iter().map(|to| program.at(*to).unwrap().name.clone());
            names.collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(dependents(edited, a.number), dependents(whole, b.number), "{a:?}");
        assert_eq!(edited.get(&a.name).map(|found| found.number), Some(a.number));
        assert_eq!(edited.dependents_of(a.number).len(), whole.dependents_of(b.number).len());
    }
    assert_eq!(edited.by_name.len(), whole.by_name.len());
    let used: std::collections::BTreeSet<usize> = edited.declarations().iter().map(|it| it.number).collect();
    assert_eq!(used.len() + edited.free.len(), edited.places.len());
    assert!(
        edited.free.iter().all(|number| !used.contains(number) && edited.dependents_of(*number).is_empty())
    );
    assert_eq!(edited.text, whole.text);
}
