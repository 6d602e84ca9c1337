//! Closing the leaves of a run, binding what is on them into its log, and opening them again.
//!
//! The order is what keeps a directive from being missed: inside one write transaction the leaves are closed, then bound, then
//! passes are withdrawn, then it commits; only after that the leaves are opened and passes given, and only if nobody has
//! closed them meanwhile.

use super::marks;
use super::pass::{self, Pass};
use super::step::{Imported, record};
use crate::exports::outside::read_control;
use crate::store::leaves::{self, Patience, Stamp, Terms};
use crate::store::outside::{Found, Known, Rows};
use crate::store::{Place, StoreError, process};
use fugato_engine::outside::{AgentRow, Desk, RunRow};
use fugato_engine::{By, Event};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A word nobody else has.
pub fn token() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), since.as_nanos())
}

/// Closes the leaves of a run and binds them. Inside a write transaction, before anything is decided.
pub fn bind(
    connection: &Connection,
    place: &Place,
    found: &mut Found,
    token: &str,
    patience: Patience,
) -> Result<(), StoreError> {
    if found.run.ended.is_some() {
        return Ok(());
    }
    let closed = leaves::close(&place.dir, &found.id, &process::boot(), token, patience).map_err(
        |error| match error.kind() {
            io::ErrorKind::WouldBlock => StoreError::Busy { path: leaves::dir(&place.dir, &found.id) },
            _ => StoreError::io(&leaves::dir(&place.dir, &found.id), &error),
        },
    )?;
    let known = found.run.seq;
    let rows = Rows::new(connection, found.no);
    let mut desk = Desk::new(&rows, found.run.clone(), By::Host, 0);
    for leaf in closed.leaves.iter().filter(|leaf| leaf.seq > known) {
        // Not readable by this version: everything before it is bound.
        let Ok(event) = serde_json::from_slice::<Event>(&leaf.event) else { break };
        desk.adopt(event);
    }
    found.closed = Some(leaves::Closed { leaves: Vec::new(), ..closed });
    if desk.events().is_empty() {
        return Ok(());
    }
    // Whoever added them has shown them in the files already.
    let written = record(connection, place, found, &rows, desk, Imported::default())?;
    found.run = written.into_run();
    Ok(())
}

/// What [`reopen`] needs.
#[derive(Debug)]
pub struct Reopening {
    token: String,
    run: RunRow,
    terms: Terms,
    control: Known,
    passes: Vec<Pass>,
}

impl Reopening {
    /// Takes passes away and keeps the marks, before the commit. `None`: the leaves stay closed.
    pub fn prepare(
        state: &Path,
        found: &Found,
        rows: &Rows<'_>,
        run: &RunRow,
        agents: &BTreeMap<u32, AgentRow>,
        files: &BTreeMap<String, u32>,
        control: &Known,
    ) -> Result<Option<Self>, StoreError> {
        for row in agents.values().filter(|row| !pass::is_due(run, row)) {
            pass::withdraw(state, &row.key())
                .map_err(|error| StoreError::io(&leaves::dir(state, "pass"), &error))?;
        }
        let Some(closed) = &found.closed else { return Ok(None) };
        let mark = || -> io::Result<()> {
            if !closed.marked {
                marks::begin(state, &found.id)?;
                let all = rows.files().map_err(io::Error::other)?;
                marks::keep(state, &found.id, &all)?;
            }
            marks::keep(state, &found.id, files)
        };
        // Without them every call would have to ask the database.
        if run.ended.is_none() && mark().is_err() {
            return Ok(None);
        }
        let boot = process::boot();
        let is_ours = |owner: &&crate::store::Owner| owner.boot == boot;
        let holder = found.lease.as_ref().map(|lease| &lease.owner).filter(is_ours);
        let terms = Terms {
            closed_by: None,
            era: String::new(),
            base: run.seq,
            at: run.at,
            control: None,
            holder: holder.map(|owner| (owner.pid, owner.started)),
            marked: true,
            boot,
        };
        let (run, token) = (run.clone(), closed.token.clone());
        Ok(Some(Self { token, run, terms, control: control.clone(), passes: Vec::new() }))
    }

    /// Agents whose pass is to be given.
    pub fn give(&mut self, id: &str, agents: &[(u32, AgentRow, crate::store::outside::Aside)]) {
        let plain = agents.iter().filter(|(_, row, _)| pass::is_due(&self.run, row));
        self.passes = plain
            .map(|(number, row, aside)| Pass {
                key: row.key(),
                run: id.to_owned(),
                era: String::new(),
                agent: *number,
                id: row.path.clone(),
                acked: row.acked,
                inbox: aside.inbox,
                outbox: aside.outbox,
                process: row.origin.process,
            })
            .collect();
    }

    /// After the commit. What fails leaves them closed, and the next call asks the database.
    pub fn reopen(mut self, state: &Path, id: &str) {
        if self.run.ended.is_some() {
            leaves::remove(state, id);
            return;
        }
        let dir = state.join("runs").join(id);
        self.terms.control = Stamp::of(&dir.join("control.json"));
        if let Some(stamp) = &self.terms.control {
            // A file that was changed just now may be changed again within the same tick of its clock; and what it says must
            // be what was taken up.
            let is_settled = is_old(stamp);
            let is_known = read_control(&dir).is_some_and(|found| self.control.has(&found));
            if !is_settled || !is_known {
                return;
            }
        }
        if let Ok(Some(held)) = leaves::open(state, id, &self.token, self.terms) {
            for mut pass in self.passes {
                pass.era.clone_from(&held.terms.era);
                let _ = pass.give(state);
            }
        }
    }
}

/// Clocks of file systems tick up to a hundred times a second.
fn is_old(stamp: &Stamp) -> bool {
    const TICK: Duration = Duration::from_millis(50);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed = Duration::from_nanos(u64::try_from(stamp.3).unwrap_or(0));
    since.checked_sub(changed).is_some_and(|age| age > TICK)
}
