//! The executor without a model: a program that gets the task as JSON on standard input and prints the answer.
//!
//! Confined, limited and recorded exactly as the scripts of skills are: it is the same call.

use super::{Ending, HostEnd};
use crate::process::CancelToken;
use crate::tools::ToolContext;
use crate::tools::script::{self, ScriptFailure};
use fugato_model::RelPath;
use fugato_model::chat::Usage;
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

/// One task for a program.
#[derive(Clone, Copy, Debug)]
pub struct ScriptTask<'a> {
    /// Where the program is: the directory of the skill or of the agent's file.
    pub dir: &'a Path,
    /// Beneath it.
    pub entry: &'a RelPath,
    /// What it gets.
    pub task: &'a Value,
    /// Where it runs, with which limits and in which sandbox.
    pub context: &'a ToolContext,
}

/// Runs it to its end; what it printed is the answer. It has no session, no turns and no tokens.
pub async fn run_script(task: ScriptTask<'_>, cancel: CancelToken) -> HostEnd {
    let began = Instant::now();
    let answer = script::run(task.dir, task.entry, task.task, task.context, cancel).await;
    let (end, text) = match answer {
        Ok(text) => (Ending::Done, text),
        Err(ScriptFailure::Cancelled) => (Ending::Cancelled, String::new()),
        Err(ScriptFailure::TimedOut { .. }) => (Ending::TimedOut, String::new()),
        Err(failure) => (Ending::Failed(failure.words()), String::new()),
    };
    HostEnd {
        end,
        text,
        session: None,
        usage: Usage::default(),
        micro_usd: None,
        steps: 0,
        elapsed: began.elapsed(),
    }
}
