//! From a decision to its effects: events are handed to the store in parts, and while those are on their way to the disk
//! the next inputs are decided. What a part asked for is started, stopped and told when that part is durable, never before;
//! parts become durable in the order in which they were decided, so a log that ends early is still a prefix. What asks for
//! nothing outside has its outcome at once: there is nothing that could have been done twice.

use super::{AskedBy, Notice, Queued, RunError, Session, Stored, status_of};
use crate::runs::commands::write_answer;
use crate::runs::journal;
use crate::runs::washing;
use crate::store::{Batch, Receipt, RunSummary, StoreError};
use fugato_engine::{Change, Completion, Effect, EffectKey, Event, Input, Refusal};
use fugato_model::words;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::oneshot;

/// So many events are worth a transaction of their own while the rest is decided.
const PART: usize = 512;

/// So many parts may be on their way at once: one that is written, and others that are written together next.
const ON_THE_WAY: usize = 6;

/// So many inputs are decided while something is on its way. Fewer wait, and are then decided and stored together: a
/// commit costs more than they do.
const MANY: usize = 128;

type Reply = (oneshot::Sender<Result<(), Refusal>>, Result<(), Refusal>);

/// What was decided and goes to the store together.
#[derive(Default)]
struct Part {
    events: Vec<Event>,
    changes: Vec<Change>,
    answers: Vec<(i64, String)>,
    replies: Vec<Reply>,
}

/// A part that the store has, and what follows from it when it is durable.
pub(super) struct OnTheWay {
    events: Vec<Event>,
    changes: Vec<Change>,
    /// Those of the changes that stop something: hardly ever any.
    dropped: Vec<EffectKey>,
    replies: Vec<Reply>,
    receipt: Receipt,
}

/// Waits for the part that was handed over first; for ever when there is none.
pub(super) async fn first(on_the_way: &mut VecDeque<OnTheWay>) -> Result<(), StoreError> {
    match on_the_way.front_mut() {
        Some(part) => (&mut part.receipt).await,
        None => std::future::pending().await,
    }
}

impl OnTheWay {
    /// A run that does not exist before this is durable.
    pub fn creation(created: Event, receipt: Receipt) -> Self {
        Self::new(vec![created], Vec::new(), Vec::new(), receipt)
    }

    fn new(events: Vec<Event>, changes: Vec<Change>, replies: Vec<Reply>, receipt: Receipt) -> Self {
        let drop = |change: &Change| match change {
            Change::Dropped(key) => Some(*key),
            Change::Wanted(_) => None,
        };
        let dropped = changes.iter().filter_map(drop).collect();
        Self { events, changes, dropped, replies, receipt }
    }
}

impl Session {
    /// Decides what is queued and hands it to the store. The events of one decision stay together.
    pub(super) fn decide(&mut self) -> Result<(), RunError> {
        // A run begins while it is created, and nothing that is in memory alone waits for the disk.
        let is_ready = |queued: &Queued| {
            matches!(queued.input, Input::Go | Input::Completed { completion: Completion::Noop, .. })
        };
        let waits = self.queue.len() < MANY && !self.queue.front().is_some_and(is_ready);
        if !self.on_the_way.is_empty() && waits {
            return Ok(());
        }
        let mut part = Part::default();
        while self.on_the_way.len() < ON_THE_WAY
            && let Some(queued) = self.queue.pop_front()
        {
            self.decide_one(queued, &mut part);
            self.sort_out(&mut part);
            if part.events.len() >= PART {
                self.hand_over(std::mem::take(&mut part))?;
            }
        }
        self.hand_over(part)
    }

