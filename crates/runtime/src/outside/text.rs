//! Texts of hosts cut to what a log should hold, at the border of a character, with what they were.

use fugato_engine::Whole;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What is kept of a result.
const CONTENT: usize = 2048;
/// What is kept of one text among the arguments, and of all of them.
const ARGUMENT: usize = 600;
const ARGUMENTS: usize = 3000;

/// The beginning of a text.
pub fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The result of a tool as text: what it printed, if it says so, else the document.
pub fn result(raw: &RawValue, is_lossy: bool) -> (String, Option<Whole>) {
    let text = raw.get();
    let (said, is_cut) = match text.as_bytes().first() {
        Some(b'"') => string_head(text, CONTENT),
        Some(b'{') => object_head(text),
        _ => (head(text, CONTENT).to_owned(), text.len() > CONTENT),
    };
    let whole = (is_cut || is_lossy).then(|| Whole {
        bytes: text.len() as u64,
        digest: fugato_skill::digest_bytes(text.as_bytes()),
        lossy: is_lossy,
    });
    (said, whole)
}

/// The beginning of a JSON string, without reading the rest of it.
fn string_head(raw: &str, most: usize) -> (String, bool) {
    if raw.len() <= most * 2 {
        let (text, _) = decode(raw);
        let short = head(&text, most);
        return (short.to_owned(), short.len() < text.len());
    }
    let mut part = head(raw, most);
    // An escape that was cut in two is left out; the longest has twelve characters.
    for _ in 0..12 {
        let closed = format!("{part}\"");
        if let Ok(text) = serde_json::from_str(&without_surrogates(&closed)) {
            return (text, true);
        }
        part = head(part, part.len().saturating_sub(1));
    }
    (part.to_owned(), true)
}

fn object_head(raw: &str) -> (String, bool) {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(raw).unwrap_or_default();
    let printed = ["stdout", "stderr", "error"].map(|name| fields.get(name).map(|field| field.get()));
    let is_text = |field: &&str| field.starts_with('"') && field.len() > 2;
    let texts: Vec<_> =
        printed.into_iter().flatten().filter(is_text).map(|field| string_head(field, CONTENT)).collect();
    if texts.is_empty() || !fields.contains_key("stdout") {
        return (head(raw, CONTENT).to_owned(), raw.len() > CONTENT);
    }
    let is_cut = texts.iter().any(|(_, is_cut)| *is_cut);
    let text = texts.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join("\n");
    let short = head(&text, CONTENT);
    (short.to_owned(), is_cut || short.len() < text.len())
}

/// Arguments with their long texts cut.
pub fn arguments(value: Value) -> Value {
    let mut value = value;
    shorten(&mut value);
    let text = value.to_string();
    if text.len() > ARGUMENTS { Value::String(format!("{}…", head(&text, ARGUMENTS))) } else { value }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > ARGUMENT => {
            let bytes = text.len();
            *text = format!("{}… ({bytes} bytes)", head(text, ARGUMENT));
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// The text of a JSON string; halves of characters are replaced.
pub fn decode(raw: &str) -> (String, bool) {
    match serde_json::from_str(raw) {
        Ok(text) => (text, false),
        Err(_) => (serde_json::from_str(&without_surrogates(raw)).unwrap_or_else(|_| raw.to_owned()), true),
    }
}

pub fn has_surrogates(raw: &str) -> bool {
    memchr::memmem::find(raw.as_bytes(), b"\\ud").is_some_and(|_| without_surrogates(raw) != raw)
        || memchr::memmem::find(raw.as_bytes(), b"\\uD").is_some_and(|_| without_surrogates(raw) != raw)
}

/// JSON in which every escape stands for a character: halves of pairs become the sign for "unknown".
pub fn without_surrogates(raw: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        clean.push_str(before);
        let unit = |text: &str| {
            let digits = text.strip_prefix("\\u")?.get(..4)?;
            u16::from_str_radix(digits, 16).ok()
        };
        let after = |count: usize| escape.get(count..).unwrap_or_default();
        let (taken, word) = match (unit(escape), unit(after(6))) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, None),
            (Some(0xD800..=0xDFFF), _) => (6, Some("\\ufffd")),
            (Some(_), _) => (6, None),
            // The character after a backslash belongs to it.
            (None, _) => (1 + escape.chars().nth(1).map_or(0, char::len_utf8), None),
        };
        clean.push_str(word.unwrap_or_else(|| escape.get(..taken).unwrap_or(escape)));
        rest = after(taken);
    }
    if clean.is_empty() {
        return Cow::Borrowed(raw);
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn raw(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    #[test]
    fn results_are_what_was_printed_and_long_ones_say_how_long() {
        let bash = json!({"stdout": "hello", "stderr": "", "interrupted": false});
        assert_eq!(result(&raw(&bash), false), ("hello".to_owned(), None));
        assert_eq!(result(&raw(&json!("hello\n")), false).0, "hello\n");
        let long = json!("长\n".repeat(100_000));
        let (text, whole) = result(&raw(&long), false);
        assert!(text.len() <= CONTENT && text.starts_with("长\n长"), "{}", text.len());
        assert_eq!(whole.unwrap().bytes, raw(&long).get().len() as u64);
        let odd = json!({"stdout": "\u{1F600}".repeat(5000)});
        assert!(result(&raw(&odd), false).1.is_some());
        assert!(result(&raw(&json!([1, 2])), true).1.unwrap().lossy);
    }

    #[test]
    fn arguments_stay_small() {
        let value = arguments(json!({"content": "x".repeat(10_000), "file_path": "/a"}));
        assert!(value["content"].as_str().unwrap().ends_with("(10000 bytes)"));
        assert!(arguments(json!(vec!["y".repeat(500); 100])).to_string().len() < ARGUMENTS + 200);
    }
}
