//! Delegation: a master, its subagents, their slots, limits, shares, messages and ends.

use super::*;
use crate::{AgentType, CallRef};

fn kinds() -> BTreeMap<String, Arc<AgentType>> {
    let kind = |name: &str, tools: Option<&[&str]>, steps: u32, access| {
        let mut kind = AgentType::named(name);
        kind.tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
        (kind.steps, kind.access) = (Some(steps), access);
        kind.prompt = format!("You are {name}.");
        (name.to_owned(), Arc::new(kind))
    };
    BTreeMap::from([
        kind("general-purpose", None, 20, Access::ReadWrite),
        kind("explore", None, 20, Access::ReadOnly),
        kind("browser", Some(&["browser-*", "WebSearch"]), 20, Access::ReadWrite),
        kind("extractor", Some(&["Read"]), 3, Access::ReadWrite),
    ])
}

fn master(limits: Limits) -> World {
    let spec = RunSpec {
        single: Some("Do the task.".into()),
        types: kinds(),
        guide: "Delegate.".into(),
        limits,
        ..spec(Vec::new())
    };
    World::new(spec).go()
}

fn main_step(step: u32) -> EffectKey {
    EffectKey::Model { agent: 0, step }
}

fn model_of(agent: u32, step: u32) -> EffectKey {
    EffectKey::Model { agent, step }
}

fn delegate(kind: &str, prompt: &str) -> (&'static str, Value) {
    ("Agent", json!({"description": "part", "prompt": prompt, "subagent_type": kind}))
}

fn live(world: &World) -> Vec<String> {
    let live = world.run.agents.iter().filter(|agent| agent.is_live());
    live.map(|agent| agent.path.to_string()).collect()
}

fn results(world: &World) -> Vec<Value> {
    let last = world.run.agents[0].messages.last().unwrap();
    let results = last.parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) => serde_json::from_str(&result.content).ok(),
        _ => None,
    });
    results.collect()
}

fn refusal(world: &World) -> String {
    serde_json::to_string(world.run.agents[0].messages.last().unwrap()).unwrap()
}

/// The log gives the same run, and so does every part of it.
fn replays(world: &World) {
    let mut again = Run::replay(&world.log).unwrap();
    again.take_changes();
    let mut run = world.run.clone();
    run.take_changes();
    assert_eq!(again, run);
}

#[test]
fn a_fan_out_runs_at_once_and_is_answered_together() {
    let mut world = master(Limits::default());
    let task = |site: &str| delegate("browser", site);
    world.complete(main_step(1), calls(&[task("A"), task("B"), task("C")]));
    assert_eq!(live(&world), ["main", "browser-1", "browser-2", "browser-3"]);
    assert_eq!(world.wanted().len(), 3, "the master waits and holds nothing");
    let child = world.run.agent("browser-2").unwrap().1;
    assert_eq!((child.system.as_ref(), child.messages[0].text().as_str()), ("You are browser.", "B"));
    assert_eq!((child.depth, child.parent, child.provider_call_id.as_str()), (1, Some(0), "c1"));
    world.complete(model_of(3, 1), says("third"));
    world.complete(model_of(1, 1), says("first"));
    assert!(!world.wanted().iter().any(|(key, _)| *key == main_step(2)));
    world.complete(model_of(2, 1), calls(&[("submit_result", json!({"result": {"n": 2}}))]));
    let results = results(&world);
    assert_eq!(results[0]["result"], json!("first"), "in the order of the calls");
    assert_eq!(results[1]["result"], json!({"n": 2}));
    assert_eq!(
        results[2],
        json!({
            "agentId": "browser-3", "state": "completed", "why": "it answered", "steps": 1,
            "usage": {"input_tokens": 10, "output_tokens": 5}, "result": "third",
        })
    );
    world.complete(main_step(2), says("all three"));
    assert_eq!(world.outcome(), Outcome::Complete);
    replays(&world);
}

#[test]
fn the_fifth_waits_for_a_slot_and_starts_when_one_is_free() {
    for count in [3usize, 4, 5, 64] {
        let mut world = master(Limits::default());
        let tasks: Vec<_> = (0..count).map(|at| delegate("explore", &format!("{at}"))).collect();
        world.complete(main_step(1), calls(&tasks));
        assert_eq!(live(&world).len(), 1 + count.min(4), "{count}");
        let positions: Vec<u32> = world
            .log
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::AgentQueued { position, .. } => Some(*position),
                _ => None,
            })
            .collect();
        let expected: Vec<u32> =
            (0..count).map(|at| u32::try_from((at + 1).saturating_sub(4)).unwrap()).collect();
        assert_eq!(positions, expected);
        for agent in 1..=u32::try_from(count).unwrap() {
            assert!(live(&world).len() <= 5);
            world.complete(model_of(agent, 1), says("done"));
        }
        assert_eq!(results(&world).len(), count);
        world.complete(main_step(2), says("end"));
        assert_eq!(world.outcome(), Outcome::Complete);
        replays(&world);
    }
}

