//! `echo`: answers without a model. Deterministic, and of the shape that was asked for, so that wiring can be checked.

use super::collect::{Collector, OnDelta};
use super::error::ModelError;
use super::{ModelRequest, ToolChoice, json};
use fugato_model::chat::{Answer, Part, Role, StopReason, ToolSpec, Usage};
use serde_json::{Map, Value, json};

/// The tool an agent ends its work with.
const SUBMIT: &str = "submit_result";

/// Schemas that demand more than this cannot be met here.
const MOST_VALUES: u32 = 5_000;
const MOST_CHARACTERS: u64 = 100_000;
const DEEPEST: u32 = 24;

pub(super) fn answer(request: &ModelRequest<'_>, on_delta: OnDelta<'_>) -> Result<Answer, ModelError> {
    let mut out = Collector::new(request, on_delta);
    let last = last_words(request);
    if let Some(tool) = tool(request) {
        let arguments = sample(&tool.parameters);
        out.whole_tool(None, &tool.name, &arguments);
    } else if let Some(schema) = request.schema {
        out.append_text(&json::text(&sample(schema)));
    } else {
        out.append_text(&format!("echo: {last}"));
    }
    out.stop = Some(StopReason::EndTurn);
    // About four bytes per token: enough for budgets to move.
    let tokens = |bytes: usize| u64::try_from(bytes / 4 + 1).ok();
    out.usage = Usage {
        input_tokens: tokens(request.system.len() + last.len()),
        output_tokens: Some(8),
        ..Usage::default()
    };
    out.finish()
}

fn tool<'a>(request: &ModelRequest<'a>) -> Option<&'a ToolSpec> {
    let named = |name: &str| request.tools.iter().find(|tool| tool.name == name);
    match &request.tool_choice {
        ToolChoice::None => None,
        ToolChoice::Named(name) => named(name),
        ToolChoice::Required => named(SUBMIT).or_else(|| request.tools.first()),
        ToolChoice::Auto => named(SUBMIT),
    }
}

fn last_words(request: &ModelRequest<'_>) -> String {
    let last = request.transcript.messages().rev().find(|message| message.role == Role::User);
    let parts = last.into_iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::ToolResult(result) => Some(result.content.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The smallest value that meets a schema, as far as schemas are understood here.
fn sample(schema: &Value) -> Value {
    Sampler { root: schema, left: MOST_VALUES }.value(schema, 0)
}

struct Sampler<'a> {
    root: &'a Value,
    /// Values that may still be made: a schema that refers to itself twice would double at every level.
    left: u32,
}

impl Sampler<'_> {
    fn value(&mut self, schema: &Value, depth: u32) -> Value {
        let Some(schema) = schema.as_object().filter(|_| depth <= DEEPEST && self.left > 0) else {
            return Value::Null;
        };
        self.left -= 1;
        let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|list| list.first());
        let given = schema.get("const").or_else(|| first("enum")).or_else(|| schema.get("default"));
        if let Some(value) = given.or_else(|| first("examples")) {
            return value.clone();
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return target.map_or(Value::Null, |target| self.value(target, depth + 1));
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            return self.value(&Value::Object(merged(schema, all)), depth + 1);
        }
        if let Some(choice) = first("anyOf").or_else(|| first("oneOf")) {
            return self.value(choice, depth + 1);
        }
        match kind(schema) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "integer" | "number" => number(schema),
            "boolean" => Value::Bool(false),
            "null" => Value::Null,
            _ => text(schema),
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: u32) -> Value {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let entries = required.filter_map(Value::as_str).map(|name| {
            let property = schema.get("properties").and_then(|properties| properties.get(name));
            let value = property.map_or_else(|| json!("echo"), |property| self.value(property, depth + 1));
            (name.to_owned(), value)
        });
        Value::Object(entries.collect())
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: u32) -> Value {
        let wanted = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(u64::from(self.left));
        let item = schema.get("items").cloned().unwrap_or_else(|| json!({}));
        let mut items = Vec::new();
        for _ in 0..wanted {
            if self.left == 0 {
                break;
            }
            items.push(self.value(&item, depth + 1));
        }
        Value::Array(items)
    }
}

fn kind(schema: &Map<String, Value>) -> &str {
    let stated = schema.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    let implied = if schema.contains_key("properties") || schema.contains_key("required") {
        "object"
    } else if schema.contains_key("items") {
        "array"
    } else {
        "string"
    };
    stated.unwrap_or(implied)
}

/// One schema out of `allOf`: properties and requirements are joined, of the rest the last one counts.
fn merged(schema: &Map<String, Value>, all: &[Value]) -> Map<String, Value> {
    let mut whole = schema.clone();
    whole.remove("allOf");
    for (key, value) in all.iter().filter_map(Value::as_object).flatten() {
        match (whole.get_mut(key), value) {
            (Some(Value::Object(mine)), Value::Object(more)) => mine.extend(more.clone()),
            (Some(Value::Array(mine)), Value::Array(more)) if key == "required" => mine.extend(more.clone()),
            _ => {
                whole.insert(key.clone(), value.clone());
            }
        }
    }
    whole
}

