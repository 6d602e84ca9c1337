//! Tools for models without native tool calls: the model is held by a JSON Schema to answer with one action object, either
//! `{"tool": NAME, "arguments": {…}}` or `{"answer": …}`. Spoken over Chat Completions.

use super::collect::{Collector, Delta, OnDelta};
use super::endpoint::{Endpoint, Outgoing};
use super::error::ModelError;
use super::json::{self, Items};
use super::secret::Secret;
use super::transcript::{Dialect, Entry};
use super::{ModelRequest, ToolChoice, chat, strict_json};
use fugato_model::chat::{Answer, ModelFault, Part, Role, StopReason, ToolSpec};
use fugato_model::words;
use serde_json::{Value, json};

pub(super) fn request(endpoint: &Endpoint, request: &ModelRequest<'_>, key: Option<&Secret>) -> Outgoing {
    let mut body = chat::begin(endpoint, request);
    body.field("response_format", &chat::response_format(&schema(request)));
    chat::write_messages(&mut body, &instructions(request), request, Dialect::Action);
    chat::outgoing(endpoint, key, body)
}

fn offered<'a>(request: &ModelRequest<'a>) -> impl Iterator<Item = &'a ToolSpec> {
    let choice = request.tool_choice.clone();
    request.tools.iter().filter(move |tool| match &choice {
        ToolChoice::None => false,
        ToolChoice::Named(name) => tool.name == *name,
        ToolChoice::Auto | ToolChoice::Required => true,
    })
}

fn schema(request: &ModelRequest<'_>) -> Value {
    let mut actions: Vec<Value> = offered(request)
        .map(|tool| {
            json!({"type": "object", "additionalProperties": false, "required": ["tool", "arguments"],
                "properties": {"tool": {"const": tool.name}, "arguments": tool.parameters}})
        })
        .collect();
    if matches!(request.tool_choice, ToolChoice::Auto | ToolChoice::None) {
        let answer = request.schema.cloned().unwrap_or_else(|| json!({"type": "string"}));
        actions.push(json!({"type": "object", "additionalProperties": false, "required": ["answer"],
            "properties": {"answer": answer}}));
    }
    json!({"anyOf": actions})
}

fn instructions(request: &ModelRequest<'_>) -> String {
    let mut text = request.system.to_owned();
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(
        "Answer with exactly one JSON object: {\"tool\": NAME, \"arguments\": {…}} to use a tool, or {\"answer\": …} to \
         answer. Tools:\n",
    );
    for tool in offered(request) {
        let line = json!({"tool": tool.name, "description": tool.description, "arguments": tool.parameters});
        text.push_str(&json::text(&line));
        text.push('\n');
    }
    text
}

pub(super) fn write(entry: &Entry) -> String {
    let mut items = Items::default();
    let mut names = entry.answered.iter();
    for part in &entry.message.parts {
        let content = match part {
            Part::Text { text } if entry.message.role == Role::User => text.clone(),
            Part::Text { text } => json::text(&json!({"answer": text})),
            Part::ToolCall(call) => json::text(&json!({"tool": call.name, "arguments": call.arguments})),
            Part::ToolResult(result) => {
                let name = names.next().map_or("", String::as_str);
                let what = if result.is_error { "failed" } else { "result" };
                format!("[{name}: {what}]\n{}", result.content)
            }
            Part::Reasoning { .. } | Part::Image { .. } => continue,
        };
        let role = if entry.message.role == Role::User { "user" } else { "assistant" };
        items.push(&json!({"role": role, "content": content}));
    }
    items.finish()
}

/// Turns the text of an answer into what its action object says.
pub(super) fn interpret(
    request: &ModelRequest<'_>,
    answer: Answer,
    on_delta: OnDelta<'_>,
) -> Result<Answer, ModelError> {
    let text = answer.message.text();
    let malformed = |error: &str| {
        let words = words!("the answer is not one action object: {error}", "答案不是一个动作对象：{error}");
        let mut error = ModelError::new(ModelFault::Malformed, words);
        error.partial = Some(answer.message.clone());
        error.usage = Some(Box::new(answer.usage));
        error
    };
    if answer.stop == StopReason::Refusal {
        return Ok(answer);
    }
    let action = strict_json::object(text.trim()).map_err(|error| malformed(&error))?;
    let mut out = Collector::new(request, on_delta);
    out.usage = answer.usage;
    out.stop = Some(answer.stop);
    match (action.get("tool").and_then(Value::as_str), action.get("answer")) {
        (Some(tool), None) => {
            out.whole_tool(None, tool, action.get("arguments").unwrap_or(&Value::Null));
        }
        (None, Some(Value::String(text))) => out.append_text(text),
        (None, Some(value)) => out.append_text(&json::text(value)),
        _ => return Err(malformed("expected `tool` or `answer`")),
    }
    out.finish()
}

/// The raw object is not for display.
pub(super) fn hide(delta: Delta, on_delta: OnDelta<'_>) {
    if let Delta::Reasoning(_) = delta {
        on_delta(delta);
    }
}
