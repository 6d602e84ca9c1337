//! Runs that work in another process: detached ones, and commands to a living owner.

use crate::env;
use crate::runs::project;
use fugato_testkit::TestEnv;
use std::time::{Duration, Instant};

fn status(env: &TestEnv, id: &str) -> String {
    let runs = env.fugato("runs --json").json();
    let run = runs["runs"].as_array().into_iter().flatten().find(|run| run["id"] == id).cloned();
    run.and_then(|run| run["status"].as_str().map(str::to_owned)).unwrap_or_default()
}

fn until(env: &TestEnv, id: &str, wanted: &str) {
    let began = Instant::now();
    while status(env, id) != wanted {
        assert!(began.elapsed() < Duration::from_secs(60), "{} is not {wanted}", status(env, id));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn waits_for(mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_detached_run_works_in_the_background_and_can_be_answered() {
    let env = project();
    let ran = env.fugato("run brief --model script:model.yaml --detach").exits(0);
    ran.says(&["in the background", "fugato events"]);
    let id = ran.stdout.trim().to_owned();
    until(&env, &id, "awaiting_input");
    assert_eq!(env.read("counter.txt"), "ran\n");
    env.run(["answer", &id, "林"]).exits(0);
    assert_eq!(status(&env, &id), "complete");
}

/// A question and a slow script at the same time.
fn busy(env: &TestEnv) -> std::process::Child {
    env.write(
        ".agents/skills/two/SKILL.md",
        "---\nname: two\ndescription: Two at once.\nphases:\n  - name: both\n    parallel: true\n    subagents:\n      \
         - {skill: _sub/slow, type: script, output: SLOW}\n      - {skill: _sub/ask, type: explore, output: WHO}\n---\nBoth.\n",
    );
    env.write(
        ".agents/skills/two/_sub/slow/SKILL.md",
        "---\nname: slow\ndescription: Waits for a file.\nmetadata:\n  fugato-run: scripts/main.sh\n  fugato-effect: read\n---\nWait.\n",
    );
    env.write(
        ".agents/skills/two/_sub/slow/scripts/main.sh",
        "#!/bin/sh\nwhile [ ! -e go.txt ]; do sleep 0.02; done\necho done\n",
    );
    env.write(".agents/skills/two/_sub/ask/SKILL.md", "---\nname: ask\ndescription: Asks.\n---\nAsk.\n");
    env.write(
        "two.yaml",
        "- when: {step: 1}\n  tools: [{name: ask_user, arguments: {question: who}}]\n- when: {text: 林}\n  reply: '{\"name\": \"林\"}'\n",
    );
    let mut command = env.command();
    command.args(["run", "two", "--model", "script:two.yaml", "--no-input"]);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null()).spawn().unwrap()
}

#[test]
fn a_question_is_answered_while_another_process_works_on_the_run() {
    let env = env();
    let mut owner = busy(&env);
    let asked = || env.fugato("events --type input.requested --jsonl").stdout.contains("who");
    waits_for(asked);
    let id = env.fugato("runs --json").json()["runs"][0]["id"].as_str().unwrap().to_owned();
    env.run(["answer", &id, "林"]).exits(0).says(&["answered"]);
    env.run(["answer", &id, "--question", "0", "again"]).exits(7).says(&["answered already"]);
    env.write("go.txt", "");
    assert!(owner.wait().unwrap().success());
    let run = env.run(["runs", "show", &id, "--json"]).exits(0).json();
    assert_eq!(run["status"], "complete", "{run}");
    assert_eq!(run["variables"]["WHO"]["name"], "林", "{run}");
}
