//! Sessions that run a program: from a planner or a descriptor to a program that can be run, commands as calls of skills,
//! and what the whole comes to.
//!
//! Which command is next is the interpreter's, which is a part of the fold (`run/sop.rs`); here is only what has to be
//! recorded for it to go on.

use super::session::{self, Beginning, NotCalled};
use crate::decide::Recorder;
use crate::event::{EventKind, Verdict};
use crate::orchestration::{Caller, Orchestrator, SessionKind};
use crate::plan::Access;
use crate::run::{Run, by_operator};
use crate::snapshot;
use fugato_model::{Words, words};
use fugato_skill::sop::{self, Answer, Brief, Declaration, Failure, INPUT, Interpreter, Program, Request};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Decides the next thing of a session whose program is due. `false`: nothing can be decided now.
pub fn advance(recorder: &mut Recorder<'_>, node: u32, has_room: bool) -> bool {
    let Some(state) = recorder.run.session(node).map(|session| &session.sop) else { return false };
    let Some(interpreter) = state.interpreter() else { return begin(recorder, node, has_room) };
    if let Some(command) = state.next() {
        // One after the other, as slots become free: what is called already starts first.
        if !has_room || recorder.run.held || !recorder.run.ready.is_empty() {
            return false;
        }
        let says = command.description.clone();
        let by = Caller::Command { session: node, name: Arc::clone(&command.name), says };
        let arguments = command.arguments.as_slice().into();
        let skill = Arc::clone(&command.command);
        if let Err(NotCalled::Forbidden(why) | NotCalled::Full(why)) =
            session::call(recorder, node, by, &skill, arguments, Beginning::Now)
        {
            session::fail(recorder, node, why);
        }
        return true;
    }
    match ending(interpreter) {
        Ending::Answer(value) => session::finish(recorder, node, value),
        Ending::None(message) if !may_retry(recorder.run, node) => session::fail(recorder, node, message),
        Ending::None(_) if !has_room || recorder.run.held => return false,
        Ending::None(_) => ask_again(recorder, node, sop::retry_prompt(interpreter)),
        Ending::Stopped(message) => session::fail(recorder, node, message),
    }
    true
}

fn begin(recorder: &mut Recorder<'_>, node: u32, has_room: bool) -> bool {
    let Some(orchestrator) = recorder.run.orchestrator(node).cloned() else { return false };
    let SessionKind::Sop { fixed, .. } = &orchestrator.session else { return false };
    match fixed {
        Some(text) => take_fixed(recorder, node, text),
        None if !has_room || recorder.run.held => return false,
        None => start_planner(recorder, node, &orchestrator),
    }
    true
}

/// The program of the descriptor, with what it refers to and does not declare: the request, and what was prepared.
fn take_fixed(recorder: &mut Recorder<'_>, node: u32, text: &str) {
    let run = &recorder.run;
    let request: Arc<str> = snapshot::request(run, node).into();
    let entries = run.session(node).map(|session| session.entries.as_slice()).unwrap_or_default();
    let given = |name: &str| match entries.iter().find(|entry| entry.name == name) {
        Some(entry) => Some(entry.value.as_str().into()),
        None => (name == INPUT).then(|| Arc::clone(&request)),
    };
    let wrong = |errors| Failure::Wrong(errors).problems();
    let checked = Program::parse_given(text, &given).map_err(wrong);
    let checked = checked.and_then(|program| match circles(run, node, program.declarations()) {
        circles if circles.is_empty() => Ok(sop::written_with_given(text, &program)),
        circles => Err(circles),
    });
    // What is given may be so long that the whole is no program any more.
    let checked = checked.and_then(|whole| match whole.len() == text.len() {
        true => Ok(whole),
        false => Program::parse(&whole).map(|_| whole).map_err(wrong),
    });
    match checked {
        Ok(program) => recorder.emit(EventKind::ProgramPlanned { session: node, program }),
        Err(problems) => {
            let message = cannot_run(&problems);
            recorder.emit(EventKind::ProgramRefused { session: node, problems });
            session::fail(recorder, node, message);
        }
    }
}

fn start_planner(recorder: &mut Recorder<'_>, node: u32, orchestrator: &Orchestrator) {
    let spec = recorder.run.spec.clone();
    let agent = snapshot::path_of(recorder.run, node, "plan");
    let describe =
        |name: &String| spec.skills.get(name).map(|skill| (name.clone(), skill.description.clone()));
    let commands: Vec<(String, String)> = orchestrator.allowed.iter().filter_map(describe).collect();
    let commands: Vec<(&str, &str)> =
        commands.iter().map(|(name, description)| (name.as_str(), description.as_str())).collect();
    let system = sop::system_prompt(Brief {
        description: &orchestrator.description,
        instructions: &orchestrator.instructions,
        commands: &commands,
    });
    let text = session::prompt(recorder.run, node);
    let so_far = recorder.run.session(node).and_then(|session| session.sop.carried());
    let prompt = sop::request_prompt(Request { text: &text, entries: &[], so_far });
    recorder.emit(EventKind::AgentStarted {
        agent,
        node: Some(node),
        agent_type: crate::GENERAL_PURPOSE.to_owned(),
        access: Access::ReadOnly,
        model: orchestrator.model.clone().unwrap_or_else(|| spec.model.clone()),
        system,
        prompt,
        delegated: None,
    });
}

