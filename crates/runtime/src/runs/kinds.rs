//! Kinds of agents that phases name: found among those of this place, and pinned in the run, so that a changed file changes
//! later runs and never this one. Kinds that are built in need no pin: every installation has them.

use super::start::Started;
use crate::agents::model_for;
use fugato_engine::{AgentType, CallableWork, Executor, Plan, RunSpec, Work, built_in_types};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kind of this name that somebody wrote, whatever its case.
pub(super) fn named<'a>(types: &'a [AgentType], name: &str) -> Option<&'a AgentType> {
    let name = name.to_lowercase();
    types.iter().find(|kind| kind.name.to_lowercase() == name)
}

/// Lets a kind do the work of every agent that has no kind of somebody's own.
pub fn let_do(spec: &mut RunSpec, kind: AgentType) {
    for node in &mut spec.plan.nodes {
        let Work::Agent { agent_type, model, .. } = &mut node.work else { continue };
        if !spec.types.contains_key(agent_type) {
            agent_type.clone_from(&kind.name);
            *model = None;
        }
    }
    for callable in spec.skills.values_mut() {
        let CallableWork::Agent { agent_type, model, .. } = &mut Arc::make_mut(callable).work else {
            continue;
        };
        agent_type.clone_from(&kind.name);
        *model = None;
    }
    if spec.single.is_some() {
        spec.main_type = Some(kind.name.clone());
    }
    spec.types.insert(kind.name.clone(), Arc::new(kind));
}

/// Writes into the plan what these kinds say of the agents it names, and gives the kinds.
pub(super) fn pin(plan: &mut Plan, started: &Started) -> BTreeMap<String, Arc<AgentType>> {
    let mut pinned = BTreeMap::new();
    let built_in = built_in_types();
    let own: Vec<&AgentType> = started.types.iter().filter(|kind| !built_in.contains(kind)).collect();
    if own.is_empty() {
        return pinned;
    }
    for node in &mut plan.nodes {
        let mut no_model = None;
        let (agent_type, access, model) = match &mut node.work {
            Work::Agent { agent_type, access, model, .. } => (agent_type, access, model),
            // Those inside have models of their own.
            Work::Phases { agent_type, access, .. } => (agent_type, access, &mut no_model),
            _ => continue,
        };
        let name = agent_type.to_lowercase();
        let Some(kind) = own.iter().find(|kind| kind.name.to_lowercase() == name) else { continue };
        agent_type.clone_from(&kind.name);
        *access = kind.access;
        *model = kind.model.as_deref().map(|wanted| match kind.executor {
            Executor::Model => model_for(Some(wanted), &started.model),
            // A program's own words.
            _ => wanted.to_owned(),
        });
        pinned.entry(kind.name.clone()).or_insert_with(|| Arc::new((*kind).clone()));
    }
    pinned
}
