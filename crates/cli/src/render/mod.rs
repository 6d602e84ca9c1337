//! Drawing for the terminal: tables, caret frames, diffs, widths.

mod diagnostic;
mod diff;
mod table;
mod width;

pub use diagnostic::{report, report_line};
pub use diff::diff;
pub use table::{Cell, Table};
pub use width::Width;
