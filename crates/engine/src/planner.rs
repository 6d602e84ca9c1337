//! From checked phases to a plan: joints between phases, edges between nodes, everything a node needs pinned.

use crate::event::EffectClass;
use crate::plan::{Access, Phase, Plan, PlanNode, Requirement, Work};
use fugato_model::RelPath;
use fugato_skill::phases::{AgentType, Phased, Subagent};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// What the planner must know of a sub-skill; read by the caller.
#[derive(Clone, Debug, Default)]
pub struct SubSkillFacts {
    /// The text after its frontmatter.
    pub instructions: String,
    /// Where it is, when it is an installed skill and not a part of this one.
    pub dir: Option<String>,
    /// `metadata.fugato-run`.
    pub entry: Option<String>,
    /// `metadata.fugato-effect`: may the script be run again after a crash?
    pub class: Option<EffectClass>,
}

/// The plan of a skill with phases (`text` is its whole SKILL.md), and the variables that switched-off phases leave null.
pub fn plan(
    phased: &Phased,
    text: &str,
    facts: &dyn Fn(&RelPath) -> SubSkillFacts,
) -> (Plan, BTreeMap<String, Value>) {
    let mut builder = Builder::default();
    let places: HashMap<&str, u32> =
        phased.phases.iter().map(|phase| phase.name.as_str()).zip(0u32..).collect();
    for (at, phase) in (0u32..).zip(&phased.phases) {
        let depends_on: Vec<u32> =
            phase.depends_on.iter().filter_map(|name| places.get(name.as_str()).copied()).collect();
        builder.plan.phases.push(Phase {
            name: phase.name.clone(),
            parallel: phase.parallel,
            depends_on: depends_on.clone(),
        });
        builder.later.push((at, depends_on));
    }
    // Dependencies may be declared in any order, joints need their numbers first: begin and end of each phase.
    for phase in &phased.phases {
        builder.joints(&phase.name);
    }
    for (at, phase) in (0u32..).zip(&phased.phases) {
        builder.connect(at);
        if !phase.enabled {
            let outputs = phase.subagents.iter().filter_map(|subagent| subagent.output.as_ref());
            for name in outputs.chain(&phase.sets).chain(&phase.sets_by_use) {
                builder.nulls.insert(name.as_str().to_owned(), Value::Null);
            }
            builder.pass_through(at);
        } else if phase.inline {
            let section = phased.markdown_template(phase, text);
            let sets = phase.sets.iter().chain(&phase.sets_by_use);
            let sets = sets.map(|name| name.as_str().to_owned()).collect();
            let work = Work::Inline { section, sets };
            builder.node(at, PlanNode { work, ..blank(phase.name.clone(), at) });
        } else {
            builder.subagents(at, &phase.name, phase.parallel, &phase.subagents, facts);
        }
    }
    (builder.plan, builder.nulls)
}

#[derive(Default)]
struct Builder {
    plan: Plan,
    nulls: BTreeMap<String, Value>,
    later: Vec<(u32, Vec<u32>)>,
    begin: Vec<u32>,
    end: Vec<u32>,
}

impl Builder {
    fn push(&mut self, node: PlanNode) -> u32 {
        let at = u32::try_from(self.plan.nodes.len()).unwrap_or(u32::MAX);
        self.plan.nodes.push(node);
        at
    }

    fn joints(&mut self, name: &str) {
        let phase = u32::try_from(self.begin.len()).unwrap_or(u32::MAX);
        let gate = |id: String| PlanNode { work: Work::Gate, ..blank(id, phase) };
        let begin = self.push(gate(format!("{name}/(begin)")));
        self.begin.push(begin);
        let end = self.push(gate(format!("{name}/(end)")));
        self.end.push(end);
    }

