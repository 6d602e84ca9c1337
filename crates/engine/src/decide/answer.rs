//! A person answers a question, now or days later.

use super::{Recorder, refuse, refuse_if_ended};
use crate::agent::Duty;
use crate::event::{Asked, CallRef, EventKind, Verdict};
use crate::input::Refusal;
use crate::tools::{DELEGATE, SEND, class_of};
use fugato_model::words;
use serde_json::Value;

pub fn answer(recorder: &mut Recorder<'_>, question: u32, answer: String) -> Result<(), Refusal> {
    refuse_if_ended(recorder.run)?;
    let Some(asked) = recorder.run.questions.get(question as usize) else {
        return refuse(words!("there is no question {question}", "没有问题 {question}"));
    };
    if let Some(earlier) = &asked.answer {
        return refuse(words!(
            "question {question} was answered already: {earlier}",
            "问题 {question} 已经回答过：{earlier}"
        ));
    }
    let about = asked.about;
    if !recorder.run.is_open(question) {
        return refuse(words!(
            "nobody waits for an answer to question {question} any more",
            "已无人等待问题 {question} 的回答"
        ));
    }
    match about {
        Asked::Agent { .. } => {
            if let Err(why) = asked.wants.answer_type.read(&answer, &asked.options) {
                return refuse(why);
            }
            recorder.emit(EventKind::InputAnswered { question, answer });
        }
        Asked::Task { agent } => {
            recorder.emit(EventKind::InputAnswered { question, answer: answer.clone() });
            crate::driver::stop(recorder, agent, Verdict::Answered { text: answer });
        }
        Asked::Permission { agent, step, index } => {
            permission(recorder, question, &answer, CallRef { agent, step, index })?;
        }
        Asked::Uncertain { node } => match answer.as_str() {
            REPEAT => recorder.emit(EventKind::InputAnswered { question, answer }),
            DONE => {
                recorder.emit(EventKind::InputAnswered { question, answer });
                let value = Value::Null;
                recorder.emit(EventKind::NodeCompleted { node, value, warnings: Vec::new() });
            }
            FAIL => {
                recorder.emit(EventKind::InputAnswered { question, answer });
                let message = words!(
                    "it may or may not have taken effect, and the operator gave it up",
                    "无法确定是否已生效，操作者选择放弃"
                );
                crate::driver::give_up(recorder, node, message);
            }
            other => {
                return refuse(words!(
                    "`{other}` is not one of {REPEAT}, {DONE}, {FAIL}",
                    "`{other}` 不是 {REPEAT}、{DONE}、{FAIL} 之一"
                ));
            }
        },
    }
    Ok(())
}

/// Somebody allows a call, or does not.
fn permission(recorder: &mut Recorder<'_>, question: u32, answer: &str, at: CallRef) -> Result<(), Refusal> {
    let (agent, step, index) = (at.agent, at.step, at.index);
    let (word, why) = answer.trim().split_once(':').unwrap_or((answer.trim(), ""));
    let word = word.trim().to_lowercase();
    let allows = match word.as_str() {
        ALLOW | ALWAYS => true,
        DENY => false,
        other => {
            return refuse(words!(
                "`{other}` is not one of {ALLOW}, {ALWAYS}, {DENY}",
                "`{other}` 不是 {ALLOW}、{ALWAYS}、{DENY} 之一"
            ));
        }
    };
    let call = recorder.run.call_of(at);
    recorder.emit(EventKind::InputAnswered { question, answer: word });
    if let Some(call) = call.as_ref().filter(|call| allows && [DELEGATE, SEND].contains(&call.name.as_str()))
    {
        super::delegate::called(recorder, at, call);
        return Ok(());
    }
    if let Some(call) = call.as_ref().filter(|_| allows && is_of_session(recorder, agent)) {
        super::skills::called(recorder, at, call);
        return Ok(());
    }
    match call.and_then(|call| Some((class_of(&call.name)?, call))) {
        Some((class, call)) if allows => {
            recorder.emit(EventKind::ToolRequested { agent, step, index, call, class });
        }
        _ => {
            let content = match why.trim() {
                "" => "not run: the operator does not allow it. Do without it, or ask what they would allow"
                    .to_owned(),
                why => format!("not run: the operator does not allow it: {why}"),
            };
            recorder.emit(EventKind::ToolCompleted { agent, step, index, content, is_error: true });
        }
    }
    Ok(())
}

/// Does it work for a session? Then its tools are skills.
fn is_of_session(recorder: &Recorder<'_>, agent: u32) -> bool {
    recorder.run.agents.get(agent as usize).is_some_and(|state| state.duty != Duty::Task)
}

/// Answers to "may it?".
pub const ALLOW: &str = "allow";
pub const ALWAYS: &str = "always";
pub const DENY: &str = "deny";

/// Answers to "did it happen?".
pub const REPEAT: &str = "repeat";
pub const DONE: &str = "done";
pub const FAIL: &str = "fail";
