//! OpenAI's Chat Completions and every server that imitates it. The end marker is `[DONE]`, after a finish reason.

use super::collect::{Collector, Decode, Flow, Frame};
use super::endpoint::{Endpoint, Outgoing};
use super::error::ModelError;
use super::frames::Framing;
use super::http::common_stop;
use super::json::{Items, Object, text};
use super::responses::result_text;
use super::secret::Secret;
use super::transcript::{Dialect, Entry};
use super::{ModelRequest, ToolChoice};
use fugato_model::chat::{Part, Role, StopReason, ToolSpec};
use serde_json::{Value, json};
use std::collections::HashMap;

pub(super) fn request(endpoint: &Endpoint, request: &ModelRequest<'_>, key: Option<&Secret>) -> Outgoing {
    let mut body = begin(endpoint, request);
    if !request.tools.is_empty() {
        let tools = request.written_tools(Dialect::Chat, || {
            let tool = |function| Tool { kind: "function", function };
            text(&request.tools.iter().map(tool).collect::<Vec<_>>()).into_bytes()
        });
        body.json("tools", &tools).field("tool_choice", &choice(&request.tool_choice));
    }
    if let Some(schema) = request.schema {
        body.field("response_format", &response_format(schema));
    }
    write_messages(&mut body, request.system, request, Dialect::Chat);
    outgoing(endpoint, key, body)
}

/// A tool as it is sent: borrowed, because it is sent with every request.
#[derive(serde::Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: &'a ToolSpec,
}

/// What every request of this kind begins with.
pub(super) fn begin(endpoint: &Endpoint, request: &ModelRequest<'_>) -> Object {
    let mut body = Object::new();
    body.field("model", request.model)
        .field("stream", &true)
        .field("stream_options", &json!({"include_usage": true}));
    if let Some(limit) = request.max_tokens {
        // OpenAI's newer models refuse the old name, other servers know only that one.
        let name = if endpoint.base_is_vendors { "max_completion_tokens" } else { "max_tokens" };
        body.field(name, &limit);
    }
    body
}

pub(super) fn response_format(schema: &Value) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": false}})
}

pub(super) fn write_messages(body: &mut Object, system: &str, request: &ModelRequest<'_>, dialect: Dialect) {
    body.list("messages", |out| {
        if !system.is_empty() {
            let message = json!({"role": "system", "content": system});
            out.extend_from_slice(message.to_string().as_bytes());
            if !request.transcript.is_empty() {
                out.push(b',');
            }
        }
        request.transcript.write_items(dialect, out);
        if out.ends_with(b",") {
            out.pop();
        }
    });
}

pub(super) fn outgoing(endpoint: &Endpoint, key: Option<&Secret>, body: Object) -> Outgoing {
    Outgoing {
        url: format!("{}/chat/completions", endpoint.base),
        headers: Endpoint::bearer(key).into_iter().collect(),
        body: body.finish(),
        framing: Framing::Events,
        decoder: Box::new(Decoder::default()),
    }
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
    }
}

pub(super) fn write(entry: &Entry) -> String {
    let mut items = Items::default();
    let message = &entry.message;
    for part in &message.parts {
        if let Part::ToolResult(result) = part {
            items.push(&json!({"role": "tool", "tool_call_id": result.call, "content": result_text(result)}));
        }
    }
    match message.role {
        Role::User => {
            if let Some(content) = user_content(&message.parts) {
                items.push(&json!({"role": "user", "content": content}));
            }
        }
        Role::Assistant => {
            let calls: Vec<_> = message
                .tool_calls()
                .map(|call| {
                    json!({"id": call.id, "type": "function",
                        "function": {"name": call.name, "arguments": call.arguments.to_string()}})
                })
                .collect();
            let text = message.text();
            if calls.is_empty() {
                items.push(&json!({"role": "assistant", "content": text}));
            } else {
                let content = if text.is_empty() { Value::Null } else { text.into() };
                items.push(&json!({"role": "assistant", "content": content, "tool_calls": calls}));
            }
        }
    }
    items.finish()
}

