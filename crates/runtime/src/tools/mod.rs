//! The world tools: what an agent can do to files and with a shell, each in a file of its own.
//!
//! This room performs calls and keeps them inside the project. Whether an agent may make a call was decided before;
//! read-only access is enforced here once more, because it is the promise that must hold when something above is wrong.
//! What tools answer is for models and therefore English.

mod arguments;
mod bash;
mod context;
mod edit;
mod glob;
mod grep;
mod outcome;
mod place;
mod read;
mod rules;
pub mod script;
mod slot;
#[cfg(test)]
mod tests;
mod text;
mod toolbox;
mod walk;
mod write;

use arguments::parse;
use fugato_model::chat::{ToolCall, ToolSpec};
use outcome::Failure;

pub use crate::process::CancelToken;
pub use context::{Access, ToolContext, ToolLimits, Wrapper};
pub use outcome::ToolOutcome;
pub use toolbox::ToolBox;

/// What repeating a call would do; decides what happens to a call whose end was lost in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectClass {
    /// Changes nothing.
    Read,
    /// A second time changes nothing more.
    Idempotent,
    /// Never repeated without asking.
    Once,
}

/// The tools, in the order in which models are told of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Read,
    Write,
    Edit,
    Glob,
    Grep,
    Bash,
}

impl Tool {
    const ALL: [Self; 6] = [Self::Read, Self::Write, Self::Edit, Self::Glob, Self::Grep, Self::Bash];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Write => "Write",
            Self::Edit => "Edit",
            Self::Glob => "Glob",
            Self::Grep => "Grep",
            Self::Bash => "Bash",
        }
    }

    fn class(self) -> EffectClass {
        match self {
            Self::Read | Self::Glob | Self::Grep => EffectClass::Read,
            Self::Write => EffectClass::Idempotent,
            // The text it replaces may stand in the replacement: a second time would insert it twice.
            Self::Edit | Self::Bash => EffectClass::Once,
        }
    }

    fn is_for(self, access: Access) -> bool {
        access == Access::ReadWrite || self.class() == EffectClass::Read
    }

    fn spec(self) -> ToolSpec {
        let (description, parameters) = match self {
            Self::Read => read::describe(),
            Self::Write => write::describe(),
            Self::Edit => edit::describe(),
            Self::Glob => glob::describe(),
            Self::Grep => grep::describe(),
            Self::Bash => bash::describe(),
        };
        ToolSpec { name: self.name().into(), description: description.into(), parameters }
    }
}

/// The tools for this access as models are told of them, always in the same order.
pub fn specs(access: Access) -> Vec<ToolSpec> {
    Tool::ALL.into_iter().filter(|tool| tool.is_for(access)).map(Tool::spec).collect()
}

/// `None`: there is no such tool.
pub fn class_of(tool: &str) -> Option<EffectClass> {
    Tool::named(tool).map(Tool::class)
}

/// Performs one call. Always ends in one outcome; a wrong call, a refusal and a cancel are outcomes too.
///
/// Must run inside a tokio runtime with its I/O and time drivers. `on_output` hears a command while it runs.
pub async fn perform(
    call: &ToolCall,
    context: &ToolContext,
    cancel: CancelToken,
    on_output: &mut (dyn FnMut(&str) + Send),
) -> ToolOutcome {
    let outcome = match Tool::named(&call.name) {
        None => Err(unknown(&call.name, context.access)),
        Some(tool) if !tool.is_for(context.access) => Err(refused(tool)),
        Some(_) if cancel.is_cancelled() => Err(Failure::cancelled()),
        Some(tool) => dispatch(tool, call, context, cancel, on_output).await,
    };
    outcome.unwrap_or_else(|failure| failure.into_outcome(context.limits.inline_bytes))
}

async fn dispatch(
    tool: Tool,
    call: &ToolCall,
    context: &ToolContext,
    cancel: CancelToken,
    on_output: &mut (dyn FnMut(&str) + Send),
) -> Result<ToolOutcome, Failure> {
    let call = &call.arguments;
    match tool {
        Tool::Read => {
            let wanted: read::Arguments = parse(call)?;
            on_a_thread(context, cancel, move |context, cancel| read::read(&wanted, context, cancel)).await
        }
        Tool::Write => {
            let wanted: write::Arguments = parse(call)?;
            on_a_thread(context, cancel, move |context, _| write::write(&wanted, context)).await
        }
        Tool::Edit => {
            let wanted: edit::Arguments = parse(call)?;
            on_a_thread(context, cancel, move |context, _| edit::edit(&wanted, context)).await
        }
        Tool::Glob => {
            let wanted: glob::Arguments = parse(call)?;
            on_a_thread(context, cancel, move |context, cancel| glob::glob(&wanted, context, cancel)).await
        }
        Tool::Grep => {
            let wanted: grep::Arguments = parse(call)?;
            on_a_thread(context, cancel, move |context, cancel| grep::grep(&wanted, context, cancel)).await
        }
        Tool::Bash => bash::bash(parse(call)?, context, cancel, on_output).await,
    }
}

/// Disks block, so file tools work on a thread for that. If the caller goes away, the work hears it as a cancel.
async fn on_a_thread(
    context: &ToolContext,
    cancel: CancelToken,
    work: impl FnOnce(&ToolContext, &CancelToken) -> Result<ToolOutcome, Failure> + Send + 'static,
) -> Result<ToolOutcome, Failure> {
    let (context, token) = (context.clone(), cancel.child_token());
    let _ends_with_us = token.clone().drop_guard();
    let working = tokio::task::spawn_blocking(move || work(&context, &token));
    working.await.unwrap_or_else(|error| Err(Failure::new(format!("the tool broke off: {error}"))))
}

fn unknown(name: &str, access: Access) -> Failure {
    let known: Vec<_> = Tool::ALL.into_iter().filter(|tool| tool.is_for(access)).map(Tool::name).collect();
    Failure::new(format!("unknown tool `{name}`; known are {}", known.join(", ")))
}

fn refused(tool: Tool) -> Failure {
    Failure::new(format!("`{}` is not available: this agent may only read", tool.name()))
}
