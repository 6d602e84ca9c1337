//! What of a log its files do not show yet.

use crate::store::{Reader, StoreError};
use std::ops::ControlFlow;

/// Was somebody's word recorded in the events from this one on? A living owner's files are seconds behind at most, so
/// these are few.
pub(super) fn has_directive(reader: &Reader, run: &str, from: u64) -> Result<bool, StoreError> {
    let mut found = false;
    reader.events(run, from, MOST)?.visit(|_, bytes| {
        found |= memchr::memmem::find(bytes, b"\"type\":\"directive.").is_some();
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

const MOST: u64 = 10_000;
