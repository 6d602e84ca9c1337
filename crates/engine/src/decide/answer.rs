//! A person answers a question, now or days later.

use super::{Recorder, refuse, refuse_if_ended};
use crate::event::{Asked, EventKind};
use crate::input::Refusal;
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

/// Answers to "did it happen?".
pub const REPEAT: &str = "repeat";
pub const DONE: &str = "done";
pub const FAIL: &str = "fail";
