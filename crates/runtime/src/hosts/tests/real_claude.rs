//! The real Claude Code against the mock model, with a throw-away home and a dummy key.

use super::*;
use fugato_testkit::host_program;
use fugato_testkit::mock_model::{CACHED_TOKENS, INPUT_TOKENS, MockModel, OUTPUT_TOKENS, Rule, Say};
use serde_json::json;

const KEY: &str = "sk-dummy-of-a-test";
const MODEL: &str = "claude-sonnet-4-5";

pub(super) fn claude(room: &Room, address: &str, prompt: &str) -> HostTask {
    let mut task = room.task(Host::Claude, host_program("claude"), prompt);
    task.env = room.env(&[
        ("ANTHROPIC_BASE_URL", address),
        ("ANTHROPIC_API_KEY", KEY),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
    ]);
    task.access = Access::ReadWrite;
    task.model = Some(MODEL.to_owned());
    task
}

fn used(answers: u64) -> Usage {
    Usage {
        input_tokens: Some(answers * (INPUT_TOKENS + CACHED_TOKENS)),
        output_tokens: Some(answers * OUTPUT_TOKENS),
        cache_read_tokens: Some(answers * CACHED_TOKENS),
        cache_write_tokens: Some(0),
    }
}

fn writes(room: &Room) -> Vec<Rule> {
    let file = room.path("project/made.txt");
    vec![
        Rule::on(
            "quokka",
            [Say::text("I write it. "), Say::call("Write", json!({"file_path": file, "content": "你好"}))],
        )
        .after(0),
        Rule::on("quokka", [Say::text("It is written.")]),
    ]
}

#[tokio::test]
async fn claude_does_a_task_and_its_stream_becomes_events() {
    let room = Room::new();
    let model = MockModel::start(writes(&room));
    let mut task = claude(&room, &model.address(), "a quokka wants a file");
    task.system = "always be a wombat".to_owned();
    let (end, events) = run_all(task).await;
    assert_eq!((&end.end, end.text.as_str()), (&Ending::Done, "It is written."), "{events:?}");
    assert_eq!(std::fs::read_to_string(room.path("project/made.txt")).unwrap(), "你好");
    assert_eq!(said(&events), "I write it. It is written.");
    assert!(
        events.iter().filter(|event| matches!(event, HostEvent::Text(_))).count() > 2,
        "not streamed: {events:?}"
    );
    assert_eq!(calls(&events), [("Write".to_owned(), false)]);
    assert_eq!((end.usage, end.steps), (used(2), 2));
    assert!(end.micro_usd.is_some_and(|cost| cost > 0));
    let session = end.session.unwrap();
    assert_eq!(events.first(), Some(&HostEvent::Session(session.id)));
    let asked = model.asked();
    assert_eq!(asked.len(), 2, "{:?}", model.unmatched());
    let first = asked.first().unwrap();
    assert!(first.system().contains("always be a wombat") && first.model() == MODEL);
    assert_eq!(first.header("x-api-key"), Some(KEY));
}

#[tokio::test]
async fn claude_with_read_only_access_changes_nothing() {
    let room = Room::new();
    let file = room.path("project/made.txt");
    let bash = json!({"command": format!("echo x > {}", file.display()), "description": "write"});
    let rules = vec![
        Rule::on("quokka", [Say::call("Write", json!({"file_path": file, "content": "x"}))]).after(0),
        Rule::on("quokka", [Say::call("Bash", bash)]).after(1),
        Rule::on("quokka", [Say::text("I could not.")]),
    ];
    let model = MockModel::start(rules);
    let mut task = claude(&room, &model.address(), "a quokka wants a file");
    task.access = Access::ReadOnly;
    let (end, events) = run_all(task).await;
    assert_eq!((&end.end, end.text.as_str()), (&Ending::Done, "I could not."), "{events:?}");
    assert_eq!(calls(&events), [("Write".to_owned(), true), ("Bash".to_owned(), true)]);
    assert!(!file.exists());
    let tools = model.asked().first().unwrap().tools();
    assert!(tools.contains(&"Read".to_owned()) && !tools.contains(&"Bash".to_owned()), "{tools:?}");
}

