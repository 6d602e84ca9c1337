//! The outcome of an effect. One that is no longer wanted is late and changes nothing.

use super::answer::{ALLOW, ALWAYS, DENY};
use super::{Recorder, skills};
use crate::agent::{Duty, Turn};
use crate::agent_type::{Executor, Rights};
use crate::context;
use crate::driver::stop;
use crate::effect::EffectKey;
use crate::event::{AgentPath, Asked, CallRef, EffectClass, EventKind, Purpose, Verdict};
use crate::input::Completion;
use crate::permission::{Decision, Why};
use crate::plan::{Access, PlanNode};
use crate::question::Wants;
use crate::run::{Run, permit};
use crate::tools::{ASK, DELEGATE, SEND, TOOLS, class_of};
use fugato_model::Words;
use fugato_model::chat::{Answer, ModelFault, StopReason, ToolCall};
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
        (EffectKey::Tool { agent, step, index }, Completion::Tool { content, is_error, used }) => {
            if let Some((name, digest)) =
                used.filter(|(name, _)| !recorder.run.skills_used.contains_key(name))
            {
                recorder.emit(EventKind::SkillUsed { agent, name, digest });
            }
            recorder.emit(EventKind::ToolCompleted { agent, step, index, content, is_error });
        }
        // Nothing happened that the log does not have.
        (EffectKey::Recall { agent }, Completion::Recalled { messages }) => {
            recorder.run.recall(agent, messages);
        }
        (EffectKey::Node { node, .. }, completion) => crate::driver::node_ended(recorder, node, completion),
        // An outcome of another kind than its effect: nothing that could be recorded as what happened.
        _ => {}
    }
}

/// For the record: how long the run waited for its provider, and why. Nothing else changes.
pub fn retrying(recorder: &mut Recorder<'_>, agent: &AgentPath, wait_ms: u64, reason: Words) {
    let asked = recorder.run.agent(agent.as_str()).filter(|(_, state)| state.turn == Turn::Thinking);
    if let Some((agent, step)) = asked.map(|(at, state)| (at, state.step)) {
        recorder.emit(EventKind::ModelRetried { agent, step, wait_ms, reason });
    }
}

/// Was it told something that its result cannot know of? Then it sees that first. A subagent that another one waits for
/// ends, and goes on for what is left; only a new task of the operator's keeps it.
fn has_something_new(run: &Run, agent: u32) -> bool {
    let is_own = |state: &crate::AgentState| state.parent.is_none() && !state.inbox.is_empty();
    run.undelivered.contains_key(&agent) || run.agents.get(agent as usize).is_some_and(is_own)
}

fn model_failed(recorder: &mut Recorder<'_>, agent: u32, step: u32, fault: ModelFault, message: String) {
    let Some(state) = recorder.run.agents.get(agent as usize) else { return };
    let twice = state.missteps > 0 && state.misstep_at.saturating_add(1) == step;
    let has_room = state.missteps < MAX_MISSTEPS;
    // Half of what did not fit.
    let shorter = context::cut(state, state.context.tokens() / 2);
    let told = message.clone();
    recorder.emit(EventKind::ModelFailed { agent, step, fault, message });
    match (fault, shorter) {
        // One turn to repair it; a model that cannot write JSON twice in a row will not learn it.
        (ModelFault::Malformed, _) if has_room && !twice => {
            let text = format!("Your last answer could not be read: {told}. Answer again.");
            recorder.emit(EventKind::MessageSent { to: agent, from: "engine".into(), text, kind: None });
        }
        (ModelFault::ContextOverflow, Some(kept_from)) if has_room => {
            let Some(state) = recorder.run.agents.get(agent as usize) else { return };
            let summary = context::outline(state, kept_from);
            let (usage, micro_usd) = (Default::default(), None);
            recorder.emit(EventKind::AgentCompacted { agent, step, summary, kept_from, usage, micro_usd });
        }
        _ => stop(recorder, agent, Verdict::Failed { message: told }),
    }
}

