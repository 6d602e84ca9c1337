//! Workbooks of Excel 97 to 2003: a small file system in a file, and in it a stream of records.
//!
//! Only what cells show is read: strings, numbers with their formats, cached results of formulas, merged areas.

use super::number::{Epoch, built_in, shown};
use super::xlsx::area_name;
use super::{Grid, chosen, say_unread, write_sheet};
use crate::office::answer::Answer;
use crate::office::package::{long, very_long, word};
use crate::office::{Trouble, Wanted, Watch};
use encoding_rs::UTF_16LE;
use std::collections::HashMap;

/// The file system: sectors in chains.
#[derive(Debug)]
pub(in crate::office) struct OldFile {
    bytes: Vec<u8>,
    sector: usize,
    chains: Vec<u32>,
    small_chains: Vec<u32>,
    small: Vec<u8>,
    entries: HashMap<String, (u32, u64)>,
}

/// All shared strings together.
const MOST_STRING_BYTES: usize = 256 << 20;
/// Streams shorter than this live in small sectors.
const SMALL: u64 = 4096;
const END: u32 = 0xffff_fffa;

impl OldFile {
    pub fn open(bytes: Vec<u8>) -> Result<Self, Trouble> {
        let sector = match word(&bytes, 30) {
            9 => 512,
            12 => 4096,
            _ => return Err(Trouble::damaged("file", "its sectors have an unknown size")),
        };
        let mut file = Self {
            sector,
            chains: Vec::new(),
            small_chains: Vec::new(),
            small: Vec::new(),
            entries: HashMap::new(),
            bytes,
        };
        for at in file.chain_sectors() {
            let table = file.at(at).map(<[u8]>::to_vec).unwrap_or_default();
            file.chains.extend((0..table.len() / 4).map(|at| long(&table, at * 4)));
        }
        let small_table = file.follow(long(&file.bytes, 60));
        file.small_chains = (0..small_table.len() / 4).map(|at| long(&small_table, at * 4)).collect();
        file.list_entries();
        Ok(file)
    }

    /// The sectors that say which sector follows which.
    fn chain_sectors(&self) -> Vec<u32> {
        let most = self.bytes.len() / self.sector + 1;
        let mut sectors: Vec<u32> =
            (0..109).map(|at| long(&self.bytes, 76 + at * 4)).filter(|at| *at < END).collect();
        let (mut next, mut seen) = (long(&self.bytes, 68), 0);
        while next < END && seen < most {
            let Some(table) = self.at(next) else { break };
            let last = self.sector / 4 - 1;
            sectors.extend((0..last).map(|at| long(table, at * 4)).filter(|at| *at < END));
            next = long(table, last * 4);
            seen += 1;
        }
        sectors.truncate(most);
        sectors
    }

    fn at(&self, sector: u32) -> Option<&[u8]> {
        let start = usize::try_from(sector).ok()?.checked_add(1)?.checked_mul(self.sector)?;
        let end = start.checked_add(self.sector)?.min(self.bytes.len());
        self.bytes.get(start..end)
    }

    /// The bytes of a chain. No chain is longer than the file: one that is goes in a circle.
    fn follow(&self, first: u32) -> Vec<u8> {
        let (mut next, mut bytes) = (first, Vec::new());
        while next < END && bytes.len() <= self.bytes.len() {
            let Some(sector) = self.at(next) else { break };
            bytes.extend_from_slice(sector);
            next = usize::try_from(next).ok().and_then(|at| self.chains.get(at)).copied().unwrap_or(u32::MAX);
        }
        bytes
    }

