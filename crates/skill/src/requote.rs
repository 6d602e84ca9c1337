//! The retry for values that YAML misreads: `description: Use when: asked` is text to everyone but YAML.
//!
//! Error-driven: the parser says where it stumbled, the value there is put in quotes, and the text is parsed again.
//! Offsets of the tree are those of the original file, so every later message and fix points at what the person wrote.

use crate::yaml::{self, Node, Problem, YamlError};

/// A value that must be quoted: its bytes in the file, and the quoted form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requote {
    pub start: usize,
    pub end: usize,
    pub quoted: String,
}

/// One stumble, one more parse. Real files have one to three; past this they are broken in another way.
const MAX_REQUOTES: usize = 16;

/// Parses with retries. The error is that of the first try: it is about the text as written.
pub(crate) fn parse(text: &str, base: usize) -> Result<(Node, Vec<Requote>), YamlError> {
    parse_up_to(text, base, crate::limits::YAML_NODES)
}

/// As [`parse`], for files that may hold more values than a frontmatter.
pub(crate) fn parse_up_to(
    text: &str,
    base: usize,
    max_nodes: usize,
) -> Result<(Node, Vec<Requote>), YamlError> {
    let first_error = match yaml::parse_up_to(text, base, max_nodes) {
        Ok(node) => return Ok((node, Vec::new())),
        Err(error) => error,
    };
    let mut edits: Vec<Requote> = Vec::new();
    let mut stumble = first_error.clone();
    let mut current = text.to_owned();
    for _ in 0..MAX_REQUOTES {
        // `args: {{X}}` is a map in a map to YAML.
        if !matches!(stumble.problem, Problem::Syntax(_) | Problem::KeyNotScalar) {
            break;
        }
        let Some((start, end)) = value_to_quote(&current, stumble.start.saturating_sub(base)) else { break };
        let (start, end) = original(&edits, start, end);
        let Some(value) = text.get(start..end) else { break };
        // A value may turn out to go on over a line that was quoted by itself before: edits never overlap.
        edits.retain(|edit| edit.end <= start || end <= edit.start);
        edits.push(Requote { start, end, quoted: quote(value) });
        edits.sort_by_key(|edit| edit.start);
        current = apply(text, &edits);
        match yaml::parse_up_to(&current, 0, max_nodes) {
            Ok(mut node) => {
                node.map_offsets(&|start, end| {
                    let (start, end) = original(&edits, start, end);
                    (start + base, end + base)
                });
                for edit in &mut edits {
                    edit.start += base;
                    edit.end += base;
                }
                return Ok((node, edits));
            }
            Err(error) => stumble = YamlError { start: error.start + base, end: error.end + base, ..error },
        }
    }
    // Duplicates and limits that only the retry could see are as real as the first error, but about other bytes.
    Err(first_error)
}

/// `text` in double quotes.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

fn apply(text: &str, edits: &[Requote]) -> String {
    let mut result = String::with_capacity(text.len() + edits.len() * 8);
    let mut at = 0;
    for edit in edits {
        result.push_str(text.get(at..edit.start).unwrap_or_default());
        result.push_str(&edit.quoted);
        at = edit.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}

/// From offsets of the edited text to offsets of the original. What lies in a quoted value becomes the whole value.
fn original(edits: &[Requote], start: usize, end: usize) -> (usize, usize) {
    let map = |offset: usize, at_end: bool| {
        let mut shift = 0usize;
        for edit in edits {
            let edited_start = edit.start + shift;
            let edited_end = edited_start + edit.quoted.len();
            if offset < edited_end || (at_end && offset == edited_end) {
                if offset <= edited_start {
                    break;
                }
                return if at_end { edit.end } else { edit.start };
            }
            shift = edited_end.saturating_sub(edit.end);
        }
        offset.saturating_sub(shift)
    };
    let mapped = map(start, false);
    (mapped, if start == end { mapped } else { map(end, true).max(mapped) })
}

/// The plain value the parser stumbled in, with its continuation lines.
fn value_to_quote(text: &str, stumbled_at: usize) -> Option<(usize, usize)> {
    let mut stumbled_at = stumbled_at.min(text.len());
    while !text.is_char_boundary(stumbled_at) {
        stumbled_at -= 1;
    }
    let line_start = text.get(..stumbled_at)?.rfind('\n').map_or(0, |at| at + 1);
    if let Some(entry) = entry(text, line_start).filter(Line::can_be_misread) {
        return Some((entry.start, value_end(text, &entry)));
    }
    // The stumble may be in a continuation line: the entry is the nearest line above that is indented less.
    let mut at = line_start;
    let indent = indentation(line_at(text, line_start));
    while at > 0 {
        at = text.get(..at - 1)?.rfind('\n').map_or(0, |break_at| break_at + 1);
        let line = line_at(text, at);
        if line.trim().is_empty() || indentation(line) >= indent {
            continue;
        }
        let entry = entry(text, at)?;
        return entry.is_plain().then(|| (entry.start, value_end(text, &entry)));
    }
    None
}

/// A line `key: value`, perhaps a list item.
struct Line<'a> {
    value: &'a str,
    /// Offset of the value.
    start: usize,
    /// Column of the key: what continues the value is indented more.
    indent: usize,
}

