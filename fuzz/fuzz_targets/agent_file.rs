//! Any bytes as an agent file: no panic, what is usable has a name and a description, and no kind made of it gives more than
//! its parent has.
#![no_main]

use fugato_engine::{Access, AgentType, Rights, tools};
use fugato_model::Diagnostic;
use fugato_skill::Strictness;
use fugato_skill::agent_file::{AgentText, MAX_STEPS, check, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let known_tools: Vec<&str> = tools::TOOLS.iter().map(|(name, _)| *name).collect();
    let text = AgentText { stem: "fuzz", path: "fuzz.md", bytes, known_tools: &known_tools };
    let reading = read(text);
    let strict = check(text, Strictness::Strict);
    assert!(strict.len() >= reading.diagnostics.len() && strict.iter().all(Diagnostic::is_error));
    assert!(reading.agent.steps.is_none_or(|steps| (1..=MAX_STEPS).contains(&steps)));
    if !reading.usable {
        assert!(reading.diagnostics.iter().any(Diagnostic::is_error));
        return;
    }
    assert!(!reading.agent.description.trim().is_empty());
    let Some(kind) = AgentType::from_file(&reading.agent) else { panic!("usable without a name") };
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let parent = Rights::of_master(known_tools.iter().copied().chain(["Agent", "db__query"]), access, 1);
        let child = parent.for_child(&kind);
        assert!(parent.covers(&child) && !child.has_tool("Agent"));
    }
});
