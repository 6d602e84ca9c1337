//! Skills as values: reading their files, checking them, who may see them, what an agent gets to read.
//!
//! Architecture invariant: bytes in, values and diagnostics out. This room never touches a file system, a clock, the
//! environment or a random number; a broken skill is a value with diagnostics, never a panic, never a vanished entry.

pub mod agent_file;
pub mod archive;
pub mod catalog;
mod check;
pub mod dates;
mod description;
mod digest;
mod document;
pub mod fields;
pub mod fix;
#[cfg(test)]
mod fixture;
pub mod frontmatter;
mod head;
mod identity;
pub mod interpolate;
mod inventory;
pub mod limits;
pub mod lock;
pub mod orchestrator;
pub mod outcome;
pub mod payload;
pub mod phases;
mod place;
pub mod policy;
pub mod problems;
pub mod profile;
mod read;
pub mod reference;
mod rename;
mod requote;
pub mod result_schema;
#[cfg(test)]
mod sk_tests;
pub mod sop;
pub mod template;
pub mod tools;
mod variable;
pub mod yaml;

pub use check::{Strictness, check};
pub use digest::{
    STAGE_PREFIX, belongs, digest_bytes, digest_files, digest_of_entries, digest_of_sorted, is_not_content,
};
pub use head::{Kind, SkillHead};
pub use inventory::{Installed, Inventory};
pub use place::{Place, Position};
pub use read::{
    Reading, SKILL_FILE_NAMES, SkillText, is_skill_file, read_frontmatter, read_named, read_orchestrator,
    read_skill,
};
pub use rename::{RenameError, rename_in_frontmatter};
pub use tools::edit_tools;
pub use variable::{VarName, VarNameError};
