//! `fugato sop …`: programs of the SOP language: check, draw, run. One file per verb.

mod check;
mod drawing;
mod file;
mod graph;

use crate::app::App;
use crate::error::Outcome;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum SopCommand {
    /// Check a program: every error with its line
    Check(check::CheckArgs),
    /// Draw what depends on what, level by level
    Graph(graph::GraphArgs),
}

pub fn run(command: SopCommand, app: &mut App) -> Outcome {
    match command {
        SopCommand::Check(args) => check::run(&args, app),
        SopCommand::Graph(args) => graph::run(&args, app),
    }
}
