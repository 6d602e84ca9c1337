//! What the reference prints: JSON as Python writes it, and the XML block for prompts.

use super::{ReferenceError, Target, parse};
use serde_json::Value;
use std::fmt::Write as _;

/// Python's `json.dumps(value, indent=2)`: ASCII only, everything else escaped.
pub fn json_dumps(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, 0);
    out
}

/// The `<available_skills>` block. Locations are `dir/file`: the caller resolves `dir` first, as the reference does.
pub fn to_prompt(targets: &[Target<'_>]) -> Result<String, ReferenceError> {
    let mut out = String::from("<available_skills>\n");
    for target in targets {
        let properties = parse::properties(*target)?;
        let file = target.file.map_or("SKILL.md", |(file, _)| file);
        let separator = if target.dir.ends_with('/') { "" } else { "/" };
        let _ = write!(
            out,
            "<skill>\n<name>\n{}\n</name>\n<description>\n{}\n</description>\n<location>\n{}{separator}{file}\n</location>\n</skill>\n",
            escape(&properties.name),
            escape(&properties.description),
            target.dir,
        );
    }
    out.push_str("</available_skills>");
    Ok(out)
}

/// Python's `html.escape`.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            c => out.push(c),
        }
    }
    out
}

/// The tree is at most as deep as YAML is accepted, so recursion is bounded.
fn write_value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::String(text) => write_string(out, text),
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        Value::Object(fields) if fields.is_empty() => out.push_str("{}"),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                next_line(out, at, depth + 1);
                write_value(out, item, depth + 1);
            }
            close(out, depth, ']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (at, (key, field)) in fields.iter().enumerate() {
                next_line(out, at, depth + 1);
                write_string(out, key);
                out.push_str(": ");
                write_value(out, field, depth + 1);
            }
            close(out, depth, '}');
        }
        other => out.push_str(&other.to_string()),
    }
}

fn next_line(out: &mut String, at: usize, depth: usize) {
    out.push_str(if at == 0 { "\n" } else { ",\n" });
    out.extend(std::iter::repeat_n("  ", depth));
}

fn close(out: &mut String, depth: usize, bracket: char) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
    out.push(bracket);
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}
