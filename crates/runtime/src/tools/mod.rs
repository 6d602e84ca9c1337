//! The world tools: what an agent can do to files and with a shell, each in a file of its own.
//!
//! This room performs calls and keeps them inside the project. Whether an agent may make a call was decided before;
//! read-only access is enforced here once more, because it is the promise that must hold when something above is wrong.
//! What tools answer is for models and therefore English.

mod arguments;
mod bash;
mod browser;
mod canvas;
mod chart;
mod context;
mod edit;
mod glob;
mod grep;
mod kept;
mod office;
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
mod web;
mod write;

use arguments::parse;
use fugato_model::chat::{ToolCall, ToolSpec};
use outcome::Failure;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::pin::Pin;

pub use crate::process::CancelToken;
pub use browser::{browser_is_sandboxed, find_browser};
pub use context::{Access, ToolContext, ToolLimits, Unread, Wrapper};
pub use kept::{Kept, SearchReport, WebSettings};
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

/// One tool: what models are told of it, and how it is done.
pub(crate) struct Tool {
    name: &'static str,
    class: EffectClass,
    /// What models are told, and the JSON Schema of its arguments.
    describe: fn() -> (&'static str, Value),
    run: for<'c> fn(Call<'c>) -> Running<'c>,
}

/// One call of a tool, with everything it may use.
pub(crate) struct Call<'c> {
    arguments: &'c Value,
    context: &'c ToolContext,
    cancel: CancelToken,
    /// Hears a long call while it goes on.
    on_output: &'c mut (dyn FnMut(&str) + Send),
}

type Running<'c> = Pin<Box<dyn Future<Output = Result<ToolOutcome, Failure>> + Send + 'c>>;

/// All tools, in the order in which models are told of them.
static FAMILIES: &[&[Tool]] =
    &[FILES, web::TOOLS, office::TOOLS, chart::TOOLS, canvas::TOOLS, browser::TOOLS];

static FILES: &[Tool] = &[
    Tool {
        name: "Read",
        class: EffectClass::Read,
        describe: read::describe,
        run: |call| on_a_thread(call, read::read),
    },
    Tool {
        name: "Write",
        class: EffectClass::Idempotent,
        describe: write::describe,
        run: |call| on_a_thread(call, |wanted, context, _| write::write(wanted, context)),
    },
    Tool {
        name: "Edit",
        // The text it replaces may stand in the replacement: a second time would insert it twice.
        class: EffectClass::Once,
        describe: edit::describe,
        run: |call| on_a_thread(call, |wanted, context, _| edit::edit(wanted, context)),
    },
    Tool {
        name: "Glob",
        class: EffectClass::Read,
        describe: glob::describe,
        run: |call| on_a_thread(call, glob::glob),
    },
    Tool {
        name: "Grep",
        class: EffectClass::Read,
        describe: grep::describe,
        run: |call| on_a_thread(call, grep::grep),
    },
    Tool { name: "Bash", class: EffectClass::Once, describe: bash::describe, run: bash::bash },
];

impl Tool {
    fn all() -> impl Iterator<Item = &'static Self> {
        FAMILIES.iter().copied().flatten()
    }

    fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|tool| tool.name == name)
    }

    fn is_for(&self, access: Access) -> bool {
        access == Access::ReadWrite || self.class == EffectClass::Read
    }

    fn spec(&self) -> ToolSpec {
        let (description, parameters) = (self.describe)();
        ToolSpec { name: self.name.into(), description: description.into(), parameters }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The tools for this access as models are told of them, always in the same order.
pub fn specs(access: Access) -> Vec<ToolSpec> {
    Tool::all().filter(|tool| tool.is_for(access)).map(Tool::spec).collect()
}

/// Tools that only agents of a kind are told of: no model needs to read about thirty tools that most tasks do without.
pub fn comes_with_a_kind(tool: &str) -> bool {
    tool.starts_with("browser-") || tool.starts_with("canvas-")
}

/// `None`: there is no such tool.
pub fn class_of(tool: &str) -> Option<EffectClass> {
    Tool::named(tool).map(|tool| tool.class)
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
    let arguments = &call.arguments;
    let outcome = match Tool::named(&call.name) {
        None => Err(unknown(&call.name, context.access)),
        Some(tool) if !tool.is_for(context.access) => Err(refused(tool)),
        Some(_) if cancel.is_cancelled() => Err(Failure::cancelled()),
        Some(tool) => (tool.run)(Call { arguments, context, cancel, on_output }).await,
    };
    outcome.unwrap_or_else(|failure| failure.into_outcome(context.limits.inline_bytes))
}

/// Disks block, so file tools work on a thread for that. If the caller goes away, the work hears it as a cancel.
fn on_a_thread<'c, Wanted: DeserializeOwned + Send + 'static>(
    call: Call<'c>,
    work: fn(&Wanted, &ToolContext, &CancelToken) -> Result<ToolOutcome, Failure>,
) -> Running<'c> {
    Box::pin(async move {
        let wanted: Wanted = parse(call.arguments)?;
        let (context, token) = (call.context.clone(), call.cancel.child_token());
        let _ends_with_us = token.clone().drop_guard();
        let working = tokio::task::spawn_blocking(move || work(&wanted, &context, &token));
        working.await.unwrap_or_else(|error| Err(Failure::new(format!("the tool broke off: {error}"))))
    })
}

fn unknown(name: &str, access: Access) -> Failure {
    let known: Vec<_> = Tool::all().filter(|tool| tool.is_for(access)).map(|tool| tool.name).collect();
    Failure::new(format!("unknown tool `{name}`; known are {}", known.join(", ")))
}

fn refused(tool: &Tool) -> Failure {
    Failure::new(format!("`{}` is not available: this agent may only read", tool.name))
}
