//! The short way of a call: an agent with a pass uses a tool. One line on the leaves of its run, its own files for other programs,
//! and no database. Whatever is not exactly as the pass says takes the long way.

use super::call::Call;
use super::marks;
use super::pass::Shown;
use crate::exports::outside as pages;
use crate::runs::encode_short;
use crate::store::leaves::{Held, Stamp};
use crate::store::process;
use fugato_engine::outside::{Input, key_of, plain_event};
use fugato_engine::{By, Event, EventKind};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Records the call if that is all there is to it; the answer then is none. `false`: nothing was recorded.
pub fn record(call: &Call, input: &Input) -> bool {
    try_record(call, input).is_some()
}

fn try_record(call: &Call, input: &Input) -> Option<()> {
    if !matches!(input, Input::Asks { spawn: None, .. } | Input::Used { spawn: None, started: None, .. }) {
        return None;
    }
    let (state, who) = (&call.state, &call.who);
    let shown = Shown::of(state, &key_of(&who.host, &who.session, who.subagent.as_deref()))?;
    let pass = &shown.pass;
    let dir = state.join("runs").join(&pass.run);
    // From here on nobody writes to the run's log, or whoever did has closed the leaves.
    let mut held = Held::take(state, &pass.run).filter(|held| held.terms.closed_by.is_none())?;
    let terms = &held.terms;
    let is_as_it_was = shown.counts()
        && terms.era == pass.era
        && terms.boot == process::boot()
        && is_held(terms.holder, pass.process)
        && terms.control == Stamp::of(&dir.join("control.json"))
        && length(&pages::agent_file(&dir, &pass.id, "inbox.jsonl")) == pass.inbox
        && length(&pages::agent_file(&dir, &pass.id, "outbox.jsonl")) == pass.outbox
        && is_store(state)
        && super::spool::is_empty(state);
    let (last, last_at) = held.end().filter(|_| is_as_it_was)?;
    let kind = plain_event(pass.agent, input)?;
    if let EventKind::ToolAsked { files, .. } = &kind
        && !marks::are_free(state, &pass.run, files, pass.agent)
    {
        return None;
    }
    // A clock that goes back does not make the log do so.
    let event = Event { v: Event::VERSION, seq: last + 1, at: call.at.max(last_at), by: By::Host, kind };
    let bytes = encode_short(&event).ok()?;
    if memchr::memchr(b'\n', &bytes).is_some() || !held.add(event.seq, event.at, &bytes) {
        return None;
    }
    // Views, in the order of the log while the leaves are held; what cannot be written changes nothing.
    let _ = pages::show_call(&dir, &event, &pass.id, pass.acked);
    Some(())
}

/// Does the run belong to a program that lives? One that is this agent's own need not be looked at.
fn is_held(holder: Option<(u32, u64)>, own: Option<(u32, u64)>) -> bool {
    match (holder, own) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(holder), Some(own)) => holder == own || process::started(holder.0) == Some(holder.1),
    }
}

/// 0: there is none.
fn length(file: &Path) -> u64 {
    std::fs::symlink_metadata(file).map_or(0, |found| found.len())
}

/// A store that is gone or no database any more cannot say what is pending.
fn is_store(state: &Path) -> bool {
    let mut head = [0; 16];
    let read = File::open(state.join("fugato.db")).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *b"SQLite format 3\0"
}
