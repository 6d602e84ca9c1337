//! `cargo xtask soak`: the same properties, with the number of cases the promises name.

use crate::shell::{self, Outcome, cargo};

pub fn run() -> Outcome {
    let cases = std::env::var("FUGATO_CASES").unwrap_or_else(|_| "1000000".to_owned());
    shell::run(
        "properties",
        cargo()
            .args(["test", "--release", "--workspace", "--locked"])
            .env("FUGATO_CASES", &cases)
            // Tests that take their number from proptest itself.
            .env("PROPTEST_CASES", "100000"),
    )
}
