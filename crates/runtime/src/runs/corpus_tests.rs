//! Journals of every version, read for ever. `tests/journals/v1` holds runs as they were exported by the version that
//! wrote them; each must load, fold to what is written beside it, and go on if it had not ended.
//!
//! New ones are made with `cargo test -p fugato-runtime make_journals -- --ignored`, which never touches those that exist:
//! a journal that is in a release is never written again.

use super::test_bed::{Bed, agent, inline, node, script};
use super::{Control, End, Session, load};
use crate::store::{Reader, Store, export_run, import_run};
use fugato_engine::{EffectClass, Input, PlanNode, Run, RunSpec, Target, Verb};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals/v1")
}

/// Stands for the directory in which a journal was made, and is replayed.
const ROOM: &str = "/where/it/was/made";

/// What a journal must fold to.
fn expected(run: &Run) -> Value {
    json!({
        "status": run.status(),
        "variables": run.variables,
        "nodes": run.nodes.iter().map(|node| format!("{:?}", node.status)).collect::<Vec<_>>(),
        "agents": run.agents.iter().map(|agent| json!([agent.path.as_str(), agent.step, agent.messages.len()]))
            .collect::<Vec<_>>(),
        "questions": run.questions.iter().map(|question| json!([question.text, question.answer])).collect::<Vec<_>>(),
        "tokens": run.spent.tokens(),
        "result": run.ended.as_ref().and_then(|(.., result)| result.clone()),
    })
}

#[tokio::test]
async fn journals_of_every_version_load_fold_as_they_did_and_go_on() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(corpus())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    assert!(files.len() >= 7, "{files:?}");
    for file in files {
        let shown = file.file_name().unwrap().to_string_lossy().into_owned();
        let bed = Bed::new();
        let store = Store::open(&bed.state()).unwrap();
        let text =
            std::fs::read_to_string(&file).unwrap().replace(ROOM, &bed.room.path().display().to_string());
        let imported =
            import_run(&store, &mut text.as_bytes()).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let reader = store.reader().unwrap();
        let events = load(&reader, &imported.id).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let run = Run::replay(&events).unwrap();
        let recorded: Value =
            serde_json::from_slice(&std::fs::read(file.with_extension("expected.json")).unwrap()).unwrap();
        assert_eq!(expected(&run), recorded, "{shown}");
        if run.ended.is_none() {
            assert_eq!(go_on(&bed, store, &imported.id).await.status(), "complete", "{shown}");
        }
    }
}

/// Resumes a run of another machine here, answering what it asks and waking what sleeps.
async fn go_on(bed: &Bed, store: Store, id: &str) -> Run {
    for _ in 0..5 {
        let known = Run::replay(&load(&store.reader().unwrap(), id).unwrap()).unwrap();
        let mut session =
            Session::resume(store.clone(), &bed.state(), id, bed.world(), Box::new(|_| {})).unwrap();
        if known.status() == "paused" {
            session.tell(Input::Direct { verb: Verb::Resume, target: Target::All, text: None });
        }
        if let Some((question, _)) = known.open_questions().next() {
            session.tell(Input::Answer { question, answer: "repeat".into() });
        }
        let (_controls, inbox) = tokio::sync::mpsc::channel::<Control>(1);
        if session.drive(inbox).await.unwrap() == End::Ended {
            return session.run().clone();
        }
    }
    panic!("it does not come to an end");
}

fn spec(bed: &Bed, name: &str, nodes: Vec<PlanNode>) -> RunSpec {
    let mut spec = bed.spec(nodes);
    spec.id = format!("run_{name}");
    spec.title = name.to_owned();
    spec.skill.dir = "/skills/bed".into();
    spec
}

async fn make(bed: &Bed, spec: RunSpec, inputs: Vec<Input>) {
    let store = Store::open(&bed.state()).unwrap();
    let mut session = Session::create(store, spec, bed.world(), Box::new(|_| {})).unwrap();
    inputs.into_iter().for_each(|input| session.tell(input));
    let (controls, inbox) = tokio::sync::mpsc::channel::<Control>(1);
    let stop = bed.path("stop");
    let stopper = async {
        while !stop.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        controls.send(Control::Stop).await.unwrap();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        end = session.drive(inbox) => drop(end.unwrap()),
        () = stopper => {}
    }
}

fn save(bed: &Bed, id: &str, name: &str) {
    let file = corpus().join(format!("{name}.jsonl"));
    if file.exists() {
        return;
    }
    let reader = Reader::open(&bed.state()).unwrap().unwrap();
    let mut bytes = Vec::new();
    export_run(&reader, id, &mut bytes).unwrap();
    let run = Run::replay(&load(&reader, id).unwrap()).unwrap();
    std::fs::create_dir_all(corpus()).unwrap();
    let mut recorded = serde_json::to_string_pretty(&expected(&run)).unwrap();
    recorded.push('\n');
    let text = String::from_utf8(bytes).unwrap().replace(&bed.room.path().display().to_string(), ROOM);
    std::fs::write(&file, text).unwrap();
    std::fs::write(file.with_extension("expected.json"), recorded).unwrap();
}

#[tokio::test]
#[ignore = "writes files into the sources"]
async fn make_journals() {
    let direct = |verb| Input::Direct { verb, target: Target::All, text: None };
    let text = "长".repeat(2_000);
    let long = format!("echo '{{\"text\": \"{text}\"}}'");
    let kinds = || {
        vec![
            node("one", &[], script("one", EffectClass::Read), Some("ONE")),
            node("two", &[], script("two", EffectClass::Idempotent), Some("TWO")),
            node("write", &[0, 1], agent(), Some("TEXT")),
            node("three", &[2], script("three", EffectClass::Read), Some("THREE")),
        ]
    };
    for name in [
        "complete",
        "failed",
        "failed-optional",
        "awaiting-input",
        "uncertain",
        "cancelled",
        "paused",
        "blobs",
    ] {
        let bed = Bed::new();
        let mut nodes = kinds();
        let mut inputs = Vec::new();
        match name {
            "failed" => bed.script("three", "echo broken >&2; exit 3"),
            "failed-optional" => {
                bed.script("two", "exit 4");
                nodes[1].optional = true;
            }
            "awaiting-input" => nodes.push(node("ask", &[0], inline("NAME"), None)),
            "uncertain" => {
                bed.script("once", &format!("touch '{}'; sleep 300", bed.path("stop").display()));
                nodes.push(node("once", &[0], script("once", EffectClass::Once), Some("ONCE")));
            }
            "cancelled" => inputs.push(direct(Verb::Cancel)),
            "paused" => inputs.push(direct(Verb::Pause)),
            "blobs" => bed.script("one", &long),
            _ => {}
        }
        make(&bed, spec(&bed, name, nodes), inputs).await;
        if name == "uncertain" {
            let store = Store::open(&bed.state()).unwrap();
            let mut session =
                Session::resume(store, &bed.state(), "run_uncertain", bed.world(), Box::new(|_| {})).unwrap();
            let (_controls, inbox) = tokio::sync::mpsc::channel::<Control>(1);
            assert_eq!(session.drive(inbox).await.unwrap(), End::AwaitingInput);
        }
        save(&bed, &format!("run_{name}"), name);
    }
}
