//! `fugato go`: a master and its subagents, from the binary. Limits at their edges, wrong calls, messages, runs begun again.

use crate::env;
use fugato_testkit::{Ran, TestEnv};
use serde_json::{Value, json};

/// A scripted model of these rules; JSON is YAML.
pub fn model(env: &TestEnv, rules: &[Value]) {
    env.write("model.yaml", json!(rules).to_string());
}

pub fn agent(kind: &str, prompt: &str) -> Value {
    json!({"name": "Agent", "arguments": {"description": format!("{prompt}!"), "subagent_type": kind, "prompt": prompt}})
}

pub fn tool(name: &str, arguments: Value) -> Value {
    let fields = [("name".to_owned(), Value::from(name)), ("arguments".to_owned(), arguments)];
    Value::Object(fields.into_iter().collect())
}

/// Runs a task; a model of `model.yaml` answers.
pub fn go(env: &TestEnv, more: &[&str]) -> Ran {
    let mut args = vec!["go", "the whole task", "--model", "script:model.yaml", "--no-input"];
    args.extend(more);
    env.run(args)
}

/// What `--jsonl` or `events --jsonl` said: events without their envelope, and parts of streams.
fn parsed(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if line["kind"].is_object() { line["kind"].take() } else { line }
    })
}

/// Those of this type.
pub fn lines<'a>(text: &'a str, kind: &'a str) -> impl Iterator<Item = Value> + 'a {
    parsed(text).filter(move |line| line["type"] == kind)
}

pub fn newest(env: &TestEnv) -> String {
    env.fugato("runs --json").exits(0).json()["runs"][0]["id"].as_str().unwrap().to_owned()
}

pub fn events(env: &TestEnv) -> String {
    env.run(["events", &newest(env), "--jsonl"]).exits(0).stdout
}

/// What the master got back for its calls, in order.
pub fn results(env: &TestEnv) -> Vec<(String, bool)> {
    let events = events(env);
    let of_master = |line: &Value| line["agent"] == 0;
    let mut answered: Vec<Value> =
        lines(&events, "tool.completed").chain(lines(&events, "tool.refused")).filter(of_master).collect();
    answered.sort_by_key(|line| (line["step"].as_u64(), line["index"].as_u64()));
    let told = |line: &Value| {
        let refused = line["reason"].as_str();
        let said = refused.or_else(|| line["content"].as_str()).unwrap_or_default().to_owned();
        (said, refused.is_some() || line["is_error"] == true)
    };
    answered.iter().map(told).collect()
}

