//! From text to declarations: what each line is, and what belongs to which declaration.
//!
//! Knows nothing of what names mean; a line that does not read is an error, and reading goes on behind it.

use super::commands::ASSIGN;
use super::error::{Problem, SopError};
use super::lines::{Line, Lines};
use super::program::{Argument, Declaration};
use super::token::tokens;
use crate::limits::SOP_PROGRAM_BYTES;
use crate::place::Place;
use std::sync::Arc;

/// What the text says, sound or not.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub declarations: Vec<Declaration>,
    /// Names whose declarations do not read. They are declared all the same: one mistake is one error.
    pub broken: Vec<Arc<str>>,
    pub errors: Vec<SopError>,
}

pub(super) fn parse(file: &str, part: Place) -> Parsed {
    let bytes = part.end.saturating_sub(part.start);
    if bytes > SOP_PROGRAM_BYTES {
        let problem = Problem::TooLong { bytes, limit: SOP_PROGRAM_BYTES };
        let error = SopError { line: 1, place: Place::new(part.start, part.start), problem };
        return Parsed { errors: vec![error], ..Parsed::default() };
    }
    let start = if part.start == 0 { body(file) } else { part.start };
    let mut reader =
        Reader { lines: Lines::of(file, Place::new(start, part.end)), parsed: Parsed::default() };
    reader.read(|_| false);
    reader.parsed
}

/// Reads a text from the start of a line on, where a declaration has ended, until another one ends at a byte that
/// `is_known`. What is read does not depend on what stands before.
pub(super) fn parse_from(text: &str, start: usize, line: u32, is_known: impl FnMut(usize) -> bool) -> Parsed {
    let part = Place::new(start, text.len());
    let mut reader = Reader { lines: Lines::from(text, part, line), parsed: Parsed::default() };
    reader.read(is_known);
    reader.parsed
}

/// Where the first line of a text starts.
pub(super) fn body(text: &str) -> usize {
    let mark = crate::frontmatter::BYTE_ORDER_MARK;
    if text.starts_with(mark) { mark.len_utf8() } else { 0 }
}

/// Behind the last line.
const BEHIND: usize = usize::MAX;

struct Reader<'t> {
    lines: Lines<'t>,
    parsed: Parsed,
}

impl<'t> Reader<'t> {
    /// `is_end` is asked for every byte behind which it could begin anew: at first, and behind each declaration.
    fn read(&mut self, mut is_end: impl FnMut(usize) -> bool) {
        let mut at = 0;
        // Where the comment lines start that end directly above this line.
        let mut comments = 0;
        let mut is_told = false;
        if is_end(self.lines.start_of(0)) {
            return;
        }
        while let Some(line) = self.lines.get(at) {
            if line.is_declaration() {
                let description = self.description(comments, at);
                at = self.declaration(at, description);
                comments = at;
                is_told = false;
                let end = self.lines.start_of(at);
                if let Some(last) = self.parsed.declarations.last_mut() {
                    last.end = end;
                }
                if is_end(end) {
                    return;
                }
                continue;
            }
            at += 1;
            if line.is_comment() {
                continue;
            }
            comments = at;
            if !line.is_blank() && !is_told {
                // One error for a paragraph of stray text, not one for each of its lines.
                is_told = true;
                self.error(line.number, line.place(), Problem::NotADeclaration);
            }
        }
    }

    fn description(&self, from: usize, to: usize) -> Option<Arc<str>> {
        let lines = Some(self.lines.seen(from, to)).filter(|lines| !lines.is_empty())?;
        let texts: Vec<&str> =
            lines.iter().map(|line| line.text.trim_start().trim_start_matches('#').trim()).collect();
        Some(texts.join("\n").into())
    }

    /// Reads the declaration at a line and what continues it. Gives the line behind.
    fn declaration(&mut self, at: usize, description: Option<Arc<str>>) -> usize {
        let Some(line) = self.lines.get(at) else { return at + 1 };
        let Some(head) = self.head(line, description) else { return self.next_declaration(at + 1) };
        let mut declaration = head;
        let takes_here_doc = &*declaration.command == ASSIGN && declaration.arguments.is_empty();
        if takes_here_doc && let Some((begin, tag)) = self.here_doc(at + 1) {
            let closing = format!("--end-{tag}--");
            let Some(end) = self.find(begin + 1, |line| line.text.trim() == closing) else {
                if let Some(line) = self.lines.get(begin) {
                    self.error(line.number, line.place(), Problem::HereDocNotClosed { tag: tag.into() });
                }
                self.parsed.declarations.push(declaration);
                return BEHIND;
            };
            declaration.arguments.push(Argument::Literal(self.text(begin + 1, end)));
            self.parsed.declarations.push(declaration);
            return end + 1;
        }
        let (from, to) = self.continuation(at + 1);
        if from < to {
            declaration.arguments.push(Argument::Literal(self.text(from, to)));
        }
        self.parsed.declarations.push(declaration);
        to
    }

