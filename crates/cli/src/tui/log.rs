//! The events of a run as lines: a window of them, mostly the newest, and those of them that fit the filter. What is outside of
//! the window is read from the store when somebody goes there.

use super::keys::Step;
use super::news::{Body, News};
use super::roster::Roster;
use fugato_engine::{EventKind, Outcome, Target, Verb};
use fugato_model::{Lang, Words, escape_for_terminal, words};
use std::collections::VecDeque;
use std::sync::Arc;

/// One line to be.
#[derive(Clone, Debug)]
pub struct Entry {
    pub seq: u64,
    pub at: i64,
    pub kind: Arc<str>,
    pub row: Option<usize>,
    pub text: String,
    pub is_bad: bool,
}

/// Lines, oldest first, without a gap.
#[derive(Debug, Default)]
pub struct Log {
    entries: VecDeque<Entry>,
    /// The last event there is.
    newest: u64,
    /// Others are being read.
    pub is_loading: bool,
    /// Numbers of those that fit, while there is a filter.
    fitting: Option<VecDeque<u64>>,
    filter: String,
    pub start: Option<i64>,
}

/// Whether new lines move the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Follows,
    /// Somebody reads further up.
    Stays,
}

/// Lines in memory: two or three megabytes, whatever the length of the run.
pub const MOST: usize = 10_000;
/// Read at once when somebody goes beyond them.
pub const CHUNK: u64 = 2_000;
/// So near to the edge of the window the next lines are asked for.
const NEAR: usize = 100;

impl Log {
    pub fn push(
        &mut self,
        news: &News,
        said: Option<Words>,
        row: Option<usize>,
        roster: &Roster,
        lang: Lang,
        reader: Reader,
    ) {
        self.start.get_or_insert(news.at);
        let is_next = self.newer() == 0;
        self.newest = self.newest.max(news.seq);
        if !is_next || (reader == Reader::Stays && self.entries.len() >= MOST) {
            return;
        }
        let entry = Entry::of(news, said, row, lang);
        if fits(&entry, &self.filter, roster)
            && let Some(fitting) = &mut self.fitting
        {
            fitting.push_back(entry.seq);
        }
        self.entries.push_back(entry);
        if self.entries.len() > MOST {
            let gone = self.entries.pop_front().map_or(0, |entry| entry.seq);
            if let Some(fitting) = &mut self.fitting
                && fitting.front() == Some(&gone)
            {
                fitting.pop_front();
            }
        }
    }

    /// Events before the window.
    pub fn older(&self) -> u64 {
        self.entries.front().map_or(0, |entry| entry.seq.saturating_sub(1))
    }

    /// Events after it.
    pub fn newer(&self) -> u64 {
        self.entries.back().map_or(0, |entry| self.newest.saturating_sub(entry.seq))
    }

    /// The events to be read when somebody stands at this place: the first one, and how many.
    pub fn wants(&self, place: usize) -> Option<(u64, u64)> {
        let (first, last) = (self.entries.front()?.seq, self.entries.back()?.seq);
        if self.is_loading {
            return None;
        }
        if place < NEAR && first > 1 {
            let from = first.saturating_sub(CHUNK).max(1);
            return Some((from, first - from));
        }
        (self.newer() > 0 && place + NEAR >= self.len()).then(|| (last + 1, CHUNK.min(self.newer())))
    }

    /// The beginning or the end of the run, when it is not here.
    pub fn edge(&self, step: Step) -> Option<(u64, u64)> {
        match step {
            Step::First if self.older() > 0 => Some((1, CHUNK)),
            Step::Last if self.newer() > 0 => {
                let from = self.newest.saturating_sub(CHUNK - 1).max(1);
                Some((from, CHUNK))
            }
            _ => None,
        }
    }

    /// Lines that were read: beside those that are here, or instead of them.
    pub fn take(&mut self, read: Vec<Entry>, roster: &Roster) {
        self.is_loading = false;
        let (Some(first), Some(last)) = (read.first(), read.last()) else { return };
        let front = self.entries.front().map(|entry| entry.seq);
        let back = self.entries.back().map(|entry| entry.seq);
        if front == Some(last.seq + 1) {
            read.into_iter().rev().for_each(|entry| self.entries.push_front(entry));
            self.entries.truncate(MOST);
        } else if back.map(|back| back + 1) == Some(first.seq) {
            self.entries.extend(read);
            let extra = self.entries.len().saturating_sub(MOST);
            self.entries.drain(..extra);
        } else {
            self.newest = self.newest.max(last.seq);
            self.entries = read.into();
        }
        let filter = std::mem::take(&mut self.filter);
        self.fitting = None;
        self.filter(&filter, roster);
    }

