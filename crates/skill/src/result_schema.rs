//! A declared JSON Schema for a subagent's result: is it one we can hold a result to, and is it met.
//!
//! The part of JSON Schema that people write for results. A keyword that would constrain and is not known here is refused
//! when the skill is read, never passed over; nothing is ever fetched. (The usual validators draw random numbers, which
//! this room must not.)

use crate::problems::shorten;
use fugato_model::{Words, words};
use serde_json::{Map, Value};
use std::cell::Cell;

/// Problems of one result that are told; a model repairs the first few and sees the rest next time.
const TOLD: usize = 5;
/// References that refer to references; deeper is a circle.
const MAX_DEPTH: usize = 64;

/// Why a schema cannot be used. `Ok`: it can.
pub fn check(schema: &Value) -> Result<(), Words> {
    look(schema, schema, "#", 0)
        .map_err(|why| words!("not a usable JSON Schema: {why}", "不是可用的 JSON Schema：{why}"))
}

/// Does the result meet the schema? The words name each place that does not.
pub fn meets(schema: &Value, result: &Value) -> Result<(), Words> {
    // A schema was checked when the skill was; one that cannot be used says nothing about the result.
    if check(schema).is_err() {
        return Ok(());
    }
    let left = Cell::new(MAX_STEPS);
    let mut judge = Judge { root: schema, wrong: Vec::new(), left: &left };
    judge.value(schema, result, "", 0);
    if judge.wrong.is_empty() {
        return Ok(());
    }
    let wrong = judge.wrong.join("; ");
    Err(words!("the result does not meet its schema: {wrong}", "结果不符合声明的 schema：{wrong}"))
}

/// Keywords that say nothing about whether a value is good.
const NOTES: [&str; 11] = [
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
    "$defs",
    "definitions",
];
/// Keywords with a schema, a list of schemas, or a map of schemas.
const INNER: [&str; 10] = [
    "items",
    "additionalProperties",
    "not",
    "anyOf",
    "oneOf",
    "allOf",
    "properties",
    "$defs",
    "definitions",
    "contains",
];
const KNOWN: [&str; 24] = [
    "type",
    "enum",
    "const",
    "$ref",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "contains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minProperties",
    "maxProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Comparisons of a schema with a value before it is given up: large results need a few thousand, and references that
/// double at each level would need more than there is time.
const MAX_STEPS: u32 = 200_000;

/// Looks for what would be passed over.
fn look(root: &Value, schema: &Value, place: &str, depth: usize) -> Result<(), String> {
    let fields = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(fields) if depth < MAX_DEPTH => fields,
        Value::Object(_) => return Err(format!("{} is nested too deep", shorten(place))),
        _ => return Err(format!("{} is not a map", shorten(place))),
    };
    for (key, value) in fields {
        let here = format!("{place}/{key}");
        let is_known = KNOWN.contains(&key.as_str()) || NOTES.contains(&key.as_str());
        if !is_known {
            return Err(format!("the keyword `{}` is not supported", shorten(&here)));
        }
        match key.as_str() {
            "type" => {
                types(value).map(|_| ()).ok_or_else(|| format!("{here}: expected {}", TYPES.join(", ")))?;
            }
            "$ref" => {
                follow(root, value)
                    .ok_or_else(|| format!("{here}: only `#/$defs/NAME` can be referred to"))?;
            }
            key if INNER.contains(&key) => match value {
                Value::Array(list) => {
                    list.iter().try_for_each(|inner| look(root, inner, &here, depth + 1))?;
                }
                Value::Object(map) if matches!(key, "properties" | "$defs" | "definitions") => {
                    map.iter().try_for_each(|(name, inner)| {
                        look(root, inner, &format!("{here}/{name}"), depth + 1)
                    })?;
                }
                inner => look(root, inner, &here, depth + 1)?,
            },
            _ => {}
        }
    }
    Ok(())
}

fn types(value: &Value) -> Option<Vec<&str>> {
    let list: Vec<&str> = match value {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    list.iter().all(|name| TYPES.contains(name)).then_some(list)
}

fn follow<'s>(root: &'s Value, reference: &Value) -> Option<&'s Value> {
    root.pointer(reference.as_str()?.strip_prefix('#')?)
}

struct Judge<'s> {
    root: &'s Value,
    wrong: Vec<String>,
    left: &'s Cell<u32>,
}

