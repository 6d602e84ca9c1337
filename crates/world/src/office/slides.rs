//! Presentations: each slide with its title, its text, its tables and what the speaker noted.

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

const MOST_TEXT_BYTES: usize = 1 << 20;
/// All that a slide says.
const MOST_SLIDE_BYTES: usize = 4 << 20;

pub(super) fn read(
    package: &mut Package<'_>,
    wanted: &Wanted,
    watch: &Watch<'_>,
    answer: &mut Answer,
) -> Result<(), Trouble> {
    wanted.refuse_sheets("a presentation")?;
    let pages = Pages::parse(wanted.pages.as_deref())?;
    let slides = order(package, watch)?;
    let count = u32::try_from(slides.len()).unwrap_or(u32::MAX);
    if let Some(pages) = &pages {
        pages.check(count, "slides")?;
    }
    answer.about("document", &format!("PPTX presentation, {count} slides"));
    say_properties(package, watch, answer)?;
    answer.push("\n");
    for (number, name) in (1u32..).zip(&slides) {
        if pages.as_ref().is_some_and(|pages| !pages.contain(number)) {
            continue;
        }
        if answer.is_full() {
            answer.note(format!(
                "Slides {number}-{count} are not shown. Read on with `pages`: \"{number}-{count}\"."
            ));
            break;
        }
        watch.check()?;
        let mut slide = Slide::default();
        if let Some(part) = package.part(name, watch)? {
            slide.read(&mut Xml::new(part))?;
        }
        let notes = notes(package, name, watch)?;
        slide.write(number, count, &notes, answer);
    }
    Ok(())
}

/// The parts of the slides in the order in which they are shown.
fn order(package: &mut Package<'_>, watch: &Watch<'_>) -> Result<Vec<Rc<str>>, Trouble> {
    let links = relations(package, "ppt/_rels/presentation.xml.rels", "ppt", watch)?;
    let bytes = package.small("ppt/presentation.xml", watch)?.unwrap_or_default();
    let (mut xml, mut slides) = (Xml::new(bytes.as_slice()), Vec::new());
    loop {
        match xml.next()? {
            Piece::Open(tag) if tag.name() == "sldId" => {
                slides.extend(tag.get_prefixed("id").and_then(|id| links.get(&id).cloned()));
            }
            Piece::End => return Ok(slides),
            _ => {}
        }
    }
}

#[derive(Debug, Default)]
struct Slide {
    title: String,
    is_hidden: bool,
    blocks: Vec<String>,
    used: usize,
}

/// What a shape is for, by its placeholder.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Shape {
    Title,
    /// Dates, numbers and footers of the template.
    Furniture,
    Body,
    #[default]
    Free,
}

impl Slide {
    fn read<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<(), Trouble> {
        let mut shape = Shape::Free;
        loop {
            match xml.next()? {
                Piece::Open(tag) => match tag.name() {
                    "sld" => self.is_hidden = matches!(tag.get("show").as_deref(), Some("0" | "false")),
                    "sp" | "pic" | "graphicFrame" => shape = Shape::Free,
                    "ph" => shape = shape_of(&tag),
                    "cNvPr" => self.picture(&tag),
                    "txBody" => self.text(xml, shape)?,
                    "tbl" => {
                        let rows = table(xml)?;
                        self.say(markdown::table(&rows));
                    }
                    "Fallback" => xml.skip()?,
                    _ => {}
                },
                Piece::End => return Ok(()),
                _ => {}
            }
        }
    }

    fn say(&mut self, block: String) {
        if self.used < MOST_SLIDE_BYTES && !block.trim().is_empty() {
            self.used += block.len();
            self.blocks.push(block);
        }
    }

    fn picture(&mut self, tag: &Tag<'_>) {
        if let Some(about) = tag.get("descr").filter(|about| !about.trim().is_empty()) {
            self.say(format!("[picture: {}]\n\n", markdown::cell(&about)));
        }
    }

    fn text<R: BufRead>(&mut self, xml: &mut Xml<R>, shape: Shape) -> Result<(), Trouble> {
        let paragraphs = paragraphs(xml)?;
        match shape {
            Shape::Furniture => {}
            Shape::Title => {
                let texts: Vec<_> = paragraphs.into_iter().map(|(_, text)| text).collect();
                self.title = texts.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
            }
            Shape::Body => {
                let items = paragraphs
                    .iter()
                    .map(|(level, text)| format!("{}- {}\n", "  ".repeat(*level), text.replace('\n', " ")));
                let block: String = items.collect();
                self.say(format!("{block}\n"));
            }
            Shape::Free => {
                let texts: Vec<_> = paragraphs.into_iter().map(|(_, text)| text).collect();
                self.say(format!("{}\n\n", texts.join("\n")));
            }
        }
        Ok(())
    }

