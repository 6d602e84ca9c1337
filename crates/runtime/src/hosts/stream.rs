//! What a host's output has meant so far. Each host's own file reads its lines and tells it here.

use super::{HostEvent, HostSession};
use fugato_model::chat::Usage;
use serde_json::Value;
use std::collections::BTreeMap;

/// A result's beginning, long enough to see what it was.
const HEAD_CHARS: usize = 2_000;

/// A reader of one host's lines.
pub(super) trait Reader: Send {
    /// One object of the stream. What is unknown is passed over: hosts add kinds with every version.
    fn read(&mut self, line: &Value, story: &mut Story);
}

/// How the host itself says that it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    Failed(String),
    TurnLimit,
}

/// Everything told so far, and the events not yet passed on.
#[derive(Debug, Default)]
pub(super) struct Story {
    pub events: Vec<HostEvent>,
    pub verdict: Option<Verdict>,
    /// The last message.
    pub text: String,
    pub session: Option<String>,
    /// Of this task.
    pub usage: Usage,
    pub micro_usd: Option<u64>,
    pub steps: u32,
    /// Calls under way: to be closed when the host is gone.
    open: BTreeMap<String, String>,
    /// What was counted when the session was last left.
    pub before: HostSession,
    /// The last error the host told of, should it end without a verdict.
    pub last_error: Option<String>,
    /// The host tells of work in the background and waits for it.
    pub has_background: bool,
    /// Lines that are no objects.
    pub garbage: u32,
}

impl Story {
    pub fn after(before: HostSession) -> Self {
        Self { before, ..Self::default() }
    }

    pub fn session(&mut self, id: Option<&str>) {
        let Some(id) = id.filter(|id| !id.is_empty()) else { return };
        if self.session.as_deref() != Some(id) {
            self.session = Some(id.to_owned());
            self.events.push(HostEvent::Session(id.to_owned()));
        }
    }

    pub fn say(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.events.push(HostEvent::Text(piece.to_owned()));
        }
    }

    pub fn tool_started(&mut self, id: &str, name: &str, arguments: Value, parent: Option<&str>) {
        if self.open.insert(id.to_owned(), name.to_owned()).is_none() {
            let (id, name, parent) = (id.to_owned(), name.to_owned(), parent.map(str::to_owned));
            self.events.push(HostEvent::ToolStarted { id, name, arguments, parent });
        }
    }

    /// Only what was started ends, and once.
    pub fn tool_ended(&mut self, id: &str, is_error: bool, result: &str) {
        if self.open.remove(id).is_some() {
            let head = head(result);
            self.events.push(HostEvent::ToolEnded { id: id.to_owned(), is_error, head });
        }
    }

    pub fn is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Calls whose end nobody will tell.
    pub fn cut_off(&mut self) {
        for id in std::mem::take(&mut self.open).into_keys() {
            let head = "[cut off: the host ended before the call did]".to_owned();
            self.events.push(HostEvent::ToolEnded { id, is_error: true, head });
        }
    }

    pub fn used(&mut self, usage: Usage) {
        if self.usage != usage {
            self.usage = usage;
            self.events.push(HostEvent::Usage(usage));
        }
    }

    pub fn notice(&mut self, text: &str) {
        if !text.is_empty() {
            self.events.push(HostEvent::Notice(head(text)));
        }
    }
}

pub(super) fn head(text: &str) -> String {
    match text.char_indices().nth(HEAD_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// What stands at a place; nothing there is null.
pub(super) fn at<'a>(value: &'a Value, place: &str) -> &'a Value {
    value.pointer(place).unwrap_or(&Value::Null)
}

pub(super) fn text<'a>(value: &'a Value, place: &str) -> Option<&'a str> {
    value.pointer(place).and_then(Value::as_str)
}

pub(super) fn number(value: &Value, place: &str) -> Option<u64> {
    value.pointer(place).and_then(Value::as_u64)
}

/// What came on top of what was counted before. A host that counts anew is taken at its word.
pub(super) fn since(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    now.map(|now| now.checked_sub(before.unwrap_or(0)).unwrap_or(now))
}
