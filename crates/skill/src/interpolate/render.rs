//! Filling a template: values in, text out, or the one reference that has no value.

use super::{Filter, Piece, Reference, Step, Template};
use crate::limits::RENDERED_BYTES;
use crate::place::Position;
use fugato_model::{Words, words};
use serde_json::Value;

/// A filled template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    /// References that were null and left nothing behind.
    pub warnings: Vec<Words>,
}

/// A reference that cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    pub problem: RenderProblem,
    /// The reference as written, without braces.
    pub reference: String,
    pub message: Words,
    /// Where it stands in the template's file.
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderProblem {
    MissingVariable,
    MissingPath,
    /// An index past the end of a list of this length.
    PastTheEnd {
        length: usize,
    },
    TooLong,
}

impl Template {
    /// Fills the template. `value_of` answers with the value of a variable; what it does not know is an error, what is null
    /// leaves nothing and a warning.
    pub fn render<'v>(&self, value_of: &dyn Fn(&str) -> Option<&'v Value>) -> Result<Rendered, RenderError> {
        let mut rendered = Rendered::default();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => rendered.text.push_str(text),
                Piece::Reference(reference) => {
                    let Some(value) = value_of(reference.variable.as_str()) else {
                        return Err(missing_variable(reference));
                    };
                    rendered.insert(reference, value)?;
                }
            }
        }
        Ok(rendered)
    }
}

impl Rendered {
    fn insert(&mut self, reference: &Reference, value: &Value) -> Result<(), RenderError> {
        let value = follow(reference, value)?;
        let before = self.text.len();
        match (value, reference.filter) {
            (Value::Null, Some(Filter::Json)) => self.text.push_str("null"),
            (Value::Null, _) => {
                let name = reference.written();
                self.warnings
                    .push(words!("`{name}` is null; nothing is inserted", "`{name}` 是 null，插入为空"));
            }
            (Value::Array(items), Some(Filter::Lines)) => {
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.text.push('\n');
                    }
                    push_plain(&mut self.text, item);
                }
            }
            (value, Some(Filter::Json)) => self.text.push_str(&value.to_string()),
            (value, _) => push_plain(&mut self.text, value),
        }
        // Checked after each insertion: one value is in memory already, so at most twice that is.
        if self.text.len() > RENDERED_BYTES && self.text.len() > before {
            let limit = RENDERED_BYTES / (1024 * 1024);
            let message =
                words!("the filled text is longer than {limit} MiB", "填充后的文本超过 {limit} MiB");
            return Err(error(reference, RenderProblem::TooLong, message));
        }
        Ok(())
    }
}

/// Strings raw, all else as compact JSON.
fn push_plain(text: &mut String, value: &Value) {
    match value {
        Value::String(raw) => text.push_str(raw),
        other => text.push_str(&other.to_string()),
    }
}

/// The value the path leads to. A null on the way is the answer: what an optional step left out has no parts.
fn follow<'v>(reference: &Reference, variable: &'v Value) -> Result<&'v Value, RenderError> {
    let mut value = variable;
    for (taken, step) in reference.path.iter().enumerate() {
        if value.is_null() {
            return Ok(value);
        }
        // `A.0` is how some write `A[0]`.
        let index = match step {
            Step::Index(index) => Some(*index),
            Step::Key(key) if value.is_array() => key.parse().ok(),
            Step::Key(_) => None,
        };
        value = match (value, step, index) {
            (Value::Array(items), _, Some(index)) => {
                items.get(index).ok_or_else(|| past_the_end(reference, taken, index, items.len()))?
            }
            (Value::Object(fields), Step::Key(key), _) => {
                fields.get(key).ok_or_else(|| missing_key(reference, taken, key, fields))?
            }
            (other, ..) => return Err(wrong_shape(reference, taken, step, other)),
        };
    }
    Ok(value)
}

fn error(reference: &Reference, problem: RenderProblem, message: Words) -> RenderError {
    let place = reference.place;
    let message = match reference.position {
        Some(Position { line, column }) => Words {
            en: format!("{} (`{{{{{}}}}}`, line {line}, column {column})", message.en, reference.written()),
            zh: format!("{}（`{{{{{}}}}}`，第 {line} 行第 {column} 列）", message.zh, reference.written()),
        },
        None => message,
    };
    RenderError { problem, reference: reference.written(), message, start: place.start, end: place.end }
}

fn missing_variable(reference: &Reference) -> RenderError {
    let name = &reference.variable;
    let message = words!("variable `{name}` is not set", "变量 `{name}` 尚未设置");
    error(reference, RenderProblem::MissingVariable, message)
}

fn past_the_end(reference: &Reference, taken: usize, index: usize, length: usize) -> RenderError {
    let list = reference.written_up_to(taken);
    let message = match length {
        0 => words!("`{list}` is an empty list; there is no [{index}]", "`{list}` 是空列表，没有 [{index}]"),
        _ => {
            let last = length - 1;
            words!(
                "`{list}` has {length} elements (0–{last}); there is no [{index}]",
                "`{list}` 有 {length} 个元素（0–{last}），没有 [{index}]"
            )
        }
    };
    error(reference, RenderProblem::PastTheEnd { length }, message)
}

/// How many keys a message lists; a result may have thousands.
const LISTED_KEYS: usize = 5;

fn missing_key(
    reference: &Reference,
    taken: usize,
    key: &str,
    fields: &serde_json::Map<String, Value>,
) -> RenderError {
    let object = reference.written_up_to(taken);
    let keys = fugato_model::nearest_first(key, fields.keys().take(1_000).map(String::as_str));
    let listed: Vec<String> =
        keys.iter().take(LISTED_KEYS).map(|key| format!("`{}`", crate::problems::shorten(key))).collect();
    let listed = listed.join(", ") + if fields.len() > LISTED_KEYS { ", …" } else { "" };
    let message = if fields.is_empty() {
        words!("`{object}` has no key `{key}`; it is empty", "`{object}` 没有键 `{key}`；它是空的")
    } else {
        words!("`{object}` has no key `{key}`; it has {listed}", "`{object}` 没有键 `{key}`；它有 {listed}")
    };
    error(reference, RenderProblem::MissingPath, message)
}

fn wrong_shape(reference: &Reference, taken: usize, step: &Step, found: &Value) -> RenderError {
    let name = reference.written_up_to(taken);
    let (en, zh) = match found {
        Value::Array(_) => ("a list", "列表"),
        Value::Object(_) => ("an object", "对象"),
        Value::String(_) => ("text", "文本"),
        Value::Number(_) => ("a number", "数字"),
        Value::Bool(_) => ("a boolean", "布尔值"),
        Value::Null => ("null", "null"),
    };
    let message = match step {
        Step::Key(key) => {
            words!("`{name}` is {en}; it has no key `{key}`", "`{name}` 是{zh}，没有键 `{key}`")
        }
        Step::Index(index) => {
            words!("`{name}` is {en}; it has no [{index}]", "`{name}` 是{zh}，没有 [{index}]")
        }
    };
    error(reference, RenderProblem::MissingPath, message)
}
