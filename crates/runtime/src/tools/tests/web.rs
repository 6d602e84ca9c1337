//! WebFetch and WebSearch as an agent meets them, against servers on loopback.

use super::*;
use fugato_testkit::web::{Answer, Server};
use std::sync::Arc;

fn allowing(servers: &[&Server]) -> Project {
    let mut project = Project::new();
    project.context.kept =
        Arc::new(Kept::new(WebSettings { allow: allowed(servers), ..WebSettings::default() }));
    project
}

/// These servers, as numbers and by name.
pub(super) fn allowed(servers: &[&Server]) -> Vec<fugato_world::web::Allowed> {
    let hosts = servers
        .iter()
        .flat_map(|server| ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", server.port())));
    hosts.filter_map(|host| fugato_world::web::Allowed::parse(&host)).collect()
}

#[tokio::test]
async fn a_long_page_is_read_piece_by_piece() {
    let text: String = (0..3000).map(|n| format!("<p>第{n}段</p>")).collect();
    let server = Server::start(move |_| Answer::html(format!("<title>长文</title>{text}")));
    let project = allowing(&[&server]);
    let mut whole = String::new();
    let mut start = 0;
    loop {
        let piece = project
            .done("WebFetch", json!({"url": server.url("/"), "start": start, "max_chars": 5000}))
            .await;
        let body = piece.split_once("title: 长文\n\n").unwrap().1;
        let (text, more) =
            body.split_once("\n[characters").map_or((body, None), |(text, note)| (text, Some(note)));
        whole.push_str(text);
        let Some(note) = more else { break };
        start = note.split("start=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    }
    let expected: Vec<String> = (0..3000).map(|n| format!("第{n}段")).collect();
    assert_eq!(whole, expected.join("\n\n"));
    let past = project.done("WebFetch", json!({"url": server.url("/"), "start": 1_000_000})).await;
    assert!(past.contains("only"), "{past}");
}

#[tokio::test]
async fn what_a_page_is_decides_the_answer() {
    let server = Server::start(|request| match request.path() {
        "/json" => Answer::new(200, "application/json", "{\"a\": [1, 2]}"),
        "/gone" => Answer::new(404, "text/html", "<h1>No such page</h1>"),
        "/empty" => Answer::html("<div id=app></div><script>go()</script>"),
        "/pdf" => Answer::new(200, "application/pdf", b"%PDF-1.4 rest"),
        "/zip" => Answer::new(200, "application/zip", b"PK\x03\x04"),
        _ => Answer::html("<main><p id=a>one</p><p id=b>two</p></main>"),
    });
    let project = allowing(&[&server]);
    let fetch = |path: &str| json!({"url": server.url(path)});
    assert!(project.done("WebFetch", fetch("/json")).await.ends_with("\n\n{\"a\": [1, 2]}"));
    let gone = project.refused("WebFetch", fetch("/gone")).await;
    assert!(gone.contains("status: 404") && gone.contains("# No such page"), "{gone}");
    assert!(project.done("WebFetch", fetch("/empty")).await.contains("browser-navigate"));
    let chosen = project.done("WebFetch", json!({"url": server.url("/"), "selector": "#b"})).await;
    assert!(chosen.ends_with("\n\ntwo"), "{chosen}");
    let pdf = project.done("WebFetch", fetch("/pdf")).await;
    assert!(pdf.contains("read it with office-read"), "{pdf}");
    let path = pdf.split("saved as ").nth(1).unwrap().split(';').next().unwrap();
    assert_eq!(std::fs::read(path).unwrap(), b"%PDF-1.4 rest");
    // The path is one the other tools take.
    assert!(project.call("Read", json!({"path": path})).await.content.contains("PDF"));
    assert!(project.refused("WebFetch", fetch("/zip")).await.contains("no tool can read it"));
}

#[tokio::test]
async fn this_machine_and_its_network_are_out_of_reach_unless_allowed() {
    let server = Server::start(|_| Answer::html("inner secret"));
    let project = Project::new();
    let port = server.port();
    let addresses = [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://[::ffff:7f00:1]:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "file:///etc/passwd".to_owned(),
        format!("http://user:pass@127.0.0.1:{port}/"),
    ];
    for url in addresses {
        let refused = project.refused("WebFetch", json!({"url": url})).await;
        assert!(!refused.contains("inner secret") && !refused.contains("pass@"), "{refused}");
    }
    assert!(server.requests().is_empty());
    let named = project.refused("WebFetch", json!({"url": server.url("/")})).await;
    assert!(named.contains(&format!("web.allow = [\"127.0.0.1:{port}\"]")), "{named}");
    assert!(
        allowing(&[&server]).done("WebFetch", json!({"url": server.url("/")})).await.contains("inner secret")
    );
}

fn searching(
    pairs: &[(&str, &str)],
    url: Option<&str>,
    provider: Option<&str>,
    command: Option<&str>,
) -> Project {
    let mut settings = WebSettings::default();
    let env = |name: &str| pairs.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).into());
    settings.choose_search(provider, url, None, command, env);
    let mut project = Project::new();
    project.context.kept = Arc::new(Kept::new(settings));
    project
}

#[tokio::test]
async fn without_a_provider_the_setting_is_named() {
    let refused = searching(&[], None, None, None).refused("WebSearch", json!({"query": "x"})).await;
    for word in ["BRAVE_API_KEY", "TAVILY_API_KEY", "search.url"] {
        assert!(refused.contains(word), "{refused}");
    }
    let refused =
        searching(&[], None, Some("tavily"), None).refused("WebSearch", json!({"query": "x"})).await;
    assert!(refused.contains("TAVILY_API_KEY") && refused.contains("search.key_command"), "{refused}");
    let refused =
        searching(&[], None, Some("searxng"), None).refused("WebSearch", json!({"query": "x"})).await;
    assert!(refused.contains("search.url"), "{refused}");
    assert!(
        searching(&[], Some("x"), None, None)
            .refused("WebSearch", json!({"query": " "}))
            .await
            .contains("empty")
    );
}

#[tokio::test]
async fn a_search_gives_a_list_and_its_key_comes_from_environment_or_command() {
    let server = Server::start(|request| {
        if request.header("x-subscription-token") != "canary-key-1" {
            return Answer::new(401, "application/json", "{}");
        }
        let results =
            json!([{"title": "标题", "url": "https://x.example/", "description": "an <b>excerpt</b>"}]);
        Answer::json(200, &json!({"query": {}, "web": {"results": results}}))
    });
    let url = server.url("/");
    for project in [
        searching(&[("BRAVE_API_KEY", "canary-key-1")], Some(&url), Some("brave"), None),
        searching(&[], Some(&url), Some("brave"), Some("echo canary-key-1")),
    ] {
        let found = project.done("WebSearch", json!({"query": "语言", "results": 3})).await;
        assert_eq!(found, "1. 标题\n   https://x.example/\n   an excerpt");
        assert!(!format!("{:?}", project.context).contains("canary"));
    }
    let wrong = searching(&[("BRAVE_API_KEY", "canary-key-2")], Some(&url), Some("brave"), None);
    let refused = wrong.refused("WebSearch", json!({"query": "x"})).await;
    assert!(refused.contains("refused the key") && !refused.contains("canary"), "{refused}");
}