/// The one result of the master.
fn result(env: &TestEnv) -> (String, bool) {
    let mut all = results(env);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// Subagents at work at the same time, at most.
fn most_at_once(events: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for line in parsed(events) {
        match line["type"].as_str() {
            Some("agent.started") if line["delegated"].is_object() => now += 1,
            Some("agent.stopped") if line["agent"] != 0 => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

#[test]
fn four_work_at_once_and_the_fifth_waits_in_a_queue_that_is_seen() {
    for (count, positions) in
        [(3, vec![0, 0, 0]), (4, vec![0; 4]), (5, vec![0, 0, 0, 0, 1]), (7, vec![0, 0, 0, 0, 1, 2, 3])]
    {
        let env = env();
        let calls: Vec<Value> = (0..count).map(|at| agent("explore", &format!("part {at}"))).collect();
        model(
            &env,
            &[
                json!({"when": {"task": "part"}, "reply": "mine", "delay_ms": 150}),
                json!({"when": {"step": 1}, "tools": calls}),
                json!({"when": {"tool_result": "Agent"}, "reply": "all of it"}),
            ],
        );
        let ran = go(&env, &["--jsonl"]).exits(0);
        let queued: Vec<u64> =
            lines(&ran.stdout, "agent.queued").map(|line| line["position"].as_u64().unwrap()).collect();
        assert_eq!(queued, positions);
        assert_eq!(most_at_once(&ran.stdout), count.min(4));
        assert_eq!(results(&env).len(), count);
        let ends = lines(&ran.stdout, "data-sub-agent-end").count();
        assert_eq!((lines(&ran.stdout, "data-sub-agent-start").count(), ends), (count, count));
    }
}

/// An agent that reads a file again and again and answers at this step.
fn patient(task: &str, answers_at: u32) -> [Value; 2] {
    let read = tool("Read", json!({"path": "a.txt"}));
    [
        json!({"when": {"task": task, "step": answers_at}, "reply": "forty-two"}),
        json!({"when": {"task": task}, "reply": "so far", "tools": [read]}),
    ]
}

#[test]
fn a_kind_has_its_steps_and_the_last_is_for_an_answer() {
    for (kind, steps) in [("extractor", 10), ("data-analyst", 15), ("coder", 20)] {
        for (answers_at, state) in
            [(steps - 1, "completed"), (steps, "limit_reached"), (steps + 1, "limit_reached")]
        {
            let env = env();
            env.write("a.txt", "text\n");
            let mut rules = patient("count", answers_at).to_vec();
            rules.push(json!({"when": {"step": 1}, "tools": [agent(kind, "count")]}));
            rules.push(json!({"reply": "done"}));
            model(&env, &rules);
            go(&env, &[]).exits(0);
            let (said, is_error) = result(&env);
            let report: Value = serde_json::from_str(&said).unwrap();
            assert!(!is_error, "{said}");
            assert_eq!(
                (&report["state"], report["steps"].as_u64()),
                (&json!(state), Some(answers_at.min(steps).into())),
                "{kind} {answers_at}: {said}"
            );
            let has_answer = said.contains("forty-two");
            assert_eq!(has_answer, answers_at <= steps, "{said}");
        }
    }
}

#[test]
fn a_master_has_two_hundred_steps() {
    for (answers_at, asked) in [(199, 199), (200, 200), (201, 200)] {
        let env = env();
        env.write("a.txt", "text\n");
        model(&env, &patient("whole", answers_at));
        let ran = go(&env, &["--jsonl"]);
        assert_eq!(lines(&ran.stdout, "model.answered").count(), asked, "{}", ran.stderr);
        assert_eq!(ran.stdout.contains("forty-two"), answers_at <= 200);
    }
}

#[test]
fn a_subagent_cannot_start_another_and_is_told_the_rule() {
    let env = env();
    model(
        &env,
        &[
            json!({"when": {"task": "part", "step": 1}, "tools": [agent("explore", "deeper"), tool("SendMessage", json!({"to": "main", "message": "hi"}))]}),
            json!({"when": {"task": "part"}, "reply": "I could not"}),
            json!({"when": {"step": 1}, "tools": [agent("general-purpose", "part")]}),
            json!({"reply": "done"}),
        ],
    );
    let ran = go(&env, &["--jsonl"]).exits(0);
    let refused: Vec<Value> = lines(&ran.stdout, "tool.refused").collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    let rule = refused[0]["reason"].as_str().unwrap();
    assert!(
        rule.contains("level 2 of 2 (a master and its subagents, which start none)")
            && rule.contains("Do the work yourself"),
        "{rule}"
    );
    assert_eq!(lines(&ran.stdout, "agent.started").count(), 2);
}

#[test]
fn wrong_calls_are_answered_with_what_would_be_right() {
    let env = env();
    let no_prompt = json!({"name": "Agent", "arguments": {"description": "x"}});
    let nobody = tool("SendMessage", json!({"to": "browser-9", "message": "x"}));
    model(
        &env,
        &[
            json!({"when": {"step": 1}, "tools": [agent("browsr", "look"), no_prompt, nobody, tool("SendMessage", json!({"to": "main", "message": "x"}))]}),
            json!({"reply": "done"}),
        ],
    );
    go(&env, &[]).exits(0);
    let results = results(&env);
    let kinds = "browser, canvas-designer, coder, data-analyst, doc-editor, explore, extractor, general-purpose, plan";
    assert!(
        results[0].0.contains(&format!(
            "there is no subagent_type `browsr`; there are: {kinds}. Did you mean `browser`?"
        )),
        "{results:?}"
    );
    assert!(results[1].0.contains("`prompt` is missing"), "{results:?}");
    assert!(results[2].0.contains("there is no agent `browser-9`; there are: main"), "{results:?}");
    assert!(results[3].0.contains("that is you"), "{results:?}");
    assert!(results.len() == 4 && results.iter().all(|(_, is_error)| *is_error), "{results:?}");
}

#[test]
fn five_hundred_calls_in_one_answer_are_a_fan_out_of_those_that_are_allowed() {
    let env = env();
    let calls: Vec<Value> = (0..500).map(|at| agent("explore", &format!("part {at}"))).collect();
    model(
        &env,
        &[
            json!({"when": {"task": "part"}, "reply": "mine"}),
            json!({"when": {"step": 1}, "tools": calls}),
            json!({"reply": "done"}),
        ],
    );
    let ran = go(&env, &["--jsonl"]).exits(0);
    let results = results(&env);
    let (worked, refused): (Vec<_>, Vec<_>) = results.iter().partition(|(_, is_error)| !is_error);
    assert_eq!((worked.len(), refused.len()), (64, 436));
    assert!(refused.iter().all(|(said, _)| said.contains("at most 64 tool calls")), "{refused:?}");
    assert_eq!(most_at_once(&ran.stdout), 4);
    let last = lines(&ran.stdout, "agent.queued").last().unwrap();
    assert_eq!(last["position"], 60);
}

#[test]
fn a_message_reaches_an_agent_that_runs_and_one_that_has_finished() {
    let env = env();
    env.write("a.txt", "text\n");
    let background = |prompt: &str| {
        let mut call = agent("explore", prompt);
        call["arguments"]["run_in_background"] = true.into();
        call
    };
    let send = |to: &str, message: &str| tool("SendMessage", json!({"to": to, "message": message}));
    model(
        &env,
        &[
            json!({"when": {"task": "slow", "text": "in JSON"}, "reply": "{\"slow\": \"in JSON, as you said\"}"}),
            json!({"when": {"task": "slow", "step": 1}, "delay_ms": 1500, "tools": [tool("Read", json!({"path": "a.txt"}))]}),
            json!({"when": {"task": "slow"}, "reply": "nobody told me anything"}),
            json!({"when": {"task": "quick", "text": "and the rest", "step": 2}, "reply": "the rest, after the beginning"}),
            json!({"when": {"task": "quick"}, "reply": "the beginning"}),
            json!({"when": {"step": 1}, "tools": [background("slow"), agent("explore", "quick")]}),
            json!({"when": {"step": 2}, "tools": [send("explore-1", "in JSON"), send("explore-2", "and the rest")]}),
            json!({"when": {"text": "in JSON, as you said"}, "reply": "heard of both"}),
            json!({"reply": "waiting"}),
        ],
    );
    let ran = go(&env, &["--jsonl"]).exits(0);
    let results = results(&env);
    assert!(
        results[0].0.contains("explore-1") && results[0].0.contains("its end arrives as a message"),
        "{results:?}"
    );
    assert!(results[1].0.contains("the beginning"), "{results:?}");
    assert!(results[2].0.contains("seen at its next step"), "{results:?}");
    assert!(results[3].0.contains("the rest, after the beginning"), "{results:?}");
    assert!(ran.stdout.lines().last().unwrap().contains("heard of both"), "{results:?}");
    // Three tasks, three streams, each with its end; the finished agent was not made anew.
    assert_eq!(lines(&ran.stdout, "data-sub-agent-end").count(), 3);
    assert_eq!(lines(&ran.stdout, "agent.started").count(), 3);
}

/// A run that waits for a person after its subagent has finished.
fn waits_after_its_subagent(env: &TestEnv) {
    let send = tool("SendMessage", json!({"to": "explore-1", "message": "and the rest"}));
    model(
        env,
        &[
            json!({"when": {"task": "part", "text": "from a person"}, "reply": "what the person wanted"}),
            json!({"when": {"task": "part", "text": "and the rest", "step": 2}, "reply": "the rest, after the beginning"}),
            json!({"when": {"task": "part", "step": 1}, "reply": "the beginning"}),
            json!({"when": {"step": 1}, "tools": [agent("explore", "part")]}),
            json!({"when": {"step": 2}, "tools": [tool("ask_user", json!({"question": "go on?"}))]}),
            json!({"when": {"tool_result": "ask_user"}, "tools": [send]}),
            json!({"when": {"text": "what the person wanted"}, "reply": "heard of it"}),
            json!({"when": {"tool_result": "SendMessage"}, "reply": "done"}),
        ],
    );
    go(env, &[]).exits(6).says(&["go on?", "fugato answer"]);
}

#[test]
fn an_agent_that_is_in_the_log_alone_goes_on_with_its_whole_context() {
    let env = env();
    waits_after_its_subagent(&env);
    // Another process: nothing of the agent is in memory.
    env.run(["answer", &newest(&env), "yes"]).exits(0);
    let results = results(&env);
    assert!(results.last().unwrap().0.contains("the rest, after the beginning"), "{results:?}");
    let shown = env.fugato("runs show").exits(0);
    shown.says(&["↳ explore-1", "part!"]);
}

#[test]
fn a_person_has_a_finished_subagent_go_on_while_the_run_waits() {
    let env = env();
    waits_after_its_subagent(&env);
    let ran = env.run(["send", "explore-1", "this", "is", "from a person"]);
    assert_eq!(ran.code, 6, "{}\n{}", ran.stdout, ran.stderr);
    let events = events(&env);
    let ended: Vec<Value> = lines(&events, "agent.stopped").collect();
    assert_eq!(ended.last().unwrap()["verdict"]["text"], "what the person wanted", "{ended:?}");
    let told = lines(&events, "message.sent").last().unwrap();
    assert!(told["to"] == 0 && told["text"].as_str().unwrap().contains("what the person wanted"), "{told}");
    env.run(["send", "nobody", "x"]).exits(3).says(&["not found in active orchestration"]);
}

#[test]
fn a_run_of_go_is_begun_again_with_its_task_kinds_and_limits() {
    let env = env();
    env.write(
        ".claude/agents/校对员.md",
        "---\nname: 校对员\ndescription: 校对文字。\ntools: Read\n---\n你校对文字。\n",
    );
    env.skill("go", "name: go\ndescription: Another thing of this name. Use never.");
    model(
        &env,
        &[
            json!({"when": {"task": "校对这一段"}, "reply": "两处错字"}),
            json!({"when": {"step": 1}, "tools": [agent("校对员", "校对这一段")]}),
            json!({"when": {"tool_result": "Agent", "text": "校对员-1"}, "reply": "校对完成"}),
        ],
    );
    go(&env, &["--concurrent", "3"]).exits(0).says(&["校对员-1", "两处错字", "校对完成"]);
    let first = newest(&env);
    // The kind is gone; the run knows what it was.
    std::fs::remove_dir_all(env.project().join(".claude")).unwrap();
    let again = env.run(["rerun", &first]).exits(0);
    again.says(&["again after", "校对员-1", "校对完成"]);
    assert!(!again.stderr.contains("gone from") && !again.stderr.contains("not in"), "{}", again.stderr);
    let shown = env.fugato("runs show --json").exits(0).json();
    assert_eq!(
        (&shown["parent"], &shown["limits"]["concurrent"], &shown["limits"]["steps"]),
        (&json!(first), &json!(3), &json!(200)),
        "{shown}"
    );
    env.run(["rerun", &first, "--from", "x"]).exits(2).says(&["leave out --from"]);
    env.fugato("diff").exits(0);
}

#[test]
fn a_detached_task_works_in_the_background() {
    let env = env();
    model(
        &env,
        &[
            json!({"when": {"task": "part"}, "reply": "mine", "delay_ms": 200}),
            json!({"when": {"step": 1}, "tools": [agent("explore", "part"), agent("explore", "part 2")]}),
            json!({"reply": "done"}),
        ],
    );
    let ran = go(&env, &["--detach"]).exits(0);
    let id = ran.stdout.trim().to_owned();
    let followed = env.run(["events", &id, "-f", "--jsonl"]).exits(0).stdout;
    assert_eq!(lines(&followed, "run.ended").next().unwrap()["outcome"], "complete");
    assert_eq!(lines(&followed, "agent.stopped").count(), 3);
}

#[test]
fn the_page_of_a_run_has_its_result_its_agents_verdicts_and_right_numbers() {
    let env = env();
    env.write("a.txt", "text\n");
    let read = tool("Read", json!({"path": "a.txt"}));
    let again = tool("SendMessage", json!({"to": "explore-1", "message": "and more"}));
    let usage = json!({"input_tokens": 7, "output_tokens": 3});
    let long = format!("The answer\u{1b}[31m is\tred.\n{}", "another line\n".repeat(300));
    model(
        &env,
        &[
            json!({"when": {"task": "part", "step": 1}, "tools": [read], "usage": usage}),
            json!({"when": {"task": "part", "text": "and more"}, "reply": "a second answer", "usage": usage}),
            json!({"when": {"task": "part"}, "reply": "a first answer", "usage": usage}),
            json!({"when": {"step": 1}, "tools": [agent("explore", "part")], "usage": usage}),
            json!({"when": {"step": 2}, "tools": [again], "usage": usage}),
            json!({"reply": long, "usage": usage}),
        ],
    );
    let ran = go(&env, &[]).exits(0);
    ran.says(&["6 model calls of 2 agents · 60 tokens", "The answer\\u{1b}[31m is\tred."]);
    let shown = env.fugato("runs show").exits(0);
    shown.says(&[
        "6 model calls of 2 agents · 60 tokens",
        "The answer\\u{1b}[31m is\tred.",
        "--json (`result`)",
    ]);
    assert!(shown.stdout.matches("another line").count() < 30, "{}", shown.stdout);
    // Three steps in two tasks: the last took one, as its own report says.
    shown.says(&["↳ explore-1", "done", "1 step (3 in all)", "→ a second answer"]);
    let document = env.fugato("runs show --json").exits(0).json();
    assert_eq!(document["result"].as_str().unwrap().lines().count(), 301);
    let child = &document["agents"][1];
    assert_eq!(
        (&child["steps"], &child["steps_of_task"], &child["result"]),
        (&json!(3), &json!(1), &json!("a second answer"))
    );
    let report: Value = serde_json::from_str(&results(&env)[1].0).unwrap();
    assert_eq!(report["steps"], 1);
    env.fugato("cost").exits(0).says(&["6 model calls of 2 agents"]);
    // One of each is no plural.
    model(&env, &[json!({"reply": "x", "usage": {"input_tokens": 1, "output_tokens": 0}})]);
    go(&env, &[]).exits(0).says(&["1 model call · 1 token ·"]);
    env.fugato("runs show").exits(0).says(&["1 model call · 1 token ·", "\nx\n"]);
    env.fugato("runs show --lang zh").exits(0).says(&["模型调用 1 次 · 1 词元"]);
}

#[test]
fn an_empty_task_and_wrong_limits_are_refused() {
    let env = env();
    env.run(["go", " ", "--model", "echo"]).exits(2).says(&["the task is empty", "fugato go \""]);
    env.run(["go", "x", "--model", "echo", "--concurrent", "0"]).exits(2);
    env.run(["go"]).exits(2);
    let env = env.chinese();
    env.run(["go", "", "--model", "echo"]).exits(2).says(&["任务为空"]);
}
