//! Running other programs, and the one place of this program that prints.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

pub type Outcome = Result<(), String>;

/// A line for the person who waits.
#[expect(clippy::print_stderr, reason = "the one writer of this program")]
pub fn say(text: &str) {
    eprintln!("{text}");
}

/// The workspace's root.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Where builds and downloads go: never committed.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Runs a program to its end in the workspace's root, with its output shown.
pub fn run(title: &str, command: &mut Command) -> Outcome {
    let start = Instant::now();
    say(&format!("── {title}"));
    let status = command.current_dir(root()).status().map_err(|error| format!("{title}: {error}"))?;
    if !status.success() {
        return Err(format!("{title} failed ({status})"));
    }
    say(&format!("   {title}: {:.1} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// Runs a program and returns what it printed.
pub fn read(title: &str, command: &mut Command) -> Result<String, String> {
    let output = command.current_dir(root()).output().map_err(|error| format!("{title}: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{title} failed ({}): {stderr}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{title}: {error}"))
}

pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Is a program on this machine?
pub fn has(program: &str, argument: &str) -> bool {
    let quiet = Command::new(program)
        .arg(argument)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    quiet.is_ok_and(|status| status.success())
}
