//! Who waits for whom, as chains: `builder ──→ reviewer ──→ integrator`. Every edge is drawn once. Pure.

use fugato_model::escape_for_terminal;
use fugato_runtime::view::Overview;
use std::collections::{BTreeMap, VecDeque};

const ARROW: &str = " ──→ ";
/// A longer chain is broken: it would not fit a line anyway.
const LONGEST: usize = 12;

/// One line for each chain; agents in the order of the run, so that the same run is always drawn the same.
pub fn chains(view: &Overview) -> Vec<String> {
    let mut order: BTreeMap<&str, usize> = BTreeMap::new();
    let named = view.agents.iter().map(|agent| agent.id.as_str());
    let waiting = view
        .dependencies
        .iter()
        .flat_map(|(key, on)| std::iter::once(key.as_str()).chain(on.iter().map(String::as_str)));
    for id in named.chain(waiting) {
        let next = order.len();
        order.entry(id).or_insert(next);
    }
    let mut names: Vec<&str> = vec![""; order.len()];
    for (id, at) in &order {
        if let Some(name) = names.get_mut(*at) {
            *name = id;
        }
    }
    let number = |id: &str| order.get(id).copied().unwrap_or(0);
    let mut onward: Vec<VecDeque<usize>> = vec![VecDeque::new(); names.len()];
    let mut waits: Vec<usize> = vec![0; names.len()];
    let mut by_target: Vec<(usize, usize)> = Vec::new();
    for (id, on) in &view.dependencies {
        by_target.extend(on.iter().map(|on| (number(id), number(on))));
    }
    by_target.sort_unstable();
    by_target.dedup();
    for (to, from) in by_target {
        if let (Some(onward), Some(waits)) = (onward.get_mut(from), waits.get_mut(to)) {
            onward.push_back(to);
            *waits += 1;
        }
    }
    // Who waits for nobody begins; whatever is left after that (a circle of another program's making) begins anywhere.
    let first = (0..names.len()).filter(|at| waits.get(*at) == Some(&0));
    let starts: Vec<usize> = first.chain(0..names.len()).collect();
    let mut lines = Vec::new();
    for start in starts {
        while onward.get(start).is_some_and(|onward| !onward.is_empty()) {
            lines.push(chain(start, &mut onward, &names));
        }
    }
    lines
}

fn chain(start: usize, onward: &mut [VecDeque<usize>], names: &[&str]) -> String {
    let name = |at: usize| escape_for_terminal(names.get(at).copied().unwrap_or_default()).into_owned();
    let (mut line, mut at, mut length) = (name(start), start, 1);
    while length < LONGEST {
        let Some(next) = onward.get_mut(at).and_then(VecDeque::pop_front) else { break };
        line.push_str(ARROW);
        line.push_str(&name(next));
        (at, length) = (next, length + 1);
    }
    line
}
