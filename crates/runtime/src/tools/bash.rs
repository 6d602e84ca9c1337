//! Bash: a command in the project directory, in a session of its own, with limits. A sandbox is put around it by the
//! wrapper of the context; this file does not know which.

use super::arguments::{count, parse};
use super::outcome::{Failure, ToolOutcome};
use super::text::Decoder;
use super::{Call, Running, ToolContext};
use crate::process::{self, End, Finished, Spec, Streams, find_program};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    #[serde(default, deserialize_with = "count")]
    timeout_seconds: Option<u64>,
    /// Models like to say what a command is for. It is in the log with the call; nothing is done with it here.
    #[serde(default, rename = "description")]
    _description: Option<String>,
}

pub(super) fn describe() -> (&'static str, Value) {
    let description = "Runs a command with bash (sh where there is none) in the project directory and gives its \
        output, errors included. There is no input and no terminal. Everything the command starts ends with it, so \
        nothing can be left running in the background.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 600, "description": "Default 120"},
            "description": {"type": "string", "description": "What it is for, in a few words"}
        },
        "required": ["command"],
        "additionalProperties": false
    });
    (description, parameters)
}

pub(super) fn bash(call: Call<'_>) -> Running<'_> {
    Box::pin(run(call))
}

async fn run(call: Call<'_>) -> Result<ToolOutcome, Failure> {
    let Call { arguments, context, cancel, on_output } = call;
    let spec = command(&parse(arguments)?, context)?;
    let time = spec.time_limit;
    let hint = spec.fence.is_some().then_some(CLOSED);
    let mut decoder = Decoder::default();
    let finished = process::run(spec, cancel, &mut |_, bytes| decoder.push(bytes, on_output)).await;
    decoder.finish(on_output);
    answer(finished, time, hint, context)
}

fn command(wanted: &Arguments, context: &ToolContext) -> Result<Spec, Failure> {
    if wanted.command.trim().is_empty() {
        return Err(Failure::new("`command` is empty"));
    }
    if wanted.command.contains('\0') {
        return Err(Failure::new("`command` contains a NUL character"));
    }
    let project = context.roots.first().ok_or_else(|| Failure::new("there is no project directory"))?;
    let mut spec = Spec::new(shell(&context.env), project);
    spec.args = vec!["-c".into(), wanted.command.clone().into()];
    spec.streams = Streams::Merged;
    let mut spec = context.confined(spec).map_err(|words| Failure::new(words.en))?;
    if let Some(seconds) = wanted.timeout_seconds {
        spec.time_limit = Duration::from_secs(seconds.max(1)).min(context.limits.longest_time);
    }
    // A file that every bash would run first is not part of the command.
    spec.env.retain(|(name, _)| name != "BASH_ENV");
    Ok(spec)
}

/// Models write for bash; the `sh` of many systems does not understand it.
fn shell(env: &[(OsString, OsString)]) -> OsString {
    let usual = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists());
    let found = usual.map(OsString::from).or_else(|| find_program(OsStr::new("bash"), env).map(Into::into));
    found.unwrap_or_else(|| "/bin/sh".into())
}

fn answer(
    finished: Finished,
    time: Duration,
    hint: Option<&str>,
    context: &ToolContext,
) -> Result<ToolOutcome, Failure> {
    let ending = match &finished.end {
        End::Exited(0) => None,
        End::Exited(code) => Some(format!("[exit code {code}]")),
        End::Signalled(signal) => Some(format!("[ended by signal {signal}]")),
        End::TimedOut => Some(format!("[ended: the time limit of {} s was met]", time.as_secs_f64())),
        End::Cancelled => Some("[cancelled]".into()),
        End::OutputLimit => {
            Some(format!("[ended: it wrote more than {} bytes]", context.limits.output_bytes))
        }
        End::ProcessLimit | End::MemoryLimit => {
            Some(format!("[ended: {}]", context.limits.overrun(&finished.end).en))
        }
        End::CouldNotStart(words) => return Err(Failure::new(&words.en)),
    };
    let mut bytes = finished.stdout;
    let Some(ending) = ending else {
        let silent = bytes.is_empty();
        let outcome = ToolOutcome::fitted(bytes, context.limits.inline_bytes);
        return Ok(if silent { ToolOutcome::text("[no output]".into()) } else { outcome });
    };
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(ending.as_bytes());
    if let Some(hint) = hint.filter(|_| met_a_wall(&bytes)) {
        bytes.extend_from_slice(hint.as_bytes());
    }
    let cut = finished.end == End::OutputLimit;
    let outcome = ToolOutcome::fitted(bytes, context.limits.inline_bytes).failed();
    Ok(ToolOutcome { truncated: outcome.truncated || cut, ..outcome })
}

/// Programs blame permissions, and a model would look for them in the wrong place.
const CLOSED: &str = "\n[commands run in a sandbox: they write only in the project directory and in $TMPDIR, and reach no \
    network unless it was opened. Git writes at the top of its repository: if that lies above the project, commits do not \
    work here. The person can open more with the settings sandbox.writable and sandbox.network]";

/// At the end of what it wrote, where the reason of a failure stands.
fn met_a_wall(output: &[u8]) -> bool {
    let end = output.get(output.len().saturating_sub(4096)..).unwrap_or(output);
    let end = String::from_utf8_lossy(end);
    let signs =
        ["Permission denied", "Read-only file system", "Network is unreachable", "Operation not permitted"];
    signs.iter().any(|sign| end.contains(sign))
}
