//! One decision, written: events and rows in the caller's transaction, then the files for other programs.

use super::bind::{self, Reopening};
use crate::exports::outside::{self as pages, Pages};
use crate::runs::encode_short;
use crate::store::leaves::Patience;
use crate::store::outside::{Aside, Found, Rows, Step, find, write};
use crate::store::{Place, Store, StoreError};
use fugato_engine::outside::{AgentRow, Changed, Desk, Look as _, RunRow, lose};
use fugato_engine::{By, Command, EventKind, Refusal};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What was committed, as far as files show it.
#[derive(Debug)]
pub struct Written {
    id: String,
    created_at: i64,
    run: RunRow,
    agents: Vec<(u32, AgentRow, Aside)>,
    /// Everybody, when a list of them would look different now.
    all: Option<Vec<(u32, AgentRow)>>,
    pages: Pages,
    reopening: Option<Reopening>,
}

/// Writes what a decision led to. Inside a write transaction.
pub fn record(
    connection: &Connection,
    place: &Place,
    found: &Found,
    rows: &Rows<'_>,
    desk: Desk<'_>,
    imported: Imported,
) -> Result<Written, StoreError> {
    let (database, dir) = (&place.database, place.exports(&found.id));
    let sql = |error: rusqlite::Error| StoreError::sql(database, &error);
    if let Some(error) = rows.failure() {
        return Err(sql(error));
    }
    let (run, agents, changed, events) = desk.finish();
    let bytes = events
        .iter()
        .map(encode_short)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| StoreError::Io { path: database.to_owned(), detail: error.to_string() })?;
    let id_of = |agent: u32| match agents.get(&agent) {
        Some(row) => Some(row.path.clone()),
        None => rows.agent(agent).map(|row| row.path),
    };
    let gives_receipts = events.iter().any(|event| matches!(event.kind, EventKind::DirectiveApplied { .. }));
    let due: Vec<_> = if gives_receipts {
        agents.keys().filter_map(|agent| rows.agent(*agent)).flat_map(|row| row.due).collect()
    } else {
        Vec::new()
    };
    let verb_of = |generation: u64| due.iter().find(|due| due.generation == generation).map(|due| due.verb);
    let mut pages =
        Pages::gather(&events, [&imported.read, &imported.sent], found.run.agents, &id_of, &verb_of);
    for (agent, inbox) in imported.inboxes {
        pages.asides.entry(agent).or_default().inbox = Some(inbox);
    }
    for (agent, outbox) in imported.outboxes {
        pages.asides.entry(agent).or_default().outbox = Some(outbox);
    }
    let mut control = found.control.clone();
    imported.control.into_iter().for_each(|text| control.read(text));
    if let Some(bytes) = &pages.control {
        // Before the commit: whoever comes next finds file and row in agreement, and should the commit fail, what a person
        // said is still in the file. One that cannot be written is a view that is behind.
        let _ = pages::write_control(&dir, &control, bytes);
        control.wrote(String::from_utf8_lossy(bytes).into_owned());
    }
    let reopening = Reopening::prepare(&place.dir, found, rows, &run, &agents, &changed.files, &control)?;
    let step = Step {
        run: &run,
        agents: &agents,
        changed: &changed,
        asides: &pages.asides,
        control: Some(&control).filter(|control| **control != found.control),
        events: &bytes,
    };
    write(connection, found, &step).map_err(sql)?;
    let mut written = shown(found, rows, run, agents, &changed, pages).map_err(sql)?;
    written.reopening = reopening.map(|mut reopening| {
        reopening.give(&found.id, &written.agents);
        reopening
    });
    Ok(written)
}

