//! `fugato skill export`: a skill as a .zip; the same skill always gives the same bytes.

use super::{OneSkill, manage_error};
use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use fugato_model::{Exit, words};
use fugato_runtime::manage;
use std::path::PathBuf;

/// Write a skill as a .zip.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    skill: OneSkill,
    /// The file to write, or `-` for stdout [default: NAME.zip]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

pub fn run(args: &ExportArgs, app: &mut App) -> Outcome {
    let (skill, _) = args.skill.find(app)?;
    let bytes = manage::export(&skill).map_err(|error| manage_error(&error))?;
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.zip", skill.label())));
    if output.as_os_str() == "-" {
        app.out.raw(&bytes)?;
        return Ok(Exit::Ok);
    }
    let path = app.places.cwd.join(&output);
    if path.exists() && !args.force {
        let shown = app.show_path(&path);
        return Err(CliError::new(Exit::Conflict, words!("`{shown}` exists", "`{shown}` 已存在"))
            .hint(words!("overwrite it with --force", "用 --force 覆盖")));
    }
    fugato_runtime::write_atomically(&path, &bytes).map_err(|error| CliError::io("write", &path, &error))?;
    let (name, shown, size) = (skill.label(), app.show_path(&path), bytes.len());
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.export/v1", "name": name, "path": path, "bytes": size, "digest": skill.digest,
        }))?;
        return Ok(Exit::Ok);
    }
    app.out.note(&words!("wrote {shown} ({size} bytes)", "已写入 {shown}（{size} 字节）"));
    Ok(Exit::Ok)
}
