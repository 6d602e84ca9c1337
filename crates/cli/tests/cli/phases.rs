//! Skills with phases through the binary: each sentence of the contract that a person would notice.

use crate::{env, workspace};
use fugato_testkit::{Ran, TestEnv};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A skill of the project with these phases (indented as under `phases:`).
fn skill(env: &TestEnv, name: &str, phases: &str, body: &str) {
    let text =
        format!("---\nname: {name}\ndescription: Does it. Use for tests.\nphases:\n{phases}---\n{body}");
    env.write(format!(".agents/skills/{name}/SKILL.md"), text);
}

/// A sub-skill that is a program.
fn script(env: &TestEnv, path: &str, program: &str) {
    let name = path.rsplit('/').next().unwrap();
    let text = format!(
        "---\nname: {name}\ndescription: A part.\nmetadata:\n  fugato-run: scripts/main.sh\n  fugato-effect: read\n---\n# {name}\n"
    );
    env.write(format!(".agents/skills/{path}/SKILL.md"), text);
    env.write(format!(".agents/skills/{path}/scripts/main.sh"), format!("#!/bin/sh\n{program}\n"));
}

/// A sub-skill that a model reads.
fn part(env: &TestEnv, path: &str, body: &str) {
    let name = path.rsplit('/').next().unwrap();
    env.write(
        format!(".agents/skills/{path}/SKILL.md"),
        format!("---\nname: {name}\ndescription: A part.\n---\n{body}\n"),
    );
}

fn run(env: &TestEnv, name: &str) -> Ran {
    env.run(["run", name, "--model", "script:model.yaml"])
}

/// The run as JSON, with its exit code.
fn run_json(env: &TestEnv, name: &str, code: i32) -> Value {
    env.run(["run", name, "--model", "script:model.yaml", "--json"]).exits(code).json()
}

fn newest(env: &TestEnv) -> String {
    env.fugato("runs --json").exits(0).json()["runs"][0]["id"].as_str().unwrap().to_owned()
}

fn node<'v>(run: &'v Value, id: &str) -> &'v Value {
    let nodes = run["nodes"].as_array().unwrap();
    nodes.iter().find(|node| node["id"] == id).unwrap()
}

/// Events of a type, whole.
fn events(env: &TestEnv, id: &str, kind: &str) -> Vec<Value> {
    let ran = env.run(["events", id, "--jsonl"]).exits(0);
    let all = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|event| event["kind"]["type"] == kind).collect()
}

#[test]
fn the_error_table_row_by_row() {
    let env = env();
    let failing = |more: &str| {
        format!(
            "  - name: setup\n    subagents:\n      - skill: _sub/bad\n        type: explore\n        output: X\n        on_error: the notes could not be read\n{more}  - name: after\n    depends_on: [setup]\n    subagents:\n      - skill: _sub/echo\n        type: script\n        args: \"x={{{{X}}}}\"\n        output: SEEN\n"
        )
    };
    for (name, more) in
        [("row1", "        optional: true\n"), ("row2", "        fallback: inline\n"), ("row3", "")]
    {
        skill(&env, name, &failing(more), "# x\n");
        part(&env, &format!("{name}/_sub/bad"), "Read the notes.");
        script(&env, &format!("{name}/_sub/echo"), "sed -n 's/.*\"args\":\"\\([^\"]*\\)\".*/\\1/p'");
    }
    env.write(
        "model.yaml",
        "- when: {agent: setup/bad}\n  reply: '{\"success\": false, \"message\": \"no such file\"}'\n- when: {agent: main, text: Read the notes.}\n  reply: '{\"X\": \"by hand\"}'\n",
    );
    // Optional: a warning, null, and on.
    let ran = run(&env, "row1").exits(0);
    ran.says(&["no such file", "the notes could not be read", "`X` is null; nothing is inserted"]);
    let row1 = run_json(&env, "row1", 0);
    assert_eq!((&row1["variables"]["X"], &row1["variables"]["SEEN"]), (&Value::Null, &json!("x=")));
    assert_eq!(node(&row1, "setup/bad")["status"], "failed_optional");
    assert_eq!(node(&row1, "after/echo")["warnings"], json!(["`X` is null; nothing is inserted"]));
    // Fallback: the sub-skill's text in the main conversation, as attempt 2.
    let row2 = run_json(&env, "row2", 0);
    assert_eq!(row2["variables"]["SEEN"], "x=by hand");
    assert_eq!((&node(&row2, "setup/bad")["attempt"], &row2["agents"][1]["id"]), (&json!(2), &json!("main")));
    // Nothing catches it: the run ends, the message is shown, what came after never ran.
    run(&env, "row3").exits(1).says(&["no such file", "the notes could not be read", "failed"]);
    let row3 = run_json(&env, "row3", 1);
    assert_eq!(
        (&row3["status"], &node(&row3, "after/echo")["status"]),
        (&json!("failed"), &json!("skipped"))
    );
}

