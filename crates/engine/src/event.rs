//! The log: everything that ever happened in a run, in the past tense. The only truth.

use crate::agent_type::AgentType;
use crate::limits::{Limits, Rate, Reserve};
use crate::orchestration::{Callable, Caller, ContextEntry, Conversation};
use crate::permission::Permissions;
use crate::plan::Plan;
use crate::reuse::Reused;
use fugato_model::chat::{Answer, ModelFault, ToolCall, Usage};
use fugato_model::{Digest, Words};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// One entry of a run's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Version of this shape.
    pub v: u8,
    /// Contiguous per run, from 1: the order. Times are for eyes.
    pub seq: u64,
    /// Milliseconds since 1970, as the machine's clock said.
    pub at: i64,
    pub by: By,
    pub kind: EventKind,
}

impl Event {
    pub const VERSION: u8 = 1;
}

/// Who made it happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    User,
    Agent,
    Engine,
    Timer,
    Host,
}

/// The id of an agent: derived from the plan (`setup/get-config`, `main`), never random.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentPath(pub Arc<str>);

impl AgentPath {
    pub fn new(path: &str) -> Self {
        Self(path.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// So that an agent can be looked up by what it is called.
impl std::borrow::Borrow<str> for AgentPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0)
    }
}

/// May an effect be done again when nobody knows whether it was done?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectClass {
    Read,
    Idempotent,
    Once,
}

/// What a run is made from, pinned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    pub id: String,
    pub skill: SkillPin,
    /// One line for lists.
    pub title: String,
    pub plan: Plan,
    /// The text of a skill without phases: one agent reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<String>,
    /// `ARGUMENTS`, `TODAY`, `TARGET_DATE`, and what `--set` gave.
    pub context: BTreeMap<String, Value>,
    pub limits: Limits,
    pub model: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub debug: bool,
    /// The run this one was made from by `rerun`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Catalog of the skills its agents may read, resolved when the run was created.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub catalog: String,
    /// Names of those skills, one per line: the resolved policy. One text, so that equal policies are stored once.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub visible: String,
    /// Prices of models that have a known one; what a budget in money is checked against before a call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, Rate>,
    /// Digest of every file the plan will execute, by its path under the skill.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, Digest>,
    /// What its agents may do, what a person is asked about, and what is refused.
    #[serde(default, skip_serializing_if = "Permissions::is_ordinary")]
    pub permissions: Permissions,
    /// The kinds of agents its main agent may start; none: it cannot delegate.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<String, Arc<AgentType>>,
    /// The kind of the main agent [default: `general-purpose`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_type: Option<String>,
    /// What the main agent is told about delegating.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub guide: String,
    /// Results taken over from the parent, by node: these nodes have ended before anything starts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reused: BTreeMap<String, Reused>,
    /// Skills that can be called while the run goes on, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skills: BTreeMap<String, Arc<Callable>>,
    /// The conversation this run is a turn of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
}

/// The skill a run belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillPin {
    pub name: String,
    pub dir: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Complete,
    Failed,
    Aborted,
    BudgetExhausted,
}

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It submitted a value.
    Submitted {
        value: Value,
    },
    /// It answered with text and asked for nothing more.
    Answered {
        text: String,
    },
    Failed {
        message: String,
    },
    /// A limit ended it; the text is what it had.
    LimitReached {
        limit: String,
        text: String,
    },
    Cancelled,
}

/// What a person (or another program) may tell a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Pause,
    Resume,
    Cancel,
    Redirect,
    /// Begin a node again with a new agent; what it had is kept in the log.
    Restart,
}

/// Whom a directive concerns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    All,
    Agent(AgentPath),
}

