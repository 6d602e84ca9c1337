//! What other programs wrote into `control.json` and the inboxes of a run of agents outside becomes commands.

use super::step::Imported;
use crate::exports::foreign::{Foreign, Target, read_control_json, read_jsonl};
use crate::exports::outside::{agent_file, read_control};
use crate::exports::{Action, MessageType};
use crate::store::outside::{Found, Rows};
use fugato_engine::outside::{Desk, command};
use fugato_engine::{AgentPath, By, Command, MessageKind, Verb};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// More than this at once is read with the next call.
const MOST: u64 = 1024 * 1024;

/// Takes up what is new. Of the inboxes only that of the agent that calls; `None`: no inbox.
pub fn import(
    desk: &mut Desk<'_>,
    rows: &Rows<'_>,
    found: &Found,
    dir: &Path,
    agent: Option<u32>,
) -> Imported {
    let mut imported = Imported::default();
    desk.speak_as(By::User);
    if desk.run.ended.is_none()
        && let Some(bytes) = read_control(dir).filter(|bytes| !found.control.has(bytes))
    {
        control(desk, &bytes, found.control.last());
        imported.control = Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    if let Some(agent) = agent
        && let Some(path) = desk.agent(agent).map(|row| row.path.clone())
    {
        let known = rows.aside(agent).unwrap_or_default();
        let before = desk.run.seq;
        if let Some((lines, read)) = news(&agent_file(dir, &path, "inbox.jsonl"), known.inbox) {
            lines.into_iter().for_each(|line| receive(desk, agent, &path, line));
            imported.inboxes.push((agent, read));
            imported.read.extend(before + 1..=desk.run.seq);
        }
        let before = desk.run.seq;
        if let Some((lines, read)) = news(&agent_file(dir, &path, "outbox.jsonl"), known.outbox) {
            desk.speak_as(By::Agent);
            lines.into_iter().for_each(|line| send(desk, &path, line));
            imported.outboxes.push((agent, read));
            imported.sent.extend(before + 1..=desk.run.seq);
        }
    }
    imported
}

/// A directive of another program. One that only repeats ours with a higher number acknowledges it.
fn control(desk: &mut Desk<'_>, bytes: &[u8], known: &str) {
    let ours = read_control_json(known.as_bytes()).unwrap_or_default();
    // Half written: it is read again with the next call, when it is another one.
    let Ok(theirs) = read_control_json(bytes) else { return };
    let said = |foreign: &Foreign| match foreign {
        Foreign::Directive { action, target, message, generation, .. } => {
            Some((action.clone(), target.clone(), message.clone(), *generation))
        }
        _ => None,
    };
    for foreign in &theirs {
        let Some((action, target, message, generation)) = said(foreign) else { continue };
        let repeats = |our: &Foreign| {
            said(our).is_some_and(|our| {
                (our.0, our.1, our.2) == (action.clone(), target.clone(), message.clone())
                    && generation.zip(our.3).is_some_and(|(their, our)| their > our)
            })
        };
        if ours.iter().any(repeats) {
            continue;
        }
        let verb = match action {
            Action::Pause => Verb::Pause,
            Action::Resume => Verb::Resume,
            Action::Cancel => Verb::Cancel,
            Action::Redirect => Verb::Redirect,
            Action::Other(_) => continue,
        };
        let targets = match target {
            Target::All => vec![fugato_engine::Target::All],
            Target::Agents(ids) => {
                ids.iter().map(|id| fugato_engine::Target::Agent(AgentPath::new(id))).collect()
            }
        };
        for target in targets {
            let text = Some(message.clone()).filter(|text| !text.is_empty());
            // A refusal is in the log; whoever wrote the file reads it in `control.log.jsonl`.
            let _ = command(desk, &Command::Direct { verb, target, text });
        }
    }
}

/// Lines that others appended to a file, and how far it was read, if further than before.
fn news(file: &Path, known: u64) -> Option<(Vec<Foreign>, u64)> {
    let length = std::fs::symlink_metadata(file).ok().filter(std::fs::Metadata::is_file)?.len();
    // Somebody made it shorter: what is left is not read again.
    if length <= known {
        return (length < known).then(|| (Vec::new(), length));
    }
    let mut bytes = vec![0; usize::try_from((length - known).min(MOST)).unwrap_or(0)];
    File::open(file).and_then(|file| file.read_exact_at(&mut bytes, known)).ok()?;
    // A line without its end is somebody's at work.
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    let lines = read_jsonl(bytes.get(..whole).unwrap_or_default());
    let is_news = |line: &Foreign| match line {
        // Lines with a number are our own.
        Foreign::Message { body, rest, .. } => !rest.contains_key("seq") && !body.trim().is_empty(),
        _ => false,
    };
    let lines = lines.read.into_iter().map(|(_, line)| line).filter(is_news).collect();
    (whole > 0).then_some((lines, known + whole as u64))
}

/// Somebody left an agent a message, or another task. What is refused stays in the file: the sender cannot be told.
fn receive(desk: &mut Desk<'_>, agent: u32, path: &str, line: Foreign) {
    let Foreign::Message { from, kind, body, .. } = line else { return };
    let to = fugato_engine::Target::Agent(AgentPath::new(path));
    let is_known = desk.agent(agent).is_some_and(|row| row.due.iter().any(|due| due.text == body));
    let _ = match kind {
        MessageType::Redirect if is_known => return,
        MessageType::Redirect => {
            command(desk, &Command::Direct { verb: Verb::Redirect, target: to, text: Some(body) })
        }
        _ => {
            let from = from.unwrap_or_else(|| "file".to_owned());
            command(desk, &Command::Send { to, from, text: body, kind: kind_of(&kind) })
        }
    };
}

/// An agent left a message for another one. Who it is from is not for the line to say.
fn send(desk: &mut Desk<'_>, path: &str, line: Foreign) {
    let Foreign::Message { to: Some(to), kind, body, .. } = line else { return };
    let to = match to.as_str() {
        "all" => fugato_engine::Target::All,
        id => fugato_engine::Target::Agent(AgentPath::new(id)),
    };
    let _ = command(desk, &Command::Send { to, from: path.to_owned(), text: body, kind: kind_of(&kind) });
}

fn kind_of(kind: &MessageType) -> MessageKind {
    match kind {
        MessageType::Question => MessageKind::Question,
        MessageType::Blocked => MessageKind::Blocked,
        MessageType::Result => MessageKind::Result,
        _ => MessageKind::Handoff,
    }
}
