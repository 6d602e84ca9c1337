//! Everybody in a run, one row each: the nodes of its plan, and the agents that no plan asks for. Kept up event by event.

use super::news::{Body, News};
pub use super::state::State;
use fugato_engine::{AgentStatus, EventKind, NodeStatus, PlanNode, Run, Turn, Verb, Verdict, WaitsFor, Work};
use fugato_model::{Words, words};
use std::collections::HashMap;

/// All rows, in the order in which they came to be.
#[derive(Debug, Default)]
pub struct Roster {
    pub rows: Vec<Row>,
    of_node: HashMap<u32, usize>,
    /// Row of an agent, by its number: the node it works for now, or its own.
    of_agent: Vec<usize>,
    verbs: HashMap<u64, Verb>,
}

/// One of them.
#[derive(Debug, Default)]
pub struct Row {
    pub name: String,
    /// Its kind: `explore`, `script`, `inline`.
    pub role: String,
    pub node: Option<u32>,
    /// Whoever works on it, or did last.
    pub agent: Option<u32>,
    pub parent: Option<usize>,
    pub since: Option<i64>,
    pub until: Option<i64>,
    /// When something was last heard of it, and what.
    pub last: Option<(i64, Words)>,
    /// How it summed up its own work.
    pub report: Option<State>,
    /// Events that concern it, for its page: the newest of them.
    pub seqs: Vec<u64>,
    /// How many before these are in the log alone.
    pub forgotten: usize,
}

/// Numbers of events that are kept of one row; at times twice as many.
pub const MOST_SEQS: usize = 10_000;

impl Roster {
    pub fn new(run: &Run) -> Self {
        let mut roster = Self::default();
        for (number, node) in (0u32..).zip(&run.spec.plan.nodes) {
            roster.node(number, node, None);
        }
        roster
    }

    fn node(&mut self, number: u32, node: &PlanNode, parent: Option<usize>) {
        let role = match &node.work {
            Work::Gate => return,
            Work::Agent { agent_type, .. } => agent_type.clone(),
            Work::Script { .. } => "script".to_owned(),
            Work::Inline { .. } => "inline".to_owned(),
            Work::Phases { .. } => "phases".to_owned(),
            Work::Session { .. } => "orchestrator".to_owned(),
            Work::Noop => String::new(),
        };
        self.of_node.insert(number, self.rows.len());
        self.rows.push(Row { name: node.id.clone(), role, node: Some(number), parent, ..Row::default() });
    }

    /// A call has added the nodes of its skill to the plan.
    fn called(&mut self, call: u32, run: &Run) {
        let session = run.called(call).map(|called| called.session);
        let above = session.and_then(|session| self.of_node.get(&session).copied());
        // Until the next call's: the run may be ahead of the news.
        let is_own = |number: &u32| *number == call || run.called(*number).is_none();
        let own = (call..).take_while(is_own);
        for (number, node) in own.map_while(|number| Some((number, run.plan_node(number)?))) {
            if !self.of_node.contains_key(&number) {
                let inside = self.of_node.get(&call).copied().filter(|_| number != call);
                self.node(number, node, inside.or(above));
            }
        }
    }

    /// What a directive was about.
    pub fn verb(&self, generation: u64) -> Option<Verb> {
        self.verbs.get(&generation).copied()
    }

    /// What happened, and its sentence; `run` has the event applied.
    pub fn event(&mut self, news: &News, said: Option<&Words>, run: &Run) -> Option<usize> {
        let Body::Known(event) = &news.body else {
            self.reported(news, run);
            let row = self.row_of(news, run)?;
            self.rows.get_mut(row)?.note(news.seq);
            return Some(row);
        };
        match &event.kind {
            EventKind::AgentStarted { agent, node, agent_type, .. } => {
                self.agent_started(agent.as_str(), *node, agent_type, event.at, run);
            }
            EventKind::SkillCalled { node, starts, .. } => {
                self.called(*node, run);
                if let Some(row) = self.node_row(*node).filter(|_| *starts) {
                    row.since = Some(event.at);
                }
            }
            EventKind::AgentContinued { agent, node, .. } => self.agent_continued(*agent, *node, event.at),
            EventKind::NodeStarted { node, .. } => {
                if let Some(row) = self.node_row(*node) {
                    (row.since, row.until) = (Some(row.since.unwrap_or(event.at)), None);
                }
            }
            EventKind::NodeCompleted { node, .. } | EventKind::NodeFailed { node, .. } => {
                if let Some(row) = self.node_row(*node) {
                    row.until = Some(event.at);
                }
            }
            EventKind::NodeRestarted { node } => {
                if let Some(row) = self.node_row(*node) {
                    (row.since, row.until) = (Some(event.at), None);
                }
            }
            EventKind::AgentStopped { agent, .. } => {
                let row = self.of_agent.get(*agent as usize).and_then(|at| self.rows.get_mut(*at));
                if let Some(row) = row.filter(|row| row.node.is_none()) {
                    row.until = Some(event.at);
                }
            }
            EventKind::DirectiveRecorded { generation, verb, .. } => {
                self.verbs.insert(*generation, *verb);
            }
            EventKind::RunEnded { .. } => {
                let open = self.rows.iter_mut().filter(|row| row.since.is_some() && row.until.is_none());
                open.for_each(|row| row.until = Some(event.at));
            }
            _ => {}
        }
        match &*news.kind {
            "agent.joined" => self.renamed(news, run),
            "agent.reported" => self.reported(news, run),
            _ => {}
        }
        let at = self.row_of(news, run)?;
        let row = self.rows.get_mut(at)?;
        row.note(news.seq);
        if let Some(words) = said {
            row.last = Some((event.at, words.clone()));
        }
        Some(at)
    }

