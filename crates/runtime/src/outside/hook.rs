//! The hook itself: standard input in, an answer and an exit code out. The code is 0, or 2 for a guard that could not read
//! anything; never 1, which hosts take for "go ahead".

use super::answer::{denied, render};
use super::call::{Call, now, state_of};
use super::host::Host;
use super::payload::{Payload, canonical, clean, parse};
use super::read::standard_input;
use super::spool;
use crate::hosts::gate::{self, GATE};
use crate::store::outside::{self as stored, Rows};
use crate::store::{Reader, StoreError};
use fugato_engine::outside::{Answer, Denial, Guard, Look as _, Who, agent_name, key_of};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the process prints, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub stdout: Option<String>,
    pub stderr: Option<String>,
    pub code: u8,
}

/// `fugato hook [--host NAME] [EVENT]`.
pub fn hook(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Reply {
    let Asked { event, host } = Asked::read(arguments);
    let bytes = match standard_input() {
        Ok(bytes) => bytes,
        Err(silence) => return unreadable(event.as_deref(), silence.reason()),
    };
    // For an agent that a run of ours has started, its owner decides and records.
    if let Some(door) = std::env::var_os(GATE) {
        return Reply { stdout: gate::answer(door.as_ref(), &bytes), ..Reply::default() };
    }
    let (text, is_lossy) = clean(&bytes);
    // Whatever is recorded of it is recorded without these.
    let text = crate::store::Redactor::wash(&text);
    let payload = match parse(&text, is_lossy) {
        Ok(payload) => payload,
        Err(error) => {
            let event = event.or_else(|| guessed(&text));
            return unreadable(event.as_deref(), &format!("standard input is {error}"));
        }
    };
    let Some(event) = payload.event().or(event) else {
        return unreadable(None, "`hook_event_name` is missing");
    };
    let host = host.unwrap_or_else(|| Host::of(&payload, is_set("CLAUDECODE")));
    answer(&payload, &text, host, &event)
}

struct Asked {
    event: Option<String>,
    host: Option<Host>,
}

impl Asked {
    /// Words it does not know are no reason to fail: a newer settings file may have some.
    fn read(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Self {
        let mut asked = Self { event: None, host: None };
        let mut words = arguments.into_iter();
        while let Some(word) = words.next() {
            match word.to_str() {
                Some("--host") => asked.host = words.next().and_then(|name| Host::named(name.to_str()?)),
                Some(word) if !word.starts_with('-') => asked.event = Some(canonical(word)),
                _ => {}
            }
        }
        asked
    }
}

fn answer(payload: &Payload<'_>, text: &str, host: Host, event: &str) -> Reply {
    let is_guard = event == "PreToolUse";
    if is_guard && let Some(problem) = payload.call_problem() {
        return deny(&format!("fugato cannot judge this call: {problem}"));
    }
    let state = state_of(&project_of(payload));
    let name = variable("FUGATO_AGENT").map(|name| agent_name(&name, "agent", |_| false));
    let who = who(payload, host, event, name);
    let call = Call { state, run: variable("FUGATO_RUN").filter(|run| is_run_id(run)), who, at: now() };
    let input = payload.input(event);
    if super::quick::record(&call, &input) {
        return Reply::default();
    }
    let mut lean = None;
    let decided = if is_guard {
        call.guarded(&mut lean, &input, || patience(payload))
    } else {
        call.once(&mut lean, &input)
    };
    // The process is about to end, which closes everything; closing by hand would only take time.
    std::mem::forget(lean);
    match decided {
        Ok(answer) => reply(host, event, &answer),
        Err(error) => without_store(&call, host, event, text, &error, is_guard),
    }
}

fn reply(host: Host, event: &str, answer: &Answer) -> Reply {
    Reply { stdout: render(host, event, answer), ..Reply::default() }
}

/// The store cannot be written now: the event is put aside, and a guard answers by what can be read, or denies.
fn without_store(
    call: &Call,
    host: Host,
    event: &str,
    text: &str,
    error: &StoreError,
    is_guard: bool,
) -> Reply {
    let note = match spool::put(call, host, event, text) {
        Ok(()) => format!("fugato hook: {error}; put aside, to be recorded with the next call"),
        Err(lost) => format!("fugato hook: {error}; not recorded: {lost}"),
    };
    let note = Reply { stderr: Some(note), ..Reply::default() };
    if !is_guard {
        return note;
    }
    match glance(call) {
        Some(Guard::Open | Guard::Hold) => note,
        Some(Guard::Deny(denial)) => {
            let answer = Answer { guard: Guard::Deny(denial), ..Answer::default() };
            Reply { stdout: render(host, event, &answer), ..note }
        }
        None => deny(&format!("fugato cannot tell whether this call may run: {error}")),
    }
}

/// What the rows say of this agent, without changing anything. `None`: they cannot be read.
fn glance(call: &Call) -> Option<Guard> {
    let Some(reader) = Reader::open(&call.state).ok()? else { return Some(Guard::Open) };
    let connection = reader.connection();
    let key = key_of(&call.who.host, &call.who.session, call.who.subagent.as_deref());
    let Some(found) = stored::find_by_key(connection, &key).ok()? else { return Some(Guard::Open) };
    let rows = Rows::new(connection, found.no);
    let row = rows.by_key(&key).and_then(|agent| rows.agent(agent));
    if rows.failure().is_some() {
        return None;
    }
    Some(match row {
        Some(row) if row.is_cancelled() => Guard::Deny(Denial::Cancelled),
        Some(row) if row.paused && row.is_live() => Guard::Deny(Denial::Paused),
        _ => Guard::Open,
    })
}

pub(super) fn who(payload: &Payload<'_>, host: Host, event: &str, name: Option<String>) -> Who {
    let mut who = Who {
        host: host.as_str().to_owned(),
        session: payload.session(),
        subagent: payload.subagent(),
        agent_type: payload.text("agent_type").unwrap_or_default(),
        model: payload.text("model").unwrap_or_default(),
        name,
        after: Vec::new(),
        process: None,
        hears: host.hears_at(event),
        is_late: false,
    };
    if let Some(after) = variable("FUGATO_AFTER") {
        who.after = after.split(',').map(|name| agent_name(name, "", |_| false)).collect();
    }
    // There agents are not announced: a session is one.
    if host == Host::Codex && who.name.is_none() && who.subagent.is_none() {
        who.name = Some(host.as_str().to_owned());
    }
    who
}

/// Where the host works: its project, not where one of its commands has gone.
fn project_of(payload: &Payload<'_>) -> PathBuf {
    let absolute = |dir: String| Some(PathBuf::from(dir)).filter(|dir| dir.is_absolute() && dir.is_dir());
    variable("CLAUDE_PROJECT_DIR")
        .and_then(absolute)
        .or_else(|| payload.text("cwd").and_then(absolute))
        .or_else(|| std::env::current_dir().ok())
        .unwrap_or_else(|| PathBuf::from("/"))
}

/// How long a paused agent waits inside the hook. Settings are read only now: hardly any call needs them.
fn patience(payload: &Payload<'_>) -> Duration {
    let milliseconds = variable("FUGATO_HOOK_WAIT_MS").and_then(|text| text.trim().parse::<u64>().ok());
    let milliseconds = milliseconds.unwrap_or_else(|| configured_wait(&project_of(payload)));
    Duration::from_millis(milliseconds.min(super::LONGEST_WAIT_MS.unsigned_abs()))
}

fn configured_wait(project: &Path) -> u64 {
    let places = crate::Places::from_env(project.to_owned(), |name| std::env::var_os(name));
    let (config, _) = crate::Config::load(&places, |name| std::env::var_os(name), &[]);
    let value = config.get("hook.wait_ms").map(|entry| entry.value.clone());
    let milliseconds = match value {
        Some(crate::config::Value::Integer(milliseconds)) => milliseconds,
        _ => super::WAIT_MS,
    };
    u64::try_from(milliseconds).unwrap_or(0)
}

/// Without an event that can be read, only one that is known to be harmless passes.
fn unreadable(event: Option<&str>, reason: &str) -> Reply {
    match event {
        Some(event) if event != "PreToolUse" => {
            Reply { stderr: Some(format!("fugato hook: {reason}; nothing was recorded")), ..Reply::default() }
        }
        _ => {
            let reason = format!("fugato hook cannot judge this call: {reason}");
            Reply { stdout: None, stderr: Some(reason), code: 2 }
        }
    }
}

fn deny(reason: &str) -> Reply {
    let document = serde_json::Value::Object(denied(reason)).to_string();
    Reply { stdout: Some(document), ..Reply::default() }
}

/// The event's name in a text that is not whole.
fn guessed(text: &str) -> Option<String> {
    let (_, after) = text.split_once("\"hook_event_name\"")?;
    let name = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    Some(canonical(name.split('"').next()?))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn is_run_id(id: &str) -> bool {
    crate::store::is_run_id(id)
}
