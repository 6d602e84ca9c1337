//! `fugato hook`: what Claude Code and Codex call, and how they are told to.

use crate::app::App;
use crate::error::Outcome;
use crate::wiring::{self, WiringCommand};
use clap::Args;
use fugato_model::Exit;
use fugato_runtime::hosts::gate;
use std::io::Read as _;

/// The hook of other coding agents.
#[derive(Debug, Args)]
pub struct HookArgs {
    #[command(subcommand)]
    command: Option<WiringCommand>,
}

pub fn run(args: HookArgs, app: &mut App) -> Outcome {
    if let Some(command) = args.command {
        return wiring::run(command, app);
    }
    let mut input = Vec::new();
    // What cannot be read is answered as a tool call.
    let _ = std::io::stdin().read_to_end(&mut input);
    let door = std::env::var_os(gate::GATE);
    if let Some(answer) = door.and_then(|door| gate::answer(door.as_ref(), &input)) {
        app.out.line(answer)?;
    }
    Ok(Exit::Ok)
}
