//! A real Chromium, driven over the DevTools protocol: pages are opened, read, clicked and typed into as a person would.
//!
//! This room speaks with a browser somebody else started and ended: it is handed the two ends of a pipe. One browser serves
//! many [`Context`]s, which share neither tabs nor cookies. All traffic of a context passes a gate that connects to
//! public addresses only. Knows no agents, processes or files.

mod act;
mod capture;
mod cdp;
mod context;
mod error;
mod events;
mod keys;
mod launch;
mod navigate;
mod snapshot;
mod tabs;

pub use act::{Click, Target, Typing};
pub use capture::Screenshot;
pub use context::{Browser, Context, Outcome};
pub use error::BrowserError;
pub use events::Dialogs;
pub use launch::{PROGRAMS, USUAL_PLACES, arguments};
pub use navigate::Until;
