//! Anthropic's Messages API, and servers that speak it. The end marker is `message_stop`.

use super::collect::{Collector, Decode, Flow, Frame};
use super::endpoint::{Endpoint, Outgoing};
use super::error::ModelError;
use super::frames::Framing;
use super::http::common_stop;
use super::json::{self, Items, Object};
use super::secret::Secret;
use super::transcript::{Dialect, Entry};
use super::{ModelRequest, ToolChoice};
use fugato_model::chat::{Part, Role, StopReason, ToolSpec};
use serde_json::{Value, json};

/// The API demands a limit. Enough for long answers, and below what every current model allows.
const DEFAULT_MAX_TOKENS: u32 = 16_000;

/// How this provider marks its proofs of reasoning, so that another provider's are never sent to it.
const SIGNED: &str = "anthropic:";
const REDACTED: &str = "anthropic-redacted:";

pub(super) fn request(endpoint: &Endpoint, request: &ModelRequest<'_>, key: Option<&Secret>) -> Outgoing {
    let base = endpoint.base.strip_suffix("/v1").unwrap_or(&endpoint.base);
    let mut headers = vec![("anthropic-version", "2023-06-01".to_owned())];
    match key {
        Some(key) if key.expose().starts_with("Bearer ") => {
            headers.push(("authorization", key.expose().to_owned()));
        }
        Some(key) => headers.push(("x-api-key", key.expose().to_owned())),
        None => {}
    }
    Outgoing {
        url: format!("{base}/v1/messages"),
        headers,
        body: body(request),
        framing: Framing::Events,
        decoder: Box::new(Decoder),
    }
}

fn body(request: &ModelRequest<'_>) -> Vec<u8> {
    let mut body = Object::new();
    body.field("model", request.model)
        .field("max_tokens", &request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS))
        .field("stream", &true);
    let mut system = request.system.to_owned();
    if let Some(schema) = request.schema {
        if is_strict(schema) {
            body.field("output_config", &json!({"format": {"type": "json_schema", "schema": schema}}));
        } else {
            system = json::ask_for_schema(&system, schema);
        }
    }
    // The provider orders a prompt as tools, system, messages. A mark on the last tool is shared by agents of different
    // tasks, one on the system prompt by agents of one task, one on the last message covers the history until the next
    // step. Four marks are allowed.
    if !request.tools.is_empty() {
        let tools = request.written_tools(Dialect::Anthropic, || {
            let tool = |tool: &ToolSpec| {
                json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
            };
            json::text(&mark_last(request.tools.iter().map(tool).collect())).into_bytes()
        });
        body.json("tools", &tools);
        body.field("tool_choice", &choice(&request.tool_choice));
    }
    if !system.is_empty() {
        body.field(
            "system",
            &json!([{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]),
        );
    }
    body.list("messages", |out| {
        request.transcript.write_turns(Dialect::Anthropic, "assistant", "content", out);
        let asks = request.transcript.last().is_some_and(|message| message.role == Role::User);
        if asks && out.ends_with(b"}]}") {
            out.truncate(out.len() - 3);
            out.extend_from_slice(br#","cache_control":{"type":"ephemeral"}}]}"#);
        }
    });
    body.finish()
}

fn mark_last(mut tools: Vec<Value>) -> Vec<Value> {
    if let Some(Value::Object(last)) = tools.last_mut() {
        last.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
    tools
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Named(name) => json!({"type": "tool", "name": name}),
    }
}

/// Whether the API's own structured output takes this schema: closed objects and plain keywords only. Everything else
/// would be refused, so it is asked for in words.
fn is_strict(schema: &Value) -> bool {
    const PLAIN: &[&str] = &[
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "description",
        "title",
        "additionalProperties",
    ];
    let Some(schema) = schema.as_object() else { return false };
    let plain = schema.keys().all(|key| PLAIN.contains(&key.as_str()));
    let closed = schema.get("type") != Some(&json!("object"))
        || schema.get("additionalProperties") == Some(&Value::Bool(false));
    let properties = schema.get("properties").and_then(Value::as_object);
    plain
        && closed
        && properties.is_none_or(|properties| properties.values().all(is_strict))
        && schema.get("items").is_none_or(is_strict)
}

/// The content blocks of a message; tool results first, as the API demands.
pub(super) fn write(entry: &Entry) -> String {
    let mut items = Items::default();
    let parts = &entry.message.parts;
    let is_result = |part: &&Part| matches!(part, Part::ToolResult(_));
    for part in parts.iter().filter(is_result).chain(parts.iter().filter(|part| !is_result(part))) {
        if let Some(block) = block(part) {
            items.push(&block);
        }
    }
    items.finish()
}

fn block(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } => (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text})),
        Part::Reasoning { text, signature } => {
            let signature = signature.as_deref()?;
            if let Some(data) = signature.strip_prefix(REDACTED) {
                return Some(json!({"type": "redacted_thinking", "data": data}));
            }
            let signature = signature.strip_prefix(SIGNED)?;
            Some(json!({"type": "thinking", "thinking": text, "signature": signature}))
        }
        Part::ToolCall(call) => {
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}))
        }
        Part::ToolResult(result) => {
            let mut block =
                json!({"type": "tool_result", "tool_use_id": result.call, "content": result.content});
            if let (true, Value::Object(block)) = (result.is_error, &mut block) {
                block.insert("is_error".into(), true.into());
            }
            Some(block)
        }
        Part::Image { media_type, data } => Some(
            json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}),
        ),
    }
}

