//! The calls of the examples' scripted models, performed for real, in the order of their rules. With
//! `FUGATO_PICTURES=DIR` the pictures they make are kept there, to look at.

use super::*;
use fugato_skill::yaml::{self, Node, Resolved};

fn json_of(node: &Node) -> Value {
    if let Some(items) = node.items() {
        return items.iter().map(json_of).collect();
    }
    if let Some(entries) = node.entries() {
        return entries.iter().map(|entry| (entry.name().to_owned(), json_of(&entry.value))).collect();
    }
    match node.resolve() {
        Resolved::Null => Value::Null,
        Resolved::Bool(truth) => truth.into(),
        Resolved::Integer(number) => number.into(),
        Resolved::Float(number) => number.into(),
        Resolved::Text(text) => text.into(),
        other => panic!("{other:?}"),
    }
}

/// A copy of the example's sample, after every world tool of its model was called.
async fn played(example: &str) -> (Project, Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    let project = Project::new();
    for entry in std::fs::read_dir(root.join("sample")).unwrap().flatten() {
        project.put(&entry.file_name().to_string_lossy(), std::fs::read(entry.path()).unwrap());
    }
    let model = std::fs::read_to_string(root.join("model.yaml")).unwrap();
    let rules = json_of(&yaml::parse(&model, 0).unwrap());
    let mut answers = Vec::new();
    for call in rules.as_array().unwrap().iter().filter_map(|rule| rule["tools"].as_array()).flatten() {
        let name = call["name"].as_str().unwrap();
        if name != "Agent" {
            answers.push(project.done(name, call["arguments"].clone()).await);
        }
    }
    for (path, content) in snapshot(&project.path("")) {
        let is_picture = path.extension().is_some_and(|ending| ending == "svg" || ending == "png");
        if let (true, Some(dir)) = (is_picture, std::env::var_os("FUGATO_PICTURES")) {
            std::fs::write(Path::new(&dir).join(path.file_name().unwrap()), content).unwrap();
        }
    }
    (project, answers)
}

#[tokio::test]
async fn the_calls_of_the_canvas_example_make_a_canvas_and_its_picture() {
    let (project, answers) = played("canvas").await;
    let outline = answers.last().unwrap();
    assert!(outline.contains("[offline] group") && outline.contains("  [merge-on-return]"), "{outline}");
    assert!(outline.contains("train-support -> date: before"), "{outline}");
    assert!(project.get("release.svg").contains("更新说明"));
}

#[tokio::test]
async fn the_calls_of_the_report_example_draw_what_the_report_says() {
    let (project, answers) = played("report").await;
    let drawn = answers.iter().find(|answer| answer.contains("by-region.svg")).unwrap();
    assert!(drawn.contains("华东 21,529, North 16,940, South 13,515.8"), "{drawn}");
    assert!(drawn.contains("1 cells of `revenue` are empty"), "{drawn}");
    let report = project.get("report.md");
    for picture in ["charts/by-month.svg", "charts/by-region.svg"] {
        assert!(report.contains(picture) && project.get(picture).contains("</svg>"));
    }
    assert!(project.get("charts/by-region.mmd").starts_with("xychart-beta horizontal"));
}