impl Judge<'_> {
    fn say(&mut self, place: &str, what: &str) {
        if self.wrong.len() < TOLD {
            let place = if place.is_empty() { "/" } else { place };
            self.wrong.push(format!("{}: {}", shorten(place), shorten(what)));
        }
    }

    fn value(&mut self, schema: &Value, value: &Value, place: &str, depth: usize) {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(false) => return self.say(place, "nothing is allowed here"),
            _ => return,
        };
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left == 0 {
            return self.say(place, "the schema is too costly for this result");
        }
        if depth > MAX_DEPTH {
            return self.say(place, "the schema refers to itself without end");
        }
        if let Some(inner) = fields.get("$ref").and_then(|reference| follow(self.root, reference)) {
            self.value(inner, value, place, depth + 1);
        }
        if let Some(types) = fields.get("type").and_then(types)
            && !types.iter().any(|name| is_type(value, name))
        {
            let found = name_of(value);
            return self.say(place, &format!("expected {}, found {found}", types.join(" or ")));
        }
        if let Some(Value::Array(list)) = fields.get("enum")
            && !list.iter().any(|allowed| canonical(allowed) == canonical(value))
        {
            let allowed = list.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
            self.say(place, &format!("expected one of {allowed}"));
        }
        if let Some(only) = fields.get("const").filter(|only| canonical(only) != canonical(value)) {
            self.say(place, &format!("expected {only}"));
        }
        self.combined(fields, value, place, depth);
        match value {
            Value::Object(object) => self.object(fields, object, place, depth),
            Value::Array(list) => self.list(fields, list, place, depth),
            Value::String(text) => self.size(fields, ["minLength", "maxLength"], text.chars().count(), place),
            Value::Number(number) => self.number(fields, number.as_f64().unwrap_or_default(), place),
            _ => {}
        }
    }

    fn is_met(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        let mut judge = Judge { root: self.root, wrong: Vec::new(), left: self.left };
        judge.value(schema, value, "", depth + 1);
        judge.wrong.is_empty()
    }

    fn combined(&mut self, fields: &Map<String, Value>, value: &Value, place: &str, depth: usize) {
        let list = |key: &str| fields.get(key).and_then(Value::as_array);
        for inner in list("allOf").into_iter().flatten() {
            self.value(inner, value, place, depth + 1);
        }
        let met = |list: &Vec<Value>| list.iter().filter(|inner| self.is_met(inner, value, depth)).count();
        let (any, one) = (list("anyOf").map(met), list("oneOf").map(met));
        if any == Some(0) {
            self.say(place, "none of `anyOf` fits");
        }
        if let Some(count) = one.filter(|count| *count != 1) {
            self.say(place, &format!("{count} of `oneOf` fit, expected 1"));
        }
        if fields.get("not").is_some_and(|inner| self.is_met(inner, value, depth)) {
            self.say(place, "what `not` excludes");
        }
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        object: &Map<String, Value>,
        place: &str,
        depth: usize,
    ) {
        for name in fields.get("required").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = name.as_str().filter(|name| !object.contains_key(*name)) {
                self.say(place, &format!("`{name}` is missing"));
            }
        }
        let properties = fields.get("properties").and_then(Value::as_object);
        for (name, inner) in object {
            let here = format!("{place}/{name}");
            match (properties.and_then(|known| known.get(name)), fields.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(schema)) => self.value(schema, inner, &here, depth + 1),
                (None, None) => {}
            }
        }
        self.size(fields, ["minProperties", "maxProperties"], object.len(), place);
    }

    fn list(&mut self, fields: &Map<String, Value>, list: &[Value], place: &str, depth: usize) {
        if let Some(schema) = fields.get("items") {
            for (at, inner) in list.iter().enumerate() {
                self.value(schema, inner, &format!("{place}/{at}"), depth + 1);
            }
        }
        if fields.get("contains").is_some_and(|schema| !list.iter().any(|v| self.is_met(schema, v, depth))) {
            self.say(place, "nothing in the list is what `contains` asks for");
        }
        if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = std::collections::HashSet::with_capacity(list.len());
            if !list.iter().all(|value| seen.insert(canonical(value))) {
                self.say(place, "an element is there twice");
            }
        }
        self.size(fields, ["minItems", "maxItems"], list.len(), place);
    }

    fn size(&mut self, fields: &Map<String, Value>, [min, max]: [&str; 2], found: usize, place: &str) {
        let limit = |key: &str| fields.get(key).and_then(Value::as_u64);
        let found = u64::try_from(found).unwrap_or(u64::MAX);
        if let Some(limit) = limit(min).filter(|limit| found < *limit) {
            self.say(place, &format!("{min} is {limit}, found {found}"));
        }
        if let Some(limit) = limit(max).filter(|limit| found > *limit) {
            self.say(place, &format!("{max} is {limit}, found {found}"));
        }
    }

    fn number(&mut self, fields: &Map<String, Value>, found: f64, place: &str) {
        type Breaks = fn(f64, f64) -> bool;
        let rules: [(&str, Breaks); 4] = [
            ("minimum", |found, limit| found < limit),
            ("maximum", |found, limit| found > limit),
            ("exclusiveMinimum", |found, limit| found <= limit),
            ("exclusiveMaximum", |found, limit| found >= limit),
        ];
        for (key, breaks) in rules {
            if let Some(limit) = fields.get(key).and_then(Value::as_f64).filter(|limit| breaks(found, *limit))
            {
                self.say(place, &format!("{key} is {limit}, found {found}"));
            }
        }
    }
}

