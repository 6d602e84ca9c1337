//! From text to declarations: what each line is, and what belongs to which declaration.
//!
//! Knows nothing of what names mean; a line that does not read is an error, and reading goes on behind it.

use super::commands::ASSIGN;
use super::error::{Problem, SopError};
use super::lines::{Line, lines};
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
    let mark = crate::frontmatter::BYTE_ORDER_MARK;
    let skipped = if part.start == 0 && file.starts_with(mark) { mark.len_utf8() } else { 0 };
    let lines = lines(file, Place::new(part.start + skipped, part.end));
    let mut reader = Reader { lines: &lines, parsed: Parsed::default() };
    reader.read();
    reader.parsed
}

struct Reader<'l, 't> {
    lines: &'l [Line<'t>],
    parsed: Parsed,
}

impl<'t> Reader<'_, 't> {
    fn read(&mut self) {
        let mut at = 0;
        // Where the comment lines start that end directly above this line.
        let mut comments = 0;
        let mut is_told = false;
        while let Some(line) = self.lines.get(at) {
            if line.is_declaration() {
                let description = self.description(comments, at);
                at = self.declaration(at, description);
                comments = at;
                is_told = false;
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
        let lines = self.lines.get(from..to).filter(|lines| !lines.is_empty())?;
        let texts: Vec<&str> =
            lines.iter().map(|line| line.text.trim_start().trim_start_matches('#').trim()).collect();
        Some(texts.join("\n").into())
    }

    /// Reads the declaration at a line and what continues it. Gives the line behind.
    fn declaration(&mut self, at: usize, description: Option<Arc<str>>) -> usize {
        let Some(line) = self.lines.get(at).copied() else { return at + 1 };
        let Some(head) = self.head(line, description) else { return self.next_declaration(at + 1) };
        let mut declaration = head;
        let takes_here_doc = &*declaration.command == ASSIGN && declaration.arguments.is_empty();
        if takes_here_doc && let Some((begin, tag)) = self.here_doc(at + 1) {
            let end = format!("--end-{tag}--");
            let rest = self.lines.get(begin + 1..).unwrap_or_default();
            let Some(len) = rest.iter().position(|line| line.text.trim() == end) else {
                if let Some(line) = self.lines.get(begin) {
                    self.error(line.number, line.place(), Problem::HereDocNotClosed { tag: tag.into() });
                }
                self.parsed.declarations.push(declaration);
                return self.lines.len();
            };
            declaration.arguments.push(Argument::Literal(self.text(begin + 1, begin + 1 + len)));
            self.parsed.declarations.push(declaration);
            return begin + len + 2;
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
            command: command.text.into(),
            dependencies: Vec::new(),
        })
    }

    /// The first line that says something, if it opens a here-doc, and its tag.
    fn here_doc(&self, from: usize) -> Option<(usize, &'t str)> {
        let rest = self.lines.get(from..)?;
        let len = rest.iter().position(|line| !line.is_blank())?;
        let tag = rest.get(len)?.text.trim().strip_prefix("--begin-")?.strip_suffix("--")?;
        let is_tag = !tag.is_empty() && !tag.contains(char::is_whitespace);
        is_tag.then_some((from + len, tag))
    }

    /// The lines of the extra argument. Comments and blank lines at its end are not part of it, so that what stands
    /// above the next declaration describes that one; between lines of text both are text. Without text, an empty range at
    /// `from`.
    fn continuation(&self, from: usize) -> (usize, usize) {
        let mut to = from;
        let mut first = None;
        for (at, line) in self.lines.iter().enumerate().skip(from) {
            if line.is_declaration() {
                break;
            }
            if !line.is_blank() {
                first = first.or(Some(at));
                if !line.is_comment() {
                    to = at + 1;
                }
            }
        }
        if to == from { (from, from) } else { (first.unwrap_or(from), to) }
    }

    fn next_declaration(&self, from: usize) -> usize {
        let rest = self.lines.get(from..).unwrap_or_default();
        from + rest.iter().position(Line::is_declaration).unwrap_or(rest.len())
    }

    fn text(&self, from: usize, to: usize) -> Arc<str> {
        let lines = self.lines.get(from..to).unwrap_or_default();
        let texts: Vec<&str> = lines.iter().map(|line| line.text).collect();
        texts.join("\n").into()
    }

    fn error(&mut self, line: u32, place: Place, problem: Problem) {
        self.parsed.errors.push(SopError { line, place, problem });
    }
}
