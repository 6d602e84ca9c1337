//! The real Codex against the mock model, with a throw-away home and a dummy key.

use super::*;
use fugato_testkit::host_program;
use fugato_testkit::mock_model::{CACHED_TOKENS, INPUT_TOKENS, MockModel, OUTPUT_TOKENS, Rule, Say};
use serde_json::json;

const KEY: &str = "sk-dummy-of-a-test";

pub(super) fn codex(room: &Room, address: &str, prompt: &str) -> HostTask {
    // What Codex guards in a directory it makes there first, and the one for temporary files belongs to all tests.
    let settings = format!(
        "model_provider = \"mock\"\nmodel = \"mock-1\"\n[analytics]\nenabled = false\n\
         [sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n[model_providers.mock]\nname = \"mock\"\n\
         base_url = \"{address}/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\nrequest_max_retries = 1\nstream_max_retries = 1\n"
    );
    std::fs::write(room.path("codex/config.toml"), settings).unwrap();
    let mut task = room.task(Host::Codex, host_program("codex"), prompt);
    task.env = room.env(&[("OPENAI_API_KEY", KEY)]);
    task.access = Access::ReadWrite;
    task
}

fn used(answers: u64) -> Usage {
    Usage {
        input_tokens: Some(answers * INPUT_TOKENS),
        output_tokens: Some(answers * OUTPUT_TOKENS),
        cache_read_tokens: Some(answers * CACHED_TOKENS),
        cache_write_tokens: Some(0),
    }
}

fn command(command: &str) -> Say {
    Say::call("exec_command", json!({"cmd": command}))
}

fn writes() -> Vec<Rule> {
    vec![
        Rule::on("quokka", [Say::text("I write it."), command("printf 你好 > made.txt")]).after(0),
        Rule::on("quokka", [Say::text("It is written.")]),
    ]
}

#[tokio::test]
async fn codex_does_a_task_and_its_stream_becomes_events() {
    let room = Room::new();
    let model = MockModel::start(writes());
    let mut task = codex(&room, &model.address(), "a quokka wants a file");
    task.system = "always be a \"wombat\"\n\\ 世界".to_owned();
    task.model = Some("mock-2".to_owned());
    let (end, events) = run_all(task).await;
    assert_eq!((&end.end, end.text.as_str()), (&Ending::Done, "It is written."), "{events:?}");
    assert_eq!(std::fs::read_to_string(room.path("project/made.txt")).unwrap(), "你好");
    assert_eq!(said(&events), "I write it.It is written.");
    assert_eq!(calls(&events), [("Bash".to_owned(), false)]);
    assert_eq!((end.usage, end.steps, end.micro_usd), (used(2), 2, None));
    let session = end.session.unwrap();
    assert_eq!(events.first(), Some(&HostEvent::Session(session.id)));
    let asked = model.asked();
    assert_eq!(asked.len(), 2, "{:?}", model.unmatched());
    let first = asked.first().unwrap();
    assert!(first.system().contains("always be a \"wombat\"\n\\ 世界") && first.model() == "mock-2");
    assert_eq!(first.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[tokio::test]
async fn codex_with_read_only_access_changes_nothing() {
    let room = Room::new();
    let model = MockModel::start(writes());
    let mut task = codex(&room, &model.address(), "a quokka wants a file");
    task.access = Access::ReadOnly;
    let (end, events) = run_all(task).await;
    assert_eq!(end.end, Ending::Done, "{events:?}");
    assert!(!room.path("project/made.txt").exists());
    let refused = model.asked().pop().unwrap().results().pop().unwrap();
    assert!(refused.contains("Read-only file system") || refused.contains("denied"), "{refused}");
}

#[tokio::test]
async fn codex_cancelled_in_a_long_command_leaves_no_process() {
    let room = Room::new();
    let time = unusual_time(311);
    let model = MockModel::start(vec![
        Rule::on(
            "quokka",
            [Say::text("It takes long."), command(&format!("echo > begun; sleep {time} & sleep {time}"))],
        )
        .after(0),
        // Codex gives the model an answer while the command goes on; the model waits for it.
        Rule::on("quokka", [Say::Hang]),
    ]);
    let mut task = codex(&room, &model.address(), "a quokka waits");
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
async fn codex_goes_on_with_a_session_and_counts_only_what_is_new() {
    let room = Room::new();
    let model = MockModel::start(vec![
        Rule::on("numbat", [Say::text("Again.")]),
        Rule::on("quokka", [Say::text("Once.")]),
    ]);
    let (first, _) = run_all(codex(&room, &model.address(), "a quokka comes")).await;
    let mut task = codex(&room, &model.address(), "a numbat follows");
    task.resume = first.session.clone();
    let (second, _) = run_all(task).await;
    assert_eq!((first.text.as_str(), second.text.as_str()), ("Once.", "Again."), "{second:?}");
    assert_eq!((first.usage, second.usage), (used(1), used(1)));
    let (before, after) = (first.session.unwrap(), second.session.unwrap());
    assert_eq!((before.id, after.counted), (after.id, used(2)));
    let last = model.asked().pop().unwrap();
    assert!(last.text().contains("a quokka comes") && last.text().contains("a numbat follows"));
}

#[tokio::test]
async fn codex_says_why_when_the_model_fails_or_the_session_is_unknown() {
    let room = Room::new();
    let model = MockModel::start(vec![Rule::always([Say::Status(500)])]);
    let (end, events) = run_all(codex(&room, &model.address(), "a quokka fails")).await;
    let words = failure(&end);
    assert!(words.en.starts_with("Codex: ") && words.zh.starts_with("Codex："), "{words:?}");
    assert!(
        events.iter().any(|event| matches!(event, HostEvent::Notice(text) if text.contains("Reconnecting"))),
        "{events:?}"
    );
    assert_eq!(end.usage, Usage::default());
    let mut task = codex(&room, &model.address(), "a quokka returns");
    let id = "01a1e28d-0000-7153-a6be-bfa9da72e89b".to_owned();
    task.resume = Some(HostSession { id, ..HostSession::default() });
    let (end, _) = run_all(task).await;
    assert!(failure(&end).en.contains("no rollout found"), "{end:?}");
}

#[tokio::test]
async fn codex_stops_at_its_turn_limit() {
    let room = Room::new();
    let model = MockModel::start(vec![Rule::on("quokka", [command("true")])]);
    let mut task = codex(&room, &model.address(), "a quokka never ends");
    task.max_turns = Some(2);
    let (end, _) = run_all(task).await;
    assert_eq!((end.end, end.steps), (Ending::TurnLimit, 3));
}