#[test]
fn a_subagent_cannot_start_another_and_is_told_the_rule() {
    let mut world = master(Limits::default());
    world.complete(main_step(1), calls(&[delegate("general-purpose", "x")]));
    world.complete(model_of(1, 1), calls(&[delegate("explore", "deeper")]));
    assert_eq!(live(&world), ["main", "general-purpose-1"]);
    let told = serde_json::to_string(world.run.agents[1].messages.last().unwrap()).unwrap();
    assert!(told.contains("level 2 of 2"), "{told}");
    let mut deeper = master(Limits { depth: 2, ..Limits::default() });
    deeper.complete(main_step(1), calls(&[delegate("general-purpose", "x")]));
    deeper.complete(model_of(1, 1), calls(&[delegate("explore", "deeper")]));
    assert_eq!(live(&deeper), ["main", "general-purpose-1", "explore-1"]);
}

#[test]
fn wrong_calls_are_answered_with_what_would_be_right() {
    let mut world = master(Limits::default());
    world.complete(
        main_step(1),
        calls(&[
            ("Agent", json!({"prompt": "x", "subagent_type": "browsr"})),
            ("Agent", json!({"description": "no prompt"})),
            ("SendMessage", json!({"to": "nobody", "message": "hi"})),
            ("SendMessage", json!({"to": "main", "message": "hi"})),
            ("SendMessage", json!({"message": "hi"})),
        ]),
    );
    let told = refusal(&world);
    for part in
        ["Did you mean `browser`?", "`prompt` is missing", "there is no agent `nobody`", "that is you"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let plain = RunSpec { single: Some("x".into()), ..spec(Vec::new()) };
    let mut world = World::new(plain).go();
    world.complete(main_step(1), calls(&[delegate("browser", "x")]));
    assert!(refusal(&world).contains("there is no tool `Agent` in this run"));
}

#[test]
fn a_subagent_ends_at_its_own_limit_with_what_it_has() {
    let mut world = master(Limits { steps: 200, ..Limits::default() });
    world.complete(main_step(1), calls(&[delegate("extractor", "x")]));
    for step in 1..=2 {
        world.complete(model_of(1, step), calls(&[("Read", json!({"path": "a"}))]));
        let tool = EffectKey::Tool { agent: 1, step, index: 0 };
        world.complete(tool, Completion::Tool { content: "text".into(), is_error: false, used: None });
    }
    let asked = world.wanted();
    assert!(matches!(asked[0].1, Effect::CallModel { purpose: Purpose::WrapUp, .. }), "the last of three");
    world.complete(model_of(1, 3), says("half of it"));
    let report = &results(&world)[0];
    assert_eq!((&report["state"], &report["result"]), (&json!("limit_reached"), &json!("half of it")));
    assert_eq!(report["steps"], json!(3));
    replays(&world);
}

#[test]
fn it_has_the_tools_of_its_kind_and_not_more_than_its_parent() {
    let mut world = master(Limits::default());
    world.complete(main_step(1), calls(&[delegate("browser", "x"), delegate("explore", "y")]));
    world.complete(model_of(1, 1), calls(&[("Bash", json!({"command": "ls"}))]));
    let told = serde_json::to_string(world.run.agents[1].messages.last().unwrap()).unwrap();
    assert!(told.contains("there is no tool `Bash`") && told.contains("browser-click"), "{told}");
    world.complete(model_of(2, 1), calls(&[("Write", json!({"path": "a", "content": "x"}))]));
    let told = serde_json::to_string(world.run.agents[2].messages.last().unwrap()).unwrap();
    assert!(told.contains("there is no tool `Write`"), "{told}");
}

#[test]
fn a_message_reaches_a_running_agent_at_its_next_step() {
    let mut world = master(Limits::default());
    let background = json!({"prompt": "x", "subagent_type": "explore", "run_in_background": true});
    world.complete(main_step(1), calls(&[("Agent", background)]));
    assert_eq!(results(&world)[0]["agentId"], json!("explore-1"));
    let message = ("SendMessage", json!({"toolCallId": "c0", "message": "as JSON please"}));
    world.complete(main_step(2), calls(&[message]));
    world.complete(model_of(1, 1), calls(&[("Read", json!({"path": "a"}))]));
    let tool = EffectKey::Tool { agent: 1, step: 1, index: 0 };
    world.complete(tool, Completion::Tool { content: "text".into(), is_error: false, used: None });
    assert_eq!(world.run.agents[1].messages.last().unwrap().text(), "as JSON please");
    replays(&world);
}

#[test]
fn a_master_that_answers_early_hears_of_its_agents_in_the_background() {
    let mut world = master(Limits::default());
    let background = json!({"prompt": "x", "subagent_type": "explore", "run_in_background": true});
    world.complete(main_step(1), calls(&[("Agent", background)]));
    world.complete(main_step(2), says("I wait for it."));
    assert!(world.run.ended.is_none());
    world.complete(model_of(1, 1), says("found"));
    let told = world.run.agents[0].messages.last().unwrap().text();
    assert!(told.contains("explore-1") && told.contains("found"), "{told}");
    world.complete(main_step(3), says("It was found."));
    assert_eq!(world.outcome(), Outcome::Complete);
    assert_eq!(world.run.ended.as_ref().unwrap().2, Some(json!("It was found.")));
    replays(&world);
}

#[test]
fn a_stopped_agent_goes_on_with_its_whole_context() {
    let mut world = master(Limits::default());
    world.complete(main_step(1), calls(&[delegate("explore", "find it")]));
    world.complete(model_of(1, 1), says("found"));
    world.complete(
        main_step(2),
        calls(&[("SendMessage", json!({"to": "explore-1", "message": "and where?"}))]),
    );
    let child = world.run.agent("explore-1").unwrap().1;
    let texts: Vec<String> = child.messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["find it", "found", "and where?"]);
    world.complete(model_of(1, 2), says("there"));
    assert_eq!(results(&world)[0]["result"], json!("there"));
    assert_eq!(results(&world)[0]["steps"], json!(1), "steps are counted for each task");
    replays(&world);
}

