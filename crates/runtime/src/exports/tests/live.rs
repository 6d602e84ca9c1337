//! Exports of real sessions: the files are exact the moment a session returns.

use super::*;
use crate::exports::{Exporter, pointed_at, rebuild};
use crate::models::{ModelSettings, Models};
use crate::runs::{End, Notice, Session, World};
use std::sync::{Arc, Mutex};

fn session(state: &Path, spec: RunSpec, notices: &Arc<Mutex<Vec<Notice>>>) -> Session {
    let store = Store::open(state).unwrap();
    let models = Models::from_env(&|_| None, ModelSettings::default());
    let here = state.to_owned();
    let world = World::new(models, here.clone(), here.clone(), here, std::iter::empty());
    let heard = notices.clone();
    let watcher = Box::new(move |notice| heard.lock().unwrap().push(notice));
    Session::create(store, spec, Arc::new(world), watcher).unwrap()
}

fn agents(id: &str) -> RunSpec {
    let nodes = vec![
        node("收集/日历", 0, &[], agent_work()),
        node("收集/邮件", 0, &[], agent_work()),
        node("写作", 1, &[0, 1], agent_work()),
    ];
    spec(id, &["收集", "写作"], nodes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sessions_at_once_leave_exact_files_and_a_pointer_to_one_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let notices = Arc::default();
    let (mut one, mut two) =
        (session(dir.path(), agents("run_one"), &notices), session(dir.path(), agents("run_two"), &notices));
    let controls = || tokio::sync::mpsc::channel(1).1;
    let (a, b) = tokio::join!(one.drive(controls()), two.drive(controls()));
    assert_eq!((a.unwrap(), b.unwrap()), (End::Ended, End::Ended));
    tokio::join!(one.files_written(), two.files_written());
    for run in ["run_one", "run_two"] {
        let files = tree(&dir.path().join("runs").join(run));
        assert_eq!(files, expected(dir.path(), run, Owner::Gone));
        assert!(files["run.json"].contains("\"status\":\"complete\""));
        assert_eq!(files.len(), 8, "{:?}", files.keys());
    }
    let pointed = pointed_at(dir.path()).unwrap();
    assert!(["run_one", "run_two"].contains(&pointed.as_str()));
    assert_eq!(std::fs::read_link(dir.path().join("orchestrator")).unwrap(), Path::new("runs").join(pointed));
    drop((one, two));
    let rebuilt = rebuild(dir.path()).unwrap();
    assert_eq!((rebuilt.runs, rebuilt.restored, rebuilt.live.len()), (2, 0, 0));
    assert!(!notices.lock().unwrap().iter().any(|notice| matches!(notice, Notice::Warning(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_cannot_be_exported_runs_to_its_end_and_says_so_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("runs"), "in the way").unwrap();
    let notices = Arc::default();
    let mut session = session(dir.path(), agents("run_blocked"), &notices);
    let end = session.drive(tokio::sync::mpsc::channel(1).1).await.unwrap();
    assert_eq!((end, session.run().status()), (End::Ended, "complete"));
    session.files_written().await;
    let warned = notices.lock().unwrap().iter().filter(|notice| matches!(notice, Notice::Warning(_))).count();
    assert_eq!(warned, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_run_is_left_to_its_own_writer() {
    let dir = tempfile::tempdir().unwrap();
    let notices = Arc::default();
    let held = session(dir.path(), agents("run_live"), &notices);
    let rebuilt = rebuild(dir.path()).unwrap();
    assert_eq!((rebuilt.runs, rebuilt.live), (0, vec!["run_live".to_owned()]));
    drop(held);
    let files = tree(&dir.path().join("runs/run_live"));
    assert_eq!(files, expected(dir.path(), "run_live", Owner::Gone));
}

#[tokio::test]
async fn of_two_writers_of_one_run_the_second_waits_for_its_turn() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store_log(&store, &log(vec![created(agents("run_twice"))]));
    let warned = Arc::new(Mutex::new(0));
    let count = warned.clone();
    let first = Exporter::start(dir.path(), "run_twice", 1, |_| {});
    first.settle().await;
    let second = Exporter::start(dir.path(), "run_twice", 1, move |_| *count.lock().unwrap() += 1);
    second.settle().await;
    assert_eq!(*warned.lock().unwrap(), 1);
    drop(first);
    append(&store, "run_twice", &log(vec![created(agents("x")), agent_started("收集/日历", Some(0))])[1..]);
    second.committed(&Arc::default());
    second.settle().await;
    assert_eq!(tree(&dir.path().join("runs/run_twice")), expected(dir.path(), "run_twice", Owner::Gone));
}