#[test]
fn an_abort_stops_its_siblings_and_leaves_no_process() {
    let env = env();
    let three = "  - name: all\n    parallel: true\n    subagents:\n      - {skill: _sub/slow, type: script}\n      - {skill: _sub/slower, type: script}\n      - {skill: _sub/bad, type: script}\n";
    skill(&env, "abort", three, "# x\n");
    // Each sleeper has a child of its own, and one of them does not listen.
    script(&env, "abort/_sub/slow", "echo $$ > slow.pid; sleep 600 & echo $! > slow.child; wait");
    script(
        &env,
        "abort/_sub/slower",
        "trap '' TERM; echo $$ > slower.pid; sleep 601 & echo $! > slower.child; wait",
    );
    let wait =
        "while [ ! -s slow.child ] || [ ! -s slower.child ]; do sleep 0.05; done; echo broken >&2; exit 4";
    script(&env, "abort/_sub/bad", wait);
    env.write("model.yaml", "[]\n");
    run(&env, "abort").exits(1).says(&["broken", "exit code 4"]);
    for file in ["slow.pid", "slow.child", "slower.pid", "slower.child"] {
        let pid = env.read(file).trim().to_owned();
        assert!(!is_alive(&pid), "{file}: {pid} is still there");
    }
}

/// A zombie that nobody has buried yet is dead.
fn is_alive(pid: &str) -> bool {
    let shown = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[test]
fn typed_answers_are_stored_typed_and_a_wrong_one_is_refused() {
    let env = env();
    let phases = "  - name: ask\n    inline: true\n    sets: [COUNT, SURE, COLOUR, DATA, NOTE]\n  - name: use\n    depends_on: [ask]\n    subagents:\n      - {skill: _sub/echo, type: script, args: '{{COUNT}} {{SURE}} {{COLOUR}} {{DATA.a[0]}}', output: SEEN}\n";
    skill(&env, "form", phases, "# form\n\n## ask\n\nAsk.\n");
    script(&env, "form/_sub/echo", "sed -n 's/.*\"args\":\"\\([^\"]*\\)\".*/\\1/p'");
    let ask = |step: u32, more: &str| {
        format!(
            "- when: {{agent: main, step: {step}}}\n  tools: [{{name: ask_user, arguments: {{question: q{step}, {more}}}}}]\n"
        )
    };
    let model = [
        ask(1, "type: number, variable: COUNT"),
        ask(2, "type: boolean, variable: SURE"),
        ask(3, "type: choice, options: [red, 蓝], variable: COLOUR"),
        ask(4, "type: json, variable: DATA"),
        ask(5, "type: number, variable: OTHER"),
        "- when: {agent: main, step: 6}\n  tools: [{name: submit_result, arguments: {result: {NOTE: done}}}]\n".into(),
    ];
    env.write("model.yaml", model.concat());
    run(&env, "form").exits(6);
    let id = newest(&env);
    env.run(["answer", &id, "many"]).exits(7).says(&["`many` is not a number"]);
    env.run(["answer", &id, "3"]).exits(6);
    env.run(["answer", &id, "perhaps"]).exits(7);
    env.run(["answer", &id, "yes"]).exits(6);
    env.run(["answer", &id, "green"]).exits(7).says(&["1. red, 2. 蓝"]);
    env.run(["answer", &id, "2"]).exits(6);
    let ended = env.run(["answer", &id, "{\"a\": [7]}", "--json"]).exits(0).json();
    let expected = json!({"COUNT": 3, "SURE": true, "COLOUR": "蓝", "DATA": {"a": [7]}, "NOTE": "done"});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&ended["variables"][name], value, "{name}");
    }
    assert_eq!(ended["variables"]["SEEN"], "3 true 蓝 7");
    assert!(ended["variables"].get("OTHER").is_none(), "only what the phase sets");
}