    fn connect(&mut self, phase: u32) {
        let depends_on = self.later.get(phase as usize).map(|(_, on)| on.clone()).unwrap_or_default();
        let after: Vec<u32> =
            depends_on.iter().filter_map(|on| self.end.get(*on as usize).copied()).collect();
        if let Some(begin) = self.begin.get(phase as usize).copied()
            && let Some(node) = self.plan.nodes.get_mut(begin as usize)
        {
            node.after = after;
        }
    }

    fn pass_through(&mut self, phase: u32) {
        let begin = self.begin.get(phase as usize).copied();
        self.end_after(phase, begin.into_iter().collect());
    }

    fn end_after(&mut self, phase: u32, after: Vec<u32>) {
        if let Some(end) = self.end.get(phase as usize).copied()
            && let Some(node) = self.plan.nodes.get_mut(end as usize)
        {
            node.after = after;
        }
    }

    fn node(&mut self, phase: u32, mut node: PlanNode) {
        node.after = self.begin.get(phase as usize).copied().into_iter().collect();
        let at = self.push(node);
        self.end_after(phase, vec![at]);
    }

    fn subagents(
        &mut self,
        phase: u32,
        name: &str,
        parallel: bool,
        subagents: &[Subagent],
        facts: &dyn Fn(&RelPath) -> SubSkillFacts,
    ) {
        let begin = self.begin.get(phase as usize).copied();
        // Numbers first: a sibling may read what a later one writes.
        let first = u32::try_from(self.plan.nodes.len()).unwrap_or(u32::MAX);
        let numbers: Vec<u32> = (first..).take(subagents.len()).collect();
        let mut previous: Option<u32> = None;
        for subagent in subagents {
            let facts = facts(&subagent.skill);
            let relevant: Vec<String> =
                subagent.relevant.iter().map(|name| name.as_str().to_owned()).collect();
            let mut after: Vec<u32> = begin.into_iter().collect();
            if parallel {
                // A reference to a sibling's output orders the two.
                after.extend(subagent.after.iter().filter_map(|sibling| numbers.get(*sibling).copied()));
            } else {
                after.extend(previous);
            }
            let node = PlanNode {
                after,
                work: work(subagent, facts, relevant),
                output: subagent.output.as_ref().map(|name| name.as_str().to_owned()),
                requires: subagent
                    .requires
                    .iter()
                    .map(|required| Requirement {
                        name: required.name.as_str().to_owned(),
                        may_be_null: required.optional,
                    })
                    .collect(),
                optional: subagent.optional,
                fallback_inline: subagent.fallback_inline,
                on_error: subagent.on_error.clone(),
                ..blank(format!("{name}/{}", subagent.id), phase)
            };
            let at = self.push(node);
            previous = Some(at);
        }
        self.end_after(phase, numbers);
    }
}

fn work(subagent: &Subagent, facts: SubSkillFacts, relevant: Vec<String>) -> Work {
    let skill = subagent.skill.to_string();
    let args = subagent.args.clone();
    match &subagent.agent_type {
        AgentType::Script => Work::Script {
            skill,
            dir: facts.dir,
            relevant,
            entry: facts.entry.unwrap_or_else(|| "scripts/main.sh".to_owned()),
            class: facts.class.unwrap_or(EffectClass::Once),
            instructions: facts.instructions,
            args,
        },
        other => Work::Agent {
            agent_type: other.as_str().to_owned(),
            access: access(other),
            skill,
            instructions: facts.instructions,
            args,
            relevant,
            schema: subagent.schema.clone(),
            model: None,
        },
    }
}

/// As the table of kinds has it. A type that nobody here knows may read, until somebody says more.
fn access(agent_type: &AgentType) -> Access {
    let known = crate::agent_type::built_in_types().into_iter().find(|kind| kind.name == agent_type.as_str());
    known.map_or(Access::ReadOnly, |kind| kind.access)
}

fn blank(id: String, phase: u32) -> PlanNode {
    PlanNode {
        id,
        phase,
        after: Vec::new(),
        work: Work::Gate,
        output: None,
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    }
}
