//! What the mock model says to whom.

use super::Asked;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// One piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Say {
    Text(String),
    Call {
        /// Instead of one that is new each time.
        id: Option<String>,
        name: String,
        arguments: Value,
    },
    /// Nothing else is said: the request fails with this status.
    Status(u16),
    Wait(Duration),
    /// Nothing more comes, and the connection stays open until somebody closes it.
    Hang,
}

impl Say {
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub fn call(name: &str, arguments: Value) -> Self {
        Self::Call { id: None, name: name.to_owned(), arguments }
    }

    /// A call with this id, whatever other call has it.
    pub fn call_as(id: &str, name: &str, arguments: Value) -> Self {
        Self::Call { id: Some(id.to_owned()), name: name.to_owned(), arguments }
    }
}

type Fits = dyn Fn(&Asked) -> bool + Send + Sync;
type Speaks = dyn Fn(&Asked) -> Vec<Say> + Send + Sync;

/// Answers the requests it fits.
#[derive(Clone)]
pub struct Rule {
    fits: Arc<Fits>,
    says: Arc<Speaks>,
    left: Option<Arc<AtomicUsize>>,
}

impl Rule {
    /// For requests with these words anywhere in what the user or a tool said.
    pub fn on(words: &str, says: impl IntoIterator<Item = Say>) -> Self {
        let words = words.to_owned();
        Self::when(move |asked| asked.text().contains(&words), says)
    }

    pub fn always(says: impl IntoIterator<Item = Say>) -> Self {
        Self::when(|_| true, says)
    }

    pub fn when(
        fits: impl Fn(&Asked) -> bool + Send + Sync + 'static,
        says: impl IntoIterator<Item = Say>,
    ) -> Self {
        let says: Vec<Say> = says.into_iter().collect();
        Self { fits: Arc::new(fits), says: Arc::new(move |_| says.clone()), left: None }
    }

    /// Only when the conversation holds this many results of tools.
    #[must_use]
    pub fn after(self, results: usize) -> Self {
        let fits = self.fits;
        Self { fits: Arc::new(move |asked| asked.results().len() == results && fits(asked)), ..self }
    }

    /// Only for the first requests it fits.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { left: Some(Arc::new(AtomicUsize::new(times))), ..self }
    }

    pub(super) fn takes(&self, asked: &Asked) -> bool {
        if !(self.fits)(asked) {
            return false;
        }
        let take = |left: usize| left.checked_sub(1);
        self.left
            .as_ref()
            .is_none_or(|left| left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok())
    }

    pub(super) fn says(&self, asked: &Asked) -> Vec<Say> {
        (self.says)(asked)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("left", &self.left).finish_non_exhaustive()
    }
}
