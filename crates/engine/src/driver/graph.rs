//! A skill with phases: nodes start as soon as what they wait for has ended. No waves, no barriers but the declared ones.

use super::{calls, delegation, session};
use crate::bridge;
use crate::decide::Recorder;
use crate::event::{AfterFailure, AgentPath, EffectClass, EventKind, Outcome, Verdict};
use crate::input::Completion;
use crate::plan::{Access, PlanNode, Work};
use crate::run::{Run, by_operator};
use fugato_model::{Words, words};
use fugato_skill::VarName;
use fugato_skill::interpolate::Template;
use serde_json::{Value, json};

/// Starts one node, or ends the run when none is left. `false`: nothing can be decided now.
pub fn advance(recorder: &mut Recorder<'_>) -> bool {
    let run = &recorder.run;
    if run.unended == 0 {
        let reason = match run.orchestrator(0) {
            Some(_) => words!("the request is answered", "请求已得到答复"),
            None => words!("all phases are complete", "所有阶段均已完成"),
        };
        let result = last_output(recorder.run);
        recorder.emit(EventKind::RunEnded { outcome: Outcome::Complete, reason, result });
        return true;
    }
    if run.held || run.busy() >= run.spec.limits.concurrent {
        return false;
    }
    let inline = first_inline(run);
    let Some(node) = run.ready.first().copied().into_iter().chain(inline).min() else { return false };
    start(recorder, node);
    true
}

/// The first inline node whose conversation is free. One look for each conversation that somebody waits for.
fn first_inline(run: &Run) -> Option<u32> {
    let mut found: Option<u32> = None;
    let mut from = (0, 0);
    while let Some(&(place, node)) = run.ready_inline.range(from..).next() {
        let main_is_free = run.agent(&calls::main_of(run, node)).is_none_or(|(_, main)| !main.is_live());
        if main_is_free && found.is_none_or(|found| node < found) {
            found = Some(node);
        }
        from = (place + 1, 0);
    }
    found
}

/// The value of the last node of the plan that has an output: what a person most likely wants to see.
pub fn last_output(run: &Run) -> Option<Value> {
    let plan = &run.spec.plan;
    let own = plan.nodes.iter().rev().filter(|node| plan.call_of(node).is_none());
    let named = own.filter_map(|node| node.output.as_ref());
    named.filter_map(|name| run.variables.get(name)).find(|value| !value.is_null()).cloned()
}

fn start(recorder: &mut Recorder<'_>, node: u32) {
    let (spec, planned) = (recorder.run.spec.clone(), recorder.run.planned(node));
    let (Some(plan), Some(state)) = (planned.node(), recorder.run.node(node)) else {
        return;
    };
    let (attempt, is_inline) = (state.attempt.saturating_add(1), state.inline);
    let is_fallback = is_inline && !matches!(plan.work, Work::Inline { .. });
    // The main agent may do without what the subagent could not: that is what a fallback is for.
    if !is_fallback && let Some(missing) = unmet(recorder, node, plan) {
        return fail(recorder, node, missing, Fallback::Allowed);
    }
    match &plan.work {
        Work::Agent { .. } | Work::Script { .. } | Work::Phases { .. } if is_fallback => {
            inline_fallback(recorder, node, attempt, plan);
        }
        Work::Agent { agent_type, access, skill, instructions, args, relevant, model, .. } => {
            let (args, warnings) = match arguments(recorder.run, node, args) {
                Ok(rendered) => rendered,
                Err(error) => return fail(recorder, node, error, Fallback::Allowed),
            };
            let mut prompt = bridge::subagent_prompt(
                skill,
                instructions,
                &args,
                relevant,
                recorder.run.variables_of(node),
                plan.output.as_deref(),
            );
            prompt.push_str(&so_far(recorder.run, &plan.id, attempt));
            let kind = spec.types.get(agent_type).map(AsRef::as_ref);
            recorder.emit(EventKind::NodeStarted { node, attempt, arguments: None });
            warn(recorder, node, warnings);
            recorder.emit(EventKind::AgentStarted {
                agent: agent_path(&plan.id, attempt),
                node: Some(node),
                agent_type: agent_type.clone(),
                access: recorder.run.access_of(node).unwrap_or(*access),
                model: model.clone().unwrap_or_else(|| delegation::model(kind, &spec.model)),
                system: delegation::system_of(kind, &spec.catalog),
                prompt,
                delegated: None,
            });
        }
        Work::Script { .. } => start_script(recorder, node, attempt),
        Work::Phases { args, .. } | Work::Session { args, .. } => match arguments(recorder.run, node, args) {
            Ok((args, warnings)) => {
                let arguments = Some(calls::variables(recorder.run, node, args));
                recorder.emit(EventKind::NodeStarted { node, attempt, arguments });
                warn(recorder, node, warnings);
            }
            Err(error) => fail(recorder, node, error, Fallback::Allowed),
        },
        Work::Inline { section, sets } => match bridge::render(section, recorder.run.variables_of(node)) {
            Ok((section, warnings)) => {
                let prompt = bridge::inline_prompt(section, sets);
                recorder.emit(EventKind::NodeStarted { node, attempt, arguments: None });
                warn(recorder, node, warnings);
                let access = recorder.run.access_of(node).unwrap_or(Access::ReadOnly);
                in_main(recorder, node, access, prompt);
            }
            Err(error) => fail(recorder, node, error, Fallback::No),
        },
        Work::Noop | Work::Gate => {
            recorder.emit(EventKind::NodeStarted { node, attempt, arguments: None });
        }
    }
}

