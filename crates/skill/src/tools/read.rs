//! `skill_read`: a file page by page. Promise: the pages joined are the file, byte for byte.

use super::ToolError;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The seed's cap: bounds what one call can put into a context.
pub const MAX_READ_BYTES: usize = 51_200;

/// Where to read on: a line from 1, and inside a long line a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offset {
    pub line: usize,
    pub byte: usize,
}

impl Offset {
    pub const START: Self = Self { line: 1, byte: 0 };
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found `{0}` (expected a line number from 1, or `line:byte`)")]
pub struct OffsetError(pub String);

impl FromStr for Offset {
    type Err = OffsetError;

    fn from_str(text: &str) -> Result<Self, OffsetError> {
        let (line, byte) = text.split_once(':').unwrap_or((text, "0"));
        match (line.parse(), byte.parse()) {
            (Ok(line), Ok(byte)) if line >= 1 => Ok(Self { line, byte }),
            _ => Err(OffsetError(text.chars().take(40).collect())),
        }
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.byte {
            0 => write!(f, "{}", self.line),
            byte => write!(f, "{}:{byte}", self.line),
        }
    }
}

/// A plain line number where that is enough, text where it is not.
impl Serialize for Offset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.byte {
            0 => serializer.serialize_u64(self.line as u64),
            _ => serializer.collect_str(self),
        }
    }
}

/// One page of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadOutput {
    pub content: String,
    pub total_lines: usize,
    /// There is more: read on at `next_offset`.
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<Offset>,
}

/// Reads lines from `offset`, at most `limit` of them and at most [`MAX_READ_BYTES`], cut after a whole line; a line
/// that is longer by itself is cut at a character. An offset past the end gives an empty page.
pub fn read(
    name: &str,
    path: &str,
    bytes: &[u8],
    offset: Offset,
    limit: Option<usize>,
) -> Result<ReadOutput, ToolError> {
    read_within(MAX_READ_BYTES, name, path, bytes, offset, limit)
}

/// As [`read`], with pages of at most `cap` bytes; a page has at least one character, so 4 is the least that makes sense.
fn read_within(
    cap: usize,
    name: &str,
    path: &str,
    bytes: &[u8],
    offset: Offset,
    limit: Option<usize>,
) -> Result<ReadOutput, ToolError> {
    if limit == Some(0) {
        return Err(ToolError::argument("limit", "found 0 (expected at least 1)"));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ToolError::Binary { path: path.to_owned(), offset: error.valid_up_to() })?;
    let total_lines = count_lines(bytes);
    let Some(start) = start_of(text, offset, name, path)? else {
        return Ok(ReadOutput { content: String::new(), total_lines, truncated: false, next_offset: None });
    };
    let (end, next) = end_of(text, start, offset, limit.unwrap_or(usize::MAX), cap);
    let next_offset = (end < text.len()).then_some(next);
    Ok(ReadOutput {
        content: text.get(start..end).unwrap_or_default().to_owned(),
        total_lines,
        truncated: next_offset.is_some(),
        next_offset,
    })
}

