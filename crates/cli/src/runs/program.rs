//! `fugato sop run FILE`: a program with the skills that are here as its commands. No model plans; what a command asks of
//! a model is the skill's own matter.

use super::drive::{Left, Watching, exit_of, follow, tell};
use super::models::{model_if_any, model_of_run, models, store};
use super::skills;
use super::start::{Asked, HowArgs, world_with};
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::policy::AgentView;
use crate::printer::style;
use crate::render::{Cell, Table, report};
use crate::sop::ProgramFile;
use clap::Args;
use fugato_engine::{Run, RunSpec, SopBudget};
use fugato_model::{Exit, Lang, words};
use fugato_runtime::runs::{ProgramRun, Session, StartError, plan_program};
use fugato_skill::sop::{Answer, Interpreter, Program};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Run a program.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// The program; `-` reads it from the standard input
    file: PathBuf,
    /// The request: what `$input` is in the program
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    input: String,
    /// Commands the program may run [default: from the settings]
    #[arg(long, value_name = "N")]
    max_commands: Option<u32>,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    view: AgentView,
    #[command(flatten)]
    selection: SkillSelection,
}

pub fn run(args: &ProgramArgs, app: &mut App) -> Outcome {
    let file = ProgramFile::read(&args.file, app)?;
    let program = file.parse(&args.input).map_err(|errors| file.refused(&errors))?;
    let models = models(app);
    let typed = args.how.model.as_deref();
    let (model, lacking) = model_if_any(model_of_run(typed, &models, app), typed)?;
    let asked = Asked { how: &args.how, view: &args.view, selection: &args.selection };
    let mut started = asked.started(args.input.clone(), app)?;
    started.installed = Arc::new(app.discover(&app.roots(&args.selection, None)?).inventory);
    started.rates = models.rate(&model).map(|rate| (model.clone(), rate)).into_iter().collect();
    started.model = model;
    let budget = started.orchestration.sop;
    let asked = ProgramRun {
        name: name_of(&args.file),
        dir: directory(&args.file, app),
        text: file.program_text().to_owned(),
        commands: commands(&program),
        budget: SopBudget { commands: args.max_commands.unwrap_or(budget.commands), ..budget },
    };
    let (spec, warnings) = plan_program(&asked, &started).map_err(|error| refused(&error, &file))?;
    if let Some(lacking) = lacking.filter(|_| spec.asks_a_model()) {
        return Err(lacking);
    }
    tell_unknown(&file, &program, &spec, app);
    for warning in &warnings {
        let text = report(warning, &app.out);
        app.out.aside(&text);
    }
    let shelf = skills::shelf(&args.selection, app)?;
    let world = world_with(&spec, models, &args.how.sandbox, shelf, app);
    let store = store(app)?;
    let id = spec.id.clone();
    app.out.note(&words!("run {id}", "运行 {id}"));
    let watching = args.how.watching();
    let open = move |watcher| Session::begin(store, spec, world, watcher);
    follow(app, &watching, open, |run, left, app| conclude(run, left, &watching, app))
}

fn refused(error: &StartError, file: &ProgramFile) -> CliError {
    let shown = &file.shown;
    let message = words!("`{shown}` cannot be run", "`{shown}` 无法运行");
    match error {
        StartError::Invalid(diagnostics) => CliError::failed(message).diagnostics(diagnostics.clone()),
        StartError::Internal(words) => CliError::new(Exit::Refused, words.clone()),
        StartError::File(error) => CliError::failed(error.words()),
    }
}

/// What the run is called: the file, without its ending.
fn name_of(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = fugato_model::SkillName::suggest(&stem).map(|name| name.to_string());
    name.unwrap_or_else(|| "program".to_owned())
}

fn directory(file: &Path, app: &App) -> PathBuf {
    let full = app.places.cwd.join(file);
    full.parent().filter(|dir| dir.is_dir()).map_or_else(|| app.places.cwd.clone(), PathBuf::from)
}

fn commands(program: &Program) -> Vec<String> {
    let all = program.declarations().iter().map(|declaration| declaration.command.to_string());
    let mut names: Vec<String> = all.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What nobody here can do fails when its turn comes; the person may want to know before.
fn tell_unknown(file: &ProgramFile, program: &Program, spec: &RunSpec, app: &mut App) {
    let known: Vec<&str> = spec.skills.keys().map(String::as_str).collect();
    for problem in file.diagnostics(&program.unknown_commands(&known)) {
        let text = report(&problem, &app.out);
        app.out.aside(&text);
    }
}

/// A run that has ended is told by its variables; one that has not, like every other.
fn conclude(run: &Run, left: Left, watching: &Watching, app: &mut App) -> Outcome {
    let (Some(interpreter), Some((outcome, reason, _))) = (run.program(0), &run.ended) else {
        return tell(run, left, watching, app);
    };
    if app.out.json {
        app.out.json(&document(interpreter))?;
    } else if !watching.jsonl {
        show(interpreter, app)?;
    }
    let exit = exit_of(*outcome);
    if exit != Exit::Ok {
        app.out.note(reason);
    }
    let has_failed = interpreter.failed().next().is_some();
    Ok(if has_failed && exit == Exit::Ok { Exit::Failed } else { exit })
}

/// `--json`: what became of every variable.
fn document(interpreter: &Interpreter) -> Value {
    let variables: Map<String, Value> =
        interpreter.values().map(|(name, value)| (name.to_string(), value.to_string().into())).collect();
    let failed: Vec<Value> = interpreter
        .failed()
        .map(|(name, value)| json!({"variable": &**name, "reason": value.to_string()}))
        .collect();
    let result = match interpreter.answer() {
        Some(Answer::Final { text, .. }) => Some(text.to_string()),
        Some(Answer::CannotComplete { .. }) | None => None,
    };
    json!({"schema": "fugato.sop/v1", "variables": variables, "failed": failed, "result": result})
}

/// Of a value in the table.
const SHOWN_CHARS: usize = 200;

fn show(interpreter: &Interpreter, app: &mut App) -> Result<(), CliError> {
    let mut table = match app.out.lang {
        Lang::En => Table::new(0).header(["VARIABLE", "VALUE"]),
        Lang::Zh => Table::new(0).header(["变量", "值"]),
    };
    for (name, value) in interpreter.values() {
        let text = value.to_string();
        let line: String =
            text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN_CHARS).collect();
        let look = match value.success() {
            Some(_) => style::PLAIN,
            None if value.is_failed() => style::BAD,
            None => style::DIM,
        };
        table.row([Cell::styled(style::NAME, name), Cell::styled(look, line)]);
    }
    table.print(&mut app.out)?;
    if let Some(Answer::Final { text, .. }) = interpreter.answer() {
        app.out.line("")?;
        for line in text.lines() {
            let line = fugato_model::escape_for_terminal(line).into_owned();
            app.out.line(line)?;
        }
    }
    Ok(())
}
