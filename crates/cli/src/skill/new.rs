//! `fugato skill new`: a skill that passes its own checks.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use fugato_model::{Code, Exit, RelPath, Scope, SkillName, Words, words};
use fugato_runtime::manage::{self, Done, ManageError, OnConflict};
use fugato_skill::archive::{BundledFile, BundledSkill};
use fugato_skill::{Kind, template};
use std::collections::BTreeMap;
use std::path::Path;

/// Create a skill.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// Name: lower-case letters and digits of any script, and single hyphens
    name: String,
    /// What it does and when to use it, in one or two sentences [default: a sentence to replace]
    #[arg(long, short)]
    description: Option<String>,
    /// What kind of skill
    #[arg(long, default_value = "skill")]
    kind: NewKind,
    /// Where to put it
    #[arg(long, default_value = "project", value_name = "SCOPE", add = ArgValueCandidates::new(crate::complete::scopes))]
    scope: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NewKind {
    /// One agent reads the text
    Skill,
    /// A DAG of subagents
    Phases,
    /// A bounded session over other skills (oskill.md)
    Orchestrator,
}

pub fn run(args: &NewArgs, app: &mut App) -> Outcome {
    let name = SkillName::parse(&args.name).map_err(|error| {
        let shown = fugato_model::escape_for_terminal(&args.name).into_owned();
        let Words { en, zh } = error.words();
        let cli = CliError::usage(words!("name `{shown}`: {en}", "名称 `{shown}`：{zh}")).code(Code::F0109);
        match SkillName::suggest(&args.name) {
            Some(better) => cli.hint(words!("try `{better}`", "可以用 `{better}`")),
            None => cli,
        }
    })?;
    let scope: Scope = super::parse_scope(&args.scope)?;
    let kind = match args.kind {
        NewKind::Skill => Kind::Skill,
        NewKind::Phases => Kind::Phases,
        NewKind::Orchestrator => Kind::Orchestrator,
    };
    let files = template::files(&name, kind, args.description.as_deref());
    let first = files.first().map_or("SKILL.md", |file| file.path);
    let files = files.into_iter().map(|file| {
        let path = RelPath::parse(file.path).map_err(|error| CliError::internal(&error))?;
        Ok((path, BundledFile { bytes: file.content.into_bytes(), executable: false }))
    });
    let files = files.collect::<Result<BTreeMap<_, _>, CliError>>()?;
    let skill = BundledSkill { dir_name: name.to_string(), files };
    let outcomes =
        manage::install(&app.places, &scope, &[&skill], OnConflict::Fail).map_err(|error| match &error {
            ManageError::Conflict { dir, .. } => there_already(&name, dir, app),
            _ => super::manage_error(&error),
        })?;
    let Some(made) = outcomes.first() else { return Ok(Exit::Ok) };
    if made.done == Done::Same {
        return Err(there_already(&name, &made.dir, app));
    }
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.skill_new/v1", "name": name, "scope": scope, "path": made.dir,
        }))?;
        return Ok(Exit::Ok);
    }
    app.out.line(paint(style::NAME, app.show_path(&made.dir)))?;
    let shown = app.show_path(&made.dir.join(first));
    app.out.note(&words!(
        "created skill `{name}`. Next: edit {shown}, then `fugato skill check`",
        "已创建技能 `{name}`。下一步：编辑 {shown}，然后运行 `fugato skill check`"
    ));
    Ok(Exit::Ok)
}

fn there_already(name: &SkillName, dir: &Path, app: &App) -> CliError {
    let shown = app.show_path(dir);
    CliError::new(
        Exit::Conflict,
        words!("skill `{name}` is there already: {shown}", "技能 `{name}` 已经存在：{shown}"),
    )
    .code(Code::F0307)
    .hint(words!(
        "choose another name, or another place with --scope; `fugato skill show {name}` shows this one",
        "请换个名称，或用 --scope 换个位置；`fugato skill show {name}` 可查看现有的"
    ))
}
