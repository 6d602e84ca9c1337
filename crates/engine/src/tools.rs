//! The tools an agent may call, with the class of their effect. What they do is the shell's business.

use crate::event::EffectClass;

/// Engine tools: decided here, never performed.
pub const SUBMIT: &str = "submit_result";
pub const ASK: &str = "ask_user";

/// World and skill tools.
pub const TOOLS: &[(&str, EffectClass)] = &[
    ("Read", EffectClass::Read),
    ("Glob", EffectClass::Read),
    ("Grep", EffectClass::Read),
    ("skill_list", EffectClass::Read),
    ("skill_read", EffectClass::Read),
    ("skill_search", EffectClass::Read),
    ("Write", EffectClass::Idempotent),
    ("Edit", EffectClass::Once),
    ("Bash", EffectClass::Once),
];

pub fn class_of(tool: &str) -> Option<EffectClass> {
    TOOLS.iter().find(|(name, _)| *name == tool).map(|(_, class)| *class)
}
