//! From checked phases to a plan: joints between phases, edges between nodes, everything a node needs pinned. A sub-skill
//! with phases of its own becomes a node whose work is a further level of the same kind.

use crate::event::EffectClass;
use crate::plan::{Access, Phase, Plan, PlanNode, Requirement, Work};
use fugato_model::RelPath;
use fugato_skill::limits::{PHASES, SUBAGENTS};
use fugato_skill::phases::{AgentType, Phased, Subagent};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

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
    /// It has phases of its own.
    pub phases: Option<Arc<SubPhases>>,
}

/// The phases of a sub-skill.
#[derive(Clone, Debug)]
pub struct SubPhases {
    pub phased: Phased,
    /// Its whole SKILL.md.
    pub text: String,
    /// What its own phases name.
    pub parts: BTreeMap<RelPath, SubSkillFacts>,
}

/// All levels together are more than a run may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    pub limit: usize,
    pub of: Counted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Phases,
    Subagents,
}

/// The plan of a skill with phases (`text` is its whole SKILL.md), and the variables that switched-off phases leave null.
pub fn plan(
    phased: &Phased,
    text: &str,
    facts: &dyn Fn(&RelPath) -> SubSkillFacts,
) -> Result<(Plan, BTreeMap<String, Value>), TooLarge> {
    let mut builder = Builder::default();
    let top = Place { prefix: String::new(), within: None, skill: String::new() };
    builder.level(&top, phased, text, facts)?;
    let nulls = nulls(phased).map(|name| (name, Value::Null)).collect();
    Ok((builder.plan, nulls))
}

/// What switched-off phases would have set.
fn nulls(phased: &Phased) -> impl Iterator<Item = String> {
    phased.phases.iter().filter(|phase| !phase.enabled).flat_map(|phase| {
        let outputs = phase.subagents.iter().filter_map(|subagent| subagent.output.as_ref());
        outputs.chain(&phase.sets).chain(&phase.sets_by_use).map(|name| name.as_str().to_owned())
    })
}

/// Where a level of phases stands in the whole.
struct Place {
    /// What the names of its phases begin with: nothing, or the caller's id and a slash.
    prefix: String,
    within: Option<u32>,
    /// The same for paths of scripts, which must be told apart across levels.
    skill: String,
}

#[derive(Default)]
struct Builder {
    plan: Plan,
    subagents: usize,
}

/// The joints of one level, by phase.
struct Joints {
    first_phase: u32,
    begin: Vec<u32>,
    end: Vec<u32>,
}

