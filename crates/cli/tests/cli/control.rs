//! Watching and intervening, as people and other programs do it: the dashboard, directives to a run at work, what others
//! write into its files, and runs whose process is gone.

use crate::env;
use crate::kills::nobody_carries;
use fugato_testkit::{Ran, TestEnv};
use serde_json::Value;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const ROLES: [(&str, &str, &str); 4] = [
    ("build", "builder", "构建者"),
    ("check", "reviewer", "审校者"),
    ("check", "tester", "测试者"),
    ("join", "integrator", "集成者"),
];

/// Four agents with Chinese roles. `hold.txt` keeps the builder in its tool call, `go.txt` lets the others end.
fn team(tool: &str) -> TestEnv {
    let env = env();
    for (_, name, role) in ROLES {
        env.write(
            format!(".agents/agents/{role}.md"),
            format!("---\nname: {role}\ndescription: 团队成员。\n---\n请完成任务。\n"),
        );
        env.write(
            format!(".agents/skills/team/_sub/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: x.\n---\nDo {name}.\n"),
        );
    }
    env.skill(
        "team",
        "name: team\ndescription: Four agents. Use in tests.\nphases:\n  - name: build\n    subagents:\n      - {skill: _sub/builder, type: 构建者, output: B}\n  \
         - name: check\n    parallel: true\n    depends_on: [build]\n    subagents:\n      - {skill: _sub/reviewer, type: 审校者, output: R}\n      \
         - {skill: _sub/tester, type: 测试者, output: T}\n  - name: join\n    depends_on: [check]\n    subagents:\n      - {skill: _sub/integrator, type: 集成者, output: I}",
    );
    let tool = tool.replace('\'', "''");
    env.write(
        "model.yaml",
        format!(
            "- when: {{text: 改做}}\n  reply: '{{\"redirected\": true}}'\n- when: {{agent: 'build/*', step: 1}}\n  tools: [{{name: Bash, arguments: {{command: '{tool}'}}}}]\n\
             - when: {{agent: 'check/*', step: 1}}\n  tools: [{{name: Bash, arguments: {{command: 'while [ ! -e go.txt ]; do sleep 0.05; done'}}}}]\n\
             - when: {{agent: '*'}}\n  reply: '{{\"ok\": true}}'\n"
        ),
    );
    env
}

const WAIT: &str = "while [ ! -e hold.txt ]; do sleep 0.05; done; echo 好";

struct Owner(Child);

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(env: &TestEnv, args: &[&str]) -> Owner {
    let mut command = env.command();
    command.args(args).env("FUGATO_TEST_ROOM", env.project()).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Owner(command.spawn().unwrap())
}

fn run(env: &TestEnv) -> Owner {
    start(env, &["run", "team", "--model", "script:model.yaml", "--no-sandbox", "--no-input"])
}

fn status(env: &TestEnv) -> Value {
    let ran = env.fugato("status --json");
    if ran.code == 0 { ran.json() } else { Value::Null }
}

fn agent(status: &Value, id: &str) -> String {
    let agents = status["agents"].as_array().cloned().unwrap_or_default();
    let found = agents.iter().find(|agent| agent["id"] == id);
    found.and_then(|agent| agent["status"].as_str()).unwrap_or_default().to_owned()
}

