//! What a call of the hook means: who it is, what is recorded, whether the tool may run, and what the agent is told.

use super::command::oldest;
use super::desk::Desk;
use super::ending::{end_if_over, fail, stop};
use super::join::{find_or_join, wake};
use super::rows::{DueStage, key_of};
use crate::event::{Announced, EventKind, Verb, Whole};
use fugato_model::words;
use serde_json::Value;
use std::sync::Arc;

/// Who calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    pub host: String,
    pub session: String,
    pub subagent: Option<String>,
    /// What the host says the subagent is.
    pub agent_type: String,
    pub model: String,
    /// The id a person gave the session, and the agents it is to wait for.
    pub name: Option<String>,
    pub after: Vec<String>,
    pub process: Option<(u32, u64)>,
    /// Can words be added to this answer?
    pub hears: bool,
    /// It was answered when it happened, and is only recorded now.
    pub is_late: bool,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    SessionStarted,
    Prompted {
        prompt: String,
    },
    /// It is about to use a tool.
    Asks {
        call: String,
        tool: String,
        arguments: Value,
        files: Vec<String>,
        spawn: Option<Spawn>,
    },
    /// The tool was held because of a pause; is it still?
    Held {
        call: String,
        tool: String,
        patience_is_over: bool,
    },
    Used {
        call: String,
        tool: String,
        content: String,
        is_error: bool,
        whole: Option<Whole>,
        /// The agent that this call started, and its last words if it has ended already.
        started: Option<(String, Option<String>)>,
        spawn: Option<Spawn>,
    },
    SubagentStarted,
    SubagentStopped {
        text: String,
    },
    Stopped {
        text: String,
        /// The host's names of the agents that go on. `None`: it does not say.
        background: Option<Vec<String>>,
    },
    SessionEnded {
        reason: String,
    },
    Observed {
        name: String,
        payload: Value,
    },
}

/// An agent that somebody asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spawn {
    pub agent_type: String,
    pub description: String,
    pub prompt: String,
}

/// What the hook answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub guard: Guard,
    /// Words for the agent.
    pub context: Vec<String>,
    /// It may not stop yet, for this reason.
    pub block: Option<String>,
    /// The agent it was about.
    pub agent: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Guard {
    /// No decision: the host's own rules apply.
    #[default]
    Open,
    /// Paused: to be asked again in a while.
    Hold,
    Deny(Denial),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    Paused,
    Cancelled,
    Redirected(String),
}

impl Denial {
    /// For the model, which reads English.
    pub fn reason(&self) -> String {
        match self {
            Self::Paused => {
                "paused by the operator; wait, and try the same call again. Do nothing else meanwhile."
                    .to_owned()
            }
            Self::Cancelled => {
                "cancelled by the operator; this agent may not use any tool any more. Stop now.".to_owned()
            }
            Self::Redirected(task) => format!(
                "the operator redirects you; this call was not run. New instruction, which supersedes your task:\n\n{task}"
            ),
        }
    }
}

/// Words that fit into one answer of a hook; hosts cut longer ones.
const MOST_CONTEXT: usize = 8 * 1024;

/// Decides one call. Total: any input in any state gives an answer.
pub fn decide(desk: &mut Desk<'_>, who: &Who, input: Input) -> Answer {
    if desk.run.ended.is_some() {
        return after_the_end(desk, who, input);
    }
    match input {
        Input::SessionStarted => match known(desk, who) {
            Some(agent) => listening(desk, who, agent),
            None => Answer::default(),
        },
        Input::Prompted { prompt } => prompted(desk, who, prompt),
        Input::Asks { call, tool, arguments, files, spawn } => {
            let agent = find_or_join(desk, who);
            asks(desk, who, agent, Asked { call, tool, arguments, files, spawn })
        }
        Input::Held { call, tool, patience_is_over } => {
            let agent = find_or_join(desk, who);
            guard(desk, who, agent, &call, &tool, patience_is_over)
        }
        Input::Used { call, tool, content, is_error, whole, started, spawn } => {
            let agent = find_or_join(desk, who);
            if let Some((subagent, last)) = started.filter(|_| !is_error) {
                bind(desk, who, agent, &call, spawn, subagent, last);
            }
            desk.emit(EventKind::ToolAnswered { agent, call, tool, content, is_error, whole });
            listening(desk, who, agent)
        }
        Input::SubagentStarted => {
            let agent = find_or_join(desk, who);
            wake(desk, agent);
            listening(desk, who, agent)
        }
        Input::SubagentStopped { text } => {
            let agent = find_or_join(desk, who);
            if let Some(block) = unheard_redirect(desk, agent) {
                return Answer { block: Some(block), agent: Some(agent), ..Answer::default() };
            }
            stop(desk, agent, &text);
            end_if_over(desk, agent);
            Answer { agent: Some(agent), ..Answer::default() }
        }
        Input::Stopped { text, background } => stopped(desk, who, &text, background.as_deref()),
        Input::SessionEnded { reason } => session_ended(desk, who, &reason),
        Input::Observed { name, payload } => {
            let agent = known(desk, who);
            desk.emit(EventKind::HostObserved { agent, name, payload });
            Answer { agent, ..Answer::default() }
        }
    }
}

