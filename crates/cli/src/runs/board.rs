//! Who is at work right now, and at what: the lines that are redrawn at the bottom of a terminal, the sign of life off
//! one, and the notice when somebody has been silent for too long. Pure: events, streamed text and the time come in.

mod row;
#[cfg(test)]
mod tests;

use super::estimate::tokens;
use super::reporter::duration;
use crate::printer::{paint, style};
use crate::render::Width;
use fugato_engine::{AgentState, Asked, Caller, Event, EventKind, NodeState, NodeStatus, Run, Turn, Work};
use fugato_model::{Lang, Words, words};
use row::{Doing, Row, seconds};
use std::collections::{BTreeMap, HashMap};

/// Everybody at work. Times are milliseconds of a clock that never goes back.
#[derive(Debug, Default)]
pub struct Board {
    rows: BTreeMap<u32, Row>,
    /// Row of an agent, by its number in the log.
    agents: Vec<u32>,
    /// Row of an agent or a node, by its name.
    names: HashMap<String, u32>,
    ended: usize,
    total: usize,
    /// Nodes of the plan that are counted in the total: it grows with what is called.
    counted: usize,
}

/// For whom the lines are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub lang: Lang,
    pub width: Width,
    pub columns: usize,
    pub rows: usize,
}

/// Agents that work for no node come after those that do, in the order in which they were started.
const NO_NODE: u32 = 1 << 31;
/// Enough for one line of the widest terminal.
const KEPT_CHARS: usize = 400;
/// Without a word for this long, the person is told what is waited for.
const STALL_MS: i64 = 60_000;
/// More lines are noise, and finished ones should still be seen above.
const MOST_ROWS: usize = 12;

impl Board {
    /// As the run stands: empty for a new one, full of what was under way for one that is resumed.
    pub fn new(run: &Run, now: i64) -> Self {
        let is_work = |node: &u32| run.plan_node(*node).is_some_and(|plan| !matches!(plan.work, Work::Gate));
        let numbers = || (0u32..).take(run.nodes.len());
        let status = |node: u32| run.nodes.get(node as usize).map(|state| state.status);
        let total = numbers().filter(is_work).count();
        let mut board = Self { total, counted: run.nodes.len(), ..Self::default() };
        for node in numbers().filter(is_work) {
            match status(node) {
                Some(NodeStatus::Running | NodeStatus::Uncertain) => board.node_started(node, run, now),
                Some(status) if status.has_ended() || status == NodeStatus::Failed => board.ended += 1,
                _ => {}
            }
        }
        for agent in &run.agents {
            board.agent(&shown(agent), agent.path.as_str(), agent.node, agent.is_live(), now);
            if agent.is_live() && agent.turn == Turn::Thinking {
                let doing = Doing::Thinking { model: agent.model.clone(), since: now };
                board.set_agent(board.agents.len() - 1, doing, now);
            }
        }
        board
    }

