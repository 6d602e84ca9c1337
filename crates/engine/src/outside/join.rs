//! How a process outside becomes an agent of the run: found by the host's names for it, or given an id of its own.

use super::desk::Desk;
use super::name::agent_name;
use super::observe::{Spawn, Who};
use super::rows::{Stopped, key_of};
use crate::event::{AgentPath, Announced, EventKind, Origin};
use crate::plan::Access;
use std::sync::Arc;

/// The agent that calls.
pub(super) fn find_or_join(desk: &mut Desk<'_>, who: &Who) -> u32 {
    match desk.by_key(&key_of(&who.host, &who.session, who.subagent.as_deref())) {
        Some(agent) => agent,
        None => join_with(desk, who, ""),
    }
}

/// One that had ended goes on, unless it was cancelled.
pub(super) fn wake(desk: &mut Desk<'_>, agent: u32) {
    if desk.agent(agent).is_some_and(|row| matches!(row.stopped, Some(Stopped::Done | Stopped::Failed))) {
        desk.emit(EventKind::AgentContinued { agent, node: None, prompt: String::new(), delegated: None });
    }
}

/// A new agent; a subagent takes the oldest call of its session that asked for its kind.
pub(super) fn join_with(desk: &mut Desk<'_>, who: &Who, prompt: &str) -> u32 {
    if who.subagent.is_none() {
        return join_session(desk, who, prompt);
    }
    let parent = main_of(desk, who);
    match announced(desk, who) {
        Some((parent, announced)) => join(desk, who, Some(parent), &announced),
        None => {
            let announced = Announced {
                call: String::new(),
                agent_type: who.agent_type.clone(),
                description: String::new(),
                prompt: prompt.to_owned(),
                after: Vec::new(),
            };
            join(desk, who, Some(parent), &announced)
        }
    }
}

/// A new subagent of which the call that started it is known.
pub(super) fn join_called(
    desk: &mut Desk<'_>,
    who: &Who,
    parent: u32,
    call: &str,
    spawn: Option<Spawn>,
) -> u32 {
    let known = desk.run.announced.iter().find(|(_, announced)| announced.call == call).cloned();
    let Spawn { agent_type, description, prompt } = spawn.unwrap_or_default();
    let unknown = || {
        let call = call.to_owned();
        (parent, Announced { call, agent_type, description, prompt, after: Vec::new() })
    };
    let (parent, announced) = known.unwrap_or_else(unknown);
    join(desk, who, Some(parent), &announced)
}

/// The agent of the session itself.
fn main_of(desk: &mut Desk<'_>, who: &Who) -> u32 {
    let session = Who { subagent: None, agent_type: String::new(), ..who.clone() };
    find_or_join(desk, &session)
}

fn announced(desk: &mut Desk<'_>, who: &Who) -> Option<(u32, Announced)> {
    let waiting = desk.run.announced.clone();
    let fits = |by: u32, announced: &Announced, desk: &mut Desk<'_>| {
        let is_kind = who.agent_type.is_empty() || announced.agent_type == who.agent_type;
        is_kind && desk.agent(by).is_some_and(|row| row.origin.session == who.session)
    };
    waiting.into_iter().find(|(by, announced)| fits(*by, announced, desk))
}

fn join_session(desk: &mut Desk<'_>, who: &Who, prompt: &str) -> u32 {
    let is_first = desk.run.agents == 0;
    let wanted = who.name.as_deref().unwrap_or(if is_first { "main" } else { &who.host });
    let announced = Announced {
        call: String::new(),
        agent_type: who.host.clone(),
        description: wanted.to_owned(),
        prompt: prompt.to_owned(),
        after: who.after.clone(),
    };
    join(desk, who, None, &announced)
}

fn join(desk: &mut Desk<'_>, who: &Who, parent: Option<u32>, announced: &Announced) -> u32 {
    let agent = desk.run.agents;
    let role = if announced.agent_type.is_empty() { "agent" } else { &announced.agent_type };
    let path = agent_name(&announced.description, role, |name| desk.by_path(name).is_some());
    let task = if announced.prompt.is_empty() { &announced.description } else { &announced.prompt };
    desk.emit(EventKind::AgentStarted {
        agent: AgentPath::new(&path),
        node: None,
        agent_type: role.to_owned(),
        access: Access::ReadWrite,
        model: if who.model.is_empty() { who.host.clone() } else { who.model.clone() },
        system: String::new(),
        prompt: if parent.is_some() { task.clone() } else { announced.prompt.clone() },
        delegated: None,
    });
    let origin = Origin {
        host: who.host.clone(),
        session: who.session.clone(),
        subagent: who.subagent.clone(),
        process: who.process,
    };
    desk.emit(EventKind::AgentJoined {
        agent,
        origin: Arc::new(origin),
        parent,
        call: announced.call.clone(),
        description: if parent.is_some() { announced.description.clone() } else { String::new() },
        after: announced.after.clone(),
    });
    tell_what_it_waits_for(desk, agent, &announced.after);
    agent
}

fn tell_what_it_waits_for(desk: &mut Desk<'_>, agent: u32, after: &[String]) {
    if after.is_empty() {
        return;
    }
    let mut open = Vec::new();
    for on in after {
        let row = desk.by_path(on).and_then(|on| desk.agent(on));
        let word = match row {
            None => "not started yet",
            Some(row) if row.is_live() => "at work",
            Some(row) if row.stopped == Some(Stopped::Done) => continue,
            Some(_) => "ended without success",
        };
        open.push(format!("`{on}` ({word})"));
    }
    if open.is_empty() {
        return;
    }
    let list = open.join(", ");
    let text = format!(
        "You wait for: {list}. Prepare what you can; what needs their results must wait until you are told that they are done."
    );
    desk.emit(EventKind::MessageSent { to: agent, from: "user".into(), text });
}
