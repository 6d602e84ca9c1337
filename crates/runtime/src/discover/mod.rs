//! Finding skills.

mod contents;
mod digest;
mod listing;
mod problem;
mod stamp;

pub use contents::{MAX_FILE_BYTES, MAX_SKILL_BYTES, MAX_SKILL_FILE_BYTES, MAX_SKILL_FILES};
pub use digest::{FileEntry, skill_digest};
