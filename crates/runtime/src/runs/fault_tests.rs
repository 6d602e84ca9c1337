//! Real sessions on a disk that fails: at every place where something is written, once and for good, full and broken.
//! Nothing that was acknowledged is lost, nothing completed is done again, and when the disk works again the run ends as
//! if nothing had happened.

use super::test_bed::{Bed, Driven, is_alive, node, script, small};
use super::{Control, End, Notice, RunError, Session, load};
use crate::store::StoreError;
use crate::store::faults::{Faults, Step};
use crate::store::{Owner, RunStatus, Store};
use fugato_engine::{EffectClass, Event, EventKind, Input, NodeStatus, Outcome, Run, Target, Verb};
use fugato_model::Code;
use rustix::io::Errno;
use serde_json::json;
use std::time::{Duration, Instant};

/// What the disk does, and which errors may be heard of it.
#[derive(Clone, Copy, Debug)]
enum Disk {
    FullOnce,
    FullForGood,
    BrokenOnce,
    BrokenForGood,
}

impl Disk {
    fn faults(self, step: u64) -> Faults {
        match self {
            Self::FullOnce => Faults::once_at(step, Errno::NOSPC),
            Self::FullForGood => Faults::lasting_from(step, Errno::NOSPC),
            Self::BrokenOnce => Faults::once_at(step, Errno::IO),
            Self::BrokenForGood => Faults::lasting_from(step, Errno::IO),
        }
    }

    /// A broken disk may also leave less than it should, which is found when the store is opened again.
    fn explains(self, code: Code) -> bool {
        match self {
            Self::FullOnce | Self::FullForGood => code == Code::F0704,
            Self::BrokenOnce | Self::BrokenForGood => code == Code::F0712,
        }
    }
}

fn store_error(error: &RunError) -> &StoreError {
    match error {
        RunError::Store(error) | RunError::Journal(super::JournalError::Store(error)) => error,
        other => panic!("{other}"),
    }
}

async fn sweep(disk: Disk) {
    for step in 1.. {
        let bed = Bed::new();
        let faults = disk.faults(step);
        let context = format!("{disk:?} at step {step}");
        let mut acked: Vec<Event> = Vec::new();
        let began = match Store::open_with(&bed.state(), faults.clone()) {
            // Both ways to make a run; all later steps are the same.
            Ok(store) if step % 2 == 0 => bed.create(store, bed.spec(small())).await,
            Ok(store) => bed.begin(store, bed.spec(small())).await,
            Err(error) => Err(error.into()),
        };
        let error = match began {
            Ok(Driven { end, acked: seen, .. }) => {
                acked = seen;
                end.err()
            }
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            assert!(faults.is_struck(), "{context}: {error}");
            let error = store_error(&error);
            assert!(disk.explains(error.code()), "{context}: {error:?}");
            assert!(!error.words().zh.is_empty());
        }
        faults.lift();
        finish(&bed, &acked, &context).await;
        if !faults.is_struck() {
            assert!(step > 15, "the sweep ended after {step} steps");
            break;
        }
    }
}

/// The disk works again: the log holds what was acknowledged, and the run comes to its end.
async fn finish(bed: &Bed, acked: &[Event], context: &str) {
    let store = Store::open(&bed.state()).unwrap();
    let reader = store.reader().unwrap();
    reader.check().unwrap();
    let Ok(row) = reader.run("run_bed") else {
        assert!(acked.is_empty(), "{context}: a run that was acknowledged is gone");
        assert_eq!(bed.times("one"), 0, "{context}: something was done for a run that does not exist");
        let driven = bed.create(store, bed.spec(small())).await.unwrap();
        assert_eq!(driven.run.ended.unwrap().0, Outcome::Complete, "{context}");
        return;
    };
    let stored = load(&reader, "run_bed").unwrap();
    assert!(stored.starts_with(acked), "{context}: acknowledged events are missing");
    let known = Run::replay(&stored).unwrap();
    let counted = ["one", "two", "once", "three"].map(|name| (name, bed.times(name)));
    let was_done = |name: &str| status(&known, name) == NodeStatus::Done;
    if known.ended.is_none() {
        // A disk that does not even take "let go" leaves our name in the row; we are alive, so it counts until taken anew.
        let is_ours = row.lease.as_ref().is_some_and(|lease| lease.owner == Owner::this_process());
        assert!(is_ours || row.effective_status() != RunStatus::Running, "{context}: nobody runs it");
        let mut driven = bed.resume(store.clone(), Vec::new()).await.unwrap();
        let mut uncertain = false;
        while let Ok(End::AwaitingInput) = driven.end {
            // A person looks whether it happened, and says so.
            let answer = if bed.times("once") == 0 { "repeat" } else { "done" };
            let (question, _) = driven.run.open_questions().next().unwrap();
            uncertain = true;
            let inputs = vec![Input::Answer { question, answer: answer.into() }];
            driven = bed.resume(store.clone(), inputs).await.unwrap();
        }
        driven.end.unwrap();
        assert_eq!(driven.run.status(), "complete", "{context}");
        assert_eq!(driven.run.variables["THREE"], json!({"by": "three"}), "{context}");
        assert_eq!(driven.run.variables["TEXT"]["text"].as_str().unwrap().chars().count(), 3_000);
        assert!(uncertain || driven.run.variables["ONCE"] == json!({"by": "once"}), "{context}");
    }
    assert_eq!(bed.times("once"), 1, "{context}: what may happen once happened once");
    for (name, times) in counted {
        assert!(!was_done(name) || bed.times(name) == times, "{context}: `{name}` was done and ran again");
    }
    let events = load(&bed.reader(), "run_bed").unwrap();
    assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq), "{context}");
    assert_eq!(bed.reader().run("run_bed").unwrap().status, RunStatus::Complete, "{context}");
}

