//! Conversations with orchestrators: over lines and processes, through kills, and side by side.

use crate::env;
use crate::go::{lines, newest};
use crate::orchestration::{MODEL, calls, model, oskill, rule, script, wait_for};
use crate::terminal::Terminal;
use fugato_testkit::{Ran, TestEnv};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};

/// A desk that asks before it works, with a skill whose calls are counted.
fn desk() -> TestEnv {
    let env = env();
    script(
        &env,
        "work",
        "if [ -f hold ]; then touch begun; while [ -f hold ]; do sleep 0.05; done; fi\necho worked",
    );
    oskill(&env, "desk", "## Session\nloop\n\n## Allowed Skills\n- work\n");
    model(
        &env,
        &json!([
            {"when": {"agent": "main", "task": "Assistant: finished"}, "tools": [
                {"name": "final_answer", "arguments": {"answer": "we finished before"}}]},
            rule(json!({"agent": "main", "tool_result": "work"}), "final_answer", json!({"answer": "finished"})),
            rule(json!({"agent": "main", "tool_result": "ask_user"}), "work", json!({"prompt": "now"})),
            rule(json!({"agent": "main"}), "ask_user", json!({"question": "Really?", "options": ["yes", "no"]})),
        ]),
    );
    env
}

fn chat(env: &TestEnv, more: &[&str]) -> Ran {
    let args = ["chat", "desk"].into_iter().chain(MODEL).chain(more.iter().copied());
    env.run(args)
}

fn requests(env: &TestEnv) -> Value {
    env.fugato("chat --list --json").exits(0).json()["conversations"].clone()
}

