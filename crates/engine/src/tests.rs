//! Given a plan and a world, when the world answers, then the log says what must be true. And the properties that hold
//! for every plan, every order of outcomes and every crash.

mod directives;
mod simulation;
mod sop;

use crate::*;
use fugato_model::chat::{Answer, Message, ModelFault, Part, Role, StopReason, ToolCall, Usage};
use fugato_model::words;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

fn node(id: &str, after: &[u32], work: Work, output: Option<&str>) -> PlanNode {
    PlanNode {
        id: id.into(),
        phase: 0,
        after: after.to_vec(),
        work,
        output: output.map(str::to_owned),
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    }
}

fn agent(skill: &str, args: &str) -> Work {
    Work::Agent {
        agent_type: "explore".into(),
        access: Access::ReadOnly,
        skill: skill.into(),
        instructions: "do".into(),
        args: template(args),
        relevant: Vec::new(),
        schema: None,
        model: None,
    }
}

fn template(text: &str) -> fugato_skill::interpolate::Template {
    fugato_skill::interpolate::Template::parse(text, 0).unwrap()
}

fn script(class: EffectClass) -> Work {
    Work::Script {
        skill: "s".into(),
        dir: None,
        relevant: Vec::new(),
        entry: "main.sh".into(),
        class,
        instructions: "do".into(),
        args: template(""),
    }
}

fn spec(nodes: Vec<PlanNode>) -> RunSpec {
    RunSpec {
        id: "run_1".into(),
        skill: SkillPin { name: "s".into(), dir: "/s".into(), digest: None },
        title: "t".into(),
        plan: Plan {
            phases: vec![Phase { name: "p".into(), parallel: true, depends_on: Vec::new(), within: None }],
            nodes,
        },
        context: BTreeMap::from([("ARGUMENTS".to_owned(), json!("today"))]),
        model: "script:x".into(),
        ..RunSpec::default()
    }
}

/// A run with its log.
struct World {
    run: Run,
    log: Vec<Event>,
    now: i64,
    /// Lengths of the log between decisions: the events of one decision are stored together or not at all.
    commits: Vec<usize>,
    /// How often each effect was performed to its end.
    performed: HashMap<EffectKey, u32>,
}

impl World {
    fn new(spec: RunSpec) -> Self {
        let created =
            Event { v: 1, seq: 1, at: 0, by: By::User, kind: EventKind::RunCreated { spec: Arc::new(spec) } };
        let run = Run::created(&created).unwrap();
        Self { run, log: vec![created], now: 0, commits: vec![1], performed: HashMap::new() }
    }

    fn tell(&mut self, input: Input) -> Result<(), Refusal> {
        self.now += 1;
        let events = self.run.decide(input, self.now)?;
        self.log.extend(events);
        self.commits.push(self.log.len());
        Ok(())
    }

    fn go(mut self) -> Self {
        self.tell(Input::Go).unwrap();
        self
    }

    fn wanted(&self) -> Vec<(EffectKey, Effect)> {
        let mut wanted: Vec<_> = self.run.wanted().map(|(key, effect)| (key, effect.clone())).collect();
        wanted.sort_by_key(|(key, _)| *key);
        wanted
    }

    fn complete(&mut self, key: EffectKey, completion: Completion) {
        *self.performed.entry(key).or_default() += 1;
        self.tell(Input::Completed { key, completion }).unwrap();
    }

    /// Performs everything until nothing is wanted; `pick` chooses which effect ends next.
    fn perform(
        &mut self,
        mut pick: impl FnMut(usize) -> usize,
        answer: &dyn Fn(&Effect, &Run) -> Completion,
    ) {
        for _ in 0..10_000 {
            let wanted = self.wanted();
            let Some((key, effect)) =
                (!wanted.is_empty()).then(|| wanted[pick(wanted.len()) % wanted.len()].clone())
            else {
                return;
            };
            let completion = answer(&effect, &self.run);
            self.complete(key, completion);
        }
        panic!("the run does not come to an end");
    }

    fn kinds(&self) -> Vec<String> {
        self.log
            .iter()
            .map(|event| serde_json::to_value(&event.kind).unwrap()["type"].as_str().unwrap().to_owned())
            .collect()
    }

    fn outcome(&self) -> Outcome {
        self.run.ended.as_ref().expect("the run has ended").0
    }
}

