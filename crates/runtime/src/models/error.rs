//! Why a model call gave no answer, in words for people and in the few facts the engine decides by.

use fugato_model::chat::{Message, ModelFault, Usage};
use fugato_model::{Code, Words};
use std::time::Duration;

/// The longest wait a provider may ask of us. What it asks beyond that is cut, so that a broken header cannot stop a run.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// A call without an answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", .words.en)]
pub struct ModelError {
    pub fault: ModelFault,
    pub code: Code,
    pub words: Words,
    /// What the provider asked for, between 0 and 300 seconds.
    pub retry_after: Option<Duration>,
    /// What had arrived: text and reasoning only. It is incomplete by definition and holds no tool call.
    pub partial: Option<Message>,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// Tokens the provider had reported before the fault: they are paid.
    pub usage: Option<Box<Usage>>,
}

impl ModelError {
    pub fn new(fault: ModelFault, words: Words) -> Self {
        let code = match fault {
            ModelFault::Transient | ModelFault::RateLimited => Code::F0608,
            ModelFault::Unauthorized => Code::F0605,
            ModelFault::Rejected => Code::F0606,
            ModelFault::ContextOverflow => Code::F0607,
            ModelFault::Malformed => Code::F0609,
        };
        Self { fault, code, words, retry_after: None, partial: None, status: None, usage: None }
    }

    #[must_use]
    pub fn code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Keeps a wait inside what we accept.
    #[must_use]
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait.map(|wait| wait.min(LONGEST_WAIT));
        self
    }

    /// Whether the same request may succeed when it is sent again.
    pub fn is_worth_a_retry(&self) -> bool {
        matches!(self.fault, ModelFault::Transient | ModelFault::RateLimited)
    }
}

/// The first `most` characters of foreign text, on one line.
pub(super) fn excerpt(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_model::words;

    #[test]
    fn waits_are_cut_to_five_minutes() {
        let error = ModelError::new(ModelFault::RateLimited, words!("x", "x"));
        let asked = |seconds| error.clone().retry_after(Some(Duration::from_secs(seconds))).retry_after;
        assert_eq!(asked(1_000_000_000), Some(LONGEST_WAIT));
        assert_eq!(asked(7), Some(Duration::from_secs(7)));
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("a\nb\u{1b}[1m 技能", 6), "a b [1…");
        assert_eq!(excerpt("技能", 2), "技能");
    }
}