    pub fn event(&mut self, event: &Event, run: &Run, now: i64) {
        match &event.kind {
            EventKind::NodeStarted { node, .. } => self.node_started(*node, run, now),
            EventKind::NodeCompleted { node, .. } => {
                self.node_ended(*node);
                if run.orchestrator(*node).is_some() {
                    self.scope_ended(*node, run);
                }
            }
            EventKind::SkillCalled { node, by, starts, .. } => {
                self.grow(run);
                if *starts {
                    self.node_started(*node, run, now);
                }
                if let Caller::Tool { agent, .. } = by {
                    self.set_agent(*agent as usize, Doing::Agents, now);
                }
            }
            EventKind::NodeFailed { node, then, .. } => {
                self.node_ended(*node);
                if *then == fugato_engine::AfterFailure::Inline {
                    self.ended = self.ended.saturating_sub(1);
                }
                self.scope_ended(*node, run);
            }
            EventKind::AgentStarted { agent, node, .. } => {
                let shown = run.agent(agent.as_str()).map(|(_, state)| shown(state));
                let shown = shown.unwrap_or_else(|| agent.to_string());
                self.agent(&shown, agent.as_str(), *node, true, now);
            }
            EventKind::AgentContinued { agent, node: None, .. } => {
                if let (Some(key), Some(state)) =
                    (self.agents.get(*agent as usize), run.agents.get(*agent as usize))
                {
                    self.rows.insert(*key, Row::new(&shown(state), Doing::Starting, now));
                }
            }
            EventKind::AgentStopped { agent, .. } => {
                if let Some(key) = self.agents.get(*agent as usize).filter(|key| **key >= NO_NODE) {
                    self.rows.remove(key);
                }
            }
            EventKind::AgentQueued { call: Some(call), background: false, .. } => {
                self.set_agent(call.agent as usize, Doing::Agents, now);
            }
            EventKind::AgentWaiting { agent } => self.set_agent(*agent as usize, Doing::Agents, now),
            EventKind::AgentContinued { agent, node: Some(node), .. } => {
                if let Some(row) = self.agents.get_mut(*agent as usize) {
                    *row = *node;
                }
                if let Some(path) = run.agents.get(*agent as usize) {
                    self.names.insert(path.path.to_string(), *node);
                }
            }
            EventKind::ModelRequested { agent, .. } => {
                let model = run.agents.get(*agent as usize).map(|agent| agent.model.clone());
                let doing = Doing::Thinking { model: model.unwrap_or_default(), since: now };
                self.set_agent(*agent as usize, doing, now);
            }
            EventKind::ModelAnswered { agent, answer, .. } => {
                let usage = answer.usage;
                let used = usage.input_tokens.unwrap_or(0) + usage.output_tokens.unwrap_or(0);
                if let Some(row) = self.row_of(*agent as usize) {
                    row.tokens += used;
                }
                self.set_agent(*agent as usize, Doing::Starting, now);
            }
            EventKind::ModelFailed { agent, .. } => self.set_agent(*agent as usize, Doing::Starting, now),
            EventKind::ToolRequested { agent, index, call, .. } => {
                if let Some(row) = self.row_of(*agent as usize) {
                    row.tool_started(*index, &call.name, &call.arguments, now);
                }
            }
            EventKind::ToolCompleted { agent, index, .. } | EventKind::ToolUncertain { agent, index, .. } => {
                if let Some(row) = self.row_of(*agent as usize) {
                    row.tool_ended(*index, now);
                }
            }
            EventKind::InputRequested { about, .. } => match about {
                Asked::Agent { agent, .. } | Asked::Permission { agent, .. } | Asked::Task { agent } => {
                    self.set_agent(*agent as usize, Doing::Person, now);
                }
                Asked::Uncertain { node } => self.set(*node, Doing::Person, now),
            },
            EventKind::InputAnswered { question, .. } => {
                match run.questions.get(*question as usize).map(|question| question.about) {
                    Some(
                        Asked::Agent { agent, .. } | Asked::Permission { agent, .. } | Asked::Task { agent },
                    ) => {
                        self.set_agent(agent as usize, Doing::Starting, now);
                    }
                    Some(Asked::Uncertain { node }) => self.set(node, Doing::Starting, now),
                    None => {}
                }
            }
            EventKind::RunEnded { .. } => self.rows.clear(),
            _ => {}
        }
    }

    /// Text as it arrives; also a sign of life without any.
    pub fn live(&mut self, name: &str, text: &str, now: i64) {
        let Some(row) = self.names.get(name).copied().and_then(|key| self.rows.get_mut(&key)) else { return };
        row.hear(now);
        if row.is_old && !text.is_empty() {
            row.stream.clear();
            row.is_old = false;
        }
        row.stream.push_str(text);
        let extra = row.stream.chars().count().saturating_sub(KEPT_CHARS);
        if extra > 0 {
            row.stream = row.stream.chars().skip(extra).collect();
        }
    }

