//! The rules of the reference validator, in its order and with its messages.

use super::parse::{decode, parse};
use super::{ReferenceError, Target, python};
use crate::limits::{COMPATIBILITY_CHARS, DESCRIPTION_CHARS};
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

const NAME_CHARS: usize = 64;

/// All that is wrong with a skill; empty means valid.
pub fn validate(target: Target<'_>) -> Vec<String> {
    let Some((file, bytes)) = target.file else {
        return vec!["Missing required file: SKILL.md".to_owned()];
    };
    match decode(file, bytes).and_then(parse) {
        Ok((fields, _)) => validate_fields(&fields, target.dir_name),
        Err(ReferenceError::Parse(message) | ReferenceError::Validation(message)) => vec![message],
    }
}

fn validate_fields(fields: &Map<String, Value>, dir_name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    errors.extend(unexpected(fields));
    match fields.get("name") {
        None => errors.push("Missing required field in frontmatter: name".to_owned()),
        Some(name) => validate_name(name, dir_name, &mut errors),
    }
    match fields.get("description") {
        None => errors.push("Missing required field in frontmatter: description".to_owned()),
        Some(description) => errors.extend(validate_description(description)),
    }
    errors.extend(fields.get("compatibility").and_then(validate_compatibility));
    errors
}

fn unexpected(fields: &Map<String, Value>) -> Option<String> {
    let mut extra: Vec<&str> =
        fields.keys().map(String::as_str).filter(|key| !crate::fields::PORTABLE.contains(key)).collect();
    extra.sort_unstable();
    let mut allowed = crate::fields::PORTABLE;
    allowed.sort_unstable();
    let allowed = allowed.map(|field| format!("'{field}'")).join(", ");
    (!extra.is_empty()).then(|| {
        format!("Unexpected fields in frontmatter: {}. Only [{allowed}] are allowed.", extra.join(", "))
    })
}

fn validate_name(name: &Value, dir_name: &str, errors: &mut Vec<String>) {
    let Some(name) = name.as_str().map(python::strip).filter(|name| !name.is_empty()) else {
        return errors.push("Field 'name' must be a non-empty string".to_owned());
    };
    let name: String = name.nfkc().collect();
    let chars = name.chars().count();
    if chars > NAME_CHARS {
        errors.push(format!("Skill name '{name}' exceeds {NAME_CHARS} character limit ({chars} chars)"));
    }
    if name != name.to_lowercase() {
        errors.push(format!("Skill name '{name}' must be lowercase"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        errors.push("Skill name cannot start or end with a hyphen".to_owned());
    }
    if name.contains("--") {
        errors.push("Skill name cannot contain consecutive hyphens".to_owned());
    }
    if !name.chars().all(|c| python::is_alphanumeric(c) || c == '-') {
        errors.push(format!(
            "Skill name '{name}' contains invalid characters. Only letters, digits, and hyphens are allowed."
        ));
    }
    if !dir_name.nfkc().eq(name.chars()) {
        errors.push(format!("Directory name '{dir_name}' must match skill name '{name}'"));
    }
}

fn validate_description(description: &Value) -> Option<String> {
    let Some(text) = description.as_str().filter(|text| !python::strip(text).is_empty()) else {
        return Some("Field 'description' must be a non-empty string".to_owned());
    };
    let chars = text.chars().count();
    (chars > DESCRIPTION_CHARS)
        .then(|| format!("Description exceeds {DESCRIPTION_CHARS} character limit ({chars} chars)"))
}

fn validate_compatibility(compatibility: &Value) -> Option<String> {
    let Some(text) = compatibility.as_str() else {
        return Some("Field 'compatibility' must be a string".to_owned());
    };
    let chars = text.chars().count();
    (chars > COMPATIBILITY_CHARS)
        .then(|| format!("Compatibility exceeds {COMPATIBILITY_CHARS} character limit ({chars} chars)"))
}
