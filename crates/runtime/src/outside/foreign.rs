//! What other programs wrote into `control.json` and the inboxes of a run of agents outside becomes commands.

use super::step::Imported;
use crate::exports::foreign::{Foreign, Target, read_control_json, read_jsonl};
use crate::exports::outside::{agent_file, read_control};
use crate::exports::{Action, MessageType};
use crate::store::outside::{Found, Rows};
use fugato_engine::outside::{Desk, command};
use fugato_engine::{AgentPath, By, Command, EventKind, Verb};
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
        let known = rows.aside(agent).map(|aside| aside.inbox).unwrap_or_default();
        let before = desk.run.seq;
        if let Some(read) = inbox(desk, agent, &agent_file(dir, &path, "inbox.jsonl"), known) {
            imported.inboxes.push((agent, read));
            imported.read.extend(before + 1..=desk.run.seq);
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
            if let Err(refusal) = command(desk, &Command::Direct { verb, target, text }) {
                let generation = generation.unwrap_or(desk.run.generation + 1);
                desk.emit(EventKind::DirectiveRefused { generation, reason: refusal.words });
            }
        }
    }
}

/// Lines that others appended to an inbox. Returns how far it was read, if further than before.
fn inbox(desk: &mut Desk<'_>, agent: u32, file: &Path, known: u64) -> Option<u64> {
    let length = std::fs::symlink_metadata(file).ok().filter(|found| found.is_file())?.len();
    // Somebody made it shorter: what is left is not read again.
    if length <= known {
        return (length < known).then_some(length);
    }
    let mut bytes = vec![0; usize::try_from((length - known).min(MOST)).unwrap_or(0)];
    File::open(file).and_then(|file| file.read_exact_at(&mut bytes, known)).ok()?;
    // A line without its end is somebody's at work.
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    let lines = read_jsonl(bytes.get(..whole).unwrap_or_default());
    let path = AgentPath::new(desk.agent(agent).map_or("", |row| &row.path));
    for (_, foreign) in lines.read {
        let Foreign::Message { from, kind, body, rest, .. } = foreign else { continue };
        // Lines with a number are our own.
        if rest.contains_key("seq") || body.trim().is_empty() {
            continue;
        }
        let target = fugato_engine::Target::Agent(path.clone());
        let asked = if kind == MessageType::Redirect {
            let is_known = desk.agent(agent).is_some_and(|row| row.due.iter().any(|due| due.text == body));
            if is_known {
                continue;
            }
            Command::Direct { verb: Verb::Redirect, target, text: Some(body) }
        } else {
            Command::Send { to: target, from: from.unwrap_or_else(|| "file".to_owned()), text: body }
        };
        // Refused for a reason the sender cannot be told: the line stays in the file.
        let _ = command(desk, &asked);
    }
    (whole > 0).then_some(known + whole as u64)
}
