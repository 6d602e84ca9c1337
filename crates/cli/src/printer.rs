//! The one writer to the terminal. stdout is data, stderr is everything else.
//!
//! Nothing else in the program prints; text that people did not write in this program (names, descriptions, paths)
//! passes through `escape` before it reaches a terminal.

use crate::error::CliError;
use crate::render::Width;
use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use fugato_model::{Lang, Words};
use serde::Serialize;
use std::io::{BufWriter, IsTerminal as _, Write as _};

/// How things look; empty where colours are off, since the streams strip what they are told not to show.
pub mod style {
    use super::{AnsiColor, Style};

    pub const PLAIN: Style = Style::new();
    pub const DIM: Style = Style::new().dimmed();
    pub const BOLD: Style = Style::new().bold();
    pub const NAME: Style = AnsiColor::Cyan.on_default().bold();
    pub const GOOD: Style = AnsiColor::Green.on_default();
    pub const WARN: Style = AnsiColor::Yellow.on_default();
    pub const BAD: Style = AnsiColor::Red.on_default();
}

/// Text in a style: `paint(style::NAME, "x")`.
pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

type Stdout = BufWriter<AutoStream<std::io::Stdout>>;

/// Writes to the terminal in the person's language and width.
pub struct Printer {
    out: Stdout,
    err: AutoStream<std::io::Stderr>,
    pub lang: Lang,
    pub width: Width,
    /// Programs read this: one JSON document on stdout instead of text.
    pub json: bool,
    /// Lines at the bottom of the terminal that are redrawn in place; everything else is printed above them.
    board: Vec<String>,
}

impl std::fmt::Debug for Printer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Printer").field("lang", &self.lang).field("json", &self.json).finish_non_exhaustive()
    }
}

impl Printer {
    pub fn new(lang: Lang, width: Width, json: bool) -> Self {
        Self {
            out: BufWriter::new(AutoStream::auto(std::io::stdout())),
            err: AutoStream::auto(std::io::stderr()),
            lang,
            width,
            json,
            board: Vec::new(),
        }
    }

    /// Columns of the terminal, or `None` when stdout is a file or a pipe: then nothing is cut.
    pub fn columns(&self) -> Option<usize> {
        if !std::io::stdout().is_terminal() {
            return None;
        }
        terminal_size::terminal_size().map(|(width, _)| usize::from(width.0).max(20))
    }

    /// Columns and rows of the terminal on stderr, where a board can be drawn; `None` where it cannot.
    pub fn screen(&self) -> Option<(usize, usize)> {
        if self.json
            || !std::io::stderr().is_terminal()
            || std::env::var_os("TERM").is_none_or(|term| term == "dumb")
        {
            return None;
        }
        let size = terminal_size::terminal_size_of(std::io::stderr());
        size.map(|(width, height)| (usize::from(width.0).max(1), usize::from(height.0).max(1)))
    }

    /// Replaces the lines at the bottom. Each must be narrower than the terminal.
    pub fn board(&mut self, lines: Vec<String>) {
        if lines.is_empty() && self.board.is_empty() {
            return;
        }
        let erase = self.erase();
        self.board = lines;
        self.write_over(&erase, None);
    }

    /// Goes back to the first line of the board and clears from there. The terminal may have become narrower since, and
    /// have wrapped what was drawn.
    fn erase(&self) -> String {
        if self.board.is_empty() {
            return String::new();
        }
        let columns = self.screen().map_or(usize::MAX, |(columns, _)| columns);
        let plain = |line: &String| self.width.of(&anstream::adapter::strip_str(line).to_string());
        let rows: usize = self.board.iter().map(|line| plain(line).div_ceil(columns).max(1)).sum();
        // Line by line: clearing the screen from its top pushes what was there into some terminals' history.
        format!("\r\x1b[2K{}", "\x1b[1A\x1b[2K".repeat(rows))
    }

    /// One write, so that nobody sees a half-drawn screen. Past the stream that strips styles: with `NO_COLOR` the
    /// cursor still moves.
    fn write_over(&mut self, erase: &str, text: Option<&str>) {
        let _ = self.flush();
        let mut drawn = String::new();
        let above = text.into_iter().flat_map(|text| text.split('\n'));
        for line in above.chain(self.board.iter().map(String::as_str)) {
            drawn.push_str(line);
            drawn.push('\n');
        }
        if self.err.current_choice() == anstream::ColorChoice::Never {
            drawn = anstream::adapter::strip_str(&drawn).to_string();
        }
        let mut stderr = std::io::stderr().lock();
        let _ = stderr.write_all(format!("{erase}{drawn}").as_bytes()).and_then(|()| stderr.flush());
    }

    /// The mark before what a person types.
    pub fn prompt(&mut self) {
        self.board(Vec::new());
        let _ = self.flush();
        let _ = write!(self.err, "> ").and_then(|()| self.err.flush());
    }

    /// One line of data.
    pub fn line(&mut self, text: impl std::fmt::Display) -> Result<(), CliError> {
        self.board(Vec::new());
        writeln!(self.out, "{text}").map_err(|error| CliError::output(&error))
    }

    /// Data as it is, without a line break of ours.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.flush()?;
        // Not through the style-stripping stream: these are somebody's bytes.
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| CliError::output(&error))
    }

    pub fn json<T: Serialize>(&mut self, document: &T) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(document).map_err(|e| CliError::internal(&e))?;
        self.line(text)
    }

    /// An object as a document: its schema comes first.
    pub fn document(&mut self, schema: &str, value: serde_json::Value) -> Result<(), CliError> {
        let mut document = serde_json::Map::from_iter([("schema".to_owned(), schema.into())]);
        if let serde_json::Value::Object(object) = value {
            document.extend(object);
        }
        self.json(&document)
    }

    /// A sentence about the work, to stderr.
    pub fn note(&mut self, words: &Words) {
        let lines: Vec<_> = words
            .in_lang(self.lang)
            .lines()
            .map(|line| fugato_model::escape_for_terminal(line).into_owned())
            .collect();
        self.aside(&lines.join("\n"));
    }

    /// Any text to stderr. A closed stderr is nobody's problem.
    pub fn aside(&mut self, text: &str) {
        let erase = self.erase();
        self.write_over(&erase, Some(text));
    }

    pub fn flush(&mut self) -> Result<(), CliError> {
        self.out.flush().map_err(|error| CliError::output(&error))
    }

    /// Has the reader of our pipe gone away? A command that waits for days would learn it only from its next write.
    pub fn is_unread(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdout = std::io::stdout();
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&now)).is_ok()
            && watched.iter().any(|fd| fd.revents().contains(PollFlags::ERR))
    }

    /// The sentence in the person's language.
    pub fn say<'a>(&self, words: &'a Words) -> &'a str {
        words.in_lang(self.lang)
    }
}
