//! Events as bytes in the store. Long texts go to content-addressed blobs, written before the event that names them, and
//! come back when the log is read; the engine never knows.

use crate::store::{Reader, Store, StoreError};
use fugato_engine::Event;
use fugato_model::Digest;
use serde_json::Value;
use std::ops::ControlFlow;

/// Longer strings are blobs: an event stays small enough to scan a million of them.
const INLINE_BYTES: usize = 4096;
const BLOB: &str = "$blob";

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("event {seq} cannot be read: {error}")]
    Unreadable { seq: u64, error: String },
    #[error("the run has no events")]
    Empty,
}

/// The bytes of an event. What they name is durable when this returns.
pub fn encode(event: &Event, store: &Store) -> Result<Vec<u8>, JournalError> {
    let wrong =
        |error: serde_json::Error| JournalError::Unreadable { seq: event.seq, error: error.to_string() };
    let bytes = serde_json::to_vec(event).map_err(wrong)?;
    if !has_long_string(&bytes) && !names_blob(&bytes) {
        return Ok(bytes);
    }
    let mut value: Value = serde_json::from_slice(&bytes).map_err(wrong)?;
    spill(&mut value, &mut |text| store.put_blob(text.as_bytes()))?;
    serde_json::to_vec(&value).map_err(wrong)
}

/// The same for an event whose texts are short, without a store.
pub(crate) fn encode_short(event: &Event) -> Result<Vec<u8>, JournalError> {
    let wrong =
        |error: serde_json::Error| JournalError::Unreadable { seq: event.seq, error: error.to_string() };
    let bytes = serde_json::to_vec(event).map_err(wrong)?;
    if !names_blob(&bytes) {
        return Ok(bytes);
    }
    let mut value: Value = serde_json::from_slice(&bytes).map_err(wrong)?;
    mark(&mut value);
    serde_json::to_vec(&value).map_err(wrong)
}

/// The event of these bytes.
pub fn decode(seq: u64, bytes: &[u8], reader: &Reader) -> Result<Event, JournalError> {
    let wrong = |error: serde_json::Error| JournalError::Unreadable { seq, error: error.to_string() };
    if !names_blob(bytes) {
        return serde_json::from_slice(bytes).map_err(wrong);
    }
    let mut value: Value = serde_json::from_slice(bytes).map_err(wrong)?;
    fetch(&mut value, &mut |digest| Ok(reader.blob(digest)?))?;
    serde_json::from_value(value).map_err(wrong)
}

/// The shape of an event whose long texts are elsewhere; each is taken as empty.
pub(super) fn decode_shape(seq: u64, bytes: &[u8]) -> Result<Event, JournalError> {
    let wrong = |error: serde_json::Error| JournalError::Unreadable { seq, error: error.to_string() };
    let mut value: Value = serde_json::from_slice(bytes).map_err(wrong)?;
    fetch(&mut value, &mut |_| Ok(Vec::new()))?;
    serde_json::from_value(value).map_err(wrong)
}

/// All events of a run.
pub fn load(reader: &Reader, run: &str) -> Result<Vec<Event>, JournalError> {
    load_from(reader, run, 1)
}

