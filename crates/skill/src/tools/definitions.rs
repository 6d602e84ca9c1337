//! The tools as a model is told about them: name, description, JSON Schema of the arguments.

use serde::Serialize;
use serde_json::{Value, json};

/// One function tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolDefinition {
    pub name: &'static str,
    pub description: &'static str,
    /// JSON Schema (draft 2020-12) of the arguments.
    pub parameters: Value,
}

/// The three skill tools. The words are English: they are for models.
pub fn definitions() -> Vec<ToolDefinition> {
    vec![
        ToolDefinition {
            name: "skill_list",
            description: "List the skills available to you, optionally only those whose name, description or tags contain a text.",
            parameters: arguments(
                json!({ "query": { "type": "string", "description": "Text to look for; upper and lower case are the same." } }),
                &[],
            ),
        },
        ToolDefinition {
            name: "skill_read",
            description: "Read a file of a skill, SKILL.md by default. When truncated is true, call again with offset set to nextOffset.",
            parameters: arguments(
                json!({
                    "name": { "type": "string", "description": "Name of the skill." },
                    "path": { "type": "string", "description": "Path of the file inside the skill.", "default": "SKILL.md" },
                    "offset": {
                        "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "pattern": "^[0-9]+(:[0-9]+)?$" }],
                        "description": "First line, from 1, or the nextOffset of the last answer.",
                        "default": 1
                    },
                    "limit": { "type": "integer", "minimum": 1, "description": "At most this many lines." }
                }),
                &["name"],
            ),
        },
        ToolDefinition {
            name: "skill_search",
            description: "Search a text in the files of one skill. Upper and lower case are the same; patterns are not supported.",
            parameters: arguments(
                json!({
                    "name": { "type": "string", "description": "Name of the skill." },
                    "query": { "type": "string", "minLength": 1, "description": "Text to look for." },
                    "path": { "type": "string", "description": "Only this file." },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "At most this many hits." },
                    "contextLines": { "type": "integer", "minimum": 0, "maximum": 50, "default": 2, "description": "Lines shown before and after each hit." }
                }),
                &["name", "query"],
            ),
        },
    ]
}

pub(super) fn arguments(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "required": required, "additionalProperties": false });
    if let Value::Object(schema) = &mut schema {
        schema.insert("properties".into(), properties);
    }
    schema
}
