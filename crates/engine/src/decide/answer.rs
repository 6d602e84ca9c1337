//! A person answers a question, now or days later.

use super::{Recorder, refuse, refuse_if_ended};
use crate::event::{Asked, EventKind};
use crate::input::{Completion, Refusal};
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
    match about {
        Asked::Agent { .. } => {
            if let Err(why) = asked.wants.answer_type.read(&answer, &asked.options) {
                return refuse(why);
            }
            recorder.emit(EventKind::InputAnswered { question, answer });
        }
        Asked::Uncertain { node } => {
            let attempt = recorder.run.node(node).map_or(1, |state| state.attempt + 1);
            match answer.as_str() {
                REPEAT => {
                    recorder.emit(EventKind::InputAnswered { question, answer });
                    crate::driver::start_script(recorder, node, attempt);
                }
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
                    crate::driver::node_ended(recorder, node, Completion::ScriptFailed { message });
                }
                other => {
                    return refuse(words!(
                        "`{other}` is not one of {REPEAT}, {DONE}, {FAIL}",
                        "`{other}` 不是 {REPEAT}、{DONE}、{FAIL} 之一"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Answers to "did it happen?".
pub const REPEAT: &str = "repeat";
pub const DONE: &str = "done";
pub const FAIL: &str = "fail";
