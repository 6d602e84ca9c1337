//! `fugato skill lock` and `verify`: pin every file of every skill, and say what differs.

use super::manage_error;
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::printer::style;
use crate::render::{Cell, Table};
use clap::Args;
use fugato_model::{Exit, words};
use fugato_runtime::manage;
use std::path::PathBuf;

const LOCK_FILE: &str = "skills.lock.json";

/// Pin the digests of all skills in skills.lock.json.
#[derive(Debug, Args)]
pub struct LockArgs {
    /// Only these skills [default: all usable ones]
    names: Vec<String>,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = LOCK_FILE)]
    file: PathBuf,
    #[command(flatten)]
    selection: SkillSelection,
}

/// Compare the installed skills with skills.lock.json.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The file to compare with
    #[arg(long, value_name = "FILE", default_value = LOCK_FILE)]
    file: PathBuf,
    #[command(flatten)]
    selection: SkillSelection,
}

pub fn run_lock(args: &LockArgs, app: &mut App) -> Outcome {
    let inventory = app.discover(&app.roots(&args.selection, None)).inventory;
    let mut skills = Vec::new();
    if args.names.is_empty() {
        let effective = inventory.all().iter().filter(|s| s.usable && !inventory.is_shadowed(s));
        skills.extend(effective.cloned());
    }
    for name in &args.names {
        match inventory.get(name) {
            Some(skill) => skills.push(skill.clone()),
            None => return Err(super::unknown_skill(name, &inventory)),
        }
    }
    let lock = manage::lock(&app.places, &skills).map_err(|error| manage_error(&error))?;
    let path = app.places.cwd.join(&args.file);
    let text = lock.to_json();
    manage::write_atomically(&path, text.as_bytes()).map_err(|error| manage_error(&error))?;
    let (n, shown) = (skills.len(), app.show_path(&path));
    if app.out.json {
        app.out.raw(text.as_bytes())?;
        return Ok(Exit::Ok);
    }
    app.out.note(&words!("pinned {n} skills in {shown}", "已在 {shown} 中固定 {n} 个技能"));
    Ok(Exit::Ok)
}

pub fn run_verify(args: &VerifyArgs, app: &mut App) -> Outcome {
    let path = app.places.cwd.join(&args.file);
    let bytes = std::fs::read(&path).map_err(|error| {
        CliError::io("read", &path, &error)
            .hint(words!("`fugato skill lock` writes one", "`fugato skill lock` 可生成"))
    })?;
    let lock = manage::read_lock(&app.show_path(&path), &bytes).map_err(|error| manage_error(&error))?;
    let inventory = app.discover(&app.roots(&args.selection, None)).inventory;
    let drifts = manage::verify(&lock, &inventory).map_err(|error| manage_error(&error))?;
    let failed = drifts.iter().any(manage::Drift::is_failure);
    if app.out.json {
        let lang = app.out.lang;
        let items: Vec<_> = drifts
            .iter()
            .map(|drift| {
                serde_json::json!({
                    "name": drift.name, "kind": drift.kind(), "files": drift.files(),
                    "message": drift.words().in_lang(lang),
                })
            })
            .collect();
        app.out.json(&serde_json::json!({"schema": "fugato.verify/v1", "ok": !failed, "drifts": items}))?;
    } else {
        let mut table = Table::new(0);
        for drift in &drifts {
            let look = if drift.is_failure() { style::BAD } else { style::WARN };
            table.row([
                Cell::styled(style::NAME, drift.name.as_str()),
                Cell::styled(look, drift.kind()),
                Cell::new(drift.words().in_lang(app.out.lang)),
            ]);
        }
        table.print(&mut app.out)?;
        let n = lock.len();
        if !failed {
            app.out.note(&words!("{n} pinned skills are as they were", "{n} 个固定的技能没有变化"));
        }
    }
    Ok(if failed { Exit::Failed } else { Exit::Ok })
}
