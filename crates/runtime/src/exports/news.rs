//! News of those somebody waits for: when a node of the plan ends, whoever waits for it finds a line in its inbox, as agents
//! outside do. Derived from the plan and the log; no event of its own.

use super::graph;
use fugato_engine::{Plan, PlanNode, Work};
use std::collections::{BTreeMap, BTreeSet};

/// Who waits for whom, and who has ended.
#[derive(Debug, Default)]
pub(super) struct News {
    waits: BTreeMap<u32, BTreeSet<u32>>,
    waited_for: BTreeMap<u32, Vec<u32>>,
    ended: BTreeSet<u32>,
}

/// How somebody ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended<'a> {
    Done,
    WithConcerns,
    Failed(&'a str),
}

/// A phase of a hundred agents after another such phase is ten thousand lines that say the same: past this many nobody is
/// told one by one, and `run.json` says who is done.
const MOST: usize = 1_000;

impl News {
    /// `is_reused`: the results of these were there before anything started.
    pub fn of(plan: &Plan, is_reused: impl Fn(&PlanNode) -> bool) -> Self {
        let waits = graph::waits(plan, MOST).unwrap_or_default();
        let mut waited_for: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (waiting, on) in &waits {
            let node = plan.nodes.get(*waiting as usize);
            // A program reads no inbox.
            if node.is_some_and(|node| !matches!(node.work, Work::Script { .. } | Work::Noop)) {
                on.iter().for_each(|on| waited_for.entry(*on).or_default().push(*waiting));
            }
        }
        let reused = (0u32..).zip(&plan.nodes).filter(|(_, node)| is_reused(node));
        let ended = reused.map(|(number, _)| number).collect();
        Self { waits, waited_for, ended }
    }

    /// A node has ended: whom that concerns, and what each is told.
    pub fn ended(&mut self, node: u32, name: &str, how: Ended<'_>) -> Vec<(u32, String)> {
        self.ended.insert(node);
        let told = match how {
            Ended::Done => format!("Agent `{name}`, for which you wait, is DONE."),
            Ended::WithConcerns => format!("Agent `{name}`, for which you wait, is DONE_WITH_CONCERNS."),
            Ended::Failed(why) => format!("Agent `{name}`, for which you wait, has ended: {why}"),
        };
        let tell = |waiting: &u32| {
            let is_free = self.waits.get(waiting).is_some_and(|on| on.is_subset(&self.ended));
            let go_on = if is_free { "\n\nAll agents you waited for are done: go on." } else { "" };
            (*waiting, format!("{told}{go_on}"))
        };
        self.waited_for.get(&node).into_iter().flatten().map(tell).collect()
    }

    /// It begins again.
    pub fn restarted(&mut self, node: u32) {
        self.ended.remove(&node);
    }
}
