//! A Mermaid flowchart, statement by statement: header, subgraphs, chains of nodes and links. Looks that a canvas does
//! not have (classes, styles, dotted lines) are read over; other kinds of diagram are refused by name.

use super::chain::Chain;
use super::{Sketch, SketchEdge, SketchNode};
use crate::canvas::error::CanvasError;
use crate::canvas::layout::Direction;
use std::collections::HashMap;

/// The first fenced ```mermaid block and the line it begins on.
pub fn fenced(text: &str) -> Option<(&str, usize)> {
    let mut offset = 0;
    let mut start: Option<(usize, usize)> = None;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let trimmed = line.trim();
        match start {
            None if trimmed.starts_with("```mermaid") || trimmed.starts_with("~~~mermaid") => {
                start = Some((offset + line.len(), number + 2));
            }
            Some((from, first)) if trimmed.starts_with("```") || trimmed.starts_with("~~~") => {
                return Some((text.get(from..offset)?, first));
            }
            _ => {}
        }
        offset += line.len();
    }
    start.and_then(|(from, first)| Some((text.get(from..)?, first)))
}

pub fn is_flowchart(text: &str) -> bool {
    statements(text).next().is_some_and(|(_, first)| header(first).is_some())
}

/// Lines without comments, front matter and blank ones, with their numbers from 0.
fn statements(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_front = false;
    let mut any = false;
    text.lines().enumerate().map(|(number, line)| (number, line.trim())).filter(move |(_, line)| {
        if *line == "---" && (in_front || !any) {
            in_front = !in_front;
            any = true;
            return false;
        }
        let is_statement = !in_front && !line.is_empty() && !line.starts_with("%%");
        any |= is_statement;
        is_statement
    })
}

fn header(line: &str) -> Option<Option<Direction>> {
    let line = line.split(';').next().unwrap_or(line);
    let mut words = line.split_whitespace();
    matches!(words.next(), Some("graph" | "flowchart" | "flowchart-elk"))
        .then(|| words.next().and_then(direction))
}

fn direction(word: &str) -> Option<Direction> {
    match word {
        "LR" | ">" => Some(Direction::Right),
        "RL" | "<" => Some(Direction::Left),
        "BT" | "^" => Some(Direction::Up),
        "TB" | "TD" | "v" => Some(Direction::Down),
        _ => None,
    }
}

pub fn read(text: &str, first_line: usize) -> Result<Sketch, CanvasError> {
    let mut reading = Reading::default();
    let mut has_header = false;
    let mut last = first_line;
    for (number, line) in statements(text) {
        let line_number = number + first_line;
        last = line_number;
        let wrong = |problem: String| CanvasError::Text { line: line_number, problem };
        let mut rest = line;
        if !has_header {
            let Some(direction) = header(line) else { return Err(wrong(no_header(line))) };
            has_header = true;
            reading.sketch.direction = direction.or(Some(Direction::Down));
            rest = line.split_once(';').map_or("", |(_, rest)| rest);
        }
        reading.line(rest.trim()).map_err(wrong)?;
    }
    if !has_header {
        return Err(CanvasError::Text { line: first_line, problem: no_header("") });
    }
    if let Some(group) = reading.open.last() {
        let name = reading.sketch.nodes.get(*group).map_or("", |node| node.text.as_str());
        let problem = format!("the subgraph `{name}` has no `end`");
        return Err(CanvasError::Text { line: last, problem });
    }
    Ok(reading.sketch)
}

fn no_header(found: &str) -> String {
    let word = found.split_whitespace().next().unwrap_or("nothing");
    format!(
        "expected `flowchart LR` (or TD, BT, RL) first, found `{word}`; other kinds of diagram cannot become a canvas"
    )
}

/// What was read so far.
#[derive(Default)]
pub(super) struct Reading {
    pub sketch: Sketch,
    /// Nodes and groups by the name the text gives them.
    names: HashMap<String, usize>,
    /// Open subgraphs, from the outside in.
    open: Vec<usize>,
}

