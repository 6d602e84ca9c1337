//! What an agent's world may do to it while it works: links that change under its hands, a provider that never answers, pages
//! that never come, commands that never stop printing. From the binary, with the real tools.

use crate::env;
use crate::go::{agent, events, go, lines, model, tool};
use crate::go_faults::waits_for;
use fugato_testkit::TestEnv;
use fugato_testkit::web::{Answer, Server};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const CANARY: &str = "swap-canary-7f3a";
const CANVAS: &str = r#"{"nodes":[{"id":"a","type":"text","x":0,"y":0,"width":100,"height":60,"text":"WORD"},
{"id":"b","type":"text","x":0,"y":200,"width":100,"height":60,"text":"B"}],"edges":[]}"#;

/// The same files in a directory, with another word in them.
fn furnish(dir: &Path, word: &str) {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("a.txt"), format!("{word}\n")).unwrap();
    std::fs::write(dir.join("own.txt"), format!("own {word}\n")).unwrap();
    std::fs::write(dir.join("outline.md"), format!("# {word}\n- one\n")).unwrap();
    std::fs::write(dir.join("data.csv"), format!("name,value\n{word},1\nother,2\n")).unwrap();
    std::fs::write(dir.join("board.canvas"), CANVAS.replace("WORD", word)).unwrap();
    std::fs::write(dir.join("pic.png"), word).unwrap();
}

/// Every tool that opens or writes a file, through a directory that is swapped and through files that are.
fn calls() -> Vec<Value> {
    let mut calls = vec![
        tool("Glob", json!({"pattern": "**/*"})),
        tool("Grep", json!({"pattern": "canary|inside"})),
        tool("Glob", json!({"pattern": "*", "path": "flip"})),
        tool("Grep", json!({"pattern": "canary|inside", "path": "flip"})),
        tool("Write", json!({"path": "flip/new/deep.txt", "content": "w"})),
        tool("Write", json!({"path": "flip/written.txt", "content": "w"})),
        tool("browser-screenshot", json!({"path": "flip/shot.png"})),
        tool("image-ocr", json!({"path": "flip/pic.png"})),
    ];
    for place in ["flip/", "leaf-"] {
        let at = |name: &str| format!("{place}{name}");
        let board = at("board.canvas");
        calls.extend([
            tool("Read", json!({"path": at("a.txt")})),
            tool("Edit", json!({"path": at("own.txt"), "old_string": "own", "new_string": "own own"})),
            tool("Write", json!({"path": at("a.txt"), "content": "inside\n"})),
            tool("office-read", json!({"path": at("data.csv")})),
            tool("canvas-read", json!({"path": board})),
            tool("canvas-add", json!({"path": board, "nodes": [{"text": "new"}]})),
            tool("canvas-update", json!({"path": board, "changes": [{"id": "a", "color": "1"}]})),
            tool("canvas-connect", json!({"path": board, "edges": [{"from": "a", "to": "b"}]})),
            tool("canvas-group", json!({"path": board, "ids": ["b"], "label": "G"})),
            tool("canvas-layout", json!({"path": board})),
            tool("canvas-from-text", json!({"path": at("made.canvas"), "source": at("outline.md"), "replace": true})),
            tool("chart", json!({"kind": "bar", "source": at("data.csv"), "x": "name", "y": "value", "output": at("bars.svg")})),
        ]);
    }
    calls
}

fn snapshot(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read(entry.path()).unwrap_or_default())
    };
    entries.map(read).collect()
}

