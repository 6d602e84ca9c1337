//! A grid of terminal cells: styled text that may be two cells wide, and lines that know whom they belong to.
//!
//! Knows nothing of graphs. A TUI can copy the cells; the CLI turns them into strings with [`strings`].

use super::Width;
use crate::printer::{paint, style};
use anstyle::Style;
use unicode_segmentation::UnicodeSegmentation as _;

/// Text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub style: Style,
}

/// Spans from left to right.
pub type Line = Vec<Span>;

impl Span {
    /// The text is made safe for the terminal here.
    pub fn new(style: Style, text: impl AsRef<str>) -> Self {
        Self { text: fugato_model::escape_for_terminal(text.as_ref()).into_owned(), style }
    }

    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::new(style::PLAIN, text)
    }
}

pub fn width_of(line: &[Span], width: Width) -> usize {
    line.iter().map(|span| width.of(&span.text)).sum()
}

/// Lines as strings with their styles; trailing blanks are left out.
pub fn strings(lines: &[Line]) -> Vec<String> {
    let one = |line: &Line| {
        let used = line.iter().rposition(|span| !span.text.trim_end().is_empty()).map_or(0, |last| last + 1);
        let spans = line.iter().take(used).enumerate();
        let text = |(at, span): (usize, &Span)| {
            let text = if at + 1 == used { span.text.trim_end() } else { span.text.as_str() };
            if span.style == style::PLAIN { text.to_owned() } else { paint(span.style, text) }
        };
        spans.map(text).collect()
    };
    lines.iter().map(one).collect()
}

/// Which characters draw lines. Terminals with wide ambiguous characters draw box lines two cells wide: they get ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strokes {
    Lines,
    Ascii,
}

impl From<Width> for Strokes {
    fn from(width: Width) -> Self {
        match width {
            Width::Narrow => Self::Lines,
            Width::Wide => Self::Ascii,
        }
    }
}

impl Strokes {
    pub fn arrow(self) -> &'static str {
        match self {
            Self::Lines => "→",
            Self::Ascii => "->",
        }
    }

    fn arrow_down(self) -> char {
        match self {
            Self::Lines => '▼',
            Self::Ascii => 'v',
        }
    }

    fn glyph(self, mask: u8) -> char {
        const LINES: [char; 16] =
            [' ', '│', '│', '│', '─', '┘', '┐', '┤', '─', '└', '┌', '├', '─', '┴', '┬', '┼'];
        match (self, mask & 15) {
            (Self::Lines, mask) => LINES.get(usize::from(mask)).copied().unwrap_or(' '),
            (Self::Ascii, 0) => ' ',
            (Self::Ascii, mask) if mask & !VERTICAL == 0 => '|',
            (Self::Ascii, mask) if mask & !HORIZONTAL == 0 => '-',
            (Self::Ascii, _) => '+',
        }
    }
}

pub const UP: u8 = 1;
pub const DOWN: u8 = 2;
pub const LEFT: u8 = 4;
pub const RIGHT: u8 = 8;
const VERTICAL: u8 = UP | DOWN;
const HORIZONTAL: u8 = LEFT | RIGHT;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    Blank,
    /// A grapheme.
    Text(String, Style),
    /// The right half of a wide grapheme.
    Covered,
    /// Which sides a line leaves by, and the net it belongs to.
    Stroke(u8, usize),
    ArrowDown,
}

#[derive(Clone, Debug)]
pub struct Canvas {
    columns: usize,
    rows: Vec<Vec<Cell>>,
    width: Width,
}

impl Canvas {
    pub fn new(columns: usize, rows: usize, width: Width) -> Self {
        Self { columns, rows: vec![vec![Cell::Blank; columns]; rows], width }
    }

    /// Text from this cell on; what does not fit is left out.
    pub fn text(&mut self, row: usize, column: usize, line: &[Span]) {
        let mut at = column;
        for span in line {
            for grapheme in span.text.graphemes(true) {
                let cells = self.width.of(grapheme);
                if cells == 0 || at + cells > self.columns {
                    continue;
                }
                self.set(row, at, Cell::Text(grapheme.to_owned(), span.style));
                (1..cells).for_each(|more| self.set(row, at + more, Cell::Covered));
                at += cells;
            }
        }
    }

    /// A box with its corners; `title` stands in the upper edge.
    pub fn frame(&mut self, at: (usize, usize), size: (usize, usize), net: usize, title: &[Span]) {
        let ((row, column), (columns, rows)) = (at, size);
        let (right, bottom) = (column + columns.saturating_sub(1), row + rows.saturating_sub(1));
        self.horizontal(row, column, right, net);
        self.horizontal(bottom, column, right, net);
        self.vertical(column, row, bottom, net);
        self.vertical(right, row, bottom, net);
        if !title.is_empty() {
            let padded = [&[Span::plain(" ")], title, &[Span::plain(" ")]].concat();
            self.text(row, column + 1, &padded);
        }
    }

