//! What masters and subagents may do: approvals, what is inherited, shares of a budget, and secrets that stay secret.

use crate::env;
use crate::go::{agent, events, go, lines, model, newest, results, tool};
use fugato_testkit::TestEnv;
use serde_json::{Value, json};

/// One subagent that runs these commands, one after the other.
fn commands(env: &TestEnv, commands: &[&str]) {
    let mut rules: Vec<Value> = (1..)
        .zip(commands)
        .map(|(step, command)| {
            json!({"when": {"task": "part", "step": step}, "tools": [tool("Bash", json!({"command": command}))]})
        })
        .collect();
    rules.push(json!({"when": {"task": "part"}, "reply": "the part"}));
    rules.push(json!({"when": {"step": 1}, "tools": [agent("coder", "part")]}));
    rules.push(json!({"when": {"tool_result": "Agent"}, "reply": "all of it"}));
    model(env, &rules);
}

#[test]
fn a_person_allows_once_allows_always_and_denies_with_a_reason() {
    let env = env();
    env.run(["config", "set", "--layer", "user", "permissions.mode", "ask"]).exits(0);
    let made = "echo made >> log.txt";
    commands(&env, &["echo once >> log.txt", made, made, "echo never >> log.txt"]);
    go(&env, &[]).exits(6).says(&["May `coder-1` run this?", "echo once", "fugato approve"]);
    let id = newest(&env);
    assert!(!env.project().join("log.txt").exists());
    let shown = env.fugato("runs show").exits(0);
    shown.says(&["fugato approve", "(by the permission mode `ask`)\n  Bash: echo once >> log.txt"]);
    env.fugato("runs show --lang zh").exits(0).says(&["允许 `coder-1` 执行吗？", "\n  Bash: echo once"]);
    env.run(["answer", &id, "perhaps"]).exits(7).says(&["allow, always, deny"]);
    env.run(["approve", &id]).exits(6).says(&["echo made"]);
    assert_eq!(env.read("log.txt"), "once\n");
    env.run(["approve", &id, "--always"]).exits(6).says(&["echo never"]);
    assert_eq!(env.read("log.txt"), "once\nmade\nmade\n", "the second time nobody was asked");
    env.run(["approve", &id, "--deny", "not on this machine"]).exits(0).says(&["all of it"]);
    assert_eq!(env.read("log.txt"), "once\nmade\nmade\n");
    assert!(events(&env).contains("the operator does not allow it: not on this machine"));
    env.run(["approve", &id]).exits(7);
}

#[test]
fn a_rerun_goes_by_the_rules_of_now_and_old_approvals_do_not_count() {
    let env = env();
    let made = "echo made >> log.txt";
    commands(&env, &[made]);
    go(&env, &[]).exits(0);
    let free = newest(&env);
    // The rules got stricter.
    env.run(["config", "set", "--layer", "user", "permissions.mode", "ask"]).exits(0);
    let again = env.run(["rerun", &free, "--no-input"]).exits(6);
    again.says(&["the permission rules are not those of that run any more", "May `coder-1` run this?"]);
    assert_eq!(env.read("log.txt"), "made\n", "nothing happened that is asked about now");
    let asked = newest(&env);
    env.run(["approve", &asked, "--always"]).exits(0);
    assert_eq!(env.read("log.txt"), "made\nmade\n");
    // The same rules, and what was allowed for good in that run is asked about in this one.
    let third = env.run(["rerun", &asked, "--no-input"]).exits(6);
    third.says(&[
        "allowed for good in that run counts there only",
        "Bash(echo made >> log.txt)",
        "May `coder-1`",
    ]);
    assert!(!third.stderr.contains("not those of that run"), "{}", third.stderr);
    assert_eq!(env.read("log.txt"), "made\nmade\n");
    // And more freedom counts, too.
    env.run(["config", "set", "--layer", "user", "permissions.mode", "default"]).exits(0);
    env.run(["rerun", &asked]).exits(0).says(&["rules of now count"]);
    assert_eq!(env.read("log.txt"), "made\nmade\nmade\n");
}

