//! canvas-*: files in the project, changed by several agents at once, never outside of it.

use super::*;
use std::os::unix::fs::symlink;

const CHANGING: [&str; 7] = [
    "canvas-add",
    "canvas-update",
    "canvas-remove",
    "canvas-connect",
    "canvas-group",
    "canvas-layout",
    "canvas-from-text",
];

/// Arguments that every canvas tool accepts, but for the path.
fn arguments(tool: &str, path: &str) -> Value {
    match tool {
        "canvas-read" | "canvas-layout" => json!({"path": path}),
        "canvas-add" => json!({"path": path, "nodes": [{"text": "new"}]}),
        "canvas-update" => json!({"path": path, "changes": [{"id": "a", "color": "1"}]}),
        "canvas-remove" => json!({"path": path, "ids": ["a"]}),
        "canvas-connect" => json!({"path": path, "edges": [{"from": "a", "to": "b"}]}),
        "canvas-group" => json!({"path": path, "ids": ["a"], "label": "G"}),
        "canvas-from-text" => json!({"path": path, "text": "# other", "replace": true}),
        other => panic!("{other}"),
    }
}

const TWO: &str = r#"{"nodes":[
{"id":"a","type":"text","x":0,"y":0,"width":100,"height":60,"text":"A","custom":{"kept":true}},
{"id":"b","type":"text","x":0,"y":200,"width":100,"height":60,"text":"B"}],"edges":[],"version":"1.0"}"#;

#[tokio::test]
async fn an_outline_becomes_a_canvas_that_is_read_changed_laid_out_and_drawn() {
    let project = Project::new();
    project.put("plan.md", "# Launch 发布\n- write\n  - draft\n- review\n");
    let made =
        project.done("canvas-from-text", json!({"path": "maps/plan.canvas", "source": "plan.md"})).await;
    assert!(made.contains("4 nodes (0 groups), 3 edges"), "{made}");
    let added = project
        .done(
            "canvas-add",
            json!({"path": "maps/plan.canvas",
                "nodes": [{"text": "publish", "near": "review"}, {"url": "https://example.com", "id": "site"}],
                "edges": [{"from": "review", "to": "publish", "label": "then"}]}),
        )
        .await;
    assert!(
        added.contains("[publish] at") && added.contains("[site] at") && added.contains("(review-publish)"),
        "{added}"
    );
    project
        .done(
            "canvas-connect",
            json!({"path": "maps/plan.canvas", "edges": [{"from": "publish", "to": "site"}]}),
        )
        .await;
    project
        .done(
            "canvas-update",
            json!({"path": "maps/plan.canvas", "changes": [{"id": "publish", "color": "4"}]}),
        )
        .await;
    let grouped = project
        .done(
            "canvas-group",
            json!({"path": "maps/plan.canvas", "ids": ["publish", "site"], "label": "End", "arrange": true}),
        )
        .await;
    assert!(grouped.contains("[end]"), "{grouped}");
    let laid = project
        .done("canvas-layout", json!({"path": "maps/plan.canvas", "direction": "down", "picture": true}))
        .await;
    assert!(laid.contains("picture: `maps/plan.svg`"), "{laid}");
    assert!(project.get("maps/plan.svg").contains("发布"));
    project.done("canvas-layout", json!({"path": "maps/plan.canvas", "picture": "png"})).await;
    assert!(std::fs::read(project.path("maps/plan.png")).unwrap().starts_with(b"\x89PNG"));
    let removed =
        project.done("canvas-remove", json!({"path": "maps/plan.canvas", "ids": ["site", "gone"]})).await;
    assert!(removed.contains("removed 1 nodes and 1 edges; not there: gone"), "{removed}");
    let outline = project.done("canvas-read", json!({"path": "maps/plan.canvas"})).await;
    assert!(
        outline.contains("  [publish] text") && outline.contains("(review-publish) review -> publish: then"),
        "{outline}"
    );
    let found = project.done("canvas-read", json!({"path": "maps/plan.canvas", "search": "DRAFT"})).await;
    assert!(found.contains("1 of the nodes are shown") && found.contains("[draft]"), "{found}");
}

#[tokio::test]
async fn agents_that_change_one_canvas_at_once_lose_nothing() {
    let project = Project::new();
    let calls = (0..24).map(|number| {
        let arguments =
            json!({"path": "shared.canvas", "nodes": [{"id": format!("n{number}"), "text": "x"}]});
        project.done("canvas-add", arguments)
    });
    futures_util::future::join_all(calls).await;
    let outline = project.done("canvas-read", json!({"path": "shared.canvas"})).await;
    assert!(outline.starts_with("24 nodes"), "{outline}");
    for number in 0..24 {
        assert!(outline.contains(&format!("[n{number}] ")), "{outline}");
    }
}

