//! Writing request bodies: pieces that are already JSON are joined, never parsed again.

use serde::Serialize;
use serde_json::Value;

/// A JSON object under construction.
pub(super) struct Object(Vec<u8>);

impl Object {
    pub fn new() -> Self {
        Self(vec![b'{'])
    }

    pub fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> &mut Self {
        self.name(name);
        let start = self.0.len();
        // What we write has text keys only, so it cannot fail.
        if serde_json::to_writer(&mut self.0, value).is_err() {
            self.0.truncate(start);
            self.0.extend_from_slice(b"null");
        }
        self
    }

    /// Something that is JSON already.
    pub fn json(&mut self, name: &str, json: &[u8]) -> &mut Self {
        self.name(name);
        self.0.reserve(json.len() + json.len() / 4);
        self.0.extend_from_slice(json);
        self
    }

    /// A list whose items `write` appends, separated by commas.
    pub fn list(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        self.name(name);
        self.0.push(b'[');
        write(&mut self.0);
        self.0.push(b']');
        self
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(text(name).as_bytes());
        self.0.push(b':');
    }
}

/// JSON values separated by commas.
#[derive(Default)]
pub(super) struct Items(String);

impl Items {
    pub fn push(&mut self, value: &Value) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&text(value));
    }

    pub fn finish(self) -> String {
        self.0
    }
}

/// A value as JSON text. What we write has text keys only, so it cannot fail.
pub(super) fn text(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// Asks for a shape in words, where a provider's own way to ask does not apply.
pub(super) fn ask_for_schema(system: &str, schema: &Value) -> String {
    let gap = if system.is_empty() { "" } else { "\n\n" };
    format!(
        "{system}{gap}Your final answer must be one JSON value that meets this JSON Schema, without any other text:\n{}",
        text(schema)
    )
}