fn shown(
    found: &Found,
    rows: &Rows<'_>,
    run: RunRow,
    agents: BTreeMap<u32, AgentRow>,
    changed: &Changed,
    pages: Pages,
) -> rusqlite::Result<Written> {
    let mut with_asides = Vec::with_capacity(agents.len());
    for (number, row) in agents {
        with_asides.push((number, row, rows.aside(number)?));
    }
    let all = if changed.shown { Some(rows.all()?) } else { None };
    let (id, created_at) = (found.id.clone(), found.created_at);
    Ok(Written { id, created_at, run, agents: with_asides, all, pages, reopening: None })
}

impl Written {
    /// Brings the files up to date. The log is the truth: what cannot be written is told, and changes nothing.
    pub fn export(&self, state: &Path) -> std::io::Result<()> {
        let dir = state.join("runs").join(&self.id);
        let mut first = self.pages.append(&dir);
        for (_, row, aside) in &self.agents {
            first = first.and(pages::write_status(&dir, row, aside));
        }
        if let Some(all) = &self.all {
            first = first.and(pages::write_run(&dir, &self.id, self.created_at, &self.run, all));
        }
        first
    }

    pub fn into_run(self) -> RunRow {
        self.run
    }
}

/// After the commit: the files, then the leaves. Of several decisions about one run the last says where its log ends.
pub fn finish(state: &Path, written: Vec<Written>) {
    let mut last = BTreeMap::new();
    for written in written {
        // The files are views: the log has it.
        let _ = written.export(state);
        last.insert(written.id.clone(), written);
    }
    for (id, written) in last {
        if let Some(reopening) = written.reopening {
            reopening.reopen(state, &id);
        }
    }
}

/// What others wrote into the files, as far as it was taken up.
#[derive(Debug, Default)]
pub struct Imported {
    /// What `control.json` said.
    pub control: Option<String>,
    /// How far each inbox was read, and the events that came of it.
    pub inboxes: Vec<(u32, u64)>,
    pub read: BTreeSet<u64>,
    /// The same of outboxes.
    pub outboxes: Vec<(u32, u64)>,
    pub sent: BTreeSet<u64>,
}

/// A command of a person about a run of agents outside: decided here and now, in the one order of all commands.
pub(crate) fn command(
    store: &Store,
    run: &str,
    command: &Command,
) -> Result<Result<(), Refusal>, StoreError> {
    let state = store.dir().to_owned();
    let dir = state.join("runs").join(run);
    let (run, command) = (run.to_owned(), command.clone());
    let redactor = store.redactor();
    let token = bind::token();
    let decide = move |connection: &Connection, place: &Place| {
        let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
        let found = find(connection, &run).map_err(sql)?;
        let mut found = found.ok_or_else(|| StoreError::UnknownRun { id: run.clone() })?;
        bind::bind(connection, place, &mut found, &token, Patience::Insist)?;
        let rows = Rows::new(connection, found.no);
        let mut desk = Desk::new(&rows, found.run.clone(), By::User, crate::runs::wall());
        let imported = super::foreign::import(&mut desk, &rows, &found, &dir, None);
        if found.lease.as_ref().is_some_and(|lease| !lease.is_alive()) {
            lose(&mut desk, super::call::is_gone);
        }
        desk.speak_as(By::User);
        let command = match &redactor {
            Some(redactor) => redacted(&command, redactor),
            None => command.clone(),
        };
        let decided = fugato_engine::outside::command(&mut desk, &command);
        let written = record(connection, place, &found, &rows, desk, imported)?;
        Ok((decided, written))
    };
    let (decided, written) = store.change_outside(decide)?;
    finish(&state, vec![written]);
    Ok(decided)
}

fn redacted(command: &Command, redactor: &crate::store::Redactor) -> Command {
    let clean = |text: &str| redactor.clean_text(text).into_owned();
    match command {
        Command::Direct { verb, target, text } => {
            Command::Direct { verb: *verb, target: target.clone(), text: text.as_deref().map(clean) }
        }
        Command::Send { to, from, text, kind } => {
            Command::Send { to: to.clone(), from: from.clone(), text: clean(text), kind: *kind }
        }
        other => other.clone(),
    }
}
