//! The contract of the reference validator (`agentskills`, Python package `skills-ref` 0.1.1): same verdicts, same
//! messages, same order, same printed JSON and XML. A second, strict reading beside the lenient one, on purpose sharing
//! only the YAML tree with it.
//!
//! Where the reference cuts frontmatter at any `---`, even inside a value, this reads it right: a delimiter is a whole
//! line. Texts of YAML errors after `Invalid YAML in frontmatter: ` are our own.

mod parse;
mod print;
mod python;
#[cfg(test)]
mod tests;
mod validate;

pub use parse::{parse, properties};
pub use print::{json_dumps, to_prompt};
pub use validate::validate;

use serde_json::{Map, Value};

/// A skill directory as its caller found it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The directory as messages and locations should name it.
    pub dir: &'a str,
    /// Its last component.
    pub dir_name: &'a str,
    /// `SKILL.md`, else `skill.md`, with its bytes. `None`: there is neither.
    pub file: Option<(&'a str, &'a [u8])>,
}

/// Why a skill's properties cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No file, no frontmatter, bad YAML.
    #[error("{0}")]
    Parse(String),
    /// A required field is missing or empty.
    #[error("{0}")]
    Validation(String),
}

/// What `read-properties` prints. A field that should be text may be a list or map: the reference does not look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    pub name: String,
    pub description: String,
    pub license: Option<Value>,
    pub compatibility: Option<Value>,
    pub allowed_tools: Option<Value>,
    pub metadata: Option<Value>,
}

impl Properties {
    /// The fields that are there, in the reference's order.
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("name".into(), Value::String(self.name.clone()));
        fields.insert("description".into(), Value::String(self.description.clone()));
        let optional = [
            ("license", &self.license),
            ("compatibility", &self.compatibility),
            ("allowed-tools", &self.allowed_tools),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                fields.insert(key.into(), value.clone());
            }
        }
        if let Some(metadata) = self.metadata.as_ref().filter(|metadata| python::is_truthy(metadata)) {
            fields.insert("metadata".into(), metadata.clone());
        }
        Value::Object(fields)
    }

    /// As the reference prints them.
    pub fn to_json(&self) -> String {
        json_dumps(&self.to_value())
    }
}

/// The message for a path that is not there. Whether it is, is the caller's to find out.
pub fn path_does_not_exist(path: &str) -> String {
    format!("Path does not exist: {path}")
}

/// The message for a path that is a file.
pub fn not_a_directory(path: &str) -> String {
    format!("Not a directory: {path}")
}
