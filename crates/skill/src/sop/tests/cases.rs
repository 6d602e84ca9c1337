//! Every case of the contract, word for word.

use super::*;
use serde_json::Value as Json;

fn cases() -> Vec<Json> {
    let file: Json = serde_json::from_str(include_str!("../../../tests/fixtures/sop-cases.json")).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn strings(json: &Json) -> Vec<String> {
    json.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn check_variables(id: &str, interpreter: &Interpreter, expected: &Json) {
    let found: serde_json::Map<String, Json> =
        interpreter.values().map(|(name, value)| (name.to_string(), value.to_string().into())).collect();
    assert_eq!(&Json::Object(found), expected, "{id}");
}

#[test]
fn every_case_of_the_contract_holds() {
    let cases = cases();
    assert_eq!(cases.len(), 29);
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        if case.get("updates").is_some() {
            updates(id, case["updates"].as_array().unwrap());
            continue;
        }
        let parsed = Program::parse(case["script"].as_str().unwrap());
        if let Some(expected) = case.get("error") {
            let found: Vec<String> = parsed.unwrap_err().iter().map(ToString::to_string).collect();
            assert_eq!(found, [expected.as_str().unwrap()], "{id}");
        } else if let Some(part) = case.get("error_contains") {
            let found = parsed.unwrap_err();
            assert!(
                found.len() == 1 && found[0].to_string().contains(part.as_str().unwrap()),
                "{id}: {found:?}"
            );
        } else {
            let mut interpreter = Interpreter::new(parsed.unwrap(), Budget::default());
            assert_eq!(run(&mut interpreter), strings(&case["commandHistory"]), "{id}");
            check_variables(id, &interpreter, &case["variables"]);
            let failed: Vec<Json> = interpreter
                .failed()
                .map(|(name, value)| serde_json::json!({"variable": &**name, "reason": value.to_string()}))
                .collect();
            assert_eq!(Json::Array(failed), case["onFail"], "{id}");
        }
    }
}

fn updates(id: &str, steps: &[Json]) {
    let mut interpreter = Interpreter::new(Program::default(), Budget::default());
    for step in steps {
        match Program::parse(step["script"].as_str().unwrap()) {
            Ok(program) => {
                interpreter.update(program).unwrap();
                assert_eq!(run(&mut interpreter), strings(&step["commandsThisRun"]), "{id}");
                check_variables(id, &interpreter, &step["variables"]);
            }
            Err(found) => {
                assert_eq!(found[0].to_string(), step["error"].as_str().unwrap(), "{id}");
                assert_eq!(found.len(), 1);
            }
        }
    }
}
