//! What can go wrong in a browser, as sentences that say what to do instead.

use crate::web::Refused;

#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// The process or its pipe is gone. Whoever owns it starts another.
    #[error("the browser has ended")]
    Gone,
    #[error("the page crashed and was closed; open it again with browser-navigate")]
    Crashed,
    #[error(
        "{0} took longer than {1} s; the page may be busy. Look with browser-snapshot, or leave it with browser-navigate"
    )]
    TooSlow(&'static str, u64),
    #[error("no page is open; open one with browser-navigate")]
    NoPage,
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The browser refused a command.
    #[error("the browser refused `{0}`: {1}")]
    Protocol(&'static str, String),
    /// Everything that is about the page itself.
    #[error("{0}")]
    Page(String),
}

impl BrowserError {
    pub(super) fn page(text: impl Into<String>) -> Self {
        Self::Page(text.into())
    }
}