#[test]
fn what_is_said_next_answers_what_was_asked_and_then_begins_anew() {
    let env = desk();
    let asked = chat(&env, &["do it", "--json"]).exits(6).json();
    assert_eq!((&asked["status"], &asked["answer"]), (&json!("awaiting_input"), &Value::Null));
    assert_eq!(asked["questions"][0], json!({"number": 0, "text": "Really?", "options": ["yes", "no"]}));
    let listed = requests(&env);
    assert_eq!((&listed[0]["name"], &listed[0]["awaits_input"]), (&json!("default"), &json!(true)));
    env.fugato("chat --list").exits(0).says(&["awaiting_input", "fugato chat desk --session default TEXT"]);

    let answered = chat(&env, &["好的", "--json"]).exits(0).json();
    assert_eq!((&answered["run"], &answered["answer"]), (&asked["run"], &json!("finished")));
    assert_eq!(calls(&env), ["work now"]);
    let log = env.run(["events", asked["run"].as_str().unwrap(), "--jsonl"]).stdout;
    assert!(lines(&log, "input.answered").any(|line| line["answer"] == "好的"));

    // A new request, which knows what was said; nothing of the old one is done again.
    let next = chat(&env, &["and", "then?", "--json"]).exits(0).json();
    assert_ne!(next["run"], asked["run"]);
    assert_eq!(next["answer"], "we finished before");
    assert_eq!(calls(&env), ["work now"]);
    let listed = requests(&env);
    assert_eq!((&listed[0]["requests"], &listed[0]["awaits_input"]), (&json!(2), &json!(false)));
    let log = env.run(["events", &newest(&env), "--jsonl"]).stdout;
    let prompt = lines(&log, "agent.started").next().unwrap()["prompt"].as_str().unwrap().to_owned();
    for part in ["User: do it", "Result: 好的", "Assistant: finished", "and then?"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    // Another conversation knows nothing of this one.
    chat(&env, &["and then?", "--session", "other"]).exits(6).says(&["Really?", "--session other TEXT"]);
}

#[test]
fn lines_of_a_pipe_are_said_one_after_the_other() {
    let env = desk();
    let mut child = piped(&env, &["--session", "管道"]);
    child.stdin.take().unwrap().write_all("做吧\n\nyes\r\nand then?".as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "finished\nwe finished before\n", "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(requests(&env)[0]["requests"], 2);
    // Nothing to say is nothing said.
    let mut child = piped(&env, &[]);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    env.command()
        .args(["chat", "desk", " "])
        .output()
        .map(|ran| assert_eq!(ran.status.code(), Some(2)))
        .unwrap();
}

fn piped(env: &TestEnv, more: &[&str]) -> Child {
    let mut command = env.command();
    command.args(["chat", "desk"]).args(MODEL).args(more);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Says something to a process that then waits for more, until it has written this.
fn say(child: &mut Child, line: &str, until: &str) {
    child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    let mut told = BufReader::new(child.stderr.as_mut().unwrap());
    let mut seen = String::new();
    while !seen.contains(until) {
        assert!(told.read_line(&mut seen).unwrap() > 0, "`{until}` did not come: {seen}");
    }
}

#[test]
fn killed_while_it_waits_it_is_answered_from_another_process() {
    for by in ["answer", "chat"] {
        let env = desk();
        let mut first = piped(&env, &[]);
        say(&mut first, "do it\n", "waiting for an answer");
        // The process is there, and holds nothing.
        first.kill().unwrap();
        first.wait().unwrap();
        let id = newest(&env);
        match by {
            "chat" => chat(&env, &["yes"]).exits(0).says(&["finished"]),
            _ => env.run(["answer", &id, "yes"]).exits(0).says(&["finished"]),
        };
        assert_eq!(calls(&env), ["work now"]);
        assert_eq!(requests(&env)[0]["run"], json!(id));
        chat(&env, &["and then?"]).exits(0).says(&["we finished before"]);
    }
}

#[test]
fn killed_at_work_it_goes_on_with_the_next_thing_that_is_said() {
    let env = desk();
    chat(&env, &["do it"]).exits(6);
    env.write("hold", "");
    let mut second = piped(&env, &[]);
    second.stdin.as_mut().unwrap().write_all(b"yes\n").unwrap();
    wait_for(&env, "begun");
    second.kill().unwrap();
    second.wait().unwrap();
    std::fs::remove_file(env.project().join("hold")).unwrap();
    let ran = chat(&env, &["and then?"]).exits(0);
    ran.says(&["was interrupted; going on with it", "we finished before"]);
    assert_eq!(ran.stdout, "finished\nwe finished before\n");
    // The answer was given once; the script says that it only reads, so it ran again.
    assert_eq!(calls(&env), ["work now"; 2]);
    assert_eq!(requests(&env)[0]["requests"], 2);
}

#[test]
fn of_two_who_answer_at_once_one_is_heard_and_the_other_is_told() {
    let env = desk();
    chat(&env, &["do it"]).exits(6);
    env.write("hold", "");
    let mut first = piped(&env, &[]);
    first.stdin.as_mut().unwrap().write_all(b"yes\n").unwrap();
    wait_for(&env, "begun");
    chat(&env, &["no"]).exits(7).says(&["conversation `default` is busy", "fugato events run_"]);
    env.run(["answer", &newest(&env), "no"]).exits(7);
    std::fs::remove_file(env.project().join("hold")).unwrap();
    drop(first.stdin.take());
    let output = first.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "finished\n");
    assert_eq!(calls(&env), ["work now"]);
}

#[test]
fn many_who_speak_at_once_are_heard_once_each_or_told() {
    let env = desk();
    script(&env, "work", "echo worked");
    oskill(&env, "desk", "## Allowed Skills\n- work\n\n## SOP\n@a work $input\n@answer final_answer $a\n");
    let all: Vec<Child> = (0..6)
        .map(|at| {
            let mut command = env.command();
            let said = format!("message-{at}");
            command
                .args(["chat", "desk", &said, "--model", "echo"])
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let mut heard = 0;
    for child in all {
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => heard += 1,
            Some(7) => assert!(told.contains("busy") || told.contains("first"), "{told}"),
            other => panic!("{other:?}: {told}"),
        }
    }
    assert!(heard >= 1);
    assert_eq!(requests(&env)[0]["requests"], json!(heard), "no request was lost or doubled");
    assert_eq!(calls(&env).len(), heard);
}

#[test]
fn a_follow_up_in_a_program_does_not_repeat_what_was_done() {
    let env = env();
    script(&env, "count", "echo $prompt");
    oskill(&env, "desk", "## Allowed Skills\n- count\n");
    let plan = |task: &str, more: &str| {
        let program = format!("@one count 1\n@two count $one 2\n{more}@answer final_answer $two\n");
        json!({"when": {"agent": "main/plan", "task": task}, "reply": program})
    };
    model(&env, &json!([plan("a third", "@three count $two 3\n"), plan("", "")]));
    let ran = chat(&env, &["two of them", "--json"]).exits(0).json();
    assert_eq!((&ran["answer"], &ran["variables"]["one"]), (&json!("1 2"), &json!("1")));
    chat(&env, &["and a third"]).exits(0);
    assert_eq!(calls(&env), ["count 1", "count 1 2", "count 1 2 3"]);
    // From another process, after a restart of everything: values come from the log alone.
    chat(&env, &["and a third once more"]).exits(0);
    assert_eq!(calls(&env).len(), 3);
    // A run of its own knows nothing of the conversation.
    env.run(["run", "desk", "two of them", MODEL[0], MODEL[1]]).exits(0);
    assert_eq!(calls(&env).len(), 5);
    assert_eq!(requests(&env)[0]["requests"], 3);
}

#[test]
fn a_person_types_leaves_and_comes_back() {
    let env = desk();
    let mut terminal = Terminal::whole(&env, &["chat", "desk", MODEL[0], MODEL[1]], 100, 30);
    terminal.shows("Ctrl-D ends");
    terminal.type_keys("请做吧\r");
    terminal.shows("Really?");
    // What Ctrl-C does; the test has no controlling terminal.
    let pid = rustix::process::Pid::from_child(&terminal.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    terminal.shows("Go on: fugato chat desk");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(130));

    let mut again = Terminal::whole(&env, &["chat", "desk", MODEL[0], MODEL[1]], 100, 30);
    again.shows("Really?");
    again.type_keys("yes\r");
    again.shows("finished");
    again.type_keys("\u{4}");
    assert_eq!(again.child.wait().unwrap().code(), Some(0));
    let log = env.run(["events", &newest(&env), "--jsonl"]).stdout;
    let asked = lines(&log, "run.created").next().unwrap();
    assert_eq!(asked["spec"]["context"]["ARGUMENTS"], "请做吧");
    assert_eq!(calls(&env), ["work now"]);
}

#[test]
fn who_cannot_be_talked_with_is_told_what_to_do() {
    let env = desk();
    env.run(["chat", "work", "hello"]).exits(2).says(&["`work` is no orchestrator", "fugato run work"]);
    env.run(["chat", "dask", "hello"]).exits(3).says(&["did you mean `desk`"]);
    env.run(["chat", "desk", "hello", "--session", "a\nb"]).exits(2).says(&["--session"]);
    env.run(["chat", "desk", "hello", "--session", &"x".repeat(101)]).exits(2);
    env.run(["chat"]).exits(2);
    env.run(["chat", "--list"]).exits(3).says(&["no runs here yet"]);
    chat(&env, &["hello", "--lang", "zh"]).exits(6).says(&["等待回答"]);
}

#[test]
fn for_whom_one_speaks_is_remembered_by_the_conversation() {
    let env = env();
    script(&env, "alpha", "echo alpha");
    script(&env, "beta", "echo beta");
    let program = "## Allowed Skills\n- alpha\n- beta\n\n## SOP\n@a alpha $input\n@answer final_answer $a\n";
    oskill(&env, "desk", program);
    let text =
        r#"{"mode": "single", "node": {"id": "writer", "skills": {"visible": ["*"], "deny": ["beta"]}}}"#;
    env.write("p.json", text);
    let agent = env.fugato("policy resolve p.json --json").json()["agents"][0]["id"].clone();
    let agent = agent.as_str().unwrap();
    let callable = |ran: Ran| {
        let log = env.run(["events", ran.json()["run"].as_str().unwrap(), "--jsonl"]).exits(0).stdout;
        let skills = lines(&log, "run.created").next().unwrap()["spec"]["skills"].clone();
        skills.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let first = env.run(["chat", "desk", "1", "--json", "--as", agent, "--profile", "p.json"]).exits(0);
    assert_eq!(callable(first), ["alpha"]);
    let next = env.run(["chat", "desk", "3"]).exits(0);
    next.says(&[&format!("as `{agent}`, as before")]);
    let next = env.run(["chat", "desk", "4", "--json"]).exits(0);
    assert_eq!(callable(next), ["alpha"]);
    // Another conversation knows nothing of it.
    let other = env.run(["chat", "desk", "1", "--json", "--session", "other"]).exits(0);
    assert_eq!(callable(other), ["alpha", "beta"]);
    std::fs::remove_file(env.project().join("p.json")).unwrap();
    env.run(["chat", "desk", "5"]).exits(3).says(&["p.json"]);
}

#[test]
fn the_names_of_conversations_are_completed() {
    let env = desk();
    chat(&env, &["hello", "--session", "旅行"]).exits(6);
    let completed = |words: &[&str]| {
        let index = (words.len() - 1).to_string();
        let mut command = env.command();
        command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index).env("_CLAP_IFS", "\n");
        let output = command.arg("--").args(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(completed(&["fugato", "chat", "desk", "--session", ""]), "旅行");
    assert_eq!(completed(&["fugato", "chat", "--session", "旅"]), "旅行");
}

#[test]
fn a_turn_that_used_up_its_steps_is_over_and_the_next_prompt_begins_another() {
    let env = env();
    script(&env, "alpha", "echo again");
    oskill(&env, "desk", "## Session\nloop\n\n## Allowed Skills\n- alpha\n");
    model(
        &env,
        &json!([
            rule(
                json!({"agent": "main", "task": "second"}),
                "final_answer",
                json!({"answer": "now it ends"})
            ),
            rule(json!({"agent": "main"}), "alpha", json!({"prompt": "1"})),
        ]),
    );
    let first = chat(&env, &["first", "--json"]).exits(8).json();
    assert_eq!(first["status"], "budget_exhausted");
    let log = env.run(["events", first["run"].as_str().unwrap(), "--jsonl"]).exits(0).stdout;
    let asked: Vec<Value> = lines(&log, "model.requested").collect();
    assert_eq!((asked.len(), &asked[19]["purpose"]), (20, &json!("wrap_up")));
    let second = chat(&env, &["second", "--json"]).exits(0).json();
    assert_eq!(second["answer"], "now it ends");
    assert_ne!(second["run"], first["run"]);
    assert_eq!(requests(&env)[0]["requests"], 2);
}
