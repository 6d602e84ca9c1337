//! Programs of the system that tests need, installed by the names of their packages.

use crate::shell::{self, Outcome, has};
use std::process::Command;

/// What a test needs, how to see that it is there, and the packages it comes in.
struct Needed {
    what: &'static str,
    is_there: fn() -> bool,
    packages: &'static [&'static str],
}

const NEEDED: [Needed; 4] = [
    Needed {
        what: "tesseract with Chinese",
        is_there: || has("tesseract", "--version") && has_chinese(),
        packages: &["tesseract-ocr", "tesseract-ocr-chi-sim"],
    },
    Needed {
        what: "a Chromium",
        is_there: || {
            ["chromium", "chromium-browser", "google-chrome"].iter().any(|name| has(name, "--version"))
        },
        packages: &["chromium"],
    },
    Needed { what: "bubblewrap", is_there: || has("bwrap", "--version"), packages: &["bubblewrap"] },
    // What a store writes and syncs is recorded for simulated power cuts.
    Needed { what: "strace", is_there: || has("strace", "--version"), packages: &["strace"] },
];

fn has_chinese() -> bool {
    let listed = Command::new("tesseract").arg("--list-langs").output();
    listed.is_ok_and(|listed| String::from_utf8_lossy(&listed.stdout).lines().any(|line| line == "chi_sim"))
}

/// Nothing is skipped: what cannot be installed is named, and the tests do not start.
pub fn run() -> Outcome {
    for needed in NEEDED.iter().filter(|needed| !(needed.is_there)()) {
        let missing = |error: String| {
            let packages = needed.packages.join(" ");
            format!("the tests need {}: install {packages} ({error})", needed.what)
        };
        shell::run("package lists", Command::new("apt-get").args(["update", "-qq"])).map_err(missing)?;
        let mut install = Command::new("apt-get");
        install.args(["install", "-y", "-qq", "--no-install-recommends"]).args(needed.packages);
        install.env("DEBIAN_FRONTEND", "noninteractive");
        shell::run(needed.what, &mut install).map_err(missing)?;
        if !(needed.is_there)() {
            return Err(missing("installed, but it does not answer".to_owned()));
        }
    }
    Ok(())
}
