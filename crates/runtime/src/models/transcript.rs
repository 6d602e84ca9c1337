//! The conversation of one agent: append-only, and every message is written for a provider's wire exactly once.
//!
//! Long conversations are sent again at every step. Without the cache a step of message n would serialise n messages,
//! which is quadratic over an agent's life; with it a request only joins what is already written.

use super::{action, anthropic, chat, gemini, ollama, responses};
use fugato_model::chat::{Message, Part, Role};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Messages in order. Cloning shares messages and what was written of them.
#[derive(Clone, Default)]
pub struct Transcript {
    entries: Vec<Arc<Entry>>,
    /// Tool call id → tool name: some wires want the name beside a result.
    calls: HashMap<String, String>,
    written: Arc<AtomicU64>,
}

/// A way to write messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    Anthropic,
    Responses,
    Chat,
    Action,
    Gemini,
    Ollama,
}

pub(super) struct Entry {
    pub message: Arc<Message>,
    /// The tool names of the results in the message, in their order.
    pub answered: Vec<String>,
    wires: [OnceLock<Box<str>>; Dialect::COUNT],
    written: Arc<AtomicU64>,
}

impl Transcript {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, message: Arc<Message>) {
        let answered = message.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(self.calls.get(&result.call).cloned().unwrap_or_default()),
            _ => None,
        });
        let answered = answered.collect();
        for call in message.tool_calls() {
            self.calls.insert(call.id.clone(), call.name.clone());
        }
        let wires = std::array::from_fn(|_| OnceLock::new());
        self.entries.push(Arc::new(Entry { message, answered, wires, written: Arc::clone(&self.written) }));
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> + ExactSizeIterator {
        self.entries.iter().map(|entry| &entry.message)
    }

    /// How many times a message was written for some wire: at most once per message and dialect.
    pub fn serialisations(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Whether some earlier answer used this tool call id.
    pub(super) fn has_call(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    pub(super) fn tool_of(&self, id: &str) -> Option<&str> {
        self.calls.get(id).map(String::as_str)
    }

    pub(super) fn last(&self) -> Option<&Message> {
        self.entries.last().map(|entry| &*entry.message)
    }

    /// Writes all messages as `item,item,…`.
    pub(super) fn write_items(&self, dialect: Dialect, out: &mut Vec<u8>) {
        let mut first = true;
        for wire in self.entries.iter().map(|entry| entry.wire(dialect)).filter(|wire| !wire.is_empty()) {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            out.extend_from_slice(wire.as_bytes());
        }
    }

    /// Writes all messages as turns `{"role":…,"KEY":[block,block]}`; neighbours of one role become one turn, because
    /// tool results must stand in the turn right after their calls.
    pub(super) fn write_turns(&self, dialect: Dialect, assistant: &str, key: &str, out: &mut Vec<u8>) {
        let mut open: Option<Role> = None;
        for entry in &self.entries {
            let wire = entry.wire(dialect);
            let role = entry.message.role;
            if wire.is_empty() {
                continue;
            }
            if open == Some(role) {
                out.push(b',');
            } else {
                if open.is_some() {
                    out.extend_from_slice(b"]},");
                }
                let name = if role == Role::User { "user" } else { assistant };
                out.extend_from_slice(format!("{{\"role\":\"{name}\",\"{key}\":[").as_bytes());
            }
            out.extend_from_slice(wire.as_bytes());
            open = Some(role);
        }
        if open.is_some() {
            out.extend_from_slice(b"]}");
        }
    }
}

impl Entry {
    /// The message in a dialect; written at the first time it is asked for.
    fn wire(&self, dialect: Dialect) -> &str {
        let Some(cell) = self.wires.get(dialect as usize) else { return "" };
        cell.get_or_init(|| {
            self.written.fetch_add(1, Ordering::Relaxed);
            dialect.write(self).into()
        })
    }
}

impl Dialect {
    const COUNT: usize = 6;

    fn write(self, entry: &Entry) -> String {
        match self {
            Self::Anthropic => anthropic::write(entry),
            Self::Responses => responses::write(entry),
            Self::Chat => chat::write(entry),
            Self::Action => action::write(entry),
            Self::Gemini => gemini::write(entry),
            Self::Ollama => ollama::write(entry),
        }
    }
}

impl FromIterator<Arc<Message>> for Transcript {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let mut transcript = Self::new();
        messages.into_iter().for_each(|message| transcript.push(message));
        transcript
    }
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.messages()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_model::chat::{ToolCall, ToolResult};

    const ALL: [Dialect; Dialect::COUNT] = [
        Dialect::Anthropic,
        Dialect::Responses,
        Dialect::Chat,
        Dialect::Action,
        Dialect::Gemini,
        Dialect::Ollama,
    ];

    fn long(messages: usize) -> Transcript {
        (0..messages)
            .map(|n| match n % 4 {
                0 => Message::user(format!("question {n}")),
                1 => Message {
                    role: Role::Assistant,
                    parts: vec![Part::ToolCall(ToolCall {
                        id: format!("c{n}"),
                        name: "Read".into(),
                        arguments: serde_json::json!({"path": "x".repeat(500)}),
                    })],
                },
                2 => Message {
                    role: Role::User,
                    parts: vec![Part::ToolResult(ToolResult {
                        call: format!("c{}", n - 1),
                        content: "y".repeat(2_000),
                        is_error: false,
                    })],
                },
                _ => Message::assistant("done"),
            })
            .map(Arc::new)
            .collect()
    }

    #[test]
    fn four_hundred_messages_are_written_once_over_four_hundred_requests() {
        let whole = long(400);
        let mut transcript = Transcript::new();
        let mut bytes = 0;
        for message in whole.messages() {
            transcript.push(Arc::clone(message));
            let mut out = Vec::new();
            transcript.write_items(Dialect::Chat, &mut out);
            bytes += out.len();
        }
        assert_eq!(transcript.serialisations(), 400);
        assert!(bytes > 400 * 400 * 100, "{bytes}");
        let clone = transcript.clone();
        let mut out = Vec::new();
        clone.write_items(Dialect::Chat, &mut out);
        assert_eq!(clone.serialisations(), 400);
    }

    #[test]
    fn what_is_written_is_json_in_every_dialect() {
        let transcript = long(9);
        for dialect in ALL {
            let mut out = vec![b'['];
            transcript.write_items(dialect, &mut out);
            out.push(b']');
            let items: Vec<serde_json::Value> = serde_json::from_slice(&out).unwrap();
            assert_eq!(items.len(), 9, "{dialect:?}");
        }
    }

    #[test]
    fn neighbours_of_one_role_are_one_turn() {
        let transcript: Transcript =
            [Message::user("a"), Message::user("b"), Message::assistant("c"), Message::user("")]
                .map(Arc::new)
                .into_iter()
                .collect();
        let mut out = vec![b'['];
        transcript.write_turns(Dialect::Anthropic, "assistant", "content", &mut out);
        out.push(b']');
        let turns: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(turns.as_array().unwrap().len(), 2);
        assert_eq!(turns[0]["content"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_result_knows_the_tool_it_answers() {
        let transcript = long(3);
        assert_eq!(transcript.entries[2].answered, ["Read"]);
        assert!(transcript.has_call("c1") && !transcript.has_call("c2"));
        assert_eq!(transcript.tool_of("c1"), Some("Read"));
    }

    #[test]
    #[ignore = "a measurement, not a check: cargo test -- --ignored --nocapture assembled"]
    fn how_long_a_request_of_four_hundred_messages_takes_to_be_assembled() {
        let transcript = long(400);
        let mut out = Vec::new();
        transcript.write_items(Dialect::Chat, &mut out);
        let started = std::time::Instant::now();
        for _ in 0..1_000 {
            out.clear();
            transcript.write_items(Dialect::Chat, &mut out);
        }
        println!("{} bytes, {:?} each", out.len(), started.elapsed() / 1_000);
    }
}
