//! Sessions of orchestrators: stage after stage, calls of skills, and what their ends mean to whoever called.
//!
//! A call is a node like all others once it is admitted; here is only what happens at its edges. What a loop decides is
//! the model's (`loop_session.rs`), what a program decides is the interpreter's (`sop.rs`).

use super::{calls, graph, loop_session, preparation, sop};
use crate::decide::Recorder;
use crate::event::{Asked, CallRef, EventKind, Verdict};
use crate::orchestration::{Callable, CallableWork, Caller, SessionKind};
use crate::run::{Run, Stage, shown, text_of};
use crate::snapshot;
use fugato_model::{SkillName, Words, words};
use fugato_skill::orchestrator::refuse_cycle;
use serde_json::Value;
use std::sync::Arc;

/// Calls of one run: far more than anybody reads about, few enough to keep.
pub const MAX_CALLS: u32 = 10_000;

/// Moves one session on that has something to decide. `false`: none can be moved now.
pub fn advance(recorder: &mut Recorder<'_>, has_room: bool) -> bool {
    let mut from = 0;
    while let Some(node) = recorder.run.due.range(from..).next().copied() {
        if advance_one(recorder, node, has_room) {
            return true;
        }
        from = node.saturating_add(1);
    }
    false
}

fn advance_one(recorder: &mut Recorder<'_>, node: u32, has_room: bool) -> bool {
    let Some(stage) = recorder.run.session(node).map(|session| session.stage) else { return false };
    let Some(orchestrator) = recorder.run.orchestrator(node).cloned() else { return false };
    match (stage, &orchestrator.session) {
        (Stage::Main, SessionKind::Sop { .. }) => sop::advance(recorder, node, has_room),
        _ if !has_room => false,
        (Stage::Preparing, _) => preparation::begin(recorder, node, &orchestrator),
        (Stage::Main, SessionKind::Loop { .. }) => loop_session::begin(recorder, node, &orchestrator),
    }
}

/// Tells one caller what the skill gave that it waits for. `false`: nobody has to be told.
pub fn settle(recorder: &mut Recorder<'_>) -> bool {
    let Some(node) = recorder.run.returned.first().copied() else { return false };
    let Some(called) = recorder.run.called(node) else { return false };
    let Caller::Tool { agent, step, index } = called.by else { return false };
    let Some(given) = &called.given else { return false };
    let number = recorder.run.session(called.session).map_or(1, |session| session.results + 1);
    let (text, is_error) = text_of(given);
    let (skill, needs) = (called.skill.to_string(), needed_input(&text).filter(|_| !is_error));
    let content = shown(number, &text);
    match needs {
        None => recorder.emit(EventKind::ToolCompleted { agent, step, index, content, is_error }),
        Some(needs) if preparation::is_at_work(recorder.run, agent) => {
            recorder.emit(EventKind::ToolCompleted { agent, step, index, content, is_error: true });
            preparation::needs_a_person(recorder, agent, &format!("`{skill}` asks: {}", needs.text));
        }
        Some(Needed { text, options }) => {
            let question = u32::try_from(recorder.run.questions.len()).unwrap_or(u32::MAX);
            let about = Asked::Agent { agent, step, index };
            recorder.emit(EventKind::InputRequested { question, about, text, options });
        }
    }
    true
}

/// What a skill wants to know before it can do its work.
struct Needed {
    text: String,
    options: Vec<String>,
}

/// A result that is a question: an object with `requiresInput` or `requiresConfirmation`.
fn needed_input(text: &str) -> Option<Needed> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let is_set = |key: &str| value.get(key) == Some(&Value::Bool(true));
    if !is_set("requiresInput") && !is_set("requiresConfirmation") {
        return None;
    }
    let asked = ["message", "question", "prompt"].iter().find_map(|key| value.get(key)?.as_str());
    let asked = asked.filter(|asked| !asked.trim().is_empty()).map(str::to_owned);
    let options = value.get("options").and_then(Value::as_array).into_iter().flatten();
    let options = options.filter_map(Value::as_str).map(str::to_owned).collect();
    Some(Needed { text: asked.unwrap_or_else(|| text.to_owned()), options })
}

/// Whoever works for a session has ended.
pub fn agent_ended(recorder: &mut Recorder<'_>, node: u32, verdict: Verdict) {
    let Some(stage) = recorder.run.session(node).map(|session| session.stage) else { return };
    let Some(orchestrator) = recorder.run.orchestrator(node).cloned() else { return };
    match (stage, &orchestrator.session) {
        (Stage::Preparing, _) => preparation::ended(recorder, node, verdict),
        (Stage::Main, SessionKind::Loop { .. }) => loop_session::ended(recorder, node, verdict),
        (Stage::Main, SessionKind::Sop { .. }) => sop::agent_ended(recorder, node, verdict),
    }
}