    fn list_entries(&mut self) {
        let directory = self.follow(long(&self.bytes, 48));
        for entry in directory.chunks_exact(128) {
            let length = usize::from(word(entry, 64)).saturating_sub(2).min(62);
            let (name, _) = UTF_16LE.decode_without_bom_handling(entry.get(..length).unwrap_or_default());
            let (first, size) = (long(entry, 116), very_long(entry, 120) & 0xffff_ffff);
            match entry.get(66) {
                // The root is the first of its kind; a file of nothing but roots would be read once for each.
                Some(5) if self.small.is_empty() => self.small = self.follow(first),
                Some(2) => drop(self.entries.entry(name.into_owned()).or_insert((first, size))),
                _ => {}
            }
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    pub fn stream(&self, name: &str) -> Option<Vec<u8>> {
        let (first, size) = *self.entries.get(name)?;
        let mut bytes = if size < SMALL { self.follow_small(first) } else { self.follow(first) };
        bytes.truncate(usize::try_from(size).ok()?);
        Some(bytes)
    }

    fn follow_small(&self, first: u32) -> Vec<u8> {
        let (mut next, mut bytes) = (first, Vec::new());
        while next < END && bytes.len() <= self.small.len() {
            let Some(at) = usize::try_from(next).ok() else { break };
            let Some(sector) = at.checked_mul(64).and_then(|start| self.small.get(start..)) else { break };
            bytes.extend_from_slice(sector.get(..64).unwrap_or(sector));
            next = self.small_chains.get(at).copied().unwrap_or(u32::MAX);
        }
        bytes
    }
}

struct Book {
    names: Vec<String>,
    starts: Vec<usize>,
    hidden: Vec<bool>,
    strings: Vec<String>,
    /// The code of each format by number, and the format of each cell style.
    codes: HashMap<u16, String>,
    styles: Vec<u16>,
    epoch: Epoch,
}

pub(in crate::office) fn read(
    stream: &[u8],
    wanted: &Wanted,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    wanted.refuse_pages("a spreadsheet")?;
    let book = globals(stream)?;
    answer.about("document", &format!("XLS workbook (Excel 97-2003), {} sheets", book.names.len()));
    answer.about("sheets", &book.names.join(", "));
    answer.push("\n");
    let sheets = chosen(&book.names, wanted)?;
    for (done, at) in sheets.iter().enumerate() {
        if answer.is_full() {
            say_unread(sheets.get(done..).unwrap_or_default(), &book.names, answer);
            break;
        }
        watch.check()?;
        let mut grid = Grid::new(wanted, wanted.room().saturating_sub(answer.len()))?;
        let start = book.starts.get(*at).copied().unwrap_or(usize::MAX);
        book.sheet(stream.get(start..).unwrap_or_default(), &mut grid, watch)?;
        grid.end();
        let remark = if book.hidden.get(*at) == Some(&true) { " (hidden)" } else { "" };
        write_sheet(*at, &book.names, remark, &grid, answer);
    }
    Ok(())
}

/// Kind and content of each record.
fn records(mut stream: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(word(stream, 2));
        let record = stream.get(4..)?;
        let content = record.get(..length)?;
        let kind = word(stream, 0);
        stream = record.get(length..)?;
        Some((kind, content))
    })
}

fn globals(stream: &[u8]) -> Result<Book, Trouble> {
    let mut book = Book {
        names: Vec::new(),
        starts: Vec::new(),
        hidden: Vec::new(),
        strings: Vec::new(),
        codes: HashMap::new(),
        styles: Vec::new(),
        epoch: Epoch::Y1900,
    };
    let mut records = records(stream).peekable();
    match records.next() {
        Some((0x0809, content)) if word(content, 0) == 0x0600 => {}
        _ => {
            let found = "a workbook of Excel 95 or older".to_owned();
            return Err(Trouble::NotADocument { found, instead: "save it as XLSX and read that".into() });
        }
    }
    while let Some((kind, content)) = records.next() {
        match kind {
            0x002f => return Err(Trouble::Protected("workbook")),
            0x0022 if word(content, 0) == 1 => book.epoch = Epoch::Y1904,
            // Charts and macro sheets have no cells.
            0x0085 if content.get(5) == Some(&0) => {
                let mut text = Text::new(vec![content.get(6..).unwrap_or_default()]);
                let length = usize::from(text.byte());
                book.names.push(text.string(length));
                book.starts.push(usize::try_from(long(content, 0)).unwrap_or(usize::MAX));
                book.hidden.push(content.get(4).is_some_and(|state| state & 3 != 0));
            }
            0x041e => {
                let mut text = Text::new(vec![content.get(2..).unwrap_or_default()]);
                let length = usize::from(text.word());
                book.codes.insert(word(content, 0), text.string(length));
            }
            0x00e0 => book.styles.push(word(content, 2)),
            0x00fc => {
                let mut pieces = vec![content];
                while let Some((0x003c, more)) = records.peek() {
                    pieces.push(more);
                    records.next();
                }
                book.strings = shared_strings(pieces)?;
            }
            0x000a => break,
            _ => {}
        }
    }
    if book.names.is_empty() {
        return Err(Trouble::damaged("workbook", "it names no sheets"));
    }
    Ok(book)
}

