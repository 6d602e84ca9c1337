//! Which phase comes before which: names to edges, cycles, a topological order, and all ancestors of each phase.
//!
//! Work is linear in phases and edges, except that ancestors are bit sets: an edge costs one word per 64 phases.

use super::Phase;
use super::report::Report;
use fugato_model::{Code, Words, words};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Every phase after the ones it depends on. Phases of a cycle stand together.
    pub order: Vec<usize>,
    ancestors: Vec<Bits>,
    /// Phases of which not all dependencies are known: what they may read cannot be said.
    uncertain: Vec<bool>,
}

impl Graph {
    pub(super) fn build(phases: &[Phase], report: &mut Report<'_>) -> Self {
        let mut graph = Self { uncertain: vec![false; phases.len()], ..Self::default() };
        let edges = graph.edges(phases, report);
        let groups = groups(&edges);
        let mut group_of = vec![0; phases.len()];
        for (index, group) in groups.iter().enumerate() {
            for &member in group {
                set(&mut group_of, member, index);
            }
        }
        cycles(phases, &edges, &groups, &group_of, report);
        graph.ancestors = vec![Bits::new(phases.len()); phases.len()];
        for group in &groups {
            graph.take_group(group, &edges);
        }
        graph
    }

    /// Is `before` complete when `phase` starts?
    pub(super) fn is_ancestor(&self, before: usize, phase: usize) -> bool {
        self.ancestors.get(phase).is_some_and(|ancestors| ancestors.has(before))
    }

    pub(super) fn ancestors(&self, phase: usize) -> Option<&Bits> {
        self.ancestors.get(phase)
    }

    pub(super) fn is_uncertain(&self, phase: usize) -> bool {
        self.uncertain.get(phase).copied().unwrap_or_default()
    }

    /// For each phase, the indexes it depends on. An unknown name with a near one counts as the near one, so that one typo
    /// is one error.
    fn edges(&mut self, phases: &[Phase], report: &mut Report<'_>) -> Vec<Vec<usize>> {
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        for (index, phase) in phases.iter().enumerate() {
            by_name.entry(&phase.name).or_insert(index);
        }
        let mut guesses: HashMap<&str, Option<usize>> = HashMap::new();
        let mut edges = Vec::with_capacity(phases.len());
        for (index, phase) in phases.iter().enumerate() {
            let mut found = Vec::with_capacity(phase.depends_on.len());
            for (name, place) in phase.depends_on.iter().zip(&phase.dependency_places) {
                if let Some(&before) = by_name.get(name.as_str()) {
                    found.push(before);
                    continue;
                }
                let near = *guesses.entry(name).or_insert_with(|| {
                    let names =
                        phases.iter().map(|phase| phase.name.as_str()).filter(|name| !name.is_empty());
                    fugato_model::nearest(name, names).and_then(|near| by_name.get(near).copied())
                });
                match near {
                    Some(near) if near != index => found.push(near),
                    _ => set(&mut self.uncertain, index, true),
                }
                let near = near.and_then(|near| phases.get(near)).map(|phase| phase.name.as_str());
                unknown(report, phase, name, *place, near);
            }
            found.sort_unstable();
            found.dedup();
            edges.push(found);
        }
        edges
    }

    fn take_group(&mut self, group: &[usize], edges: &[Vec<usize>]) {
        let mut before = Bits::new(self.ancestors.len());
        let mut uncertain = false;
        let is_cycle =
            group.len() > 1 || group.iter().any(|&member| dependencies(edges, member).contains(&member));
        for &member in group {
            uncertain |= self.is_uncertain(member);
            for &dependency in dependencies(edges, member) {
                before.add(dependency);
                uncertain |= self.is_uncertain(dependency);
                if let Some(ancestors) = self.ancestors.get(dependency) {
                    before.add_all(ancestors);
                }
            }
        }
        for &member in group {
            self.order.push(member);
            set(&mut self.uncertain, member, uncertain || is_cycle);
            if let Some(ancestors) = self.ancestors.get_mut(member) {
                ancestors.add_all(&before);
            }
        }
    }
}

fn dependencies(edges: &[Vec<usize>], node: usize) -> &[usize] {
    edges.get(node).map(Vec::as_slice).unwrap_or_default()
}

fn set<T>(list: &mut [T], index: usize, value: T) {
    if let Some(slot) = list.get_mut(index) {
        *slot = value;
    }
}

fn unknown(report: &mut Report<'_>, phase: &Phase, name: &str, place: super::Place, near: Option<&str>) {
    report.error(Code::F0803, |file| {
        let (name, phase) = (crate::problems::shorten(name), crate::problems::shorten(&phase.name));
        let message = words!(
            "phase `{phase}` depends on `{name}`, which does not exist",
            "阶段 `{phase}` 依赖的 `{name}` 不存在"
        );
        let diagnostic = file.error(Code::F0803, place, message).field("depends_on");
        match near {
            Some(near) => diagnostic.hint(words!("did you mean `{near}`?", "是不是 `{near}`？")),
            None => {
                diagnostic.hint(words!("delete it, or add a phase of that name", "删除它，或添加同名的阶段"))
            }
        }
    });
}

/// Strongly connected groups, dependencies first (Tarjan, without recursion).
pub(crate) fn groups(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        edges,
        reached: vec![None; edges.len()],
        lowest: vec![0; edges.len()],
        waiting: Vec::new(),
        is_waiting: vec![false; edges.len()],
        groups: Vec::new(),
        clock: 0,
    };
    for node in 0..edges.len() {
        if search.reached.get(node) == Some(&None) {
            search.from(node);
        }
    }
    search.groups
}

