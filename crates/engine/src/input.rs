//! What can reach a run from outside: commands of people, outcomes of effects, a new owner.

use crate::effect::EffectKey;
use crate::event::{Target, Verb};
use crate::limits::Limits;
use fugato_model::Words;
use fugato_model::chat::{Answer, ModelFault};

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
    },
    Raise {
        limits: Limits,
    },
}

/// The outcome of an effect.
#[derive(Clone, Debug)]
pub enum Completion {
    Answered { answer: Box<Answer>, micro_usd: Option<u64> },
    ModelFailed { fault: ModelFault, message: String },
    Tool { content: String, is_error: bool },
    Script { stdout: String },
    ScriptFailed { message: Words },
    Noop,
}

/// Why an input was not taken. Nothing is written for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub words: Words,
}
