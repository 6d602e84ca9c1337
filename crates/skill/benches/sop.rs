//! What the SOP language costs with ten thousand declarations. Target: parse and check in under 50 ms.

use fugato_skill::sop::{Budget, Interpreter, Outcome, Program};
use std::sync::{Arc, LazyLock};

const DECLARATIONS: usize = 10_000;

fn main() {
    divan::main();
}

/// A hundred chains of a hundred, each with some words, a string and a comment.
fn text(changed: Option<usize>) -> String {
    let mut text = String::new();
    for n in 0..DECLARATIONS {
        let word = if changed == Some(n) { "changed" } else { "word" };
        text.push_str(&format!("# Step {n}.\n@step{n} no-op {word} \"some text with {n}\""));
        if n % 100 != 0 {
            text.push_str(&format!(" $step{}", n - 1));
        }
        text.push('\n');
    }
    text
}

static TEXT: LazyLock<String> = LazyLock::new(|| text(None));
/// The fiftieth of one chain is other: it and forty-nine behind it have to run.
static CHANGED: LazyLock<String> = LazyLock::new(|| text(Some(5_050)));

fn parse(text: &str) -> Program {
    Program::parse(text).unwrap_or_default()
}

fn unbounded() -> Budget {
    Budget { commands: usize::MAX, prompt_chars: usize::MAX, failures: usize::MAX }
}

/// How many commands ran.
fn run(interpreter: &mut Interpreter) -> usize {
    let empty: Arc<str> = "".into();
    let mut count = 0;
    loop {
        let commands = interpreter.ready();
        if commands.is_empty() {
            return count;
        }
        for command in commands {
            count += usize::from(
                interpreter.finished(&command.name, Outcome::Success(Arc::clone(&empty))).is_ok(),
            );
        }
    }
}

fn ran() -> Interpreter {
    let mut interpreter = Interpreter::new(parse(&TEXT), unbounded());
    run(&mut interpreter);
    interpreter
}

#[divan::bench]
fn parse_and_check_10000_declarations() -> usize {
    parse(divan::black_box(&TEXT)).len()
}

#[divan::bench]
fn run_10000_no_op_commands(bencher: divan::Bencher<'_, '_>) {
    let program = parse(&TEXT);
    bencher
        .with_inputs(|| Interpreter::new(program.clone(), unbounded()))
        .bench_values(|mut interpreter| run(&mut interpreter));
}

/// Parsing the new program, the update and the commands it asks for.
#[divan::bench]
fn update_one_declaration_of_10000(bencher: divan::Bencher<'_, '_>) {
    let old = ran();
    bencher.with_inputs(|| old.clone()).bench_values(|mut interpreter| {
        let change = interpreter.update(parse(divan::black_box(&CHANGED)));
        (change.is_ok(), run(&mut interpreter))
    });
}

/// The same without parsing.
#[divan::bench]
fn update_to_a_parsed_program(bencher: divan::Bencher<'_, '_>) {
    let old = ran();
    let new = parse(&CHANGED);
    bencher
        .with_inputs(|| (old.clone(), new.clone()))
        .bench_values(|(mut interpreter, new)| (interpreter.update(new).is_ok(), run(&mut interpreter)));
}
