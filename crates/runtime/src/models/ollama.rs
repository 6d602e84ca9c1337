//! Ollama's own API (`/api/chat`), one JSON value per line. The end marker is `"done": true`.

use super::collect::{Collector, Decode, Flow, Frame};
use super::endpoint::{Endpoint, Outgoing};
use super::error::ModelError;
use super::frames::Framing;
use super::http::common_stop;
use super::json::{self, Items, Object};
use super::responses::result_text;
use super::secret::Secret;
use super::transcript::{Dialect, Entry};
use super::{ModelRequest, ToolChoice, chat};
use fugato_model::chat::{Part, Role};
use serde_json::{Value, json};

pub(super) fn request(endpoint: &Endpoint, request: &ModelRequest<'_>, key: Option<&Secret>) -> Outgoing {
    let mut body = Object::new();
    body.field("model", request.model).field("stream", &true);
    let mut system = request.system.to_owned();
    // It knows no tool choice: tools that must not be called are not offered.
    let offered = request.tools.iter().filter(|tool| match &request.tool_choice {
        ToolChoice::None => false,
        ToolChoice::Named(name) => tool.name == *name,
        ToolChoice::Auto | ToolChoice::Required => true,
    });
    let tools: Vec<_> = offered
        .map(|tool| {
            json!({"type": "function", "function": {"name": tool.name,
                "description": tool.description, "parameters": tool.parameters}})
        })
        .collect();
    match request.schema {
        // A format beside tools keeps models from calling them.
        Some(schema) if !tools.is_empty() => system = json::ask_for_schema(&system, schema),
        Some(schema) => {
            body.field("format", schema);
        }
        None => {}
    }
    if !tools.is_empty() {
        body.field("tools", &tools);
    }
    if let Some(limit) = request.max_tokens {
        body.field("options", &json!({"num_predict": limit}));
    }
    chat::write_messages(&mut body, &system, request, Dialect::Ollama);
    Outgoing {
        url: format!("{}/api/chat", endpoint.base),
        headers: Endpoint::bearer(key).into_iter().collect(),
        body: body.finish(),
        framing: Framing::Lines,
        decoder: Box::new(Decoder),
    }
}

pub(super) fn write(entry: &Entry) -> String {
    let mut items = Items::default();
    let message = &entry.message;
    let mut names = entry.answered.iter();
    for part in &message.parts {
        if let Part::ToolResult(result) = part {
            let name = names.next().map_or("", String::as_str);
            items.push(&json!({"role": "tool", "tool_name": name, "content": result_text(result)}));
        }
    }
    let text = message.text();
    let images: Vec<_> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Image { data, .. } => Some(data.as_str()),
            _ => None,
        })
        .collect();
    match message.role {
        Role::User if text.is_empty() && images.is_empty() => {}
        Role::User if images.is_empty() => items.push(&json!({"role": "user", "content": text})),
        Role::User => items.push(&json!({"role": "user", "content": text, "images": images})),
        Role::Assistant => {
            let calls: Vec<_> = message
                .tool_calls()
                .map(|call| json!({"function": {"name": call.name, "arguments": call.arguments}}))
                .collect();
            if calls.is_empty() {
                items.push(&json!({"role": "assistant", "content": text}));
            } else {
                items.push(&json!({"role": "assistant", "content": text, "tool_calls": calls}));
            }
        }
    }
    items.finish()
}

struct Decoder;

impl Decode for Decoder {
    fn read(&mut self, frame: Frame<'_>, out: &mut Collector<'_>) -> Result<Flow, ModelError> {
        let Frame::Json { value, .. } = frame else { return Ok(Flow::Unknown) };
        let message = value.get("message").unwrap_or(&Value::Null);
        let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
        out.append_reasoning(text("thinking"));
        out.append_text(text("content"));
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let name = call.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
            let id = call.get("id").and_then(Value::as_str);
            out.whole_tool(id, name, call.pointer("/function/arguments").unwrap_or(&Value::Null));
        }
        match value.get("done").and_then(Value::as_bool) {
            Some(true) => {
                let reason = value.get("done_reason").and_then(Value::as_str).unwrap_or("stop");
                out.stop = Some(common_stop(reason));
                out.usage.input_tokens = value.get("prompt_eval_count").and_then(Value::as_u64);
                out.usage.output_tokens = value.get("eval_count").and_then(Value::as_u64);
                Ok(Flow::End)
            }
            None if message.is_null() => Ok(Flow::Unknown),
            _ => Ok(Flow::More),
        }
    }
}
