//! Conversations: results in shape, wrong tools, compaction, restarts, skills that are held to their content.

use super::*;
use crate::Purpose;
use fugato_model::Digest;

fn shaped() -> RunSpec {
    let mut work = agent("x", "");
    if let Work::Agent { schema, .. } = &mut work {
        *schema = Some(json!({"type": "object", "required": ["events"]}));
    }
    spec(vec![node("a", &[], work, Some("A"))])
}

fn model(step: u32) -> EffectKey {
    EffectKey::Model { agent: 0, step }
}

fn last_message(world: &World) -> String {
    serde_json::to_string(world.run.agents[0].messages.last().unwrap()).unwrap()
}

#[test]
fn a_result_without_the_declared_shape_gets_one_more_turn() {
    let mut world = World::new(shaped()).go();
    world.complete(model(1), calls(&[("submit_result", json!({"result": {"n": 1}}))]));
    assert!(world.run.ended.is_none());
    assert!(last_message(&world).contains("`events` is missing"), "{}", last_message(&world));
    world.complete(model(2), calls(&[("submit_result", json!({"result": {"events": [1]}}))]));
    assert_eq!(world.outcome(), Outcome::Complete);
    assert_eq!(world.run.variables["A"], json!({"events": [1]}));

    let mut world = World::new(shaped()).go();
    world.complete(model(1), says("{\"n\": 1}"));
    world.complete(model(2), says("{\"n\": 2}"));
    assert_eq!(world.outcome(), Outcome::Failed, "one turn, not two");
}

#[test]
fn json_that_cannot_be_read_is_repaired_and_a_reported_failure_is_not() {
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), Some("A"))])).go();
    world.complete(model(1), says("```json\n{\"a\": \n```"));
    assert!(world.run.ended.is_none());
    world.complete(model(2), says("```json\n{\"a\": 1}\n```"));
    assert_eq!(world.run.variables["A"], json!({"a": 1}));
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), Some("A"))])).go();
    world.complete(model(1), says("{\"success\": false, \"message\": \"no calendar\"}"));
    assert_eq!(world.outcome(), Outcome::Failed);
}

#[test]
fn tools_it_does_not_have_are_refused_three_times() {
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), None)])).go();
    for step in 1..=2 {
        world.complete(model(step), calls(&[("Fly", json!({})), ("Write", json!({}))]));
        assert!(world.run.ended.is_none(), "several wrong calls of one answer are one");
        assert!(last_message(&world).contains("there is no tool `Fly`"));
        assert!(last_message(&world).contains("read-only"));
    }
    world.complete(model(3), calls(&[("Fly", json!({}))]));
    assert_eq!(world.outcome(), Outcome::Failed);
}

#[test]
fn a_long_conversation_is_summed_up_and_keeps_task_skills_and_end() {
    let mut spec = spec(vec![node("a", &[], agent("x", ""), Some("A"))]);
    spec.limits.context_tokens = 2_000;
    let mut world = World::new(spec).go();
    let unknown = |completion: Completion| match completion {
        // A provider that does not count: the estimate must do.
        Completion::Answered { mut answer, micro_usd } => {
            answer.usage.input_tokens = None;
            Completion::Answered { answer, micro_usd }
        }
        other => other,
    };
    let mut summaries = 0;
    for _ in 0..8 {
        let (key, effect) = world.wanted()[0].clone();
        let Effect::CallModel { purpose, step, .. } = effect else { panic!("{effect:?}") };
        if purpose == Purpose::Summary {
            summaries += 1;
            world.complete(key, unknown(says("I read four files.")));
            continue;
        }
        let tool = if step == 1 { "skill_read" } else { "Read" };
        world.complete(key, unknown(calls(&[(tool, json!({"name": "x", "n": step}))])));
        let content = if step == 1 { "THE METHOD".to_owned() } else { "y".repeat(1500) };
        let key = EffectKey::Tool { agent: 0, step, index: 0 };
        world.complete(key, Completion::Tool { content, is_error: false, used: None });
    }
    assert!(summaries >= 1);
    let messages = &world.run.agents[0].messages;
    assert!(messages[0].text().contains("## Sub-skill: x"), "the task stays");
    assert!(messages[1].text().contains("I read four files."));
    assert!(messages[1].text().contains("THE METHOD"), "a skill that was read stays");
    assert_eq!(messages[2].role, Role::Assistant, "no result without its call");
    assert_eq!(world.run.agents[0].compactions, summaries);
    let replayed = Run::replay(&world.log).unwrap();
    assert_eq!(replayed.agents, world.run.agents);
}

