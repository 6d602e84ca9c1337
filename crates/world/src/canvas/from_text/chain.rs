//! `A["text"] --> B & C -->|label| D`: nodes joined by `&`, groups of them joined by links.

use super::SketchEdge;
use super::mermaid::Reading;
use super::shape::{SHAPES, clean};

/// A statement that is being read.
pub struct Chain<'a> {
    rest: &'a str,
}

/// `A & B & C --> D & E & F` is nine edges; a line may not be a bomb.
const MOST_EDGES: usize = 10_000;

struct Link {
    label: String,
    arrows: (bool, bool),
    is_hidden: bool,
}

impl<'a> Chain<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub fn rest(&self) -> &'a str {
        self.rest
    }

    pub fn read(&mut self, reading: &mut Reading) -> Result<(), String> {
        let mut from = self.nodes(reading)?;
        loop {
            self.blank();
            if self.rest.is_empty() || self.rest.starts_with(';') || self.rest.starts_with("%%") {
                return Ok(());
            }
            let link = self.link()?;
            let to = self.nodes(reading)?;
            if from.len() * to.len() > MOST_EDGES {
                return Err(format!("this line makes more than {MOST_EDGES} edges"));
            }
            if !link.is_hidden {
                for (from, to) in from.iter().flat_map(|from| to.iter().map(|to| (*from, *to))) {
                    let label = link.label.clone();
                    reading.edge(SketchEdge { from, to, label, arrows: link.arrows });
                }
            }
            from = to;
        }
    }

    /// `A & B`
    fn nodes(&mut self, reading: &mut Reading) -> Result<Vec<usize>, String> {
        let mut found = vec![self.node(reading)?];
        loop {
            self.blank();
            let Some(rest) = self.rest.strip_prefix('&') else { return Ok(found) };
            self.rest = rest;
            found.push(self.node(reading)?);
        }
    }

    fn node(&mut self, reading: &mut Reading) -> Result<usize, String> {
        self.blank();
        let Some(name) = self.name() else {
            return Err(format!("expected a node such as `A` or `A[\"text\"]`, found `{}`", self.shown()));
        };
        let at = reading.node(&name);
        if let Some((text, color)) = self.shape()? {
            reading.describe(at, text, color);
        }
        if let Some(rest) = self.rest.strip_prefix(":::") {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
            self.rest = rest.get(end..).unwrap_or_default();
        }
        Ok(at)
    }

    /// The name of a node: a dash or dot belongs to it only inside, or it would eat the link.
    pub fn name(&mut self) -> Option<String> {
        let mut end = 0;
        let mut characters = self.rest.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            let inner = matches!(
                character,
                '-' | '.' | '/' | ':' | '=' | '\'' | '#' | '$' | '*' | '+' | '!' | '?' | '，' | '、' | '：'
            ) && at > 0
                && next.is_some_and(char::is_alphanumeric);
            if !(character.is_alphanumeric() || character == '_' || inner) {
                break;
            }
            end = at + character.len_utf8();
        }
        let name = self.rest.get(..end).filter(|name| !name.is_empty())?;
        self.rest = self.rest.get(end..).unwrap_or_default();
        Some(name.to_owned())
    }

    /// The text in a shape, with the colour of what the shape means.
    pub fn shape(&mut self) -> Result<Option<(String, Option<&'static str>)>, String> {
        if let Some(rest) = self.rest.strip_prefix("@{") {
            return self.attributes(rest).map(|label| label.map(|label| (label, None)));
        }
        let spaced = self.rest.trim_start();
        // `subgraph one [Title]` has a blank before the shape, `A --> B` has one before a link.
        let source = if spaced.starts_with('[') { spaced } else { self.rest };
        for (open, closings, color) in SHAPES {
            let Some(rest) = source.strip_prefix(open) else { continue };
            let Some((text, after)) = closed(rest, closings) else {
                return Err(format!("`{open}` is not closed; expected `{}`", closings.join("` or `")));
            };
            self.rest = after;
            return Ok(Some((clean(text), *color)));
        }
        Ok(None)
    }

    /// `A@{ shape: rect, label: "text" }`
    fn attributes(&mut self, rest: &'a str) -> Result<Option<String>, String> {
        let (body, after) = closed(rest, &["}"]).ok_or("`@{` is not closed; expected `}`")?;
        self.rest = after;
        let label = body.split_once("label:").map(|(_, label)| label.trim_start());
        let label = label.map(|label| match label.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => label.split(',').next().unwrap_or_default(),
        });
        Ok(label.map(clean))
    }

    /// `-->`, `---`, `-.->`, `==>`, `<-->`, `--x`, `-- text -->`, each with an optional `|label|`.
    fn link(&mut self) -> Result<Link, String> {
        self.edge_name();
        let begin = self.rest;
        let wrong = || {
            let shown: String = begin.chars().take(20).collect();
            format!("expected a link such as `-->`, `---`, `-.->`, `==>` or `-->|label|`, found `{shown}`")
        };
        let mut text = self.rest;
        let mut arrows = (false, false);
        for start in ['<', 'x', 'o'] {
            if let Some(rest) = text.strip_prefix(start)
                && rest.starts_with(['-', '=', '.'])
            {
                (text, arrows.0) = (rest, true);
                break;
            }
        }
        if let Some(rest) = text.strip_prefix("~~~") {
            self.rest = rest.trim_start_matches('~');
            return Ok(Link { label: String::new(), arrows, is_hidden: true });
        }
        let is_line = |c: char| matches!(c, '-' | '=' | '.');
        let length = text.find(|c| !is_line(c)).unwrap_or(text.len());
        let (line, after) = text.split_at_checked(length).ok_or_else(wrong)?;
        if line.len() < 2 {
            return Err(wrong());
        }
        let (after, has_arrow) = head(after);
        let mut label = String::new();
        let mut after = after;
        // A line of two strokes without a head goes on after its text: `-- text -->`.
        if !has_arrow && matches!(line, "--" | "==" | "-.") {
            let (text, rest, arrow) = inner_text(after).ok_or_else(wrong)?;
            (label, after, arrows.1) = (clean(text), rest, arrow);
        } else {
            arrows.1 = has_arrow;
        }
        if let Some(rest) = after.trim_start().strip_prefix('|') {
            let (text, rest) = closed(rest, &["|"]).ok_or("`|` is not closed; write `-->|label|`")?;
            (label, after) = (clean(text), rest);
        }
        self.rest = after;
        Ok(Link { label, arrows, is_hidden: false })
    }

    /// `e1@-->`: names of edges are not kept.
    fn edge_name(&mut self) {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(0);
        if let Some(rest) = self.rest.get(end..).and_then(|rest| rest.strip_prefix('@'))
            && end > 0
            && rest.starts_with(['-', '=', '<', 'x', 'o', '~'])
        {
            self.rest = rest;
        }
    }

    fn blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn shown(&self) -> String {
        match self.rest {
            "" => "the end of the line".into(),
            rest => rest.chars().take(20).collect(),
        }
    }
}