/// What happened. Node and agent numbers are indexes of the plan and of the order of `agent.started`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum EventKind {
    #[serde(rename = "run.created")]
    RunCreated { spec: Arc<RunSpec> },
    /// Another process took the run over; effects without an outcome are looked at anew.
    #[serde(rename = "run.recovered")]
    RunRecovered { epoch: u64 },
    #[serde(rename = "run.limits_raised")]
    LimitsRaised { limits: Limits },
    #[serde(rename = "run.ended")]
    RunEnded { outcome: Outcome, reason: Words, result: Option<Value> },

    #[serde(rename = "node.started")]
    NodeStarted {
        node: u32,
        attempt: u32,
        /// Rendered arguments of a script.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
    },
    #[serde(rename = "node.completed")]
    NodeCompleted {
        node: u32,
        value: Value,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<Words>,
    },
    /// Something a person should know of a node that goes on nevertheless.
    #[serde(rename = "node.warned")]
    NodeWarned { node: u32, warnings: Vec<Words> },
    /// What a program wrote, as it wrote it; the value made of it follows.
    #[serde(rename = "node.printed")]
    NodePrinted { node: u32, stdout: String },
    #[serde(rename = "node.failed")]
    NodeFailed { node: u32, message: Words, then: AfterFailure },
    /// The operator had it begin again.
    #[serde(rename = "node.restarted")]
    NodeRestarted { node: u32 },
    /// Nobody knows whether a once-only effect happened: a person decides.
    #[serde(rename = "node.uncertain")]
    NodeUncertain { node: u32 },

    #[serde(rename = "agent.started")]
    AgentStarted {
        agent: AgentPath,
        node: Option<u32>,
        agent_type: String,
        access: crate::plan::Access,
        model: String,
        system: String,
        prompt: String,
        /// The call that started it, and the part of the budget that is kept for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delegated: Option<Delegated>,
    },
    /// An agent waits for a slot: one that will be started, or one that goes on after it had stopped.
    #[serde(rename = "agent.queued")]
    AgentQueued {
        agent: AgentPath,
        /// `None`: a person asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallRef>,
        /// How many wait before it; 0: it starts at once.
        position: u32,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
    },
    /// Its work is done by another program, whose conversation has this name: with it, that one goes on.
    #[serde(rename = "agent.hosted")]
    AgentHosted {
        agent: u32,
        step: u32,
        session: Value,
        /// Of a turn that did not come to an answer: what it had used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<Used>,
    },
    /// The program that does its work is stopped in the middle of its turn, for a pause or a new instruction; its
    /// conversation goes on with the next step.
    #[serde(rename = "agent.interrupted")]
    AgentInterrupted { agent: u32, step: u32 },
    /// The operator had it break off what it was doing and go on from there, with all it knows.
    #[serde(rename = "agent.restarted")]
    AgentRestarted { agent: u32 },
    /// The program that does its work has used a tool of its own.
    #[serde(rename = "agent.acted")]
    AgentActed { agent: u32, tool: String, arguments: Value, is_error: bool, head: String },
    /// It has answered, and goes on when one of the agents it left in the background ends.
    #[serde(rename = "agent.waiting")]
    AgentWaiting { agent: u32 },
    /// A further task for an agent that is there already (inline phases share one conversation).
    #[serde(rename = "agent.continued")]
    AgentContinued {
        agent: u32,
        node: Option<u32>,
        prompt: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delegated: Option<Delegated>,
    },
    /// The conversation had become too long: its beginning and its end stay, a summary stands for what was between.
    #[serde(rename = "agent.compacted")]
    AgentCompacted {
        agent: u32,
        step: u32,
        summary: String,
        /// Messages before this one are summed up; the first, which is the task, stays.
        kept_from: u32,
        #[serde(default)]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micro_usd: Option<u64>,
    },
    /// The result does not have the declared shape; the agent gets one more turn.
    #[serde(rename = "agent.repair_asked")]
    RepairAsked { agent: u32, problem: String },
    #[serde(rename = "agent.stopped")]
    AgentStopped { agent: u32, verdict: Verdict },

    #[serde(rename = "model.requested")]
    ModelRequested {
        agent: u32,
        step: u32,
        #[serde(default, skip_serializing_if = "Purpose::is_step")]
        purpose: Purpose,
        /// Taken out of the budget until the answer says what was really used.
        #[serde(default, skip_serializing_if = "Reserve::is_nothing")]
        reserve: Reserve,
        /// The answer may not be longer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u32>,
    },
    #[serde(rename = "model.answered")]
    ModelAnswered {
        agent: u32,
        step: u32,
        answer: Arc<Answer>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micro_usd: Option<u64>,
    },
    /// The provider asked for patience, or something broke on the way: the same question is asked again.
    #[serde(rename = "model.retried")]
    ModelRetried { agent: u32, step: u32, wait_ms: u64, reason: Words },
    #[serde(rename = "model.failed")]
    ModelFailed { agent: u32, step: u32, fault: ModelFault, message: String },

    #[serde(rename = "tool.requested")]
    ToolRequested { agent: u32, step: u32, index: u32, call: ToolCall, class: EffectClass },
    #[serde(rename = "tool.completed")]
    ToolCompleted { agent: u32, step: u32, index: u32, content: String, is_error: bool },
    /// Not run: there is no such tool, or this agent may not use it.
    #[serde(rename = "tool.refused")]
    ToolRefused { agent: u32, step: u32, index: u32, reason: String },
    #[serde(rename = "tool.uncertain")]
    ToolUncertain { agent: u32, step: u32, index: u32 },

    /// An agent read a skill for the first time: from now on the run holds it to this content.
    #[serde(rename = "skill.used")]
    SkillUsed { agent: u32, name: String, digest: Digest },

    /// A skill is called: from here on the plan has a node more, with what is inside of it.
    #[serde(rename = "skill.called")]
    SkillCalled {
        /// The next free number.
        node: u32,
        /// What the node is called.
        id: String,
        by: Caller,
        skill: Arc<str>,
        arguments: Arc<[Arc<str>]>,
        /// It starts at once, with just that: no `node.started` follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        starts: bool,
    },
    /// The stage before a session has ended, with what it found.
    #[serde(rename = "session.prepared")]
    SessionPrepared { node: u32, entries: Vec<ContextEntry> },
    /// A session has the program it runs.
    #[serde(rename = "sop.planned")]
    ProgramPlanned { session: u32, program: String },
    /// A plan that cannot be run, and why.
    #[serde(rename = "sop.refused")]
    ProgramRefused { session: u32, problems: Vec<Words> },

    #[serde(rename = "timer.fired")]
    TimerFired { timer: Timer },

    #[serde(rename = "input.requested")]
    InputRequested { question: u32, about: Asked, text: String, options: Vec<String> },
    #[serde(rename = "input.answered")]
    InputAnswered { question: u32, answer: String },

    #[serde(rename = "message.sent")]
    MessageSent {
        to: u32,
        from: String,
        text: String,
        /// `None`: a word of the engine, or of a log before messages had kinds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<MessageKind>,
    },

    #[serde(rename = "directive.recorded")]
    DirectiveRecorded { generation: u64, verb: Verb, target: Target, text: Option<String> },
    #[serde(rename = "directive.applied")]
    DirectiveApplied { generation: u64, agent: u32 },
    /// It reached the agent, which acts on it at its next step.
    #[serde(rename = "directive.delivered")]
    DirectiveDelivered { generation: u64, agent: u32 },
    /// The agent ended before it could act on it.
    #[serde(rename = "directive.expired")]
    DirectiveExpired { generation: u64, agent: u32 },
    /// It took effect on a node that has no agent: one that has not started, or a script.
    #[serde(rename = "directive.held")]
    DirectiveHeld { generation: u64, node: u32 },
    /// An illegal move. One event for the whole: nothing else came of it.
    #[serde(rename = "directive.refused")]
    DirectiveRefused {
        generation: u64,
        reason: Words,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verb: Option<Verb>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<Target>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },

    /// Another program wrote something to the run's files that could not be taken, and why.
    #[serde(rename = "foreign.skipped")]
    ForeignSkipped { file: String, problem: Words },

    /// An agent outside asks its host for another one, which has no name yet.
    #[serde(rename = "agent.announced")]
    AgentAnnounced { agent: u32, announced: Arc<Announced> },
    /// Who an agent outside is to its host.
    #[serde(rename = "agent.joined")]
    AgentJoined {
        agent: u32,
        origin: Arc<Origin>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<u32>,
        /// The host's name of the call that started it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        call: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// The agents it waits for, by their ids; they may come later.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        after: Vec<String>,
    },
    /// In which of four words it summed up its work; its end follows.
    #[serde(rename = "agent.reported")]
    AgentReported { agent: u32, report: Report },
    /// Something it should know, and goes on nevertheless.
    #[serde(rename = "agent.warned")]
    AgentWarned { agent: u32, warning: Words },
    /// An agent outside is about to use a tool of its host.
    #[serde(rename = "tool.asked")]
    ToolAsked {
        agent: u32,
        call: String,
        tool: String,
        arguments: Value,
        /// The files it is about to write.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
    },
    /// It was kept from it.
    #[serde(rename = "tool.denied")]
    ToolDenied { agent: u32, call: String, tool: String, reason: String },
    /// The host's tool has ended.
    #[serde(rename = "tool.answered")]
    ToolAnswered {
        agent: u32,
        call: String,
        tool: String,
        /// Its beginning, if there was more.
        content: String,
        is_error: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whole: Option<Whole>,
    },
    /// What a host told of itself that has no other name here.
    #[serde(rename = "host.observed")]
    HostObserved {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<u32>,
        name: String,
        payload: Value,
    },
    /// The oldest messages of its inbox have reached an agent outside.
    #[serde(rename = "message.delivered")]
    MessageDelivered { agent: u32, count: u32 },
}

