//! Skills as values: reading their files, checking them, who may see them, what an agent gets to read.
//!
//! Architecture invariant: bytes in, values and diagnostics out. This room never touches a file system, a clock, the
//! environment or a random number; a broken skill is a value with diagnostics, never a panic, never a vanished entry.

pub mod archive;
mod digest;
pub mod frontmatter;
mod head;
mod inventory;
pub mod limits;
pub mod lock;
pub mod payload;
mod read;
mod rename;
pub mod yaml;

pub use digest::{belongs, digest_bytes, digest_files, digest_of_entries, digest_of_sorted, is_not_content};
pub use head::{Kind, SkillHead};
pub use inventory::{Installed, Inventory};
pub use read::{Reading, SkillText, read_orchestrator, read_skill};
pub use rename::{RenameError, rename_in_frontmatter};
