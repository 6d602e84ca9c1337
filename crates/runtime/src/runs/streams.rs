//! One stream for each subagent: start, what it says and does, and exactly one end. Made from the events of a run and what
//! arrives meanwhile; whoever writes them to a wire only encodes.
//!
//! Start, error and end are said once and are worth keeping; deltas and chunks are for whoever watches now, numbered so
//! that a gap is seen.

use fugato_engine::{AgentState, Event, EventKind, Run, Verdict};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;

/// One part of a stream, in the form of a data part of a UI message stream: everything of our own is inside `data`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamPart {
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Our name for the call that started the agent, unique in the run; transient parts have it in `data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub data: Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
}

/// The streams that are open.
#[derive(Debug, Default)]
pub struct Streams {
    open: HashMap<String, Open>,
}

#[derive(Debug)]
struct Open {
    id: String,
    seq: u64,
}

const START: &str = "data-sub-agent-start";
const DELTA: &str = "data-sub-agent-delta";
const CHUNK: &str = "data-sub-agent-chunk";
const ERROR: &str = "data-sub-agent-error";
const END: &str = "data-sub-agent-end";

impl Streams {
    /// The streams of a run as it stands: whoever was at work when its last owner died is started again, and will end.
    pub fn resumed(run: &Run) -> (Self, Vec<StreamPart>) {
        let mut streams = Self::default();
        let live = run.agents.iter().filter(|agent| agent.parent.is_some() && agent.is_live());
        let parts = live.map(|agent| streams.start(agent, run)).collect();
        (streams, parts)
    }

    /// What an event says; `run` has it applied.
    pub fn event(&mut self, event: &Event, run: &Run) -> Vec<StreamPart> {
        let of = |agent: u32| run.agents.get(agent as usize).filter(|state| state.parent.is_some());
        match &event.kind {
            EventKind::AgentStarted { agent, delegated: Some(_), .. } => {
                run.agent(agent.as_str()).map(|(_, state)| self.start(state, run)).into_iter().collect()
            }
            EventKind::AgentContinued { agent, delegated: Some(_), .. } => {
                of(*agent).map(|state| self.start(state, run)).into_iter().collect()
            }
            EventKind::AgentStopped { agent, verdict } => {
                of(*agent).and_then(|state| self.end(state, verdict)).into_iter().collect()
            }
            EventKind::ToolRequested { agent, step, index, call, .. } => {
                let part = json!({
                    "type": "tool-input-available", "toolCallId": inner_id(*step, *index),
                    "toolName": call.name, "input": call.arguments,
                });
                of(*agent).and_then(|state| self.chunk(state, &part)).into_iter().collect()
            }
            EventKind::ToolCompleted { agent, step, index, content, is_error } => {
                let kind = if *is_error { "tool-output-error" } else { "tool-output-available" };
                let key = if *is_error { "errorText" } else { "output" };
                let mut part = json!({"type": kind, "toolCallId": inner_id(*step, *index)});
                if let Some(fields) = part.as_object_mut() {
                    fields.insert(key.to_owned(), content.as_str().into());
                }
                of(*agent).and_then(|state| self.chunk(state, &part)).into_iter().collect()
            }
            EventKind::RunEnded { reason, .. } => self.close(run, &reason.en),
            EventKind::AgentActed { agent, tool, arguments, is_error, head } => {
                let Some(state) = of(*agent) else { return Vec::new() };
                let id = format!("host.{}", event.seq);
                let input = json!({
                    "type": "tool-input-available", "toolCallId": id, "toolName": tool, "input": arguments,
                });
                let output = match is_error {
                    true => json!({"type": "tool-output-error", "toolCallId": id, "errorText": head}),
                    false => json!({"type": "tool-output-available", "toolCallId": id, "output": head}),
                };
                [input, output].iter().filter_map(|part| self.chunk(state, part)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A run that used up its budget ends as it stands: whoever was at work says nothing more, until it is resumed.
    fn close(&mut self, run: &Run, why: &str) -> Vec<StreamPart> {
        let verdict = Verdict::Failed { message: format!("the run ended: {why}") };
        let open: Vec<&AgentState> =
            run.agents.iter().filter(|agent| self.open.contains_key(agent.path.as_str())).collect();
        open.into_iter().filter_map(|agent| self.end(agent, &verdict)).collect()
    }

    /// Text of an agent as it arrives. `None`: it is no subagent.
    pub fn live(&mut self, agent: &str, text: &str) -> Option<StreamPart> {
        let open = self.open.get_mut(agent).filter(|_| !text.is_empty())?;
        open.seq += 1;
        let data = json!({"toolCallId": open.id, "agentId": agent, "seq": open.seq, "delta": text});
        Some(StreamPart { kind: DELTA, id: None, data, transient: true })
    }

    fn start(&mut self, agent: &AgentState, run: &Run) -> StreamPart {
        let path = agent.path.to_string();
        let id = agent.call_id.clone();
        let parent = agent.parent.and_then(|parent| run.agents.get(parent as usize));
        let mut data = json!({
            "toolCallId": id, "agentId": path, "agentType": agent.agent_type,
            "description": agent.description, "parent": parent.map(|parent| parent.path.to_string()),
            "state": "output-streaming",
        });
        if let (Some(fields), false) = (data.as_object_mut(), agent.provider_call_id.is_empty()) {
            fields.insert("providerToolCallId".to_owned(), agent.provider_call_id.as_str().into());
        }
        self.open.insert(path, Open { id: id.clone(), seq: 0 });
        StreamPart { kind: START, id: Some(id), data, transient: false }
    }

    fn chunk(&mut self, agent: &AgentState, part: &Value) -> Option<StreamPart> {
        let open = self.open.get_mut(agent.path.as_str())?;
        open.seq += 1;
        let data = json!({
            "toolCallId": open.id, "agentId": agent.path.as_str(), "seq": open.seq, "chunk": part,
        });
        Some(StreamPart { kind: CHUNK, id: None, data, transient: true })
    }

    fn end(&mut self, agent: &AgentState, verdict: &Verdict) -> Option<StreamPart> {
        let Open { id, .. } = self.open.remove(agent.path.as_str())?;
        let (kind, state, said) = match verdict {
            Verdict::Submitted { value } => (END, "output-available", json!({"output": value})),
            Verdict::Answered { text } => (END, "output-available", json!({"output": text})),
            Verdict::LimitReached { limit, text } => {
                (END, "output-available", json!({"output": text, "limitReached": limit}))
            }
            Verdict::Failed { message } => (ERROR, "output-error", json!({"errorText": message})),
            Verdict::Cancelled => (ERROR, "output-error", json!({"errorText": "cancelled"})),
        };
        let usage = json!({
            "inputTokens": agent.spent.usage.input_tokens, "outputTokens": agent.spent.usage.output_tokens,
        });
        let mut data = json!({
            "toolCallId": id, "agentId": agent.path.as_str(), "state": state,
            "steps": agent.steps_of_task(), "usage": usage,
        });
        if let (Some(fields), Some(more)) = (data.as_object_mut(), said.as_object()) {
            fields.extend(more.clone());
        }
        Some(StreamPart { kind, id: Some(id), data, transient: false })
    }
}

/// Unique within the agent's stream, whatever names a provider gives its calls.
fn inner_id(step: u32, index: u32) -> String {
    format!("{step}.{index}")
}
