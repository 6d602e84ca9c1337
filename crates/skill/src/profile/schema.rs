//! The JSON Schema (draft 2020-12) of profiles, for editors and for programs that write them.
//!
//! By hand rather than derived: the reader is written against syntax nodes, and the words here are for people who see
//! them as tooltips. A test holds both to the same keys.

use super::Mode;
use super::fields::{self, Shape};
use serde_json::{Map, Value, json};

/// The schema of one mode's flat form; without a mode, of any profile.
pub fn schema(mode: Option<Mode>) -> Value {
    let mut root = match mode {
        Some(mode) => flat(mode),
        None => json!({ "oneOf": Mode::ALL.map(flat).into_iter().chain([several()]).collect::<Vec<_>>() }),
    };
    if let Value::Object(root) = &mut root {
        root.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        let title = mode.map_or("fugato profile".to_owned(), |mode| format!("fugato profile, mode {mode}"));
        root.insert("title".into(), title.into());
        root.insert("$defs".into(), definitions());
    }
    root
}

/// One mode at the top level of the file.
fn flat(mode: Mode) -> Value {
    let mut properties = file_properties();
    properties.insert("mode".into(), json!({ "const": mode.as_str(), "description": "The active mode." }));
    properties.extend(mode_properties(mode));
    let mut required = vec!["mode"];
    required.extend(required_keys(mode));
    object(properties, &required, &format!("A profile of mode {mode}."))
}

/// Several modes in one file.
fn several() -> Value {
    let mut modes = Map::new();
    for mode in Mode::ALL {
        let block = object(
            mode_properties(mode),
            &required_keys(mode),
            &format!("Policy and agents of mode {mode}."),
        );
        modes.insert(mode.as_str().into(), block);
    }
    let mut properties = file_properties();
    properties.insert(
        "mode".into(),
        json!({ "enum": Mode::ALL.map(Mode::as_str), "description": "The active mode; needed when there are several." }),
    );
    let mut modes = object(modes, &[], "One policy per mode; switching modes keeps each.");
    if let Value::Object(modes) = &mut modes {
        modes.insert("minProperties".into(), 1.into());
    }
    properties.insert("modes".into(), modes);
    object(properties, &["modes"], "A profile with several modes.")
}

fn file_properties() -> Map<String, Value> {
    let scope = |what: &str| json!({ "type": "string", "minLength": 1, "description": what });
    map([
        ("$schema", json!({ "type": "string" })),
        ("description", json!({ "type": "string", "description": "What the profile is for." })),
        ("preset", scope("Name of the active preset: its skills replace global and project ones.")),
        ("character", scope("Name of the active character: its skills replace all others of the same name.")),
    ])
}

fn mode_properties(mode: Mode) -> Map<String, Value> {
    let mut properties = map([
        ("skills", json!({ "$ref": "#/$defs/modeSkills" })),
        (
            "tools",
            json!({ "$ref": "#/$defs/texts", "description": "Tools every agent of the mode may call." }),
        ),
        (
            "limits",
            json!({
                "type": "object",
                "additionalProperties": { "type": "number", "minimum": 0 },
                "description": "Bounds of a run, such as maxRounds."
            }),
        ),
    ]);
    for key in fields::agent_keys(mode) {
        let value = match (key.shape, mode) {
            (Shape::One { .. }, _) => json!({ "$ref": "#/$defs/agent" }),
            (Shape::Many, Mode::Spec) => {
                json!({ "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/node" } })
            }
            (Shape::Many, _) => {
                let least = u8::from(key.required);
                json!({ "type": "array", "minItems": least, "items": { "$ref": "#/$defs/member" } })
            }
        };
        properties.insert(key.key.into(), value);
    }
    if mode == Mode::Spec {
        properties.insert("stages".into(), json!({ "type": "array", "items": { "$ref": "#/$defs/stage" } }));
        properties.insert(
            "onReviewLimit".into(),
            json!({ "enum": ["continue", "fail"], "description": "What happens after the last allowed rerun." }),
        );
    }
    properties
}

fn required_keys(mode: Mode) -> Vec<&'static str> {
    fields::agent_keys(mode).iter().filter(|key| key.required).map(|key| key.key).collect()
}

