//! Automatic layout: layers in one direction, few crossings, nothing on top of anything, groups kept together.
//!
//! A group is laid out on its own and is then one large node of the level around it; edges across its border count there
//! as edges of the group. The result depends on the file's order and structure, never on where things were, so a second
//! time changes nothing.

mod coordinates;
mod layered;
mod order;
mod pack;
mod ranks;
mod sides;

use super::containment::{ancestors, parents};
use super::error::CanvasError;
use super::measure::{LABEL, natural_size, text_size};
use super::model::{Canvas, Node, NodeKind, Rect};
use super::place::PADDING;
use layered::Graph;
use serde::Deserialize;
use std::collections::HashSet;

/// Where edges lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    #[default]
    Right,
    Down,
    Left,
    Up,
}

/// What happens to the sizes of text nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sizes {
    Keep,
    /// Those too small for their text grow.
    #[default]
    Grow,
    /// All get the size of their text.
    Fit,
}

/// What to lay out, and how.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    pub direction: Direction,
    pub sizes: Sizes,
    /// Only these nodes (and what is in those that are groups); empty: all.
    pub only: Vec<String>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arranged {
    pub nodes: usize,
    /// The area they take now.
    pub area: Rect,
}

impl Direction {
    fn is_across(self) -> bool {
        matches!(self, Self::Right | Self::Left)
    }

    /// The one in which most edges of a canvas lead already.
    pub fn of(canvas: &Canvas) -> Self {
        let index = canvas.index();
        let rect = |id: &str| index.get(id).and_then(|at| canvas.nodes.get(*at)).and_then(Node::rect);
        let mut lean = 0i64;
        for edge in &canvas.edges {
            let (Some(from), Some(to)) = (rect(edge.from()), rect(edge.to())) else { continue };
            lean += if (to.x - from.x).abs() >= (to.y - from.y).abs() { 1 } else { -1 };
        }
        if lean < 0 { Self::Down } else { Self::Right }
    }
}

/// Lays the canvas out anew, or a part of it in its place.
pub fn layout(canvas: &mut Canvas, wish: &Wish) -> Result<Arranged, CanvasError> {
    let parents = parents(canvas);
    if wish.only.is_empty() {
        return Ok(arrange(canvas, &parents, wish));
    }
    let index = canvas.index();
    let mut chosen: HashSet<usize> = HashSet::new();
    for id in &wish.only {
        chosen.insert(*index.get(id.as_str()).ok_or_else(|| canvas.no_node(id))?);
    }
    let is_part =
        |at: usize| chosen.contains(&at) || ancestors(&parents, at).any(|outer| chosen.contains(&outer));
    let part: Vec<bool> = (0..canvas.nodes.len()).map(is_part).collect();
    let mut trial = canvas.clone();
    let arranged = arrange_part(&mut trial, &parents, &part, wish);
    refuse_collisions(&trial, &parents, &part, arranged.area)?;
    *canvas = trial;
    Ok(arranged)
}

/// With the groups as they are given, wherever nodes lie now.
pub(super) fn arrange(canvas: &mut Canvas, forest: &[Option<usize>], wish: &Wish) -> Arranged {
    arrange_part(canvas, forest, &vec![true; canvas.nodes.len()], wish)
}

fn arrange_part(canvas: &mut Canvas, forest: &[Option<usize>], part: &[bool], wish: &Wish) -> Arranged {
    let is_part = |at: usize| part.get(at).copied().unwrap_or(false);
    let before = rects(canvas, part);
    let Some(corner) = Rect::around(before.iter().map(|(_, rect)| *rect)) else { return Arranged::default() };
    resize(canvas, &before, wish.sizes);
    let mut levels = Levels::new(canvas, forest, &is_part);
    levels.place(canvas, wish.direction);
    levels.settle(canvas);
    let after = rects(canvas, part);
    let area = Rect::around(after.iter().map(|(_, rect)| *rect)).unwrap_or_default();
    let by = (corner.x - area.x, corner.y - area.y);
    for (at, rect) in &after {
        if let Some(node) = canvas.nodes.get_mut(*at) {
            node.set_rect(Rect { x: rect.x + by.0, y: rect.y + by.1, ..*rect });
        }
    }
    sides::set(canvas, forest, part, wish.direction);
    Arranged { nodes: after.len(), area: Rect { x: corner.x, y: corner.y, ..area } }
}

