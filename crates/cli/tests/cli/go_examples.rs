//! The examples of delegation, with their scripted models and the real tools. With `FUGATO_PICTURES=DIR` the pictures they
//! make are kept there, to look at.

use crate::go::{events, lines};
use crate::{env, workspace};
use fugato_testkit::TestEnv;
use fugato_testkit::web::{Answer, Server};
use serde_json::Value;
use std::path::Path;

/// The example's model beside the project, with its sample in the project.
fn example(name: &str, change: impl Fn(String) -> String) -> TestEnv {
    let env = env();
    let from = workspace().join("examples").join(name);
    let text = std::fs::read_to_string(from.join("model.yaml")).unwrap();
    std::fs::write(env.project().join("../model.yaml"), change(text)).unwrap();
    for entry in std::fs::read_dir(from.join("sample")).into_iter().flatten().flatten() {
        std::fs::copy(entry.path(), env.project().join(entry.file_name())).unwrap();
    }
    env
}

fn keep(env: &TestEnv, pictures: &[&str]) {
    let Some(dir) = std::env::var_os("FUGATO_PICTURES") else { return };
    for picture in pictures {
        let path = env.project().join(picture);
        std::fs::copy(&path, Path::new(&dir).join(path.file_name().unwrap())).unwrap();
    }
}

fn is_png(env: &TestEnv, path: &str) -> bool {
    std::fs::read(env.project().join(path)).unwrap().starts_with(b"\x89PNG")
}

/// Kind of every subagent, in the order of their starts.
fn kinds(events: &str) -> Vec<String> {
    let started = lines(events, "agent.started").filter(|line| line["delegated"].is_object());
    started.map(|line| line["agent_type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn three_browsers_at_once_look_at_three_sites_and_the_master_compares() {
    let pages = workspace().join("examples/three-sites/pages");
    let server = Server::start(move |request| {
        let path = request.path().trim_matches('/').to_owned();
        match std::fs::read_to_string(pages.join(path).join("index.html")) {
            Ok(page) => Answer::html(page),
            Err(_) => Answer::new(404, "text/plain", "not here"),
        }
    });
    let here = format!("127.0.0.1:{}", server.port());
    let env = example("three-sites", |text| text.replace("127.0.0.1:8417", &here));
    let mut command = env.command();
    command.args([
        "go",
        "Where is Tieguanyin cheapest?",
        "--model",
        "script:../model.yaml",
        "--no-input",
        "--jsonl",
    ]);
    let output = command.env("FUGATO_WEB_ALLOW", &here).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let pictures = ["pictures/harbour.png", "pictures/mountain.png", "pictures/night-market.png"];
    assert!(pictures.iter().all(|picture| is_png(&env, picture)));
    keep(&env, &pictures);
    assert_eq!(kinds(&said), ["browser"; 3]);
    // They were at work at the same time, and what the master says is what their pages said.
    let position = |kind: &str| said.lines().position(|line| line.contains(kind)).unwrap();
    let last_start = said
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("\"data-sub-agent-start\""))
        .last()
        .unwrap()
        .0;
    assert!(last_start < position("data-sub-agent-end"));
    let ends: Vec<Value> = lines(&said, "data-sub-agent-end").collect();
    for price in [12.9, 14.2, 15.0] {
        assert!(ends.iter().any(|end| end["data"]["output"]["Tieguanyin"] == price), "{ends:?}");
    }
    let seen: String = lines(&said, "tool.completed").map(|line| line["content"].to_string()).collect();
    assert!(
        ["14.20", "Tieguanyin: 15.00 for 100 g", "Tieguanyin：12.90"].iter().all(|text| seen.contains(text)),
        "{seen}"
    );
    let result = lines(&said, "run.ended").next().unwrap();
    assert!(result["result"].as_str().unwrap().contains("cheapest at 夜市茶铺: 12.90"), "{result}");
    assert!(server.requests().len() >= 3);
}

#[test]
fn figures_become_charts_and_a_report() {
    let env = example("report", |text| text);
    let ran = env.run([
        "go",
        "Write a report on the sales of 2025 from sales.csv, with charts",
        "--model",
        "script:../model.yaml",
    ]);
    ran.exits(0).says(&["data-analyst-1", "doc-editor-1", "The report is report.md"]);
    let report = env.read("report.md");
    assert!(report.contains("charts/by-month.svg") && report.contains("51,984.75"), "{report}");
    assert!(env.read("charts/by-month.svg").contains("Coffee") && is_png(&env, "charts/by-month.png"));
    keep(&env, &["charts/by-month.png"]);
    let events = events(&env);
    assert_eq!(kinds(&events), ["data-analyst", "doc-editor"]);
    assert_eq!(lines(&events, "tool.completed").filter(|line| line["is_error"] == true).count(), 0);
}

#[test]
fn an_outline_becomes_a_canvas_and_its_picture() {
    let env = example("canvas", |text| text);
    let task = "Turn outline.md into a canvas I can show the team";
    env.run(["go", task, "--model", "script:../model.yaml"])
        .exits(0)
        .says(&["canvas-designer-1", "release.canvas"]);
    let canvas: Value = serde_json::from_str(&env.read("release.canvas")).unwrap();
    assert!(canvas["nodes"].as_array().unwrap().len() > 8 && env.read("release.svg").contains("更新说明"));
    keep(&env, &["release.svg"]);
    let events = events(&env);
    assert_eq!(kinds(&events), ["canvas-designer"]);
    assert_eq!(lines(&events, "tool.completed").filter(|line| line["is_error"] == true).count(), 0);
}
