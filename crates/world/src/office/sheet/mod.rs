//! Spreadsheets of every kind: cells come in as they go by, a table with row numbers and column letters goes out.

pub(super) mod csv;
mod number;
pub(super) mod ods;
pub(super) mod xls;
pub(super) mod xlsx;

use super::answer::{Answer, shortened};
use super::markdown::cell;
use super::select::{Area, column_letters};
use super::{Trouble, Wanted};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Rows of each sheet when nobody said how many.
const DEFAULT_ROWS: u64 = 200;
/// Excel's own limit is 32,767 characters; a longer text is cut, which is said by the dots.
const MOST_CELL_BYTES: usize = 32 << 10;
/// Merged areas that are named; more of them are a form, not a table.
const MOST_MERGED: usize = 30;

/// Which sheets of a workbook.
fn chosen(names: &[String], wanted: &Wanted) -> Result<Vec<usize>, Trouble> {
    let Some(sheet) = wanted.sheet.as_deref().map(str::trim).filter(|sheet| !sheet.is_empty()) else {
        // A range without a sheet means the one that is seen first.
        return Ok(if wanted.range.is_some() { vec![0] } else { (0..names.len()).collect() });
    };
    let by_name = names.iter().position(|name| name == sheet);
    let by_case = || names.iter().position(|name| name.to_lowercase() == sheet.to_lowercase());
    let by_number = || sheet.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let found = by_name.or_else(by_case).or_else(by_number).filter(|at| *at < names.len());
    found.map(|at| vec![at]).ok_or_else(|| {
        let known: Vec<_> =
            names.iter().take(50).enumerate().map(|(at, name)| format!("{} `{name}`", at + 1)).collect();
        Trouble::Selection(format!("there is no sheet `{sheet}`; there are {}", known.join(", ")))
    })
}

/// A cell and those to the right of it that say the same.
#[derive(Debug)]
pub(super) struct Repeated {
    pub first: u32,
    pub times: u32,
    pub text: String,
}

impl Repeated {
    fn last(&self) -> u32 {
        self.first.saturating_add(self.times.saturating_sub(1))
    }
}

/// The cells of one sheet that are wanted, and what is known of the rest.
#[derive(Debug)]
pub(super) struct Grid {
    area: Area,
    most_rows: u64,
    room: usize,
    used: usize,
    rows: Vec<(u32, Vec<(u32, String)>)>,
    /// Past the last row that is kept.
    is_done: bool,
    /// Rows with something in them, the last one, and the last column, of what went by.
    row_count: u64,
    last_row: Option<u32>,
    last_column: u32,
    merged: Vec<String>,
    merged_count: usize,
    /// All of the sheet went by.
    is_whole: bool,
}

impl Grid {
    pub fn new(wanted: &Wanted, room: usize) -> Result<Self, Trouble> {
        let area = Area::parse(wanted.range.as_deref())?;
        let usual = if wanted.range.is_some() { u64::MAX } else { DEFAULT_ROWS };
        Ok(Self {
            area,
            most_rows: wanted.max_rows.unwrap_or(usual).max(1),
            room,
            used: 0,
            rows: Vec::new(),
            is_done: false,
            row_count: 0,
            last_row: None,
            last_column: 0,
            merged: Vec::new(),
            merged_count: 0,
            is_whole: false,
        })
    }

    /// Whether the text of this cell is needed at all. Rows must come in order.
    pub fn wants(&self, row: u32, column: u32) -> bool {
        !self.is_done
            && (self.area.first_row..=self.area.last_row).contains(&row)
            && (self.area.first_column..=self.area.last_column).contains(&column)
    }

    /// Nothing that comes after this row is needed.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// A cell with something in it. `text` is asked for only when it is needed.
    pub fn put(&mut self, row: u32, column: u32, text: impl FnOnce() -> String) {
        if self.last_row != Some(row) {
            self.row_count += 1;
            self.last_row = Some(self.last_row.map_or(row, |last| last.max(row)));
            self.close_if_full(row);
        }
        self.last_column = self.last_column.max(column);
        self.keep(row, column, text);
    }

    /// As many rows from this one on, all with these cells. Costs what is kept of them, not what they are.
    pub fn put_repeated(&mut self, row: u32, rows: u32, cells: &[Repeated]) {
        let Some(last_column) = cells.iter().map(Repeated::last).max() else { return };
        let last = row.saturating_add(rows.saturating_sub(1));
        self.row_count += u64::from(rows);
        self.last_row = Some(self.last_row.map_or(last, |known| known.max(last)));
        self.last_column = self.last_column.max(last_column);
        let is_seen =
            |cell: &&Repeated| cell.first <= self.area.last_column && cell.last() >= self.area.first_column;
        let seen: Vec<&Repeated> = cells.iter().filter(is_seen).collect();
        let kept = row.max(self.area.first_row)..=last.min(self.area.last_row);
        for row in kept {
            if seen.is_empty() {
                break;
            }
            self.close_if_full(row);
            if self.is_done {
                return;
            }
            for cell in &seen {
                let columns = cell.first.max(self.area.first_column)..=cell.last().min(self.area.last_column);
                for column in columns {
                    self.keep(row, column, || cell.text.clone());
                    if self.is_done {
                        return;
                    }
                }
            }
        }
        self.close_if_full(last);
    }

