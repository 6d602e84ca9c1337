//! Columns without borders: aligned by display cells, the last column takes what is left.

use super::Width;
use crate::error::CliError;
use crate::printer::{Printer, paint, style};
use anstyle::Style;

/// Text of one cell and how it looks. The text is made safe for the terminal here.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub fn new(text: impl AsRef<str>) -> Self {
        Self::styled(style::PLAIN, text)
    }

    pub fn styled(style: Style, text: impl AsRef<str>) -> Self {
        Self { text: fugato_model::escape_for_terminal(text.as_ref()).into_owned(), style }
    }
}

#[derive(Debug)]
pub struct Table {
    indent: usize,
    rows: Vec<Vec<Cell>>,
}

/// Between columns.
const GAP: usize = 2;
/// A column that is not the last never takes more of the screen than this.
const MAX_INNER: usize = 48;

impl Table {
    pub fn new(indent: usize) -> Self {
        Self { indent, rows: Vec::new() }
    }

    /// A row of column titles.
    #[must_use]
    pub fn header<const N: usize>(mut self, titles: [&str; N]) -> Self {
        self.rows.push(titles.iter().map(|title| Cell::styled(style::DIM, title)).collect());
        self
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn print(&self, printer: &mut Printer) -> Result<(), CliError> {
        for line in self.lines(printer.width, printer.columns()) {
            printer.line(line)?;
        }
        Ok(())
    }

    /// Rows as lines; `columns` is the terminal's width, `None` = unlimited.
    pub fn lines(&self, width: Width, columns: Option<usize>) -> Vec<String> {
        let mut inner: Vec<usize> = Vec::new();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate().take(row.len().saturating_sub(1)) {
                let cells = width.of(&cell.text).min(columns.map_or(usize::MAX, |_| MAX_INNER));
                match inner.get_mut(at) {
                    Some(widest) => *widest = (*widest).max(cells),
                    None => inner.push(cells),
                }
            }
        }
        self.rows.iter().map(|row| self.line(row, &inner, width, columns)).collect()
    }

    fn line(&self, row: &[Cell], inner: &[usize], width: Width, columns: Option<usize>) -> String {
        let mut line = " ".repeat(self.indent);
        let mut used = self.indent;
        for (at, cell) in row.iter().enumerate() {
            let is_last = at + 1 == row.len();
            if is_last {
                let text = match columns {
                    // Below this a cut text says nothing: let the terminal wrap it.
                    Some(columns) if columns > used + 12 => width.cut(&cell.text, columns - used),
                    _ => cell.text.clone(),
                };
                line.push_str(&paint(cell.style, text));
            } else {
                let cells = inner.get(at).copied().unwrap_or_default();
                let text = width.cut(&cell.text, cells.max(1));
                let pad = cells.saturating_sub(width.of(&text)) + GAP;
                line.push_str(&paint(cell.style, text));
                line.push_str(&" ".repeat(pad));
                used += cells + GAP;
            }
        }
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_with_chinese_names() {
        let mut table = Table::new(0);
        table.row([Cell::new("语音评论"), Cell::new("ok")]);
        table.row([Cell::new("pdf"), Cell::new("ok")]);
        let lines: Vec<String> = table
            .lines(Width::Narrow, None)
            .iter()
            .map(|l| anstream::adapter::strip_str(l).to_string())
            .collect();
        assert_eq!(lines, ["语音评论  ok", "pdf       ok"]);
    }

    #[test]
    fn the_last_column_fits_the_terminal_and_hostile_text_is_escaped() {
        let mut table = Table::new(0);
        table.row([Cell::new("a"), Cell::new("一二三四五六七八九十")]);
        let line = table.lines(Width::Narrow, Some(18)).remove(0);
        assert_eq!(anstream::adapter::strip_str(&line).to_string(), "a  一二三四五六七…");
        let mut table = Table::new(0);
        table.row([Cell::new("x\u{1b}[2J")]);
        assert!(!table.lines(Width::Narrow, None).remove(0).contains("\u{1b}[2J"));
    }
}
