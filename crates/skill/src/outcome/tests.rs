use super::*;
use proptest::prelude::*;
use serde_json::json;

fn name(text: &str) -> VarName {
    VarName::parse(text).unwrap()
}

fn read(text: &str) -> Parsed {
    from_text(text, Some(&name("VAULT"))).unwrap()
}

fn unreadable_words(text: &str) -> String {
    let failure = from_text(text, None).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unreadable, "{text}");
    assert!(!failure.message.zh.is_empty());
    failure.message.en
}

#[test]
fn the_order_of_the_contract_is_kept() {
    let all = "{\"a\": 1}\nVAULT: /kv\n```json\n{\"VAULT\": \"/first\"}\n```\n\n```JSON\n{\"VAULT\": \"/x\"}\n```\nVAULT: /y\n{\"z\": 2}";
    let parsed = read(all);
    assert_eq!((parsed.value, parsed.how, parsed.warnings.len()), (json!("/x"), How::FencedJson, 1));
    let parsed = read("See {this}. {\"VAULT\": \"/a\"} then {\"VAULT\": \"/b\"}.\nVAULT: /kv");
    assert_eq!((parsed.value, parsed.how, parsed.warnings.len()), (json!("/b"), How::BalancedObject, 1));
    let parsed = read("I looked.\n\nThere it was.\nVAULT: /kv\n");
    assert_eq!((parsed.value, parsed.how), (json!("/kv"), How::KeyValue));
    let parsed = read("  Just a sentence: nothing more.\n");
    assert_eq!((parsed.value, parsed.how), (json!("Just a sentence: nothing more."), How::Text));
}

#[test]
fn an_object_with_the_outputs_key_is_unwrapped() {
    let output = name("VAULT");
    let submitted = from_submitted(json!({"success": true, "VAULT": {"root": "/v"}}), Some(&output)).unwrap();
    assert_eq!((submitted.value, submitted.how), (json!({"root": "/v"}), How::Submitted));
    let other = from_submitted(json!({"success": true, "path": "/v"}), Some(&output)).unwrap();
    assert_eq!(other.value, json!({"success": true, "path": "/v"}));
    let nobody = from_submitted(json!({"VAULT": 1}), None).unwrap();
    assert_eq!(nobody.value, json!({"VAULT": 1}));
    let null = from_submitted(json!({"VAULT": null}), Some(&output)).unwrap();
    assert_eq!((null.value, null.warnings.len()), (Value::Null, 1));
    assert_eq!(from_submitted(json!([1]), Some(&output)).unwrap().value, json!([1]));
}

#[test]
fn a_reported_failure_is_a_failure_with_its_message() {
    for (text, says) in [
        ("```json\n{\"success\": false, \"message\": \"no calendar\"}\n```", "no calendar"),
        ("{\"success\": false, \"error\": \"qmd_not_configured\"}", "qmd_not_configured"),
        ("{\"success\": false, \"error\": {\"message\": \"deep\"}}", "deep"),
        ("success: false\nmessage: \"not there\"", "not there"),
        ("{\"success\": false}", "without a message"),
    ] {
        let failure = from_text(text, None).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Reported, "{text}");
        assert!(failure.message.en.contains(says), "{}", failure.message.en);
    }
    assert!(from_text("{\"success\": \"false\"}", None).is_ok());
}

#[test]
fn json_that_breaks_a_rule_is_not_guessed_at_and_the_key_is_named() {
    for (body, says) in [
        ("{\"a\": {\"b\": NaN}}", "`a.b`"),
        ("{\"a\": [1, {\"n\": 1e400}]}", "`a[1].n`"),
        ("{\"x\": 1, \"x\": 2}", "duplicate key, at key `x`"),
        ("{\"x\": 1 // why\n}", "line 1"),
        ("{\"x\": ", "EOF"),
        ("", "EOF"),
    ] {
        let fenced = format!("```json\n{body}\n```");
        assert!(unreadable_words(&fenced).contains(says), "{body}: {}", unreadable_words(&fenced));
    }
    assert!(unreadable_words("```json\n{\"a\": 1,").contains("not closed"));
    assert!(unreadable_words("Here: {\"VAULT\": \"/x\", \"list\": [1, ").contains("cut"));
    assert!(unreadable_words("{\"a\": 1, \"a\": 2}").contains("duplicate"));
    // A broken block counts although an earlier one is whole: which one is meant cannot be known.
    assert!(from_text("```json\n{}\n```\n```json\n{\n```", None).is_err());
}

