//! The I/O of fugato: finding, reading, installing and watching skills; configuration; where state lives.
//!
//! Architecture invariant: this room performs and never decides. An `if` about the domain belongs in `skill` (later
//! `engine`).

pub mod agents;
mod atomic;
mod beneath;
pub mod config;
mod discover;
pub mod exports;
mod files;
pub mod hosts;
pub mod manage;
pub mod models;
pub mod outside;
mod phases;
mod places;
pub mod process;
mod roots;
pub mod runs;
pub mod sandbox;
mod state;
pub mod store;
pub mod tools;
pub mod view;
mod watch;
pub mod wiring;

pub use atomic::{ReplaceError, probe_writable, replace_unchanged, write_atomically, write_privately};
pub use config::Config;
pub use discover::{
    Discovery, FileEntry, IndexUse, Stats, discover, discover_at, discover_paths, skill_digest,
};
pub use files::{FileError, Found, Pinned, SkillDir};
pub use phases::{FoundSkill, Inside, Origin, ReadPhases, read_phases};
pub use places::{Places, PlacesError};
pub use roots::{CLIENT_DIRS, Root, Selection, roots};
pub use state::{project_slug, state_dir};
pub use watch::{Change, Watch};
