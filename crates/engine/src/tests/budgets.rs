//! Limits: each checked before the thing is done, also by several agents at once, also after a raise.

use super::*;
use crate::{AgentType, Executor, Purpose, Rate, Reserve};

fn two_agents(tokens: u64) -> RunSpec {
    let mut spec =
        spec(vec![node("a", &[], agent("x", ""), Some("A")), node("b", &[0], agent("y", ""), Some("B"))]);
    spec.limits.tokens = Some(tokens);
    spec
}

/// Estimated tokens of the first prompt.
fn question() -> u64 {
    World::new(two_agents(u64::MAX)).go().run.agents[0].context.tokens()
}

#[test]
fn a_budget_ends_the_run_and_raising_it_goes_on() {
    // Room for one question and a short answer, not for a second one.
    let mut world = World::new(two_agents(question() + 20)).go();
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::BudgetExhausted);
    assert_eq!(world.run.variables["A"], json!({"from": "a"}), "what was done stays");
    let limits = Limits { tokens: Some(2000), ..Limits::default() };
    world.tell(Input::Raise { limits }).unwrap();
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
    assert!(world.performed.values().all(|n| *n == 1));
}

#[test]
fn a_call_that_cannot_fit_is_not_made() {
    let mut world = World::new(two_agents(100)).go();
    assert_eq!(world.outcome(), Outcome::BudgetExhausted);
    assert!(world.performed.is_empty());
    assert!(world.tell(Input::Answer { question: 0, answer: "x".into() }).is_err());
}

#[test]
fn an_answer_is_capped_to_what_is_left() {
    let world = World::new(two_agents(1000)).go();
    let (_, effect) = world.wanted()[0].clone();
    let Effect::CallModel { max_tokens: Some(most), .. } = effect else { panic!("{effect:?}") };
    let asked = world.run.agents[0].context.tokens();
    assert_eq!(asked + u64::from(most), 1000);
    assert_eq!(world.run.reserved, Reserve { tokens: 1000, micro_usd: 0 });
}

#[test]
fn agents_side_by_side_cannot_overdraw_one_budget_together() {
    let nodes = (0..8).map(|n| node(&format!("n{n}"), &[], agent("x", ""), Some(&format!("V{n}")))).collect();
    let mut spec = spec(nodes);
    let limit = 2 * (question() + 50) + 40;
    spec.limits = Limits { tokens: Some(limit), concurrent: 8, answer_tokens: Some(50), ..Limits::default() };
    let mut world = World::new(spec).go();
    assert_eq!(world.wanted().len(), 2, "two questions and their longest answers fit");
    world.perform(|_| 0, &|effect, run| {
        assert!(run.spent.tokens() + run.reserved.tokens <= limit);
        plain(effect, run)
    });
    assert_eq!(world.outcome(), Outcome::Complete, "what was not used was there for the next");
    assert!(world.run.spent.tokens() <= limit);
    assert_eq!(world.run.reserved, Reserve::default(), "what was not used went back");
}

#[test]
fn money_is_checked_before_the_call_and_an_unknown_price_is_no_price() {
    let mut spec = two_agents(100_000);
    spec.limits.micro_usd = Some(1_000);
    assert_eq!(World::new(spec.clone()).go().outcome(), Outcome::BudgetExhausted, "the price is unknown");
    spec.rates.insert("script:x".into(), Rate { input_nano_usd: 1_000, output_nano_usd: 5_000 });
    let world = World::new(spec.clone()).go();
    let (_, effect) = world.wanted()[0].clone();
    let Effect::CallModel { max_tokens: Some(most), .. } = effect else { panic!("{effect:?}") };
    let cost = world.run.agents[0].context.tokens() + 5 * u64::from(most);
    assert!(cost <= 1_000 && cost > 990, "{cost}");
    spec.rates.insert("script:x".into(), Rate::default());
    spec.limits.micro_usd = Some(0);
    let mut free = World::new(spec).go();
    free.perform(|_| 0, &plain);
    assert_eq!(free.outcome(), Outcome::Complete, "a free model costs nothing");
}

