//! A declared JSON Schema for a subagent's result: is it one, and is it met. Never fetches what a schema refers to.

use crate::problems::shorten;
use fugato_model::{Words, words};
use serde_json::Value;

/// Problems of one result that are told; a model repairs the first few and sees the rest next time.
const TOLD: usize = 5;

/// Why a schema cannot be used. `Ok`: it can.
pub fn check(schema: &Value) -> Result<(), Words> {
    validator(schema).map(|_| ())
}

/// Does the result meet the schema? The words name each place that does not.
pub fn meets(schema: &Value, result: &Value) -> Result<(), Words> {
    // A schema was checked when the skill was; one that cannot be used now says nothing about the result.
    let Ok(validator) = validator(schema) else { return Ok(()) };
    let mut wrong: Vec<String> = Vec::new();
    for error in validator.iter_errors(result).take(TOLD) {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "/".to_owned() } else { place };
        wrong.push(format!("{}: {}", shorten(&place), shorten(&error.to_string())));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let wrong = wrong.join("; ");
    Err(words!("the result does not meet its schema: {wrong}", "结果不符合声明的 schema：{wrong}"))
}

fn validator(schema: &Value) -> Result<jsonschema::Validator, Words> {
    jsonschema::options().build(schema).map_err(|error| {
        let why = shorten(&error.to_string());
        words!("not a usable JSON Schema: {why}", "不是可用的 JSON Schema：{why}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_result_that_does_not_meet_its_schema_is_told_with_each_place() {
        let schema = json!({
            "type": "object", "required": ["events"],
            "properties": {"events": {"type": "array", "items": {"type": "string"}}},
        });
        assert_eq!(check(&schema), Ok(()));
        assert_eq!(meets(&schema, &json!({"events": ["a"]})), Ok(()));
        let wrong = meets(&schema, &json!({"events": [1, "b", 3]})).unwrap_err();
        assert!(wrong.en.contains("/events/0: ") && wrong.en.contains("/events/2: "), "{}", wrong.en);
        assert!(meets(&schema, &json!([])).unwrap_err().en.contains("/: "));
    }

    #[test]
    fn what_is_no_schema_or_lies_elsewhere_is_not_used() {
        for schema in [json!({"type": "objekt"}), json!({"$ref": "https://example.com/x.json"})] {
            assert!(check(&schema).is_err(), "{schema}");
            assert_eq!(meets(&schema, &json!(1)), Ok(()));
        }
    }
}
