//! The door before each tool call of a hosted agent. Whoever runs the host opens it for one turn and shuts it the moment
//! the turn is to end; the hook inside the host looks at it before each call. So a pause, a redirect or a cancel holds the
//! next call even before the program is gone, and a program whose owner died does nothing more.
//!
//! Nothing is recorded here: what a hosted agent does is told by its own stream, once.

use crate::store::process::{Seen, look};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The variable that names the door to the hook.
pub const GATE: &str = "FUGATO_HOSTED";

/// An open door. It shuts when this goes.
#[derive(Debug)]
pub struct Gate {
    file: PathBuf,
}

/// What the hook finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    Open,
    /// The turn is over: paused, redirected, cancelled, or out of time.
    Shut,
    /// The process that watched over the agent is gone.
    Orphaned,
}

impl Gate {
    pub fn open(dir: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let own = std::process::id();
        let Seen::Started(started) = look(own) else {
            return Err(io::Error::other("this process is not seen"));
        };
        // Private and of a name that nobody else has.
        let mut file = tempfile::Builder::new().prefix("door-").tempfile_in(dir)?;
        write!(file, "{own} {started}")?;
        let (_, file) = file.keep().map_err(|error| error.error)?;
        Ok(Self { file })
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    pub fn shut(&self) {
        // It may be shut already.
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.shut();
    }
}

/// May the agent behind this door go on?
pub fn passage(file: &Path) -> Passage {
    let Ok(text) = std::fs::read_to_string(file) else { return Passage::Shut };
    let mut numbers = text.split(' ');
    let pid = numbers.next().and_then(|pid| pid.parse().ok());
    let started = numbers.next().and_then(|ticks| ticks.parse().ok());
    match (pid, started) {
        (Some(pid), Some(started)) if look(pid) == Seen::Started(started) => Passage::Open,
        _ => Passage::Orphaned,
    }
}

/// What the hook of a hosted agent prints. Nothing, as long as the door is open: then the host's own rules decide.
pub fn answer(file: &Path, input: &[u8]) -> Option<String> {
    let why = match passage(file) {
        Passage::Open => return None,
        Passage::Shut => "stopped by the operator; do not try again, end your turn",
        Passage::Orphaned => {
            "the run that this agent belongs to was interrupted; do not try again, end your turn"
        }
    };
    let said: serde_json::Value = serde_json::from_slice(input).unwrap_or_default();
    let event = said.get("hook_event_name").and_then(serde_json::Value::as_str);
    // What cannot be read may be a tool call.
    event.is_none_or(|event| event == "PreToolUse").then(|| {
        serde_json::json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why,
        }})
        .to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_is_open_until_it_is_shut_or_its_owner_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let gate = Gate::open(dir.path()).unwrap();
        let file = gate.file().to_owned();
        assert_eq!(passage(&file), Passage::Open);
        assert_eq!(answer(&file, b"{\"hook_event_name\":\"PreToolUse\"}"), None);
        gate.shut();
        assert_eq!(passage(&file), Passage::Shut);
        for input in [&b"{\"hook_event_name\":\"PreToolUse\"}"[..], b"", b"\xff", b"[1]"] {
            assert!(answer(&file, input).unwrap().contains("\"deny\""));
        }
        assert_eq!(answer(&file, b"{\"hook_event_name\":\"PostToolUse\"}"), None);
        drop(gate);
        // Another process with the number of a dead one is not the owner.
        for text in [format!("{} 1", std::process::id()), "x".into(), String::new(), "4194304 1".into()] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(passage(&file), Passage::Orphaned);
        }
    }
}