    /// The line with the `@`.
    fn head(&mut self, line: Line<'t>, description: Option<Arc<str>>) -> Option<Declaration> {
        let (_, rest) = line.text.split_once('@')?;
        let len = rest.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(rest.len());
        let (name, rest) = rest.split_at_checked(len)?;
        if name.is_empty() {
            self.error(line.number, line.place(), Problem::NameMissing);
            return None;
        }
        let name: Arc<str> = name.into();
        let rest_start = line.start + line.text.len() - rest.len();
        let found = match tokens(rest) {
            Ok(found) => found,
            Err((problem, range)) => {
                let place = Place::new(rest_start + range.start, rest_start + range.end);
                self.error(line.number, place, problem);
                self.parsed.broken.push(name);
                return None;
            }
        };
        let mut found = found.into_iter();
        let Some(command) = found.next().filter(|token| !token.text.is_empty()) else {
            self.error(line.number, line.place(), Problem::CommandMissing { name: Arc::clone(&name) });
            self.parsed.broken.push(name);
            return None;
        };
        let arguments = found.map(|token| match token.text.strip_prefix('$') {
            Some(name) if token.bare => Argument::Reference(name.into()),
            _ => Argument::Literal(token.text.into()),
        });
        Some(Declaration {
            name,
            arguments: arguments.collect(),
            description,
            line: line.number,
            place: line.place(),
            command_place: Place::new(rest_start + command.range.start, rest_start + command.range.end),
            command: self.command(&command.text),
            end: line.start,
            number: 0,
            dependencies: Vec::new(),
        })
    }

    /// Commands often repeat: the same one as before is shared.
    fn command(&self, text: &str) -> Arc<str> {
        let last = self.parsed.declarations.last().map(|last| &last.command);
        last.filter(|last| ***last == *text).map_or_else(|| text.into(), Arc::clone)
    }

    /// The first line that says something, if it opens a here-doc, and its tag.
    fn here_doc(&mut self, from: usize) -> Option<(usize, &'t str)> {
        let at = self.find(from, |line| !line.is_blank())?;
        let tag = self.lines.get(at)?.text.trim().strip_prefix("--begin-")?.strip_suffix("--")?;
        let is_tag = !tag.is_empty() && !tag.contains(char::is_whitespace);
        is_tag.then_some((at, tag))
    }

    /// The first line from here on that is meant.
    fn find(&mut self, from: usize, is_meant: impl Fn(&Line<'t>) -> bool) -> Option<usize> {
        let mut at = from;
        while let Some(line) = self.lines.get(at) {
            if is_meant(&line) {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// The lines of the extra argument. Comments and blank lines at its end are not part of it, so that what stands
    /// above the next declaration describes that one; between lines of text both are text. Without text, an empty range at
    /// `from`.
    fn continuation(&mut self, from: usize) -> (usize, usize) {
        let (mut at, mut to) = (from, from);
        let mut first = None;
        while let Some(line) = self.lines.get(at).filter(|line| !line.is_declaration()) {
            if !line.is_blank() {
                first = first.or(Some(at));
                if !line.is_comment() {
                    to = at + 1;
                }
            }
            at += 1;
        }
        if to == from { (from, from) } else { (first.unwrap_or(from), to) }
    }

    fn next_declaration(&mut self, from: usize) -> usize {
        self.find(from, Line::is_declaration).unwrap_or(BEHIND)
    }

    fn text(&self, from: usize, to: usize) -> Arc<str> {
        let texts: Vec<&str> = self.lines.seen(from, to).iter().map(|line| line.text).collect();
        texts.join("\n").into()
    }

    fn error(&mut self, line: u32, place: Place, problem: Problem) {
        self.parsed.errors.push(SopError { line, place, problem });
    }
}
