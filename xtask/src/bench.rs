//! `cargo xtask bench`: measured figures, each with the ratio to a bare program that does the same I/O.

use crate::shell::{self, Outcome, cargo};

pub fn run() -> Outcome {
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
    for example in ["store_bench", "run_bench"] {
        shell::run(
            example,
            cargo()
                .args(["run", "--release", "--locked", "--quiet", "--package", "fugato-runtime"])
                .args(["--example", example]),
        )?;
    }
    shell::run("policy and skill tools", cargo().args(["bench", "--locked", "--package", "fugato-skill"]))
}
