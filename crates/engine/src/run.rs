//! The state of a run: the fold of its events. `apply` is the only function that changes it, live and in replay alike.
//!
//! Cost follows the event: what becomes ready, runnable or wanted is maintained step by step, never searched for.

mod agents;
mod delegation;
mod directives;
mod effects;
mod memory;
mod nodes;
mod outside;
mod questions;
mod scopes;

use crate::agent::{AgentState, Turn};
use crate::effect::EffectKey;
use crate::event::{AgentPath, Asked, Event, EventKind, Outcome, RunSpec};
use crate::limits::{Reserve, Spent};
use crate::plan::{PlanNode, Work};
use crate::question::Wants;
pub use delegation::Queued;
pub(crate) use delegation::own_id;
pub(crate) use delegation::wanted_type;
pub(crate) use directives::Found;
use effects::Wanted;
use fugato_model::{Digest, Words};
pub use memory::KEPT_MS;
pub(crate) use questions::permit;
pub use scopes::Scope;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// A run, as far as its log tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub spec: Arc<RunSpec>,
    /// Number of the last event.
    pub seq: u64,
    pub started_at: i64,
    /// Of the run's own skill; sub-skills with phases have theirs, see [`Run::variables_of`].
    pub variables: BTreeMap<String, Value>,
    pub nodes: Vec<NodeState>,
    pub scopes: Vec<Scope>,
    pub agents: Vec<AgentState>,
    pub questions: Vec<Question>,
    pub ended: Option<(Outcome, Words, Option<Value>)>,
    pub spent: Spent,
    /// What calls under way may still use.
    pub reserved: Reserve,
    /// Skills that agents have read, with the content they have had ever since.
    pub skills_used: BTreeMap<String, Digest>,
    /// Milliseconds that earlier owners worked on the run, and when the present one began.
    pub(crate) worked_ms: u64,
    pub(crate) owned_since: i64,
    pub(crate) last_at: i64,
    /// `pause all`: nothing new starts.
    pub held: bool,
    pub generation: u64,
    /// A failure that ends the run once its consequences are recorded.
    pub(crate) aborting: Option<Words>,
    pub(crate) by_path: HashMap<AgentPath, u32>,
    /// Nodes whose dependencies have ended, in plan order; those for the main agent's conversation apart.
    pub(crate) ready: BTreeSet<u32>,
    /// By scope, because each has a conversation of its own: 0 is the run, 1 its first scope.
    pub(crate) ready_inline: BTreeSet<(u32, u32)>,
    /// Scopes that one of their nodes has ended, and those whose nodes have all ended.
    pub(crate) failing: BTreeSet<u32>,
    pub(crate) finished: BTreeSet<u32>,
    scope_by_phase: Vec<Option<u32>>,
    /// The scope a node calls.
    scope_by_call: HashMap<u32, u32>,
    /// Agents that should be asked for their next step.
    pub(crate) runnable: BTreeSet<u32>,
    /// Agents that were answered and wait for a slot before they are asked for their next step.
    pub(crate) returning: BTreeSet<u32>,
    /// Agents that wait for a slot, in order.
    pub(crate) queue: VecDeque<Queued>,
    /// Agents of each kind so far: their names are counted.
    pub(crate) named: BTreeMap<String, u32>,
    /// Which agent a call started, by the provider's name for the call.
    pub(crate) by_call: HashMap<String, BTreeSet<u32>>,
    /// What a person has allowed for the rest of the run.
    pub(crate) granted: BTreeSet<String>,
    /// Live agents that another one started.
    pub(crate) children: BTreeSet<u32>,
    /// Nodes at work, and how many of them only wait for a person to say whether they happened.
    pub(crate) working: u32,
    pub(crate) waiting: u32,
    /// Agents without a slot: they only wait for a person, or for a slot to come back to.
    resting: BTreeSet<u32>,
    /// What was under way when a budget ran out: wanted again once it is raised.
    suspended: BTreeMap<EffectKey, Wanted>,
    pub(crate) unended: u32,
    /// Live agents, and those of them that are paused.
    pub(crate) live: BTreeSet<u32>,
    pub(crate) paused: BTreeSet<u32>,
    /// Nodes that may not start before they are resumed.
    pub(crate) held_nodes: BTreeSet<u32>,
    /// Directives that an agent has in its inbox and has not acted on.
    pub(crate) undelivered: BTreeMap<u32, Vec<u64>>,
    open_questions: BTreeSet<u32>,
    // Ordered, so that the same log stops and starts things in the same order.
    wanted: BTreeMap<EffectKey, Wanted>,
    changes: Vec<Change>,
    dependents: Vec<Vec<u32>>,
}

