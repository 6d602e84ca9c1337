//! Text documents and presentations of the open format.

use super::answer::Answer;
use super::markdown::{self, Rows};
use super::package::Package;
use super::select::Pages;
use super::xml::{Piece, Xml};
use super::{Trouble, Wanted, Watch};
use std::io::BufRead;

const MOST_PARAGRAPH_BYTES: usize = 4 << 20;
/// More columns than this are a drawing made of table cells.
const MOST_REPEATED: u32 = 200;

pub(super) fn read(
    package: &mut Package<'_>,
    wanted: &Wanted,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    wanted.refuse_sheets("a text document")?;
    let pages = Pages::parse(wanted.pages.as_deref())?;
    answer.about("document", "OpenDocument text or presentation");
    say_properties(package, watch, answer)?;
    answer.push("\n");
    let Some(part) = package.part("content.xml", watch)? else { return Ok(()) };
    let mut body = Body { pages, slide: 0, list_depth: 0 };
    body.read(&mut Xml::new(part), answer)?;
    match &body.pages {
        Some(_) if body.slide == 0 => {
            let told = "this text has no fixed pages; read it without `pages`, it comes whole".to_owned();
            return Err(Trouble::Selection(told));
        }
        Some(pages) => pages.check(body.slide, "slides")?,
        None => {}
    }
    if answer.is_full() {
        answer.note("The document goes on; only its beginning is shown.");
    }
    Ok(())
}

/// Title and author.
pub(super) fn say_properties(
    package: &mut Package<'_>,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    let bytes = package.small("meta.xml", watch)?.unwrap_or_default();
    let mut xml = Xml::new(bytes.as_slice());
    loop {
        let shown = match xml.next()? {
            Piece::Open(tag) => match tag.name() {
                "title" => "title",
                "initial-creator" => "author",
                "subject" => "subject",
                "document-statistic" => {
                    answer.about("pages", &tag.get("page-count").unwrap_or_default());
                    continue;
                }
                _ => continue,
            },
            Piece::End => return Ok(()),
            _ => continue,
        };
        let value = xml.text()?;
        answer.about(shown, &value);
    }
}

struct Body {
    pages: Option<Pages>,
    /// The slide of a presentation; 0 in a text.
    slide: u32,
    list_depth: usize,
}

impl Body {
    fn read<R: BufRead>(&mut self, xml: &mut Xml<R>, answer: &mut Answer) -> Result<(), Trouble> {
        loop {
            let block = match xml.next()? {
                Piece::Open(tag) => match tag.name() {
                    "automatic-styles" | "font-face-decls" | "tracked-changes" | "sequence-decls"
                    | "forms" => {
                        xml.skip()?;
                        continue;
                    }
                    "page" => {
                        self.slide += 1;
                        format!("## Slide {}\n\n", self.slide)
                    }
                    "notes" => {
                        let text = paragraph(xml)?;
                        if text.is_empty() { String::new() } else { format!("Notes: {text}\n\n") }
                    }
                    "list" => {
                        self.list_depth += 1;
                        continue;
                    }
                    "h" => {
                        let level = tag.number("outline-level").unwrap_or(1);
                        markdown::heading(level, &paragraph(xml)?)
                    }
                    "p" => {
                        let text = paragraph(xml)?;
                        match (text.is_empty(), self.list_depth) {
                            (true, _) => continue,
                            (false, 0) => format!("{text}\n\n"),
                            (false, depth) => {
                                format!("{}- {}\n", "  ".repeat(depth.min(9) - 1), text.replace('\n', " "))
                            }
                        }
                    }
                    "table" => markdown::table(&table(xml)?),
                    _ => continue,
                },
                Piece::Close(name) if name == "list" => {
                    self.list_depth = self.list_depth.saturating_sub(1);
                    if self.list_depth == 0 { "\n".to_owned() } else { continue }
                }
                Piece::End => return Ok(()),
                _ => continue,
            };
            if self.slide == 0 || self.pages.as_ref().is_none_or(|pages| pages.contain(self.slide)) {
                answer.push(&block);
            }
            if answer.is_full() {
                return Ok(());
            }
        }
    }
}

/// The text of the element that was just opened.
fn paragraph<R: BufRead>(xml: &mut Xml<R>) -> Result<String, Trouble> {
    let (mut text, mut open) = (String::new(), 1u32);
    while open > 0 {
        match xml.next()? {
            Piece::Open(tag) => match tag.name() {
                "annotation" | "deletion" => xml.skip()?,
                name => {
                    match name {
                        _ if text.len() >= MOST_PARAGRAPH_BYTES => {}
                        "s" => {
                            text.extend(std::iter::repeat_n(' ', tag.number("c").unwrap_or(1usize).min(100)));
                        }
                        "tab" => text.push('\t'),
                        "line-break" => text.push('\n'),
                        "p" if !text.is_empty() => text.push('\n'),
                        "note-citation" => text.push_str(" [note "),
                        "note-body" => text.push_str(": "),
                        _ => {}
                    }
                    open += 1;
                }
            },
            Piece::Close(name) => {
                if name == "note" && text.len() < MOST_PARAGRAPH_BYTES {
                    text.push(']');
                }
                open -= 1;
            }
            Piece::Text(more) if text.len() < MOST_PARAGRAPH_BYTES => {
                text.push_str(&more.replace(['\n', '\r'], " "));
            }
            Piece::Text(_) => {}
            Piece::End => break,
        }
    }
    Ok(markdown::paragraph(&text))
}

/// The rows of the table that was just opened.
fn table<R: BufRead>(xml: &mut Xml<R>) -> Result<Vec<Vec<String>>, Trouble> {
    let (mut rows, mut open) = (Rows::default(), 1u32);
    while open > 0 {
        match xml.next()? {
            Piece::Open(tag) => match tag.name() {
                "table-row" => {
                    rows.begin();
                    open += 1;
                }
                "table-cell" | "covered-table-cell" => {
                    let times = tag.number("number-columns-repeated").unwrap_or(1u32).clamp(1, MOST_REPEATED);
                    let text = paragraph(xml)?;
                    (0..times).for_each(|_| rows.cell(&text));
                }
                _ => open += 1,
            },
            Piece::Close(_) => open -= 1,
            Piece::Text(_) => {}
            Piece::End => break,
        }
    }
    Ok(rows.finish())
}
