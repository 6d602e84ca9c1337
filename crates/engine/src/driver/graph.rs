//! A skill with phases: nodes start as soon as what they wait for has ended. No waves, no barriers but the declared ones.

use super::single::MAIN;
use crate::bridge;
use crate::decide::Recorder;
use crate::event::{AfterFailure, AgentPath, EventKind, Outcome, Verdict};
use crate::input::Completion;
use crate::plan::{Access, PlanNode, Work};
use crate::run::Run;
use fugato_model::{Words, words};
use serde_json::{Value, json};

/// Starts one node, or ends the run when none is left. `false`: nothing can be decided now.
pub fn advance(recorder: &mut Recorder<'_>) -> bool {
    let run = &recorder.run;
    if run.unended == 0 {
        let reason = words!("all phases are complete", "所有阶段均已完成");
        let result = last_output(recorder.run);
        recorder.emit(EventKind::RunEnded { outcome: Outcome::Complete, reason, result });
        return true;
    }
    if run.held || run.busy() >= run.spec.limits.concurrent {
        return false;
    }
    let main_is_free = run.agent(MAIN).is_none_or(|(_, main)| !main.is_live());
    let inline = run.ready_inline.first().copied().filter(|_| main_is_free);
    let Some(node) = run.ready.first().copied().into_iter().chain(inline).min() else { return false };
    start(recorder, node);
    true
}

/// The value of the last node of the plan that has an output: what a person most likely wants to see.
pub fn last_output(run: &Run) -> Option<Value> {
    let named = run.spec.plan.nodes.iter().rev().filter_map(|node| node.output.as_ref());
    named.filter_map(|name| run.variables.get(name)).find(|value| !value.is_null()).cloned()
}

fn start(recorder: &mut Recorder<'_>, node: u32) {
    let spec = recorder.run.spec.clone();
    let (Some(plan), Some(state)) = (spec.plan.nodes.get(node as usize), recorder.run.node(node)) else {
        return;
    };
    let (attempt, is_inline) = (state.attempt + 1, state.inline);
    if let Some(missing) = unmet(recorder, plan) {
        return fail(recorder, node, missing, Fallback::Allowed);
    }
    match &plan.work {
        Work::Agent { .. } | Work::Script { .. } if is_inline => {
            inline_fallback(recorder, node, attempt, plan);
        }
        Work::Agent { agent_type, access, skill, instructions, args, relevant, model, .. } => {
            let args = match bridge::render(args, &recorder.run.variables) {
                Ok((args, _)) => args,
                Err(error) => return fail(recorder, node, error, Fallback::Allowed),
            };
            let prompt = bridge::subagent_prompt(
                skill,
                instructions,
                &args,
                relevant,
                &recorder.run.variables,
                plan.output.as_deref(),
            );
            recorder.emit(EventKind::NodeStarted { node, attempt, arguments: None });
            recorder.emit(EventKind::AgentStarted {
                agent: agent_path(&plan.id, attempt),
                node: Some(node),
                agent_type: agent_type.clone(),
                access: *access,
                model: model.clone().unwrap_or_else(|| spec.model.clone()),
                system: spec.catalog.clone(),
                prompt,
            });
        }
        Work::Script { .. } => start_script(recorder, node, attempt),
        Work::Inline { section, .. } => match bridge::render(section, &recorder.run.variables) {
            Ok((prompt, _)) => {
                recorder.emit(EventKind::NodeStarted { node, attempt, arguments: None });
                in_main(recorder, node, Access::ReadWrite, prompt);
            }
            Err(error) => fail(recorder, node, error, Fallback::No),
        },
        Work::Noop | Work::Gate => {
            recorder.emit(EventKind::NodeStarted { node, attempt, arguments: None });
        }
    }
}

/// A further attempt is another agent: `setup/get-config.2`.
fn agent_path(id: &str, attempt: u32) -> AgentPath {
    if attempt > 1 { AgentPath::new(&format!("{id}.{attempt}")) } else { AgentPath::new(id) }
}

fn start_script(recorder: &mut Recorder<'_>, node: u32, attempt: u32) {
    let spec = recorder.run.spec.clone();
    let Some(PlanNode { work: Work::Script { args, .. }, .. }) = spec.plan.nodes.get(node as usize) else {
        return;
    };
    match bridge::render(args, &recorder.run.variables) {
        Ok((args, _)) => {
            let context = Value::Object(recorder.run.variables.clone().into_iter().collect());
            let arguments = Some(json!({"args": args, "context": context}));
            recorder.emit(EventKind::NodeStarted { node, attempt, arguments });
        }
        Err(error) => fail(recorder, node, error, Fallback::Allowed),
    }
}

/// The sub-skill in the main conversation, with the rights of its declared type.
fn inline_fallback(recorder: &mut Recorder<'_>, node: u32, attempt: u32, plan: &PlanNode) {
    let (skill, instructions, args, access) = match &plan.work {
        Work::Agent { skill, instructions, args, access, .. } => (skill, instructions, args, *access),
        Work::Script { skill, instructions, args, .. } => (skill, instructions, args, Access::ReadOnly),
        _ => return,
    };
    match bridge::render(args, &recorder.run.variables) {
        Ok((args, _)) => {
            let output = plan.output.as_deref();
            let prompt =
                bridge::subagent_prompt(skill, instructions, &args, &[], &recorder.run.variables, output);
            recorder.emit(EventKind::NodeStarted { node, attempt, arguments: None });
            in_main(recorder, node, access, prompt);
        }
        Err(error) => fail(recorder, node, error, Fallback::No),
    }
}

