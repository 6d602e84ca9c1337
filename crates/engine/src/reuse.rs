//! What a rerun takes over: the results of an earlier run, for every node that need not run again.
//!
//! Knows plans and logs; where the earlier run is kept, and why it is run again, is the caller's business.

use crate::event::{AfterFailure, Event, EventKind};
use crate::plan::{Plan, PlanNode, Work};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How a node ended in the run its result comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reused {
    pub status: ReusedStatus,
    pub value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReusedStatus {
    Done,
    /// It failed, and was optional.
    Null,
}

/// The results a log holds, by node: of what ran to an end, and of what that run itself had taken over.
pub fn results<'e>(events: impl IntoIterator<Item = &'e Event>) -> BTreeMap<String, Reused> {
    let mut nodes: &[PlanNode] = &[];
    let none = BTreeMap::new();
    let mut brought = &none;
    let mut results = BTreeMap::new();
    for event in events {
        let (node, result) = match &event.kind {
            EventKind::RunCreated { spec } => {
                nodes = &spec.plan.nodes;
                brought = &spec.reused;
                results.clone_from(brought);
                continue;
            }
            EventKind::NodeCompleted { node, value, .. } => {
                (node, Some(Reused { status: ReusedStatus::Done, value: value.clone() }))
            }
            EventKind::NodeFailed { node, then: AfterFailure::Null, .. } => {
                (node, Some(Reused { status: ReusedStatus::Null, value: Value::Null }))
            }
            // Started once more: what it gave before is no longer its result, nor is what was inside of it.
            EventKind::NodeStarted { node, attempt, .. } => {
                if *attempt > 1
                    && let Some(PlanNode { work: Work::Phases { .. }, id, .. }) = nodes.get(*node as usize)
                {
                    let inside = format!("{id}/");
                    results.retain(|id, _| !id.starts_with(&inside) || brought.contains_key(id));
                }
                (node, None)
            }
            _ => continue,
        };
        let Some(plan) = nodes.get(*node as usize) else { continue };
        match result {
            Some(result) => results.insert(plan.id.clone(), result),
            None => results.remove(&plan.id),
        };
    }
    results
}

impl Plan {
    /// The nodes a person means: one by its id or by the last part of it, or all of a phase.
    pub fn named(&self, name: &str) -> Vec<u32> {
        let work = || (0u32..).zip(&self.nodes).filter(|(_, node)| !matches!(node.work, Work::Gate));
        let exact: Vec<u32> = work().filter(|(_, node)| node.id == name).map(|(at, _)| at).collect();
        if !exact.is_empty() {
            return exact;
        }
        if let Some(phase) = self.phases.iter().position(|phase| phase.name == name) {
            return work().filter(|(_, node)| node.phase as usize == phase).map(|(at, _)| at).collect();
        }
        let last = |id: &str| id.rsplit_once('/').is_some_and(|(_, last)| last == name);
        let found: Vec<u32> = work().filter(|(_, node)| last(&node.id)).map(|(at, _)| at).collect();
        if found.len() == 1 { found } else { Vec::new() }
    }

    /// Everything that can be named: phases, then nodes.
    pub fn names(&self) -> Vec<&str> {
        let phases = self.phases.iter().map(|phase| phase.name.as_str());
        let nodes = self.nodes.iter().filter(|node| !matches!(node.work, Work::Gate));
        let mut seen = BTreeSet::new();
        phases.chain(nodes.map(|node| node.id.as_str())).filter(|name| seen.insert(*name)).collect()
    }

