//! browser-* as agents use it: a real Chromium and pages on loopback.

use super::web::allowed;
use super::*;
use fugato_testkit::web::{Answer, Request, Server};
use std::sync::Arc;

/// An agent with a browser that may reach these servers.
pub(super) fn browsing(servers: &[&Server]) -> Project {
    let mut project = Project::new();
    project.context.agent = "agent".into();
    project.context.kept =
        Arc::new(Kept::new(WebSettings { allow: allowed(servers), ..WebSettings::default() }));
    project
}

/// The ref before this text, as in `[e12] button "Send"`.
pub(super) fn ref_of(page: &str, what: &str) -> String {
    let line =
        page.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what} in\n{page}"));
    line.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .unwrap_or_else(|| panic!("no ref: {line}"))
        .0
        .to_owned()
}

/// For looking at: kept only where somebody asked for it.
pub(super) fn keep(project: &Project, path: &str, name: &str) {
    if let Some(dir) = std::env::var_os("FUGATO_TEST_PICTURES") {
        std::fs::copy(project.path(path), PathBuf::from(dir).join(name)).unwrap();
    }
}

fn page(title: &str, body: &str) -> Answer {
    Answer::html(format!(
        "<!doctype html><html lang=en><title>{title}</title><body style='font-family: sans-serif'>{body}</body></html>"
    ))
}

const FORM: &str = r#"
    <h1>Order 订单</h1>
    <form method=post action=/order>
      <label>Name <input name=name required></label>
      <label>Note <textarea name=note>old text</textarea></label>
      <label>Colour <select name=colour><option value=r>Red</option><option value=b>蓝色</option></select></label>
      <label><input type=checkbox name=fast> Fast delivery</label>
      <label>File <input type=file name=file></label>
      <input disabled value=no aria-label=Off>
      <button>Send</button>
    </form>
    <p id=keys></p>
    <script>document.querySelector('[name=name]').addEventListener('keydown', e => keys.textContent += e.key + ' ')</script>"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_filled_in_and_sent_as_a_person_would() {
    let server = Server::start(|request| match request.path() {
        "/order" => page("Thanks", &format!("<h1>Thanks</h1><pre>{}</pre>", request.text())),
        _ => page("Order", FORM),
    });
    let project = browsing(&[&server]);
    let shown = project.done("browser-navigate", json!({"url": server.url("/")})).await;
    assert!(shown.contains("title: Order") && shown.contains("heading \"Order 订单\" level=1"), "{shown}");
    assert!(shown.contains("button \"Send\"") && shown.contains("textbox \"Name\" required"), "{shown}");
    let name = ref_of(&shown, "textbox \"Name\"");
    let typed = project.done("browser-type", json!({"ref": name, "text": "Li 张三 & Co"})).await;
    assert!(typed.contains("value=\"Li 张三 & Co\""), "{typed}");
    assert!(typed.contains("L i"), "the page heard the keys: {typed}");
    let note = ref_of(&typed, "textbox \"Note\"");
    let typed = project.done("browser-type", json!({"ref": note, "text": "新的\n备注", "clear": true})).await;
    assert!(!typed.contains("old text"), "{typed}");
    let wrong = project.refused("browser-select", json!({"selector": "select", "options": ["Green"]})).await;
    assert!(wrong.contains("Red") && wrong.contains("蓝色"), "{wrong}");
    project
        .done("browser-select", json!({"ref": ref_of(&typed, "combobox \"Colour\""), "options": ["蓝色"]}))
        .await;
    let ticked =
        project.done("browser-click", json!({"ref": ref_of(&typed, "checkbox \"Fast delivery\"")})).await;
    assert!(ticked.contains("checkbox \"Fast delivery\" checked"), "{ticked}");
    let file = project.done("browser-click", json!({"selector": "[type=file]"})).await;
    assert!(file.contains("uploading is not possible"), "{file}");
    assert!(
        project
            .refused("browser-type", json!({"selector": "[disabled]", "text": "x"}))
            .await
            .contains("disabled")
    );
    let picture = project.done("browser-screenshot", json!({"path": "form.png"})).await;
    assert!(picture.contains("1280x800"), "{picture}");
    keep(&project, "form.png", "form.png");
    let sent = project.done("browser-click", json!({"ref": ref_of(&ticked, "button \"Send\"")})).await;
    assert!(sent.contains("title: Thanks"), "{sent}");
    let form = server.requests().into_iter().find(|request| request.path() == "/order").unwrap().text();
    assert!(
        form.contains("name=Li+%E5%BC%A0%E4%B8%89+%26+Co") && form.contains("colour=b&fast=on"),
        "{form}"
    );
    assert!(form.contains("note=%E6%96%B0%E7%9A%84%0D%0A%E5%A4%87%E6%B3%A8"), "{form}");
    let stale = project.refused("browser-click", json!({"ref": name})).await;
    assert!(stale.contains("belongs to an earlier page"), "{stale}");
    let back = project.done("browser-back", json!({})).await;
    assert!(back.contains("title: Order"), "{back}");
    assert!(project.refused("browser-back", json!({})).await.contains("no page before"));
    project.context.kept.close().await;
}

