//! Where the facts about a run come from: its files when they are as new as its log, else the log itself.
//!
//! Read-only in every way. A small run is folded from its log, which is exact; a large one is read from its files, whose
//! cost does not grow with the log.

use super::parse::{self, AgentFiles, Found, Own};
use super::{AgentReceipt, Intervention, Overview, ReceiptState, gap};
use crate::exports::foreign::{ReadError, read_control_json};
use crate::exports::{AgentWord, RunWord, agent_dir, overlook, pointed_at, read_end, read_whole};
use crate::runs::JournalError;
use crate::store::{Reader, RunFilter, RunRow, RunStatus, StoreError};
use fugato_engine::{Command, Target};
use fugato_model::{Words, words};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Log(#[from] JournalError),
    /// A file of another program that is not what it should be.
    #[error("`{}`: {error}", path.display())]
    File { path: PathBuf, error: ReadError },
}

impl ViewError {
    pub fn words(&self) -> Words {
        match self {
            Self::Store(error) | Self::Log(JournalError::Store(error)) => error.words(),
            other => words!("{other}", "{other}"),
        }
    }
}

/// Logs up to this many events are folded: it takes a few milliseconds and is exact.
const FOLDED: u64 = 2_000;
/// Of more agents than this, only those that have not finished are looked at one by one.
const LOOKED_AT: usize = 400;
/// The end of the directives that is read: thousands of them.
const CONTROL_END: u64 = 512 * 1024;
/// The end of an agent's stream that is read: its lines are cut at some hundred characters.
const STREAM_END: u64 = 4 * 1024;
/// Files follow their log within a tenth of a second, in very large runs within two.
const FOLLOWS: Duration = Duration::from_millis(2_500);

/// Which run commands mean when they name none.
#[derive(Debug)]
pub enum Active {
    Run(Box<RunRow>),
    /// The last one is over.
    Ended(Box<RunRow>),
    Nothing,
}

/// The run that `orchestrator` points to while it can go on; after that, another that is being worked on or waits for
/// a person.
pub fn active(reader: &Reader, state: &Path) -> Result<Active, StoreError> {
    let newest = reader.runs(&RunFilter { limit: Some(100), ..RunFilter::default() })?;
    let pointed = pointed_at(state)
        .and_then(|id| newest.iter().find(|row| row.id == id).cloned().or_else(|| reader.run(&id).ok()));
    let last = pointed.or_else(|| newest.first().cloned());
    let Some(last) = last else { return Ok(Active::Nothing) };
    if !last.status.is_final() {
        return Ok(Active::Run(Box::new(last)));
    }
    let goes_on = |row: &&RunRow| !row.status.is_final() && row.effective_status() != RunStatus::Interrupted;
    Ok(match newest.iter().find(goes_on) {
        Some(row) => Active::Run(Box::new(row.clone())),
        None => Active::Ended(Box::new(last)),
    })
}

/// How a run of this store stands.
pub fn of_run(state: &Path, reader: &Reader, row: &RunRow) -> Result<Overview, ViewError> {
    let is_live = row.is_live();
    let found = match from_files(state, reader, row, is_live)? {
        Some(found) => found,
        None => overlook(reader, &row.id, is_live)?.into(),
    };
    let path = || state.join("runs").join(&row.id).join("run.json");
    let mut view = parse::overview(&found).map_err(|error| ViewError::File { path: path(), error })?;
    view.title.clone_from(&row.title);
    if !is_live {
        unowned(&mut view, row);
    }
    let waiting = reader.commands(&row.id, 0)?;
    let mut pending: Vec<Intervention> = waiting.iter().rev().filter_map(|one| pending(&one.body)).collect();
    pending.append(&mut view.interventions);
    view.interventions = pending;
    if view.is_active() {
        let torn = unreadable_control(&state.join("runs").join(&row.id));
        view.interventions.splice(0..0, torn);
    }
    Ok(view)
}

/// A run of another program, whose files stand where ours would. `None`: there are none.
pub fn foreign(state: &Path) -> Result<Option<Overview>, ViewError> {
    let dir = state.join("orchestrator");
    let path = dir.join("run.json");
    let Some(run) = read_whole(&path) else { return Ok(None) };
    let mut found = Found { run, control: control_of(&dir), ..Found::default() };
    let view =
        |found: &Found| parse::overview(found).map_err(|error| ViewError::File { path: path.clone(), error });
    for agent in view(&found)?.agents.iter().take(LOOKED_AT) {
        let place = dir.join("agents").join(agent_dir(&agent.id));
        found.agents.insert(agent.id.clone(), files_of(&place));
    }
    let mut view = view(&found)?;
    if view.interventions.is_empty() {
        view.interventions = newest_directive(&dir);
    }
    Ok(Some(view))
}

