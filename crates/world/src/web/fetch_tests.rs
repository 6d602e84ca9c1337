//! Fetching from servers on loopback: what comes, what is refused, and what ends.

use super::*;
use fugato_testkit::web::{Answer, Server};
use std::io::Write as _;
use std::time::Duration;

fn client(server: &Server) -> Client {
    Client::new(Guard::new(Allowed::parse(&format!("127.0.0.1:{}", server.port())))).unwrap()
}

async fn fails(client: &Client, address: &str) -> String {
    client.fetch(address, FetchLimits::default()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_page_is_fetched_over_redirects_and_read() {
    let server = Server::start(|request| match request.path() {
        "/start" => Answer::redirect("a/next?x=1"),
        "/a/next?x=1" => Answer::html("<h1>Arrived</h1><a href=more>more</a>"),
        _ => Answer::new(404, "text/plain", "no"),
    });
    let fetched = client(&server).fetch(&server.url("/start"), FetchLimits::default()).await.unwrap();
    assert_eq!((fetched.status, fetched.url.as_str()), (200, server.url("/a/next?x=1").as_str()));
    let Content::Page { markdown, .. } = read(&fetched, None).unwrap() else { panic!() };
    assert_eq!(markdown, format!("# Arrived\n\n[more]({})", server.url("/a/more")));
}

#[tokio::test]
async fn addresses_that_are_not_public_are_refused_before_anything_is_sent() {
    let server = Server::start(|_| Answer::html("secret"));
    let strict = Client::new(Guard::default()).unwrap();
    let port = server.port();
    for address in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://2130706433:{port}/"),
        "http://169.254.169.254/latest/meta-data/".into(),
        "file:///etc/passwd".into(),
    ] {
        let error = fails(&strict, &address).await;
        assert!(
            error.contains("not on the public internet") || error.contains("only http and https"),
            "{error}"
        );
    }
    assert!(fails(&strict, "http://me:pass@127.0.0.1/").await.contains("user name or password"));
    assert!(!fails(&strict, "http://me:canary pass@/").await.contains("canary"));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_redirect_is_a_new_address_and_must_pass_too() {
    let inner = Server::start(|_| Answer::html("secret"));
    let inner_port = inner.port();
    let outer = Server::start(move |request| {
        Answer::redirect(match request.path() {
            "/loopback" => "http://127.0.0.1:1/",
            "/name" => "http://localhost/",
            "/file" => "file:///etc/passwd",
            "/other-port" => return Answer::redirect(&format!("http://127.0.0.1:{inner_port}/")),
            _ => "//169.254.169.254/",
        })
    });
    for path in ["/loopback", "/name", "/file", "/other-port", "/x"] {
        let error = fails(&client(&outer), &outer.url(path)).await;
        assert!(error.starts_with("redirected to "), "{path}: {error}");
    }
    assert!(inner.requests().is_empty());
}

#[tokio::test]
async fn endless_redirects_hangs_and_closed_doors_end_with_a_sentence() {
    let server = Server::start(|request| match request.path() {
        "/hang" => Answer::Hang,
        "/close" => Answer::Close,
        path => Answer::redirect(&format!("{path}x")),
    });
    let client = client(&server);
    assert!(fails(&client, &server.url("/")).await.contains("more than 10 redirects"));
    assert_eq!(server.requests().len(), 11);
    assert!(fails(&client, &server.url("/close")).await.contains("could not reach"));
    let hurried = FetchLimits { time: Duration::from_millis(300), ..FetchLimits::default() };
    let error = client.fetch(&server.url("/hang"), hurried).await.unwrap_err().to_string();
    assert!(error.contains("did not answer completely"), "{error}");
    assert!(fails(&client, "not an address").await.contains("is not an address"));
}

#[tokio::test]
async fn large_bodies_and_bombs_are_cut_at_the_limit() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..64 {
        encoder.write_all(&vec![b'a'; 1 << 20]).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 100_000);
    let server = Server::start(move |request| match request.path() {
        "/bomb" => Answer::new(200, "text/plain", &bomb).with_header("content-encoding", "gzip"),
        _ => Answer::new(200, "text/plain", vec![b'b'; 50 << 20]),
    });
    for path in ["/bomb", "/large"] {
        let limits = FetchLimits { bytes: 1 << 20, ..FetchLimits::default() };
        let fetched = client(&server).fetch(&server.url(path), limits).await.unwrap();
        assert_eq!((fetched.bytes.len(), fetched.is_cut), (1 << 20, true), "{path}");
    }
}

#[tokio::test]
async fn pages_in_old_chinese_encodings_are_read() {
    let server = Server::start(|request| {
        let text =
            encoding_rs::GB18030.encode("<meta charset=gb2312><title>标题</title><p>中文网页").0.into_owned();
        let kind = if request.path() == "/header" { "text/html; charset=gb18030" } else { "text/html" };
        Answer::new(200, kind, text)
    });
    for path in ["/header", "/meta"] {
        let fetched = client(&server).fetch(&server.url(path), FetchLimits::default()).await.unwrap();
        let page = Content::Page { title: Some("标题".into()), markdown: "中文网页".into() };
        assert_eq!(read(&fetched, None).unwrap(), page);
    }
}
