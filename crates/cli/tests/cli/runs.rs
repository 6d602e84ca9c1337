//! Running skills from the binary: order, failure, questions, budgets, and kill -9.

use crate::env;
use fugato_testkit::{Ran, TestEnv};
use std::time::{Duration, Instant};

const SKILL: &str = r#"name: brief
description: Writes a brief. Use in the morning.
debug: true
phases:
  - name: setup
    parallel: true
    subagents:
      - skill: _sub/fetch
        type: script
        output: FILES
      - skill: _sub/directives
        type: explore
        output: DIRECTIVES
        optional: true
        on_error: no directives today
  - name: gather
    depends_on: [setup]
    subagents:
      - skill: _sub/write
        type: explore
        args: "files={{FILES}} scope={{TARGET_DATE}}"
        output: BRIEF
  - name: interact
    depends_on: [gather]
    inline: true
    sets: [NAME]"#;

/// A project with the seed's example: a script, an optional step that fails, a model step, an inline question.
pub fn project() -> TestEnv {
    let env = env();
    env.write(
        ".agents/skills/brief/SKILL.md",
        format!("---\n{SKILL}\n---\n# brief\n\n## interact\n\nAsk for a name. The brief: {{{{BRIEF}}}}\n"),
    );
    let script = "metadata:\n  fugato-run: scripts/main.sh\n  fugato-effect: read\n";
    sub(&env, "fetch", script);
    env.write(
        ".agents/skills/brief/_sub/fetch/scripts/main.sh",
        "#!/bin/sh\nsleep \"${SLOW:-0}\"\necho ran >> counter.txt\necho '{\"files\": 3}'\n",
    );
    sub(&env, "directives", "");
    sub(&env, "write", "");
    env.write(
        "model.yaml",
        r#"- when: {agent: setup/directives}
  reply: '{"success": false, "message": "no such file"}'
- when: {agent: gather/write}
  reply: "```json\n{\"text\": \"三件事\"}\n```"
  usage: {input_tokens: 100, output_tokens: 10}
- when: {agent: main, step: 1}
  tools: [{name: ask_user, arguments: {question: "你叫什么名字？"}}]
- when: {agent: main, step: 2}
  tools: [{name: submit_result, arguments: {result: {NAME: 林}}}]
"#,
    );
    env
}

fn sub(env: &TestEnv, name: &str, more: &str) {
    let text = format!("---\nname: {name}\ndescription: Part of brief.\n{more}---\nDo it.\n");
    env.write(format!(".agents/skills/brief/_sub/{name}/SKILL.md"), text);
}

pub fn run(env: &TestEnv) -> Ran {
    env.fugato("run brief 2026-02-15 --model script:model.yaml")
}

fn newest(env: &TestEnv) -> serde_json::Value {
    env.fugato("runs --json").exits(0).json()["runs"][0].clone()
}

#[test]
fn the_seeds_example_runs_in_its_order_with_its_debug_lines_and_waits_for_the_answer() {
    let env = project();
    let ran = run(&env).exits(6);
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("[orchestrator]")).collect();
    let at = |text: &str| {
        lines
            .iter()
            .position(|line| line.starts_with(text))
            .unwrap_or_else(|| panic!("{text}\n{}", ran.stderr))
    };
    assert!(
        at("[orchestrator] Starting phase: setup") < at("[orchestrator] Spawning: _sub/fetch (type: script)")
    );
    assert!(at("[orchestrator] Set FILES: {\"files\":3}") < at("[orchestrator] Phase setup completed in "));
    assert!(at("[orchestrator] Phase setup completed") < at("[orchestrator] Starting phase: gather"));
    assert!(at("[orchestrator] Phase gather completed") < at("[orchestrator] Starting phase: interact"));
    ran.says(&["no directives today", "no such file", "你叫什么名字？", "fugato answer run_"]);
    let id = newest(&env)["id"].as_str().unwrap().to_owned();
    assert_eq!(newest(&env)["status"], "awaiting_input");
    let answered = env.run(["answer", &id, "林黛玉", "--json"]).exits(0).json();
    assert_eq!(answered["schema"], "fugato.run/v1");
    assert_eq!(answered["status"], "complete");
    assert_eq!(answered["variables"]["NAME"], "林");
    assert_eq!(answered["variables"]["DIRECTIVES"], serde_json::Value::Null);
    assert_eq!(answered["variables"]["BRIEF"], serde_json::json!({"text": "三件事"}));
    env.run(["answer", &id, "again"]).exits(7);
    env.run(["resume", &id]).exits(7).says(&["complete"]);
    env.run(["trace", &id]).exits(0).says(&["setup/fetch", "│ resumed", "interact"]);
    env.run(["cost", &id]).exits(0).says(&["gather/write", "110 tokens"]);
    env.run(["events", &id]).exits(0).says(&["run.created", "input.answered", "run.ended"]);
    assert_eq!(env.read("counter.txt"), "ran\n", "the finished script was not run again");
}

