//! What a variable is worth, and what a command can answer.

use super::budget::Halt;
use std::fmt;
use std::sync::Arc;

/// The value of a variable. Cheap to clone, however large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Success(Arc<str>),
    Failed(Arc<str>),
    /// `via`: not its own command was canceled, but that of a variable it needs, through this one.
    Canceled {
        reason: Arc<str>,
        via: Option<Arc<str>>,
    },
    Undefined(Undefined),
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undefined {
    /// A variable it needs has no value (yet, or ever).
    WaitingFor(Arc<str>),
    /// The command ended without saying anything.
    NoResponse,
    Running,
    NotStarted,
    /// The program was stopped before its turn.
    Halted(Halt),
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Success(Arc<str>),
    Failed(Arc<str>),
    /// With its reason, if it gave one.
    Canceled(Option<Arc<str>>),
    NoResponse,
}

impl Value {
    /// The text of a success.
    pub fn success(&self) -> Option<&Arc<str>> {
        match self {
            Self::Success(text) => Some(text),
            _ => None,
        }
    }

    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// Something happened to get here that must not happen again.
    pub(super) fn is_of_command(&self) -> bool {
        match self {
            Self::Success(_) | Self::Failed(_) | Self::Undefined(Undefined::NoResponse) => true,
            Self::Canceled { via, .. } => via.is_none(),
            Self::Undefined(_) => false,
        }
    }
}

impl Outcome {
    pub(super) fn into_value(self, command: &str) -> Value {
        match self {
            Self::Success(text) => Value::Success(text),
            Self::Failed(reason) if reason.trim().is_empty() => {
                Value::Failed(format!("command {command} failed (no reason provided)").into())
            }
            Self::Failed(reason) => Value::Failed(reason),
            Self::Canceled(reason) => {
                let reason = reason.filter(|reason| !reason.trim().is_empty());
                let unsaid = || format!("command {command} canceled (no reason provided)").into();
                Value::Canceled { reason: reason.unwrap_or_else(unsaid), via: None }
            }
            Self::NoResponse => Value::Undefined(Undefined::NoResponse),
        }
    }
}

/// The text of a success as it is, everything else with what it is before it: `fail:…`, `canceled:…`, `undefined:…`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success(text) => f.write_str(text),
            Self::Failed(reason) => write!(f, "fail:{reason}"),
            Self::Canceled { reason, via: None } => write!(f, "canceled:{reason}"),
            // The first reason only: a chain of a thousand would otherwise repeat itself a thousand times.
            Self::Canceled { reason, via: Some(via) } => write!(f, "canceled:because {reason} via {via}"),
            Self::Undefined(why) => write!(f, "undefined:{why}"),
        }
    }
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingFor(name) => write!(f, "waiting for {name}"),
            Self::NoResponse => f.write_str("command returned no response"),
            Self::Running => f.write_str("command is running"),
            Self::NotStarted => f.write_str("not started"),
            Self::Halted(halt) => write!(f, "halted: {halt}"),
        }
    }
}