    pub fn horizontal(&mut self, row: usize, from: usize, to: usize, net: usize) {
        let (from, to) = (from.min(to), from.max(to));
        for column in from..=to {
            let left = if column > from { LEFT } else { 0 };
            let right = if column < to { RIGHT } else { 0 };
            self.stroke(row, column, left | right, net);
        }
    }

    pub fn vertical(&mut self, column: usize, from: usize, to: usize, net: usize) {
        for row in from..=to {
            let up = if row > from { UP } else { 0 };
            let down = if row < to { DOWN } else { 0 };
            self.stroke(row, column, up | down, net);
        }
    }

    /// One cell of a line. Lines of one net join; of two that cross, the upright one passes over the other.
    pub fn stroke(&mut self, row: usize, column: usize, mask: u8, net: usize) {
        let Some(cell) = self.rows.get_mut(row).and_then(|cells| cells.get_mut(column)) else { return };
        *cell = match cell {
            Cell::Stroke(old, owner) if *owner == net => Cell::Stroke(*old | mask, net),
            Cell::Stroke(old, owner) if *old & VERTICAL != 0 => Cell::Stroke(*old, *owner),
            _ => Cell::Stroke(mask, net),
        };
    }

    /// A line of another net leaves this cell of a frame.
    pub fn port(&mut self, row: usize, column: usize, side: u8) {
        if let Some(Cell::Stroke(mask, _)) = self.rows.get_mut(row).and_then(|cells| cells.get_mut(column)) {
            *mask |= side;
        }
    }

    pub fn arrow_down(&mut self, row: usize, column: usize) {
        self.set(row, column, Cell::ArrowDown);
    }

    fn set(&mut self, row: usize, column: usize, to: Cell) {
        if let Some(cell) = self.rows.get_mut(row).and_then(|cells| cells.get_mut(column)) {
            *cell = to;
        }
    }

    /// Runs of equal style.
    pub fn lines(&self) -> Vec<Line> {
        let strokes = Strokes::from(self.width);
        let one = |cells: &Vec<Cell>| {
            let mut line: Line = Vec::new();
            let mut push = |text: &str, style: Style| match line.last_mut() {
                Some(last) if last.style == style => last.text.push_str(text),
                _ => line.push(Span { text: text.to_owned(), style }),
            };
            let mut buffer = [0u8; 4];
            for cell in cells {
                match cell {
                    Cell::Blank => push(" ", style::PLAIN),
                    Cell::Covered => {}
                    Cell::Text(text, style) => push(text, *style),
                    Cell::Stroke(mask, _) => push(strokes.glyph(*mask).encode_utf8(&mut buffer), style::DIM),
                    Cell::ArrowDown => push(strokes.arrow_down().encode_utf8(&mut buffer), style::DIM),
                }
            }
            line
        };
        self.rows.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(canvas: &Canvas) -> Vec<String> {
        let strip = |line: String| anstream::adapter::strip_str(&line).to_string();
        strings(&canvas.lines()).into_iter().map(strip).collect()
    }

    #[test]
    fn a_frame_with_chinese_is_closed_on_the_right() {
        let mut canvas = Canvas::new(10, 3, Width::Narrow);
        canvas.frame((0, 0), (10, 3), 0, &[Span::plain("写作")]);
        canvas.text(1, 2, &[Span::plain("a文")]);
        assert_eq!(plain(&canvas), ["┌ 写作 ──┐", "│ a文    │", "└────────┘"]);
    }

    #[test]
    fn lines_of_one_net_join_and_others_pass_over() {
        let mut canvas = Canvas::new(5, 3, Width::Narrow);
        canvas.horizontal(1, 0, 4, 1);
        canvas.vertical(2, 1, 2, 1);
        canvas.vertical(3, 0, 2, 2);
        assert_eq!(plain(&canvas), ["   │", "──┬│─", "  ││"]);
    }

    #[test]
    fn wide_terminals_get_ascii_and_control_characters_are_harmless() {
        let mut canvas = Canvas::new(20, 3, Width::Wide);
        canvas.frame((0, 0), (20, 3), 0, &[]);
        canvas.text(1, 1, &[Span::plain("x\u{1b}[2J")]);
        let lines = plain(&canvas);
        assert_eq!(lines.first().map(String::as_str), Some("+------------------+"));
        assert!(lines.iter().all(|line| !line.contains('\u{1b}')));
    }
}
