//! Nodes and edges added, changed and removed, one call at a time. A call that fails changes nothing: callers work on a
//! copy and write it only when the call succeeded.

use super::containment::parents;
use super::error::CanvasError;
use super::ids::Ids;
use super::measure::{natural_size, text_size};
use super::model::{Canvas, Edge, MAX_EDGES, MAX_NODES, Node, NodeKind, Rect};
use super::parse::{Fault, check_edge, check_node};
use super::place;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// A node to add. Without a type it is what its content says; without a place it gets a free one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewNode {
    pub id: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub text: Option<String>,
    pub file: Option<String>,
    pub subpath: Option<String>,
    pub url: Option<String>,
    pub label: Option<String>,
    pub color: Option<String>,
    #[serde(default, deserialize_with = "number")]
    pub x: Option<i64>,
    #[serde(default, deserialize_with = "number")]
    pub y: Option<i64>,
    #[serde(default, deserialize_with = "number")]
    pub width: Option<i64>,
    #[serde(default, deserialize_with = "number")]
    pub height: Option<i64>,
    /// The id of a node to stand beside.
    pub near: Option<String>,
    /// The id of a group to be in.
    pub group: Option<String>,
}

/// An edge to add.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewEdge {
    pub id: Option<String>,
    pub from: String,
    pub to: String,
    pub label: Option<String>,
    pub color: Option<String>,
    pub from_side: Option<String>,
    pub to_side: Option<String>,
    pub from_end: Option<String>,
    pub to_end: Option<String>,
}

/// What was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    pub ids: Vec<String>,
}

/// What was removed, and what was not there to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    pub nodes: Vec<String>,
    pub edges: Vec<String>,
    pub unknown: Vec<String>,
}

/// Adds nodes. Those without a place go beside `near`, into `group`, or below everything.
pub fn add(canvas: &mut Canvas, new: &[NewNode]) -> Result<Added, CanvasError> {
    if canvas.nodes.len() + new.len() > MAX_NODES {
        return Err(CanvasError::Refused(format!("a canvas has at most {MAX_NODES} nodes")));
    }
    let mut ids = Ids::of(canvas);
    let mut added = Added::default();
    let mut made = Vec::with_capacity(new.len());
    for wish in new {
        let node = make(wish, &mut ids)?;
        added.ids.push(node.id().to_owned());
        made.push(node);
    }
    let mut rows: Vec<usize> = Vec::new();
    let mut grouped: Vec<(&str, Vec<usize>)> = Vec::new();
    for (at, wish) in new.iter().enumerate() {
        let Some(node) = made.get_mut(at) else { continue };
        let size = node.rect().map_or((0, 0), |rect| (rect.width, rect.height));
        match (wish.x, wish.y, &wish.near, &wish.group) {
            (Some(_), Some(_), None, None) => canvas.nodes.push(node.clone()),
            (None, None, Some(near), None) => {
                let rect = near_to(canvas, near, size)?;
                node.set_rect(rect);
                canvas.nodes.push(node.clone());
            }
            (None, None, None, Some(group)) => match grouped.iter_mut().find(|(id, _)| id == group) {
                Some((_, members)) => members.push(at),
                None => grouped.push((group, vec![at])),
            },
            (None, None, None, None) => rows.push(at),
            _ => {
                let problem =
                    "give both x and y, or only `near`, or only `group`, or none of them".to_owned();
                return Err(CanvasError::Value { of: shown(node), field: "x".into(), problem });
            }
        }
    }
    for (group, members) in grouped {
        let is_group = |node: &Node| node.kind() == NodeKind::Group;
        let at = canvas.nodes.iter().position(|node| node.id() == group && is_group(node));
        let at = at.ok_or_else(|| CanvasError::Refused(no_group(canvas, group)))?;
        let places = place::inside(canvas, at, &sizes(&made, &members));
        put(canvas, &mut made, &members, &places);
    }
    let places = place::below(canvas, &sizes(&made, &rows));
    put(canvas, &mut made, &rows, &places);
    in_the_order_of(canvas, &added.ids);
    Ok(added)
}

/// Beside the node, in its group if it is in one, else below everything.
fn near_to(canvas: &mut Canvas, near: &str, size: (i64, i64)) -> Result<Rect, CanvasError> {
    let at = canvas.nodes.iter().position(|node| node.id() == near);
    let beside = at.and_then(|at| canvas.nodes.get(at)?.rect()).ok_or_else(|| canvas.no_node(near))?;
    if let Some(rect) = place::beside(canvas, beside, size) {
        return Ok(rect);
    }
    let outer = at.and_then(|at| parents(canvas).get(at).copied().flatten());
    let found = match outer {
        Some(group) => place::inside(canvas, group, &[size]),
        None => place::below(canvas, &[size]),
    };
    Ok(found.first().copied().unwrap_or_default())
}

