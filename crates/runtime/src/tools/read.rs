//! Read: a page of a text file. Pages end at line ends, and every byte of every file is on some page: a line longer
//! than a page is read on by column.

use super::arguments::count;
use super::outcome::{Failure, ToolOutcome};
use super::place::Place;
use super::text::{fitting, shown_length};
use super::walk::Watch;
use super::{CancelToken, ToolContext};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::Read as _;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[serde(alias = "file_path")]
    path: String,
    #[serde(default, deserialize_with = "count")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    column: Option<u64>,
}

pub(super) fn describe() -> (&'static str, Value) {
    let description = "Reads a text file of the project. The text comes as it is, without line numbers; the last line \
        in square brackets says which lines these are, how many the file has and how to read on.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Relative to the project directory"},
            "offset": {"type": "integer", "minimum": 1, "description": "First line, counted from 1"},
            "limit": {"type": "integer", "minimum": 1, "description": "Most lines to read (default 2000)"},
            "column": {"type": "integer", "minimum": 1,
                "description": "First byte within the line `offset`; only for lines too long for one answer"}
        },
        "required": ["path"],
        "additionalProperties": false
    });
    (description, parameters)
}

/// More lines than a page of 16 KiB usually holds.
const DEFAULT_LINES: u64 = 2000;
/// Room for the last line of the answer.
const TRAILER_BYTES: usize = 200;
/// Binary files show themselves early; the rule of git.
const PROBE: usize = 8000;

pub(super) fn read(
    wanted: &Arguments,
    context: &ToolContext,
    cancel: &CancelToken,
) -> Result<ToolOutcome, Failure> {
    let place = Place::new(context, &wanted.path)?;
    let mut file = place.open_file()?;
    let watch = Watch::new(cancel, context.limits.time);
    let room = context.limits.inline_bytes.saturating_sub(TRAILER_BYTES).max(4);
    let mut page = Page::new(wanted, room);
    let (mut chunk, mut total) = (vec![0; 64 << 10], 0u64);
    loop {
        watch.check()?;
        let length = file
            .read(&mut chunk)
            .map_err(|error| Failure::new(format!("`{}` cannot be read: {error}", place.shown)))?;
        let fresh = chunk.get(..length).unwrap_or_default();
        if fresh.is_empty() {
            break;
        }
        if total == 0 {
            refuse_binary(&place.shown, fresh)?;
        }
        total += fresh.len() as u64;
        for piece in fresh.split_inclusive(|byte| *byte == b'\n') {
            page.take(piece);
        }
    }
    page.answer(&place.shown, total)
}

fn refuse_binary(shown: &str, start: &[u8]) -> Result<(), Failure> {
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Err(Failure::new(format!("`{shown}` is UTF-16 text; convert it to UTF-8 to read it")));
    }
    match start.iter().take(PROBE).position(|byte| *byte == 0) {
        Some(at) => Err(Failure::new(format!("`{shown}` is a binary file (a NUL byte at offset {at})"))),
        None => Ok(()),
    }
}

/// Collects the wanted lines while the file goes by.
struct Page {
    first: u64,
    after_last: u64,
    column: u64,
    room: usize,
    text: Vec<u8>,
    /// How long the text is when shown, or a little less than this.
    length: usize,
    /// Where the last whole line in `text` ends.
    whole: usize,
    /// The line that goes by, and how much of it went by.
    line: u64,
    position: u64,
    /// Where reading must go on, if the page is full.
    next: Option<(u64, u64)>,
    /// The last line of which something is on the page.
    last: u64,
}

impl Page {
    fn new(wanted: &Arguments, room: usize) -> Self {
        let first = wanted.offset.unwrap_or(1).max(1);
        let limit = wanted.limit.unwrap_or(DEFAULT_LINES).max(1);
        Self {
            first,
            after_last: first.saturating_add(limit),
            column: wanted.column.unwrap_or(1).saturating_sub(1),
            room,
            text: Vec::new(),
            length: 0,
            whole: 0,
            line: 1,
            position: 0,
            next: None,
            last: 0,
        }
    }

    /// A piece of a line, with its line end if it is the last one.
    fn take(&mut self, piece: &[u8]) {
        let start = self.position;
        self.position += piece.len() as u64;
        if self.next.is_none() && self.line >= self.first {
            if self.line >= self.after_last {
                self.next = Some((self.line, 0));
            } else {
                self.keep(piece, start);
            }
        }
        if piece.ends_with(b"\n") {
            if self.next.is_none() {
                self.whole = self.text.len();
            }
            self.line += 1;
            self.position = 0;
        }
    }

    fn keep(&mut self, piece: &[u8], start: u64) {
        let skipped = if self.line == self.first { self.column.saturating_sub(start) } else { 0 };
        let piece = piece.get(usize::try_from(skipped).unwrap_or(usize::MAX)..).unwrap_or_default();
        if piece.is_empty() {
            return;
        }
        self.last = self.line;
        self.text.extend_from_slice(piece);
        self.length += shown_length(piece);
        if self.length <= self.room {
            return;
        }
        if self.whole > 0 {
            self.text.truncate(self.whole);
            self.last = self.line - 1;
            self.next = Some((self.line, 0));
        } else {
            // One line fills the page: cut it between characters.
            let cut = fitting(&self.text, self.room);
            let dropped = (self.text.len() - cut) as u64;
            self.text.truncate(cut);
            self.next = Some((self.line, self.position - dropped));
        }
    }

    fn answer(self, shown: &str, total_bytes: u64) -> Result<ToolOutcome, Failure> {
        if total_bytes == 0 {
            return Ok(ToolOutcome::text("[the file is empty]".into()));
        }
        let total = if self.position > 0 { self.line } else { self.line - 1 };
        if self.last == 0 {
            let wanted = if self.first > total {
                format!("line {} does not exist", self.first)
            } else {
                format!("line {} has no column {}", self.first, self.column + 1)
            };
            return Err(Failure::new(format!("`{shown}` has {total} lines; {wanted}")));
        }
        let marked = self.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.text);
        let mut content = String::from_utf8_lossy(marked).into_owned();
        let is_text = std::str::from_utf8(marked).is_ok();
        if !content.ends_with('\n') {
            content.push('\n');
        }
        content.push_str(&format!("[lines {}-{} of {total}", self.first, self.last));
        match self.next {
            Some((line, 0)) => content.push_str(&format!("; read on with offset {line}")),
            Some((line, column)) => {
                content.push_str(&format!("; line {line} goes on: offset {line}, column {}", column + 1));
            }
            None if self.position > 0 => content.push_str("; no line end at the end"),
            None => {}
        }
        if self.text.windows(2).any(|pair| pair == b"\r\n") {
            content.push_str("; line ends are CRLF");
        }
        if !is_text {
            content.push_str("; bytes that are not UTF-8 are shown as \u{fffd}");
        }
        content.push(']');
        Ok(ToolOutcome { truncated: self.next.is_some(), ..ToolOutcome::text(content) })
    }
}
