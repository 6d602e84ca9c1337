//! What a paragraph is: a heading, an item of a list or plain text, by its style and its numbering.

use crate::office::package::Package;
use crate::office::xml::{Piece, Xml};
use crate::office::{Trouble, Watch};
use std::collections::HashMap;
use std::io::BufRead;

/// Lists have nine levels.
const MOST_LEVELS: usize = 9;
/// Styles that build on styles, a few deep in real documents.
const MOST_ANCESTORS: usize = 10;

#[derive(Debug, PartialEq)]
pub(super) enum Role {
    Plain,
    Heading(usize),
    Bullet(usize),
    /// The list it counts in, and its level.
    Numbered(String, usize),
}

#[derive(Debug, Default)]
struct Style {
    name: String,
    based_on: Option<String>,
    outline: Option<usize>,
    list: Option<(String, usize)>,
}

#[derive(Debug, Default)]
pub(super) struct Looks {
    styles: HashMap<String, Style>,
    /// By list and level: whether it is numbered.
    lists: HashMap<(String, usize), bool>,
}

impl Looks {
    pub fn read(package: &mut Package<'_>, watch: &Watch<'_>) -> Result<Self, Trouble> {
        let mut looks = Self::default();
        if let Some(part) = package.part("word/styles.xml", watch)? {
            looks.read_styles(&mut Xml::new(part))?;
        }
        if let Some(part) = package.part("word/numbering.xml", watch)? {
            looks.read_lists(&mut Xml::new(part))?;
        }
        Ok(looks)
    }

    fn read_styles<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<(), Trouble> {
        let (mut id, mut style) = (None, Style::default());
        loop {
            match xml.next()? {
                Piece::Open(tag) => match tag.name() {
                    "style" => {
                        id = tag.get("styleId");
                        style = Style::default();
                    }
                    "name" => style.name = tag.get("val").unwrap_or_default().to_lowercase(),
                    "basedOn" => style.based_on = tag.get("val"),
                    "pPr" => {
                        let mut ignored = None;
                        paragraph_properties(xml, &mut ignored, &mut style.list, &mut style.outline)?;
                    }
                    _ => {}
                },
                Piece::Close(name) if name == "style" => {
                    if let Some(id) = id.take() {
                        self.styles.insert(id, std::mem::take(&mut style));
                    }
                }
                Piece::End => return Ok(()),
                _ => {}
            }
        }
    }

    fn read_lists<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<(), Trouble> {
        let mut abstracts: HashMap<String, HashMap<usize, bool>> = HashMap::new();
        let (mut current, mut level, mut list) = (String::new(), 0, None);
        loop {
            match xml.next()? {
                Piece::Open(tag) => match tag.name() {
                    "abstractNum" => current = tag.get("abstractNumId").unwrap_or_default(),
                    "lvl" => level = tag.number("ilvl").unwrap_or(0),
                    "numFmt" => {
                        let is_numbered = !matches!(tag.get("val").as_deref(), Some("bullet" | "none"));
                        abstracts.entry(current.clone()).or_default().insert(level, is_numbered);
                    }
                    "num" => list = tag.get("numId"),
                    "abstractNumId" => {
                        let levels = tag.get("val").and_then(|id| abstracts.get(&id));
                        if let (Some(list), Some(levels)) = (&list, levels) {
                            self.lists
                                .extend(levels.iter().map(|(level, kind)| ((list.clone(), *level), *kind)));
                        }
                    }
                    _ => {}
                },
                Piece::End => return Ok(()),
                _ => {}
            }
        }
    }

    pub fn role(&self, style: Option<&str>, list: Option<&(String, usize)>, outline: Option<usize>) -> Role {
        let (mut outline, mut list) = (outline, list);
        let (mut next, mut by_name) = (style, None);
        for _ in 0..MOST_ANCESTORS {
            let Some(style) = next.and_then(|id| self.styles.get(id)) else { break };
            outline = outline.or(style.outline);
            list = list.or(style.list.as_ref());
            by_name = by_name.or_else(|| named(&style.name));
            next = style.based_on.as_deref();
        }
        // A document without styles still says `Heading1`.
        by_name = by_name.or_else(|| style.and_then(|style| named(&style.to_lowercase())));
        match (outline, by_name, list) {
            (_, Some(Role::Heading(level)), _) => Role::Heading(level),
            (Some(level), _, _) if level < MOST_LEVELS => Role::Heading(level + 1),
            // The list number 0 takes a paragraph out of its list.
            (_, _, Some((list, level))) if list != "0" => {
                let level = (*level).min(MOST_LEVELS);
                match self.lists.get(&(list.clone(), level)) {
                    Some(true) => Role::Numbered(list.clone(), level),
                    _ => Role::Bullet(level),
                }
            }
            (_, Some(role), None) => role,
            _ => Role::Plain,
        }
    }
}

fn named(name: &str) -> Option<Role> {
    if name == "title" {
        return Some(Role::Heading(1));
    }
    if name == "subtitle" {
        return Some(Role::Heading(2));
    }
    if let Some(level) = name.strip_prefix("heading").or_else(|| name.strip_prefix("标题")) {
        return level.trim().parse().ok().filter(|level| (1..=9).contains(level)).map(Role::Heading);
    }
    if name.starts_with("list bullet") {
        return Some(Role::Bullet(0));
    }
    name.starts_with("list number").then(|| Role::Numbered(name.to_owned(), 0))
}

/// Style, list and outline level from the `pPr` that was just opened.
pub(super) fn paragraph_properties<R: BufRead>(
    xml: &mut Xml<R>,
    style: &mut Option<String>,
    list: &mut Option<(String, usize)>,
    outline: &mut Option<usize>,
) -> Result<(), Trouble> {
    let (mut open, mut level) = (1u32, 0);
    while open > 0 {
        match xml.next()? {
            Piece::Open(tag) => match tag.name() {
                "rPr" | "pPrChange" => xml.skip()?,
                name => {
                    match name {
                        "pStyle" => *style = tag.get("val"),
                        "ilvl" => {
                            level = tag.number("val").unwrap_or(0);
                            if let Some((_, known)) = list {
                                *known = level;
                            }
                        }
                        "numId" => *list = tag.get("val").map(|id| (id, level)),
                        "outlineLvl" => *outline = tag.number("val"),
                        _ => {}
                    }
                    open += 1;
                }
            },
            Piece::Close(_) => open -= 1,
            Piece::Text(_) => {}
            Piece::End => break,
        }
    }
    Ok(())
}
