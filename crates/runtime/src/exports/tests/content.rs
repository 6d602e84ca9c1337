//! What stands in the files, word for word.

use super::*;
use fugato_engine::{AfterFailure, Asked, Outcome, Target, Verb, Verdict};
use fugato_model::chat::{Answer, Message, Part, Role, StopReason, ToolCall, Usage};
use fugato_model::words;
use serde_json::{Value, json};
use std::sync::Arc;

fn small_spec() -> RunSpec {
    let nodes = vec![
        node("setup/(begin)", 0, &[], Work::Gate),
        node("setup/fetch", 0, &[0], script_work()),
        node("setup/(end)", 0, &[1], Work::Gate),
        node("gather/写作", 1, &[2], agent_work()),
    ];
    spec("run_small", &["setup", "gather"], nodes)
}

fn call() -> ToolCall {
    ToolCall { id: "c1".into(), name: "Read".into(), arguments: json!({"path": "注释.md"}) }
}

fn answer() -> Arc<Answer> {
    let parts = vec![Part::Text { text: "I look\nfirst.".into() }, Part::ToolCall(call())];
    let message = Message { role: Role::Assistant, parts };
    Arc::new(Answer { message, stop: StopReason::ToolUse, usage: Usage::default() })
}

fn small_log() -> Vec<Event> {
    let agent = 0;
    log(vec![
        created(small_spec()),
        EventKind::NodeStarted { node: 1, attempt: 1, arguments: None },
        EventKind::NodeCompleted { node: 1, value: Value::Null, warnings: Vec::new() },
        EventKind::NodeStarted { node: 3, attempt: 1, arguments: None },
        agent_started("gather/写作", Some(3)),
        EventKind::ModelRequested {
            agent,
            step: 1,
            purpose: Default::default(),
            reserve: Default::default(),
            max_tokens: None,
        },
        EventKind::ModelAnswered { agent, step: 1, answer: answer(), micro_usd: None },
        EventKind::ToolRequested { agent, step: 1, index: 0, call: call(), class: EffectClass::Read },
        EventKind::ToolCompleted { agent, step: 1, index: 0, content: "一行".into(), is_error: false },
        EventKind::DirectiveRecorded {
            generation: 1,
            verb: Verb::Redirect,
            target: Target::Agent(AgentPath::new("gather/写作")),
            text: Some("写短一点".into()),
        },
        EventKind::MessageSent {
            to: agent,
            from: "user".into(),
            text: "The operator redirects you:\n\n写短一点".into(),
            kind: None,
        },
        EventKind::DirectiveApplied { generation: 1, agent },
        EventKind::AgentStopped { agent, verdict: Verdict::Answered { text: "好".into() } },
        EventKind::NodeCompleted {
            node: 3,
            value: json!("好"),
            warnings: vec![words!("no JSON", "不是 JSON")],
        },
        EventKind::RunEnded { outcome: Outcome::Complete, reason: words!("done", "完成"), result: None },
    ])
}