#[tokio::test]
async fn claude_cancelled_in_a_long_command_leaves_no_process() {
    let room = Room::new();
    let time = unusual_time(312);
    let command = format!("sh -c 'echo > begun; sleep {time} & sleep {time}'");
    let model = MockModel::start(vec![Rule::on(
        "quokka",
        [Say::text("It takes long."), Say::call("Bash", json!({"command": command, "description": "wait"}))],
    )]);
    let mut task = claude(&room, &model.address(), "a quokka waits");
    task.tools.approved = vec!["Bash".to_owned()];
    let (log, marks) = marked();
    task.log = log;
    let (end, events) = cancelled_in_a_command(&room, task).await;
    assert_eq!(end.end, Ending::Cancelled, "{events:?}");
    assert_eq!((left(&marks), in_room(&room)), Default::default());
    assert_eq!(started_with(&time), 0);
    assert_eq!(calls(&events), [("Bash".to_owned(), true)]);
    assert_eq!((end.text.as_str(), end.session.is_some()), ("It takes long.", true));
}

#[tokio::test]
async fn claude_goes_on_with_a_session_and_counts_only_what_is_new() {
    let room = Room::new();
    let model = MockModel::start(vec![
        Rule::on("numbat", [Say::text("Again.")]),
        Rule::on("quokka", [Say::text("Once.")]),
    ]);
    let (first, _) = run_all(claude(&room, &model.address(), "a quokka comes")).await;
    let mut task = claude(&room, &model.address(), "a numbat follows");
    task.resume = first.session.clone();
    let (second, _) = run_all(task).await;
    assert_eq!((first.text.as_str(), second.text.as_str()), ("Once.", "Again."), "{second:?}");
    assert_eq!((second.usage, second.micro_usd), (used(1), first.micro_usd));
    let (before, after) = (first.session.unwrap(), second.session.unwrap());
    assert_eq!((before.id, after.counted), (after.id, used(2)));
    let last = model.asked().pop().unwrap();
    assert!(last.text().contains("a quokka comes") && last.text().contains("a numbat follows"));
}

#[tokio::test]
async fn claude_says_why_when_the_model_fails_or_the_session_is_unknown() {
    let room = Room::new();
    let model = MockModel::start(vec![Rule::always([Say::Status(500)])]);
    let (end, events) = run_all(claude(&room, &model.address(), "a quokka fails")).await;
    let words = failure(&end);
    assert!(words.en.contains("500") && words.zh.starts_with("Claude Code："), "{words:?}");
    assert!(
        events.iter().any(|event| matches!(event, HostEvent::Notice(text) if text.contains("retry"))),
        "{events:?}"
    );
    assert_eq!((end.usage, end.micro_usd), (Usage::default(), None));
    let mut task = claude(&room, &model.address(), "a quokka returns");
    let id = "32697d46-4f9f-42a7-969b-74229c6fe2d0".to_owned();
    task.resume = Some(HostSession { id, ..HostSession::default() });
    let (end, _) = run_all(task).await;
    assert!(failure(&end).en.contains("No conversation found"), "{end:?}");
}

#[tokio::test]
async fn claude_stops_at_its_turn_limit() {
    let room = Room::new();
    let model = MockModel::start(writes(&room));
    let mut task = claude(&room, &model.address(), "a quokka wants a file");
    task.max_turns = Some(1);
    let (end, _) = run_all(task).await;
    assert_eq!((end.end, end.steps), (Ending::TurnLimit, 1));
    assert_eq!(end.usage, used(1));
}

#[tokio::test]
async fn claude_on_a_model_that_never_answers_ends_at_the_time_limit() {
    let room = Room::new();
    let model = MockModel::start(vec![Rule::always([Say::text("I begin"), Say::Hang])]);
    let mut task = claude(&room, &model.address(), "a quokka waits");
    task.limits.time = Duration::from_secs(10);
    let (log, marks) = marked();
    task.log = log;
    let (end, _) = run_all(task).await;
    assert_eq!(end.end, Ending::TimedOut);
    assert_eq!(left(&marks), Vec::<String>::new());
}

#[tokio::test]
async fn claude_waits_for_its_work_in_the_background_and_all_its_answers_count() {
    let room = Room::new();
    let command = json!({"command": "sleep 3", "description": "wait", "run_in_background": true});
    let model = MockModel::start(vec![
        Rule::on("task-notification", [Say::text("It is over.")]),
        Rule::on("quokka", [Say::call("Bash", command)]).after(0),
        Rule::on("quokka", [Say::text("It runs.")]),
    ]);
    let mut task = claude(&room, &model.address(), "a quokka waits");
    task.tools.approved = vec!["Bash".to_owned()];
    // Shorter than the work: only what the host tells of it keeps it alive.
    task.limits.linger = Duration::from_secs(2);
    let (end, events) = run_all(task).await;
    assert_eq!((&end.end, end.text.as_str()), (&Ending::Done, "It is over."), "{events:?}");
    assert_eq!(said(&events), "It runs.It is over.");
    assert_eq!((end.usage, end.steps), (used(3), 3));
}