#[test]
fn today_is_the_day_of_the_zone_and_the_zone_is_recorded() {
    let env = env();
    skill(&env, "day", "  - name: a\n    inline: true\n", "{{TODAY}} {{TODAY_ZONE}}\n");
    let context = |zone: &str, arguments: &str| {
        let mut command = env.command();
        command.args(["plan", "day", arguments, "--json"]).env("TZ", zone);
        let shown: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        shown["context"].clone()
    };
    // 26 hours apart: never the same day, whatever time it is.
    let (east, west) = (context("UTC-14", "tomorrow"), context("UTC+12", "2026-02-15"));
    assert!(east["TODAY"].as_str().unwrap() > west["TODAY"].as_str().unwrap(), "{east} {west}");
    assert!(east["TARGET_DATE"].as_str().unwrap() > east["TODAY"].as_str().unwrap());
    assert_eq!(west["TARGET_DATE"], "2026-02-15");
    assert_eq!((&east["TODAY_ZONE"], &west["TODAY_ZONE"]), (&json!("+14"), &json!("-12")));
}

#[test]
fn a_sub_skill_may_be_an_installed_one_and_a_way_back_is_refused() {
    let env = env();
    let one = |skill: &str| {
        format!("  - name: a\n    subagents:\n      - {{skill: {skill}, type: script, output: X}}\n")
    };
    skill(&env, "outer", &one("get-words"), "# outer\n");
    script(&env, "get-words", "echo '{\"success\": true, \"X\": \"here\"}'");
    let internal = env.read(".agents/skills/get-words/SKILL.md").replace("name:", "internal: true\nname:");
    env.write(".agents/skills/get-words/SKILL.md", internal);
    env.write("model.yaml", "[]\n");
    assert_eq!(run_json(&env, "outer", 0)["variables"]["X"], "here");
    // What is internal runs for others, not for its name.
    env.fugato("run get-words --model echo").exits(8).says(&["internal", "only another skill"]);
    // The raw text of the program is in the log although the value was taken out of it.
    let printed = events(&env, &newest(&env), "node.printed");
    assert_eq!(printed[0]["kind"]["stdout"], "{\"success\": true, \"X\": \"here\"}\n");
    skill(&env, "outer", &one("get-word"), "# outer\n");
    run(&env, "outer").exits(1).says(&["did you mean `get-words`?"]);
    skill(&env, "outer", &one("inner"), "# outer\n");
    skill(&env, "inner", &one("outer"), "# inner\n");
    run(&env, "outer").exits(1).says(&["leads back to itself: outer ──→ inner ──→ outer"]);
    env.fugato("skill check").exits(1).says(&["outer ──→ inner ──→ outer", "inner ──→ outer ──→ inner"]);
}

