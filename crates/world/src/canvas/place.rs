//! Room for new nodes: where nothing is yet, or where room is made inside a group by moving what lies below.

use super::containment::{ancestors, parents};
use super::measure::LABEL;
use super::model::{Canvas, NodeKind, Rect};

/// Between nodes that were placed without a wish.
pub const GAP: i64 = 40;
/// Between a group's border and its members.
pub const PADDING: i64 = 20;
/// New nodes fill rows of at least this width.
const ROW: i64 = 1200;
/// Places that are tried beside a node, in each direction.
const TRIES: i64 = 24;

/// Places for these sizes in rows below everything that is there.
pub fn below(canvas: &Canvas, sizes: &[(i64, i64)]) -> Vec<Rect> {
    let all = Rect::around(canvas.nodes.iter().filter_map(super::model::Node::rect));
    let (left, top) = all.map_or((0, 0), |all| (all.x, all.bottom() + GAP));
    rows((left, top), all.map_or(ROW, |all| all.width.max(ROW)), sizes)
}

/// Rows from this corner, each as high as its highest.
pub fn rows((left, top): (i64, i64), wide: i64, sizes: &[(i64, i64)]) -> Vec<Rect> {
    let (mut x, mut y, mut high) = (left, top, 0);
    let mut places = Vec::with_capacity(sizes.len());
    for (width, height) in sizes.iter().copied() {
        if x > left && x + width > left + wide {
            (x, y, high) = (left, y + high + GAP, 0);
        }
        places.push(Rect { x, y, width, height });
        x += width + GAP;
        high = high.max(height);
    }
    places
}

/// The nearest free place beside a node: right, below, left, above, then further. In the groups that the node is in.
pub fn beside(canvas: &Canvas, near: Rect, (width, height): (i64, i64)) -> Option<Rect> {
    let (mut around, mut taken) = (Vec::new(), Vec::new());
    for node in &canvas.nodes {
        let Some(rect) = node.rect() else { continue };
        let is_around = node.kind() == NodeKind::Group && rect.contains(near) && rect != near;
        if is_around { around.push(rect) } else { taken.push(rect) }
    }
    let free = |place: &Rect| {
        let claimed = place.grown(GAP / 2);
        around.iter().all(|group| group.contains(*place))
            && !taken.iter().any(|other| other.overlaps(claimed))
    };
    let step = |distance: i64| {
        let (right, bottom) = (near.right() + GAP, near.bottom() + GAP);
        let (left, top) = (near.x - GAP - width, near.y - GAP - height);
        let (across, down) = (distance * (width + GAP), distance * (height + GAP));
        [(right, near.y + down), (near.x + across, bottom), (left, near.y + down), (near.x + across, top)]
    };
    (0..TRIES).flat_map(step).map(|(x, y)| Rect { x, y, width, height }).find(free)
}

/// Places for these sizes inside a group, below its members. What lies below moves down, the group and those around it
/// grow: a stretch of the whole plane, so nothing that was apart touches afterwards.
pub fn inside(canvas: &mut Canvas, group: usize, sizes: &[(i64, i64)]) -> Vec<Rect> {
    let Some(frame) = canvas.nodes.get(group).and_then(super::model::Node::rect) else { return Vec::new() };
    let parents = parents(canvas);
    let members = canvas.nodes.iter().enumerate().filter(|(at, _)| parents.get(*at) == Some(&Some(group)));
    let lowest = members.filter_map(|(_, node)| Some(node.rect()?.bottom())).max();
    #[expect(clippy::cast_possible_truncation, reason = "a small constant")]
    let label = LABEL as i64;
    let (left, top) = (frame.x + PADDING, lowest.map_or(frame.y + label, |lowest| lowest + GAP));
    let widest = sizes.iter().map(|(width, _)| *width).max().unwrap_or(0);
    let places = rows((left, top), (frame.width - 2 * PADDING).max(widest), sizes);
    let Some(used) = Rect::around(places.iter().copied()) else { return places };
    let (sideways, downwards) =
        (used.right() + PADDING - frame.right(), used.bottom() + PADDING - frame.bottom());
    if sideways > 0 {
        stretch(canvas, &parents, group, Axis::Across { from: frame.right(), by: sideways });
    }
    if downwards > 0 {
        stretch(canvas, &parents, group, Axis::Down { from: frame.bottom(), by: downwards });
    }
    places
}

#[derive(Clone, Copy)]
enum Axis {
    Across { from: i64, by: i64 },
    Down { from: i64, by: i64 },
}

/// Widens the plane at a line: what begins past it moves, groups that reach across it grow, and so does the group
/// itself, whose border is the line.
fn stretch(canvas: &mut Canvas, parents: &[Option<usize>], group: usize, axis: Axis) {
    let around: Vec<usize> = ancestors(parents, group).collect();
    for (at, node) in canvas.nodes.iter_mut().enumerate() {
        let Some(mut rect) = node.rect() else { continue };
        let is_group = node.kind() == NodeKind::Group;
        let grows = at == group || around.contains(&at);
        let (start, size, from, by) = match axis {
            Axis::Across { from, by } => (&mut rect.x, &mut rect.width, from, by),
            Axis::Down { from, by } => (&mut rect.y, &mut rect.height, from, by),
        };
        if grows || (is_group && *start < from && *start + *size > from) {
            *size += by;
        } else if *start >= from {
            *start += by;
        }
        node.set_rect(rect);
    }
}
