//! What is sent and what is understood, per wire format, against real bytes on a socket.

use super::test_server::{
    ARGUMENTS, READ, Server, Step, TEXT, chunk, end, request, sse, stream, stream_head, whole, wires,
};
use super::{
    AnswerShape, Delta, ModelRequest, ModelSettings, Models, NativeTools, ProviderSettings, ToolChoice,
    Transcript, shape_of,
};
use fugato_model::chat::{Message, ModelFault, Part, Role, StopReason, ToolCall, ToolResult};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

#[tokio::test]
async fn every_wire_gives_the_same_answer_even_byte_by_byte() {
    for wire in wires(ARGUMENTS) {
        let bytes = wire.frames.concat().into_bytes();
        let pieces = bytes.iter().map(|byte| chunk(&[*byte]));
        let drip: Vec<_> =
            std::iter::once(stream_head("text/event-stream")).chain(pieces).chain([end()]).collect();
        for steps in [stream(&wire.frames), drip] {
            let server = Server::always(steps).await;
            let mut deltas = Vec::new();
            let answer =
                server.models().call(wire.model, request(), &mut |delta| deltas.push(delta)).await.unwrap();
            assert_eq!(answer.message.text(), TEXT, "{}", wire.name);
            let call = answer.message.tool_calls().next().unwrap();
            assert_eq!((call.name.as_str(), call.arguments.to_string().as_str()), ("Read", ARGUMENTS));
            assert_eq!(answer.stop, StopReason::ToolUse, "{}", wire.name);
            let usage = answer.usage;
            assert_eq!((usage.input_tokens, usage.output_tokens), (Some(15), Some(20)), "{}", wire.name);
            let text: String = deltas
                .iter()
                .filter_map(|delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None })
                .collect();
            assert_eq!(text, TEXT);
            let fragments: String = deltas
                .iter()
                .filter_map(|delta| match delta {
                    Delta::ToolCallArguments { id, fragment } if *id == call.id => Some(fragment.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(fragments, ARGUMENTS, "{}", wire.name);
        }
    }
}

static OPEN: LazyLock<Value> = LazyLock::new(|| json!({"type": "object"}));

fn conversation() -> Transcript {
    let parts = |parts| Arc::new(Message { role: Role::Assistant, parts });
    [
        Arc::new(Message::user("hi")),
        parts(vec![
            Part::Reasoning { text: "hm".into(), signature: Some("anthropic:sig".into()) },
            Part::Reasoning { text: String::new(), signature: Some("gemini:gsig".into()) },
            Part::Reasoning { text: "so".into(), signature: Some("openai:enc".into()) },
            Part::ToolCall(ToolCall {
                id: "c1".into(),
                name: "Read".into(),
                arguments: json!({"path": "a"}),
            }),
        ]),
        Arc::new(Message {
            role: Role::User,
            parts: vec![
                Part::Text { text: "go on".into() },
                Part::ToolResult(ToolResult { call: "c1".into(), content: "gone".into(), is_error: true }),
            ],
        }),
    ]
    .into_iter()
    .collect()
}

/// The body and head of a request over a conversation with tools.
async fn sent(model: &str, change: impl FnOnce(&mut ModelRequest<'_>)) -> (Value, String) {
    let server = Server::always(whole(400, "application/json", "", b"{}")).await;
    let transcript = conversation();
    let mut asked = ModelRequest { transcript: &transcript, ..request() };
    change(&mut asked);
    let _ = server.models().call(model, asked, &mut |_| {}).await;
    let seen = server.requests().remove(0);
    (seen.body, seen.head)
}

#[tokio::test]
async fn anthropic_is_asked_in_its_own_words() {
    let (body, head) = sent("anthropic/claude-x", |_| {}).await;
    assert!(head.starts_with("POST /v1/messages HTTP/1.1"), "{head}");
    assert!(head.contains("x-api-key: sk-canary-secret") && head.contains("anthropic-version: 2023-06-01"));
    assert_eq!(
        (&body["model"], &body["max_tokens"], &body["stream"]),
        (&json!("claude-x"), &json!(500), &json!(true))
    );
    assert_eq!(body["system"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(body["tools"][0]["input_schema"], READ[0].parameters);
    assert_eq!(body["tools"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(
        body["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "hm", "signature": "sig"})
    );
    assert_eq!(body["messages"][1]["content"].as_array().unwrap().len(), 2, "no other provider's proofs");
    let last = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!(
        last[0],
        json!({"type": "tool_result", "tool_use_id": "c1", "content": "gone", "is_error": true})
    );
    assert_eq!(last[1]["cache_control"], json!({"type": "ephemeral"}), "the history is cached up to here");
    let (body, _) = sent("anthropic/claude-x", |asked| {
        asked.schema = Some(&OPEN);
        asked.tool_choice = ToolChoice::Named("Read".into());
    })
    .await;
    assert!(body["system"][0]["text"].as_str().unwrap().contains("JSON Schema"));
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "Read"}));
}

#[tokio::test]
async fn openai_is_asked_in_its_own_words() {
    let (body, head) = sent("openai/gpt-6", |asked| asked.schema = Some(&OPEN)).await;
    assert!(
        head.starts_with("POST /v1/responses ") && head.contains("authorization: Bearer sk-canary-secret"),
        "{head}"
    );
    assert_eq!(
        (&body["store"], &body["instructions"], &body["max_output_tokens"]),
        (&json!(false), &json!("be brief"), &json!(500))
    );
    assert_eq!(body["text"]["format"]["schema"], *OPEN);
    let input = body["input"].as_array().unwrap();
    assert_eq!(
        input[1],
        json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}], "encrypted_content": "enc"})
    );
    assert_eq!(
        input[2],
        json!({"type": "function_call", "call_id": "c1", "name": "Read", "arguments": "{\"path\":\"a\"}"})
    );
    assert_eq!(input[4], json!({"type": "function_call_output", "call_id": "c1", "output": "error: gone"}));

    let (body, head) = sent("openai-chat/gpt-6", |asked| asked.tool_choice = ToolChoice::Required).await;
    assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "user"]);
    assert_eq!(
        (&body["tool_choice"], &body["stream_options"]["include_usage"]),
        (&json!("required"), &json!(true))
    );
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], "{\"path\":\"a\"}");
}