/// Is this call about a run at all, before there is one? Whoever starts an agent begins a run, and so does whoever was given
/// a name.
pub fn refers_to(who: &Who, input: &Input) -> bool {
    let begins = match input {
        Input::Asks { spawn, .. } => spawn.is_some(),
        Input::SubagentStarted => true,
        _ => false,
    };
    let works = matches!(input, Input::Prompted { .. } | Input::Asks { .. } | Input::Used { .. });
    begins || (works && who.name.is_some())
}

struct Asked {
    call: String,
    tool: String,
    arguments: Value,
    files: Vec<String>,
    spawn: Option<Spawn>,
}

fn asks(desk: &mut Desk<'_>, who: &Who, agent: u32, asked: Asked) -> Answer {
    let Asked { call, tool, arguments, files, spawn } = asked;
    wake(desk, agent);
    let others: Vec<(String, u32)> = files
        .iter()
        .filter_map(|file| desk.writer_of(file).map(|by| (file.clone(), by)))
        .filter(|(_, by)| *by != agent)
        .collect();
    desk.emit(EventKind::ToolAsked { agent, call: call.clone(), tool: tool.clone(), arguments, files });
    if let Some(Spawn { agent_type, description, prompt }) = spawn {
        let after = waits_of(&prompt);
        let announced = Announced { call: call.clone(), agent_type, description, prompt, after };
        desk.emit(EventKind::AgentAnnounced { agent, announced: Arc::new(announced) });
    }
    if who.is_late {
        return Answer { agent: Some(agent), ..Answer::default() };
    }
    let mut answer = guard(desk, who, agent, &call, &tool, false);
    for (file, by) in others {
        warn(desk, agent, &file, by, &mut answer);
    }
    answer
}

/// Two agents that are both at work write the same file.
fn warn(desk: &mut Desk<'_>, agent: u32, file: &str, by: u32, answer: &mut Answer) {
    let Some(other) = desk.agent(by).filter(|row| row.is_live()).map(|row| row.path.clone()) else { return };
    let warning = words!("`{file}` is written by `{other}` too", "`{file}` 也正由 `{other}` 写入");
    answer.context.push(format!(
        "Careful: `{file}` was written by agent `{other}`, which is still at work. Read it again before you change it, and \
         agree with `{other}` who owns it."
    ));
    desk.emit(EventKind::AgentWarned { agent, warning });
}

