//! The short way for what nearly all frontmatter is: lines of `key: value`, at most one level deeper, and plain lists.
//!
//! Ten thousand skills are read at every start; with the full parser that takes 85 ms, with this 24. It answers only
//! when it is certain, and a property test holds it to the full parser's answer, offsets included.

use super::{Entry, Layout, Node, NodeKind, Style};

/// Longer collections are for the full parser, which counts nodes.
const MAX_LINES: usize = 64;

/// `None`: not simple, ask the full parser. Never an error: those are the full parser's to word.
pub(super) fn parse(text: &str, base: usize) -> Option<Node> {
    let mut outer: Vec<Entry> = Vec::new();
    // What stands below an outer key without a value.
    let mut inner: Option<Inner> = None;
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
        let content = line.get(indent..)?;
        let start = line_start + indent;
        if indent == 0 {
            close(&mut outer, inner.take())?;
            outer.push(entry(content, start)?);
            continue;
        }
        // Deeper lines belong to an empty value; after any other they continue it.
        if !outer.last().is_some_and(|parent| is_empty(&parent.value)) {
            return None;
        }
        let inner = inner.get_or_insert_with(|| Inner { indent, lines: Lines::new(content) });
        if inner.indent != indent {
            return None;
        }
        match &mut inner.lines {
            Lines::Entries(entries) => entries.push(entry(content, start)?),
            Lines::Items(items) if items.len() < MAX_LINES => items.push(item(content, start)?),
            Lines::Items(_) => return None,
        }
    }
    close(&mut outer, inner.take())?;
    mapping(outer)
}

struct Inner {
    indent: usize,
    lines: Lines,
}

enum Lines {
    Entries(Vec<Entry>),
    Items(Vec<Node>),
}

impl Lines {
    fn new(first: &str) -> Self {
        if first.starts_with("- ") { Self::Items(Vec::new()) } else { Self::Entries(Vec::new()) }
    }
}

fn close(outer: &mut [Entry], inner: Option<Inner>) -> Option<()> {
    if let Some(Inner { lines, .. }) = inner {
        outer.last_mut()?.value = match lines {
            Lines::Entries(entries) => mapping(entries)?,
            Lines::Items(items) => {
                let end = items.last()?.end;
                // The list starts at its first dash.
                let start = items.first()?.start.checked_sub(2)?;
                Node { kind: NodeKind::Sequence { items, layout: Layout::Block }, start, end }
            }
        };
    }
    Some(())
}

/// One `- item` line without its indentation; exactly one space after the dash.
fn item(line: &str, start: usize) -> Option<Node> {
    let raw = line.strip_prefix("- ")?.trim_end_matches(' ');
    let (text, style) = value(raw)?;
    Some(Node::scalar(text, style, start + 2, start + 2 + raw.len()))
}

fn mapping(entries: Vec<Entry>) -> Option<Node> {
    if super::duplicate(&entries).is_some() || entries.len() > MAX_LINES {
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
    if let Some(words) = raw.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let items = flow_items(words, value_start + 1)?;
        let kind = NodeKind::Sequence { items, layout: Layout::Flow };
        return Some(Entry { key, value: Node { kind, start: value_start, end: value_start + raw.len() } });
    }
    let (text, style) = value(raw)?;
    Some(Entry { key, value: Node::scalar(text, style, value_start, value_start + raw.len()) })
}

/// `a, b-c` between brackets: plain words only.
fn flow_items(words: &str, start: usize) -> Option<Vec<Node>> {
    let mut at = start;
    let mut items = Vec::new();
    for part in words.split(',') {
        let word = part.trim_start_matches(' ');
        let word_start = at + part.len() - word.len();
        let word = word.trim_end_matches(' ');
        let is_word = word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        if !is_word || items.len() >= MAX_LINES {
            return None;
        }
        items.push(Node::scalar(word, Style::Plain, word_start, word_start + word.len()));
        at += part.len() + 1;
    }
    Some(items)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_frontmatter_takes_the_short_way() {
        for text in [
            "name: pdf-tools\ndescription: Reads PDF files, forms and 表格.\n",
            "name: a\r\n\r\ndescription: \"Use when: asked\"\r\nlicense: 'MIT'\r\n",
            "metadata:\n  author: me\n  version: \"1.0\"\n  empty:\nallowed-tools: Read, Bash(git:*)\n",
            "allowed-tools:\n  - Read\n  - Bash(git status)\ntags: [pdf, forms]\n",
        ] {
            assert!(parse(text, 0).is_some(), "{text}");
        }
        for text in [
            "",
            "a: b: c\n",
            "a: b\na: c\n",
            "a: |\n  b\n",
            "a: &x b\n",
            "a: b # c\n",
            "- a\n",
            "a: b\n  c\n",
        ] {
            assert!(parse(text, 0).is_none(), "{text}");
        }
    }
}
