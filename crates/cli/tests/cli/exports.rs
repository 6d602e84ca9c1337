//! The files of runs as other programs find them, through the binary.

use crate::runs::{project, run};
use fugato_testkit::TestEnv;
use serde_json::Value;
use std::path::PathBuf;

fn state(env: &TestEnv) -> PathBuf {
    let output = env.command().arg("path").output().unwrap();
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

/// A file by the path the seed builds: through the pointer, with the agent's id as it is.
fn export(env: &TestEnv, file: &str) -> Value {
    let bytes = std::fs::read(state(env).join("orchestrator").join(file)).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn answer(env: &TestEnv) {
    let id = env.fugato("runs --json").exits(0).json()["runs"][0]["id"].as_str().unwrap().to_owned();
    env.run(["answer", &id, "林"]).exits(0);
}

fn statuses(run: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    run["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| (text(&agent["id"]), text(&agent["status"])))
        .collect()
}

#[test]
fn other_programs_find_a_run_its_agents_and_their_streams_by_the_seeds_paths() {
    let env = project();
    run(&env).exits(6);
    let found = export(&env, "run.json");
    assert_eq!(found["status"], "running", "it waits for a person, which needs no process");
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(id, status)| ((*id).to_owned(), (*status).to_owned())).collect::<Vec<_>>()
    };
    let expected = [
        ("setup/fetch", "done"),
        ("setup/directives", "failed"),
        ("gather/write", "done"),
        ("interact", "awaiting_input"),
        ("main", "awaiting_input"),
    ];
    assert_eq!(statuses(&found), pairs(&expected));
    assert_eq!(found["dependencies"]["gather/write"], serde_json::json!(["setup/directives", "setup/fetch"]));
    assert_eq!(found["dependencies"]["interact"], serde_json::json!(["gather/write"]));
    for (id, status) in expected {
        let file = export(&env, &format!("agents/{id}/status.json"));
        assert_eq!((&file["agent_id"], &file["status"]), (&Value::from(id), &Value::from(status)));
    }
    let stream = std::fs::read_to_string(state(&env).join("orchestrator/agents/main/stream.jsonl")).unwrap();
    assert!(stream.lines().last().unwrap().contains("你叫什么名字？"), "{stream}");
    answer(&env);
    let found = export(&env, "run.json");
    assert_eq!(found["status"], "complete");
    assert!(
        statuses(&found).iter().all(|(id, status)| status == "done" || id == "setup/directives"),
        "{found}"
    );
}

#[test]
fn doctor_sees_damaged_files_and_rebuilds_them_from_the_log() {
    let env = project();
    run(&env).exits(6);
    answer(&env);
    let finding = |env: &TestEnv, line: &str| {
        let document = env.fugato(line).json();
        let findings = document["findings"].as_array().unwrap().clone();
        let exports = findings.into_iter().find(|finding| finding["name"] == "exports").unwrap();
        (exports["health"].as_str().unwrap().to_owned(), document["rebuilt"].clone())
    };
    assert_eq!(finding(&env, "doctor --json").0, "ok");
    let before = export(&env, "run.json");
    std::fs::remove_dir_all(state(&env).join("runs")).unwrap();
    std::fs::remove_file(state(&env).join("orchestrator")).unwrap();
    assert_eq!(finding(&env, "doctor --json").0, "warning");
    env.fugato("doctor").says(&["1 of 1 run not up to date", "fugato doctor --rebuild"]);
    env.fugato("doctor --lang zh").says(&["1 个运行中有 1 个不是最新"]);
    let (health, rebuilt) = finding(&env, "doctor --rebuild --json");
    assert_eq!(
        (health.as_str(), &rebuilt["runs"], &rebuilt["intact"]),
        ("ok", &Value::from(1), &Value::from(0))
    );
    assert_eq!(rebuilt["failed"], serde_json::json!([]));
    assert_eq!(export(&env, "run.json"), before);
    env.fugato("doctor --rebuild").says(&["1 run: 0 files written anew"]);
    assert_eq!(finding(&env, "doctor --json").0, "ok");
}

#[test]
fn a_state_directory_with_something_in_the_way_runs_all_the_same_and_warns() {
    let env = project();
    let state = state(&env);
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("runs"), "in the way").unwrap();
    // Scripts need a place to work under `runs`; a plain skill does not.
    env.skill("greet", "name: greet\ndescription: Greets.");
    env.fugato("run greet --model echo")
        .exits(0)
        .says(&["the run itself goes on", "fugato doctor --rebuild"]);
    env.fugato("doctor --rebuild").says(&["1 run: 3 files written anew"]);
    assert_eq!(std::fs::read_to_string(state.join(".quarantine/runs.1")).unwrap(), "in the way");
}