struct Decoder;

impl Decode for Decoder {
    fn read(&mut self, frame: Frame<'_>, out: &mut Collector<'_>) -> Result<Flow, ModelError> {
        let Frame::Json { value, .. } = frame else { return Ok(Flow::Unknown) };
        let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
        match value.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => read_usage(value.pointer("/message/usage"), out),
            "content_block_start" => begin(index, value.get("content_block").unwrap_or(&Value::Null), out),
            "content_block_delta" => {
                return Ok(delta(index, value.get("delta").unwrap_or(&Value::Null), out));
            }
            "content_block_stop" => out.end_tool(index, None),
            "message_delta" => {
                if let Some(stop) = value.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    out.stop = Some(match stop {
                        "pause_turn" => StopReason::Other,
                        stop => common_stop(stop),
                    });
                }
                read_usage(value.get("usage"), out);
            }
            "message_stop" => return Ok(Flow::End),
            "ping" => {}
            _ => return Ok(Flow::Unknown),
        }
        Ok(Flow::More)
    }
}

fn begin(index: u64, block: &Value, out: &mut Collector<'_>) {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    if out.has(index) {
        return;
    }
    match text("type") {
        "text" => out.text(index, text("text")),
        "thinking" => out.reasoning(index, text("thinking")),
        "redacted_thinking" => out.sign(index, &format!("{REDACTED}{}", text("data"))),
        "tool_use" => {
            out.begin_tool(index, block.get("id").and_then(Value::as_str), text("name"));
            // Some servers give everything here and no deltas.
            if let Some(input) =
                block.get("input").filter(|input| input.as_object().is_some_and(|map| !map.is_empty()))
            {
                out.preset_arguments(index, input);
            }
        }
        _ => out.unknown_frames += 1,
    }
}

fn delta(index: u64, delta: &Value, out: &mut Collector<'_>) -> Flow {
    let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text_delta" => out.text(index, text("text")),
        "thinking_delta" => out.reasoning(index, text("thinking")),
        "signature_delta" => out.sign(index, &format!("{SIGNED}{}", text("signature"))),
        "input_json_delta" => out.tool_arguments(index, text("partial_json")),
        _ => return Flow::Unknown,
    }
    Flow::More
}

/// Input tokens are told without the cached ones; ours are with them, as everybody else's.
fn read_usage(usage: Option<&Value>, out: &mut Collector<'_>) {
    let Some(usage) = usage else { return };
    let number = |key: &str| usage.get(key).and_then(Value::as_u64);
    let (read, written) = (number("cache_read_input_tokens"), number("cache_creation_input_tokens"));
    if let Some(fresh) = number("input_tokens") {
        let all = fresh.saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0));
        out.usage.input_tokens = Some(all);
        out.usage.cache_read_tokens = read.or(out.usage.cache_read_tokens);
        out.usage.cache_write_tokens = written.or(out.usage.cache_write_tokens);
    }
    out.usage.output_tokens = number("output_tokens").or(out.usage.output_tokens);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_closed_plain_schemas_are_given_to_the_api() {
        let closed = json!({"type": "object", "additionalProperties": false, "required": ["a"],
            "properties": {"a": {"type": "array", "items": {"type": "string"}}}});
        assert!(is_strict(&closed));
        let open = json!({"type": "object", "properties": {"a": closed}});
        assert!(!is_strict(&open));
        assert!(!is_strict(&json!({"type": "string", "pattern": "^a"})));
        assert!(!is_strict(&json!(true)));
    }
}
