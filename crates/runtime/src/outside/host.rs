//! Who calls the hook, and what it understands of an answer. Measured with the real programs.

use super::payload::Payload;

/// A program whose agents call the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    Claude,
    Codex,
    /// Something that speaks the same, of which nothing else is known.
    Other,
}

impl Host {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Other => "host",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        match name {
            "claude" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "host" | "other" => Some(Self::Other),
            _ => None,
        }
    }

    /// By what only one of them sends. The environment comes last: a Codex started by Claude has Claude's.
    pub fn of(payload: &Payload, is_in_claude: bool) -> Self {
        let transcript = payload.text("transcript_path").unwrap_or_default();
        if payload.has("turn_id") || transcript.contains("/.codex/") || transcript.contains("/rollout-") {
            Self::Codex
        } else if payload.has("prompt_id") || transcript.contains("/.claude/") || is_in_claude {
            Self::Claude
        } else {
            Self::Other
        }
    }

    /// Can words for the agent be added to the answer of this event?
    pub fn hears_at(self, event: &str) -> bool {
        match self {
            Self::Claude => matches!(
                event,
                "PreToolUse"
                    | "PostToolUse"
                    | "PostToolUseFailure"
                    | "UserPromptSubmit"
                    | "SessionStart"
                    | "SubagentStart"
            ),
            // Before a tool it takes a denial and nothing else for sure: an answer it does not like lets the tool run.
            Self::Codex => {
                matches!(event, "PostToolUse" | "UserPromptSubmit" | "SessionStart" | "SubagentStart")
            }
            Self::Other => matches!(event, "PostToolUse" | "UserPromptSubmit" | "SessionStart"),
        }
    }

    /// Does `continue: false` beside a denial end the agent, or at least do no harm? Codex takes the whole answer for invalid
    /// and lets the tool run.
    pub fn can_be_stopped(self) -> bool {
        matches!(self, Self::Claude)
    }
}
