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
