//! Orchestrators through the binary: what they may call, how they prepare, what they own, what is refused.

use crate::env;
use crate::go::{events, lines};
use fugato_testkit::TestEnv;
use serde_json::{Value, json};

/// A descriptor of the project.
pub fn oskill(env: &TestEnv, name: &str, rest: &str) {
    let text = format!("# {name}\n\n## Description\nDoes {name}. Use in tests.\n\n{rest}");
    env.write(format!(".agents/skills/{name}/oskill.md"), text);
}

/// A skill that is a program: it notes every call in `calls.log`, and runs these lines of a shell.
pub fn script(env: &TestEnv, name: &str, lines: &str) {
    let text = format!(
        "---\nname: {name}\ndescription: The script {name}.\nmetadata:\n  fugato-run: main.sh\n  fugato-effect: read\n---\nDo.\n"
    );
    env.write(format!(".agents/skills/{name}/SKILL.md"), text);
    let prompt = r#"sed -n 's/.*"prompt"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/\1/p'"#;
    let script =
        format!("#!/bin/sh\nset -eu\nprompt=$({prompt})\necho \"{name} $prompt\" >> calls.log\n{lines}\n");
    env.write(format!(".agents/skills/{name}/main.sh"), script);
}

/// What was really called, in order.
pub fn calls(env: &TestEnv) -> Vec<String> {
    let log = std::fs::read_to_string(env.project().join("calls.log")).unwrap_or_default();
    log.lines().map(|line| line.trim().to_owned()).collect()
}

pub fn model(env: &TestEnv, rules: &Value) {
    // JSON is YAML.
    env.write("model.yaml", rules.to_string());
}

/// A rule: when, and the one tool it calls.
pub fn rule(when: Value, tool: &str, arguments: Value) -> Value {
    let mut call = json!({"name": tool});
    call["arguments"] = arguments;
    let mut rule = json!({"tools": [call]});
    rule["when"] = when;
    rule
}

pub const MODEL: [&str; 2] = ["--model", "script:model.yaml"];

fn three(env: &TestEnv) {
    for name in ["alpha", "beta", "gamma"] {
        script(env, name, &format!("echo \"{name} says $prompt\""));
    }
}

fn admitted(env: &TestEnv, name: &str) -> (Vec<String>, Vec<String>, String) {
    let ran = env.run(["plan", name, "--json"]).exits(0);
    let names = |list: &Value| -> Vec<String> {
        let all = list.as_array().into_iter().flatten();
        all.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let orchestrator = &ran.json()["orchestrator"];
    (names(&orchestrator["allowed"]), names(&orchestrator["preparation"]["allowed"]), ran.stderr)
}

#[test]
fn the_four_states_of_an_allowlist() {
    let env = env();
    three(&env);
    oskill(&env, "desk", "## Session\nloop\n");
    let (allowed, _, told) = admitted(&env, "desk");
    assert_eq!(allowed, ["alpha", "beta", "gamma"]);
    assert!(told.contains("F1201") && told.contains("all skills exposed"), "{told}");

    oskill(&env, "desk", "## Session\nloop\n\n## Allowed Skills\n");
    let (allowed, _, told) = admitted(&env, "desk");
    assert!(allowed.is_empty() && told.contains("F1202"), "{told}");

    oskill(
        &env,
        "desk",
        "## Session\nloop\n\n## Allowed Skills\n- beta (the second)\n1. alpha - the first\n",
    );
    assert_eq!(admitted(&env, "desk").0, ["beta", "alpha"]);

    // A name that nobody has neither widens nor empties the list.
    oskill(&env, "desk", "## Session\nloop\n\n## Allowed Skills\n- gamme\n- alpha\n");
    let (allowed, _, told) = admitted(&env, "desk");
    assert_eq!(allowed, ["alpha"]);
    assert!(told.contains("F1204") && told.contains("did you mean `gamma`?"), "{told}");
    oskill(&env, "desk", "## Session\nloop\n\n## Allowed Skills\n- gone\n");
    assert!(admitted(&env, "desk").0.is_empty());
}

#[test]
fn a_list_that_must_be_written_is_asked_for() {
    let env = env();
    three(&env);
    oskill(&env, "desk", "");
    let output = env
        .command()
        .args(["plan", "desk"])
        .env("FUGATO_ORCHESTRATION_OPEN_LISTS", "false")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("F1201") && told.contains("orchestration.open_lists"), "{told}");
    // A project that comes with a clone cannot open what the person has closed.
    env.write("fugato.toml", "[orchestration]\nopen_lists = true\n");
    env.run(["config", "list", "--json"]).exits(0).says(&["orchestration.loop_steps"]);
    env.run(["doctor"]).says(&["open_lists"]);
}

