//! Masters and subagents that are killed, interrupted and taken over: nothing is done twice, every stream ends, nobody stays.

use crate::env;
use crate::go::{agent, events, go, lines, model, newest, tool};
use fugato_testkit::TestEnv;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

fn start(env: &TestEnv, args: &[&str]) -> Child {
    let mut command = env.command();
    command.args(["go", "the whole task", "--model", "script:model.yaml", "--no-input"]).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

pub fn waits_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_secs(90), "{what}: nothing came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Lines of a file that commands of agents write.
fn counted(env: &TestEnv, line: &str) -> usize {
    let text = std::fs::read_to_string(env.project().join("counter.txt")).unwrap_or_default();
    text.lines().filter(|found| *found == line).count()
}

/// Processes that work in this world.
fn left(env: &TestEnv) -> Vec<String> {
    let room = env.project().canonicalize().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let works_here = |pid: &String| {
        let cwd: PathBuf = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        cwd.starts_with(&room)
    };
    pids.filter(|pid| pid.parse::<u32>().is_ok()).filter(works_here).collect()
}

/// An agent that runs this command and answers.
fn worker(task: &str, command: &str) -> [Value; 2] {
    [
        json!({"when": {"task": task, "step": 1}, "tools": [tool("Bash", json!({"command": command}))]}),
        json!({"when": {"task": task}, "reply": format!("{task} is done")}),
    ]
}

#[test]
fn after_kill_9_finished_subagents_stay_finished_and_every_stream_ends() {
    let env = env();
    let slow =
        "echo began >> counter.txt; while [ ! -e go.txt ]; do sleep 0.05; done; echo ended >> counter.txt";
    let mut rules = worker("quick", "echo quick >> counter.txt").to_vec();
    rules.extend(worker("slow one", slow));
    rules.extend(worker("slow two", slow));
    let calls = ["quick", "slow one", "slow two"].map(|task| agent("coder", task));
    rules.push(json!({"when": {"step": 1}, "tools": calls}));
    rules.push(json!({"when": {"tool_result": "Agent"}, "reply": "all of it"}));
    model(&env, &rules);
    let mut owner = start(&env, &[]);
    waits_for("two slow ones at work", || counted(&env, "began") == 2);
    waits_for("the quick one at its end", || {
        let ran = env.fugato("events --jsonl --type agent.stopped");
        ran.code == 0 && !ran.stdout.is_empty()
    });
    owner.kill().unwrap();
    owner.wait().unwrap();
    waits_for("nobody is left", || left(&env).is_empty());
    assert_eq!(env.fugato("runs --json").json()["runs"][0]["status"], "interrupted");
    env.write("go.txt", "");
    let id = newest(&env);
    let mut said = String::new();
    // Nobody knows how far the commands got: the agents are told so, or a person is asked.
    let mut ran = env.run(["resume", &id, "--no-input", "--jsonl"]);
    said.push_str(&ran.stdout);
    for _ in 0..4 {
        if ran.code != 6 {
            break;
        }
        ran = env.run(["answer", &id, "repeat"]);
    }
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(counted(&env, "quick"), 1, "what was finished is not done again");
    let events = events(&env);
    let quick = lines(&events, "agent.started").filter(|line| line["prompt"] == "quick").count();
    assert_eq!((quick, lines(&events, "agent.stopped").count()), (1, 4));
    let (starts, ends) = (
        lines(&said, "data-sub-agent-start").count(),
        lines(&said, "data-sub-agent-end").count() + lines(&said, "data-sub-agent-error").count(),
    );
    assert_eq!((starts, ends), (2, 2));
    waits_for("nobody is left", || left(&env).is_empty());
}

/// Children that leave the session, the environment and their parents, and do not listen.
const RUNAWAYS: &str = "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM; echo up >> counter.txt; sleep 600; true' & \
    env -i PATH=\"$PATH\" setsid sh -c 'trap \"\" TERM; (setsid sleep 600 &); echo up >> counter.txt; sleep 600; true' & \
    (setsid env -i PATH=\"$PATH\" sh -c 'trap \"\" TERM; echo up >> counter.txt; sleep 600; true' &) ; \
    sleep 600 & wait";

#[test]
fn kill_9_of_the_owner_ends_everything_below_it_without_another_start() {
    let env = env();
    let mut rules = worker("part", RUNAWAYS).to_vec();
    rules.push(
        json!({"when": {"step": 1}, "tools": [agent("coder", "part one"), agent("coder", "part two")]}),
    );
    rules.push(json!({"reply": "never"}));
    model(&env, &rules);
    let mut owner = start(&env, &[]);
    waits_for("all are up", || counted(&env, "up") == 6);
    assert!(left(&env).len() > 8, "{:?}", left(&env));
    let guardian = format!("__guard-processes-of\0{}-", owner.id());
    assert_eq!(with_argument(&guardian).len(), 1, "{:?}", with_argument("__guard"));
    owner.kill().unwrap();
    owner.wait().unwrap();
    let killed = Instant::now();
    // No fugato is started here: who ends them is not a sweep of the next one.
    waits_for("nobody is left", || left(&env).is_empty());
    println!("everybody had ended {:?} after their owner", killed.elapsed());
    waits_for("the guardian ends last", || with_argument(&guardian).is_empty());
}

/// Processes with these words among their arguments.
fn with_argument(words: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let said = |entry: &std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
    let has = |entry: &std::fs::DirEntry| String::from_utf8_lossy(&said(entry)).contains(words);
    entries.filter(has).filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[test]
fn runaways_of_a_command_end_with_their_run() {
    let env = env();
    let mut rules = worker("part", RUNAWAYS).to_vec();
    rules.push(json!({"when": {"step": 1}, "tools": [agent("coder", "part one")]}));
    rules.push(json!({"reply": "never"}));
    model(&env, &rules);
    let mut owner = start(&env, &[]);
    waits_for("all are up", || counted(&env, "up") == 3);
    let pid = owner.id().to_string();
    std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert_eq!(owner.wait().unwrap().code(), Some(130));
    assert_eq!(left(&env), Vec::<String>::new(), "when it has ended, everybody has");
    waits_for("no guardian is left either", || {
        with_argument(&format!("__guard-processes-of\0{pid}-")).is_empty()
    });
}

/// Eight subagents whose commands have children of their own, which do not listen to TERM.
fn eight(env: &TestEnv) {
    let command = "trap '' TERM; (trap '' TERM; sleep 600) & (trap '' TERM; (sleep 600; true) & wait) & \
                   echo up >> counter.txt; wait";
    let mut rules = worker("part", command).to_vec();
    let calls: Vec<Value> = (0..8).map(|at| agent("coder", &format!("part {at}"))).collect();
    rules.push(json!({"when": {"step": 1}, "tools": calls}));
    rules.push(json!({"reply": "never"}));
    model(env, &rules);
}

#[test]
fn stopping_a_master_leaves_no_process_of_its_eight_subagents() {
    let env = env();
    eight(&env);
    let mut owner = start(&env, &["--concurrent", "8"]);
    waits_for("eight at work", || counted(&env, "up") == 8);
    assert!(left(&env).len() > 16, "{:?}", left(&env));
    let pid = owner.id().to_string();
    std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert_eq!(owner.wait().unwrap().code(), Some(130));
    waits_for("nobody is left", || left(&env).is_empty());
    assert_eq!(env.fugato("runs --json").json()["runs"][0]["status"], "interrupted");
}

#[test]
fn a_time_budget_ends_a_tree_and_its_processes_with_an_end_for_every_stream() {
    let env = env();
    eight(&env);
    let ran = go(&env, &["--concurrent", "8", "--budget-time", "6s", "--jsonl"]);
    assert_ne!(ran.code, 0);
    let starts = lines(&ran.stdout, "data-sub-agent-start").count();
    let ends =
        lines(&ran.stdout, "data-sub-agent-end").count() + lines(&ran.stdout, "data-sub-agent-error").count();
    assert_eq!((starts, ends), (8, 8));
    waits_for("nobody is left", || left(&env).is_empty());
}