fn status(run: &Run, id: &str) -> NodeStatus {
    let at = run.spec.plan.nodes.iter().position(|node| node.id == id).unwrap();
    run.nodes[at].status
}

#[tokio::test]
async fn a_disk_that_is_full_at_any_write_of_a_run_loses_nothing_and_the_run_resumes() {
    sweep(Disk::FullForGood).await;
}

#[tokio::test]
async fn a_disk_that_is_full_for_a_moment_loses_nothing_and_the_run_resumes() {
    sweep(Disk::FullOnce).await;
}

#[tokio::test]
async fn a_disk_that_breaks_at_any_write_of_a_run_acknowledges_nothing_until_it_works_again() {
    sweep(Disk::BrokenForGood).await;
}

#[tokio::test]
async fn a_disk_that_fails_once_at_any_write_of_a_run_acknowledges_nothing_until_reopened() {
    sweep(Disk::BrokenOnce).await;
}

#[tokio::test]
async fn a_long_answer_that_finds_no_space_is_a_full_disk_and_the_run_says_so() {
    let bed = Bed::new();
    let faults = Faults::from(Step::BlobWrite, 1, Errno::NOSPC);
    let store = Store::open_with(&bed.state(), faults.clone()).unwrap();
    let driven = bed.create(store, bed.spec(small())).await.unwrap();
    let error = driven.end.unwrap_err();
    assert!(matches!(store_error(&error), StoreError::DiskFull { .. }));
    assert_eq!(bed.reader().run("run_bed").unwrap().effective_status().as_str(), "disk_full");
    assert!(driven.acked.iter().all(|event| !matches!(event.kind, EventKind::ModelAnswered { .. })));
    faults.lift();
    finish(&bed, &driven.acked, "a blob").await;
}

#[tokio::test]
async fn when_a_session_fails_its_processes_are_stopped() {
    let bed = Bed::new();
    let pid_file = bed.path("project/pid").display().to_string();
    bed.script(
        "two",
        &format!("sleep 300 & echo $! > '{pid_file}.part'; mv '{pid_file}.part' '{pid_file}'; wait"),
    );
    bed.script("one", &format!("while [ ! -e '{pid_file}' ]; do sleep 0.02; done; echo 1"));
    let nodes = vec![
        node("one", &[], script("one", EffectClass::Read), None),
        node("two", &[], script("two", EffectClass::Read), None),
    ];
    // Creating the run and taking it are two commits, the start the third: what comes next is the end of `one`.
    let store = Store::open_with(&bed.state(), Faults::from(Step::Commit, 4, Errno::NOSPC)).unwrap();
    let began = Instant::now();
    let driven = bed.create(store, bed.spec(nodes)).await.unwrap();
    assert!(matches!(store_error(&driven.end.unwrap_err()), StoreError::DiskFull { .. }));
    let pid: u32 = std::fs::read_to_string(bed.path("project/pid")).unwrap().trim().parse().unwrap();
    assert!(!is_alive(pid), "a process outlives its session");
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn a_command_that_could_not_be_stored_is_not_acknowledged() {
    let bed = Bed::new();
    bed.script("one", "sleep 300");
    let nodes = vec![node("one", &[], script("one", EffectClass::Read), None)];
    let store = Store::open_with(&bed.state(), Faults::from(Step::Commit, 3, Errno::NOSPC)).unwrap();
    // What is told before the first events are durable would be stored with them.
    let (started, begun) = tokio::sync::oneshot::channel();
    let mut started = Some(started);
    let watcher = move |notice| {
        if let Notice::Event(event) = notice
            && matches!(event.kind, EventKind::NodeStarted { .. })
        {
            let _ = started.take().map(|started| started.send(()));
        }
    };
    let mut session = Session::create(store, bed.spec(nodes), bed.world(), Box::new(watcher)).unwrap();
    let (controls, inbox) = tokio::sync::mpsc::channel(1);
    let (reply, replied) = tokio::sync::oneshot::channel();
    let pause = Input::Direct { verb: Verb::Pause, target: Target::All, text: None };
    let tells = async {
        begun.await.unwrap();
        controls.send(Control::Input(pause, reply)).await.unwrap();
    };
    let (driven, ()) = tokio::join!(session.drive(inbox), tells);
    driven.unwrap_err();
    drop(session);
    assert!(replied.await.is_err(), "nobody was told that the run is paused");
    assert!(!Run::replay(&load(&bed.reader(), "run_bed").unwrap()).unwrap().held);
}
