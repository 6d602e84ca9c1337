//! Word documents: headings, paragraphs, lists, tables, links, footnotes and comments, in the order of the text.

mod style;

use super::answer::Answer;
use super::markdown::{self, Rows};
use super::package::Package;
use super::relations::{relations, say_properties};
use super::select::Pages;
use super::xml::{Piece, Tag, Xml};
use super::{Trouble, Wanted, Watch};
use std::collections::HashMap;
use std::io::BufRead;
use std::rc::Rc;
use style::{Looks, Role};

/// A paragraph longer than a novel is cut.
const MOST_PARAGRAPH_BYTES: usize = 4 << 20;
/// More columns than this are a drawing made of table cells.
const MOST_SPAN: usize = 200;

pub(super) fn read(
    package: &mut Package<'_>,
    wanted: &Wanted,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    wanted.refuse_sheets("a text document")?;
    let pages = Pages::parse(wanted.pages.as_deref())?;
    let looks = Looks::read(package, watch)?;
    let links = relations(package, "word/_rels/document.xml.rels", "word", watch)?;
    answer.about("document", "DOCX text document");
    say_properties(package, watch, answer)?;
    answer.push("\n");
    let main = if package.has("word/document.xml") { "word/document.xml" } else { "word/document2.xml" };
    let Some(part) = package.part(main, watch)? else { return Ok(()) };
    let mut body = Body {
        looks: &looks,
        links: &links,
        pages,
        page: 1,
        marked: 1,
        is_broken: false,
        counters: HashMap::new(),
        is_in_list: false,
    };
    body.blocks(&mut Xml::new(part), answer)?;
    if let Some(pages) = &body.pages {
        pages.check(body.page, "pages (by the page breaks its last program left in it)")?;
    }
    if answer.is_full() {
        let how = if body.page > 1 {
            format!("Read on with `pages`; it has {} of them.", body.page)
        } else {
            "Ask for `pages`: \"1\" to get up to 2 MiB of it at once.".to_owned()
        };
        answer.note(format!("The document goes on. {how}"));
        return Ok(());
    }
    if body.pages.is_none() {
        notes(package, watch, answer)?;
    }
    Ok(())
}

struct Body<'a> {
    looks: &'a Looks,
    links: &'a HashMap<String, Rc<str>>,
    pages: Option<Pages>,
    page: u32,
    /// The page whose mark was written last.
    marked: u32,
    /// A page was broken by hand and nothing was written since: the break its program noted is the same one.
    is_broken: bool,
    counters: HashMap<(String, usize), u32>,
    is_in_list: bool,
}

/// A paragraph while it is read.
#[derive(Default)]
struct Paragraph {
    style: Option<String>,
    list: Option<(String, usize)>,
    outline: Option<usize>,
    text: String,
}

