//! What a person sees: the seed's example with its debug lines, the board on a real terminal, Ctrl-C, streams, the tour.

use crate::terminal::Terminal;
use crate::{env, workspace};
use fugato_testkit::TestEnv;
use std::time::{Duration, Instant};

/// The seed's own example, word for word, with the sub-skills it names.
fn seed() -> TestEnv {
    let env = env();
    env.write(
        ".agents/skills/plan-day/SKILL.md",
        r#"---
name: plan-day
description: Plans a day. Use in the morning.
debug: true
phases:
  - name: setup
    parallel: true
    subagents:
      - skill: _sub/fetch/get-config
        type: explore
        output: VAULT
      - skill: _sub/fetch/get-directives
        type: explore
        output: DIRECTIVES
        optional: true
  - name: gather
    depends_on: [setup]
    subagents:
      - skill: _sub/fetch/get-calendar
        type: explore
        args: "scope={{TARGET_DATE}}"
        output: CALENDAR
  - name: interact
    depends_on: [gather]
    inline: true
---
# plan-day

## interact

Talk about {{CALENDAR.events[0].title}}.
"#,
    );
    for name in ["get-config", "get-directives", "get-calendar"] {
        let text = format!("---\nname: {name}\ndescription: Part of plan-day.\n---\nDo it.\n");
        env.write(format!(".agents/skills/plan-day/_sub/fetch/{name}/SKILL.md"), text);
    }
    env.write(
        "model.yaml",
        r#"- when: {agent: setup/get-config}
  reply: '{"success": true, "VAULT": "/Users/me/vault"}'
- when: {agent: setup/get-directives}
  reply: '{"success": false, "message": "no directives"}'
- when: {agent: gather/get-calendar, text: scope=2026-02-15}
  reply: |
    ```json
    {"events": [{"title": "Team Standup", "notes": "a long story that goes on and on and on and on and on and on"}]}
    ```
- when: {agent: main, text: Talk about Team Standup.}
  reply: We talked.
"#,
    );
    env
}

#[test]
fn the_seeds_example_prints_its_four_kinds_of_debug_lines_in_the_seeds_order() {
    let env = seed();
    let ran = env.fugato("run plan-day 2026-02-15 --model script:model.yaml").exits(0);
    let mut lines: Vec<String> = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with("[orchestrator]"))
        .map(|line| match line.split_once("completed in ") {
            Some((before, time)) => {
                assert!(time.strip_suffix("ms").unwrap().parse::<u64>().is_ok(), "{line}");
                format!("{before}completed in Nms")
            }
            None => line.to_owned(),
        })
        .collect();
    // Which of the two that run at the same time ends first is not the orchestrator's choice.
    lines[3..5].sort();
    let expected = [
        "[orchestrator] Starting phase: setup",
        "[orchestrator] Spawning: _sub/fetch/get-config (type: explore)",
        "[orchestrator] Spawning: _sub/fetch/get-directives (type: explore)",
        "[orchestrator] Set DIRECTIVES: null",
        "[orchestrator] Set VAULT: /Users/me/vault",
        "[orchestrator] Phase setup completed in Nms",
        "[orchestrator] Starting phase: gather",
        "[orchestrator] Spawning: _sub/fetch/get-calendar (type: explore)",
        "[orchestrator] Set CALENDAR: {\"events\":[{\"title\":\"Team Standup\",\"notes\":\"a long story tha…",
        "[orchestrator] Phase gather completed in Nms",
        "[orchestrator] Starting phase: interact",
        "[orchestrator] Phase interact completed in Nms",
    ];
    assert_eq!(lines, expected, "{}", ran.stderr);
    ran.says(&[
        "complete: all phases are complete",
        "outputs: CALENDAR, VAULT (fugato runs show run_",
        "next: fugato trace run_",
    ]);
}

#[test]
fn without_debug_the_orchestrator_is_silent() {
    let env = seed();
    let text = env.read(".agents/skills/plan-day/SKILL.md").replace("debug: true\n", "");
    env.write(".agents/skills/plan-day/SKILL.md", text);
    let ran = env.fugato("run plan-day 2026-02-15 --model script:model.yaml").exits(0);
    assert!(!ran.stderr.contains("[orchestrator]"), "{}", ran.stderr);
}

