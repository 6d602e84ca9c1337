//! `fugato agents …`: the kinds of agents that can be started here. One file per verb.

mod check;
mod list;
mod show;
mod view;

use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::policy::{self, ProfileArgs};
use clap::{Args, Subcommand};
use fugato_engine::types_of_profile;
use fugato_runtime::agents::{AgentTypes, Machine, agent_types};
use fugato_skill::policy::resolve;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List the kinds of agents that can be started here
    Ls(list::ListArgs),
    /// Show one kind of agent: tools, limits, instructions, problems
    Show(show::ShowArgs),
    /// Check agent files
    Check(check::CheckArgs),
}

pub fn run(command: AgentsCommand, app: &mut App) -> Outcome {
    match command {
        AgentsCommand::Ls(args) => list::run(&args, app),
        AgentsCommand::Show(args) => show::run(&args, app),
        AgentsCommand::Check(args) => check::run(&args, app),
    }
}

/// Which agents a command looks at, besides the usual places.
#[derive(Clone, Debug, Default, Args)]
pub struct AgentSelection {
    /// Also the agents of this profile that its master delegates to [default: none]
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
}

/// All kinds of agents of this place and of the profile, if one is given.
pub fn known_agents(selection: &AgentSelection, app: &App) -> Result<AgentTypes, CliError> {
    let found = agent_types(&app.places);
    let Some(path) = &selection.profile else { return Ok(found) };
    let args = ProfileArgs { profile: path.clone(), mode: None, selection: SkillSelection::default() };
    let opened = policy::open(&args, app)?;
    let (profile, mode) = (&opened.profile, opened.mode);
    let types = types_of_profile(profile, mode, &|agent| {
        let seen = resolve(profile, mode, agent, &opened.discovery.inventory);
        seen.visible().filter_map(|skill| skill.head.name.as_ref()).map(ToString::to_string).collect()
    });
    let full = app.places.cwd.join(path);
    let shown = app.show_path(&full);
    Ok(found.with_profile(types, &full, &shown))
}

fn machine(app: &App) -> Machine {
    Machine::new(crate::app::env_var("PATH"), app.places.project_root())
}