fn says(text: &str) -> Completion {
    let answer = Answer { message: Message::assistant(text), stop: StopReason::EndTurn, usage: usage() };
    Completion::Answered { answer: Box::new(answer), micro_usd: Some(10) }
}

fn usage() -> Usage {
    Usage { input_tokens: Some(10), output_tokens: Some(5), ..Usage::default() }
}

fn calls(calls: &[(&str, Value)]) -> Completion {
    let parts = calls.iter().enumerate().map(|(at, (name, arguments))| {
        Part::ToolCall(ToolCall { id: format!("c{at}"), name: (*name).into(), arguments: arguments.clone() })
    });
    let message = Message { role: Role::Assistant, parts: parts.collect() };
    let answer = Answer { message, stop: StopReason::ToolUse, usage: usage() };
    Completion::Answered { answer: Box::new(answer), micro_usd: Some(10) }
}

/// Answers every effect with something that depends only on the effect.
fn plain(effect: &Effect, _run: &Run) -> Completion {
    match effect {
        Effect::CallModel { agent, .. } => says(&format!("{{\"from\": \"{agent}\"}}")),
        Effect::RunTool { .. } => Completion::Tool { content: "ok".into(), is_error: false, used: None },
        Effect::RunScript { node, .. } => Completion::Script { stdout: format!("{{\"by\": \"{node}\"}}") },
        Effect::Recall { .. } => Completion::Recalled { messages: Vec::new() },
        Effect::Noop => Completion::Noop,
    }
}

#[test]
fn nodes_run_in_the_order_of_their_dependencies_and_fill_variables() {
    let mut world = World::new(spec(vec![
        node("setup/config", &[], agent("get-config", ""), Some("VAULT")),
        node("setup/directives", &[], agent("get-directives", ""), Some("DIRECTIVES")),
        node("setup.end", &[0, 1], Work::Gate, None),
        node("gather/calendar", &[2], agent("get-calendar", "scope={{ARGUMENTS}}"), Some("CALENDAR")),
    ]))
    .go();
    assert_eq!(world.wanted().len(), 2, "both of the first phase at once");
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
    assert_eq!(world.run.variables["VAULT"], json!({"from": "setup/config"}));
    let prompt = world.run.agent("gather/calendar").unwrap().1.messages[0].text();
    assert!(prompt.contains("scope=today"), "{prompt}");
}

#[test]
fn two_chains_do_not_wait_for_each_other() {
    let noop = |id: &str, after: &[u32]| node(id, after, Work::Noop, None);
    let mut world =
        World::new(spec(vec![noop("slow", &[]), noop("a1", &[]), noop("a2", &[1]), noop("a3", &[2])])).go();
    for _ in 0..3 {
        let (key, _) = world.wanted().into_iter().rfind(|(key, _)| *key != first(0)).unwrap();
        world.complete(key, Completion::Noop);
    }
    assert_eq!(world.wanted().len(), 1, "only the straggler is left");
    world.complete(first(0), Completion::Noop);
    assert_eq!(world.outcome(), Outcome::Complete);
}

fn first(node: u32) -> EffectKey {
    EffectKey::Node { node, attempt: 1 }
}

#[test]
fn never_more_at_once_than_the_limit() {
    let nodes = (0..10).map(|at| node(&format!("n{at}"), &[], Work::Noop, None)).collect();
    for limit in [1, 3, 4] {
        let mut spec = spec(Vec::clone(&nodes));
        spec.limits.concurrent = limit;
        let mut world = World::new(spec).go();
        let mut most = 0;
        while let Some((key, _)) = world.wanted().first().cloned() {
            most = most.max(world.wanted().len());
            world.complete(key, Completion::Noop);
        }
        assert_eq!(most, limit as usize);
    }
}

#[test]
fn failure_follows_the_fixed_order_for_every_combination() {
    for (fallback, optional) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut failing = node("a", &[], agent("x", ""), Some("A"));
        (failing.fallback_inline, failing.optional) = (fallback, optional);
        let mut world = World::new(spec(vec![failing, node("b", &[0], Work::Noop, None)])).go();
        let fault = || Completion::ModelFailed { fault: ModelFault::Rejected, message: "no".into() };
        world.complete(EffectKey::Model { agent: 0, step: 1 }, fault());
        if fallback {
            assert!(world.run.agent("main").is_some(), "the sub-skill runs in the main conversation");
            world.complete(EffectKey::Model { agent: 1, step: 1 }, fault());
        }
        if optional {
            assert_eq!(world.run.variables["A"], Value::Null);
            world.complete(first(1), Completion::Noop);
            assert_eq!(world.outcome(), Outcome::Complete);
        } else {
            assert_eq!(world.outcome(), Outcome::Failed);
            assert!(world.wanted().is_empty());
        }
    }
}