#[tokio::test]
async fn gemini_and_ollama_are_asked_in_their_own_words() {
    let (body, head) = sent("gemini/gemini-3.8-flash", |_| {}).await;
    assert!(
        head.starts_with("POST /v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse "),
        "{head}"
    );
    assert!(head.contains("x-goog-api-key: sk-canary-secret"));
    let contents = body["contents"].as_array().unwrap();
    assert_eq!(contents[1]["role"], "model");
    assert_eq!(
        contents[1]["parts"],
        json!([{"functionCall": {"id": "c1", "name": "Read", "args": {"path": "a"}}, "thoughtSignature": "gsig"}])
    );
    assert_eq!(
        contents[2]["parts"][1]["functionResponse"],
        json!({"id": "c1", "name": "Read", "response": {"error": "gone"}})
    );
    assert_eq!(body["generationConfig"]["maxOutputTokens"], 500);

    let (body, head) = sent("ollama/qwen3:8b", |_| {}).await;
    assert!(head.starts_with("POST /api/chat "), "{head}");
    assert_eq!((&body["model"], &body["options"]["num_predict"]), (&json!("qwen3:8b"), &json!(500)));
    assert_eq!(body["messages"][3], json!({"role": "tool", "tool_name": "Read", "content": "error: gone"}));
    let (body, _) = sent("ollama/qwen3:8b", |asked| asked.tool_choice = ToolChoice::None).await;
    assert!(body.get("tools").is_none());
}

async fn answer_of(model: &str, frames: &[String]) -> Result<fugato_model::chat::Answer, super::ModelError> {
    Server::always(stream(frames)).await.models().call(model, request(), &mut |_| {}).await
}

#[tokio::test]
async fn doubled_missing_and_used_ids_are_replaced() {
    let call = |index: Option<u64>, id: Option<&str>| {
        let mut call = json!({"function": {"name": "Read", "arguments": "{}"}});
        if let Some(index) = index {
            call["index"] = index.into();
        }
        if let Some(id) = id {
            call["id"] = id.into();
        }
        sse(&json!({"choices": [{"delta": {"tool_calls": [call]}}]}))
    };
    let finish =
        [sse(&json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})), "data: [DONE]\n\n".to_owned()];
    let calls = [
        call(Some(0), Some("same")),
        call(Some(1), Some("same")),
        call(Some(2), None),
        call(Some(3), Some("c1")),
        call(None, Some("bad id!")),
        call(None, None),
    ];
    let frames: Vec<String> = calls.into_iter().chain(finish).collect();
    let server = Server::always(stream(&frames)).await;
    let models = server.models();
    let transcript = conversation();
    let asked = ModelRequest { transcript: &transcript, ..request() };
    let answer = models.call("openai-chat/x", asked, &mut |_| {}).await.unwrap();
    let ids: Vec<_> = answer.message.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["same", "call_1_3_2", "call_1_3_3", "call_1_3_4", "call_1_3_5", "call_1_3_6"]);
    assert_eq!(answer.stop, StopReason::ToolUse);
    assert_eq!(models.counters("openai-chat").replaced_ids, 5);
}