#[test]
fn wall_time_counts_only_while_somebody_works() {
    let mut spec = spec(vec![node("a", &[], script(EffectClass::Read), Some("A"))]);
    spec.limits.wall_ms = Some(100);
    let mut world = World::new(spec).go();
    assert_eq!(world.run.deadline(), Some(100));
    world.now = 40;
    world.tell(Input::Go).unwrap();
    // Its owner dies at 1 (its last event); ten days later another goes on.
    world.now = 864_000_000;
    world.tell(Input::Recover { epoch: 2 }).unwrap();
    let began = world.now;
    assert_eq!(world.run.deadline(), Some(began + 99));
    world.now = began + 50;
    world.tell(Input::Tick).unwrap();
    assert!(world.run.ended.is_none());
    world.now = began + 99;
    world.tell(Input::Tick).unwrap();
    assert_eq!(world.outcome(), Outcome::BudgetExhausted);
    assert!(world.wanted().is_empty(), "hard: the script is stopped");
    world.tell(Input::Raise { limits: Limits::default() }).unwrap();
    assert_eq!(world.wanted().len(), 1, "reading again harms nobody");
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn what_the_clock_broke_off_and_may_not_repeat_becomes_a_question() {
    let mut spec = spec(vec![node("a", &[], script(EffectClass::Once), Some("A"))]);
    spec.limits.wall_ms = Some(10);
    let mut world = World::new(spec).go();
    world.now = 10;
    world.tell(Input::Tick).unwrap();
    world.tell(Input::Raise { limits: Limits::default() }).unwrap();
    assert!(world.wanted().is_empty());
    assert_eq!(world.run.status(), "awaiting_input");
    world.tell(Input::Answer { question: 0, answer: "repeat".into() }).unwrap();
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn tool_calls_of_the_run_are_counted_and_the_rest_is_told() {
    let mut spec = spec(vec![node("a", &[], agent("x", ""), Some("A"))]);
    spec.limits.tool_calls = Some(2);
    let mut world = World::new(spec).go();
    let read = ("Read", json!({}));
    world.complete(EffectKey::Model { agent: 0, step: 1 }, calls(&[read.clone(), read.clone(), read]));
    assert_eq!(world.wanted().len(), 2);
    world.perform(|_| 0, &plain);
    assert_eq!((world.outcome(), world.run.spent.tool_calls), (Outcome::Complete, 2));
}

#[test]
fn a_plain_skill_that_ran_out_of_steps_goes_on_with_more() {
    let mut spec = spec(Vec::new());
    spec.single = Some("Do it.".into());
    spec.limits.steps = 1;
    let mut world = World::new(spec).go();
    world.complete(EffectKey::Model { agent: 0, step: 1 }, says("half"));
    assert_eq!(world.outcome(), Outcome::BudgetExhausted);
    assert_eq!(world.run.ended.as_ref().unwrap().2, Some(json!("half")), "the partial result");
    world.tell(Input::Raise { limits: Limits::default() }).unwrap();
    let (_, effect) = world.wanted()[0].clone();
    assert!(matches!(effect, Effect::CallModel { purpose: Purpose::Step, .. }));
    world.complete(EffectKey::Model { agent: 0, step: 2 }, says("whole"));
    assert_eq!(world.run.ended.as_ref().unwrap().2, Some(json!("whole")));
}

/// A host as the only agent of a run.
fn hosted_run(executor: Executor, micro_usd: u64) -> World {
    let kind = AgentType { executor, ..AgentType::named("host") };
    let types = BTreeMap::from([("host".to_owned(), Arc::new(kind))]);
    let limits = Limits { micro_usd: Some(micro_usd), ..Limits::default() };
    let main_type = Some("host".to_owned());
    World::new(RunSpec { single: Some("x".into()), types, main_type, limits, ..spec(Vec::new()) }).go()
}

#[test]
fn a_host_that_tells_its_cost_gets_what_is_left_and_one_that_does_not_is_not_asked() {
    let step = EffectKey::Model { agent: 0, step: 1 };
    let ends = |stop, micro_usd| {
        let mut world = hosted_run(Executor::Claude, 1000);
        assert_eq!(world.run.reserved.micro_usd, 1000);
        let answer = Answer { message: Message::assistant("so far"), stop, usage: usage() };
        world.complete(step, Completion::Answered { answer: Box::new(answer), micro_usd });
        let (outcome, reason, _) = world.run.ended.clone().unwrap();
        assert_eq!(world.run.reserved.micro_usd, 0);
        (outcome, reason.en)
    };
    assert_eq!(ends(StopReason::EndTurn, Some(400)).0, Outcome::Complete);
    let (outcome, why) = ends(StopReason::MaxTokens, Some(1200));
    assert!(outcome == Outcome::BudgetExhausted && why.contains("cost"), "{why}");
    let (outcome, why) = ends(StopReason::MaxTokens, Some(400));
    assert!(outcome == Outcome::BudgetExhausted && why.contains("steps"), "{why}");
    for (executor, most) in [(Executor::Codex, 1000), (Executor::Claude, 0)] {
        let world = hosted_run(executor, most);
        assert_eq!((world.outcome(), world.wanted().len()), (Outcome::BudgetExhausted, 0));
    }
}