#[test]
fn a_cancelled_agent_tells_its_parent_and_takes_no_message() {
    let mut world = master(Limits::default());
    world.complete(main_step(1), calls(&[delegate("explore", "x"), delegate("browser", "y")]));
    let target = Target::Agent(AgentPath::new("explore-1"));
    world.tell(Input::Direct { verb: Verb::Cancel, target: target.clone(), text: None }).unwrap();
    assert!(world.run.ended.is_none());
    world.complete(model_of(2, 1), says("done"));
    assert_eq!(results(&world)[0]["state"], json!("cancelled"));
    world.complete(main_step(2), calls(&[("SendMessage", json!({"to": "explore-1", "message": "go on"}))]));
    assert!(refusal(&world).contains("was cancelled"), "{}", refusal(&world));
    let refused = world.tell(Input::Send {
        to: target,
        from: "user".into(),
        text: "go on".into(),
        kind: MessageKind::Handoff,
    });
    assert!(refused.unwrap_err().words.en.contains("was cancelled"));
}

#[test]
fn a_master_that_ends_takes_its_agents_along() {
    let mut world = master(Limits::default());
    let background = |prompt: &str| {
        ("Agent", json!({"prompt": prompt, "subagent_type": "explore", "run_in_background": true}))
    };
    let tasks: Vec<_> = (0..8).map(|at| background(&at.to_string())).collect();
    world.complete(main_step(1), calls(&tasks));
    assert_eq!((live(&world).len(), world.run.queue.len()), (5, 4));
    world.complete(main_step(2), calls(&[("submit_result", json!({"result": "enough"}))]));
    assert_eq!(world.outcome(), Outcome::Complete);
    assert!(live(&world).is_empty() && world.run.queue.is_empty() && world.wanted().is_empty());
    replays(&world);
}

#[test]
fn a_person_can_have_a_finished_agent_go_on() {
    let mut world = master(Limits::default());
    world.complete(main_step(1), calls(&[delegate("explore", "find it")]));
    world.complete(model_of(1, 1), says("found"));
    let to = Target::Agent(AgentPath::new("explore-1"));
    world
        .tell(Input::Send { to, from: "user".into(), text: "look again".into(), kind: MessageKind::Handoff })
        .unwrap();
    world.complete(main_step(2), says("I have what I need."));
    assert!(world.run.ended.is_none(), "the master hears what comes of it");
    world.complete(model_of(1, 2), says("found more"));
    assert!(world.run.agents[0].messages.last().unwrap().text().contains("found more"));
    replays(&world);
}

#[test]
fn a_share_of_the_budget_is_kept_for_each_and_what_is_left_goes_back() {
    let limits = Limits { tokens: Some(10_000), ..Limits::default() };
    let mut world = master(limits);
    world.complete(main_step(1), calls(&[delegate("explore", "a"), delegate("explore", "b")]));
    let share = |world: &World, agent: usize| world.run.agents[agent].share.map(|share| share.tokens);
    let (first, second) = (share(&world, 1).unwrap(), share(&world, 2).unwrap());
    assert_eq!(first, (10_000 - 15) / 5);
    assert_eq!(second, (10_000 - 15 - first) / 4);
    assert_eq!(world.run.reserved.tokens, first + second);
    world.complete(model_of(1, 1), says("done"));
    assert_eq!(world.run.reserved.tokens, second, "what it did not use is free again");
    world.complete(model_of(2, 1), says("done"));
    assert!(world.run.agents[0].reserved.tokens == world.run.reserved.tokens, "only the master's own call");
    replays(&world);
}

