//! The characters of bars, for terminals of both kinds.

use crate::render::Width;

/// Characters of one kind of terminal.
#[derive(Debug)]
pub struct Glyphs {
    pub work: &'static str,
    pub person: &'static str,
    pub nobody: &'static str,
    pub model: &'static str,
    pub tool: &'static str,
    pub resumed: &'static str,
    pub failed: &'static str,
    pub ruler: (&'static str, &'static str),
}

const LINES: Glyphs = Glyphs {
    work: "█",
    person: "░",
    nobody: "·",
    model: "▒",
    tool: "▓",
    resumed: "│",
    failed: "✗",
    ruler: ("┬", "─"),
};

/// Block characters are two cells wide on terminals with wide ambiguous characters.
const ASCII: Glyphs = Glyphs {
    work: "#",
    person: "~",
    nobody: ".",
    model: "=",
    tool: "%",
    resumed: "|",
    failed: "x",
    ruler: ("+", "-"),
};

impl Glyphs {
    pub fn of(width: Width) -> &'static Self {
        match width {
            Width::Narrow => &LINES,
            Width::Wide => &ASCII,
        }
    }
}