#[test]
fn an_approval_reaches_the_process_that_works_on_the_run() {
    let env = env();
    std::fs::write(
        env.home().join("config.toml"),
        "[permissions]\nmode = \"ask\"\nallow = [\"Bash(sh wait.sh)\"]\n",
    )
    .unwrap();
    env.write("wait.sh", "while [ ! -e go.txt ]; do sleep 0.05; done\n");
    let bash = |command: &str| tool("Bash", json!({"command": command}));
    model(
        &env,
        &[
            json!({"when": {"task": "busy", "step": 1}, "tools": [bash("sh wait.sh")]}),
            json!({"when": {"task": "asks", "step": 1}, "tools": [bash("echo made > made.txt")]}),
            json!({"when": {"tool_result": "Bash"}, "reply": "mine"}),
            json!({"when": {"step": 1}, "tools": [agent("coder", "busy"), agent("coder", "asks")]}),
            json!({"when": {"tool_result": "Agent"}, "reply": "all of it"}),
        ],
    );
    let mut command = env.command();
    command.args(["go", "x", "--model", "script:model.yaml", "--no-input"]);
    let mut owner =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let is_asked = || {
        let ran = env.fugato("events --jsonl --type input.requested");
        ran.code == 0 && ran.stdout.contains("echo made")
    };
    crate::go_faults::waits_for("a question", is_asked);
    assert!(!env.project().join("made.txt").exists());
    env.fugato("approve").exits(0).says(&["recorded; the run goes on"]);
    crate::go_faults::waits_for("the allowed call", || env.project().join("made.txt").exists());
    env.write("go.txt", "");
    assert!(owner.wait().unwrap().success());
    assert!(results(&env).iter().all(|(said, is_error)| !is_error && said.contains("mine")));
}

#[test]
fn a_rule_about_kinds_of_agents_holds_for_the_master() {
    let env = env();
    env.write("fugato.toml", "[permissions]\ndeny = [\"Agent(coder)\"]\n");
    commands(&env, &["echo x > made.txt"]);
    go(&env, &[]).exits(0);
    assert!(results(&env)[0].0.contains("by the rule `Agent(coder)`"), "{:?}", results(&env));
    assert!(!env.project().join("made.txt").exists());
}

#[test]
fn a_subagent_works_in_the_masters_directories_and_sees_the_masters_skills() {
    let env = env();
    env.skill("email-ops", "name: email-ops\ndescription: Reads and sends email. Use for mail.");
    env.write(
        ".claude/agents/blind.md",
        "---\nname: blind\ndescription: Sees no skill.\nskills: []\n---\nYou see none.\n",
    );
    let list = tool("skill_list", json!({}));
    let place = |name: &str| {
        tool(
            "Bash",
            json!({"command": format!("pwd; echo from-{name} >> $TMPDIR/shared; cat $TMPDIR/shared")}),
        )
    };
    model(
        &env,
        &[
            json!({"when": {"task": "with skills", "step": 1}, "tools": [list.clone(), place("sub")]}),
            json!({"when": {"task": "without skills", "step": 1}, "tools": [list.clone()]}),
            json!({"when": {"task": "skills"}, "reply": "seen"}),
            json!({"when": {"step": 1}, "tools": [place("master"), list]}),
            json!({"when": {"step": 2}, "tools": [agent("general-purpose", "with skills"), agent("blind", "without skills")]}),
            json!({"reply": "done"}),
        ],
    );
    go(&env, &[]).exits(0);
    let events = events(&env);
    let said = |agent: u64, tool: u64| {
        let mut lines = lines(&events, "tool.completed").chain(lines(&events, "tool.refused"));
        let line =
            lines.find(|line| line["agent"] == agent && line["index"] == tool && line["step"] == 1).unwrap();
        line["content"].as_str().or_else(|| line["reason"].as_str()).unwrap().to_owned()
    };
    let (master, sub) = (said(0, 0), said(1, 1));
    assert!(sub.contains("from-master\nfrom-sub"), "one scratch directory: {sub}");
    assert_eq!(master.lines().next(), sub.lines().next(), "one project");
    assert!(said(0, 1).contains("email-ops") && said(1, 0).contains("email-ops"));
    assert!(!said(2, 0).contains("email-ops"), "{}", said(2, 0));
    let systems: Vec<String> =
        lines(&events, "agent.started").map(|line| line["system"].as_str().unwrap().to_owned()).collect();
    let sees: Vec<bool> = systems.iter().map(|system| system.contains("email-ops")).collect();
    assert_eq!(sees, [true, true, false], "{systems:?}");
}

