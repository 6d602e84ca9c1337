//! Skills that are called while a run goes on: agents like those of the plan, with who waits for them.

use super::*;
use fugato_engine::{Access, Callable, CallableWork, Caller, Orchestrator, Plan, SessionKind, Verdict};
use serde_json::{Value, json};
use std::sync::Arc;

fn session_spec() -> RunSpec {
    let orchestrator = Orchestrator {
        name: "desk".into(),
        description: String::new(),
        instructions: String::new(),
        session: SessionKind::Loop { steps: 20 },
        allowed: vec!["look".into(), "report".into()],
        preparation: None,
        model: None,
    };
    let inside = vec![
        node("collect/fetch", 0, &[], script_work()),
        node("collect/(end)", 0, &[0], Work::Gate),
        node("sum/sum", 1, &[1], agent_work()),
    ];
    let plan = spec("run_called", &["collect", "sum"], inside).plan;
    let (agent_type, access) = ("general-purpose".to_owned(), Access::ReadWrite);
    let report = CallableWork::Phases {
        agent_type: agent_type.clone(),
        access,
        plan,
        schema: None,
        nulls: Vec::new(),
    };
    let instructions = "Look.".to_owned();
    let look = CallableWork::Agent { agent_type, access, instructions, model: None, schema: None };
    let mut spec = spec("run_called", &[], Vec::new());
    spec.plan = Plan::of_session(Arc::new(orchestrator));
    let callable = |work| Arc::new(Callable { description: "d".into(), work });
    spec.skills = BTreeMap::from([("look".into(), callable(look)), ("report".into(), callable(report))]);
    spec
}

fn called(node: u32, id: &str, index: u32, skill: &str) -> EventKind {
    let by = Caller::Tool { agent: 0, step: 1, index };
    EventKind::SkillCalled {
        node,
        id: id.into(),
        by,
        skill: skill.into(),
        arguments: ["the week".into()].into(),
        starts: false,
    }
}

#[test]
fn called_skills_are_agents_whom_their_caller_waits_for_and_end_with_it() {
    let events = log(vec![
        created(session_spec()),
        EventKind::NodeStarted { node: 0, attempt: 1, arguments: None },
        agent_started("main", Some(0)),
        called(1, "main/report", 0, "report"),
        called(5, "main/look", 1, "look"),
        EventKind::NodeStarted { node: 1, attempt: 1, arguments: None },
        EventKind::NodeStarted { node: 2, attempt: 1, arguments: None },
        EventKind::NodeCompleted { node: 2, value: Value::Null, warnings: Vec::new() },
        EventKind::NodeStarted { node: 5, attempt: 1, arguments: None },
        agent_started("main/look", Some(5)),
        EventKind::AgentStopped { agent: 0, verdict: Verdict::Answered { text: "enough".into() } },
        EventKind::AgentStopped { agent: 1, verdict: Verdict::Cancelled },
        EventKind::NodeCompleted { node: 0, value: json!("enough"), warnings: Vec::new() },
    ]);
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store_log(&store, &events);
    export(dir.path(), "run_called", Owner::Here);
    let files = tree(&dir.path().join("runs").join("run_called"));
    let run: Value = serde_json::from_str(&files["run.json"]).unwrap();
    assert_eq!(
        run["dependencies"],
        json!({
            "main": ["main/look", "main/report"],
            "main/report": ["main/report/collect/fetch", "main/report/sum/sum"],
            "main/report/sum/sum": ["main/report/collect/fetch"],
        })
    );
    let words: BTreeMap<&str, &str> = run["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| (agent["id"].as_str().unwrap(), agent["status"].as_str().unwrap()))
        .collect();
    let expected = [
        ("main", "done"),
        ("main/look", "cancelled"),
        ("main/report", "cancelled"),
        ("main/report/collect/fetch", "done"),
        ("main/report/sum/sum", "cancelled"),
    ];
    assert_eq!(words, BTreeMap::from(expected));
    let said = &files["agents/main/stream.jsonl"];
    assert!(said.contains("calls the skill report: the week") && said.contains("调用技能 report"), "{said}");
}
