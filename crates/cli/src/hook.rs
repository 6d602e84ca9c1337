//! `fugato hook`: what other programs call before and after everything their agents do.

use crate::app::App;
use crate::error::Outcome;
use crate::wiring::{self, WiringCommand};
use clap::Args;
use fugato_model::Exit;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

/// Arguments of `hook`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct HookArgs {
    #[command(subcommand)]
    pub command: Option<WiringCommand>,
    /// The program that calls it: `claude` or `codex` [default: by what it sends]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// The event, in case standard input does not say
    #[arg(value_name = "EVENT")]
    pub event: Option<String>,
}

/// The short way, before arguments are parsed: a call of a host.
pub fn answer_host() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "hook" {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    let is_call = words.iter().all(|word| {
        word.to_str()
            .is_some_and(|word| word == "--host" || is_event(word) || matches!(word, "claude" | "codex"))
    });
    is_call.then(|| ExitCode::from(answer(words)))
}

/// Events are written in capitals or with underscores; verbs of this command are not.
fn is_event(word: &str) -> bool {
    word.starts_with(char::is_uppercase) || word.contains('_') || word == "stop"
}

/// The long way, for words the short one does not know.
pub fn run(args: HookArgs, app: &mut App) -> Outcome {
    if let Some(command) = args.command {
        return wiring::run(command, app);
    }
    let host = args.host.iter().flat_map(|host| ["--host".into(), host.into()]);
    let words: Vec<OsString> = host.chain(args.event.iter().map(OsString::from)).collect();
    match answer(words) {
        // A guard that could not read anything.
        2 => Ok(Exit::Usage),
        _ => Ok(Exit::Ok),
    }
}

fn answer(words: Vec<OsString>) -> u8 {
    let reply = fugato_runtime::outside::hook(words);
    // Whoever has closed these does not want to know.
    if let Some(text) = reply.stdout {
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }
    if let Some(text) = reply.stderr {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
    reply.code
}