/// Tools that a model was offered, from the rule that fits nobody.
fn prepared_with(env: &TestEnv, session: &str, lists: &str) -> (Vec<String>, String) {
    oskill(env, "desk", &format!("## Session\n{session}\n\n## Preparation\nLook it up.\n\n{lists}"));
    let _ = std::fs::remove_file(env.project().join("calls.log"));
    let answer = match session {
        "loop" => rule(json!({"agent": "main"}), "final_answer", json!({"answer": "done"})),
        _ => json!({"when": {"agent": "main/plan"}, "reply": "@answer final_answer done"}),
    };
    model(
        env,
        &json!([
            rule(json!({"agent": "main/prepare", "step": 2}), "submit_context", json!({"entries": {"fact": "Ada"}})),
            {"when": {"agent": "main/prepare"}, "tools": [
                {"name": "alpha", "arguments": {"prompt": "1"}}, {"name": "beta", "arguments": {"prompt": "2"}},
            ]},
            answer,
        ]),
    );
    env.run(["run", "desk", "who?", MODEL[0], MODEL[1]]).exits(0).says(&["done"]);
    let mut called = calls(env);
    called.sort();
    (called, events(env))
}

#[test]
fn preparation_calls_what_its_own_list_says_on_both_paths() {
    let env = env();
    three(&env);
    for session in ["loop", "sop"] {
        // Without a list of its own, the main one.
        let (called, log) = prepared_with(&env, session, "## Allowed Skills\n- alpha\n");
        assert_eq!(called, ["alpha 1"], "{session}");
        assert_eq!(lines(&log, "tool.refused").filter(|line| line["agent"] == 0).count(), 1, "{log}");
        let lists = "## Allowed Skills\n- alpha\n\n## Allowed-Prep-Skills\n- beta\n";
        assert_eq!(prepared_with(&env, session, lists).0, ["beta 2"], "{session}");
        let lists = "## Allowed Skills\n- alpha\n\n## Allowed-Prep-Skills\n";
        let (called, log) = prepared_with(&env, session, lists);
        assert!(called.is_empty(), "{session}: {called:?}");
        assert_eq!(lines(&log, "tool.refused").count(), 2, "{log}");
        // What it found reaches the session as data.
        let prepared = lines(&log, "session.prepared").next().unwrap();
        assert_eq!(prepared["entries"][0], json!({"name": "fact", "value": "Ada"}));
        let main = lines(&log, "agent.started").nth(1).unwrap();
        assert!(main["prompt"].as_str().unwrap().contains("fact: Ada"), "{session}: {main}");
    }
}

#[test]
fn needing_a_person_in_preparation_fails_it_clearly() {
    let env = env();
    script(&env, "alpha", "echo '{\"requiresInput\": true, \"message\": \"Which year?\"}'");
    oskill(&env, "desk", "## Session\nloop\n\n## Preparation\nLook.\n\n## Allowed Skills\n- alpha\n");
    model(&env, &json!([rule(json!({"agent": "main/prepare"}), "alpha", json!({"prompt": "1"}))]));
    env.run(["run", "desk", "x", MODEL[0], MODEL[1]]).exits(1).says(&["Which year?"]);
}

#[test]
fn a_call_outside_of_the_list_is_refused_and_recorded() {
    let env = env();
    three(&env);
    oskill(&env, "desk", "## Session\nloop\n\n## Allowed Skills\n- alpha\n");
    model(
        &env,
        &json!([
            rule(json!({"agent": "main", "step": 1}), "beta", json!({"prompt": "1"})),
            rule(json!({"agent": "main", "step": 2}), "Bash", json!({"command": "touch made"})),
            rule(json!({"agent": "main", "step": 3}), "alpha", json!({"prompt": "3"})),
            rule(json!({"agent": "main", "step": 4}), "final_answer", json!({"answer": "well"})),
        ]),
    );
    env.run(["run", "desk", "x", MODEL[0], MODEL[1]]).exits(0).says(&["well"]);
    assert_eq!(calls(&env), ["alpha 3"]);
    assert!(!env.project().join("made").exists());
    let log = events(&env);
    let refused: Vec<Value> = lines(&log, "tool.refused").collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused[0].to_string().contains("beta"), "{refused:?}");
}

