//! JSON as written by models: read strictly (no duplicate keys, no comments, no NaN), with words that name the key.

use fugato_model::{Words, words};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;

/// One JSON document.
pub(super) fn parse(text: &str) -> Result<Value, Words> {
    let path = RefCell::new(Vec::new());
    let mut reader = serde_json::Deserializer::from_str(text);
    let value =
        Strict { path: &path }.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| explain(&error, &path.into_inner()))
}

fn explain(error: &serde_json::Error, path: &[String]) -> Words {
    let full = error.to_string();
    // serde_json ends its sentences with the place; ours is said in both languages.
    let said = full.rsplit_once(" at line ").map_or(full.as_str(), |(said, _)| said);
    let (line, column) = (error.line(), error.column());
    if path.is_empty() {
        return words!("{said} (line {line}, column {column})", "{said}（第 {line} 行第 {column} 列）");
    }
    let path = crate::problems::shorten(&path.concat());
    words!(
        "{said}, at key `{path}` (line {line}, column {column})",
        "{said}，在键 `{path}` 处（第 {line} 行第 {column} 列）"
    )
}

/// What a search for an object in running text found.
pub(super) enum Found {
    Object {
        value: Value,
        /// Complete objects before it.
        others: usize,
    },
    /// It starts like JSON and ends in the middle, or breaks a rule.
    Unreadable(Words),
    None,
}

/// The last balanced object of a text (or list of objects). Each byte is looked at a bounded number of times: after a failure
/// the search goes on where the parser gave up, not at the next brace.
pub(super) fn last_object(text: &str) -> Found {
    let mut last: Option<&str> = None;
    let mut count = 0usize;
    let mut at = 0;
    while let Some(start) = next_start(text, at) {
        let rest = text.get(start..).unwrap_or_default();
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        match stream.next() {
            Some(Ok(_)) => {
                let end = start + stream.byte_offset();
                last = text.get(start..end);
                count += 1;
                at = end.max(start + 1);
            }
            Some(Err(error)) if error.is_eof() && looks_like_json(rest) => {
                return Found::Unreadable(words!(
                    "the text ends inside a JSON object: was the answer cut?",
                    "文本在 JSON 对象中间结束：答案是否被截断？"
                ));
            }
            Some(Err(error)) => at = (start + failed_at(rest, &error)).max(start + 1),
            None => break,
        }
    }
    match last.map(parse) {
        Some(Ok(value)) => Found::Object { value, others: count - 1 },
        Some(Err(error)) => Found::Unreadable(error),
        None => Found::None,
    }
}

/// The next `{`, or `[` right before one.
fn next_start(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let bytes = text.as_bytes().get(at..)?;
        let found = at + memchr::memchr2(b'{', b'[', bytes)?;
        let is_list = text.as_bytes().get(found) == Some(&b'[');
        let opens = !is_list
            || text
                .as_bytes()
                .get(found + 1..)
                .is_some_and(|rest| rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{'));
        if opens {
            return Some(found);
        }
        at = found + 1;
    }
}

/// `{"` or `[{`: prose has single braces, JSON has keys.
fn looks_like_json(text: &str) -> bool {
    let mut marks = text.chars().filter(|c| !c.is_whitespace());
    matches!((marks.next(), marks.next()), (Some('{'), Some('"')) | (Some('['), Some('{')))
}

/// The offset at which the parser gave up. Its column counts bytes.
fn failed_at(text: &str, error: &serde_json::Error) -> usize {
    let mut at = 0;
    for _ in 1..error.line() {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        at += memchr::memchr(b'\n', rest).map_or(rest.len(), |found| found + 1);
    }
    let mut at = (at + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Builds a value and keeps the path to where it is, so that an error can name the key.
struct Strict<'a> {
    path: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            self.path.borrow_mut().push(format!("[{}]", list.len()));
            let item = items.next_element_seed(Strict { path: self.path })?;
            self.path.borrow_mut().pop();
            match item {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let dot = if self.path.borrow().is_empty() { "" } else { "." };
            self.path.borrow_mut().push(format!("{dot}{key}"));
            if fields.contains_key(&key) {
                return Err(A::Error::custom("duplicate key"));
            }
            let value = entries.next_value_seed(Strict { path: self.path })?;
            self.path.borrow_mut().pop();
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}