fn shared_strings(pieces: Vec<&[u8]>) -> Result<Vec<String>, Trouble> {
    let mut text = Text::new(pieces);
    text.skip(8);
    let (mut strings, mut used) = (Vec::new(), 0);
    while !text.is_at_end() {
        let length = usize::from(text.word());
        let string = text.rich_string(length);
        // An empty one takes three bytes of the file, and more than that here.
        used += string.len() + size_of::<String>();
        if used > MOST_STRING_BYTES {
            let (what, limit) = ("the text of the workbook".into(), MOST_STRING_BYTES as u64);
            return Err(Trouble::TooLarge { what, limit });
        }
        strings.push(string);
    }
    Ok(strings)
}

/// A text that may go on in the next record, where it says again how wide its letters are.
struct Text<'a> {
    pieces: std::vec::IntoIter<&'a [u8]>,
    now: &'a [u8],
}

impl<'a> Text<'a> {
    fn new(pieces: Vec<&'a [u8]>) -> Self {
        let mut pieces = pieces.into_iter();
        let now = pieces.next().unwrap_or_default();
        Self { pieces, now }
    }

    fn is_at_end(&mut self) -> bool {
        while self.now.is_empty() {
            match self.pieces.next() {
                Some(next) => self.now = next,
                None => return true,
            }
        }
        false
    }

    fn byte(&mut self) -> u8 {
        if self.is_at_end() {
            return 0;
        }
        let (first, rest) = self.now.split_first().map_or((0, self.now), |(first, rest)| (*first, rest));
        self.now = rest;
        first
    }

    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    fn skip(&mut self, mut count: usize) {
        while count > 0 && !self.is_at_end() {
            let step = count.min(self.now.len());
            self.now = self.now.get(step..).unwrap_or_default();
            count -= step;
        }
    }

    fn string(&mut self, length: usize) -> String {
        let is_wide = self.byte() & 1 != 0;
        self.letters(length, is_wide)
    }

    fn rich_string(&mut self, length: usize) -> String {
        let flags = self.byte();
        let runs = if flags & 8 != 0 { usize::from(self.word()) } else { 0 };
        let extra = if flags & 4 != 0 {
            let (low, high) = (self.word(), self.word());
            usize::from(low) | usize::from(high) << 16
        } else {
            0
        };
        let text = self.letters(length, flags & 1 != 0);
        self.skip(runs * 4 + extra);
        text
    }

    fn letters(&mut self, mut count: usize, mut is_wide: bool) -> String {
        let mut units: Vec<u16> = Vec::new();
        while count > 0 {
            if self.now.is_empty() {
                if self.is_at_end() {
                    break;
                }
                is_wide = self.byte() & 1 != 0;
                continue;
            }
            let unit = if is_wide { self.word() } else { u16::from(self.byte()) };
            units.push(unit);
            count -= 1;
        }
        String::from_utf16_lossy(&units)
    }
}

