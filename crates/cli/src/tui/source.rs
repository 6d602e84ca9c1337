//! Reads the store for the screen, on a thread of its own: the runs, and the events of the one on the screen. Each event is
//! read once; after that only what is new. Never writes.

use super::live::Ear;
use super::model::{Message, Place};
use super::news::{Body, News, Peeked};
use super::watched::Card;
use fugato_runtime::runs::decode;
use fugato_runtime::store::{Lookup, Reader, RunFilter, StoreError};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::{Duration, Instant};

/// What the screen wants to know.
#[derive(Debug)]
pub enum Ask {
    Watch {
        run: String,
    },
    Load {
        run: String,
        row: usize,
        place: Place,
        seqs: Vec<u64>,
    },
    /// Events in their order.
    Read {
        run: String,
        from: u64,
        count: u64,
    },
}

/// How often is looked whether anything was written: a query that reads one number.
const LOOK: Duration = Duration::from_millis(120);
/// Whether owners still live is not in the database.
const LOOK_AT_OWNERS: Duration = Duration::from_millis(1000);
/// Events in one message: the screen takes keys in between.
const CHUNK: u64 = 1000;
/// Runs in the list. More are in `fugato runs --all`.
const MOST_RUNS: u32 = 500;
/// Of an event this program does not understand.
const RAW_BYTES: usize = 2000;

/// Starts reading; ends when nobody listens any more.
pub fn start(state: PathBuf, out: SyncSender<Message>) -> Sender<Ask> {
    let (ask, asks) = channel();
    std::thread::spawn(move || {
        let mut source = Source::new(state, out);
        // The screen is gone: nobody is left to tell.
        let _ = source.serve(&asks);
    });
    ask
}

/// The other end is closed.
struct Closed;

struct Source {
    state: PathBuf,
    out: SyncSender<Message>,
    reader: Option<Reader>,
    stamp: Option<(i64, u64)>,
    looked: Option<Instant>,
    runs: Option<Vec<Card>>,
    watched: Option<Watching>,
    /// What was last complained about: once is enough.
    trouble: Option<String>,
    kinds: HashMap<String, Arc<str>>,
    /// What is said in the run on the screen.
    ear: Option<Ear>,
}

struct Watching {
    run: String,
    next: u64,
    card: Option<Card>,
}

impl Source {
    fn new(state: PathBuf, out: SyncSender<Message>) -> Self {
        Self {
            state,
            out,
            reader: None,
            stamp: None,
            looked: None,
            runs: None,
            watched: None,
            trouble: None,
            kinds: HashMap::new(),
            ear: None,
        }
    }

    fn serve(&mut self, asks: &Receiver<Ask>) -> Result<(), Closed> {
        loop {
            let is_behind = self.look()?;
            let wait = if is_behind { Duration::ZERO } else { LOOK };
            match asks.recv_timeout(wait) {
                Ok(Ask::Watch { run }) => {
                    self.ear = Ear::open(&self.state, run.clone(), self.out.clone());
                    self.watched = Some(Watching { run, next: 1, card: None });
                    self.stamp = None;
                }
                Ok(Ask::Load { run, row, place, seqs }) => self.load(run, row, place, &seqs)?,
                Ok(Ask::Read { run, from, count }) => {
                    let reader = self.reader.as_ref();
                    let read = reader.map(|reader| read(reader, &run, from, count, &mut self.kinds));
                    let news = read.and_then(Result::ok).unwrap_or_default();
                    self.tell(Message::Past { run, news })?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Closed),
            }
        }
    }

    /// Tells what is new; `true`: there is more.
    fn look(&mut self) -> Result<bool, Closed> {
        match self.look_or_fail() {
            Ok(Ok(is_behind)) => {
                self.trouble = None;
                Ok(is_behind)
            }
            Ok(Err(closed)) => Err(closed),
            Err(error) => {
                // A store that was replaced or is damaged: begin again, and say so once.
                (self.reader, self.stamp) = (None, None);
                let words = error.words();
                if self.trouble.as_ref() != Some(&words.en) {
                    self.trouble = Some(words.en.clone());
                    self.tell(Message::Trouble(words))?;
                }
                Ok(false)
            }
        }
    }