#[track_caller]
fn until(env: &TestEnv, what: &str, mut is_so: impl FnMut(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let status = status(env);
        if is_so(&status) {
            return status;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "never {what}: {status:#}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn acts(status: &Value, id: &str) -> bool {
    let agents = status["agents"].as_array().cloned().unwrap_or_default();
    agents.iter().any(|agent| agent["id"] == id && agent["last_event"]["type"] == "tool_call")
}

fn dir(env: &TestEnv) -> PathBuf {
    let path = env.command().arg("path").output().unwrap().stdout;
    PathBuf::from(String::from_utf8(path).unwrap().trim()).join("orchestrator")
}

fn says(ran: &Ran, action: &str, target: &str) {
    let second = format!("The {target} agent will respond on its next tool call. Use /status to monitor.");
    assert_eq!(ran.stdout, format!("Intervention recorded: {action} {target}\n{second}\n"), "{}", ran.stderr);
}

#[test]
fn four_agents_with_chinese_roles_are_watched_paused_and_resumed_one_by_one() {
    let env = team(WAIT);
    assert_eq!(
        env.fugato("status").exits(4).stdout,
        "No active orchestration. Run `/go` or `/orbit` to start.\n"
    );
    env.fugato("pause all").exits(4).says(&["No active orchestration to intervene in."]);
    let mut owner = run(&env);
    until(&env, "at work", |status| acts(status, "build/builder"));
    env.write("hold.txt", "");
    until(&env, "two at work", |status| acts(status, "check/reviewer") && acts(status, "check/tester"));
    let drawn = env.fugato("status").exits(0).stdout;
    assert!(drawn.lines().count() < 30, "{drawn}");
    for line in [
        "## Orchestration Dashboard",
        "- **Status**: running",
        "- **Agents**: 2 / 4 active",
        "| Agent | Role | Status | Elapsed | Last Event |",
        "|-------|------|--------|---------|------------|",
        "### Dependency Graph",
        "build/builder ──→ check/reviewer ──→ join/integrator",
        "### Recent Events (last 5 across all agents)",
        "### User Interventions",
        "none",
    ] {
        assert!(drawn.lines().any(|one| one == line), "{line}: {drawn}");
    }
    assert!(
        drawn.contains("| check/tester | 测试者 | running | 0m ")
            && drawn.contains("| join/integrator | 集成者 | pending | - | no events yet |"),
        "{drawn}"
    );

    says(&env.fugato("pause all").exits(0), "pause", "all");
    assert_eq!(status(&env)["status"], "paused");
    says(&env.fugato("intervene resume reviewer").exits(0), "resume", "reviewer");
    let now = status(&env);
    assert_eq!(
        (agent(&now, "check/reviewer"), agent(&now, "check/tester")),
        ("running".into(), "paused".into())
    );
    env.fugato("resume reviewer").exits(7).says(&["is running, not paused"]);
    env.write("go.txt", "");
    until(&env, "the reviewer done, the tester held", |status| {
        agent(status, "check/reviewer") == "done" && agent(status, "check/tester") == "paused"
    });
    assert_eq!(owner.0.try_wait().unwrap(), None, "whoever works on the run waits while it is paused");
    says(&env.fugato("resume all").exits(0), "resume", "all");
    assert!(owner.0.wait().unwrap().success());
    assert_eq!(
        env.fugato("status").exits(4).stdout,
        "Last orchestration ended with status: **complete**. No active run.\n"
    );
    let shown = env.fugato("runs show --json").exits(0).json();
    let told: Vec<_> = shown["interventions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["action"], one["state"]))
        .collect();
    assert_eq!(
        told,
        [
            "\"resume\" \"applied\"",
            "\"resume\" \"refused\"",
            "\"resume\" \"applied\"",
            "\"pause\" \"applied\""
        ]
    );
    let log = std::fs::read_to_string(dir(&env).join("control.log.jsonl")).unwrap();
    assert!(
        log.lines()
            .any(|line| line.contains("\"receipt\":\"refused\"") && line.contains("is running, not paused")),
        "{log}"
    );
}

#[test]
fn wrong_words_are_refused_with_the_right_exit_and_nothing_happens() {
    let env = team(WAIT);
    let _owner = run(&env);
    until(&env, "at work", |status| acts(status, "build/builder"));
    let ghost = env.fugato("intervene pause ghost").exits(3);
    ghost.says(&["Agent 'ghost' not found in active orchestration. Available agents: build/builder, check/reviewer, check/tester, join/integrator"]);
    env.fugato("pause bilder").exits(3).says(&["did you mean `build/builder`?"]);
    for line in [
        "intervene",
        "intervene pause",
        "intervene redirect builder",
        "redirect builder",
        "intervene explode builder",
        "pause",
    ] {
        env.fugato(line).exits(2);
    }
    env.run(["redirect", "builder", "  "]).exits(2);
    env.fugato("cancel all").exits(2).says(&["nothing was done", "--yes"]);
    env.fugato("cancel all --json").exits(2);
    env.fugato("cancel integrator").exits(7).says(&["has not started (pending)"]);
    env.fugato("pause all --run run_nothere").exits(3);
    env.run(["send", "ghost", "hello"]).exits(3).says(&["not found in active orchestration"]);
    let now = status(&env);
    assert_eq!((now["status"].as_str(), agent(&now, "build/builder").as_str()), (Some("running"), "running"));
    says(&env.fugato("cancel all --yes").exits(0), "cancel", "all");
    env.fugato("status")
        .exits(4)
        .says(&["Last orchestration ended with status: **aborted**. No active run."]);
    env.fugato("pause all").exits(4);
}

#[test]
fn a_killed_owner_shows_interrupted_and_the_run_goes_on_where_it_was() {
    let env = team(WAIT);
    let mut owner = run(&env);
    until(&env, "at work", |status| acts(status, "build/builder"));
    owner.0.kill().unwrap();
    owner.0.wait().unwrap();
    let id = status(&env)["run"].as_str().unwrap().to_owned();
    env.fugato("status").exits(0).says(&["- **Status**: interrupted (its process (pid ", ") is gone)"]);
    // Said while nobody works on it: recorded, and said so; in force when somebody does.
    let told = env.fugato("pause tester").exits(0);
    told.says(&[
        "Intervention recorded: pause tester",
        "nobody works on the run now",
        &format!("fugato resume {id}"),
    ]);
    assert_eq!(status(&env)["interventions"][0]["state"], "recorded");
    env.write("hold.txt", "");
    env.write("go.txt", "");
    let _next = start(&env, &["resume", &id, "--no-input", "--no-sandbox"]);
    until(&env, "the tester held", |status| {
        agent(status, "check/reviewer") == "done" && agent(status, "check/tester") == "paused"
    });
    says(&env.fugato("resume tester").exits(0), "resume", "tester");
    until(&env, "complete", Value::is_null);
    env.fugato("runs").says(&["complete"]);
    nobody_carries(&env);
}

#[test]
fn a_run_that_nobody_works_on_is_cancelled_at_once() {
    let env = team(WAIT);
    let mut owner = run(&env);
    until(&env, "at work", |status| acts(status, "build/builder"));
    owner.0.kill().unwrap();
    owner.0.wait().unwrap();
    env.fugato("pause builder").exits(0);
    says(&env.fugato("cancel all --yes").exits(0), "cancel", "all");
    env.fugato("status").exits(4).says(&["**aborted**"]);
    let run: Value = serde_json::from_slice(&std::fs::read(dir(&env).join("run.json")).unwrap()).unwrap();
    assert_eq!(run["status"], "aborted", "the files follow");
    let log = std::fs::read_to_string(dir(&env).join("control.log.jsonl")).unwrap();
    assert!(log.contains("cancelled before anybody worked on it again"), "{log}");
}

#[test]
fn what_other_programs_write_is_taken_within_a_tool_call() {
    let env = team(WAIT);
    let mut owner = run(&env);
    until(&env, "at work", |status| acts(status, "build/builder"));
    let dir = dir(&env);
    until(&env, "the files", |_| dir.join("run.json").exists());
    // As the original writes it, and as the other dialect does.
    std::fs::write(
        dir.join("control.json"),
        r#"{"action":"pause","target":"all","message":"","generation":1}"#,
    )
    .unwrap();
    until(&env, "paused from outside", |status| status["status"] == "paused");
    std::fs::write(dir.join("control.json"), r#"{"resume": true}"#).unwrap();
    until(&env, "resumed from outside", |status| status["status"] == "running");
    std::fs::write(dir.join("control.json"), r#"{"action":"explode"}"#).unwrap();
    let inbox = dir.join("agents/build/builder/inbox.jsonl");
    let mut lines = std::fs::read(&inbox).unwrap_or_default();
    lines.extend_from_slice("{\"from\":\"check/tester\",\"to\":\"builder\",\"type\":\"question\",\"body\":\"几点了？\",\"id\":\"q1\"}\nno json\n".as_bytes());
    std::fs::write(&inbox, lines).unwrap();
    until(&env, "a message unread", |status| status["agents"][0]["unread"] == 1);
    let skipped = || env.fugato("events --type foreign.skipped --jsonl").stdout;
    let began = Instant::now();
    while skipped().lines().count() < 2 && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let skipped = skipped();
    assert!(skipped.contains("explode") && skipped.contains("not JSON"), "{skipped}");
    let sent = env.fugato("events --type message.sent --jsonl").stdout;
    assert!(
        sent.contains("\"from\":\"outside\"") && sent.contains("几点了？") && sent.contains("question"),
        "{sent}"
    );
    let generations = status(&env)["generation"].as_u64().unwrap();
    assert_eq!(generations, 2, "each once, and our own files never");
    env.write("hold.txt", "");
    env.write("go.txt", "");
    assert!(owner.0.wait().unwrap().success());
}

#[test]
fn a_message_has_a_kind_and_a_redirect_reaches_an_agent_that_was_about_to_end() {
    let env = team(WAIT);
    let mut owner = run(&env);
    until(&env, "at work", |status| acts(status, "build/builder"));
    env.run(["send", "builder", "快一点", "--type", "blocked"]).exits(0);
    env.run(["send", "builder", "x", "--type", "gossip"])
        .exits(2)
        .says(&["handoff", "question", "blocked", "result"]);
    says(&env.run(["redirect", "builder", "改做", "标题"]).exits(0), "redirect", "builder");
    let told = status(&env);
    assert_eq!(told["interventions"][0]["state"], "delivered", "{told:#}");
    let read =
        || std::fs::read_to_string(dir(&env).join("agents/build/builder/inbox.jsonl")).unwrap_or_default();
    until(&env, "both in the file", |_| read().lines().count() == 2);
    let inbox = read();
    let lines: Vec<Value> = inbox.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&lines[0]["type"], &lines[0]["from"], &lines[0]["body"]),
        (&"blocked".into(), &"user".into(), &"快一点".into())
    );
    assert_eq!((&lines[1]["type"], &lines[1]["instruction"]), (&"redirect".into(), &"改做 标题".into()));
    env.write("hold.txt", "");
    env.write("go.txt", "");
    assert!(owner.0.wait().unwrap().success());
    let shown = env.fugato("runs show --json").exits(0).json();
    assert_eq!(shown["variables"]["B"]["redirected"], true, "{shown:#}");
    assert_eq!(shown["interventions"][0]["state"], "applied");
}

/// A child that ignores TERM, with a grandchild that does too, in the middle of a call of ten minutes.
const STUBBORN: &str = "trap '' TERM INT HUP; (trap '' TERM INT HUP; sleep 600) & echo began > began.txt; while true; do sleep 600; done";

#[test]
fn pause_redirect_and_cancel_do_not_wait_for_a_call_of_ten_minutes_and_nobody_survives() {
    let env = team(STUBBORN);
    let mut owner = run(&env);
    let began = || env.project().join("began.txt").exists();
    until(&env, "in the call", |status| acts(status, "build/builder") && began());
    says(&env.fugato("pause builder").exits(0), "pause", "builder");
    assert_eq!(agent(&status(&env), "build/builder"), "paused");
    says(&env.fugato("resume builder").exits(0), "resume", "builder");
    says(&env.run(["redirect", "builder", "改做别的"]).exits(0), "redirect", "builder");
    assert_eq!(status(&env)["interventions"][0]["state"], "delivered");
    says(&env.fugato("cancel builder").exits(0), "cancel", "builder");
    let status = owner.0.wait().unwrap();
    assert_eq!(status.code(), Some(1), "a run that needs the builder fails without it");
    nobody_carries(&env);
    let events = env.fugato("events --jsonl").stdout;
    assert!(events.contains("directive.expired"), "the redirect came too late: {events}");
}

#[test]
fn restarting_breaks_off_a_call_that_hangs_and_keeps_what_was_done() {
    let env = team("if [ -e again.txt ]; then echo 好; else touch again.txt; sleep 600; fi");
    let mut owner = run(&env);
    until(&env, "in the call", |status| {
        acts(status, "build/builder") && env.project().join("again.txt").exists()
    });
    says(&env.fugato("restart builder").exits(0), "restart", "builder");
    env.write("go.txt", "");
    assert!(owner.0.wait().unwrap().success());
    let started = env.fugato("events --type agent.started --jsonl").stdout;
    assert!(started.contains("build/builder.2") && started.contains("An earlier attempt"), "{started}");
    nobody_carries(&env);
}

#[test]
fn a_run_that_has_ended_takes_no_word_and_none_waits_for_it() {
    let env = team("echo 好");
    env.write("go.txt", "");
    let mut owner = run(&env);
    assert!(owner.0.wait().unwrap().success());
    let id = env.fugato("runs --json").exits(0).json()["runs"][0]["id"].as_str().unwrap().to_owned();
    for verb in [
        &["pause", "all"][..],
        &["pause", "builder"],
        &["resume", "builder"],
        &["cancel", "all", "--yes"],
        &["cancel", "builder"],
        &["redirect", "builder", "改做"],
        &["restart", "builder"],
        &["send", "builder", "hi"],
    ] {
        let ran = env.run(verb.iter().copied().chain(["--run", &id])).exits(7);
        ran.says(&["has ended"]);
        assert!(!ran.stdout.contains("recorded"), "{verb:?}: {}", ran.stdout);
        // Of what `resume` names without a run, it could be one.
        env.run(verb).exits(if verb.first() == Some(&"resume") { 3 } else { 4 });
    }
    let status = env.run(["status", "--run", &id, "--json"]).exits(0).json();
    assert_eq!(
        (&status["status"], &status["interventions"]),
        (&"complete".into(), &Value::Array(Vec::new()))
    );
}

#[test]
fn a_control_file_that_says_nothing_is_seen_in_the_status() {
    let env = team(WAIT);
    let mut owner = run(&env);
    // The log knows it before the files are there.
    until(&env, "at work", |status| acts(status, "build/builder") && dir(&env).join("run.json").exists());
    std::fs::write(dir(&env).join("control.json"), "{\"action\":\"pau").unwrap();
    let seen = env.fugato("status").exits(0);
    seen.says(&["unreadable control.json: refused: not taken, not JSON"]);
    // It is in the log, too, and whoever completes it is heard.
    until(&env, "said", |_| env.fugato("events --jsonl").stdout.contains("foreign.skipped"));
    std::fs::write(dir(&env).join("control.json"), "{\"action\":\"pause\",\"target\":\"builder\"}").unwrap();
    until(&env, "paused", |status| agent(status, "build/builder") == "paused");
    assert!(!env.fugato("status").exits(0).stdout.contains("unreadable"));
    env.fugato("cancel all --yes").exits(0);
    owner.0.wait().unwrap();
}

#[test]
fn several_runs_at_once_are_told_apart() {
    let env = team(WAIT);
    let (_one, first) = (run(&env), until(&env, "one at work", |status| acts(status, "build/builder")));
    let one = first["run"].as_str().unwrap().to_owned();
    let _two = run(&env);
    let second = until(&env, "another at work", |status| {
        status["run"] != one.as_str() && acts(status, "build/builder")
    });
    let two = second["run"].as_str().unwrap().to_owned();
    env.fugato(&format!("pause all --run {one}")).exits(0);
    let of = |id: &str| env.fugato(&format!("status --json --run {id}")).exits(0).json()["status"].clone();
    assert_eq!((of(&one), of(&two)), ("paused".into(), "running".into()));
    // The beginning both have names neither.
    env.fugato("pause all --run run_").exits(3).says(&[&one, &two]);
    env.fugato(&format!("cancel all --yes --run {two}")).exits(0);
    // The active one is over; another still is.
    assert_eq!(status(&env)["run"], one.as_str());
    env.fugato("cancel all --yes").exits(0);
    env.fugato("status").exits(4);
}

#[test]
fn a_suspended_owner_is_not_taken_for_a_dead_one() {
    let env = team(WAIT);
    let owner = run(&env);
    until(&env, "at work", |status| acts(status, "build/builder"));
    let signal = |name: &str| {
        let pid = owner.0.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
    };
    signal("-STOP");
    assert_eq!(status(&env)["status"], "running", "it lives, though it does nothing");
    let id = status(&env)["run"].as_str().unwrap().to_owned();
    let told = env.fugato("pause all").exits(0);
    told.says(&["Intervention recorded: pause all", "has not taken it yet"]);
    signal("-CONT");
    until(&env, "paused", |status| status["status"] == "paused");
    env.fugato(&format!("cancel all --yes --run {id}")).exits(0);
}

/// As somebody who may read the state directory and not write it.
#[test]
fn a_state_directory_that_cannot_be_written_can_be_looked_at_and_says_so() {
    let env = team(WAIT);
    let mut owner = run(&env);
    until(&env, "at work", |status| acts(status, "build/builder"));
    owner.0.kill().unwrap();
    owner.0.wait().unwrap();
    const NOBODY: u32 = 65534;
    let room = env.project().parent().unwrap().to_owned();
    let binary = room.join("fugato");
    std::fs::copy(env!("CARGO_BIN_EXE_fugato"), &binary).unwrap();
    let is_root = std::process::Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let set = |path: &std::path::Path, mode: &str| {
        let mut change = std::process::Command::new("chmod");
        assert!(change.args(["-R", mode]).arg(path).status().unwrap().success());
    };
    if is_root {
        let owned = format!("{NOBODY}:{NOBODY}");
        assert!(
            std::process::Command::new("chown").args(["-R", &owned]).arg(&room).status().unwrap().success()
        );
    }
    set(&env.home(), "u-w");
    let look = |args: &[&str]| {
        let command = env.command();
        let mut as_nobody = std::process::Command::new(&binary);
        as_nobody.args(args).current_dir(env.project()).env_clear();
        as_nobody
            .envs(command.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))));
        if is_root {
            as_nobody.uid(NOBODY).gid(NOBODY);
        }
        as_nobody.output().unwrap()
    };
    let seen = look(&["status"]);
    let text = String::from_utf8_lossy(&seen.stdout).into_owned();
    let told = look(&["pause", "builder"]);
    let why = String::from_utf8_lossy(&told.stderr).into_owned();
    set(&env.home(), "u+w");
    assert!(
        seen.status.success() && text.contains("**Status**: interrupted"),
        "{text}{}",
        String::from_utf8_lossy(&seen.stderr)
    );
    assert!(
        !told.status.success() && why.contains("fugato") && why.contains("projects"),
        "names the path: {why}"
    );
}

