//! The variables of a plan: who sets each, who uses it. Pure.

use fugato_engine::{PlanNode, RunSpec, Work};
use fugato_skill::interpolate::Template;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One variable of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Variable {
    pub name: String,
    /// Nodes; empty for what is known before anything runs.
    pub set_by: Vec<String>,
    pub used_by: Vec<String>,
    /// The call whose sub-skill it belongs to; `None`: the run's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Known before anything runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// What is known at the start first, then in the order of the plan.
pub fn variables(spec: &RunSpec) -> Vec<Variable> {
    let mut all: Vec<Variable> = Vec::new();
    let mut places: BTreeMap<(Option<u32>, String), usize> = BTreeMap::new();
    let mut entry = |within: Option<u32>, name: &str, all: &mut Vec<Variable>| {
        *places.entry((within, name.to_owned())).or_insert_with(|| {
            let call = within.and_then(|call| spec.plan.nodes.get(call as usize));
            let within = call.map(|call| call.id.clone());
            all.push(Variable { name: name.to_owned(), within, ..Variable::default() });
            all.len() - 1
        })
    };
    for (name, value) in &spec.context {
        let at = entry(None, name, &mut all);
        if let Some(variable) = all.get_mut(at) {
            variable.value = Some(value.clone());
        }
    }
    for node in &spec.plan.nodes {
        for name in sets(node) {
            let at = entry(spec.plan.call_of(node), name, &mut all);
            if let Some(variable) = all.get_mut(at) {
                variable.set_by.push(node.id.clone());
            }
        }
    }
    for node in &spec.plan.nodes {
        for name in uses(node) {
            let at = entry(spec.plan.call_of(node), &name, &mut all);
            if let Some(variable) = all.get_mut(at) {
                variable.used_by.push(node.id.clone());
            }
        }
    }
    all
}

fn sets(node: &PlanNode) -> impl Iterator<Item = &str> {
    let inline = match &node.work {
        Work::Inline { sets, .. } => sets.as_slice(),
        _ => &[],
    };
    node.output.iter().chain(inline).map(String::as_str)
}

/// What its arguments or its section mention, what it requires, and what its prompt shows.
fn uses(node: &PlanNode) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = node.requires.iter().map(|required| required.name.clone()).collect();
    let mut mentioned = |template: &Template| {
        names.extend(template.variables().map(|(name, _)| name.as_str().to_owned()));
    };
    match &node.work {
        Work::Agent { args, relevant, .. } => {
            mentioned(args);
            // A sub-skill's text may name the variable it fills: that is not a use.
            names.extend(relevant.iter().filter(|name| node.output.as_ref() != Some(name)).cloned());
        }
        Work::Script { args, .. } | Work::Phases { args, .. } | Work::Session { args, .. } => mentioned(args),
        Work::Inline { section, .. } => mentioned(section),
        Work::Noop | Work::Gate => {}
    }
    names
}