#[test]
fn a_conversation_that_no_longer_fits_is_shortened_without_a_model() {
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), Some("A"))])).go();
    for step in 1..=4 {
        world.complete(model(step), calls(&[("Read", json!({"path": format!("file{step}")}))]));
        let content = "z".repeat(2000);
        world.complete(
            EffectKey::Tool { agent: 0, step, index: 0 },
            Completion::Tool { content, is_error: false, used: None },
        );
    }
    let before = world.run.agents[0].messages.len();
    let overflow =
        || Completion::ModelFailed { fault: ModelFault::ContextOverflow, message: "too long".into() };
    world.complete(model(5), overflow());
    let agent = &world.run.agents[0];
    assert!(agent.messages.len() < before && agent.messages[1].text().contains("Read {\"path\":\"file1\"}"));
    world.complete(model(6), says("done"));
    assert_eq!(world.outcome(), Outcome::Complete);

    let mut short = World::new(spec(vec![node("a", &[], agent_("x"), None)])).go();
    short.complete(model(1), overflow());
    assert_eq!(short.outcome(), Outcome::Failed, "nothing to leave out");
}

fn agent_(skill: &str) -> Work {
    agent(skill, "")
}

#[test]
fn a_restarted_node_begins_again_with_another_agent() {
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), Some("A"))])).go();
    world.complete(model(1), calls(&[("Read", json!({}))]));
    let direct = |path: &str| Input::Direct {
        verb: Verb::Restart,
        target: Target::Agent(AgentPath::new(path)),
        text: None,
    };
    assert!(world.tell(direct("b")).is_err());
    world.tell(direct("a")).unwrap();
    let wanted = world.wanted();
    assert_eq!(wanted.len(), 1, "the old agent's tool call is dropped: {wanted:?}");
    assert_eq!(wanted[0].0, EffectKey::Model { agent: 1, step: 1 });
    assert_eq!(world.run.agents[1].path.as_str(), "a.2");
    world.perform(|_| 0, &plain);
    assert_eq!((world.outcome(), world.run.nodes[0].attempt), (Outcome::Complete, 2));
    assert!(world.tell(direct("a")).is_err());
}

#[test]
fn a_question_of_an_agent_that_is_gone_waits_for_nobody() {
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), Some("A"))])).go();
    world.complete(model(1), calls(&[("ask_user", json!({"question": "which?"}))]));
    assert_eq!(world.run.status(), "awaiting_input");
    let target = Target::Agent(AgentPath::new("a"));
    world.tell(Input::Direct { verb: Verb::Restart, target, text: None }).unwrap();
    assert_eq!(world.run.open_questions().count(), 0);
    assert!(world.tell(Input::Answer { question: 0, answer: "late".into() }).is_err());
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn a_skill_is_pinned_when_it_is_first_read() {
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), Some("A"))])).go();
    let digest = |byte: u8| Digest::from_bytes([byte; 32]);
    for (step, byte) in [(1, 1), (2, 2)] {
        world.complete(model(step), calls(&[("skill_read", json!({"name": "method"}))]));
        let used = Some(("method".to_owned(), digest(byte)));
        let completion = Completion::Tool { content: "text".into(), is_error: false, used };
        world.complete(EffectKey::Tool { agent: 0, step, index: 0 }, completion);
    }
    assert_eq!(world.run.skills_used["method"], digest(1));
    assert_eq!(world.kinds().iter().filter(|kind| *kind == "skill.used").count(), 1);
}