/// Pause, cancel, redirect: may the call run?
fn guard(
    desk: &mut Desk<'_>,
    who: &Who,
    agent: u32,
    call: &str,
    tool: &str,
    patience_is_over: bool,
) -> Answer {
    let Some(row) = desk.agent(agent) else { return Answer::default() };
    let (is_cancelled, is_paused, due) = (row.is_cancelled(), row.paused, row.due.clone());
    let of = |verb: Verb| due.iter().find(|due| due.verb == verb);
    let denial = if is_cancelled {
        go_by(desk, agent, &[Verb::Cancel]);
        Denial::Cancelled
    } else if is_paused {
        go_by(desk, agent, &[Verb::Pause, Verb::Resume]);
        if !patience_is_over {
            return Answer { guard: Guard::Hold, agent: Some(agent), ..Answer::default() };
        }
        Denial::Paused
    } else {
        go_by(desk, agent, &[Verb::Pause, Verb::Resume]);
        match of(Verb::Redirect).filter(|due| due.stage == DueStage::Recorded) {
            Some(due) => {
                desk.emit(EventKind::DirectiveDelivered { generation: due.generation, agent });
                Denial::Redirected(due.text.clone())
            }
            None => return listening(desk, who, agent),
        }
    };
    let (call, tool, reason) = (call.to_owned(), tool.to_owned(), denial.reason());
    desk.emit(EventKind::ToolDenied { agent, call, tool, reason });
    Answer { guard: Guard::Deny(denial), agent: Some(agent), ..Answer::default() }
}

/// It has heard of these, and goes by them.
fn go_by(desk: &mut Desk<'_>, agent: u32, verbs: &[Verb]) {
    let due = desk.agent(agent).map(|row| row.due.clone()).unwrap_or_default();
    for due in due.into_iter().filter(|due| verbs.contains(&due.verb)) {
        let generation = due.generation;
        if due.stage == DueStage::Recorded {
            desk.emit(EventKind::DirectiveDelivered { generation, agent });
        }
        desk.emit(EventKind::DirectiveApplied { generation, agent });
    }
}

/// Hands over what the agent has not read, if it can be told now.
fn listening(desk: &mut Desk<'_>, who: &Who, agent: u32) -> Answer {
    let mut answer = Answer { agent: Some(agent), ..Answer::default() };
    if !who.hears || who.is_late {
        return answer;
    }
    let Some(row) = desk.agent(agent).filter(|row| row.is_live()) else { return answer };
    let (count, texts) = oldest(row, MOST_CONTEXT);
    if count > 0 {
        answer.context = texts;
        desk.emit(EventKind::MessageDelivered { agent, count });
    }
    // The instruction itself is among the messages.
    let is_told = |due: &&super::rows::Due| due.verb == Verb::Redirect && due.stage == DueStage::Delivered;
    let told = desk.agent(agent).and_then(|row| row.due.iter().find(is_told)).map(|due| due.generation);
    let has_all = desk.agent(agent).is_some_and(|row| row.unread.is_empty());
    if let Some(generation) = told.filter(|_| has_all) {
        desk.emit(EventKind::DirectiveApplied { generation, agent });
    }
    answer
}

/// A redirect that came while the agent was about to end: it goes on by it.
fn unheard_redirect(desk: &mut Desk<'_>, agent: u32) -> Option<String> {
    let row = desk.agent(agent).filter(|row| row.is_live())?;
    let due = row.due.iter().find(|due| due.verb == Verb::Redirect && due.stage == DueStage::Recorded)?;
    let (generation, task) = (due.generation, due.text.clone());
    let count = u32::try_from(row.unread.len()).unwrap_or(u32::MAX);
    desk.emit(EventKind::DirectiveDelivered { generation, agent });
    if count > 0 {
        desk.emit(EventKind::MessageDelivered { agent, count });
    }
    desk.emit(EventKind::DirectiveApplied { generation, agent });
    Some(format!("The operator redirects you. This supersedes your task:\n\n{task}"))
}

fn prompted(desk: &mut Desk<'_>, who: &Who, prompt: String) -> Answer {
    let agent = match known(desk, who) {
        // Whoever was cancelled stays so, whatever is typed there.
        Some(agent) if desk.agent(agent).is_some_and(super::rows::AgentRow::is_cancelled) => agent,
        Some(agent) => {
            desk.emit(EventKind::AgentContinued { agent, node: None, prompt, delegated: None });
            agent
        }
        None => super::join::join_with(desk, who, &prompt),
    };
    listening(desk, who, agent)
}

/// The call of a host that started an agent has told its name, and perhaps how it ended.
fn bind(
    desk: &mut Desk<'_>,
    who: &Who,
    parent: u32,
    call: &str,
    spawn: Option<Spawn>,
    subagent: String,
    last: Option<String>,
) {
    let who = Who {
        subagent: Some(subagent),
        agent_type: spawn.as_ref().map(|spawn| spawn.agent_type.clone()).unwrap_or_default(),
        ..who.clone()
    };
    let agent = match known(desk, &who) {
        Some(agent) => agent,
        None => super::join::join_called(desk, &who, parent, call, spawn),
    };
    if let Some(text) = last {
        stop(desk, agent, &text);
    }
}