const ALL_AT_ONCE: &str = r#"error[F0804]: depends_on: phases depend on each other in a cycle: a ──→ c ──→ b ──→ a
  --> .agents/skills/bad/SKILL.md:6:18
   |
 6 |     depends_on: [c]
   |                  ^
   |
  ::: .agents/skills/bad/SKILL.md:9:18
   |
 9 |     depends_on: [a]
   |                  - `b` depends on `a`
   |
  ::: .agents/skills/bad/SKILL.md:12:18
   |
12 |     depends_on: [b]
   |                  - `c` depends on `b`
   |
   = help: take one of these dependencies out

error[F0808]: output: two parallel subagents write `X`: line 17 and line 18
  --> .agents/skills/bad/SKILL.md:18:47
   |
17 |       - {skill: _sub/x, type: script, output: X}
   |                                               - and here
18 |       - {skill: _sub/x, type: script, output: X}
   |                                               ^
   |
   = help: output: X_2

error[F0803]: depends_on: phase `use` depends on `gathr`, which does not exist
  --> .agents/skills/bad/SKILL.md:20:18
   |
20 |     depends_on: [gathr]
   |                  ^^^^^
   |
   = help: did you mean `gather`?

error[F0810]: phases[4].subagents[0].args: `{{Y.z` is not closed by `}}` on its line
  --> .agents/skills/bad/SKILL.md:22:46
   |
22 |       - {skill: _sub/x, type: script, args: "{{Y.z"}
   |                                              ^^^^^
   |
   = help: write `{{{{` for a literal `{{`

"#;