#[test]
fn one_subagent_uses_up_its_share_and_the_others_go_on() {
    let env = env();
    env.write("a.txt", "text\n");
    let read = tool("Read", json!({"path": "a.txt"}));
    let used = |tokens: u64| json!({"input": tokens, "output": 10});
    model(
        &env,
        &[
            json!({"when": {"task": "greedy"}, "usage": used(60_000), "reply": "more", "tools": [read]}),
            json!({"when": {"task": "modest"}, "usage": used(100), "reply": "enough", "delay_ms": 300}),
            json!({"when": {"step": 1}, "usage": used(100), "tools": [agent("explore", "greedy"), agent("explore", "modest"), agent("explore", "modest")]}),
            json!({"usage": used(100), "reply": "done"}),
        ],
    );
    go(&env, &["--budget-tokens", "400000"]).exits(0);
    let results = results(&env);
    let state = |at: usize| serde_json::from_str::<Value>(&results[at].0).unwrap()["state"].clone();
    assert_eq!([state(0), state(1), state(2)], ["limit_reached", "completed", "completed"], "{results:?}");
    assert!(results[0].0.contains("tokens"), "{results:?}");
    let shown = env.fugato("runs show --json").exits(0).json();
    assert_eq!(shown["status"], "complete");
}

const KEY: &str = "sk-canary-3b71\"5e\\0dé";
const TOKEN: &str = "ghp_canary0123456789abcdef";

#[test]
fn keys_are_in_no_output_of_a_tree_of_agents() {
    let env = env();
    env.write("notes.txt", format!("the key is {KEY}\nand {TOKEN}\n"));
    let reads = [
        tool("Read", json!({"path": "notes.txt"})),
        tool("Bash", json!({"command": "cat notes.txt; env"})),
        tool("Grep", json!({"pattern": "canary"})),
    ];
    model(
        &env,
        &[
            json!({"when": {"task": "part", "step": 1}, "reply": format!("I look for {KEY}"), "tools": reads}),
            json!({"when": {"task": "part"}, "reply": format!("found {KEY} and {TOKEN}")}),
            json!({"when": {"step": 1}, "tools": [agent("general-purpose", &format!("part: find {KEY} or {TOKEN}"))]}),
            json!({"reply": format!("it is {KEY}, {TOKEN}")}),
        ],
    );
    let mut told = String::new();
    let mut run = |args: &[&str]| {
        let mut command = env.command();
        command.args(args).env("ANTHROPIC_API_KEY", KEY).env("SOME_TOKEN", TOKEN);
        let output = command.output().unwrap();
        told.push_str(&String::from_utf8_lossy(&output.stdout));
        told.push_str(&String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{args:?} {told}");
    };
    let task = format!("a task with {KEY}");
    run(&["go", &task, "--model", "script:model.yaml", "--no-input", "--jsonl", "--stream"]);
    run(&["go", &task, "--model", "script:model.yaml", "--no-input"]);
    let id = newest(&env);
    for args in [
        vec!["runs", "show"],
        vec!["trace", "--deep"],
        vec!["events"],
        vec!["events", "--jsonl"],
        vec!["replay", "--instant"],
        vec!["cost"],
    ] {
        run(&args);
    }
    run(&["runs", "export", &id, "-"]);
    run(&["rerun", &id]);
    for canary in ["canary-3b71", "canary0123456789abcdef"] {
        assert!(!told.contains(canary), "{canary} in {told}");
        assert_eq!(files_with(&env.home(), canary.as_bytes()), Vec::<String>::new(), "{canary}");
    }
    assert!(told.contains("redacted"));
}

fn files_with(dir: &std::path::Path, canary: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, canary));
        } else if std::fs::read(&path).unwrap().windows(canary.len()).any(|part| part == canary) {
            found.push(path.display().to_string());
        }
    }
    found
}
