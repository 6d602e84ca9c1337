//! At which sides edges leave and arrive: along the direction, and around the outside when they lead back.

use super::Direction;
use crate::canvas::containment::ancestors;
use crate::canvas::model::{Canvas, Node, Rect, Side};
use std::collections::HashMap;

pub fn set(canvas: &mut Canvas, forest: &[Option<usize>], part: &[bool], direction: Direction) {
    let index: HashMap<String, usize> =
        canvas.nodes.iter().enumerate().map(|(at, node)| (node.id().to_owned(), at)).collect();
    let nodes = &canvas.nodes;
    let rect = |at: usize| nodes.get(at).and_then(Node::rect);
    for edge in &mut canvas.edges {
        let (Some(from), Some(to)) = (index.get(edge.from()), index.get(edge.to())) else { continue };
        let moved = |at: usize| part.get(at).copied().unwrap_or(false);
        if !moved(*from) && !moved(*to) {
            continue;
        }
        let is_nested = ancestors(forest, *from).any(|outer| outer == *to)
            || ancestors(forest, *to).any(|outer| outer == *from);
        if let (Some(from), Some(to), false) = (rect(*from), rect(*to), is_nested) {
            let (leaves, arrives) = between(from, to, direction);
            edge.set_sides(leaves, arrives);
        }
    }
}

fn between(from: Rect, to: Rect, direction: Direction) -> (Side, Side) {
    let (right, left) = (to.x >= from.right(), from.x >= to.right());
    let (below, above) = (to.y >= from.bottom(), from.y >= to.bottom());
    match direction {
        Direction::Right if right => (Side::Right, Side::Left),
        Direction::Left if left => (Side::Left, Side::Right),
        Direction::Down if below => (Side::Bottom, Side::Top),
        Direction::Up if above => (Side::Top, Side::Bottom),
        // Back, against the direction: around the outside.
        Direction::Right | Direction::Left if right || left => (Side::Bottom, Side::Bottom),
        Direction::Down | Direction::Up if below || above => (Side::Right, Side::Right),
        _ if below => (Side::Bottom, Side::Top),
        _ if above => (Side::Top, Side::Bottom),
        _ if right => (Side::Right, Side::Left),
        _ if left => (Side::Left, Side::Right),
        // One on top of the other, or a loop.
        _ => (Side::Right, Side::Bottom),
    }
}