/// Events of a run from a number on.
pub fn load_from(reader: &Reader, run: &str, first: u64) -> Result<Vec<Event>, JournalError> {
    let mut events = Vec::new();
    let mut failed = None;
    reader.events(run, first, u64::MAX)?.visit(|seq, bytes| match decode(seq, bytes, reader) {
        Ok(event) => {
            events.push(event);
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    match failed {
        Some(error) => Err(error),
        None => Ok(events),
    }
}

/// Replaces long strings. A key of the data that looks like ours gets one more `$`, so it comes back as it was.
fn spill(
    value: &mut Value,
    put: &mut dyn FnMut(&str) -> Result<Digest, StoreError>,
) -> Result<(), StoreError> {
    match value {
        Value::String(text) if text.len() > INLINE_BYTES => {
            let (digest, bytes) = (put(text)?, text.len());
            *value = serde_json::json!({BLOB: digest, "bytes": bytes});
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| spill(item, put)),
        Value::Object(fields) => {
            fields.values_mut().try_for_each(|field| spill(field, put))?;
            let marked: Vec<String> = fields.keys().filter(|key| is_marked(key)).cloned().collect();
            for key in marked {
                if let Some(field) = fields.remove(&key) {
                    fields.insert(format!("${key}"), field);
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The part of [`spill`] that concerns keys.
fn mark(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(mark),
        Value::Object(fields) => {
            fields.values_mut().for_each(mark);
            let marked: Vec<String> = fields.keys().filter(|key| is_marked(key)).cloned().collect();
            for key in marked {
                if let Some(field) = fields.remove(&key) {
                    fields.insert(format!("${key}"), field);
                }
            }
        }
        _ => {}
    }
}

/// Undoes [`spill`].
fn fetch(
    value: &mut Value,
    get: &mut dyn FnMut(&Digest) -> Result<Vec<u8>, JournalError>,
) -> Result<(), JournalError> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| fetch(item, get)),
        Value::Object(fields) => {
            if let Some(digest) = fields.get(BLOB).and_then(Value::as_str).and_then(|text| text.parse().ok())
            {
                let bytes = get(&digest)?;
                *value = Value::String(String::from_utf8_lossy(&bytes).into_owned());
                return Ok(());
            }
            fields.values_mut().try_for_each(|field| fetch(field, get))?;
            let marked: Vec<String> = fields.keys().filter(|key| is_marked(key)).cloned().collect();
            for key in marked {
                if let Some(field) = fields.remove(&key) {
                    fields.insert(key.chars().skip(1).collect(), field);
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn is_marked(key: &str) -> bool {
    key.starts_with('$') && key.trim_start_matches('$') == "blob"
}

/// May these bytes name content that lies elsewhere? Without it they are the event as it was written.
pub fn names_blob(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"$blob\"").is_some()
}

/// May one of the strings in this JSON be longer than [`INLINE_BYTES`]? A large event of many short ones (a plan of
/// thousands of nodes) is then written once, not read back and written again. Escaped quotes only make pieces shorter
/// than their string, so pieces that follow one count on.
fn has_long_string(json: &[u8]) -> bool {
    if json.len() <= INLINE_BYTES {
        return false;
    }
    let mut start = 0;
    for quote in memchr::memchr_iter(b'"', json) {
        let is_escaped = json.get(..quote).and_then(<[u8]>::last) == Some(&b'\\');
        if is_escaped {
            continue;
        }
        if quote - start > INLINE_BYTES {
            return true;
        }
        start = quote;
    }
    json.len() - start > INLINE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::HashMap;

    #[test]
    fn a_long_string_is_seen_wherever_it_is_and_many_short_ones_are_none() {
        let long = "\\\"长".repeat(2000);
        assert!(has_long_string(json!({"a": 1, "b": [long, 2]}).to_string().as_bytes()));
        assert!(has_long_string(json!("x".repeat(INLINE_BYTES + 1)).to_string().as_bytes()));
        let short: Vec<_> = (0..1000).map(|n| json!({"id": format!("n{n}"), "say": "\"hm\""})).collect();
        let text = json!(short).to_string();
        assert!(text.len() > INLINE_BYTES && !has_long_string(text.as_bytes()));
    }

    #[test]
    fn long_strings_leave_and_come_back_and_look_alikes_survive() {
        let mut blobs: HashMap<Digest, Vec<u8>> = HashMap::new();
        let original = json!({
            "a": "长".repeat(3000), "b": [{"$blob": "mine", "bytes": 1}], "c": {"$$blob": {"$blob": 7}}, "d": "short",
        });
        let mut value = original.clone();
        spill(&mut value, &mut |text| {
            let digest = fugato_skill::digest_bytes(text.as_bytes());
            blobs.insert(digest, text.as_bytes().to_vec());
            Ok(digest)
        })
        .unwrap();
        assert!(value.to_string().len() < 400);
        fetch(&mut value, &mut |digest| Ok(blobs[digest].clone())).unwrap();
        assert_eq!(value, original);
    }
}
