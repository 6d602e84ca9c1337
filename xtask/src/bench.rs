//! `cargo xtask bench`: measured figures, each with the ratio to a bare program that does the same I/O.

use crate::shell::{self, Outcome, cargo};

/// `words`: options of `fugato-bench` (`--only NAME`, `--json FILE`, `--small`). With `--only` nothing else is measured.
pub fn run(words: &[&str]) -> Outcome {
    if !words.contains(&"--only") {
        rooms()?;
    }
    // Both are started as programs, so both must be there.
    shell::run(
        "build",
        cargo()
            .args(["build", "--release", "--locked", "--quiet", "--package", "fugato"])
            .args(["--package", "fugato-bench"]),
    )?;
    let program = shell::target().join("release").join("fugato-bench");
    shell::run("whole runs beside bare programs", std::process::Command::new(program).args(words))
}

/// Single rooms by themselves.
fn rooms() -> Outcome {
    let skills = std::env::var("FUGATO_BENCH_SKILLS").unwrap_or_else(|_| "10000".to_owned());
    shell::run(
        "discovery of many skills",
        cargo().args(["run", "--release", "--locked", "--quiet", "--package", "fugato-runtime"]).args([
            "--example",
            "discover_bench",
            "--",
            &skills,
        ]),
    )?;
    shell::run(
        "the store alone",
        cargo()
            .args(["run", "--release", "--locked", "--quiet", "--package", "fugato-runtime"])
            .args(["--example", "store_bench"]),
    )?;
    shell::run("policy and skill tools", cargo().args(["bench", "--locked", "--package", "fugato-skill"]))
}
