//! chart: from a CSV of the project to pictures in it.

use super::*;

const SALES: &str = "month,region,sales\nJan,North,5\nJan,South,3\nFeb,North,7\nFeb,South,n/a\n";

#[tokio::test]
async fn a_csv_becomes_a_picture_with_sources_beside_it() {
    let project = Project::new();
    project.put("data/sales.csv", SALES);
    let arguments = json!({"kind": "stacked-bar", "source": "data/sales.csv", "x": "month", "y": "sales", "series": "region",
        "title": "Sales", "output": "charts/sales.svg", "also": ["png", "echarts", "mermaid", "svg"], "top": "5"});
    let answer = project.done("chart", arguments.clone()).await;
    assert!(
        answer.contains("wrote `charts/sales.svg`") && answer.contains("`North`: Jan 5, Feb 7."),
        "{answer}"
    );
    assert!(answer.contains("no Mermaid source: Mermaid has no stacked bars"), "{answer}");
    assert!(answer.contains("note: 1 cells of `sales` are empty"), "{answer}");
    let svg = project.get("charts/sales.svg");
    assert!(svg.contains(">Sales<"));
    assert!(std::fs::read(project.path("charts/sales.png")).unwrap().starts_with(b"\x89PNG"));
    let option: Value = serde_json::from_str(&project.get("charts/sales.echarts.json")).unwrap();
    assert_eq!(option["series"][0]["type"], "bar");
    assert!(!project.path("charts/sales.mmd").exists());
    project.done("chart", arguments).await;
    assert_eq!(project.get("charts/sales.svg"), svg, "a second time changes nothing");
}

#[tokio::test]
async fn without_an_output_the_answer_has_the_source_and_nothing_is_written() {
    let project = Project::new();
    let data = json!([{"fruit": "apple", "n": 3}, {"fruit": "pear", "n": 1}]);
    let answer = project.done("chart", json!({"kind": "pie", "data": data})).await;
    assert!(answer.contains("```mermaid\npie showData\n    \"apple\" : 3\n"), "{answer}");
    assert_eq!(std::fs::read_dir(project.path("")).unwrap().count(), 0);
}

#[tokio::test]
async fn wrong_calls_say_what_would_work() {
    let project = Project::new();
    project.put("s.csv", SALES);
    for (arguments, expected) in [
        (json!({"kind": "bar"}), "either `data` or `source`"),
        (
            json!({"kind": "bar", "source": "s.csv", "x": "mnth"}),
            "`s.csv`: there is no column `mnth` (did you mean `month`?)",
        ),
        (json!({"kind": "bubble", "source": "s.csv"}), "unknown variant `bubble`"),
        (json!({"kind": "bar", "source": "s.csv", "output": "x.gif"}), "must end with .svg or .png"),
        (json!({"kind": "bar", "source": "s.csv", "also": ["png"]}), "`also` needs `output`"),
        (json!({"kind": "bar", "source": "s.csv", "colour": "red"}), "unknown field `colour`"),
        (json!({"kind": "bar", "source": "none.csv"}), "`none.csv` does not exist"),
        (json!({"kind": "bar", "source": "../outside/secret.txt"}), "outside the project"),
        (json!({"kind": "bar", "source": "s.csv", "output": "../outside/x.svg"}), "outside the project"),
        (json!({"kind": "bar", "source": "."}), "directory"),
    ] {
        let refused = project.refused("chart", arguments.clone()).await;
        assert!(refused.contains(expected), "{arguments}: {refused}");
    }
    assert!(!project.outside().join("x.svg").exists());
}
