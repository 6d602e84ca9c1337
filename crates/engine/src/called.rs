//! What a called skill becomes: nodes and phases, moved to where the plan has room. One function, for the run and for
//! every other reader of a log.

use crate::orchestration::{Callable, CallableWork};
use crate::plan::{Phase, PlanNode, Work};
use fugato_skill::interpolate::Template;

/// The part of the plan that one call adds: its node first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expansion {
    pub nodes: Vec<PlanNode>,
    pub phases: Vec<Phase>,
}

/// Where a call stands in the plan: the numbers of its node, of that node's phase, and of the first phase inside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub node: u32,
    pub phase: u32,
    pub first_phase: u32,
}

impl Callable {
    /// The nodes of a call of this skill, which has the name `skill`.
    pub fn expand(&self, skill: &str, id: &str, at: Standing) -> Expansion {
        let (args, relevant) = (Template::default(), Vec::new());
        let mut inside = Expansion::default();
        let work = match &self.work {
            CallableWork::Agent { agent_type, access, instructions, model, schema } => Work::Agent {
                agent_type: agent_type.clone(),
                access: *access,
                skill: skill.to_owned(),
                instructions: instructions.clone(),
                args,
                relevant,
                schema: schema.clone(),
                model: model.clone(),
            },
            CallableWork::Script { dir, entry, class } => Work::Script {
                skill: skill.to_owned(),
                dir: Some(dir.clone()),
                entry: entry.clone(),
                class: *class,
                instructions: String::new(),
                args,
                relevant,
            },
            CallableWork::Phases { agent_type, access, plan, schema, nulls } => {
                inside.phases = plan.phases.iter().map(|phase| phase_at(phase, id, at)).collect();
                inside.nodes = plan.nodes.iter().map(|node| node_at(node, id, at)).collect();
                Work::Phases {
                    agent_type: agent_type.clone(),
                    access: *access,
                    skill: skill.to_owned(),
                    instructions: String::new(),
                    args,
                    relevant,
                    schema: schema.clone(),
                    nulls: nulls.clone(),
                }
            }
            CallableWork::Session { orchestrator } => {
                Work::Session { orchestrator: orchestrator.clone(), args }
            }
            CallableWork::Noop => Work::Noop,
        };
        let call = PlanNode {
            id: id.to_owned(),
            phase: at.phase,
            after: Vec::new(),
            work,
            output: None,
            requires: Vec::new(),
            optional: false,
            fallback_inline: false,
            on_error: None,
        };
        inside.nodes.insert(0, call);
        inside
    }
}

fn phase_at(phase: &Phase, id: &str, at: Standing) -> Phase {
    Phase {
        name: format!("{id}/{}", phase.name),
        parallel: phase.parallel,
        depends_on: phase.depends_on.iter().map(|on| on.saturating_add(at.first_phase)).collect(),
        within: Some(phase.within.map_or(at.node, |call| moved(call, at))),
    }
}

fn node_at(node: &PlanNode, id: &str, at: Standing) -> PlanNode {
    PlanNode {
        id: format!("{id}/{}", node.id),
        phase: node.phase.saturating_add(at.first_phase),
        after: node.after.iter().map(|after| moved(*after, at)).collect(),
        ..node.clone()
    }
}

/// The nodes of a skill follow the one that calls it.
fn moved(node: u32, at: Standing) -> u32 {
    node.saturating_add(at.node).saturating_add(1)
}
