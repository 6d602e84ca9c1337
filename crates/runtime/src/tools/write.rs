//! Write: a whole file, in one step, with the directories it needs.

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
    content: String,
}

pub(super) fn describe() -> (&'static str, Value) {
    let description = "Writes a file of the project, replacing what was there. Missing directories are made. \
        To change part of a file use Edit.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Relative to the project directory"},
            "content": {"type": "string", "description": "The whole new content"}
        },
        "required": ["path", "content"],
        "additionalProperties": false
    });
    (description, parameters)
}

pub(super) fn write(wanted: &Arguments, context: &ToolContext) -> Result<ToolOutcome, Failure> {
    let place = Place::new(context, &wanted.path)?;
    let (size, limit) = (wanted.content.len(), context.limits.file_bytes);
    if size > limit {
        return Err(PlaceError::TooLarge { path: place.shown, size: size as u64, limit }.into());
    }
    let slot = Slot::open(&place, Parents::Make)?;
    slot.replace(wanted.content.as_bytes())?;
    let done = if slot.exists() { "replaced" } else { "created" };
    Ok(ToolOutcome::text(format!("{done} `{}` ({size} bytes)", place.shown)))
}
