//! Skills that arrive as bytes: `.zip` archives in and out, and the shape they share with directories and embedded
//! payloads ([`Bundle`]).
//!
//! Everything here is pure and total: any bytes give a bundle or a list of reasons. An archive is taken whole or not at
//! all, and there is exactly one reading of it: what two unpackers could understand differently is refused.

mod bundle;
mod central;
mod inflate;
mod limit;
mod name;
mod read_zip;
mod sniff;
mod write_zip;

pub use bundle::{Bundle, BundledFile, BundledSkill, Select, gather, is_clutter};
pub use limit::{MAX_ENTRIES, MAX_FILE_BYTES, MAX_PACKED_BYTES, MAX_SKILL_BYTES, MAX_TOTAL_BYTES, Tally};
pub use name::{Twins, safe_path};
pub(crate) use read_zip::read_zip_within;
pub use read_zip::{collides, read_zip};
pub use sniff::{Content, sniff};
pub use write_zip::write_zip;

#[cfg(test)]
mod tests;
