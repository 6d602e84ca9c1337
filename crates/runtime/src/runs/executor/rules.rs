//! What a kind of agent and the rules of a run mean for a host's own tools. A host asks nobody of ours, so what a person
//! would have to be asked about is refused there. Codex has no lists: access alone counts.

use crate::hosts::HostTools;
use fugato_engine::permission::Mode;
use fugato_engine::{Access, AgentState, Run};
use std::collections::BTreeSet;

/// Tools with which a host starts agents of its own.
const DELEGATING: [&str; 2] = ["Agent", "Task"];

/// The host's tools by its kind and the run's rules; what nobody allowed, the host's own checks decide about.
pub(super) fn tools(state: &AgentState, run: &Run) -> HostTools {
    let (kind, rules) = (&state.kind, &run.spec.permissions.rules);
    let words = |rules: &[fugato_engine::permission::Rule]| -> Vec<String> {
        rules.iter().map(|rule| rule.as_str().to_owned()).collect()
    };
    let mut denied = words(&rules.deny);
    denied.extend(words(&rules.ask));
    denied.extend(kind.deny.iter().chain(&kind.disallowed).cloned());
    if state.depth >= run.spec.limits.depth {
        denied.extend(DELEGATING.map(str::to_owned));
    }
    // Of a tool that the kind has only for some calls, these are approved and nothing else is.
    let narrow: BTreeSet<&str> = kind.only.iter().map(|rule| tool_of(rule)).collect();
    let wide = words(&rules.allow).into_iter().filter(|rule| !narrow.contains(tool_of(rule)));
    let approved = wide.chain(kind.only.iter().cloned()).collect();
    HostTools { only: kind.tools.clone(), approved, denied }
}

/// What it may do at all. Where a person is to be asked about every change, nobody can be: it reads.
pub(super) fn access(state: &AgentState, run: &Run) -> Access {
    match run.spec.permissions.rules.mode {
        Mode::Default | Mode::AcceptEdits => state.access,
        Mode::Ask | Mode::DontAsk | Mode::ReadOnly => Access::ReadOnly,
    }
}

/// Does anything here depend on the host checking its calls?
pub(super) fn has_rules(state: &AgentState, run: &Run) -> bool {
    let (kind, rules) = (&state.kind, &run.spec.permissions.rules);
    let is_usual = rules.mode == Mode::Default;
    !(is_usual
        && kind.only.is_empty()
        && kind.deny.is_empty()
        && rules.deny.is_empty()
        && rules.ask.is_empty())
}

fn tool_of(rule: &str) -> &str {
    rule.split_once('(').map_or(rule, |(name, _)| name)
}