fn answered(recorder: &mut Recorder<'_>, agent: u32, step: u32, answer: Answer, micro_usd: Option<u64>) {
    let Some(asked) = recorder.run.agents.get(agent as usize).map(|state| state.asked) else { return };
    if asked == Purpose::Summary {
        return summed_up(recorder, agent, step, &answer, micro_usd);
    }
    let calls: Vec<ToolCall> = answer.message.tool_calls().cloned().collect();
    let (text, stop_reason) = (answer.message.text(), answer.stop);
    recorder.emit(EventKind::ModelAnswered { agent, step, answer: Arc::new(answer), micro_usd });
    match recorder.run.agents.get(agent as usize).map(|state| &state.kind.executor) {
        // It is run once, whatever it prints.
        Some(Executor::Script { .. }) => return stop(recorder, agent, Verdict::Answered { text }),
        Some(executor) if executor.is_host() && stop_reason == StopReason::MaxTokens => {
            let limit = crate::limits::reached(recorder.run, agent);
            return stop(recorder, agent, Verdict::LimitReached { limit: limit.into(), text });
        }
        _ => {}
    }
    let goes_on = asked != Purpose::WrapUp && has_something_new(recorder.run, agent);
    if let Some(verdict) = skills::ending(recorder.run, agent, &calls).filter(|_| !goes_on) {
        return stop_or_repair(recorder, agent, verdict);
    }
    if calls.is_empty() && goes_on && !text.trim().is_empty() {
        return;
    }
    if calls.is_empty() {
        let verdict = match (text.trim().is_empty(), asked == Purpose::WrapUp) {
            (true, false) if can_misstep(recorder, agent) => {
                let text = "Your answer was empty. Answer, or call a tool.".to_owned();
                return recorder.emit(EventKind::MessageSent {
                    to: agent,
                    from: "engine".into(),
                    text,
                    kind: None,
                });
            }
            (_, true) => Verdict::LimitReached { limit: "steps".into(), text },
            (true, false) => Verdict::Failed { message: "the model answered nothing".into() },
            (false, false) => Verdict::Answered { text },
        };
        return stop_or_repair(recorder, agent, verdict);
    }
    let duty = recorder.run.agents.get(agent as usize).map_or(Duty::Task, |state| state.duty);
    for (index, call) in calls.into_iter().enumerate() {
        if goes_on && skills::is_ending(duty, &call.name) {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let content =
                "not taken: you were told something meanwhile; read it, then give your result".to_owned();
            recorder.emit(EventKind::ToolCompleted { agent, step, index, content, is_error: true });
            continue;
        }
        act(recorder, agent, step, u32::try_from(index).unwrap_or(u32::MAX), call);
    }
    let lost = |state: &crate::AgentState| state.missteps >= MAX_MISSTEPS && state.misstep_at == step;
    if recorder.run.agents.get(agent as usize).is_some_and(lost) {
        let message = format!("asked {MAX_MISSTEPS} times for tools it does not have");
        stop(recorder, agent, Verdict::Failed { message });
    }
}

/// The conversation becomes its summary.
fn summed_up(recorder: &mut Recorder<'_>, agent: u32, step: u32, answer: &Answer, micro_usd: Option<u64>) {
    let Some(state) = recorder.run.agents.get(agent as usize) else { return };
    let all = u32::try_from(state.messages.len()).unwrap_or(u32::MAX);
    let kept_from = context::cut(state, recorder.run.spec.limits.context_tokens).unwrap_or(all);
    let summary = match answer.message.text() {
        text if text.trim().is_empty() => context::outline(state, kept_from),
        text => text,
    };
    let usage = answer.usage;
    recorder.emit(EventKind::AgentCompacted { agent, step, summary, kept_from, usage, micro_usd });
}

