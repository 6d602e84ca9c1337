//! When each host is told to call the hook, for how long it waits, and what its version can do.

use crate::hosts::{Host, Version};

/// One event of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub event: &'static str,
    /// Seconds after which the host gives up on the hook.
    pub timeout: u32,
    /// It decides whether something happens: where the host can, a hook that fails blocks.
    pub is_guard: bool,
}

/// A paused agent waits inside the hook, for less than this; a host that gives up on a hook lets the tool run.
const GUARD_SECONDS: u32 = 60;
/// Nothing waits in these.
const OBSERVER_SECONDS: u32 = 10;

const fn observe(event: &'static str) -> Call {
    Call { event, timeout: OBSERVER_SECONDS, is_guard: false }
}

const GUARD: Call = Call { event: "PreToolUse", timeout: GUARD_SECONDS, is_guard: true };

/// A name that a version of Claude Code does not know would make it ignore the whole file: these are known since 2.1.197.
const CLAUDE: &[Call] = &[
    observe("SessionStart"),
    observe("UserPromptSubmit"),
    GUARD,
    observe("PostToolUse"),
    observe("PostToolUseFailure"),
    observe("SubagentStart"),
    observe("SubagentStop"),
    observe("Stop"),
    observe("SessionEnd"),
];

/// A tool that failed has no event there.
const CODEX: &[Call] = &[
    observe("SessionStart"),
    observe("UserPromptSubmit"),
    GUARD,
    observe("PostToolUse"),
    observe("SubagentStart"),
    observe("SubagentStop"),
    observe("Stop"),
    observe("SessionEnd"),
];

/// Every call the hook is installed for, in the order of a session.
pub const fn calls(host: Host) -> &'static [Call] {
    match host {
        Host::Claude => CLAUDE,
        Host::Codex => CODEX,
    }
}

/// What a version of a host does with our answers, as measured with the real programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// A hook that crashes or hangs stops the tool call.
    pub blocks_when_the_hook_fails: bool,
    /// `continue: false` beside a refusal ends the agent's turn at once.
    pub ends_a_cancelled_turn: bool,
    /// A person must trust a hook before it is called.
    pub asks_for_trust: bool,
}

/// The first version of Claude Code with `onFailure`.
const ON_FAILURE: Version = Version { major: 2, minor: 1, patch: 295 };

pub fn abilities(host: Host, version: Version) -> Abilities {
    match host {
        Host::Claude => Abilities {
            blocks_when_the_hook_fails: version >= ON_FAILURE,
            ends_a_cancelled_turn: version >= ON_FAILURE,
            asks_for_trust: false,
        },
        Host::Codex => Abilities {
            blocks_when_the_hook_fails: false,
            ends_a_cancelled_turn: false,
            asks_for_trust: true,
        },
    }
}
