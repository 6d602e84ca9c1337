//! The door before each tool call of a hosted agent. Whoever runs the host opens it for one turn and shuts it the moment
//! the turn is to end; the hook inside the host looks at it before each call. So a pause, a redirect or a cancel holds the
//! next call even before the program is gone, and a program whose owner died does nothing more.
//!
//! After each call the hook looks for letters to the agent, at the place that the door names.
//!
//! Nothing is recorded here: what a hosted agent does is told by its own stream, once.

use super::letters;
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    Open {
        letters: PathBuf,
    },
    /// The turn is over: paused, redirected, cancelled, or out of time.
    Shut,
    /// The process that watched over the agent is gone.
    Orphaned,
}

impl Gate {
    /// `letters`: where the agent's letters are put.
    pub fn open(dir: &Path, letters: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let own = std::process::id();
        let Seen::Started(started) = look(own) else {
            return Err(io::Error::other("this process is not seen"));
        };
        // Private and of a name that nobody else has.
        let mut file = tempfile::Builder::new().prefix("door-").tempfile_in(dir)?;
        write!(file, "{own} {started} {}", letters.display())?;
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
    let mut parts = text.splitn(3, ' ');
    let pid = parts.next().and_then(|pid| pid.parse().ok());
    let started = parts.next().and_then(|ticks| ticks.parse().ok());
    match (pid, started) {
        (Some(pid), Some(started)) if look(pid) == Seen::Started(started) => {
            Passage::Open { letters: parts.next().unwrap_or_default().into() }
        }
        _ => Passage::Orphaned,
    }
}

/// What the hook of a hosted agent prints. As long as the door is open that is never a decision: the host's own rules decide.
pub fn answer(file: &Path, input: &[u8]) -> Option<String> {
    let why = match passage(file) {
        Passage::Open { letters } => return told(&letters, input),
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

/// Events after a tool call, well or badly ended.
pub(crate) const AFTER: [&str; 2] = ["PostToolUse", "PostToolUseFailure"];

/// After a tool call every host takes words for the agent in.
fn told(letters: &Path, input: &[u8]) -> Option<String> {
    // Calls are many and letters few.
    if !letters.is_dir() {
        return None;
    }
    let said: serde_json::Value = serde_json::from_slice(input).ok()?;
    let event = said.get("hook_event_name").and_then(serde_json::Value::as_str);
    let event = event.filter(|event| AFTER.contains(event))?;
    let words = letters::take(letters)?;
    let output = serde_json::json!({"hookEventName": event, "additionalContext": words});
    Some(serde_json::json!({"hookSpecificOutput": output}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_is_open_until_it_is_shut_or_its_owner_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a place for letters");
        let gate = Gate::open(dir.path(), &place).unwrap();
        let file = gate.file().to_owned();
        assert_eq!(passage(&file), Passage::Open { letters: place.clone() });
        let (letters, _) = letters::Letterbox::open(place, &["a word".to_owned()]);
        assert_eq!(answer(&file, b"{\"hook_event_name\":\"Stop\"}"), None, "not every event takes words");
        let told = answer(&file, b"{\"hook_event_name\":\"PostToolUse\"}").unwrap();
        assert!(told.contains("a word") && !told.contains("ermission"), "{told}");
        letters.put(&letters::Letter { from: None, text: "too late".into() });
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