#[test]
fn abort_stops_the_siblings() {
    let mut world =
        World::new(spec(vec![node("a", &[], agent("x", ""), None), node("b", &[], agent("y", ""), None)]))
            .go();
    world.run.take_changes();
    world.complete(
        EffectKey::Model { agent: 0, step: 1 },
        Completion::ModelFailed { fault: ModelFault::Unauthorized, message: "key".into() },
    );
    assert_eq!(world.outcome(), Outcome::Failed);
    assert!(world.run.take_changes().contains(&Change::Dropped(EffectKey::Model { agent: 1, step: 1 })));
    assert!(world.run.agents.iter().all(|agent| !agent.is_live()));
}

#[test]
fn tools_are_answered_together_and_in_order() {
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), Some("A"))])).go();
    world.complete(
        EffectKey::Model { agent: 0, step: 1 },
        calls(&[
            ("Read", json!({"path": "1"})),
            ("Grep", json!({})),
            ("Bash", json!({})),
            ("Nope", json!({})),
        ]),
    );
    // The read-only agent's Bash and the unknown tool are refused without being performed.
    assert_eq!(world.wanted().len(), 2);
    let tool = |index| EffectKey::Tool { agent: 0, step: 1, index };
    world.complete(tool(1), Completion::Tool { content: "second".into(), is_error: false, used: None });
    world.complete(tool(0), Completion::Tool { content: "first".into(), is_error: false, used: None });
    let last = world.run.agents[0].messages.last().unwrap();
    let results: Vec<_> = last
        .parts
        .iter()
        .map(|part| match part {
            Part::ToolResult(result) => (result.content.as_str(), result.is_error),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((results[0], results[1]), (("first", false), ("second", false)));
    assert!(results[2].1 && results[2].0.contains("read-only"));
    assert!(results[3].1 && results[3].0.contains("there is no tool"));
    world.complete(EffectKey::Model { agent: 0, step: 2 }, calls(&[("submit_result", json!({"result": 7}))]));
    assert_eq!(world.run.variables["A"], json!(7));
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn the_last_step_is_for_wrapping_up() {
    let mut spec = spec(vec![node("a", &[], agent("x", ""), Some("A"))]);
    spec.limits.steps = 3;
    let mut world = World::new(spec).go();
    let mut wrapped = Vec::new();
    for step in 1..=3 {
        let Effect::CallModel { purpose, .. } =
            world.run.effect(EffectKey::Model { agent: 0, step }).unwrap().clone()
        else {
            panic!()
        };
        wrapped.push(purpose);
        world.complete(EffectKey::Model { agent: 0, step }, calls(&[("Read", json!({}))]));
        if world.run.ended.is_none() {
            world.complete(
                EffectKey::Tool { agent: 0, step, index: 0 },
                Completion::Tool { content: "x".into(), is_error: false, used: None },
            );
        }
    }
    assert_eq!(wrapped, [Purpose::Step, Purpose::Step, Purpose::WrapUp]);
    assert_eq!(world.outcome(), Outcome::Failed);
    assert_eq!(world.run.agents[0].step, 3, "never a fourth call");
}

#[test]
fn a_question_waits_holds_no_slot_and_its_answer_reaches_the_agent() {
    let inline = Work::Inline { section: template("Ask."), sets: vec!["NAME".into()] };
    let mut spec = spec(vec![node("ask", &[], inline, None), node("other", &[], Work::Noop, None)]);
    spec.limits.concurrent = 1;
    let mut world = World::new(spec).go();
    world.complete(
        EffectKey::Model { agent: 0, step: 1 },
        calls(&[("ask_user", json!({"question": "你的名字？", "options": ["a", "b"]}))]),
    );
    assert_eq!(world.wanted(), [(first(1), Effect::Noop)], "the slot is free while the person thinks");
    world.complete(first(1), Completion::Noop);
    assert_eq!(world.run.status(), "awaiting_input");
    assert!(world.tell(Input::Answer { question: 9, answer: "x".into() }).is_err());
    world.tell(Input::Answer { question: 0, answer: "林".into() }).unwrap();
    assert!(world.tell(Input::Answer { question: 0, answer: "again".into() }).is_err());
    world
        .complete(EffectKey::Model { agent: 0, step: 2 }, calls(&[("submit_result", json!({"NAME": "林"}))]));
    assert_eq!(world.run.variables["NAME"], json!("林"));
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn an_answered_agent_waits_for_a_slot_and_two_questions_free_only_one() {
    let nodes = ["a", "b", "c"].map(|id| node(id, &[], agent(id, ""), None)).to_vec();
    let mut spec = spec(nodes);
    spec.limits.concurrent = 1;
    let mut world = World::new(spec).go();
    let ask = ("ask_user", json!({"question": "?"}));
    world.complete(EffectKey::Model { agent: 0, step: 1 }, calls(&[ask.clone(), ask]));
    let of_b = EffectKey::Model { agent: 1, step: 1 };
    assert_eq!(world.wanted().iter().map(|(key, _)| *key).collect::<Vec<_>>(), [of_b], "one slot, one node");
    world.tell(Input::Answer { question: 0, answer: "x".into() }).unwrap();
    world.tell(Input::Answer { question: 1, answer: "y".into() }).unwrap();
    assert_eq!(world.wanted().len(), 1, "b has the slot");
    world.complete(of_b, says("done"));
    assert_eq!(
        world.wanted()[0].0,
        EffectKey::Model { agent: 0, step: 2 },
        "who was there first comes first"
    );
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn a_question_and_a_tool_call_in_one_answer_keep_the_slot_until_the_tool_is_done() {
    let nodes = ["a", "b"].map(|id| node(id, &[], agent(id, ""), None)).to_vec();
    let mut spec = spec(nodes);
    spec.limits.concurrent = 1;
    let mut world = World::new(spec).go();
    let (ask, read) = (("ask_user", json!({"question": "?"})), ("Read", json!({})));
    world.complete(EffectKey::Model { agent: 0, step: 1 }, calls(&[ask, read]));
    let of_a = EffectKey::Tool { agent: 0, step: 1, index: 1 };
    assert_eq!(world.wanted().iter().map(|(key, _)| *key).collect::<Vec<_>>(), [of_a]);
    world.complete(of_a, Completion::Tool { content: "ok".into(), is_error: false, used: None });
    assert_eq!(world.wanted()[0].0, EffectKey::Model { agent: 1, step: 1 });
}

#[test]
fn a_question_of_an_agent_that_was_cancelled_is_withdrawn() {
    let mut asking = node("a", &[], agent("a", ""), Some("A"));
    asking.optional = true;
    let mut world = World::new(spec(vec![asking, node("b", &[], agent("b", ""), None)])).go();
    let ask = |agent| EffectKey::Model { agent, step: 1 };
    world.complete(ask(0), calls(&[("ask_user", json!({"question": "?"}))]));
    world.complete(ask(1), calls(&[("ask_user", json!({"question": "?"}))]));
    assert_eq!(world.run.open_questions().map(|(at, _)| at).collect::<Vec<_>>(), [0, 1]);
    let target = Target::Agent(AgentPath::new("a"));
    world.tell(Input::Direct { verb: Verb::Cancel, target, text: None }).unwrap();
    assert_eq!(world.run.open_questions().map(|(at, _)| at).collect::<Vec<_>>(), [1]);
    assert!(world.tell(Input::Answer { question: 0, answer: "late".into() }).is_err());
    world.tell(Input::Answer { question: 1, answer: "x".into() }).unwrap();
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn giving_up_what_may_have_happened_does_not_try_it_another_way() {
    let mut once = node("once", &[], script(EffectClass::Once), Some("A"));
    (once.fallback_inline, once.optional) = (true, true);
    let mut world = World::new(spec(vec![once])).go();
    world.tell(Input::Recover { epoch: 2 }).unwrap();
    world.tell(Input::Answer { question: 0, answer: "fail".into() }).unwrap();
    assert!(world.run.agents.is_empty(), "no inline fallback");
    assert_eq!(world.run.variables["A"], Value::Null);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn raising_a_budget_brings_back_everything_that_was_under_way() {
    let mut spec = spec(vec![
        node("a", &[], agent("a", ""), None),
        node("b", &[], agent("b", ""), None),
        node("read", &[], script(EffectClass::Read), None),
        node("once", &[], script(EffectClass::Once), None),
    ]);
    spec.limits.wall_ms = Some(100);
    let limits = Limits { wall_ms: None, ..spec.limits.clone() };
    let mut world = World::new(spec).go();
    world.complete(EffectKey::Model { agent: 0, step: 1 }, calls(&[("Read", json!({}))]));
    let tool = EffectKey::Tool { agent: 0, step: 1, index: 0 };
    world.complete(tool, Completion::Tool { content: String::new(), is_error: false, used: None });
    world.now = 100;
    world.tell(Input::Tick).unwrap();
    assert_eq!(world.outcome(), Outcome::BudgetExhausted);
    assert!(world.wanted().is_empty());
    world.tell(Input::Raise { limits }).unwrap();
    let keys: Vec<EffectKey> = world.wanted().into_iter().map(|(key, _)| key).collect();
    let models = [EffectKey::Model { agent: 0, step: 2 }, EffectKey::Model { agent: 1, step: 1 }];
    assert_eq!(keys, [first(2), models[0], models[1]], "the once-only script was stopped: nobody knows");
    world.perform(|_| 0, &plain);
    assert_eq!(world.run.status(), "awaiting_input");
    world.tell(Input::Answer { question: 0, answer: "done".into() }).unwrap();
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn a_plain_skill_at_its_step_limit_goes_on_when_the_limit_is_raised() {
    let mut single = spec(Vec::new());
    single.single = Some("Read.".into());
    single.limits.steps = 2;
    let limits = Limits { steps: 4, ..single.limits.clone() };
    let mut world = World::new(single).go();
    let reading = |effect: &Effect, run: &Run| match effect {
        Effect::CallModel { step: 1 | 2, .. } => calls(&[("Read", json!({}))]),
        _ => plain(effect, run),
    };
    world.perform(|_| 0, &reading);
    assert_eq!(world.outcome(), Outcome::BudgetExhausted);
    world.tell(Input::Raise { limits }).unwrap();
    assert!(world.run.agents[0].messages.last().unwrap().text().contains("more room"));
    world.perform(|_| 0, &reading);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn pause_holds_the_next_effect_and_resuming_one_leaves_the_others_paused() {
    let nodes = ["a", "b"].map(|id| node(id, &[], agent(id, ""), None)).to_vec();
    let mut world = World::new(spec(nodes)).go();
    let direct = |verb, target: &str| Input::Direct {
        verb,
        target: if target == "all" { Target::All } else { Target::Agent(AgentPath::new(target)) },
        text: None,
    };
    world.tell(direct(Verb::Pause, "all")).unwrap();
    assert!(world.tell(direct(Verb::Pause, "all")).is_err());
    for agent in [0, 1] {
        world.complete(EffectKey::Model { agent, step: 1 }, calls(&[("Read", json!({}))]));
        world.complete(
            EffectKey::Tool { agent, step: 1, index: 0 },
            Completion::Tool { content: String::new(), is_error: false, used: None },
        );
    }
    assert!(world.wanted().is_empty(), "nobody asks a model while paused");
    assert_eq!(world.run.status(), "paused");
    world.tell(direct(Verb::Resume, "a")).unwrap();
    assert_eq!(world.wanted().len(), 1);
    assert!(world.tell(direct(Verb::Resume, "a")).is_err());
    assert_eq!(world.run.agent_status(1), AgentStatus::Paused);
    world.tell(direct(Verb::Resume, "all")).unwrap();
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn redirect_reaches_the_next_request_and_cancel_stops_at_once() {
    let mut b = node("b", &[], agent("b", ""), Some("B"));
    b.optional = true;
    let mut world = World::new(spec(vec![node("a", &[], agent("a", ""), None), b])).go();
    let at = |path: &str| Target::Agent(AgentPath::new(path));
    let direct =
        |verb, target, text: Option<&str>| Input::Direct { verb, target, text: text.map(str::to_owned) };
    assert!(world.tell(direct(Verb::Redirect, at("a"), Some(" "))).is_err());
    assert!(world.tell(direct(Verb::Redirect, at("ghost"), Some("x"))).is_err());
    world.tell(direct(Verb::Redirect, at("a"), Some("只看第一章"))).unwrap();
    world.complete(EffectKey::Model { agent: 0, step: 1 }, calls(&[("Read", json!({}))]));
    world.complete(
        EffectKey::Tool { agent: 0, step: 1, index: 0 },
        Completion::Tool { content: String::new(), is_error: false, used: None },
    );
    assert!(world.run.agents[0].messages.last().unwrap().text().contains("只看第一章"));
    world.run.take_changes();
    world.tell(direct(Verb::Cancel, at("b"), None)).unwrap();
    assert!(world.run.take_changes().contains(&Change::Dropped(EffectKey::Model { agent: 1, step: 1 })));
    assert_eq!(world.run.variables["B"], Value::Null);
    // A late answer of the cancelled agent changes nothing.
    let before = world.log.len();
    world.complete(EffectKey::Model { agent: 1, step: 1 }, says("late"));
    assert_eq!(world.log.len(), before);
    world.tell(direct(Verb::Cancel, Target::All, None)).unwrap();
    assert_eq!(world.outcome(), Outcome::Aborted);
    assert!(world.tell(direct(Verb::Pause, Target::All, None)).is_err());
}

#[test]
fn a_plain_skill_is_one_agent_with_one_result() {
    let mut single = spec(Vec::new());
    single.single = Some("Write {{braces}} as they are.".into());
    let mut world = World::new(single).go();
    world.perform(|_| 0, &|_, run| {
        assert!(run.agents[0].messages[0].text().contains("{{braces}}"));
        says("done")
    });
    assert_eq!(world.outcome(), Outcome::Complete);
    assert_eq!(world.run.ended.unwrap().2, Some(json!("done")));
}

#[test]
fn after_a_crash_once_only_work_is_uncertain_and_the_rest_is_repeated() {
    let mut world = World::new(spec(vec![
        node("read", &[], script(EffectClass::Read), Some("A")),
        node("once", &[], script(EffectClass::Once), Some("B")),
    ]))
    .go();
    world.tell(Input::Recover { epoch: 2 }).unwrap();
    assert_eq!(world.wanted().len(), 1, "the read is wanted again, the other is not");
    assert!(world.kinds().contains(&"node.uncertain".to_owned()));
    world.perform(|_| 0, &plain);
    assert_eq!(world.run.status(), "awaiting_input");
    assert!(world.tell(Input::Answer { question: 0, answer: "maybe".into() }).is_err());
    world.tell(Input::Answer { question: 0, answer: "repeat".into() }).unwrap();
    assert_eq!(world.wanted()[0].0, EffectKey::Node { node: 1, attempt: 2 });
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn an_uncertain_tool_call_is_told_to_the_model() {
    let mut writer = agent("w", "");
    if let Work::Agent { access, .. } = &mut writer {
        *access = Access::ReadWrite;
    }
    let mut world = World::new(spec(vec![node("w", &[], writer, None)])).go();
    world.complete(EffectKey::Model { agent: 0, step: 1 }, calls(&[("Bash", json!({"command": "rm x"}))]));
    world.tell(Input::Recover { epoch: 2 }).unwrap();
    let Part::ToolResult(result) = &world.run.agents[0].messages.last().unwrap().parts[0] else { panic!() };
    assert!(result.is_error && result.content.contains("uncertain"));
    assert_eq!(world.wanted()[0].0, EffectKey::Model { agent: 0, step: 2 });
}

#[test]
fn malformed_and_empty_answers_get_another_try_but_not_for_ever() {
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), None)])).go();
    let mut tries = 0;
    while world.run.ended.is_none() {
        tries += 1;
        let (key, _) = world.wanted()[0].clone();
        world.complete(
            key,
            Completion::ModelFailed { fault: ModelFault::Malformed, message: "bad JSON".into() },
        );
    }
    assert_eq!(tries, 2, "one turn to repair it");
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), None)])).go();
    world.perform(|_| 0, &|_, _| says("  "));
    assert_eq!(world.outcome(), Outcome::Failed);
}

