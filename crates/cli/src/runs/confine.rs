//! The sandbox of a run, from the settings and what was typed.

use super::state;
use crate::app::{App, env_var};
use crate::error::CliError;
use clap::Args;
use fugato_engine::permission::{Permissions, Rules};
use fugato_model::{Exit, words};
use fugato_runtime::config::{self, Layer};
use fugato_runtime::sandbox::{Choice, Door, Machine, Sandbox};
use std::path::PathBuf;

/// What commands and scripts may do, for this time only.
#[derive(Clone, Debug, Default, Args)]
pub struct SandboxArgs {
    /// Run commands and scripts without a sandbox: they can do what you can do
    #[arg(long)]
    pub no_sandbox: bool,
    /// Let commands and scripts use the network
    #[arg(long)]
    pub allow_network: bool,
}

impl SandboxArgs {
    /// The same, for a process of ours that goes on with the run.
    pub fn as_typed(&self) -> Vec<&'static str> {
        let flags = [(self.no_sandbox, "--no-sandbox"), (self.allow_network, "--allow-network")];
        flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag).collect()
    }
}

/// The sandbox around everything a run starts.
pub fn sandbox(args: &SandboxArgs, app: &App) -> Sandbox {
    let mut settings = app.config.sandbox_settings();
    if args.no_sandbox {
        settings.backend = Choice::None;
    }
    if args.allow_network {
        settings.network = Door::Open;
    }
    Sandbox::new(settings, Machine::current(), app.places.user_home.clone(), private(app))
}

/// Says so at once when commands and scripts will be refused, not only when the first one is.
pub fn warn(sandbox: &Sandbox, app: &mut App) {
    if let Some(refusal) = sandbox.refusal() {
        app.out.note(refusal);
    }
}

/// The permission rules of all settings. A run does not start while one of them cannot be read.
fn rules(app: &App) -> Result<Rules, CliError> {
    app.config.permissions().map_err(|diagnostics| {
        let message = words!(
            "the permission rules are not known, so nothing is started",
            "无法确定权限规则，因此不启动任何运行"
        );
        CliError::new(Exit::Refused, message).diagnostics(diagnostics)
    })
}

/// Our own that no command of an agent may read: logs of runs, and the person's settings, which may name secrets.
fn private(app: &App) -> Vec<PathBuf> {
    let settings = config::files(&app.places, env_var).into_iter();
    let settings = settings.filter(|(layer, _)| *layer == Layer::User).map(|(_, path)| path);
    [state(app), app.places.home.join("projects")].into_iter().chain(settings).collect()
}

/// The rules a new run goes by, and the places their paths mean.
pub fn permissions(app: &App) -> Result<Permissions, CliError> {
    let text = |path: &std::path::Path| path.display().to_string();
    let home = app.places.user_home.as_deref().map(text);
    Ok(Permissions { rules: rules(app)?, project: text(&app.places.cwd), home })
}
