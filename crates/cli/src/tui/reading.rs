//! What is read from the store when somebody looks at it: the page of one row, and events outside of the list's window.

use super::keys::Step;
use super::log::Entry;
use super::model::{Effect, Model, Place, View};
use super::news::{Body, News};
use super::talk::{Talk, entries};
use super::watched::Watched;
use fugato_runtime::exports::sentence_of;

/// Events of one row that are read at once.
const PAGE: usize = 200;
/// Entries of a page that are kept while somebody follows it; at times twice as many.
const MOST_ENTRIES: usize = 2_000;

impl Model {
    /// Opens the page of a row.
    pub fn open_row(&mut self, row: usize) -> Vec<Effect> {
        let Some(watched) = &mut self.watched else { return Vec::new() };
        let Some(known) = watched.roster.rows.get(row) else { return Vec::new() };
        let skipped = known.seqs.len().saturating_sub(PAGE);
        let wanted: Vec<u64> = known.seqs.iter().skip(skipped).copied().collect();
        let earlier = known.forgotten + skipped;
        watched.chosen = Some(row);
        watched.talk = Some(Talk { row, earlier, is_loading: !wanted.is_empty(), ..Talk::default() });
        let run = watched.card.id.clone();
        if self.view != View::Agent {
            self.came_from = self.view;
        }
        self.view = View::Agent;
        if wanted.is_empty() {
            return Vec::new();
        }
        vec![Effect::Load { run, row, place: Place::After, seqs: wanted }]
    }

    /// More of the beginning of the page.
    pub fn load_earlier(&mut self) -> Vec<Effect> {
        let Some(watched) = &mut self.watched else { return Vec::new() };
        let run = watched.card.id.clone();
        let Some(talk) = watched.talk.as_mut().filter(|talk| talk.earlier > 0 && !talk.is_loading) else {
            return Vec::new();
        };
        let Some(row) = watched.roster.rows.get(talk.row) else { return Vec::new() };
        let upto = talk.earlier.saturating_sub(row.forgotten);
        let from = upto.saturating_sub(PAGE);
        let seqs: Vec<u64> = row.seqs.get(from..upto).unwrap_or_default().to_vec();
        if seqs.is_empty() {
            return Vec::new();
        }
        talk.earlier = row.forgotten + from;
        talk.is_loading = true;
        vec![Effect::Load { run, row: talk.row, place: Place::Before, seqs }]
    }

    pub fn page(&mut self, run: &str, row: usize, place: Place, news: &[News]) -> Vec<Effect> {
        let lang = self.lang;
        let Some(watched) = self.watched.as_mut().filter(|watched| watched.card.id == run) else {
            return Vec::new();
        };
        let Some(talk) = watched.talk.as_mut().filter(|talk| talk.row == row) else { return Vec::new() };
        let made: Vec<_> = news.iter().flat_map(|one| entries(one, lang)).collect();
        match place {
            Place::Before => {
                talk.entries.splice(0..0, made);
            }
            Place::After => {
                talk.entries.extend(made);
                talk.upto = news.last().map_or(talk.upto, |last| last.seq.max(talk.upto));
            }
        }
        // What came while the log was read.
        let upto = talk.upto;
        let seqs = watched.roster.rows.get(row).map(|row| row.seqs.as_slice()).unwrap_or_default();
        let missed: Vec<u64> = seqs.iter().rev().take_while(|seq| **seq > upto).copied().collect();
        talk.is_loading = !missed.is_empty() && !news.is_empty();
        if !talk.is_loading {
            return Vec::new();
        }
        let seqs: Vec<u64> = missed.into_iter().rev().collect();
        vec![Effect::Load { run: run.to_owned(), row, place: Place::After, seqs }]
    }

    /// Moves in the list of events; what is not in memory there is asked for.
    pub fn go_in_events(&mut self, step: Step) -> Vec<Effect> {
        let Some(watched) = &mut self.watched else { return Vec::new() };
        let edge = watched.log.edge(step);
        let place = watched.event_place().unwrap_or(0);
        let next = step.from(place, watched.log.len());
        match (edge, step) {
            (Some(_), Step::First) => watched.chosen_event = Some(1),
            (Some(_), _) => watched.chosen_event = None,
            (None, _) => watched.choose_event(next),
        }
        let Some((from, count)) = edge.or_else(|| watched.log.wants(next)) else { return Vec::new() };
        watched.log.is_loading = true;
        vec![Effect::Read { run: watched.card.id.clone(), from, count }]
    }

    pub fn past(&mut self, run: &str, news: &[News]) {
        let lang = self.lang;
        let Some(watched) = self.watched.as_mut().filter(|watched| watched.card.id == run) else { return };
        let Some(folded) = &watched.run else { return };
        let entry = |one: &News| {
            let said = match &one.body {
                Body::Known(event) => sentence_of(&event.kind, |generation| watched.roster.verb(generation)),
                Body::Raw(_) => None,
            };
            Entry::of(one, said.map(|said| said.words), watched.roster.row_of(one, folded), lang)
        };
        let read = news.iter().map(entry).collect();
        watched.log.take(read, &watched.roster);
    }
}

impl Watched {
    /// Of a page that is followed for long, the beginning goes: it is in the log.
    pub fn shorten_talk(&mut self) {
        let Some(talk) = self.talk.as_mut().filter(|talk| talk.below == 0 && !talk.is_loading) else {
            return;
        };
        if talk.entries.len() <= 2 * MOST_ENTRIES {
            return;
        }
        talk.entries.drain(..talk.entries.len() - MOST_ENTRIES);
        let first = talk.entries.first().map_or(0, |entry| entry.seq);
        // Entries of one event stay together.
        let cut = talk.entries.iter().take_while(|entry| entry.seq == first).count();
        talk.entries.drain(..cut);
        let first = talk.entries.first().map_or(u64::MAX, |entry| entry.seq);
        if let Some(row) = self.roster.rows.get(talk.row) {
            talk.earlier = row.forgotten + row.seqs.partition_point(|seq| *seq < first);
        }
    }
}
