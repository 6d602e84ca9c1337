//! What can reach a run from outside: commands of people, outcomes of effects, a new owner.

use crate::effect::EffectKey;
use crate::event::{AgentPath, MessageKind, Target, Used, Verb};
use crate::limits::Limits;
use fugato_model::chat::{Answer, Message, ModelFault};
use fugato_model::{Digest, Words};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// One input. Each is decided on its own; the order of inputs is the order of the log.
#[derive(Clone, Debug)]
pub enum Input {
    /// Begin, or go on after a crash: whatever can start, starts.
    Go,
    /// A new owner took over. Effects that were under way when the old one died are repeated or become uncertain.
    Recover {
        epoch: u64,
    },
    Completed {
        key: EffectKey,
        completion: Completion,
    },
    /// The program that does the work of an agent has a conversation of this name.
    Hosted {
        agent: AgentPath,
        step: u32,
        session: Value,
        used: Option<Used>,
    },
    /// It has used a tool of its own.
    Acted {
        agent: AgentPath,
        tool: String,
        arguments: Value,
        is_error: bool,
        head: String,
    },
    /// It was told its oldest messages in the middle of this step.
    Heard {
        agent: AgentPath,
        step: u32,
        count: u32,
    },
    /// A model call under way is tried again after a wait.
    Retrying {
        agent: AgentPath,
        wait_ms: u64,
        reason: Words,
    },
    Direct {
        verb: Verb,
        target: Target,
        text: Option<String>,
    },
    Answer {
        question: u32,
        answer: String,
    },
    Send {
        to: Target,
        from: String,
        text: String,
        kind: MessageKind,
    },
    /// Another program wrote something that cannot be taken.
    Skipped {
        file: String,
        problem: Words,
    },
    Raise {
        limits: Limits,
    },
    /// The clock reached [`crate::Run::deadline`].
    Tick,
}

/// The inputs that may come from outside the process that owns the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    Direct {
        verb: Verb,
        target: Target,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    Answer {
        question: u32,
        answer: String,
    },
    Send {
        to: Target,
        from: String,
        text: String,
        #[serde(default = "handoff")]
        kind: MessageKind,
    },
    Skipped {
        file: String,
        problem: Words,
    },
    Raise {
        limits: Limits,
    },
}

/// What a message is that does not say.
const fn handoff() -> MessageKind {
    MessageKind::Handoff
}

impl From<Command> for Input {
    fn from(command: Command) -> Self {
        match command {
            Command::Direct { verb, target, text } => Self::Direct { verb, target, text },
            Command::Answer { question, answer } => Self::Answer { question, answer },
            Command::Send { to, from, text, kind } => Self::Send { to, from, text, kind },
            Command::Skipped { file, problem } => Self::Skipped { file, problem },
            Command::Raise { limits } => Self::Raise { limits },
        }
    }
}

/// The outcome of an effect.
#[derive(Clone, Debug)]
pub enum Completion {
    Answered {
        answer: Box<Answer>,
        micro_usd: Option<u64>,
    },
    ModelFailed {
        fault: ModelFault,
        message: String,
    },
    Tool {
        content: String,
        is_error: bool,
        /// The skill it read, and what that contained.
        used: Option<(String, Digest)>,
    },
    /// The conversation of an agent, as the log has it.
    Recalled {
        messages: Vec<Arc<Message>>,
    },
    Script {
        stdout: String,
    },
    ScriptFailed {
        message: Words,
        /// The last line it wrote to standard error, if it came so far.
        last_line: Option<String>,
    },
    /// It was ended from outside (time, memory, output, a signal): nobody knows how far it had come.
    ScriptCutShort {
        message: Words,
    },
    Noop,
}

/// Why an input was not taken. Nothing is written for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub words: Words,
}
