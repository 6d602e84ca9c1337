//! One connected piece in layers: ranks, order, coordinates, and from them whole pixels.

use super::Direction;
use super::coordinates::across;
use super::order::{Layers, reduce_crossings};
use super::ranks::ranks;
use crate::canvas::model::Rect;

/// What is laid out: sizes of nodes, and edges with the length of their label.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub sizes: Vec<(i64, i64)>,
    pub edges: Vec<(usize, usize, f64)>,
}

/// Between two layers, without labels.
const LAYER_GAP: f64 = 80.0;
/// Longer labels are shown over two lines or cut.
const LONGEST_LABEL: f64 = 240.0;
/// Places kept free for long edges; those of more edges than this would be the largest part of the work.
const PASSES_PER_NODE: usize = 6;

/// Places beginning at the origin.
pub fn place(graph: &Graph, direction: Direction) -> Vec<Rect> {
    let count = graph.sizes.len();
    let flip =
        |(width, height): (i64, i64)| if direction.is_across() { (height, width) } else { (width, height) };
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
    let sizes: Vec<(f64, f64)> = graph
        .sizes
        .iter()
        .map(|size| flip(*size))
        .map(|(across, along)| (across as f64, along as f64))
        .collect();
    let bare: Vec<(usize, usize)> = graph.edges.iter().map(|(from, to, _)| (*from, *to)).collect();
    let ranked = ranks(count, &bare);
    let mut layers = layers(&ranked.rank, &ranked.edges);
    reduce_crossings(&mut layers);
    let widths: Vec<f64> = sizes.iter().map(|(across, _)| *across).collect();
    let starts = across(&layers, &widths);
    let along = along(&ranked.rank, graph, &sizes, direction);
    let rects = (0..count).map(|at| {
        let (wide, long) = sizes.get(at).copied().unwrap_or_default();
        let (start, thick) =
            ranked.rank.get(at).and_then(|rank| along.get(*rank)).copied().unwrap_or_default();
        // Beside each other, nodes of a column begin on one line; below each other, those of a row share their middle.
        let slack = match direction {
            Direction::Right => 0.0,
            Direction::Left => thick - long,
            Direction::Down | Direction::Up => (thick - long) / 2.0,
        };
        let (across, along) = (snapped(starts.get(at).copied().unwrap_or(0.0)), snapped(start + slack));
        let (across, along, wide, long) = (across, along, whole(wide), whole(long));
        match direction.is_across() {
            true => Rect { x: along, y: across, width: long, height: wide },
            false => Rect { x: across, y: along, width: wide, height: long },
        }
    });
    let mut rects: Vec<Rect> = rects.collect();
    let Some(area) = Rect::around(rects.iter().copied()) else { return rects };
    for rect in &mut rects {
        (rect.x, rect.y) = (rect.x - area.x, rect.y - area.y);
        match direction {
            Direction::Left => rect.x = area.width - rect.right(),
            Direction::Up => rect.y = area.height - rect.bottom(),
            Direction::Right | Direction::Down => {}
        }
    }
    rects
}

fn layers(rank: &[usize], edges: &[(usize, usize)]) -> Layers {
    let count = rank.len();
    let deepest = rank.iter().max().map_or(0, |deepest| deepest + 1);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); deepest];
    for (at, rank) in rank.iter().enumerate() {
        layers.get_mut(*rank).into_iter().for_each(|layer| layer.push(at));
    }
    let of = |at: usize| rank.get(at).copied().unwrap_or(0);
    let mut edges: Vec<(usize, usize)> = edges.to_vec();
    edges.sort_unstable();
    edges.dedup();
    // Short ones first: they are the ones that a place beside nodes helps.
    edges.sort_by_key(|(from, to)| of(*to).saturating_sub(of(*from)));
    let mut result = Layers { layers, before: vec![Vec::new(); count], after: vec![Vec::new(); count] };
    let mut free = count * PASSES_PER_NODE;
    for (from, to) in edges {
        let between = of(to).saturating_sub(of(from) + 1);
        if between > free {
            continue;
        }
        free -= between;
        let mut last = from;
        for rank in of(from) + 1..of(to) {
            let item = result.before.len();
            result.before.push(Vec::new());
            result.after.push(Vec::new());
            result.layers.get_mut(rank).into_iter().for_each(|layer| layer.push(item));
            link(&mut result, last, item);
            last = item;
        }
        link(&mut result, last, to);
    }
    result
}

fn link(layers: &mut Layers, from: usize, to: usize) {
    if let (Some(after), Some(before)) = (layers.after.get_mut(from), layers.before.get_mut(to)) {
        after.push(to);
        before.push(from);
    }
}

/// Start and thickness of each layer.
fn along(rank: &[usize], graph: &Graph, sizes: &[(f64, f64)], direction: Direction) -> Vec<(f64, f64)> {
    let deepest = rank.iter().max().map_or(0, |deepest| deepest + 1);
    let (mut thick, mut gaps) = (vec![0.0f64; deepest], vec![LAYER_GAP; deepest]);
    for (rank, (_, long)) in rank.iter().zip(sizes) {
        thick.get_mut(*rank).into_iter().for_each(|thick| *thick = thick.max(*long));
    }
    for (from, to, label) in &graph.edges {
        let layer = rank.get(*from).min(rank.get(*to)).copied().unwrap_or(0);
        let room = match (*label > 0.0, direction.is_across()) {
            (false, _) => 0.0,
            (true, true) => label.min(LONGEST_LABEL) + 60.0,
            (true, false) => LAYER_GAP + 20.0,
        };
        gaps.get_mut(layer).into_iter().for_each(|gap| *gap = gap.max(room));
    }
    let mut start = 0.0;
    let layers = thick.into_iter().zip(gaps).map(|(thick, gap)| {
        let layer = (start, thick);
        start += thick + gap;
        layer
    });
    layers.collect()
}

/// Multiples of ten are easier to read and to keep in line by hand; gaps are wide enough for the rounding.
fn snapped(number: f64) -> i64 {
    whole(number / 10.0) * 10
}

fn whole(number: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a sum of sizes of nodes; casts saturate")]
    let whole = number.round() as i64;
    whole
}