fn definitions() -> Value {
    let mut member = agent_properties();
    let agent = object(member.clone(), &[], "An agent. Its id may be left out.");
    let mut node = member.clone();
    node.insert("type".into(), json!({ "enum": ["worker", "review"], "default": "worker" }));
    node.insert("userPromptTemplate".into(), json!({ "type": "string" }));
    node.insert(
        "optional".into(),
        json!({ "type": "boolean", "description": "A failure of this node does not fail its stage." }),
    );
    json!({
        "agent": agent,
        "member": object(std::mem::take(&mut member), &["id"], "One of several agents."),
        "node": object(node, &["id"], "A node of spec mode."),
        "stage": object(
            map([
                ("id", json!({ "type": "string" })),
                ("mode", json!({ "enum": ["serial", "parallel"], "default": "serial" })),
                ("nodes", json!({ "$ref": "#/$defs/texts", "description": "Ids of the nodes of this stage." })),
            ]),
            &["nodes"],
            "Nodes that run together.",
        ),
        "texts": { "type": "array", "items": { "type": "string" } },
        "id": { "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[^/\\\\\\s:*?\"<>|]+$" },
        "name": {
            "type": "string", "minLength": 1, "maxLength": 64,
            "pattern": "^[^-+*\\sA-Z_./][^+*\\sA-Z_./]*$",
            "description": "The name of a skill, without a scope."
        },
        "modeSkills": skills("Skills every agent of the mode may see. Left out: every installed skill.", mode_list()),
        "agentSkills": skills(
            "Skills of this agent. A leading \"+\" inherits the mode's list; other lists replace it.",
            agent_list(),
        ),
    })
}

fn agent_properties() -> Map<String, Value> {
    map([
        ("id", json!({ "$ref": "#/$defs/id" })),
        (
            "description",
            json!({ "type": "string", "description": "What other agents are told about this one." }),
        ),
        ("systemPrompt", json!({ "type": "string", "maxLength": super::json::MAX_PROMPT_BYTES })),
        ("model", json!({ "type": "string" })),
        ("preset", json!({ "type": "string" })),
        ("tools", json!({ "$ref": "#/$defs/texts" })),
        ("maxRounds", json!({ "type": "integer", "minimum": 1 })),
        ("skills", json!({ "$ref": "#/$defs/agentSkills" })),
    ])
}

fn skills(description: &str, visible: Value) -> Value {
    object(
        map([
            ("visible", visible),
            (
                "deny",
                json!({
                    "type": "array",
                    "items": { "anyOf": [{ "const": "*" }, { "$ref": "#/$defs/name" }] },
                    "description": "Taken away, from both levels, always. \"*\" takes everything."
                }),
            ),
            ("none", json!({ "type": "boolean", "description": "true: no skills at all." })),
            (
                "allowMissing",
                json!({ "type": "boolean", "description": "true: a denied name need not be installed." }),
            ),
        ]),
        &[],
        description,
    )
}

fn mode_list() -> Value {
    json!({
        "type": "array",
        "items": { "anyOf": [{ "enum": ["*", "-"] }, { "$ref": "#/$defs/name" }] }
    })
}

fn agent_list() -> Value {
    let rest = json!({ "anyOf": [{ "enum": ["*", "-"] }, { "$ref": "#/$defs/name" }] });
    json!({
        "type": "array",
        "prefixItems": [{ "anyOf": [{ "enum": ["+", "*", "-"] }, { "$ref": "#/$defs/name" }] }],
        "items": rest,
        "description": "Names; \"+\" first inherits the mode's list; \"*\" is every installed skill; [\"-\"] is none."
    })
}

/// Unknown keys are named by an editor as they are by lint; `x-` keys are for other programs.
#[expect(clippy::needless_pass_by_value, reason = "the properties become part of the value")]
fn object(properties: Map<String, Value>, required: &[&str], description: &str) -> Value {
    json!({
        "type": "object",
        "description": description,
        "properties": properties,
        "patternProperties": { "^x-": true },
        "required": required,
        "additionalProperties": false,
    })
}

fn map<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
