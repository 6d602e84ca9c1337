//! The run on the screen: its fold and what the views need of it, all kept up event by event.

use super::directives::{Directive, Directives};
use super::live::Live;
use super::log::{Log, Reader};
use super::news::{Body, News};
use super::roster::{Roster, Row, State};
use super::talk::Talk;
use crate::runs::Tracer;
use fugato_engine::{EventKind, Outcome, Run};
use fugato_model::Lang;
use fugato_runtime::exports::sentence_of;
use fugato_runtime::store::{RunRow, RunStatus};

/// What lists say about a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    pub id: String,
    pub status: String,
    pub title: String,
    pub created_at: i64,
    pub updated_at: i64,
    pub last_seq: u64,
    /// Somebody works on it.
    pub is_live: bool,
}

impl From<&RunRow> for Card {
    fn from(row: &RunRow) -> Self {
        Self {
            id: row.id.clone(),
            status: row.effective_status().as_str().to_owned(),
            title: row.title.clone().or_else(|| row.skill.clone()).unwrap_or_default(),
            created_at: row.created_at,
            updated_at: row.updated_at,
            last_seq: row.last_seq,
            // Agents outside have no owner here; their runs say themselves that they are running.
            is_live: row.is_live() || row.effective_status() == RunStatus::Running,
        }
    }
}

/// One run.
#[derive(Debug, Default)]
pub struct Watched {
    pub card: Card,
    /// Until its first event is there, nothing is known.
    pub run: Option<Run>,
    pub seq: u64,
    pub roster: Roster,
    pub log: Log,
    pub directives: Directives,
    pub tracer: Tracer,
    pub talk: Option<Talk>,
    pub live: Live,
    /// Which row is chosen, by its number in the roster.
    pub chosen: Option<usize>,
    /// Which event; `None`: the newest, whatever comes.
    pub chosen_event: Option<u64>,
    pub chosen_question: usize,
    pub chosen_directive: usize,
    /// Lines above the upper edge, of views that are pictures.
    pub scroll: usize,
    forgot_at: i64,
}

impl Watched {
    pub fn new(card: Card) -> Self {
        Self { card, ..Self::default() }
    }

    /// Folds one event. One that was seen already changes nothing.
    pub fn event(&mut self, news: &News, lang: Lang) {
        if news.seq <= self.seq {
            return;
        }
        self.seq = news.seq;
        if let Body::Known(event) = &news.body {
            match &mut self.run {
                Some(run) => run.apply(event),
                None => {
                    self.run = Run::created(event);
                    if let Some(run) = &self.run {
                        self.roster = Roster::new(run);
                        self.tracer = Tracer::new(run, event.at).keeping(STEPS);
                    }
                }
            }
        }
        let Some(run) = &mut self.run else { return };
        // Nobody here does what is wanted.
        run.take_changes();
        let said = match &news.body {
            Body::Known(event) => sentence_of(&event.kind, |generation| self.roster.verb(generation))
                .map(|sentence| sentence.words),
            Body::Raw(_) => None,
        };
        let row = self.roster.event(news, said.as_ref(), run);
        if let Body::Known(event) = &news.body {
            self.tracer.event(event, run);
            self.live.event(&event.kind, run);
            if matches!(&event.kind, EventKind::RunEnded { outcome, .. } if *outcome != Outcome::BudgetExhausted)
            {
                self.tracer.close();
            }
        }
        self.directives.event(news, run);
        let reader = if self.chosen_event.is_some() { Reader::Stays } else { Reader::Follows };
        self.log.push(news, said, row, &self.roster, lang, reader);
    }

    /// The place of the chosen event in the list.
    pub fn event_place(&self) -> Option<usize> {
        let last = self.log.len().checked_sub(1)?;
        Some(self.chosen_event.map_or(last, |seq| self.log.place(seq).min(last)))
    }

    /// The last one is whatever comes last.
    pub fn choose_event(&mut self, place: usize) {
        let is_last = place + 1 >= self.log.len() && self.log.newer() == 0;
        self.chosen_event = self.log.get(place).filter(|_| !is_last).map(|entry| entry.seq);
    }

    /// Conversations of agents that ended long ago leave memory; their pages come from the log.
    pub fn forget(&mut self, now: i64) {
        if now.saturating_sub(self.forgot_at) < FORGET_MS {
            return;
        }
        self.forgot_at = now;
        if let Some(run) = &mut self.run {
            run.forgettable(now, fugato_engine::KEPT_MS).into_iter().for_each(|agent| run.forget(agent));
        }
    }

    pub fn is_loading(&self) -> bool {
        self.seq < self.card.last_seq
    }

    pub fn is_over(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.ended.is_some())
    }

    /// In one word: what the log says, unless its owner is gone.
    pub fn status(&self) -> &str {
        match &self.run {
            Some(run) if run.ended.is_some() => run.status(),
            Some(run) if self.card.is_live => run.status(),
            _ => &self.card.status,
        }
    }

    pub fn row(&self, at: usize) -> Option<(&Row, State)> {
        let row = self.roster.rows.get(at)?;
        Some((row, row.state(self.run.as_ref()?, self.card.is_live)))
    }

    /// Rows as the board shows them: number, how deep, how it stands.
    pub fn shown(&self, filter: &str, scope: Scope, lang: Lang) -> Vec<(usize, usize, State)> {
        let filter = filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&filter);
        let fits = |row: &Row, state: State| {
            let in_scope = scope == Scope::All || !(state.is_over() || state == State::Pending);
            in_scope && (filter.is_empty() || has(&row.name) || has(&row.role) || has(state.word(lang)))
        };
        let rows = self.roster.in_order().into_iter();
        let rows = rows.filter_map(|(at, depth)| self.row(at).map(|(row, state)| (at, depth, row, state)));
        rows.filter(|(_, _, row, state)| fits(row, *state))
            .map(|(at, depth, _, state)| (at, depth, state))
            .collect()
    }

    /// What was told, newest first.
    pub fn directive(&self, place: usize) -> Option<&Directive> {
        self.directives.list.iter().rev().nth(place)
    }

    /// Questions that wait for a person, by number.
    pub fn questions(&self) -> Vec<u32> {
        let run = self.run.as_ref().filter(|run| run.ended.is_none());
        run.map(|run| run.open_questions().map(|(number, _)| number).collect()).unwrap_or_default()
    }
}

/// Which rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    All,
    /// Those that have begun and not ended.
    Open,
}

const FORGET_MS: i64 = 60_000;
/// Calls of one bar of the timeline that are kept; at times twice as many.
const STEPS: usize = 1_000;
