//! The outcome of an effect. One that is no longer wanted is late and changes nothing.

use super::Recorder;
use crate::driver::agent_ended;
use crate::effect::EffectKey;
use crate::event::{Asked, EffectClass, EventKind, Verdict};
use crate::input::Completion;
use crate::plan::{Access, PlanNode};
use crate::question::Wants;
use fugato_model::chat::{Answer, ModelFault, ToolCall};
use std::sync::Arc;

/// Answers in one task that cannot be used before the agent is given up.
const MAX_MISSTEPS: u32 = 3;

pub fn completed(recorder: &mut Recorder<'_>, key: EffectKey, completion: Completion) {
    if recorder.run.effect(key).is_none() {
        return;
    }
    match (key, completion) {
        (EffectKey::Model { agent, step }, Completion::Answered { answer, micro_usd }) => {
            answered(recorder, agent, step, *answer, micro_usd);
        }
        (EffectKey::Model { agent, step }, Completion::ModelFailed { fault, message }) => {
            model_failed(recorder, agent, step, fault, message);
        }
        (EffectKey::Tool { agent, step, index }, Completion::Tool { content, is_error }) => {
            recorder.emit(EventKind::ToolCompleted { agent, step, index, content, is_error });
        }
        (EffectKey::Node { node, .. }, completion) => crate::driver::node_ended(recorder, node, completion),
        // An outcome of another kind than its effect: nothing that could be recorded as what happened.
        _ => {}
    }
}

fn model_failed(recorder: &mut Recorder<'_>, agent: u32, step: u32, fault: ModelFault, message: String) {
    let can_repair = fault == ModelFault::Malformed
        && recorder.run.agents.get(agent as usize).is_some_and(|state| state.missteps < MAX_MISSTEPS);
    let told = message.clone();
    recorder.emit(EventKind::ModelFailed { agent, step, fault, message });
    if can_repair {
        let text = format!("Your last answer could not be read: {told}. Answer again.");
        recorder.emit(EventKind::MessageSent { to: agent, from: "engine".into(), text });
        return;
    }
    stop(recorder, agent, Verdict::Failed { message: told });
}

fn answered(recorder: &mut Recorder<'_>, agent: u32, step: u32, answer: Answer, micro_usd: Option<u64>) {
    let calls: Vec<ToolCall> = answer.message.tool_calls().cloned().collect();
    let text = answer.message.text();
    recorder.emit(EventKind::ModelAnswered { agent, step, answer: Arc::new(answer), micro_usd });
    if let Some(submitted) = calls.iter().find(|call| call.name == SUBMIT) {
        let value = submitted.arguments.clone();
        // `{"result": …}` is how the tool's schema names it; a bare object is taken as the result itself.
        let value = match value.as_object() {
            Some(object) if object.len() == 1 => object.get("result").cloned().unwrap_or(value),
            _ => value,
        };
        return stop(recorder, agent, Verdict::Submitted { value });
    }
    if calls.is_empty() {
        let is_wrap_up = recorder
            .run
            .agents
            .get(agent as usize)
            .is_some_and(|state| state.steps_of_task() >= recorder.run.spec.limits.steps);
        let verdict = match (text.trim().is_empty(), is_wrap_up) {
            (true, false) if can_misstep(recorder, agent) => {
                let text = "Your answer was empty. Answer, or call a tool.".to_owned();
                return recorder.emit(EventKind::MessageSent { to: agent, from: "engine".into(), text });
            }
            (_, true) => Verdict::LimitReached { limit: "steps".into(), text },
            (true, false) => Verdict::Failed { message: "the model answered nothing".into() },
            (false, false) => Verdict::Answered { text },
        };
        return stop(recorder, agent, verdict);
    }
    for (index, call) in calls.into_iter().enumerate() {
        act(recorder, agent, step, u32::try_from(index).unwrap_or(u32::MAX), call);
    }
}

/// Empty answers in a row: the conversation shows them.
fn can_misstep(recorder: &Recorder<'_>, agent: u32) -> bool {
    let Some(state) = recorder.run.agents.get(agent as usize) else { return false };
    let spoken = state.messages.iter().rev().filter(|m| m.role == fugato_model::chat::Role::Assistant);
    let empty = spoken.take_while(|m| m.text().trim().is_empty() && m.tool_calls().next().is_none()).count();
    empty <= 1
}

fn act(recorder: &mut Recorder<'_>, agent: u32, step: u32, index: u32, call: ToolCall) {
    let access = recorder.run.agents.get(agent as usize).map_or(Access::ReadOnly, |state| state.access);
    let refused = |content: String| EventKind::ToolCompleted { agent, step, index, content, is_error: true };
    let limit = recorder.run.spec.limits.calls_per_answer;
    let event = if index >= limit {
        refused(format!("not run: one answer may ask for at most {limit} tool calls"))
    } else if call.name == ASK
        && let Err(why) = Wants::of(&call.arguments, plan_of(recorder, agent))
    {
        refused(why)
    } else if call.name == ASK {
        let text = |key: &str| call.arguments.get(key).and_then(|v| v.as_str()).map(str::to_owned);
        let options = call.arguments.get("options").and_then(|v| v.as_array());
        let options = options.into_iter().flatten().filter_map(|v| v.as_str()).map(str::to_owned).collect();
        EventKind::InputRequested {
            question: u32::try_from(recorder.run.questions.len()).unwrap_or(u32::MAX),
            about: Asked::Agent { agent, step, index },
            text: text("question").or_else(|| text("text")).unwrap_or_default(),
            options,
        }
    } else {
        match (class_of(&call.name), access) {
            (None, _) => {
                let known: Vec<_> = TOOLS.iter().map(|(name, _)| *name).collect();
                refused(format!("there is no tool `{}`; there are: {}", call.name, known.join(", ")))
            }
            (Some(class), Access::ReadOnly) if class != EffectClass::Read => {
                refused(format!("`{}` is not allowed: this agent is read-only", call.name))
            }
            (Some(class), _) => EventKind::ToolRequested { agent, step, index, call, class },
        }
    };
    recorder.emit(event);
}

fn plan_of<'r>(recorder: &'r Recorder<'_>, agent: u32) -> Option<&'r PlanNode> {
    recorder.run.agents.get(agent as usize)?.node.and_then(|node| recorder.run.plan_node(node))
}

fn stop(recorder: &mut Recorder<'_>, agent: u32, verdict: Verdict) {
    recorder.emit(EventKind::AgentStopped { agent, verdict: verdict.clone() });
    agent_ended(recorder, agent, verdict);
}

/// Engine tools: decided here, never performed.
pub const SUBMIT: &str = "submit_result";
pub const ASK: &str = "ask_user";

/// World and skill tools with the class of their effect.
const TOOLS: &[(&str, EffectClass)] = &[
    ("Read", EffectClass::Read),
    ("Glob", EffectClass::Read),
    ("Grep", EffectClass::Read),
    ("skill_list", EffectClass::Read),
    ("skill_read", EffectClass::Read),
    ("skill_search", EffectClass::Read),
    ("Write", EffectClass::Idempotent),
    ("Edit", EffectClass::Once),
    ("Bash", EffectClass::Once),
];

fn class_of(tool: &str) -> Option<EffectClass> {
    TOOLS.iter().find(|(name, _)| *name == tool).map(|(_, class)| *class)
}