#[test]
fn an_agent_whose_share_is_used_up_ends_and_the_others_go_on() {
    let limits = Limits { tokens: Some(3_000), ..Limits::default() };
    let mut world = master(limits);
    let long = "word ".repeat(400);
    world.complete(main_step(1), calls(&[delegate("explore", &long), delegate("explore", "b")]));
    assert_eq!(live(&world), ["main", "explore-2"], "the task alone is longer than the share");
    world.complete(model_of(2, 1), says("done"));
    let states: Vec<Value> = results(&world).iter().map(|result| result["state"].clone()).collect();
    assert_eq!(states, ["limit_reached", "completed"]);
    assert!(world.run.ended.is_none());
}

#[test]
fn a_crash_at_any_moment_changes_nothing_of_what_follows() {
    let answer = |effect: &Effect, run: &Run| match effect {
        Effect::CallModel { agent, step: 1, .. } if agent.as_str() == "main" => {
            let tasks: Vec<_> = (0..6).map(|at| delegate("explore", &format!("{at}"))).collect();
            calls(&tasks)
        }
        Effect::CallModel { agent, step: 2, .. } if agent.as_str() == "main" => {
            calls(&[("SendMessage", json!({"to": "explore-3", "message": "more"}))])
        }
        _ => plain(effect, run),
    };
    let mut whole = master(Limits::default());
    whole.perform(|_| 0, &answer);
    assert_eq!(whole.outcome(), Outcome::Complete);
    for length in whole.commits.clone() {
        let log = whole.log[..length].to_vec();
        let run = Run::replay(&log).unwrap();
        let mut again = World { run, log, now: 1000, commits: Vec::new(), performed: HashMap::new() };
        again.tell(Input::Recover { epoch: 2 }).unwrap();
        again.perform(|_| 0, &answer);
        assert_eq!(again.run.ended, whole.run.ended, "after {length} events");
        assert_eq!(again.run.agents.len(), 7);
    }
}

#[test]
fn who_waits_in_the_queue_can_be_told_apart_from_who_is_unknown() {
    let mut world = master(Limits { concurrent: 1, ..Limits::default() });
    let background = |prompt: &str| {
        ("Agent", json!({"prompt": prompt, "subagent_type": "explore", "run_in_background": true}))
    };
    world.complete(main_step(1), calls(&[background("a"), background("b")]));
    world.complete(main_step(2), calls(&[("SendMessage", json!({"to": "explore-2", "message": "x"}))]));
    assert!(refusal(&world).contains("has not started yet"), "{}", refusal(&world));
    let call = CallRef { agent: 0, step: 1, index: 1 };
    assert_eq!(world.run.queue.front().unwrap().call, Some(call));
}

#[test]
fn calls_of_one_name_have_names_of_their_own_and_who_is_meant_must_be_said() {
    let mut world = master(Limits::default());
    world.complete(main_step(1), calls(&[delegate("explore", "a")]));
    world.complete(model_of(1, 1), says("of a"));
    world.complete(main_step(2), calls(&[delegate("explore", "b")]));
    world.complete(model_of(2, 1), says("of b"));
    let of = |agent: usize| {
        let state = &world.run.agents[agent];
        (state.call_id.clone(), state.provider_call_id.clone())
    };
    assert_eq!(of(1), ("sub_0_1_0".to_owned(), "c0".to_owned()));
    assert_eq!(of(2), ("sub_0_2_0".to_owned(), "c0".to_owned()));
    let send = |to: &str| ("SendMessage", json!({"toolCallId": to, "message": "more"}));
    world.complete(main_step(3), calls(&[send("c0")]));
    assert!(refusal(&world).contains("started several agents (explore-1, explore-2)"), "{}", refusal(&world));
    world.complete(main_step(4), calls(&[send("sub_0_1_0")]));
    assert_eq!(live(&world), ["main", "explore-1"]);
    assert_eq!(world.run.agents[1].call_id, "sub_0_4_0", "a new task is a new stream");
    world.complete(model_of(1, 2), says("more of a"));
    // By the name of either call it is the same agent.
    world.complete(main_step(5), calls(&[send("sub_0_4_0")]));
    assert_eq!(live(&world), ["main", "explore-1"]);
    replays(&world);
}