fn no_group(canvas: &Canvas, id: &str) -> String {
    match canvas.node(id) {
        Some(_) => format!("`{id}` is no group; canvas-group makes one"),
        None => canvas.no_node(id).to_string(),
    }
}

fn sizes(made: &[Node], which: &[usize]) -> Vec<(i64, i64)> {
    let rects = which.iter().filter_map(|at| made.get(*at)?.rect());
    rects.map(|rect| (rect.width, rect.height)).collect()
}

fn put(canvas: &mut Canvas, made: &mut [Node], which: &[usize], places: &[Rect]) {
    for (at, rect) in which.iter().zip(places) {
        if let Some(node) = made.get_mut(*at) {
            node.set_rect(*rect);
            canvas.nodes.push(node.clone());
        }
    }
}

/// New nodes stand in the file in the order they were asked for, however they found their places.
fn in_the_order_of(canvas: &mut Canvas, ids: &[String]) {
    let rank: HashMap<&str, usize> = ids.iter().enumerate().map(|(at, id)| (id.as_str(), at + 1)).collect();
    canvas.nodes.sort_by_key(|node| rank.get(node.id()).copied().unwrap_or(0));
}

fn make(wish: &NewNode, ids: &mut Ids) -> Result<Node, CanvasError> {
    let kind = match &wish.kind {
        Some(kind) => kind.as_str(),
        None if wish.file.is_some() => "file",
        None if wish.url.is_some() => "link",
        None if wish.text.is_none() && wish.label.is_some() => "group",
        None => "text",
    };
    if NodeKind::named(kind) == NodeKind::Other {
        let problem = format!("expected text, file, link or group, found `{kind}`");
        return Err(CanvasError::Value { of: "the new node".into(), field: "type".into(), problem });
    }
    let contents = [("text", &wish.text), ("file", &wish.file), ("url", &wish.url), ("label", &wish.label)];
    let named = contents.iter().find_map(|(_, content)| content.as_deref()).unwrap_or(kind);
    let id = match &wish.id {
        Some(id) => ids.take(id)?,
        None => ids.made_from(named),
    };
    let mut fields = Map::new();
    fields.insert("id".into(), id.into());
    fields.insert("type".into(), kind.into());
    for (key, content) in contents {
        if let Some(content) = content {
            fields.insert(key.into(), content.as_str().into());
        }
    }
    for (key, content) in [("subpath", &wish.subpath), ("color", &wish.color)] {
        if let Some(content) = content {
            fields.insert(key.into(), content.as_str().into());
        }
    }
    let mut node = Node { fields };
    let (width, height) = natural_size(&node);
    // A wish for the width alone keeps all of the text visible.
    let rect = Rect {
        x: wish.x.unwrap_or(0),
        y: wish.y.unwrap_or(0),
        width: wish.width.unwrap_or(width),
        height: wish.height.unwrap_or(height),
    };
    node.set_rect(rect);
    check_node(&node.fields).map_err(|fault| fault.of(&shown(&node)))?;
    Ok(node)
}

/// Sets fields of nodes and edges; `null` removes one. Members move with their group.
pub fn update(canvas: &mut Canvas, changes: &[Map<String, Value>]) -> Result<Vec<String>, CanvasError> {
    let mut too_small = Vec::new();
    for change in changes {
        let Some(id) = change.get("id").and_then(Value::as_str) else {
            return Err(CanvasError::Refused("every change needs the `id` of a node or an edge".into()));
        };
        if let Some(at) = canvas.nodes.iter().position(|node| node.id() == id) {
            if update_node(canvas, at, change)? {
                too_small.push(id.to_owned());
            }
        } else if let Some(at) = canvas.edges.iter().position(|edge| edge.id() == id) {
            update_edge(canvas, at, change)?;
        } else {
            return Err(canvas.no_item(id));
        }
    }
    Ok(too_small)
}

/// Says whether the text of the node no longer fits.
fn update_node(canvas: &mut Canvas, at: usize, change: &Map<String, Value>) -> Result<bool, CanvasError> {
    // Only a group that moves takes others along.
    let takes_along = canvas.nodes.get(at).is_some_and(|node| node.kind() == NodeKind::Group)
        && (change.contains_key("x") || change.contains_key("y"));
    let parents = if takes_along { parents(canvas) } else { Vec::new() };
    let Some(node) = canvas.nodes.get_mut(at) else { return Ok(false) };
    let before = node.rect();
    apply(&mut node.fields, change);
    check_node(&node.fields).map_err(|fault| fault.of(&shown(node)))?;
    let after = node.rect();
    let fits = |rect: Rect| {
        let (_, high) = text_size(node.content());
        node.kind() != NodeKind::Text || high <= rect.height || rect.width > 400
    };
    let too_small = change.contains_key("text") && after.is_some_and(|rect| !fits(rect));
    if let (true, Some(before), Some(after)) = (takes_along, before, after) {
        let by = (after.x - before.x, after.y - before.y);
        if by != (0, 0) {
            move_members(canvas, &parents, at, by);
        }
    }
    Ok(too_small)
}

