//! What a waterfall is made of: bars, the calls inside, the times in which nobody worked.

use serde::Serialize;

/// Everything a waterfall shows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Trace {
    pub from: i64,
    pub to: i64,
    /// When another process took over.
    pub resumed: Vec<i64>,
    pub bars: Vec<Bar>,
}

/// One attempt of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bar {
    pub id: String,
    pub start: i64,
    pub end: Option<i64>,
    pub state: State,
    pub attempt: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<Break>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Steps before these, where not all are kept.
    #[serde(skip)]
    pub forgotten: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    #[default]
    Running,
    Done,
    /// Failed, and nothing caught it.
    Failed,
    /// Failed; it was optional.
    FailedOptional,
    /// Failed; tried again in the main conversation.
    FellBack,
    /// A limit ended it; what it had counts.
    LimitReached,
    /// Done, by its own word not without concerns.
    Concerns,
    /// By its own word it cannot go on.
    Blocked,
    /// By its own word something is missing that it must know.
    NeedsContext,
    Cancelled,
    /// The run ended first.
    Stopped,
    /// Not run: its result is the parent's.
    Reused,
}

/// Before the id of an agent that another one started.
pub const CHILD: &str = "↳ ";

/// A time in which it did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Break {
    pub why: Why,
    pub start: i64,
    pub end: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A person was asked.
    Person,
    /// No process owned the run.
    Nobody,
}

/// A model or tool call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    pub kind: StepKind,
    pub label: String,
    pub start: i64,
    pub end: Option<i64>,
    pub failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    Model,
    Tool,
    Question,
}

impl Bar {
    /// The number of the next step.
    pub fn next_step(&self) -> usize {
        self.forgotten + self.steps.len()
    }

    pub fn step(&mut self, number: usize) -> Option<&mut Step> {
        self.steps.get_mut(number.checked_sub(self.forgotten)?)
    }

    /// A clock that jumped gives no negative time.
    pub fn took(&self, now: i64) -> i64 {
        (self.end.unwrap_or(now) - self.start).max(0)
    }
}
