//! Workbooks of Excel since 2007. Sheets are read as they unpack: only the wanted cells are ever held.

use super::number::{Epoch, built_in, shown};
use super::{Grid, chosen, say_unread, write_sheet};
use crate::office::answer::{Answer, shortened};
use crate::office::package::Package;
use crate::office::relations::{relations, say_properties};
use crate::office::select::{Area, cell_place, column_letters};
use crate::office::xml::{Piece, Tag, Xml};
use crate::office::{Trouble, Wanted, Watch};
use std::collections::HashMap;
use std::io::BufRead;
use std::rc::Rc;

/// All shared strings together. A million rows of addresses are less.
const MOST_STRING_BYTES: usize = 256 << 20;
/// The text of one cell that is not shared.
const MOST_INLINE_BYTES: usize = 1 << 20;
/// Excel itself has 65,490 styles of cells, and 255 characters in a format.
const MOST_STYLES: usize = 1 << 17;
const MOST_FORMAT_BYTES: usize = 1 << 10;
/// How far the rest of a sheet is looked through for its size and its merged cells, once enough of it is known.
const MOST_LOOKED_THROUGH: u64 = 2_000_000;

struct Workbook {
    names: Vec<String>,
    hidden: Vec<bool>,
    parts: Vec<Rc<str>>,
    epoch: Epoch,
}

pub(in crate::office) fn read(
    package: &mut Package<'_>,
    wanted: &Wanted,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    wanted.refuse_pages("a spreadsheet")?;
    let book = workbook(package, watch)?;
    let formats = formats(package, watch)?;
    let strings = Strings::read(package, watch)?;
    answer.about("document", &format!("XLSX workbook, {} sheets", book.names.len()));
    say_properties(package, watch, answer)?;
    answer.about("sheets", &book.names.join(", "));
    answer.push("\n");
    let sheets = chosen(&book.names, wanted)?;
    for (done, at) in sheets.iter().enumerate() {
        if answer.is_full() {
            say_unread(sheets.get(done..).unwrap_or_default(), &book.names, answer);
            break;
        }
        let mut grid = Grid::new(wanted, wanted.room().saturating_sub(answer.len()))?;
        let name = book.parts.get(*at).map_or("", AsRef::as_ref);
        if let Some(part) = package.part(name, watch)? {
            let mut sheet = Sheet { formats: &formats, strings: &strings, epoch: book.epoch, looked: 0 };
            sheet.read(&mut Xml::new(part), &mut grid)?;
        }
        let remark = if book.hidden.get(*at) == Some(&true) { " (hidden)" } else { "" };
        write_sheet(*at, &book.names, remark, &grid, answer);
    }
    Ok(())
}

fn workbook(package: &mut Package<'_>, watch: &Watch<'_>) -> Result<Workbook, Trouble> {
    let relations = relations(package, "xl/_rels/workbook.xml.rels", "xl", watch)?;
    let bytes = package.small("xl/workbook.xml", watch)?.unwrap_or_default();
    let mut xml = Xml::new(bytes.as_slice());
    let mut book = Workbook { names: Vec::new(), hidden: Vec::new(), parts: Vec::new(), epoch: Epoch::Y1900 };
    loop {
        match xml.next()? {
            Piece::Open(tag) if tag.name() == "sheet" => {
                let part = tag.get_prefixed("id").and_then(|id| relations.get(&id).cloned());
                book.names.push(tag.get("name").unwrap_or_default());
                book.hidden.push(tag.get("state").is_some_and(|state| state != "visible"));
                book.parts.push(
                    part.unwrap_or_else(|| format!("xl/worksheets/sheet{}.xml", book.names.len()).into()),
                );
            }
            Piece::Open(tag) if tag.name() == "workbookPr" => {
                if matches!(tag.get("date1904").as_deref(), Some("1" | "true")) {
                    book.epoch = Epoch::Y1904;
                }
            }
            Piece::End => break,
            _ => {}
        }
    }
    if book.names.is_empty() {
        return Err(Trouble::damaged("workbook", "it names no sheets"));
    }
    Ok(book)
}

/// The format code of each cell style.
fn formats(package: &mut Package<'_>, watch: &Watch<'_>) -> Result<Vec<Rc<str>>, Trouble> {
    let Some(part) = package.part("xl/styles.xml", watch)? else { return Ok(Vec::new()) };
    let mut xml = Xml::new(part);
    let (mut own, mut formats, mut is_inside) = (HashMap::<u16, Rc<str>>::new(), Vec::new(), false);
    loop {
        match xml.next()? {
            Piece::Open(tag) => match tag.name() {
                "numFmt" => {
                    if let (Some(id), Some(code)) = (tag.number::<u16>("numFmtId"), tag.get("formatCode")) {
                        own.insert(id, shortened(&code, MOST_FORMAT_BYTES).into());
                    }
                }
                "cellXfs" => is_inside = true,
                "xf" if is_inside && formats.len() < MOST_STYLES => {
                    let id = tag.number("numFmtId").unwrap_or(0);
                    let code = own.get(&id).cloned().unwrap_or_else(|| built_in(id).into());
                    formats.push(code);
                }
                _ => {}
            },
            Piece::Close(name) if name == "cellXfs" => break,
            Piece::End => break,
            _ => {}
        }
    }
    Ok(formats)
}