#[test]
fn the_files_of_another_program_are_shown_where_ours_would_be() {
    let env = env();
    let state = env.project().join("harness");
    let run = |text: &str| {
        env.write("harness/orchestrator/run.json", text);
        let output = env.command().env("HARNESS_DIR", &state).arg("status").output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    env.write(
        "harness/orchestrator/agents/a/stream.jsonl",
        "{\"event_type\":\"tool\",\"data\":\"读 x\",\"timestamp\":\"2026-01-01T00:00:00Z\"}\ntorn",
    );
    env.write(
        "harness/orchestrator/control.json",
        "{\"action\":\"pause\",\"target\":\"a\",\"message\":\"\",\"generation\":4}",
    );
    let (code, drawn, _) = run(
        r#"{"run_id":"r1","status":"running","created_at":"2026-01-01T00:00:00Z","agents":{"a":{"role":"构建","status":"napping"},"b":"done"},"dependency_graph":{"b":["a"]},"version":99}"#,
    );
    assert_eq!(code, Some(0));
    for part in
        ["- **Run ID**: r1", "| a | 构建 | napping | - | 读 x |", "a ──→ b", "- [4] pause a: recorded"]
    {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
    // It is shown and not steered, and that is said.
    let output = env.command().env("HARNESS_DIR", &state).args(["pause", "a"]).output().unwrap();
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4));
    assert!(
        why.contains("No active orchestration to intervene in.") && why.contains("another program"),
        "{why}"
    );
    let (code, _, why) = run(r#"{"id":"r1","status":"run"#);
    assert_eq!(code, Some(3));
    assert!(why.contains("run.json") && why.contains("half written"), "{why}");
}
