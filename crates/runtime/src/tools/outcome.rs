//! What a call gives back: text that fits into a conversation, and the whole beside it when it does not.

use super::place::PlaceError;
use super::text::{ceil_boundary, floor_boundary};

/// The one end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    /// For the model. At most the inline limit.
    pub content: String,
    pub is_error: bool,
    /// Something was left out of `content`, which says so.
    pub truncated: bool,
    /// The whole, byte for byte, when it did not fit and was not read from a file that is still there.
    pub full: Option<Vec<u8>>,
}

/// Room for the sentence between head and tail.
const NOTE_BYTES: usize = 120;

impl ToolOutcome {
    pub(super) fn text(content: String) -> Self {
        Self { content, is_error: false, truncated: false, full: None }
    }

    /// Head and tail if it does not fit: the head says what it is, the tail how it ended.
    pub(super) fn fitted(bytes: Vec<u8>, limit: usize) -> Self {
        if bytes.len() <= limit {
            let text = match String::from_utf8(bytes) {
                Ok(text) => return Self::text(text),
                Err(error) => error.into_bytes(),
            };
            let lossy = String::from_utf8_lossy(&text).into_owned();
            // Replacement characters are longer than what they replace.
            if lossy.len() <= limit {
                return Self::text(lossy);
            }
            return Self::cut(text, limit / 3);
        }
        // A byte that is not UTF-8 becomes three: halved again only if that made it too long.
        let cut = Self::cut(bytes, limit);
        if cut.content.len() <= limit { cut } else { Self::cut(cut.full.unwrap_or_default(), limit / 3) }
    }

    fn cut(bytes: Vec<u8>, limit: usize) -> Self {
        let half = limit.saturating_sub(NOTE_BYTES) / 2;
        let head = bytes.get(..floor_boundary(&bytes, half)).unwrap_or_default();
        let tail = bytes.get(ceil_boundary(&bytes, bytes.len().saturating_sub(half))..).unwrap_or_default();
        let missing = bytes.len().saturating_sub(head.len() + tail.len());
        let content = format!(
            "{}\n[... {missing} of {} bytes left out here ...]\n{}",
            String::from_utf8_lossy(head),
            bytes.len(),
            String::from_utf8_lossy(tail)
        );
        Self { content, is_error: false, truncated: true, full: Some(bytes) }
    }

    pub(super) fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }
}

/// Why a call did not do what it asked, for the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure(String);

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn cancelled() -> Self {
        Self::new("cancelled")
    }

    /// Failures quote what the model wrote, which may be long.
    pub fn into_outcome(self, limit: usize) -> ToolOutcome {
        ToolOutcome { full: None, ..ToolOutcome::fitted(self.0.into_bytes(), limit).failed() }
    }
}

impl From<PlaceError> for Failure {
    fn from(error: PlaceError) -> Self {
        Self(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_whole_and_what_does_not_keeps_both_ends() {
        let whole = ToolOutcome::fitted(b"short".to_vec(), 200);
        assert_eq!((whole.content.as_str(), whole.truncated, whole.full), ("short", false, None));
        let long = format!("begin{}end", "中".repeat(1000));
        let cut = ToolOutcome::fitted(long.clone().into_bytes(), 400);
        assert!(cut.content.starts_with("begin中") && cut.content.ends_with("中end"));
        assert!(cut.content.len() <= 400 && cut.truncated && !cut.content.contains('\u{fffd}'));
        assert_eq!(cut.full, Some(long.into_bytes()));
    }

    #[test]
    fn bytes_that_are_not_text_never_exceed_the_limit() {
        for length in [0, 1, 100, 399, 400, 401, 5000] {
            let cut = ToolOutcome::fitted(vec![0xff; length], 400);
            assert!(cut.content.len() <= 400, "{length}: {}", cut.content.len());
            assert_eq!(cut.truncated, length > 133, "{length}");
        }
    }
}
