//! What a plan will at least ask of models: calls and tokens of prompts, phase by phase. Pure; an estimate, and said so.

use fugato_engine::{PlanNode, RunSpec, Work};
use fugato_model::RelPath;
use fugato_skill::VarName;
use fugato_skill::catalog::estimate_tokens;
use fugato_skill::interpolate::Template;
use fugato_skill::phases::prompt;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// At least this much, without what models answer, tool definitions, and values that only the run will know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    pub model_calls: u64,
    pub prompt_tokens: u64,
    pub phases: Vec<PhaseEstimate>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PhaseEstimate {
    pub phase: String,
    pub model_calls: u64,
    pub prompt_tokens: u64,
    /// Calls more if every subagent with `fallback: inline` fails.
    pub fallback_calls: u64,
}

pub fn estimate(spec: &RunSpec) -> Estimate {
    let catalog = u64::from(estimate_tokens(&spec.catalog));
    let named = |name: &str| PhaseEstimate { phase: name.to_owned(), ..PhaseEstimate::default() };
    let mut phases: Vec<PhaseEstimate> = spec.plan.phases.iter().map(|phase| named(&phase.name)).collect();
    for node in &spec.plan.nodes {
        let Some(phase) = phases.get_mut(node.phase as usize) else { continue };
        if let Some(prompt) = prompt_of(node, &spec.context) {
            phase.model_calls += 1;
            phase.prompt_tokens += catalog + u64::from(estimate_tokens(&prompt));
        }
        phase.fallback_calls += u64::from(node.fallback_inline);
    }
    if let Some(text) = &spec.single {
        let arguments = spec.context.get("ARGUMENTS").and_then(Value::as_str).unwrap_or_default();
        let prompt_tokens =
            catalog + u64::from(estimate_tokens(text)) + u64::from(estimate_tokens(arguments));
        phases.push(PhaseEstimate { model_calls: 1, prompt_tokens, ..named("main") });
    }
    Estimate {
        model_calls: phases.iter().map(|phase| phase.model_calls).sum(),
        prompt_tokens: phases.iter().map(|phase| phase.prompt_tokens).sum(),
        phases,
    }
}

/// The first prompt of a node, as far as it is known. `None`: no model is asked.
fn prompt_of(node: &PlanNode, known: &BTreeMap<String, Value>) -> Option<String> {
    match &node.work {
        Work::Agent { skill, instructions, args, relevant, .. } => {
            let shown: Vec<(VarName, &Value)> = relevant
                .iter()
                .filter_map(|name| Some((VarName::parse(name).ok()?, known.get(name)?)))
                .collect();
            let output = node.output.as_deref().and_then(|name| VarName::parse(name).ok());
            let skill = RelPath::parse(skill).ok()?;
            Some(prompt::subagent(&skill, instructions, &filled(args, known), &shown, output.as_ref()))
        }
        Work::Inline { section, .. } => Some(filled(section, known)),
        Work::Session { orchestrator, args } => {
            Some(format!("{}\n\n{}", orchestrator.instructions, filled(args, known)))
        }
        Work::Script { .. } | Work::Phases { .. } | Work::Noop | Work::Gate => None,
    }
}

/// What is not known yet is left out.
fn filled(template: &Template, known: &BTreeMap<String, Value>) -> String {
    let value_of = |name: &str| Some(known.get(name).unwrap_or(&Value::Null));
    template.render(&value_of).map(|rendered| rendered.text).unwrap_or_default()
}

/// `87`, `1.2k`, `3.4M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{}.{}k", count / 1000, count % 1000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
