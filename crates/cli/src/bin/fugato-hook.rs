//! `fugato hook` as a program of its own, for hosts that start it before and after everything their agents do.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let reply = fugato_runtime::outside::hook(std::env::args_os().skip(1));
    // Whoever has closed these does not want to know.
    if let Some(text) = reply.stdout {
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }
    if let Some(text) = reply.stderr {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
    ExitCode::from(reply.code)
}
