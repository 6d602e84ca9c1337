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

/// The lines of one part of a file, read as far as somebody has looked: whoever stops early has not paid for the rest.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    file: &'t str,
    /// What is not read yet.
    next: usize,
    end: usize,
    number: u32,
    found: Vec<Line<'t>>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(file: &'t str, part: Place) -> Self {
        let before = file.get(..part.start).unwrap_or_default();
        Self::from(file, part, 1 + breaks(before))
    }

    /// The same when the number of the first line is known.
    pub(super) fn from(file: &'t str, part: Place, number: u32) -> Self {
        let is_there = file.get(part.start..part.end).is_some();
        let end = if is_there { part.end } else { part.start };
        Self { file, next: part.start, end, number, found: Vec::new() }
    }

    pub(super) fn get(&mut self, at: usize) -> Option<Line<'t>> {
        while self.found.len() <= at {
            let start = self.next;
            let rest = self.file.get(start..self.end).filter(|rest| !rest.is_empty())?;
            let len = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
            let raw = rest.get(..len).unwrap_or_default();
            let text = raw.strip_suffix('\n').unwrap_or(raw);
            let text = text.strip_suffix('\r').unwrap_or(text);
            self.found.push(Line { text, number: self.number, start });
            self.next = start + len;
            self.number = self.number.saturating_add(1);
        }
        self.found.get(at).copied()
    }

    /// The byte where a line starts; behind the last one, where the part ends.
    pub(super) fn start_of(&mut self, at: usize) -> usize {
        self.get(at).map_or(self.end, |line| line.start)
    }

    /// Lines that have been looked at.
    pub(super) fn seen(&self, from: usize, to: usize) -> &[Line<'t>] {
        self.found.get(from..to).unwrap_or_default()
    }
}

/// All lines of one part of a file.
pub(super) fn lines(file: &str, part: Place) -> Vec<Line<'_>> {
    let mut lines = Lines::of(file, part);
    while lines.get(lines.found.len()).is_some() {}
    lines.found
}

/// Line breaks in a text.
pub(super) fn breaks(text: &str) -> u32 {
    u32::try_from(memchr::memchr_iter(b'\n', text.as_bytes()).count()).unwrap_or(u32::MAX - 1)
}
