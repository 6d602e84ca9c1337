//! `fugato init`: what a project needs, nothing overwritten.

use crate::app::App;
use crate::error::{CliError, Outcome};
use clap::Args;
use fugato_model::{Exit, words};

/// Prepare this project: a skills directory and a configuration file.
#[derive(Debug, Args)]
pub struct InitArgs {}

const CONFIG: &str = "# Settings of this project; `fugato config list` shows all of them with their origin.\n\
# [skills]\n# extra = [\"../shared-skills\"]\n";

pub fn run(_args: &InitArgs, app: &mut App) -> Outcome {
    let root = app.places.project_root().to_owned();
    let skills = root.join(".agents").join("skills");
    let config = root.join("fugato.toml");
    let mut made = Vec::new();
    if !skills.is_dir() {
        std::fs::create_dir_all(&skills).map_err(|error| CliError::io("create", &skills, &error))?;
        made.push(skills);
    }
    if !config.exists() {
        fugato_runtime::write_atomically(&config, CONFIG.as_bytes())
            .map_err(|error| CliError::io("write", &config, &error))?;
        made.push(config);
    }
    if app.out.json {
        app.out.json(&serde_json::json!({"schema": "fugato.init/v1", "root": root, "created": made}))?;
        return Ok(Exit::Ok);
    }
    for path in &made {
        app.out.line(app.show_path(path))?;
    }
    app.out.note(&if made.is_empty() {
        words!(
            "everything is there already. Next: fugato skill new my-first-skill",
            "都已就绪。下一步：fugato skill new my-first-skill"
        )
    } else {
        words!(
            "created. Next: fugato skill new my-first-skill",
            "已创建。下一步：fugato skill new my-first-skill"
        )
    });
    Ok(Exit::Ok)
}
