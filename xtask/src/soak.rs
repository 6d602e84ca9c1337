//! `cargo xtask soak`: the same properties, with the number of cases the promises name.
//!
//! `FUGATO_CASES` is that number; properties whose single case is costly run a fixed share of it.

use crate::shell::{self, Outcome, cargo};

const MILLION: u64 = 1_000_000;

pub fn run() -> Outcome {
    let cases = match std::env::var("FUGATO_CASES") {
        Ok(text) => text.parse().map_err(|_| format!("FUGATO_CASES: `{text}` is not a number"))?,
        Err(_) => MILLION,
    };
    shell::run(
        &format!("properties, {cases} cases"),
        cargo()
            .args(["test", "--release", "--workspace", "--locked"])
            .env("FUGATO_CASES", cases.to_string())
            // Swaps of a link under a reader.
            .env("FUGATO_RACE_TRIALS", cases.to_string())
            // Runs and stores killed with -9, commands cancelled: each is a process, so fewer.
            .env("FUGATO_KILLS", (cases / 500).max(12).to_string())
            // Processes that speak to one run at once, and how much each says.
            .env("FUGATO_TALKERS", "64")
            .env("FUGATO_WORDS", (cases / 1000).clamp(25, 1000).to_string())
            // Disks after a power cut: each is a whole store that is opened and read.
            .env("FUGATO_POWER_CUTS", (cases / 50).max(300).to_string())
            .env("FUGATO_CANCEL_TRIALS", (cases / 1000).max(10).to_string())
            // Properties that take their number from proptest itself: slower ones, and of lesser promises.
            .env("PROPTEST_CASES", (cases / 10).max(1).to_string()),
    )
}
