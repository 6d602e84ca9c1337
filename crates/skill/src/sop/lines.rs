//! The lines of a program with their places in the file around it.

use crate::place::Place;

/// A line without its break.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'t> {
    pub text: &'t str,
    /// From 1, in the file.
    pub number: u32,
    /// Bytes of the file.
    pub start: usize,
}

impl Line<'_> {
    pub(super) fn place(&self) -> Place {
        let indent = self.text.len() - self.text.trim_start().len();
        Place::new(self.start + indent, self.start + self.text.trim_end().len().max(indent))
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub(super) fn is_comment(&self) -> bool {
        self.text.trim_start().starts_with('#')
    }

    pub(super) fn is_declaration(&self) -> bool {
        self.text.trim_start().starts_with('@')
    }
}

/// The lines of one part of a file.
pub(super) fn lines(file: &str, part: Place) -> Vec<Line<'_>> {
    let before = file.get(..part.start).unwrap_or_default();
    let text = file.get(part.start..part.end).unwrap_or_default();
    let first = 1 + memchr::memchr_iter(b'\n', before.as_bytes()).count();
    let mut start = part.start;
    let mut found = Vec::new();
    for (number, raw) in (first..).zip(text.split_inclusive('\n')) {
        let text = raw.strip_suffix('\n').unwrap_or(raw);
        let text = text.strip_suffix('\r').unwrap_or(text);
        found.push(Line { text, number: u32::try_from(number).unwrap_or(u32::MAX), start });
        start += raw.len();
    }
    found
}