#[test]
fn an_agent_that_left_memory_comes_back_from_the_log() {
    let mut world = master(Limits::default());
    world.complete(main_step(1), calls(&[delegate("explore", "find it")]));
    world.complete(model_of(1, 1), says("found"));
    assert_eq!(world.run.forgettable(world.now + KEPT_MS - 2, KEPT_MS), Vec::<u32>::new());
    assert_eq!(world.run.forgettable(world.now + KEPT_MS, KEPT_MS), [1], "the master stays");
    world.run.forget(1);
    assert!(world.run.agents[1].messages.is_empty() && world.run.forgettable(i64::MAX, KEPT_MS).is_empty());
    world.complete(main_step(2), calls(&[("SendMessage", json!({"to": "explore-1", "message": "where?"}))]));
    let wanted = world.wanted();
    let [(key @ EffectKey::Recall { agent: 1 }, Effect::Recall { messages: 2, .. })] = wanted.as_slice()
    else {
        panic!("{wanted:?}")
    };
    let messages = Run::replay(&world.log).unwrap().agents[1].messages.clone();
    world.complete(*key, Completion::Recalled { messages });
    let texts: Vec<String> = world.run.agents[1].messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["find it", "found", "where?"]);
    world.complete(model_of(1, 2), says("there"));
    assert_eq!(results(&world)[0]["result"], json!("there"));
    replays(&world);
}

#[test]
fn a_person_can_be_the_one_who_does_the_work() {
    let mut types = kinds();
    let mut person = AgentType::named("reviewer");
    person.executor = Executor::Human;
    types.insert("reviewer".into(), Arc::new(person));
    let spec = RunSpec { single: Some("x".into()), types, ..spec(Vec::new()) };
    let mut world = World::new(spec).go();
    world.complete(main_step(1), calls(&[delegate("reviewer", "Is this right?")]));
    assert_eq!(world.run.status(), "awaiting_input");
    let questions: Vec<String> =
        world.run.open_questions().map(|(_, question)| question.text.clone()).collect();
    assert_eq!(questions, ["Is this right?"]);
    world.tell(Input::Answer { question: 0, answer: "No.".into() }).unwrap();
    assert_eq!(results(&world)[0]["result"], json!("No."));
    world.complete(
        main_step(2),
        calls(&[("SendMessage", json!({"to": "reviewer-1", "message": "And now?"}))]),
    );
    assert_eq!(world.run.open_questions().map(|(at, _)| at).collect::<Vec<_>>(), [1]);
    world.tell(Input::Answer { question: 1, answer: "Yes.".into() }).unwrap();
    world.complete(main_step(3), says("It is right now."));
    assert_eq!(world.outcome(), Outcome::Complete);
    replays(&world);
}

/// A master whose only helper is this program.
fn helped_by(executor: Executor, steps: u32, limits: Limits) -> World {
    let mut types = kinds();
    let helper = AgentType { executor, steps: Some(steps), ..AgentType::named("helper") };
    types.insert("helper".into(), Arc::new(helper));
    let spec =
        RunSpec { single: Some("x".into()), types, limits, catalog: "Skills.".into(), ..spec(Vec::new()) };
    let mut world = World::new(spec).go();
    world.complete(main_step(1), calls(&[delegate("helper", "Do it.")]));
    world
}

fn keys(world: &World) -> Vec<EffectKey> {
    world.wanted().into_iter().map(|(key, _)| key).collect()
}

fn hosted(step: u32) -> Input {
    let agent = AgentPath::new("helper-1");
    Input::Hosted { agent, step, session: json!({"id": "s"}), used: None }
}

fn directed(verb: Verb, text: Option<&str>) -> Input {
    let target = Target::Agent(AgentPath::new("helper-1"));
    Input::Direct { verb, target, text: text.map(str::to_owned) }
}

#[test]
fn a_host_in_the_middle_of_its_turn_is_stopped_by_a_pause_and_goes_on_with_the_next_step() {
    let mut world = helped_by(Executor::Claude, 1, Limits::default());
    assert_eq!((&*world.run.agents[1].system, world.run.agents[1].model.as_str()), ("", "host:claude"));
    world.tell(hosted(1)).unwrap();
    world.tell(directed(Verb::Pause, None)).unwrap();
    assert_eq!((world.run.status(), world.wanted().len()), ("paused", 0));
    // Its last word comes too late for the turn; what it used counts.
    world.complete(model_of(1, 1), says("late"));
    let usage = Usage { input_tokens: Some(7), output_tokens: Some(3), ..Usage::default() };
    let used = Some(Used { usage, micro_usd: None });
    let agent = AgentPath::new("helper-1");
    world.tell(Input::Hosted { agent, step: 1, session: json!({"id": "s"}), used }).unwrap();
    assert_eq!((world.run.agents[1].spent.tokens(), world.wanted().len()), (10, 0));
    world
        .tell(Input::Send {
            to: Target::Agent(AgentPath::new("helper-1")),
            from: "user".into(),
            text: "Quick.".into(),
            kind: MessageKind::Handoff,
        })
        .unwrap();
    world.tell(directed(Verb::Resume, None)).unwrap();
    assert_eq!(keys(&world), [model_of(1, 2)]);
    // It heard the task; the message is new.
    assert_eq!((world.run.agents[1].cut_at, world.run.agents[1].messages.len()), (Some(1), 2));
    world.complete(model_of(1, 2), says("Done."));
    assert_eq!(
        (&results(&world)[0]["state"], &results(&world)[0]["result"]),
        (&json!("completed"), &json!("Done."))
    );
    replays(&world);
}

