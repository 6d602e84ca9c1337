//! Who waits for whom, without the joints of the plan: made once for a run, as JSON; what is called while it goes on stands
//! beside it.

use fugato_engine::{Callable, CallableWork, Plan, Work};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// `{"agent": ["agents it waits for"]}`. Keys are sorted, values too; who waits for nobody is not a key.
pub(super) fn dependencies(plan: &Plan) -> Box<RawValue> {
    serde_json::value::to_raw_value(&edges(plan)).unwrap_or_default()
}

fn edges(plan: &Plan) -> Edges<'_> {
    let named = |(number, waits): (&u32, &BTreeSet<u32>)| {
        Some((name(plan, *number)?, waits.iter().filter_map(|at| name(plan, *at)).collect()))
    };
    let direct = waits(plan, MOST).map(|edges| edges.iter().filter_map(named).collect());
    direct.unwrap_or_else(|| with_joints(plan))
}

/// Edges of called skills: whoever called waits for the call, and the call for what is inside of it.
#[derive(Debug, Default)]
pub(super) struct Called(BTreeMap<String, BTreeSet<String>>);

impl Called {
    pub fn called(&mut self, session: Option<Arc<str>>, id: &str, skill: &Callable) {
        if let Some(session) = session {
            self.0.entry(session.to_string()).or_default().insert(id.to_owned());
        }
        let CallableWork::Phases { plan, .. } = &skill.work else { return };
        let inside = |name: &str| format!("{id}/{name}");
        for (name, waits) in edges(plan) {
            self.0.entry(inside(name)).or_default().extend(waits.into_iter().map(inside));
        }
        let own = plan.nodes.iter().filter(|node| plan.call_of(node).is_none() && !is_joint(&node.work));
        self.0.entry(id.to_owned()).or_default().extend(own.map(|node| inside(&node.id)));
    }

    /// Together with those of the plan.
    pub fn beside<'p>(&self, plan: &'p RawValue) -> Cow<'p, RawValue> {
        if self.0.is_empty() {
            return Cow::Borrowed(plan);
        }
        let mut all: BTreeMap<String, BTreeSet<String>> =
            serde_json::from_str(plan.get()).unwrap_or_default();
        for (name, waits) in &self.0 {
            all.entry(name.clone()).or_default().extend(waits.iter().cloned());
        }
        serde_json::value::to_raw_value(&all).map_or(Cow::Borrowed(plan), Cow::Owned)
    }
}

/// A phase of a thousand agents after another such phase is a million pairs. Past this many (about a megabyte in
/// `run.json`) the joints stay in, as names that are nobody's.
const MOST: usize = 20_000;

type Edges<'p> = BTreeMap<&'p str, BTreeSet<&'p str>>;

/// Nodes with work, by their numbers, and whom each waits for. `None`: these are more pairs than `most`.
pub(super) fn waits(plan: &Plan, most: usize) -> Option<BTreeMap<u32, BTreeSet<u32>>> {
    // What stands behind each joint, found once: chains of joints are short, joints are few.
    let mut behind: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut count = 0;
    let mut edges = BTreeMap::new();
    let mut inside = inside(plan);
    for (number, node) in (0u32..).zip(&plan.nodes).filter(|(_, node)| !is_joint(&node.work)) {
        let mut waits = inside.remove(&number).unwrap_or_default();
        for after in &node.after {
            if joint(plan, *after) {
                if !behind.contains_key(after) {
                    let found = behind_joint(plan, *after, most)?;
                    count += found.len();
                    behind.insert(*after, found);
                }
                waits.extend(behind.get(after).into_iter().flatten());
            } else {
                waits.insert(*after);
            }
        }
        count += waits.len();
        if count > most {
            return None;
        }
        if !waits.is_empty() {
            edges.insert(number, waits);
        }
    }
    Some(edges)
}

/// The nodes of each sub-skill that has phases: whoever called it waits for them.
fn inside(plan: &Plan) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut inside: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    if plan.phases.iter().all(|phase| phase.within.is_none()) {
        return inside;
    }
    for (number, node) in (0u32..).zip(&plan.nodes).filter(|(_, node)| !is_joint(&node.work)) {
        if let Some(call) = plan.call_of(node) {
            inside.entry(call).or_default().insert(number);
        }
    }
    inside
}

/// The nodes with work that a joint waits for, through other joints.
fn behind_joint(plan: &Plan, from: u32, most: usize) -> Option<BTreeSet<u32>> {
    let (mut found, mut seen, mut open) = (BTreeSet::new(), BTreeSet::from([from]), vec![from]);
    while let Some(at) = open.pop() {
        for after in plan.nodes.get(at as usize).map(|node| node.after.as_slice()).unwrap_or_default() {
            if !joint(plan, *after) {
                found.insert(*after);
            } else if seen.insert(*after) {
                open.push(*after);
            }
        }
        if found.len() > most {
            return None;
        }
    }
    Some(found)
}

fn with_joints(plan: &Plan) -> Edges<'_> {
    let nodes = plan.nodes.iter().filter(|node| !node.after.is_empty());
    nodes
        .map(|node| (node.id.as_str(), node.after.iter().filter_map(|at| name(plan, *at)).collect()))
        .collect()
}

fn is_joint(work: &Work) -> bool {
    matches!(work, Work::Gate)
}

fn joint(plan: &Plan, at: u32) -> bool {
    plan.nodes.get(at as usize).is_some_and(|node| is_joint(&node.work))
}

fn name(plan: &Plan, at: u32) -> Option<&str> {
    plan.nodes.get(at as usize).map(|node| node.id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_engine::PlanNode;

    fn node(id: String, work: Work, after: Vec<u32>) -> PlanNode {
        PlanNode {
            id,
            phase: 0,
            after,
            work,
            output: None,
            requires: Vec::new(),
            optional: false,
            fallback_inline: false,
            on_error: None,
        }
    }

    /// Two phases of `width` nodes with joints between them.
    fn phases(width: u32) -> Plan {
        let mut nodes: Vec<PlanNode> =
            (0..width).map(|n| node(format!("a/{n}"), Work::Noop, Vec::new())).collect();
        nodes.push(node("a/(end)".into(), Work::Gate, (0..width).collect()));
        nodes.push(node("b/(begin)".into(), Work::Gate, vec![width]));
        nodes.extend((0..width).map(|n| node(format!("b/{n}"), Work::Noop, vec![width + 1])));
        Plan { phases: Vec::new(), nodes }
    }

    #[test]
    fn agents_wait_for_agents_and_joints_are_looked_through() {
        assert_eq!(dependencies(&phases(2)).get(), r#"{"b/0":["a/0","a/1"],"b/1":["a/0","a/1"]}"#);
        assert_eq!(dependencies(&Plan::default()).get(), "{}");
    }

    #[test]
    fn wide_phases_do_not_become_a_million_pairs() {
        let text = dependencies(&phases(2000));
        assert!(text.get().len() < 200_000, "{}", text.get().len());
        let edges: BTreeMap<String, Vec<String>> = serde_json::from_str(text.get()).unwrap();
        assert_eq!(edges["b/7"], ["b/(begin)"]);
        assert_eq!(edges["b/(begin)"], ["a/(end)"]);
        assert_eq!(edges["a/(end)"].len(), 2000);
    }
}
