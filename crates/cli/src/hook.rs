//! `fugato hook …`: the hook in the settings of other coding agents.

use crate::app::App;
use crate::error::Outcome;
use crate::wiring::{self, WiringCommand};
use clap::Args;

/// The hook of other coding agents.
#[derive(Debug, Args)]
pub struct HookArgs {
    #[command(subcommand)]
    command: WiringCommand,
}

pub fn run(args: HookArgs, app: &mut App) -> Outcome {
    wiring::run(args.command, app)
}
