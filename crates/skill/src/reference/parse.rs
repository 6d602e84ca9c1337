//! Frontmatter as the reference reads it: every scalar is text, and only plain block YAML is accepted.

use super::{Properties, ReferenceError, Target, python};
use crate::frontmatter::{self, SplitError};
use crate::limits::FRONTMATTER_BYTES;
use crate::yaml::{self, Entry, Layout, Node, NodeKind, Problem, Style, YamlError};
use serde_json::{Map, Value};
use std::ops::Range;

/// The frontmatter as an ordered object, and the body without surrounding white space.
pub fn parse(content: &str) -> Result<(Map<String, Value>, String), ReferenceError> {
    // Python reads text with universal newlines.
    let content = content.replace("\r\n", "\n").replace('\r', "\n");
    // A byte order mark counts as text before the frontmatter there, and so it does here.
    let split = match frontmatter::split(&content) {
        Ok(split) if content.starts_with("---") => split,
        Err(SplitError::Unclosed { .. }) if content.starts_with("---") => {
            return Err(error("SKILL.md frontmatter not properly closed with ---"));
        }
        _ => return Err(error("SKILL.md must start with YAML frontmatter (---)")),
    };
    let yaml = content.get(split.yaml.clone()).unwrap_or_default();
    if yaml.len() > FRONTMATTER_BYTES {
        return Err(error(&format!("Invalid YAML in frontmatter: longer than {FRONTMATTER_BYTES} bytes")));
    }
    let invalid = |at: usize, what: &str| {
        let span = fugato_model::Span::of(&content, at, at);
        error(&format!("Invalid YAML in frontmatter: line {}, column {}: {what}", span.line, span.column))
    };
    if let Some((at, c)) = yaml.char_indices().find(|(_, c)| !python::is_yaml_printable(*c)) {
        let what = format!("character U+{:04X} is not allowed", u32::from(c));
        return Err(invalid(split.yaml.start + at, &what));
    }
    let root =
        yaml::parse(yaml, split.yaml.start).map_err(|error| invalid(error.start, &sentence(&error)))?;
    if let Some(at) = misplaced_tab(&content, split.yaml.clone(), &root) {
        return Err(invalid(at, "a tab cannot start any token"));
    }
    if let Some((at, what)) = disallowed(&content, &root) {
        return Err(invalid(at, what));
    }
    let Value::Object(mut fields) = value(&root) else {
        return Err(error("SKILL.md frontmatter must be a YAML mapping"));
    };
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        for field in metadata.values_mut() {
            *field = Value::String(python::str(field));
        }
    }
    let body = content.get(split.body_start..).unwrap_or_default();
    Ok((fields, python::strip(body).to_owned()))
}

/// The properties of a skill. Required fields must be there; nothing else is checked.
pub fn properties(target: Target<'_>) -> Result<Properties, ReferenceError> {
    let Some((file, bytes)) = target.file else {
        return Err(ReferenceError::Parse(format!("SKILL.md not found in {}", target.dir)));
    };
    let (mut fields, _) = parse(decode(file, bytes)?)?;
    for required in ["name", "description"] {
        if !fields.contains_key(required) {
            let message = format!("Missing required field in frontmatter: {required}");
            return Err(ReferenceError::Validation(message));
        }
    }
    let text = |field: &str| match fields.get(field) {
        Some(Value::String(text)) if !python::strip(text).is_empty() => Ok(python::strip(text).to_owned()),
        _ => Err(ReferenceError::Validation(format!("Field '{field}' must be a non-empty string"))),
    };
    let (name, description) = (text("name")?, text("description")?);
    Ok(Properties {
        name,
        description,
        license: fields.shift_remove("license"),
        compatibility: fields.shift_remove("compatibility"),
        allowed_tools: fields.shift_remove("allowed-tools"),
        metadata: fields.shift_remove("metadata"),
    })
}

/// The text of a skill file. The reference ends with a trace-back where this has a message.
pub(super) fn decode<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ReferenceError> {
    std::str::from_utf8(bytes)
        .map_err(|bad| error(&format!("{file} is not valid UTF-8 (byte offset {})", bad.valid_up_to())))
}

fn error(message: &str) -> ReferenceError {
    ReferenceError::Parse(message.to_owned())
}

