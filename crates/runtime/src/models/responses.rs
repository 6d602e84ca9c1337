//! OpenAI's Responses API. The end markers are `response.completed`, `response.incomplete` and `response.failed`.

use super::collect::{Collector, Decode, Flow, Frame};
use super::endpoint::{Endpoint, Outgoing};
use super::error::ModelError;
use super::frames::Framing;
use super::http::common_stop;
use super::json::{self, Items, Object};
use super::secret::Secret;
use super::status::Report;
use super::transcript::{Dialect, Entry};
use super::{ModelRequest, ToolChoice};
use fugato_model::chat::{Part, Role, StopReason, ToolResult, ToolSpec};
use serde_json::{Value, json};

const SIGNED: &str = "openai:";

pub(super) fn request(endpoint: &Endpoint, request: &ModelRequest<'_>, key: Option<&Secret>) -> Outgoing {
    Outgoing {
        url: format!("{}/responses", endpoint.base),
        headers: Endpoint::bearer(key).into_iter().collect(),
        body: body(endpoint, request),
        framing: Framing::Events,
        decoder: Box::new(Decoder { provider: endpoint.name.clone(), last: None, refused: false }),
    }
}

fn body(endpoint: &Endpoint, request: &ModelRequest<'_>) -> Vec<u8> {
    let mut body = Object::new();
    body.field("model", request.model).field("stream", &true).field("store", &false);
    if !request.system.is_empty() {
        body.field("instructions", request.system);
    }
    if !request.tools.is_empty() {
        let tools = request.written_tools(Dialect::Responses, || {
            let tool = |tool: &ToolSpec| {
                json!({"type": "function", "name": tool.name, "description": tool.description,
                    "parameters": tool.parameters, "strict": false})
            };
            json::text(&request.tools.iter().map(tool).collect::<Vec<_>>()).into_bytes()
        });
        body.json("tools", &tools).field("tool_choice", &choice(&request.tool_choice));
    }
    if let Some(limit) = request.max_tokens {
        body.field("max_output_tokens", &limit);
    }
    if let Some(schema) = request.schema {
        let format = json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": false});
        body.field("text", &json!({"format": format}));
    }
    if endpoint.base_is_vendors {
        if thinks(request.model) {
            body.field("include", &["reasoning.encrypted_content"]);
        }
        if !request.about.run.is_empty() {
            // Agents of one run share the beginning of their prompts: keep them on the machine that has it cached.
            body.field("prompt_cache_key", request.about.run);
        }
    }
    body.list("input", |out| request.transcript.write_items(Dialect::Responses, out));
    body.finish()
}

/// Whether a model has reasoning to give back; older ones refuse to be asked.
fn thinks(model: &str) -> bool {
    !["gpt-3", "gpt-4", "chatgpt-4", "ft:gpt-3", "ft:gpt-4"].iter().any(|old| model.starts_with(old))
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({"type": "function", "name": name}),
    }
}

pub(super) fn write(entry: &Entry) -> String {
    let mut items = Items::default();
    let role = entry.message.role;
    for part in &entry.message.parts {
        match part {
            Part::Text { text } if text.is_empty() => {}
            Part::Text { text } if role == Role::User => {
                items.push(&message("user", &json!({"type": "input_text", "text": text})));
            }
            Part::Text { text } => {
                items.push(&message("assistant", &json!({"type": "output_text", "text": text})));
            }
            Part::Image { media_type, data } => {
                let url = format!("data:{media_type};base64,{data}");
                items.push(&message("user", &json!({"type": "input_image", "image_url": url})));
            }
            Part::Reasoning { text, signature } => {
                let Some(proof) = signature.as_deref().and_then(|proof| proof.strip_prefix(SIGNED)) else {
                    continue;
                };
                let summary: Vec<_> = (!text.is_empty())
                    .then(|| json!({"type": "summary_text", "text": text}))
                    .into_iter()
                    .collect();
                items.push(&json!({"type": "reasoning", "summary": summary, "encrypted_content": proof}));
            }
            Part::ToolCall(call) => items.push(&json!({"type": "function_call", "call_id": call.id,
                "name": call.name, "arguments": call.arguments.to_string()})),
            Part::ToolResult(result) => items.push(
                &json!({"type": "function_call_output", "call_id": result.call, "output": result_text(result)}),
            ),
        }
    }
    items.finish()
}

fn message(role: &str, content: &Value) -> Value {
    json!({"type": "message", "role": role, "content": [content]})
}

