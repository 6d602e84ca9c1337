//! Programs that tests need beyond cargo: installed by name when they are missing. Without them tests fail; none is skipped.

use crate::shell::{self, Outcome, has};
use std::process::Command;

/// A browser for the tests of browser-* tools.
pub fn have_chromium() -> Outcome {
    if ["chromium", "chromium-browser", "google-chrome"].iter().any(|name| has(name, "--version")) {
        return Ok(());
    }
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    shell::run("package lists", apt().args(["update", "--quiet"]))?;
    shell::run("chromium", apt().args(["install", "--yes", "--quiet", "--no-install-recommends", "chromium"]))
}