fn stopped(desk: &mut Desk<'_>, who: &Who, text: &str, background: Option<&[String]>) -> Answer {
    let Some(agent) = known(desk, who) else { return Answer::default() };
    let answer = Answer { agent: Some(agent), ..Answer::default() };
    if let Some(block) = unheard_redirect(desk, agent) {
        return Answer { block: Some(block), ..answer };
    }
    let mut goes_on = false;
    for child in of_session(desk, who).into_iter().filter(|child| *child != agent) {
        let subagent = desk.agent(child).and_then(|row| row.origin.subagent.clone()).unwrap_or_default();
        match background {
            Some(running) if !running.contains(&subagent) => fail(desk, child, "it ended without a word"),
            Some(_) => goes_on = true,
            // Where the host does not say, the end of the turn is the end of all.
            None => fail(desk, child, "its session ended its turn"),
        }
    }
    if goes_on && desk.agent(agent).is_some_and(super::rows::AgentRow::is_live) {
        desk.emit(EventKind::AgentWaiting { agent });
    }
    if goes_on {
        return answer;
    }
    stop(desk, agent, text);
    end_if_over(desk, agent);
    answer
}

fn session_ended(desk: &mut Desk<'_>, who: &Who, reason: &str) -> Answer {
    let own = known(desk, who);
    let ended = of_session(desk, who);
    for agent in ended.iter().rev() {
        fail(desk, *agent, &format!("its session ended ({reason})"));
    }
    if !ended.is_empty() && desk.run.live == 0 && desk.run.ended.is_none() {
        let reason = words!("the session ended ({reason})", "会话已结束（{reason}）");
        desk.emit(EventKind::RunEnded { outcome: crate::event::Outcome::Aborted, reason, result: None });
    }
    Answer { agent: own, ..Answer::default() }
}

/// Only who was cancelled has something to hear after the end: no.
fn after_the_end(desk: &mut Desk<'_>, who: &Who, input: Input) -> Answer {
    let Some(agent) = known(desk, who) else { return Answer::default() };
    if !desk.agent(agent).is_some_and(super::rows::AgentRow::is_cancelled) {
        return Answer::default();
    }
    match input {
        Input::Asks { call, tool, arguments, .. } => {
            let (name, asked) = (tool.clone(), call.clone());
            desk.emit(EventKind::ToolAsked { agent, call, tool, arguments, files: Vec::new() });
            guard(desk, who, agent, &asked, &name, false)
        }
        Input::Held { call, tool, .. } => guard(desk, who, agent, &call, &tool, false),
        _ => Answer { agent: Some(agent), ..Answer::default() },
    }
}

fn known(desk: &Desk<'_>, who: &Who) -> Option<u32> {
    desk.by_key(&key_of(&who.host, &who.session, who.subagent.as_deref()))
}

/// Live agents of the session that calls.
fn of_session(desk: &mut Desk<'_>, who: &Who) -> Vec<u32> {
    let live = desk.live();
    let is_of = |desk: &mut Desk<'_>, agent: u32| {
        desk.agent(agent).is_some_and(|row| row.origin.host == who.host && row.origin.session == who.session)
    };
    live.into_iter().filter(|agent| is_of(desk, *agent)).collect()
}

/// A line `DEPENDS_ON: builder, tester` in a prompt: the agents it is to wait for.
fn waits_of(prompt: &str) -> Vec<String> {
    const MOST: usize = 32;
    let line = |line: &str| {
        let (head, names) = line.split_once([':', '：'])?;
        let head = head.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '-' | '#'));
        head.eq_ignore_ascii_case("DEPENDS_ON").then(|| names.to_owned())
    };
    let names = prompt.lines().filter_map(line).collect::<Vec<_>>().join(",");
    let names = names.split([',', '，', '、']).map(|name| super::name::agent_name(name, "", |_| false));
    names.filter(|name| name != "agent").take(MOST).collect()
}
