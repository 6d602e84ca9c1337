//! A request for an answer, as the rules and the tests see it.

use super::http::Request;
use serde_json::Value;

/// Which API a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Messages,
    Responses,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    pub api: Api,
    /// Name in lower case, and value.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Asked {
    pub(super) fn from(request: &Request) -> Option<Self> {
        let path = request.path.split('?').next().unwrap_or_default();
        let api = match (request.method.as_str(), path) {
            ("POST", "/v1/messages") => Api::Messages,
            ("POST", "/v1/responses") => Api::Responses,
            _ => return None,
        };
        Some(Self { api, headers: request.headers.clone(), body: request.body.clone() })
    }

    /// What the user and tools said, oldest first, a line or more each.
    pub fn text(&self) -> String {
        let mut texts = Vec::new();
        for item in self.items() {
            if is_from_outside(item) {
                strings(item, &mut texts);
            }
        }
        texts.join("\n")
    }

    /// What the model is told before the conversation begins.
    pub fn system(&self) -> String {
        let mut texts = Vec::new();
        for part in ["system", "instructions"].iter().filter_map(|key| self.body.get(key)) {
            strings(part, &mut texts);
        }
        let is_developer = |item: &&Value| item.get("role").is_some_and(|role| role == "developer");
        for item in self.items().iter().filter(is_developer) {
            strings(item, &mut texts);
        }
        texts.join("\n")
    }

    /// The results of tools in the conversation, oldest first.
    pub fn results(&self) -> Vec<String> {
        let mut results = Vec::new();
        for item in self.items() {
            match item.get("type").and_then(Value::as_str) {
                Some("function_call_output" | "custom_tool_call_output") => results.push(item.get("output")),
                _ => {
                    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
                    let found =
                        parts.filter(|part| part.get("type").is_some_and(|kind| kind == "tool_result"));
                    results.extend(found.map(|part| part.get("content")));
                }
            }
        }
        let text = |result: Option<&Value>| {
            let mut texts = Vec::new();
            strings(result.unwrap_or(&Value::Null), &mut texts);
            texts.join("\n")
        };
        results.into_iter().map(text).collect()
    }

    /// The names of the tools it may call.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body.get("tools").and_then(Value::as_array).into_iter().flatten();
        let name = |tool: &Value| tool.get("name").or_else(|| tool.get("type"))?.as_str().map(str::to_owned);
        tools.filter_map(name).collect()
    }

    pub fn model(&self) -> &str {
        self.body.get("model").and_then(Value::as_str).unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_streamed(&self) -> bool {
        self.body.get("stream").and_then(Value::as_bool).unwrap_or(false)
    }

    fn items(&self) -> &[Value] {
        let list = self.body.get("messages").or_else(|| self.body.get("input"));
        list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

fn is_from_outside(item: &Value) -> bool {
    match item.get("role").and_then(Value::as_str) {
        Some(role) => role == "user",
        None => item.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_output")),
    }
}

/// The texts inside a message, without the words of its wire format.
fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, texts)),
        Value::Object(fields) => {
            for key in ["text", "content", "output"] {
                if let Some(inner) = fields.get(key) {
                    strings(inner, texts);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
