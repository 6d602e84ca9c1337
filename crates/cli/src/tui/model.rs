//! What the screen is about, and how it changes: `update` takes a message and gives back what is to be done. No I/O, no
//! clock: the time comes with [`Model::now`], the size of the screen as a message.

pub use super::messages::{Action, ActionEnd, Effect, Message, Place, Sent, Status, Tone, Unowned, What};
use super::modes::Mode;
use super::news::News;
use super::watched::{Card, Scope, Watched};
use crate::render::Width;
use fugato_model::{Lang, Words, words};

/// Everything on the screen.
#[derive(Debug)]
pub struct Model {
    pub lang: Lang,
    pub width: Width,
    pub columns: usize,
    pub rows: usize,
    /// Milliseconds since 1970.
    pub now: i64,
    pub runs: Runs,
    pub chosen_run: usize,
    pub watched: Option<Watched>,
    pub view: View,
    /// Where Esc leads from the page of an agent.
    pub came_from: View,
    pub mode: Mode,
    pub filter: String,
    pub scope: Scope,
    /// Clicks and the wheel come here.
    pub has_mouse: bool,
    /// Whether a timeline shows every call.
    pub is_deep: bool,
    pub status: Option<Status>,
    /// What was told to runs from here, newest last.
    pub sent: Vec<Sent>,
    /// Something on the screen has changed since it was drawn.
    pub is_stale: bool,
    start: Start,
    next_action: u64,
}

/// What is known of the runs of this project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runs {
    Unknown,
    Known(Vec<Card>),
}

/// With which run it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The only one there is or that somebody works on; else the list.
    Choose,
    Run(String),
    /// The beginning is over.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View {
    Runs,
    Board,
    Graph,
    Timeline,
    Events,
    Agent,
    Inbox,
    Control,
    Policy,
}

impl View {
    /// In the order of their numbers, from 1.
    pub const ALL: [Self; 8] = [
        Self::Board,
        Self::Graph,
        Self::Timeline,
        Self::Events,
        Self::Agent,
        Self::Inbox,
        Self::Control,
        Self::Policy,
    ];

    pub fn name(self, lang: Lang) -> &'static str {
        let (english, chinese) = match self {
            Self::Runs => ("Runs", "运行"),
            Self::Board => ("Board", "看板"),
            Self::Graph => ("Graph", "图"),
            Self::Timeline => ("Timeline", "时间线"),
            Self::Events => ("Events", "事件"),
            Self::Agent => ("Agent", "代理"),
            Self::Inbox => ("Inbox", "待办"),
            Self::Control => ("Control", "干预"),
            Self::Policy => ("Policy", "策略"),
        };
        if lang == Lang::En { english } else { chinese }
    }
}

/// A status line stays this long.
const STATUS_MS: i64 = 10_000;
/// What was sent from here and is remembered.
const MOST_SENT: usize = 500;

impl Model {
    pub fn new(lang: Lang, width: Width, start: Start) -> Self {
        Self {
            lang,
            width,
            columns: 80,
            rows: 24,
            now: 0,
            runs: Runs::Unknown,
            chosen_run: 0,
            watched: None,
            view: View::Runs,
            came_from: View::Board,
            mode: Mode::Normal,
            filter: String::new(),
            scope: Scope::All,
            has_mouse: true,
            is_deep: false,
            status: None,
            sent: Vec::new(),
            is_stale: true,
            start,
            next_action: 1,
        }
    }

