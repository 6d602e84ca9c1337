//! `skill_search`: a case-folded substring over a skill's text files, with lines around each hit.

use super::fold::{Matches, Needle};
use serde::Serialize;

/// What one search may put into a context: the same bound as one read.
const MAX_OUTPUT_BYTES: usize = super::MAX_READ_BYTES;
/// A minified file has its hit in a line of megabytes: of such a snippet, this much around the first match.
const MAX_SNIPPET_BYTES: usize = 4096;

/// A group of lines with at least one match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    pub path: String,
    pub line_start: usize,
    pub line_end: usize,
    /// The lines, without the last line break; cut around the match when very long.
    pub snippet: String,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchOutput {
    pub hits: Vec<Hit>,
    /// More would have matched: raise `limit` or narrow the query.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Files that are not text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub binary: Vec<String>,
}

/// Searches files given as bytes.
pub fn search<'f>(
    files: impl IntoIterator<Item = (&'f str, &'f [u8])>,
    query: &str,
    limit: usize,
    context_lines: usize,
) -> SearchOutput {
    let mut search = Search::new(query, limit, context_lines);
    for (path, bytes) in files {
        if !search.file(path, bytes) {
            break;
        }
    }
    search.finish()
}

/// A search that is fed one file at a time, so that no two need be in memory.
#[derive(Debug)]
pub struct Search {
    needle: Needle,
    limit: usize,
    context: usize,
    bytes: usize,
    output: SearchOutput,
}

/// Lines `first..=last` as byte range `start..end` of the text, with the first match in it.
struct Group {
    first: usize,
    last: usize,
    start: usize,
    end: usize,
    mark: usize,
}

impl Search {
    pub fn new(query: &str, limit: usize, context_lines: usize) -> Self {
        Self {
            needle: Needle::new(query),
            limit,
            context: context_lines,
            bytes: 0,
            output: SearchOutput::default(),
        }
    }

    /// Searches one file. False: there is no room for more, stop.
    pub fn file(&mut self, path: &str, bytes: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.output.binary.push(path.to_owned());
            return true;
        };
        if matches!(self.needle, Needle::Empty) {
            return true;
        }
        // Taken out for the moment: the walk borrows it while hits are added.
        let needle = std::mem::replace(&mut self.needle, Needle::Empty);
        let goes_on = self.matches(path, text, &mut needle.matches(text));
        self.needle = needle;
        goes_on
    }

    fn matches(&mut self, path: &str, text: &str, matches: &mut Matches<'_>) -> bool {
        let mut group: Option<Group> = None;
        let (mut from, mut counted, mut line) = (0, 0, 1);
        while let Some(found) = matches.find(from) {
            line += count_breaks(text, counted, found.start);
            counted = found.start;
            let last = line + count_breaks(text, found.start, found.end);
            let next = self.around(text, line, last, found.start, found.end);
            // Everything up to the end of these lines is in the snippet already.
            from = line_end(text, found.end).max(found.start + 1);
            group = match group.take() {
                Some(open) if next.first <= open.last + 1 => {
                    Some(Group { last: next.last.max(open.last), end: next.end.max(open.end), ..open })
                }
                Some(done) => {
                    if !self.push(path, text, &done) {
                        return false;
                    }
                    Some(next)
                }
                None => Some(next),
            };
            if self.output.hits.len() >= self.limit {
                self.output.truncated = true;
                return false;
            }
            while !text.is_char_boundary(from) {
                from += 1;
            }
        }
        group.is_none_or(|group| self.push(path, text, &group))
    }

    pub fn finish(self) -> SearchOutput {
        self.output
    }

    /// The lines of a match with their context.
    fn around(&self, text: &str, first: usize, last: usize, start: usize, end: usize) -> Group {
        let bytes = text.as_bytes();
        let before = bytes.get(..start).unwrap_or_default();
        // The break before the match ends the previous line; one more for each line of context.
        let lines_before = memchr::memrchr_iter(b'\n', before).take(self.context + 1);
        let (breaks, from) = lines_before.fold((0, None), |(n, _), at| (n + 1, Some(at)));
        let from = if breaks > self.context { from.map_or(0, |at| at + 1) } else { 0 };
        let context_before = breaks.min(self.context);
        let mut to = line_end(text, end);
        let mut context_after = 0;
        while context_after < self.context && to < text.len() {
            to = line_end(text, to + 1);
            // A break at the very end of the file starts no line.
            if to > bytes.len() || (to == text.len() && bytes.last() == Some(&b'\n')) {
                break;
            }
            context_after += 1;
        }
        let to = to.min(text.len());
        Group { first: first - context_before, last: last + context_after, start: from, end: to, mark: start }
    }

    fn push(&mut self, path: &str, text: &str, group: &Group) -> bool {
        if self.output.hits.len() >= self.limit {
            self.output.truncated = true;
            return false;
        }
        let snippet = snippet(text, group);
        if self.bytes + snippet.len() + path.len() > MAX_OUTPUT_BYTES {
            self.output.truncated = true;
            return false;
        }
        self.bytes += snippet.len() + path.len();
        self.output.hits.push(Hit {
            path: path.to_owned(),
            line_start: group.first,
            line_end: group.last,
            snippet,
        });
        true
    }
}

