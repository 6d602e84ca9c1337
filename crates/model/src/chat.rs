//! What models and agents say to each other: one message format for every provider, every tool and the log.
//!
//! Providers translate this at their edge; nothing else in the program knows a vendor's wire format.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks. The system prompt is not a message: it stands beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text {
        text: String,
    },
    /// What a model thought aloud, with the provider's own proof that it did (to be sent back unchanged).
    Reasoning {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    ToolCall(ToolCall),
    ToolResult(ToolResult),
    /// Base64 data of an image.
    Image {
        media_type: String,
        data: String,
    },
}

/// A model asks for a tool. It is complete: a call cut in half never becomes a value of this type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in its answer; ours where the provider gave none or gave one twice.
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

/// The answer to one tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call this answers.
    pub call: String,
    pub content: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// Tokens of one answer. `None`: the provider did not say, which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    Refusal,
    Other,
}

/// A finished answer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub message: Message,
    pub stop: StopReason,
    pub usage: Usage,
}

/// Why a model call gave no answer, as far as the engine must know to decide what happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFault {
    /// Worth trying again: overload, network, a stream that broke.
    Transient,
    /// Worth trying again later: the provider said how much later, if it did.
    RateLimited,
    /// The key is missing or wrong.
    Unauthorized,
    /// The request itself is wrong; trying again changes nothing.
    Rejected,
    /// The conversation no longer fits.
    ContextOverflow,
    /// The answer could not be understood.
    Malformed,
}

impl Message {
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, parts: vec![Part::Text { text: text.into() }] }
    }

    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, parts: vec![Part::Text { text: text.into() }] }
    }

    /// All text of the message, without reasoning.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl Usage {
    /// Sums what is known; unknown stays unknown only when both are.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            cache_read_tokens: sum(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: sum(self.cache_write_tokens, other.cache_write_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip_through_json() {
        let message = Message {
            role: Role::Assistant,
            parts: vec![
                Part::Text { text: "看".into() },
                Part::ToolCall(ToolCall {
                    id: "1".into(),
                    name: "Read".into(),
                    arguments: serde_json::json!({"path": "a"}),
                }),
                Part::ToolResult(ToolResult { call: "1".into(), content: "x".into(), is_error: true }),
            ],
        };
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }

    #[test]
    fn unknown_usage_is_not_zero() {
        let one = Usage { input_tokens: Some(3), ..Usage::default() };
        let sum = one.plus(Usage { input_tokens: Some(4), ..Usage::default() });
        assert_eq!((sum.input_tokens, sum.output_tokens), (Some(7), None));
    }
}
