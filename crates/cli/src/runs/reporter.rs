//! What a person sees while a run goes on: one line per change of state, then why it ended and what to type next.

use crate::error::CliError;
use crate::printer::{Printer, paint, style};
use fugato_engine::{AgentPath, Event, EventKind, Outcome, Run, Verdict, Work};
use fugato_model::{Lang, words};
use serde_json::Value;
use std::collections::HashMap;

/// Follows a run event by event.
#[derive(Debug, Default)]
pub struct Reporter {
    started: HashMap<u32, i64>,
    phases: HashMap<u32, Open>,
    agents: Vec<AgentPath>,
}

/// A phase that has begun.
#[derive(Debug)]
struct Open {
    since: i64,
    left: usize,
}

/// Longer values are cut: the whole value is in the log.
const SHOWN_CHARS: usize = 60;

impl Reporter {
    /// Tells one event; `run` is the run the event belongs to, for names.
    pub fn event(&mut self, event: &Event, run: &Run, out: &mut Printer) {
        let lang = out.lang;
        let name = |node: u32| run.plan_node(node).map(|plan| plan.id.clone()).unwrap_or_default();
        match &event.kind {
            EventKind::NodeStarted { node, attempt, .. } => {
                self.begin_phase(event.at, *node, run, out);
                self.started.insert(*node, event.at);
                let again = if *attempt > 1 { format!(" ({attempt})") } else { String::new() };
                let line = format!("{} {}{again}", paint(style::DIM, "▸"), paint(style::NAME, name(*node)));
                let kind = paint(style::DIM, kind_of(run, *node));
                out.aside(&format!("{line}  {kind}"));
                if run.spec.debug
                    && let Some((skill, kind)) = skill_of(run, *node)
                {
                    out.aside(&format!("[orchestrator] Spawning: {skill} (type: {kind})"));
                }
            }
            EventKind::NodeCompleted { node, value, warnings } => {
                let took = self.took(*node, event.at);
                let output = run.plan_node(*node).and_then(|plan| plan.output.clone());
                let shown = output.as_ref().map(|o| format!("  {o} = {}", short(value))).unwrap_or_default();
                let (mark, id) = (paint(style::GOOD, "✓"), paint(style::NAME, name(*node)));
                out.aside(&format!("{mark} {id}  {}{shown}", paint(style::DIM, took)));
                for warning in warnings {
                    let text = fugato_model::escape_for_terminal(warning.in_lang(lang)).into_owned();
                    out.aside(&format!("  {}", paint(style::WARN, text)));
                }
                if run.spec.debug
                    && let Some(output) = output
                {
                    out.aside(&format!("[orchestrator] Set {output}: {}", short(value)));
                }
                self.end_node(event.at, *node, run, out);
            }
            EventKind::NodeWarned { warnings, .. } => {
                for warning in warnings {
                    let text = fugato_model::escape_for_terminal(warning.in_lang(lang)).into_owned();
                    out.aside(&format!("  {}", paint(style::WARN, text)));
                }
            }
            EventKind::NodeFailed { node, message, then } => {
                let took = self.took(*node, event.at);
                let then = format!("{then:?}").to_lowercase();
                let (mark, id) = (paint(style::BAD, "✗"), paint(style::NAME, name(*node)));
                let message = fugato_model::escape_for_terminal(message.in_lang(lang)).into_owned();
                out.aside(&format!("{mark} {id}  {}  {message} → {then}", paint(style::DIM, took)));
                if let Some(on_error) = run.plan_node(*node).and_then(|plan| plan.on_error.clone()) {
                    let text = fugato_model::escape_for_terminal(&on_error).into_owned();
                    out.aside(&format!("  {}", paint(style::WARN, text)));
                }
                if then != "inline" {
                    self.end_node(event.at, *node, run, out);
                }
            }
            EventKind::AgentStarted { agent, .. } => self.agents.push(agent.clone()),
            EventKind::ToolRequested { agent, call, .. } => {
                let agent = self.agents.get(*agent as usize).map(ToString::to_string).unwrap_or_default();
                let arguments = short(&call.arguments);
                out.aside(&paint(style::DIM, format!("  {agent} · {} {arguments}", call.name)));
            }
            EventKind::AgentStopped { agent, verdict: Verdict::LimitReached { limit, .. } } => {
                let agent = self.agents.get(*agent as usize).map(ToString::to_string).unwrap_or_default();
                out.note(&words!("{agent} reached the limit of {limit}", "{agent} 达到 {limit} 上限"));
            }
            EventKind::InputRequested { question, text, options, .. } => {
                let options =
                    if options.is_empty() { String::new() } else { format!(" [{}]", options.join(" / ")) };
                let text = fugato_model::escape_for_terminal(text).into_owned();
                out.aside(&format!("{} {text}{options}  (#{question})", paint(style::WARN, "?")));
            }
            _ => {}
        }
    }

