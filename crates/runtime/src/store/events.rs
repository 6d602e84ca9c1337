//! Walking through the log of a run, one row of many events at a time.
//!
//! No statement stays open between two rows, so a slow consumer never holds back the writer's housekeeping.

use super::chunk;
use super::lease::unsigned;
use super::leaves::Leaf;
use super::{Reader, StoreError};
use rusqlite::OptionalExtension as _;
use std::ops::ControlFlow;

/// Events of one run in order. [`Events::visit`] borrows each one; as an iterator it copies them.
#[derive(Debug)]
pub struct Events<'r> {
    reader: &'r Reader,
    /// `None`: the run does not exist.
    run: Option<i64>,
    next: u64,
    remaining: u64,
    body: Vec<u8>,
    offset: usize,
    /// Last event of the row in `body`.
    last: u64,
    /// What was not bound into the log when this was begun.
    leaves: Vec<Leaf>,
}

impl<'r> Events<'r> {
    pub(super) fn new(
        reader: &'r Reader,
        run: Option<i64>,
        from: u64,
        limit: u64,
        leaves: Vec<Leaf>,
    ) -> Self {
        let (next, body) = (from.max(1), Vec::new());
        Self { reader, run, next, remaining: limit, body, offset: 0, last: 0, leaves }
    }

    /// Calls for each event until the end, the limit or a `Break`. Returns the number that would come next.
    pub fn visit(mut self, mut each: impl FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<u64, StoreError> {
        while let Some((seq, from, to)) = self.advance()? {
            if each(seq, self.body.get(from..to).unwrap_or_default()).is_break() {
                break;
            }
        }
        Ok(self.next)
    }

    /// The next event as a range of `body`.
    fn advance(&mut self) -> Result<Option<(u64, usize, usize)>, StoreError> {
        if self.remaining == 0 || (self.next > self.last && !self.load()?) {
            return Ok(None);
        }
        let Some((document, after)) = chunk::document(&self.body, self.offset) else {
            return Err(self.torn());
        };
        let found = (self.next, self.offset, self.offset + document.len());
        self.offset = after;
        self.next += 1;
        self.remaining -= 1;
        Ok(Some(found))
    }

    /// Finds the row with the next event; `false` at the end of the log.
    fn load(&mut self) -> Result<bool, StoreError> {
        let Some(run) = self.run else { return Ok(false) };
        if self.next > chunk::MAX_SEQ {
            return Ok(false);
        }
        // A missing row is the end, unless the run says otherwise; the second look is for an append in between.
        if self.load_row(run)? {
            return Ok(true);
        }
        if self.reader.last_seq_of(run)?.is_none_or(|last| last < self.next) {
            return Ok(self.load_leaf());
        }
        if self.load_row(run)? { Ok(true) } else { Err(self.torn()) }
    }

    fn load_row(&mut self, run: i64) -> Result<bool, StoreError> {
        let (body, bounds) = (&mut self.body, (chunk::key(run, self.next), chunk::key(run, 0)));
        let mut query = || {
            self.reader
                .connection
                .prepare_cached(
                    "SELECT key, last_seq, body FROM chunks WHERE key <= ?1 AND key > ?2
                     ORDER BY key DESC LIMIT 1",
                )?
                .query_row(bounds, |row| {
                    body.clear();
                    body.extend_from_slice(row.get_ref(2)?.as_blob()?);
                    Ok((chunk::seq_of(row.get(0)?), unsigned(row.get(1)?)))
                })
                .optional()
        };
        let Some((first, last)) = query().map_err(|error| self.reader.sql(&error))? else { return Ok(false) };
        if last < self.next {
            return Ok(false);
        }
        self.offset = chunk::offset_of(&self.body, self.next - first).ok_or_else(|| self.torn())?;
        self.last = last;
        Ok(true)
    }

    /// After the last row comes what is not bound.
    fn load_leaf(&mut self) -> bool {
        let index = self.leaves.first().and_then(|first| self.next.checked_sub(first.seq));
        let leaf = index.and_then(|index| self.leaves.get(usize::try_from(index).ok()?));
        let Some(leaf) = leaf else { return false };
        self.body.clear();
        chunk::push(&mut self.body, &leaf.event);
        (self.offset, self.last) = (0, leaf.seq);
        true
    }

    fn torn(&self) -> StoreError {
        self.reader.damaged(format!("event {} is missing", self.next))
    }
}

impl Iterator for Events<'_> {
    type Item = Result<(u64, Vec<u8>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(found) => {
                found.map(|(seq, from, to)| Ok((seq, self.body.get(from..to).unwrap_or_default().to_vec())))
            }
            Err(error) => {
                self.remaining = 0; // an error is said once
                Some(Err(error))
            }
        }
    }
}
