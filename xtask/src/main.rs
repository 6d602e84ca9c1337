//! `cargo xtask …`: what people and `.ci/run` call. Each task is a file.

mod bench;
mod conformance;
mod fuzz;
mod generate;
mod hosts;
mod local_model;
mod packages;
mod shell;
mod soak;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask TASK

  test                       format, lints, all tests, generated files, conformance suites, a real local model
  local-model                the last of these alone
  hosts                      installs Claude Code and Codex for the tests and says where they are
  bench [--only NAME] [--json FILE]
                             speed and memory, with the ratio to bare programs
  soak [PART…] [--share 1/N] the tests that have a size, with the sizes that are promised (without a part: all of them)
  fuzz [NAME…] [--seconds N] [--runs N]
                             coverage-guided fuzzing (without a name: every target in turn)
  generate [--check]         everything that is derived: CLI reference, schemas, error index
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => test::run(),
        ["local-model"] => local_model::run(),
        ["hosts"] => hosts::run(),
        ["bench", rest @ ..] => bench::run(rest),
        ["soak", rest @ ..] => soak::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["generate"] => generate::run(generate::Mode::Write),
        ["generate", "--check"] => generate::run(generate::Mode::Check),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            shell::say(&format!("xtask: {message}"));
            ExitCode::FAILURE
        }
    }
}