struct Search<'a> {
    edges: &'a [Vec<usize>],
    reached: Vec<Option<usize>>,
    lowest: Vec<usize>,
    waiting: Vec<usize>,
    is_waiting: Vec<bool>,
    groups: Vec<Vec<usize>>,
    clock: usize,
}

impl Search<'_> {
    fn from(&mut self, root: usize) {
        // Nodes on the path, each with the number of its edges already walked.
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((node, walked)) = path.last_mut() {
            let node = *node;
            let next = dependencies(self.edges, node).get(*walked).copied();
            *walked += 1;
            match next {
                Some(next) if self.reached.get(next) == Some(&None) => {
                    self.enter(next);
                    path.push((next, 0));
                }
                Some(next) => {
                    if self.is_waiting.get(next) == Some(&true) {
                        let at = self.reached.get(next).copied().flatten().unwrap_or_default();
                        self.lower(node, at);
                    }
                }
                None => {
                    path.pop();
                    let lowest = self.lowest.get(node).copied().unwrap_or_default();
                    if let Some((parent, _)) = path.last() {
                        self.lower(*parent, lowest);
                    }
                    if self.reached.get(node) == Some(&Some(lowest)) {
                        self.close(node);
                    }
                }
            }
        }
    }

    fn enter(&mut self, node: usize) {
        set(&mut self.reached, node, Some(self.clock));
        set(&mut self.lowest, node, self.clock);
        set(&mut self.is_waiting, node, true);
        self.waiting.push(node);
        self.clock += 1;
    }

    fn lower(&mut self, node: usize, to: usize) {
        if let Some(lowest) = self.lowest.get_mut(node) {
            *lowest = (*lowest).min(to);
        }
    }

    fn close(&mut self, node: usize) {
        let mut group = Vec::new();
        while let Some(member) = self.waiting.pop() {
            set(&mut self.is_waiting, member, false);
            group.push(member);
            if member == node {
                break;
            }
        }
        group.sort_unstable();
        self.groups.push(group);
    }
}

/// Every phase that is in a cycle is in one that is printed; at most this many are looked for.
const MAX_CYCLES: usize = 64;

fn cycles(
    phases: &[Phase],
    edges: &[Vec<usize>],
    groups: &[Vec<usize>],
    group_of: &[usize],
    report: &mut Report<'_>,
) {
    let mut shown = vec![false; phases.len()];
    let mut found = 0;
    for (index, group) in groups.iter().enumerate() {
        for &start in group {
            if shown.get(start) == Some(&true) || found >= MAX_CYCLES {
                continue;
            }
            let inside = |node: usize| group_of.get(node) == Some(&index);
            let Some(cycle) = shortest_cycle(edges, start, &inside) else { continue };
            for &member in &cycle {
                set(&mut shown, member, true);
            }
            found += 1;
            report_cycle(phases, &cycle, report);
        }
    }
}

/// The shortest way from a node back to itself that stays inside its group.
pub(super) fn shortest_cycle(
    edges: &[Vec<usize>],
    start: usize,
    inside: &dyn Fn(usize) -> bool,
) -> Option<Vec<usize>> {
    let mut came_from: HashMap<usize, usize> = HashMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &next in dependencies(edges, node) {
            if next == start {
                let mut cycle = vec![node];
                let mut at = node;
                while let Some(&before) = came_from.get(&at) {
                    cycle.push(before);
                    at = before;
                }
                cycle.reverse();
                return Some(cycle);
            }
            if inside(next) && !came_from.contains_key(&next) {
                came_from.insert(next, node);
                queue.push_back(next);
            }
        }
    }
    None
}

/// `a ──→ b ──→ a`.
pub(super) fn draw<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<String> = names.map(crate::problems::shorten).collect();
    names.extend(names.first().cloned());
    names.join(" ──→ ")
}

fn report_cycle(phases: &[Phase], cycle: &[usize], report: &mut Report<'_>) {
    let members: Vec<&Phase> = cycle.iter().filter_map(|&index| phases.get(index)).collect();
    let drawn = draw(members.iter().map(|phase| phase.name.as_str()));
    report.error(Code::F0804, |file| {
        let message = match members.as_slice() {
            [_] => words!("a phase depends on itself: {drawn}", "阶段依赖自身：{drawn}"),
            _ => words!("phases depend on each other in a cycle: {drawn}", "阶段循环依赖：{drawn}"),
        };
        let places = members.iter().enumerate().map(|(at, phase)| {
            let next = members.get((at + 1) % members.len()).map_or("", |next| next.name.as_str());
            let dependency = phase.depends_on.iter().position(|name| name == next);
            let place =
                dependency.and_then(|at| phase.dependency_places.get(at)).copied().unwrap_or(phase.place);
            (place, phase.name.as_str(), next)
        });
        let places: Vec<_> = places.collect();
        let first = places.first().map(|(place, ..)| *place).unwrap_or_default();
        let mut diagnostic = file.error(Code::F0804, first, message).field("depends_on");
        for (place, name, next) in places.iter().skip(1).take(crate::limits::REPORTED_KEYS) {
            let (name, next) = (crate::problems::shorten(name), crate::problems::shorten(next));
            let note: Words = words!("`{name}` depends on `{next}`", "`{name}` 依赖 `{next}`");
            diagnostic = diagnostic.related(file.text, place.start, place.end, note);
        }
        diagnostic.hint(words!("take one of these dependencies out", "去掉其中一个依赖"))
    });
}

/// A set of phase indexes.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    pub(super) fn add(&mut self, index: usize) {
        if let Some(word) = self.0.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    pub(super) fn has(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}