#[test]
fn what_a_host_was_told_in_the_middle_of_its_turn_is_not_told_again() {
    let send = |text: &str| Input::Send {
        to: Target::Agent(AgentPath::new("helper-1")),
        from: "user".into(),
        text: text.into(),
        kind: MessageKind::Handoff,
    };
    let heard = |step, count| Input::Heard { agent: AgentPath::new("helper-1"), step, count };
    let mut world = helped_by(Executor::Claude, 5, Limits::default());
    world.tell(hosted(1)).unwrap();
    world.tell(send("One.")).unwrap();
    world.tell(send("Two.")).unwrap();
    // Of another step, of nobody, of more than there is: nothing happens that did not.
    world.tell(heard(7, 1)).unwrap();
    world.tell(Input::Heard { agent: AgentPath::new("ghost"), step: 1, count: 1 }).unwrap();
    assert_eq!(world.run.agents[1].inbox, ["One.", "Two."]);
    world.tell(heard(1, 1)).unwrap();
    assert_eq!(world.run.agents[1].inbox, ["Two."]);
    assert_eq!(world.run.agents[1].messages.last().unwrap().text(), "One.", "its conversation has it");
    // What it did not hear, it reads before it ends.
    world.complete(model_of(1, 1), says("Done?"));
    assert!(keys(&world).contains(&model_of(1, 2)), "{:?}", keys(&world));
    let told = world.run.agents[1].messages.last().unwrap().text();
    assert!(told.contains("Two.") && !told.contains("One."), "{told}");
    world.tell(heard(1, 99)).unwrap();
    assert_eq!(world.run.agents[1].messages.last().unwrap().text(), told, "of a step that is over");
    replays(&world);
}

#[test]
fn a_redirect_stops_a_host_and_a_model_finishes_its_answer_first() {
    let mut world = helped_by(Executor::Codex, 5, Limits::default());
    // Nothing was heard of its conversation: it may not know its task, and is told it again.
    world.tell(directed(Verb::Redirect, Some("Something else."))).unwrap();
    assert_eq!((keys(&world), world.run.agents[1].cut_at), (vec![model_of(1, 2)], None));
    world.tell(hosted(2)).unwrap();
    world.tell(directed(Verb::Redirect, Some("A third thing."))).unwrap();
    assert_eq!((keys(&world), world.run.agents[1].cut_at), (vec![model_of(1, 3)], Some(2)));
    replays(&world);
    let mut world = helped_by(Executor::Model, 5, Limits::default());
    world.tell(directed(Verb::Redirect, Some("Something else."))).unwrap();
    assert_eq!(keys(&world), [model_of(1, 1)]);
}

#[test]
fn a_program_runs_once_whatever_it_prints_and_needs_no_budget() {
    let limits = Limits { micro_usd: Some(1), tokens: Some(100_000), ..Limits::default() };
    let command = vec!["./helper".to_owned()];
    let mut types = kinds();
    let helper = AgentType { executor: Executor::Script { command }, ..AgentType::named("helper") };
    types.insert("helper".into(), Arc::new(helper));
    let rates = BTreeMap::from([("m".to_owned(), Rate::default())]);
    let spec =
        RunSpec { single: Some("x".into()), types, limits, rates, model: "m".into(), ..spec(Vec::new()) };
    let mut world = World::new(spec).go();
    world.complete(main_step(1), calls(&[delegate("helper", "Do it.")]));
    world.complete(model_of(1, 1), says(""));
    assert_eq!(
        (&results(&world)[0]["state"], &results(&world)[0]["steps"]),
        (&json!("completed"), &json!(1))
    );
}

fn guarded(mode: permission::Mode, deny: &[&str]) -> World {
    let rules = permission::Rules {
        mode,
        deny: deny.iter().map(|rule| rule.parse().unwrap()).collect(),
        ..Default::default()
    };
    let permissions = permission::Permissions { rules, project: "/p".into(), home: None };
    World::new(RunSpec { single: Some("x".into()), types: kinds(), permissions, ..spec(Vec::new()) }).go()
}

