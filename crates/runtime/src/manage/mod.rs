//! Changing what is installed: add, replace, remove, move, rename, edit, export, lock.
//!
//! Each change is staged beside its target, checked, and made visible by one rename: whoever looks, and whenever the
//! power goes, sees the old skill or the new one, whole. What is replaced or removed moves to the trash. Decisions about
//! content live in `fugato_skill`; this room performs them.

mod disk;
mod error;
mod export;
mod file;
mod install;
mod locking;
mod relocate;
mod remove;
mod rename;
mod source;
mod stage;
mod trash;
mod tree;

pub use disk::{Disk, DiskError, FileSystem};
pub use error::ManageError;
pub use export::export;
pub use file::{FileText, Written, read_file, write_file, write_file_on};
pub use install::{Done, OnConflict, Outcome, Preview, State, check_pins, install, install_on, preview};
pub use locking::{lock, verify};
pub use relocate::{Moved, move_to_scope, move_to_scope_on};
pub use remove::{Removal, Removed, remove, remove_on};
pub use rename::{Renamed, rename, rename_on};
pub use source::add_from_path;
pub use stage::{Recovered, clean_stale_stages};

#[cfg(test)]
mod tests;
