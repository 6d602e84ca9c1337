//! Tables: rows of cells, or a page laid out with a table, which is none.

use ego_tree::NodeRef;
use scraper::Node;

/// Wider rows are not tables for reading.
const MAX_COLUMNS: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub fn cell(&mut self, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        if self.rows.is_empty() {
            self.row();
        }
        if let Some(row) = self.rows.last_mut().filter(|row| row.len() < MAX_COLUMNS) {
            row.push(text);
        }
    }

    /// The first row is the head: Markdown knows no table without one.
    pub fn finish(self) -> String {
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        for mut row in self.rows.into_iter().filter(|row| !row.is_empty()) {
            row.resize(width, String::new());
            lines.push(format!("| {} |", row.join(" | ")));
            if lines.len() == 1 {
                lines.push(format!("|{}", " --- |".repeat(width)));
            }
        }
        lines.join("\n")
    }
}

/// Whether a table holds data: no table inside, and more than one column. Inner tables of a layout are asked themselves.
pub(super) fn is_table_of_cells(table: NodeRef<'_, Node>) -> bool {
    let name = |node: &NodeRef<'_, Node>| node.value().as_element().map(|element| element.name().to_owned());
    let mut most = 0;
    let mut cells = 0;
    for node in table.descendants().skip(1) {
        match name(&node).as_deref() {
            Some("table") => return false,
            Some("tr") => cells = 0,
            Some("td" | "th") => {
                cells += 1;
                most = most.max(cells);
            }
            _ => {}
        }
    }
    most > 1
}