    pub fn update(&mut self, message: Message) -> Vec<Effect> {
        if let Message::Tick = message {
            self.tick();
            return Vec::new();
        }
        self.is_stale = true;
        match message {
            Message::Key(key) => self.key(key),
            Message::Paste(text) => {
                self.paste(&text);
                Vec::new()
            }
            Message::Mouse(mouse) => self.mouse(mouse),
            Message::Past { run, news } => {
                self.past(&run, &news);
                Vec::new()
            }
            Message::Spoken { run, spoken } => {
                if let Some(watched) = self.watched.as_mut().filter(|watched| watched.card.id == run) {
                    watched.live.hears(spoken);
                }
                Vec::new()
            }
            Message::Resize(columns, rows) => {
                (self.columns, self.rows) = (columns, rows);
                Vec::new()
            }
            Message::Tick => Vec::new(),
            Message::Runs(cards) => self.runs_known(cards),
            Message::Card(card) => {
                if let Some(watched) = self.watched.as_mut().filter(|watched| watched.card.id == card.id) {
                    watched.card = card;
                }
                Vec::new()
            }
            Message::News { run, news } => {
                self.heard(&run, &news);
                Vec::new()
            }
            Message::Page { run, row, place, news } => self.page(&run, row, place, &news),
            Message::Gone { run } => {
                self.gone(&run);
                Vec::new()
            }
            Message::Acted { id, end } => {
                self.acted(id, end);
                Vec::new()
            }
            Message::Trouble(words) => {
                self.say(Tone::Bad, &words);
                Vec::new()
            }
            Message::End(exit) => vec![Effect::Quit(exit)],
        }
    }

    /// Only what shows the time must be drawn again.
    fn tick(&mut self) {
        let now = self.now;
        if self.status.as_ref().is_some_and(|status| status.tone != Tone::Busy && now - status.at > STATUS_MS)
        {
            self.status = None;
            self.is_stale = true;
        }
        if let Some(watched) = &mut self.watched {
            watched.forget(now);
            if watched.card.is_live && !watched.is_over() {
                // Bars under way grow.
                watched.tracer.trace.to = watched.tracer.trace.to.max(now);
                self.is_stale = true;
            }
        }
        let has_live =
            |runs: &Runs| matches!(runs, Runs::Known(cards) if cards.iter().any(|card| card.is_live));
        self.is_stale |= self.view == View::Runs && has_live(&self.runs);
    }

    fn runs_known(&mut self, cards: Vec<Card>) -> Vec<Effect> {
        let chosen = self.card().map(|card| card.id.clone());
        self.runs = Runs::Known(cards);
        let Runs::Known(cards) = &self.runs else { return Vec::new() };
        let place = chosen.and_then(|id| cards.iter().position(|card| card.id == id));
        self.chosen_run = place.unwrap_or(self.chosen_run).min(cards.len().saturating_sub(1));
        match &self.start {
            Start::Done => Vec::new(),
            Start::Run(id) => {
                let id = id.clone();
                self.open(&id)
            }
            Start::Choose => {
                let mut live = cards.iter().filter(|card| card.is_live);
                let only = match (live.next(), live.next(), cards.as_slice()) {
                    (Some(card), None, _) | (None, None, [card]) => Some(card.id.clone()),
                    _ => None,
                };
                if !cards.is_empty() {
                    self.start = Start::Done;
                }
                only.map(|id| self.open(&id)).unwrap_or_default()
            }
        }
    }

    /// The run on which the cursor stands in the list.
    pub fn card(&self) -> Option<&Card> {
        self.cards().get(self.chosen_run).copied()
    }

    /// Those that fit the filter.
    pub fn cards(&self) -> Vec<&Card> {
        let Runs::Known(cards) = &self.runs else { return Vec::new() };
        let filter = if self.view == View::Runs { self.filter.to_lowercase() } else { String::new() };
        let fits = |card: &&Card| {
            let has = |text: &str| text.to_lowercase().contains(&filter);
            filter.is_empty() || has(&card.id) || has(&card.title) || has(&card.status)
        };
        cards.iter().filter(fits).collect()
    }

    pub fn open(&mut self, id: &str) -> Vec<Effect> {
        self.start = Start::Done;
        self.set_filter("");
        (self.view, self.mode) = (View::Board, Mode::Normal);
        if self.watched.as_ref().is_some_and(|watched| watched.card.id == id) {
            return Vec::new();
        }
        let Runs::Known(cards) = &self.runs else { return Vec::new() };
        let card = cards.iter().find(|card| card.id == id).cloned();
        let card = card.unwrap_or_else(|| Card { id: id.to_owned(), ..Card::default() });
        self.watched = Some(Watched::new(card));
        vec![Effect::Watch { run: id.to_owned() }]
    }

