//! The end of a run for a person: its result, why it ended, what it cost, where the rest is, what to type next.

use super::bill::bill;
use super::reporter::duration;
use crate::error::CliError;
use crate::printer::{Printer, paint, style};
use fugato_engine::{Orchestrator, Outcome, Run, SessionKind};
use fugato_model::{Lang, words};
use serde_json::Value;
use std::sync::Arc;

/// The result goes to stdout, everything else is about it.
pub fn summary(run: &Run, elapsed_ms: i64, out: &mut Printer) -> Result<(), CliError> {
    let Some((outcome, reason, result)) = &run.ended else { return Ok(()) };
    if let Some(result) = result {
        for line in result_text(answer(run, result)).lines() {
            out.line(safe(line))?;
        }
    }
    let (look, word) = match (outcome, out.lang) {
        (Outcome::Complete, Lang::En) => (style::GOOD, "complete"),
        (Outcome::Complete, Lang::Zh) => (style::GOOD, "完成"),
        (Outcome::Failed, Lang::En) => (style::BAD, "failed"),
        (Outcome::Failed, Lang::Zh) => (style::BAD, "失败"),
        (Outcome::Aborted, Lang::En) => (style::BAD, "aborted"),
        (Outcome::Aborted, Lang::Zh) => (style::BAD, "已中止"),
        (Outcome::BudgetExhausted, Lang::En) => (style::WARN, "budget exhausted"),
        (Outcome::BudgetExhausted, Lang::Zh) => (style::WARN, "预算用尽"),
    };
    let bill = bill(run);
    let bill = format!("{} · {}", duration(elapsed_ms), bill.in_lang(out.lang));
    let reason = fugato_model::escape_for_terminal(reason.in_lang(out.lang)).into_owned();
    out.aside(&format!("{}: {reason}  {}", paint(look, word), paint(style::DIM, bill)));
    tell_outputs(run, out);
    let id = &run.spec.id;
    let next = match outcome {
        Outcome::Complete => words!("next: fugato trace {id}", "下一步：fugato trace {id}"),
        Outcome::Failed | Outcome::Aborted => {
            let rerun = super::show::rerun_hint(run);
            words!("next: fugato trace {id}, or go on: {rerun}", "下一步：fugato trace {id}，或继续：{rerun}")
        }
        Outcome::BudgetExhausted => {
            let flag = raising(run);
            words!("next: fugato resume {id} {flag} MORE", "下一步：fugato resume {id} {flag} 更多")
        }
    };
    out.note(&next);
    Ok(())
}

/// What a person asked for: of a session that ran a program, its result without the variables.
pub fn answer<'v>(run: &Run, result: &'v Value) -> &'v Value {
    let is_program =
        |orchestrator: &Arc<Orchestrator>| matches!(orchestrator.session, SessionKind::Sop { .. });
    let answered = run.orchestrator(0).filter(|one| is_program(one)).and_then(|_| result.get("result"));
    answered.unwrap_or(result)
}

/// A result as people read it.
pub fn result_text(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// A line of a model's words: a table keeps its tabs, a terminal is told nothing.
pub fn safe(line: &str) -> String {
    line.split('\t').map(fugato_model::escape_for_terminal).collect::<Vec<_>>().join("\t")
}

/// The flag that raises what was used up, as far as the limits tell.
pub fn raising(run: &Run) -> &'static str {
    let limits = &run.spec.limits;
    match (limits.tokens, limits.micro_usd, limits.wall_ms) {
        (Some(_), None, None) => "--budget-tokens",
        (None, Some(_), None) => "--budget-usd",
        (None, None, Some(_)) => "--budget-time",
        (None, None, None) => "--steps",
        _ => "--budget-…",
    }
}

/// More names are a list to be looked up.
const SHOWN_OUTPUTS: usize = 8;

/// Which variables the run has set, and where to read them.
fn tell_outputs(run: &Run, out: &mut Printer) {
    let set = run
        .variables
        .iter()
        .filter(|(name, value)| !value.is_null() && !run.spec.context.contains_key(*name));
    let names: Vec<&str> = set.map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return;
    }
    let shown = names.iter().take(SHOWN_OUTPUTS).copied().collect::<Vec<_>>().join(", ");
    let more = if names.len() > SHOWN_OUTPUTS { ", …" } else { "" };
    let (names, id) = (format!("{shown}{more}"), &run.spec.id);
    out.note(&words!("outputs: {names} (fugato runs show {id})", "输出：{names}（fugato runs show {id}）"));
}
