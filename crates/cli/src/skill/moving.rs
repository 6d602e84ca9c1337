//! `fugato skill mv` and `fugato skill rename`.

use super::{OneSkill, manage_error, parse_scope};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, SkillName, Words, words};
use fugato_runtime::manage;
use fugato_skill::profile::Profile;
use std::path::PathBuf;

/// Move a skill to another scope.
#[derive(Debug, Args)]
pub struct MoveArgs {
    #[command(flatten)]
    skill: OneSkill,
    /// The scope to move it to
    #[arg(value_name = "TO", add = ArgValueCandidates::new(crate::complete::scopes))]
    to: String,
}

/// Rename a skill, its directory and its `name:`.
#[derive(Debug, Args)]
pub struct RenameArgs {
    #[command(flatten)]
    skill: OneSkill,
    /// The new name
    to: String,
    /// Tell which lines of these profiles name the skill (repeatable)
    #[arg(long = "profile", value_name = "FILE")]
    profiles: Vec<PathBuf>,
}

pub fn run_move(args: &MoveArgs, app: &mut App) -> Outcome {
    let scope = parse_scope(&args.to)?;
    let (skill, _) = args.skill.find(app)?;
    let moved = manage::move_to_scope(&app.places, &skill, &scope).map_err(|error| manage_error(&error))?;
    let dir = moved.to;
    let name = skill.label();
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.mv/v1", "name": name, "from": skill.scope, "to": scope, "path": dir,
        }))?;
        return Ok(Exit::Ok);
    }
    let (from, shown) = (skill.scope, app.show_path(&dir));
    app.out.note(&words!(
        "moved `{name}` from {from} to {scope}: {shown}",
        "已将 `{name}` 从 {from} 移到 {scope}：{shown}"
    ));
    Ok(Exit::Ok)
}

pub fn run_rename(args: &RenameArgs, app: &mut App) -> Outcome {
    let to = SkillName::parse(&args.to).map_err(|error| {
        let shown = fugato_model::escape_for_terminal(&args.to).into_owned();
        let Words { en, zh } = error.words();
        let cli = CliError::usage(words!("name `{shown}`: {en}", "名称 `{shown}`：{zh}"));
        match SkillName::suggest(&args.to) {
            Some(better) => cli.hint(words!("try `{better}`", "可以用 `{better}`")),
            None => cli,
        }
    })?;
    let (skill, _) = args.skill.find(app)?;
    let from = skill.label();
    let renamed = manage::rename(&app.places, &skill, &to).map_err(|error| manage_error(&error))?;
    let dir = renamed.to;
    let mut stale = Vec::new();
    for profile in &args.profiles {
        stale.extend(references(profile, &from, app)?);
    }
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.rename/v1", "from": from, "to": to, "path": dir, "staleReferences": stale,
        }))?;
        return Ok(Exit::Ok);
    }
    let shown = app.show_path(&dir);
    app.out.note(&words!("renamed `{from}` to `{to}`: {shown}", "已将 `{from}` 重命名为 `{to}`：{shown}"));
    for place in &stale {
        app.out.note(&words!("{place} still says `{from}`", "{place} 仍写着 `{from}`"));
    }
    if args.profiles.is_empty() {
        app.out.note(&words!(
            "profiles that name `{from}` go stale and keep working; `fugato policy lint PROFILE` finds them",
            "引用 `{from}` 的配置会失效但不影响运行；用 `fugato policy lint 配置文件` 查找"
        ));
    }
    Ok(Exit::Ok)
}

/// Where a profile names a skill: `file:line`.
fn references(path: &PathBuf, name: &str, app: &App) -> Result<Vec<String>, CliError> {
    let full = app.places.cwd.join(path);
    let bytes = crate::policy::read_profile_bytes(&full)?;
    let shown = app.show_path(&full);
    let parsed = Profile::parse_bytes(&shown, &bytes);
    if parsed.profile.is_none() {
        return Err(CliError::failed(words!("cannot read `{shown}`", "无法读取 `{shown}`"))
            .diagnostics(parsed.diagnostics));
    }
    let quoted = format!("\"{name}\"");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains(&quoted))
        .map(|(at, _)| format!("{shown}:{}", at + 1))
        .collect())
}
