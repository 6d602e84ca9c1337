//! The JSON Schema of the configuration, derived from the table of settings.

use super::settings::{Default, Kind, SETTINGS, Setting};
use serde_json::{Map, Value, json};

/// Draft 2020-12. Editors use it for completion in `fugato.toml`.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for setting in SETTINGS {
        match setting.key.split_once('.') {
            None => {
                properties.insert(setting.key.to_owned(), property(setting));
            }
            Some((group, name)) => {
                let table = properties.entry(group).or_insert_with(
                    || json!({"type": "object", "additionalProperties": false, "properties": {}}),
                );
                if let Some(inner) = table.get_mut("properties").and_then(Value::as_object_mut) {
                    inner.insert(name.to_owned(), property(setting));
                }
            }
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fugato configuration",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

fn property(setting: &Setting) -> Value {
    let mut property = match setting.kind {
        Kind::Choice(words) => json!({"type": "string", "enum": words}),
        Kind::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Text => json!({"type": "string", "minLength": 1}),
        Kind::Directories => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
    };
    let default = match setting.default {
        Default::Unset => None,
        Default::Text(text) => Some(json!(text)),
        Default::Integer(number) => Some(json!(number)),
        Default::NoDirectories => Some(json!([])),
    };
    if let Some(object) = property.as_object_mut() {
        object.insert("description".to_owned(), json!(setting.doc_en));
        if let Some(default) = default {
            object.insert("default".to_owned(), default);
        }
    }
    property
}