#[test]
fn a_plan_names_edges_variables_and_calls_and_asks_no_model() {
    let env = seed();
    let ran = env.fugato("plan plan-day 2026-02-15").exits(0);
    let picture = "\
┌ setup (parallel) ───────────────────────────────┐
│ get-config      explore  → VAULT                │
│ get-directives  explore  → DIRECTIVES  optional │
└────────────────────────┬────────────────────────┘
                         ▼
       ┌ gather ───────────────────────────┐
       │ get-calendar  explore  → CALENDAR │
       └─────────────────┬─────────────────┘
                         ▼
       ┌ interact ────────────────────────┐
       │ in the main conversation  inline │
       └──────────────────────────────────┘
";
    assert!(ran.stdout.starts_with(picture), "{}", ran.stdout);
    ran.says(&[
        "CALENDAR     gather/get-calendar       interact",
        "at least 4 model calls",
        "tokens of prompts",
    ]);
    let plan = env.fugato("plan plan-day 2026-02-15 --json").exits(0).json();
    assert_eq!(plan["edges"][1], serde_json::json!({"from": "gather", "to": "interact"}));
    let calendar = plan["variables"].as_array().unwrap().iter().find(|v| v["name"] == "CALENDAR").unwrap();
    assert_eq!(calendar["set_by"], serde_json::json!(["gather/get-calendar"]));
    assert_eq!(plan["estimate"]["model_calls"], 4);
    assert!(plan["estimate"]["prompt_tokens"].as_u64().unwrap() > 100);
    let wide =
        env.command().args(["plan", "plan-day"]).env("FUGATO_UI_AMBIGUOUS_WIDTH", "2").output().unwrap();
    assert!(String::from_utf8_lossy(&wide.stdout).starts_with("+ setup (parallel) -"), "{wide:?}");
}

/// A script that takes `$SLOW` seconds in a child of its own, beside a step that asks a model.
fn slow() -> TestEnv {
    let env = env();
    env.write(
        ".agents/skills/slow/SKILL.md",
        "---\nname: slow\ndescription: d\nphases:\n  - name: 准备\n    parallel: true\n    subagents:\n      - {skill: _sub/nap, type: script, output: NAP}\n      - {skill: _sub/say, type: explore, output: SAID}\n---\n# slow\n",
    );
    let nap = "---\nname: nap\ndescription: d\nmetadata:\n  fugato-run: scripts/main.sh\n  fugato-effect: read\n---\nNap.\n";
    env.write(".agents/skills/slow/_sub/nap/SKILL.md", nap);
    env.write(
        ".agents/skills/slow/_sub/nap/scripts/main.sh",
        "#!/bin/sh\necho $$ > nap.pid\nsleep \"${SLOW:-0}\" &\necho $! > nap.child\nwait\necho '\"rested\"'\n",
    );
    env.write(".agents/skills/slow/_sub/say/SKILL.md", "---\nname: say\ndescription: d\n---\nSay.\n");
    env.write("m.yaml", "- when: {agent: 准备/say}\n  reply: '\"您好，世界\"'\n");
    env
}

#[test]
fn on_a_terminal_a_board_is_redrawn_and_nothing_of_it_stays() {
    for (columns, rows) in [(80, 24), (20, 6)] {
        let env = slow();
        let args = ["run", "slow", "--model", "script:m.yaml"];
        let mut terminal = Terminal::start(&env, &args, columns, rows);
        terminal.read_until(|seen| seen.contains("1 running") && seen.contains("\u{1b}[1A"));
        assert!(String::from_utf8_lossy(&terminal.bytes).contains("▸ 准备"), "no board");
        let (code, screen) = terminal.finish();
        assert_eq!(code, 0, "{screen:?}");
        let starts: Vec<&str> = screen.iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(starts, ["run", "✓", "✓", "complete:", "outputs:", "next:"], "{screen:?}");
        assert!(screen[1].starts_with("✓ 准备/say") && screen[2].starts_with("✓ 准备/nap"), "{screen:?}");
    }
}

