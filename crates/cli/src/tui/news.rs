//! One event as the screen gets it: the event itself where this program knows its kind, and enough to show it where not.

use fugato_engine::{Event, Run};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// An event of the log.
#[derive(Clone, Debug)]
pub struct News {
    pub seq: u64,
    pub at: i64,
    /// `tool.requested`.
    pub kind: Arc<str>,
    /// Whom it concerns.
    pub agent: Option<Who>,
    pub node: Option<u32>,
    pub body: Body,
}

#[derive(Clone, Debug)]
pub enum Body {
    Known(Box<Event>),
    /// A kind of a later version, or content that is lost: as it stands in the log, cut.
    Raw(String),
}

/// An agent by its number, or by its name before it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    Number(u32),
    Path(String),
}

impl News {
    /// What it says, field by field: for kinds that this program reads by their names.
    pub fn fields(&self) -> Value {
        match &self.body {
            Body::Known(event) => serde_json::to_value(&event.kind).unwrap_or_default(),
            Body::Raw(text) => {
                let mut event: Value = serde_json::from_str(text).unwrap_or_default();
                event.get_mut("kind").map(Value::take).unwrap_or_default()
            }
        }
    }
}

impl Who {
    pub fn number(&self, run: &Run) -> Option<u32> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Path(path) => run.agent(path).map(|(at, _)| at),
        }
    }
}

/// What every kind of event says in the same place.
#[derive(Debug, Deserialize)]
pub struct Peeked {
    #[serde(default)]
    pub at: i64,
    pub kind: PeekedKind,
}

/// Whatever a later version writes there is read, and not understood.
#[derive(Debug, Deserialize)]
pub struct PeekedKind {
    #[serde(rename = "type")]
    pub name: String,
    #[serde(default)]
    agent: Value,
    #[serde(default)]
    to: Value,
    #[serde(default)]
    node: Value,
    #[serde(default)]
    about: Value,
}

impl PeekedKind {
    pub fn agent(&self) -> Option<Who> {
        let about = self.about.get("agent").unwrap_or(&Value::Null);
        [&self.agent, &self.to, about].into_iter().find_map(|value| match value {
            Value::Number(number) => Some(Who::Number(u32::try_from(number.as_u64()?).ok()?)),
            Value::String(path) => Some(Who::Path(path.clone())),
            _ => None,
        })
    }

    pub fn node(&self) -> Option<u32> {
        let number = self.node.as_u64().or_else(|| self.about.get("node")?.as_u64())?;
        u32::try_from(number).ok()
    }
}

#[cfg(test)]
pub mod samples {
    //! Events for tests, made as the source makes them.

    use super::*;
    use fugato_engine::{By, EventKind};

    pub fn news(seq: u64, at: i64, kind: EventKind) -> News {
        let event = Event { v: Event::VERSION, seq, at, by: By::Engine, kind };
        let bytes = serde_json::to_vec(&event).unwrap();
        let peeked: Peeked = serde_json::from_slice(&bytes).unwrap();
        News {
            seq,
            at,
            kind: peeked.kind.name.as_str().into(),
            agent: peeked.kind.agent(),
            node: peeked.kind.node(),
            body: Body::Known(Box::new(event)),
        }
    }
}