    fn look_or_fail(&mut self) -> Result<Result<bool, Closed>, StoreError> {
        if self.reader.is_none() {
            self.reader = Reader::open(&self.state)?;
        }
        let Some(reader) = &self.reader else {
            let was_told = self.runs.replace(Vec::new()).is_some();
            return Ok(if was_told {
                Ok(false)
            } else {
                self.tell(Message::Runs(Vec::new())).map(|()| false)
            });
        };
        let stamp = (reader.stamp()?, reader.stamp_outside());
        let is_time = self.looked.is_none_or(|looked| looked.elapsed() >= LOOK_AT_OWNERS);
        if self.stamp == Some(stamp) && !is_time {
            return Ok(Ok(false));
        }
        let mut messages = Vec::new();
        if is_time || self.runs.is_none() {
            self.looked = Some(Instant::now());
            let rows = reader.runs(&RunFilter { limit: Some(MOST_RUNS), ..RunFilter::default() })?;
            let cards: Vec<Card> = rows.iter().map(Card::from).collect();
            if self.runs.as_ref() != Some(&cards) {
                self.runs = Some(cards.clone());
                messages.push(Message::Runs(cards));
            }
        }
        let mut is_behind = false;
        if let Some(watched) = &mut self.watched {
            match reader.run(&watched.run) {
                Ok(row) => {
                    let card = Card::from(&row);
                    // The row first: events that were stored together with an end are there when it says so.
                    let news = read(reader, &watched.run, watched.next, CHUNK, &mut self.kinds)?;
                    watched.next += u64::try_from(news.len()).unwrap_or(0);
                    is_behind = u64::try_from(news.len()).unwrap_or(0) == CHUNK;
                    if watched.card.as_ref() != Some(&card) {
                        watched.card = Some(card.clone());
                        messages.push(Message::Card(card));
                    }
                    if !news.is_empty() {
                        messages.push(Message::News { run: watched.run.clone(), news });
                    }
                }
                Err(Lookup::Store(error)) => return Err(error),
                Err(_) => {
                    messages.push(Message::Gone { run: watched.run.clone() });
                    self.watched = None;
                }
            }
        }
        self.stamp = if is_behind { None } else { Some(stamp) };
        for message in messages {
            if let Err(closed) = self.tell(message) {
                return Ok(Err(closed));
            }
        }
        Ok(Ok(is_behind))
    }

    /// Some events again, for the page of one agent.
    fn load(&mut self, run: String, row: usize, place: Place, seqs: &[u64]) -> Result<(), Closed> {
        let mut news = Vec::with_capacity(seqs.len());
        if let Some(reader) = &self.reader {
            for seq in seqs {
                // What cannot be read is left out of the page; the list of events says what is wrong.
                news.extend(read(reader, &run, *seq, 1, &mut self.kinds).unwrap_or_default());
            }
        }
        self.tell(Message::Page { run, row, place, news })
    }

    fn tell(&self, message: Message) -> Result<(), Closed> {
        self.out.send(message).map_err(|_| Closed)
    }
}

fn read(
    reader: &Reader,
    run: &str,
    from: u64,
    limit: u64,
    kinds: &mut HashMap<String, Arc<str>>,
) -> Result<Vec<News>, StoreError> {
    let mut news = Vec::new();
    reader.events(run, from, limit)?.visit(|seq, bytes| {
        news.push(one(seq, bytes, reader, kinds));
        ControlFlow::Continue(())
    })?;
    Ok(news)
}