/// The state of one node of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeState {
    pub status: NodeStatus,
    /// Dependencies that have not ended.
    pub missing: u32,
    pub attempt: u32,
    /// Its fallback is under way: the sub-skill runs in the main conversation.
    pub inline: bool,
    pub message: Option<Words>,
    /// What a person should know although it went on, oldest first.
    pub warnings: Vec<Words>,
    /// Something of it may or may not have happened: nobody does it again unasked.
    pub had_uncertain_effect: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    Pending,
    Ready,
    Running,
    /// A once-only effect may or may not have happened; a person decides.
    Uncertain,
    Done,
    /// Failed, but optional: its output is null.
    Null,
    Failed,
    /// The sub-skill it is a part of ended without it.
    Skipped,
}

impl NodeStatus {
    /// Others need not wait for it any more.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::Null | Self::Skipped)
    }
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub about: Asked,
    pub text: String,
    pub options: Vec<String>,
    pub wants: Wants,
    /// The node of the agent that asked.
    pub node: Option<u32>,
    pub answer: Option<String>,
}

/// What the last inputs changed about the effects that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Wanted(EffectKey),
    Dropped(EffectKey),
}

impl Run {
    /// The run right after its first event. `None`: that event is not `run.created`.
    pub fn created(event: &Event) -> Option<Self> {
        let EventKind::RunCreated { spec } = &event.kind else { return None };
        let count = spec.plan.nodes.len();
        let mut dependents: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut nodes = Vec::with_capacity(count);
        for (at, node) in spec.plan.nodes.iter().enumerate() {
            for after in &node.after {
                dependents.get_mut(*after as usize)?.push(index(at));
            }
            nodes.push(NodeState {
                status: NodeStatus::Pending,
                missing: index(node.after.len()),
                attempt: 0,
                inline: matches!(node.work, Work::Inline { .. }),
                message: None,
                warnings: Vec::new(),
                had_uncertain_effect: false,
            });
        }
        let (scopes, scope_by_phase) = scopes::scopes(&spec.plan);
        let mut run = Self {
            scope_by_call: scopes.iter().map(|scope| scope.call).zip(0..).collect(),
            scopes,
            scope_by_phase,
            failing: BTreeSet::new(),
            finished: BTreeSet::new(),
            variables: spec.context.clone(),
            spec: spec.clone(),
            seq: event.seq,
            started_at: event.at,
            nodes,
            agents: Vec::new(),
            questions: Vec::new(),
            ended: None,
            spent: Spent::default(),
            reserved: Reserve::default(),
            skills_used: BTreeMap::new(),
            worked_ms: 0,
            owned_since: event.at,
            last_at: event.at,
            held: false,
            generation: 0,
            aborting: None,
            by_path: HashMap::new(),
            ready: BTreeSet::new(),
            ready_inline: BTreeSet::new(),
            runnable: BTreeSet::new(),
            returning: BTreeSet::new(),
            queue: VecDeque::new(),
            named: BTreeMap::new(),
            by_call: HashMap::new(),
            granted: BTreeSet::new(),
            children: BTreeSet::new(),
            resting: BTreeSet::new(),
            suspended: BTreeMap::new(),
            working: 0,
            waiting: 0,
            unended: index(count),
            live: BTreeSet::new(),
            paused: BTreeSet::new(),
            held_nodes: BTreeSet::new(),
            undelivered: BTreeMap::new(),
            open_questions: BTreeSet::new(),
            wanted: BTreeMap::new(),
            changes: Vec::new(),
            dependents,
        };
        let own: Vec<u32> = (0..index(count)).filter(|at| run.scope_of(*at).is_none()).collect();
        run.take_over(&own);
        let is_free = |node: &NodeState| node.missing == 0 && node.status == NodeStatus::Pending;
        let free: Vec<u32> = own.into_iter().filter(|at| run.node(*at).is_some_and(is_free)).collect();
        free.into_iter().for_each(|at| run.make_ready(at));
        Some(run)
    }