#[test]
fn a_call_that_must_be_allowed_waits_for_a_person_however_long() {
    let bash = |command: &str| ("Bash", json!({"command": command}));
    let mut world = guarded(permission::Mode::Ask, &[]);
    world.complete(main_step(1), calls(&[bash("make"), ("Read", json!({"path": "a"}))]));
    let read = EffectKey::Tool { agent: 0, step: 1, index: 1 };
    world.complete(read, Completion::Tool { content: "text".into(), is_error: false, used: None });
    assert_eq!((world.run.status(), world.wanted().len()), ("awaiting_input", 0));
    let (number, question) = world.run.open_questions().next().unwrap();
    assert!(question.text.contains("Bash: make") && question.text.contains("permission mode `ask`"));
    assert!(world.tell(Input::Answer { question: number, answer: "perhaps".into() }).is_err());
    world.tell(Input::Answer { question: number, answer: "always".into() }).unwrap();
    let make = EffectKey::Tool { agent: 0, step: 1, index: 0 };
    world.complete(make, Completion::Tool { content: "made".into(), is_error: false, used: None });
    world.complete(main_step(2), calls(&[bash("make"), bash("make install")]));
    assert_eq!(world.wanted().len(), 1, "only what was allowed for good runs unasked");
    let question = world.run.open_questions().next().unwrap().0;
    world.tell(Input::Answer { question, answer: "deny: not on this machine".into() }).unwrap();
    let again = EffectKey::Tool { agent: 0, step: 2, index: 0 };
    world.complete(again, Completion::Tool { content: "made".into(), is_error: false, used: None });
    assert!(refusal(&world).contains("not on this machine"), "{}", refusal(&world));
    replays(&world);
}

#[test]
fn a_call_that_a_rule_forbids_is_not_made_and_the_rule_is_named() {
    let mut world = guarded(permission::Mode::Default, &["Bash(rm:*)"]);
    world.complete(main_step(1), calls(&[("Bash", json!({"command": "ls && rm -rf x"}))]));
    assert!(refusal(&world).contains("by the rule `Bash(rm:*)`"), "{}", refusal(&world));
    assert!(world.run.questions.is_empty());
}

#[test]
fn a_rule_may_forbid_a_kind_of_agent_or_have_a_person_asked() {
    let mut world = guarded(permission::Mode::DontAsk, &["Agent(explore)"]);
    world.complete(main_step(1), calls(&[delegate("explore", "look"), delegate("general-purpose", "do")]));
    assert_eq!(live(&world), ["main", "general-purpose-1"], "starting an agent changes nothing by itself");
    world.complete(model_of(1, 1), says("done"));
    assert!(refusal(&world).contains("by the rule `Agent(explore)`"), "{}", refusal(&world));

    let rules = permission::Rules { ask: vec!["Agent".parse().unwrap()], ..Default::default() };
    let permissions = permission::Permissions { rules, project: "/p".into(), home: None };
    let spec = RunSpec { single: Some("x".into()), types: kinds(), permissions, ..spec(Vec::new()) };
    let mut world = World::new(spec).go();
    world.complete(main_step(1), calls(&[delegate("explore", "look"), delegate("explore", "not there")]));
    assert_eq!((world.run.status(), live(&world).len()), ("awaiting_input", 1));
    world.tell(Input::Answer { question: 0, answer: "allow".into() }).unwrap();
    assert_eq!(live(&world), ["main", "explore-1"]);
    world.tell(Input::Answer { question: 1, answer: "deny: one is enough".into() }).unwrap();
    world.complete(model_of(1, 1), says("found"));
    let results = refusal(&world);
    assert!(results.contains("one is enough") && results.contains("found"), "{results}");
    world.complete(main_step(2), says("done"));
    assert_eq!(world.outcome(), Outcome::Complete);
    replays(&world);
}
#[test]
fn rules_about_kinds_of_agents_hold_however_the_kind_is_written() {
    let mut world = guarded(permission::Mode::Default, &["Task(general-purpose)"]);
    let start = |kind: Value| ("Agent", json!({"prompt": "x", "subagent_type": kind}));
    let asks = [start(json!("general-purpose")), start(json!(" general-purpose ")), start(json!(""))];
    world.complete(main_step(1), calls(&asks));
    assert!(refusal(&world).contains("by the rule `Task(general-purpose)`"), "{}", refusal(&world));
    assert_eq!(world.run.agents.len(), 1);
    world.complete(main_step(2), calls(&[start(json!(" explore "))]));
    let explore = &world.run.agents[1];
    assert_eq!((explore.agent_type.as_str(), explore.path.as_str()), ("explore", "explore-1"));
    assert!(!explore.has_tool("Write"), "a space gives no rights");
    replays(&world);
}