/// Whatever the bytes are, something can be shown.
fn one(seq: u64, bytes: &[u8], reader: &Reader, kinds: &mut HashMap<String, Arc<str>>) -> News {
    let peeked: Option<Peeked> = serde_json::from_slice(bytes).ok();
    let name = peeked.as_ref().map_or("?", |peeked| peeked.kind.name.as_str());
    let kind = match kinds.get(name) {
        Some(kind) => Arc::clone(kind),
        None => {
            let kind: Arc<str> = fugato_model::escape_for_terminal(name).into();
            kinds.insert(name.to_owned(), Arc::clone(&kind));
            kind
        }
    };
    let body = match decode(seq, bytes, reader) {
        Ok(event) => Body::Known(Box::new(event)),
        Err(_) => Body::Raw(String::from_utf8_lossy(bytes.get(..RAW_BYTES).unwrap_or(bytes)).into_owned()),
    };
    News {
        seq,
        at: peeked.as_ref().map_or(0, |peeked| peeked.at),
        kind,
        agent: peeked.as_ref().and_then(|peeked| peeked.kind.agent()),
        node: peeked.as_ref().and_then(|peeked| peeked.kind.node()),
        body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_engine::{By, Event, EventKind, Timer};
    use fugato_runtime::store::{Batch, NewRun, Owner, RunStatus, Store};
    use std::sync::mpsc::sync_channel;

    fn event(seq: u64) -> Vec<u8> {
        let kind = EventKind::TimerFired { timer: Timer::Wall };
        let at = i64::try_from(seq).unwrap();
        serde_json::to_vec(&Event { v: Event::VERSION, seq, at, by: By::Timer, kind }).unwrap()
    }

    fn next(messages: &Receiver<Message>) -> Message {
        messages.recv_timeout(Duration::from_secs(60)).expect("a message")
    }

    /// Numbers of news until the last one is there.
    fn heard(messages: &Receiver<Message>, last: u64) -> Vec<u64> {
        let mut seqs = Vec::new();
        while seqs.last() != Some(&last) {
            if let Message::News { news, .. } = next(messages) {
                assert!(u64::try_from(news.len()).unwrap() <= CHUNK);
                seqs.extend(news.iter().map(|one| one.seq));
            }
        }
        seqs
    }

    #[test]
    fn each_event_is_told_once_in_pieces_and_then_only_what_is_new() {
        let dir = tempfile::tempdir().unwrap();
        let (out, messages) = sync_channel(8);
        let asks = start(dir.path().to_owned(), out);
        // Nothing is there yet; a store that appears is seen.
        assert!(matches!(next(&messages), Message::Runs(cards) if cards.is_empty()));
        let store = Store::open(dir.path()).unwrap();
        let mut events: Vec<Vec<u8>> = (1..=2500).map(event).collect();
        events[6] =
            br#"{"v":1,"seq":7,"at":7,"by":"host","kind":{"type":"agent.levitated","agent":3}}"#.to_vec();
        let run = NewRun {
            id: "run_a".into(),
            status: RunStatus::Running,
            skill: None,
            title: None,
            created_at: 0,
            parent: None,
            events,
        };
        store.create_run(run).unwrap();
        while !matches!(next(&messages), Message::Runs(cards) if cards.len() == 1) {}
        asks.send(Ask::Watch { run: "run_a".into() }).unwrap();
        assert_eq!(heard(&messages, 2500), (1..=2500).collect::<Vec<u64>>());
        let lease = store.acquire("run_a", &Owner::this_process()).unwrap();
        let batch = Batch {
            run: "run_a".into(),
            epoch: lease.epoch,
            first_seq: 2501,
            events: vec![event(2501), event(2502)],
            summary: None,
            answers: Vec::new(),
        };
        store.append(batch).wait().unwrap();
        assert_eq!(heard(&messages, 2502), [2501, 2502]);
        let seqs = vec![7, 9, 2502];
        asks.send(Ask::Load { run: "run_a".into(), row: 0, place: Place::After, seqs: seqs.clone() })
            .unwrap();
        let page = loop {
            if let Message::Page { news, .. } = next(&messages) {
                break news;
            }
        };
        assert_eq!(page.iter().map(|one| one.seq).collect::<Vec<_>>(), seqs);
        // A kind of a later version is shown as it stands.
        assert!(
            matches!(page.first(), Some(News { body: Body::Raw(text), .. }) if text.contains("levitated"))
        );
    }
}