    pub fn retry(&mut self, name: &str, wait_ms: i64, reason: &Words, now: i64) {
        if let Some(key) = self.names.get(name).copied() {
            let until = now.saturating_add(wait_ms);
            self.set(key, Doing::Retrying { reason: reason.clone(), until }, now);
        }
    }

    /// The lines for the bottom of the screen; none when nobody is at work.
    pub fn lines(&self, now: i64, run: &Run, screen: Screen) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        // One column stays free: a full line makes some terminals wrap.
        let columns = screen.columns.saturating_sub(1).max(1);
        let room = screen.rows.saturating_sub(3).clamp(1, MOST_ROWS);
        let shown = if self.rows.len() > room { room.saturating_sub(1).max(1) } else { room };
        let width = screen.width;
        let rows: Vec<&Row> = self.rows.values().take(shown).collect();
        let names = rows.iter().map(|row| width.of(&row.name)).max().unwrap_or(0).min(columns * 2 / 5);
        let states: Vec<String> = rows.iter().map(|row| row.state(now, screen.lang)).collect();
        let state_room = states.iter().map(|state| width.of(state)).max().unwrap_or(0);
        let mut lines: Vec<String> = rows
            .iter()
            .zip(&states)
            .map(|(row, state)| row.line(state, names, state_room, columns, now, screen))
            .collect();
        if let Some(more @ 1..) = self.rows.len().checked_sub(shown) {
            let text = match screen.lang {
                Lang::En => format!("  +{more} more at work"),
                Lang::Zh => format!("  另有 {more} 个在执行"),
            };
            lines.push(paint(style::DIM, width.cut(&text, columns)));
        }
        lines.push(paint(style::DIM, width.cut(&self.totals(now, run, screen), columns)));
        lines
    }

    fn totals(&self, now: i64, run: &Run, screen: Screen) -> String {
        let ready = run.nodes.iter().filter(|node| node.status == NodeStatus::Ready).count();
        let queued = ready + run.queued();
        let (working, ended, total) = (self.rows.len(), self.ended, self.total);
        let (spent, time) = (tokens(run.spent.tokens()), seconds(now));
        // Not `·`: it is two cells wide on some terminals, and this line says numbers, not style.
        let mut parts = match screen.lang {
            Lang::En => vec![format!("{working} running")],
            Lang::Zh => vec![format!("执行 {working}")],
        };
        let mut say = |is_there: bool, english: String, chinese: String| {
            if is_there {
                parts.push(if screen.lang == Lang::En { english } else { chinese });
            }
        };
        say(queued > 0, format!("{queued} queued"), format!("排队 {queued}"));
        say(total > 0, format!("{ended}/{total} done"), format!("完成 {ended}/{total}"));
        say(run.spent.tokens() > 0, format!("{spent} tokens"), format!("{spent} 词元"));
        say(true, time.clone(), time);
        format!("{} {}", spinner(now), parts.join(", "))
    }

    /// One line that says what is going on, for whoever sees no board.
    pub fn heartbeat(&self, now: i64) -> Option<Words> {
        let row = self.rows.values().max_by_key(|row| now - row.since)?;
        let others = self.rows.len() - 1;
        let (name, time) = (&row.name, duration(now - row.since));
        let (english, chinese) = (row.state(now, Lang::En), row.state(now, Lang::Zh));
        let more = if others > 0 { format!(" (+{others})") } else { String::new() };
        Some(words!("… {name}: {english}, {time} so far{more}", "… {name}：{chinese}，已用 {time}{more}"))
    }

    /// Who has been silent for a minute, once per silence, and what for.
    pub fn stalls(&mut self, now: i64) -> Vec<Words> {
        let mut told = Vec::new();
        for row in self.rows.values_mut() {
            let silent = now - row.heard;
            if row.is_told || silent < STALL_MS || matches!(row.doing, Doing::Person | Doing::Agents) {
                continue;
            }
            row.is_told = true;
            let (name, silence) = (&row.name, duration(silent));
            let (english, chinese) = (row.waits_for(now, Lang::En), row.waits_for(now, Lang::Zh));
            told.push(words!(
                "{name}: nothing heard for {silence}; {english}",
                "{name}：已 {silence} 没有动静；{chinese}"
            ));
        }
        told
    }

    fn node_started(&mut self, node: u32, run: &Run, now: i64) {
        let Some(plan) = run.plan_node(node) else { return };
        let is_inline = run.nodes.get(node as usize).is_some_and(|state| state.inline);
        let doing = if matches!(plan.work, Work::Script { .. }) && !is_inline {
            Doing::Script
        } else if matches!(plan.work, Work::Phases { .. }) && !is_inline {
            Doing::Agents
        } else {
            Doing::Starting
        };
        self.names.insert(plan.id.clone(), node);
        self.rows.insert(node, Row::new(&plan.id, doing, now));
    }

    /// A sub-skill with phases failed: what it had not begun is not done any more, and nobody says so one by one.
    fn scope_ended(&mut self, call: u32, run: &Run) {
        let is_call = |work: &Work| matches!(work, Work::Phases { .. } | Work::Session { .. });
        if !run.plan_node(call).is_some_and(|plan| is_call(&plan.work)) {
            return;
        }
        let skipped = |node: &u32| {
            run.nodes.get(*node as usize).is_some_and(|state| state.status == NodeStatus::Skipped)
        };
        self.rows.retain(|node, _| !skipped(node));
        let is_work = |node: &u32| run.plan_node(*node).is_some_and(|plan| !matches!(plan.work, Work::Gate));
        let ended = |state: &NodeState| state.status.has_ended() || state.status == NodeStatus::Failed;
        let nodes = (0u32..).zip(&run.nodes).filter(|(node, state)| is_work(node) && ended(state));
        self.ended = nodes.count();
    }

    /// The plan has more nodes than before.
    fn grow(&mut self, run: &Run) {
        let added = (0u32..).take(run.nodes.len()).skip(self.counted);
        let works =
            added.filter_map(|node| run.plan_node(node)).filter(|plan| !matches!(plan.work, Work::Gate));
        self.total += works.count();
        self.counted = run.nodes.len();
    }

    fn node_ended(&mut self, node: u32) {
        self.ended += 1;
        self.rows.remove(&node);
    }

    fn agent(&mut self, shown: &str, path: &str, node: Option<u32>, is_live: bool, now: i64) {
        let number = u32::try_from(self.agents.len()).unwrap_or(NO_NODE);
        let key = node.unwrap_or(NO_NODE.saturating_add(number));
        self.agents.push(key);
        self.names.insert(path.to_owned(), key);
        if node.is_none() && is_live {
            self.rows.insert(key, Row::new(shown, Doing::Starting, now));
        }
    }

    fn row_of(&mut self, agent: usize) -> Option<&mut Row> {
        self.rows.get_mut(self.agents.get(agent)?)
    }

    fn set_agent(&mut self, agent: usize, doing: Doing, now: i64) {
        if let Some(key) = self.agents.get(agent).copied() {
            self.set(key, doing, now);
        }
    }

    fn set(&mut self, key: u32, doing: Doing, now: i64) {
        if let Some(row) = self.rows.get_mut(&key) {
            row.hear(now);
            row.is_old = true;
            row.doing = doing;
        }
    }
}

/// Who it is, and what for.
fn shown(agent: &AgentState) -> String {
    let indent = if agent.parent.is_some() { "↳ " } else { "" };
    match agent.description.as_str() {
        "" => format!("{indent}{}", agent.path),
        description => format!("{indent}{} ({description})", agent.path),
    }
}

/// Turns ten times a second; one cell wide everywhere.
fn spinner(now: i64) -> char {
    const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    let frame = usize::try_from(now.max(0) / 100).unwrap_or(0) % FRAMES.len();
    FRAMES.get(frame).copied().unwrap_or(' ')
}
