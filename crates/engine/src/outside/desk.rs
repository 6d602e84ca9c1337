//! Where one decision is made: the rows it has looked at, as the events it has made so far left them.

use super::rows::{AgentRow, Changed, RunRow};
use crate::event::{By, Event, EventKind};
use std::collections::BTreeMap;

/// The rows as they are stored. Asked only for what a decision needs; one that cannot be read is `None`, and whoever
/// implements this remembers why.
pub trait Look {
    fn agent(&self, number: u32) -> Option<AgentRow>;
    fn by_path(&self, path: &str) -> Option<u32>;
    /// The agent with this key, in this run.
    fn by_key(&self, key: &str) -> Option<u32>;
    /// Agents that have not ended, in order.
    fn live(&self) -> Vec<u32>;
    /// Who wrote a file last.
    fn writer_of(&self, file: &str) -> Option<u32>;
    /// The ids of all agents, for the one sentence that lists them.
    fn paths(&self) -> Vec<String>;
}

/// A run that is only beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Look for Nothing {
    fn agent(&self, _number: u32) -> Option<AgentRow> {
        None
    }

    fn by_path(&self, _path: &str) -> Option<u32> {
        None
    }

    fn by_key(&self, _key: &str) -> Option<u32> {
        None
    }

    fn live(&self) -> Vec<u32> {
        Vec::new()
    }

    fn writer_of(&self, _file: &str) -> Option<u32> {
        None
    }

    fn paths(&self) -> Vec<String> {
        Vec::new()
    }
}

pub struct Desk<'l> {
    look: &'l dyn Look,
    pub run: RunRow,
    /// Rows that were looked at or are new.
    agents: BTreeMap<u32, AgentRow>,
    events: Vec<Event>,
    changed: Changed,
    now: i64,
    by: By,
}

impl std::fmt::Debug for Desk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("run", &self.run).field("events", &self.events).finish_non_exhaustive()
    }
}

impl<'l> Desk<'l> {
    pub fn new(look: &'l dyn Look, run: RunRow, by: By, now: i64) -> Self {
        let changed = Changed::default();
        Self { look, run, agents: BTreeMap::new(), events: Vec::new(), changed, now, by }
    }

    /// Records what happened: the event, and what it makes of the rows.
    pub fn emit(&mut self, kind: EventKind) {
        // A clock that goes back does not make the log do so.
        let at = self.run.at.max(self.now);
        let event = Event { v: Event::VERSION, seq: self.run.seq + 1, at, by: self.by, kind };
        self.fold(&event);
        self.events.push(event);
    }

    /// The same for an event that was recorded beside the log: it becomes the next one.
    pub fn adopt(&mut self, mut event: Event) {
        (event.seq, event.at) = (self.run.seq + 1, event.at.max(self.run.at));
        self.fold(&event);
        self.events.push(event);
    }

    /// What is to be written.
    pub fn finish(self) -> (RunRow, BTreeMap<u32, AgentRow>, Changed, Vec<Event>) {
        let Self { run, mut agents, changed, events, .. } = self;
        agents.retain(|number, _| changed.agents.contains(number));
        (run, agents, changed, events)
    }

    /// From now on it is they who make things happen.
    pub fn speak_as(&mut self, by: By) {
        self.by = by;
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    pub fn agent(&mut self, number: u32) -> Option<&AgentRow> {
        self.load(number);
        self.agents.get(&number)
    }

    pub(super) fn change(&mut self, number: u32, change: impl FnOnce(&mut AgentRow, &mut RunRow)) {
        self.load(number);
        if let Some(row) = self.agents.get_mut(&number) {
            let before = (row.stopped, row.paused, row.report, row.waiting);
            change(row, &mut self.run);
            let after = (row.stopped, row.paused, row.report, row.waiting);
            self.changed.shown |= before != after;
            self.changed.agents.insert(number);
        }
    }

    pub(super) fn add(&mut self, row: AgentRow) {
        let number = self.run.agents;
        self.run.agents += 1;
        self.run.live += 1;
        (self.changed.run, self.changed.shown) = (true, true);
        self.changed.agents.insert(number);
        self.agents.insert(number, row);
    }

    pub(super) fn changed(&mut self) -> &mut Changed {
        &mut self.changed
    }

    fn load(&mut self, number: u32) {
        if number < self.run.agents
            && !self.agents.contains_key(&number)
            && let Some(row) = self.look.agent(number)
        {
            self.agents.insert(number, row);
        }
    }

    pub fn by_path(&self, path: &str) -> Option<u32> {
        let mut fresh = self.agents.iter();
        fresh.find(|(_, row)| row.path == path).map(|(number, _)| *number).or_else(|| self.look.by_path(path))
    }

    pub fn by_key(&self, key: &str) -> Option<u32> {
        let mut fresh = self.agents.iter();
        fresh.find(|(_, row)| row.key() == key).map(|(number, _)| *number).or_else(|| self.look.by_key(key))
    }

    /// Agents that have not ended, in order.
    pub fn live(&self) -> Vec<u32> {
        let is_live = |number: &u32| self.agents.get(number).is_none_or(AgentRow::is_live);
        let mut live: Vec<u32> = self.look.live().into_iter().filter(is_live).collect();
        let fresh = self.agents.iter().filter(|(_, row)| row.is_live()).map(|(number, _)| *number);
        live.extend(fresh);
        live.sort_unstable();
        live.dedup();
        live
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.look.paths()
    }

    pub fn writer_of(&self, file: &str) -> Option<u32> {
        self.changed.files.get(file).copied().or_else(|| self.look.writer_of(file))
    }
}
