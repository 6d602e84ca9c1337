//! The JSON Schema of the configuration, derived from the table of settings.

use super::kind::Kind;
use super::section::{Field, SECTIONS, Section};
use super::settings::{Default, SETTINGS, Setting};
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
    for section in SECTIONS {
        properties.insert(section.name.to_owned(), names(section));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fugato configuration",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

/// A table of names, each with the same fields.
fn names(section: &Section) -> Value {
    let field = |field: &Field| {
        let mut accepted = accepted(field.kind);
        if let Some(object) = accepted.as_object_mut() {
            object.insert("description".to_owned(), json!(field.doc_en));
        }
        (field.key.to_owned(), accepted)
    };
    let fields: Map<String, Value> = section.fields.iter().map(field).collect();
    json!({
        "type": "object",
        "description": section.doc_en,
        "additionalProperties": {"type": "object", "additionalProperties": false, "properties": fields},
    })
}

fn accepted(kind: Kind) -> Value {
    match kind {
        Kind::Choice(words) => json!({"type": "string", "enum": words}),
        Kind::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Text | Kind::Model | Kind::Url => json!({"type": "string", "minLength": 1}),
        Kind::Variable => json!({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}),
        Kind::Money => json!({"type": "number", "minimum": 0}),
        Kind::Date => json!({"type": "string", "format": "date"}),
        Kind::Texts => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Kind::Rules => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
        Kind::Hosts => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
        Kind::Directories => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
    }
}

fn property(setting: &Setting) -> Value {
    let mut property = accepted(setting.kind);
    let default = match setting.default {
        Default::Unset => None,
        Default::Text(text) => Some(json!(text)),
        Default::Integer(number) => Some(json!(number)),
        Default::NoDirectories | Default::NoRules => Some(json!([])),
        Default::Boolean(is) => Some(json!(is)),
    };
    if let Some(object) = property.as_object_mut() {
        object.insert("description".to_owned(), json!(setting.doc_en));
        if let Some(default) = default {
            object.insert("default".to_owned(), default);
        }
    }
    property
}
