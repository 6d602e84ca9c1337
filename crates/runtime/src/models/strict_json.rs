//! Tool arguments, read strictly: what a lenient reader would guess (a key given twice, text after the object) is refused
//! with a message that names the key, so that the model can repair it.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Reads one JSON object. Depth is bounded by the parser (128).
pub(super) fn object(text: &str) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    if value.is_object() { Ok(value) } else { Err(format!("expected an object, found {}", kind(&value))) }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("key `{key}` is given twice")));
            }
            let value = entries
                .next_value_seed(Self)
                .map_err(|error| A::Error::custom(format!("in `{key}`: {error}")))?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_objects_are_read_as_they_are() {
        let text = r#"{"b": [1, -2, 2.5, "x", null, true], "a": {"技": "能"}}"#;
        assert_eq!(object(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_key() {
        for (text, expected) in [
            (r#"{"a": 1, "a": 2}"#, "`a` is given twice"),
            (r#"{"x": {"y": NaN}}"#, "in `x`: in `y`"),
            (r#"{"big": 1e400}"#, "in `big`"),
            (r#"{"a": 1 /* why */}"#, "line 1 column"),
            (r#"{"a": "cut"#, "in `a`"),
            (r#"{"a": 1} and so on"#, "trailing"),
            ("", "EOF"),
            ("[1]", "found a list"),
            ("\"{}\"", "found text"),
        ] {
            let error = object(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(object(&format!("{{\"a\":{}", "[".repeat(100_000))).is_err());
    }
}
