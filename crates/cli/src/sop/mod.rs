//! `fugato sop …`: programs of the SOP language: check, draw, run. One file per verb.

mod check;
mod drawing;
mod file;
mod graph;

pub use file::ProgramFile;

use crate::app::App;
use crate::error::Outcome;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum SopCommand {
    /// Check a program: every error with its line
    Check(check::CheckArgs),
    /// Run a program, with the skills that are here as its commands
    Run(Box<crate::runs::ProgramArgs>),
    /// Draw what depends on what, level by level
    Graph(graph::GraphArgs),
}

pub fn run(command: SopCommand, app: &mut App) -> Outcome {
    match command {
        SopCommand::Check(args) => check::run(&args, app),
        SopCommand::Run(args) => crate::runs::run_program(&args, app),
        SopCommand::Graph(args) => graph::run(&args, app),
    }
}