fn number(schema: &Map<String, Value>) -> Value {
    let at = |key: &str| schema.get(key).and_then(Value::as_f64);
    let least = at("minimum").or_else(|| at("exclusiveMinimum").map(|least| least.floor() + 1.0));
    let most = at("maximum").or_else(|| at("exclusiveMaximum").map(|most| most.ceil() - 1.0));
    let mut value = match (least, most) {
        (Some(least), _) if least > 0.0 => least,
        (_, Some(most)) if most < 0.0 => most,
        _ => 0.0,
    };
    if let Some(step) = at("multipleOf").filter(|step| *step > 0.0) {
        value = (value / step).ceil() * step;
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

fn text(schema: &Map<String, Value>) -> Value {
    let at = |key: &str| schema.get(key).and_then(Value::as_u64);
    let known = match schema.get("format").and_then(Value::as_str) {
        Some("date") => "2000-01-01",
        Some("date-time") => "2000-01-01T00:00:00Z",
        Some("time") => "00:00:00Z",
        Some("email") => "echo@example.org",
        Some("uri" | "url") => "https://example.org/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "echo",
    };
    let mut text = known.to_owned();
    let least = at("minLength").unwrap_or(0).min(MOST_CHARACTERS);
    while u64::try_from(text.len()).unwrap_or(u64::MAX) < least {
        text.push('.');
    }
    match at("maxLength").and_then(|most| usize::try_from(most).ok()) {
        Some(most) => text.chars().take(most).collect::<String>().into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{About, Transcript};
    use fugato_model::chat::Message;
    use std::sync::Arc;

    fn ask(tools: &[ToolSpec], choice: ToolChoice, schema: Option<&Value>) -> Answer {
        let mut transcript = Transcript::new();
        transcript.push(Arc::new(Message::user("hello")));
        let request = ModelRequest {
            model: "",
            system: "",
            transcript: &transcript,
            tools,
            written: None,
            tool_choice: choice,
            max_tokens: None,
            schema,
            about: About::default(),
        };
        answer(&request, &mut |_| {}).unwrap()
    }

    #[test]
    fn samples_meet_their_schemas() {
        for schema in [
            json!({"type": "object", "required": ["a", "b"], "properties": {
                "a": {"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 3}},
                "b": {"enum": ["x", "y"]}, "c": {"type": "string"}}}),
            json!({"type": "string", "minLength": 30, "maxLength": 31}),
            json!({"type": "string", "maxLength": 2}),
            json!({"type": ["integer", "null"], "exclusiveMinimum": 4, "multipleOf": 5}),
            json!({"type": "number", "maximum": -2.5}),
            json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
            json!({"allOf": [{"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}},
                {"required": ["b"], "properties": {"b": {"type": "null"}}}]}),
            json!({"$defs": {"n": {"type": "object", "required": ["v"], "properties": {"v": {"type": "string"}}}},
                "type": "object", "required": ["n"], "properties": {"n": {"$ref": "#/$defs/n"}}}),
            json!({"items": {"type": "string"}, "minItems": 1}),
            json!({"type": "string", "format": "date-time"}),
        ] {
            let value = sample(&schema);
            assert!(jsonschema::is_valid(&schema, &value), "{schema}\n{value}");
        }
    }

    #[test]
    fn hostile_schemas_end() {
        let endless = json!({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}});
        assert!(sample(&endless).is_object());
        let doubling =
            json!({"required": ["a", "b"], "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}});
        assert!(sample(&doubling).to_string().len() < 200_000);
        let wide = json!({"type": "array", "minItems": 1_000_000_000_u64, "items": {"$ref": "#"}});
        assert!(sample(&wide).is_array());
        assert_eq!(sample(&json!({"$ref": "other.json"})), Value::Null);
    }

    #[test]
    fn it_submits_when_it_can_and_echoes_when_it_cannot() {
        let submit = ToolSpec {
            name: SUBMIT.into(),
            description: String::new(),
            parameters: json!({"type": "object", "required": ["summary"], "properties": {"summary": {"type": "string"}}}),
        };
        let given = ask(std::slice::from_ref(&submit), ToolChoice::Auto, None);
        let call = given.message.tool_calls().next().unwrap();
        assert_eq!((call.name.as_str(), given.stop), (SUBMIT, StopReason::ToolUse));
        assert_eq!(call.arguments, json!({"summary": "echo"}));
        assert_eq!(given, ask(std::slice::from_ref(&submit), ToolChoice::Auto, None), "deterministic");
        assert_eq!(ask(&[submit], ToolChoice::None, None).message.text(), "echo: hello");
        let shaped = ask(&[], ToolChoice::Auto, Some(&json!({"type": "integer"})));
        assert_eq!(shaped.message.text(), "0");
    }
}
