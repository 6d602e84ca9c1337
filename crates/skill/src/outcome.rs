//! What a subagent's answer means: the value of its `output`, or why there is none.
//!
//! A submitted value comes first. From text, in this order and never by guessing: the last fenced JSON block, the last
//! balanced object, `KEY: value` lines, the whole text. The caller keeps the raw text; this room keeps nothing.

mod fence;
mod json;
mod pairs;
#[cfg(test)]
mod tests;

use crate::variable::VarName;
use fugato_model::{Words, words};
use serde_json::Value;

/// A result that could be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub value: Value,
    pub how: How,
    pub warnings: Vec<Words>,
}

/// Where in an answer the value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Given to `submit_result`, or the whole of a program's output.
    Submitted,
    FencedJson,
    BalancedObject,
    KeyValue,
    Text,
}

/// No result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: Words,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The subagent itself says `success: false`.
    Reported,
    /// There is JSON, and it cannot be read: worth one turn to repair it.
    Unreadable,
}

/// The result in an answer that is text.
pub fn from_text(text: &str, output: Option<&VarName>) -> Result<Parsed, Failure> {
    let mut warnings = Vec::new();
    let blocks = fence::blocks(text);
    if let Some(block) = json_block(&blocks, &mut warnings) {
        let value = json::parse(block.content).map_err(|error| unreadable_block(&error, block))?;
        return finish(value, How::FencedJson, warnings, output);
    }
    match json::last_object(text) {
        json::Found::Object { value, others } => {
            if others > 0 {
                warnings.push(words!(
                    "the answer has {} JSON objects; the last one counts",
                    "答案里有 {} 个 JSON 对象，以最后一个为准",
                    others + 1
                ));
            }
            return finish(value, How::BalancedObject, warnings, output);
        }
        json::Found::Unreadable(error) => return Err(unreadable(&error)),
        json::Found::None => {}
    }
    if let Some(value) = pairs::read(text, &blocks, output) {
        return finish(value, How::KeyValue, warnings, output);
    }
    Ok(Parsed { value: Value::String(text.trim().to_owned()), how: How::Text, warnings })
}

/// The result that was given as a value.
pub fn from_submitted(value: Value, output: Option<&VarName>) -> Result<Parsed, Failure> {
    finish(value, How::Submitted, Vec::new(), output)
}

/// The result of a program: its output is one JSON document, or text.
pub fn from_program(stdout: &str, output: Option<&VarName>) -> Result<Parsed, Failure> {
    let text = stdout.trim();
    if text.starts_with(['{', '[']) {
        let value = json::parse(text).map_err(|error| unreadable(&error))?;
        return finish(value, How::Submitted, Vec::new(), output);
    }
    Ok(Parsed { value: Value::String(text.to_owned()), how: How::Text, warnings: Vec::new() })
}

/// The block that counts: the last one that says it is JSON, or is JSON without saying so.
fn json_block<'a>(blocks: &'a [fence::Block<'a>], warnings: &mut Vec<Words>) -> Option<&'a fence::Block<'a>> {
    let mut found = blocks.iter().filter(|block| block.is_json());
    let last = found.next_back()?;
    let count = found.count() + 1;
    if count > 1 {
        warnings.push(words!(
            "the answer has {count} JSON blocks; the last one counts",
            "答案里有 {count} 个 JSON 代码块，以最后一个为准"
        ));
    }
    Some(last)
}

fn finish(
    value: Value,
    how: How,
    mut warnings: Vec<Words>,
    output: Option<&VarName>,
) -> Result<Parsed, Failure> {
    let Value::Object(mut fields) = value else { return Ok(Parsed { value, how, warnings }) };
    if is_false(fields.get("success"), how) {
        return Err(reported(&fields));
    }
    // Real sub-skills answer `{"success": true, "VAULT": "…"}` and are used as `{{VAULT}}`.
    if let Some(value) = output.and_then(|name| fields.get_mut(name.as_str())).map(Value::take) {
        if value.is_null() {
            let name = output.map(VarName::as_str).unwrap_or_default();
            warnings.push(words!("the answer says that `{name}` is null", "答案中 `{name}` 为 null"));
        }
        return Ok(Parsed { value, how, warnings });
    }
    Ok(Parsed { value: Value::Object(fields), how, warnings })
}

fn is_false(success: Option<&Value>, how: How) -> bool {
    match success {
        Some(Value::Bool(success)) => !success,
        // Every value of a `KEY: value` line is text.
        Some(Value::String(text)) => how == How::KeyValue && text.eq_ignore_ascii_case("false"),
        _ => false,
    }
}

/// As much of a subagent's own message as a person reads.
const MESSAGE_CHARS: usize = 2_000;

fn reported(fields: &serde_json::Map<String, Value>) -> Failure {
    let said = ["message", "error", "reason"].iter().find_map(|key| match fields.get(*key) {
        Some(Value::String(text)) if !text.trim().is_empty() => {
            Some(text.trim().chars().take(MESSAGE_CHARS).collect::<String>())
        }
        Some(Value::Object(error)) => error
            .get("message")
            .and_then(Value::as_str)
            .map(|text| text.chars().take(MESSAGE_CHARS).collect()),
        _ => None,
    });
    let message = match said {
        Some(text) => Words { en: text.clone(), zh: text },
        None => words!(
            "the subagent answered `success: false` without a message",
            "子代理回答 `success: false`，没有说明原因"
        ),
    };
    Failure { kind: FailureKind::Reported, message }
}

fn unreadable(error: &Words) -> Failure {
    let message = Words {
        en: format!("the answer's JSON cannot be read: {}", error.en),
        zh: format!("答案中的 JSON 无法读取：{}", error.zh),
    };
    Failure { kind: FailureKind::Unreadable, message }
}

fn unreadable_block(error: &Words, block: &fence::Block<'_>) -> Failure {
    if block.closed {
        return unreadable(error);
    }
    unreadable(&Words {
        en: format!("{} (the code block is not closed; was the answer cut?)", error.en),
        zh: format!("{}（代码块没有结束；答案是否被截断？）", error.zh),
    })
}