/// Wires without a mark for failed tools say it in words.
pub(super) fn result_text(result: &ToolResult) -> String {
    if result.is_error { format!("error: {}", result.content) } else { result.content.clone() }
}

struct Decoder {
    provider: String,
    /// The highest sequence number seen: a frame that is not above it is a repeated one.
    last: Option<u64>,
    refused: bool,
}

impl Decode for Decoder {
    fn read(&mut self, frame: Frame<'_>, out: &mut Collector<'_>) -> Result<Flow, ModelError> {
        // OpenAI sends no `[DONE]` here; servers that imitate it do, after the real end.
        let Frame::Json { event, value } = frame else { return Ok(Flow::Unknown) };
        if let Some(number) = value.get("sequence_number").and_then(Value::as_u64) {
            if self.last.is_some_and(|last| number <= last) {
                return Ok(Flow::Unknown);
            }
            self.last = Some(number);
        }
        let index = value.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let delta = value.get("delta").and_then(Value::as_str).unwrap_or_default();
        let name = value.get("type").and_then(Value::as_str).unwrap_or(event);
        match name {
            "response.output_text.delta" => out.text(index, delta),
            "response.refusal.delta" => {
                self.refused = true;
                out.text(index, delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                out.reasoning(index, delta);
            }
            "response.output_item.added" => added(index, value.get("item").unwrap_or(&Value::Null), out),
            "response.function_call_arguments.delta" => out.tool_arguments(index, delta),
            "response.output_item.done" => done(index, value.get("item").unwrap_or(&Value::Null), out),
            "response.completed" | "response.incomplete" => {
                self.finish(value.get("response").unwrap_or(&Value::Null), out);
                return Ok(Flow::End);
            }
            "response.failed" => {
                read_usage(value.pointer("/response/usage"), out);
                let error = value.pointer("/response/error").unwrap_or(&Value::Null);
                return Err(Report::of_object(error).error(&self.provider, None));
            }
            "error" => return Err(Report::of_object(value).error(&self.provider, None)),
            name if is_known(name) => {}
            _ => return Ok(Flow::Unknown),
        }
        Ok(Flow::More)
    }
}

impl Decoder {
    fn finish(&self, response: &Value, out: &mut Collector<'_>) {
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        out.stop = Some(match reason {
            Some(reason) => common_stop(reason),
            None if self.refused => StopReason::Refusal,
            None => StopReason::EndTurn,
        });
        read_usage(response.get("usage"), out);
    }
}

/// Events that repeat what other events say.
fn is_known(name: &str) -> bool {
    matches!(
        name,
        "response.created"
            | "response.in_progress"
            | "response.queued"
            | "response.content_part.added"
            | "response.content_part.done"
            | "response.output_text.done"
            | "response.refusal.done"
            | "response.function_call_arguments.done"
            | "response.reasoning_text.done"
            | "response.output_text.annotation.added"
            | "keepalive"
    ) || name.starts_with("response.reasoning_summary_")
}

fn added(index: u64, item: &Value, out: &mut Collector<'_>) {
    if item.get("type").and_then(Value::as_str) == Some("function_call") {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        out.begin_tool(index, text("call_id"), text("name").unwrap_or_default());
    }
}

fn done(index: u64, item: &Value, out: &mut Collector<'_>) {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    match text("type") {
        Some("function_call") => {
            out.begin_tool(index, text("call_id"), text("name").unwrap_or_default());
            out.end_tool(index, text("arguments"));
        }
        Some("reasoning") => {
            if let Some(proof) = text("encrypted_content") {
                out.sign(index, &format!("{SIGNED}{proof}"));
            }
        }
        // A message that came without deltas.
        Some("message") if !out.has(index) => {
            for content in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                out.text(index, content.get("text").and_then(Value::as_str).unwrap_or_default());
            }
        }
        _ => {}
    }
}

fn read_usage(usage: Option<&Value>, out: &mut Collector<'_>) {
    let number = |path: &str| usage.and_then(|usage| usage.pointer(path)).and_then(Value::as_u64);
    out.usage.input_tokens = number("/input_tokens").or(out.usage.input_tokens);
    out.usage.output_tokens = number("/output_tokens").or(out.usage.output_tokens);
    let read = number("/input_tokens_details/cached_tokens");
    out.usage.cache_read_tokens = read.or(out.usage.cache_read_tokens);
    let written = number("/input_tokens_details/cache_write_tokens");
    out.usage.cache_write_tokens = written.or(out.usage.cache_write_tokens);
}