fn files_of(events: &[Event], owner: Owner) -> BTreeMap<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store_log(&store, events);
    let EventKind::RunCreated { spec } = &events[0].kind else { panic!() };
    export(dir.path(), &spec.id, owner);
    tree(&dir.path().join("runs").join(&spec.id))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_small_run_has_exactly_these_files() {
    let files = files_of(&small_log(), Owner::Here);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "agents/gather/写作/inbox.jsonl",
            "agents/gather/写作/status.json",
            "agents/gather/写作/stream.jsonl",
            "agents/setup/fetch/status.json",
            "agents/setup/fetch/stream.jsonl",
            "control.json",
            "control.log.jsonl",
            "run.json",
        ]
    );
    let (run, recent) = files["run.json"].split_once(",\"recent\":").unwrap();
    let recent: Vec<Value> = serde_json::from_str(recent.trim_end().strip_suffix('}').unwrap()).unwrap();
    assert_eq!(recent.len(), 5, "the newest of all agents, newest first");
    assert!(recent.iter().map(|one| one["seq"].as_u64().unwrap()).is_sorted_by(|a, b| a > b));
    assert_eq!((&recent[0]["agent"], &recent[0]["type"]), (&json!("gather/写作"), &json!("completed")));
    assert_eq!(
        run,
        concat!(
            r#"{"id":"run_small","status":"complete","started_at":"2026-02-15T08:00:00.000Z","#,
            r#""updated_at":"2026-02-15T08:00:14.000Z","generation":1,"seq":15,"agents":["#,
            r#"{"id":"setup/fetch","role":"script","task":"_sub/fetch/scripts/main.sh","status":"done","#,
            r#""started_at":"2026-02-15T08:00:01.000Z","completed_at":"2026-02-15T08:00:02.000Z"},"#,
            r#"{"id":"gather/写作","role":"explore","task":"_sub/write","status":"done_with_concerns","#,
            r#""started_at":"2026-02-15T08:00:03.000Z","completed_at":"2026-02-15T08:00:13.000Z"}],"#,
            r#""dependencies":{"gather/写作":["setup/fetch"]}"#,
        )
    );
    assert_eq!(
        files["agents/gather/写作/status.json"],
        concat!(
            r#"{"agent_id":"gather/写作","status":"done_with_concerns","phase":"gather","#,
            r#""progress":"completed, with concerns: no JSON","last_heartbeat":"2026-02-15T08:00:13.000Z","#,
            r#""acked_generation":1,"unread":1}"#,
            "\n"
        )
    );
    assert_eq!(
        files["control.json"],
        "{\"action\":\"redirect\",\"target\":\"gather/写作\",\"message\":\"写短一点\",\"generation\":1}\n"
    );
}