#[test]
fn every_problem_of_a_skill_is_told_at_once_before_anything_runs() {
    let env = env();
    let phases = "  - name: a\n    depends_on: [c]\n    inline: true\n  - name: b\n    depends_on: [a]\n    inline: true\n  - name: c\n    depends_on: [b]\n    inline: true\n  - name: gather\n    parallel: true\n    subagents:\n      - {skill: _sub/x, type: script, output: X}\n      - {skill: _sub/x, type: script, output: X}\n  - name: use\n    depends_on: [gathr]\n    subagents:\n      - {skill: _sub/x, type: script, args: \"{{Y.z\"}\n";
    skill(&env, "bad", phases, "# bad\n");
    script(&env, "bad/_sub/x", "touch ran");
    let checked = env.fugato("skill check").exits(1);
    assert_eq!(checked.stdout, ALL_AT_ONCE);
    let all = [
        ("F0804", "phases depend on each other in a cycle: a ──→ c ──→ b ──→ a"),
        ("F0808", "two parallel subagents write `X`: line 17 and line 18"),
        ("F0803", "phase `use` depends on `gathr`, which does not exist"),
        ("F0810", "`{{Y.z` is not closed by `}}` on its line"),
    ];
    let json = env.fugato("skill check --json").exits(1).json();
    let told = json["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| (found["code"].as_str().unwrap(), found["message"].as_str().unwrap()));
    assert_eq!(told.collect::<Vec<_>>(), all);
    assert_eq!(json["summary"], json!({"skills": 1, "ok": 0, "warning": 0, "invalid": 1, "profiles": 0}));
    checked.says(&["1 skill: 0 ok, 0 with problems, 1 invalid · 4 errors, 0 warnings"]);
    // Running and planning say the same, and do nothing.
    for command in ["run bad --model echo", "plan bad"] {
        let ran = env.fugato(command).exits(1);
        ran.says(&all.map(|(_, message)| message)).says(&["did you mean `gather`?"]);
    }
    assert!(!env.project().join("ran").exists());
}

#[test]
fn profiles_in_a_directory_are_checked_and_other_json_is_not() {
    let env = env();
    env.skill("x", "name: x\ndescription: d");
    env.write("conf/deep/profile.jsonc", "// ours\n{\"mode\": \"lop\"}");
    env.write("conf/package.json", "{\"name\": \"not ours\", \"nested\": {\"mode\": 1}}");
    env.write("conf/s/SKILL.md", "---\nname: s\ndescription: d\n---\n");
    let json = env.fugato("skill check conf --json").exits(1).json();
    assert_eq!(json["profiles"], json!(["conf/deep/profile.jsonc"]));
    assert!(json["diagnostics"][0]["message"].as_str().unwrap().contains("lop"));
}

#[test]
fn phases_move_into_a_side_file_and_mean_the_same() {
    let env = env();
    let phases = "  - name: a  # keep me\n    subagents:\n      - {skill: _sub/x, type: script, args: \"{{ARGUMENTS}}\", output: X}\n";
    skill(&env, "x", phases, "# x\n");
    script(&env, "x/_sub/x", "echo ok");
    env.write("model.yaml", "[]\n");
    let before = run_json(&env, "x", 0);
    env.write(".agents/skills/x/phases.yaml", "mine: true\n");
    env.fugato("skill check --fix portable").exits(8).says(&["phases.yaml"]);
    assert_eq!(env.read(".agents/skills/x/phases.yaml"), "mine: true\n");
    std::fs::remove_file(env.project().join(".agents/skills/x/phases.yaml")).unwrap();
    env.fugato("skill check --fix portable").exits(0).says(&["repaired 1 file"]);
    assert!(env.read(".agents/skills/x/SKILL.md").contains("fugato-phases: phases.yaml"));
    assert_eq!(run_json(&env, "x", 0)["variables"], before["variables"]);
    // The older key is read, too; phases in both places are nobody's guess.
    let text = env.read(".agents/skills/x/SKILL.md").replace("fugato-phases", "phases_file");
    env.write(".agents/skills/x/SKILL.md", &text);
    assert_eq!(run_json(&env, "x", 0)["variables"], before["variables"]);
    let both = text.replace("metadata:", "phases:\n  - {name: a, inline: true}\nmetadata:");
    env.write(".agents/skills/x/SKILL.md", both);
    run(&env, "x").exits(1).says(&["F0801", "names a file with phases"]);
}

#[test]
fn sloppy_files_load_with_warnings_and_run() {
    let env = env();
    // An unquoted colon, a name that is not the directory's, and a sub-skill without any frontmatter.
    env.write(
        ".agents/skills/morning/SKILL.md",
        "---\nname: Morning_Brief\ndescription: Use when: the day begins\nphases:\n  - name: go\n    subagents:\n      - skill: _sub/plain/SKILL.md\n        type: explore\n        output: X\n---\n# x\n",
    );
    env.write(".agents/skills/morning/_sub/plain/SKILL.md", "# Plain\n\nSay hello.\n");
    env.write("model.yaml", "- when: {text: Say hello.}\n  reply: 'X: hello'\n");
    env.fugato("skill check").says(&["F01", "--fix"]);
    let ran = run_json(&env, "morning-brief", 0);
    assert_eq!(ran["variables"]["X"], "hello");
    assert_eq!(run_json(&env, "./.agents/skills/morning", 0)["variables"]["X"], "hello");
    env.fugato("skill check --fix").says(&["repaired 1 file"]);
    assert_eq!(run_json(&env, "morning-brief", 0)["variables"]["X"], "hello");
}

#[test]
fn a_skill_that_models_may_not_start_is_started_by_people() {
    let env = env();
    env.skill("quiet", "name: quiet\ndescription: d\ndisable-model-invocation: true");
    env.write("model.yaml", "- when: {agent: main}\n  reply: hi\n");
    run(&env, "quiet").exits(0).says(&["hi"]);
}

#[test]
fn a_result_that_breaks_its_schema_is_repaired_once() {
    let env = env();
    let phases = "  - name: a\n    subagents:\n      - skill: _sub/x\n        type: explore\n        output: X\n        schema: {type: object, required: [n], properties: {n: {type: integer}}}\n";
    skill(&env, "s", phases, "# s\n");
    part(&env, "s/_sub/x", "Count.");
    env.write(
        "model.yaml",
        "- when: {agent: a/x, step: 1}\n  reply: '{\"n\": \"three\"}'\n- when: {agent: a/x, text: does not meet its schema}\n  reply: '{\"n\": 3}'\n",
    );
    assert_eq!(run_json(&env, "s", 0)["variables"]["X"], json!({"n": 3}));
    env.write("model.yaml", "- when: {agent: a/x}\n  reply: '{\"n\": \"three\"}'\n");
    let failed = run_json(&env, "s", 1);
    assert_eq!(failed["agents"][0]["steps"], 2, "one repair, no second");
    assert!(failed["reason"].as_str().unwrap().contains("/n: "), "{failed}");
}

#[test]
fn a_large_value_is_read_by_reference() {
    let env = env();
    let phases = "  - name: a\n    subagents:\n      - {skill: _sub/big, type: script, output: NOTES}\n  - name: b\n    depends_on: [a]\n    subagents:\n      - {skill: _sub/read, type: explore, requires: [NOTES], output: LAST}\n";
    skill(&env, "big", phases, "# big\n");
    script(
        &env,
        "big/_sub/big",
        "i=0; while [ $i -lt 9000 ]; do echo \"line $i of the notes\"; i=$((i+1)); done",
    );
    part(&env, "big/_sub/read", "Read NOTES.");
    env.write(
        "model.yaml",
        "- when: {agent: b/read, step: 1, text: artifact:NOTES}\n  tools: [{name: Read, arguments: {path: 'artifact:NOTES', offset: 8999}}]\n- when: {agent: b/read, text: line 8999 of the notes}\n  reply: 'LAST: found'\n",
    );
    let ran = run_json(&env, "big", 0);
    assert_eq!(ran["variables"]["LAST"], "found");
    let started = events(&env, &newest(&env), "agent.started");
    assert!(started[0]["kind"]["prompt"].to_string().len() < 8000);
}

#[test]
fn order_inside_a_parallel_phase_follows_the_data_and_a_phase_that_is_off_leaves_null() {
    let env = env();
    let phases = "  - name: p\n    parallel: true\n    subagents:\n      - {skill: _sub/second, type: script, args: \"{{FIRST}}\", output: SECOND}\n      - {skill: _sub/first, type: script, output: FIRST}\n  - name: off\n    enabled: false\n    subagents:\n      - {skill: _sub/nothing, type: explore, output: OFF}\n  - name: end\n    depends_on: [p, off]\n    subagents:\n      - {skill: _sub/second, type: script, args: \"[{{OFF}}]{{SECOND}}\", requires: [\"OFF?\", SECOND], output: END}\n";
    skill(&env, "order", phases, "# order\n");
    script(&env, "order/_sub/first", "sleep 0.1; echo one");
    script(&env, "order/_sub/second", "sed -n 's/.*\"args\":\"\\([^\"]*\\)\".*/<\\1>/p'");
    env.write("model.yaml", "[]\n");
    let ran = run(&env, "order").exits(0);
    ran.says(&["F0815", "this one waits for it"]);
    assert_eq!(run_json(&env, "order", 0)["variables"]["END"], "<[]<one>>");
    // Without `?` null is not enough, and the failure says which.
    let text = env.read(".agents/skills/order/SKILL.md").replace("OFF?", "OFF");
    env.write(".agents/skills/order/SKILL.md", text);
    run(&env, "order").exits(1).says(&["required variable `OFF` is null"]);
}

#[test]
fn a_path_that_leads_nowhere_says_where_it_stands_and_on_error_is_shown() {
    let env = env();
    let phases = "  - name: a\n    subagents:\n      - {skill: _sub/list, type: script, output: CAL}\n  - name: b\n    depends_on: [a]\n    subagents:\n      - skill: _sub/list\n        type: script\n        args: \"{{CAL.events[9].title}}\"\n        on_error: no such event\n";
    skill(&env, "cal", phases, "# cal\n");
    script(&env, "cal/_sub/list", "echo '{\"events\": [1, 2]}'");
    env.write("model.yaml", "[]\n");
    run(&env, "cal").exits(1).says(&["`CAL.events` has 2 elements", "line 13, column 16", "no such event"]);
}

#[test]
fn every_example_with_phases_runs_with_its_scripted_model() {
    for (example, arguments, answer, result) in [
        ("daily-brief", "2026-02-15", "the launch plan", ("FOCUS", json!("the launch plan"))),
        ("fan-in", "葬花", "2", ("CHOICE", json!("宝玉"))),
    ] {
        let env = env();
        copy(&workspace().join("examples").join(example), &env.project().join(example));
        copy(&workspace().join("examples").join(example).join("sample"), &env.project());
        let model = format!("script:{example}/model.yaml");
        let path = format!("./{example}");
        env.run(["skill", "check", &path]).exits(0);
        env.run(["plan", &path, arguments]).exits(0);
        env.run(["run", &path, arguments, "--model", &model]).exits(6);
        let ended = env.run(["answer", &newest(&env), answer, "--json"]).exits(0).json();
        assert_eq!(ended["status"], "complete", "{ended}");
        assert_eq!(ended["variables"][result.0], result.1);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, name) = {
            let entry = entry.unwrap();
            (entry.path(), entry.file_name())
        };
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// `outer` calls `outer/_sub/brief`, which has phases of its own.
fn with_inner_phases(env: &TestEnv) {
    let calls = "  - name: gather\n    subagents:\n      - {skill: _sub/brief, type: general-purpose, args: 'about {{ARGUMENTS}}', output: BRIEF}\n  - name: report\n    depends_on: [gather]\n    subagents:\n      - {skill: _sub/say, type: script, args: '{{BRIEF.args}}', output: REPORT}\n";
    skill(env, "outer", calls, "# x\n");
    let inner = "  - name: collect\n    subagents:\n      - {skill: _sub/fetch, type: script, args: 'x={{ARGUMENTS}}', output: FACTS}\n  - name: sum\n    depends_on: [collect]\n    subagents:\n      - {skill: _sub/sum, type: script, args: '{{FACTS.args}}', output: SUMMARY}\n";
    skill(env, "outer/_sub/brief", inner, "# brief\n");
    script(env, "outer/_sub/brief/_sub/fetch", "cat");
    script(env, "outer/_sub/brief/_sub/sum", "cat");
    script(env, "outer/_sub/say", "cat");
    env.write("model.yaml", "- when: {agent: '*'}\n  reply: no\n");
}

#[test]
fn a_sub_skill_with_phases_runs_as_a_graph_of_its_own() {
    let env = env();
    with_inner_phases(&env);
    let plan = env.run(["plan", "outer", "tea"]).exits(0);
    plan.says(&[
        "brief  general-purpose (phases, below)",
        "gather/brief  the phases of _sub/brief",
        "collect",
    ]);
    let ran = env.run(["run", "outer", "tea", "--model", "script:model.yaml", "--json"]).exits(0).json();
    assert_eq!(ran["variables"]["BRIEF"]["args"], "x=about tea");
    assert_eq!(ran["variables"]["REPORT"]["args"], "x=about tea");
    assert_eq!(ran["variables"]["REPORT"]["context"]["ARGUMENTS"], "tea");
    assert_eq!(ran["variables"].get("FACTS"), None, "inside is inside");
    assert_eq!(node(&ran, "gather/brief/sum/sum")["status"], "done");
    let first = newest(&env);
    env.run(["trace", &first]).exits(0).says(&["gather/brief/collect/fetch"]);
    let exported = env.run(["runs", "show", &first]).exits(0);
    exported.says(&["gather/brief/collect/fetch", "gather/brief/sum/sum"]);
    // From inside: what was before it is not run again, what waits for the call is.
    let again = env.run(["rerun", &first, "--from", "gather/brief/sum", "--model", "script:model.yaml"]);
    again.exits(0).says(&["1 of 4 nodes keep their results, 3 run"]);
    let started: Vec<Value> = events(&env, &newest(&env), "node.started")
        .iter()
        .map(|event| event["kind"]["node"].clone())
        .collect();
    let number = |id: &str| {
        let nodes = events(&env, &first, "run.created")[0]["kind"]["spec"]["plan"]["nodes"].clone();
        json!(nodes.as_array().unwrap().iter().position(|node| node["id"] == id).unwrap())
    };
    assert_eq!(started, ["gather/brief", "gather/brief/sum/sum", "report/say"].map(number));
}

#[test]
fn the_failure_of_an_inner_phase_is_told_with_its_place_and_goes_on_from_there() {
    let env = env();
    with_inner_phases(&env);
    script(&env, "outer/_sub/brief/_sub/sum", "echo broken >&2; exit 3");
    let ran = env.run(["run", "outer", "tea", "--model", "script:model.yaml"]).exits(1);
    ran.says(&["`gather/brief/sum/sum`: the script", "broken", "--from gather/brief/sum"]);
    script(&env, "outer/_sub/brief/_sub/sum", "cat");
    let id = newest(&env);
    let again =
        env.run(["rerun", &id, "--from", "gather/brief/sum", "--model", "script:model.yaml"]).exits(0);
    again.says(&["1 of 4 nodes keep their results"]);
}

#[test]
fn problems_of_inner_phases_are_all_told_before_anything_runs() {
    let env = env();
    with_inner_phases(&env);
    let inner = "  - name: collect\n    subagents:\n      - {skill: _sub/gone, type: script, args: 'x={{NOBODY}}', output: FACTS}\n";
    skill(&env, "outer/_sub/brief", inner, "# brief\n");
    let ran = run(&env, "outer").exits(1);
    ran.says(&["_sub/brief/SKILL.md:7", "F0807", "F0809", "NOBODY"]);
    env.run(["skill", "check"]).exits(1).says(&["outer/_sub/brief/SKILL.md:7", "F0809"]);
    // Ways that multiply: ten calls of a skill that calls ten times a skill with ten phases.
    let calls = "      - {skill: many, type: explore}\n".repeat(10);
    skill(&env, "outer", &format!("  - name: a\n    subagents:\n{calls}"), "# x\n");
    let calls = "      - {skill: few, type: explore}\n".repeat(10);
    skill(&env, "many", &format!("  - name: a\n    subagents:\n{calls}"), "# x\n");
    let phases: String = (0..10).map(|at| format!("  - {{name: p{at}, inline: true}}\n")).collect();
    skill(&env, "few", &phases, "# x\n");
    run(&env, "outer").exits(1).says(&["F0812", "more than 500 phases"]);
}

#[test]
fn what_a_script_writes_is_streamed_while_it_runs() {
    let env = env();
    skill(
        &env,
        "speaks",
        "  - name: a\n    subagents:\n      - {skill: _sub/say, type: script, output: X}\n",
        "# x\n",
    );
    // It ends only when what it wrote before has been seen.
    script(
        &env,
        "speaks/_sub/say",
        "echo working >&2\nwhile [ ! -e seen.txt ]; do sleep 0.02; done\necho done",
    );
    env.write("model.yaml", "- when: {agent: '*'}\n  reply: no\n");
    let mut child = env
        .command()
        .args(["run", "speaks", "--model", "script:model.yaml", "--jsonl", "--stream"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut live = Vec::new();
    for line in lines.map_while(Result::ok) {
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["type"] == "live" {
            assert_eq!(line["agent"], "a/say");
            live.push(line["text"].as_str().unwrap().to_owned());
            env.write("seen.txt", "");
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(live.concat(), "working\ndone\n");
    assert_eq!(events(&env, &newest(&env), "node.completed").len(), 1, "live text is no event");
}