impl Book {
    fn sheet(&self, stream: &[u8], grid: &mut Grid, watch: &Watch<'_>) -> Result<(), Trouble> {
        let (mut awaited, mut depth) = (None, 0u32);
        for (at, (kind, content)) in records(stream).enumerate() {
            if at % 4096 == 0 {
                watch.check()?;
            }
            let (row, column) = (u32::from(word(content, 0)), u32::from(word(content, 2)));
            match kind {
                // Charts inside a sheet have a beginning and an end of their own.
                0x0809 => depth += 1,
                0x000a if depth <= 1 => break,
                0x000a => depth -= 1,
                _ if depth > 1 => {}
                0x00fd => {
                    let string = usize::try_from(long(content, 6)).ok().and_then(|at| self.strings.get(at));
                    grid.put(row, column, || string.cloned().unwrap_or_default());
                }
                0x0204 | 0x00d6 => {
                    let mut text = Text::new(vec![content.get(6..).unwrap_or_default()]);
                    let length = usize::from(text.word());
                    grid.put(row, column, || text.string(length));
                }
                0x0203 => grid
                    .put(row, column, || self.shown(f64::from_bits(very_long(content, 6)), word(content, 4))),
                0x027e => grid.put(row, column, || self.shown(packed(long(content, 6)), word(content, 4))),
                0x00bd => {
                    for (at, pair) in content.get(4..).unwrap_or_default().chunks_exact(6).enumerate() {
                        let column = column.saturating_add(u32::try_from(at).unwrap_or(0));
                        grid.put(row, column, || self.shown(packed(long(pair, 2)), word(pair, 0)));
                    }
                }
                0x0205 => grid.put(row, column, || truth(content.get(6), content.get(7)).to_owned()),
                0x0006 => awaited = self.formula(content, row, column, grid),
                0x0207 => {
                    if let Some((row, column)) = awaited.take() {
                        let mut text = Text::new(vec![content]);
                        let length = usize::from(text.word());
                        grid.put(row, column, || text.string(length));
                    }
                }
                0x00e5 => {
                    for area in content.get(2..).unwrap_or_default().chunks_exact(8) {
                        let corner = |at| u32::from(word(area, at));
                        grid.merge(area_name(corner(0), corner(2), corner(4), corner(6)));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The cached result of a formula; where a text follows in a record of its own, the place it belongs to.
    fn formula(&self, content: &[u8], row: u32, column: u32, grid: &mut Grid) -> Option<(u32, u32)> {
        if word(content, 12) != 0xffff {
            grid.put(row, column, || self.shown(f64::from_bits(very_long(content, 6)), word(content, 4)));
            return None;
        }
        match content.get(6) {
            Some(0) => return Some((row, column)),
            Some(1) => grid.put(row, column, || truth(content.get(8), Some(&0)).to_owned()),
            Some(2) => grid.put(row, column, || truth(content.get(8), Some(&1)).to_owned()),
            _ => {}
        }
        None
    }

    fn shown(&self, value: f64, style: u16) -> String {
        let format = self.styles.get(usize::from(style)).copied().unwrap_or(0);
        let code = self.codes.get(&format).map_or_else(|| built_in(format), String::as_str);
        shown(value, code, self.epoch)
    }
}

/// A number in 30 bits: the upper half of a float or a whole number, maybe in hundredths.
fn packed(bits: u32) -> f64 {
    let value = if bits & 2 != 0 {
        f64::from(i32::from_le_bytes(bits.to_le_bytes()) >> 2)
    } else {
        f64::from_bits(u64::from(bits & !3) << 32)
    };
    if bits & 1 != 0 { value / 100.0 } else { value }
}

fn truth(value: Option<&u8>, is_error: Option<&u8>) -> &'static str {
    match (is_error, value) {
        (Some(1), Some(0x00)) => "#NULL!",
        (Some(1), Some(0x07)) => "#DIV/0!",
        (Some(1), Some(0x0f)) => "#VALUE!",
        (Some(1), Some(0x17)) => "#REF!",
        (Some(1), Some(0x1d)) => "#NAME?",
        (Some(1), Some(0x24)) => "#NUM!",
        (Some(1), _) => "#N/A",
        (_, Some(1)) => "TRUE",
        _ => "FALSE",
    }
}
