//! From the bytes of a run's files to the values people see, whoever wrote them. What cannot be read is counted and left
//! out, never a reason to show nothing.

use super::{AgentReceipt, AgentRow, EventRow, Intervention, Overview, ReceiptState};
use crate::exports::foreign::{Foreign, ForeignAgent, ReadError, read_line};
use crate::exports::{AgentWord, RunWord, read_run_json};
use fugato_model::Words;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// What was found of one run.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// `run.json`.
    pub run: Vec<u8>,
    /// By the id of the agent: `status.json` and the end of `stream.jsonl`.
    pub agents: HashMap<String, AgentFiles>,
    /// `control.log.jsonl`, or its end.
    pub control: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct AgentFiles {
    pub status: Vec<u8>,
    /// Newest last.
    pub stream: Vec<u8>,
}

/// `run.json` as this program writes it. Read by its shape: ten thousand agents take a few milliseconds.
#[derive(Debug, Deserialize)]
pub(super) struct Own {
    pub id: String,
    status: String,
    started_at: Option<String>,
    updated_at: Option<String>,
    #[serde(default)]
    generation: u64,
    pub seq: u64,
    reason: Option<String>,
    reason_zh: Option<String>,
    pub agents: Vec<OwnAgent>,
    #[serde(default)]
    dependencies: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    recent: Vec<OwnEvent>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OwnAgent {
    pub id: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    task: String,
    pub status: String,
    started_at: Option<String>,
    completed_at: Option<String>,
    pub dir: Option<String>,
}

#[derive(Debug, Deserialize)]
struct OwnEvent {
    seq: u64,
    timestamp: Option<String>,
    agent: String,
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    message: String,
    message_zh: Option<String>,
}

/// `None`: another program wrote it, or an earlier version.
pub(super) fn own(bytes: &[u8]) -> Option<Own> {
    serde_json::from_slice(bytes).ok()
}

pub(super) fn overview(found: &Found) -> Result<Overview, ReadError> {
    let mut view = match own(&found.run) {
        Some(own) => of_own(own),
        None => of_foreign(&found.run)?,
    };
    let mut unreadable = 0;
    for agent in &mut view.agents {
        if let Some(files) = found.agents.get(&agent.id) {
            unreadable += fill(agent, files);
        }
    }
    if view.events.is_empty() {
        view.events = newest(found);
    }
    let (interventions, bad) = interventions(&found.control);
    (view.interventions, view.unreadable) = (interventions, unreadable + bad);
    Ok(view)
}

fn of_own(own: Own) -> Overview {
    let event = |event: OwnEvent| EventRow {
        seq: event.seq,
        at: millis(event.timestamp.as_deref()),
        agent: event.agent,
        kind: event.r#type,
        message: both(event.message, event.message_zh),
    };
    let agent = |agent: OwnAgent| AgentRow {
        role: agent.role,
        task: agent.task,
        status: agent.status.as_str().into(),
        started_at: millis(agent.started_at.as_deref()),
        completed_at: millis(agent.completed_at.as_deref()),
        ..nobody(agent.id)
    };
    Overview {
        id: own.id,
        title: None,
        status: own.status.as_str().into(),
        reason: own.reason.map(|reason| both(reason, own.reason_zh)),
        started_at: millis(own.started_at.as_deref()),
        updated_at: millis(own.updated_at.as_deref()),
        seq: own.seq,
        generation: own.generation,
        agents: own.agents.into_iter().map(agent).collect(),
        dependencies: own.dependencies,
        events: own.recent.into_iter().map(event).collect(),
        interventions: Vec::new(),
        unreadable: 0,
    }
}

fn of_foreign(bytes: &[u8]) -> Result<Overview, ReadError> {
    let run = read_run_json(bytes)?;
    let agent = |agent: ForeignAgent| AgentRow {
        role: agent.role.unwrap_or_default(),
        task: agent.task.unwrap_or_default(),
        status: agent.status,
        started_at: millis(agent.started_at.as_deref()),
        completed_at: millis(agent.completed_at.as_deref()),
        ..nobody(agent.id)
    };
    let status = match run.status {
        RunWord::Other(word) if word.is_empty() => RunWord::Other("unknown".to_owned()),
        word => word,
    };
    Ok(Overview {
        id: run.id.unwrap_or_else(|| "unknown".to_owned()),
        title: None,
        status,
        reason: text_of(&run.rest, "reason").map(|reason| both(reason, text_of(&run.rest, "reason_zh"))),
        started_at: millis(run.started_at.as_deref()),
        updated_at: millis(run.updated_at.as_deref()),
        seq: number_of(&run.rest, "seq"),
        generation: run.generation.unwrap_or(0),
        agents: run.agents.into_iter().map(agent).collect(),
        dependencies: run.dependencies,
        events: Vec::new(),
        interventions: Vec::new(),
        unreadable: 0,
    })
}

fn nobody(id: String) -> AgentRow {
    AgentRow {
        id,
        role: String::new(),
        task: String::new(),
        status: AgentWord::Other("unknown".to_owned()),
        phase: String::new(),
        started_at: None,
        completed_at: None,
        last_event: None,
        last_heartbeat: None,
        acked_generation: 0,
        unread: 0,
    }
}

/// Adds what the agent's own files say; returns how many of them could not be read.
fn fill(agent: &mut AgentRow, files: &AgentFiles) -> usize {
    let mut bad = 0;
    if !files.status.is_empty() {
        match serde_json::from_slice::<Map<String, Value>>(&files.status) {
            Ok(fields) => {
                agent.phase = text_of(&fields, "phase").unwrap_or_default();
                agent.last_heartbeat = millis(text_of(&fields, "last_heartbeat").as_deref());
                agent.acked_generation = number_of(&fields, "acked_generation");
                agent.unread = number_of(&fields, "unread");
            }
            Err(_) => bad += 1,
        }
    }
    let (events, unread) = events_of(&agent.id, &files.stream);
    agent.last_event = events.into_iter().next_back();
    bad + unread
}

/// The newest of all agents, when the run's own file does not name them.
fn newest(found: &Found) -> Vec<EventRow> {
    let all = found.agents.iter().flat_map(|(id, files)| events_of(id, &files.stream).0);
    let mut all: Vec<EventRow> = all.collect();
    all.sort_by_key(|event| std::cmp::Reverse((event.at, event.seq)));
    all.truncate(Overview::RECENT);
    all
}

fn events_of(agent: &str, lines: &[u8]) -> (Vec<EventRow>, usize) {
    let (mut events, mut bad) = (Vec::new(), 0);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let read = read_line(line).ok().and_then(|mut read| read.pop());
        let Some(Foreign::Event { seq, timestamp, kind, message, rest }) = read else {
            bad += 1;
            continue;
        };
        let (at, zh) = (millis(timestamp.as_deref()), text_of(&rest, "message_zh"));
        let (agent, seq) = (agent.to_owned(), seq.unwrap_or(0));
        events.push(EventRow { seq, at, agent, kind, message: both(message, zh) });
    }
    (events, bad)
}

