//! The least a hook can do: read what the host says, look at a small file, add a line to another, and replace a third. `DIR` is
//! its only argument.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn answer() -> std::io::Result<()> {
    let dir = PathBuf::from(std::env::args_os().nth(1).unwrap_or_default());
    let mut said = Vec::new();
    std::io::stdin().lock().read_to_end(&mut said)?;
    let control = fs::read(dir.join("control.json"))?;
    let mut stream = OpenOptions::new().append(true).create(true).open(dir.join("stream.jsonl"))?;
    writeln!(stream, "{{\"bytes\":{},\"control\":{}}}", said.len(), control.len())?;
    let new = dir.join(format!("status.{}", std::process::id()));
    fs::write(&new, format!("{{\"bytes\":{}}}\n", said.len()))?;
    fs::rename(new, dir.join("status.json"))
}
