//! A canvas in memory: its JSON objects as they were, with the known fields checked once and then trusted.

use super::error::CanvasError;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Canvas {
    /// In the order of the file, which is also from back to front.
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    /// Top-level fields that are neither `nodes` nor `edges`.
    pub rest: Map<String, Value>,
}

/// One node, with every field it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub(super) fields: Map<String, Value>,
}

/// One edge, with every field it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    pub(super) fields: Map<String, Value>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Text,
    File,
    Link,
    Group,
    /// A type of a newer or extended format: kept, moved, never read.
    Other,
}

/// A side of a node at which an edge ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Top,
    Right,
    Bottom,
    Left,
}

/// Where a node is, in whole pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rect {
    pub x: i64,
    pub y: i64,
    pub width: i64,
    pub height: i64,
}

/// Past this a number is a mistake, and sums of a few of them are still exact.
pub(super) const FARTHEST: i64 = 100_000_000;
/// Enough for any canvas a person looks at; work on more would no longer be quick.
pub const MAX_NODES: usize = 20_000;
pub const MAX_EDGES: usize = 60_000;

impl Rect {
    pub fn right(self) -> i64 {
        self.x + self.width
    }

    pub fn bottom(self) -> i64 {
        self.y + self.height
    }

    /// Whether they share an inner point.
    pub fn overlaps(self, other: Self) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }

    pub fn contains(self, other: Self) -> bool {
        self.x <= other.x
            && other.right() <= self.right()
            && self.y <= other.y
            && other.bottom() <= self.bottom()
    }

    pub fn area(self) -> i128 {
        i128::from(self.width) * i128::from(self.height)
    }

    /// The smallest that contains all.
    pub fn around(rects: impl IntoIterator<Item = Self>) -> Option<Self> {
        rects.into_iter().reduce(|one, other| {
            let (x, y) = (one.x.min(other.x), one.y.min(other.y));
            let (right, bottom) = (one.right().max(other.right()), one.bottom().max(other.bottom()));
            Self { x, y, width: right - x, height: bottom - y }
        })
    }

    pub(super) fn grown(self, by: i64) -> Self {
        Self { x: self.x - by, y: self.y - by, width: self.width + 2 * by, height: self.height + 2 * by }
    }
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Right => "right",
            Self::Bottom => "bottom",
            Self::Left => "left",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Top, Self::Right, Self::Bottom, Self::Left].into_iter().find(|side| side.name() == name)
    }
}

impl NodeKind {
    /// The field that says what the node shows.
    pub(super) fn content(self) -> Option<&'static str> {
        match self {
            Self::Text => Some("text"),
            Self::File => Some("file"),
            Self::Link => Some("url"),
            Self::Group => Some("label"),
            Self::Other => None,
        }
    }
}

impl Node {
    pub fn id(&self) -> &str {
        self.text_of("id")
    }

    pub fn kind(&self) -> NodeKind {
        match self.text_of("type") {
            "text" => NodeKind::Text,
            "file" => NodeKind::File,
            "link" => NodeKind::Link,
            "group" => NodeKind::Group,
            _ => NodeKind::Other,
        }
    }

    pub fn type_name(&self) -> &str {
        self.text_of("type")
    }

    /// `None` only for a node of an unknown type that has no place.
    pub fn rect(&self) -> Option<Rect> {
        let number = |key| whole(self.fields.get(key)?);
        Some(Rect { x: number("x")?, y: number("y")?, width: number("width")?, height: number("height")? })
    }

    pub fn color(&self) -> Option<&str> {
        self.fields.get("color").and_then(Value::as_str)
    }