#[test]
fn a_plan_is_drawn_without_a_model() {
    let env = project();
    env.fugato("plan brief tomorrow").exits(0).says(&["setup", "▼", "→ FILES", "optional", "TARGET_DATE"]);
    let plan = env.fugato("plan brief --json").exits(0).json();
    assert_eq!(plan["schema"], "fugato.plan/v1");
}

#[test]
fn a_failure_nothing_catches_ends_the_run_with_its_message() {
    let env = project();
    env.write(".agents/skills/brief/_sub/fetch/scripts/main.sh", "#!/bin/sh\necho broken >&2\nexit 3\n");
    run(&env).exits(1).says(&["setup/fetch", "broken", "abort"]);
    assert_eq!(newest(&env)["status"], "failed");
    // After the fault new work succeeds.
    env.write(".agents/skills/brief/_sub/fetch/scripts/main.sh", "#!/bin/sh\necho ok\n");
    run(&env).exits(6);
}

#[test]
fn a_wrong_skill_is_refused_before_anything_runs_with_all_problems() {
    let env = project();
    let broken =
        SKILL.replace("depends_on: [gather]", "depends_on: [gathr]").replace("_sub/write", "_sub/nothing");
    env.write(".agents/skills/brief/SKILL.md", format!("---\n{broken}\n---\n# brief\n"));
    run(&env).exits(1).says(&["gather", "_sub/nothing"]);
    assert!(!env.project().join("counter.txt").exists());
    env.fugato("run breif").exits(3).says(&["brief"]);
}

#[test]
fn a_budget_ends_the_run_and_raising_it_goes_on_where_it_was() {
    let env = project();
    let ran = env.fugato("run brief --model script:model.yaml --budget-tokens 50").exits(8);
    ran.says(&["budget", "fugato resume"]);
    env.fugato("resume").exits(8).says(&["--budget-tokens"]);
    env.fugato("resume --budget-tokens 100000").exits(6);
    assert_eq!(env.read("counter.txt"), "ran\n");
}

#[test]
fn events_stream_as_lines_of_json() {
    let env = project();
    let ran = env.fugato("run brief --model script:model.yaml --jsonl").exits(6);
    let kinds: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            event["kind"]["type"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(kinds.first().map(String::as_str), Some("run.created"));
    assert!(kinds.contains(&"node.completed".to_owned()) && kinds.contains(&"input.requested".to_owned()));
}

#[test]
fn a_plain_skill_is_one_agent() {
    let env = env();
    env.skill("greet", "name: greet\ndescription: Greets.");
    env.write("m.yaml", "- when: {agent: main}\n  reply: 你好\n");
    env.fugato("run greet --model script:m.yaml").exits(0).says(&["你好"]);
    env.fugato("run greet").exits(8).says(&["no model is configured", "fugato demo"]);
}

/// Kills at many moments; each time the run is resumed and comes to the same point, and no finished step is done twice.
#[test]
fn kill_9_at_any_moment_loses_nothing_and_repeats_nothing_finished() {
    let kills = std::env::var("FUGATO_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12u64);
    for number in 0..kills {
        let env = project();
        env.write("counter.txt", "");
        let mut child = env
            .command()
            .args(["run", "brief", "--model", "script:model.yaml"])
            .env("SLOW", "0.05")
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(number * 150 / kills.max(1)));
        child.kill().unwrap();
        child.wait().unwrap();
        let runs = env.fugato("runs --json");
        if runs.code == 3 || runs.json()["runs"].as_array().unwrap().is_empty() {
            // Killed before the run existed: then nothing may have happened.
            assert_eq!(env.read("counter.txt"), "");
            continue;
        }
        let id = newest(&env)["id"].as_str().unwrap().to_owned();
        let was_done = is_done(&env, &id);
        let before = env.read("counter.txt");
        if newest(&env)["status"] == "interrupted" {
            env.run(["resume", &id]).exits(6);
        }
        assert_eq!(newest(&env)["status"], "awaiting_input", "kill {number}");
        if was_done {
            assert_eq!(env.read("counter.txt"), before, "kill {number}: a finished script ran again");
        }
        env.run(["answer", &id, "x"]).exits(0);
        assert!(is_done(&env, &id));
    }
}

fn is_done(env: &TestEnv, id: &str) -> bool {
    let trace = env.run(["trace", id, "--json"]).exits(0).json();
    trace["bars"].as_array().unwrap().iter().any(|bar| bar["id"] == "setup/fetch" && bar["state"] == "done")
}

#[test]
fn ctrl_c_stops_gracefully_and_says_how_to_go_on() {
    let env = project();
    let child = env
        .command()
        .args(["run", "brief", "--model", "script:model.yaml"])
        .env("SLOW", "30")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while env.fugato("runs --json").code != 0 && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(30));
    }
    std::thread::sleep(Duration::from_millis(200));
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("fugato resume run_"));
    env.fugato("resume").exits(6);
}
