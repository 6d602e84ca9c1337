//! The top of the command line: global flags and the list of commands. Each command's own arguments live with it.

use clap::{Args, ColorChoice, Parser, Subcommand};
use std::path::PathBuf;

/// Heading of the flags that every command accepts; they stand together, after the command's own.
const GLOBAL: &str = "Global options";

/// Runs Agent Skills as bounded, observable, durable multi-agent programs.
#[derive(Debug, Parser)]
#[command(name = "fugato", version, about, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    /// When to use colours [default: auto] [env: NO_COLOR, CLICOLOR_FORCE]
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub color: Colour,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Accepted by every command.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Print one JSON document instead of text
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// Language of messages: en or zh [default: from the locale]
    #[arg(long, global = true, help_heading = GLOBAL, env = "FUGATO_LANG", hide_env_values = true, value_name = "LANG", value_parser = ["en", "zh"])]
    pub lang: Option<String>,
    /// Work as if started in this directory [default: where you are]
    #[arg(short = 'C', long = "directory", global = true, help_heading = GLOBAL, value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

impl Colour {
    /// Tells both clap and the printer's streams.
    pub fn write_global(self) {
        let choice = match self {
            Self::Auto => return,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        match choice {
            ColorChoice::Always => anstream::ColorChoice::Always.write_global(),
            ColorChoice::Never => anstream::ColorChoice::Never.write_global(),
            ColorChoice::Auto => {}
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a skill: as a DAG of subagents when it has phases, else as one agent
    Run(crate::runs::RunArgs),
    /// Give a task to a master agent, which delegates what others do better
    Go(crate::runs::GoArgs),
    /// Talk with an orchestrator: it remembers what was said, and asks you when it must
    Chat(crate::runs::ChatArgs),
    /// Show what a skill would run, without asking any model
    Plan(crate::runs::PlanArgs),
    /// How the active run stands: its agents, who waits for whom, what happened last
    Status(crate::status::StatusArgs),
    /// Pause, resume, cancel or redirect agents of a run
    Intervene(crate::runs::InterveneArgs),
    /// Hold an agent, or everybody: nothing new is begun
    Pause(crate::runs::PauseArgs),
    /// Let a paused agent go on, or go on with a run that was interrupted
    Resume(crate::runs::ResumeArgs),
    /// Stop an agent, or the whole run
    Cancel(crate::runs::CancelArgs),
    /// Give an agent another task
    Redirect(crate::runs::RedirectArgs),
    /// Have a node begin again, or an agent break off and go on
    Restart(crate::runs::RestartArgs),
    /// Run a run again, whole or from one node or phase on
    Rerun(crate::runs::RerunArgs),
    /// Answer what a run asked
    Answer(crate::runs::AnswerArgs),
    /// Say something to an agent; one that has finished goes on
    Send(crate::runs::SendArgs),
    /// Allow a tool call that waits for it, or deny it
    Approve(crate::runs::ApproveArgs),
    /// Watch runs on the whole screen, live, and intervene
    Watch(crate::tui::WatchArgs),
    /// The runs of this project: list, show, remove, export, import
    Runs(crate::runs::RunsArgs),
    /// Print the events of a run, or follow them
    Events(crate::runs::EventsArgs),
    /// Draw a run as a waterfall
    Trace(crate::runs::TraceArgs),
    /// What a run cost, per agent
    Cost(crate::runs::CostArgs),
    /// What differs between two runs; exit 0 when their outputs are equal, 1 when not
    Diff(crate::runs::DiffArgs),
    /// Show again what a run showed, from its log
    Replay(crate::runs::ReplayArgs),
    /// Skills: list, check, search, create, install, move, lock
    #[command(subcommand)]
    Skill(crate::skill::SkillCommand),
    /// Programs of the SOP language: check, run, draw
    #[command(subcommand)]
    Sop(crate::sop::SopCommand),
    /// Kinds of agents: list, show, check
    #[command(subcommand)]
    Agents(crate::agents::AgentsCommand),
    /// Policy: which agent sees which skills, and why
    #[command(subcommand)]
    Policy(crate::policy::PolicyCommand),
    /// Profiles: create, check, print the schema
    #[command(subcommand)]
    Profile(crate::profile::ProfileCommand),
    /// A short tour of what fugato does, offline, in a throw-away directory
    Demo,
    /// Prepare this project: a skills directory and a configuration file
    Init(crate::init::InitArgs),
    /// What this machine and project can do, and what is wrong
    Doctor(crate::doctor::DoctorArgs),
    /// What other programs load: a plugin for Claude Code
    #[command(subcommand)]
    Plugin(crate::plugin::PluginCommand),
    /// Settings and where each comes from
    #[command(subcommand)]
    Config(crate::config::ConfigCommand),
    /// Print the state directory of this project
    Path,
    /// What Claude Code and Codex call about what their agents do; install, uninstall, look
    Hook(crate::hook::HookArgs),
    /// Explain an error code such as F0107
    Explain(crate::explain::ExplainArgs),
    /// Print the completion script of a shell
    Completions(crate::complete::CompletionsArgs),
    /// Print the manual page, or write all pages into a directory
    Man(crate::man::ManArgs),
    /// Print the version
    Version,
}