/// The skills that a session may call in the stage it is in.
pub fn allowed(run: &Run, node: u32) -> &[String] {
    let Some(orchestrator) = run.orchestrator(node) else { return &[] };
    match (run.session(node).map(|session| session.stage), &orchestrator.preparation) {
        (Some(Stage::Preparing), Some(preparation)) => &preparation.allowed,
        _ => &orchestrator.allowed,
    }
}

/// Why a call is not made.
pub enum NotCalled {
    /// Not for this session, however often it is tried.
    Forbidden(Words),
    /// There is no room.
    Full(Words),
}

/// When a called skill begins.
#[derive(Clone, Copy, PartialEq)]
pub enum Beginning {
    /// There is a slot for it.
    Now,
    /// In its turn.
    Later,
}

/// Calls a skill for a session: the one way to a node that no plan has.
pub fn call(
    recorder: &mut Recorder<'_>,
    session: u32,
    by: Caller,
    skill: &Arc<str>,
    arguments: Arc<[Arc<str>]>,
    begins: Beginning,
) -> Result<(), NotCalled> {
    admit(recorder.run, session, skill)?;
    let run = &recorder.run;
    let name = match &by {
        Caller::Tool { .. } => skill,
        Caller::Command { name, .. } => name,
    };
    let (node, id) = (run.next_node(), run.free_id(session, name));
    // Whoever is handed what it is called with and nothing else needs no event of its own to start.
    let is_plain =
        |callable: &Arc<Callable>| matches!(callable.work, CallableWork::Script { .. } | CallableWork::Noop);
    let starts = begins == Beginning::Now && run.spec.skills.get(&**skill).is_some_and(is_plain);
    recorder.emit(EventKind::SkillCalled { node, id, by, skill: Arc::clone(skill), arguments, starts });
    Ok(())
}

/// May this session call this skill?
pub fn admit(run: &Run, session: u32, skill: &str) -> Result<(), NotCalled> {
    let forbidden = |words| Err(NotCalled::Forbidden(words));
    let allowed = allowed(run, session);
    if !allowed.iter().any(|name| name == skill) || !run.spec.skills.contains_key(skill) {
        let known = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        return forbidden(words!(
            "`{skill}` is not one of the skills that may be called here; there are: {known}",
            "`{skill}` 不在此处可调用的技能之列；可用的有：{known}"
        ));
    }
    if run.added() >= MAX_CALLS {
        return Err(NotCalled::Full(words!(
            "not called: a run calls at most {MAX_CALLS} skills",
            "未调用：一次运行最多调用 {MAX_CALLS} 个技能"
        )));
    }
    let is_own = |node: u32| run.orchestrator(node).is_some_and(|caller| caller.name == skill);
    if !std::iter::once(session).chain(run.callers(session)).any(is_own) {
        return Ok(());
    }
    let named = |name: &str| SkillName::parse(name).ok();
    let callers = std::iter::once(session).chain(run.callers(session));
    let mut callers: Vec<SkillName> =
        callers.filter_map(|node| named(&run.orchestrator(node)?.name)).collect();
    callers.reverse();
    match named(skill).map(|callee| refuse_cycle(&callers, &callee)) {
        Some(Err(cycle)) => forbidden(cycle.words()),
        _ => Ok(()),
    }
}

/// A session has come to its answer: whoever it had called is stopped.
pub fn finish(recorder: &mut Recorder<'_>, node: u32, value: Value) {
    stop_calls(recorder, node);
    recorder.emit(EventKind::NodeCompleted { node, value, warnings: Vec::new() });
}

/// A session has failed: so has its node.
pub fn fail(recorder: &mut Recorder<'_>, node: u32, message: Words) {
    stop_calls(recorder, node);
    graph::fail(recorder, node, message, graph::Fallback::No);
}

/// Stops whoever works for a called skill of this session.
pub fn stop_calls(recorder: &mut Recorder<'_>, node: u32) {
    if let Some(scope) = recorder.run.called_by(node) {
        calls::stop_agents(recorder, scope);
    }
}

/// Everything a session is told: the conversation it is called from or goes on with, what was prepared, the request.
pub fn prompt(run: &Run, node: u32) -> String {
    let entries = run.session(node).map(|session| session.entries.as_slice()).unwrap_or_default();
    snapshot::prompt(&before(run, node), entries, &snapshot::request(run, node))
}

/// What was said before this session began.
pub fn before(run: &Run, node: u32) -> String {
    match run.called(node).map(|called| &called.by) {
        Some(Caller::Tool { agent, .. }) => snapshot::of_caller(run, *agent),
        Some(Caller::Command { .. }) => String::new(),
        None => run.spec.conversation.as_ref().map(|before| before.snapshot.clone()).unwrap_or_default(),
    }
}

/// The call that a tool call of a session's agent would be.
pub fn at(call: CallRef) -> Caller {
    Caller::Tool { agent: call.agent, step: call.step, index: call.index }
}