    /// Builds a run from its whole log.
    pub fn replay<'e>(events: impl IntoIterator<Item = &'e Event>) -> Option<Self> {
        let mut events = events.into_iter();
        let mut run = Self::created(events.next()?)?;
        events.for_each(|event| run.apply(event));
        Some(run)
    }

    /// Folds one event. Events that do not fit (a late outcome, an unknown number) change nothing.
    pub fn apply(&mut self, event: &Event) {
        self.seq = event.seq;
        if matches!(event.kind, EventKind::RunRecovered { .. }) {
            // What the last owner worked is known by its last event; the time until now belongs to nobody.
            self.worked_ms = self.worked_ms.saturating_add(since(self.owned_since, self.last_at));
            self.owned_since = event.at;
        }
        self.last_at = event.at;
        match &event.kind {
            EventKind::RunCreated { .. }
            | EventKind::RunRecovered { .. }
            | EventKind::TimerFired { .. }
            | EventKind::ModelRetried { .. }
            | EventKind::AgentActed { .. }
            | EventKind::ForeignSkipped { .. }
            | EventKind::AgentAnnounced { .. }
            | EventKind::AgentWarned { .. }
            | EventKind::ToolDenied { .. }
            | EventKind::ToolAnswered { .. }
            | EventKind::HostObserved { .. } => {}
            EventKind::AgentJoined { .. }
            | EventKind::AgentReported { .. }
            | EventKind::ToolAsked { .. }
            | EventKind::MessageDelivered { .. } => self.fold_outside(&event.kind),
            EventKind::LimitsRaised { limits } => {
                let mut spec = (*self.spec).clone();
                spec.limits = limits.clone();
                self.spec = Arc::new(spec);
                if matches!(self.ended, Some((Outcome::BudgetExhausted, ..))) {
                    self.ended = None;
                    (0..self.agents.len()).for_each(|at| self.refresh(index(at)));
                    for (key, wanted) in std::mem::take(&mut self.suspended) {
                        self.want(key, wanted.effect().clone());
                    }
                }
            }
            EventKind::RunEnded { outcome, reason, result } => {
                self.ended = Some((*outcome, reason.clone(), result.clone()));
                if *outcome == Outcome::BudgetExhausted {
                    self.suspended = self.wanted.clone();
                }
                self.drop_effects(|_| true);
                self.runnable.clear();
                self.returning.clear();
            }
            EventKind::NodeStarted { .. }
            | EventKind::NodeCompleted { .. }
            | EventKind::NodeWarned { .. }
            | EventKind::NodePrinted { .. }
            | EventKind::NodeFailed { .. }
            | EventKind::NodeRestarted { .. }
            | EventKind::NodeUncertain { .. } => self.fold_node(&event.kind),
            EventKind::AgentQueued { agent, call, background, .. } => {
                self.agent_queued(agent, *call, *background);
            }
            EventKind::AgentStarted { .. }
            | EventKind::AgentHosted { .. }
            | EventKind::AgentInterrupted { .. }
            | EventKind::AgentRestarted { .. }
            | EventKind::AgentWaiting { .. }
            | EventKind::AgentContinued { .. }
            | EventKind::AgentCompacted { .. }
            | EventKind::RepairAsked { .. }
            | EventKind::AgentStopped { .. }
            | EventKind::ModelRequested { .. }
            | EventKind::ModelAnswered { .. }
            | EventKind::ModelFailed { .. }
            | EventKind::ToolRequested { .. }
            | EventKind::ToolCompleted { .. }
            | EventKind::ToolRefused { .. }
            | EventKind::ToolUncertain { .. } => self.fold_agent(&event.kind),
            EventKind::InputRequested { .. } | EventKind::InputAnswered { .. } => {
                self.fold_question(&event.kind);
            }
            EventKind::SkillUsed { name, digest, .. } => {
                self.skills_used.entry(name.clone()).or_insert(*digest);
            }
            EventKind::MessageSent { to, text, .. } => {
                self.with_agent(*to, |state| {
                    state.inbox.push(text.clone());
                    if state.turn == Turn::Waiting {
                        state.turn = Turn::Idle;
                    }
                });
            }
            EventKind::DirectiveRecorded { .. }
            | EventKind::DirectiveApplied { .. }
            | EventKind::DirectiveDelivered { .. }
            | EventKind::DirectiveExpired { .. }
            | EventKind::DirectiveHeld { .. }
            | EventKind::DirectiveRefused { .. } => self.fold_directive(&event.kind),
        }
    }

    pub fn agent(&self, path: &str) -> Option<(u32, &AgentState)> {
        let at = *self.by_path.get(path)?;
        Some((at, self.agents.get(at as usize)?))
    }

    pub fn plan_node(&self, node: u32) -> Option<&PlanNode> {
        self.spec.plan.nodes.get(node as usize)
    }

    /// Time of the last event: no later one may be earlier.
    pub fn last_at(&self) -> i64 {
        self.last_at
    }

    /// When the clock must be looked at next.
    pub fn deadline(&self) -> Option<i64> {
        let limit = self.spec.limits.wall_ms.filter(|_| self.ended.is_none())?;
        let left = limit.saturating_sub(self.worked_ms);
        Some(self.owned_since.saturating_add(i64::try_from(left).unwrap_or(i64::MAX)))
    }
}

/// Milliseconds between two times; a clock that went back gives none.
fn since(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

/// Plans and conversations are bounded far below this.
fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
