//! `fugato skill rm`: into the trash, so that nothing is lost by a slip.

use super::{OneSkill, manage_error};
use crate::app::App;
use crate::error::Outcome;
use crate::render::shell_word;
use clap::Args;
use fugato_model::{Exit, words};
use fugato_runtime::manage::{self, Removal};

/// Remove a skill (into the trash).
#[derive(Debug, Args)]
pub struct RemoveArgs {
    #[command(flatten)]
    skill: OneSkill,
    /// Delete it for good
    #[arg(long)]
    purge: bool,
}

pub fn run(args: &RemoveArgs, app: &mut App) -> Outcome {
    let (skill, _) = args.skill.find(app)?;
    // A link goes to the trash as a link; undoing means linking again, not installing a copy.
    let link = std::fs::read_link(&skill.dir).ok();
    let removal = if args.purge { Removal::Purge } else { Removal::Trash };
    let kept = manage::remove(&app.places, &skill, removal).map_err(|error| manage_error(&error))?.trash;
    let name = skill.label();
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.rm/v1", "name": name, "scope": skill.scope, "path": skill.dir, "trash": kept,
        }))?;
        return Ok(Exit::Ok);
    }
    let scope = skill.scope;
    match kept {
        Some(kept) => {
            let shown = app.show_path(&kept);
            let undo = match link {
                Some(target) => format!("ln -s {} {}", shell_word(target), shell_word(&skill.dir)),
                None => {
                    let scope = shell_word(scope.to_string());
                    format!("fugato skill add {} --scope {scope}", shell_word(&kept))
                }
            };
            app.out.note(&words!(
                "removed `{name}` from {scope}; it is kept in {shown}\nundo: {undo}",
                "已从 {scope} 移除 `{name}`；保存在 {shown}\n撤销：{undo}"
            ));
        }
        None => app.out.note(&words!("deleted `{name}` from {scope}", "已从 {scope} 删除 `{name}`")),
    }
    Ok(Exit::Ok)
}