#[test]
fn the_lines_of_a_small_run_say_what_happened() {
    let files = files_of(&small_log(), Owner::Here);
    let said: Vec<_> = lines(&files["agents/gather/写作/stream.jsonl"])
        .iter()
        .map(|line| {
            format!(
                "{} {} {}",
                line["seq"],
                line["type"].as_str().unwrap(),
                line["message"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            "5 started started (explore, echo)",
            "6 thinking thinking (step 1)",
            "7 text I look first.",
            "8 tool_call Read {\"path\":\"注释.md\"}",
            "9 tool_result result: 一行",
            "11 message message from user: The operator redirects you: 写短一点",
            "12 directive redirected by the operator",
            "14 completed completed, with concerns: no JSON",
        ]
    );
    let first = &lines(&files["agents/setup/fetch/stream.jsonl"])[0];
    let whole = json!({"seq": 2, "timestamp": "2026-02-15T08:00:01.000Z", "type": "started", "message": "started",
        "message_zh": "已启动"});
    assert_eq!(*first, whole);
    let inbox = json!({"seq": 11, "id": "msg_11", "from": "user", "to": "gather/写作", "type": "redirect",
        "body": "写短一点", "timestamp": "2026-02-15T08:00:10.000Z", "instruction": "写短一点",
        "at": "2026-02-15T08:00:10.000Z"});
    let news = json!({"seq": 3, "id": "news_3_gather/写作", "from": "setup/fetch", "to": "gather/写作", "type": "result",
        "body": "Agent `setup/fetch`, for which you wait, is DONE.\n\nAll agents you waited for are done: go on.",
        "timestamp": "2026-02-15T08:00:02.000Z"});
    assert_eq!(lines(&files["agents/gather/写作/inbox.jsonl"]), [news, inbox]);
    assert_eq!(
        lines(&files["control.log.jsonl"]),
        [
            json!({"seq": 10, "timestamp": "2026-02-15T08:00:09.000Z", "action": "redirect", "target": "gather/写作",
                "message": "写短一点", "generation": 1, "by": "user", "receipt": "recorded"}),
            json!({"seq": 12, "timestamp": "2026-02-15T08:00:11.000Z", "generation": 1, "agent": "gather/写作",
                "receipt": "applied"}),
        ]
    );
}

/// Status of every agent and of the run after each of these events.
fn statuses(kinds: Vec<EventKind>, owner: Owner) -> (String, Vec<String>) {
    let files = files_of(&log(kinds), owner);
    let run: Value = serde_json::from_str(&files["run.json"]).unwrap();
    let word = |value: &Value| value["status"].as_str().unwrap().to_owned();
    let agents = run["agents"].as_array().unwrap();
    for agent in agents {
        let file = format!("agents/{}/status.json", agent["id"].as_str().unwrap());
        let status: Value = serde_json::from_str(&files[&file]).unwrap();
        assert_eq!(word(&status), word(agent), "{file}");
        assert_eq!(status["agent_id"], agent["id"]);
    }
    (word(&run), agents.iter().map(word).collect())
}

#[test]
fn pauses_questions_failures_and_endings_have_their_words() {
    let begin = || {
        let nodes = vec![
            node("a/one", 0, &[], agent_work()),
            node("a/two", 0, &[], script_work()),
            node("talk", 1, &[0], Work::Inline { section: Default::default(), sets: Vec::new() }),
        ];
        vec![
            created(spec("run_words", &["a", "b"], nodes)),
            EventKind::NodeStarted { node: 0, attempt: 1, arguments: None },
            agent_started("a/one", Some(0)),
            EventKind::NodeStarted { node: 1, attempt: 1, arguments: None },
        ]
    };
    let with = |more: Vec<EventKind>| begin().into_iter().chain(more).collect::<Vec<_>>();
    let direct =
        |generation, verb, target| EventKind::DirectiveRecorded { generation, verb, target, text: None };
    let one = || Target::Agent(AgentPath::new("a/one"));
    let ended = |outcome| EventKind::RunEnded { outcome, reason: words!("why", "原因"), result: None };
    let ask = |about| EventKind::InputRequested { question: 0, about, text: "?".into(), options: Vec::new() };
    let fail = |then| EventKind::NodeFailed { node: 1, message: words!("no", "不"), then };
    let agent_asks = || ask(Asked::Agent { agent: 0, step: 1, index: 0 });
    let cases: Vec<(Vec<EventKind>, Owner, &str, [&str; 3])> = vec![
        (vec![], Owner::Here, "running", ["running", "running", "pending"]),
        (vec![], Owner::Gone, "interrupted", ["paused", "paused", "pending"]),
        (vec![direct(1, Verb::Pause, Target::All)], Owner::Here, "paused", ["paused", "running", "pending"]),
        (
            vec![direct(1, Verb::Pause, one()), direct(2, Verb::Resume, one())],
            Owner::Here,
            "running",
            ["running", "running", "pending"],
        ),
        (vec![agent_asks()], Owner::Here, "running", ["awaiting_input", "running", "pending"]),
        (
            vec![agent_asks(), EventKind::InputAnswered { question: 0, answer: "x".into() }],
            Owner::Here,
            "running",
            ["running", "running", "pending"],
        ),
        // Everybody waits for a person: that needs no process.
        (
            vec![agent_asks(), fail(AfterFailure::Null)],
            Owner::Gone,
            "running",
            ["awaiting_input", "failed", "pending"],
        ),
        (
            vec![EventKind::NodeUncertain { node: 1 }, ask(Asked::Uncertain { node: 1 })],
            Owner::Here,
            "running",
            ["running", "awaiting_input", "pending"],
        ),
        (vec![fail(AfterFailure::Inline)], Owner::Here, "running", ["running", "pending", "pending"]),
        (
            vec![
                fail(AfterFailure::Abort),
                EventKind::AgentStopped { agent: 0, verdict: Verdict::Cancelled },
                ended(Outcome::Failed),
            ],
            Owner::Gone,
            "failed",
            ["cancelled", "failed", "cancelled"],
        ),
        (vec![ended(Outcome::Aborted)], Owner::Gone, "aborted", ["cancelled", "cancelled", "cancelled"]),
        (vec![ended(Outcome::BudgetExhausted)], Owner::Gone, "interrupted", ["paused", "paused", "pending"]),
        (
            vec![ended(Outcome::BudgetExhausted), EventKind::LimitsRaised { limits: Limits::default() }],
            Owner::Here,
            "running",
            ["running", "running", "pending"],
        ),
    ];
    for (at, (more, owner, run, agents)) in cases.into_iter().enumerate() {
        let (found_run, found) = statuses(with(more), owner);
        assert_eq!((found_run.as_str(), found), (run, agents.map(str::to_owned).to_vec()), "case {at}");
    }
}

#[test]
fn the_main_agent_and_the_phase_it_works_on_are_two_agents_that_wait_together() {
    let nodes =
        vec![node("interact", 0, &[], Work::Inline { section: Default::default(), sets: Vec::new() })];
    let (run, agents) = statuses(
        vec![
            created(spec("run_main", &["interact"], nodes)),
            EventKind::NodeStarted { node: 0, attempt: 1, arguments: None },
            agent_started("main", Some(0)),
            EventKind::InputRequested {
                question: 0,
                about: Asked::Agent { agent: 0, step: 1, index: 0 },
                text: "你叫什么名字？".into(),
                options: Vec::new(),
            },
        ],
        Owner::Gone,
    );
    assert_eq!((run.as_str(), agents), ("running", vec!["awaiting_input".to_owned(); 2]));
}

#[test]
fn messages_between_agents_are_in_both_boxes() {
    let nodes = vec![node("a/one", 0, &[], agent_work()), node("a/two", 0, &[], agent_work())];
    let files = files_of(
        &log(vec![
            created(spec("run_mail", &["a"], nodes)),
            agent_started("a/one", Some(0)),
            agent_started("a/two", Some(1)),
            EventKind::MessageSent { to: 1, from: "a/one".into(), text: "line\nline".into(), kind: None },
        ]),
        Owner::Here,
    );
    assert_eq!(files["agents/a/two/inbox.jsonl"], files["agents/a/one/outbox.jsonl"]);
    let message = &lines(&files["agents/a/two/inbox.jsonl"])[0];
    assert_eq!((&message["type"], &message["body"]), (&json!("handoff"), &json!("line\nline")));
}

#[test]
fn whoever_waits_for_another_finds_its_end_in_the_inbox() {
    let nodes = vec![
        node("gather/a", 0, &[], agent_work()),
        node("gather/b", 0, &[], script_work()),
        node("gather/(end)", 0, &[0, 1], Work::Gate),
        node("write/简报", 1, &[2], agent_work()),
        node("write/print", 1, &[2], script_work()),
        node("check/c", 1, &[3], agent_work()),
    ];
    let done = |node| EventKind::NodeCompleted { node, value: json!("x"), warnings: Vec::new() };
    let message = words!("no network", "没有网络");
    let files = files_of(
        &log(vec![
            created(spec("run_news", &["gather", "write"], nodes)),
            EventKind::NodeFailed { node: 1, message: message.clone(), then: AfterFailure::Inline },
            done(0),
            EventKind::NodeFailed { node: 1, message, then: AfterFailure::Null },
            done(3),
            EventKind::NodeRestarted { node: 3 },
            EventKind::NodeCompleted { node: 3, value: json!("x"), warnings: vec![words!("w", "w")] },
        ]),
        Owner::Here,
    );
    let told = |id: &str| -> Vec<Value> { lines(&files[&format!("agents/{id}/inbox.jsonl")]) };
    assert_eq!(
        told("write/简报"),
        [
            json!({
                "seq": 3, "id": "news_3_write/简报", "from": "gather/a", "to": "write/简报", "type": "result",
                "body": "Agent `gather/a`, for which you wait, is DONE.", "timestamp": "2026-02-15T08:00:02.000Z",
            }),
            json!({
                "seq": 4, "id": "news_4_write/简报", "from": "gather/b", "to": "write/简报", "type": "result",
                "body": "Agent `gather/b`, for which you wait, has ended: no network\n\nAll agents you waited for are done: go on.",
                "timestamp": "2026-02-15T08:00:03.000Z",
            }),
        ]
    );
    let bodies: Vec<String> =
        told("check/c").iter().map(|line| line["body"].as_str().unwrap().to_owned()).collect();
    assert_eq!(bodies.len(), 2, "it was done, began again, and was done again: {bodies:?}");
    assert!(
        bodies[0].contains("is DONE.\n\nAll agents") && bodies[1].contains("is DONE_WITH_CONCERNS."),
        "{bodies:?}"
    );
    assert!(!files.contains_key("agents/write/print/inbox.jsonl"), "a program reads no inbox");
}

#[test]
fn in_very_wide_plans_nobody_is_told_one_by_one() {
    let width = 40;
    let mut nodes: Vec<PlanNode> =
        (0..width).map(|n| node(&format!("a/{n}"), 0, &[], agent_work())).collect();
    nodes.push(node("a/(end)", 0, &(0..width).collect::<Vec<_>>(), Work::Gate));
    nodes.extend((0..width).map(|n| node(&format!("b/{n}"), 1, &[width], agent_work())));
    let done = |node| EventKind::NodeCompleted { node, value: json!("x"), warnings: Vec::new() };
    let mut kinds = vec![created(spec("run_wide", &["a", "b"], nodes))];
    kinds.extend((0..width).map(done));
    assert!(!files_of(&log(kinds), Owner::Here).keys().any(|name| name.ends_with("inbox.jsonl")));
}

#[test]
fn a_clock_that_jumps_gives_no_negative_durations_and_no_other_order() {
    let mut events = small_log();
    for (event, jump) in
        events.iter_mut().zip([0, 50, -7_000_000, 3, i64::MAX / 2, -9, i64::MIN / 2, 0].into_iter().cycle())
    {
        event.at = event.at.saturating_add(jump);
    }
    let files = files_of(&events, Owner::Here);
    let run: Value = serde_json::from_str(&files["run.json"]).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for agent in run["agents"].as_array().unwrap() {
        assert!(text(&run["started_at"]) <= text(&agent["started_at"]));
        assert!(text(&agent["started_at"]) <= text(&agent["completed_at"]));
        assert!(text(&agent["completed_at"]) <= text(&run["updated_at"]));
    }
    let stream = lines(&files["agents/gather/写作/stream.jsonl"]);
    assert!(stream.windows(2).all(|pair| pair[0]["seq"].as_u64() < pair[1]["seq"].as_u64()));
    assert!(stream.windows(2).all(|pair| text(&pair[0]["timestamp"]) <= text(&pair[1]["timestamp"])));
}

#[test]
fn hostile_ids_stay_inside_and_the_true_id_is_in_the_file() {
    let ids = ["../../escape", "A", "a", "/etc", "a/status.json", "all"];
    let nodes = ids.iter().map(|id| node(id, 0, &[], script_work())).collect();
    let files = files_of(&log(vec![created(spec("run_ids", &["p"], nodes))]), Owner::Here);
    let mut found: Vec<String> = files
        .iter()
        .filter(|(name, _)| name.starts_with("agents/") && name.ends_with("/status.json"))
        .map(|(_, text)| {
            serde_json::from_str::<Value>(text).unwrap()["agent_id"].as_str().unwrap().to_owned()
        })
        .collect();
    found.sort();
    let mut sorted = ids.map(str::to_owned).to_vec();
    sorted.sort();
    assert_eq!(found, sorted);
    let run: Value = serde_json::from_str(&files["run.json"]).unwrap();
    let dirs: Vec<&str> =
        run["agents"].as_array().unwrap().iter().filter_map(|agent| agent["dir"].as_str()).collect();
    assert_eq!(dirs, ["agents/%2e%2e/%2e%2e/escape", "agents/%41", "agents/%/etc", "agents/a/%73tatus.json"]);
}

#[test]
fn nodes_that_do_nothing_and_agents_of_huge_plans_have_no_directory_until_they_speak() {
    let count = u32::try_from(super::super::writer::EAGER).unwrap() + 1;
    let nodes = (0..count).map(|at| node(&format!("n/{at}"), 0, &[], script_work())).collect();
    let kinds = vec![
        created(spec("run_huge", &["n"], nodes)),
        EventKind::NodeStarted { node: 7, attempt: 1, arguments: None },
    ];
    let files = files_of(&log(kinds), Owner::Here);
    let names: Vec<_> = files.keys().cloned().collect();
    assert_eq!(names, ["agents/n/7/status.json", "agents/n/7/stream.jsonl", "run.json"]);
    let files = files_of(
        &log(vec![created(spec("run_noop", &["n"], vec![node("x", 0, &[], Work::Noop)]))]),
        Owner::Here,
    );
    assert_eq!(files.keys().collect::<Vec<_>>(), ["run.json"]);
}

#[test]
fn files_are_private_and_the_redacted_log_is_what_is_exported() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store.set_redactor(crate::store::Redactor::new(
        Vec::<(String, String)>::new(),
        ["hunter2-hunter2".to_owned()],
    ));
    let mut events = small_log();
    events[8].kind = EventKind::ToolCompleted {
        agent: 0,
        step: 1,
        index: 0,
        content: "the key is hunter2-hunter2".into(),
        is_error: false,
    };
    store_log(&store, &events);
    export(dir.path(), "run_small", Owner::Here);
    let run = dir.path().join("runs/run_small");
    for (name, text) in tree(&run) {
        assert!(!text.contains("hunter2"), "{name}");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = run.join(&name);
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700), "{name}");
    }
}
