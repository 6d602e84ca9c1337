//! What a run will do, pinned when it is created: a graph of nodes with everything they need, so that a run can go on
//! after its skill was edited, moved or deleted.

use crate::event::EffectClass;
use crate::orchestration::Orchestrator;
use fugato_skill::interpolate::Template;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// A graph of work. Edges point backwards: a node names what it waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub phases: Vec<Phase>,
    pub nodes: Vec<PlanNode>,
}

/// A phase groups nodes for eyes and for `rerun --from`; the edges are on the nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<u32>,
    /// The node whose sub-skill this phase belongs to; `None`: a phase of the run's own skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<u32>,
}

/// One piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanNode {
    /// `phase/subagent`, unique.
    pub id: String,
    /// Index of its phase.
    pub phase: u32,
    /// Nodes that must have ended first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
    pub work: Work,
    /// Variable that takes the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Requirement>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback_inline: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<String>,
}

/// A variable that must be there; `X?` may be null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_null: bool,
}

/// What a node is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Work {
    /// A subagent reads a sub-skill and answers.
    Agent {
        agent_type: String,
        access: Access,
        /// Path of the sub-skill, as the skill names it.
        skill: String,
        /// The sub-skill's text, pinned.
        instructions: String,
        args: Template,
        /// Variables shown in its prompt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        relevant: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A program, no model.
    Script {
        skill: String,
        /// Where the sub-skill is, when it is an installed one and not a part of the skill.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dir: Option<String>,
        /// Entry point, relative to the sub-skill.
        entry: String,
        class: EffectClass,
        /// The sub-skill's text, for `fallback: inline`.
        instructions: String,
        args: Template,
        /// Variables it is handed besides its arguments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        relevant: Vec<String>,
    },
    /// A sub-skill with phases of its own: the phases that are `within` this node are its work, with variables of their
    /// own. It takes no slot itself.
    Phases {
        /// Nobody inside may do more than this kind.
        agent_type: String,
        access: Access,
        skill: String,
        /// The sub-skill's text, for `fallback: inline`.
        instructions: String,
        args: Template,
        /// Variables shown in the prompt of its fallback.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        relevant: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        /// Variables that its switched-off phases leave null.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nulls: Vec<String>,
    },
    /// A section of the skill's own text, in the main agent's conversation.
    Inline {
        section: Template,
        /// Variables the phase sets.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sets: Vec<String>,
    },
    /// An orchestrator at work: it calls skills, each a node that is added to the plan. It takes no slot itself; its
    /// agents do.
    Session {
        orchestrator: Arc<Orchestrator>,
        /// The request.
        args: Template,
    },
    /// Nothing: for measurements and tests of the graph itself.
    Noop,
    /// A joint of the graph: ends by itself when everything before it has ended. Never an event of its own.
    Gate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

/// Why a plan cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("node `{node}` waits for node {after}, which does not exist")]
    NoSuchNode { node: String, after: u32 },
    #[error("the nodes wait for each other: {}", .0.join(" ──→ "))]
    Cycle(Vec<String>),
    #[error("two nodes are called `{0}`")]
    Duplicate(String),
    #[error("node `{0}` is within one that has no phases, or that comes later")]
    NoSuchCall(String),
    #[error("node `{0}` is a session and stands in no phase: what it calls could not be told from it")]
    NoPhase(String),
}

impl PlanNode {
    /// What whoever does this node may do: the declared type's rights, also when a fallback does it in the main conversation.
    pub fn access(&self) -> Access {
        match &self.work {
            Work::Agent { access, .. } | Work::Phases { access, .. } => *access,
            Work::Inline { .. } | Work::Session { .. } => Access::ReadWrite,
            Work::Script { .. } | Work::Noop | Work::Gate => Access::ReadOnly,
        }
    }
}

impl Plan {
    /// A run that is the session of one orchestrator, with the run's `ARGUMENTS` as the request.
    pub fn of_session(orchestrator: Arc<Orchestrator>) -> Self {
        let phase =
            Phase { name: orchestrator.name.clone(), parallel: false, depends_on: Vec::new(), within: None };
        // The text is our own and has nothing in it that could not be read.
        let args = Template::parse("{{ARGUMENTS}}", 0).unwrap_or_default();
        let node = PlanNode {
            id: "main".to_owned(),
            phase: 0,
            after: Vec::new(),
            work: Work::Session { orchestrator, args },
            output: Some("RESULT".to_owned()),
            requires: Vec::new(),
            optional: false,
            fallback_inline: false,
            on_error: None,
        };
        Self { phases: vec![phase], nodes: vec![node] }
    }