    /// An agent outside says who it is, and by whom it was started.
    fn renamed(&mut self, news: &News, run: &Run) {
        let Some(number) = news.agent.as_ref().and_then(|who| who.number(run)) else { return };
        let Some(state) = run.agents.get(number as usize) else { return };
        let own = self.of_agent.get(number as usize).copied();
        let parent = state.parent.and_then(|parent| self.of_agent.get(parent as usize).copied());
        let Some(row) = own.and_then(|at| self.rows.get_mut(at)).filter(|row| row.node.is_none()) else {
            return;
        };
        row.name = name_of(state.path.as_str(), &state.description);
        // Only upwards: a circle would have no beginning.
        row.parent = parent.filter(|parent| Some(*parent) < own);
    }

    fn reported(&mut self, news: &News, run: &Run) {
        if &*news.kind != "agent.reported" {
            return;
        }
        let report = match news.fields().get("report").and_then(serde_json::Value::as_str) {
            Some("done_with_concerns") => State::Concerns,
            Some("blocked") => State::Blocked,
            Some("needs_context") => State::NeedsContext,
            _ => State::Done,
        };
        if let Some(row) = self.row_of(news, run).and_then(|at| self.rows.get_mut(at)) {
            row.report = Some(report);
        }
    }

    /// The row an event concerns.
    pub fn row_of(&self, news: &News, run: &Run) -> Option<usize> {
        let by_agent = || {
            let number = news.agent.as_ref()?.number(run)?;
            self.of_agent.get(number as usize).copied()
        };
        by_agent().or_else(|| self.of_node.get(&news.node?).copied())
    }

    fn node_row(&mut self, node: u32) -> Option<&mut Row> {
        self.of_node.get(&node).and_then(|at| self.rows.get_mut(*at))
    }

    fn agent_started(&mut self, path: &str, node: Option<u32>, kind: &str, now: i64, run: &Run) {
        let number = u32::try_from(self.of_agent.len()).unwrap_or(u32::MAX);
        let of_node = node.and_then(|node| self.of_node.get(&node).copied());
        let at = of_node.unwrap_or_else(|| {
            let state = run.agents.get(number as usize);
            let description = state.map(|state| state.description.as_str()).unwrap_or_default();
            let parent = state.and_then(|state| state.parent);
            self.rows.push(Row {
                name: name_of(path, description),
                role: kind.to_owned(),
                parent: parent.and_then(|parent| self.of_agent.get(parent as usize).copied()),
                ..Row::default()
            });
            self.rows.len() - 1
        });
        self.of_agent.push(at);
        if let Some(row) = self.rows.get_mut(at) {
            (row.agent, row.until) = (Some(number), None);
            row.since.get_or_insert(now);
        }
    }

    /// A shared conversation moves on to the next node; an agent that had ended begins again.
    fn agent_continued(&mut self, agent: u32, node: Option<u32>, now: i64) {
        let of_node = node.and_then(|node| self.of_node.get(&node).copied());
        let Some(slot) = self.of_agent.get_mut(agent as usize) else { return };
        *slot = of_node.unwrap_or(*slot);
        let at = *slot;
        if let Some(row) = self.rows.get_mut(at) {
            (row.agent, row.until) = (Some(agent), None);
            row.since.get_or_insert(now);
        }
    }

    /// Rows from top to bottom with how deep each is set in: whoever was started stands below who started it.
    pub fn in_order(&self) -> Vec<(usize, usize)> {
        let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, row) in self.rows.iter().enumerate() {
            if let Some(parent) = row.parent {
                children.entry(parent).or_default().push(at);
            }
        }
        let tops = self.rows.iter().enumerate().filter(|(_, row)| row.parent.is_none());
        let mut open: Vec<(usize, usize)> = tops.map(|(at, _)| (at, 0)).collect();
        open.reverse();
        let mut order = Vec::with_capacity(self.rows.len());
        while let Some((at, depth)) = open.pop() {
            order.push((at, depth));
            let below = children.get(&at).into_iter().flatten().rev();
            open.extend(below.map(|child| (*child, depth + 1)));
        }
        order
    }
}

