//! The coding agents that agents can run in, for the tests: the real programs from npm, by name and version.
//!
//! Kept outside the checkout (`FUGATO_TEST_CACHE`, else the person's cache directory): together they are 800 MB, and every
//! checkout uses the same. Nothing is skipped: without them the test command fails.

use crate::shell::{self, Outcome, say};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that tells tests where a program is, its name, its package and the version the tests are written for.
const HOSTS: &[(&str, &str, &str, &str)] = &[
    ("FUGATO_TEST_CLAUDE", "claude", "@anthropic-ai/claude-code", "2.1.325"),
    ("FUGATO_TEST_CODEX", "codex", "@openai/codex", "0.166.0"),
];

pub fn run() -> Outcome {
    for (variable, program) in install()? {
        say(&format!("export {variable}={}", program.display()));
    }
    Ok(())
}

/// Makes sure that every host is there; gives each one's variable and program.
pub fn install() -> Result<Vec<(&'static str, PathBuf)>, String> {
    let room = cache()?.join("hosts");
    let failed = |error: std::io::Error| format!("{}: {error}", room.display());
    std::fs::create_dir_all(&room).map_err(failed)?;
    // Two checkouts tested at once install once.
    let lock = File::create(room.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let wanted: Vec<String> = HOSTS
        .iter()
        .filter(|(_, name, _, version)| !is_there(&room, name, version))
        .map(|(_, _, package, version)| format!("{package}@{version}"))
        .collect();
    if !wanted.is_empty() {
        let npm = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", "--prefix"])
            .arg(&room)
            // All of them: npm removes what is not named.
            .args(HOSTS.iter().map(|(_, _, package, version)| format!("{package}@{version}")))
            .status();
        if !npm.as_ref().is_ok_and(std::process::ExitStatus::success) {
            let why = npm.map_or_else(|error| error.to_string(), |status| status.to_string());
            return Err(offline(&format!("npm install {} failed: {why}", wanted.join(" "))));
        }
        // Where npm runs no scripts of packages, the program is still a placeholder.
        let finish = room.join("node_modules/@anthropic-ai/claude-code/install.cjs");
        if !is_there(&room, "claude", version_of("claude")) && finish.exists() {
            shell::run("claude", Command::new("node").arg(finish))?;
        }
    }
    let mut programs = Vec::new();
    for (variable, name, package, version) in HOSTS {
        if !is_there(&room, name, version) {
            return Err(offline(&format!("{package}@{version} was installed and does not start")));
        }
        programs.push((*variable, program(&room, name)));
    }
    Ok(programs)
}

fn version_of(wanted: &str) -> &'static str {
    HOSTS.iter().find(|(_, name, ..)| *name == wanted).map_or("", |(.., version)| version)
}

fn program(room: &Path, name: &str) -> PathBuf {
    room.join("node_modules").join(".bin").join(name)
}

/// Whether it starts and is the version that is wanted.
fn is_there(room: &Path, name: &str, version: &str) -> bool {
    let output = Command::new(program(room, name)).arg("--version").env("HOME", room).output();
    output.is_ok_and(|output| {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success() && said.split_whitespace().any(|word| word == version)
    })
}

fn cache() -> Result<PathBuf, String> {
    let own = std::env::var_os("FUGATO_TEST_CACHE").map(PathBuf::from);
    let xdg = || Some(PathBuf::from(std::env::var_os("XDG_CACHE_HOME")?).join("fugato-test"));
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache").join("fugato-test"));
    own.or_else(xdg).or_else(home).ok_or_else(|| "no cache directory: set FUGATO_TEST_CACHE".to_owned())
}

fn offline(error: &str) -> String {
    format!("{error}\nThe tests of hosts need the npm registry; nothing is skipped silently.")
}
