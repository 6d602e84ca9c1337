//! JSON Canvas files (the open `.canvas` format, version 1.0): read, changed node by node, laid out, made from text.
//!
//! Text in, text out; nothing here opens a file. What a file says and this room does not know is kept: fields, node
//! types, the order of everything. Nothing is random, so the same call gives the same file.

mod change;
mod containment;
mod error;
pub mod from_text;
mod group;
mod ids;
mod layout;
mod measure;
mod model;
mod outline;
mod parse;
mod place;
mod svg;
#[cfg(test)]
mod tests;

pub use change::{Added, NewEdge, NewNode, Removed, add, connect, remove, update};
pub use error::CanvasError;
pub use group::{NewGroup, group};
pub use layout::{Arranged, Direction, Sizes, Wish, layout};
pub use model::{Canvas, Edge, Node, NodeKind, Rect, Side};
pub use outline::{Selection, outline};
pub use parse::{parse, print};
pub use svg::to_svg;