/// Lines end with `\n`; a last line without one counts.
fn count_lines(bytes: &[u8]) -> usize {
    let breaks = memchr::memchr_iter(b'\n', bytes).count();
    breaks + usize::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

/// The byte an offset names; `None` past the end of the file.
fn start_of(text: &str, offset: Offset, name: &str, path: &str) -> Result<Option<usize>, ToolError> {
    let line_start = match offset.line {
        0 | 1 => Some(0),
        line => memchr::memchr_iter(b'\n', text.as_bytes()).nth(line - 2).map(|at| at + 1),
    };
    let Some(line_start) = line_start.filter(|start| *start < text.len() || offset == Offset::START) else {
        return Ok(None);
    };
    let rest = text.as_bytes().get(line_start..).unwrap_or_default();
    let line_len = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
    let start = line_start.saturating_add(offset.byte);
    if offset.byte > line_len || !text.is_char_boundary(start) {
        return Err(ToolError::argument(
            "offset",
            format!(
                "`{offset}` is not a place in `{path}` of `{name}` (use the `nextOffset` of the last page)"
            ),
        ));
    }
    Ok(Some(start))
}

/// Where the page ends, and the offset of what follows.
fn end_of(text: &str, start: usize, offset: Offset, limit: usize, cap: usize) -> (usize, Offset) {
    let cap = start.saturating_add(cap);
    let mut end = start;
    let mut line = offset.line.max(1);
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    for at in memchr::memchr_iter(b'\n', rest).take(limit) {
        let after = start + at + 1;
        if after > cap {
            break;
        }
        end = after;
        line += 1;
    }
    let lines = line - offset.line.max(1);
    let last_is_open =
        text.len() <= cap && memchr::memchr(b'\n', text.as_bytes().get(end..).unwrap_or_default()).is_none();
    if lines < limit && last_is_open {
        return (text.len(), Offset { line, byte: 0 });
    }
    if lines > 0 {
        return (end, Offset { line, byte: 0 });
    }
    // Not one whole line fits: cut inside it.
    let mut cut = cap.min(text.len());
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    (cut, Offset { line, byte: offset.byte + (cut - start) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pages(text: &str, limit: Option<usize>, cap: usize) -> Vec<String> {
        let mut pages = Vec::new();
        let mut offset = Offset::START;
        loop {
            let page = read_within(cap, "s", "f", text.as_bytes(), offset, limit).unwrap();
            assert!(page.content.len() <= cap);
            assert_eq!(page.truncated, page.next_offset.is_some());
            pages.push(page.content);
            match page.next_offset {
                Some(next) => {
                    assert!(next > offset, "{next} after {offset}");
                    offset = next.to_string().parse().unwrap();
                }
                None => return pages,
            }
        }
    }

    #[test]
    fn lines_and_totals_are_counted_as_editors_do() {
        let page = |text: &str, offset: &str, limit| {
            let out = read("s", "f", text.as_bytes(), offset.parse().unwrap(), limit).unwrap();
            (out.content, out.total_lines, out.next_offset.map(|next| next.to_string()))
        };
        assert_eq!(page("a\nb\nc", "2", Some(1)), ("b\n".into(), 3, Some("3".into())));
        assert_eq!(page("a\nb\nc", "3", None), ("c".into(), 3, None));
        assert_eq!(page("a\nb\n", "2", Some(1)), ("b\n".into(), 2, None));
        assert_eq!(page("a\r\nb\r\n", "1", Some(1)), ("a\r\n".into(), 2, Some("2".into())));
        assert_eq!(page("", "1", None), (String::new(), 0, None));
        assert_eq!(page("a\n", "9", None), (String::new(), 1, None));
        assert_eq!(page("abc\nd", "1:2", None), ("c\nd".into(), 2, None));
    }

    #[test]
    fn a_line_above_the_cap_is_continued_inside() {
        let text = format!("head\n{}\ntail", "汉".repeat(40_000));
        let pages = pages(&text, None, MAX_READ_BYTES);
        assert_eq!(pages.concat(), text);
        assert_eq!(pages.len(), 4, "{:?}", pages.iter().map(String::len).collect::<Vec<_>>());
        let first = read("s", "f", text.as_bytes(), "2".parse().unwrap(), None).unwrap();
        assert_eq!(first.next_offset.unwrap().to_string(), "2:51198");
        assert_eq!(serde_json::to_value(first.next_offset).unwrap(), "2:51198");
    }

    #[test]
    fn bad_offsets_limits_and_binary_files_are_errors() {
        for bad in ["0", "", "x", "1:", "-1", "1:x", "99999999999999999999999"] {
            assert!(bad.parse::<Offset>().is_err(), "{bad}");
        }
        let at = |text: &str, offset: &str| read("s", "f", text.as_bytes(), offset.parse().unwrap(), None);
        assert!(matches!(at("汉", "1:1"), Err(ToolError::BadArgument { .. })));
        assert!(matches!(at("ab\ncd", "1:4"), Err(ToolError::BadArgument { .. })));
        assert!(matches!(read("s", "f", b"a", Offset::START, Some(0)), Err(ToolError::BadArgument { .. })));
        let binary = read("s", "f", b"ok\xff", Offset::START, None);
        assert_eq!(binary, Err(ToolError::Binary { path: "f".into(), offset: 2 }));
    }

    proptest! {
        #![proptest_config(crate::fixture::one_in(16))]

        #[test]
        fn pages_joined_are_the_file(
            parts in proptest::collection::vec(("[\\PC\r]{0,20}", 1usize..4000, prop::bool::ANY), 0..12),
            limit in prop::option::of(1usize..50),
        ) {
            // Few distinct characters, many repeats: lines far above the cap are cheap to make.
            let mut text = String::new();
            for (part, times, closed) in parts {
                for _ in 0..times {
                    text.push_str(&part);
                }
                if closed {
                    text.push('\n');
                }
            }
            prop_assert_eq!(pages(&text, limit, MAX_READ_BYTES).concat(), text);
        }
    }

    proptest! {
        #![proptest_config(crate::fixture::cases())]

        /// The same with small pages: cheap enough for a million files.
        #[test]
        fn small_pages_joined_are_the_file(
            text in "([a汉é😀]|\r?\n){0,60}", cap in 4usize..24, limit in prop::option::of(1usize..5),
        ) {
            let pages = pages(&text, limit, cap);
            // A page ends after a whole line, or inside one that does not fit.
            for page in pages.iter().rev().skip(1).filter(|page| !page.ends_with('\n')) {
                prop_assert!(!page.contains('\n') && page.len() > cap - 4, "{page:?}");
            }
            prop_assert_eq!(pages.concat(), text);
        }
    }
}
