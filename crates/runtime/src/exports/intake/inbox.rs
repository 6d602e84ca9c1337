//! `inbox.jsonl`: lines that others add between ours. Each is taken once, in order.

use super::super::foreign::{Foreign, LONGEST_LINE, ReadError, read_line};
use super::super::{Action, tail};
use super::{PATIENCE, hash, message_kind, problem};
use fugato_engine::{AgentPath, Command, MessageKind, Target, Verb};
use fugato_model::{Words, words};
use std::collections::{HashMap, HashSet};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Instant;

/// How far one inbox was read.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    pub agent: String,
    /// Its path inside the run's directory.
    pub file: String,
    pub is_stale: bool,
    offset: u64,
    /// How often each foreign line was met since the beginning of the file.
    met: HashMap<String, usize>,
    /// A last line without its end: where the file ended, and since when.
    torn: Option<(u64, Instant)>,
}

/// Read at once; the rest with the next look.
const AT_ONCE: u64 = 2 * LONGEST_LINE as u64;

type Read = Result<Foreign, Words>;

impl Cursor {
    pub fn new(agent: String, file: String) -> Self {
        Self { agent, file, is_stale: true, offset: 0, met: HashMap::new(), torn: None }
    }

    pub fn wants_a_look(&self) -> bool {
        self.is_stale || self.torn.is_some_and(|(_, since)| since.elapsed() > PATIENCE)
    }

    /// Lines that are whole and not ours.
    pub fn read(&mut self, path: &Path, own: &HashSet<u64>) -> Vec<(Vec<u8>, Read)> {
        self.is_stale = false;
        let Some(bytes) = self.bytes(path) else { return Vec::new() };
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        let (whole, rest) = bytes.split_at(end);
        self.offset += whole.len() as u64;
        let lines = whole.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let foreign = |line: &&[u8]| !line.is_empty() && !own.contains(&hash(line));
        let mut found: Vec<_> = lines.filter(foreign).map(|line| (line.to_vec(), understood(line))).collect();
        found.extend(self.torn_line(rest));
        found
    }

    fn bytes(&mut self, path: &Path) -> Option<Vec<u8>> {
        let mut file = tail::open_carefully(path).ok()?;
        let length = file.metadata().ok()?.len();
        if length < self.offset {
            // Made anew: what was taken before is known by its content.
            (self.offset, self.torn) = (0, None);
            self.met.clear();
        }
        file.seek(SeekFrom::Start(self.offset)).ok()?;
        let mut bytes = Vec::new();
        file.take(AT_ONCE).read_to_end(&mut bytes).ok()?;
        self.is_stale = length - self.offset > AT_ONCE;
        Some(bytes)
    }

    /// A line that has no end yet: its writer may be at it, may never end lines, or may have died.
    fn torn_line(&mut self, rest: &[u8]) -> Option<(Vec<u8>, Read)> {
        if rest.is_empty() {
            self.torn = None;
            return None;
        }
        let end = self.offset + rest.len() as u64;
        if rest.len() as u64 >= AT_ONCE {
            (self.offset, self.torn) = (end, None);
            return Some((rest.to_vec(), Err(problem(&ReadError::TooLarge(rest.len())))));
        }
        match self.torn {
            Some((at, since)) if at == end && since.elapsed() > PATIENCE => {
                (self.offset, self.torn) = (end, None);
                Some((rest.to_vec(), understood(rest.trim_ascii())))
            }
            Some((at, _)) if at == end => None,
            _ => {
                self.torn = Some((end, Instant::now()));
                None
            }
        }
    }

    /// Is this one more than were taken so far? Two equal lines are two messages.
    pub fn is_new(&mut self, digest: &str, taken: usize) -> bool {
        let met = self.met.entry(digest.to_owned()).or_default();
        *met += 1;
        *met > taken
    }
}

fn understood(line: &[u8]) -> Read {
    match read_line(line) {
        Ok(mut read) if read.len() == 1 => Ok(read.remove(0)),
        Ok(_) => Err(words!("more than one directive on a line", "一行中有多个指令")),
        Err(error) => Err(problem(&error)),
    }
}

/// The writer's name for a line, and what it asks.
pub(super) fn command(read: Read, agent: &str) -> (Option<String>, Result<Command, Words>) {
    let target = || Target::Agent(AgentPath::new(agent));
    match read {
        Ok(Foreign::Message { id, kind, body, .. }) if !body.trim().is_empty() => {
            let command = match message_kind(&kind) {
                MessageKind::Redirect => {
                    Command::Direct { verb: Verb::Redirect, target: target(), text: Some(body) }
                }
                // Whoever it says it is: a file does not prove it.
                kind => Command::Send { to: target(), from: "outside".to_owned(), text: body, kind },
            };
            (id, Ok(command))
        }
        Ok(Foreign::Message { id, .. }) => (id, Err(words!("the message is empty", "消息为空"))),
        Ok(Foreign::Directive { action, message, .. }) => {
            let verb = match action {
                Action::Pause => Verb::Pause,
                Action::Resume => Verb::Resume,
                Action::Cancel => Verb::Cancel,
                Action::Redirect => Verb::Redirect,
                Action::Other(_) => return (None, Err(words!("an unknown action", "未知的操作"))),
            };
            let text = (!message.is_empty()).then_some(message);
            (None, Ok(Command::Direct { verb, target: target(), text }))
        }
        // `{"type": "note", "message": "…"}` has neither sender nor body: still somebody's words to this agent.
        Ok(Foreign::Event { message, .. }) if !message.trim().is_empty() => {
            let (from, kind) = ("outside".to_owned(), MessageKind::Handoff);
            (None, Ok(Command::Send { to: target(), from, text: message, kind }))
        }
        Ok(Foreign::Event { .. } | Foreign::Unknown(_)) => {
            (None, Err(words!("not a message: it has no `body`", "不是消息：没有 `body`")))
        }
        Err(problem) => (None, Err(problem)),
    }
}
