//! A skill without phases: one agent, one result.

use super::delegation;
use crate::bridge;
use crate::decide::Recorder;
use crate::event::{AgentPath, EventKind, Outcome, Verdict};
use crate::plan::Access;
use crate::run::Run;
use fugato_model::{Words, words};
use serde_json::Value;

/// The name of the agent that talks to the person.
pub const MAIN: &str = "main";

pub fn advance(recorder: &mut Recorder<'_>) -> bool {
    if !recorder.run.agents.is_empty() || recorder.run.held {
        return false;
    }
    let spec = recorder.run.spec.clone();
    let text = spec.single.as_deref().unwrap_or_default();
    // The text of a plain skill is not a template: braces in it are its own.
    let arguments = match spec.context.get("ARGUMENTS") {
        Some(Value::String(arguments)) if !arguments.is_empty() => format!("\n\n## Arguments\n\n{arguments}"),
        _ => String::new(),
    };
    let agent_type = spec.main_type.clone().unwrap_or_else(|| "general-purpose".into());
    let kind = spec.types.get(&agent_type);
    recorder.emit(EventKind::AgentStarted {
        agent: AgentPath::new(MAIN),
        node: None,
        agent_type,
        access: Access::ReadWrite,
        model: delegation::model(kind.map(AsRef::as_ref), &spec.model),
        system: delegation::system(&spec.guide, delegation::catalog(kind.map(AsRef::as_ref), &spec.catalog)),
        prompt: format!("{text}{arguments}"),
        delegated: None,
    });
    true
}

/// What the agent had said when the budget ended it.
pub fn partial(run: &Run) -> Option<Value> {
    let text = run.agents.first().map(crate::AgentState::last_text)?;
    (!text.is_empty()).then_some(Value::String(text))
}

/// An agent that its own limit had ended goes on where it was.
pub fn reopen(recorder: &mut Recorder<'_>) {
    let is_stopped = recorder.run.agents.first().is_some_and(|agent| !agent.is_live());
    if is_stopped {
        let prompt = "You have more room now. Go on with your task.".to_owned();
        recorder.emit(EventKind::AgentContinued { agent: 0, node: None, prompt, delegated: None });
    }
}

pub fn agent_ended(recorder: &mut Recorder<'_>, verdict: Verdict) {
    let (outcome, reason, result): (Outcome, Words, Option<Value>) = match verdict {
        Verdict::Submitted { value } => match bridge::from_submitted(value, None) {
            Ok((value, _)) => (Outcome::Complete, words!("done", "完成"), Some(value)),
            Err(failure) => (Outcome::Failed, failure, None),
        },
        Verdict::Answered { text } => (Outcome::Complete, words!("done", "完成"), Some(Value::String(text))),
        Verdict::LimitReached { limit, text } => (
            Outcome::BudgetExhausted,
            words!("the limit of {limit} was reached", "达到 {limit} 上限"),
            Some(Value::String(text)),
        ),
        Verdict::Failed { message } => (Outcome::Failed, words!("{message}", "{message}"), None),
        Verdict::Cancelled => (Outcome::Aborted, words!("cancelled by the operator", "已被操作者取消"), None),
    };
    recorder.emit(EventKind::RunEnded { outcome, reason, result });
}
