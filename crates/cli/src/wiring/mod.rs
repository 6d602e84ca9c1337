//! `fugato hook install | uninstall | doctor`: our hook in the settings of Claude Code and Codex.

mod doctor;
mod edit;

use crate::app::{App, env_var};
use crate::error::{CliError, Outcome};
use clap::{Args, Subcommand, ValueEnum};
use fugato_model::words;
use fugato_runtime::hosts::{self, Found, Host, Lacking};
use fugato_runtime::wiring::{Dirs, Place, Scope, Shelf};
use std::ffi::OsString;

#[derive(Debug, Subcommand)]
pub enum WiringCommand {
    /// Have Claude Code and Codex call the hook; shows what changes in their settings
    Install(InstallArgs),
    /// Take the hook out of their settings again
    Uninstall(UninstallArgs),
    /// What is installed where, whether it works, and what each host can and cannot do
    Doctor(DoctorArgs),
}

#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Which hosts, separated by commas [default: those that are here]
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    host: Vec<HostName>,
    #[command(flatten)]
    how: HowArgs,
    /// Also record that you trust the hook, where the host asks for it (Codex)
    #[arg(long)]
    trust: bool,
}

#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// Which hosts, separated by commas [default: all]
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    host: Vec<HostName>,
    #[command(flatten)]
    how: HowArgs,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Which hosts, separated by commas [default: all]
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    host: Vec<HostName>,
}

#[derive(Debug, Args)]
struct HowArgs {
    /// Whose settings: yours for every project, or this project's on this machine
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    scope: ScopeName,
    /// Show the change and write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HostName {
    Claude,
    Codex,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScopeName {
    User,
    Project,
}

impl From<HostName> for Host {
    fn from(name: HostName) -> Self {
        match name {
            HostName::Claude => Self::Claude,
            HostName::Codex => Self::Codex,
        }
    }
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::User => Self::User,
            ScopeName::Project => Self::Project,
        }
    }
}

pub fn run(command: WiringCommand, app: &mut App) -> Outcome {
    match command {
        WiringCommand::Install(args) => edit::install(&args, app),
        WiringCommand::Uninstall(args) => edit::uninstall(&args, app),
        WiringCommand::Doctor(args) => doctor::run(&args, app),
    }
}

/// The named hosts, each once; `None` when none was named.
fn named(names: &[HostName]) -> Option<Vec<Host>> {
    let is_named = |host: &Host| names.iter().any(|name| Host::from(*name) == *host);
    (!names.is_empty()).then(|| Host::ALL.into_iter().filter(is_named).collect())
}

fn dirs(app: &App) -> Dirs {
    Dirs::new(&app.places, env_var)
}

fn shelf(app: &App) -> Shelf {
    Shelf::new(&app.places.home)
}

fn place(host: Host, scope: Scope, app: &App) -> Result<Place, CliError> {
    dirs(app).place(host, scope).ok_or_else(|| {
        let title = host.title();
        CliError::not_found(words!(
            "nobody knows where the settings of {title} are: there is no home directory",
            "不知道 {title} 的设置在哪里：没有主目录"
        ))
        .hint(words!("set HOME, or use --scope project", "请设置 HOME，或使用 --scope project"))
    })
}

fn environment(host: Host, app: &App) -> (OsString, Vec<(OsString, OsString)>) {
    let settings = app.config.host_settings(host);
    let env = hosts::environment(host, std::env::vars_os(), &settings.env);
    (settings.program, env)
}

fn is_there(host: Host, app: &App) -> bool {
    let (program, env) = environment(host, app);
    hosts::is_there(&program, &env)
}

/// Asks each program for its version, side by side.
fn versions(wanted: &[Host], app: &App) -> Vec<(Host, Result<Found, Lacking>)> {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let ask = |host: Host| {
        let (program, env) = environment(host, app);
        async move { (host, hosts::find(host, &program, env).await) }
    };
    let asked: Vec<_> = wanted.iter().map(|host| ask(*host)).collect();
    runtime.block_on(async move {
        let running: Vec<_> = asked.into_iter().map(tokio::spawn).collect();
        let mut found = Vec::new();
        for one in running {
            found.extend(one.await.ok());
        }
        found
    })
}
