//! `fugato skill add`: install from a directory, a .zip, or a card or preset with embedded skills.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::style;
use crate::render::{self, Cell, Table};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, Lang, words};
use fugato_runtime::manage::{self, Done, OnConflict, Outcome as Installed, State};
use fugato_skill::archive::{BundledSkill, Select};
use std::path::PathBuf;

/// Install skills from a directory, a .zip, or a card or preset file.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// What to install: judged by its content, not by its name
    source: PathBuf,
    /// Where to install it
    #[arg(long, default_value = "global", value_name = "SCOPE", add = ArgValueCandidates::new(crate::complete::scopes))]
    scope: String,
    /// Only these skills of the source (repeatable) [default: the only one]
    #[arg(long = "skill", value_name = "NAME")]
    skills: Vec<String>,
    /// All skills of the source
    #[arg(long, conflicts_with = "skills")]
    all: bool,
    /// What to do with a name that is taken
    #[arg(long, default_value = "fail", value_name = "HOW")]
    on_conflict: Conflict,
    /// Show what would happen and change nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Conflict {
    /// Stop and change nothing
    Fail,
    /// Keep what is installed
    Skip,
    /// Replace it; the old one goes to the trash
    Replace,
}

pub fn run(args: &AddArgs, app: &mut App) -> Outcome {
    let scope = super::parse_scope(&args.scope)?;
    let source = app.places.cwd.join(&args.source);
    let bundle = manage::add_from_path(&source).map_err(|error| super::manage_error(&error))?;
    for warning in &bundle.warnings {
        let text = render::report(warning, &app.out);
        app.out.aside(&text);
    }
    let select = match (args.all, args.skills.is_empty()) {
        (true, _) => Select::All,
        (false, true) => Select::Only,
        (false, false) => Select::Named(&args.skills),
    };
    let chosen = bundle.select(&app.show_path(&source), select).map_err(|diagnostics| {
        let exit = if args.skills.is_empty() { Exit::Usage } else { Exit::NotFound };
        CliError::new(exit, words!("nothing was changed", "没有做任何更改")).diagnostics(diagnostics)
    })?;
    if args.dry_run {
        return preview(&chosen, &scope, app);
    }
    let on_conflict = match args.on_conflict {
        Conflict::Fail => OnConflict::Fail,
        Conflict::Skip => OnConflict::Skip,
        Conflict::Replace => OnConflict::Replace,
    };
    let outcomes = manage::install(&app.places, &scope, &chosen, on_conflict)
        .map_err(|error| super::manage_error(&error))?;
    report(&outcomes, &scope, app)
}

fn preview(skills: &[&BundledSkill], scope: &fugato_model::Scope, app: &mut App) -> Outcome {
    let previews =
        manage::preview(skills, &app.places.scope_dir(scope)).map_err(|error| super::manage_error(&error))?;
    if app.out.json {
        let items: Vec<_> = previews
            .iter()
            .map(|preview| {
                let (state, files) = state_word(&preview.state);
                serde_json::json!({
                    "name": preview.name, "state": state, "changedFiles": files, "digest": preview.digest,
                })
            })
            .collect();
        app.out
            .json(&serde_json::json!({"schema": "fugato.add_preview/v1", "scope": scope, "skills": items}))?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(0);
    for preview in &previews {
        let (state, files) = state_word(&preview.state);
        table.row([
            Cell::styled(style::NAME, preview.name.as_str()),
            Cell::styled(if state == "different" { style::WARN } else { style::GOOD }, state),
            Cell::new(files.join(", ")),
        ]);
    }
    table.print(&mut app.out)?;
    app.out.note(&words!("nothing was changed (--dry-run)", "未做任何更改（--dry-run）"));
    Ok(Exit::Ok)
}

fn state_word(state: &State) -> (&'static str, Vec<String>) {
    match state {
        State::New => ("new", Vec::new()),
        State::Same => ("same", Vec::new()),
        State::Different { changed } => {
            ("different", changed.iter().map(|file| file.path.to_string()).collect())
        }
    }
}

/// Tells what an installation did.
pub fn report(outcomes: &[Installed], scope: &fugato_model::Scope, app: &mut App) -> Outcome {
    if app.out.json {
        let items: Vec<_> = outcomes
            .iter()
            .map(|outcome| {
                serde_json::json!({
                    "name": outcome.name, "change": change_word(&outcome.done, Lang::En), "path": outcome.dir,
                    "digest": outcome.digest, "backup": backup(&outcome.done),
                })
            })
            .collect();
        app.out.json(&serde_json::json!({"schema": "fugato.add/v1", "scope": scope, "skills": items}))?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(0);
    for outcome in outcomes {
        table.row([
            Cell::styled(style::NAME, outcome.name.as_str()),
            Cell::styled(style::GOOD, change_word(&outcome.done, app.out.lang)),
            Cell::styled(style::DIM, app.show_path(&outcome.dir)),
        ]);
    }
    table.print(&mut app.out)?;
    for backup in outcomes.iter().filter_map(|outcome| backup(&outcome.done)) {
        let shown = app.show_path(backup);
        app.out.note(&words!("the old one is kept in {shown}", "旧版本保存在 {shown}"));
    }
    Ok(Exit::Ok)
}

fn backup(done: &Done) -> Option<&PathBuf> {
    match done {
        Done::Replaced { backup } => Some(backup),
        Done::Installed | Done::Same | Done::Skipped => None,
    }
}

fn change_word(done: &Done, lang: Lang) -> &'static str {
    match (done, lang) {
        (Done::Installed, Lang::En) => "added",
        (Done::Installed, Lang::Zh) => "已添加",
        (Done::Replaced { .. }, Lang::En) => "replaced",
        (Done::Replaced { .. }, Lang::Zh) => "已替换",
        (Done::Same, Lang::En) => "same",
        (Done::Same, Lang::Zh) => "相同",
        (Done::Skipped, Lang::En) => "skipped",
        (Done::Skipped, Lang::Zh) => "已跳过",
    }
}
