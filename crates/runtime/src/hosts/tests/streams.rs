//! What lines mean, line by line: shapes seen in the real programs, and shapes nobody has seen.

use super::super::stream::{Reader, Story, Verdict};
use super::*;
use proptest::prelude::*;
use serde_json::json;

fn told(host: Host, before: HostSession, lines: &[Value]) -> Story {
    let mut reader: Box<dyn Reader> = match host {
        Host::Claude => Box::<claude::Stream>::default(),
        Host::Codex => Box::<codex::Stream>::default(),
    };
    let mut story = Story::after(before);
    for line in lines {
        reader.read(line, &mut story);
    }
    story
}

#[test]
fn a_host_that_counts_from_the_beginning_is_asked_only_for_what_is_new() {
    let before = HostSession {
        id: "t".into(),
        counted: Usage {
            input_tokens: Some(100),
            output_tokens: Some(10),
            cache_read_tokens: Some(40),
            cache_write_tokens: None,
        },
    };
    let line = json!({"type": "turn.completed", "usage": {"input_tokens": 300, "cached_input_tokens": 120, "output_tokens": 30}});
    let story = told(Host::Codex, before.clone(), &[line]);
    let expected = Usage {
        input_tokens: Some(200),
        output_tokens: Some(20),
        cache_read_tokens: Some(80),
        cache_write_tokens: None,
    };
    assert_eq!((story.usage, story.micro_usd), (expected, None));
    // An older Claude Code: tokens and cost of this call.
    let line = json!({"type": "result", "subtype": "success", "usage": {"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3}, "total_cost_usd": 0.001});
    let story = told(Host::Claude, before, &[line]);
    assert_eq!((story.usage.input_tokens, story.micro_usd), (Some(3), Some(1000)));
}

#[test]
fn a_price_the_host_does_not_know_is_unknown() {
    let model =
        |basis: &str| json!({"inputTokens": 1, "outputTokens": 1, "costUSD": 0.25, "costBasis": basis});
    let line = |models: Value| json!({"type": "result", "subtype": "success", "model_usage_since_last_result": models});
    let known =
        told(Host::Claude, HostSession::default(), &[line(json!({"a": model("list"), "b": model("list")}))]);
    assert_eq!((known.micro_usd, known.usage.output_tokens), (Some(500_000), Some(2)));
    let unknown = told(
        Host::Claude,
        HostSession::default(),
        &[line(json!({"a": model("list"), "b": model("unknown")}))],
    );
    assert_eq!((unknown.micro_usd, unknown.usage.output_tokens), (None, Some(2)));
}

#[test]
fn agents_of_the_host_show_their_calls_and_keep_their_words_to_themselves() {
    let line = |parent: Value, part: Value| json!({"type": "assistant", "parent_tool_use_id": parent, "message": {"content": [part]}});
    let call = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {"a": 1}});
    let story = told(
        Host::Claude,
        HostSession::default(),
        &[
            line(Value::Null, call("1", "Agent")),
            line("1".into(), json!({"type": "text", "text": "inner"})),
            line("1".into(), call("2", "Read")),
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "x"}]}]}}),
            line(Value::Null, json!({"type": "text", "text": "outer"})),
        ],
    );
    let started = |id: &str, name: &str, parent: Option<&str>| HostEvent::ToolStarted {
        id: id.into(),
        name: name.into(),
        arguments: json!({"a": 1}),
        parent: parent.map(str::to_owned),
    };
    let ended = HostEvent::ToolEnded { id: "2".into(), is_error: false, head: "x".into() };
    let expected = [
        started("1", "Agent", None),
        started("2", "Read", Some("1")),
        ended,
        HostEvent::Text("outer".into()),
    ];
    assert_eq!(story.events, expected);
    assert!(story.has_open());
}

