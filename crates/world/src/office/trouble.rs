//! Why a document could not be read, each in a sentence that says what to do instead.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("cancelled")]
    Cancelled,
    #[error("the time limit was met; ask for less of the document (`pages`, `sheet`, `range`)")]
    OutOfTime,
    #[error("the file is empty (0 bytes)")]
    Empty,
    /// It is something else; `instead` says how to go on.
    #[error("this is {found}; {instead}")]
    NotADocument { found: String, instead: String },
    #[error("the {0} is protected with a password; save a copy without it and read that")]
    Protected(&'static str),
    #[error("the {what} is damaged: {why}; open it in its own program, save it again, and read that copy")]
    Damaged { what: &'static str, why: String },
    #[error(
        "{what} is larger than the limit of {limit} bytes; split the document or export the part you need"
    )]
    TooLarge { what: String, limit: u64 },
    /// Small on disk, enormous unpacked.
    #[error(
        "`{part}` unpacks to far more than a document holds (stopped at {bytes} bytes); the file is not read"
    )]
    Bomb { part: String, bytes: u64 },
    #[error("{0}")]
    Selection(String),
    #[error("{0}")]
    NoText(String),
    #[error("the file cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl Trouble {
    pub(super) fn damaged(what: &'static str, why: impl std::fmt::Display) -> Self {
        Self::Damaged { what, why: why.to_string() }
    }
}