/// Directives with their receipts, newest first, and how many lines could not be read.
pub(super) fn interventions(lines: &[u8]) -> (Vec<Intervention>, usize) {
    let mut by_generation: BTreeMap<u64, Intervention> = BTreeMap::new();
    let mut bad = 0;
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        match serde_json::from_slice::<Map<String, Value>>(line) {
            Ok(fields) => take(&mut by_generation, &fields),
            Err(_) => bad += 1,
        }
    }
    // A directive whose own line lies before the part that was read has no name.
    let named = by_generation.into_values().rev().filter(|found| !found.action.is_empty());
    (named.collect(), bad)
}

fn take(by_generation: &mut BTreeMap<u64, Intervention>, fields: &Map<String, Value>) {
    let generation = number_of(fields, "generation");
    let at = millis(text_of(fields, "timestamp").as_deref());
    let found = by_generation.entry(generation).or_insert_with(|| Intervention {
        generation: Some(generation),
        at,
        action: String::new(),
        target: String::new(),
        message: String::new(),
        receipts: Vec::new(),
    });
    if let Some(action) = text_of(fields, "action") {
        (found.action, found.at) = (action, at);
        found.target = text_of(fields, "target").unwrap_or_else(|| "all".to_owned());
        found.message = text_of(fields, "message").unwrap_or_default();
    }
    let state = text_of(fields, "receipt").and_then(|word| ReceiptState::from_word(&word));
    let Some(state) = state.filter(|state| *state != ReceiptState::Recorded) else { return };
    let agent = text_of(fields, "agent");
    let why = text_of(fields, "reason").map(|reason| both(reason, text_of(fields, "reason_zh")));
    let receipt = AgentReceipt { agent, state, at, why };
    match found.receipts.iter_mut().find(|known| known.agent == receipt.agent) {
        Some(known) => *known = receipt,
        None => found.receipts.push(receipt),
    }
}

fn both(en: String, zh: Option<String>) -> Words {
    let zh = zh.unwrap_or_else(|| en.clone());
    Words { en, zh }
}

fn text_of(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn number_of(fields: &Map<String, Value>, key: &str) -> u64 {
    fields.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// A moment as programs write it: ISO 8601, or seconds or milliseconds since 1970.
fn millis(text: Option<&str>) -> Option<i64> {
    let text = text?.trim();
    if let Ok(number) = text.parse::<i64>() {
        // Seconds have ten digits until the year 2286.
        return Some(if number.abs() < 100_000_000_000 { number.saturating_mul(1000) } else { number });
    }
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}
