//! Where the arrows run between two layers: each source has one line of its own, each edge its own way into a box.
//!
//! No two sources share a column or a stretch of a line, so wherever lines meet they belong together, and what crosses
//! only crosses.

use super::Item;
use super::layers::Layered;
use super::places::Place;
use crate::render::canvas::{Canvas, UP};
use std::collections::BTreeSet;

/// The wires of one gap.
#[derive(Clone, Debug, Default)]
pub struct Gap {
    /// Lines for what runs sideways.
    pub tracks: usize,
    /// Column by which each item above leaves, if it does.
    pub leaves: Vec<Option<usize>>,
    /// Column by which a passing edge arrives at each item below.
    pub arrives: Vec<Option<usize>>,
    wires: Vec<Wire>,
}

/// Everything that leaves one item.
#[derive(Clone, Debug)]
struct Wire {
    net: usize,
    from: usize,
    /// Column, and whether it ends in a box.
    to: Vec<(usize, bool)>,
    track: Option<usize>,
}

impl Wire {
    fn span(&self) -> (usize, usize) {
        let columns = || self.to.iter().map(|(column, _)| *column).chain([self.from]);
        (columns().min().unwrap_or(self.from), columns().max().unwrap_or(self.from))
    }
}

impl Gap {
    /// Draws into the rows from `top`: the tracks, then the arrow heads.
    pub fn draw(&self, canvas: &mut Canvas, top: usize) {
        let last = top + self.tracks;
        for wire in &self.wires {
            let turn = wire.track.map_or(last, |track| top + track);
            canvas.vertical(wire.from, top, turn, wire.net);
            canvas.stroke(top, wire.from, UP, wire.net);
            if wire.track.is_some() {
                let (left, right) = wire.span();
                canvas.horizontal(turn, left, right, wire.net);
            }
            for (column, is_box) in &wire.to {
                canvas.vertical(*column, turn, last, wire.net);
                if *is_box {
                    canvas.arrow_down(last, *column);
                } else {
                    canvas.vertical(*column, last, last + 1, wire.net);
                }
            }
        }
    }
}

pub fn route(layered: &Layered, placed: &[Vec<Place>]) -> Option<Vec<Gap>> {
    let mut gaps: Vec<Gap> = Vec::new();
    for (at, links) in layered.gaps.iter().enumerate() {
        let above = layered.layers.get(at)?;
        let below = layered.layers.get(at + 1)?;
        let (places_above, places_below) = (placed.get(at)?, placed.get(at + 1)?);
        let passing = gaps.last().map(|gap| gap.arrives.clone()).unwrap_or_default();
        let leaves: Vec<Option<usize>> = (0..above.len())
            .map(|nth| {
                let has_edges = links.iter().any(|(from, _)| *from == nth);
                let passes = passing.get(nth).copied().flatten();
                passes.or_else(|| places_above.get(nth).map(|place| place.middle())).filter(|_| has_edges)
            })
            .collect();
        let taken: BTreeSet<usize> = leaves.iter().flatten().copied().collect();
        let mut arrives = vec![None; below.len()];
        let mut wires: Vec<Option<Wire>> = above
            .iter()
            .zip(&leaves)
            .map(|(item, from)| {
                from.map(|from| Wire { net: item.source(), from, to: Vec::new(), track: None })
            })
            .collect();
        for (nth, item) in below.iter().enumerate() {
            let place = *places_below.get(nth)?;
            let mut sources: Vec<(usize, usize)> = links
                .iter()
                .filter(|(_, to)| *to == nth)
                .filter_map(|(from, _)| Some((leaves.get(*from).copied().flatten()?, *from)))
                .collect();
            sources.sort_unstable();
            let columns: Vec<usize> = sources.iter().map(|(column, _)| *column).collect();
            let ports = ports(place, &columns, &taken)?;
            for ((_, from), port) in sources.iter().zip(&ports) {
                wires.get_mut(*from)?.as_mut()?.to.push((*port, matches!(item, Item::Box(_))));
                if matches!(item, Item::Pass(_))
                    && let Some(arrives) = arrives.get_mut(nth)
                {
                    *arrives = Some(*port);
                }
            }
        }
        let mut wires: Vec<Wire> = wires.into_iter().flatten().collect();
        let tracks = assign_tracks(&mut wires);
        gaps.push(Gap { tracks, leaves, arrives, wires });
    }
    Some(gaps)
}

/// A column of the box for each edge that arrives, in the order of where they come from; straight down where possible,
/// and never one that another source leaves by.
fn ports(place: Place, sources: &[usize], taken: &BTreeSet<usize>) -> Option<Vec<usize>> {
    let (left, right) = (place.left + 1, (place.left + place.columns).checked_sub(2)?);
    let right = right.max(left);
    // Air between two arrow heads where the box is wide enough for it.
    let step = if right - left >= 2 * sources.len() { 2 } else { 1 };
    let mut ports: Vec<usize> = Vec::new();
    for (nth, source) in sources.iter().enumerate() {
        let lowest = ports.last().map_or(left, |last| last + step);
        // Those still to come need a column each.
        let highest = right.checked_sub((sources.len() - nth - 1) * step)?;
        let even = place.left + place.columns * (nth + 1) / (sources.len() + 1);
        let is_straight = (lowest..=highest).contains(source);
        let wished = if is_straight { *source } else { even.clamp(lowest, highest.max(lowest)) };
        let is_free = |column: &usize| {
            (lowest..=highest).contains(column) && (column == source || !taken.contains(column))
        };
        let near = (0..=place.columns).flat_map(|away| [wished + away, wished.saturating_sub(away)]);
        ports.push(near.into_iter().find(is_free)?);
    }
    Some(ports)
}

/// Sideways lines that would touch get different tracks. Those that go right are stacked from the right, those that go
/// left from the left: then neighbours do not cross.
fn assign_tracks(wires: &mut [Wire]) -> usize {
    let mut order: Vec<usize> = (0..wires.len()).collect();
    let key = |wire: &Wire| {
        let (left, right) = wire.span();
        let goes_right = right - wire.from >= wire.from - left;
        (goes_right, if goes_right { usize::MAX - wire.from } else { wire.from })
    };
    order.sort_by_key(|at| wires.get(*at).map(key));
    let mut done: Vec<((usize, usize), usize)> = Vec::new();
    for at in order {
        let Some(wire) = wires.get_mut(at) else { continue };
        let (left, right) = wire.span();
        if left == right {
            continue;
        }
        // One column of air between two lines on the same track.
        let touching = done.iter().filter(|((l, r), _)| left <= r + 1 && *l <= right + 1);
        let track = touching.map(|(_, track)| track + 1).max().unwrap_or(0);
        wire.track = Some(track);
        done.push(((left, right), track));
    }
    done.iter().map(|(_, track)| track + 1).max().unwrap_or(0)
}
