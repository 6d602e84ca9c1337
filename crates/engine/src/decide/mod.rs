//! From an input to events. Total and deterministic: any input in any state gives events or a refusal, never a panic.
//!
//! `decide` applies each event as it makes it, so later decisions see earlier ones. The events of one decision belong
//! together: the caller stores them in one transaction. If they cannot be stored, it throws the run away and replays the
//! log.

mod answer;
mod completion;
mod delegate;
mod directive;
mod legal;
mod receipts;
mod recover;
mod restart;
mod skills;
mod tick;

pub(crate) use answer::{ALWAYS, REPEAT};
pub(crate) use delegate::goes_on;
pub(crate) use skills::is_ending;

use crate::event::{By, Event, EventKind, Target, Verb};
use crate::input::{Input, Refusal};
use crate::run::Run;
use fugato_model::{Words, words};

/// Collects events, each applied at once.
pub(crate) struct Recorder<'r> {
    pub run: &'r mut Run,
    pub events: Vec<Event>,
    pub now: i64,
    pub by: By,
}

impl Recorder<'_> {
    /// Records what happened, and with it what that means for directives that were waiting for it.
    pub fn emit(&mut self, kind: EventKind) {
        let receipts = receipts::of(self.run, &kind);
        receipts.before.into_iter().for_each(|kind| self.record(kind));
        self.record(kind);
        receipts.after.into_iter().for_each(|kind| self.record(kind));
    }

    fn record(&mut self, kind: EventKind) {
        let event =
            Event { v: Event::VERSION, seq: self.run.seq.saturating_add(1), at: self.now, by: self.by, kind };
        self.run.apply(&event);
        self.events.push(event);
    }
}

impl Run {
    /// Decides one input. `now` is milliseconds since 1970.
    pub fn decide(&mut self, input: Input, now: i64) -> Result<Vec<Event>, Refusal> {
        let mut events = Vec::new();
        self.decide_into(input, now, &mut events).map(|()| events)
    }

    /// The same; the events are put behind those that are there. A refusal adds none.
    pub fn decide_into(&mut self, input: Input, now: i64, events: &mut Vec<Event>) -> Result<(), Refusal> {
        let before = events.len();
        let mut recorder = Recorder { run: self, events: std::mem::take(events), now, by: By::Engine };
        let decided = recorder.decide(input);
        *events = recorder.events;
        if decided.is_err() {
            events.truncate(before);
        }
        decided
    }
}

impl Recorder<'_> {
    fn decide(&mut self, input: Input) -> Result<(), Refusal> {
        self.by = match &input {
            Input::Direct { .. } | Input::Answer { .. } | Input::Send { .. } | Input::Raise { .. } => {
                By::User
            }
            Input::Skipped { .. } => By::Engine,
            Input::Completed { .. } => By::Agent,
            Input::Retrying { .. } | Input::Hosted { .. } | Input::Acted { .. } | Input::Heard { .. } => {
                By::Host
            }
            Input::Tick => By::Timer,
            Input::Go | Input::Recover { .. } => By::Engine,
        };
        let recorder = self;
        match input {
            Input::Go => {}
            Input::Recover { epoch } => recover::recover(recorder, epoch),
            Input::Completed { key, completion } => completion::completed(recorder, key, completion),
            Input::Retrying { agent, wait_ms, reason } => {
                completion::retrying(recorder, &agent, wait_ms, reason);
            }
            Input::Hosted { agent, step, session, used } => {
                if let Some((agent, _)) = recorder.run.agent(agent.as_str()) {
                    recorder.emit(EventKind::AgentHosted { agent, step, session, used });
                }
            }
            Input::Acted { agent, tool, arguments, is_error, head } => {
                if let Some((agent, _)) = recorder.run.agent(agent.as_str()) {
                    recorder.emit(EventKind::AgentActed { agent, tool, arguments, is_error, head });
                }
            }
            Input::Heard { agent, step, count } => {
                // A later step has told it everything that was unread.
                let is_now = |(_, state): &(u32, &crate::agent::AgentState)| state.step == step;
                if let Some((agent, state)) = recorder.run.agent(agent.as_str()).filter(is_now) {
                    let count = count.min(u32::try_from(state.inbox.len()).unwrap_or(u32::MAX));
                    if count > 0 {
                        recorder.emit(EventKind::MessageDelivered { agent, count });
                    }
                }
            }
            Input::Direct { verb, target, text } => {
                directive::direct(recorder, verb, &target, text.as_deref())?;
            }
            Input::Answer { question, answer } => answer::answer(recorder, question, answer)?,
            Input::Send { to, from, text, kind } => directive::send(recorder, &to, &from, &text, kind)?,
            Input::Skipped { file, problem } => recorder.emit(EventKind::ForeignSkipped { file, problem }),
            Input::Raise { limits } => recover::raise(recorder, limits)?,
            Input::Tick => tick::tick(recorder),
        }
        recorder.by = By::Engine;
        crate::driver::advance(recorder);
        Ok(())
    }
}

impl Run {
    /// What is recorded of a directive that was refused: it has its place in the order, and why nothing came of it. A
    /// run that has ended takes nothing more, not even that.
    pub fn refused(
        &mut self,
        verb: Verb,
        target: Target,
        text: Option<String>,
        refusal: &Refusal,
        now: i64,
    ) -> Vec<Event> {
        if self.ended.is_some() {
            return Vec::new();
        }
        let generation = self.generation.saturating_add(1);
        let mut recorder = Recorder { run: self, events: Vec::new(), now, by: By::User };
        recorder.emit(EventKind::DirectiveRefused {
            generation,
            reason: refusal.words.clone(),
            verb: Some(verb),
            target: Some(target),
            text,
        });
        recorder.events
    }
}

pub(crate) fn refuse<T>(words: Words) -> Result<T, Refusal> {
    Err(Refusal { words })
}

/// A run that has ended takes nothing more.
pub(crate) fn refuse_if_ended(run: &Run) -> Result<(), Refusal> {
    match &run.ended {
        Some(_) => refuse(words!("the run has ended", "运行已结束")),
        None => Ok(()),
    }
}
