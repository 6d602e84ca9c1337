//! Skills as values: reading their files, checking them, who may see them, what an agent gets to read.
//!
//! Architecture invariant: bytes in, values and diagnostics out. This room never touches a file system, a clock, the
//! environment or a random number; a broken skill is a value with diagnostics, never a panic, never a vanished entry.

pub mod catalog;
#[cfg(test)]
mod fixture;
mod head;
mod inventory;
pub mod policy;
pub mod profile;
mod read;
pub mod tools;

pub use head::{Kind, SkillHead};
pub use inventory::{Installed, Inventory};
pub use read::{Reading, SkillText, read_orchestrator, read_skill};
pub use tools::edit_tools;