fn move_members(canvas: &mut Canvas, parents: &[Option<usize>], group: usize, by: (i64, i64)) {
    for (at, node) in canvas.nodes.iter_mut().enumerate() {
        let is_inside = super::containment::ancestors(parents, at).any(|around| around == group);
        if let (true, Some(rect)) = (is_inside, node.rect()) {
            node.set_rect(Rect { x: rect.x + by.0, y: rect.y + by.1, ..rect });
        }
    }
}

fn update_edge(canvas: &mut Canvas, at: usize, change: &Map<String, Value>) -> Result<(), CanvasError> {
    let Some(edge) = canvas.edges.get_mut(at) else { return Ok(()) };
    apply(&mut edge.fields, change);
    check_edge(&edge.fields).map_err(|fault| fault.of(&format!("edge `{}`", edge.id())))?;
    for end in [edge.from().to_owned(), edge.to().to_owned()] {
        let moved = change.contains_key("fromNode") || change.contains_key("toNode");
        if moved && canvas.node(&end).is_none() {
            return Err(canvas.no_node(&end));
        }
    }
    Ok(())
}

fn apply(fields: &mut Map<String, Value>, change: &Map<String, Value>) {
    for (key, value) in change {
        match value {
            Value::Null => drop(fields.shift_remove(key)),
            value => drop(fields.insert(key.clone(), value.clone())),
        }
    }
}

/// Removes nodes with their edges, and edges. Members of a removed group stay.
pub fn remove(canvas: &mut Canvas, ids: &[String]) -> Removed {
    let wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let mut removed = Removed::default();
    canvas.nodes.retain(|node| {
        let goes = wanted.contains(node.id());
        if goes {
            removed.nodes.push(node.id().to_owned());
        }
        !goes
    });
    let gone: HashSet<String> = removed.nodes.iter().cloned().collect();
    canvas.edges.retain(|edge| {
        let goes = wanted.contains(edge.id()) || gone.contains(edge.from()) || gone.contains(edge.to());
        if goes {
            removed.edges.push(edge.id().to_owned());
        }
        !goes
    });
    let known: HashSet<&String> = removed.nodes.iter().chain(&removed.edges).collect();
    let mut seen = HashSet::new();
    let unknown = ids.iter().filter(|id| !known.contains(id) && seen.insert(*id));
    removed.unknown = unknown.cloned().collect();
    removed
}

/// Adds edges between nodes that are there.
pub fn connect(canvas: &mut Canvas, new: &[NewEdge]) -> Result<Added, CanvasError> {
    if canvas.edges.len() + new.len() > MAX_EDGES {
        return Err(CanvasError::Refused(format!("a canvas has at most {MAX_EDGES} edges")));
    }
    let mut ids = Ids::of(canvas);
    let mut added = Added::default();
    let mut made = Vec::with_capacity(new.len());
    let index = canvas.index();
    for wish in new {
        for end in [&wish.from, &wish.to] {
            if !index.contains_key(end.as_str()) {
                return Err(canvas.no_node(end));
            }
        }
        let id = match &wish.id {
            Some(id) => ids.take(id)?,
            None => ids.made_from(&format!("{}-{}", wish.from, wish.to)),
        };
        added.ids.push(id.clone());
        made.push(edge(wish, id)?);
    }
    canvas.edges.extend(made);
    Ok(added)
}

fn edge(wish: &NewEdge, id: String) -> Result<Edge, CanvasError> {
    let mut fields = Map::new();
    let of = format!("edge `{id}`");
    fields.insert("id".into(), id.into());
    let given = [
        ("fromNode", Some(&wish.from)),
        ("fromSide", wish.from_side.as_ref()),
        ("fromEnd", wish.from_end.as_ref()),
        ("toNode", Some(&wish.to)),
        ("toSide", wish.to_side.as_ref()),
        ("toEnd", wish.to_end.as_ref()),
        ("color", wish.color.as_ref()),
        ("label", wish.label.as_ref()),
    ];
    for (key, value) in given {
        if let Some(value) = value {
            fields.insert(key.into(), value.as_str().into());
        }
    }
    check_edge(&fields).map_err(|fault| fault.of(&of))?;
    Ok(Edge { fields })
}

impl Fault {
    fn of(self, of: &str) -> CanvasError {
        CanvasError::Value { of: of.to_owned(), field: self.field.to_owned(), problem: self.problem }
    }
}

fn shown(node: &Node) -> String {
    format!("node `{}`", node.id())
}

/// Models write `"10"` and `10.0` for ten.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    use serde::de::Error as _;
    let value = Option::<Value>::deserialize(deserializer)?;
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let read = match &value {
                Value::String(text) => {
                    text.trim().parse::<f64>().ok().and_then(|number| super::model::whole(&number.into()))
                }
                value => super::model::whole(value),
            };
            read.map(Some).ok_or_else(|| D::Error::custom(format!("expected a number, found {value}")))
        }
    }
}