    /// A plan that passes can always come to an end. Linear in nodes and edges.
    pub fn check(&self) -> Result<(), PlanError> {
        let mut names = std::collections::HashSet::with_capacity(self.nodes.len());
        let mut waiting: Vec<usize> = Vec::with_capacity(self.nodes.len());
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            if !names.insert(node.id.as_str()) {
                return Err(PlanError::Duplicate(node.id.clone()));
            }
            let is_session = matches!(node.work, Work::Session { .. });
            if is_session && self.phases.get(node.phase as usize).is_none() {
                return Err(PlanError::NoPhase(node.id.clone()));
            }
            let call = self.call_of(node);
            // A call stands before its own nodes: so nothing can be within itself.
            if call.is_some_and(|call| call as usize >= at || !self.is_call(call)) {
                return Err(PlanError::NoSuchCall(node.id.clone()));
            }
            for after in &node.after {
                let same_level = |other: &PlanNode| self.call_of(other) == call;
                let known = self.nodes.get(*after as usize).is_some_and(same_level);
                match next.get_mut(*after as usize).filter(|_| known) {
                    Some(list) => list.push(at),
                    None => return Err(PlanError::NoSuchNode { node: node.id.clone(), after: *after }),
                }
            }
            waiting.push(node.after.len());
        }
        let mut open: Vec<usize> =
            waiting.iter().enumerate().filter(|(_, n)| **n == 0).map(|(at, _)| at).collect();
        let mut ended = 0;
        while let Some(at) = open.pop() {
            ended += 1;
            for after in next.get(at).into_iter().flatten() {
                if let Some(left) = waiting.get_mut(*after) {
                    *left -= 1;
                    if *left == 0 {
                        open.push(*after);
                    }
                }
            }
        }
        if ended == self.nodes.len() { Ok(()) } else { Err(PlanError::Cycle(self.cycle(&waiting))) }
    }

    /// The node whose sub-skill this one is a part of.
    pub fn call_of(&self, node: &PlanNode) -> Option<u32> {
        self.phases.get(node.phase as usize).and_then(|phase| phase.within)
    }

    fn is_call(&self, at: u32) -> bool {
        self.nodes.get(at as usize).is_some_and(|node| matches!(node.work, Work::Phases { .. }))
    }

    /// Walks backwards through nodes that never became free until one repeats.
    fn cycle(&self, waiting: &[usize]) -> Vec<String> {
        let stuck = |at: usize| waiting.get(at).is_some_and(|left| *left > 0);
        let mut at = (0..waiting.len()).find(|at| stuck(*at)).unwrap_or_default();
        let mut path: Vec<usize> = Vec::new();
        while !path.contains(&at) {
            path.push(at);
            let before = self.nodes.get(at).map(|node| node.after.as_slice()).unwrap_or_default();
            match before.iter().map(|n| *n as usize).find(|n| stuck(*n)) {
                Some(next) => at = next,
                None => break,
            }
        }
        let from = path.iter().position(|n| *n == at).unwrap_or_default();
        let mut names: Vec<String> = path
            .iter()
            .skip(from)
            .rev()
            .filter_map(|n| self.nodes.get(*n))
            .map(|node| node.id.clone())
            .collect();
        names.extend(names.first().cloned());
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(edges: &[&[u32]]) -> Plan {
        let node = |(at, after): (usize, &&[u32])| PlanNode {
            id: format!("n{at}"),
            phase: 0,
            after: after.to_vec(),
            work: Work::Noop,
            output: None,
            requires: Vec::new(),
            optional: false,
            fallback_inline: false,
            on_error: None,
        };
        Plan { phases: Vec::new(), nodes: edges.iter().enumerate().map(node).collect() }
    }

    #[test]
    fn a_graph_without_cycles_passes_and_a_cycle_is_printed_whole() {
        assert_eq!(plan(&[&[], &[0], &[0, 1]]).check(), Ok(()));
        let Err(PlanError::Cycle(names)) = plan(&[&[], &[3], &[1], &[2]]).check() else { panic!() };
        assert_eq!(names.len(), 4);
        assert_eq!(names.first(), names.last());
        assert!(matches!(plan(&[&[7]]).check(), Err(PlanError::NoSuchNode { after: 7, .. })));
    }
}