fn is_type(value: &Value, name: &str) -> bool {
    match (name, value) {
        ("integer", Value::Number(number)) => number.as_f64().is_some_and(|number| number.fract() == 0.0),
        ("number", Value::Number(_)) => true,
        (name, value) => name == name_of(value),
    }
}

/// Equal for values that are equal: `2` is `2.0`, and keys have no order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string())
        }
        Value::Array(list) => format!("[{}]", list.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let mut fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value)))
                .collect();
            fields.sort_unstable();
            format!("{{{}}}", fields.join(","))
        }
        other => other.to_string(),
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
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
        assert!(meets(&schema, &json!([])).unwrap_err().en.contains("/: expected object, found array"));
    }

    #[test]
    fn what_is_no_schema_lies_elsewhere_or_would_be_passed_over_is_refused() {
        for schema in [
            json!({"type": "objekt"}),
            json!({"$ref": "https://example.com/x.json"}),
            json!({"$ref": "#/$defs/none"}),
            json!({"properties": {"a": {"pattern": "x"}}}),
            json!({"items": 3}),
        ] {
            assert!(check(&schema).is_err(), "{schema}");
            assert_eq!(meets(&schema, &json!(1)), Ok(()));
        }
    }

    #[test]
    fn a_circle_of_references_ends() {
        let schema = json!({"$ref": "#"});
        assert!(meets(&schema, &json!(1)).is_err());
        let doubling = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}});
        assert!(meets(&doubling, &json!(1)).is_err());
        let tree = json!({"properties": {"left": {"$ref": "#"}}, "required": ["n"]});
        assert!(meets(&tree, &json!({"n": 1, "left": {"n": 2, "left": {}}})).is_err());
        assert_eq!(meets(&tree, &json!({"n": 1, "left": {"n": 2}})), Ok(()));
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            Just(json!(true)),
            (-3..6_i64).prop_map(|n| json!(n)),
            Just(json!(1.5)),
            Just(json!(2.0)),
            "[ab]{0,3}".prop_map(|text| json!(text)),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[ab]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn schema() -> impl Strategy<Value = Value> {
        let limit = || 0..4_i64;
        let leaf = prop_oneof![
            proptest::sample::select(&TYPES[..]).prop_map(|name| json!({"type": name})),
            proptest::collection::vec(value(), 1..3).prop_map(|list| json!({"enum": list})),
            value().prop_map(|only| json!({"const": only})),
            (limit(), limit()).prop_map(|(a, b)| json!({"minimum": a, "exclusiveMaximum": b})),
            (limit(), limit()).prop_map(|(a, b)| json!({"minItems": a, "maxItems": b, "uniqueItems": true})),
            (limit(), limit()).prop_map(|(a, b)| json!({"minLength": a, "maxLength": b, "maxProperties": b})),
            Just(json!({"required": ["a"], "additionalProperties": false, "properties": {"a": true}})),
        ];
        leaf.prop_recursive(3, 10, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|inner| json!({"items": inner})),
                inner.clone().prop_map(|inner| json!({"contains": inner})),
                inner.clone().prop_map(|inner| json!({"not": inner})),
                (inner.clone(), inner.clone())
                    .prop_map(|(a, b)| json!({"properties": {"a": a}, "additionalProperties": b})),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"anyOf": [a, b]})),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"oneOf": [a, b]})),
                (inner.clone(), inner).prop_map(|(a, b)| json!({"allOf": [a, b]})),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_answer_is_that_of_a_whole_validator(inner in schema(), value in value(), refers in any::<bool>()) {
            let schema = if refers { json!({"$ref": "#/$defs/x", "$defs": {"x": inner}}) } else { inner };
            prop_assert_eq!(check(&schema), Ok(()));
            let whole = jsonschema::draft202012::new(&schema).unwrap().is_valid(&value);
            prop_assert_eq!(meets(&schema, &value).is_ok(), whole, "{} {}", schema, value);
        }
    }
}
