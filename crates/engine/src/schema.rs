//! Does a result have the shape its skill declared?

use serde_json::Value;

/// More problems than this help nobody to repair anything.
const SHOWN: usize = 5;

/// What is wrong with a value, in one sentence for the model that made it; `None` when it fits.
pub fn problem(schema: &Value, value: &Value) -> Option<String> {
    // A schema that cannot be used was reported when the skill was checked; it refuses nothing.
    let validator = jsonschema::validator_for(schema).ok()?;
    let problems: Vec<String> = validator
        .iter_errors(value)
        .take(SHOWN)
        .map(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the result".to_owned() } else { format!("`{place}`") };
            let text: String = error.to_string().chars().take(200).collect();
            format!("{place}: {text}")
        })
        .collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_that_does_not_fit_is_told_where() {
        let schema =
            json!({"type": "object", "required": ["events"], "properties": {"events": {"type": "array"}}});
        assert_eq!(problem(&schema, &json!({"events": []})), None);
        let found = problem(&schema, &json!({"events": 3})).unwrap();
        assert!(found.starts_with("`/events`: "), "{found}");
        assert!(problem(&schema, &json!([])).unwrap().starts_with("the result: "));
        assert_eq!(problem(&json!({"type": "no such type"}), &json!(1)), None);
    }
}
