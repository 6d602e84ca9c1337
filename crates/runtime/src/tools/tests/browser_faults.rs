//! What browser-* does when pages, servers, the browser or its owner misbehave, and what it cannot be made to reach.

use super::browser::{browsing, ref_of};
use super::*;
use fugato_testkit::web::{Answer, Server};
use std::sync::Arc;

/// Processes whose command line mentions this profile directory.
fn processes_of(scratch: &Path) -> Vec<(u32, String)> {
    let scratch = scratch.canonicalize().unwrap_or_else(|_| scratch.to_owned());
    assert!(scratch.as_os_str().len() <= 30, "its browser would live elsewhere: {}", scratch.display());
    let mark = format!("--user-data-dir={}", scratch.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&mark) {
            found.push((pid, line));
        }
    }
    found
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_never_come_end_with_a_sentence_and_the_browser_stays_usable() {
    let head = b"HTTP/1.1 200 X\r\ncontent-type: text/html\r\n\r\n<title>Half</title><h1>The first half</h1>";
    let server = Server::start(|request| match request.path() {
        "/hang" => Answer::Hang,
        "/half" => Answer::Begin(head.to_vec()),
        "/close" => Answer::Close,
        "/good" => Answer::html("<title>Good</title><p>fine"),
        "/picture" => Answer::html("<title>Picture</title><p>text</p><img src=/hang>"),
        path => Answer::redirect(&format!("{path}x")),
    });
    let project = browsing(&[&server]);
    let go = |path: &str| json!({"url": server.url(path)});
    assert!(project.refused("browser-navigate", go("/hang")).await.contains("sent no page within"));
    assert!(project.done("browser-navigate", go("/good")).await.contains("title: Good"));
    assert!(project.refused("browser-navigate", go("/")).await.contains("redirects in a circle"));
    assert!(project.refused("browser-navigate", go("/close")).await.contains("sent nothing"));
    let half = project.done("browser-navigate", go("/half")).await;
    assert!(half.contains("The first half"), "{half}");
    let picture = project.done("browser-navigate", go("/picture")).await;
    assert!(picture.contains("text") && picture.contains("still loading"), "{picture}");
    let busy = project.refused("browser-evaluate", json!({"script": "while (true) {}"})).await;
    assert!(busy.contains("ran longer than"), "{busy}");
    assert!(project.done("browser-navigate", go("/good")).await.contains("fine"));
    let nobody = project.refused("browser-navigate", json!({"url": "http://127.0.0.1:8/"})).await;
    assert!(nobody.contains("web.allow"), "{nobody}");
    project.context.kept.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_fifty_megabytes_is_not_a_snapshot_of_fifty_megabytes() {
    let server = Server::start(|request| match request.path() {
        "/text" => {
            Answer::html(format!("<title>Long</title><pre>{}", "all work and no play\n".repeat(2_500_000)))
        }
        _ => Answer::html(format!("<title>Many</title>{}", "<p>paragraph</p>".repeat(60_000))),
    });
    let project = browsing(&[&server]);
    for path in ["/text", "/many"] {
        let shown = project.done("browser-navigate", json!({"url": server.url(path)})).await;
        assert!(
            shown.contains("too large for a snapshot") && shown.len() < 16 << 10,
            "{path}: {}",
            shown.len()
        );
    }
    let count =
        project.done("browser-evaluate", json!({"script": "document.querySelectorAll('p').length"})).await;
    assert!(count.ends_with("60000"), "{count}");
    project.context.kept.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_page_is_shown_in_pages() {
    let server = Server::start(|_| {
        Answer::html((0..3000).map(|n| format!("<p><a href=/{n}>link {n}</a></p>")).collect::<String>())
    });
    let project = browsing(&[&server]);
    project.done("browser-navigate", json!({"url": server.url("/")})).await;
    let mut seen = Vec::new();
    let mut start = 1;
    loop {
        let shown = project.done("browser-snapshot", json!({"start": start})).await;
        seen.extend(shown.lines().filter(|line| line.contains("link \"")).map(|line| ref_of(line, "link")));
        let Some(next) = shown.split("start=").nth(1) else { break };
        start = next.split(' ').next().unwrap().parse().unwrap();
    }
    assert_eq!(seen.len(), 3000);
    seen.dedup();
    assert_eq!(seen.len(), 3000, "every element has a ref of its own");
    project.context.kept.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_page_and_a_dead_browser_are_noticed_and_replaced() {
    let server = Server::start(|_| Answer::html("<title>Alive</title><p>hello"));
    let project = browsing(&[&server]);
    let go = json!({"url": server.url("/")});
    project.done("browser-navigate", go.clone()).await;
    let renderers: Vec<u32> = processes_of(&project.context.scratch)
        .into_iter()
        .filter(|(_, line)| line.contains("--type=renderer"))
        .map(|(pid, _)| pid)
        .collect();
    assert!(!renderers.is_empty());
    renderers.into_iter().for_each(kill);
    let crashed = project.refused("browser-snapshot", json!({})).await;
    assert!(crashed.contains("crashed"), "{crashed}");
    assert!(project.done("browser-navigate", go.clone()).await.contains("hello"));
    let main = processes_of(&project.context.scratch)
        .into_iter()
        .find(|(_, line)| !line.contains("--type="))
        .unwrap()
        .0;
    kill(main);
    let ended = project.refused("browser-snapshot", json!({})).await;
    assert!(ended.contains("browser-navigate"), "{ended}");
    let again = project.done("browser-navigate", go).await;
    assert!(again.contains("hello"), "{again}");
    project.context.kept.close().await;
    assert_eq!(processes_of(&project.context.scratch), []);
    let left = std::fs::read_dir(&project.context.scratch).unwrap().flatten();
    let left: Vec<_> = left
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().starts_with("fugato-chromium-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Everything a page can do to reach this machine: none of it arrives.
#[tokio::test(flavor = "multi_thread")]
async fn no_page_reaches_what_is_not_public() {
    let inner =
        Server::start(|_| Answer::html("inner secret").with_header("access-control-allow-origin", "*"));
    let port = inner.port();
    let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.set_nonblocking(true).unwrap();
    let stun = datagrams.local_addr().unwrap().port();
    let outer = Server::start(move |request| match request.path() {
        "/redirect" => Answer::redirect(&format!("http://127.0.0.1:{port}/")),
        "/name" => Answer::redirect(&format!("http://localhost:{port}/")),
        "/mapped" => Answer::redirect(&format!("http://[::ffff:127.0.0.1]:{port}/")),
        _ => Answer::html(format!(
            "<title>Outer</title><img src='http://127.0.0.1:{port}/i.png'><script src='http://localhost:{port}/s.js'></script>\
             <link rel=stylesheet href='http://0.0.0.0:{port}/c.css'><link rel=prefetch href='http://127.0.0.1:{port}/p'>\
             <iframe src='http://127.0.0.1:{port}/f'></iframe><object data='http://127.0.0.1:{port}/o'></object>\
             <form method=post action='http://127.0.0.1:{port}/post' target=f id=form></form><iframe name=f></iframe>"
        )),
    });
    let mut project = Project::new();
    let allowed = fugato_world::web::Allowed::parse(&format!("127.0.0.1:{}", outer.port())).unwrap();
    project.context.kept =
        Arc::new(Kept::new(WebSettings { allow: vec![allowed], ..WebSettings::default() }));
    for path in ["/redirect", "/name", "/mapped"] {
        let refused = project.refused("browser-navigate", json!({"url": outer.url(path)})).await;
        assert!(refused.contains("not on the public internet"), "{refused}");
    }
    for url in
        ["file:///etc/passwd", "chrome://version", "view-source:http://x.example/", "http://a:b@x.example/"]
    {
        let refused = project.refused("browser-navigate", json!({"url": url})).await;
        assert!(refused.contains("only http and https") || refused.contains("user name"), "{refused}");
    }
    let shown = project.done("browser-navigate", json!({"url": outer.url("/")})).await;
    assert!(shown.contains("not loaded: `127.0.0.1:"), "{shown}");
    let script = format!(
        "form.submit();
         const tries = [];
         const attempt = promise => tries.push(promise.then(() => 'reached', () => 'failed'));
         attempt(fetch('http://127.0.0.1:{port}/fetch', {{mode: 'no-cors'}}));
         attempt(fetch('http://localhost:{port}/fetch'));
         attempt(new Promise((yes, no) => {{ const s = new WebSocket('ws://127.0.0.1:{port}/ws'); s.onopen = yes; s.onerror = no }}));
         attempt(new Promise((yes, no) => {{ const s = new EventSource('http://127.0.0.1:{port}/es'); s.onopen = yes; s.onerror = no }}));
         navigator.sendBeacon('http://127.0.0.1:{port}/beacon', 'x');
         const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{stun}'}}]}});
         peer.createDataChannel('x');
         await peer.setLocalDescription(await peer.createOffer());
         await Promise.race([new Promise(done => peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && done()),
             new Promise(done => setTimeout(done, 5000))]);
         (await Promise.all(tries)).join()"
    );
    let tried = project.done("browser-evaluate", json!({"script": script})).await;
    assert!(tried.ends_with("failed,failed,failed,failed"), "{tried}");
    let file =
        project.done("browser-evaluate", json!({"script": "location.href = 'file:///etc/passwd'; 1"})).await;
    assert!(!file.contains("root:"), "{file}");
    assert!(!project.done("browser-snapshot", json!({})).await.contains("root:"));
    assert!(inner.requests().is_empty(), "{:?}", inner.requests());
    assert!(datagrams.recv_from(&mut [0; 64]).is_err(), "a datagram arrived");
    project.context.kept.close().await;
}

/// Scratch directories of runs lie deep; Chromium crashes when its socket has too long a path.
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_starts_also_for_a_deep_scratch_directory() {
    let server = Server::start(|_| Answer::html("<p>fine"));
    let mut project = browsing(&[&server]);
    project.context.scratch = project.context.scratch.join("deep/".repeat(30));
    std::fs::create_dir_all(&project.context.scratch).unwrap();
    assert!(project.done("browser-navigate", json!({"url": server.url("/")})).await.contains("fine"));
    project.context.kept.close().await;
}

#[tokio::test]
async fn a_machine_without_a_browser_says_how_to_get_one() {
    let mut project = Project::new();
    project.context.kept = Arc::new(Kept::new(WebSettings {
        browser: Some("/no/such/chromium".into()),
        ..WebSettings::default()
    }));
    let refused = project.refused("browser-navigate", json!({"url": "https://x.example/"})).await;
    assert!(refused.contains("browser.program") && refused.contains("/no/such/chromium"), "{refused}");
    // Something that is no browser.
    project.context.kept =
        Arc::new(Kept::new(WebSettings { browser: Some("/bin/false".into()), ..WebSettings::default() }));
    let refused = project.refused("browser-navigate", json!({"url": "https://x.example/"})).await;
    assert!(refused.contains("could not be started"), "{refused}");
    assert!(project.refused("browser-click", json!({})).await.contains("`ref` or `selector`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_starts_however_deep_the_scratch_directory_lies() {
    let server = Server::start(|_| Answer::html("<p>fine"));
    let mut project = browsing(&[&server]);
    project.context.scratch = project.temp.path().join("deep".repeat(40)).join("scratch");
    std::fs::create_dir_all(&project.context.scratch).unwrap();
    assert!(project.done("browser-navigate", json!({"url": server.url("/")})).await.contains("fine"));
    project.context.kept.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_leaves_the_browser_usable() {
    let server = Server::start(|request| match request.path() {
        "/hang" => Answer::Hang,
        _ => Answer::html("<p>fine"),
    });
    let project = browsing(&[&server]);
    project.done("browser-navigate", json!({"url": server.url("/")})).await;
    let cancel = CancelToken::new();
    let call = tool_call("browser-navigate", json!({"url": server.url("/hang")}));
    let hanging = async { perform(&call, &project.context, cancel.clone(), &mut |_| {}).await };
    let stopping = async {
        while !server.requests().iter().any(|request| request.path() == "/hang") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(hanging, stopping);
    assert_eq!(outcome.content, "cancelled");
    assert!(project.done("browser-navigate", json!({"url": server.url("/")})).await.contains("fine"));
    project.context.kept.close().await;
}

/// Not a test of its own: the owner that the next test kills. Without that test it ends at once.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_to_be_killed() {
    let Some(room) = std::env::var_os("FUGATO_TEST_OWNER").map(PathBuf::from) else { return };
    let server = Server::start(|_| Answer::html("<p>hello"));
    let mut project = browsing(&[&server]);
    project.context.scratch = room.join("scratch");
    project.context.processes = crate::process::record_in(&room);
    project.done("browser-navigate", json!({"url": server.url("/")})).await;
    std::fs::write(room.join("ready"), "").unwrap();
    std::future::pending::<()>().await;
}

#[test]
fn the_browser_of_a_killed_owner_ends_and_its_profile_is_removed_by_the_next() {
    let room = tempfile::tempdir().unwrap();
    let scratch = room.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let mut owner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tools::tests::browser_faults::an_owner_to_be_killed"])
        .env("FUGATO_TEST_OWNER", room.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let began = std::time::Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(120), "{what}: {:?}", processes_of(&scratch));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    until("it starts", &|| room.path().join("ready").exists());
    assert!(!processes_of(&scratch).is_empty());
    owner.kill().unwrap();
    owner.wait().unwrap();
    // As the next start does.
    crate::process::sweep_dead_owners(room.path());
    until("it ends", &|| processes_of(&scratch).is_empty());
    let profiles = || std::fs::read_dir(&scratch).unwrap().flatten().count();
    assert_eq!(profiles(), 1, "a killed owner cannot clean up");
    let mut project = Project::new();
    project.context.scratch = scratch.clone();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        assert!(project.done("browser-tabs", json!({})).await.contains("no tab"));
        project.context.kept.close().await;
    });
    assert_eq!(profiles(), 0);
}