#[tokio::test]
async fn what_may_be_repeated_changes_nothing_the_second_time() {
    for tool in CHANGING.into_iter().filter(|tool| class_of(tool) == Some(EffectClass::Idempotent)) {
        let project = Project::new();
        project.put("a.canvas", TWO);
        project.done(tool, arguments(tool, "a.canvas")).await;
        let once = project.get("a.canvas");
        project.done(tool, arguments(tool, "a.canvas")).await;
        assert_eq!(project.get("a.canvas"), once, "{tool}");
    }
}

#[tokio::test]
async fn fields_that_nobody_knows_survive_every_tool() {
    for tool in CHANGING.into_iter().filter(|tool| !matches!(*tool, "canvas-remove" | "canvas-from-text")) {
        let project = Project::new();
        project.put("a.canvas", TWO);
        project.done(tool, arguments(tool, "a.canvas")).await;
        let file: Value = serde_json::from_str(&project.get("a.canvas")).unwrap();
        let a = file["nodes"].as_array().unwrap().iter().find(|node| node["id"] == "a").unwrap();
        assert_eq!((&a["custom"], &file["version"]), (&json!({"kept": true}), &json!("1.0")), "{tool}");
    }
}

#[tokio::test]
async fn a_broken_canvas_is_named_and_left_alone() {
    for tool in CHANGING.into_iter().chain(["canvas-read"]).filter(|tool| *tool != "canvas-from-text") {
        let project = Project::new();
        let broken = "{\"nodes\":[\n{\"id\":\"a\",\"type\":\"text\"}]}";
        project.put("a.canvas", broken);
        let refused = project.refused(tool, arguments(tool, "a.canvas")).await;
        assert!(refused.contains("`a.canvas`: line 2: `nodes[0].x`"), "{tool}: {refused}");
        assert_eq!(project.get("a.canvas"), broken);
        let missing = project.call(tool, arguments(tool, "none/b.canvas")).await;
        assert_eq!(missing.is_error, tool != "canvas-add", "{tool}: {missing:?}");
    }
}

#[tokio::test]
async fn an_existing_canvas_is_replaced_only_when_told() {
    let project = Project::new();
    project.put("a.canvas", TWO);
    let text = json!({"path": "a.canvas", "text": "flowchart LR\nA-->B"});
    let refused = project.refused("canvas-from-text", text.clone()).await;
    assert!(refused.contains("set `replace`"), "{refused}");
    assert_eq!(project.get("a.canvas"), TWO);
    let wrong =
        project.refused("canvas-from-text", json!({"path": "b.canvas", "text": "flowchart LR\nA=>B"})).await;
    assert!(wrong.contains("line 2") && !project.path("b.canvas").exists(), "{wrong}");
}

#[tokio::test]
async fn no_canvas_tool_leaves_the_project() {
    for tool in CHANGING.into_iter().chain(["canvas-read"]) {
        let project = Project::new();
        std::fs::write(project.outside().join("o.canvas"), TWO).unwrap();
        symlink(project.outside(), project.path("way")).unwrap();
        symlink(project.outside().join("o.canvas"), project.path("link.canvas")).unwrap();
        for path in
            ["../outside/o.canvas", "way/o.canvas", "link.canvas", "/etc/o.canvas", "../outside/new.canvas"]
        {
            project.refused(tool, arguments(tool, path)).await;
        }
        assert_eq!(std::fs::read_to_string(project.outside().join("o.canvas")).unwrap(), TWO, "{tool}");
        assert!(!project.outside().join("new.canvas").exists());
        let named = project.refused(tool, arguments(tool, ".bashrc")).await;
        assert!(named.contains("must end with .canvas"), "{named}");
    }
    let project = Project::new();
    symlink(project.outside().join("p.svg"), project.path("a.svg")).unwrap();
    project.put("a.canvas", TWO);
    project.refused("canvas-layout", json!({"path": "a.canvas", "picture": true})).await;
    project.refused("canvas-from-text", json!({"path": "b.canvas", "source": "../outside/secret.txt"})).await;
    assert!(!project.outside().join("p.svg").exists());
}

#[tokio::test]
async fn an_agent_that_may_only_read_reads_canvases_and_changes_none() {
    let project = Project::new().read_only();
    project.put("a.canvas", TWO);
    project.done("canvas-read", json!({"path": "a.canvas"})).await;
    for tool in CHANGING.into_iter().chain(["chart"]) {
        let refused = project.refused(tool, json!({"path": "a.canvas"})).await;
        assert!(refused.contains("may only read"), "{refused}");
    }
    assert_eq!(project.get("a.canvas"), TWO);
}

#[test]
fn classes_are_those_the_engine_knows() {
    for tool in CHANGING.into_iter().chain(["canvas-read", "chart"]) {
        let here = serde_json::to_value(class_of(tool)).unwrap();
        let engine = serde_json::to_value(fugato_engine::tools::class_of(tool)).unwrap();
        assert_eq!(here, engine, "{tool}");
    }
}