impl EventKind {
    /// The node that starts with this event, and which attempt of it that is.
    pub fn starts(&self) -> Option<(u32, u32)> {
        match self {
            Self::NodeStarted { node, attempt, .. } => Some((*node, *attempt)),
            Self::SkillCalled { node, starts: true, .. } => Some((*node, 1)),
            _ => None,
        }
    }
}

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageKind {
    Handoff,
    Question,
    Blocked,
    Result,
    /// The operator's new instruction.
    Redirect,
}

/// A call of a host that will start an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    /// The host's name of the call.
    pub call: String,
    pub agent_type: String,
    pub description: String,
    pub prompt: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// Where an agent outside is at work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `claude`, `codex`, or what else calls the hook.
    pub host: String,
    pub session: String,
    /// The host's name of a subagent; `None`: the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The host's process: its number, and when it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<(u32, u64)>,
}

/// How an agent sums up its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    Done,
    DoneWithConcerns,
    Blocked,
    NeedsContext,
}

/// A text of which only the beginning is in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    pub bytes: u64,
    pub digest: Digest,
    /// It was not text throughout; what was not is replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
}

/// A tool call that an agent made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallRef {
    pub agent: u32,
    pub step: u32,
    pub index: u32,
}

/// What an unfinished turn took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
}

/// Why an agent works that no plan asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegated {
    /// The call that waits for its result; `None`: a person asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallRef>,
    /// Its end is told by a message, not by the result of the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Of the run's budget, until it stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Reserve>,
}

/// What a model is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    #[default]
    Step,
    /// The last step of a task: an answer without tools.
    WrapUp,
    /// A summary of the conversation so far, which is about to replace it.
    Summary,
}

impl Purpose {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde calls")]
    fn is_step(&self) -> bool {
        *self == Self::Step
    }
}

/// What a run waits for by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// The run's wall time is used up.
    Wall,
}

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Asked {
    /// An agent, through `ask_user`.
    Agent { agent: u32, step: u32, index: u32 },
    /// A node whose once-only effect may or may not have happened.
    Uncertain { node: u32 },
    /// A person does the work of an agent.
    Task { agent: u32 },
    /// A tool call that somebody must allow.
    Permission { agent: u32, step: u32, index: u32 },
}

/// What the failure of a node leads to, decided in a fixed order: fallback, optional, abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterFailure {
    Inline,
    Null,
    Abort,
}