    /// Of the results, those that stay when the nodes of `from` run again: not theirs, not those of nodes without a
    /// result, and not those of anything that waits for one of these or uses a variable one of these sets. Linear.
    pub fn unaffected(
        &self,
        from: &[u32],
        mut results: BTreeMap<String, Reused>,
    ) -> BTreeMap<String, Reused> {
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        let mut users: HashMap<(Option<u32>, &str), Vec<u32>> = HashMap::new();
        for (at, node) in (0u32..).zip(&self.nodes) {
            for after in &node.after {
                if let Some(list) = next.get_mut(*after as usize) {
                    list.push(at);
                }
            }
            let call = self.call_of(node);
            node.uses(&mut |name| users.entry((call, name)).or_default().push(at));
        }
        // A call begins again with everything inside; its end is another one when anything inside is.
        let mut inside: HashMap<u32, Vec<u32>> = HashMap::new();
        for (at, node) in (0u32..).zip(&self.nodes) {
            if let Some(call) = self.call_of(node) {
                inside.entry(call).or_default().push(at);
            }
        }
        let has = |node: &PlanNode| matches!(node.work, Work::Gate) || results.contains_key(&node.id);
        // What a call ended without is no gap.
        let within_result = |node: &PlanNode| {
            let calls =
                std::iter::successors(Some(node), |node| self.nodes.get(self.call_of(node)? as usize));
            calls.into_iter().any(has)
        };
        let mut open: Vec<(u32, Again)> = from.iter().map(|at| (*at, Again::Begins)).collect();
        open.extend(
            (0u32..)
                .zip(&self.nodes)
                .filter(|(_, node)| !within_result(node))
                .map(|(at, _)| (at, Again::Ends)),
        );
        let mut affected: Vec<Option<Again>> = vec![None; self.nodes.len()];
        while let Some((at, how)) = open.pop() {
            let Some(mark) = affected.get_mut(at as usize) else { continue };
            if mark.is_some_and(|already| already >= how) {
                continue;
            }
            *mark = Some(how);
            let begins = |at: &u32| (*at, Again::Begins);
            if how == Again::Begins {
                open.extend(inside.get(&at).into_iter().flatten().map(begins));
            }
            open.extend(next.get(at as usize).into_iter().flatten().map(begins));
            let Some(node) = self.nodes.get(at as usize) else { continue };
            let call = self.call_of(node);
            let sets = node.sets();
            open.extend(sets.into_iter().filter_map(|name| users.get(&(call, name))).flatten().map(begins));
            open.extend(call.map(|call| (call, Again::Ends)));
        }
        let affected = affected.into_iter().map(|how| how.is_some());
        let stays = self.nodes.iter().zip(affected).filter(|(_, affected)| !affected);
        let stays: BTreeSet<&str> = stays.map(|(node, _)| node.id.as_str()).collect();
        results.retain(|id, _| stays.contains(id.as_str()));
        results
    }
}

/// How a node is touched by what runs again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Again {
    /// It ends anew: something inside of it runs again.
    Ends,
    /// It begins anew.
    Begins,
}

impl PlanNode {
    /// Variables that take its result.
    pub fn sets(&self) -> Vec<&str> {
        let more = match &self.work {
            Work::Inline { sets, .. } => sets.as_slice(),
            _ => &[],
        };
        self.output.iter().chain(more).map(String::as_str).collect()
    }

