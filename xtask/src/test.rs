//! `cargo xtask test`: everything that must hold before a change lands.

use crate::shell::{self, Outcome, cargo, has};
use crate::{conformance, generate, hosts, local_model, packages};

pub fn run() -> Outcome {
    shell::run("format", cargo().args(["fmt", "--all", "--check"]))?;
    shell::run(
        "lints",
        cargo().args(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
    )?;
    packages::run()?;
    let programs = hosts::install()?;
    let tests = || {
        let mut command = cargo();
        command.envs(programs.iter().map(|(variable, program)| (variable, program)));
        command
    };
    // nextest runs test binaries side by side and names what is slow; plain cargo does the same work.
    if has("cargo-nextest", "--version") {
        shell::run("tests", tests().args(["nextest", "run", "--workspace", "--locked", "--no-fail-fast"]))?;
        shell::run(
            "documentation tests",
            cargo().args(["test", "--workspace", "--doc", "--locked", "--quiet"]),
        )?;
    } else {
        shell::run("tests", tests().args(["test", "--workspace", "--locked", "--no-fail-fast"]))?;
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
