//! Drawing for the terminal: tables, caret frames, diffs, widths, graphs.

pub mod canvas;
mod count;
mod diagnostic;
mod diff;
pub mod layered;
mod shell;
mod table;
mod width;

pub use count::count;
pub use diagnostic::{in_reading_order, report, report_line};
pub use diff::diff;
pub use shell::shell_word;
pub use table::{Cell, Table};
pub use width::Width;