    /// What it shows: text, path, address or label. Empty for a group without label and for unknown types.
    pub fn content(&self) -> &str {
        self.kind().content().map_or("", |field| self.text_of(field))
    }

    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    pub(super) fn text_of(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Leaves numbers that mean the same as they were written.
    pub(super) fn set_rect(&mut self, rect: Rect) {
        let old = self.rect();
        let mut set = |key: &str, value: i64, before: Option<i64>| {
            if before != Some(value) {
                self.fields.insert(key.into(), value.into());
            }
        };
        set("x", rect.x, old.map(|old| old.x));
        set("y", rect.y, old.map(|old| old.y));
        set("width", rect.width, old.map(|old| old.width));
        set("height", rect.height, old.map(|old| old.height));
    }
}

impl Edge {
    pub fn id(&self) -> &str {
        self.text_of("id")
    }

    pub fn from(&self) -> &str {
        self.text_of("fromNode")
    }

    pub fn to(&self) -> &str {
        self.text_of("toNode")
    }

    pub fn label(&self) -> &str {
        self.text_of("label")
    }

    pub fn color(&self) -> Option<&str> {
        self.fields.get("color").and_then(Value::as_str)
    }

    pub fn sides(&self) -> (Option<Side>, Option<Side>) {
        (Side::named(self.text_of("fromSide")), Side::named(self.text_of("toSide")))
    }

    /// Whether the start and the end have an arrow head.
    pub fn arrows(&self) -> (bool, bool) {
        (self.text_of("fromEnd") == "arrow", self.text_of("toEnd") != "none")
    }

    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    fn text_of(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn set_sides(&mut self, from: Side, to: Side) {
        self.fields.insert("fromSide".into(), from.name().into());
        self.fields.insert("toSide".into(), to.name().into());
    }
}

impl Canvas {
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id() == id)
    }

    pub fn edge(&self, id: &str) -> Option<&Edge> {
        self.edges.iter().find(|edge| edge.id() == id)
    }

    /// Where each node stands in `nodes`.
    pub fn index(&self) -> HashMap<&str, usize> {
        self.nodes.iter().enumerate().map(|(at, node)| (node.id(), at)).collect()
    }

    /// Edges that lead from or to something that is not there; such files exist, and no change here makes one.
    pub fn dangling(&self) -> Vec<&Edge> {
        let index = self.index();
        let dangles = |edge: &&Edge| !index.contains_key(edge.from()) || !index.contains_key(edge.to());
        self.edges.iter().filter(dangles).collect()
    }

    pub(super) fn ids(&self) -> HashSet<String> {
        let nodes = self.nodes.iter().map(Node::id);
        nodes.chain(self.edges.iter().map(Edge::id)).map(str::to_owned).collect()
    }

    pub(super) fn no_node(&self, id: &str) -> CanvasError {
        let hint = nearest(id, self.nodes.iter().map(Node::id));
        CanvasError::NoNode { id: id.to_owned(), hint }
    }

    pub(super) fn no_item(&self, id: &str) -> CanvasError {
        let ids = self.nodes.iter().map(Node::id).chain(self.edges.iter().map(Edge::id));
        CanvasError::NoItem { id: id.to_owned(), hint: nearest(id, ids) }
    }
}

/// `; did you mean …`, or where to look.
fn nearest<'a>(id: &str, known: impl Iterator<Item = &'a str>) -> String {
    let scored = known.map(|other| (strsim::jaro_winkler(id, other), other));
    let best = scored.fold(None, |best: Option<(f64, &str)>, next| match best {
        Some(best) if best.0 >= next.0 => Some(best),
        _ => Some(next),
    });
    match best {
        Some((score, other)) if score > 0.75 => format!("; did you mean `{other}`?"),
        Some(_) => "; canvas-read lists the ids".into(),
        None => "; the canvas is empty".into(),
    }
}

/// A number as a whole one, if it is near enough to the middle of the plane.
pub(super) fn whole(value: &Value) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return (-FARTHEST..=FARTHEST).contains(&number).then_some(number);
    }
    let number = value.as_f64()?.round();
    #[expect(clippy::cast_precision_loss, reason = "the limit is far below 2^52")]
    let near = number.abs() <= FARTHEST as f64;
    #[expect(clippy::cast_possible_truncation, reason = "whole and within the limit")]
    near.then_some(number as i64)
}