#[test]
fn links_swapped_under_the_hands_of_every_file_tool_lead_nowhere() {
    const ROUNDS: u64 = 12;
    let page = Server::start(|_| Answer::html("<h1>a page</h1>"));
    let env = env();
    let outside = env.project().parent().unwrap().join("outside");
    furnish(&outside, CANARY);
    furnish(&env.project().join("flip"), "inside");
    symlink("../outside", env.project().join("other")).unwrap();
    let names = ["a.txt", "own.txt", "outline.md", "data.csv", "board.canvas", "made.canvas", "bars.svg"];
    for name in names {
        let inside = env.project().join("flip").join(name);
        if inside.exists() {
            std::fs::copy(inside, env.project().join(format!("leaf-{name}"))).unwrap();
        } else {
            std::fs::write(env.project().join(format!("leaf-{name}")), CANVAS.replace("WORD", "inside"))
                .unwrap();
            std::fs::write(outside.join(name), CANARY).unwrap();
        }
        symlink(outside.join(name), env.project().join(format!("link-{name}"))).unwrap();
    }
    let before = snapshot(&outside);
    let navigate = tool("browser-navigate", json!({"url": page.url("/")}));
    let mut rules = vec![json!({"when": {"step": 1}, "tools": [navigate]})];
    rules.extend((0..ROUNDS).map(|round| json!({"when": {"step": round + 2}, "tools": calls()})));
    rules.push(json!({"reply": "done"}));
    model(&env, &rules);
    let stop = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            let swap = |one: &str, two: &str| {
                let (one, two) = (env.project().join(one), env.project().join(two));
                // A tool may be replacing one of them at this moment.
                let _ = renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE);
            };
            while !stop.load(Ordering::Relaxed) {
                swap("flip", "other");
                for name in names {
                    swap(&format!("leaf-{name}"), &format!("link-{name}"));
                }
                // Long enough for a call to come through now and then, short enough to change within one.
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let mut command = env.command();
        command.args(["go", "x", "--model", "script:model.yaml", "--no-input", "--jsonl"]);
        let output = command.env("FUGATO_WEB_ALLOW", format!("127.0.0.1:{}", page.port())).output();
        stop.store(true, Ordering::Relaxed);
        output.unwrap()
    });
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(snapshot(&outside), before, "nothing outside was changed");
    let mut tools = BTreeMap::new();
    for line in lines(&said, "tool.requested") {
        let key = (line["step"].as_u64().unwrap(), line["index"].as_u64().unwrap());
        tools.insert(key, line["call"]["name"].as_str().unwrap().to_owned());
    }
    let (mut inside, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for line in lines(&said, "tool.completed") {
        let key = (line["step"].as_u64().unwrap(), line["index"].as_u64().unwrap());
        let (name, content) = (tools[&key].clone(), line["content"].to_string());
        assert!(!content.contains(CANARY), "{name}: {content}");
        if line["is_error"] == true {
            refused.insert(name)
        } else {
            inside.insert(name)
        };
    }
    let all: BTreeSet<String> =
        calls().iter().map(|call| call["name"].as_str().unwrap().to_owned()).collect();
    // A text is no picture; every other tool came through, and every one that names a path was stopped.
    let missing: Vec<&String> = all.difference(&inside).filter(|name| *name != "image-ocr").collect();
    assert!(missing.is_empty(), "{missing:?} never worked: the race was not run");
    let missing: Vec<&String> = all.difference(&refused).collect();
    assert!(missing.is_empty(), "{missing:?} never met a link: the race was not run");
}

/// A provider that takes every request and never answers.
fn deaf(more: &str) -> (TestEnv, Server) {
    let server = Server::start(|_| Answer::Hang);
    let env = env();
    let settings = format!("{more}\n[providers.deaf]\nbase_url = \"{}\"\n", server.url("/v1"));
    std::fs::write(env.home().join("config.toml"), settings).unwrap();
    (env, server)
}

fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
}

/// Waits for its end, which must come long before what it waits for would give up.
fn ends_soon(mut child: Child) -> (Option<i32>, String) {
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (status.code(), said)
}

#[test]
fn a_provider_that_never_answers_is_given_up_at_its_limits_and_named() {
    let (env, server) = deaf("[calls]\nfirst_byte_seconds = 1\nattempts = 2\n");
    let ran = env.run(["go", "x", "--model", "deaf/m", "--no-input"]).exits(1);
    assert_eq!(server.requests().len(), 2, "asked as often as the settings say");
    ran.says(&["asked again in", "`deaf` was too slow: first byte timeout after 1 s"]);
    // A budget of time holds as well, whatever the provider's own limits are.
    let (env, _server) = deaf("[calls]\nfirst_byte_seconds = 600\n");
    let ran = env.run(["go", "x", "--model", "deaf/m", "--no-input", "--budget-time", "2s"]);
    assert_eq!(ran.code, 8, "{}\n{}", ran.stdout, ran.stderr);
    ran.says(&["budget exhausted", "time"]);
}