#[test]
fn items_of_codex_are_calls_in_our_words() {
    let item = |stage: &str, item: Value| json!({"type": format!("item.{stage}"), "item": item});
    let story = told(
        Host::Codex,
        HostSession::default(),
        &[
            json!({"type": "turn.started"}),
            item("completed", json!({"id": "0", "type": "reasoning", "text": "hm"})),
            item(
                "completed",
                json!({"id": "1", "type": "file_change", "changes": [{"path": "a", "kind": "add"}], "status": "completed"}),
            ),
            item(
                "started",
                json!({"id": "2", "type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": {"x": 1}}),
            ),
            item(
                "completed",
                json!({"id": "2", "type": "mcp_tool_call", "server": "s", "tool": "t", "status": "failed", "error": {"message": "no"}}),
            ),
            item(
                "completed",
                json!({"id": "3", "type": "command_execution", "command": "false", "aggregated_output": "out", "exit_code": 1, "status": "failed"}),
            ),
            item("completed", json!({"id": "4", "type": "todo_list", "items": []})),
            json!({"type": "error", "message": "Reconnecting... 1/5"}),
            json!({"type": "turn.failed", "error": {"message": "gone"}}),
        ],
    );
    assert_eq!(
        calls(&story.events),
        [("Edit".to_owned(), false), ("mcp__s__t".to_owned(), true), ("Bash".to_owned(), true)]
    );
    assert!(story.events.contains(&HostEvent::Notice("Reconnecting... 1/5".into())));
    assert_eq!((story.verdict, story.steps), (Some(Verdict::Failed("gone".into())), 3));
}

#[test]
fn several_results_of_one_task_are_added_up() {
    let answer = |id: &str| json!({"type": "stream_event", "event": {"type": "message_start", "message": {"id": id, "usage": {"input_tokens": 7}}}});
    let result = |cost: f64, basis: &str| json!({"type": "result", "subtype": "success", "model_usage_since_last_result": {"m": {"inputTokens": 7, "outputTokens": 2, "costUSD": cost, "costBasis": basis}}});
    let mut lines = vec![answer("a"), result(0.5, "list"), answer("b")];
    let between = told(Host::Claude, HostSession::default(), &lines);
    assert_eq!((between.verdict, between.usage.input_tokens), (None, Some(14)));
    lines.push(result(0.25, "list"));
    let story = told(Host::Claude, HostSession::default(), &lines);
    assert_eq!((story.usage.input_tokens, story.micro_usd, story.steps), (Some(14), Some(750_000), 2));
    lines.push(result(0.25, "unknown"));
    assert_eq!(told(Host::Claude, HostSession::default(), &lines).micro_usd, None);
}

#[test]
fn a_second_turn_opens_the_verdict_again() {
    let lines = [json!({"type": "turn.completed"}), json!({"type": "turn.started"})];
    assert_eq!(told(Host::Codex, HostSession::default(), &lines).verdict, None);
}

/// Values with the keys and words of both streams in all the wrong places.
fn shapes() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "system",
        "stream_event",
        "assistant",
        "user",
        "result",
        "item.started",
        "item.completed",
        "turn.completed",
        "turn.failed",
        "thread.started",
        "error",
        "tool_use",
        "tool_result",
        "text",
        "command_execution",
        "agent_message",
        "message_start",
        "content_block_delta",
        "success",
        "error_max_turns",
        "",
    ]);
    let keys = prop::sample::select(vec![
        "type",
        "item",
        "event",
        "message",
        "content",
        "id",
        "usage",
        "result",
        "errors",
        "subtype",
        "delta",
        "text",
        "input",
        "tool_use_id",
        "parent_tool_use_id",
        "session_id",
        "thread_id",
        "model_usage_since_last_result",
        "total_cost_usd",
        "input_tokens",
        "output_tokens",
        "exit_code",
        "num_turns",
        "costUSD",
        "is_error",
        "error",
    ]);
    let leaf = prop_oneof![
        words.prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 40, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(keys.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn no_stream_harms_and_every_call_that_began_ends_once(lines in prop::collection::vec(shapes(), 0..20)) {
        for host in Host::ALL {
            let mut story = told(host, HostSession::default(), &lines);
            story.cut_off();
            let mut open = std::collections::BTreeSet::new();
            for event in &story.events {
                match event {
                    HostEvent::ToolStarted { id, .. } => prop_assert!(open.insert(id)),
                    HostEvent::ToolEnded { id, .. } => prop_assert!(open.remove(id)),
                    _ => {}
                }
            }
            prop_assert!(open.is_empty());
        }
    }
}
