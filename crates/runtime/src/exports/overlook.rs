//! What the files of a run would say, without writing any: for a run whose files are missing, or behind its log.

use super::fold::{Fold, Log, Owner, RECENT};
use super::render;
use super::{files, foreign, glance, tail};
use crate::runs::{JournalError, decode};
use crate::store::Reader;
use std::collections::{HashMap, VecDeque};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;

/// The bytes of the files, as far as people look at them.
#[derive(Debug)]
pub(crate) struct Overlooked {
    /// `run.json`.
    pub run: Vec<u8>,
    /// Id, `status.json`, and the end of the stream: as many lines as are shown of all agents together.
    pub agents: Vec<(String, Vec<u8>, Vec<u8>)>,
    /// `control.log.jsonl`.
    pub control: Vec<u8>,
}

/// Folds the log of a run, with or without somebody at work on it.
pub(crate) fn overlook(reader: &Reader, run: &str, is_owned: bool) -> Result<Overlooked, JournalError> {
    let owner = if is_owned { Owner::Here } else { Owner::Gone };
    let mut fold: Option<Fold> = None;
    let (mut ends, mut control) = (HashMap::<u32, VecDeque<Vec<u8>>>::new(), Vec::new());
    let mut failed = Ok(());
    reader.events(run, 1, u64::MAX)?.visit(|seq, bytes| {
        let event = match glance::at(bytes).map_or_else(|| decode(seq, bytes, reader), Ok) {
            Ok(event) => event,
            Err(error) => {
                failed = Err(error);
                return ControlFlow::Break(());
            }
        };
        let Some(fold) = &mut fold else {
            fold = Fold::created(&event);
            return if fold.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        };
        fold.apply(&event, &mut |log, mut line| match log {
            Log::Stream(record) => {
                let end = ends.entry(record).or_default();
                if end.len() == RECENT {
                    end.pop_front();
                }
                end.push_back(line);
            }
            Log::Control => control.append(&mut line),
            Log::Inbox(_) | Log::Outbox(_) => {}
        });
        ControlFlow::Continue(())
    })?;
    failed?;
    let fold = fold.ok_or(JournalError::Empty)?;
    let agents = (0u32..).zip(&fold.records).map(|(at, record)| {
        let status = render::status_json(&fold, record, owner);
        (record.id.to_string(), status, ends.remove(&at).unwrap_or_default().into_iter().flatten().collect())
    });
    let agents = agents.collect();
    Ok(Overlooked { run: render::run_json(&fold, owner), agents, control })
}

/// The whole of a file that is replaced as a whole. `None`: missing, too large, or not a file.
pub(crate) fn read_whole(path: &Path) -> Option<Vec<u8>> {
    files::read_file(path, foreign::LARGEST)
}

/// The last whole lines of a file that grows, at most this many bytes of them.
pub(crate) fn read_end(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut file = tail::open_carefully(path).ok()?;
    let length = file.metadata().ok()?.len();
    let from = length.saturating_sub(most);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    let end = memchr::memrchr(b'\n', &bytes)? + 1;
    bytes.truncate(end);
    if from > 0 {
        // Began in the middle of a line.
        let start = memchr::memchr(b'\n', &bytes)? + 1;
        bytes.drain(..start);
    }
    Some(bytes)
}