impl Line<'_> {
    fn is_plain(&self) -> bool {
        !self.value.starts_with(['"', '\'', '|', '>', '{', '[', '&', '*', '!', '#'])
    }

    fn can_be_misread(&self) -> bool {
        let value = self.value;
        // `[file] [--flag]` starts like a list and is none. An unclosed bracket may be a real list of several lines.
        let brackets = value.starts_with('[') && value.matches('[').count() == value.matches(']').count();
        let colon = self.is_plain() && (value.contains(": ") || value.ends_with(':'));
        colon
            || value.starts_with(['@', '`', '%'])
            || value.starts_with("- ")
            || brackets
            || value.starts_with("{{")
    }
}

fn entry(text: &str, line_start: usize) -> Option<Line<'_>> {
    let line = line_at(text, line_start);
    let mut key_at = line.len() - line.trim_start_matches(' ').len();
    while let Some(item) = line.get(key_at..).and_then(|rest| rest.strip_prefix("- ")) {
        key_at = line.len() - item.trim_start_matches(' ').len();
    }
    let rest = line.get(key_at..)?;
    let colon = rest.find(": ")?;
    let key = rest.get(..colon)?;
    if key.is_empty() || !key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ')) {
        return None;
    }
    let value = rest.get(colon + 1..)?.trim_start();
    (!value.is_empty())
        .then(|| Line { value, start: line_start + line.len() - value.len(), indent: key_at })
        .map(|entry| Line { value: entry.value.trim_end(), ..entry })
}

/// The end of the last line that continues the entry.
fn value_end(text: &str, entry: &Line<'_>) -> usize {
    let mut end = entry.start + entry.value.len();
    let mut at = end;
    while let Some(break_at) = text.get(at..).and_then(|rest| rest.find('\n')) {
        at += break_at + 1;
        let line = line_at(text, at);
        if line.trim().is_empty() {
            if at >= text.len() {
                break;
            }
            continue;
        }
        if indentation(line) <= entry.indent {
            break;
        }
        end = at + line.trim_end().len();
    }
    end
}

fn line_at(text: &str, start: usize) -> &str {
    text.get(start..).unwrap_or_default().split('\n').next().unwrap_or_default()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_that_yaml_misreads_are_read_as_written() {
        for (text, key, value) in [
            ("a: x\nd: Use when: asked\n", "d", "Use when: asked"),
            ("d: Use \"this\": now \\ then\nname: x\n", "d", "Use \"this\": now \\ then"),
            ("d: ends with:\nb: c\n", "d", "ends with:"),
            ("d: first\n  second: third\n  fourth\nb: c\n", "d", "first second: third fourth"),
            ("d: first\n  second: third: fourth:\nb: c\n", "d", "first second: third: fourth:"),
            ("hint: [file] [--flag]\nb: c\n", "hint", "[file] [--flag]"),
            ("d: @mention\n", "d", "@mention"),
            ("d: 技能: 说明\r\nb: c\r\n", "d", "技能: 说明"),
            ("d: - x\n", "d", "- x"),
        ] {
            let (node, edits) = parse(text, 0).unwrap();
            assert_eq!(node.get(key).unwrap().text(), Some(value), "{text}");
            assert_eq!(edits.len(), 1, "{text}");
            assert_eq!(yaml::parse(&apply(text, &edits), 0).unwrap().get(key).unwrap().text(), Some(value));
        }
    }

    #[test]
    fn nested_and_several_values_are_repaired_with_offsets_of_the_file() {
        let text = "d: a: b\nphases:\n  - name: x\n    args: c: d\n  - note: e: f\nz: last\n";
        let (node, edits) = parse(text, 0).unwrap();
        assert_eq!(edits.len(), 3);
        let shown = |node: &Node| text.get(node.start..node.end).unwrap();
        assert_eq!(shown(node.get("d").unwrap()), "a: b");
        let phases = node.get("phases").unwrap().items().unwrap();
        assert_eq!(shown(phases[0].get("args").unwrap()), "c: d");
        assert_eq!(shown(phases[1].get("note").unwrap()), "e: f");
        assert_eq!(shown(node.get("z").unwrap()), "last");
        assert_eq!(shown(&node.entry("z").unwrap().key), "z");
    }

    #[test]
    fn what_is_really_broken_stays_broken() {
        for text in [
            "a: \"x\nb: c\n",
            "a:\n\tb: c\n",
            "name: [invalid\nd: x\n",
            "a: b\nc\n",
            "a: x: y\na: z\n",
            "a: {b: c\n",
        ] {
            assert!(parse(text, 0).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn retrying_is_total_and_offsets_stay_inside(
            text in "([a-zé]{1,3}: ?|  |- |[a-z:\"'\\[\\]@# ]{0,8}|\r?\n){0,24}",
        ) {
            if let Ok((node, edits)) = parse(&text, 0) {
                prop_assert!(node.end <= text.len());
                for edit in edits {
                    prop_assert!(text.get(edit.start..edit.end).is_some());
                }
            }
        }
    }
}
