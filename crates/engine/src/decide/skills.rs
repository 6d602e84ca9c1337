//! Tool calls of whoever works for a session: skills, the words that end it, and questions. Nothing else can be called,
//! whatever a model asks for.

use super::Recorder;
use super::completion::{ask, ask_for, denied, permitted};
use crate::agent::{AgentState, Duty};
use crate::driver::{needs_a_person, session};
use crate::event::{CallRef, EffectClass, EventKind, Verdict};
use crate::permission::Decision;
use crate::run::{Run, name_of};
use crate::session_tools::skill_of;
use crate::tools::{ASK, CANNOT_COMPLETE, FINAL_ANSWER, SUBMIT, SUBMIT_CONTEXT};
use fugato_model::chat::ToolCall;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Characters of one prompt, with everything that its names stand for.
const MAX_PROMPT: usize = 1_000_000;

/// Is this the name of a call that ends an agent of this duty?
pub fn is_ending(duty: Duty, tool: &str) -> bool {
    match duty {
        Duty::Task => tool == SUBMIT,
        Duty::Orchestrate => [FINAL_ANSWER, CANNOT_COMPLETE].contains(&tool),
        Duty::Prepare => [SUBMIT_CONTEXT, FINAL_ANSWER, CANNOT_COMPLETE].contains(&tool),
        Duty::Plan => false,
    }
}

/// How an answer with these calls ends its agent; `None`: it goes on.
pub fn ending(run: &Run, agent: u32, calls: &[ToolCall]) -> Option<Verdict> {
    let state = run.agents.get(agent as usize)?;
    calls.iter().filter(|call| is_ending(state.duty, &call.name)).find_map(|call| ended_by(run, state, call))
}

fn ended_by(run: &Run, state: &AgentState, call: &ToolCall) -> Option<Verdict> {
    let arguments = &call.arguments;
    match (state.duty, call.name.as_str()) {
        (Duty::Task, _) => {
            // `{"result": …}` is how the tool's schema names it; a bare object is taken as the result itself.
            let value = match arguments.as_object() {
                Some(object) if object.len() == 1 => object.get("result").unwrap_or(arguments),
                _ => arguments,
            };
            Some(Verdict::Submitted { value: value.clone() })
        }
        (_, CANNOT_COMPLETE) => {
            let reason = arguments.get("reason").and_then(Value::as_str).map(str::trim);
            let reason = reason.filter(|reason| !reason.is_empty()).unwrap_or("it gave no reason");
            Some(Verdict::Failed { message: reason.to_owned() })
        }
        (Duty::Prepare, SUBMIT_CONTEXT) => Some(Verdict::Submitted { value: arguments.clone() }),
        (Duty::Prepare, _) => {
            let given = arguments.get("entries").or_else(|| arguments.get("answer")).unwrap_or(arguments);
            Some(Verdict::Submitted { value: given.clone() })
        }
        _ => match arguments.get("answer")? {
            Value::String(text) if text.trim().is_empty() => None,
            Value::String(text) => {
                let whole = whole(text, long_results(run, state)).ok()?;
                Some(Verdict::Submitted { value: Value::String(whole) })
            }
            Value::Null => None,
            value => Some(Verdict::Submitted { value: value.clone() }),
        },
    }
}

/// A call of an agent that works for a session.
pub fn act(recorder: &mut Recorder<'_>, at: CallRef, call: &ToolCall) {
    let CallRef { agent, step, index } = at;
    let Some(state) = recorder.run.agents.get(agent as usize) else { return };
    let (duty, node) = (state.duty, state.node);
    let wrong = |content: &str| EventKind::ToolCompleted {
        agent,
        step,
        index,
        content: content.to_owned(),
        is_error: true,
    };
    let event = match (duty, call.name.as_str(), node) {
        (Duty::Orchestrate, ASK, _) => ask(recorder, at, call),
        (Duty::Prepare, ASK, _) => {
            let asked = super::completion::question_of(call).unwrap_or_default().to_owned();
            let reason = "preparation cannot ask the person".to_owned();
            recorder.emit(EventKind::ToolRefused { agent, step, index, reason });
            return needs_a_person(recorder, agent, &asked);
        }
        (Duty::Orchestrate, FINAL_ANSWER, _) => match call.arguments.get("answer").and_then(Value::as_str) {
            Some(text) => match whole(text, long_results(recorder.run, state)) {
                Err(problem) => wrong(&problem),
                Ok(_) => wrong("`answer` is empty"),
            },
            None => wrong("`answer` is missing"),
        },
        (Duty::Plan, ..) | (_, _, None) => {
            let reason = "you have no tools: answer with the program as text".to_owned();
            EventKind::ToolRefused { agent, step, index, reason }
        }
        (_, _, Some(node)) => {
            let skill = skill_of(session::allowed(recorder.run, node), call).to_owned();
            return wanted(recorder, at, call, &skill, node);
        }
    };
    recorder.emit(event);
}

