//! Any bytes as a skill file: no panic, and what is usable has an identity and a description.
#![no_main]

use fugato_skill::{SkillText, read_orchestrator, read_skill, reference, rename_in_frontmatter};
use fugato_model::SkillName;
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
    let target = reference::Target { dir: "fuzz", dir_name: "fuzz", file: Some(("SKILL.md", bytes)) };
    let _ = reference::validate(target);
    let _ = reference::properties(target);
    // A new name either cannot be written, or is the name that is read afterwards.
    if let (Ok(file), Ok(new)) = (std::str::from_utf8(bytes), SkillName::parse("fuzz"))
        && let Ok(renamed) = rename_in_frontmatter(file, &new)
    {
        let again = read_skill(SkillText { bytes: renamed.as_bytes(), ..text });
        assert!(!again.usable || again.head.name == Some(new));
    }
});
