//! Pages of the web: fetching one as Markdown, asking a search engine, and deciding which addresses may be asked at all.
//!
//! Everything that leaves the machine on behalf of an agent goes through [`Guard`], the browser's traffic too. This room
//! knows no agents and writes no files.

mod address;
mod charset;
mod client;
mod fetch;
mod guard;
mod markdown;
mod page;
pub mod search;
mod socks;

#[cfg(test)]
mod fetch_tests;

pub use address::is_public;
pub use client::{Client, ClientError};
pub use fetch::{FetchError, FetchLimits, Fetched};
pub use guard::{Allowed, Guard, Refused};
pub use markdown::{MarkdownError, to_markdown};
pub use page::{Content, DocumentKind, read};
pub use socks::Gate;