fn in_main(recorder: &mut Recorder<'_>, node: u32, access: Access, prompt: String) {
    match recorder.run.agent(MAIN).map(|(at, _)| at) {
        Some(agent) => recorder.emit(EventKind::AgentContinued { agent, node: Some(node), prompt }),
        None => {
            let spec = recorder.run.spec.clone();
            recorder.emit(EventKind::AgentStarted {
                agent: AgentPath::new(MAIN),
                node: Some(node),
                agent_type: "general-purpose".into(),
                access,
                model: spec.model.clone(),
                system: spec.catalog.clone(),
                prompt,
            });
        }
    }
}

/// The effect of a node itself (a script, nothing at all) has an outcome.
pub fn node_ended(recorder: &mut Recorder<'_>, node: u32, completion: Completion) {
    let output = recorder.run.plan_node(node).and_then(|plan| plan.output.clone());
    match completion {
        Completion::Noop => {
            recorder.emit(EventKind::NodeCompleted { node, value: Value::Null, warnings: Vec::new() });
        }
        Completion::Script { stdout } => {
            finish(recorder, node, bridge::from_program(&stdout, output.as_deref()));
        }
        Completion::ScriptFailed { message } => fail(recorder, node, message, Fallback::Allowed),
        Completion::Answered { .. } | Completion::ModelFailed { .. } | Completion::Tool { .. } => {}
    }
}

/// The agent of a node ended.
pub fn agent_ended(recorder: &mut Recorder<'_>, node: u32, verdict: Verdict) {
    let output = recorder.run.plan_node(node).and_then(|plan| plan.output.clone());
    // It had its turn to repair this.
    if let Some(problem) = problem(recorder.run, node, &verdict) {
        let message = words!("the result cannot be used: {problem}", "结果无法使用：{problem}");
        return fail(recorder, node, message, Fallback::Allowed);
    }
    match verdict {
        Verdict::Submitted { value } => {
            finish(recorder, node, bridge::from_submitted(value, output.as_deref()));
        }
        Verdict::Answered { text } => finish(recorder, node, bridge::from_text(&text, output.as_deref())),
        Verdict::LimitReached { limit, text } => {
            let partial: String = text.chars().take(200).collect();
            let message = words!(
                "the limit of {limit} was reached; so far: {partial}",
                "达到 {limit} 上限；目前结果：{partial}"
            );
            fail(recorder, node, message, Fallback::Allowed);
        }
        Verdict::Failed { message } => {
            fail(recorder, node, words!("{message}", "{message}"), Fallback::Allowed);
        }
        Verdict::Cancelled => {
            let message = words!("cancelled by the operator", "已被操作者取消");
            fail(recorder, node, message, Fallback::No);
        }
    }
}

/// What is wrong with the result of a node's agent: it cannot be read, or has not the declared shape.
pub fn problem(run: &Run, node: u32, verdict: &Verdict) -> Option<String> {
    let plan = run.plan_node(node)?;
    let schema = match &plan.work {
        Work::Agent { schema, .. } => schema.as_ref(),
        _ => None,
    };
    bridge::problem(verdict, plan.output.as_deref(), schema)
}

fn finish(recorder: &mut Recorder<'_>, node: u32, result: Result<(Value, Vec<Words>), Words>) {
    match result {
        Ok((value, warnings)) => recorder.emit(EventKind::NodeCompleted { node, value, warnings }),
        Err(message) => fail(recorder, node, message, Fallback::Allowed),
    }
}

/// Nobody knows whether it happened, and a person gave it up: trying it another way could do it twice.
pub fn give_up(recorder: &mut Recorder<'_>, node: u32, message: Words) {
    fail(recorder, node, message, Fallback::No);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fallback {
    Allowed,
    /// It was cancelled, it already ran inline, or it may have happened.
    No,
}

/// The fixed order: fallback, optional, abort.
fn fail(recorder: &mut Recorder<'_>, node: u32, message: Words, fallback: Fallback) {
    let Some((wants_inline, optional)) =
        recorder.run.plan_node(node).map(|plan| (plan.fallback_inline, plan.optional))
    else {
        return;
    };
    let was_inline = recorder.run.node(node).is_some_and(|state| state.inline);
    let then = match (wants_inline && !was_inline && fallback == Fallback::Allowed, optional) {
        (true, _) => AfterFailure::Inline,
        (false, true) => AfterFailure::Null,
        (false, false) => AfterFailure::Abort,
    };
    recorder.emit(EventKind::NodeFailed { node, message, then });
}

/// A required variable that is missing or null.
fn unmet(recorder: &Recorder<'_>, plan: &PlanNode) -> Option<Words> {
    for required in &plan.requires {
        let name = &required.name;
        match recorder.run.variables.get(name) {
            None => return Some(words!("required variable `{name}` is not set", "所需变量 `{name}` 未设置")),
            Some(Value::Null) if !required.may_be_null => {
                return Some(words!("required variable `{name}` is null", "所需变量 `{name}` 为空"));
            }
            Some(_) => {}
        }
    }
    None
}