impl Reading {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let mut rest = line;
        while !rest.is_empty() {
            rest = self.statement(rest)?.trim_start().trim_start_matches(';').trim_start();
            if rest.starts_with("%%") {
                break;
            }
        }
        Ok(())
    }

    /// Reads one statement and gives what stands after it.
    fn statement<'a>(&mut self, text: &'a str) -> Result<&'a str, String> {
        let word_ends = text.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(text.len());
        let (word, rest) = text.split_at_checked(word_ends).unwrap_or((text, ""));
        let whole = || text.find(';').and_then(|end| text.get(end..)).unwrap_or("");
        match word {
            "subgraph" => {
                self.subgraph(rest.trim().trim_end_matches(';').trim_end())?;
                Ok("")
            }
            "end" if rest.trim_start().is_empty() || rest.starts_with(';') => {
                self.open.pop().ok_or("`end` without an open `subgraph`")?;
                Ok(rest)
            }
            // The direction of one group alone is not kept.
            "direction" | "classDef" | "class" | "style" | "linkStyle" | "click" | "accTitle:"
            | "accDescr:" => Ok(whole()),
            _ => {
                let mut chain = Chain::new(text);
                chain.read(self)?;
                Ok(chain.rest())
            }
        }
    }

    fn subgraph(&mut self, rest: &str) -> Result<(), String> {
        let mut chain = Chain::new(rest);
        let (name, title) = match chain.name() {
            Some(name) => match chain.shape()? {
                Some((title, _)) => (name, title),
                // A title of several words is its own name.
                None => (rest.to_owned(), super::shape::clean(rest)),
            },
            None if rest.is_empty() => {
                (format!("subgraph {}", self.open.len() + self.names.len() + 1), String::new())
            }
            None => (super::shape::clean(rest), super::shape::clean(rest)),
        };
        let at = self.node(&name);
        let parent = self.open.last().copied();
        if let Some(node) = self.sketch.nodes.get_mut(at) {
            node.is_group = true;
            node.color = None;
            node.text = title;
            // A group that was mentioned inside itself must not be its own.
            node.parent = parent.filter(|parent| *parent != at);
        }
        if self.is_inside_itself(at) {
            return Err(format!("the subgraph `{name}` lies inside itself"));
        }
        self.open.push(at);
        Ok(())
    }

    fn is_inside_itself(&self, at: usize) -> bool {
        let parent = |at: usize| self.sketch.nodes.get(at).and_then(|node| node.parent);
        let mut slow = parent(at);
        // Bounded: no chain of groups is longer than there are groups.
        for _ in 0..=self.sketch.nodes.len() {
            match slow {
                Some(outer) if outer == at => return true,
                Some(outer) => slow = parent(outer),
                None => return false,
            }
        }
        true
    }

    /// The node of this name; the first mention decides in which group it is.
    pub fn node(&mut self, name: &str) -> usize {
        if let Some(at) = self.names.get(name).copied() {
            let parent = self.open.last().copied();
            if let (Some(node), Some(parent)) = (self.sketch.nodes.get_mut(at), parent)
                && node.parent.is_none()
                && !node.is_group
                && parent != at
            {
                node.parent = Some(parent);
            }
            return at;
        }
        let at = self.sketch.nodes.len();
        self.names.insert(name.to_owned(), at);
        let parent = self.open.last().copied();
        let text = name.to_owned();
        self.sketch.nodes.push(SketchNode {
            name: Some(text.clone()),
            text,
            parent,
            ..SketchNode::default()
        });
        at
    }

    pub fn describe(&mut self, at: usize, text: String, color: Option<&str>) {
        if let Some(node) = self.sketch.nodes.get_mut(at) {
            node.text = text;
            if !node.is_group {
                node.color = color.map(str::to_owned);
            }
        }
    }

    pub fn edge(&mut self, edge: SketchEdge) {
        self.sketch.edges.push(edge);
    }
}
