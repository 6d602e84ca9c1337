//! `fugato status`: the dashboard of a run. Read-only: the store is opened to read, nothing is recovered or migrated.

mod changes;
mod dashboard;
mod document;
mod graph;
mod watching;

pub use dashboard::{Layout, intervention_line, lines};
pub use document::{document, intervention};

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::runs::{find, state, store_error};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, Words, words};
use fugato_runtime::store::{Reader, RunRow};
use fugato_runtime::view::{self, Active, Overview, ViewError};
use serde_json::json;

/// Show how a run stands.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The run, or the beginning of its id [default: the active one]
    #[arg(long, value_name = "RUN", add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
    /// Leave nothing out, however long it gets
    #[arg(long)]
    all: bool,
    /// Stay, and show it anew as it changes
    #[arg(long)]
    watch: bool,
    /// Also what the run changed in the project's files, as git sees it
    #[arg(long)]
    changes: bool,
}

pub fn run(args: &StatusArgs, app: &mut App) -> Outcome {
    if args.watch {
        return watching::run(args, app);
    }
    match look(args.run.as_deref(), app)? {
        Looked::Run(view) => {
            show(&view, args, app)?;
            Ok(Exit::Ok)
        }
        nobody => say_nobody(&nobody, app),
    }
}

/// What there is to see.
#[derive(Debug)]
pub enum Looked {
    Run(Box<Overview>),
    /// The last run is over.
    Ended(Box<RunRow>),
    Nothing,
}

/// Looks at one run, or at the active one.
pub fn look(id: Option<&str>, app: &App) -> Result<Looked, CliError> {
    let state = state(app);
    let reader = Reader::open(&state).map_err(|error| store_error(&error))?;
    let row = match (&reader, id) {
        (Some(reader), Some(id)) => find(reader, Some(id))?,
        (Some(reader), None) => match view::active(reader, &state).map_err(|error| store_error(&error))? {
            Active::Run(row) => *row,
            Active::Ended(row) => return Ok(Looked::Ended(row)),
            Active::Nothing => return foreign(app),
        },
        (None, Some(_)) => return Err(CliError::not_found(words!("no runs here yet", "这里还没有运行记录"))),
        (None, None) => return foreign(app),
    };
    let Some(reader) = reader else { return Ok(Looked::Nothing) };
    let view = view::of_run(&state, &reader, &row).map_err(|error| view_error(&error))?;
    Ok(Looked::Run(Box::new(view)))
}

/// Another program may keep its runs where ours would be.
fn foreign(app: &App) -> Result<Looked, CliError> {
    let found = view::foreign(&state(app)).map_err(|error| view_error(&error))?;
    Ok(found.map_or(Looked::Nothing, |view| Looked::Run(Box::new(view))))
}

pub fn view_error(error: &ViewError) -> CliError {
    match error {
        ViewError::Store(error) => store_error(error),
        ViewError::Log(error) => crate::runs::journal_error(error),
        file @ ViewError::File { .. } => CliError::not_found(file.words()).hint(words!(
            "it may be half written: try again; if it stays so, move it away",
            "文件可能尚未写完：请再试一次；若仍如此，请把它移走"
        )),
    }
}

fn show(view: &Overview, args: &StatusArgs, app: &mut App) -> Result<(), CliError> {
    let changes = if args.changes { changes::of(app.places.project_root()) } else { None };
    let now = now();
    if app.out.json {
        let mut document = document(view, now, app.out.lang);
        if let (Some(object), Some(changes)) = (document.as_object_mut(), &changes) {
            object.insert("changes".to_owned(), changes.document());
        }
        return app.out.json(&document);
    }
    let layout = Layout::new(app, args.all);
    for line in lines(view, changes.as_ref(), now, &layout) {
        app.out.line(line)?;
    }
    Ok(())
}

/// The sentences for when there is nothing to show.
fn say_nobody(looked: &Looked, app: &mut App) -> Outcome {
    let (sentence, last) = match looked {
        Looked::Ended(row) => (ended(row), Some(row)),
        _ => (nothing(), None),
    };
    if app.out.json {
        let last = last.map(|row| json!({"id": row.id, "status": row.status.as_str()}));
        let message = app.out.say(&sentence).to_owned();
        let document = json!({"run": null, "last": last, "message": message});
        app.out.document("fugato.status/v1", document)?;
    } else {
        let text = app.out.say(&sentence).to_owned();
        app.out.line(text)?;
    }
    Ok(Exit::NoActiveRun)
}

fn nothing() -> Words {
    words!(
        "No active orchestration. Run `/go` or `/orbit` to start.",
        "没有进行中的编排。运行 `/go` 或 `/orbit` 开始。"
    )
}

fn ended(row: &RunRow) -> Words {
    let status = &row.status;
    words!(
        "Last orchestration ended with status: **{status}**. No active run.",
        "上一次编排已结束，状态：**{status}**。没有进行中的运行。"
    )
}

pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
