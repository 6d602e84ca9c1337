//! `cargo xtask fuzz`: coverage-guided fuzzing. Needs a nightly toolchain and cargo-fuzz, and says so.

use crate::shell::{self, Outcome, cargo, has, root};
use std::process::Command;

const TARGETS: [&str; 13] = [
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
    "hook",
    "model_stream",
    "sop",
];

pub fn run(args: &[&str]) -> Outcome {
    let mut seconds = 60u32;
    let mut names: Vec<&str> = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match *arg {
            "--seconds" => {
                let given = rest.next().ok_or("--seconds needs a number")?;
                seconds = given.parse().map_err(|_| format!("--seconds: `{given}` is not a number"))?;
            }
            name if TARGETS.contains(&name) => names.push(name),
            other => return Err(format!("no fuzz target `{other}`; there are: {}", TARGETS.join(", "))),
        }
    }
    if names.is_empty() {
        names.extend(TARGETS);
    }
    if !has("cargo-fuzz", "--version") {
        shell::run("install cargo-fuzz", cargo().args(["install", "--locked", "cargo-fuzz"]))?;
    }
    for name in names {
        shell::run(
            &format!("fuzz {name} for {seconds} s"),
            Command::new("cargo-fuzz")
                .args(["fuzz", "run", name, "--fuzz-dir"])
                .arg(root().join("fuzz"))
                .args(["--", &format!("-max_total_time={seconds}"), "-timeout=2", "-rss_limit_mb=512"])
                .env("RUSTUP_TOOLCHAIN", "nightly"),
        )?;
    }
    Ok(())
}
