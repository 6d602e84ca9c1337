//! How long a conversation is, and how a long one becomes shorter without losing the task, what was loaded, and the end.

use crate::agent::AgentState;
use fugato_model::chat::{Message, Part, Role, Usage};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tokens of a conversation: what the provider counted last, and an estimate of what came after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextSize {
    counted: u64,
    fresh_bytes: u64,
}

/// Between English text (about 4) and Chinese (about 2): an estimate should rather be too high.
const BYTES_PER_TOKEN: u64 = 3;

impl ContextSize {
    pub fn tokens(&self) -> u64 {
        self.counted.saturating_add(self.fresh_bytes.div_ceil(BYTES_PER_TOKEN))
    }

    pub(crate) fn grows(&mut self, bytes: usize) {
        self.fresh_bytes = self.fresh_bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// The provider counted everything up to and including its answer.
    pub(crate) fn counted(&mut self, usage: Usage) {
        if let Some(input) = usage.input_tokens {
            *self = Self { counted: input.saturating_add(usage.output_tokens.unwrap_or(0)), fresh_bytes: 0 };
        }
    }

    pub(crate) fn of<'m>(system: &str, messages: impl IntoIterator<Item = &'m Arc<Message>>) -> Self {
        let mut size = Self::default();
        size.grows(system.len());
        messages.into_iter().for_each(|message| size.grows(bytes_of(message)));
        size
    }
}

/// Bytes of what a message says; the frame around it is small beside that.
pub(crate) fn bytes_of(message: &Message) -> usize {
    let of_part = |part: &Part| match part {
        Part::Text { text } | Part::Reasoning { text, .. } => text.len(),
        Part::ToolCall(call) => call.name.len() + value_bytes(&call.arguments),
        Part::ToolResult(result) => result.content.len(),
        // Images are counted by their area, not by their bytes: about a thousand tokens each.
        Part::Image { .. } => 3000,
    };
    message.parts.iter().map(of_part).sum()
}

fn value_bytes(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_bytes).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + value_bytes(value)).sum(),
    }
}

/// The first message that stays when everything before it is summed up: an answer of the model, so that no call is cut
/// from its result, with at most a quarter of `room` after it. `None`: there is nothing worth summing up.
pub(crate) fn cut(agent: &AgentState, room: u64) -> Option<u32> {
    let room = usize::try_from(room.saturating_mul(BYTES_PER_TOKEN) / 4).unwrap_or(usize::MAX);
    let mut bytes = 0usize;
    let mut found = None;
    for (at, message) in agent.messages.iter().enumerate().skip(1).rev() {
        bytes = bytes.saturating_add(bytes_of(message));
        if message.role == Role::Assistant {
            if bytes > room && found.is_some() {
                break;
            }
            found = Some(at);
        }
    }
    // The task and one more: a summary would be no shorter.
    found.filter(|at| *at > 2).and_then(|at| u32::try_from(at).ok())
}

/// The conversation after compaction: the task, the summary with the skills that were read, the end.
pub(crate) fn compact(agent: &mut AgentState, summary: &str, kept_from: u32) {
    let kept_from = (kept_from as usize).min(agent.messages.len());
    let loaded = loaded_skills(agent.messages.get(1..kept_from).unwrap_or_default());
    let mut text = format!("What happened so far, summed up:\n\n{summary}");
    if !loaded.is_empty() {
        text.push_str("\n\nSkills you have read:");
        loaded.into_iter().for_each(|content| text.push_str(&format!("\n\n{content}")));
    }
    let tail = agent.messages.split_off(kept_from);
    agent.messages.truncate(1);
    agent.messages.push(Arc::new(Message::user(text)));
    agent.messages.extend(tail);
    agent.compactions += 1;
    agent.context = ContextSize::of(&agent.system, &agent.messages);
}

/// What `skill_read` gave: it must survive, because the agent was told to follow it.
fn loaded_skills(messages: &[Arc<Message>]) -> Vec<String> {
    let mut calls: BTreeMap<&str, String> = BTreeMap::new();
    let mut loaded: Vec<(String, String)> = Vec::new();
    for part in messages.iter().flat_map(|message| &message.parts) {
        match part {
            Part::ToolCall(call) if call.name == "skill_read" => {
                calls.insert(&call.id, call.arguments.to_string());
            }
            Part::ToolResult(result) if !result.is_error => {
                if let Some(arguments) = calls.remove(result.call.as_str()) {
                    // Read again, it is the same text.
                    loaded.retain(|(earlier, _)| *earlier != arguments);
                    loaded.push((arguments, result.content.clone()));
                }
            }
            _ => {}
        }
    }
    loaded.into_iter().map(|(_, content)| content).collect()
}

/// A summary without a model, for a conversation that is too long even to be summed up: which tools were called.
pub(crate) fn outline(agent: &AgentState, kept_from: u32) -> String {
    let before = agent.messages.iter().take(kept_from as usize);
    let calls = before.flat_map(|message| message.tool_calls());
    let lines: Vec<String> = calls
        .map(|call| {
            let arguments: String = call.arguments.to_string().chars().take(100).collect();
            format!("- {} {arguments}", call.name)
        })
        .collect();
    let skipped = lines.len().saturating_sub(OUTLINED);
    let shown = lines.into_iter().skip(skipped).collect::<Vec<_>>().join("\n");
    format!("The conversation no longer fitted; its earlier results were removed. You had called:\n{shown}")
}

const OUTLINED: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_providers_count_replaces_the_estimate_and_growth_adds_to_it() {
        let mut size = ContextSize::of("s".repeat(30).as_str(), []);
        assert_eq!(size.tokens(), 10);
        size.counted(Usage { input_tokens: Some(100), output_tokens: Some(5), ..Usage::default() });
        size.grows(31);
        assert_eq!(size.tokens(), 116);
        size.counted(Usage::default());
        assert_eq!(size.tokens(), 116, "a provider that does not count leaves the estimate");
    }
}
