//! Edit: replaces a piece of a file that is there exactly once, or everywhere when asked.
//!
//! Works on bytes, so what is not touched stays as it was, whatever its encoding. Models write `\n`; in a file whose
//! lines end with CRLF, what they write is meant with CRLF.

use super::ToolContext;
use super::outcome::{Failure, ToolOutcome};
use super::place::{Place, PlaceError};
use super::slot::{Parents, Slot};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[serde(alias = "file_path")]
    path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

pub(super) fn describe() -> (&'static str, Value) {
    let description = "Replaces text in a file of the project. `old_string` must be in the file exactly once, \
        letter for letter and with its indentation; give more of its surroundings to make it unique, or set \
        `replace_all`.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Relative to the project directory"},
            "old_string": {"type": "string", "description": "The text to replace"},
            "new_string": {"type": "string", "description": "What to put in its place"},
            "replace_all": {"type": "boolean", "description": "Replace every occurrence (default false)"}
        },
        "required": ["path", "old_string", "new_string"],
        "additionalProperties": false
    });
    (description, parameters)
}

pub(super) fn edit(wanted: &Arguments, context: &ToolContext) -> Result<ToolOutcome, Failure> {
    if wanted.old_string.is_empty() {
        return Err(Failure::new("`old_string` is empty; to write a whole file use Write"));
    }
    if wanted.old_string == wanted.new_string {
        return Err(Failure::new("`old_string` and `new_string` are the same; nothing would change"));
    }
    let place = Place::new(context, &wanted.path)?;
    let slot = Slot::open(&place, Parents::MustExist)?;
    if !slot.exists() {
        return Err(PlaceError::NotFound(place.shown).into());
    }
    let limit = context.limits.file_bytes;
    let before = slot.read(limit)?;
    let (after, times) = replace(&before, wanted, &place.shown)?;
    if after.len() > limit {
        return Err(PlaceError::TooLarge { path: place.shown, size: after.len() as u64, limit }.into());
    }
    slot.replace(&after)?;
    let places = if times == 1 { "1 place".into() } else { format!("{times} places") };
    Ok(ToolOutcome::text(format!("edited `{}` in {places}", place.shown)))
}

/// The new content and the number of replacements.
fn replace(before: &[u8], wanted: &Arguments, shown: &str) -> Result<(Vec<u8>, usize), Failure> {
    let (mut old, mut new) = (wanted.old_string.clone(), wanted.new_string.clone());
    if has_only_crlf(before) {
        (old, new) = (with_crlf(&old), with_crlf(&new));
    }
    let found = occurrences(before, old.as_bytes());
    let all = wanted.replace_all.unwrap_or(false);
    match found.len() {
        0 => {
            return Err(Failure::new(format!(
                "`old_string` is not in `{shown}`; {}",
                near_miss(before, &old)
            )));
        }
        1 => {}
        _ if all => {}
        times => {
            return Err(Failure::new(format!(
                "`old_string` is in `{shown}` {times} times; give more of its surroundings, or set `replace_all`"
            )));
        }
    }
    let mut after = Vec::with_capacity(before.len());
    let mut from = 0;
    for at in &found {
        after.extend_from_slice(before.get(from..*at).unwrap_or_default());
        after.extend_from_slice(new.as_bytes());
        from = at + old.len();
    }
    after.extend_from_slice(before.get(from..).unwrap_or_default());
    Ok((after, found.len()))
}

/// Starts of the occurrences that do not overlap, from the left.
fn occurrences(text: &[u8], piece: &[u8]) -> Vec<usize> {
    memchr::memmem::find_iter(text, piece).collect()
}

fn has_only_crlf(text: &[u8]) -> bool {
    let mut before = 0;
    let mut any = false;
    for byte in text {
        if *byte == b'\n' {
            if before != b'\r' {
                return false;
            }
            any = true;
        }
        before = *byte;
    }
    any
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// The usual reason, if it is the reason: the words are right, the spaces are not.
fn near_miss(text: &[u8], old: &str) -> &'static str {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (text, old) = (squeeze(&String::from_utf8_lossy(text)), squeeze(old));
    if !old.is_empty() && text.contains(&old) {
        "it is there with other spaces or line ends, so read the file and copy it exactly"
    } else {
        "read the file and copy the text exactly"
    }
}
