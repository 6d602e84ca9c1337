//! Directives: one order, a receipt for every agent, illegal moves refused with the state named.

use super::*;

fn path(name: &str) -> Target {
    Target::Agent(AgentPath::new(name))
}

fn direct(verb: Verb, target: Target, text: Option<&str>) -> Input {
    Input::Direct { verb, target, text: text.map(str::to_owned) }
}

fn two_and_one_after() -> World {
    let nodes = vec![
        node("a", &[], agent("a", ""), Some("A")),
        node("b", &[], agent("b", ""), Some("B")),
        node("c", &[0, 1], agent("c", ""), Some("C")),
    ];
    World::new(spec(nodes)).go()
}

/// The receipts of the log, in words.
fn receipts(world: &World) -> Vec<String> {
    let name = |agent: &u32| world.run.agents[*agent as usize].path.to_string();
    let receipt = |event: &Event| match &event.kind {
        EventKind::DirectiveRecorded { generation, .. } => Some(format!("{generation} recorded")),
        EventKind::DirectiveDelivered { generation, agent } => {
            Some(format!("{generation} delivered {}", name(agent)))
        }
        EventKind::DirectiveApplied { generation, agent } => {
            Some(format!("{generation} applied {}", name(agent)))
        }
        EventKind::DirectiveExpired { generation, agent } => {
            Some(format!("{generation} expired {}", name(agent)))
        }
        EventKind::DirectiveHeld { generation, node } => Some(format!("{generation} held {node}")),
        EventKind::DirectiveRefused { generation, .. } => Some(format!("{generation} refused")),
        _ => None,
    };
    world.log.iter().filter_map(receipt).collect()
}

fn paused(world: &World) -> Vec<&str> {
    let agents = world.run.agents.iter().filter(|agent| agent.paused);
    agents.map(|agent| agent.path.as_str()).collect()
}

#[test]
fn pause_all_then_resume_one_leaves_the_others_paused() {
    let mut world = two_and_one_after();
    world.tell(direct(Verb::Pause, Target::All, None)).unwrap();
    assert_eq!((paused(&world), world.run.status()), (vec!["a", "b"], "paused"));
    world.tell(direct(Verb::Resume, path("a"), None)).unwrap();
    assert_eq!((paused(&world), world.run.status()), (vec!["b"], "running"));
    let again = world.tell(direct(Verb::Resume, path("a"), None)).unwrap_err();
    assert!(again.words.en.contains("is running, not paused"), "{again:?}");
    world.tell(direct(Verb::Resume, Target::All, None)).unwrap();
    assert_eq!((paused(&world), world.run.status()), (Vec::new(), "running"));
    let nothing = world.tell(direct(Verb::Resume, Target::All, None)).unwrap_err();
    assert!(nothing.words.en.contains("nothing is paused"));
}

#[test]
fn a_redirect_is_delivered_at_once_and_applied_when_the_agent_sees_it() {
    let mut world = two_and_one_after();
    world.tell(direct(Verb::Redirect, path("a"), Some("改成别的"))).unwrap();
    assert_eq!(receipts(&world), ["1 recorded", "1 delivered a"]);
    // It was asked before it was told; what it answers with tools comes before its next step.
    world.complete(EffectKey::Model { agent: 0, step: 1 }, calls(&[("Read", json!({"path": "x"}))]));
    assert_eq!(receipts(&world).len(), 2);
    let tool = EffectKey::Tool { agent: 0, step: 1, index: 0 };
    world.complete(tool, Completion::Tool { content: "y".into(), is_error: false, used: None });
    assert_eq!(receipts(&world), ["1 recorded", "1 delivered a", "1 applied a"]);
    let seen = world.run.agents[0].messages.last().unwrap().text();
    assert!(seen.contains("改成别的") && seen.contains("supersedes your task"), "{seen}");
}

#[test]
fn a_redirect_that_comes_too_late_expires() {
    let mut world = two_and_one_after();
    world.tell(direct(Verb::Redirect, path("a"), Some("x"))).unwrap();
    world.tell(direct(Verb::Redirect, path("b"), Some("y"))).unwrap();
    world.tell(direct(Verb::Cancel, Target::All, None)).unwrap();
    let receipts = receipts(&world);
    assert!(
        receipts.contains(&"1 expired a".to_owned()) && receipts.contains(&"2 expired b".to_owned()),
        "{receipts:?}"
    );
    assert_eq!(receipts.iter().filter(|one| one.starts_with("3 applied")).count(), 2);
    assert_eq!(world.run.status(), "aborted");
    let mut replayed = Run::replay(&world.log).unwrap();
    replayed.take_changes();
    world.run.take_changes();
    assert!(replayed == world.run);
}

#[test]
fn who_has_not_started_can_be_held_and_let_go() {
    let mut world = two_and_one_after();
    world.tell(direct(Verb::Pause, path("c"), None)).unwrap();
    assert!(world.tell(direct(Verb::Pause, path("c"), None)).is_err());
    for verb in [Verb::Cancel, Verb::Redirect] {
        let refused = world.tell(direct(verb, path("c"), Some("x"))).unwrap_err();
        assert!(refused.words.en.contains("has not started (pending)"), "{refused:?}");
    }
    world.complete(EffectKey::Model { agent: 0, step: 1 }, says("1"));
    world.complete(EffectKey::Model { agent: 1, step: 1 }, says("2"));
    assert_eq!((world.run.status(), world.run.agents.len()), ("paused", 2), "c waits for the operator");
    world.tell(direct(Verb::Resume, path("c"), None)).unwrap();
    assert_eq!((world.run.status(), world.run.agents.len()), ("running", 3));
    assert_eq!(receipts(&world), ["1 recorded", "1 held 2", "2 recorded", "2 held 2"]);
}

