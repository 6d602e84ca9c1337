//! The order within each layer, so that few edges cross.

/// Nodes and the places where long edges pass, layer by layer, with the pieces of edges between neighbouring layers.
pub struct Layers {
    /// Item numbers in their order; items below `nodes` are nodes, the others pass.
    pub layers: Vec<Vec<usize>>,
    /// For each item its neighbours on the layer before and after.
    pub before: Vec<Vec<usize>>,
    pub after: Vec<Vec<usize>>,
}

const ROUNDS: usize = 24;
/// Sweeps over more pieces of edges than this together are not worth their time.
const WORK: usize = 1_500_000;
/// Swapping neighbours helps small pictures, which people look at closely.
const SMALL: usize = 4000;

pub fn reduce_crossings(layers: &mut Layers) {
    start(layers);
    let pieces: usize = layers.after.iter().map(Vec::len).sum();
    let mut best = layers.layers.clone();
    let mut fewest = crossings(layers);
    let mut stale = 0;
    for round in 0..(WORK / (pieces + 1)).clamp(2, ROUNDS) {
        if fewest == 0 || stale > 5 {
            break;
        }
        sweep(layers, round % 2 == 0);
        if pieces < SMALL {
            swap_neighbours(layers);
        }
        let now = crossings(layers);
        stale += 1;
        if now < fewest {
            (fewest, stale) = (now, 0);
            best.clone_from(&layers.layers);
        }
    }
    layers.layers = best;
}

/// In the order in which a walk along the edges meets them: a tree has no crossings then.
fn start(layers: &mut Layers) {
    let count = layers.before.len();
    let mut met = vec![usize::MAX; count];
    let mut number = 0;
    let roots: Vec<usize> = layers.layers.iter().flatten().copied().collect();
    for root in roots {
        let mut stack = vec![root];
        while let Some(at) = stack.pop() {
            match met.get_mut(at) {
                Some(met) if *met == usize::MAX => *met = number,
                _ => continue,
            }
            number += 1;
            stack.extend(layers.after.get(at).into_iter().flatten().rev());
        }
    }
    for layer in &mut layers.layers {
        layer.sort_by_key(|at| met.get(*at).copied());
    }
}

fn places(layers: &[Vec<usize>], count: usize) -> Vec<usize> {
    let mut places = vec![0; count];
    for layer in layers {
        for (place, at) in layer.iter().enumerate() {
            if let Some(slot) = places.get_mut(*at) {
                *slot = place;
            }
        }
    }
    places
}

/// Sorts each layer by the mean place of its neighbours on the layer before (or after).
fn sweep(layers: &mut Layers, forwards: bool) {
    let mut places = places(&layers.layers, layers.before.len());
    let count = layers.layers.len();
    for step in 1..count {
        let at = if forwards { step } else { count - 1 - step };
        let near = if forwards { &layers.before } else { &layers.after };
        let Some(layer) = layers.layers.get_mut(at) else { continue };
        let key = |item: usize| {
            let neighbours = near.get(item).map_or(&[][..], Vec::as_slice);
            let sum: usize = neighbours.iter().filter_map(|other| places.get(*other)).sum();
            // In whole numbers: the order must not hang on rounding.
            let own = places.get(item).copied().unwrap_or(0) * 1024;
            (sum * 1024).checked_div(neighbours.len()).unwrap_or(own)
        };
        let mut keyed: Vec<(usize, usize)> = layer.iter().map(|item| (key(*item), *item)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        for (place, (_, item)) in keyed.iter().enumerate() {
            if let Some(slot) = places.get_mut(*item) {
                *slot = place;
            }
        }
        *layer = keyed.into_iter().map(|(_, item)| item).collect();
    }
}

/// Swaps two neighbours where that saves crossings.
fn swap_neighbours(layers: &mut Layers) {
    let mut places = places(&layers.layers, layers.before.len());
    for _ in 0..4 {
        let mut improved = false;
        for layer in &mut layers.layers {
            for at in 1..layer.len() {
                let Some([one, other]) = layer.get_mut(at - 1..=at) else { continue };
                let cost = |first: usize, second: usize| {
                    [&layers.before, &layers.after]
                        .into_iter()
                        .map(|near| pair_crossings(near.get(first), near.get(second), &places))
                        .sum::<usize>()
                };
                if cost(*other, *one) < cost(*one, *other) {
                    std::mem::swap(one, other);
                    let (one, other) = (*one, *other);
                    for (item, place) in [(one, at - 1), (other, at)] {
                        if let Some(slot) = places.get_mut(item) {
                            *slot = place;
                        }
                    }
                    improved = true;
                }
            }
        }
        if !improved {
            return;
        }
    }
}

/// Crossings of the edges of two neighbours, in this order.
fn pair_crossings(first: Option<&Vec<usize>>, second: Option<&Vec<usize>>, places: &[usize]) -> usize {
    let sorted = |items: Option<&Vec<usize>>| {
        let mut found: Vec<usize> =
            items.into_iter().flatten().filter_map(|at| places.get(*at).copied()).collect();
        found.sort_unstable();
        found
    };
    let (first, second) = (sorted(first), sorted(second));
    first.iter().map(|place| second.partition_point(|other| other < place)).sum()
}

pub fn crossings(layers: &Layers) -> u64 {
    let places = places(&layers.layers, layers.before.len());
    let mut total = 0;
    for pair in layers.layers.windows(2) {
        let [one, other] = pair else { continue };
        // A tree of counts: how many earlier edges end further on.
        let mut counts = vec![0u64; other.len() + 1];
        let mut seen = 0u64;
        for item in one {
            let mut ends: Vec<usize> = layers
                .after
                .get(*item)
                .into_iter()
                .flatten()
                .filter_map(|to| places.get(*to).copied())
                .collect();
            ends.sort_unstable();
            for end in &ends {
                let (mut at, mut before) = (end + 1, 0);
                while at > 0 {
                    before += counts.get(at).copied().unwrap_or(0);
                    at &= at - 1;
                }
                total += seen - before;
            }
            for end in ends {
                seen += 1;
                let mut at = end + 1;
                while let Some(count) = counts.get_mut(at) {
                    *count += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
    }
    total
}
