//! Columns: every box near the middle of what it is connected to, none on top of another.

use super::layers::Layered;
use super::{Graph, Item};
use crate::render::Width;

/// Where an item stands on its layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub left: usize,
    pub columns: usize,
}

impl Place {
    pub fn middle(self) -> usize {
        self.left + self.columns / 2
    }
}

/// Between two boxes.
const GAP: usize = 2;
/// A passing edge may be moved by one to either side where another line would run into it.
const PASS: usize = 3;
const ROUNDS: usize = 4;
/// Passing edges should be straight, rather than boxes in the middle.
const PASS_WEIGHT: i64 = 4;

pub fn assign(layered: &Layered, graph: &Graph, width: Width, columns: usize) -> Option<Vec<Vec<Place>>> {
    let wide = |item: &Item| match item {
        Item::Box(number) => graph.boxes.get(*number).map_or(PASS, |drawn| drawn.columns(width)),
        Item::Pass(_) => PASS,
    };
    let packed: Vec<Vec<Place>> = layered
        .layers
        .iter()
        .map(|layer| {
            let mut left = 0;
            let place = |item: &Item| {
                let place = Place { left, columns: wide(item) };
                left += place.columns + GAP;
                place
            };
            layer.iter().map(place).collect()
        })
        .collect();
    if extent(&packed) > columns {
        return None;
    }
    let mut centred = packed.clone();
    for round in 0..ROUNDS * 2 {
        let downwards = round % 2 == 0;
        let count = centred.len();
        for step in 0..count {
            let at = if downwards { step } else { count - 1 - step };
            align(&mut centred, layered, at, downwards);
        }
    }
    let leftmost = centred.iter().flatten().map(|place| place.left).min().unwrap_or(0);
    centred.iter_mut().flatten().for_each(|place| place.left -= leftmost);
    Some(if extent(&centred) > columns { packed } else { centred })
}

fn extent(places: &[Vec<Place>]) -> usize {
    places.iter().flatten().map(|place| place.left + place.columns).max().unwrap_or(0)
}

/// Moves a layer as near to its neighbours above (or below) as order and gaps allow: least squares with the
/// neighbours' means as targets, by pooling those that would overlap.
fn align(places: &mut [Vec<Place>], layered: &Layered, at: usize, downwards: bool) {
    let (beside, gap) = match downwards {
        true if at == 0 => return,
        true => (at - 1, at - 1),
        false => (at + 1, at),
    };
    let (Some(links), Some(near)) = (layered.gaps.get(gap), places.get(beside).cloned()) else { return };
    let Some(layer) = layered.layers.get(at) else { return };
    let Some(row) = places.get_mut(at) else { return };
    let mut pools: Vec<Pool> = Vec::new();
    let mut offset: i64 = 0;
    for (nth, place) in row.iter().enumerate() {
        let middles = links.iter().filter_map(|(above, below)| match downwards {
            true => (*below == nth).then_some(*above),
            false => (*above == nth).then_some(*below),
        });
        let middles: Vec<i64> =
            middles.filter_map(|other| near.get(other)).map(|other| signed(other.middle())).collect();
        let half = signed(place.columns / 2);
        let mean = middles.iter().sum::<i64>().checked_div(signed(middles.len()));
        let wished = mean.map_or(signed(place.left), |mean| mean - half);
        let weight = if matches!(layer.get(nth), Some(Item::Pass(_))) { PASS_WEIGHT } else { 1 };
        pools.push(Pool { sum: (wished - offset) * weight, weight, members: 1 });
        while let [.., before, last] = pools.as_mut_slice()
            && before.mean() > last.mean()
        {
            before.sum += last.sum;
            before.weight += last.weight;
            before.members += last.members;
            pools.pop();
        }
        offset += signed(place.columns + GAP);
    }
    // Nothing may lie left of the canvas: a layer that would is pushed right as a whole.
    let mut offset: i64 = 0;
    let lefts = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean(), pool.members));
    let shift = pools.first().map_or(0, |pool| (-pool.mean()).max(0));
    let lefts: Vec<i64> = lefts.collect();
    for (place, left) in row.iter_mut().zip(lefts) {
        place.left = usize::try_from(left + offset + shift).unwrap_or(0);
        offset += signed(place.columns + GAP);
    }
}

/// Neighbours that stand shoulder to shoulder.
struct Pool {
    sum: i64,
    weight: i64,
    members: usize,
}

impl Pool {
    fn mean(&self) -> i64 {
        self.sum.div_euclid(self.weight.max(1))
    }
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
