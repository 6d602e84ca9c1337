//! A group around nodes. Who is in a group is decided by place alone, so a group must not catch what it was not asked to.

use super::containment::{ancestors, parents};
use super::error::CanvasError;
use super::ids::Ids;
use super::layout::{Direction, Wish, arrange};
use super::measure::{LABEL, text_size};
use super::model::{Canvas, MAX_NODES, Node, Rect};
use super::parse::check_node;
use serde::Deserialize;
use serde_json::Map;
use std::collections::HashSet;

/// A group to make.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewGroup {
    pub ids: Vec<String>,
    pub id: Option<String>,
    pub label: Option<String>,
    pub color: Option<String>,
    pub padding: Option<u32>,
    /// Lays the whole canvas out anew when something is in the way.
    #[serde(default)]
    pub arrange: bool,
}

/// More than this is not padding.
const WIDEST_PADDING: u32 = 1000;

/// Makes the group and gives its id.
pub fn group(canvas: &mut Canvas, new: &NewGroup) -> Result<String, CanvasError> {
    if canvas.nodes.len() >= MAX_NODES {
        return Err(CanvasError::Refused(format!("a canvas has at most {MAX_NODES} nodes")));
    }
    let members = members(canvas, new)?;
    let parents = parents(canvas);
    // Members of members come along with them.
    let tops: Vec<usize> = members
        .iter()
        .copied()
        .filter(|at| !ancestors(&parents, *at).any(|around| members.contains(&around)))
        .collect();
    let outer = tops.first().and_then(|at| parents.get(*at).copied().flatten());
    if tops.iter().any(|at| parents.get(*at).copied().flatten() != outer) {
        return Err(CanvasError::Refused(
            "the nodes lie in different groups; a group can only be made of nodes in the same one".into(),
        ));
    }
    let frame = frame(canvas, &tops, new);
    let caught = caught(canvas, &parents, &members, &tops, frame);
    if !caught.is_empty() && !new.arrange {
        return Err(CanvasError::Refused(format!(
            "{} would be caught in the group or cut by its border; name them too, move them with canvas-update, or \
             set `arrange` to lay the whole canvas out with the new group",
            caught.join(", ")
        )));
    }
    let node = node(canvas, new, frame)?;
    let id = node.id().to_owned();
    // Further back than its members, or it would cover them.
    let at = members.iter().min().copied().unwrap_or(0);
    let at = outer.map_or(at, |outer| at.max(outer + 1)).min(canvas.nodes.len());
    canvas.nodes.insert(at, node);
    if !caught.is_empty() {
        let moved = |old: usize| if old >= at { old + 1 } else { old };
        let mut forest: Vec<Option<usize>> = parents.iter().map(|parent| parent.map(moved)).collect();
        forest.insert(at, outer.map(moved));
        for top in &tops {
            if let Some(parent) = forest.get_mut(moved(*top)) {
                *parent = Some(at);
            }
        }
        arrange(canvas, &forest, &Wish { direction: Direction::of(canvas), ..Wish::default() });
    }
    Ok(id)
}

fn members(canvas: &Canvas, new: &NewGroup) -> Result<HashSet<usize>, CanvasError> {
    if new.ids.is_empty() {
        return Err(CanvasError::Refused("`ids` is empty; name the nodes to group".into()));
    }
    let index = canvas.index();
    let found = new.ids.iter().map(|id| match index.get(id.as_str()) {
        Some(at) if canvas.nodes.get(*at).and_then(Node::rect).is_some() => Ok(*at),
        Some(_) => Err(CanvasError::Refused(format!("`{id}` has no place, so it cannot be grouped"))),
        None => Err(canvas.no_node(id)),
    });
    found.collect()
}

fn frame(canvas: &Canvas, tops: &[usize], new: &NewGroup) -> Rect {
    let rects = tops.iter().filter_map(|at| canvas.nodes.get(*at)?.rect());
    let padding = i64::from(new.padding.unwrap_or(20).min(WIDEST_PADDING));
    let mut frame = Rect::around(rects).unwrap_or_default().grown(padding);
    #[expect(clippy::cast_possible_truncation, reason = "a small constant")]
    let label = LABEL as i64;
    if new.label.is_some() {
        frame.y -= label;
        frame.height += label;
    }
    let wide = new.label.as_deref().map_or(0, |label| text_size(label).0);
    frame.width = frame.width.max(wide);
    frame
}

/// Names of what the frame would wrongly contain or cut, and of groups it would stick out of.
fn caught(
    canvas: &Canvas,
    parents: &[Option<usize>],
    members: &HashSet<usize>,
    tops: &[usize],
    frame: Rect,
) -> Vec<String> {
    let around: HashSet<usize> = tops.first().map(|at| ancestors(parents, *at).collect()).unwrap_or_default();
    let is_in_the_way = |at: usize, rect: Rect| {
        if around.contains(&at) {
            return !rect.contains(frame) || rect == frame;
        }
        let is_inside = members.contains(&at) || ancestors(parents, at).any(|outer| members.contains(&outer));
        !is_inside && (rect.overlaps(frame) || frame.contains(rect))
    };
    let nodes = canvas.nodes.iter().enumerate();
    let found = nodes.filter(|(at, node)| node.rect().is_some_and(|rect| is_in_the_way(*at, rect)));
    found.map(|(_, node)| format!("`{}`", node.id())).take(20).collect()
}

fn node(canvas: &Canvas, new: &NewGroup, frame: Rect) -> Result<Node, CanvasError> {
    let mut ids = Ids::of(canvas);
    let id = match &new.id {
        Some(id) => ids.take(id)?,
        None => ids.made_from(new.label.as_deref().unwrap_or("group")),
    };
    let mut fields = Map::new();
    fields.insert("id".into(), id.clone().into());
    fields.insert("type".into(), "group".into());
    for (key, value) in [("label", &new.label), ("color", &new.color)] {
        if let Some(value) = value {
            fields.insert(key.into(), value.as_str().into());
        }
    }
    let mut node = Node { fields };
    node.set_rect(frame);
    check_node(&node.fields).map_err(|fault| CanvasError::Value {
        of: format!("group `{id}`"),
        field: fault.field.into(),
        problem: fault.problem,
    })?;
    Ok(node)
}
