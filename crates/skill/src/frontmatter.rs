//! Where the frontmatter of a Markdown file begins and ends. Knows lines, not YAML.
//!
//! A delimiter is a line that is exactly `---` (white space and a carriage return may follow), so `---` inside a value
//! or indented in a block scalar never cuts the frontmatter short.

use std::ops::Range;

/// The byte order mark some editors put first.
pub const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// A file cut in two. Offsets are bytes of the whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The YAML between the delimiter lines, with its last line break.
    pub yaml: Range<usize>,
    /// Where the Markdown body starts.
    pub body_start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitError {
    /// The file does not start with a delimiter line. `found_at`: the first other text before one is only white space,
    /// so the frontmatter is merely not at the top; the offset of its opening delimiter.
    Missing { found_at: Option<usize> },
    /// No closing delimiter. The opening one is the line at `open`.
    Unclosed { open: usize },
}

/// Splits a file into frontmatter and body.
pub fn split(source: &str) -> Result<Split, SplitError> {
    let open = if source.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let rest = source.get(open..).unwrap_or_default();
    let (first, first_len) = first_line(rest);
    if !is_delimiter(first) {
        let blank = rest.len() - rest.trim_start().len();
        let late = rest.get(blank..).is_some_and(|late| is_delimiter(first_line(late).0));
        return Err(SplitError::Missing { found_at: (late && blank > 0).then_some(open + blank) });
    }
    let yaml_start = open + first_len;
    let mut at = yaml_start;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let (line, len) = first_line(rest);
        if is_delimiter(line) {
            return Ok(Split { yaml: yaml_start..at, body_start: at + len });
        }
        at += len;
    }
    Err(SplitError::Unclosed { open })
}

/// The first line without its break, and its length with it.
fn first_line(text: &str) -> (&str, usize) {
    match memchr::memchr(b'\n', text.as_bytes()) {
        Some(at) => (text.get(..at).unwrap_or_default(), at + 1),
        None => (text, text.len()),
    }
}

fn is_delimiter(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\r')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(source: &str) -> (&str, &str) {
        let split = split(source).unwrap();
        (source.get(split.yaml).unwrap(), source.get(split.body_start..).unwrap())
    }

    #[test]
    fn delimiters_are_whole_lines() {
        assert_eq!(parts("---\na: b\n---\nBody\n---\n"), ("a: b\n", "Body\n---\n"));
        assert_eq!(parts("--- \t\na: x---y\nb: |\n  ---\n----\n---"), ("a: x---y\nb: |\n  ---\n----\n", ""));
        assert_eq!(parts("---\n---\n"), ("", ""));
    }

    #[test]
    fn byte_order_mark_and_crlf_are_accepted() {
        assert_eq!(parts("\u{feff}---\r\na: b\r\n---\r\nBody"), ("a: b\r\n", "Body"));
    }

    #[test]
    fn what_is_missing_is_said() {
        for source in ["", "# Title\n", "----\na: b\n---\n", "name: x\n---\n", " ---\n---\n"] {
            assert!(matches!(split(source), Err(SplitError::Missing { .. })), "{source:?}");
        }
        assert_eq!(split("\n\n---\na: b\n---\n"), Err(SplitError::Missing { found_at: Some(2) }));
        assert_eq!(split("---\na: b\n"), Err(SplitError::Unclosed { open: 0 }));
        assert_eq!(split("\u{feff}---\na: b\n ---\n"), Err(SplitError::Unclosed { open: 3 }));
    }
}
