//! Looking back and running again, from the binary: runs, events -f, rerun --from, diff, replay, export and import.

use crate::env;
use fugato_testkit::TestEnv;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Four steps that leave a trace each time they run; the third fails while a file `broken` is there.
const PHASES: &str = "phases:
  - name: fetch
    parallel: true
    subagents:
      - {skill: _sub/left, type: script, output: LEFT}
      - {skill: _sub/right, type: script, output: RIGHT, optional: true}
  - name: join
    depends_on: [fetch]
    subagents:
      - {skill: _sub/join, type: script, args: 'left={{LEFT}}', output: JOINED}
  - name: write
    depends_on: [join]
    subagents:
      - {skill: _sub/write, type: explore, args: '{{JOINED}} {{TARGET_DATE}}', output: TEXT}";

fn project() -> TestEnv {
    let env = env();
    skill(&env, ".agents/skills/chain");
    env.write("model.yaml", "- when: {agent: write/write}\n  reply: '{\"text\": \"一段文字\"}'\n  usage: {input_tokens: 100, output_tokens: 10}\n");
    env
}

fn skill(env: &TestEnv, dir: &str) {
    let head = format!("---\nname: chain\ndescription: Joins. Use in tests.\n{PHASES}\n---\n# chain\n");
    env.write(format!("{dir}/SKILL.md"), head);
    for (name, script) in [
        ("left", "echo left >> ran.txt; echo '{\"n\": 1}'"),
        ("right", "echo right >> ran.txt; test ! -e no-right || exit 4; echo '{\"n\": 2}'"),
        (
            "join",
            "echo join >> ran.txt; test ! -e broken || { echo broken >&2; exit 3; }; cat value.txt 2>/dev/null || echo '{\"n\": 3}'",
        ),
    ] {
        let text = format!(
            "---\nname: {name}\ndescription: Part.\nmetadata:\n  fugato-run: scripts/main.sh\n  fugato-effect: read\n---\nDo.\n"
        );
        env.write(format!("{dir}/_sub/{name}/SKILL.md"), text);
        env.write(format!("{dir}/_sub/{name}/scripts/main.sh"), format!("#!/bin/sh\n{script}\n"));
    }
    env.write(format!("{dir}/_sub/write/SKILL.md"), "---\nname: write\ndescription: Part.\n---\nWrite.\n");
}

fn start(env: &TestEnv) -> String {
    env.fugato("run chain 2026-02-15 --model script:model.yaml");
    newest(env)
}

fn newest(env: &TestEnv) -> String {
    env.fugato("runs --json").exits(0).json()["runs"][0]["id"].as_str().unwrap().to_owned()
}

