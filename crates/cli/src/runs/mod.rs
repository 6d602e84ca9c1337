//! Running skills and looking at runs: one file per verb.

mod answer;
mod drawing;
mod history;
mod planning;
mod reporter;
mod resume;
mod skills;
mod start;
mod trace;

pub use answer::{AnswerArgs, run as answer};
pub use history::{
    CostArgs, EventsArgs, RunsArgs, TraceArgs, cost, events as show_events, runs, trace as show_trace,
};
pub use planning::{PlanArgs, run as plan};
pub use resume::{ResumeArgs, run as resume};
pub use start::{RunArgs, run as start};

use crate::app::{App, env_var};
use crate::error::CliError;
use fugato_engine::{Event, Run};
use fugato_model::{Exit, words};
use fugato_runtime::runs::{CommandError, JournalError, RunError, load};
use fugato_runtime::store::{Lookup, Reader, RunRow, StoreError};
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
        let newest =
            reader.runs(&Default::default()).map_err(|error| store_error(&error))?.into_iter().next();
        return newest.ok_or_else(|| CliError::not_found(words!("no runs here yet", "这里还没有运行记录")));
    };
    match reader.run(id) {
        Ok(row) => Ok(row),
        Err(Lookup::Ambiguous(ids)) => {
            let list = ids.join("\n  ");
            Err(CliError::not_found(words!(
                "`{id}` is the beginning of several runs:\n  {list}",
                "`{id}` 是多个运行的前缀：\n  {list}"
            )))
        }
        Err(Lookup::Unknown { nearest }) => {
            let error = CliError::not_found(words!("no run `{id}`", "没有运行 `{id}`"));
            Err(match nearest {
                Some(near) => error.hint(words!("did you mean `{near}`?", "是不是 `{near}`？")),
                None => error.hint(words!("`fugato runs` lists them", "`fugato runs` 列出所有运行")),
            })
        }
        Err(Lookup::Store(error)) => Err(store_error(&error)),
    }
}

/// Id of the newest run.
pub fn newest(app: &App) -> Result<String, CliError> {
    find(&reader(app)?, None).map(|row| row.id)
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
        CommandError::Pending => CliError::new(
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
