//! `fugato profile …`: create, check, and the schema for editors.

use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::policy::parse_mode;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use fugato_model::{Exit, words};
use fugato_skill::profile;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum ProfileCommand {
    /// Write a starting profile for a mode
    New(NewArgs),
    /// Check profiles (the same as `policy lint`)
    Check(crate::policy::LintArgs),
    /// Print the JSON Schema of profiles, for editors
    Schema(SchemaArgs),
}

#[derive(Debug, Args)]
pub struct NewArgs {
    /// director, loop, spec, agenda or single
    #[arg(add = ArgValueCandidates::new(crate::complete::modes))]
    mode: String,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "profile.jsonc")]
    output: PathBuf,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Only this mode [default: all]
    #[arg(long, value_name = "MODE", add = ArgValueCandidates::new(crate::complete::modes))]
    mode: Option<String>,
}

pub fn run(command: ProfileCommand, app: &mut App) -> Outcome {
    match command {
        ProfileCommand::New(args) => new(&args, app),
        ProfileCommand::Check(args) => crate::policy::lint(&args, app),
        ProfileCommand::Schema(args) => {
            let mode = args.mode.as_deref().map(parse_mode).transpose()?;
            app.out.json(&profile::schema(mode))?;
            Ok(Exit::Ok)
        }
    }
}

fn new(args: &NewArgs, app: &mut App) -> Outcome {
    let mode = parse_mode(&args.mode)?;
    let path = app.places.cwd.join(&args.output);
    let shown = app.show_path(&path);
    if path.exists() && !args.force {
        return Err(CliError::new(Exit::Conflict, words!("`{shown}` exists", "`{shown}` 已存在"))
            .hint(words!("choose another name with -o, or --force", "用 -o 换个文件名，或用 --force 覆盖")));
    }
    let text = profile::template(mode, app.out.lang);
    fugato_runtime::write_atomically(&path, text.as_bytes())
        .map_err(|error| CliError::io("write", &path, &error))?;
    if app.out.json {
        app.out.json(&serde_json::json!({
            "schema": "fugato.profile_new/v1", "mode": mode.as_str(), "path": path,
        }))?;
        return Ok(Exit::Ok);
    }
    app.out.note(&words!(
        "wrote {shown}. Next: fugato policy explain {shown}",
        "已写入 {shown}。下一步：fugato policy explain {shown}"
    ));
    Ok(Exit::Ok)
}