    fn decide_one(&mut self, queued: Queued, part: &mut Part) {
        let Queued { mut input, asked_by } = queued;
        if let Some(redactor) = self.store.redactor() {
            washing::input(&redactor, &mut input);
        }
        let is_unknown = matches!((&input, &asked_by), (Input::Go, AskedBy::Command(_) | AskedBy::File(..)));
        let now = self.clock.now();
        let directive = match &input {
            Input::Direct { verb, target, text } => Some((*verb, target.clone(), text.clone())),
            _ => None,
        };
        let is_directive = directive.is_some();
        let decided = match is_unknown {
            true => Err(Refusal { words: words!("unknown command", "未知命令") }),
            false => self.run.decide_into(input, now, &mut part.events),
        };
        if let (Some((verb, target, text)), Err(refusal)) = (directive, &decided) {
            part.events.extend(self.run.refused(verb, target, text, refusal, now));
        }
        match asked_by {
            AskedBy::Nobody => {}
            AskedBy::Caller => self.refused = self.refused.take().or(decided.err()),
            AskedBy::Here(reply) => part.replies.push((reply, decided)),
            AskedBy::Command(id) => part.answers.push((id, write_answer(&decided))),
            AskedBy::File(id, file) => {
                if let (Err(refusal), false) = (&decided, is_directive) {
                    let skipped = Input::Skipped { file, problem: refusal.words.clone() };
                    part.events.extend(self.run.decide(skipped, now).unwrap_or_default());
                }
                part.answers.push((id, write_answer(&decided)));
            }
        }
    }

    /// What is wanted now waits for its part to be durable; what is nothing has been done.
    fn sort_out(&mut self, part: &mut Part) {
        for change in self.run.take_changes() {
            match change {
                Change::Wanted(key) if self.run.effect(key) == Some(&Effect::Noop) => {
                    self.queue.push_back(Input::Completed { key, completion: Completion::Noop }.into());
                }
                change => part.changes.push(change),
            }
        }
    }

    fn hand_over(&mut self, part: Part) -> Result<(), RunError> {
        let Part { events, changes, answers, replies } = part;
        if events.is_empty() && answers.is_empty() {
            // A refusal leaves nothing to store; it is told in its turn all the same.
            match self.on_the_way.back_mut() {
                Some(last) => {
                    last.replies.extend(replies);
                    self.store.nudge();
                }
                None => tell(replies),
            }
            return Ok(());
        }
        let batch = Batch {
            run: self.run.spec.id.clone(),
            epoch: self.lease.epoch,
            first_seq: events.first().map_or(self.run.seq + 1, |event| event.seq),
            events: events
                .iter()
                .map(|event| journal::encode(event, &self.store))
                .collect::<Result<_, _>>()?,
            summary: Some(RunSummary {
                status: status_of(&self.run),
                title: None,
                updated_at: self.clock.now(),
                details: None,
            }),
            answers,
        };
        let receipt = self.lease.append(batch);
        self.on_the_way.push_back(OnTheWay::new(events, changes, replies, receipt));
        Ok(())
    }

    /// The part that was handed over first is durable, or never will be.
    pub(super) fn stored(&mut self, outcome: Result<(), StoreError>) -> Result<(), RunError> {
        let Some(OnTheWay { events, changes, replies, .. }) = self.on_the_way.pop_front() else {
            return Ok(());
        };
        outcome?;
        self.tell_stored(events);
        tell(replies);
        // A session that ends with a refusal starts nothing.
        if self.refused.is_none() {
            self.reconcile(changes);
        }
        Ok(())
    }

    /// The files for other programs, and whoever watches.
    pub(super) fn tell_stored(&mut self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let part = Arc::new(events);
        self.exporter.committed(&part);
        for event in Stored::each(&part) {
            self.world.hosts.recorded(&event.kind, &self.run);
            (self.watcher)(Notice::Event(event));
        }
    }

    /// Starts what is wanted and not under way, stops what is under way and not wanted.
    fn reconcile(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Dropped(key) => {
                    if let Some(token) = self.under_way.remove(&key) {
                        token.cancel();
                    }
                }
                // What will be stopped as soon as the next part is durable is not begun.
                Change::Wanted(key) if self.is_dropped_later(key) => {}
                Change::Wanted(key) => self.start(key),
            }
        }
    }

    fn is_dropped_later(&self, key: EffectKey) -> bool {
        self.on_the_way.iter().any(|part| part.dropped.contains(&key))
    }
}

/// Whoever asked may be gone.
fn tell(replies: Vec<Reply>) {
    for (reply, answer) in replies {
        let _ = reply.send(answer);
    }
}
