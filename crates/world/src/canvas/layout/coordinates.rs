//! Where the items of each layer stand: near the middle of what they are connected to, never on top of each other.

use super::order::Layers;

/// Between two nodes of a layer, and beside an edge that passes.
pub const GAP: f64 = 40.0;
const PASSING_GAP: f64 = 30.0;
/// Long edges should be straight, rather than nodes in the middle: nothing else keeps them off the nodes they pass.
const PASSING_WEIGHT: f64 = 8.0;
const ENDING_WEIGHT: f64 = 3.0;
const ROUNDS: usize = 6;

/// The start of each item across the layers. `sizes`: of nodes; items past them have none.
pub fn across(layers: &Layers, sizes: &[f64]) -> Vec<f64> {
    let count = layers.before.len();
    let size = |item: usize| sizes.get(item).copied().unwrap_or(0.0);
    let mut middle = vec![0.0; count];
    for layer in &layers.layers {
        let mut edge = 0.0;
        for (place, item) in layer.iter().enumerate() {
            edge += if place == 0 { 0.0 } else { gap(layer, place, sizes.len()) };
            if let Some(slot) = middle.get_mut(*item) {
                *slot = edge + size(*item) / 2.0;
            }
            edge += size(*item);
        }
    }
    for round in 0..ROUNDS {
        for at in 1..layers.layers.len() {
            align(layers, sizes, &mut middle, at, Near::Before);
        }
        for at in (0..layers.layers.len().saturating_sub(1)).rev() {
            align(layers, sizes, &mut middle, at, Near::After);
        }
        if round + 1 == ROUNDS {
            for at in 0..layers.layers.len() {
                align(layers, sizes, &mut middle, at, Near::Both);
            }
        }
    }
    middle.iter().enumerate().map(|(item, middle)| middle - size(item) / 2.0).collect()
}

fn gap(layer: &[usize], place: usize, nodes: usize) -> f64 {
    let passes = |place: usize| layer.get(place).is_some_and(|item| *item >= nodes);
    if passes(place) || passes(place - 1) { PASSING_GAP } else { GAP }
}

#[derive(Clone, Copy, PartialEq)]
enum Near {
    Before,
    After,
    Both,
}

/// Neighbours that stand shoulder to shoulder.
struct Pool {
    sum: f64,
    weight: f64,
    members: usize,
}

impl Pool {
    fn mean(&self) -> f64 {
        self.sum / self.weight
    }
}

/// Least squares with the neighbours' means as wishes, by pooling those that would overlap.
fn align(layers: &Layers, sizes: &[f64], middle: &mut [f64], at: usize, near: Near) {
    let Some(layer) = layers.layers.get(at) else { return };
    let size = |item: usize| sizes.get(item).copied().unwrap_or(0.0);
    let passes = |item: usize| item >= sizes.len();
    let mut pools: Vec<Pool> = Vec::with_capacity(layer.len());
    let mut offsets = Vec::with_capacity(layer.len());
    let mut offset = 0.0;
    for (place, item) in layer.iter().enumerate() {
        if let Some(previous) = place.checked_sub(1).and_then(|place| layer.get(place)) {
            offset += size(*previous) / 2.0 + gap(layer, place, sizes.len()) + size(*item) / 2.0;
        }
        offsets.push(offset);
        let before = layers.before.get(*item).filter(|_| near != Near::After);
        let after = layers.after.get(*item).filter(|_| near != Near::Before);
        let (mut sum, mut weight) = (0.0, 0.0);
        for other in before.into_iter().chain(after).flatten() {
            let straight = match (passes(*item), passes(*other)) {
                (true, true) => PASSING_WEIGHT,
                (false, false) => 1.0,
                _ => ENDING_WEIGHT,
            };
            sum += middle.get(*other).copied().unwrap_or(0.0) * straight;
            weight += straight;
        }
        let own = middle.get(*item).copied().unwrap_or(0.0);
        let (wished, weight) = if weight > 0.0 { (sum / weight, weight) } else { (own, 0.05) };
        pools.push(Pool { sum: (wished - offset) * weight, weight, members: 1 });
        while let [.., one, last] = pools.as_mut_slice()
            && one.mean() >= last.mean()
        {
            one.sum += last.sum;
            one.weight += last.weight;
            one.members += last.members;
            pools.pop();
        }
    }
    let starts = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean(), pool.members));
    for ((item, offset), start) in layer.iter().zip(offsets).zip(starts) {
        if let Some(slot) = middle.get_mut(*item) {
            *slot = start + offset;
        }
    }
}