    fn heard(&mut self, run: &str, news: &[News]) {
        let (lang, columns, width) = (self.lang, self.columns, self.width);
        let Some(watched) = self.watched.as_mut().filter(|watched| watched.card.id == run) else { return };
        for one in news {
            let before = watched.seq;
            watched.event(one, lang);
            let is_new = watched.seq > before;
            let row_of = |watched: &Watched, row: usize| {
                let seqs = watched.roster.rows.get(row).map(|row| row.seqs.as_slice());
                seqs.and_then(<[u64]>::last) == Some(&one.seq)
            };
            if is_new && watched.talk.as_ref().is_some_and(|talk| row_of(watched, talk.row)) {
                watched.talk.iter_mut().for_each(|talk| talk.push(one, lang, columns, width));
                watched.shorten_talk();
            }
        }
        watched.card.last_seq = watched.card.last_seq.max(watched.seq);
    }

    fn gone(&mut self, run: &str) {
        if self.watched.as_ref().is_some_and(|watched| watched.card.id == run) {
            self.watched = None;
            (self.view, self.mode) = (View::Runs, Mode::Normal);
            self.say(Tone::Bad, &words!("run {run} was removed", "运行 {run} 已被移除"));
        }
    }

    /// Sends something, and says so.
    pub fn act(&mut self, what: What, line: String) -> Vec<Effect> {
        let Some(run) = self.watched.as_ref().map(|watched| watched.card.id.clone()) else {
            return Vec::new();
        };
        let id = self.next_action;
        self.next_action += 1;
        self.sent.push(Sent { id, run: run.clone(), line: line.clone(), end: None });
        let extra = self.sent.len().saturating_sub(MOST_SENT);
        self.sent.drain(..extra);
        let text = words!("sent: {line}", "已发送：{line}").in_lang(self.lang).to_owned();
        self.status = Some(Status { tone: Tone::Busy, text, at: self.now, line: Some(line) });
        vec![Effect::Act(Action { id, run, what })]
    }

    fn acted(&mut self, id: u64, end: ActionEnd) {
        let Some(sent) = self.sent.iter_mut().find(|sent| sent.id == id) else { return };
        sent.end = Some(end.clone());
        let line = sent.line.clone();
        let (tone, words) = match end {
            ActionEnd::Applied => (Tone::Good, words!("applied: {line}", "已生效：{line}")),
            ActionEnd::Recorded => {
                (Tone::Plain, words!("recorded, not taken yet: {line}", "已记录，尚未处理：{line}"))
            }
            ActionEnd::Unowned => (
                Tone::Plain,
                words!(
                    "recorded; nobody works on the run. Go on with it: c",
                    "已记录；没有进程在执行该运行。按 c 继续"
                ),
            ),
            ActionEnd::WentOn => (Tone::Good, words!("it goes on in the background", "已在后台继续运行")),
            ActionEnd::Refused(why) => {
                let (en, zh) = (why.en, why.zh);
                (Tone::Bad, words!("refused: {en}", "已拒绝：{zh}"))
            }
            ActionEnd::Failed(why) => {
                let (en, zh) = (why.en, why.zh);
                (Tone::Bad, words!("failed: {en}", "失败：{zh}"))
            }
        };
        self.say(tone, &words);
        if let Some(status) = &mut self.status {
            status.line = Some(line);
        }
    }

    pub fn say(&mut self, tone: Tone, words: &Words) {
        let text = words.in_lang(self.lang).to_owned();
        self.status = Some(Status { tone, text, at: self.now, line: None });
    }

    pub fn set_filter(&mut self, filter: &str) {
        filter.clone_into(&mut self.filter);
        if let Some(watched) = &mut self.watched {
            watched.log.filter(filter, &watched.roster);
        }
        if self.view == View::Runs {
            self.chosen_run = 0;
        }
    }
}
