//! The word by which an agent sums up its work, found in its last message.

use crate::event::Report;

const WORDS: [(&str, Report); 4] = [
    ("DONE_WITH_CONCERNS", Report::DoneWithConcerns),
    ("DONE", Report::Done),
    ("BLOCKED", Report::Blocked),
    ("NEEDS_CONTEXT", Report::NeedsContext),
];

impl Report {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::DoneWithConcerns => "done_with_concerns",
            Self::Blocked => "blocked",
            Self::NeedsContext => "needs_context",
        }
    }

    /// May whoever waits for this agent go on?
    pub fn is_done(self) -> bool {
        matches!(self, Self::Done | Self::DoneWithConcerns)
    }
}

/// The last line that begins with one of the four words, which may stand after `STATUS:` and inside Markdown's marks.
pub fn report_of(text: &str) -> Option<Report> {
    text.lines().rev().find_map(word_of)
}

fn word_of(line: &str) -> Option<Report> {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '*' | '#' | '`' | '>' | '_');
    let mut rest = line.trim_start_matches(is_mark);
    if let Some((head, after)) = rest.split_once([':', '：'])
        && head.trim_end_matches(is_mark).eq_ignore_ascii_case("status")
    {
        rest = after.trim_start_matches(is_mark);
    }
    let (_, report) = WORDS.iter().find(|(word, _)| {
        // A longer word is another word.
        let continues = |c: char| c.is_alphanumeric() || c == '_';
        rest.strip_prefix(word).is_some_and(|after| !after.starts_with(continues))
    })?;
    Some(*report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_begins_with_a_word_counts() {
        for (text, report) in [
            ("STATUS: DONE\nsub result", Some(Report::Done)),
            ("DONE", Some(Report::Done)),
            ("BLOCKED at first\nthen\nDONE_WITH_CONCERNS: slow", Some(Report::DoneWithConcerns)),
            ("DONE\nno:\n  BLOCKED: no key", Some(Report::Blocked)),
            ("**STATUS: NEEDS_CONTEXT**", Some(Report::NeedsContext)),
            ("**Status:** BLOCKED", Some(Report::Blocked)),
            ("状态很好\nSTATUS：DONE。", Some(Report::Done)),
            ("I am DONE", None),
            ("DONE_DEAL", None),
            ("DONENESS", None),
            ("done", None),
            ("", None),
        ] {
            assert_eq!(report_of(text), report, "{text}");
        }
    }
}
