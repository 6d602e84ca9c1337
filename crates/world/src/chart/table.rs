//! Rows and CSV as columns of cells; only the columns that the chart needs are kept.

use super::error::ChartError;
use super::number;
use super::spec::Spec;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, BufReader, Read};

/// Where the data comes from.
pub enum Data<'a> {
    /// Objects, lists with a head, or an object of lists.
    Rows(&'a Value),
    /// With a line of names first; the separator is found out.
    Csv(Box<dyn Read + 'a>),
}

impl fmt::Debug for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rows(_) => "Rows",
            Self::Csv(_) => "Csv",
        })
    }
}

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Missing,
    Number(f64),
    Text(Box<str>),
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Column {
    pub name: String,
    pub cells: Vec<Cell>,
}

/// About half a gigabyte of cells; what is larger is summed up before it is drawn.
const MOST_CELLS: usize = 20_000_000;
const MOST_COLUMNS: usize = 2000;

impl Cell {
    pub fn of(text: &str) -> Self {
        let text = text.trim();
        if is_missing(text) {
            return Self::Missing;
        }
        // Most cells are whole numbers, and reading them the short way halves the time of a large table.
        let is_short = text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_short && (!text.starts_with('0') || text == "0") {
            return text.parse().map_or(Self::Missing, Self::Number);
        }
        match text.parse::<f64>() {
            // Only if it would be written the same again: `007` and `1.50` are names too.
            Ok(number) if number.is_finite() && number.to_string() == text => Self::Number(number),
            _ => Self::Text(text.into()),
        }
    }

    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Missing => None,
            Self::Number(number) => Some(*number).filter(|number| number.is_finite() && number.abs() < 1e300),
            Self::Text(text) => number::read(text),
        }
    }

    /// As a name of a category.
    pub fn text(&self) -> String {
        match self {
            Self::Missing => "(none)".into(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.to_string(),
        }
    }
}

fn is_missing(text: &str) -> bool {
    matches!(text, "" | "NA" | "N/A" | "n/a" | "NaN" | "nan" | "null" | "NULL" | "None" | "-" | "—")
}

impl Table {
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

pub fn read(spec: &Spec, data: Data<'_>, notes: &mut Vec<String>) -> Result<Table, ChartError> {
    let table = match data {
        Data::Rows(Value::String(text)) => csv(spec, text.as_bytes(), notes)?,
        Data::Rows(value) => rows(spec, value)?,
        Data::Csv(reader) => csv(spec, reader, notes)?,
    };
    if table.rows == 0 { Err(ChartError::Empty) } else { Ok(table) }
}

/// Which columns to keep: all if the values are to be found.
fn wanted(spec: &Spec, names: &[String]) -> Result<Vec<bool>, ChartError> {
    let mut wished: Vec<&str> = spec.y_names();
    wished.extend(spec.x.as_deref());
    wished.extend(spec.series.as_deref());
    let mut keep = vec![false; names.len()];
    for name in &wished {
        let exact = names.iter().position(|other| other == name);
        let at = exact.ok_or_else(|| no_column(name, names))?;
        keep.get_mut(at).into_iter().for_each(|keep| *keep = true);
    }
    let finds_out = spec.x.is_none() || (spec.y.is_none() && !spec.is_count());
    Ok(if finds_out { vec![true; names.len()] } else { keep })
}

pub fn no_column(name: &str, names: &[String]) -> ChartError {
    let lower = name.to_lowercase();
    let scored = names.iter().map(|other| (strsim::jaro_winkler(&lower, &other.to_lowercase()), other));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0)).filter(|(score, _)| *score > 0.7);
    let hint = best.map(|(_, other)| format!(" (did you mean `{other}`?)")).unwrap_or_default();
    let mut columns: Vec<String> = names.iter().take(30).map(|name| format!("`{name}`")).collect();
    if names.len() > 30 {
        columns.push(format!("and {} more", names.len() - 30));
    }
    ChartError::NoColumn { name: name.to_owned(), hint, columns: columns.join(", ") }
}

fn csv<'r>(spec: &Spec, source: impl Read + 'r, notes: &mut Vec<String>) -> Result<Table, ChartError> {
    let mut source = BufReader::with_capacity(64 << 10, source);
    let broken = |error: &dyn fmt::Display| ChartError::Data(format!("the data cannot be read: {error}"));
    let head = source.fill_buf().map_err(|error| broken(&error))?;
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || head.contains(&0) {
        return Err(ChartError::Data("this is not CSV text in UTF-8; convert it first".into()));
    }
    let delimiter = delimiter(head);
    if head.starts_with(b"\xef\xbb\xbf") {
        source.consume(3);
    }
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).has_headers(false).from_reader(source);
    let mut record = csv::ByteRecord::new();
    let fault = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        ChartError::Csv { line, problem: error.to_string() }
    };
    if !reader.read_byte_record(&mut record).map_err(fault)? {
        return Err(ChartError::Empty);
    }
    let names = names(record.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()))?;
    let keep = wanted(spec, &names)?;
    let mut table = empty(&names, &keep);
    let (mut ragged, mut garbled) = (0u64, false);
    while reader.read_byte_record(&mut record).map_err(fault)? {
        if record.len() == 1 && record.get(0).is_some_and(|cell| cell.trim_ascii().is_empty()) {
            continue;
        }
        ragged += u64::from(record.len() != names.len());
        let mut column = table.columns.iter_mut();
        for (at, _) in keep.iter().enumerate().filter(|(_, keep)| **keep) {
            let text = String::from_utf8_lossy(record.get(at).unwrap_or_default());
            garbled |= matches!(text, std::borrow::Cow::Owned(_));
            if let Some(column) = column.next() {
                column.cells.push(Cell::of(&text));
            }
        }
        table.rows += 1;
        too_many(&table)?;
    }
    if ragged > 0 {
        notes.push(format!(
            "{ragged} rows have more or fewer cells than the head; missing ones count as empty"
        ));
    }
    if garbled {
        notes.push("some text is not UTF-8 and is shown with replacement characters".into());
    }
    Ok(table)
}

