//! A new owner. What may be repeated stays wanted; what may not becomes uncertain, and is never repeated silently.

use super::Recorder;
use super::answer::{DONE, FAIL, REPEAT};
use crate::effect::EffectKey;
use crate::event::{Asked, EventKind, Outcome, Verdict};
use crate::input::Refusal;
use crate::limits::Limits;
use fugato_model::chat::ModelFault;
use fugato_model::words;

/// A larger budget: what the end of the smaller one broke off is looked at as after a crash.
pub fn raise(recorder: &mut Recorder<'_>, limits: Limits) -> Result<(), Refusal> {
    match &recorder.run.ended {
        None => recorder.emit(EventKind::LimitsRaised { limits }),
        Some((Outcome::BudgetExhausted, ..)) => {
            recorder.emit(EventKind::LimitsRaised { limits });
            doubt(recorder);
            crate::driver::reopen(recorder);
        }
        Some(_) => return super::refuse(words!("the run has ended", "运行已结束")),
    }
    Ok(())
}

pub fn recover(recorder: &mut Recorder<'_>, epoch: u64) {
    recorder.emit(EventKind::RunRecovered { epoch });
    if recorder.run.ended.is_none() {
        doubt(recorder);
    }
}

/// Once-only effects that were cut short become questions, for a person or for the model that asked.
pub fn doubt(recorder: &mut Recorder<'_>) {
    for key in recorder.run.uncertain() {
        match key {
            EffectKey::Tool { agent, step, index } => {
                recorder.emit(EventKind::ToolUncertain { agent, step, index });
            }
            EffectKey::Node { node, .. } => {
                recorder.emit(EventKind::NodeUncertain { node });
                let id = recorder.run.plan_node(node).map(|plan| plan.id.clone()).unwrap_or_default();
                recorder.emit(EventKind::InputRequested {
                    question: u32::try_from(recorder.run.questions.len()).unwrap_or(u32::MAX),
                    about: Asked::Uncertain { node },
                    text: format!(
                        "The process ended while `{id}` was running. It may or may not have taken effect. \
                         {REPEAT} it, take it as {DONE}, or {FAIL}?"
                    ),
                    options: [REPEAT, DONE, FAIL].map(str::to_owned).to_vec(),
                });
            }
            EffectKey::Model { agent, step } => {
                let message =
                    "the process ended while its program was running; it may or may not have taken effect";
                let (fault, message) = (ModelFault::Rejected, message.to_owned());
                let verdict = Verdict::Failed { message: message.clone() };
                recorder.emit(EventKind::ModelFailed { agent, step, fault, message });
                crate::driver::stop_in_doubt(recorder, agent, verdict);
            }
            EffectKey::Recall { .. } => {}
        }
    }
}
