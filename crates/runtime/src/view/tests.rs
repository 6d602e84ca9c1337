use super::parse::{Found, overview, own};
use super::read::gather;
use super::*;
use crate::exports::tests::{agent_started, agent_work, created, export_live, log, node, spec, store_log};
use crate::exports::{overlook, read_whole};
use crate::store::{Reader, Store};
use fugato_engine::{AgentPath, EventKind, MessageKind, Target, Verb};
use fugato_model::words;

const RUN: &str = "run_seen";

/// Two agents, one after the other, and every kind of receipt.
fn seen() -> (tempfile::TempDir, Reader) {
    let dir = tempfile::tempdir().unwrap();
    let nodes = vec![node("收集/日历", 0, &[], agent_work()), node("写作", 0, &[0], agent_work())];
    let target = || Target::Agent(AgentPath::new("收集/日历"));
    let text = || Some("写短一点".to_owned());
    let recorded =
        |generation, verb, target, text| EventKind::DirectiveRecorded { generation, verb, target, text };
    let message = EventKind::MessageSent {
        to: 0,
        from: "user".into(),
        text: "The operator redirects you:\n\n写短一点".into(),
        kind: Some(MessageKind::Redirect),
    };
    let refused = EventKind::DirectiveRefused {
        generation: 3,
        reason: words!("agent `写作` is running, not paused", "正在运行"),
        verb: Some(Verb::Resume),
        target: Some(Target::Agent(AgentPath::new("写作"))),
        text: None,
    };
    let events = log(vec![
        created(spec(RUN, &["p"], nodes)),
        agent_started("收集/日历", Some(0)),
        recorded(1, Verb::Pause, Target::All, None),
        EventKind::DirectiveApplied { generation: 1, agent: 0 },
        recorded(2, Verb::Redirect, target(), text()),
        message,
        EventKind::DirectiveDelivered { generation: 2, agent: 0 },
        refused,
        recorded(4, Verb::Redirect, target(), text()),
        EventKind::DirectiveDelivered { generation: 4, agent: 0 },
        EventKind::DirectiveExpired { generation: 4, agent: 0 },
    ]);
    store_log(&Store::open(dir.path()).unwrap(), &events);
    let reader = Reader::open(dir.path()).unwrap().unwrap();
    (dir, reader)
}

#[test]
fn the_files_and_the_log_of_a_run_give_the_same_view() {
    let (dir, reader) = seen();
    let from_log = overview(&Found::from(overlook(&reader, RUN, true).unwrap())).unwrap();
    export_live(dir.path(), RUN);
    let place = dir.path().join("runs").join(RUN);
    let bytes = read_whole(&place.join("run.json")).unwrap();
    let own = own(&bytes).unwrap();
    let from_files = overview(&gather(&place, bytes, &own)).unwrap();
    assert_eq!(from_files, from_log);
    assert_eq!((from_log.status.as_str(), from_log.generation, from_log.events.len()), ("paused", 4, 4));
    assert_eq!(from_log.dependencies["写作"], ["收集/日历"]);
    assert_eq!((from_log.agents[0].unread, from_log.agents[0].acked_generation), (1, 1));
    let states: Vec<_> =
        from_log.interventions.iter().map(|one| (one.generation, one.state().as_str())).collect();
    assert_eq!(
        states,
        [(Some(4), "expired"), (Some(3), "refused"), (Some(2), "delivered"), (Some(1), "applied")]
    );
    assert_eq!(from_log.interventions[1].why().unwrap().zh, "正在运行");
}

#[test]
fn a_run_without_an_owner_is_interrupted_and_says_why() {
    let (dir, reader) = seen();
    let row = reader.run(RUN).unwrap();
    let view = of_run(dir.path(), &reader, &row).unwrap();
    assert_eq!(view.status.as_str(), "interrupted");
    assert_eq!(view.reason.unwrap().en, "it was stopped");
    assert!(matches!(active(&reader, dir.path()).unwrap(), Active::Run(found) if found.id == RUN));
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_the_others_shown() {
    let found = Found {
        run: br#"{"id":"r","status":"running","agents":["a"]}"#.to_vec(),
        control: b"{\"generation\":1,\"action\":\"pause\"}\nnot json\n{\"generation\":1,\"agent\":\"a\",\"receipt\":\"applied\"}\n".to_vec(),
        ..Found::default()
    };
    let view = overview(&found).unwrap();
    assert_eq!((view.unreadable, view.interventions.len()), (1, 1));
    assert_eq!(
        (view.interventions[0].target.as_str(), view.interventions[0].state()),
        ("all", ReceiptState::Applied)
    );
    assert_eq!(view.agents[0].status.as_str(), "unknown");
    assert!(overview(&Found::default()).is_err());
}
