//! What the shell must be doing right now. Derived from the log: an effect is wanted from its request to its outcome.

use crate::event::{AgentPath, EffectClass, Purpose};
use fugato_model::chat::ToolCall;
use serde_json::Value;

/// Identity of an effect: the same after a crash, so that an outcome can never be taken for another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKey {
    Node { node: u32, attempt: u32 },
    Model { agent: u32, step: u32 },
    Tool { agent: u32, step: u32, index: u32 },
    Recall { agent: u32 },
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask the agent's model; the conversation is the run's [`crate::AgentState::messages`].
    CallModel {
        agent: AgentPath,
        model: String,
        step: u32,
        purpose: Purpose,
        max_tokens: Option<u32>,
    },
    RunTool {
        agent: AgentPath,
        call: ToolCall,
        class: EffectClass,
    },
    RunScript {
        node: String,
        skill: String,
        /// Where an installed sub-skill is; else `skill` is a path inside the run's skill.
        dir: Option<String>,
        entry: String,
        arguments: Value,
        class: EffectClass,
    },
    /// Bring back the conversation of an agent that had left memory: its first messages, from the log.
    Recall {
        agent: AgentPath,
        messages: u32,
    },
    Noop,
}