fn count_breaks(text: &str, from: usize, to: usize) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes().get(from..to).unwrap_or_default()).count()
}

/// The end of the line that `at` is in: its break, or the end of the text.
fn line_end(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |found| at + found)
}

fn snippet(text: &str, group: &Group) -> String {
    let whole = text.get(group.start..group.end).unwrap_or_default();
    if whole.len() <= MAX_SNIPPET_BYTES {
        return whole.trim_end_matches(['\r', '\n']).to_owned();
    }
    let mut from = group.mark.saturating_sub(MAX_SNIPPET_BYTES / 4).max(group.start);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let mut to = (from + MAX_SNIPPET_BYTES).min(group.end);
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    let before = if from > group.start { "…" } else { "" };
    let after = if to < group.end { "…" } else { "" };
    format!("{before}{}{after}", text.get(from..to).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hits(text: &str, query: &str, context: usize) -> Vec<(usize, usize, String)> {
        let output = search([("f.md", text.as_bytes())], query, 100, context);
        output.hits.into_iter().map(|hit| (hit.line_start, hit.line_end, hit.snippet)).collect()
    }

    #[test]
    fn a_hit_has_its_lines_and_context() {
        let text = "one\ntwo\nthree\nfour\nfive\n";
        assert_eq!(hits(text, "THREE", 0), [(3, 3, "three".into())]);
        assert_eq!(hits(text, "three", 1), [(2, 4, "two\nthree\nfour".into())]);
        assert_eq!(hits(text, "one", 2), [(1, 3, "one\ntwo\nthree".into())]);
        assert_eq!(hits(text, "five", 2), [(3, 5, "three\nfour\nfive".into())]);
        assert_eq!(hits("无换行的中文", "中文", 2), [(1, 1, "无换行的中文".into())]);
    }

    #[test]
    fn overlapping_and_touching_contexts_are_one_hit() {
        let text = "a\nx\nb\nc\nx\nd\ne\nf\ng\nx\n";
        assert_eq!(hits(text, "x", 1), [(1, 6, "a\nx\nb\nc\nx\nd".into()), (9, 10, "g\nx".into())]);
        assert_eq!(hits("x x x", "x", 0), [(1, 1, "x x x".into())]);
    }

    #[test]
    fn limits_hold_and_are_said() {
        let many = "hit\n\n\n".repeat(50);
        let output = search([("a", many.as_bytes())], "hit", 3, 0);
        assert_eq!((output.hits.len(), output.truncated), (3, true));
        let long = format!("{}needle{}", "é".repeat(100_000), "é".repeat(100_000));
        let output = search([("a", long.as_bytes())], "NEEDLE", 10, 2);
        let hit = output.hits.first().unwrap();
        assert!(hit.snippet.len() < 5000 && hit.snippet.contains("needle"));
        let big = format!("{}\n\n\n\n\n\n\n", "n".repeat(4000)).repeat(40);
        let output = search([("a", big.as_bytes())], "n", 1000, 0);
        let bytes: usize = output.hits.iter().map(|hit| hit.snippet.len()).sum();
        assert!(output.truncated && bytes <= MAX_OUTPUT_BYTES);
    }

    /// A match on every line, and a way to write the first character that never occurs.
    #[test]
    fn a_match_on_every_line_costs_one_pass() {
        let text = "é\n".repeat(400_000);
        let started = std::time::Instant::now();
        let output = search([("a", text.as_bytes())], "é", 10, 2);
        assert_eq!((output.hits.len(), output.hits[0].line_end), (1, 400_000));
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }

    #[test]
    fn binary_files_are_named_and_harm_nobody() {
        let output =
            search([("x.png", b"\xff\xfehit".as_slice()), ("a.md", b"hit".as_slice())], "hit", 10, 2);
        assert_eq!(output.binary, ["x.png"]);
        assert_eq!(output.hits.len(), 1);
    }

    proptest! {
        #![proptest_config(crate::fixture::cases())]

        /// Against the plain way: lines, a set of line numbers, groups of neighbours.
        #[test]
        fn hits_are_those_of_a_line_by_line_search(text in "[ab\n]{0,60}", context in 0usize..3) {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let mut marked = std::collections::BTreeSet::new();
            for (at, line) in lines.iter().enumerate() {
                if line.contains('a') {
                    marked.extend(at.saturating_sub(context)..=(at + context).min(lines.len() - 1));
                }
            }
            let mut expected: Vec<(usize, usize)> = Vec::new();
            for at in marked {
                match expected.last_mut() {
                    Some((_, last)) if *last == at => *last = at + 1,
                    _ => expected.push((at + 1, at + 1)),
                }
            }
            let found: Vec<_> = hits(&text, "A", context).into_iter().map(|(a, b, _)| (a, b)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
