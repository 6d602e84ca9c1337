//! Running skills and looking at runs: one file per verb.

mod answer;
mod archive;
mod bill;
mod board;
mod chat;
mod confine;
mod detach;
mod diff;
mod drawing;
mod drive;
mod estimate;
mod events;
mod follower;
mod go;
mod history;
mod intervene;
mod listing;
mod models;
mod outlook;
mod planning;
mod program;
mod prompt;
mod remove;
mod replay;
mod reporter;
mod rerun;
mod resume;
mod send;
mod show;
mod skills;
mod start;
mod summary;
mod target;
mod trace;
mod variables;

pub use answer::{AnswerArgs, run as answer};
pub use chat::{ChatArgs, run as chat};
pub use confine::{SandboxArgs, sandbox};
pub use detach::spawn;
pub use diff::{DiffArgs, run as diff};
pub use drawing::{Paper, cut as cut_line, picture};
pub use estimate::tokens;
pub use events::{EventsArgs, run as show_events};
pub use go::{GoArgs, run as go};
pub use history::{CostArgs, cost};
pub use intervene::{
    CancelArgs, InterveneArgs, PauseArgs, RedirectArgs, RestartArgs, cancel, intervene, pause, redirect,
    restart,
};
pub use listing::{RunsArgs, look, run as runs};
pub use models::{models, web};
pub use planning::{PlanArgs, run as plan};
pub use program::{ProgramArgs, run as run_program};
pub use replay::{ReplayArgs, run as replay};
pub use reporter::{cost_words, duration};
pub use rerun::{RerunArgs, run as rerun};
pub use resume::{ResumeArgs, run as resume};
pub use send::{ApproveArgs, SendArgs, approve, send};
pub use start::{RunArgs, run as start};
pub use trace::{Chart, Steps, TraceArgs, Tracer, run as show_trace};

use crate::app::{App, env_var};
use crate::error::CliError;
use fugato_engine::{Event, EventKind, Run};
use fugato_model::{Exit, words};
use fugato_runtime::runs::{CommandError, JournalError, RunError, load};
use fugato_runtime::store::{Reader, RunFilter, RunRow, StoreError};
use std::collections::HashSet;
use std::path::PathBuf;

/// Where this project's runs are.
pub fn state(app: &App) -> PathBuf {
    fugato_runtime::state_dir(&app.places, env_var("HARNESS_DIR").as_deref())
}

/// A read-only look at the store; an empty one teaches how to begin.
pub fn reader(app: &App) -> Result<Reader, CliError> {
    match Reader::open(&state(app)).map_err(|error| store_error(&error))? {
        Some(reader) => Ok(reader),
        None => Err(CliError::not_found(words!("no runs here yet", "这里还没有运行记录"))
            .hint(words!("start one: fugato run SKILL", "先启动一个：fugato run 技能"))),
    }
}

/// Finds a run by id or unique prefix; without one, the newest.
pub fn find(reader: &Reader, id: Option<&str>) -> Result<RunRow, CliError> {
    let Some(id) = id else {
        let one = RunFilter { limit: Some(1), ..RunFilter::default() };
        let newest = reader.runs(&one).map_err(|error| store_error(&error))?.into_iter().next();
        return newest.ok_or_else(|| CliError::not_found(words!("no runs here yet", "这里还没有运行记录")));
    };
    reader.run(id).map_err(|lookup| {
        let error = CliError::new(lookup.exit(), lookup.words(id)).code(lookup.code());
        match lookup.hint() {
            Some(hint) => error.hint(hint),
            None => error,
        }
    })
}

/// Id of the newest run.
pub fn newest(app: &App) -> Result<String, CliError> {
    find(&reader(app)?, None).map(|row| row.id)
}

/// What the log says about work done before the run was taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// Nodes that had ended by then.
    pub finished: usize,
    /// Those of them that were started once more.
    pub again: usize,
}

/// Counts, for the first time a run was taken over.
pub fn repeats(id: &str, app: &App) -> Result<Repeats, CliError> {
    let reader = reader(app)?;
    let (events, _) = open(&reader, &find(&reader, Some(id))?)?;
    let takeover = events.iter().position(|event| matches!(event.kind, EventKind::RunRecovered { .. }));
    let (before, after) = events.split_at(takeover.unwrap_or(events.len()));
    let finished: HashSet<u32> = before
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::NodeCompleted { node, .. } | EventKind::NodeFailed { node, .. } => Some(*node),
            _ => None,
        })
        .collect();
    let again: HashSet<u32> = after
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::NodeStarted { node, .. } if finished.contains(node) => Some(*node),
            _ => None,
        })
        .collect();
    Ok(Repeats { finished: finished.len(), again: again.len() })
}

/// The log of a run and the state it folds to.
pub fn open(reader: &Reader, row: &RunRow) -> Result<(Vec<Event>, Run), CliError> {
    let events = load(reader, &row.id).map_err(|error| journal_error(&error))?;
    let run = Run::replay(&events).ok_or_else(|| journal_error(&JournalError::Empty))?;
    Ok((events, run))
}

pub fn store_error(error: &StoreError) -> CliError {
    let cli = CliError::new(error.exit(), error.words()).code(error.code());
    match error.hint() {
        Some(hint) => cli.hint(hint),
        None => cli,
    }
}

pub fn journal_error(error: &JournalError) -> CliError {
    match error {
        JournalError::Store(error) => store_error(error),
        other => CliError::failed(words!("{other}", "{other}")),
    }
}

/// How long an owner may take to answer a command before we say that it will.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

pub fn command_error(error: &CommandError) -> CliError {
    match error {
        CommandError::Store(error) => store_error(error),
        CommandError::Refused(refusal) => CliError::new(Exit::Conflict, refusal.words.clone()),
        CommandError::Pending | CommandError::Unowned => CliError::new(
            Exit::Waiting,
            words!(
                "recorded; the process that runs it has not taken it yet",
                "已记录；运行该任务的进程尚未处理"
            ),
        ),
    }
}

pub fn run_error(error: &RunError) -> CliError {
    match error {
        RunError::Store(error) => store_error(error),
        RunError::Journal(error) => journal_error(error),
        RunError::Refused(refusal) => CliError::new(Exit::Conflict, refusal.words.clone()),
    }
}
