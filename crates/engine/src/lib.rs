//! The run as a pure state machine: events in, state; state and an input in, events out; state in, effects wanted.
//!
//! Architecture invariant: no I/O, no clock, no randomness, no vendor. `now` is an argument, ids come from the plan, and
//! the same log gives the same state on every machine. Recovery is replay: there is no second code path for it.

mod agent;
mod agent_type;
mod asks;
mod bridge;
mod called;
mod context;
mod decide;
mod driver;
mod effect;
mod event;
#[cfg(test)]
mod failure_tests;
mod input;
mod limits;
mod orchestration;
pub mod outside;
pub mod permission;
mod plan;
pub mod planner;
mod question;
mod reuse;
mod run;
mod session_tools;
mod snapshot;
#[cfg(test)]
mod tests;
pub mod tools;
mod view;

pub use agent::{AgentState, AgentStatus, Duty, Turn, WaitsFor};
pub use agent_type::{
    AgentType, Asking, Executor, GENERAL_PURPOSE, GUIDE_TOKENS, GuideFacts, Names, Rights, Setting,
    UnknownType, agent_tool, built_in_types, delegation_guide, find_type, send_message_tool,
    types_of_profile,
};
pub use called::{Expansion, Standing};
pub use context::ContextSize;
pub use effect::{Effect, EffectKey};
pub use event::{
    AfterFailure, AgentPath, Announced, Asked, By, CallRef, Delegated, EffectClass, Event, EventKind,
    MessageKind, Origin, Outcome, Purpose, Report, RunSpec, SkillPin, Target, Timer, Used, Verb, Verdict,
    Whole,
};
pub use input::{Command, Completion, Input, Refusal};
pub use limits::{Limits, Rate, Reserve, Spent};
pub use orchestration::{
    Callable, CallableWork, Caller, CarriedSop, ContextEntry, Conversation, Orchestrator, Preparation,
    SessionKind, SopBudget, SopValue, SpokenAs, TURN_STEPS,
};
pub use plan::{Access, Phase, Plan, PlanError, PlanNode, Requirement, Work};
pub use question::{AnswerType, Wants};
pub use reuse::{Reused, ReusedStatus, results};
pub use run::{
    Called, Change, Given, KEPT_MS, NodeState, NodeStatus, Question, Queued, Run, Scope, SessionState,
    SopState, Stage,
};
pub use session_tools::session_tools;
pub use view::{AgentView, NodeView, RunView};