/// The strings that cells share, one after the other in one piece of memory.
struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    fn read(package: &mut Package<'_>, watch: &Watch<'_>) -> Result<Self, Trouble> {
        let mut strings = Self { text: String::new(), ends: Vec::new() };
        let Some(part) = package.part("xl/sharedStrings.xml", watch)? else { return Ok(strings) };
        let mut xml = Xml::new(part);
        loop {
            match xml.next()? {
                Piece::Open(tag) if tag.name() == "si" => {
                    rich_text(&mut xml, &mut strings.text, MOST_STRING_BYTES)?;
                    strings.ends.push(strings.text.len());
                    if strings.text.len() + strings.ends.len() * 8 > MOST_STRING_BYTES {
                        let (what, limit) = ("the text of the workbook".into(), MOST_STRING_BYTES as u64);
                        return Err(Trouble::TooLarge { what, limit });
                    }
                }
                Piece::End => return Ok(strings),
                _ => {}
            }
        }
    }

    fn get(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before));
        let (Some(start), Some(end)) = (start, self.ends.get(at)) else { return "" };
        self.text.get(*start..*end).unwrap_or_default()
    }
}

/// The text of an element that was just opened, without the readings that stand over Japanese and Chinese words.
fn rich_text<R: BufRead>(xml: &mut Xml<R>, text: &mut String, most: usize) -> Result<(), Trouble> {
    let (mut open, mut is_text) = (1u32, false);
    while open > 0 {
        match xml.next()? {
            Piece::Open(tag) if tag.name() == "rPh" => xml.skip()?,
            Piece::Open(tag) => {
                is_text = tag.name() == "t";
                open += 1;
            }
            Piece::Close(_) => {
                is_text = false;
                open -= 1;
            }
            Piece::Text(more) if is_text && text.len() <= most => text.push_str(&more),
            Piece::Text(_) => {}
            Piece::End => break,
        }
    }
    Ok(())
}

struct Sheet<'a> {
    formats: &'a [Rc<str>],
    strings: &'a Strings,
    epoch: Epoch,
    looked: u64,
}

/// A cell as its tag announces it.
struct Head {
    row: u32,
    column: u32,
    kind: String,
    style: usize,
}

impl Sheet<'_> {
    fn read<R: BufRead>(&mut self, xml: &mut Xml<R>, grid: &mut Grid) -> Result<(), Trouble> {
        let (mut row, mut column) = (0u32, 0u32);
        loop {
            match xml.next()? {
                Piece::Open(tag) => match tag.name() {
                    "row" => {
                        row = tag.number::<u32>("r").and_then(|number| number.checked_sub(1)).unwrap_or(row);
                        column = 0;
                    }
                    "c" => {
                        let head = head(&tag, row, column);
                        (row, column) = (head.row, head.column.saturating_add(1));
                        self.cell(xml, &head, grid)?;
                    }
                    "mergeCell" => {
                        if let Some(area) = tag.get("ref").filter(|area| Area::read(area).is_some()) {
                            grid.merge(area);
                        }
                    }
                    _ => {}
                },
                Piece::Close(name) if name == "row" => {
                    row = row.saturating_add(1);
                    if grid.is_done() {
                        self.looked += 1;
                        if self.looked > MOST_LOOKED_THROUGH {
                            return Ok(());
                        }
                    }
                }
                Piece::End => {
                    grid.end();
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    fn cell<R: BufRead>(&self, xml: &mut Xml<R>, head: &Head, grid: &mut Grid) -> Result<(), Trouble> {
        let is_wanted = grid.wants(head.row, head.column);
        let (mut value, mut formula, mut text) = (None, None, None);
        loop {
            match xml.next()? {
                Piece::Open(tag) => match tag.name() {
                    "v" => {
                        value = if is_wanted {
                            Some(xml.text()?)
                        } else {
                            xml.skip().map(|()| Some(String::new()))?
                        }
                    }
                    "f" => {
                        formula = if is_wanted {
                            Some(xml.text()?)
                        } else {
                            xml.skip().map(|()| Some(String::new()))?
                        }
                    }
                    "is" => {
                        let mut inline = String::new();
                        rich_text(xml, &mut inline, MOST_INLINE_BYTES)?;
                        text = Some(inline);
                    }
                    _ => xml.skip()?,
                },
                Piece::Close(_) | Piece::End => break,
                Piece::Text(_) => {}
            }
        }
        // Programs that do not compute leave the value empty.
        value = value.filter(|value| !is_wanted || formula.is_none() || !value.is_empty());
        if value.is_none() && text.is_none() && formula.is_none() {
            return Ok(());
        }
        grid.put(head.row, head.column, || match (text, value) {
            (Some(text), _) => text,
            (None, Some(value)) => self.shown(head, &value),
            (None, None) => format!("={} (not computed)", formula.unwrap_or_default()),
        });
        Ok(())
    }

    fn shown(&self, head: &Head, value: &str) -> String {
        match head.kind.as_str() {
            "s" => value.trim().parse().map_or_else(|_| String::new(), |at| self.strings.get(at).to_owned()),
            "b" => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            // A date as ISO writes it, without the time where there is none.
            "d" => value.trim().trim_end_matches("T00:00:00").replace('T', " "),
            "str" | "e" | "inlineStr" => value.to_owned(),
            _ => match value.trim().parse::<f64>() {
                Ok(number) => {
                    shown(number, self.formats.get(head.style).map_or("General", AsRef::as_ref), self.epoch)
                }
                Err(_) => value.to_owned(),
            },
        }
    }
}

fn head(tag: &Tag<'_>, row: u32, column: u32) -> Head {
    let (row, column) = tag.get("r").and_then(|place| cell_place(&place)).unwrap_or((row, column));
    Head { row, column, kind: tag.get("t").unwrap_or_default(), style: tag.number("s").unwrap_or(0) }
}

/// `A1:C1` of a merged block.
pub(super) fn area_name(first_row: u32, last_row: u32, first_column: u32, last_column: u32) -> String {
    let (left, right) = (column_letters(first_column), column_letters(last_column));
    format!("{left}{}:{right}{}", u64::from(first_row) + 1, u64::from(last_row) + 1)
}