    fn uses<'n>(&'n self, each: &mut dyn FnMut(&'n str)) {
        self.requires.iter().for_each(|required| each(&required.name));
        let template = match &self.work {
            Work::Agent { args, relevant, .. }
            | Work::Script { args, relevant, .. }
            | Work::Phases { args, relevant, .. } => {
                relevant.iter().for_each(|name| each(name));
                args
            }
            Work::Inline { section, .. } => section,
            Work::Session { args, .. } => args,
            Work::Noop | Work::Gate => return,
        };
        template.variables().for_each(|(name, _)| each(name.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{By, Completion, EffectClass, Input, NodeStatus, Outcome, Run, RunSpec, SkillPin};
    use proptest::prelude::*;
    use serde_json::json;

    fn script(at: usize, after: Vec<u32>, args: &str) -> PlanNode {
        let args = fugato_skill::interpolate::Template::parse(args, 0).unwrap();
        let class = EffectClass::Read;
        PlanNode {
            id: format!("p/n{at}"),
            phase: 0,
            after,
            work: Work::Script {
                skill: "s".into(),
                dir: None,
                relevant: Vec::new(),
                entry: "m".into(),
                class,
                instructions: String::new(),
                args,
            },
            output: Some(format!("OUT{at}")),
            requires: Vec::new(),
            optional: false,
            fallback_inline: false,
            on_error: None,
        }
    }

    fn spec(nodes: Vec<PlanNode>, reused: BTreeMap<String, Reused>) -> RunSpec {
        let phase = crate::Phase { name: "p".into(), parallel: true, depends_on: Vec::new(), within: None };
        RunSpec {
            id: "run_1".into(),
            skill: SkillPin { name: "s".into(), dir: "/s".into(), digest: None },
            plan: Plan { phases: vec![phase], nodes },
            reused,
            ..RunSpec::default()
        }
    }

    /// Runs to the end; scripts print their node's id, those of `fails` fail. Returns the log and who was run.
    fn carry_out(spec: RunSpec, fails: &[&str]) -> (Run, Vec<Event>, BTreeSet<String>) {
        let kind = EventKind::RunCreated { spec: std::sync::Arc::new(spec) };
        let mut log = vec![Event { v: 1, seq: 1, at: 0, by: By::User, kind }];
        let mut run = Run::created(&log[0]).unwrap();
        let mut ran = BTreeSet::new();
        log.extend(run.decide(Input::Go, 1).unwrap());
        loop {
            let last = run.wanted().max_by_key(|(key, _)| *key).map(|(key, effect)| (key, effect.clone()));
            let Some((key, effect)) = last else { break };
            let crate::Effect::RunScript { node, .. } = effect else { panic!("{effect:?}") };
            let completion = if fails.contains(&node.as_str()) {
                Completion::ScriptFailed { message: fugato_model::words!("no", "不"), last_line: None }
            } else {
                Completion::Script { stdout: json!({"success": true, "data": node}).to_string() }
            };
            ran.insert(node);
            log.extend(run.decide(Input::Completed { key, completion }, 2).unwrap());
        }
        assert_eq!(Run::replay(&log).unwrap().variables, run.variables);
        (run, log, ran)
    }

    #[test]
    fn a_failed_run_goes_on_from_what_failed_and_redoes_nothing_else() {
        let mut nodes = vec![
            script(0, vec![], ""),
            script(1, vec![0], ""),
            script(2, vec![1], ""),
            script(3, vec![], ""),
        ];
        nodes[3].optional = true;
        let (run, log, _) = carry_out(spec(nodes.clone(), BTreeMap::new()), &["p/n1", "p/n3"]);
        assert!(matches!(run.ended, Some((Outcome::Failed, ..))));
        let plan = run.spec.plan.clone();
        let kept = plan.unaffected(&plan.named("n1"), results(&log));
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["p/n0", "p/n3"]);
        assert_eq!(kept["p/n3"].status, ReusedStatus::Null);
        let (again, log, ran) = carry_out(spec(nodes, kept), &[]);
        assert!(matches!(again.ended, Some((Outcome::Complete, ..))));
        assert_eq!(ran.into_iter().collect::<Vec<_>>(), ["p/n1", "p/n2"]);
        assert_eq!(again.variables["OUT3"], Value::Null);
        assert!(again.is_reused(0) && !again.is_reused(1));
        assert_eq!(results(&log).len(), 4, "a rerun of the rerun knows what both ran");
    }

    #[test]
    fn whoever_uses_a_variable_of_what_runs_again_runs_again_too() {
        // No edge between the two: only the reference.
        let nodes = vec![script(0, vec![], ""), script(1, vec![], "{{OUT0}}"), script(2, vec![], "")];
        let plan = spec(nodes.clone(), BTreeMap::new()).plan;
        let result = Reused { status: ReusedStatus::Done, value: json!(1) };
        let all = nodes.iter().map(|node| (node.id.clone(), result.clone())).collect();
        assert_eq!(plan.unaffected(&[0], all).keys().collect::<Vec<_>>(), ["p/n2"]);
        assert_eq!(plan.named("p"), [0, 1, 2]);
        assert_eq!(plan.named("nothing"), Vec::<u32>::new());
        assert_eq!(plan.names(), ["p", "p/n0", "p/n1", "p/n2"]);
    }

    proptest! {
        /// Against a plain reference: exactly the descendants run, everything ends, the variables are those of a whole run.
        #[test]
        fn exactly_the_descendants_run_again(
            edges in proptest::collection::vec(proptest::collection::vec(0usize..64, 0..4), 1..24),
            from in 0usize..24,
        ) {
            let nodes: Vec<PlanNode> = edges.iter().enumerate().map(|(at, after)| {
                let mut after: Vec<u32> =
                    after.iter().filter(|_| at > 0).map(|n| u32::try_from(n % at).unwrap()).collect();
                after.sort_unstable();
                after.dedup();
                script(at, after, "")
            }).collect();
            let from = from % nodes.len();
            let mut again = BTreeSet::from([from]);
            for (at, node) in nodes.iter().enumerate() {
                if node.after.iter().any(|after| again.contains(&(*after as usize))) {
                    again.insert(at);
                }
            }
            let (whole, log, _) = carry_out(spec(nodes.clone(), BTreeMap::new()), &[]);
            let kept = whole.spec.plan.unaffected(&[u32::try_from(from).unwrap()], results(&log));
            let (run, _, ran) = carry_out(spec(nodes, kept), &[]);
            let expected: BTreeSet<String> = again.iter().map(|at| format!("p/n{at}")).collect();
            prop_assert_eq!(ran, expected);
            prop_assert_eq!(&run.variables, &whole.variables);
            prop_assert!(run.nodes.iter().all(|node| node.status == NodeStatus::Done));
            prop_assert!(matches!(run.ended, Some((Outcome::Complete, ..))));
        }
    }
}
