//! The short way for what nearly all frontmatter is: lines of `key: value`, at most one level deeper.
//!
//! Ten thousand skills are read at every start; the full parser needs 75 ms for them, this 8. It answers only when it is
//! certain, and a property test holds it to the full parser's answer, offsets included.

use super::{Entry, Layout, Node, NodeKind, Style};

/// `None`: not simple, ask the full parser. Never an error: those are the full parser's to word.
pub(super) fn parse(text: &str, base: usize) -> Option<Node> {
    let mut outer: Vec<Entry> = Vec::new();
    // The entries below an outer key without a value, and their indentation.
    let mut inner: Option<(usize, Vec<Entry>)> = None;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (line, len) = match memchr::memchr(b'\n', rest.as_bytes()) {
            Some(end) => (rest.get(..end)?, end + 1),
            None => (rest, rest.len()),
        };
        let line = if len > line.len() { line.strip_suffix('\r').unwrap_or(line) } else { line };
        let line_start = at + base;
        at += len;
        if line.is_empty() {
            continue;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let entry = entry(line.get(indent..)?, line_start + indent)?;
        if indent == 0 {
            close(&mut outer, inner.take())?;
            outer.push(entry);
            continue;
        }
        match &mut inner {
            Some((expected, entries)) if *expected == indent => entries.push(entry),
            Some(_) => return None,
            // Deeper lines belong to an empty value; after any other they continue it.
            None if outer.last().is_some_and(|parent| is_empty(&parent.value)) => {
                inner = Some((indent, vec![entry]));
            }
            None => return None,
        }
    }
    close(&mut outer, inner.take())?;
    mapping(outer)
}

fn close(outer: &mut [Entry], inner: Option<(usize, Vec<Entry>)>) -> Option<()> {
    if let Some((_, entries)) = inner {
        outer.last_mut()?.value = mapping(entries)?;
    }
    Some(())
}

fn mapping(entries: Vec<Entry>) -> Option<Node> {
    if super::duplicate(&entries).is_some() || entries.len() > 64 {
        return None;
    }
    let start = entries.first()?.key.start;
    let end = entries.last().map(|entry| entry.value.end.max(entry.key.end))?;
    Some(Node { kind: NodeKind::Mapping { entries, layout: Layout::Block }, start, end })
}

fn is_empty(node: &Node) -> bool {
    node.start == node.end
}

/// One `key: value` line without its indentation.
fn entry(line: &str, start: usize) -> Option<Entry> {
    let colon = memchr::memchr(b':', line.as_bytes())?;
    let key = line.get(..colon)?;
    let plain_key = key.len() <= 64
        && key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if !plain_key {
        return None;
    }
    let after = line.get(colon + 1..)?;
    let raw = after.trim_start_matches(' ');
    let value_start = start + line.len() - raw.len();
    let raw = raw.trim_end_matches(' ');
    let key = Node::scalar(key, Style::Plain, start, start + colon);
    if raw.is_empty() {
        return Some(Entry { key, value: Node::scalar("", Style::Plain, start + colon, start + colon) });
    }
    if !after.starts_with(' ') {
        return None;
    }
    let (text, style) = value(raw)?;
    Some(Entry { key, value: Node::scalar(text, style, value_start, value_start + raw.len()) })
}

fn value(raw: &str) -> Option<(&str, Style)> {
    // Tabs, control characters, and what YAML treats specially in any position.
    if raw.bytes().any(|b| b < b' ') || raw.contains('\u{FEFF}') {
        return None;
    }
    match raw.as_bytes() {
        [quote @ (b'"' | b'\''), .., last] if quote == last => {
            let text = raw.get(1..raw.len() - 1)?;
            // Blanks beside a fold are the parser's business; escapes and inner quotes too.
            (memchr::memchr2(*quote, b'\\', text.as_bytes()).is_none()).then_some((text, Style::Quoted))
        }
        [first, ..] if first.is_ascii_alphanumeric() || *first >= 0x80 => {
            let ends_plain = raw.ends_with(':') || raw.contains(": ") || raw.contains(" #");
            (!ends_plain).then_some((raw, Style::Plain))
        }
        _ => None,
    }
}
