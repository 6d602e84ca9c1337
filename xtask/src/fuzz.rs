//! `cargo xtask fuzz`: coverage-guided fuzzing. Needs a nightly toolchain and cargo-fuzz, and says so.
//!
//! What is found on the way stays in `fuzz/corpus`; each target begins with the files of `fuzz/seeds` and with the words of
//! its dictionary, if it has them.

use crate::shell::{self, Outcome, cargo, has, root};
use std::process::Command;

pub const TARGETS: [&str; 14] = [
    "agent_file",
    "frontmatter",
    "profile",
    "zip",
    "path",
    "template",
    "result",
    "journal",
    "exports",
    "office",
    "office_parts",
    "hook",
    "model_stream",
    "sop",
];

/// How long each target is tried: whichever comes first.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    pub seconds: u64,
    /// Inputs; without it there is no such end.
    pub runs: Option<u64>,
}

pub fn run(args: &[&str]) -> Outcome {
    let mut length = Length { seconds: 60, runs: None };
    let mut names: Vec<&str> = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut number = || {
            let given = rest.next().ok_or_else(|| format!("{arg} needs a number"))?;
            given.parse::<u64>().map_err(|_| format!("{arg}: `{given}` is not a number"))
        };
        match *arg {
            "--seconds" => length.seconds = number()?,
            "--runs" => length.runs = Some(number()?),
            name if TARGETS.contains(&name) => names.push(name),
            other => return Err(format!("no fuzz target `{other}`; there are: {}", TARGETS.join(", "))),
        }
    }
    if names.is_empty() {
        names.extend(TARGETS);
    }
    targets(&names, length)
}

/// Tries each of these for so long.
pub fn targets(names: &[&str], length: Length) -> Outcome {
    if !has("cargo-fuzz", "--version") {
        shell::run("install cargo-fuzz", cargo().args(["install", "--locked", "cargo-fuzz"]))?;
    }
    for name in names {
        target(name, length)?;
    }
    Ok(())
}

fn target(name: &str, length: Length) -> Outcome {
    let room = root().join("fuzz");
    let corpus = room.join("corpus").join(name);
    std::fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
    let mut command = Command::new("cargo-fuzz");
    command.args(["fuzz", "run", name, "--fuzz-dir"]).arg(&room).arg(corpus);
    let (seeds, words) =
        (room.join("seeds").join(name), room.join("dictionaries").join(format!("{name}.dict")));
    if seeds.is_dir() {
        command.arg(seeds);
    }
    command.arg("--").arg(format!("-max_total_time={}", length.seconds));
    if words.is_file() {
        command.arg(format!("-dict={}", words.display()));
    }
    if let Some(runs) = length.runs {
        command.arg(format!("-runs={runs}"));
    }
    // The sanitizer makes everything several times slower and larger than it is.
    command.args(["-timeout=5", "-rss_limit_mb=1024"]).env("RUSTUP_TOOLCHAIN", "nightly");
    shell::run(&format!("fuzz {name} for {} s", length.seconds), &mut command)
}