#[test]
fn a_script_at_work_can_be_cancelled_and_nothing_else() {
    let mut world = World::new(spec(vec![node("s", &[], script(EffectClass::Read), Some("S"))])).go();
    for verb in [Verb::Pause, Verb::Resume, Verb::Redirect] {
        let refused = world.tell(direct(verb, path("s"), Some("x"))).unwrap_err();
        assert!(refused.words.en.contains("a script at work"), "{refused:?}");
    }
    world.tell(direct(Verb::Cancel, path("s"), None)).unwrap();
    assert!(world.wanted().is_empty(), "its process is to be stopped");
    assert_eq!(world.run.status(), "failed");
}

#[test]
fn a_refused_directive_has_its_place_in_the_order_and_says_why() {
    let mut world = two_and_one_after();
    let refusal = world.tell(direct(Verb::Resume, path("a"), None)).unwrap_err();
    let recorded = world.run.refused(Verb::Resume, path("a"), None, &refusal, 5);
    assert_eq!(recorded.len(), 1);
    assert!(matches!(
        &recorded[0].kind,
        EventKind::DirectiveRefused { generation: 1, verb: Some(Verb::Resume), .. }
    ));
    world.log.extend(recorded);
    world.tell(direct(Verb::Pause, path("a"), None)).unwrap();
    assert_eq!(receipts(&world), ["1 refused", "2 recorded", "2 applied a"]);
    world.tell(direct(Verb::Cancel, Target::All, None)).unwrap();
    let late = world.tell(direct(Verb::Pause, path("a"), None)).unwrap_err();
    assert!(
        world.run.refused(Verb::Pause, path("a"), None, &late, 6).is_empty(),
        "a run that ended takes nothing"
    );
}

#[test]
fn an_inbox_takes_a_thousand_messages_or_a_mebibyte_and_then_refuses() {
    let send =
        |text: String| Input::Send { to: path("a"), from: "user".into(), text, kind: MessageKind::Question };
    let mut world = two_and_one_after();
    for n in 1..=1000 {
        world.tell(send(format!("message {n}"))).unwrap_or_else(|refused| panic!("{n}: {refused:?}"));
    }
    let full = world.tell(send("one more".into())).unwrap_err();
    assert_eq!(full.words.en, "inbox full");
    assert_eq!(world.run.agents[0].inbox.len(), 1000, "nothing is dropped");
    let mut world = two_and_one_after();
    const HALF: usize = 1 << 19;
    world.tell(send("x".repeat(HALF))).unwrap();
    assert!(world.tell(send("y".repeat(HALF + 1))).is_err(), "one byte too many");
    world.tell(send("y".repeat(HALF))).unwrap();
    assert!(world.tell(send("z".into())).is_err());
    // A word to everybody reaches all or nobody.
    let all = Input::Send {
        to: Target::All,
        from: "user".into(),
        text: "hello".into(),
        kind: MessageKind::Handoff,
    };
    assert!(world.tell(all).is_err());
    assert!(world.run.agents[1].inbox.is_empty());
    // What it answers without knowing of them is not its last word: it reads them, in order, once.
    world.complete(EffectKey::Model { agent: 0, step: 1 }, says("not what was asked"));
    assert!(world.run.agents[0].inbox.is_empty());
}

#[test]
fn a_node_that_begins_again_is_told_what_the_attempt_before_did() {
    let mut world = two_and_one_after();
    world.complete(EffectKey::Model { agent: 0, step: 1 }, calls(&[("Read", json!({"path": "notes.md"}))]));
    let tool = EffectKey::Tool { agent: 0, step: 1, index: 0 };
    world.complete(tool, Completion::Tool { content: "四个文件".into(), is_error: false, used: None });
    world.tell(direct(Verb::Restart, path("a"), None)).unwrap();
    let (_, second) = world.run.agent("a.2").expect("another attempt");
    let prompt = second.messages[0].text();
    for part in ["An earlier attempt", "You called Read", "notes.md", "It gave: 四个文件"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
}

#[test]
fn a_result_given_before_a_redirect_was_seen_is_not_the_last_word() {
    let mut world = two_and_one_after();
    world.tell(direct(Verb::Redirect, path("a"), Some("first this"))).unwrap();
    world.complete(EffectKey::Model { agent: 0, step: 1 }, says("the old task is done"));
    assert_eq!(receipts(&world), ["1 recorded", "1 delivered a", "1 applied a"]);
    world.tell(direct(Verb::Redirect, path("b"), Some("and this"))).unwrap();
    let submit = calls(&[("submit_result", json!({"result": 1}))]);
    world.complete(EffectKey::Model { agent: 1, step: 1 }, submit);
    assert!(receipts(&world).contains(&"2 applied b".to_owned()));
    assert!(world.run.agents.iter().all(AgentState::is_live));
    world.complete(EffectKey::Model { agent: 0, step: 2 }, says("the new one too"));
    assert!(!world.run.agents[0].is_live());
}
