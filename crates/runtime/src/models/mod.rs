//! Calling models: one request, one answer, one error for every provider; each provider is a file that translates.
//!
//! A call is a stream that is collected: what arrives is shown as [`Delta`]s, and only a stream with its end marker becomes
//! an [`fugato_model::chat::Answer`]. This room knows nothing of runs, budgets or tools' effects; whether a fault is worth a second try is
//! asked of [`call_with_retries`], whether it may be tried at all is the caller's business.

mod action;
mod anthropic;
mod body;
mod built_in;
mod chat;
mod choice;
mod collect;
mod echo;
mod endpoint;
mod error;
mod frames;
mod gemini;
mod http;
mod json;
mod limiter;
mod local;
mod offer;
mod ollama;
mod prefix_gate;
pub mod price;
mod registry;
mod replay;
mod responses;
mod script;
mod secret;
mod status;
mod strict_json;
mod transcript;

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod mock_tests;
#[cfg(test)]
mod polite_tests;
#[cfg(test)]
mod prefix_tests;
#[cfg(test)]
mod test_server;
#[cfg(test)]
mod wire_tests;

pub use body::answer_of_body;
pub(crate) use built_in::takes_a_key;
pub use choice::{Chosen, KeyReport, NoModel, ProviderReport, Why};
pub use collect::{AnswerShape, Delta, shape_of};
pub use endpoint::{Api, CallLimits, NativeTools, ProviderSettings};
pub use error::ModelError;
pub use limiter::{Retry, RetrySettings, call_with_retries};
pub use local::LocalServer;
pub use offer::{Offer, Written};
pub use registry::{Counters, ModelSettings, Models, OnKey};
pub use replay::{Past, Recorded};
pub(crate) use secret::{KeySource, Secret};
pub use transcript::Transcript;

use fugato_model::chat::ToolSpec;
use serde_json::Value;
use std::sync::Arc;

/// What is asked of a model.
#[derive(Clone, Debug)]
pub struct ModelRequest<'a> {
    /// The name without its provider; [`Models::call`] fills in what it resolved.
    pub model: &'a str,
    pub system: &'a str,
    pub transcript: &'a Transcript,
    pub tools: &'a [ToolSpec],
    /// The same tools as they were sent before, where many requests have them.
    pub written: Option<&'a Written>,
    pub tool_choice: ToolChoice,
    pub max_tokens: Option<u32>,
    /// JSON Schema the text of the answer must meet. Providers are asked for it; nobody promises it, so check.
    pub schema: Option<&'a Value>,
    pub about: About<'a>,
}

impl ModelRequest<'_> {
    /// The tools as JSON.
    fn written_tools(&self, dialect: transcript::Dialect, write: impl FnOnce() -> Vec<u8>) -> Arc<[u8]> {
        match self.written {
            Some(written) => written.get(dialect, write),
            None => write().into(),
        }
    }
}

/// Whose request this is: what scripted, replayed and echoing models look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    pub run: &'a str,
    pub agent: &'a str,
    pub skill: &'a str,
    pub step: u32,
    pub attempt: u32,
}

/// Which tools a model may or must call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    #[default]
    Auto,
    None,
    Required,
    Named(String),
}
