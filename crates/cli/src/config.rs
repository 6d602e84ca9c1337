//! `fugato config …`: settings, and where each comes from.

use crate::app::{App, env_var};
use crate::error::{CliError, Outcome};
use crate::printer::style;
use crate::render::{Cell, Table};
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
use fugato_model::{Code, Exit, Lang, words};
use fugato_runtime::config::{self, ConfigEntry, Layer, NamedEntry, Origin, Value};

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
    /// The setting; `fugato config list` shows all
    #[arg(add = ArgValueCandidates::new(crate::complete::settings))]
    key: String,
}

#[derive(Debug, Args)]
pub struct SetArgs {
    /// The setting; `fugato config list` shows all
    #[arg(add = ArgValueCandidates::new(crate::complete::settings))]
    key: String,
    /// The value; directories are separated as in PATH
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
    if app.out.json {
        let named = app.config.named().iter().map(named_document);
        let items: Vec<_> = app.config.entries().iter().map(document).chain(named).collect();
        app.out.json(&serde_json::json!({"schema": "fugato.config/v1", "settings": items}))?;
        return Ok(Exit::Ok);
    }
    let lang = app.out.lang;
    let mut table = Table::new(0);
    for entry in app.config.entries() {
        let last = match (args.origin, lang) {
            (true, _) => describe(&entry.origin),
            (false, Lang::En) => entry.setting.doc_en.to_owned(),
            (false, Lang::Zh) => entry.setting.doc_zh.to_owned(),
        };
        table.row([
            Cell::styled(style::NAME, entry.setting.key),
            Cell::new(plain(&entry.value)),
            Cell::styled(style::DIM, last),
        ]);
    }
    for entry in app.config.named() {
        let last = match (args.origin, lang) {
            (true, _) => describe(&entry.origin),
            (false, Lang::En) => entry.field.doc_en.to_owned(),
            (false, Lang::Zh) => entry.field.doc_zh.to_owned(),
        };
        table.row([
            Cell::styled(style::NAME, entry.key()),
            Cell::new(plain(&entry.value)),
            Cell::styled(style::DIM, last),
        ]);
    }
    table.print(&mut app.out)?;
    Ok(Exit::Ok)
}

fn get(args: &GetArgs, app: &mut App) -> Outcome {
    let (document, value) = match (app.config.get(&args.key), app.config.get_named(&args.key)) {
        (Some(entry), _) => (document(entry), plain(&entry.value)),
        (None, Some(entry)) => (named_document(entry), plain(&entry.value)),
        (None, None) => return Err(unknown_key(&args.key)),
    };
    if app.out.json {
        app.out.document("fugato.setting/v1", document)?;
    } else {
        app.out.line(value)?;
    }
    Ok(Exit::Ok)
}

fn set(args: &SetArgs, app: &mut App) -> Outcome {
    let layer = match args.layer {
        WriteLayer::User => Layer::User,
        WriteLayer::Project => Layer::Project,
        WriteLayer::Local => Layer::Local,
    };
    if !config::Config::knows(&args.key) {
        return Err(unknown_key(&args.key));
    }
    if !app.config.counts_in(&args.key, layer) {
        let key = &args.key;
        return Err(CliError::new(
            Exit::Refused,
            words!(
                "`{key}` counts only in your own settings: a project's file must not decide where keys go or what agents reach",
                "`{key}` 只在您自己的设置中有效：项目的文件不能决定密钥发往何处、智能体可访问什么"
            ),
        )
        .code(Code::F0405)
        .hint(words!("fugato config set --layer user {key} VALUE", "fugato config set --layer user {key} 值")));
    }
    let file = match layer {
        Layer::User => config::user_file(&app.places),
        layer => {
            let files = config::files(&app.places, env_var);
            let found = files.into_iter().find(|(known, _)| *known == layer);
            found.map(|(_, path)| path).unwrap_or_else(|| config::user_file(&app.places))
        }
    };
    config::set(&file, &args.key, &args.value).map_err(|diagnostic| {
        CliError::failed(words!("nothing was written", "没有写入")).diagnostics(vec![*diagnostic])
    })?;
    let (key, shown) = (&args.key, app.show_path(&file));
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.config_set/v1", "key": key, "layer": layer.as_str(), "file": file,
            // A header may be a secret.
            "value": (!key.ends_with(".headers")).then_some(&args.value),
        }))?;
        return Ok(Exit::Ok);
    }
    app.out.note(&words!("wrote `{key}` to {shown}", "已将 `{key}` 写入 {shown}"));
    Ok(Exit::Ok)
}

fn document(entry: &ConfigEntry) -> serde_json::Value {
    setting_document(entry.setting.key, &entry.value, Some(entry.setting.env), &entry.origin)
}

fn named_document(entry: &NamedEntry) -> serde_json::Value {
    setting_document(&entry.key(), &entry.value, None, &entry.origin)
}

fn setting_document(key: &str, value: &Value, env: Option<&str>, origin: &Origin) -> serde_json::Value {
    let value = match value {
        Value::Unset => serde_json::Value::Null,
        Value::Text(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Boolean(is) => (*is).into(),
        Value::Directories(dirs) => dirs.iter().map(|dir| dir.display().to_string()).collect(),
        Value::Hosts(hosts) => hosts.iter().map(String::as_str).collect(),
        // As text: a price is exact.
        Value::Money(_) => value.to_string().into(),
        // A header may be a secret; its name is not.
        Value::Texts(texts) => texts.keys().map(String::as_str).collect(),
    };
    serde_json::json!({
        "key": key, "value": value, "env": env,
        "origin": {"layer": origin.layer.as_str(), "file": origin.file, "line": origin.line},
    })
}

fn plain(value: &Value) -> String {
    match value {
        Value::Unset => "-".to_owned(),
        Value::Hosts(hosts) if hosts.is_empty() => "-".to_owned(),
        Value::Directories(dirs) if dirs.is_empty() => "-".to_owned(),
        Value::Directories(dirs) => {
            dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// `project fugato.toml:3`
fn describe(origin: &Origin) -> String {
    let place = origin.file.as_deref().unwrap_or_default();
    let line = origin.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{} {place}{line}", origin.layer.as_str()).trim_end().to_owned()
}

fn unknown_key(key: &str) -> CliError {
    let keys: Vec<_> = config::SETTINGS.iter().map(|setting| setting.key).collect();
    CliError::unknown(("setting", "设置"), key, keys).code(Code::F0402)
}