fn shop(request: &Request) -> Answer {
    let is_known = request.header("cookie").contains("user=");
    match request.path() {
        "/login" if request.text() == "user=li&password=geheim" => {
            Answer::redirect("/list?page=1").with_header("set-cookie", "user=li; Path=/; HttpOnly")
        }
        "/login" => page("Login", "<p role=alert>wrong password</p><a href=/>again</a>"),
        path if path.starts_with("/list") && is_known => {
            let number: u32 = path.split("page=").nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
            let items: String = (1..=5).map(|n| format!("<li>item {}</li>", (number - 1) * 5 + n)).collect();
            let next = if number < 3 {
                format!("<a href='/list?page={}'>Next</a>", number + 1)
            } else {
                String::new()
            };
            page(&format!("Page {number}"), &format!("<ul>{items}</ul>{next}"))
        }
        path if path.starts_with("/list") => page("Refused", "<h1>Please log in</h1>"),
        _ => page(
            "Login",
            "<form method=post action=/login><input name=user aria-label=User><input name=password type=password \
             aria-label=Password><button>Log in</button></form>",
        ),
    }
}

async fn log_in(project: &Project, server: &Server, password: &str) -> String {
    let shown = project.done("browser-navigate", json!({"url": server.url("/")})).await;
    project.done("browser-type", json!({"ref": ref_of(&shown, "textbox \"User\""), "text": "li"})).await;
    let password = json!({"ref": ref_of(&shown, "textbox \"Password\""), "text": password, "submit": true});
    project.done("browser-type", password).await
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_login_all_pages_of_a_list_are_collected() {
    let server = Server::start(shop);
    let project = browsing(&[&server]);
    assert!(log_in(&project, &server, "wrong").await.contains("wrong password"));
    let mut shown = log_in(&project, &server, "geheim").await;
    let mut items = Vec::new();
    loop {
        assert!(!shown.contains("geheim"), "{shown}");
        items.extend(shown.lines().filter_map(|line| line.trim().strip_prefix("- item ")).map(str::to_owned));
        if !shown.contains("link \"Next\"") {
            break;
        }
        shown = project.done("browser-click", json!({"ref": ref_of(&shown, "link \"Next\"")})).await;
    }
    assert_eq!(items, (1..=15).map(|n| n.to_string()).collect::<Vec<_>>());
    project.context.kept.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_agents_at_once_share_neither_tabs_nor_logins() {
    let server = Arc::new(Server::start(shop));
    let first = browsing(&[&server]);
    let mut agents = vec![first];
    for name in ["second", "third"] {
        let mut agent = Project::new();
        agent.context.agent = name.into();
        agent.context.kept = Arc::clone(&agents[0].context.kept);
        agents.push(agent);
    }
    let shown = log_in(&agents[0], &server, "geheim").await;
    assert!(shown.contains("title: Page 1"), "{shown}");
    let ask = |agent: usize, page: u32| {
        let (agent, url) = (&agents[agent], server.url(&format!("/list?page={page}")));
        async move { agent.done("browser-navigate", json!({"url": url})).await }
    };
    let (one, two, three) = tokio::join!(ask(0, 2), ask(1, 2), ask(2, 3));
    assert!(one.contains("item 6"), "{one}");
    assert!(two.contains("Please log in") && three.contains("Please log in"), "{two}\n{three}");
    for agent in &agents {
        let tabs = agent.done("browser-tabs", json!({})).await;
        assert_eq!(tabs.lines().count(), 1, "{tabs}");
    }
    // Refs of one agent mean nothing to another.
    assert!(agents[1].refused("browser-click", json!({"ref": "e999"})).await.contains("no element"));
    agents[0].context.kept.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_whose_first_pages_open_at_the_same_moment_are_told_of_each_document() {
    let server = Arc::new(Server::start(shop));
    let mut agents = vec![browsing(&[&server])];
    for name in ["second", "third"] {
        let mut agent = Project::new();
        agent.context.agent = name.into();
        agent.context.kept = Arc::clone(&agents[0].context.kept);
        agents.push(agent);
    }
    let open = |agent: usize| {
        let (agent, url) = (&agents[agent], server.url("/"));
        async move { agent.done("browser-navigate", json!({"url": url})).await }
    };
    let (one, two, three) = tokio::join!(open(0), open(1), open(2));
    let before = [one, two, three].map(|shown| ref_of(&shown, "textbox \"User\""));
    tokio::join!(open(0), open(1), open(2));
    for (agent, old) in agents.iter().zip(before) {
        let stale = agent.refused("browser-click", json!({"ref": old})).await;
        assert!(stale.contains("belongs to an earlier page"), "{stale}");
    }
    agents[0].context.kept.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_are_read_and_clicked_also_those_of_other_sites() {
    let button = "<button onclick=\"this.textContent = 'clicked'\">Inner</button>";
    let inner =
        Server::start(move |_| page("Inner", &format!("<div style='height: 900px'>tall</div>{button}")));
    let other = format!("http://localhost:{}/", inner.port());
    let outer = Server::start(move |request| match request.path() {
        "/same" => page("Same", "<button onclick=\"this.textContent = 'pressed'\">Same site</button>"),
        _ => page(
            "Outer",
            &format!(
                "<h1>Outer</h1><div style='height: 300px'></div><iframe src=/same></iframe><iframe src='{other}' width=400 height=200></iframe>"
            ),
        ),
    });
    let project = browsing(&[&inner, &outer]);
    project.done("browser-navigate", json!({"url": outer.url("/")})).await;
    let shown = project.done("browser-wait", json!({"text": "tall"})).await;
    assert!(shown.contains("button \"Same site\"") && shown.contains("button \"Inner\""), "{shown}");
    let clicked = project.done("browser-click", json!({"ref": ref_of(&shown, "button \"Same site\"")})).await;
    assert!(clicked.contains("button \"pressed\""), "{clicked}");
    let clicked = project.done("browser-click", json!({"ref": ref_of(&shown, "button \"Inner\"")})).await;
    assert!(clicked.contains("button \"clicked\""), "{clicked}");
    project.done("browser-screenshot", json!({"path": "frames.png", "full_page": true})).await;
    keep(&project, "frames.png", "frames.png");
    project.context.kept.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dialogs_are_answered_and_reported_and_popups_become_tabs() {
    let server = Server::start(|request| match request.path() {
        "/file" => Answer::new(200, "application/octet-stream", "data")
            .with_header("content-disposition", "attachment; filename=report.bin"),
        "/popup" => page("Popup", "<h1>I am a popup</h1><button onclick=window.close()>Close me</button>"),
        _ => page(
            "Dialogs",
            "<button onclick=\"document.title = confirm('Delete all 全部?') ? 'deleted' : 'kept'\">Delete</button>\
             <button onclick=\"document.title = prompt('Name?', 'x')\">Rename</button>\
             <button onclick=\"alert('hello')\">Greet</button>\
             <button onclick=\"window.open('/popup')\">Popup</button><a href=/file>Download</a>",
        ),
    });
    let project = browsing(&[&server]);
    let shown = project.done("browser-navigate", json!({"url": server.url("/")})).await;
    let click = |what: &str, more: Value| {
        let mut arguments = json!({"ref": ref_of(&shown, what)});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let project = &project;
        async move { project.done("browser-click", arguments).await }
    };
    let kept = click("\"Delete\"", json!({})).await;
    assert!(kept.contains("title: kept") && kept.contains("\"Delete all 全部?\"; it was declined"), "{kept}");
    let deleted = click("\"Delete\"", json!({"dialogs": "accept"})).await;
    assert!(deleted.contains("title: deleted"), "{deleted}");
    assert!(click("\"Rename\"", json!({"prompt_text": "新名"})).await.contains("title: 新名"));
    assert!(click("\"Greet\"", json!({})).await.contains("(alert): \"hello\"; it was accepted"));
    let download = click("\"Download\"", json!({})).await;
    assert!(download.contains("download of `report.bin`") && download.contains("refused"), "{download}");
    assert!(click("\"Popup\"", json!({})).await.contains("opened another tab"));
    let tabs = project.done("browser-tabs", json!({})).await;
    assert!(tabs.contains("1 (current)") && tabs.contains("2: Popup"), "{tabs}");
    let popup = project.done("browser-tabs", json!({"action": "select", "tab": 2})).await;
    assert!(popup.contains("I am a popup"), "{popup}");
    let closed = project.done("browser-click", json!({"selector": "button"})).await;
    assert!(closed.contains("closed itself") && closed.contains("1:"), "{closed}");
    assert!(
        project.refused("browser-tabs", json!({"action": "select", "tab": 7})).await.contains("no tab 7")
    );
    let opened = project.done("browser-tabs", json!({"action": "open", "url": server.url("/popup")})).await;
    assert!(opened.contains("I am a popup"), "{opened}");
    let left = project.done("browser-tabs", json!({"action": "close", "tab": 2})).await;
    assert_eq!(left.lines().count(), 1, "{left}");
    project.context.kept.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_covered_is_not_clicked_and_scripts_give_values() {
    let server = Server::start(|_| {
        page(
            "Covered",
            "<button id=b onclick=\"document.title='hit'\">Below</button><div id=cover style='position: fixed; inset: 0; \
             background: #eee'>We value your privacy <button onclick=\"cover.remove()\">Agree</button></div>\
             <div style='height: 3000px'></div><div tabindex=0 onclick=\"document.title='far'\">Far below 很远</div>\
             <script>setTimeout(() => { const p = document.createElement('p'); p.textContent = 'late text'; document.body.append(p) }, 700)</script>",
        )
    });
    let project = browsing(&[&server]);
    let shown = project.done("browser-navigate", json!({"url": server.url("/")})).await;
    let covered = project.refused("browser-click", json!({"selector": "#b"})).await;
    assert!(covered.contains("covered by <div#cover> \"We value your privacy"), "{covered}");
    project.done("browser-click", json!({"ref": ref_of(&shown, "\"Agree\"")})).await;
    assert!(project.done("browser-click", json!({"selector": "#b"})).await.contains("title: hit"));
    let late = project.done("browser-wait", json!({"text": "late text"})).await;
    let far = project.done("browser-click", json!({"selector": "[tabindex]"})).await;
    assert!(late.contains("late text") && far.contains("title: far"), "{far}");
    let value = project
        .done(
            "browser-evaluate",
            json!({"script": "const n = await Promise.resolve(40); ({n: n + 2, 中: '文'})"}),
        )
        .await;
    assert!(value.contains("\"n\": 42") && value.contains("\"中\": \"文\""), "{value}");
    let thrown = project.refused("browser-evaluate", json!({"script": "nothing.at.all"})).await;
    assert!(thrown.contains("ReferenceError"), "{thrown}");
    let missing = project.refused("browser-wait", json!({"text": "never", "timeout_seconds": 1})).await;
    assert!(missing.contains("\"never\" did not appear"), "{missing}");
    assert!(project.refused("browser-wait", json!({})).await.contains("give one of"));
    let picture = project.done("browser-screenshot", json!({"full_page": true})).await;
    let path = picture.split("saved as ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(
        path.starts_with(&*project.context.scratch.to_string_lossy()) && picture.contains("1280x3"),
        "{picture}"
    );
    let outside = project.refused("browser-screenshot", json!({"path": "../outside/x.png"})).await;
    assert!(outside.contains("outside the project"), "{outside}");
    project.context.kept.close().await;
}