#[test]
fn five_hundred_calls_in_one_answer_are_bounded() {
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), None)])).go();
    let many: Vec<_> = (0..500).map(|n| ("Read", json!({"path": n.to_string()}))).collect();
    world.complete(EffectKey::Model { agent: 0, step: 1 }, calls(&many));
    assert_eq!(world.wanted().len(), 64);
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn every_event_round_trips_through_json() {
    let mut world = World::new(spec(vec![node("a", &[], agent("x", ""), Some("A"))])).go();
    world.complete(EffectKey::Model { agent: 0, step: 1 }, calls(&[("Read", json!({}))]));
    world.perform(|_| 0, &plain);
    for event in &world.log {
        let text = serde_json::to_string(event).unwrap();
        assert_eq!(&serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
    }
}

/// Random graphs of every kind of work.
fn plans() -> impl Strategy<Value = Vec<PlanNode>> {
    let work = prop_oneof![
        Just(Work::Noop),
        Just(agent("x", "{{ARGUMENTS}}")),
        Just(script(EffectClass::Read)),
        Just(script(EffectClass::Idempotent)),
        Just(Work::Gate),
        Just(Work::Inline { section: template("ask"), sets: Vec::new() }),
    ];
    prop::collection::vec(
        (work, prop::collection::vec(any::<prop::sample::Index>(), 0..3), any::<(bool, bool)>()),
        1..9,
    )
    .prop_map(|items| {
        let mut nodes: Vec<PlanNode> = Vec::new();
        for (at, (work, after, (optional, fallback))) in items.into_iter().enumerate() {
            let mut after: Vec<u32> = match at {
                0 => Vec::new(),
                at => after.iter().map(|index| index.index(at) as u32).collect(),
            };
            after.sort_unstable();
            after.dedup();
            let output = (!matches!(work, Work::Gate | Work::Noop)).then(|| format!("V{at}"));
            let mut node = node(&format!("n{at}"), &after, work, output.as_deref());
            (node.optional, node.fallback_inline) = (optional, fallback);
            nodes.push(node);
        }
        nodes
    })
}

/// Some effects fail, by their identity alone, so that every order of events gives the same results.
fn sometimes_failing(seed: u64) -> impl Fn(&Effect, &Run) -> Completion {
    move |effect, run| {
        let name = match effect {
            Effect::CallModel { agent, .. } => agent.to_string(),
            Effect::RunScript { node, .. } => node.clone(),
            _ => return plain(effect, run),
        };
        let hash = name.bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        match (effect, hash % 5) {
            (Effect::CallModel { .. }, 0) => {
                Completion::ModelFailed { fault: ModelFault::Rejected, message: "no".into() }
            }
            (Effect::RunScript { .. }, 0) => {
                Completion::ScriptFailed { message: words!("no", "否"), last_line: None }
            }
            _ => plain(effect, run),
        }
    }
}

mod budgets;
mod conversations;
mod delegation;
mod preparation;
mod sessions;
mod sub_skills;

/// A log can be damaged so that it still reads; then it is told as it is, and nothing wraps around to the beginning.
#[test]
fn numbers_at_their_end_in_a_log_stay_there() {
    let mut world = World::new(spec(vec![
        node("a", &[], agent("x", ""), None),
        node("b", &[], script(EffectClass::Read), None),
    ]))
    .go();
    for kind in [
        EventKind::ModelRequested {
            agent: 0,
            step: u32::MAX,
            purpose: Purpose::default(),
            reserve: Reserve::default(),
            max_tokens: None,
        },
        EventKind::NodeStarted { node: 1, attempt: u32::MAX, arguments: None },
        EventKind::DirectiveRecorded {
            generation: u64::MAX,
            verb: Verb::Pause,
            target: Target::All,
            text: None,
        },
    ] {
        world.run.apply(&Event { v: 1, seq: u64::MAX, at: i64::MAX, by: By::User, kind });
    }
    let answered = Answer {
        message: Message { role: Role::Assistant, parts: Vec::new() },
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    };
    let _ = world.run.clone().decide(Input::Recover { epoch: 2 }, i64::MAX);
    for (key, _) in world.wanted() {
        for completion in [
            Completion::Answered { answer: Box::new(answered.clone()), micro_usd: None },
            Completion::ModelFailed { fault: ModelFault::Malformed, message: String::new() },
            Completion::Script { stdout: String::new() },
        ] {
            let mut run = world.run.clone();
            let _ = run.decide(Input::Completed { key, completion }, i64::MAX);
            assert_eq!((run.seq, run.generation), (u64::MAX, u64::MAX));
        }
    }
}

/// How many cases a property runs: as many times more than usual as `FUGATO_CASES` is of 2,000.
pub(crate) fn cases(usual: u32) -> u32 {
    let wanted = std::env::var("FUGATO_CASES").ok().and_then(|text| text.parse::<u32>().ok());
    (usual.saturating_mul(wanted.unwrap_or(2_000)) / 2_000).max(1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(200), ..ProptestConfig::default() })]

    #[test]
    fn replay_gives_the_live_state(nodes in plans(), picks in prop::collection::vec(0usize..8, 40), seed in any::<u64>()) {
        let mut world = World::new(spec(nodes)).go();
        let mut picks = picks.into_iter().cycle();
        world.perform(|_| picks.next().unwrap(), &sometimes_failing(seed));
        let replayed = Run::replay(&world.log).unwrap();
        prop_assert_eq!(&replayed.variables, &world.run.variables);
        prop_assert_eq!(&replayed.nodes, &world.run.nodes);
        prop_assert_eq!(&replayed.agents, &world.run.agents);
        prop_assert_eq!(&replayed.ready, &world.run.ready);
        prop_assert_eq!(&replayed.runnable, &world.run.runnable);
        prop_assert_eq!((replayed.working, replayed.waiting, replayed.unended, replayed.seq),
            (world.run.working, world.run.waiting, world.run.unended, world.run.seq));
        prop_assert_eq!(replayed.ended, world.run.ended);
        prop_assert_eq!(world.log.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=world.log.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn a_crash_at_any_point_ends_the_same_and_repeats_nothing_completed(nodes in plans(), seed in any::<u64>()) {
        // Without aborts the results do not depend on the order, so they can be compared.
        let nodes: Vec<_> = nodes.into_iter().map(|mut node| { node.optional = true; node }).collect();
        let mut whole = World::new(spec(nodes)).go();
        whole.perform(|_| 0, &sometimes_failing(seed));
        for cut in whole.commits.clone() {
            let log: Vec<Event> = whole.log[..cut].to_vec();
            let run = Run::replay(&log).unwrap();
            let done: Vec<EffectKey> = completed_in(&log);
            let mut world = World { run, log, now: 1000, commits: Vec::new(), performed: HashMap::new() };
            world.tell(Input::Recover { epoch: 2 }).unwrap();
            world.perform(|_| 0, &sometimes_failing(seed));
            prop_assert_eq!(&world.run.variables, &whole.run.variables, "cut at {}", cut);
            prop_assert_eq!(world.outcome(), whole.outcome());
            for key in done {
                prop_assert!(!world.performed.contains_key(&key), "{:?} was done before the crash at {}", key, cut);
            }
        }
    }

    #[test]
    fn any_input_in_any_state_is_decided(nodes in plans(), inputs in prop::collection::vec((0u8..12, 0u32..4, 0u32..4, 0u32..3), 0..40)) {
        let mut world = World::new(spec(nodes));
        for (kind, a, b, c) in inputs {
            let target = if a == 0 { Target::All } else { Target::Agent(AgentPath::new(&format!("n{b}"))) };
            let direct = |verb| Input::Direct { verb, target: target.clone(), text: Some("x".into()) };
            let key = match c { 0 => EffectKey::Node { node: a, attempt: b }, 1 => EffectKey::Model { agent: a, step: b }, _ => EffectKey::Tool { agent: a, step: b, index: c } };
            let _ = world.tell(match kind {
                0 => Input::Go,
                1 => direct(Verb::Pause),
                2 => direct(Verb::Resume),
                3 => direct(Verb::Redirect),
                4 if a == 3 => direct(Verb::Cancel),
                5 => Input::Answer { question: a, answer: "repeat".into() },
                6 => Input::Recover { epoch: 2 },
                7 => Input::Completed { key, completion: says("x") },
                8 => direct(Verb::Restart),
                9 if a == 2 => Input::Raise { limits: Limits { wall_ms: Some(u64::from(b)), tokens: Some(u64::from(c) * 50), ..Limits::default() } },
                9 => Input::Raise { limits: Limits::default() },
                10 => Input::Tick,
                _ => match world.wanted().first() {
                    Some((key, effect)) => Input::Completed { key: *key, completion: plain(effect, &world.run) },
                    None => Input::Go,
                },
            });
            let replayed = Run::replay(&world.log).unwrap();
            prop_assert_eq!(&replayed.nodes, &world.run.nodes);
            prop_assert_eq!(&replayed.agents, &world.run.agents);
        }
    }
}

/// Effects whose outcome is in a log.
fn completed_in(log: &[Event]) -> Vec<EffectKey> {
    log.iter()
        .filter_map(|event| match &event.kind {
            EventKind::ModelAnswered { agent, step, .. } | EventKind::ModelFailed { agent, step, .. } => {
                Some(EffectKey::Model { agent: *agent, step: *step })
            }
            EventKind::ToolCompleted { agent, step, index, .. } => {
                Some(EffectKey::Tool { agent: *agent, step: *step, index: *index })
            }
            EventKind::NodeCompleted { node, .. } => Some(EffectKey::Node { node: *node, attempt: 1 }),
            _ => None,
        })
        .collect()
}