/// What a node is to do: as its caller said, or as the plan has it.
fn arguments(run: &Run, node: u32, template: &Template) -> Result<(String, Vec<Words>), Words> {
    match run.called(node) {
        Some(called) => Ok((called.prompt(), Vec::new())),
        None => bridge::render(template, run.variables_of(node)),
    }
}

/// A further attempt is another agent: `setup/get-config.2`.
pub(super) fn agent_path(id: &str, attempt: u32) -> AgentPath {
    if attempt > 1 { AgentPath::new(&format!("{id}.{attempt}")) } else { AgentPath::new(id) }
}

/// What the attempt before had come to when the operator had it begin again.
fn so_far(run: &Run, id: &str, attempt: u32) -> String {
    let before = attempt.checked_sub(1).filter(|before| *before > 0);
    let before = before.and_then(|before| run.agent(agent_path(id, before).as_str()));
    match before.filter(|(_, state)| state.was_cancelled()) {
        Some((_, state)) => bridge::so_far(state),
        None => String::new(),
    }
}

fn start_script(recorder: &mut Recorder<'_>, node: u32, attempt: u32) {
    let planned = recorder.run.planned(node);
    let Some(PlanNode { work: Work::Script { args, relevant, .. }, .. }) = planned.node() else { return };
    if let Some(called) = recorder.run.called(node) {
        let arguments = Some(called.for_script());
        return recorder.emit(EventKind::NodeStarted { node, attempt, arguments });
    }
    match bridge::render(args, recorder.run.variables_of(node)) {
        Ok((args, warnings)) => {
            // Not every variable: the context of each script stands in the log, which must not grow with their square.
            let built_in = VarName::BUILT_IN.into_iter();
            let names = built_in.chain(relevant.iter().map(String::as_str));
            let variables = recorder.run.variables_of(node);
            let known = names.filter_map(|name| Some((name, variables.get(name)?)));
            let context: serde_json::Map<String, Value> =
                known.map(|(name, value)| (name.to_owned(), value.clone())).collect();
            let arguments = Some(json!({"args": args, "context": context}));
            recorder.emit(EventKind::NodeStarted { node, attempt, arguments });
            warn(recorder, node, warnings);
        }
        Err(error) => fail(recorder, node, error, Fallback::Allowed),
    }
}

