//! Texts of hosts cut to what a log should hold, at the border of a character, with what they were.

use fugato_engine::Whole;
use serde_json::Value;
use serde_json::value::RawValue;
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
        let text: String = serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned());
        let short = head(&text, most);
        return (short.to_owned(), short.len() < text.len());
    }
    let mut part = head(raw, most);
    // An escape that was cut in two is left out; the longest has twelve characters.
    for _ in 0..12 {
        if let Ok(text) = serde_json::from_str(&format!("{part}\"")) {
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