/// The head of a link, if it has one: what follows it, and whether.
fn head(after: &str) -> (&str, bool) {
    if let Some(rest) = after.strip_prefix('>') {
        return (rest, true);
    }
    for mark in ['x', 'o'] {
        if let Some(rest) = after.strip_prefix(mark)
            && rest.starts_with([' ', '|'])
        {
            return (rest, true);
        }
    }
    (after, false)
}

/// The text within a link: up to the line that closes it, what follows, and whether that has an arrow head.
fn inner_text(text: &str) -> Option<(&str, &str, bool)> {
    let text_end = ["--", "==", ".-"].iter().filter_map(|close| text.find(close)).min()?;
    let (label, rest) = text.split_at_checked(text_end)?;
    let length = rest.find(|c: char| !matches!(c, '-' | '=' | '.')).unwrap_or(rest.len());
    let (after, has_arrow) = head(rest.get(length..)?);
    Some((label, after, has_arrow))
}

/// Text up to the closing mark; marks inside quotes do not close.
fn closed<'t>(text: &'t str, closings: &[&str]) -> Option<(&'t str, &'t str)> {
    let mut in_quotes = false;
    for (at, character) in text.char_indices() {
        if character == '"' {
            in_quotes = !in_quotes;
            continue;
        }
        if in_quotes {
            continue;
        }
        for closing in closings {
            if let Some(after) = text.get(at..).and_then(|rest| rest.strip_prefix(closing)) {
                return Some((text.get(..at)?, after));
            }
        }
    }
    None
}
