//! `KEY: value` and `$KEY = value` lines: the last structure to look for before the text itself is the result.

use super::fence::Block;
use crate::variable::VarName;
use serde_json::{Map, Value};

/// The pairs as an object of texts. `None` when the text is prose that merely has a line like one: then the whole text is
/// worth more than the line. It is not prose when it names the `output`, or when at least half of its lines are pairs.
pub(super) fn read(text: &str, blocks: &[Block<'_>], output: Option<&VarName>) -> Option<Value> {
    let mut fields = Map::new();
    let (mut lines, mut pairs) = (0usize, 0usize);
    for line in outside(text, blocks).filter(|line| !line.trim().is_empty()) {
        lines += 1;
        if let Some((key, value)) = pair(line, output) {
            pairs += 1;
            fields.insert(key.to_owned(), Value::String(value.to_owned()));
        }
    }
    let names_output = output.is_some_and(|name| fields.contains_key(name.as_str()));
    (pairs > 0 && (names_output || pairs * 2 >= lines)).then_some(Value::Object(fields))
}

/// The lines that are not in a code block.
fn outside<'a>(text: &'a str, blocks: &'a [Block<'a>]) -> impl Iterator<Item = &'a str> {
    let mut blocks = blocks.iter().peekable();
    let mut at = 0;
    text.split_inclusive('\n').filter(move |line| {
        let start = at;
        at += line.len();
        while blocks.peek().is_some_and(|block| block.range.end <= start) {
            blocks.next();
        }
        !blocks.peek().is_some_and(|block| block.range.contains(&start))
    })
}

fn pair<'a>(line: &'a str, output: Option<&VarName>) -> Option<(&'a str, &'a str)> {
    let line = line.trim();
    if let Some(assignment) = line.strip_prefix('$') {
        let (key, value) = assignment.split_once('=')?;
        return VarName::parse(key.trim()).is_ok().then(|| (key.trim(), unquoted(value.trim())));
    }
    // Lists and bold keys are how models decorate the form they were asked for.
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line).trim_start();
    let (key, value) = line.split_once(':')?;
    let key = key.trim_matches(['*', '`', ' ']);
    let value = value.trim_start_matches("**").trim();
    // `https://…` and `a::b` are no pairs; neither is `KEY:` with nothing behind it.
    if value.is_empty() || line.contains("://") && value.starts_with("//") {
        return None;
    }
    is_key(key, output).then(|| (key, unquoted(value)))
}

/// Upper-case names, the output's own, and the three words of a report. `Note: …` is prose.
fn is_key(key: &str, output: Option<&VarName>) -> bool {
    let upper = key.len() >= 2
        && key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    upper || output.is_some_and(|name| name.as_str() == key) || matches!(key, "success" | "message" | "error")
}

fn unquoted(value: &str) -> &str {
    ['"', '\'', '`']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
        .filter(|inner| !inner.is_empty())
        .unwrap_or(value)
}
