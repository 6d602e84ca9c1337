//! Values between separators: any encoding, any of the usual separators, quotes as spreadsheets write them.

use super::{Grid, write_sheet};
use crate::office::answer::Answer;
use crate::office::text::encoding_of;
use crate::office::{Source, Trouble, Wanted, Watch};
use encoding_rs::{CoderResult, Decoder};
use std::io::Read as _;

/// What the encoding and the separator are judged by.
const SAMPLE: u64 = 256 << 10;
/// A field is as long as the longest cell; what comes after that is dropped.
const MOST_FIELD_BYTES: usize = 32 << 10;
const MOST_COLUMNS: u32 = 16_384;

pub(in crate::office) fn read(
    source: &mut dyn Source,
    separator: Option<u8>,
    wanted: &Wanted,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    wanted.refuse_pages("a table of values")?;
    source.rewind()?;
    let mut sample = Vec::new();
    source.take(SAMPLE).read_to_end(&mut sample)?;
    let encoding = encoding_of(&sample);
    let (text, _, _) = encoding.decode(&sample);
    let separator = separator.map_or_else(|| likely_separator(&text), char::from);
    let kind = if separator == '\t' { "TSV" } else { "CSV" };
    let separated = if separator == '\t' { "tab".to_owned() } else { format!("`{separator}`") };
    answer.about(
        "document",
        &format!("{kind} table, separated by {separated}, encoded as {}", encoding.name()),
    );
    answer.push("\n");
    let grid = Grid::new(wanted, wanted.room().saturating_sub(answer.len()))?;
    let mut fields = Fields::new(separator, grid);
    source.rewind()?;
    let mut decoder = encoding.new_decoder();
    let (mut chunk, mut text) = (vec![0; 64 << 10], String::with_capacity(256 << 10));
    loop {
        watch.check()?;
        let length = source.read(&mut chunk)?;
        decode(&mut decoder, chunk.get(..length).unwrap_or_default(), length == 0, &mut text, &mut fields);
        if length == 0 {
            break;
        }
    }
    let mut grid = fields.finish();
    grid.end();
    write_sheet(0, &["table".to_owned()], "", &grid, answer);
    Ok(())
}

fn decode(decoder: &mut Decoder, mut bytes: &[u8], is_last: bool, text: &mut String, fields: &mut Fields) {
    loop {
        let (result, read, _) = decoder.decode_to_string(bytes, text, is_last);
        for c in text.chars() {
            fields.take(c);
        }
        text.clear();
        bytes = bytes.get(read..).unwrap_or_default();
        if result == CoderResult::InputEmpty {
            return;
        }
    }
}

/// The separator that gives most lines the same number of fields, and more than one.
fn likely_separator(text: &str) -> char {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(50).collect();
    let score = |separator: char| {
        let counts: Vec<usize> = lines.iter().map(|line| outside_quotes(line, separator)).collect();
        let first = counts.first().copied().unwrap_or(0);
        let same = counts.iter().filter(|count| **count == first).count();
        if first == 0 { (0, 0) } else { (same, first) }
    };
    let candidates = [',', '\t', ';', '|', '，'];
    candidates.into_iter().rev().max_by_key(|separator| score(*separator)).unwrap_or(',')
}

fn outside_quotes(line: &str, separator: char) -> usize {
    let mut is_quoted = false;
    let counted = line.chars().filter(|c| {
        is_quoted ^= *c == '"';
        *c == separator && !is_quoted
    });
    counted.count()
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// After a quote inside quotes: the end, or one half of a doubled quote.
    Quote,
}

/// Characters in, cells out.
struct Fields {
    separator: char,
    grid: Grid,
    state: State,
    field: String,
    row: u32,
    column: u32,
    is_after_return: bool,
}

impl Fields {
    fn new(separator: char, grid: Grid) -> Self {
        let field = String::new();
        Self { separator, grid, state: State::Start, field, row: 0, column: 0, is_after_return: false }
    }

    fn take(&mut self, c: char) {
        let follows_return = std::mem::replace(&mut self.is_after_return, false);
        match (self.state, c) {
            (State::Quoted, '"') => self.state = State::Quote,
            (State::Quoted, c) => self.push(c),
            (State::Quote, '"') => {
                self.push('"');
                self.state = State::Quoted;
            }
            (State::Start, '"') => self.state = State::Quoted,
            (_, '\n') if follows_return => {}
            (_, '\n' | '\r') => {
                self.is_after_return = c == '\r';
                self.end_field();
                self.row = self.row.saturating_add(1);
                self.column = 0;
            }
            (_, c) if c == self.separator => {
                self.end_field();
                self.column = self.column.saturating_add(1);
            }
            (_, c) => {
                self.push(c);
                self.state = State::Plain;
            }
        }
    }

    fn push(&mut self, c: char) {
        if self.field.len() < MOST_FIELD_BYTES {
            self.field.push(c);
        }
    }

    fn end_field(&mut self) {
        self.state = State::Start;
        if !self.field.trim().is_empty() && self.column < MOST_COLUMNS {
            let (row, column, field) = (self.row, self.column, &self.field);
            self.grid.put(row, column, || field.trim().to_owned());
        }
        self.field.clear();
    }

    fn finish(mut self) -> Grid {
        self.end_field();
        self.grid
    }
}
