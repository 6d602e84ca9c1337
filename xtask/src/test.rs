//! `cargo xtask test`: everything that must hold before a change lands.

use crate::shell::{self, Outcome, cargo, has};
use crate::{conformance, generate, local_model};
use std::process::Command;

pub fn run() -> Outcome {
    shell::run("format", cargo().args(["fmt", "--all", "--check"]))?;
    shell::run(
        "lints",
        cargo().args(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
    )?;
    need("bwrap", "bubblewrap")?;
    // nextest runs test binaries side by side and names what is slow; plain cargo does the same work.
    if has("cargo-nextest", "--version") {
        shell::run("tests", cargo().args(["nextest", "run", "--workspace", "--locked", "--no-fail-fast"]))?;
        shell::run(
            "documentation tests",
            cargo().args(["test", "--workspace", "--doc", "--locked", "--quiet"]),
        )?;
    } else {
        shell::run("tests", cargo().args(["test", "--workspace", "--locked", "--no-fail-fast"]))?;
    }
    shell::run(
        "documentation",
        cargo()
            .args(["doc", "--workspace", "--no-deps", "--locked", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    generate::run(generate::Mode::Check)?;
    conformance::run()?;
    local_model::run()
}

/// A program that tests use, installed by its Debian package where it is missing. Without it the tests fail, loudly.
fn need(program: &str, package: &str) -> Outcome {
    if has(program, "--version") {
        return Ok(());
    }
    let install = format!("apt-get update -qq && apt-get install -y -qq --no-install-recommends {package}");
    shell::run(&format!("install {package}"), Command::new("sh").args(["-c", &install]))
}
