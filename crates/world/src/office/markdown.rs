//! Markdown from what documents say: their text must not become markup by accident, and tables must stay tables.

use std::fmt::Write as _;

/// Text for a cell: on one line, with its bars escaped.
pub(super) fn cell(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for (at, part) in text.split(['\n', '\r', '\u{b}', '\u{2028}']).map(str::trim).enumerate() {
        if at > 0 && !part.is_empty() && !line.is_empty() {
            line.push_str("<br>");
        }
        for c in part.chars() {
            match c {
                '|' => line.push_str("\\|"),
                '\t' => line.push(' '),
                c if c.is_control() => {}
                c => line.push(c),
            }
        }
    }
    line
}

/// A paragraph: line ends stay, control characters go.
pub(super) fn paragraph(text: &str) -> String {
    let kept: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    kept.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// A heading is one line.
pub(super) fn heading(level: usize, text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    if line.is_empty() { String::new() } else { format!("{} {line}\n\n", "#".repeat(level.clamp(1, 6))) }
}

/// Rows of a table while they are read. A cell without a word takes room too, and a file says in a few bytes that there are
/// millions of them: what comes after the room is used up is dropped.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Vec<String>>,
    used: usize,
}

/// A table longer than a novel is cut.
const MOST_TABLE_BYTES: usize = 4 << 20;
/// More columns than this are a drawing made of table cells.
const MOST_COLUMNS: usize = 200;
/// What a row or a cell takes beside its text.
const EACH: usize = 8;

impl Rows {
    /// Another row begins.
    pub fn begin(&mut self) {
        if self.used < MOST_TABLE_BYTES {
            self.used += EACH;
            self.rows.push(Vec::new());
        }
    }

    /// Another cell of the row that began last.
    pub fn cell(&mut self, text: &str) {
        if let Some(row) = self.rows.last_mut()
            && row.len() < MOST_COLUMNS
            && self.used < MOST_TABLE_BYTES
        {
            self.used += text.len() + EACH;
            row.push(text.to_owned());
        }
    }

    pub fn finish(self) -> Vec<Vec<String>> {
        self.rows
    }
}

/// A table whose first row is its head. Short rows are filled up; a table of one cell is a paragraph.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let Some((head, body)) = rows.split_first() else { return String::new() };
    if columns == 0 {
        return String::new();
    }
    if columns == 1 && body.is_empty() {
        return head.first().map_or_else(String::new, |text| format!("{}\n\n", paragraph(text)));
    }
    let mut text = String::new();
    push_row(&mut text, head, columns);
    text.push_str(&"|---".repeat(columns));
    text.push_str("|\n");
    for row in body {
        // Many short rows under one wide row are filled up to far more than they say.
        if text.len() > MOST_TABLE_BYTES {
            break;
        }
        push_row(&mut text, row, columns);
    }
    text.push('\n');
    text
}

fn push_row(text: &mut String, row: &[String], columns: usize) {
    for at in 0..columns {
        let _ = write!(text, "| {} ", row.get(at).map(|value| cell(value)).unwrap_or_default());
    }
    text.push_str("|\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_stays_a_table_whatever_its_cells_say() {
        let rows = [vec!["a|b".to_owned(), "two\nlines".into()], vec!["\u{1b}[31m中".into()]];
        assert_eq!(table(&rows), "| a\\|b | two<br>lines |\n|---|---|\n| [31m中 |  |\n\n");
        assert_eq!(table(&[vec!["only".to_owned()]]), "only\n\n");
        assert_eq!((table(&[]), table(&[vec![]])), (String::new(), String::new()));
    }
}