fn rects(canvas: &Canvas, part: &[bool]) -> Vec<(usize, Rect)> {
    let nodes = canvas.nodes.iter().zip(part).enumerate().filter(|(_, (_, is_part))| **is_part);
    nodes.filter_map(|(at, (node, _))| Some((at, node.rect()?))).collect()
}

fn resize(canvas: &mut Canvas, part: &[(usize, Rect)], sizes: Sizes) {
    for (at, rect) in part {
        let Some(node) = canvas.nodes.get_mut(*at) else { continue };
        if node.kind() != NodeKind::Text {
            continue;
        }
        let (width, height) = natural_size(node);
        // Wider nodes need less height than measured, and were made so on purpose.
        let is_roomy = rect.width >= width && rect.height >= height;
        let wanted = match sizes {
            Sizes::Fit => (width, height),
            Sizes::Grow if !is_roomy => (rect.width.max(width), rect.height.max(height)),
            Sizes::Keep | Sizes::Grow => continue,
        };
        node.set_rect(Rect { width: wanted.0, height: wanted.1, ..*rect });
    }
}

fn refuse_collisions(
    canvas: &Canvas,
    parents: &[Option<usize>],
    part: &[bool],
    area: Rect,
) -> Result<(), CanvasError> {
    let first = part.iter().position(|is_part| *is_part).unwrap_or(0);
    let around: HashSet<usize> = ancestors(parents, first).collect();
    let is_in_the_way = |at: usize, rect: Rect| match around.contains(&at) {
        true => !rect.contains(area),
        false => rect.overlaps(area),
    };
    let others = canvas.nodes.iter().enumerate().filter(|(at, _)| part.get(*at) == Some(&false));
    let caught: Vec<String> = others
        .filter(|(at, node)| node.rect().is_some_and(|rect| is_in_the_way(*at, rect)))
        .map(|(_, node)| format!("`{}`", node.id()))
        .take(10)
        .collect();
    if caught.is_empty() {
        return Ok(());
    }
    Err(CanvasError::Refused(format!(
        "laid out, these nodes need {} × {} pixels and would cover or leave {}; lay out the whole canvas (without `ids`), \
         or make room with canvas-update first",
        area.width,
        area.height,
        caught.join(", ")
    )))
}

/// The nodes of each group, and of the plane itself, with the edges between them.
struct Levels {
    /// Members by group; the last is the plane.
    members: Vec<Vec<usize>>,
    /// Edges between members of the same level: from, to, the length of the label.
    edges: Vec<Vec<(usize, usize, f64)>>,
    /// Groups from the inside out, then the plane.
    order: Vec<usize>,
}

impl Levels {
    fn new(canvas: &Canvas, forest: &[Option<usize>], is_part: &dyn Fn(usize) -> bool) -> Self {
        let count = canvas.nodes.len();
        let parent = |at: usize| forest.get(at).copied().flatten().filter(|parent| is_part(*parent));
        let mut members = vec![Vec::new(); count + 1];
        let mut depths = vec![0usize; count];
        for (at, node) in canvas.nodes.iter().enumerate() {
            if !is_part(at) || node.rect().is_none() {
                continue;
            }
            let depth = std::iter::successors(parent(at), |at| parent(*at)).count();
            if let (Some(own), Some(level)) =
                (depths.get_mut(at), members.get_mut(parent(at).unwrap_or(count)))
            {
                *own = depth;
                level.push(at);
            }
        }
        let mut order: Vec<usize> =
            (0..count).filter(|at| members.get(*at).is_some_and(|m| !m.is_empty())).collect();
        order.sort_by_key(|at| std::cmp::Reverse(depths.get(*at).copied().unwrap_or(0)));
        order.push(count);
        let edges = vec![Vec::new(); count + 1];
        let mut levels = Self { members, edges, order };
        levels.lift(canvas, &depths, &parent, is_part);
        levels
    }