/// Plain text where there is only text: servers without images know no other form.
fn user_content(parts: &[Part]) -> Option<Value> {
    let mut pieces = Vec::new();
    let mut has_images = false;
    for part in parts {
        match part {
            Part::Text { text } => pieces.push(json!({"type": "text", "text": text})),
            Part::Image { media_type, data } => {
                has_images = true;
                let url = format!("data:{media_type};base64,{data}");
                pieces.push(json!({"type": "image_url", "image_url": {"url": url}}));
            }
            _ => {}
        }
    }
    if has_images {
        return Some(Value::Array(pieces));
    }
    let texts: Vec<_> = pieces.iter().filter_map(|piece| piece.get("text")?.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n").into())
}

#[derive(Default)]
struct Decoder {
    /// The key of a call by the id it came with, for servers that send no index.
    by_id: HashMap<String, u64>,
    last_key: u64,
    refused: bool,
}

impl Decode for Decoder {
    fn read(&mut self, frame: Frame<'_>, out: &mut Collector<'_>) -> Result<Flow, ModelError> {
        let Frame::Json { value, .. } = frame else {
            out.end_all_tools();
            return Ok(Flow::End);
        };
        read_usage(value.get("usage"), out);
        let Some(choices) = value.get("choices").and_then(Value::as_array) else {
            return Ok(if value.get("usage").is_some() { Flow::More } else { Flow::Unknown });
        };
        let Some(choice) = choices.first() else { return Ok(Flow::More) };
        let delta = choice.get("delta").unwrap_or(&Value::Null);
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        out.append_reasoning(text("reasoning_content"));
        out.append_reasoning(text("reasoning"));
        out.append_text(text("content"));
        out.append_text(text("refusal"));
        self.refused |= !text("refusal").is_empty();
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(call, out);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            out.stop = Some(if self.refused { StopReason::Refusal } else { common_stop(reason) });
        }
        Ok(Flow::More)
    }
}

impl Decoder {
    fn call(&mut self, call: &Value, out: &mut Collector<'_>) {
        let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let text = |path: &str| call.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let key = self.key(call, id, text("/function/name"), out);
        out.begin_tool(key, id, text("/function/name"));
        out.name_tool(key, text("/function/name"));
        match call.pointer("/function/arguments") {
            Some(Value::String(fragment)) => out.tool_arguments(key, fragment),
            Some(whole @ Value::Object(_)) => out.preset_arguments(key, whole),
            _ => {}
        }
    }

    /// Which call a piece belongs to. With an index: that one, unless it begins a second call under the same index with
    /// another id. Without: a new id or a name begins a call, anything else continues the last.
    fn key(&mut self, call: &Value, id: Option<&str>, name: &str, out: &Collector<'_>) -> u64 {
        let known = id.and_then(|id| self.by_id.get(id).copied());
        let index = call.get("index").and_then(Value::as_u64);
        let key = match (index, known) {
            (Some(index), _) if !out.has(index) => index,
            (Some(index), Some(known)) if known == index => index,
            (Some(index), _) if id.is_none() || name.is_empty() => index,
            (None, Some(known)) if name.is_empty() => known,
            (None, None) if id.is_none() && name.is_empty() => self.last_key,
            _ => self.fresh(out),
        };
        if let Some(id) = id {
            self.by_id.entry(id.to_owned()).or_insert(key);
        }
        self.last_key = key;
        key
    }

    /// A key no index of a server will reach.
    fn fresh(&self, out: &Collector<'_>) -> u64 {
        let mut key = (1 << 32) | self.last_key;
        while out.has(key) {
            key += 1;
        }
        key
    }
}

fn read_usage(usage: Option<&Value>, out: &mut Collector<'_>) {
    let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    out.usage.input_tokens = number("/prompt_tokens").or(out.usage.input_tokens);
    out.usage.output_tokens = number("/completion_tokens").or(out.usage.output_tokens);
    let read = number("/prompt_tokens_details/cached_tokens");
    out.usage.cache_read_tokens = read.or(out.usage.cache_read_tokens);
}
