//! Skills that are called while a run goes on, and the orchestrators that call them, as a run pins them.
//!
//! Only the shapes: which skills there are and who may call which is resolved by whoever creates the run; what a call
//! becomes is in `run/calls.rs`, and how a session goes on in `driver/session.rs`.

use crate::event::EffectClass;
use crate::plan::{Access, Plan};
use fugato_skill::sop;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A skill that can be called by its name: [`crate::RunSpec::skills`] has it under that name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Callable {
    /// What a model reads to decide whether to call it.
    pub description: String,
    pub work: CallableWork,
}

/// What a call becomes: a node of this kind, added to the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CallableWork {
    Agent {
        agent_type: String,
        access: Access,
        /// The skill's text, pinned.
        instructions: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
    },
    /// It is handed `{"args": […], "prompt": "…"}`; what it prints is the value, as it printed it.
    Script {
        /// Where the skill is.
        dir: String,
        /// Entry point, relative to it.
        entry: String,
        class: EffectClass,
    },
    /// A skill with phases. The plan is as the planner makes it for the skill alone: numbers, names and phases begin at
    /// nothing, and the run moves them. Its scripts name their directories.
    Phases {
        agent_type: String,
        access: Access,
        plan: Plan,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        /// Variables that its switched-off phases leave null.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nulls: Vec<String>,
    },
    Session {
        orchestrator: Arc<Orchestrator>,
    },
    /// Nothing: for measurements.
    Noop,
}

/// A descriptor, resolved: its lists hold names of skills that are there, and no others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orchestrator {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    pub session: SessionKind,
    /// The skills it may call. Nothing else can be called, whatever a model asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Preparation>,
    /// Its model, if it is not the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// How an orchestrator works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionKind {
    /// A model calls skills step by step.
    Loop {
        /// Steps of one turn; a turn begins anew when a person answers.
        #[serde(default = "turn_steps")]
        steps: u32,
    },
    /// A program is planned, or given, and run.
    Sop {
        /// The program that runs as it is, without a planner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fixed: Option<String>,
        #[serde(default)]
        budget: SopBudget,
    },
}

/// Steps of one turn of a loop session, unless somebody says otherwise.
pub const TURN_STEPS: u32 = 20;

const fn turn_steps() -> u32 {
    TURN_STEPS
}

/// The stage before the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    pub instructions: String,
    /// The skills it may call, resolved: the main list where the descriptor has none of its own, nothing where it is
    /// empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
}

/// What preparation found, by name: data for the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextEntry {
    pub name: String,
    pub value: String,
}

/// Who called a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Caller {
    /// An agent of a session, as a tool: the result is the tool's.
    Tool { agent: u32, step: u32, index: u32 },
    /// A declaration of the program that a session runs.
    Command {
        session: u32,
        name: Arc<str>,
        /// The comment above the declaration: for people who watch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        says: Option<Arc<str>>,
    },
}

/// The conversation a run is a turn of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    pub name: String,
    pub orchestrator: String,
    /// What was said and done in it before, bounded: data.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub snapshot: String,
    /// The program of the turn before: what did not change in it is not run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<CarriedSop>,
    /// For whom its requests are made, until somebody says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoken_as: Option<SpokenAs>,
}

/// An agent of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpokenAs {
    pub agent: String,
    /// The profile's file.
    pub profile: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// A program and what its commands gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CarriedSop {
    pub program: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, SopValue>,
}

/// What a command gave, as it is stored. What never ran has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SopValue {
    Success(String),
    Failed(String),
    Canceled(String),
    NoResponse,
}

impl SopValue {
    /// `None`: nothing happened that must not happen again.
    pub fn of(value: &sop::Value) -> Option<Self> {
        match value {
            sop::Value::Success(text) => Some(Self::Success(text.to_string())),
            sop::Value::Failed(reason) => Some(Self::Failed(reason.to_string())),
            sop::Value::Canceled { reason, via: None } => Some(Self::Canceled(reason.to_string())),
            sop::Value::Undefined(sop::Undefined::NoResponse) => Some(Self::NoResponse),
            sop::Value::Canceled { .. } | sop::Value::Undefined(_) => None,
        }
    }

    pub fn value(&self) -> sop::Value {
        match self {
            Self::Success(text) => sop::Value::Success(text.as_str().into()),
            Self::Failed(reason) => sop::Value::Failed(reason.as_str().into()),
            Self::Canceled(reason) => sop::Value::Canceled { reason: reason.as_str().into(), via: None },
            Self::NoResponse => sop::Value::Undefined(sop::Undefined::NoResponse),
        }
    }
}

/// The bounds of a program, see [`sop::Budget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SopBudget {
    pub commands: u32,
    pub prompt_chars: u32,
    pub failures: u32,
    /// Plans for one request, those that cannot be run too.
    #[serde(default = "plans")]
    pub plans: u32,
}

/// Plans for one request, unless somebody says otherwise.
const fn plans() -> u32 {
    3
}

impl Default for SopBudget {
    fn default() -> Self {
        let fits = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let sop::Budget { commands, prompt_chars, failures } = sop::Budget::default();
        let (commands, prompt_chars, failures) = (fits(commands), fits(prompt_chars), fits(failures));
        Self { commands, prompt_chars, failures, plans: plans() }
    }
}

impl From<SopBudget> for sop::Budget {
    fn from(budget: SopBudget) -> Self {
        Self {
            commands: budget.commands as usize,
            prompt_chars: budget.prompt_chars as usize,
            failures: budget.failures as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_gave_comes_back_from_storage_as_it_was() {
        for value in [
            sop::Value::Success("a\n".into()),
            sop::Value::Failed("no".into()),
            sop::Value::Canceled { reason: "not now".into(), via: None },
            sop::Value::Undefined(sop::Undefined::NoResponse),
        ] {
            let stored = serde_json::to_string(&SopValue::of(&value)).unwrap();
            let read: Option<SopValue> = serde_json::from_str(&stored).unwrap();
            assert_eq!(read.unwrap().value(), value);
        }
        let not_started = sop::Value::Undefined(sop::Undefined::NotStarted);
        assert_eq!(SopValue::of(&not_started), None);
    }

    #[test]
    fn a_session_that_says_nothing_of_its_steps_has_the_usual_ones() {
        let read: SessionKind = serde_json::from_str(r#"{"type": "loop"}"#).unwrap();
        assert_eq!(read, SessionKind::Loop { steps: TURN_STEPS });
        let read: SessionKind = serde_json::from_str(r#"{"type": "sop"}"#).unwrap();
        assert_eq!(read, SessionKind::Sop { fixed: None, budget: SopBudget::default() });
    }
}
