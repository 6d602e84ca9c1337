//! Spreadsheets of the open format. Cells carry the text that people see, so nothing needs formatting.

use super::xlsx::area_name;
use super::{Grid, MOST_CELL_BYTES, Repeated, chosen, say_unread, write_sheet};
use crate::office::answer::Answer;
use crate::office::open_document::say_properties;
use crate::office::package::Package;
use crate::office::xml::{Piece, Tag, Xml};
use crate::office::{Trouble, Wanted, Watch};
use std::io::BufRead;

/// Sheets end in a cell repeated thousands of times; a value that is really repeated is so a few times.
const MOST_REPEATED: u32 = 10_000;
/// What one row says. More than is ever shown of a sheet.
const MOST_ROW_BYTES: usize = 8 << 20;

pub(in crate::office) fn read(
    package: &mut Package<'_>,
    wanted: &Wanted,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    wanted.refuse_pages("a spreadsheet")?;
    let names = names(package, watch)?;
    if names.is_empty() {
        return Err(Trouble::damaged("spreadsheet", "it has no sheets"));
    }
    answer.about("document", &format!("ODS spreadsheet, {} sheets", names.len()));
    say_properties(package, watch, answer)?;
    answer.about("sheets", &names.join(", "));
    answer.push("\n");
    let sheets = chosen(&names, wanted)?;
    let Some(part) = package.part("content.xml", watch)? else { return Ok(()) };
    let (mut xml, mut at) = (Xml::new(part), 0);
    let mut unread = Vec::new();
    loop {
        match xml.next()? {
            Piece::Open(tag) if tag.name() == "table" => {
                if !sheets.contains(&at) {
                    xml.skip()?;
                } else if answer.is_full() {
                    unread.push(at);
                    xml.skip()?;
                } else {
                    let mut grid = Grid::new(wanted, wanted.room().saturating_sub(answer.len()))?;
                    table(&mut xml, &mut grid)?;
                    grid.end();
                    write_sheet(at, &names, "", &grid, answer);
                }
                at += 1;
            }
            Piece::End => break,
            _ => {}
        }
    }
    say_unread(&unread, &names, answer);
    Ok(())
}

fn names(package: &mut Package<'_>, watch: &Watch<'_>) -> Result<Vec<String>, Trouble> {
    let Some(part) = package.part("content.xml", watch)? else { return Ok(Vec::new()) };
    let (mut xml, mut names) = (Xml::new(part), Vec::new());
    loop {
        match xml.next()? {
            Piece::Open(tag) if tag.name() == "table" => {
                names.push(tag.get("name").unwrap_or_default());
                xml.skip()?;
            }
            Piece::End => return Ok(names),
            _ => {}
        }
    }
}

fn repeated(tag: &Tag<'_>, name: &str) -> u32 {
    tag.number(name).unwrap_or(1).max(1)
}

/// The rows inside the table that was just opened.
fn table<R: BufRead>(xml: &mut Xml<R>, grid: &mut Grid) -> Result<(), Trouble> {
    let (mut open, mut row) = (1u32, 0u32);
    while open > 0 {
        match xml.next()? {
            Piece::Open(tag) if tag.name() == "table-row" => {
                let times = repeated(&tag, "number-rows-repeated");
                let cells = row_cells(xml, row, grid)?;
                grid.put_repeated(row, times, &cells);
                row = row.saturating_add(times);
            }
            // Pictures and comments that lie over the sheet.
            Piece::Open(tag) if tag.name() == "shapes" => xml.skip()?,
            Piece::Open(_) => open += 1,
            Piece::Close(_) => open -= 1,
            Piece::Text(_) => {}
            Piece::End => break,
        }
    }
    Ok(())
}

fn row_cells<R: BufRead>(xml: &mut Xml<R>, row: u32, grid: &mut Grid) -> Result<Vec<Repeated>, Trouble> {
    let (mut cells, mut column, mut used) = (Vec::new(), 0u32, 0);
    loop {
        match xml.next()? {
            Piece::Open(tag) if matches!(tag.name(), "table-cell" | "covered-table-cell") => {
                let times = repeated(&tag, "number-columns-repeated");
                let (wide, high) =
                    (repeated(&tag, "number-columns-spanned"), repeated(&tag, "number-rows-spanned"));
                if wide > 1 || high > 1 {
                    let (right, bottom) = (column.saturating_add(wide - 1), row.saturating_add(high - 1));
                    grid.merge(area_name(row, bottom, column, right));
                }
                let value = tag.get("value").or_else(|| tag.get("date-value")).unwrap_or_default();
                let text = cell_text(xml)?;
                let text = if text.is_empty() { value } else { text };
                if !text.is_empty() && used < MOST_ROW_BYTES {
                    used += text.len() + size_of::<Repeated>();
                    cells.push(Repeated { first: column, times: times.min(MOST_REPEATED), text });
                }
                column = column.saturating_add(times);
            }
            Piece::Open(_) => xml.skip()?,
            Piece::Close(_) | Piece::End => return Ok(cells),
            Piece::Text(_) => {}
        }
    }
}

/// The paragraphs of a cell that was just opened; comments are not part of it.
fn cell_text<R: BufRead>(xml: &mut Xml<R>) -> Result<String, Trouble> {
    let (mut open, mut text) = (1u32, String::new());
    while open > 0 {
        match xml.next()? {
            Piece::Open(tag) if tag.name() == "annotation" => xml.skip()?,
            Piece::Open(tag) => {
                match tag.name() {
                    _ if text.len() > MOST_CELL_BYTES => {}
                    "p" if !text.is_empty() => text.push('\n'),
                    "s" => text.push(' '),
                    "tab" => text.push('\t'),
                    "line-break" => text.push('\n'),
                    _ => {}
                }
                open += 1;
            }
            Piece::Close(_) => open -= 1,
            Piece::Text(more) if text.len() <= MOST_CELL_BYTES => text.push_str(&more),
            Piece::Text(_) => {}
            Piece::End => break,
        }
    }
    Ok(text.trim().to_owned())
}