fn too_many(table: &Table) -> Result<(), ChartError> {
    if table.rows * table.columns.len().max(1) > MOST_CELLS {
        return Err(ChartError::Data(format!(
            "more than {MOST_CELLS} cells; name only the columns that are needed, or sum the data up first"
        )));
    }
    Ok(())
}

/// The one that the first line has most of, outside quotes.
fn delimiter(head: &[u8]) -> u8 {
    let mut in_quotes = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    for byte in head.iter().take_while(|byte| **byte != b'\n') {
        if *byte == b'"' {
            in_quotes = !in_quotes;
        } else if !in_quotes && let Some(count) = counts.iter_mut().find(|(mark, _)| mark == byte) {
            count.1 += 1;
        }
    }
    // The first of equals: a comma when there is only one column.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(mark, _)| *mark)
}

/// Unique and not empty.
fn names(found: impl Iterator<Item = String>) -> Result<Vec<String>, ChartError> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::new();
    for (at, name) in found.enumerate() {
        let name = if name.is_empty() { format!("column {}", at + 1) } else { name };
        let times = seen.entry(name.clone()).or_insert(0);
        *times += 1;
        names.push(if *times > 1 { format!("{name} ({times})") } else { name });
        if names.len() > MOST_COLUMNS {
            return Err(ChartError::Data(format!("more than {MOST_COLUMNS} columns")));
        }
    }
    Ok(names)
}

fn empty(names: &[String], keep: &[bool]) -> Table {
    let kept = names.iter().zip(keep).filter(|(_, keep)| **keep);
    let columns = kept.map(|(name, _)| Column { name: name.clone(), cells: Vec::new() });
    Table { columns: columns.collect(), rows: 0 }
}

fn rows(spec: &Spec, value: &Value) -> Result<Table, ChartError> {
    let wrong = || {
        ChartError::Data(
            "`data` must be a list of objects ([{\"month\": \"Jan\", \"sales\": 5}, …]), a list of lists with the names \
             first, an object of lists, or CSV text"
                .into(),
        )
    };
    match value {
        Value::Array(rows) if rows.iter().all(Value::is_object) => objects(spec, rows),
        Value::Array(rows) if rows.iter().all(Value::is_array) => lists(spec, rows),
        Value::Object(columns) if !columns.is_empty() && columns.values().all(Value::is_array) => {
            let names = names(columns.keys().cloned())?;
            let keep = wanted(spec, &names)?;
            let mut table = empty(&names, &keep);
            table.rows = columns.values().filter_map(|list| Some(list.as_array()?.len())).max().unwrap_or(0);
            too_many(&table)?;
            for column in &mut table.columns {
                let list = columns.get(&column.name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                column.cells = list.iter().map(cell).collect();
                column.cells.resize(table.rows, Cell::Missing);
            }
            Ok(table)
        }
        _ => Err(wrong()),
    }
}

fn objects(spec: &Spec, rows: &[Value]) -> Result<Table, ChartError> {
    let mut found: Vec<String> = Vec::new();
    let mut seen: std::collections::HashSet<&str> = std::collections::HashSet::new();
    for key in rows.iter().filter_map(Value::as_object).flat_map(serde_json::Map::keys) {
        if seen.insert(key) {
            found.push(key.clone());
        }
    }
    let names = names(found.into_iter())?;
    let keep = wanted(spec, &names)?;
    let mut table = empty(&names, &keep);
    for row in rows {
        for column in &mut table.columns {
            column.cells.push(row.get(&column.name).map_or(Cell::Missing, cell));
        }
        table.rows += 1;
    }
    Ok(table)
}

fn lists(spec: &Spec, rows: &[Value]) -> Result<Table, ChartError> {
    let list = |row: &Value| row.as_array().cloned().unwrap_or_default();
    let Some((head, rows)) = rows.split_first() else { return Err(ChartError::Empty) };
    let names = names(list(head).iter().map(|name| cell(name).text()))?;
    let keep = wanted(spec, &names)?;
    let mut table = empty(&names, &keep);
    let places: Vec<usize> = keep.iter().enumerate().filter(|(_, keep)| **keep).map(|(at, _)| at).collect();
    for row in rows {
        for (column, at) in table.columns.iter_mut().zip(&places) {
            column.cells.push(row.get(at).map_or(Cell::Missing, cell));
        }
        table.rows += 1;
    }
    Ok(table)
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Missing,
        Value::Number(number) => number.as_f64().map_or(Cell::Missing, Cell::Number),
        Value::String(text) => Cell::of(text),
        other => Cell::Text(other.to_string().into()),
    }
}