impl Row {
    fn note(&mut self, seq: u64) {
        self.seqs.push(seq);
        if self.seqs.len() > 2 * MOST_SEQS {
            self.seqs.drain(..MOST_SEQS);
            self.forgotten += MOST_SEQS;
        }
    }

    /// How it stands now; `is_live`: somebody works on the run.
    pub fn state(&self, run: &Run, is_live: bool) -> State {
        let is_over = run.ended.is_some();
        let node = self.node.and_then(|node| run.nodes.get(node as usize));
        match node.map(|node| node.status) {
            Some(NodeStatus::Pending | NodeStatus::Ready | NodeStatus::Running) if is_over => {
                let began = self.since.is_some();
                return if began { State::Cancelled } else { State::Skipped };
            }
            Some(NodeStatus::Pending) => return State::Pending,
            Some(NodeStatus::Skipped) => return State::Skipped,
            Some(NodeStatus::Ready) => return State::Queued,
            Some(NodeStatus::Uncertain) => return State::Uncertain,
            Some(NodeStatus::Done) => {
                let node_is_reused = self.node.is_some_and(|node| run.is_reused(node));
                let has_warnings = node.is_some_and(|node| !node.warnings.is_empty());
                return match (node_is_reused, has_warnings) {
                    (true, _) => State::Reused,
                    (false, true) => State::Concerns,
                    (false, false) => State::Done,
                };
            }
            Some(NodeStatus::Null) => return State::FailedOptional,
            Some(NodeStatus::Failed) => return State::Failed,
            Some(NodeStatus::Running) | None => {}
        }
        let Some(agent) = self.agent else {
            return match (is_over, is_live) {
                (true, _) => State::Cancelled,
                (false, true) => State::Running,
                (false, false) => State::Interrupted,
            };
        };
        match (agent_state(agent, run, is_live), self.report) {
            (State::Done, Some(report)) => report,
            (state, _) => state,
        }
    }

    /// The name directives know it by.
    pub fn path<'r>(&self, run: &'r Run) -> Option<&'r str> {
        self.agent.and_then(|agent| run.agents.get(agent as usize)).map(|agent| agent.path.as_str())
    }

    pub fn tokens(&self, run: &Run) -> u64 {
        let agent = self.agent.and_then(|agent| run.agents.get(agent as usize));
        agent.map_or(0, |agent| agent.spent.tokens())
    }

    /// The tools it waits for now.
    pub fn tools(&self, run: &Run) -> Vec<String> {
        let Some(agent) = self.agent.and_then(|agent| run.agents.get(agent as usize)) else {
            return Vec::new();
        };
        let Turn::Acting { calls } = &agent.turn else { return Vec::new() };
        let Some(message) = agent.messages.last() else { return Vec::new() };
        let open = message.tool_calls().zip(calls).filter(|(_, slot)| slot.result.is_none());
        open.map(|(call, _)| call.name.clone()).collect()
    }
}

/// Who, and what for.
fn name_of(path: &str, description: &str) -> String {
    match description {
        "" => path.to_owned(),
        what => format!("{path} ({what})"),
    }
}

fn agent_state(agent: u32, run: &Run, is_live: bool) -> State {
    let Some(state) = run.agents.get(agent as usize) else { return State::Pending };
    match run.agent_status(agent) {
        AgentStatus::Stopped => match &state.verdict {
            Some(Verdict::Failed { .. }) => State::Failed,
            Some(Verdict::Cancelled) => State::Cancelled,
            Some(Verdict::LimitReached { .. }) => State::LimitReached,
            _ => State::Done,
        },
        _ if run.ended.is_some() => State::Cancelled,
        AgentStatus::AwaitingInput => State::WaitsForYou,
        AgentStatus::Paused => State::Paused,
        AgentStatus::Running if run.held => State::Paused,
        AgentStatus::Running if !is_live => State::Interrupted,
        AgentStatus::Running => match &state.turn {
            Turn::Thinking => State::Thinking,
            Turn::Waiting => State::WaitsForAgents,
            Turn::Acting { calls } => {
                let mut open = calls.iter().filter(|slot| slot.result.is_none()).peekable();
                let waits = open.peek().is_some()
                    && open.all(|slot| matches!(slot.waits_for, WaitsFor::Agent | WaitsFor::Skill));
                if waits { State::WaitsForAgents } else { State::Acting }
            }
            Turn::Idle | Turn::Stopped => State::Running,
        },
    }
}

/// The reason of a silence, or nothing: what a person should know of somebody who has not been heard of for long.
pub fn silence(row: &Row, state: State, now: i64) -> Option<Words> {
    let (at, _) = row.last.as_ref()?;
    let silent = now.saturating_sub(*at);
    if silent < STALL_MS || !state.is_at_work() {
        return None;
    }
    let time = super::draw::elapsed(silent);
    Some(words!("nothing heard for {time}", "已 {time} 没有动静"))
}

/// As on the live board.
const STALL_MS: i64 = 60_000;
