//! `fugato skill add`: install from a directory, a .zip, or a card or preset with embedded skills.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::style;
use crate::render::{self, Cell, Table};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, Lang, words};
use fugato_runtime::manage::{self, Change, OnConflict, Outcome as Installed, PreviewState};
use std::path::PathBuf;

/// Install skills from a directory, a .zip, or a card or preset file.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// What to install: judged by its content, not by its name
    source: PathBuf,
    /// Where to install it
    #[arg(long, default_value = "global", value_name = "SCOPE", add = ArgValueCandidates::new(crate::complete::scopes))]
    scope: String,
    /// Only these skills of the source (repeatable)
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
    let names: Vec<String> = bundle.skills.iter().map(|skill| skill.dir_name.clone()).collect();
    if names.len() > 1 && args.skills.is_empty() && !args.all {
        let listed = names.join("\n  ");
        let n = names.len();
        return Err(CliError::usage(words!(
            "the source has {n} skills:\n  {listed}",
            "来源中有 {n} 个技能:\n  {listed}"
        ))
        .hint(words!(
            "choose with --skill NAME, or take --all",
            "用 --skill 名称 选择,或用 --all 全部安装"
        )));
    }
    let bundle = if args.skills.is_empty() {
        bundle
    } else {
        for wanted in &args.skills {
            if !names.contains(wanted) {
                return Err(CliError::unknown(("skill", "技能"), wanted, names.iter().map(String::as_str)));
            }
        }
        bundle.only(&args.skills)
    };
    if args.dry_run {
        return preview(&bundle, &scope, app);
    }
    let on_conflict = match args.on_conflict {
        Conflict::Fail => OnConflict::Fail,
        Conflict::Skip => OnConflict::Skip,
        Conflict::Replace => OnConflict::Replace,
    };
    let outcomes = manage::install(&app.places, &scope, &bundle, on_conflict)
        .map_err(|error| super::manage_error(&error))?;
    report(&outcomes, &scope, app)
}

fn preview(bundle: &manage::Bundle, scope: &fugato_model::Scope, app: &mut App) -> Outcome {
    let previews =
        manage::preview(bundle, &app.places.scope_dir(scope)).map_err(|error| super::manage_error(&error))?;
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
            Cell::styled(style::NAME, &preview.name),
            Cell::styled(if state == "different" { style::WARN } else { style::GOOD }, state),
            Cell::new(files.join(", ")),
        ]);
    }
    table.print(&mut app.out)?;
    app.out.note(&words!("nothing was changed (--dry-run)", "未做任何更改(--dry-run)"));
    Ok(Exit::Ok)
}

fn state_word(state: &PreviewState) -> (&'static str, Vec<String>) {
    match state {
        PreviewState::New => ("new", Vec::new()),
        PreviewState::Same => ("same", Vec::new()),
        PreviewState::Different { files } => ("different", files.iter().map(ToString::to_string).collect()),
    }
}

/// Tells what an installation did.
pub fn report(outcomes: &[Installed], scope: &fugato_model::Scope, app: &mut App) -> Outcome {
    if app.out.json {
        let items: Vec<_> = outcomes
            .iter()
            .map(|outcome| {
                serde_json::json!({
                    "name": outcome.name, "change": change_word(outcome.change, Lang::En), "path": outcome.dir,
                    "digest": outcome.digest, "backup": outcome.backup,
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
            Cell::styled(style::GOOD, change_word(outcome.change, app.out.lang)),
            Cell::styled(style::DIM, app.show_path(&outcome.dir)),
        ]);
    }
    table.print(&mut app.out)?;
    for backup in outcomes.iter().filter_map(|outcome| outcome.backup.as_ref()) {
        let shown = app.show_path(backup);
        app.out.note(&words!("the old one is kept in {shown}", "旧版本保存在 {shown}"));
    }
    Ok(Exit::Ok)
}

fn change_word(change: Change, lang: Lang) -> &'static str {
    match (change, lang) {
        (Change::Added, Lang::En) => "added",
        (Change::Added, Lang::Zh) => "已添加",
        (Change::Replaced, Lang::En) => "replaced",
        (Change::Replaced, Lang::Zh) => "已替换",
        (Change::Same, Lang::En) => "same",
        (Change::Same, Lang::Zh) => "相同",
        (Change::Skipped, Lang::En) => "skipped",
        (Change::Skipped, Lang::Zh) => "已跳过",
    }
}