#[tokio::test]
async fn unknown_events_are_ignored_and_counted() {
    let mut frames = wires(ARGUMENTS).remove(0).frames;
    frames.insert(2, "event: news\ndata: {\"type\":\"news\"}\n\n: ping\n\nid: 3\n\n".to_owned());
    frames.insert(4, sse(&json!({"type": "ping"})));
    let server = Server::always(stream(&frames)).await;
    let models = server.models();
    let answer = models.call("anthropic/x", request(), &mut |_| {}).await.unwrap();
    assert_eq!(answer.message.text(), TEXT);
    let counters = models.counters("anthropic");
    assert_eq!((counters.unknown_frames, counters.requests), (1, 1));
}

#[tokio::test]
async fn pages_and_strange_bodies_are_shown_in_short() {
    for body in ["<!doctype html><title>Sign in</title>", "[1,2]", "{\"ok\":true}"] {
        let server = Server::always(whole(200, "text/html; charset=x", "", body.as_bytes())).await;
        let error = server.models().call("openai-chat/x", request(), &mut |_| {}).await.unwrap_err();
        assert_eq!(error.fault, ModelFault::Transient);
        assert!(error.words.en.contains("text/html") && error.words.en.contains(body), "{}", error.words.en);
    }
}

#[tokio::test]
async fn a_key_that_a_provider_repeats_is_struck_out() {
    let body = json!({"error": {"type": "authentication_error", "message": "Incorrect API key provided: sk-canary-secret"}});
    let server = Server::always(whole(401, "application/json", "", body.to_string().as_bytes())).await;
    for model in ["anthropic/x", "openai/x", "openai-chat/x", "gemini/x"] {
        let error = server.models().call(model, request(), &mut |_| {}).await.unwrap_err();
        assert_eq!(error.fault, ModelFault::Unauthorized);
        assert!(error.words.en.contains("[key]") && !format!("{error:?}").contains("canary"), "{error:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let server = Server::always(whole(307, "text/plain", "location: http://127.0.0.1:9/\r\n", b"")).await;
    let error = server.models().call("anthropic/x", request(), &mut |_| {}).await.unwrap_err();
    assert_eq!((error.fault, error.status), (ModelFault::Rejected, Some(307)));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn dropping_a_call_aborts_the_request() {
    let server = Server::always(vec![stream_head("text/event-stream"), Step::Hang]).await;
    let models = server.models();
    let mut ignore = |_| {};
    let arrived = async {
        while server.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        answer = models.call("anthropic/x", request(), &mut ignore) => panic!("{answer:?}"),
        () = arrived => {}
    }
    for _ in 0..900 {
        if *server.aborted.lock().unwrap() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the connection is still open");
}

#[tokio::test]
async fn a_call_cut_at_the_token_limit_never_runs() {
    for arguments in ["", "{\"path\":"] {
        let frames: Vec<String> = [
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "Read", "arguments": arguments}}]}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "length"}]}),
        ]
        .iter()
        .map(sse)
        .chain(["data: [DONE]\n\n".to_owned()])
        .collect();
        let error = answer_of("openai-chat/x", &frames).await.unwrap_err();
        assert_eq!(error.fault, ModelFault::Malformed, "{arguments:?}");
        assert!(error.words.en.contains("token limit"), "{}", error.words.en);
    }
}

#[tokio::test]
async fn a_promised_call_that_never_came_is_an_error() {
    let mut frames = wires(ARGUMENTS).remove(0).frames;
    frames.drain(5..10);
    let error = answer_of("anthropic/x", &frames).await.unwrap_err();
    assert_eq!(error.fault, ModelFault::Transient, "{}", error.words.en);
    let mut frames = wires(ARGUMENTS).remove(0).frames;
    frames.remove(9);
    let error = answer_of("anthropic/x", &frames).await.unwrap_err();
    assert!(error.words.en.contains("never ended"), "{}", error.words.en);
}

#[tokio::test]
async fn empty_thinking_and_refusing_answers_are_told_apart() {
    let chat = |delta: Value, reason: &str| {
        vec![
            sse(&json!({"choices": [{"delta": delta}]})),
            sse(&json!({"choices": [{"delta": {}, "finish_reason": reason}]})),
            "data: [DONE]\n\n".to_owned(),
        ]
    };
    for (frames, shape) in [
        (chat(json!({"content": ""}), "stop"), AnswerShape::Empty),
        (chat(json!({"reasoning_content": "hm"}), "stop"), AnswerShape::OnlyReasoning),
        (chat(json!({"content": "no"}), "content_filter"), AnswerShape::Refused),
        (chat(json!({"refusal": "no"}), "stop"), AnswerShape::Refused),
        (chat(json!({"content": "yes"}), "stop"), AnswerShape::Said),
    ] {
        assert_eq!(shape_of(&answer_of("openai-chat/x", &frames).await.unwrap()), shape);
    }
    let blocked = [sse(&json!({"promptFeedback": {"blockReason": "SAFETY"}}))];
    assert_eq!(shape_of(&answer_of("gemini/x", &blocked).await.unwrap()), AnswerShape::Refused);
}