    fn keep(&mut self, row: u32, column: u32, text: impl FnOnce() -> String) {
        if !self.wants(row, column) {
            return;
        }
        // One row of a million long cells is more than there is room for: nothing of it will be shown past that.
        if self.used >= self.room {
            self.is_done = true;
            return;
        }
        let mut text = text();
        if text.len() > MOST_CELL_BYTES {
            text = format!("{}…", shortened(&text, MOST_CELL_BYTES));
        }
        self.used += text.len() + 4;
        match self.rows.last_mut() {
            Some((last, cells)) if *last == row => cells.push((column, text)),
            _ => self.rows.push((row, vec![(column, text)])),
        }
    }

    fn close_if_full(&mut self, next_row: u32) {
        let is_full = self.rows.len() as u64 >= self.most_rows || self.used >= self.room;
        if is_full || next_row > self.area.last_row {
            self.is_done = true;
        }
    }

    pub fn merge(&mut self, area: String) {
        self.merged_count += 1;
        if self.merged.len() < MOST_MERGED {
            self.merged.push(area);
        }
    }

    pub fn end(&mut self) {
        self.is_whole = true;
    }

    /// Writes the sheet; true if rows were left out.
    fn write(&self, sheet: &str, answer: &mut Answer) {
        let extent = match self.last_row {
            None => "empty".to_owned(),
            Some(last) => {
                let whole = if self.is_whole { "" } else { " at least" };
                let corner = format!("{}{}", column_letters(self.last_column), u64::from(last) + 1);
                format!("cells A1:{corner};{whole} {} rows with content", self.row_count)
            }
        };
        answer.push(&format!("{extent}\n\n"));
        if self.rows.is_empty() {
            if self.last_row.is_some() {
                answer.push("(nothing in the wanted cells)\n\n");
            }
            return;
        }
        let columns: BTreeSet<u32> =
            self.rows.iter().flat_map(|(_, cells)| cells.iter().map(|(column, _)| *column)).collect();
        let mut head = String::from("| |");
        for column in &columns {
            let _ = write!(head, " {} |", column_letters(*column));
        }
        let _ = writeln!(head, "\n{}|", "|---".repeat(columns.len() + 1));
        answer.push(&head);
        let mut last_shown = None;
        for (row, cells) in &self.rows {
            let line = line(*row, cells, &columns);
            answer.push(&line);
            if answer.is_full() {
                break;
            }
            last_shown = Some(*row);
        }
        answer.push("\n");
        self.say_merged(answer);
        self.say_rest(sheet, last_shown, answer);
    }

    fn say_merged(&self, answer: &mut Answer) {
        if self.merged.is_empty() {
            return;
        }
        let more = self.merged_count - self.merged.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        answer.push(&format!(
            "Merged cells (the value stands in the first): {}{more}\n\n",
            self.merged.join(", ")
        ));
    }

    fn say_rest(&self, sheet: &str, last_shown: Option<u32>, answer: &mut Answer) {
        let wanted_last = self.last_row.unwrap_or(0).min(self.area.last_row);
        let shown_last = last_shown.unwrap_or(self.area.first_row);
        if shown_last >= wanted_last {
            return;
        }
        let right = column_letters(self.last_column.min(self.area.last_column));
        let left = column_letters(self.area.first_column.min(self.last_column));
        let (from, to) =
            (u64::from(shown_last) + 2, (u64::from(shown_last) + 1001).min(u64::from(wanted_last) + 1));
        answer.note(format!(
            "Sheet `{sheet}`: shown up to row {} of {}. Read on with `sheet`: \"{sheet}\", `range`: \"{left}{from}:{right}{to}\", \
             or more at once with `max_rows`.",
            u64::from(shown_last) + 1,
            u64::from(wanted_last) + 1,
        ));
    }
}

/// One row: its number, then each column that any row uses.
fn line(row: u32, cells: &[(u32, String)], columns: &BTreeSet<u32>) -> String {
    let mut line = format!("| {} |", u64::from(row) + 1);
    let mut rest = cells.iter().peekable();
    for column in columns {
        // Cells come in order in every sane file; a second value of one cell is dropped.
        while rest.peek().is_some_and(|(own, _)| own < column) {
            rest.next();
        }
        match rest.peek() {
            Some((own, text)) if own == column => {
                let _ = write!(line, " {} |", cell(text));
            }
            _ => line.push_str("  |"),
        }
    }
    line.push('\n');
    line
}

/// The heading of a sheet and its table.
fn write_sheet(at: usize, names: &[String], remark: &str, grid: &Grid, answer: &mut Answer) {
    let Some(name) = names.get(at) else { return };
    let shown: String = name.chars().filter(|c| !c.is_control()).collect();
    answer.push(&format!("## Sheet {} of {}: {shown}{remark}\n\n", at + 1, names.len()));
    grid.write(&shown, answer);
}

/// Names the sheets that did not fit any more.
fn say_unread(unread: &[usize], names: &[String], answer: &mut Answer) {
    if unread.is_empty() {
        return;
    }
    let named: Vec<_> = unread
        .iter()
        .take(20)
        .filter_map(|at| names.get(*at).map(|name| format!("{} `{name}`", at + 1)))
        .collect();
    answer.note(format!("Not shown: sheets {}. Read one with `sheet`.", named.join(", ")));
}