/// Its planner has ended.
pub fn agent_ended(recorder: &mut Recorder<'_>, node: u32, verdict: Verdict) {
    let text = match verdict {
        Verdict::Answered { text } | Verdict::LimitReached { text, .. } => text,
        Verdict::Submitted { value } => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        Verdict::Failed { message } => {
            let message = words!("the planner failed: {message}", "规划失败：{message}");
            return session::fail(recorder, node, message);
        }
        Verdict::Cancelled => return session::fail(recorder, node, by_operator()),
    };
    match checked(recorder.run, node, &text) {
        Ok(program) => {
            let is_same = is_same_as_before(recorder.run, node, program);
            recorder.emit(EventKind::ProgramPlanned { session: node, program: program.to_owned() });
            // What failed stays failed: running it once more would only ask for the same plan again.
            if is_same && let Some(message) = unanswered(recorder.run, node) {
                session::fail(recorder, node, message);
            }
        }
        Err((problems, prompt)) => {
            let message = cannot_run(&problems);
            recorder.emit(EventKind::ProgramRefused { session: node, problems });
            if may_plan(recorder.run, node) {
                ask_again(recorder, node, prompt);
            } else {
                session::fail(recorder, node, message);
            }
        }
    }
}

/// The program in an answer, if it can be run; else its problems, and what to tell the planner.
fn checked<'t>(run: &Run, node: u32, answer: &'t str) -> Result<&'t str, (Vec<Words>, String)> {
    let refused = |failure: Failure| (failure.problems(), sop::repair_prompt(&failure));
    let text = sop::program_in(answer).map_err(|why| refused(Failure::NoProgram(why)))?;
    if is_sound_change(run, node, text) {
        return Ok(text);
    }
    let program = Program::parse(text).map_err(|errors| refused(Failure::Wrong(errors)))?;
    let known: Vec<&str> = session::allowed(run, node).iter().map(String::as_str).collect();
    let unknown = program.unknown_commands(&known);
    if !unknown.is_empty() {
        return Err(refused(Failure::Wrong(unknown)));
    }
    let circles = circles(run, node, program.declarations());
    if circles.is_empty() {
        return Ok(text);
    }
    let said: Vec<&str> = circles.iter().map(|words| words.en.as_str()).collect();
    let prompt = format!(
        "Your program was not run:\n\n- {}\n\nAnswer with another program in one ```sop code block.\n",
        said.join("\n- ")
    );
    Err((circles, prompt))
}

/// Can a program be run that is the one before but for a few declarations? Those alone are looked at: the others were
/// looked at in their turn. `false`: it has to be read whole to say what is wrong with it.
fn is_sound_change(run: &Run, node: u32, text: &str) -> bool {
    let Some(state) = run.session(node).map(|session| &session.sop) else { return false };
    // What another turn has left was planned for what could be called then.
    let others = state.carried().map(|carried| carried.program().declarations()).unwrap_or_default();
    let Some(before) = state.interpreter().or(state.carried()) else { return false };
    let Some(edit) = before.program().edit(text) else { return false };
    let known: HashSet<&str> = session::allowed(run, node).iter().map(String::as_str).collect();
    [others, edit.declarations()].into_iter().all(|declarations| {
        let mut commands = declarations.iter().map(|declaration| &*declaration.command);
        commands.all(|command| sop::BUILT_IN.contains(&command) || known.contains(command))
            && circles(run, node, declarations).is_empty()
    })
}

/// Commands that are orchestrators which wait for this very session, each told once.
fn circles(run: &Run, node: u32, declarations: &[Declaration]) -> Vec<Words> {
    let commands: HashSet<&str> = declarations.iter().map(|declaration| &*declaration.command).collect();
    let called = session::allowed(run, node).iter().filter(|name| commands.contains(name.as_str()));
    let refused = called.filter_map(|name| match session::admit(run, node, name) {
        Err(NotCalled::Forbidden(words)) => Some(words),
        Err(NotCalled::Full(_)) | Ok(()) => None,
    });
    refused.collect()
}

/// Has the planner given the program once more that has come to nothing?
fn is_same_as_before(run: &Run, node: u32, text: &str) -> bool {
    let before = run.session(node).and_then(|session| session.sop.interpreter()).map(Interpreter::program);
    before.is_some_and(|before| match before.edit(text) {
        Some(edit) => edit.changes_nothing(before),
        None => Program::parse(text).is_ok_and(|program| program == *before),
    })
}

