//! Google's Gemini API (`streamGenerateContent`). The end marker is a `finishReason`; usage may follow it.

use super::collect::{Collector, Decode, Flow, Frame};
use super::endpoint::{Endpoint, Outgoing};
use super::error::ModelError;
use super::frames::Framing;
use super::json::{self, Items, Object};
use super::secret::Secret;
use super::transcript::{Dialect, Entry};
use super::{ModelRequest, ToolChoice};
use fugato_model::chat::{ModelFault, Part, StopReason};
use fugato_model::{Code, words};
use serde_json::{Value, json};

const SIGNED: &str = "gemini:";

pub(super) fn request(
    endpoint: &Endpoint,
    request: &ModelRequest<'_>,
    key: Option<&Secret>,
) -> Result<Outgoing, ModelError> {
    let name = request.model;
    // The name becomes a part of the path.
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
        let words = words!("`{name}` is not a name of a Gemini model", "`{name}` 不是 Gemini 模型的名称");
        return Err(ModelError::new(ModelFault::Rejected, words).code(Code::F0604));
    }
    Ok(Outgoing {
        url: format!("{}/v1beta/models/{name}:streamGenerateContent?alt=sse", endpoint.base),
        headers: key.map(|key| ("x-goog-api-key", key.expose().to_owned())).into_iter().collect(),
        body: body(request),
        framing: Framing::Events,
        decoder: Box::new(Decoder),
    })
}

fn body(request: &ModelRequest<'_>) -> Vec<u8> {
    let mut body = Object::new();
    let mut config = serde_json::Map::new();
    let mut system = request.system.to_owned();
    match request.schema {
        // Most models refuse a response type beside tools.
        Some(schema) if !request.tools.is_empty() => system = json::ask_for_schema(&system, schema),
        Some(schema) => {
            config.insert("responseMimeType".into(), "application/json".into());
            config.insert("responseJsonSchema".into(), schema.clone());
        }
        None => {}
    }
    if let Some(limit) = request.max_tokens {
        config.insert("maxOutputTokens".into(), limit.into());
    }
    if !system.is_empty() {
        body.field("systemInstruction", &json!({"parts": [{"text": system}]}));
    }
    if !request.tools.is_empty() {
        let tools: Vec<_> = request
            .tools
            .iter()
            .map(|tool| {
                json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters})
            })
            .collect();
        body.field("tools", &json!([{"functionDeclarations": tools}]));
        body.field("toolConfig", &json!({"functionCallingConfig": choice(&request.tool_choice)}));
    }
    if !config.is_empty() {
        body.field("generationConfig", &config);
    }
    body.list("contents", |out| {
        request.transcript.write_turns(Dialect::Gemini, "model", "parts", out);
    });
    body.finish()
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    }
}

/// The parts of a message. A proof of reasoning stands before the part it belongs to and is sent back inside it.
pub(super) fn write(entry: &Entry) -> String {
    let mut items = Items::default();
    let mut names = entry.answered.iter();
    let mut proof = None;
    for part in &entry.message.parts {
        let written = match part {
            Part::Text { text } if text.is_empty() => None,
            Part::Text { text } => Some(json!({"text": text})),
            Part::Reasoning { signature, .. } => {
                let given = signature.as_deref().and_then(|given| given.strip_prefix(SIGNED));
                proof = given.map(str::to_owned).or(proof);
                None
            }
            Part::ToolCall(call) => {
                Some(json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}))
            }
            Part::ToolResult(result) => {
                let name = names.next().map_or("", String::as_str);
                let key = if result.is_error { "error" } else { "output" };
                Some(json!({"functionResponse": {"id": result.call, "name": name,
                    "response": {key: result.content}}}))
            }
            Part::Image { media_type, data } => {
                Some(json!({"inlineData": {"mimeType": media_type, "data": data}}))
            }
        };
        if let Some(mut written) = written {
            if let (Some(proof), Value::Object(map)) = (proof.take(), &mut written) {
                map.insert("thoughtSignature".into(), proof.into());
            }
            items.push(&written);
        }
    }
    items.finish()
}

struct Decoder;

impl Decode for Decoder {
    fn read(&mut self, frame: Frame<'_>, out: &mut Collector<'_>) -> Result<Flow, ModelError> {
        let Frame::Json { value, .. } = frame else { return Ok(Flow::Unknown) };
        read_usage(value.get("usageMetadata"), out);
        if value.pointer("/promptFeedback/blockReason").is_some() {
            out.stop = Some(StopReason::Refusal);
            return Ok(Flow::Finished);
        }
        let Some(candidate) = value.get("candidates").and_then(|list| list.get(0)) else {
            return Ok(if value.get("usageMetadata").is_some() { Flow::More } else { Flow::Unknown });
        };
        // What is repeated after the end would be said twice.
        if out.stop.is_none() {
            for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
                read_part(part, out);
            }
        }
        match candidate.get("finishReason").and_then(Value::as_str) {
            None | Some("" | "FINISH_REASON_UNSPECIFIED") => Ok(Flow::More),
            Some(reason) => {
                out.stop = Some(stop(reason)?);
                Ok(Flow::Finished)
            }
        }
    }
}

fn read_part(part: &Value, out: &mut Collector<'_>) {
    if let Some(proof) = part.get("thoughtSignature").and_then(Value::as_str) {
        out.append_signature(format!("{SIGNED}{proof}"));
    }
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            out.append_reasoning(text);
        } else {
            out.append_text(text);
        }
    }
    if let Some(call) = part.get("functionCall") {
        let text = |key: &str| call.get(key).and_then(Value::as_str);
        out.whole_tool(
            text("id"),
            text("name").unwrap_or_default(),
            call.get("args").unwrap_or(&Value::Null),
        );
    }
}

fn stop(reason: &str) -> Result<StopReason, ModelError> {
    Ok(match reason {
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "IMAGE_SAFETY" => StopReason::Refusal,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
            let words = words!(
                "the model's tool call could not be read ({reason})",
                "模型的工具调用无法识别（{reason}）"
            );
            return Err(ModelError::new(ModelFault::Malformed, words));
        }
        _ => StopReason::Other,
    })
}

fn read_usage(usage: Option<&Value>, out: &mut Collector<'_>) {
    let Some(usage) = usage else { return };
    let number = |key: &str| usage.get(key).and_then(Value::as_u64);
    out.usage.input_tokens = number("promptTokenCount").or(out.usage.input_tokens);
    let thoughts = number("thoughtsTokenCount");
    if let Some(said) = number("candidatesTokenCount").or(thoughts.map(|_| 0)) {
        out.usage.output_tokens = Some(said.saturating_add(thoughts.unwrap_or(0)));
    }
    out.usage.cache_read_tokens = number("cachedContentTokenCount").or(out.usage.cache_read_tokens);
}