/// A skill is asked for: the list and the run's rules are asked first.
fn wanted(recorder: &mut Recorder<'_>, at: CallRef, call: &ToolCall, skill: &str, node: u32) {
    let CallRef { agent, step, index } = at;
    // Before any rule: what is not in the list is not asked about.
    if let Err(session::NotCalled::Forbidden(words)) = session::admit(recorder.run, node, skill) {
        return recorder.emit(EventKind::ToolRefused { agent, step, index, reason: words.en });
    }
    let rights = recorder.run.agents.get(agent as usize).and_then(|state| state.rights.clone());
    // Rules are about the skill, however the model names it.
    let meant = ToolCall { name: skill.to_owned(), ..call.clone() };
    let event = match permitted(recorder.run, &meant, EffectClass::Read, rights.as_deref()) {
        Decision::Allow => return called(recorder, at, call),
        Decision::Deny { why } => {
            EventKind::ToolCompleted { agent, step, index, content: denied(&why), is_error: true }
        }
        Decision::Ask { why } => ask_for(recorder.run, at, &meant, &why),
    };
    recorder.emit(event);
}

/// A skill, allowed.
pub fn called(recorder: &mut Recorder<'_>, at: CallRef, call: &ToolCall) {
    let CallRef { agent, step, index } = at;
    let wrong = |content: String| EventKind::ToolCompleted { agent, step, index, content, is_error: true };
    let Some(state) = recorder.run.agents.get(agent as usize) else { return };
    let Some(node) = state.node else { return };
    let prompt = match prompt_of(call).map(|prompt| whole(&prompt, long_results(recorder.run, state))) {
        None => {
            let problem = "`prompt` is missing: everything the skill needs to know, which sees nothing else";
            return recorder.emit(wrong(problem.to_owned()));
        }
        Some(Err(problem)) => return recorder.emit(wrong(problem)),
        Some(Ok(prompt)) => prompt,
    };
    let skill = skill_of(session::allowed(recorder.run, node), call).into();
    let arguments = [Arc::from(prompt)].into();
    match session::call(recorder, node, session::at(at), &skill, arguments, session::Beginning::Later) {
        Ok(()) => {}
        Err(session::NotCalled::Forbidden(words)) => {
            recorder.emit(EventKind::ToolRefused { agent, step, index, reason: words.en });
        }
        Err(session::NotCalled::Full(words)) => recorder.emit(wrong(words.en)),
    }
}

fn prompt_of(call: &ToolCall) -> Option<String> {
    match call.arguments.get("prompt")? {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

fn long_results<'r>(run: &'r Run, state: &AgentState) -> Option<&'r BTreeMap<u32, Arc<str>>> {
    Some(&run.session(state.node?)?.long)
}

/// A text with the results that its names stand for.
fn whole(text: &str, long: Option<&BTreeMap<u32, Arc<str>>>) -> Result<String, String> {
    let mark = name_of(0);
    let mark = mark.trim_end_matches('0');
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(mark) {
        filled.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = after.split_at(digits);
        let found = number.parse().ok().and_then(|number: u32| long?.get(&number));
        let Some(result) = found.filter(|_| filled.len() < MAX_PROMPT * 4) else {
            if number.is_empty() {
                filled.push_str(mark);
                rest = tail;
                continue;
            }
            let known: Vec<String> = long.into_iter().flatten().map(|(number, _)| name_of(*number)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(format!("there is no result `{mark}{number}`; results with names: {known}"));
        };
        filled.push_str(result);
        rest = tail;
    }
    filled.push_str(rest);
    if filled.chars().count() > MAX_PROMPT {
        return Err(format!("the prompt has more than {MAX_PROMPT} characters with the results it names"));
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_results_are_replaced_wherever_they_stand_and_unknown_ones_are_told() {
        let long = BTreeMap::from([(3, Arc::from("三")), (12, Arc::from("$$tool-res-3"))]);
        let whole = |text: &str| whole(text, Some(&long));
        assert_eq!(whole("a $$tool-res-3, $$tool-res-12.").unwrap(), "a 三, $$tool-res-3.");
        assert_eq!(whole("$$tool-res- and $ alone").unwrap(), "$$tool-res- and $ alone");
        let problem = whole("$$tool-res-4").unwrap_err();
        assert!(
            problem.contains("$$tool-res-4") && problem.contains("$$tool-res-3, $$tool-res-12"),
            "{problem}"
        );
        assert!(whole("$$tool-res-99999999999").is_err());
        let huge = BTreeMap::from([(1, Arc::from("x".repeat(600_000)))]);
        assert!(super::whole("$$tool-res-1 $$tool-res-1", Some(&huge)).is_err());
        assert!(super::whole(&"$$tool-res-1 ".repeat(100_000), Some(&huge)).is_err());
    }
}