/// What stands in the slot for directives and says nothing: half written, or no JSON. Whoever wrote it sees here that nobody
/// went by it.
fn unreadable_control(dir: &Path) -> Option<Intervention> {
    let found = read_whole(&dir.join("control.json")).filter(|bytes| !bytes.is_empty())?;
    let error = read_control_json(&found).err()?;
    let why = Some(words!("not taken, {error}", "未采纳：{error}"));
    let receipt = AgentReceipt { agent: None, state: ReceiptState::Refused, at: None, why };
    Some(Intervention {
        generation: None,
        at: None,
        action: "unreadable".to_owned(),
        target: "control.json".to_owned(),
        message: String::new(),
        receipts: vec![receipt],
    })
}

/// Another program's only slot for directives.
fn newest_directive(dir: &Path) -> Vec<Intervention> {
    let mut line = read_whole(&dir.join("control.json")).unwrap_or_default();
    line.retain(|byte| *byte != b'\n');
    parse::interventions(&line).0
}

/// `None`: the files are missing, not ours, or older than the log and nobody is about to renew them.
fn from_files(
    state: &Path,
    reader: &Reader,
    row: &RunRow,
    is_live: bool,
) -> Result<Option<Found>, ViewError> {
    if row.last_seq <= FOLDED {
        return Ok(None);
    }
    let dir = state.join("runs").join(&row.id);
    let path = dir.join("run.json");
    let read = || read_whole(&path).and_then(|bytes| parse::own(&bytes).map(|own| (bytes, own)));
    let Some((mut bytes, mut own)) = read() else { return Ok(None) };
    // Whoever has just said something wants to see it; whatever else is new may be seen a moment later.
    if own.seq < row.last_seq && is_live && gap::has_directive(reader, &row.id, own.seq + 1)? {
        let until = Instant::now() + FOLLOWS;
        while own.seq < row.last_seq && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
            (bytes, own) = read().unwrap_or((bytes, own));
        }
    }
    if own.seq < row.last_seq && !is_live {
        return Ok(None);
    }
    Ok(Some(gather(&dir, bytes, &own)))
}

pub(super) fn gather(dir: &Path, run: Vec<u8>, own: &Own) -> Found {
    let is_finished = |status: &str| {
        matches!(
            status.into(),
            AgentWord::Done | AgentWord::DoneWithConcerns | AgentWord::Failed | AgentWord::Cancelled
        )
    };
    let all = own.agents.len() <= LOOKED_AT;
    let looked_at = own.agents.iter().filter(|agent| all || !is_finished(&agent.status)).take(LOOKED_AT);
    let mut found = Found { run, control: control_of(dir), ..Found::default() };
    for agent in looked_at {
        let place = match &agent.dir {
            Some(place) => dir.join(place),
            None => dir.join("agents").join(&agent.id),
        };
        found.agents.insert(agent.id.clone(), files_of(&place));
    }
    found
}

fn files_of(place: &Path) -> AgentFiles {
    AgentFiles {
        status: read_whole(&place.join("status.json")).unwrap_or_default(),
        stream: read_end(&place.join("stream.jsonl"), STREAM_END).unwrap_or_default(),
    }
}

fn control_of(dir: &Path) -> Vec<u8> {
    read_end(&dir.join("control.log.jsonl"), CONTROL_END).unwrap_or_default()
}

impl From<crate::exports::Overlooked> for Found {
    fn from(seen: crate::exports::Overlooked) -> Self {
        let agents = seen.agents.into_iter();
        Self {
            run: seen.run,
            agents: agents.map(|(id, status, stream)| (id, AgentFiles { status, stream })).collect(),
            control: seen.control,
        }
    }
}

/// Nobody works on it: what the files of a living owner said is no longer so.
fn unowned(view: &mut Overview, row: &RunRow) {
    let is_interrupted = match row.effective_status() {
        RunStatus::Interrupted => true,
        RunStatus::Other(word) => word == "disk_full",
        _ => false,
    };
    if is_interrupted && view.is_active() && view.reason.is_none() {
        view.status = RunWord::Interrupted;
        view.reason = Some(match (&row.status, &row.lease) {
            (RunStatus::Other(_), _) => words!("the disk was full", "磁盘已满"),
            (_, Some(lease)) => lease.why_gone(),
            (_, None) => words!("it was stopped", "已被停止"),
        });
    }
    if view.is_active() {
        for agent in view.agents.iter_mut().filter(|agent| agent.status == AgentWord::Running) {
            agent.status = AgentWord::Paused;
        }
    }
}

/// A directive that nobody has taken yet.
fn pending(body: &str) -> Option<Intervention> {
    let Ok(Command::Direct { verb, target, text }) = serde_json::from_str(body) else { return None };
    Some(Intervention {
        generation: None,
        at: None,
        action: serde_json::to_value(verb).ok()?.as_str()?.to_owned(),
        target: match target {
            Target::All => "all".to_owned(),
            Target::Agent(path) => path.to_string(),
        },
        message: text.unwrap_or_default(),
        receipts: Vec::new(),
    })
}