impl Body<'_> {
    /// Everything at the top of the document, written as it comes.
    fn blocks<R: BufRead>(&mut self, xml: &mut Xml<R>, answer: &mut Answer) -> Result<(), Trouble> {
        loop {
            let block = match xml.next()? {
                Piece::Open(tag) => match tag.name() {
                    "p" => {
                        let before = self.page;
                        let block = self.paragraph(xml)?;
                        self.write(before, &block, answer);
                        None
                    }
                    "tbl" => Some(markdown::table(&self.table(xml)?)),
                    "Fallback" | "sectPr" | "sdtPr" => xml.skip().map(|()| None)?,
                    _ => None,
                },
                Piece::End => return Ok(()),
                _ => None,
            };
            if let Some(block) = block {
                self.write(self.page, &block, answer);
            }
            let is_past = self.pages.as_ref().is_some_and(|pages| self.page > pages.last());
            if answer.is_full() || is_past {
                return Ok(());
            }
        }
    }

    fn write(&mut self, page: u32, block: &str, answer: &mut Answer) {
        let is_wanted = self.pages.as_ref().is_none_or(|pages| pages.contain(page));
        if !is_wanted || block.is_empty() {
            return;
        }
        if self.marked != page {
            self.marked = page;
            answer.push(&format!("--- page {page} ---\n\n"));
        }
        let is_item = !block.ends_with(
            "

",
        );
        if std::mem::replace(&mut self.is_in_list, is_item) && !is_item {
            answer.push("\n");
        }
        answer.push(block);
    }

    /// The paragraph that was just opened, as Markdown.
    fn paragraph<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<String, Trouble> {
        let paragraph = self.content(xml)?;
        let text = markdown::paragraph(&paragraph.text);
        if text.is_empty() {
            return Ok(String::new());
        }
        let role = self.looks.role(paragraph.style.as_deref(), paragraph.list.as_ref(), paragraph.outline);
        Ok(match role {
            Role::Heading(level) => markdown::heading(level, &text),
            Role::Plain => format!("{text}\n\n"),
            Role::Bullet(depth) => format!("{}- {}\n", "  ".repeat(depth), text.replace('\n', " ")),
            Role::Numbered(list, depth) => {
                let count = self.counters.entry((list, depth)).or_insert(0);
                *count += 1;
                format!("{}{count}. {}\n", "  ".repeat(depth), text.replace('\n', " "))
            }
        })
    }

    fn content<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<Paragraph, Trouble> {
        let mut paragraph = Paragraph::default();
        let (mut open, mut is_text) = (1u32, false);
        // Where a link began, and where it leads.
        let mut link: Option<(u32, usize, Rc<str>)> = None;
        while open > 0 {
            match xml.next()? {
                Piece::Open(tag) => {
                    match tag.name() {
                        "pPr" if open == 1 => {
                            style::paragraph_properties(
                                xml,
                                &mut paragraph.style,
                                &mut paragraph.list,
                                &mut paragraph.outline,
                            )?;
                            continue;
                        }
                        "Fallback" | "rPr" | "pPr" | "instrText" | "delText" | "moveFrom" => {
                            xml.skip()?;
                            continue;
                        }
                        "hyperlink" => {
                            if let Some(target) = tag.get_prefixed("id").and_then(|id| self.links.get(&id)) {
                                link = Some((open, paragraph.text.len(), Rc::clone(target)));
                            }
                        }
                        "t" => is_text = true,
                        "p" | "tr" if !paragraph.text.is_empty() => add(&mut paragraph.text, "\n"),
                        name => self.mark(name, &tag, &mut paragraph.text),
                    }
                    open += 1;
                }
                Piece::Close(_) => {
                    open -= 1;
                    is_text = false;
                    if let Some((_, start, target)) = link.take_if(|(depth, ..)| *depth == open) {
                        close_link(&mut paragraph.text, start, &target);
                    }
                }
                Piece::Text(text) if is_text && paragraph.text.len() < MOST_PARAGRAPH_BYTES => {
                    self.is_broken &= text.trim().is_empty();
                    paragraph.text.push_str(&text);
                }
                Piece::Text(_) => {}
                Piece::End => break,
            }
        }
        Ok(paragraph)
    }

    /// What stands in a text without being text.
    fn mark(&mut self, name: &str, tag: &Tag<'_>, text: &mut String) {
        match name {
            "tab" => add(text, "\t"),
            "br" if tag.get("type").as_deref() == Some("page") => {
                self.page += 1;
                self.is_broken = true;
            }
            "lastRenderedPageBreak" => self.page += u32::from(!std::mem::take(&mut self.is_broken)),
            "br" | "cr" => add(text, "\n"),
            "noBreakHyphen" => add(text, "-"),
            "docPr" => {
                if let Some(about) = tag.get("descr").filter(|about| !about.trim().is_empty()) {
                    add(text, &format!("[picture: {}]", about.trim()));
                }
            }
            "footnoteReference" | "endnoteReference" => {
                let kind = if name.starts_with('e') { "e" } else { "" };
                add(text, &format!("[^{kind}{}]", tag.get("id").unwrap_or_default()));
            }
            _ => {}
        }
    }

    /// The rows of the table that was just opened.
    fn table<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<Vec<Vec<String>>, Trouble> {
        let (mut rows, mut open) = (Rows::default(), 1u32);
        while open > 0 {
            match xml.next()? {
                Piece::Open(tag) => match tag.name() {
                    "tr" => rows.begin(),
                    "tc" => {
                        let (text, span) = self.table_cell(xml)?;
                        rows.cell(&text);
                        (1..span).for_each(|_| rows.cell(""));
                        continue;
                    }
                    "tblPr" | "tblGrid" | "trPr" | "Fallback" => {
                        xml.skip()?;
                        continue;
                    }
                    _ => {}
                },
                Piece::Close(_) => {
                    open -= 1;
                    continue;
                }
                Piece::Text(_) => continue,
                Piece::End => break,
            }
            open += 1;
        }
        let mut rows = rows.finish();
        rows.retain(|row| !row.is_empty());
        Ok(rows)
    }

    /// The text of the cell that was just opened, and how many columns it spans. A cell that continues the one above is empty.
    fn table_cell<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<(String, usize), Trouble> {
        let (mut text, mut span, mut open) = (String::new(), 1, 1u32);
        while open > 0 {
            match xml.next()? {
                Piece::Open(tag) => match tag.name() {
                    "p" => {
                        let paragraph = self.content(xml)?;
                        join(&mut text, markdown::paragraph(&paragraph.text).as_str());
                        continue;
                    }
                    "tbl" => {
                        for row in self.table(xml)? {
                            join(&mut text, &row.join("; "));
                        }
                        continue;
                    }
                    "gridSpan" => span = tag.number("val").unwrap_or(1).clamp(1, MOST_SPAN),
                    "Fallback" => {
                        xml.skip()?;
                        continue;
                    }
                    _ => {}
                },
                Piece::Close(_) => {
                    open -= 1;
                    continue;
                }
                Piece::Text(_) => continue,
                Piece::End => break,
            }
            open += 1;
        }
        Ok((text, span))
    }
}

