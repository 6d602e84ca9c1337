//! One run's log, read from the store and written as files. The store is the only source: what is exported was committed,
//! without the secrets that the store removed, and the same whether it is exported live, after a crash or years later.

use super::files::{Durability, ExportError, Files};
use super::fold::{Fold, Log, Owner};
use super::foreign;
use super::glance;
use super::intake::{Intake, Own};
use super::record::Record;
use super::render;
use crate::runs::{JournalError, decode};
use crate::store::Reader;
use fugato_engine::{Event, EventKind};
use fugato_model::Words;
use std::ops::ControlFlow;
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    #[error(transparent)]
    Log(#[from] JournalError),
    #[error(transparent)]
    File(#[from] ExportError),
}

impl WriteError {
    pub fn words(&self) -> Words {
        match self {
            Self::File(error) => error.words(),
            Self::Log(JournalError::Store(error)) => error.words(),
            Self::Log(error) => fugato_model::words!("{error}", "{error}"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    run: String,
    files: Files,
    fold: Option<Fold>,
    /// Whose absence or presence the files on the disk show.
    shown: Option<Owner>,
    shown_seq: u64,
    shown_generation: u64,
    /// What this writer put into `control.json`.
    control: Vec<u8>,
    /// What is ours in the files that others write to as well.
    pub own: Own,
}

/// In larger plans an agent gets its directory when it first says something: ten thousand directories that all say
/// "pending" help nobody and would be the slowest part of a run.
pub(super) const EAGER: usize = 2000;

impl Writer {
    pub fn new(run: &str, files: Files) -> Self {
        Self {
            run: run.to_owned(),
            files,
            fold: None,
            shown: None,
            shown_seq: 0,
            shown_generation: 0,
            control: Vec::new(),
            own: Own::default(),
        }
    }

    /// Has the run ended for good? Then nobody takes anything any more.
    pub fn is_over(&self) -> bool {
        let ended = self.fold.as_ref().and_then(|fold| fold.ended.as_ref());
        ended.is_some_and(|(outcome, ..)| *outcome != fugato_engine::Outcome::BudgetExhausted)
    }

    pub fn records(&self) -> &[Record] {
        self.fold.as_ref().map(|fold| fold.records.as_slice()).unwrap_or_default()
    }

    /// Something that is in the log is missing from a file.
    pub fn has_lost_something(&self) -> bool {
        self.files.lost
    }

    /// Brings the files to the end of the log. The first failure is told; what can be written is written.
    pub fn pass(
        &mut self,
        reader: &Reader,
        owner: Owner,
        intake: Option<&mut Intake>,
    ) -> Result<(), WriteError> {
        let read = self.read(reader);
        self.write(read, owner, intake)
    }

    /// The same from events that were kept since they were stored. `None`: there are some between that were not.
    pub fn follow(
        &mut self,
        fresh: &[Arc<Vec<Event>>],
        owner: Owner,
        intake: Option<&mut Intake>,
    ) -> Option<Result<(), WriteError>> {
        let next = self.fold.as_ref().map_or(1, |fold| fold.seq + 1);
        let new = || fresh.iter().flat_map(|part| part.iter()).skip_while(|event| event.seq < next);
        let is_gapless = new().zip(next..).all(|(event, seq)| event.seq == seq);
        if !is_gapless || (next == 1 && new().next().is_none()) {
            return None;
        }
        let taken = new().try_for_each(|event| self.take(event));
        Some(self.write(taken, owner, intake))
    }

    /// Says of everybody at work that they still are.
    pub fn beat(&mut self, now: i64) -> Result<(), ExportError> {
        if let Some(fold) = &mut self.fold {
            fold.beat(now);
        }
        self.documents(Owner::Here, None)
    }

    fn write(
        &mut self,
        read: Result<(), WriteError>,
        owner: Owner,
        intake: Option<&mut Intake>,
    ) -> Result<(), WriteError> {
        let lines = self.files.flush();
        let documents = self.documents(owner, intake);
        read?;
        lines?;
        Ok(documents?)
    }

    /// The documents of the run itself survive a power cut. Those of its agents are left to the system: hundreds of
    /// syncs would cost more than the run, and what a power cut takes of them is written anew from the log.
    pub fn sync(&mut self) {
        self.files.sync_names();
    }

    fn read(&mut self, reader: &Reader) -> Result<(), WriteError> {
        let from = self.fold.as_ref().map_or(1, |fold| fold.seq + 1);
        let mut failed: Result<(), WriteError> = Ok(());
        let run = self.run.clone();
        let events = reader.events(&run, from, u64::MAX).map_err(JournalError::from)?;
        let visited = events.visit(|seq, bytes| {
            let event = match glance::at(bytes).map_or_else(|| decode(seq, bytes, reader), Ok) {
                Ok(event) => event,
                Err(error) => {
                    failed = Err(error.into());
                    return ControlFlow::Break(());
                }
            };
            if let (Err(error), Ok(())) = (self.take(&event), &failed) {
                failed = Err(error);
            }
            // Without its first event nothing of a run can be understood.
            if self.fold.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        visited.map_err(JournalError::from)?;
        failed
    }

    /// Folds one event and queues the lines it makes. The first failure is told; the other lines are queued.
    fn take(&mut self, event: &Event) -> Result<(), WriteError> {
        let Self { fold, files, own, .. } = self;
        let Some(fold) = fold else {
            *fold = Fold::created(event);
            return Ok(());
        };
        let mut lines = Vec::new();
        fold.apply(event, &mut |log, line| lines.push((log, line)));
        let mut first = Ok(());
        if let (EventKind::DirectiveRecorded { .. }, Some(directive)) = (&event.kind, &fold.directive) {
            own.wrote_control(&render::control_json(directive));
        }
        for (log, line) in lines {
            if matches!(log, Log::Inbox(_)) {
                own.wrote_line(&line);
            }
            first = first.and(files.append(&file_of(fold, log), event.seq, &line));
        }
        Ok(first?)
    }

    /// Agents first, the run last: whoever finds the run complete finds its agents so.
    fn documents(&mut self, owner: Owner, intake: Option<&mut Intake>) -> Result<(), ExportError> {
        let Some(fold) = &mut self.fold else { return Ok(()) };
        if self.shown.is_some_and(|shown| shown != owner) {
            fold.all_stale();
        }
        let mut documents = Vec::new();
        let is_small = fold.records.len() <= EAGER;
        for at in std::mem::take(&mut fold.stale) {
            let Some(record) = fold.records.get_mut(at as usize) else { continue };
            record.stale = false;
            let Some(record) = fold.records.get(at as usize) else { continue };
            if !record.speaks || !(record.heard || is_small) {
                continue;
            }
            documents.push((record.file("status.json"), render::status_json(fold, record, owner)));
        }
        let mut first = self.files.replace_all(&documents);
        first = first.and(self.control(intake));
        let Some(fold) = &self.fold else { return first };
        if self.shown != Some(owner) || self.shown_seq != fold.seq {
            first =
                first.and(self.files.replace("run.json", &render::run_json(fold, owner), Durability::Now));
            (self.shown, self.shown_seq) = (Some(owner), fold.seq);
        }
        first
    }

    /// The newest directive. What another program wrote there is not ours to lose: it is taken first, and what came
    /// between is looked at where it went. Where nobody takes anything, a newer one stays and an older one is kept.
    fn control(&mut self, mut intake: Option<&mut Intake>) -> Result<(), ExportError> {
        let newest = self.fold.as_ref().and_then(|fold| fold.directive.as_ref());
        let Some(directive) = newest.filter(|newest| newest.generation > self.shown_generation) else {
            return Ok(());
        };
        let (bytes, generation) = (render::control_json(directive), directive.generation);
        if let Some(intake) = intake.as_deref_mut() {
            intake.before_control(self);
        }
        let found = self.files.read_small("control.json").filter(|found| *found != bytes);
        let is_settled = |found: &[u8]| intake.as_ref().is_some_and(|intake| intake.is_settled(found));
        if let Some(found) = found.filter(|found| !is_settled(found)) {
            let theirs = foreign::control_generation(&found);
            if theirs.is_some_and(|theirs| theirs > generation) {
                return Ok(());
            }
            let is_torn_export = theirs.is_none() && bytes.starts_with(&found);
            if found != self.control && self.shown_generation > 0 && !is_torn_export {
                self.files.keep_copy("control.json", &found)?;
            }
        }
        match intake {
            Some(intake) => {
                if let Some(displaced) = self.files.exchange("control.json", &bytes)? {
                    intake.displaced(self, displaced);
                }
            }
            None => self.files.replace("control.json", &bytes, Durability::Now)?,
        }
        (self.shown_generation, self.control) = (generation, bytes);
        Ok(())
    }
}

fn file_of(fold: &Fold, log: Log) -> String {
    let agent = |record: u32, file: &str| {
        fold.records.get(record as usize).map(|record| record.file(file)).unwrap_or_default()
    };
    match log {
        Log::Stream(record) => agent(record, "stream.jsonl"),
        Log::Inbox(record) => agent(record, "inbox.jsonl"),
        Log::Outbox(record) => agent(record, "outbox.jsonl"),
        Log::Control => "control.log.jsonl".to_owned(),
    }
}
