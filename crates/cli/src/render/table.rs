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
    /// The last column is never cut: the terminal wraps it.
    is_whole: bool,
    rows: Vec<Vec<Cell>>,
}

/// Between columns.
const GAP: usize = 2;
/// A column that is not the last never takes more of the screen than this.
const MAX_INNER: usize = 48;
/// Narrower columns say nothing; a terminal that has not even this gets lines it must wrap itself.
const MIN_INNER: usize = 6;
/// With less room than this the last column goes to a line of its own.
const MIN_LAST: usize = 16;
/// Names that begin alike must still be told apart: rather than cutting columns below this, the last one moves.
const MIN_BESIDE: usize = 16;
/// How far a last column on its own line is set in.
const STEP: usize = 2;

/// Where the cells of every row go.
struct Layout {
    inner: Vec<usize>,
    /// The last cell stands below the others.
    is_stacked: bool,
}

impl Table {
    pub fn new(indent: usize) -> Self {
        Self { indent, is_whole: false, rows: Vec::new() }
    }

    /// For the details of one thing, where nothing may be left out.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.is_whole = true;
        self
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
        let layout = self.layout(width, columns);
        self.rows.iter().flat_map(|row| self.row_lines(row, &layout, width, columns)).collect()
    }

    fn layout(&self, width: Width, columns: Option<usize>) -> Layout {
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
        let Some(columns) = columns else { return Layout { inner, is_stacked: false } };
        let room = columns.saturating_sub(self.indent + inner.len() * GAP);
        let mut beside = inner.clone();
        if shrink(&mut beside, room.saturating_sub(MIN_LAST), MIN_BESIDE) {
            return Layout { inner: beside, is_stacked: false };
        }
        shrink(&mut inner, room + GAP, MIN_INNER);
        Layout { inner, is_stacked: true }
    }

    fn row_lines(
        &self,
        row: &[Cell],
        layout: &Layout,
        width: Width,
        columns: Option<usize>,
    ) -> impl Iterator<Item = String> + use<> {
        let Some((last, first)) = row.split_last() else { return vec![String::new()].into_iter() };
        let mut line = " ".repeat(self.indent);
        let mut used = self.indent;
        for (cell, cells) in first.iter().zip(&layout.inner) {
            let text = width.cut(&cell.text, (*cells).max(1));
            let pad = cells.saturating_sub(width.of(&text)) + GAP;
            line.push_str(&paint(cell.style, text));
            line.push_str(&" ".repeat(pad));
            used += cells + GAP;
        }
        let mut lines = Vec::with_capacity(2);
        if layout.is_stacked && !first.is_empty() {
            lines.push(line.trim_end().to_owned());
            used = self.indent + STEP;
            line = " ".repeat(used);
            if last.text.is_empty() {
                return lines.into_iter();
            }
        }
        let text = match columns {
            Some(columns) if !self.is_whole => {
                width.cut(&last.text, columns.saturating_sub(used).max(MIN_INNER))
            }
            _ => last.text.clone(),
        };
        line.push_str(&paint(last.style, text));
        lines.push(line.trim_end().to_owned());
        lines.into_iter()
    }
}

/// Takes cells from the widest columns until all fit into `room`; says whether they do.
fn shrink(columns: &mut [usize], room: usize, least: usize) -> bool {
    loop {
        let total: usize = columns.iter().sum();
        if total <= room {
            return true;
        }
        match columns.iter_mut().max() {
            Some(widest) if *widest > least => *widest -= 1,
            _ => return false,
        }
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

    fn drawn(table: &Table, columns: usize) -> Vec<String> {
        let lines = table.lines(Width::Narrow, Some(columns));
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn every_line_fits_every_terminal() {
        let mut table = Table::new(0).header(["NAME", "SCOPE", "KIND", "STATUS", "DESCRIPTION"]);
        for (name, scope) in [("很长的中文技能名称用于测试终端宽度", "character:林黛玉"), ("a", "project")]
        {
            let cells = [
                name,
                scope,
                "orchestrator",
                "warning",
                "一段很长的描述，一直写到终端放不下为止，而且还要再长一些。",
            ];
            table.row(cells.map(Cell::new));
        }
        for columns in 40..=200 {
            for line in drawn(&table, columns) {
                assert!(Width::Narrow.of(&line) <= columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn a_narrow_terminal_gets_the_last_column_below() {
        let mut table = Table::new(0);
        table.row(["release-notes", "project", "skill", "ok", "Writes release notes."].map(Cell::new));
        assert_eq!(drawn(&table, 40), ["release-notes  project  skill  ok", "  Writes release notes."]);
    }

    #[test]
    fn the_last_column_fits_the_terminal_and_hostile_text_is_escaped() {
        let mut table = Table::new(0);
        table.row([Cell::new("a"), Cell::new("一二三四五六七八九十")]);
        assert_eq!(drawn(&table, 20), ["a  一二三四五六七八…"]);
        assert_eq!(drawn(&table, 18), ["a", "  一二三四五六七…"]);
        let mut table = Table::new(0);
        table.row([Cell::new("x\u{1b}[2J")]);
        assert!(!table.lines(Width::Narrow, None).remove(0).contains("\u{1b}[2J"));
    }
}