fn unanswered(run: &Run, node: u32) -> Option<Words> {
    match ending(run.session(node)?.sop.interpreter()?) {
        Ending::Answer(_) => None,
        Ending::None(message) | Ending::Stopped(message) => Some(message),
    }
}

/// May another plan be asked for?
fn may_plan(run: &Run, node: u32) -> bool {
    let Some(SessionKind::Sop { fixed: None, budget }) = run.orchestrator(node).map(|found| &found.session)
    else {
        return false;
    };
    run.session(node).is_some_and(|session| session.sop.plans() < budget.plans)
}

/// May a program that came to nothing be replaced? Only by the planner that made it.
fn may_retry(run: &Run, node: u32) -> bool {
    may_plan(run, node) && run.session(node).is_some_and(|session| session.agent.is_some())
}

fn ask_again(recorder: &mut Recorder<'_>, node: u32, prompt: String) {
    let Some(agent) = recorder.run.session(node).and_then(|session| session.agent) else { return };
    recorder.emit(EventKind::AgentContinued { agent, node: Some(node), prompt, delegated: None });
}

/// What a program that has come to its end means.
enum Ending {
    Answer(Value),
    /// It gives no answer, because something in it failed.
    None(Words),
    /// A bound stopped it, or it gave up: another plan would not change that.
    Stopped(Words),
}

fn ending(interpreter: &Interpreter) -> Ending {
    let failed = interpreter.failed().next().is_some();
    match (interpreter.answer(), interpreter.halted()) {
        (Some(Answer::Final { text, .. }), _) => Ending::Answer(result(Some(&text), interpreter)),
        (Some(Answer::CannotComplete { reason, .. }), _) => {
            Ending::Stopped(words!("cannot be completed: {reason}", "无法完成：{reason}"))
        }
        (None, Some(halt)) => {
            let Words { en, zh } = halt.words();
            Ending::Stopped(words!("the program was stopped: {en}", "程序已停止：{zh}"))
        }
        (None, None) if failed || wants_answer(interpreter) => Ending::None(no_answer(interpreter)),
        (None, None) => Ending::Answer(result(None, interpreter)),
    }
}

/// Does it declare an answer?
fn wants_answer(interpreter: &Interpreter) -> bool {
    let mut declarations = interpreter.program().declarations().iter();
    declarations.any(|declaration| &*declaration.command == sop::FINAL_ANSWER)
}

/// Reasons that are told in one sentence.
const TOLD: usize = 3;
/// Of each of them.
const REASON_CHARS: usize = 200;

fn no_answer(interpreter: &Interpreter) -> Words {
    let said = |name: &str, value: &sop::Value| {
        let text: String = value.to_string().chars().take(REASON_CHARS).collect();
        format!("@{name}: {text}")
    };
    let mut told: Vec<String> =
        interpreter.failed().take(TOLD).map(|(name, value)| said(name, value)).collect();
    if told.is_empty() {
        let without = interpreter.values().filter(|(_, value)| value.success().is_none());
        told = without.take(TOLD).map(|(name, value)| said(name, &value)).collect();
    }
    let told = told.join("; ");
    words!("the program came to no answer: {told}", "程序没有得出结果：{told}")
}

/// Plans that could not be run, by their first problems.
fn cannot_run(problems: &[Words]) -> Words {
    let part = |pick: fn(&Words) -> &String, sign: &str| {
        let texts: Vec<&str> = problems.iter().take(TOLD).map(|words| pick(words).as_str()).collect();
        texts.join(sign)
    };
    let (en, zh) = (part(|words| &words.en, "; "), part(|words| &words.zh, "；"));
    words!("the program cannot be run: {en}", "程序无法运行：{zh}")
}

/// Of a variable in the result of a session: whoever needs all of it asks for it in the answer.
const VALUE_CHARS: usize = 2000;
/// Variables in the result of a session.
const SHOWN_VARIABLES: usize = 200;

/// The answer and the variables, bounded: both go to whoever called.
fn result(answer: Option<&Arc<str>>, interpreter: &Interpreter) -> Value {
    let shown = |value: sop::Value| {
        let text = value.to_string();
        match text.char_indices().nth(VALUE_CHARS) {
            None => text,
            Some((end, _)) => {
                let left_out = text.get(end..).map_or(0, |rest| rest.chars().count());
                format!("{}… [{left_out} more characters]", text.get(..end).unwrap_or_default())
            }
        }
    };
    let variables: Map<String, Value> = interpreter
        .values()
        .take(SHOWN_VARIABLES)
        .map(|(name, value)| (name.to_string(), Value::String(shown(value))))
        .collect();
    let mut result = json!({"result": answer.map(ToString::to_string), "variables": variables});
    if let (Some(more @ 1..), Some(object)) =
        (interpreter.program().len().checked_sub(SHOWN_VARIABLES), result.as_object_mut())
    {
        object.insert("variables_left_out".to_owned(), more.into());
    }
    result
}
