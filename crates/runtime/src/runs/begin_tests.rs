//! Runs that begin while they are created, and work that is nothing: what may go ahead of the disk, and what may not.

use super::session::Notice;
use super::test_bed::{Bed, node, script, small};
use super::{RunError, Session, load};
use crate::store::faults::{Faults, Step};
use crate::store::{Owner, Store, StoreError};
use fugato_engine::{EffectClass, EventKind, Outcome, Work};
use rustix::io::Errno;
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn creation_and_first_decision_of_a_small_run_are_one_commit() {
    let bed = Bed::new();
    let commits = Faults::counting(Step::Commit);
    let store = Store::open_with(&bed.state(), commits.clone()).unwrap();
    let before = commits.counted();
    let nodes = vec![node("a", &[], Work::Noop, None), node("b", &[0], Work::Noop, None)];
    let driven = bed.begin(store, bed.spec(nodes)).await.unwrap();
    assert_eq!(driven.run.ended.unwrap().0, Outcome::Complete);
    // Letting go of the run is the other one.
    assert!(commits.counted() - before <= 2, "{} commits", commits.counted() - before);
    assert!(
        driven.acked.iter().zip(1..).all(|(event, seq)| event.seq == seq),
        "told in order, from the first"
    );
    assert_eq!(driven.acked, load(&bed.reader(), "run_bed").unwrap());
}

#[tokio::test]
async fn a_chain_of_nothing_does_not_wait_for_the_disk_at_every_link() {
    let bed = Bed::new();
    let commits = Faults::counting(Step::Commit);
    let store = Store::open_with(&bed.state(), commits.clone()).unwrap();
    let link = |at: u32| {
        let after: Vec<u32> = at.checked_sub(1).into_iter().collect();
        node(&format!("n{at}"), &after, Work::Noop, None)
    };
    let driven = bed.begin(store, bed.spec((0..2_000).map(link).collect())).await.unwrap();
    assert_eq!(driven.run.ended.unwrap().0, Outcome::Complete);
    assert!(commits.counted() < 50, "{} commits for 2000 links", commits.counted());
    let events = load(&bed.reader(), "run_bed").unwrap();
    assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq));
    let completed = events.iter().filter(|event| matches!(event.kind, EventKind::NodeCompleted { .. }));
    assert_eq!(completed.count(), 2_000);
}

#[tokio::test]
async fn what_has_an_effect_waits_until_its_run_exists() {
    for step in [Step::Commit, Step::CommitSync] {
        let bed = Bed::new();
        let store = Store::open_with(&bed.state(), Faults::from(step, 1, Errno::IO)).unwrap();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = told.clone();
        let watcher = move |notice: Notice| heard.lock().unwrap().push(format!("{notice:?}"));
        let spec = bed.spec(vec![node("one", &[], script("one", EffectClass::Once), None)]);
        let mut session = Session::begin(store, spec, bed.world(), Box::new(watcher)).unwrap();
        let (_controls, inbox) = tokio::sync::mpsc::channel(1);
        let error = session.drive(inbox).await.unwrap_err();
        assert!(matches!(error, RunError::Store(StoreError::Io { .. })), "{error:?}");
        session.files_written().await;
        drop(session);
        assert_eq!(bed.times("one"), 0, "done for a run that nobody promised");
        assert!(told.lock().unwrap().is_empty(), "{told:?}");
        assert!(!bed.state().join("runs/run_bed").exists(), "files of a run that does not exist");
    }
}

#[tokio::test]
async fn a_run_that_is_there_already_is_not_begun_again() {
    let bed = Bed::new();
    let store = Store::open(&bed.state()).unwrap();
    bed.begin(store.clone(), bed.spec(small())).await.unwrap().end.unwrap();
    let before = load(&bed.reader(), "run_bed").unwrap();
    let times = bed.times("one");
    let again = bed.begin(store, bed.spec(small())).await.unwrap();
    let error = again.end.unwrap_err();
    assert!(matches!(error, RunError::Store(StoreError::RunExists { .. })), "{error:?}");
    assert!(again.acked.is_empty());
    assert_eq!((load(&bed.reader(), "run_bed").unwrap(), bed.times("one")), (before, times));
}

#[tokio::test]
async fn a_session_that_was_begun_and_never_driven_leaves_a_run_that_can_be_taken_over() {
    let bed = Bed::new();
    let store = Store::open(&bed.state()).unwrap();
    let session = Session::begin(store.clone(), bed.spec(small()), bed.world(), Box::new(|_| {})).unwrap();
    drop(session);
    let lease = store.acquire("run_bed", &Owner::this_process()).unwrap();
    lease.release().unwrap();
    let driven = bed.resume(store, Vec::new()).await.unwrap();
    assert_eq!(driven.run.ended.unwrap().0, Outcome::Complete);
}