#[test]
fn prose_with_braces_is_prose() {
    for text in ["Use {name} and {{VAR}}.", "fn main() { let x = {1}; }", "a { b", "{\"quotes\"} are fine"] {
        assert_eq!(read(text).how, How::Text, "{text}");
    }
    let parsed = read("Use {\"quotes\"} here: {\"VAULT\": 1}");
    assert_eq!((parsed.value, parsed.how), (json!(1), How::BalancedObject));
    // An object inside of a broken one is not what was meant.
    assert_eq!(read("{\"a\": {\"b\": 1}, oops}").how, How::Text);
}

#[test]
fn lists_of_objects_are_kept_whole() {
    let parsed = read("Events:\n[{\"a\": 1}, {\"a\": 2}]\nThat is all [1].");
    assert_eq!((parsed.value, parsed.how), (json!([{"a": 1}, {"a": 2}]), How::BalancedObject));
    assert_eq!(read("```\n[1, 2]\n```").value, json!([1, 2]));
    assert_eq!(read("```sh\n{ echo; }\n```").how, How::Text);
}

#[test]
fn pairs_are_taken_only_where_they_are_the_answer() {
    let parsed = read("$VAULT = \"/x\"\n- **COUNT:** 3\n");
    assert_eq!(parsed.value, json!("/x"));
    let parsed = from_text("RESULT_KEY: result_value\nURL: https://example.org/a:b\nDone.", None).unwrap();
    assert_eq!(parsed.value, json!({"RESULT_KEY": "result_value", "URL": "https://example.org/a:b"}));
    let brief = "# Brief\n\nA long day.\nTODO: rest\nNote: nothing\nSee https://example.org\n";
    assert_eq!(from_text(brief, None).unwrap().how, How::Text);
    assert_eq!(read("```\nVAULT: /in/code\n```\ntext").how, How::Text);
}

#[test]
fn a_program_gives_one_document_or_text() {
    let output = name("CONFIG");
    assert_eq!(from_program("{\"CONFIG\": {\"a\": 1}}\n", Some(&output)).unwrap().value, json!({"a": 1}));
    assert_eq!(from_program("KEY: value\n", Some(&output)).unwrap().value, json!("KEY: value"));
    assert!(from_program("{\"a\": ", None).is_err());
    assert!(from_program("{\"success\": false, \"message\": \"m\"}", None).is_err());
}

#[test]
fn hostile_texts_are_fast() {
    let started = std::time::Instant::now();
    for part in ["{\"a\":", "{", "[{", "[{},", "{\"a\":\"", "```\n", "```json\n{", "[ ", "A: b\n", "{}"] {
        let text = part.repeat(300_000 / part.len());
        let _ = from_text(&text, None);
        let _ = from_text(&format!("{text} x"), None);
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

proptest! {
    #[test]
    fn any_text_has_an_outcome(
        text in "(\\PC|\n|```|```json\n|~~~|\\{\"|\":|\\}|\\[|\\]|[0-9A-Z_$=:,. ]|技){0,80}",
    ) {
        let output = name("A");
        if let Ok(parsed) = from_text(&text, Some(&output)) && parsed.how == How::Text {
            prop_assert_eq!(parsed.value, Value::String(text.trim().to_owned()));
        }
        let _ = from_program(&text, Some(&output));
    }

    #[test]
    fn a_fenced_value_comes_back(text in "(\\PC|\n|\"){0,30}", before in "[^`~{}\\[\\]]{0,20}") {
        let value = json!({"text": text, "list": [1, null, {"k": text}]});
        let answer = format!("{before}\n```json\n{value}\n```\nDone.");
        prop_assert_eq!(from_text(&answer, None).unwrap().value, value.clone());
        let answer = format!("{before} {value} done");
        prop_assert_eq!(from_text(&answer, None).unwrap().value, value);
    }
}
