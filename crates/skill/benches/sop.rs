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

/// From the new text to the end of the commands it asks for: fifty of them.
#[divan::bench]
fn update_one_declaration_of_10000(bencher: divan::Bencher<'_, '_>) {
    let old = ran();
    bencher.with_inputs(|| old.clone()).bench_refs(|interpreter| {
        let change = interpreter.update_to(divan::black_box(&CHANGED));
        (change.is_ok(), run(interpreter))
    });
}

/// One of so many declarations is other, in the middle; one depends on it, or every tenth does.
#[divan::bench(args = [100, 1_000, 10_000])]
fn update_with_one_dependant(bencher: divan::Bencher<'_, '_>, count: usize) {
    update(bencher, count, 1);
}

#[divan::bench(args = [100, 1_000, 10_000])]
fn update_with_a_tenth_as_dependants(bencher: divan::Bencher<'_, '_>, count: usize) {
    update(bencher, count, count / 10);
}

/// A declaration more, at the beginning: everything behind it moves.
#[divan::bench(args = [100, 1_000, 10_000])]
fn update_with_one_more(bencher: divan::Bencher<'_, '_>, count: usize) {
    let text = hub(count, 1, "word");
    let more = format!("@more no-op word\n{text}");
    bench_update(bencher, &text, &more);
}

fn update(bencher: divan::Bencher<'_, '_>, count: usize, dependants: usize) {
    bench_update(bencher, &hub(count, dependants, "word"), &hub(count, dependants, "changed"));
}

/// The interpreters are made and thrown away outside of what is measured.
fn bench_update(bencher: divan::Bencher<'_, '_>, old: &str, new: &str) {
    let mut interpreter = Interpreter::new(parse(old), unbounded());
    run(&mut interpreter);
    bencher
        .with_inputs(|| interpreter.clone())
        .bench_refs(|interpreter| interpreter.update_to(divan::black_box(new)).is_ok());
}

/// So many declarations, of which so many refer to the one in the middle, which is told a word.
fn hub(count: usize, dependants: usize, word: &str) -> String {
    let middle = count / 2;
    let line = |n: usize| match n {
        n if n == middle => format!("# Step {n}.\n@step{n} no-op {word} \"some text with {n}\"\n"),
        n if n < dependants || n == count - 1 => {
            format!("# Step {n}.\n@step{n} no-op word $step{middle}\n")
        }
        n => format!("# Step {n}.\n@step{n} no-op word \"some text with {n}\"\n"),
    };
    (0..count).map(line).collect()
}

/// The whole of both programs, read already, is compared.
#[divan::bench]
fn update_to_a_parsed_program(bencher: divan::Bencher<'_, '_>) {
    let old = ran();
    let new = parse(&CHANGED);
    bencher.with_inputs(|| (old.clone(), Some(new.clone()))).bench_refs(|(interpreter, new)| {
        let is_done = new.take().is_some_and(|new| interpreter.update(new).is_ok());
        (is_done, run(interpreter))
    });
}