#[test]
fn a_silent_provider_is_named_after_a_minute_and_ctrl_c_ends_the_wait_at_once() {
    let (env, server) = deaf("[calls]\nfirst_byte_seconds = 600\n");
    let mut command = env.command();
    let mut child = start(command.args(["go", "x", "--model", "deaf/m", "--no-input"]));
    waits_for("the request", || server.requests().len() == 1);
    let mut said = String::new();
    let mut errors = child.stderr.take().unwrap();
    while !said.contains("nothing heard for") {
        let mut some = [0; 4096];
        let count = errors.read(&mut some).unwrap();
        assert!(count > 0, "it ended: {said}");
        said.push_str(&String::from_utf8_lossy(&some[..count]));
    }
    assert!(said.contains("main") && said.contains("deaf/m"), "{said}");
    child.stderr = Some(errors);
    interrupt(&child);
    let (code, said) = ends_soon(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("fugato resume"), "{said}");
}

#[test]
fn pages_that_never_come_hold_nobody() {
    let server = Server::start(|_| Answer::Hang);
    let env = env();
    let settings = format!("[web]\nallow = [\"127.0.0.1:{}\"]\n", server.port());
    std::fs::write(env.home().join("config.toml"), settings).unwrap();
    let part = |task: &str, name: &str| {
        let call = tool(name, json!({"url": server.url(&format!("/{task}"))}));
        [
            json!({"when": {"task": task, "step": 1}, "tools": [call]}),
            json!({"when": {"task": task}, "reply": "it did not come"}),
        ]
    };
    let mut rules = part("fetch it", "WebFetch").to_vec();
    rules.extend(part("look at it", "browser-navigate"));
    rules.push(json!({"when": {"step": 1}, "tools": [agent("general-purpose", "fetch it"), agent("browser", "look at it")]}));
    rules.push(json!({"reply": "done"}));
    model(&env, &rules);
    // To their own limits: both end with a sentence, and the agents go on.
    go(&env, &[]).exits(0);
    let events = events(&env);
    let ended: Vec<Value> = lines(&events, "tool.completed").filter(|line| line["agent"] != 0).collect();
    assert!(ended.len() == 2 && ended.iter().all(|line| line["is_error"] == true), "{ended:?}");
    assert!(ended.iter().all(|line| line["content"].to_string().contains(" s")), "{ended:?}");
    // And Ctrl-C waits for neither.
    let asked = server.requests().len();
    let mut command = env.command();
    let child = start(command.args(["go", "x", "--model", "script:model.yaml", "--no-input"]));
    waits_for("both requests", || server.requests().len() >= asked + 2);
    let marked = marked_by(child.id());
    assert!(marked() > 0, "the browser is at work");
    interrupt(&child);
    let (code, said) = ends_soon(child);
    assert_eq!(code, Some(130), "{said}");
    assert_eq!(marked(), 0, "no browser is left");
}

/// Counts the processes that this one started.
fn marked_by(owner: u32) -> impl Fn() -> usize {
    let mark = format!("FUGATO_PROCESS={owner}-");
    move || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let carries = |environment: &[u8]| {
            environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes()))
        };
        entries
            .filter(|entry| std::fs::read(entry.path().join("environ")).is_ok_and(|found| carries(&found)))
            .count()
    }
}