/// The sub-skill in the main conversation, with the rights of its declared type.
fn inline_fallback(recorder: &mut Recorder<'_>, node: u32, attempt: u32, plan: &PlanNode) {
    let (Work::Agent { skill, instructions, args, relevant, .. }
    | Work::Script { skill, instructions, args, relevant, .. }
    | Work::Phases { skill, instructions, args, relevant, .. }) = &plan.work
    else {
        return;
    };
    match bridge::render(args, recorder.run.variables_of(node)) {
        Ok((args, warnings)) => {
            let variables = recorder.run.variables_of(node);
            let output = plan.output.as_deref();
            let prompt = bridge::subagent_prompt(skill, instructions, &args, relevant, variables, output);
            recorder.emit(EventKind::NodeStarted { node, attempt, arguments: None });
            warn(recorder, node, warnings);
            let access = recorder.run.access_of(node).unwrap_or(Access::ReadOnly);
            in_main(recorder, node, access, prompt);
        }
        Err(error) => fail(recorder, node, error, Fallback::No),
    }
}

fn in_main(recorder: &mut Recorder<'_>, node: u32, access: Access, prompt: String) {
    let main = calls::main_of(recorder.run, node);
    match recorder.run.agent(&main).map(|(at, _)| at) {
        Some(agent) => {
            recorder.emit(EventKind::AgentContinued { agent, node: Some(node), prompt, delegated: None });
        }
        None => {
            let spec = recorder.run.spec.clone();
            recorder.emit(EventKind::AgentStarted {
                agent: AgentPath::new(&main),
                node: Some(node),
                agent_type: "general-purpose".into(),
                access,
                model: spec.model.clone(),
                system: spec.catalog.clone(),
                prompt,
                delegated: None,
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
        // Whoever called it reads it as it is.
        Completion::Script { stdout } if recorder.run.called(node).is_some() => {
            let value = Value::String(stdout.trim_end_matches(['\r', '\n']).to_owned());
            recorder.emit(EventKind::NodeCompleted { node, value, warnings: Vec::new() });
        }
        Completion::Script { stdout } => {
            let result = bridge::from_program(&stdout, output.as_deref());
            // A value that is the text needs no second copy of it.
            if !matches!(&result, Ok((Value::String(text), _)) if text == stdout.trim()) {
                recorder.emit(EventKind::NodePrinted { node, stdout });
            }
            finish(recorder, node, result);
        }
        Completion::ScriptFailed { message, last_line } => {
            let said = last_line.filter(|_| recorder.run.called(node).is_some());
            let message = said.map_or(message, |line| words!("{line}", "{line}"));
            fail(recorder, node, message, Fallback::Allowed);
        }
        Completion::ScriptCutShort { message } => cut_short(recorder, node, message),
        Completion::Answered { .. }
        | Completion::ModelFailed { .. }
        | Completion::Recalled { .. }
        | Completion::Tool { .. } => {}
    }
}

/// A failure, but of what may happen once only some may have happened: nothing does it once more unasked, neither a
/// fallback of its own nor one of whoever called it. A person is not asked: `optional` says what its failure means.
fn cut_short(recorder: &mut Recorder<'_>, node: u32, message: Words) {
    let class = recorder.run.plan_node(node).and_then(|plan| match &plan.work {
        Work::Script { class, .. } => Some(*class),
        _ => None,
    });
    if class != Some(EffectClass::Once) {
        return fail(recorder, node, message, Fallback::Allowed);
    }
    let Words { en, zh } = message;
    recorder.emit(EventKind::NodeUncertain { node });
    give_up(
        recorder,
        node,
        words!("{en}; it may or may not have taken effect", "{zh}；可能已经生效，也可能没有"),
    );
}

/// The agent of a node ended.
pub fn agent_ended(recorder: &mut Recorder<'_>, node: u32, verdict: Verdict) {
    if recorder.run.orchestrator(node).is_some() {
        return session::agent_ended(recorder, node, verdict);
    }
    match verdict {
        Verdict::Submitted { .. } | Verdict::Answered { .. } => match result(recorder.run, node, verdict) {
            Ok((value, warnings)) => {
                recorder.emit(EventKind::NodeCompleted { node, value, warnings });
            }
            Err(unusable) => fail(recorder, node, unusable.message, Fallback::Allowed),
        },
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
            fail(recorder, node, by_operator(), Fallback::No);
        }
    }
}

/// What is wrong with the result of a node's agent and could be done better: it cannot be read, or has not the declared
/// shape.
pub fn problem(run: &Run, node: u32, verdict: &Verdict) -> Option<String> {
    if run.orchestrator(node).is_some() {
        return None;
    }
    result(run, node, verdict.clone())
        .err()
        .filter(|unusable| unusable.can_be_repaired)
        .map(|unusable| unusable.message.en)
}

/// What a node's agent gave. The words of a called skill are for whoever called it: without a declared shape they are taken
/// as they are, unless they say that it failed.
fn result(run: &Run, node: u32, verdict: Verdict) -> Result<(Value, Vec<Words>), bridge::Unusable> {
    let plan = run.plan_node(node);
    let as_said = match &verdict {
        Verdict::Answered { text } if run.called(node).is_some() && schema(plan).is_none() => {
            Some(Value::String(text.trim().to_owned()))
        }
        _ => None,
    };
    match bridge::result_of(verdict, plan.and_then(|plan| plan.output.as_deref()), schema(plan)) {
        Err(unusable) if as_said.is_none() || !unusable.can_be_repaired => Err(unusable),
        read => match as_said {
            Some(said) => Ok((said, Vec::new())),
            None => read,
        },
    }
}

pub(super) fn schema(plan: Option<&PlanNode>) -> Option<&Value> {
    match plan.map(|plan| &plan.work) {
        Some(Work::Agent { schema, .. } | Work::Phases { schema, .. }) => schema.as_ref(),
        _ => None,
    }
}

fn warn(recorder: &mut Recorder<'_>, node: u32, warnings: Vec<Words>) {
    if !warnings.is_empty() {
        recorder.emit(EventKind::NodeWarned { node, warnings });
    }
}

pub(super) fn finish(recorder: &mut Recorder<'_>, node: u32, result: Result<(Value, Vec<Words>), Words>) {
    match result {
        Ok((value, warnings)) => recorder.emit(EventKind::NodeCompleted { node, value, warnings }),
        Err(message) => fail(recorder, node, message, Fallback::Allowed),
    }
}

/// Nobody knows whether it happened, and a person gave it up: trying it another way could do it twice.
pub fn give_up(recorder: &mut Recorder<'_>, node: u32, message: Words) {
    // Whoever works inside a sub-skill ends with its call.
    if let Some(scope) = recorder.run.called_by(node) {
        calls::stop_agents(recorder, scope);
    }
    fail(recorder, node, message, Fallback::No);
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fallback {
    Allowed,
    /// It was cancelled, it already ran inline, or it may have happened.
    No,
}

/// The fixed order: fallback, optional, abort.
pub(super) fn fail(recorder: &mut Recorder<'_>, node: u32, message: Words, fallback: Fallback) {
    let Some(plan) = recorder.run.plan_node(node) else { return };
    // Only a sub-skill has a text that can be followed inline.
    let has_text = matches!(plan.work, Work::Agent { .. } | Work::Script { .. } | Work::Phases { .. });
    let wants_inline = plan.fallback_inline && has_text;
    let optional = plan.optional;
    // What may have happened is not done again by falling back.
    let no_again = recorder.run.node(node).is_some_and(|state| state.inline || state.had_uncertain_effect);
    let then = match (wants_inline && !no_again && fallback == Fallback::Allowed, optional) {
        (true, _) => AfterFailure::Inline,
        (false, true) => AfterFailure::Null,
        (false, false) => AfterFailure::Abort,
    };
    recorder.emit(EventKind::NodeFailed { node, message, then });
}

/// A required variable that is missing or null.
fn unmet(recorder: &Recorder<'_>, node: u32, plan: &PlanNode) -> Option<Words> {
    let variables = recorder.run.variables_of(node);
    for required in &plan.requires {
        let name = &required.name;
        match variables.get(name) {
            None => return Some(words!("required variable `{name}` is not set", "所需变量 `{name}` 未设置")),
            Some(Value::Null) if !required.may_be_null => {
                return Some(words!("required variable `{name}` is null", "所需变量 `{name}` 为空"));
            }
            Some(_) => {}
        }
    }
    None
}
