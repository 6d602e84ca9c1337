//! Pieces that no edge connects, side by side in rows.

use super::Direction;
use super::layered::{self, Graph};
use crate::canvas::model::Rect;
use std::collections::HashMap;

const GAP: i64 = 60;
/// Pictures about this much wider than high fill a screen.
const SHAPE: f64 = 1.6;

/// Places of all nodes, none on top of another.
pub fn place(graph: &Graph, direction: Direction) -> Vec<Rect> {
    let pieces = pieces(graph);
    let laid: Vec<(Vec<usize>, Vec<Rect>)> = pieces
        .into_iter()
        .map(|(members, piece)| {
            let rects = layered::place(&piece, direction);
            (members, rects)
        })
        .collect();
    let boxes: Vec<Rect> =
        laid.iter().map(|(_, rects)| Rect::around(rects.iter().copied()).unwrap_or_default()).collect();
    let mut places = vec![Rect::default(); graph.sizes.len()];
    for ((members, rects), corner) in laid.iter().zip(shelves(&boxes)) {
        for (at, rect) in members.iter().zip(rects) {
            if let Some(place) = places.get_mut(*at) {
                *place = Rect { x: rect.x + corner.0, y: rect.y + corner.1, ..*rect };
            }
        }
    }
    places
}

/// Corners for boxes in rows, in their order.
fn shelves(boxes: &[Rect]) -> Vec<(i64, i64)> {
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
    let area: f64 = boxes.iter().map(|one| (one.width + GAP) as f64 * (one.height + GAP) as f64).sum();
    #[expect(clippy::cast_possible_truncation, reason = "the square root of an area of sizes")]
    let wide = ((area * SHAPE).sqrt() as i64).max(boxes.iter().map(|one| one.width).max().unwrap_or(0));
    let (mut x, mut y, mut high) = (0, 0, 0);
    let mut corners = Vec::with_capacity(boxes.len());
    for one in boxes {
        if x > 0 && x + one.width > wide {
            (x, y, high) = (0, y + high + GAP, 0);
        }
        corners.push((x, y));
        x += one.width + GAP;
        high = high.max(one.height);
    }
    corners
}

/// Connected pieces: those with edges in the order of the file, then single nodes.
fn pieces(graph: &Graph) -> Vec<(Vec<usize>, Graph)> {
    let count = graph.sizes.len();
    let mut leader: Vec<usize> = (0..count).collect();
    for (from, to, _) in &graph.edges {
        let (from, to) = (find(&mut leader, *from), find(&mut leader, *to));
        if let Some(slot) = leader.get_mut(from.max(to)) {
            *slot = from.min(to);
        }
    }
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let mut pieces: Vec<(Vec<usize>, Graph)> = Vec::new();
    let mut places = vec![(0, 0); count];
    for at in 0..count {
        let lead = find(&mut leader, at);
        let number = *numbers.entry(lead).or_insert_with(|| {
            pieces.push((Vec::new(), Graph::default()));
            pieces.len() - 1
        });
        let (Some((members, piece)), Some(place)) = (pieces.get_mut(number), places.get_mut(at)) else {
            continue;
        };
        *place = (number, members.len());
        members.push(at);
        piece.sizes.push(graph.sizes.get(at).copied().unwrap_or_default());
    }
    for (from, to, label) in &graph.edges {
        let (Some((number, from)), Some((_, to))) = (places.get(*from), places.get(*to)) else { continue };
        if let Some((_, piece)) = pieces.get_mut(*number) {
            piece.edges.push((*from, *to, *label));
        }
    }
    pieces.sort_by_key(|(members, _)| members.len() == 1);
    pieces
}

fn find(leader: &mut [usize], at: usize) -> usize {
    let mut at = at;
    while let Some(next) = leader.get(at).copied()
        && next != at
    {
        let further = leader.get(next).copied().unwrap_or(next);
        if let Some(slot) = leader.get_mut(at) {
            *slot = further;
        }
        at = further;
    }
    at
}
