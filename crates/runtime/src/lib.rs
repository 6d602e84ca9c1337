//! The I/O of fugato: finding, reading, installing and watching skills; configuration; where state lives.
//!
//! Architecture invariant: this room performs and never decides. An `if` about the domain belongs in `skill` (later
//! `engine`).

mod places;

pub use places::Places;