fn value(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Scalar { text, .. } => Value::String(text.clone()),
        NodeKind::Sequence { items, .. } => Value::Array(items.iter().map(value).collect()),
        NodeKind::Mapping { entries, .. } => Value::Object(
            entries.iter().map(|entry| (entry.name().to_owned(), value(&entry.value))).collect(),
        ),
    }
}

/// A tab outside of quotes, block scalars and comments: the reference's scanner refuses what other YAML readers skip.
fn misplaced_tab(content: &str, yaml: Range<usize>, root: &Node) -> Option<usize> {
    let head = content.get(..yaml.end)?;
    let mut protected = Vec::new();
    collect_protected(root, &mut protected);
    // Scalars are in reading order: the last one that starts before the tab may contain it.
    let is_protected = |tab: usize| {
        let before = protected.partition_point(|(start, _)| *start < tab);
        before.checked_sub(1).and_then(|last| protected.get(last)).is_some_and(|(_, end)| tab < *end)
    };
    let mut line_start = 0;
    for line in head.split_inclusive('\n') {
        let is_comment = line.trim_start().starts_with('#');
        let code = if is_comment { "" } else { line.split(" #").next().unwrap_or_default() };
        let mut tabs = code.match_indices('\t').map(|(at, _)| line_start + at);
        if let Some(tab) = tabs.find(|tab| !is_protected(*tab)) {
            return Some(tab);
        }
        line_start += line.len();
    }
    None
}

/// Where quoted and block scalars stand.
fn collect_protected(node: &Node, spans: &mut Vec<(usize, usize)>) {
    match &node.kind {
        NodeKind::Scalar { style: Style::Plain, .. } => {}
        NodeKind::Scalar { .. } => spans.push((node.start, node.end)),
        NodeKind::Sequence { items, .. } => items.iter().for_each(|item| collect_protected(item, spans)),
        NodeKind::Mapping { entries, .. } => {
            for entry in entries {
                collect_protected(&entry.key, spans);
                collect_protected(&entry.value, spans);
            }
        }
    }
}

/// What StrictYAML refuses although it is YAML, first in reading order.
fn disallowed(content: &str, node: &Node) -> Option<(usize, &'static str)> {
    match &node.kind {
        NodeKind::Scalar { .. } => None,
        NodeKind::Sequence { layout: Layout::Flow, .. } | NodeKind::Mapping { layout: Layout::Flow, .. } => {
            Some((node.start, "flow style (`[…]`, `{…}`) is not allowed, put the value in quotes"))
        }
        NodeKind::Sequence { items, .. } => items.iter().find_map(|item| disallowed(content, item)),
        NodeKind::Mapping { entries, .. } => entries
            .iter()
            .find_map(|entry| disallowed(content, &entry.value))
            .or_else(|| uneven_indentation(content, entries)),
    }
}

/// Sibling mappings must be indented alike.
fn uneven_indentation(content: &str, entries: &[Entry]) -> Option<(usize, &'static str)> {
    let column = |node: &Node| {
        let before = content.get(..node.start).unwrap_or_default();
        before.len() - before.rfind('\n').map_or(0, |at| at + 1)
    };
    let mut mappings = entries.iter().map(|entry| &entry.value).filter(|value| value.entries().is_some());
    let expected = column(mappings.next()?);
    let uneven = mappings.find(|mapping| column(mapping) != expected)?;
    Some((uneven.start, "mapping with indentation inconsistent with the previous mapping"))
}

fn sentence(error: &YamlError) -> String {
    match &error.problem {
        Problem::Syntax(info) => info.clone(),
        Problem::DuplicateKey { key, .. } => format!("duplicate key '{key}' found"),
        Problem::TooDeep => "nested too deep".to_owned(),
        Problem::TooManyNodes => "too many values".to_owned(),
        Problem::Anchor => "anchors and aliases are not allowed".to_owned(),
        Problem::Tag => "tags are not allowed".to_owned(),
        Problem::MergeKey => "merge keys are not allowed".to_owned(),
        Problem::SecondDocument => "a second document starts".to_owned(),
        Problem::KeyNotScalar => "a key must be text".to_owned(),
    }
}
