//! The lenient reading of a skill file: what loading uses. The signature other rooms build on.

use crate::SkillHead;
use fugato_model::Diagnostic;

/// One skill file and what surrounds it.
#[derive(Clone, Copy, Debug)]
pub struct SkillText<'a> {
    /// Name of the directory the file is in.
    pub dir_name: &'a str,
    /// The file as diagnostics should name it.
    pub path: &'a str,
    pub bytes: &'a [u8],
}

/// What a reading found. Always a value: a broken file has diagnostics and is not usable.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    pub head: SkillHead,
    pub diagnostics: Vec<Diagnostic>,
    pub usable: bool,
    /// Byte offset at which the Markdown body starts.
    pub body_start: usize,
}

/// Reads a `SKILL.md` (or `skill.md`).
pub fn read_skill(_text: SkillText<'_>) -> Reading {
    Reading::default()
}

/// Recognises an `oskill.md`.
pub fn read_orchestrator(_text: SkillText<'_>) -> Reading {
    Reading::default()
}
