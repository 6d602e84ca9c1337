//! What is wrong with something a person wrote: code, place, sentence, hint, and when we know it, the repair.

use crate::{Code, Lang, Words};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Warning,
    Error,
}

/// A range in a text file. Lines and columns start at 1; columns count characters; the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
}

/// The source line a diagnostic points at, carried along so that a caret frame can be drawn for a file in an archive, on
/// stdin, or gone since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    pub line: u32,
    /// One line without its line break, cut for display at [`Frame::MAX_BYTES`].
    pub text: String,
    /// Byte range of the mark inside `text`.
    pub start: u32,
    pub end: u32,
}

/// A second place that belongs to the story ("first declared here").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Related {
    pub span: Span,
    pub frame: Option<Frame>,
    pub message: Words,
}

/// A repair that can be applied without asking: replace the bytes `start..end` of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    pub start: u32,
    pub end: u32,
    pub replacement: String,
}

/// One problem of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// The file, as a person would name it.
    pub path: String,
    pub span: Option<Span>,
    pub frame: Option<Frame>,
    /// The field or JSON pointer the problem sits in.
    pub field: Option<String>,
    pub message: Words,
    pub hint: Option<Words>,
    pub related: Vec<Related>,
    pub fix: Option<Fix>,
}

impl Diagnostic {
    pub fn error(code: Code, path: impl Into<String>, message: Words) -> Self {
        Self::new(Severity::Error, code, path.into(), message)
    }

    pub fn warning(code: Code, path: impl Into<String>, message: Words) -> Self {
        Self::new(Severity::Warning, code, path.into(), message)
    }

    fn new(severity: Severity, code: Code, path: String, message: Words) -> Self {
        Self {
            code,
            severity,
            path,
            span: None,
            frame: None,
            field: None,
            message,
            hint: None,
            related: Vec::new(),
            fix: None,
        }
    }

    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: Words) -> Self {
        self.hint = Some(hint);
        self
    }

    #[must_use]
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    /// Points at bytes `start..end` of `source`.
    #[must_use]
    pub fn at(mut self, source: &str, start: usize, end: usize) -> Self {
        self.span = Some(Span::of(source, start, end));
        self.frame = Some(Frame::of(source, start, end));
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn related(mut self, source: &str, start: usize, end: usize, message: Words) -> Self {
        self.related.push(Related {
            span: Span::of(source, start, end),
            frame: Some(Frame::of(source, start, end)),
            message,
        });
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// `file:line:col: field: message` on one line, for logs and plain lists.
    pub fn one_line(&self, lang: Lang) -> String {
        let place = self.span.map(|s| format!(":{}:{}", s.line, s.column)).unwrap_or_default();
        let field = self.field.as_ref().map(|f| format!(" {f}:")).unwrap_or_default();
        format!("{}{place}:{field} {}", self.path, self.message.in_lang(lang))
    }
}

impl Span {
    /// The span of a byte range. Offsets past the end or inside a character are moved back to a boundary, so any
    /// numbers are safe.
    pub fn of(source: &str, start: usize, end: usize) -> Self {
        let (line, column) = position(source, start);
        let (end_line, end_column) = position(source, end.max(start));
        Self { line, column, end_line, end_column }
    }
}

impl Frame {
    /// Longer lines are cut around the mark: a frame is for eyes.
    pub const MAX_BYTES: usize = 240;

    pub fn of(source: &str, start: usize, end: usize) -> Self {
        let start = floor_boundary(source, start);
        let end = floor_boundary(source, end.max(start));
        let head = source.get(..start).unwrap_or_default();
        let line_start = head.rfind('\n').map_or(0, |at| at + 1);
        let rest = source.get(line_start..).unwrap_or_default();
        let full = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        // Keep the mark in view when the line is long.
        let from = floor_boundary(full, (start - line_start).saturating_sub(Self::MAX_BYTES / 2));
        let from = if full.len() <= Self::MAX_BYTES { 0 } else { from };
        let to = floor_boundary(full, (from + Self::MAX_BYTES).min(full.len()));
        let text = full.get(from..to).unwrap_or_default().to_owned();
        let mark_start = (start - line_start).saturating_sub(from).min(text.len());
        let mark_end = (end - line_start).saturating_sub(from).clamp(mark_start, text.len());
        Self { line: position(source, start).0, start: narrow(mark_start), end: narrow(mark_end), text }
    }
}

fn position(source: &str, offset: usize) -> (u32, u32) {
    let offset = floor_boundary(source, offset);
    let head = source.get(..offset).unwrap_or_default();
    let line = head.bytes().filter(|b| *b == b'\n').count() + 1;
    let column = head.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (narrow(line), narrow(column))
}

fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn narrow(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_span_counts_characters_and_a_frame_carries_its_line() {
        let source = "name: 技能\r\n描述: 错误\n";
        let start = source.find("错误").unwrap();
        let diagnostic =
            Diagnostic::error(Code::F0104, "SKILL.md", crate::words!("x", "错")).at(source, start, start + 6);
        assert_eq!(diagnostic.span.unwrap(), Span { line: 2, column: 5, end_line: 2, end_column: 7 });
        let frame = diagnostic.frame.as_ref().unwrap();
        assert_eq!((frame.text.as_str(), frame.line), ("描述: 错误", 2));
        assert_eq!(frame.text.get(frame.start as usize..frame.end as usize), Some("错误"));
        assert_eq!(diagnostic.field("name").one_line(Lang::En), "SKILL.md:2:5: name: x");
    }

    proptest! {
        #[test]
        fn any_offsets_are_safe(source in "(\\PC|\n|\r){0,600}", a in 0usize..700, b in 0usize..700) {
            let frame = Frame::of(&source, a, b);
            prop_assert!(frame.text.get(frame.start as usize..frame.end as usize).is_some());
            prop_assert!(Span::of(&source, a, b).line >= 1);
        }
    }
}