    fn write(&self, number: u32, count: u32, notes: &str, answer: &mut Answer) {
        let title = if self.title.is_empty() { String::new() } else { format!(": {}", self.title) };
        let hidden = if self.is_hidden { " (hidden)" } else { "" };
        answer.push(&format!("## Slide {number} of {count}{title}{hidden}\n\n"));
        for block in &self.blocks {
            answer.push(block);
        }
        if !notes.is_empty() {
            answer.push(&format!("Notes: {notes}\n\n"));
        }
    }
}

fn shape_of(tag: &Tag<'_>) -> Shape {
    match tag.get("type").as_deref() {
        Some("title" | "ctrTitle") => Shape::Title,
        Some("dt" | "ftr" | "sldNum" | "hdr" | "sldImg") => Shape::Furniture,
        Some("body" | "subTitle" | "obj") | None => Shape::Body,
        Some(_) => Shape::Free,
    }
}

/// The paragraphs of the text that was just opened, with their levels.
fn paragraphs<R: BufRead>(xml: &mut Xml<R>) -> Result<Vec<(usize, String)>, Trouble> {
    let (mut all, mut open, mut is_text) = (Vec::new(), 1u32, false);
    let (mut level, mut text, mut used) = (0, String::new(), 0);
    while open > 0 {
        match xml.next()? {
            Piece::Open(tag) => {
                match tag.name() {
                    "p" => (level, text) = (0, String::new()),
                    "pPr" => level = tag.number("lvl").unwrap_or(0usize).min(9),
                    "t" => is_text = true,
                    "br" if text.len() < MOST_TEXT_BYTES => text.push('\n'),
                    "tab" if text.len() < MOST_TEXT_BYTES => text.push('\t'),
                    _ => {}
                }
                open += 1;
            }
            Piece::Close(name) => {
                open -= 1;
                is_text = false;
                if name == "p" {
                    let kept = markdown::paragraph(&text);
                    used += kept.len();
                    if !kept.is_empty() && used < MOST_TEXT_BYTES {
                        all.push((level, kept));
                    }
                    text.clear();
                }
            }
            Piece::Text(more) if is_text && text.len() < MOST_TEXT_BYTES => text.push_str(&more),
            Piece::Text(_) => {}
            Piece::End => break,
        }
    }
    Ok(all)
}

/// The rows of the table that was just opened. Cells that are covered by a neighbour are empty.
fn table<R: BufRead>(xml: &mut Xml<R>) -> Result<Vec<Vec<String>>, Trouble> {
    let (mut rows, mut open) = (Rows::default(), 1u32);
    while open > 0 {
        match xml.next()? {
            Piece::Open(tag) => match tag.name() {
                "tr" => {
                    rows.begin();
                    open += 1;
                }
                "tc" => {
                    let texts: Vec<_> = paragraphs(xml)?.into_iter().map(|(_, text)| text).collect();
                    rows.cell(&texts.join("\n"));
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

/// What the speaker noted for this slide.
fn notes(package: &mut Package<'_>, slide: &str, watch: &Watch<'_>) -> Result<String, Trouble> {
    let (base, file) = slide.rsplit_once('/').unwrap_or(("", slide));
    let links: HashMap<_, _> = relations(package, &format!("{base}/_rels/{file}.rels"), base, watch)?;
    let Some(name) = links.values().find(|target| target.contains("notesSlides/")) else {
        return Ok(String::new());
    };
    let Some(part) = package.part(name, watch)? else { return Ok(String::new()) };
    let (mut xml, mut shape, mut text) = (Xml::new(part), Shape::Free, String::new());
    loop {
        match xml.next()? {
            Piece::Open(tag) => match tag.name() {
                "sp" => shape = Shape::Free,
                "ph" => shape = shape_of(&tag),
                "txBody" => {
                    let paragraphs = paragraphs(&mut xml)?;
                    for (_, more) in paragraphs.iter().filter(|_| shape == Shape::Body) {
                        if text.len() < MOST_TEXT_BYTES {
                            text.push_str(if text.is_empty() { "" } else { "\n" });
                            text.push_str(more);
                        }
                    }
                }
                _ => {}
            },
            Piece::End => return Ok(text),
            _ => {}
        }
    }
}
