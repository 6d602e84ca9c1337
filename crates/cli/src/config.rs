//! `fugato config …`: settings, and where each comes from.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::style;
use crate::render::{Cell, Table};
use clap::{Args, Subcommand, ValueEnum};
use fugato_model::{Code, Exit, words};
use fugato_runtime::config::{self, Config};

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// All settings
    List(ListArgs),
    /// One setting
    Get(GetArgs),
    /// Write a setting, keeping the comments of the file
    Set(SetArgs),
    /// Print the JSON Schema of the configuration files
    Schema,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Show which layer and line each value comes from
    #[arg(long)]
    origin: bool,
}

#[derive(Debug, Args)]
pub struct GetArgs {
    key: String,
}

#[derive(Debug, Args)]
pub struct SetArgs {
    key: String,
    value: String,
    /// Which file to write
    #[arg(long, default_value = "project", value_name = "LAYER")]
    layer: WriteLayer,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WriteLayer {
    /// Yours, for every project
    User,
    /// fugato.toml, shared with the project
    Project,
    /// fugato.local.toml, yours in this project
    Local,
}

pub fn run(command: ConfigCommand, app: &mut App) -> Outcome {
    match command {
        ConfigCommand::List(args) => list(&args, app),
        ConfigCommand::Get(args) => get(&args, app),
        ConfigCommand::Set(args) => set(&args, app),
        ConfigCommand::Schema => {
            app.out.json(&config::schema())?;
            Ok(Exit::Ok)
        }
    }
}

fn list(args: &ListArgs, app: &mut App) -> Outcome {
    let entries = app.config.entries();
    if app.out.json {
        let items: Vec<_> = entries
            .iter()
            .map(|entry| {
                serde_json::json!({
                    "key": entry.key, "value": entry.value, "origin": entry.origin, "env": entry.env,
                })
            })
            .collect();
        app.out.json(&serde_json::json!({"schema": "fugato.config/v1", "settings": items}))?;
        return Ok(Exit::Ok);
    }
    let lang = app.out.lang;
    let mut table = Table::new(0);
    for entry in &entries {
        let last = if args.origin {
            entry.origin.describe(&app.places, lang)
        } else {
            entry.doc.in_lang(lang).to_owned()
        };
        table.row([
            Cell::styled(style::NAME, entry.key),
            Cell::new(entry.value.to_string()),
            Cell::styled(style::DIM, last),
        ]);
    }
    table.print(&mut app.out)?;
    Ok(Exit::Ok)
}

fn get(args: &GetArgs, app: &mut App) -> Outcome {
    let entries = app.config.entries();
    let Some(entry) = entries.iter().find(|entry| entry.key == args.key) else {
        return Err(unknown_key(&args.key));
    };
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.setting/v1", "key": entry.key, "value": entry.value, "origin": entry.origin,
        }))?;
    } else {
        let text = match &entry.value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        app.out.line(text)?;
    }
    Ok(Exit::Ok)
}

fn set(args: &SetArgs, app: &mut App) -> Outcome {
    if !config::keys().any(|key| key == args.key) {
        return Err(unknown_key(&args.key));
    }
    let layer = match args.layer {
        WriteLayer::User => config::FileLayer::User,
        WriteLayer::Project => config::FileLayer::Project,
        WriteLayer::Local => config::FileLayer::Local,
    };
    let file = layer.path(&app.places);
    Config::set(&file, &args.key, &args.value)
        .map_err(|error| CliError::new(error.exit(), error.words()).code(error.code()))?;
    let (key, shown) = (&args.key, app.show_path(&file));
    app.out.note(&words!("wrote `{key}` to {shown}", "已将 `{key}` 写入 {shown}"));
    Ok(Exit::Ok)
}

fn unknown_key(key: &str) -> CliError {
    CliError::unknown(("setting", "设置"), key, config::keys().collect::<Vec<_>>()).code(Code::F0402)
}