    /// Brings each edge to the level on which its ends, or the groups around them, stand side by side.
    fn lift(
        &mut self,
        canvas: &Canvas,
        depths: &[usize],
        parent: &dyn Fn(usize) -> Option<usize>,
        is_part: &dyn Fn(usize) -> bool,
    ) {
        let index = canvas.index();
        let depth = |at: usize| depths.get(at).copied().unwrap_or(0);
        for edge in &canvas.edges {
            let (Some(from), Some(to)) = (index.get(edge.from()), index.get(edge.to())) else { continue };
            let (mut from, mut to) = (*from, *to);
            let has_place = |at: usize| canvas.nodes.get(at).and_then(Node::rect).is_some();
            if !is_part(from) || !is_part(to) || !has_place(from) || !has_place(to) {
                continue;
            }
            while depth(from) > depth(to) {
                from = parent(from).unwrap_or(from);
            }
            while depth(to) > depth(from) {
                to = parent(to).unwrap_or(to);
            }
            while from != to && parent(from) != parent(to) {
                (from, to) = (parent(from).unwrap_or(from), parent(to).unwrap_or(to));
            }
            let level = parent(from).unwrap_or(canvas.nodes.len());
            if let Some(edges) = self.edges.get_mut(level)
                && from != to
            {
                edges.push((from, to, crate::picture::width(edge.label(), 14.0)));
            }
        }
    }

    /// Every level by itself: places relative to its own corner, groups sized around their content.
    fn place(&mut self, canvas: &mut Canvas, direction: Direction) {
        for level in &self.order {
            let (Some(members), Some(edges)) = (self.members.get(*level), self.edges.get(*level)) else {
                continue;
            };
            let rects: Vec<Rect> = members
                .iter()
                .map(|at| canvas.nodes.get(*at).and_then(Node::rect).unwrap_or_default())
                .collect();
            let position: std::collections::HashMap<usize, usize> =
                members.iter().enumerate().map(|(place, at)| (*at, place)).collect();
            let edges = edges
                .iter()
                .filter_map(|(from, to, label)| Some((*position.get(from)?, *position.get(to)?, *label)));
            let graph = Graph {
                sizes: rects.iter().map(|rect| (rect.width, rect.height)).collect(),
                edges: edges.collect(),
            };
            let places = pack::place(&graph, direction);
            let content = Rect::around(places.iter().copied()).unwrap_or_default();
            let label = canvas.nodes.get(*level).map_or(0, |group| match group.content() {
                "" => 0,
                label => text_size(label).0,
            });
            #[expect(clippy::cast_possible_truncation, reason = "a small constant")]
            let head = LABEL as i64;
            for (at, rect) in members.iter().zip(places) {
                if let Some(node) = canvas.nodes.get_mut(*at) {
                    let (x, y) = (rect.x - content.x + PADDING, rect.y - content.y + PADDING + head);
                    node.set_rect(Rect { x, y, ..rect });
                }
            }
            if let Some(group) = canvas.nodes.get_mut(*level) {
                let width = (content.width + 2 * PADDING).max(label);
                group.set_rect(Rect { x: 0, y: 0, width, height: content.height + 2 * PADDING + head });
            }
        }
    }

    /// From the outside in: what was relative to a group becomes absolute.
    fn settle(&self, canvas: &mut Canvas) {
        for level in self.order.iter().rev() {
            let Some(group) = canvas.nodes.get(*level).and_then(Node::rect) else { continue };
            for at in self.members.get(*level).into_iter().flatten() {
                if let Some(node) = canvas.nodes.get_mut(*at)
                    && let Some(rect) = node.rect()
                {
                    node.set_rect(Rect { x: rect.x + group.x, y: rect.y + group.y, ..rect });
                }
            }
        }
    }
}