/// No text grows without end: what follows the longest paragraph is dropped.
fn add(text: &mut String, more: &str) {
    if text.len() < MOST_PARAGRAPH_BYTES {
        text.push_str(more);
    }
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        add(text, "\n");
    }
    add(text, more);
}

fn close_link(text: &mut String, start: usize, target: &str) {
    let shown = text.get(start..).unwrap_or_default().trim().to_owned();
    // Only places in the outside world; a link to a part of the file says nothing.
    let leads_out = target.contains("://") || target.starts_with("mailto:");
    // The same long address behind every word of a text is said as long as there is room for it.
    if !shown.is_empty() && shown != target && leads_out && text.len() < MOST_PARAGRAPH_BYTES {
        text.truncate(start);
        text.push_str(&format!("[{shown}]({target})"));
    }
}

/// Footnotes, endnotes and comments, after the text.
fn notes(package: &mut Package<'_>, watch: &Watch<'_>, answer: &mut Answer) -> Result<(), Trouble> {
    for (name, element, mark) in [
        ("word/footnotes.xml", "footnote", "[^"),
        ("word/endnotes.xml", "endnote", "[^e"),
        ("word/comments.xml", "comment", ""),
    ] {
        let Some(part) = package.part(name, watch)? else { continue };
        let mut xml = Xml::new(part);
        let mut is_first = true;
        loop {
            let (head, is_note) = match xml.next()? {
                Piece::Open(tag) if tag.name() == element => {
                    let id = tag.get("id").unwrap_or_default();
                    // Separators are notes too, with a type of their own.
                    let is_note = tag.get("type").is_none_or(|kind| kind == "normal");
                    let who = tag.get("author").unwrap_or_default();
                    (
                        if mark.is_empty() {
                            format!("- comment by {who}: ")
                        } else {
                            format!("{mark}{id}]: ")
                        },
                        is_note,
                    )
                }
                Piece::End => break,
                _ => continue,
            };
            let text = note_text(&mut xml)?;
            if is_note && !text.is_empty() {
                if std::mem::take(&mut is_first) {
                    answer.push("\n");
                }
                answer.push(&format!("{head}{text}\n"));
            }
        }
    }
    Ok(())
}

fn note_text<R: BufRead>(xml: &mut Xml<R>) -> Result<String, Trouble> {
    let (mut text, mut open, mut is_text) = (String::new(), 1u32, false);
    while open > 0 {
        match xml.next()? {
            Piece::Open(tag) => {
                is_text = tag.name() == "t";
                if tag.name() == "p" && !text.is_empty() {
                    text.push(' ');
                }
                open += 1;
            }
            Piece::Close(_) => {
                is_text = false;
                open -= 1;
            }
            Piece::Text(more) if is_text && text.len() < MOST_PARAGRAPH_BYTES => text.push_str(&more),
            Piece::Text(_) => {}
            Piece::End => break,
        }
    }
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}
