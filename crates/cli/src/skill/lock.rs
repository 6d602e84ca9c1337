//! `fugato skill lock` and `verify`: pin every file of every skill, and say what differs.

use super::manage_error;
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::printer::style;
use crate::render::{self, Cell, Table};
use clap::Args;
use fugato_model::{Exit, Words, words};
use fugato_runtime::manage;
use fugato_skill::lock::{Drift, DriftKind, FileChange, LockFile};
use std::path::PathBuf;

const LOCK_FILE: &str = LockFile::FILE_NAME;

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
    let inventory = app.discover(&app.roots(&args.selection, None)?).inventory;
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
    let lock = manage::lock(&app.places, skills.iter()).map_err(|error| manage_error(&error))?;
    let path = app.places.cwd.join(&args.file);
    let text = lock.to_text();
    fugato_runtime::write_atomically(&path, text.as_bytes())
        .map_err(|error| CliError::io("write", &path, &error))?;
    let (n, shown) = (skills.len(), app.show_path(&path));
    if app.out.json {
        app.out.raw(text.as_bytes())?;
        return Ok(Exit::Ok);
    }
    let skills = render::count(n, "skill");
    app.out.note(&words!("pinned {skills} in {shown}", "已在 {shown} 中固定 {n} 个技能"));
    Ok(Exit::Ok)
}

pub fn run_verify(args: &VerifyArgs, app: &mut App) -> Outcome {
    let path = app.places.cwd.join(&args.file);
    let bytes = std::fs::read(&path).map_err(|error| {
        CliError::io("read", &path, &error)
            .hint(words!("`fugato skill lock` writes one", "`fugato skill lock` 可生成"))
    })?;
    let lock = LockFile::parse(&app.show_path(&path), &bytes).map_err(|diagnostic| {
        CliError::failed(words!("the lock file cannot be used", "锁定文件无法使用"))
            .diagnostics(vec![*diagnostic])
    })?;
    let inventory = app.discover(&app.roots(&args.selection, None)?).inventory;
    let drifts = manage::verify(&app.places, &lock, &inventory).map_err(|error| manage_error(&error))?;
    let failed = drifts.iter().any(is_failure);
    if app.out.json {
        app.out.json(&serde_json::json!({"schema": "fugato.verify/v1", "ok": !failed, "drifts": drifts}))?;
    } else {
        let mut table = Table::new(0);
        for drift in &drifts {
            let look = if is_failure(drift) { style::BAD } else { style::WARN };
            let words = describe(&drift.kind);
            table.row([
                Cell::styled(style::NAME, drift.name.as_str()),
                Cell::styled(look, app.out.say(&words)),
            ]);
        }
        table.print(&mut app.out)?;
        summary(lock.skills.len(), &drifts, app);
    }
    Ok(if failed { Exit::Failed } else { Exit::Ok })
}

fn summary(pinned: usize, drifts: &[Drift], app: &mut App) {
    let changed = drifts.iter().filter(|drift| is_failure(drift)).count();
    let skills = render::count(pinned, "pinned skill");
    if changed == 0 {
        let are = if pinned == 1 { "is" } else { "are" };
        app.out.note(&words!("{skills} {are} as pinned", "{pinned} 个固定的技能没有变化"));
    } else {
        app.out.note(&words!(
            "{changed} of {skills} differ; to accept what is installed: fugato skill lock",
            "{pinned} 个固定的技能中有 {changed} 个不同；要接受现状：fugato skill lock"
        ));
    }
}

/// A skill that nobody pinned is news, not a failure.
fn is_failure(drift: &Drift) -> bool {
    !matches!(drift.kind, DriftKind::Extra { .. })
}

fn describe(kind: &DriftKind) -> Words {
    match kind {
        DriftKind::Missing => words!("pinned, but not installed", "已固定，但未安装"),
        DriftKind::Extra { scope } => {
            words!("installed in {scope}, but not pinned", "已安装在 {scope}，但未固定")
        }
        DriftKind::ScopeChanged { expected, found } => {
            words!(
                "now comes from {found}, was pinned in {expected}",
                "现在来自 {found}，固定时为 {expected}"
            )
        }
        DriftKind::Changed { files, .. } => {
            let changed: Vec<_> = files
                .iter()
                .map(|file| {
                    let sign = match file.change {
                        FileChange::Added => "+",
                        FileChange::Removed => "-",
                        FileChange::Modified => "~",
                    };
                    format!("{sign}{}", file.path)
                })
                .collect();
            let changed = changed.join(" ");
            words!("changed: {changed}", "已改动：{changed}")
        }
    }
}
