//! Which node lies in which group. The format has no field for it: a node belongs to the smallest group around it.

use super::model::{Canvas, NodeKind, Rect};
use std::cmp::Reverse;

/// For each node the group it is directly in, as positions in `nodes`. Never a cycle.
pub fn parents(canvas: &Canvas) -> Vec<Option<usize>> {
    let mut groups: Vec<(i128, Reverse<usize>, Rect)> = Vec::new();
    for (at, node) in canvas.nodes.iter().enumerate() {
        if node.kind() == NodeKind::Group
            && let Some(rect) = node.rect()
        {
            groups.push((rect.area(), Reverse(at), rect));
        }
    }
    // Of two groups with the same place the one further back is the outer one.
    groups.sort_by_key(|(area, at, _)| (*area, *at));
    let around = |at: usize, rect: Rect, is_group: bool| {
        let own = (rect.area(), Reverse(at));
        let first = groups.partition_point(|(area, other, _)| match is_group {
            true => (*area, *other) <= own,
            false => *area < rect.area(),
        });
        let outer = groups.get(first..)?.iter().find(|(_, _, group)| group.contains(rect));
        outer.map(|(_, other, _)| other.0)
    };
    let parent = |(at, node): (usize, &super::model::Node)| {
        node.rect().and_then(|rect| around(at, rect, node.kind() == NodeKind::Group))
    };
    canvas.nodes.iter().enumerate().map(parent).collect()
}

/// The groups around a node, from the inside out.
pub fn ancestors(parents: &[Option<usize>], at: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(parents.get(at).copied().flatten(), |at| parents.get(*at).copied().flatten())
}