#[test]
fn off_a_terminal_there_is_one_line_per_change_and_no_control_character() {
    let env = slow();
    let ran = env.fugato("run slow --model script:m.yaml").exits(0);
    let starts: Vec<&str> = ran.stderr.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(starts.iter().filter(|start| **start == "▸").count(), 2, "{}", ran.stderr);
    assert_eq!(starts.iter().filter(|start| **start == "✓").count(), 2, "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains('\r'), "{}", ran.stderr);
}

fn wait_for(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_alive(env: &TestEnv, file: &str) -> bool {
    let pid = env.read(file);
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    // A zombie has ended; its parent has just not looked.
    state.is_ok_and(|stat| !stat.contains(") Z "))
}

fn interrupt(child: &std::process::Child) {
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn the_first_ctrl_c_ends_the_scripts_whole_group_and_the_run_can_be_resumed() {
    let env = slow();
    let child = env
        .command()
        .args(["run", "slow", "--model", "script:m.yaml"])
        .env("SLOW", "300")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| env.project().join("nap.child").exists() && !env.read("nap.child").trim().is_empty());
    assert!(is_alive(&env, "nap.pid") && is_alive(&env, "nap.child"));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.contains("Ctrl-C again to stop now") && said.contains("Go on: fugato resume run_"),
        "{said}"
    );
    assert!(!is_alive(&env, "nap.pid") && !is_alive(&env, "nap.child"), "the script lives on");
    let resumed = env.fugato("resume").exits(0);
    resumed.says(&["✓ 准备/nap", "complete: all phases are complete"]);
    assert!(!resumed.stderr.contains("准备/say"), "what was finished is not run again: {}", resumed.stderr);
}

#[test]
fn the_second_ctrl_c_stops_now() {
    let env = slow();
    // The script takes its time to die.
    env.write(
        ".agents/skills/slow/_sub/nap/scripts/main.sh",
        "#!/bin/sh\ntrap '' TERM INT\necho $$ > nap.pid\nwhile :; do sleep 0.1; done\n",
    );
    let mut child = env
        .command()
        .args(["run", "slow", "--model", "script:m.yaml"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| env.project().join("nap.pid").exists() && !env.read("nap.pid").trim().is_empty());
    interrupt(&child);
    // Until the first has been heard, two are one to the kernel.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("Ctrl-C again")));
    interrupt(&child);
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(rest.iter().any(|line| line.contains("fugato resume run_")), "{rest:?}");
    wait_for(|| !is_alive(&env, "nap.pid"));
}

#[test]
fn live_text_is_streamed_only_when_asked_for() {
    let env = slow();
    let kinds = |line: &str| -> Vec<serde_json::Value> {
        let ran = env.fugato(line).exits(0);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let plain = kinds("run slow --model script:m.yaml --jsonl");
    assert!(plain.iter().all(|line| line["seq"].is_u64()), "{plain:?}");
    let streamed = kinds("run slow --model script:m.yaml --jsonl --stream");
    let live: String = streamed
        .iter()
        .filter(|line| line["type"] == "live" && line["agent"] == "准备/say")
        .map(|line| line["text"].as_str().unwrap())
        .collect();
    assert_eq!(live, "\"您好，世界\"");
    env.fugato("run slow --model script:m.yaml --stream").exits(2);
}

#[test]
fn the_tour_kills_a_run_and_shows_that_nothing_ran_twice() {
    let env = env();
    let ran = env.fugato("demo").exits(0);
    ran.says(&[
        "$ kill -9 ",
        "$ fugato resume run_",
        "│ resumed",
        "3 steps were finished before the kill; 0 of them ran again",
    ]);
    let trace = ran.stdout.split("$ fugato trace").nth(1).unwrap();
    for node in ["setup/get-config", "setup/get-directives", "gather/get-calendar", "write/brief", "interact"]
    {
        let bars = trace.lines().filter(|line| line.starts_with(node)).count();
        assert_eq!(bars, 1, "{node}\n{trace}");
    }
    // The rule that is made slow for the tour is one of the example's.
    let model = std::fs::read_to_string(workspace().join("examples/daily-brief/model.yaml")).unwrap();
    assert!(model.contains("- when: { agent: write/brief }\n"));
}