#[tokio::test]
async fn models_without_tools_answer_with_an_action_object() {
    let said = |text: &str| {
        vec![
            sse(&json!({"choices": [{"delta": {"content": text}}]})),
            sse(&json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})),
            "data: [DONE]\n\n".to_owned(),
        ]
    };
    let ask = async |text: &str| {
        let server = Server::always(stream(&said(text))).await;
        let own = ProviderSettings {
            base_url: Some(format!("http://127.0.0.1:{}", server.port)),
            native_tools: NativeTools::No,
            ..ProviderSettings::default()
        };
        let settings =
            ModelSettings { providers: [("small".to_owned(), own)].into(), ..ModelSettings::default() };
        let models = Models::from_env(&|_: &str| -> Option<OsString> { None }, settings);
        let transcript = conversation();
        let asked = ModelRequest { transcript: &transcript, ..request() };
        let answer = models.call("small/smollm2", asked, &mut |_| {}).await;
        (answer, server.requests().remove(0).body)
    };
    let (answer, body) = ask(r#"{"tool":"Read","arguments":{"path":"b"}}"#).await;
    let answer = answer.unwrap();
    let call = answer.message.tool_calls().next().unwrap();
    assert_eq!((call.name.as_str(), &call.arguments), ("Read", &json!({"path": "b"})));
    assert!(body.get("tools").is_none());
    let actions = &body["response_format"]["json_schema"]["schema"]["anyOf"];
    assert_eq!(actions[0]["properties"]["tool"]["const"], "Read");
    assert_eq!(actions[1]["required"], json!(["answer"]));
    assert_eq!(body["messages"][2]["content"], r#"{"tool":"Read","arguments":{"path":"a"}}"#);
    assert_eq!(body["messages"][4]["content"], "[Read: failed]\ngone");
    let (answer, _) = ask(r#"{"answer":"done"}"#).await;
    assert_eq!(answer.unwrap().message.text(), "done");
    for bad in ["sure!", r#"{"tool":"Read","argum"#, "{}", r#"{"tool":"Read","arguments":"x"}"#] {
        let (answer, _) = ask(bad).await;
        assert_eq!(answer.unwrap_err().fault, ModelFault::Malformed, "{bad}");
    }
}

/// Against a real model behind llama.cpp's server: shapes only, no wisdom.
#[tokio::test]
#[ignore = "needs a server: FUGATO_TEST_LLAMACPP=http://127.0.0.1:PORT cargo test -- --ignored real_model"]
async fn a_real_model_is_understood_in_three_formats_and_by_actions() {
    let address = std::env::var("FUGATO_TEST_LLAMACPP").unwrap();
    let own = |native_tools| ProviderSettings {
        base_url: Some(address.clone()),
        native_tools,
        ..ProviderSettings::default()
    };
    let providers =
        ["anthropic", "openai", "openai-chat"].map(|name| (name.to_owned(), own(NativeTools::Yes)));
    let small = [("small".to_owned(), own(NativeTools::No))];
    let settings =
        ModelSettings { providers: providers.into_iter().chain(small).collect(), ..ModelSettings::default() };
    let models = Models::from_env(&|_: &str| -> Option<OsString> { None }, settings);
    for model in ["anthropic/m", "openai/m", "openai-chat/m"] {
        let asked = ModelRequest { tools: &[], max_tokens: Some(40), ..request() };
        let mut pieces = 0;
        let answer = models.call(model, asked, &mut |_| pieces += 1).await.unwrap();
        println!(
            "{model}: {pieces} pieces, {:?}, {:?}: {}",
            answer.stop,
            answer.usage,
            answer.message.text()
        );
        assert!(pieces > 1 && shape_of(&answer) == AnswerShape::Said && answer.usage.output_tokens > Some(1));
    }
    let transcript = conversation();
    let asked = ModelRequest {
        transcript: &transcript,
        tool_choice: ToolChoice::Required,
        max_tokens: Some(200),
        ..request()
    };
    let answer = models.call("small/m", asked, &mut |_| {}).await.unwrap();
    println!("{answer:?}");
    assert_eq!(answer.message.tool_calls().next().unwrap().name, "Read");
}