#[test]
fn a_person_is_asked_before_an_agent_is_started_if_a_rule_says_so() {
    let mut world = guarded(permission::Mode::Default, &["SendMessage"]);
    Arc::make_mut(&mut world.run.spec).permissions.rules.ask = vec!["Agent".parse().unwrap()];
    world.complete(main_step(1), calls(&[delegate("explore", "find it"), delegate("explore", "and that")]));
    assert_eq!((world.run.status(), world.run.agents.len()), ("awaiting_input", 1));
    world.tell(Input::Answer { question: 0, answer: "always".into() }).unwrap();
    world.tell(Input::Answer { question: 1, answer: "deny: enough".into() }).unwrap();
    assert_eq!(world.run.agents.len(), 2);
    world.complete(model_of(1, 1), says("found"));
    assert!(refusal(&world).contains("enough"), "{}", refusal(&world));
    world.complete(main_step(2), calls(&[delegate("explore", "more")]));
    assert_eq!(world.run.agents.len(), 3, "allowed for good");
    world.complete(model_of(2, 1), says("found"));
    world.complete(main_step(3), calls(&[("SendMessage", json!({"to": "explore-1", "message": "?"}))]));
    assert!(refusal(&world).contains("by the rule `SendMessage`"), "{}", refusal(&world));
}

#[test]
fn a_question_without_words_is_not_put_to_a_person() {
    let mut world = guarded(permission::Mode::Default, &[]);
    world.complete(main_step(1), calls(&[("ask_user", json!({"question": " "}))]));
    assert!(world.run.questions.is_empty() && refusal(&world).contains("`question` is missing"));
}

#[test]
fn a_result_of_megabytes_does_not_fill_the_conversation_of_the_master() {
    let mut world = guarded(permission::Mode::Default, &[]);
    world.complete(main_step(1), calls(&[delegate("explore", "all of it")]));
    let long = format!("begin{}end", "字".repeat(1_000_000));
    world.complete(model_of(1, 1), says(&long));
    let result = results(&world)[0]["result"].as_str().unwrap().to_owned();
    assert!(result.len() < 70_000 && result.starts_with("begin") && result.ends_with("end"));
    assert!(result.contains("bytes left out"));
    replays(&world);
}

#[test]
fn what_is_said_to_an_agent_while_it_answers_is_seen_before_the_run_ends() {
    let mut types = kinds();
    let mut person = AgentType::named("reviewer");
    person.executor = Executor::Human;
    types.insert("reviewer".into(), Arc::new(person));
    let mut world = World::new(RunSpec { single: Some("x".into()), types, ..spec(Vec::new()) }).go();
    world.complete(main_step(1), calls(&[delegate("reviewer", "one"), delegate("explore", "find it")]));
    for (name, text) in [("reviewer-1", "two"), ("reviewer-1", "three"), ("explore-1", "and that")] {
        let to = Target::Agent(AgentPath::new(name));
        world
            .tell(Input::Send { to, from: "user".into(), text: text.into(), kind: MessageKind::Handoff })
            .unwrap();
    }
    world.tell(Input::Answer { question: 0, answer: "first".into() }).unwrap();
    world.complete(model_of(2, 1), says("found"));
    assert_eq!(
        (&results(&world)[0]["result"], &results(&world)[1]["result"]),
        (&json!("first"), &json!("found"))
    );
    let asked: Vec<String> = world.run.open_questions().map(|(_, question)| question.text.clone()).collect();
    assert_eq!(asked, ["two\n\nthree"]);
    world.complete(main_step(2), says("done"));
    assert!(world.run.ended.is_none(), "two of its agents are at work");
    world.complete(model_of(2, 2), says("that too"));
    world.tell(Input::Answer { question: 1, answer: "second".into() }).unwrap();
    world.complete(main_step(3), says("one more"));
    world.complete(main_step(4), says("done"));
    assert_eq!(world.outcome(), Outcome::Complete);
    replays(&world);
}

#[test]
fn a_subagent_that_comes_back_from_the_person_uses_its_own_share_while_others_wait_for_the_budget() {
    let part = |background: bool| {
        (
            "Agent",
            json!({"prompt": "part", "subagent_type": "general-purpose", "run_in_background": background}),
        )
    };
    let said = |effect: &Effect, _: &Run| match effect {
        Effect::CallModel { agent, step: 1, .. } if agent.as_str() == "main" => {
            calls(&[part(true), part(false)])
        }
        Effect::CallModel { agent, step: 1, .. } if agent.as_str() == "general-purpose-1" => {
            calls(&[("ask_user", json!({"question": "Which?"}))])
        }
        other => plain(other, &master(Limits::default()).run),
    };
    let mut came_back = 0;
    for tokens in (100..1_000).step_by(10) {
        let mut world = master(Limits { tokens: Some(tokens), concurrent: 1, ..Limits::default() });
        world.perform(|_| 0, &said);
        if world.run.ended.is_some() {
            continue;
        }
        assert!(world.tell(Input::Answer { question: 0, answer: "this".into() }).is_ok());
        came_back += 1;
        let moves = world.run.ended.is_some() || !world.wanted().is_empty();
        assert!(moves, "with {tokens} tokens nobody goes on: {}", world.run.status());
    }
    assert!(came_back > 5, "{came_back}");
}