#[test]
fn gigabytes_of_output_fill_neither_memory_nor_disk() {
    let env = env();
    let bash = |command: &str| tool("Bash", json!({"command": command}));
    let floods = [
        bash("head -c 4000000000 /dev/zero | tr '\\0' 'x'"),
        bash("yes a-line-of-a-flood | head -c 4000000000 >&2"),
        bash("trap '' PIPE TERM; while :; do head -c 1000000 /dev/zero; done"),
    ];
    model(
        &env,
        &[
            json!({"when": {"task": "part", "step": 1}, "tools": floods}),
            json!({"when": {"task": "part"}, "reply": "it was too much"}),
            json!({"when": {"step": 1}, "tools": [agent("coder", "part")]}),
            json!({"reply": "done"}),
        ],
    );
    let mut command = env.command();
    command.args(["go", "x", "--model", "script:model.yaml", "--no-input"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0_u64;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        most = most.max(line.trim().trim_end_matches(" kB").parse().unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(ended.success(), "{ended}");
    assert!((1..400 << 10).contains(&most), "{most} KiB of memory");
    let events = events(&env);
    let results: Vec<String> = lines(&events, "tool.completed")
        .filter(|line| line["agent"] != 0)
        .map(|line| line["content"].to_string())
        .collect();
    assert_eq!(results.len(), 3);
    for result in &results {
        assert!(
            result.contains("it wrote more than 16777216 bytes") && result.len() < 200_000,
            "{} bytes, which end: {:?}",
            result.len(),
            result.chars().rev().take(300).collect::<String>()
        );
    }
    assert!(bytes_in(&env.home()) < 100 << 20, "{} bytes on the disk", bytes_in(&env.home()));
}

fn bytes_in(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| {
        let path = entry.path();
        if path.is_dir() { bytes_in(&path) } else { entry.metadata().map(|about| about.len()).unwrap_or(0) }
    };
    entries.map(size).sum()
}

/// As keys look, so that nothing but the redaction keeps them out of what is shown.
const KEY: &str = "sk-ant-canary-91c4e7a0b2d85f63";

/// Files below this directory that hold it.
fn files_with(dir: &Path, canary: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, canary));
        } else if std::fs::read(&path)
            .is_ok_and(|all| all.windows(canary.len()).any(|part| part == canary.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_key_that_every_tool_and_provider_repeats_is_in_no_output() {
    let page = Server::start(|_| Answer::html(format!("<title>{KEY}</title><p>the key is {KEY}</p>")));
    // Repeats what it was sent, the header with the key included.
    let echo = Server::start(|request| Answer::json(400, &json!({"error": {"message": request.head}})));
    let env = env();
    let settings = format!(
        "[web]\nallow = [\"127.0.0.1:{}\"]\n[providers.echoing]\nbase_url = \"{}\"\nkey_env = \"ANTHROPIC_API_KEY\"\n",
        page.port(),
        echo.url("/v1")
    );
    std::fs::write(env.home().join("config.toml"), settings).unwrap();
    furnish(&env.project().join("in"), KEY);
    let halves = KEY.split_at(KEY.len() / 2);
    let pieces = format!("printf %s {}; sleep 0.3; printf '%s\\n' {}; echo {KEY} >&2", halves.0, halves.1);
    let calls = [
        tool("Read", json!({"path": "in/a.txt"})),
        tool("Grep", json!({"pattern": "canary"})),
        tool("Read", json!({"path": format!("in/{KEY}.txt")})),
        tool("office-read", json!({"path": "in/data.csv"})),
        tool("canvas-read", json!({"path": "in/board.canvas"})),
        tool("chart", json!({"kind": "bar", "source": "in/data.csv", "x": "name", "y": "value"})),
        tool("Bash", json!({"command": pieces})),
        tool("WebFetch", json!({"url": page.url("/fetched")})),
        tool("browser-navigate", json!({"url": page.url(&format!("/seen?{KEY}"))})),
        tool("nonsense", json!({"key": KEY})),
    ];
    model(
        &env,
        &[
            json!({"when": {"task": "part", "step": 1}, "reasoning": format!("Is it {KEY}?"), "tools": calls}),
            json!({"when": {"task": "part", "step": 2}, "tools": [tool("browser-snapshot", json!({}))]}),
            json!({"when": {"task": "part"}, "reply": format!("found {KEY}")}),
            json!({"when": {"step": 1}, "tools": [agent("general-purpose", &format!("part with {KEY}"))]}),
            json!({"reply": format!("it is {KEY}")}),
        ],
    );
    let mut told = String::new();
    let mut run = |args: &[&str], code: i32| -> String {
        let output = env.command().args(args).env("ANTHROPIC_API_KEY", KEY).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = text(&output.stdout);
        told.push_str(&format!("\n{args:?}\n{said}{}", text(&output.stderr)));
        assert_eq!(output.status.code(), Some(code), "{told}");
        said
    };
    run(&["go", KEY, "--model", "script:model.yaml", "--no-input", "--jsonl", "--stream"], 0);
    run(&["go", "x", "--model", "echoing/m", "--no-input"], 1);
    let id = run(&["go", KEY, "--model", "script:model.yaml", "--detach"], 0).trim().to_owned();
    run(&["events", &id, "-f", "--jsonl"], 0);
    for args in [
        &["runs", "show"][..],
        &["runs"],
        &["trace", "--deep"],
        &["events"],
        &["doctor"],
        &["config", "list"],
    ] {
        run(args, 0);
    }
    run(&["runs", "export", &id, "-"], 0);
    run(&["path"], 0);
    let arguments_of_this_test = format!("{KEY:?}");
    let told = told.replace(&arguments_of_this_test, "");
    assert!(!told.contains(KEY), "{told}");
    assert!(told.matches("redacted").count() > 10);
    assert_eq!(files_with(&env.home(), KEY), Vec::<String>::new());
    assert_eq!(files_with(&env.user_home(), KEY), Vec::<String>::new());
}
