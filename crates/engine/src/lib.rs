//! The run as a pure state machine: events in, state; state and an input in, events out; state in, effects wanted.
//!
//! Architecture invariant: no I/O, no clock, no randomness, no vendor. `now` is an argument, ids come from the plan, and
//! the same log gives the same state on every machine. Recovery is replay: there is no second code path for it.

mod agent;
mod bridge;
mod decide;
mod driver;
mod effect;
mod event;
#[cfg(test)]
mod failure_tests;
mod input;
mod limits;
mod plan;
pub mod planner;
mod question;
mod run;
#[cfg(test)]
mod tests;
mod view;

pub use agent::{AgentState, AgentStatus, Turn};
pub use effect::{Effect, EffectKey};
pub use event::{
    AgentPath, By, EffectClass, Event, EventKind, Outcome, RunSpec, SkillPin, Target, Verb, Verdict,
};
pub use input::{Completion, Input, Refusal};
pub use limits::{Limits, Spent};
pub use plan::{Access, Phase, Plan, PlanError, PlanNode, Requirement, Work};
pub use question::{AnswerType, Wants};
pub use run::{Change, NodeState, NodeStatus, Question, Run};
pub use view::{AgentView, NodeView, RunView};