    pub fn filter(&mut self, filter: &str, roster: &Roster) {
        let filter = filter.to_lowercase();
        if filter == self.filter {
            return;
        }
        self.filter = filter;
        self.fitting = (!self.filter.is_empty()).then(|| {
            let fitting = self.entries.iter().filter(|entry| fits(entry, &self.filter, roster));
            fitting.map(|entry| entry.seq).collect()
        });
    }

    pub fn len(&self) -> usize {
        self.fitting.as_ref().map_or(self.entries.len(), VecDeque::len)
    }

    /// The nth that fits.
    pub fn get(&self, nth: usize) -> Option<&Entry> {
        match &self.fitting {
            None => self.entries.get(nth),
            Some(fitting) => self.by_seq(*fitting.get(nth)?),
        }
    }

    /// Which place the event with this number has, or the next one that is there.
    pub fn place(&self, seq: u64) -> usize {
        match &self.fitting {
            None => self.entries.partition_point(|entry| entry.seq < seq),
            Some(fitting) => fitting.partition_point(|own| *own < seq),
        }
    }

    fn by_seq(&self, seq: u64) -> Option<&Entry> {
        let at = self.entries.partition_point(|entry| entry.seq < seq);
        self.entries.get(at).filter(|entry| entry.seq == seq)
    }
}

impl Entry {
    pub fn of(news: &News, said: Option<Words>, row: Option<usize>, lang: Lang) -> Self {
        let (told, is_bad) = told(news, said);
        let text = if lang == Lang::En { told.en } else { told.zh };
        Self { seq: news.seq, at: news.at, kind: news.kind.clone(), row, text, is_bad }
    }
}

fn fits(entry: &Entry, filter: &str, roster: &Roster) -> bool {
    let has = |text: &str| text.to_lowercase().contains(filter);
    filter.is_empty()
        || has(&entry.kind)
        || has(&entry.text)
        || entry.row.and_then(|row| roster.rows.get(row)).is_some_and(|row| has(&row.name))
}

/// The sentence of an event, and whether it is bad news.
fn told(news: &News, said: Option<Words>) -> (Words, bool) {
    let event = match &news.body {
        Body::Known(event) => event,
        Body::Raw(text) => {
            let text = escape_for_terminal(text).into_owned();
            return (words!("{text}", "{text}"), false);
        }
    };
    let is_bad = match &event.kind {
        EventKind::ToolCompleted { is_error, .. } | EventKind::AgentActed { is_error, .. } => *is_error,
        EventKind::RunEnded { outcome, .. } => *outcome != Outcome::Complete,
        EventKind::NodeFailed { .. }
        | EventKind::ModelFailed { .. }
        | EventKind::ToolRefused { .. }
        | EventKind::DirectiveRefused { .. } => true,
        _ => false,
    };
    (said.unwrap_or_else(|| of_run(&event.kind)), is_bad)
}

/// What happens to the run as a whole.
fn of_run(kind: &EventKind) -> Words {
    match kind {
        EventKind::RunCreated { spec } => {
            let title = escape_for_terminal(&spec.title).into_owned();
            words!("{title}", "{title}")
        }
        EventKind::RunRecovered { .. } => words!("another process took the run over", "另一个进程接管了运行"),
        EventKind::LimitsRaised { .. } => words!("its limits were raised", "限额已提高"),
        EventKind::RunEnded { reason, .. } => {
            let (en, zh) = (escape_for_terminal(&reason.en), escape_for_terminal(&reason.zh));
            words!("{en}", "{zh}")
        }
        EventKind::TimerFired { .. } => words!("its time is used up", "时间已用完"),
        EventKind::DirectiveRecorded { verb, target, text, .. } => {
            let line = directive(*verb, target, text.as_deref());
            words!("{line}", "{line}")
        }
        EventKind::DirectiveRefused { reason, .. } => {
            let (en, zh) = (escape_for_terminal(&reason.en), escape_for_terminal(&reason.zh));
            words!("{en}", "{zh}")
        }
        EventKind::AgentQueued { agent, .. } => {
            let agent = escape_for_terminal(agent.as_str()).into_owned();
            words!("{agent} is to start", "{agent} 即将启动")
        }
        EventKind::AgentHosted { .. } => words!("its program has a conversation", "其程序已开始对话"),
        _ => words!("", ""),
    }
}

/// `redirect builder: use SQLite`, as people type it.
pub fn directive(verb: Verb, target: &Target, text: Option<&str>) -> String {
    let verb = verb_word(verb);
    let target = match target {
        Target::All => "all",
        Target::Agent(path) => path.as_str(),
    };
    let text = text.map(|text| format!(": {text}")).unwrap_or_default();
    escape_for_terminal(&format!("{verb} {target}{text}")).into_owned()
}

pub fn verb_word(verb: Verb) -> &'static str {
    match verb {
        Verb::Pause => "pause",
        Verb::Resume => "resume",
        Verb::Cancel => "cancel",
        Verb::Redirect => "redirect",
        Verb::Restart => "restart",
    }
}