/// A result that does not have the declared shape gets one more turn.
fn stop_or_repair(recorder: &mut Recorder<'_>, agent: u32, verdict: Verdict) {
    let is_first = recorder.run.agents.get(agent as usize).is_some_and(|state| state.repairs == 0);
    match crate::driver::problem(recorder.run, agent, &verdict).filter(|_| is_first) {
        Some(problem) => recorder.emit(EventKind::RepairAsked { agent, problem }),
        None => stop(recorder, agent, verdict),
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
    let state = recorder.run.agents.get(agent as usize);
    let access = state.map_or(Access::ReadOnly, |state| state.access);
    let rights = state.and_then(|state| state.rights.clone());
    let has = |tool: &str| rights.as_ref().is_none_or(|rights| rights.has_tool(tool));
    let not_run = |content: String| EventKind::ToolCompleted { agent, step, index, content, is_error: true };
    let refused = |reason: String| EventKind::ToolRefused { agent, step, index, reason };
    let limits = &recorder.run.spec.limits;
    let limit = limits.calls_per_answer;
    let used_up = limits.tool_calls.filter(|most| recorder.run.spent.tool_calls >= *most);
    let at = CallRef { agent, step, index };
    let event = if index >= limit {
        not_run(format!("not run: one answer may ask for at most {limit} tool calls"))
    } else if let Some(most) = used_up.filter(|_| call.name != ASK) {
        not_run(format!(
            "not run: the run's budget of {most} tool calls is used up; answer with what you have"
        ))
    } else if state.is_some_and(|state| state.duty != Duty::Task) {
        return skills::act(recorder, at, &call);
    } else if call.name == ASK && (!has(ASK) || crate::driver::is_preparing(recorder.run, agent)) {
        refused("this agent cannot ask the person; answer with what you need to know".to_owned())
    } else if call.name == ASK {
        ask(recorder, at, &call)
    } else if call.name == DELEGATE || call.name == SEND {
        return super::delegate::asked(recorder, at, &call);
    } else {
        match (class_of(&call.name).filter(|_| has(&call.name)), access) {
            (None, _) => {
                let known: Vec<_> = TOOLS.iter().map(|(name, _)| *name).filter(|name| has(name)).collect();
                refused(format!("there is no tool `{}`; there are: {}", call.name, known.join(", ")))
            }
            (Some(class), Access::ReadOnly) if class != EffectClass::Read => {
                refused(format!("`{}` is not allowed: this agent is read-only", call.name))
            }
            (Some(class), _) => match permitted(recorder.run, &call, class, rights.as_deref()) {
                Decision::Allow => EventKind::ToolRequested { agent, step, index, call, class },
                Decision::Deny { why } => not_run(denied(&why)),
                Decision::Ask { why } => ask_for(recorder.run, at, &call, &why),
            },
        }
    };
    recorder.emit(event);
}

/// A question to the person, or what is wrong with it.
pub(super) fn ask(recorder: &Recorder<'_>, at: CallRef, call: &ToolCall) -> EventKind {
    let CallRef { agent, step, index } = at;
    let not_run = |content: String| EventKind::ToolCompleted { agent, step, index, content, is_error: true };
    if let Err(why) = Wants::of(&call.arguments, plan_of(recorder, agent)) {
        return not_run(why);
    }
    let Some(text) = question_of(call) else {
        return not_run("`question` is missing: what the person should tell you".to_owned());
    };
    let options = call.arguments.get("options").and_then(|v| v.as_array());
    let options = options.into_iter().flatten().filter_map(|v| v.as_str()).map(str::to_owned).collect();
    EventKind::InputRequested {
        question: u32::try_from(recorder.run.questions.len()).unwrap_or(u32::MAX),
        about: Asked::Agent { agent, step, index },
        text: text.to_owned(),
        options,
    }
}

pub(super) fn question_of(call: &ToolCall) -> Option<&str> {
    let text = |key: &str| call.arguments.get(key).and_then(|value| value.as_str());
    text("question").or_else(|| text("text")).filter(|text| !text.trim().is_empty())
}

/// May this call be made? What a person has allowed for the whole run is not asked again.
pub(super) fn permitted(run: &Run, call: &ToolCall, class: EffectClass, rights: Option<&Rights>) -> Decision {
    match run.spec.permissions.decide(call, Some(class), rights) {
        Decision::Ask { .. } if run.granted.contains(&permit(call)) => Decision::Allow,
        decision => decision,
    }
}

pub(super) fn denied(why: &Why) -> String {
    format!("not run: refused {}", why.words().en)
}

/// The question whether a call may be made.
pub(super) fn ask_for(run: &Run, at: CallRef, call: &ToolCall, why: &Why) -> EventKind {
    let CallRef { agent, step, index } = at;
    EventKind::InputRequested {
        question: u32::try_from(run.questions.len()).unwrap_or(u32::MAX),
        about: Asked::Permission { agent, step, index },
        text: run.may_it(at, call, why).en,
        options: [ALLOW, ALWAYS, DENY].map(str::to_owned).to_vec(),
    }
}

fn plan_of<'r>(recorder: &'r Recorder<'_>, agent: u32) -> Option<&'r PlanNode> {
    recorder.run.agents.get(agent as usize)?.node.and_then(|node| recorder.run.plan_node(node))
}
