//! `fugato man`: manual pages, made from the same definitions as `--help`.

use crate::app::App;
use crate::args::Cli;
use crate::error::{CliError, Outcome};
use clap::{Args, CommandFactory as _};
use fugato_model::{Exit, words};
use std::path::PathBuf;

/// Print the manual page, or write all pages into a directory.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write one page per command into this directory (made if missing) [default: print the first page]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub fn run(args: &ManArgs, app: &mut App) -> Outcome {
    app.refuse_json("man")?;
    let command = Cli::command().flatten_help(true);
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(|error| CliError::output(&error))?;
        app.out.raw(&page)?;
        return Ok(Exit::Ok);
    };
    let dir = app.places.cwd.join(dir);
    std::fs::create_dir_all(&dir).map_err(|error| CliError::io("create", &dir, &error))?;
    clap_mangen::generate_to(command, &dir)
        .map_err(|error| CliError::io("write pages into", &dir, &error))?;
    let shown = app.show_path(&dir);
    app.out.note(&words!("wrote the manual pages into {shown}", "手册页已写入 {shown}"));
    Ok(Exit::Ok)
}
