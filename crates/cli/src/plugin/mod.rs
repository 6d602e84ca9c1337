//! `fugato plugin export DIR`: a folder that Claude Code loads as a plugin: the hook, /status, /intervene, and the skills
//! that explain them. It names this program by its path, so it is made on the machine that uses it.

use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::{Args, Subcommand};
use fugato_model::{Exit, words};
use fugato_runtime::hosts::Host;
use fugato_runtime::wiring::{self, Program};
use fugato_runtime::write_atomically;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Write a plugin folder for Claude Code: /status and /intervene, the hook, and skills that explain them
    Export(ExportArgs),
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The directory to write; it must be empty, new, or an earlier export
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

const MANIFEST: &str = ".claude-plugin/plugin.json";
/// What stands for the program in the texts.
const PROGRAM: &str = "{{fugato}}";
const TEXTS: &[(&str, &str)] = &[
    ("commands/status.md", include_str!("status.md")),
    ("commands/intervene.md", include_str!("intervene.md")),
    ("skills/orchestrate/SKILL.md", include_str!("orchestrate.md")),
    ("skills/oversee/SKILL.md", include_str!("oversee.md")),
];

pub fn run(command: PluginCommand, app: &mut App) -> Outcome {
    let PluginCommand::Export(args) = command;
    let dir = app.places.cwd.join(&args.dir);
    refuse_strangers(&dir, app)?;
    let own = std::env::current_exe().map_err(|error| CliError::internal(&error))?;
    let files = files(&own);
    for (path, text) in &files {
        let file = dir.join(path);
        write_atomically(&file, text.as_bytes()).map_err(|error| CliError::io("write", &file, &error))?;
    }
    if app.out.json {
        let names: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        app.out.json(&json!({"schema": "fugato.plugin_export/v1", "dir": dir, "files": names}))?;
        return Ok(Exit::Ok);
    }
    for (path, _) in &files {
        app.out.line(app.show_path(&dir.join(path)))?;
    }
    let shown = app.show_path(&dir);
    app.out.note(&words!(
        "written. Try it: claude --plugin-dir {shown} (not together with `fugato hook install`: one hook is enough)",
        "已写出。试用：claude --plugin-dir {shown}（不要与 `fugato hook install` 同时使用：一个钩子就够了）"
    ));
    Ok(Exit::Ok)
}

/// Every file with its text.
fn files(own: &Path) -> Vec<(String, String)> {
    let manifest = json!({
        "name": "fugato",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "See every agent of a run and pause, redirect or cancel any of them.",
    });
    let hooks = json!({
        "description": "Reports each step of an agent to fugato and asks whether the next one may happen.",
        "hooks": wiring::as_json(Host::Claude, &Program::beside(own)),
    });
    let program = Program::Whole(own.to_owned()).command();
    let program = program.strip_suffix(" hook").unwrap_or(&program);
    let texts = TEXTS.iter().map(|(path, text)| ((*path).to_owned(), text.replace(PROGRAM, program)));
    let values = [(MANIFEST, manifest), ("hooks/hooks.json", hooks)];
    values.map(|(path, value)| (path.to_owned(), pretty(&value))).into_iter().chain(texts).collect()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A directory with something else in it is somebody's.
fn refuse_strangers(dir: &Path, app: &App) -> Result<(), CliError> {
    let mut entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(CliError::io("read", dir, &error)),
    };
    let manifest = std::fs::read(dir.join(MANIFEST)).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
    if entries.next().is_none() || manifest.get("name").is_some_and(|name| name == "fugato") {
        return Ok(());
    }
    let shown = app.show_path(dir);
    Err(CliError::new(
        Exit::Conflict,
        words!("`{shown}` is not empty and no plugin of fugato", "`{shown}` 不为空，也不是 fugato 的插件"),
    )
    .hint(words!(
        "name a new directory: fugato plugin export {shown}/fugato",
        "请指定新目录：fugato plugin export {shown}/fugato"
    )))
}