#[test]
fn a_circle_of_lists_is_refused_before_anything_runs() {
    let env = env();
    three(&env);
    oskill(&env, "one", "## Allowed Skills\n- two\n");
    oskill(&env, "two", "## Allowed Skills\n- alpha\n- one\n");
    for verb in [vec!["run", "one", "x", "--model", "echo"], vec!["plan", "one", "x"]] {
        let ran = env.run(verb).exits(1);
        ran.says(&["F1205", "one -> two -> one", "two/oskill.md:8"]);
    }
    env.run(["plan", "one", "--lang", "zh"]).exits(1).says(&["编排器循环调用"]);
    env.fugato("runs").exits(3).says(&["no runs"]);
}

#[test]
fn what_an_orchestrator_owns_is_not_on_the_surface_of_others_and_stays_callable() {
    let env = env();
    three(&env);
    oskill(&env, "desk", "## Session\nloop\n\n## Allowed Skills\n- alpha\n");
    model(
        &env,
        &json!([
            rule(json!({"skill": "go", "step": 1}), "skill_list", json!({})),
            rule(json!({"skill": "go", "step": 2}), "skill_read", json!({"name": "alpha"})),
            {"when": {"skill": "go"}, "reply": "seen"},
            rule(json!({"agent": "main", "step": 1}), "alpha", json!({"prompt": "1"})),
            rule(json!({"agent": "main"}), "final_answer", json!({"answer": "called"})),
        ]),
    );
    env.run(["go", "look", MODEL[0], MODEL[1]]).exits(0).says(&["seen"]);
    let log = events(&env);
    let catalog = lines(&log, "run.created").next().unwrap()["spec"]["catalog"].to_string();
    assert!(
        catalog.contains("- beta:") && catalog.contains("- desk:") && !catalog.contains("- alpha:"),
        "{catalog}"
    );
    let answers: Vec<Value> = lines(&log, "tool.completed").collect();
    let listed = answers[0]["content"].as_str().unwrap();
    assert!(listed.contains("beta") && !listed.contains("alpha"), "{listed}");
    assert_eq!(answers[1]["is_error"], true, "{}", answers[1]);
    env.run(["run", "desk", "x", MODEL[0], MODEL[1]]).exits(0).says(&["called"]);
    assert_eq!(calls(&env), ["alpha 1"]);

    env.write("p.json", r#"{"mode": "single", "node": {"skills": {"visible": ["*"]}}}"#);
    env.fugato("policy explain p.json --skill alpha").exits(0).says(&["owned by desk"]);
    env.fugato("skill show alpha").exits(0).says(&["owned by", "desk"]);
    let explained = env.fugato("policy explain p.json --skill alpha --json").exits(0).json();
    assert_eq!(explained["agents"][0]["names"][0]["reason"], json!({"reason": "owned", "by": ["desk"]}));
    // Naming it gives it to an agent, and removing the orchestrator to all.
    env.write("p.json", r#"{"mode": "single", "node": {"skills": {"visible": ["alpha"]}}}"#);
    env.fugato("policy explain p.json --skill alpha").exits(0).says(&["✓"]);
    std::fs::remove_dir_all(env.project().join(".agents/skills/desk")).unwrap();
    env.write("p.json", r#"{"mode": "single", "node": {"skills": {"visible": ["*"]}}}"#);
    env.fugato("policy explain p.json --skill alpha").exits(0).says(&["✓"]);
}

#[test]
fn an_orchestrator_calls_no_more_than_the_agent_it_works_for_may_see() {
    let env = env();
    three(&env);
    oskill(
        &env,
        "desk",
        "## Allowed Skills\n- alpha\n- beta\n\n## SOP\n@a alpha 1\n@answer final_answer $a\n",
    );
    let text =
        r#"{"mode": "single", "node": {"id": "writer", "skills": {"visible": ["*"], "deny": ["beta"]}}}"#;
    env.write("p.json", text);
    let agent =
        env.fugato("policy resolve p.json --json").json()["agents"][0]["id"].as_str().unwrap().to_owned();
    let ran =
        env.run(["run", "desk", "x", "--profile", "p.json", "--as", &agent, "--model", "echo"]).exits(0);
    ran.says(&["F1212", "alpha says 1"]);
    // A program that needs what the policy denies does not run at all.
    env.write("p.json", text.replace("beta", "alpha"));
    env.run(["run", "desk", "x", "--profile", "p.json", "--as", &agent, "--model", "echo"])
        .exits(1)
        .says(&["F1211", "alpha"]);
    assert_eq!(calls(&env), ["alpha 1"]);
}

#[test]
fn every_kind_of_skill_can_be_called_and_failures_are_told_to_the_model() {
    let env = env();
    script(&env, "fails", "echo first >&2; echo 'the last line' >&2; exit 3");
    env.skill("plain", "name: plain\ndescription: Reads.");
    let phases = "name: steps\ndescription: Steps.\nphases:\n  - name: a\n    subagents:\n      - {skill: fails, type: script, output: A, optional: true}\n  - name: b\n    depends_on: [a]\n    subagents:\n      - {skill: _sub/w, type: explore, args: 'for {{ARGUMENTS}}', output: B}";
    env.skill("steps", phases);
    env.write(".agents/skills/steps/_sub/w/SKILL.md", "---\nname: w\ndescription: W.\n---\nW.\n");
    oskill(&env, "inner", "## Allowed Skills\n- plain\n\n## SOP\n@a plain $input\n@answer final_answer $a\n");
    oskill(&env, "desk", "## Session\nloop\n\n## Allowed Skills\n- fails\n- plain\n- steps\n- inner\n");
    model(
        &env,
        &json!([
            {"when": {"agent": "main", "step": 1}, "tools": [
                {"name": "fails", "arguments": {"prompt": "1"}}, {"name": "plain", "arguments": {"prompt": "2"}},
                {"name": "steps", "arguments": {"prompt": "3"}}, {"name": "inner", "arguments": {"prompt": "4"}},
            ]},
            rule(json!({"agent": "main"}), "final_answer", json!({"answer": "all four"})),
            {"when": {"agent": "main/steps/b/w"}, "tools": [{"name": "submit_result", "arguments": {"B": "written"}}]},
            {"when": {"agent": "main/plain"}, "reply": "read by an agent"},
            {"when": {"agent": "main/inner/a"}, "reply": "read for the inner one"},
        ]),
    );
    env.run(["run", "desk", "x", MODEL[0], MODEL[1]]).exits(0).says(&["all four"]);
    let log = events(&env);
    let mut told: Vec<(u64, String, bool)> = lines(&log, "tool.completed")
        .filter(|line| line["agent"] == 0)
        .map(|line| {
            let text = line["content"].as_str().unwrap().to_owned();
            (line["index"].as_u64().unwrap(), text, line["is_error"].as_bool().unwrap())
        })
        .collect();
    told.sort();
    assert_eq!(told[0], (0, "failed: the last line".to_owned(), true));
    assert_eq!(told[1], (1, "read by an agent".to_owned(), false));
    assert!(told[2].1.contains("written") && !told[2].2, "{told:?}");
    assert!(told[3].1.contains("read for the inner one") && !told[3].2, "{told:?}");
    // Everything that was added is on every surface.
    let id = crate::go::newest(&env);
    for verb in
        [vec!["runs", "show", &id], vec!["trace", &id], vec!["status", "--run", &id], vec!["cost", &id]]
    {
        env.run(&verb).exits(0).says(&["main/plain", "main/inner/a"]);
    }
    env.run(["events", &id]).exits(0).says(&["node.completed main/steps/b/w"]);
    let show = env.run(["runs", "show", &id, "--json"]).exits(0).json();
    let ids: Vec<&str> =
        show["nodes"].as_array().unwrap().iter().filter_map(|node| node["id"].as_str()).collect();
    for node in
        ["main", "main/fails", "main/plain", "main/steps", "main/steps/b/w", "main/inner", "main/inner/a"]
    {
        assert!(ids.contains(&node), "{node}: {ids:?}");
    }
    let mut screen = crate::terminal::Terminal::whole(&env, &["watch", &id], 100, 40);
    screen.shows("main/steps/b/w");
    screen.type_keys("g");
    screen.shows("└─ ✓ main/inner  orchestrator");
    screen.shows("✓ main/steps/b/w  explore");
    screen.type_keys("q");
    screen.child.wait().unwrap();
    env.run(["replay", &id, "--instant"]).exits(0).says(&["main/steps/b/w"]);
}

#[test]
fn a_nested_orchestrator_knows_the_conversation_of_the_one_that_calls_it() {
    let env = env();
    script(&env, "alpha", "echo 'the harbour is closed'");
    oskill(&env, "inner", "## Session\nloop\n\n## Allowed Skills\n- none\n");
    oskill(&env, "outer", "## Session\nloop\n\n## Allowed Skills\n- alpha\n- inner\n");
    model(
        &env,
        &json!([
            // The inner one is asked about "that", and finds what it is in what it was handed.
            rule(json!({"agent": "main/inner", "task": "the harbour is closed"}), "final_answer",
                json!({"answer": "that is the harbour"})),
            rule(json!({"agent": "main/inner"}), "cannot_complete", json!({"reason": "what is that?"})),
            rule(json!({"agent": "main", "step": 1}), "alpha", json!({"prompt": "news"})),
            rule(json!({"agent": "main", "step": 2}), "inner", json!({"prompt": "why is that?"})),
            {"when": {"agent": "main", "text": "that is the harbour"}, "tools": [
                {"name": "final_answer", "arguments": {"answer": "resolved"}}]},
            rule(json!({"agent": "main"}), "cannot_complete", json!({"reason": "lost"})),
        ]),
    );
    env.run(["run", "outer", "Ada asks about the sea", MODEL[0], MODEL[1]]).exits(0).says(&["resolved"]);
    let log = events(&env);
    let inner = lines(&log, "agent.started").find(|line| line["agent"] == "main/inner").unwrap();
    let prompt = inner["prompt"].as_str().unwrap();
    for part in ["User: Ada asks about the sea", "Call: alpha", "Result: the harbour is closed", "(data)"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert!(prompt.ends_with("why is that?"), "{prompt}");
}

#[test]
fn a_loop_that_does_not_end_uses_up_its_turn_and_can_go_on() {
    let env = env();
    script(&env, "alpha", "echo again");
    oskill(&env, "desk", "## Session\nloop\n\n## Allowed Skills\n- alpha\n");
    model(&env, &json!([rule(json!({"agent": "main"}), "alpha", json!({"prompt": "1"}))]));
    let mut command = env.command();
    command.args(["run", "desk", "x", MODEL[0], MODEL[1]]).env("FUGATO_ORCHESTRATION_LOOP_STEPS", "3");
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(8), "{told}");
    assert_eq!(calls(&env).len(), 3, "{told}");
}

#[test]
fn a_rerun_is_a_new_run_with_the_same_request() {
    let env = env();
    three(&env);
    oskill(&env, "desk", "## Allowed Skills\n- alpha\n\n## SOP\n@a alpha $input\n@answer final_answer $a\n");
    env.run(["run", "desk", "once more", "--model", "echo"]).exits(0).says(&["alpha says once more"]);
    // It has not grown since.
    oskill(
        &env,
        "desk",
        "## Allowed Skills\n- alpha\n- beta\n\n## SOP\n@a alpha $input\n@answer final_answer $a\n",
    );
    let id = crate::go::newest(&env);
    env.run(["rerun", &id]).exits(0).says(&["alpha says once more"]);
    assert_eq!(calls(&env), ["alpha once more"; 2]);
    // What was called while it ran is no node of the plan.
    for from in ["main/a", "a"] {
        let refused = env.run(["rerun", &id, "--from", from]).exits(2);
        refused.says(&["`main` called it while it ran", "--from main runs the whole session again"]);
    }
    env.run(["rerun", &id, "--from", "b"]).exits(3);
    assert_eq!(calls(&env), ["alpha once more"; 2]);
    let log = events(&env);
    let skills = lines(&log, "run.created").next().unwrap()["spec"]["skills"].clone();
    assert_eq!(skills.as_object().unwrap().keys().collect::<Vec<_>>(), ["alpha"]);
}

#[test]
fn a_called_skill_can_be_cancelled_and_its_caller_goes_on() {
    let env = env();
    script(&env, "slow", "touch begun; sleep 60");
    oskill(&env, "desk", "## Session\nloop\n\n## Allowed Skills\n- slow\n");
    model(
        &env,
        &json!([
            rule(json!({"agent": "main", "step": 1}), "slow", json!({"prompt": "1"})),
            rule(json!({"agent": "main"}), "final_answer", json!({"answer": "without it"})),
        ]),
    );
    env.run(["run", "desk", "x", "--detach", MODEL[0], MODEL[1]]).exits(0);
    wait_for(&env, "begun");
    env.run(["status"]).exits(0).says(&["main/slow"]);
    env.run(["intervene", "cancel", "main/slow", "--yes"]).exits(0);
    let id = crate::go::newest(&env);
    env.run(["events", &id, "-f"]).exits(0).says(&["without it"]);
}

/// Until the project has this file.
pub fn wait_for(env: &TestEnv, file: &str) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !env.project().join(file).exists() {
        assert!(std::time::Instant::now() < until, "`{file}` did not come");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
