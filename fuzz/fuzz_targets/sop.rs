//! Any text as an answer of a planner and as a program: no panic, errors with places inside of the text, a printed program
//! that reads as the same one, and runs that come to an end whatever commands answer.
#![no_main]

use fugato_skill::sop::{Budget, INPUT, Interpreter, Outcome, Program, program_in, with_given};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(found) = program_in(text) {
        assert!(text.contains(found));
    }
    let given = |name: &str| (name == INPUT).then(|| text.into());
    match with_given(text, &given) {
        Ok(whole) => {
            let program = Program::parse(&whole).expect("what is given is declared");
            let again = Program::parse(&program.to_string()).expect("what is printed is a program");
            assert!(program == again);
            run(program, text);
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                assert!(text.get(error.place.start..error.place.end).is_some(), "{error}");
                let told = error.diagnostic("p.sop", text);
                assert!(!told.message.en.is_empty() && !told.message.zh.is_empty());
            }
        }
    }
});

/// Runs it with outcomes made of the text, then replaces it by its first half.
fn run(program: Program, text: &str) {
    let half: String = program.to_string().lines().take(program.len() / 2).map(|line| format!("{line}\n")).collect();
    let mut interpreter = Interpreter::new(program, Budget::default());
    let mut bytes = text.bytes().cycle();
    drive(&mut interpreter, &mut bytes);
    if let Ok(next) = Program::parse(&half) {
        let change = interpreter.update(next).expect("nothing runs");
        let kept = change.kept.len();
        let started = interpreter.commands_started();
        drive(&mut interpreter, &mut bytes);
        assert!(interpreter.commands_started() - started <= change.to_run.len());
        assert!(kept + change.to_run.len() == interpreter.program().len());
    }
    let _ = interpreter.answer();
}

fn drive(interpreter: &mut Interpreter, bytes: &mut impl Iterator<Item = u8>) {
    loop {
        let commands = interpreter.ready();
        if commands.is_empty() {
            assert!(interpreter.is_finished());
            return;
        }
        for command in commands {
            let outcome = match bytes.next().unwrap_or(0) % 5 {
                0 => Outcome::Failed("no".into()),
                1 => Outcome::Canceled(None),
                2 => Outcome::NoResponse,
                _ => Outcome::Success(command.prompt().into()),
            };
            interpreter.finished(&command.name, outcome).expect("it runs");
        }
    }
}
