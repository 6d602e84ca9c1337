//! Each provider's wire format and faults, against servers on loopback that speak it.

use super::*;
use fugato_testkit::web::{Answer, Server};
use serde_json::json;

const KEY: &str = "canary-key-123456";

fn engine(provider: Provider, server: &Server) -> Engine {
    let key = (!provider.key_variables().is_empty()).then(|| KEY.to_owned());
    Engine { provider, address: server.url("/api"), key, time: Duration::from_secs(30) }
}

fn query() -> Query {
    Query { text: "rust 语言 & more".into(), results: 2, page: 2 }
}

fn body(provider: Provider) -> Value {
    let hit = |text: &str| json!({"title": "A <b>title</b> &amp; more", "url": "https://x.example/1", text: "an <strong>excerpt</strong>"});
    let other = |text: &str| json!({"title": "二", "url": "https://x.example/2", text: "中文", "more": [1]});
    match provider {
        Provider::Brave => {
            json!({"query": {}, "web": {"results": [hit("description"), other("description"), other("description")]}})
        }
        _ => json!({"results": [hit("content"), other("content"), other("content")], "answer": null}),
    }
}

#[tokio::test]
async fn every_provider_is_asked_in_its_own_words_and_answers_in_ours() {
    for provider in Provider::ALL {
        let server = Server::start(move |_| Answer::json(200, &body(provider)));
        let found = search(&engine(provider, &server), &query()).await.unwrap();
        assert_eq!(found.len(), 2, "{provider:?}");
        assert_eq!(found[0].title, "A title & more");
        assert_eq!((found[0].excerpt.as_str(), found[1].excerpt.as_str()), ("an excerpt", "中文"));
        let request = server.requests().remove(0);
        match provider {
            Provider::Brave => {
                assert!(
                    request.head.starts_with("GET /api?q=rust+%E8%AF%AD%E8%A8%80+%26+more&count=2&offset=1 ")
                );
                assert!(request.head.contains(&format!("x-subscription-token: {KEY}")), "{}", request.head);
            }
            Provider::Tavily => {
                assert!(
                    request.head.starts_with("POST /api ") && request.head.contains(&format!("Bearer {KEY}"))
                );
                let sent: Value = serde_json::from_slice(&request.body).unwrap();
                assert_eq!(sent, json!({"query": "rust 语言 & more", "max_results": 4}));
            }
            Provider::Searxng => {
                assert!(request.head.starts_with("GET /api/search?q="), "{}", request.head);
                assert!(request.head.contains("format=json&pageno=2"), "{}", request.head);
            }
        }
    }
}

#[tokio::test]
async fn every_fault_is_a_sentence_without_the_key() {
    let faults: Vec<(Answer, &str)> = vec![
        (Answer::new(429, "text/plain", "slow down").with_header("retry-after", "7"), "wait 7 s"),
        (Answer::new(500, "text/html", format!("<h1>broken {KEY}</h1>")), "HTTP 500"),
        (Answer::new(401, "application/json", "{}"), "401"),
        (Answer::new(200, "application/json", "{\"results\": [{\"url\""), "not a list of results"),
        (Answer::new(200, "application/json", "[]"), "not a list of results"),
        (Answer::new(200, "text/html", "<html>"), "not a list of results"),
        (Answer::new(302, "text/html", "").with_header("location", "http://127.0.0.1:1/"), "HTTP 302"),
        (Answer::new(200, "application/json", " ".repeat(MAX_BYTES + 1)), "longer than"),
        (Answer::Close, "could not reach"),
    ];
    for (answer, expected) in faults {
        for provider in Provider::ALL {
            let answer = answer.clone();
            let server = Server::start(move |_| answer.clone());
            let error = search(&engine(provider, &server), &query()).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{provider:?}: {error}");
            assert!(error.contains(provider.as_str()), "{error}");
            assert!(!error.contains(KEY) || provider.key_variables().is_empty(), "{error}");
        }
    }
}

#[tokio::test]
async fn an_engine_that_hangs_or_is_not_there_ends_with_a_sentence() {
    let server = Server::start(|_| Answer::Hang);
    let hurried = Engine { time: Duration::from_millis(300), ..engine(Provider::Brave, &server) };
    let error = search(&hurried, &query()).await.unwrap_err().to_string();
    assert!(error.contains("did not answer"), "{error}");
    let nobody = Engine { address: "http://127.0.0.1:1/".into(), ..engine(Provider::Tavily, &server) };
    let error = search(&nobody, &query()).await.unwrap_err().to_string();
    assert!(error.contains("could not reach `tavily`"), "{error}");
    let forbidden = Server::start(|_| Answer::new(403, "text/html", "no"));
    let error = search(&engine(Provider::Searxng, &forbidden), &query()).await.unwrap_err().to_string();
    assert!(error.contains("search.formats"), "{error}");
}

#[tokio::test]
async fn no_hit_is_an_empty_list() {
    let server = Server::start(|_| Answer::json(200, &json!({"query": {"original": "x"}, "results": []})));
    for provider in Provider::ALL {
        assert_eq!(search(&engine(provider, &server), &query()).await.unwrap(), Vec::new());
    }
}
