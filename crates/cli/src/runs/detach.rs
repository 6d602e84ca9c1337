//! `fugato run --detach`: a run that goes on when the terminal is closed. Another process of ours takes it over.

use super::{SandboxArgs, state};
use crate::app::App;
use crate::error::{CliError, Outcome};
use fugato_model::{Exit, words};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub fn start(id: &str, how: &SandboxArgs, app: &mut App) -> Outcome {
    let child = spawn(id, &how.as_typed(), &state(app), &app.places.cwd)?;
    let pid = child.id();
    app.out.note(&words!(
        "it works in the background (process {pid}). Watch it: fugato events {id} -f",
        "已在后台运行（进程 {pid}）。查看：fugato events {id} -f"
    ));
    app.out.line(id)?;
    Ok(Exit::Ok)
}

/// Another process of ours goes on with the run.
pub fn spawn(id: &str, how: &[impl AsRef<OsStr>], state: &Path, cwd: &Path) -> Result<Child, CliError> {
    let dir = state.join("runs").join(id);
    let log = dir.join("output.txt");
    let opened = std::fs::create_dir_all(&dir).and_then(|()| File::create(&log));
    let out = opened.map_err(|error| CliError::io("write", &log, &error))?;
    let err = out.try_clone().map_err(|error| CliError::io("write", &log, &error))?;
    let program = std::env::current_exe().map_err(|error| CliError::internal(&error))?;
    let mut command = Command::new(program);
    command.args(["resume", id, "--no-input"]).args(how).current_dir(cwd);
    // Its own group: a Ctrl-C here, or a closed terminal, is not meant for it.
    command.process_group(0).stdin(Stdio::null()).stdout(out).stderr(err);
    command.spawn().map_err(|error| CliError::internal(&error))
}