    fn begin_phase(&mut self, at: i64, node: u32, run: &Run, out: &mut Printer) {
        let Some(plan) = run.plan_node(node) else { return };
        if self.phases.contains_key(&plan.phase) {
            return;
        }
        let of_phase =
            |other: &&fugato_engine::PlanNode| other.phase == plan.phase && !matches!(other.work, Work::Gate);
        let left = run.spec.plan.nodes.iter().filter(of_phase).count();
        self.phases.insert(plan.phase, Open { since: at, left });
        if run.spec.debug
            && let Some(phase) = run.spec.plan.phases.get(plan.phase as usize)
        {
            out.aside(&format!("[orchestrator] Starting phase: {}", phase.name));
        }
    }

    fn end_node(&mut self, at: i64, node: u32, run: &Run, out: &mut Printer) {
        let Some(phase) = run.plan_node(node).map(|plan| plan.phase) else { return };
        let Some(open) = self.phases.get_mut(&phase) else { return };
        open.left = open.left.saturating_sub(1);
        if open.left == 0
            && run.spec.debug
            && let Some(named) = run.spec.plan.phases.get(phase as usize)
        {
            let ms = at - open.since;
            out.aside(&format!("[orchestrator] Phase {} completed in {ms}ms", named.name));
        }
    }

    fn took(&self, node: u32, at: i64) -> String {
        self.started.get(&node).map(|since| duration(at - since)).unwrap_or_default()
    }
}

/// Why it ended, what it cost, where its output is, and what to type next.
pub fn summary(run: &Run, elapsed_ms: i64, out: &mut Printer) -> Result<(), CliError> {
    let id = &run.spec.id;
    let Some((outcome, reason, result)) = &run.ended else { return Ok(()) };
    if let Some(result) = result {
        let text = match result {
            Value::String(text) => text.clone(),
            other => serde_json::to_string_pretty(other).unwrap_or_default(),
        };
        for line in text.lines() {
            out.line(line.replace('\u{1b}', "\\u{1b}"))?;
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
    let (time, answers, tokens) = (duration(elapsed_ms), run.spent.answers, run.spent.tokens());
    let cost = cost_words(run);
    let bill = words!(
        "{time} · {answers} model calls · {tokens} tokens · {cost}",
        "{time} · 模型调用 {answers} 次 · {tokens} 词元 · {cost}"
    );
    let reason = reason.in_lang(out.lang).to_owned();
    out.aside(&format!("{}: {reason}  {}", paint(look, word), paint(style::DIM, bill.in_lang(out.lang))));
    let next = match outcome {
        Outcome::Complete => words!("next: fugato trace {id}", "下一步：fugato trace {id}"),
        Outcome::Failed | Outcome::Aborted => {
            words!("next: fugato events {id}", "下一步：fugato events {id}")
        }
        Outcome::BudgetExhausted => words!(
            "next: fugato resume {id} --budget-usd MORE",
            "下一步：fugato resume {id} --budget-usd 更多"
        ),
    };
    out.note(&next);
    Ok(())
}

/// Unknown cost is not 0.
pub fn cost_words(run: &Run) -> String {
    match (run.spent.answers, run.spent.micro_usd) {
        (0, _) => "$0".to_owned(),
        (_, None) => "$—".to_owned(),
        (_, Some(micro)) => format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100),
    }
}

/// `12 ms`, `3.4 s`, `5 m 06 s`. A clock that jumped back gives no negative time.
pub fn duration(ms: i64) -> String {
    match ms.max(0) {
        ms @ 0..1000 => format!("{ms} ms"),
        ms @ 1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        ms => format!("{} m {:02} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

pub fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cut: String = text.chars().take(SHOWN_CHARS).collect();
    let cut = if cut.len() < text.len() { format!("{cut}…") } else { cut };
    fugato_model::escape_for_terminal(&cut).into_owned()
}

fn kind_of(run: &Run, node: u32) -> &'static str {
    match run.plan_node(node).map(|plan| &plan.work) {
        Some(Work::Script { .. }) => "script",
        Some(Work::Inline { .. }) => "inline",
        Some(Work::Agent { .. }) => "agent",
        _ => "",
    }
}

fn skill_of(run: &Run, node: u32) -> Option<(String, String)> {
    match run.plan_node(node).map(|plan| &plan.work)? {
        Work::Agent { skill, agent_type, .. } => Some((skill.clone(), agent_type.clone())),
        Work::Script { skill, .. } => Some((skill.clone(), "script".to_owned())),
        _ => None,
    }
}