/// What has run since the last call.
fn ran(env: &TestEnv) -> Vec<String> {
    let file = env.project().join("ran.txt");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let _ = std::fs::remove_file(file);
    let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn runs_are_listed_newest_first_and_can_be_filtered() {
    let env = project();
    env.fugato("runs").exits(3).says(&["fugato run SKILL"]);
    let first = start(&env);
    env.write("broken", "");
    let second = start(&env);
    let all = env.fugato("runs ls --json").exits(0).json();
    assert_eq!(all["schema"], "fugato.runs/v1");
    let ids: Vec<&str> =
        all["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [second.as_str(), first.as_str()]);
    assert_eq!(all["runs"][0]["status"], "failed");
    assert_eq!(all["runs"][0]["skill"], "chain");
    assert!(all["runs"][0]["started_at"].as_i64().unwrap() > 0);
    let failed = env.fugato("runs ls --status failed --json").exits(0).json();
    assert_eq!(failed["runs"].as_array().unwrap().len(), 1);
    env.fugato("runs ls --skill other").exits(0).says(&["no run fits"]);
    env.fugato("runs ls --limit 1").exits(0).says(&[&second, "--all"]);
    assert!(!env.fugato("runs --limit 1").exits(0).stdout.contains(&first));
    env.fugato("runs ls --status faild").exits(2).says(&["failed"]);
}

#[test]
fn one_page_shows_a_run_with_its_reason_nodes_variables_and_the_next_command() {
    let env = project();
    env.write("broken", "");
    env.write("no-right", "");
    let id = start(&env);
    let page = env.fugato("runs show").exits(0);
    page.says(&[
        "failed",
        "chain",
        "fetch/left",
        "done",
        "failed_optional",
        "join/join",
        "broken",
        "skipped",
    ]);
    page.says(&["LEFT = {\"n\":1}", "RIGHT = null", &format!("fugato rerun {id} --from join")]);
    let page = env.run(["runs", "show", &id, "--json"]).exits(0).json();
    assert_eq!(page["schema"], "fugato.run/v1");
    assert_eq!(page["status"], "failed");
    assert!(page["skill_digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(page["next"], format!("fugato rerun {id} --from join"));
    assert_eq!(page["limits"]["concurrent"], 4);
    env.fugato("runs show run_nothing").exits(3).says(&["F0707"]);
}

#[test]
fn a_failed_run_goes_on_from_the_failed_phase_without_redoing_what_completed() {
    let env = project();
    env.write("broken", "");
    let failed = start(&env);
    assert_eq!(ran(&env), ["join", "left", "right"]);
    env.run(["resume", &failed]).exits(7).says(&[
        "failed",
        "broken",
        &format!("fugato rerun {failed} --from join"),
    ]);
    std::fs::remove_file(env.project().join("broken")).unwrap();
    let again = env.run(["rerun", &failed, "--from", "join", "--json"]).exits(0).json();
    assert_eq!(ran(&env), ["join"]);
    assert_eq!(again["status"], "complete");
    assert_eq!(again["variables"]["LEFT"], json!({"n": 1}));
    assert_eq!(again["variables"]["TEXT"], json!({"text": "一段文字"}));
    let id = again["id"].as_str().unwrap();
    assert_eq!(env.run(["runs", "show", id, "--json"]).exits(0).json()["parent"], failed.as_str());
    let reused: Vec<&Value> =
        again["nodes"].as_array().unwrap().iter().filter(|node| node["reused"] == true).collect();
    assert_eq!(reused.len(), 2);
    env.run(["trace", id]).exits(0).says(&["fetch/left", "reused", "write/write"]);
    env.run(["runs", "show", id]).exits(0).says(&["reused", &failed]);
    // A rerun of the rerun knows what both ran.
    let third = env.run(["rerun", id, "--from", "write/write", "--json"]).exits(0).json();
    assert_eq!(ran(&env), [""; 0]);
    assert_eq!(third["variables"], again["variables"]);
}

#[test]
fn a_run_is_run_again_whole_with_the_skill_as_it_is_now() {
    let env = project();
    let first = start(&env);
    ran(&env);
    env.write(
        ".agents/skills/chain/_sub/left/scripts/main.sh",
        "#!/bin/sh\necho left >> ran.txt; echo '{\"n\": 7}'\n",
    );
    // The model is the one the run had, whatever the environment says.
    let output =
        env.command().env("FUGATO_MODEL", "script:nothing.yaml").args(["rerun", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let again: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(ran(&env), ["join", "left", "right"]);
    assert_eq!(again["variables"]["LEFT"], json!({"n": 7}));
    assert_eq!(again["variables"]["ARGUMENTS"], "2026-02-15");
    assert_ne!(again["id"], first.as_str());
}

#[test]
fn a_set_variable_replaces_a_kept_result_and_says_when_it_will_be_overwritten() {
    let env = project();
    let id = start(&env);
    ran(&env);
    let again =
        env.run(["rerun", &id, "--from", "write", "--set", "JOINED={\"n\": 9}", "--json"]).exits(0).json();
    assert_eq!(again["variables"]["JOINED"], json!({"n": 9}));
    assert_eq!(ran(&env), [""; 0]);
    let said = env.run(["rerun", &id, "--from", "join", "--set", "JOINED=1"]).exits(0);
    said.says(&["--set JOINED", "join/join", "2 of 4 nodes keep their results, 2 run"]);
}

#[test]
fn what_is_not_a_node_is_named_with_what_is_and_a_changed_kept_node_is_told() {
    let env = project();
    let id = start(&env);
    env.run(["rerun", &id, "--from", "jion"]).exits(3).says(&["did you mean `join`?", "fetch/left", "write"]);
    assert_eq!(newest(&env), id, "nothing was started");
    env.write(
        ".agents/skills/chain/_sub/left/SKILL.md",
        "---\nname: left\ndescription: Part.\nmetadata:\n  fugato-run: scripts/main.sh\n---\nOtherwise.\n",
    );
    env.run(["rerun", &id, "--from", "write"]).exits(0).says(&["`fetch/left` has changed since"]);
}

#[test]
fn when_the_skill_is_gone_the_pinned_plan_is_run_and_said_so() {
    let env = project();
    let id = start(&env);
    std::fs::remove_dir_all(env.project().join(".agents")).unwrap();
    let again = env.run(["rerun", &id, "--from", "write"]).exits(0);
    again.says(&["is gone", "3 of 4 nodes keep their results", "complete"]);
    skill(&env, ".claude/skills/chain");
    env.run(["rerun", &id, "--from", "write"]).exits(0).says(&["not in", ".claude/skills/chain"]);
}

#[test]
fn run_resume_is_resume() {
    let env = project();
    env.fugato("run chain --model script:model.yaml --budget-tokens 0").exits(8);
    let id = newest(&env);
    env.run(["run", "--resume", &id]).exits(8).says(&["--budget-tokens N"]);
    env.run(["run", "--resume", &id, "--budget-tokens", "1000"]).exits(0).says(&["complete"]);
    env.run(["run", "chain", "--resume", &id]).exits(2);
    env.fugato("run").exits(2);
}

#[test]
fn a_removed_run_is_gone_with_its_files_and_a_slip_removes_nothing() {
    let env = project();
    let (first, second) = (start(&env), start(&env));
    env.run(["runs", "rm", &first]).exits(2).says(&["--yes"]);
    env.run(["runs", "rm", "--yes", &first, "run_nothing"]).exits(3);
    env.run(["runs", "rm", &first, "--dry-run"]).exits(0).says(&[&first, "1 would be removed"]);
    assert_eq!(env.fugato("runs --json").json()["runs"].as_array().unwrap().len(), 2);
    let removed = env.run(["runs", "rm", "-y", &first, "--json"]).exits(0).json();
    assert_eq!(removed["removed"], json!([first]));
    env.run(["runs", "show", &first]).exits(3);
    env.fugato("runs rm --older-than 30d").exits(0).says(&["no run is that old"]);
    env.fugato("runs rm --older-than soon").exits(2).says(&["30d"]);
    env.fugato("runs rm").exits(2);
    env.fugato("runs rm --older-than 0s --yes").exits(0).says(&["removed 1"]);
    env.fugato("runs").exits(0).says(&["fugato run SKILL"]);
    env.run(["runs", "show", &second]).exits(3);
    // After that new work succeeds.
    start(&env);
}

#[test]
fn a_live_run_is_not_removed() {
    let env = project();
    env.write(
        ".agents/skills/chain/_sub/join/scripts/main.sh",
        "#!/bin/sh\nwhile test ! -e go; do sleep 0.05; done\necho '{}'\n",
    );
    let mut owner = background(&env, &["run", "chain", "--model", "script:model.yaml"]);
    let id = wait_for(|| {
        let runs = env.fugato("runs --status running --json");
        (runs.code == 0).then(|| runs.json()["runs"][0]["id"].as_str().map(str::to_owned)).flatten()
    });
    env.run(["runs", "rm", "--yes", &id]).exits(7).says(&["F0705"]);
    env.fugato("runs rm --older-than 0s --yes").exits(0).says(&["no run is that old"]);
    env.write("go", "");
    assert_eq!(owner.wait().unwrap().code(), Some(0));
    env.run(["runs", "rm", "--yes", &id]).exits(0);
}

#[test]
fn an_exported_run_is_whole_elsewhere_it_can_be_looked_at_replayed_and_run_again() {
    let env = project();
    let long = "长".repeat(5000);
    env.write("value.txt", format!("{{\"n\": \"{long}\"}}"));
    let id = start(&env);
    let shown = env.run(["runs", "export", &id]).exits(0);
    shown.says(&[&format!("{id}.jsonl")]);
    let file = format!("{id}.jsonl");
    env.run(["runs", "export", &id]).exits(7).says(&["--force"]);
    let piped = env.run(["runs", "export", &id, "-"]).exits(0).stdout;
    assert_eq!(piped.lines().count(), env.read(&file).lines().count());
    env.run(["runs", "import", &file]).exits(7).says(&["F0707", "fugato runs show"]);

    let other = project();
    other.write(&file, std::fs::read(env.project().join(&file)).unwrap());
    other.run(["runs", "import", &file]).exits(0).says(&["imported", &id]);
    let (here, there) = (env.run(["events", &id, "--jsonl"]), other.run(["events", &id, "--jsonl"]));
    let room = env.project().parent().unwrap().display().to_string();
    assert!(here.stdout == there.stdout.replace(&room, "[ROOM]"), "the logs differ");
    assert!(there.stdout.contains(&long));
    other.run(["replay", &id]).exits(0).says(&["✓ join/join", "complete"]);
    other.run(["rerun", &id, "--from", "write", "--model", "script:model.yaml"]).exits(0).says(&["complete"]);
}

#[test]
fn foreign_and_damaged_archives_are_refused_with_their_line_and_change_nothing() {
    let env = project();
    let id = start(&env);
    env.run(["runs", "export", &id, "whole.jsonl"]).exits(0);
    let whole = env.read("whole.jsonl").replace("[ROOM]", "/room");
    let lines: Vec<&str> = whole.lines().collect();
    let joined = |lines: &[&str]| format!("{}\n", lines.join("\n"));
    let mut without_first = lines.clone();
    without_first.remove(1);
    let mut twice = lines.clone();
    twice.insert(3, lines[2]);
    let other_run = joined(&lines).replacen(&id, "run_other", 1);
    let other = crate::env();
    for (name, bytes, line) in [
        ("empty", Vec::new(), "line 1"),
        ("zip", b"PK\x03\x04\0\0".repeat(1000), "line 1"),
        ("json", b"{\"a\": 1}\n".to_vec(), "fugato runs export"),
        ("cut", whole.as_bytes()[..whole.len() / 2].to_vec(), "line"),
        ("short", joined(&lines[..lines.len() - 1]).into_bytes(), "too early"),
        ("missing", joined(&without_first).into_bytes(), "line 2"),
        ("twice", joined(&twice).into_bytes(), "line 4"),
        ("other", other_run.into_bytes(), "another run"),
        (
            "event",
            joined(&[lines[0], "{\"event\":{\"seq\":1}}", lines[lines.len() - 1]]).into_bytes(),
            "line 2",
        ),
    ] {
        other.write(name, bytes);
        other.run(["runs", "import", name]).exits(1).says(&["F0711", line]);
        other.fugato("runs").exits(3);
    }
    assert!(!other.home().join("projects").exists(), "not even an empty store");
    other.run(["runs", "import", "nothing.jsonl"]).exits(3);
    other.run(["runs", "import", "."]).exits(1);
    let mut child = other.command().args(["runs", "import", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        &std::fs::read(env.project().join("whole.jsonl")).unwrap(),
    )
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    other.run(["runs", "show", &id]).exits(0).says(&["complete"]);
}

#[test]
fn events_are_chosen_by_number_and_type_as_lines_or_as_one_document() {
    let env = project();
    let id = start(&env);
    let all = env.run(["events", &id, "--json"]).exits(0).json();
    assert_eq!(all["schema"], "fugato.events/v1");
    let events = all["events"].as_array().unwrap();
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let last = seqs.len().to_string();
    assert_eq!(env.run(["events", &id, "--since", &last, "--json"]).json()["events"], json!([]));
    let nodes = env.run(["events", &id, "--type", "node.*", "--type", "run.ended", "--jsonl"]).exits(0);
    let kinds: Vec<Value> = nodes
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"]["type"].clone())
        .collect();
    assert!(
        kinds.iter().all(|kind| kind == "run.ended" || kind.as_str().unwrap().starts_with("node.")),
        "{kinds:?}"
    );
    assert_eq!(kinds.last().unwrap(), "run.ended");
    env.run(["events", &id, "--type", "node.started"]).exits(0).says(&["fetch/left"]);
    // Following a run that has ended ends.
    assert_eq!(env.run(["events", &id, "-f", "--json"]).exits(0).json(), all);
    assert_eq!(env.run(["events", &id, "-f", "--since", &last]).exits(0).stdout, "");
}

/// The chain with a question at its end.
fn asking() -> TestEnv {
    let env = project();
    let head = format!(
        "---\nname: chain\ndescription: Joins.\n{PHASES}\n  - {{name: ask, depends_on: [write], inline: true, sets: [NAME]}}\n---\n# chain\n\n## ask\n\nAsk.\n"
    );
    env.write(".agents/skills/chain/SKILL.md", head);
    env.write(
        "model.yaml",
        "- when: {agent: write/write}\n  reply: text\n- when: {tool_result: ask_user}\n  tools: [{name: submit_result, arguments: {result: {NAME: 林}}}]\n- when: {agent: main}\n  tools: [{name: ask_user, arguments: {question: 谁？}}]\n",
    );
    env
}

#[test]
fn a_follower_sees_what_another_process_adds_and_ends_with_the_run() {
    let env = asking();
    let id = start(&env);
    let mut follower = background(&env, &["events", &id, "-f", "--jsonl"]);
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut seen: Vec<Value> = Vec::new();
    while seen.last().is_none_or(|event| event["kind"]["type"] != "input.requested") {
        seen.push(serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap());
    }
    // It waits for a person, and so does the follower.
    assert!(follower.try_wait().unwrap().is_none());
    env.run(["answer", &id, "me"]).exits(0);
    seen.extend(lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()));
    assert_eq!(follower.wait().unwrap().code(), Some(0));
    assert_eq!(seen.last().unwrap()["kind"]["type"], "run.ended");
    let seqs: Vec<u64> = seen.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "each event once, in order");
}

#[test]
fn ctrl_c_and_a_closed_pipe_end_a_follower_quietly() {
    let env = asking();
    let id = start(&env);
    let mut follower = background(&env, &["events", &id, "-f", "--json"]);
    let mut out = BufReader::new(follower.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    Command::new("kill").args(["-INT", &follower.id().to_string()]).status().unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(follower.wait().unwrap().code(), Some(130));
    let document: Value = serde_json::from_str(&format!("{first}{rest}")).unwrap();
    assert_eq!(document["run"], id.as_str());

    let mut follower = background(&env, &["events", &id, "-f"]);
    let mut out = BufReader::new(follower.stdout.take().unwrap());
    out.read_line(&mut first).unwrap();
    drop(out);
    let code = wait_for(|| follower.try_wait().unwrap()).code();
    assert_eq!(code, Some(0));
    let mut said = String::new();
    follower.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!said.contains("error"), "{said}");
}

#[test]
fn a_diff_names_what_differs_and_its_exit_says_whether_outputs_do() {
    let env = project();
    let first = start(&env);
    let same = env.run(["rerun", &first, "--concurrent", "2", "--json"]).exits(0).json();
    let same = same["id"].as_str().unwrap().to_owned();
    env.run(["diff", &first, &same]).exits(0).says(&["limits.concurrent", "4 → 2", "the outputs are equal"]);
    env.write("value.txt", "{\"n\": 4}");
    env.run(["rerun", &first, "--from", "join"]).exits(0);
    let other = newest(&env);
    // One run is compared with its parent.
    let diff = env.run(["diff", &other]).exits(1);
    diff.says(&["--- JOINED", "-  \"n\": 3", "+  \"n\": 4", "done → reused", "the outputs differ"]);
    let diff = env.run(["diff", &first, &other, "--json"]).exits(1).json();
    assert_eq!(diff["schema"], "fugato.diff/v1");
    assert_eq!(diff["equal"], false);
    let joined =
        diff["variables"].as_array().unwrap().iter().find(|change| change["name"] == "JOINED").unwrap();
    assert_eq!((&joined["before"], &joined["after"]), (&json!({"n": 3}), &json!({"n": 4})));
    // The plan.
    let head = format!(
        "---\nname: chain\ndescription: Joins.\n{}\n---\n# chain\n",
        PHASES.split("\n  - name: write").next().unwrap()
    );
    env.write(".agents/skills/chain/SKILL.md", head);
    env.run(["rerun", &first]).exits(0);
    let diff = env.run(["diff", "--json"]).exits(1).json();
    let removed = diff["nodes"].as_array().unwrap().iter().find(|node| node["after"].is_null()).unwrap();
    assert_eq!(removed["id"], "write/write");
    assert!(diff["fields"].as_array().unwrap().iter().any(|field| field["name"] == "skill.digest"));
    env.run(["diff", &first]).exits(2).says(&["has no parent"]);
}

#[test]
fn a_replay_shows_what_the_run_showed() {
    let env = project();
    let live = env.fugato("run chain 2026-02-15 --model script:model.yaml").exits(0);
    let replayed = env.fugato("replay").exits(0);
    assert_eq!(replayed.stdout, live.stdout);
    assert_eq!(replayed.stderr, live.stderr);
    let live = env.fugato("rerun --from write").exits(0);
    assert_eq!(env.fugato("replay").exits(0).stderr, live.stderr);
    env.fugato("replay --speed 0").exits(2).says(&["--instant"]);
    let lines = env.fugato("replay --jsonl --instant").exits(0).stdout;
    assert_eq!(lines, env.fugato("events --jsonl").stdout);
    assert_eq!(env.fugato("replay --json").exits(0).json()["status"], "complete");
}

#[test]
fn runs_and_nodes_complete_in_the_shell() {
    let env = project();
    let id = start(&env);
    let complete = |words: &[&str]| {
        let last = words.len().to_string();
        let output = env
            .command()
            .env("COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", last)
            .env("_CLAP_IFS", "\n")
            .args(["--", "fugato"])
            .args(words)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for verb in [
        &["trace", ""][..],
        &["events", ""],
        &["rerun", ""],
        &["runs", "show", ""],
        &["runs", "rm", ""],
        &["diff", &id, ""],
        &["replay", "run_"],
        &["answer", ""],
        &["resume", ""],
        &["run", "--resume", ""],
    ] {
        assert!(complete(verb).lines().any(|line| line == id), "{verb:?}: {}", complete(verb));
    }
    assert!(complete(&["rerun", &id, "--from", "jo"]).lines().any(|line| line == "join/join"));
}

#[test]
fn the_history_speaks_chinese() {
    let env = project().chinese();
    let id = start(&env);
    env.run(["runs", "show", &id]).exits(0).says(&["状态", "节点", "下一步"]);
    env.run(["rerun", &id, "--from", "write"]).exits(0).says(&["沿用原结果"]);
    env.fugato("trace").exits(0).says(&["沿用"]);
    env.run(["diff"]).exits(0).says(&["输出相同"]);
    env.fugato("rerun --from 无").exits(3).says(&["没有节点或阶段"]);
}

fn background(env: &TestEnv, args: &[&str]) -> Child {
    env.command()
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Looks again until there is something; a test that would wait for ever fails instead.
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "nothing came");
        std::thread::sleep(Duration::from_millis(20));
    }
}