impl Builder {
    fn level(
        &mut self,
        place: &Place,
        phased: &Phased,
        text: &str,
        facts: &dyn Fn(&RelPath) -> SubSkillFacts,
    ) -> Result<(), TooLarge> {
        self.count(phased)?;
        let joints = self.phases(place, phased);
        for (at, phase) in phased.phases.iter().enumerate() {
            let number = joints.first_phase + number(at);
            let Some((begin, end)) = joints.begin.get(at).copied().zip(joints.end.get(at).copied()) else {
                continue;
            };
            let name = format!("{}{}", place.prefix, phase.name);
            if !phase.enabled {
                self.after(end, vec![begin]);
            } else if phase.inline {
                let section = phased.markdown_template(phase, text);
                let sets = phase.sets.iter().chain(&phase.sets_by_use);
                let sets = sets.map(|name| name.as_str().to_owned()).collect();
                let work = Work::Inline { section, sets };
                let node = self.push(PlanNode { work, after: vec![begin], ..blank(name, number) });
                self.after(end, vec![node]);
            } else {
                let known: Vec<SubSkillFacts> =
                    phase.subagents.iter().map(|subagent| facts(&subagent.skill)).collect();
                let nodes = self.subagents(place, begin, phase, number, &known);
                self.after(end, nodes.clone());
                self.inner(place, nodes, &phase.subagents, &known)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, phased: &Phased) -> Result<(), TooLarge> {
        self.subagents += phased.phases.iter().map(|phase| phase.subagents.len()).sum::<usize>();
        if self.plan.phases.len() + phased.phases.len() > PHASES {
            return Err(TooLarge { limit: PHASES, of: Counted::Phases });
        }
        if self.subagents > SUBAGENTS {
            return Err(TooLarge { limit: SUBAGENTS, of: Counted::Subagents });
        }
        Ok(())
    }

    /// The phases of a level with their joints. Dependencies may be declared in any order: all joints have their numbers
    /// before anything is connected.
    fn phases(&mut self, place: &Place, phased: &Phased) -> Joints {
        let first_phase = number(self.plan.phases.len());
        let places: HashMap<&str, u32> =
            phased.phases.iter().map(|phase| phase.name.as_str()).zip(first_phase..).collect();
        let mut joints = Joints { first_phase, begin: Vec::new(), end: Vec::new() };
        for (phase, number) in phased.phases.iter().zip(first_phase..) {
            let name = format!("{}{}", place.prefix, phase.name);
            let depends_on = phase.depends_on.iter().filter_map(|on| places.get(on.as_str()).copied());
            let gate = |id: String| PlanNode { work: Work::Gate, ..blank(id, number) };
            joints.begin.push(self.push(gate(format!("{name}/(begin)"))));
            joints.end.push(self.push(gate(format!("{name}/(end)"))));
            self.plan.phases.push(Phase {
                parallel: phase.parallel,
                depends_on: depends_on.collect(),
                within: place.within,
                name,
            });
        }
        for (at, begin) in joints.begin.iter().enumerate() {
            let phase = self.plan.phases.get(first_phase as usize + at);
            let depends_on = phase.map(|phase| phase.depends_on.as_slice()).unwrap_or_default();
            let ends = depends_on.iter().filter_map(|on| joints.end.get((on - first_phase) as usize));
            let ends = ends.copied().collect();
            self.after(*begin, ends);
        }
        joints
    }

    fn subagents(
        &mut self,
        place: &Place,
        begin: u32,
        phase: &fugato_skill::phases::Phase,
        number: u32,
        known: &[SubSkillFacts],
    ) -> Vec<u32> {
        // Numbers first: a sibling may read what a later one writes.
        let first = crate::planner::number(self.plan.nodes.len());
        let numbers: Vec<u32> = (first..).take(phase.subagents.len()).collect();
        let mut previous: Option<u32> = None;
        for (subagent, facts) in phase.subagents.iter().zip(known) {
            let mut after = vec![begin];
            if phase.parallel {
                // A reference to a sibling's output orders the two.
                after.extend(subagent.after.iter().filter_map(|sibling| numbers.get(*sibling).copied()));
            } else {
                after.extend(previous);
            }
            let id = format!("{}{}/{}", place.prefix, phase.name, subagent.id);
            let node = PlanNode {
                after,
                work: work(place, subagent, facts),
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
                ..blank(id, number)
            };
            previous = Some(self.push(node));
        }
        numbers
    }

    /// The phases inside of what a phase calls.
    fn inner(
        &mut self,
        place: &Place,
        nodes: Vec<u32>,
        subagents: &[Subagent],
        known: &[SubSkillFacts],
    ) -> Result<(), TooLarge> {
        for ((node, subagent), facts) in nodes.into_iter().zip(subagents).zip(known) {
            let Some(inner) = phases_of(subagent, facts) else { continue };
            let id = self.plan.nodes.get(node as usize).map(|node| node.id.clone()).unwrap_or_default();
            let below = Place {
                prefix: format!("{id}/"),
                within: Some(node),
                skill: format!("{}{}/", place.skill, subagent.skill),
            };
            let parts = |path: &RelPath| inner.parts.get(path).cloned().unwrap_or_default();
            self.level(&below, &inner.phased, &inner.text, &parts)?;
        }
        Ok(())
    }

    fn push(&mut self, node: PlanNode) -> u32 {
        let at = number(self.plan.nodes.len());
        self.plan.nodes.push(node);
        at
    }

    fn after(&mut self, node: u32, after: Vec<u32>) {
        if let Some(node) = self.plan.nodes.get_mut(node as usize) {
            node.after = after;
        }
    }
}

/// A script is its program, whatever phases stand beside it.
fn phases_of<'f>(subagent: &Subagent, facts: &'f SubSkillFacts) -> Option<&'f Arc<SubPhases>> {
    facts.phases.as_ref().filter(|_| subagent.agent_type != AgentType::Script)
}

fn work(place: &Place, subagent: &Subagent, facts: &SubSkillFacts) -> Work {
    let skill = subagent.skill.to_string();
    let args = subagent.args.clone();
    let relevant: Vec<String> = subagent.relevant.iter().map(|name| name.as_str().to_owned()).collect();
    let instructions = facts.instructions.clone();
    match (&subagent.agent_type, phases_of(subagent, facts)) {
        (AgentType::Script, _) => Work::Script {
            skill: format!("{}{skill}", place.skill),
            dir: facts.dir.clone(),
            relevant,
            entry: facts.entry.clone().unwrap_or_else(|| "scripts/main.sh".to_owned()),
            class: facts.class.unwrap_or(EffectClass::Once),
            instructions,
            args,
        },
        (other, Some(inner)) => Work::Phases {
            agent_type: other.as_str().to_owned(),
            access: access(other),
            skill,
            instructions,
            args,
            relevant,
            schema: subagent.schema.clone(),
            nulls: nulls(&inner.phased).collect(),
        },
        (other, None) => Work::Agent {
            agent_type: other.as_str().to_owned(),
            access: access(other),
            skill,
            instructions,
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

/// Phases and subagents are bounded far below this.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
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
