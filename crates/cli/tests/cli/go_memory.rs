//! Agents that left memory come back from the log, and calls of one name stay apart: against a provider that remembers
//! what it was asked.

use crate::env;
use crate::go::{events, lines, newest, results};
use fugato_testkit::TestEnv;
use fugato_testkit::mock_model::{Asked, MockModel, Rule, Say};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A world whose only provider is this one.
fn world(model: &MockModel, more: &str) -> TestEnv {
    let env = env();
    let settings = format!(
        "{more}\n[providers.mock]\napi = \"anthropic\"\nbase_url = \"{}/v1\"\nkey_env = \"MOCK_KEY\"\n",
        model.address()
    );
    std::fs::write(env.home().join("config.toml"), settings).unwrap();
    env
}

fn fugato(env: &TestEnv, args: &[&str]) -> (String, String, Option<i32>) {
    let output = env.command().args(args).env("MOCK_KEY", "sk-mock-0123456789").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

fn started(prompt: &str) -> Value {
    json!({"description": prompt, "subagent_type": "explore", "prompt": prompt})
}

/// Of the agent with this task.
fn is_part(asked: &Asked, task: &str) -> bool {
    asked.body["messages"][0].to_string().contains(task)
}

/// The subagent reads a file and answers; told more, it answers again. The master lets time pass before it speaks to it,
/// waits for a person, lets time pass again and speaks once more.
fn forgetful() -> Vec<Rule> {
    let part = |asked: &Asked| is_part(asked, "the part");
    let last = |asked: &Asked, words: &str| {
        asked.body["messages"].as_array().unwrap().last().unwrap().to_string().contains(words)
    };
    let send = |text: &str| Say::call("SendMessage", json!({"to": "explore-1", "message": text}));
    let wait = || Say::call("Bash", json!({"command": "sleep 4"}));
    vec![
        Rule::when(move |asked| part(asked) && last(asked, "third question"), [Say::text("third answer")]),
        Rule::when(move |asked| part(asked) && last(asked, "second question"), [Say::text("second answer")]),
        Rule::when(
            move |asked| part(asked) && asked.results().is_empty(),
            [Say::call("Read", json!({"path": "a.txt"}))],
        ),
        Rule::when(part, [Say::text("first answer")]),
        Rule::always([Say::call("Agent", started("the part"))]).after(0),
        Rule::always([wait()]).after(1),
        Rule::always([send("second question")]).after(2),
        Rule::always([wait()]).after(3),
        Rule::always([Say::call("ask_user", json!({"question": "go on?"}))]).after(4),
        Rule::always([wait()]).after(5),
        Rule::always([send("third question")]).after(6),
        Rule::always([Say::text("all of it")]).after(7),
    ]
}

/// What of its life the agent was told when it was asked this.
fn whole_conversation(model: &MockModel, question: &str, answers: &[&str]) {
    let asked = model.asked();
    let asked = asked.iter().find(|asked| is_part(asked, "the part") && asked.text().contains(question));
    let text = asked.unwrap().body["messages"].to_string();
    for part in ["the part", "what the file says", question].iter().chain(answers) {
        assert_eq!(text.matches(part).count(), 1, "`{part}` once in {text}");
    }
}

#[test]
fn an_agent_that_left_memory_answers_with_all_it_knew_also_in_another_process() {
    let model = MockModel::start(forgetful());
    let env = world(&model, "[agents]\nmemory_seconds = 1\n");
    env.write("a.txt", "what the file says\n");
    let (out, err, code) =
        fugato(&env, &["go", "x", "--model", "mock/m", "--jsonl", "--stream", "--no-input"]);
    assert_eq!(code, Some(6), "{err}");
    let places = |text: &str| -> Vec<String> {
        lines(text, "memory").map(|line| line["in"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(places(&out), ["log", "memory", "log"], "it left, was called back, and left again");
    whole_conversation(&model, "second question", &["first answer"]);
    // Another process, which has it from the log, forgets it again and brings it back.
    let (_, err, code) = fugato(&env, &["answer", &newest(&env), "yes"]);
    assert_eq!(code, Some(0), "{err}");
    whole_conversation(&model, "third question", &["first answer", "second question", "second answer"]);
    assert!(model.unmatched().is_empty(), "{:?}", model.unmatched());
    let said: Vec<String> = results(&env).into_iter().map(|(said, _)| said).collect();
    assert!(said.last().unwrap().contains("third answer"), "{said:?}");
}

#[test]
fn calls_to_which_a_provider_gives_one_name_are_kept_apart() {
    let call = |prompt: &str| Say::call_as("dup", "Agent", started(prompt));
    let answer =
        |task: &'static str, says: &str| Rule::when(move |asked| is_part(asked, task), [Say::text(says)]);
    let model = MockModel::start(vec![
        answer("part one", "of one"),
        answer("part two", "of two"),
        answer("part three", "of three"),
        Rule::always([call("part one"), call("part two")]).after(0),
        Rule::always([call("part three")]).after(2),
        Rule::always([Say::text("all of it")]).after(3),
    ]);
    let env = world(&model, "");
    let (out, err, code) = fugato(&env, &["go", "x", "--model", "mock/m", "--jsonl", "--no-input"]);
    assert_eq!(code, Some(0), "{err}");
    let ids = |kind: &str| -> Vec<String> {
        lines(&out, kind).map(|line| line["id"].as_str().unwrap().to_owned()).collect()
    };
    let (starts, ends) = (ids("data-sub-agent-start"), ids("data-sub-agent-end"));
    let unique: BTreeSet<&String> = starts.iter().collect();
    assert_eq!((unique.len(), &unique), (3, &ends.iter().collect()), "{starts:?} {ends:?}");
    let first = lines(&out, "data-sub-agent-start").next().unwrap();
    assert_eq!(first["data"]["providerToolCallId"], "dup");
    let pairs: BTreeSet<(String, String)> = lines(&out, "data-sub-agent-end")
        .map(|line| (line["data"]["agentId"].to_string(), line["data"]["output"].to_string()))
        .collect();
    let expected = [("explore-1", "of one"), ("explore-2", "of two"), ("explore-3", "of three")];
    assert_eq!(pairs, expected.map(|(agent, said)| (format!("{agent:?}"), format!("{said:?}"))).into());
    // The provider gets every result under the name of its call, and no name twice.
    let last = model.asked().pop().unwrap();
    let mut calls = Vec::new();
    let mut answered = Vec::new();
    for part in
        last.body["messages"].as_array().unwrap().iter().filter_map(|it| it["content"].as_array()).flatten()
    {
        match part["type"].as_str() {
            Some("tool_use") => calls.push(part["id"].as_str().unwrap().to_owned()),
            Some("tool_result") => answered.push(part["tool_use_id"].as_str().unwrap().to_owned()),
            _ => {}
        }
    }
    assert_eq!((calls.len(), calls.iter().collect::<BTreeSet<_>>().len(), &calls), (3, 3, &answered));
    assert!(results(&env).iter().all(|(_, is_error)| !is_error), "{}", events(&env));
}
