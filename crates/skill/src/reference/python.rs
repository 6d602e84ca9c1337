//! The few meanings of Python that the reference's verdicts depend on.

use serde_json::Value;
use std::fmt::Write as _;

/// `str.strip()`: Unicode white space, and four separators that Rust does not count.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{1C}'..='\u{1F}'))
}

/// `str.isalnum()` of one character: letters and numbers, but neither combining marks nor letter-like symbols, which
/// Unicode's `Alphabetic` property (and so Rust) includes.
pub(super) fn is_alphanumeric(c: char) -> bool {
    let symbol = matches!(c, '\u{24B6}'..='\u{24E9}' | '\u{1F130}'..='\u{1F149}' | '\u{1F150}'..='\u{1F169}' | '\u{1F170}'..='\u{1F189}');
    c.is_alphanumeric() && !symbol && !unicode_normalization::char::is_combining_mark(c)
}

/// Characters the reference's YAML reader lets in.
pub(super) fn is_yaml_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{FFFD}' | '\u{10000}'..)
}

/// `bool(value)`.
pub(super) fn is_truthy(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    }
}

/// `str(value)`: a text as it is, a collection as Python writes it.
pub(super) fn str(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => {
            let mut out = String::new();
            repr(&mut out, other);
            out
        }
    }
}

/// `repr(value)`. As deep as YAML is accepted at most.
fn repr(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => repr_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                repr(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (at, (key, field)) in fields.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                repr_text(out, key);
                out.push_str(": ");
                repr(out, field);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

fn repr_text(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if fugato_model::is_hidden(c) || (c.is_whitespace() && c != ' ') => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xFF => write!(out, "\\x{code:02x}"),
                    0x100..=0xFFFF => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}
