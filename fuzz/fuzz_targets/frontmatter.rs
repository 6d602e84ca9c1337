//! Any bytes as a skill file: no panic, and what is usable has an identity and a description.
#![no_main]

use fugato_skill::{SkillText, read_orchestrator, read_skill, reference};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = SkillText { dir_name: "fuzz", path: "fuzz/SKILL.md", bytes };
    let reading = read_skill(text);
    if reading.usable {
        assert!(reading.head.name.is_some() && !reading.head.description.trim().is_empty());
    } else {
        assert!(reading.diagnostics.iter().any(fugato_model::Diagnostic::is_error));
    }
    let _ = read_orchestrator(text);
    let _ = reference::validate("fuzz", bytes);
});
