//! Which box stands on which layer, and in which order, so that few edges cross.

use super::{Graph, Item, MAX_SEGMENTS};

/// Boxes and passing edges by layer, and the pieces of edges between neighbouring layers.
#[derive(Clone, Debug, Default)]
pub struct Layered {
    pub layers: Vec<Vec<Item>>,
    /// Between layer `n` and `n + 1`: positions in the one and in the other.
    pub gaps: Vec<Vec<(usize, usize)>>,
}

/// Rounds of sorting by neighbours; more change nothing in graphs of this size.
const ROUNDS: usize = 8;

/// `None`: the graph has a cycle, or edges beyond what can be drawn.
pub fn assign(graph: &Graph) -> Option<Layered> {
    let layer_of = depths(graph)?;
    let count = layer_of.iter().max().map_or(0, |deepest| deepest + 1);
    let mut layers: Vec<Vec<Item>> = vec![Vec::new(); count];
    for (number, layer) in layer_of.iter().enumerate() {
        layers.get_mut(*layer)?.push(Item::Box(number));
    }
    // The edges of one box share their way down, so that a box which everything needs is one line and not ten.
    let depth = |number: usize| layer_of.get(number).copied();
    for source in 0..graph.boxes.len() {
        let targets = graph.edges.iter().filter(|(from, _)| *from == source);
        let deepest = targets.filter_map(|(_, to)| depth(*to)).max();
        let (Some(from), Some(deepest)) = (depth(source), deepest) else { continue };
        for layer in layers.get_mut(from + 1..deepest).into_iter().flatten() {
            layer.push(Item::Pass(source));
        }
    }
    let mut links: Vec<Vec<(Item, Item)>> = vec![Vec::new(); count.saturating_sub(1)];
    for source in 0..graph.boxes.len() {
        let Some(from) = depth(source) else { continue };
        let at = |layer: usize| if layer == from { Item::Box(source) } else { Item::Pass(source) };
        let mut targets: Vec<usize> =
            graph.edges.iter().filter(|(from, _)| *from == source).map(|(_, to)| *to).collect();
        targets.sort_unstable();
        targets.dedup();
        let deepest = targets.iter().filter_map(|to| depth(*to)).max().unwrap_or(from);
        for layer in from + 1..deepest {
            links.get_mut(layer - 1)?.push((at(layer - 1), Item::Pass(source)));
        }
        for target in targets {
            let layer = depth(target)?.checked_sub(1)?;
            links.get_mut(layer)?.push((at(layer), Item::Box(target)));
        }
    }
    if links.iter().map(Vec::len).sum::<usize>() > MAX_SEGMENTS {
        return None;
    }
    order(&mut layers, &links);
    let gaps = gaps(&layers, &links);
    Some(Layered { layers, gaps })
}

/// Longest way from a box that waits for nothing.
fn depths(graph: &Graph) -> Option<Vec<usize>> {
    let count = graph.boxes.len();
    let mut waits = vec![0usize; count];
    for (from, to) in &graph.edges {
        if *from >= count {
            return None;
        }
        *waits.get_mut(*to)? += 1;
    }
    let mut depth = vec![0usize; count];
    let mut free: Vec<usize> = (0..count).filter(|at| waits.get(*at) == Some(&0)).collect();
    let mut done = 0;
    while let Some(at) = free.pop() {
        done += 1;
        let below = depth.get(at).copied()? + 1;
        for (_, to) in graph.edges.iter().filter(|(from, _)| *from == at) {
            let deeper = depth.get_mut(*to)?;
            *deeper = below.max(*deeper);
            let left = waits.get_mut(*to)?;
            *left -= 1;
            if *left == 0 {
                free.push(*to);
            }
        }
    }
    (done == count).then_some(depth)
}

/// Sorts every layer by the mean place of its neighbours, down and up in turn, and keeps the best seen.
fn order(layers: &mut Vec<Vec<Item>>, links: &[Vec<(Item, Item)>]) {
    let mut best = layers.clone();
    let mut fewest = crossings(layers, links);
    for round in 0..ROUNDS {
        if fewest == 0 {
            break;
        }
        let downwards = round % 2 == 0;
        let count = layers.len();
        for step in 1..count {
            let (at, beside, gap) = if downwards {
                (step, step - 1, step - 1)
            } else {
                (count - 1 - step, count - step, count - 1 - step)
            };
            let Some(fixed) = layers.get(beside).cloned() else { continue };
            let Some(links) = links.get(gap) else { continue };
            let mean = |item: &Item| {
                let neighbours = links.iter().filter_map(|(above, below)| match downwards {
                    true => (below == item).then_some(above),
                    false => (above == item).then_some(below),
                });
                let places: Vec<usize> =
                    neighbours.filter_map(|near| fixed.iter().position(|other| other == near)).collect();
                // In thousandths: the order must not hang on rounding.
                places.iter().sum::<usize>().saturating_mul(1000).checked_div(places.len())
            };
            if let Some(layer) = layers.get_mut(at) {
                let mut keyed: Vec<(usize, Item)> = layer
                    .iter()
                    .enumerate()
                    .map(|(place, item)| (mean(item).unwrap_or(place * 1000), *item))
                    .collect();
                keyed.sort_by_key(|(key, _)| *key);
                *layer = keyed.into_iter().map(|(_, item)| item).collect();
            }
        }
        let now = crossings(layers, links);
        if now < fewest {
            (fewest, best) = (now, layers.clone());
        }
    }
    *layers = best;
}

fn gaps(layers: &[Vec<Item>], links: &[Vec<(Item, Item)>]) -> Vec<Vec<(usize, usize)>> {
    let place = |layer: usize, item: &Item| layers.get(layer)?.iter().position(|other| other == item);
    links
        .iter()
        .enumerate()
        .map(|(at, links)| {
            links
                .iter()
                .filter_map(|(above, below)| Some((place(at, above)?, place(at + 1, below)?)))
                .collect()
        })
        .collect()
}

fn crossings(layers: &[Vec<Item>], links: &[Vec<(Item, Item)>]) -> usize {
    let crosses = |(a, b): &(usize, usize), (c, d): &(usize, usize)| (a < c && b > d) || (a > c && b < d);
    gaps(layers, links)
        .iter()
        .map(|gap| {
            let pairs = gap
                .iter()
                .enumerate()
                .map(|(at, one)| gap.iter().skip(at + 1).filter(|other| crosses(one, other)).count());
            pairs.sum::<usize>()
        })
        .sum()
}
