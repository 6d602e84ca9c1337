//! Where something stands in a file, kept after reading so that an error at run time can still point at it.

use serde::{Deserialize, Serialize};

/// Bytes `start..end` of the file it was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    pub start: usize,
    pub end: usize,
}

impl Place {
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// Line and column of a place, from 1, as a person counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// Where the lines of a text start: many places of one text cost one walk over it.
#[derive(Debug)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        Self { text, starts: starts.collect() }
    }

    pub(crate) fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|at| self.starts.get(at)).copied().unwrap_or_default();
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count());
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Position { line: number(line), column: number(column + 1) }
    }
}
