//! A fan-out with one beginning goes behind its first answer where that saves money, and at once where it does not.

use super::test_server::{ARGUMENTS, Server, Step, request, stream, whole, wires};
use super::{ModelError, ModelRequest};
use fugato_model::chat::Answer;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

const AGENTS: usize = 4;
const UNTIL_FIRST_TOKEN: Duration = Duration::from_millis(300);

fn answer_of(model: &str) -> Vec<Step> {
    let wire = wires(ARGUMENTS).into_iter().find(|wire| wire.model == model).unwrap();
    stream(&wire.frames)
}

async fn fan_out(
    server: &Server,
    model: &'static str,
    system: &'static str,
) -> Vec<Result<Answer, ModelError>> {
    let models = server.models();
    let calls = (0..AGENTS).map(|_| {
        let models = models.clone();
        tokio::spawn(async move {
            let request = ModelRequest { system, ..request() };
            models.call(model, request, &mut |_| {}).await
        })
    });
    futures_util::future::join_all(calls).await.into_iter().map(Result::unwrap).collect()
}

/// About 1,250 tokens.
fn long() -> &'static str {
    String::leak("catalog ".repeat(625))
}

#[tokio::test]
async fn a_fan_out_waits_for_the_first_answer_to_begin() {
    for model in ["anthropic/claude", "openai/gpt", "gemini/gemini-3"] {
        let slow = [vec![Step::Wait(UNTIL_FIRST_TOKEN)], answer_of(model)].concat();
        let server = Server::start(move |n, _| if n == 0 { slow.clone() } else { answer_of(model) }).await;
        let answers = fan_out(&server, model, long()).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        let seen = server.requests();
        assert_eq!(seen.len(), AGENTS, "{model}");
        for later in &seen[1..] {
            assert!(later.at >= seen[0].at + UNTIL_FIRST_TOKEN, "{model}: sent before the first token");
        }
    }
}

/// Nobody is answered before all have asked: a fan-out that goes one after the other would never get its answers.
async fn all_at_once(model: &'static str, system: &'static str) {
    let arrived = Arc::new((Mutex::new(0), Condvar::new()));
    let server = Server::start(move |_, _| {
        let (count, changed) = &*arrived;
        let mut count = count.lock().unwrap();
        *count += 1;
        changed.notify_all();
        let all =
            changed.wait_timeout_while(count, Duration::from_secs(10), |count| *count < AGENTS).unwrap();
        assert!(!all.1.timed_out(), "{model}: somebody waited for another's answer");
        answer_of(model)
    })
    .await;
    let answers = fan_out(&server, model, system).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn short_beginnings_and_servers_without_a_cache_are_asked_at_once() {
    all_at_once("anthropic/claude", "be brief").await;
    all_at_once("ollama/qwen", long()).await;
    all_at_once("openai-chat/gpt", long()).await;
}

#[tokio::test]
async fn when_the_first_one_fails_the_next_one_is_first() {
    let model = "anthropic/claude";
    let server =
        Server::start(
            move |n, _| {
                if n == 0 { whole(500, "application/json", "", b"{}") } else { answer_of(model) }
            },
        )
        .await;
    let answers = fan_out(&server, model, long()).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), AGENTS - 1);
}

#[tokio::test]
async fn a_first_one_that_is_given_up_holds_nobody() {
    let model = "anthropic/claude";
    let server = Server::start(move |n, _| if n == 0 { vec![Step::Hang] } else { answer_of(model) }).await;
    let models = server.models();
    let system = long();
    let ask = |models: super::Models| async move {
        models.call(model, ModelRequest { system, ..request() }, &mut |_| {}).await
    };
    let first = tokio::spawn(ask(models.clone()));
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let second = tokio::spawn(ask(models.clone()));
    tokio::task::yield_now().await;
    assert_eq!(server.requests().len(), 1);
    first.abort();
    assert!(second.await.unwrap().is_ok());
    assert!(ask(models).await.is_ok(), "and what is cached needs no waiting");
}
