//! The words every room shares: names, scopes, positions, diagnostics, codes, exit codes and published views.
//!
//! Architecture invariant: this room knows no other room, no file system, no clock, no environment. Everything here is
//! a value that can be compared, printed and serialised.

pub mod chat;
mod code;
mod diagnostic;
mod digest;
mod exit;
mod lang;
mod name;
mod path;
mod scope;
mod suggest;
mod text;
pub mod view;

pub use code::Code;
pub use diagnostic::{Diagnostic, Fix, Frame, Related, Severity, Span};
pub use digest::{Digest, DigestError};
pub use exit::Exit;
pub use lang::{Lang, Words};
pub use name::{AgentId, AgentIdError, NameError, RESERVED_NAMES, SkillName};
pub use path::{PathError, RelPath, Unportable};
pub use scope::{Scope, ScopeError};
pub use suggest::{nearest, nearest_first};
pub use text::{escape_for_terminal, is_hidden, is_tag_block, show_code_points};
