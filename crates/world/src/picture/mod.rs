//! What canvases and charts share: SVG text that is always well-formed, widths of text without a font, and pixels.
//!
//! Knows nothing of nodes, axes or files.

mod png;
mod svg;
mod text;

pub use png::{Png, PngError, png};
pub use svg::{FONTS, Svg, escape, figure};
pub use text::{clip, is_wide, width, wrap};
