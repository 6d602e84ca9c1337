//! The tools an agent may call, with the class of their effect. What they do is the shell's business.

use crate::event::EffectClass;

/// Engine tools: decided here, never performed.
pub const SUBMIT: &str = "submit_result";
pub const ASK: &str = "ask_user";
pub const DELEGATE: &str = "Agent";
pub const SEND: &str = "SendMessage";
/// How sessions of orchestrators, and the stage before them, end.
pub const FINAL_ANSWER: &str = "final_answer";
pub const CANNOT_COMPLETE: &str = "cannot_complete";
pub const SUBMIT_CONTEXT: &str = "submit_context";

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
    ("WebFetch", EffectClass::Read),
    ("WebSearch", EffectClass::Read),
    ("office-read", EffectClass::Read),
    ("image-ocr", EffectClass::Read),
    ("browser-navigate", EffectClass::Once),
    ("browser-snapshot", EffectClass::Read),
    ("browser-click", EffectClass::Once),
    ("browser-type", EffectClass::Once),
    ("browser-select", EffectClass::Once),
    ("browser-screenshot", EffectClass::Idempotent),
    ("browser-wait", EffectClass::Read),
    ("browser-back", EffectClass::Once),
    ("browser-tabs", EffectClass::Once),
    ("browser-evaluate", EffectClass::Once),
    ("canvas-read", EffectClass::Read),
    ("canvas-add", EffectClass::Once),
    ("canvas-update", EffectClass::Idempotent),
    ("canvas-remove", EffectClass::Idempotent),
    ("canvas-connect", EffectClass::Once),
    ("canvas-group", EffectClass::Once),
    ("canvas-layout", EffectClass::Idempotent),
    ("canvas-from-text", EffectClass::Idempotent),
    ("chart", EffectClass::Idempotent),
];

pub fn class_of(tool: &str) -> Option<EffectClass> {
    TOOLS.iter().find(|(name, _)| *name == tool).map(|(_, class)| *class)
}

/// Every tool there is, the engine's own included.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name).chain([SUBMIT, ASK, DELEGATE, SEND])
}
