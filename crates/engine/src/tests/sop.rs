//! Sessions that run programs: planned or given, checked, run as calls, and taken up by the next turn.

use super::{World, node, says, spec, template};
use crate::*;
use fugato_model::words;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

fn scripted(name: &str) -> (String, Arc<Callable>) {
    let work = CallableWork::Script {
        dir: format!("/skills/{name}"),
        entry: "main.sh".into(),
        class: EffectClass::Idempotent,
    };
    (name.to_owned(), Arc::new(Callable { description: format!("Does {name}."), work }))
}

fn desk(fixed: Option<&str>) -> Orchestrator {
    Orchestrator {
        name: "desk".into(),
        description: "A desk.".into(),
        instructions: "Be brief.".into(),
        session: SessionKind::Sop { fixed: fixed.map(str::to_owned), budget: SopBudget::default() },
        allowed: vec!["emit".into(), "join".into(), "break".into(), "stop".into()],
        preparation: None,
        model: None,
    }
}

fn run_of(orchestrator: Orchestrator) -> RunSpec {
    let work = Work::Session { orchestrator: Arc::new(orchestrator), args: template("{{ARGUMENTS}}") };
    let mut spec = spec(vec![node("desk", &[], work, Some("RESULT"))]);
    spec.skills = ["emit", "join", "break", "stop"].map(scripted).into();
    spec
}

/// What the scripts of the tests do.
fn script(effect: &Effect, _run: &Run) -> Completion {
    let Effect::RunScript { skill, arguments, .. } = effect else { panic!("{effect:?}") };
    let args: Vec<&str> =
        arguments["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    assert_eq!(arguments["prompt"], args.join(" "));
    let first = args.first().copied().unwrap_or_default();
    match skill.as_str() {
        "emit" => Completion::Script { stdout: format!("{first}\n") },
        "join" => Completion::Script { stdout: args.join("|") },
        "stop" => Completion::Script { stdout: json!({"cancel": first}).to_string() },
        _ => Completion::ScriptFailed {
            message: words!("exit code 1", "退出码 1"),
            last_line: Some(first.to_owned()).filter(|line| !line.is_empty()),
        },
    }
}

/// The planner says these, one after the other; scripts do what they do.
fn planned<'a>(answers: &'a [&'a str]) -> impl Fn(&Effect, &Run) -> Completion + 'a {
    move |effect, run| match effect {
        Effect::CallModel { agent, .. } => {
            assert_eq!(agent.as_str(), "desk/plan");
            let asked = run.session(0).unwrap().sop.plans() as usize;
            says(answers.get(asked).unwrap_or_else(|| panic!("plan {asked}")))
        }
        effect => script(effect, run),
    }
}

fn finished(spec: RunSpec, answer: &dyn Fn(&Effect, &Run) -> Completion) -> World {
    let mut world = World::new(spec).go();
    world.perform(|_| 0, answer);
    is_the_fold_of_its_log(&world);
    world
}

fn is_the_fold_of_its_log(world: &World) {
    let mut again = Run::replay(&world.log).unwrap();
    again.take_changes();
    let mut live = world.run.clone();
    live.take_changes();
    assert!(again == live);
}

fn values(world: &World) -> BTreeMap<String, String> {
    let interpreter = world.run.session(0).unwrap().sop.interpreter().unwrap();
    interpreter.values().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn called(world: &World) -> Vec<String> {
    let skills = world.log.iter().filter_map(|event| match &event.kind {
        EventKind::SkillCalled { skill, arguments, .. } => Some(format!("{skill} {}", arguments.join(" "))),
        _ => None,
    });
    skills.collect()
}

fn why(world: &World) -> String {
    world.run.ended.as_ref().unwrap().1.en.clone()
}

fn prompts(world: &World) -> Vec<String> {
    let told = world.log.iter().filter_map(|event| match &event.kind {
        EventKind::AgentStarted { prompt, .. } | EventKind::AgentContinued { prompt, .. } => {
            Some(prompt.clone())
        }
        _ => None,
    });
    told.collect()
}

#[test]
fn a_program_of_the_descriptor_runs_without_any_model() {
    let program = "# Begin.\n@a emit $input\n@b emit 2\n@c join $a $b\n@answer final_answer $c";
    let world = finished(run_of(desk(Some(program))), &script);
    assert_eq!(world.outcome(), Outcome::Complete);
    assert_eq!(called(&world), ["emit 2", "emit today", "join today 2"]);
    let expected = json!({"result": "today|2", "variables": {
        "a": "today", "b": "2", "c": "today|2", "answer": "today|2", "input": "today",
    }});
    let (_, _, result) = world.run.ended.clone().unwrap();
    assert_eq!(result, Some(expected));
    assert!(!world.kinds().iter().any(|kind| kind.starts_with("agent.") || kind.starts_with("model.")));
    let said: Vec<Option<&str>> = (1..4).map(|node| world.run.says(node)).collect();
    assert_eq!(said, [None, Some("Begin."), None]);
}

#[test]
fn outcomes_are_success_failure_and_cancellation_and_branches_go_on() {
    let program = "@a break boom\n@b join $a\n@c stop\n@d join $c\n@e emit ok\n@f break\n@g nothing-here x";
    let world = finished(run_of(desk(Some(program))), &script);
    assert_eq!(
        values(&world),
        [
            ("a", "fail:boom"),
            ("b", "undefined:waiting for a"),
            ("c", "canceled:command stop canceled (no reason provided)"),
            ("d", "canceled:because command stop canceled (no reason provided) via c"),
            ("e", "ok"),
            ("f", "fail:exit code 1"),
            ("g", "fail:unknown nothing-here"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    );
    assert_eq!(world.outcome(), Outcome::Failed);
    assert_eq!(
        why(&world),
        "the program came to no answer: @a: fail:boom; @f: fail:exit code 1; @g: fail:unknown nothing-here"
    );
}

#[test]
fn an_operator_cancels_a_command_and_the_rest_goes_on() {
    let mut world = World::new(run_of(desk(Some("@a emit 1\n@b emit 2\n@c join $a\n@d join $b")))).go();
    let target = Target::Agent(AgentPath::new("desk/a"));
    world.tell(Input::Direct { verb: Verb::Cancel, target, text: None }).unwrap();
    world.perform(|_| 0, &script);
    is_the_fold_of_its_log(&world);
    let values = values(&world);
    assert_eq!(values["a"], "canceled:cancelled by the operator");
    assert_eq!(values["c"], "canceled:because cancelled by the operator via a");
    assert_eq!((values["b"].as_str(), values["d"].as_str()), ("2", "2"));
    assert_eq!(called(&world), ["emit 1", "emit 2", "join 2"]);
}

#[test]
fn nothing_new_is_called_while_all_is_paused() {
    let mut world = World::new(run_of(desk(Some("@a emit 1\n@b emit $a")))).go();
    let pause = |verb| Input::Direct { verb, target: Target::All, text: None };
    world.tell(pause(Verb::Pause)).unwrap();
    world.perform(|_| 0, &script);
    assert_eq!(called(&world), ["emit 1"]);
    assert!(world.run.ended.is_none());
    world.tell(pause(Verb::Resume)).unwrap();
    world.perform(|_| 0, &script);
    assert_eq!(called(&world), ["emit 1", "emit 1"]);
    assert_eq!(world.outcome(), Outcome::Complete);
}

#[test]
fn a_planner_is_told_what_it_needs_and_asked_again_with_what_was_wrong() {
    let answers = ["I would rather not.", "```sop\n@a emti 1\n@b emit $c\n```", "```sop\n@a emti 1\n```"];
    let world = finished(run_of(desk(None)), &planned(&answers));
    assert_eq!(world.outcome(), Outcome::Failed);
    let last = "the program cannot be run: Line 1: unknown command emti for @a (did you mean emit?)";
    assert_eq!(why(&world), last);
    let prompts = prompts(&world);
    assert_eq!(prompts.len(), 3);
    assert!(prompts[0].contains("# The request\n\ntoday\n"), "{}", prompts[0]);
    assert!(prompts[1].contains("no line of it starts with @"), "{}", prompts[1]);
    assert!(prompts[2].contains("- Variable b depends on undefined variable c\n"), "{}", prompts[2]);
    let refused = world.kinds().iter().filter(|kind| *kind == "sop.refused").count();
    assert_eq!((refused, called(&world).len()), (3, 0));
    let system = world.run.agent("desk/plan").unwrap().1.system.to_string();
    for part in ["- emit: Does emit.\n", "Be brief.", "A desk.", "final_answer"] {
        assert!(system.contains(part), "{system}");
    }
}

#[test]
fn the_third_plan_may_be_the_right_one() {
    let answers = ["no", "```sop\n@a emit $b\n```", "```sop\n@a emit 1\n@b final_answer $a\n```"];
    let world = finished(run_of(desk(None)), &planned(&answers));
    assert_eq!(world.outcome(), Outcome::Complete);
    assert_eq!(world.run.ended.as_ref().unwrap().2.as_ref().unwrap()["result"], "1");
    assert_eq!(world.run.session(0).unwrap().sop.plans(), 3);
}

#[test]
fn a_program_that_comes_to_nothing_is_planned_anew_and_what_was_done_stays_done() {
    let answers = [
        "```sop\n@a emit 1\n@b break no $a\n@c final_answer $b\n```",
        "```sop\n@a emit 1\n@b emit other $a\n@c final_answer $a $b\n```",
    ];
    let world = finished(run_of(desk(None)), &planned(&answers));
    assert_eq!(world.outcome(), Outcome::Complete);
    assert_eq!(called(&world), ["emit 1", "break no 1", "emit other 1"]);
    assert_eq!(world.run.ended.as_ref().unwrap().2.as_ref().unwrap()["result"], "1 other");
    let told = &prompts(&world)[1];
    assert!(told.contains("- b: fail:no\n") && told.contains("- c: undefined:waiting for b\n"), "{told}");
    // The same once more would give the same once more.
    let world = finished(run_of(desk(None)), &planned(&[answers[0], answers[0]]));
    assert_eq!((world.outcome(), prompts(&world).len()), (Outcome::Failed, 2));
    assert_eq!(why(&world), "the program came to no answer: @b: fail:no");
    let gives_up = "```sop\n@a cannot_complete no flights\n```";
    let world = finished(run_of(desk(None)), &planned(&[gives_up]));
    assert_eq!((world.outcome(), why(&world).as_str()), (Outcome::Failed, "cannot be completed: no flights"));
}

#[test]
fn budgets_stop_a_program_clearly() {
    let program: String = (0..12).map(|at| format!("@v{at:02} break {at}\n@w{at:02} emit {at}\n")).collect();
    let limited = |budget: SopBudget| {
        let mut desk = desk(Some(&program));
        desk.session = SessionKind::Sop { fixed: Some(program.clone()), budget };
        let mut spec = run_of(desk);
        spec.limits.concurrent = 1;
        finished(spec, &script)
    };
    for (budget, said) in [
        (SopBudget { commands: 5, ..SopBudget::default() }, "the program may run 5 commands"),
        (
            SopBudget { prompt_chars: 9, ..SopBudget::default() },
            "the prompts of the program may have 9 characters together",
        ),
        (SopBudget { failures: 3, ..SopBudget::default() }, "command break failed 3 times"),
    ] {
        let world = limited(budget);
        assert_eq!(world.outcome(), Outcome::Failed);
        assert_eq!(why(&world), format!("the program was stopped: {said}"));
    }
}

#[test]
fn a_follow_up_keeps_what_did_not_change_and_runs_the_rest() {
    let first =
        finished(run_of(desk(None)), &planned(&["```sop\n@a emit 1\n@b join $a x\n@c final_answer $b\n```"]));
    let carried = first.run.carried_sop(0).unwrap();
    let mut next = run_of(desk(None));
    next.conversation = Some(Conversation {
        name: "c".into(),
        orchestrator: "desk".into(),
        snapshot: String::new(),
        carried: Some(carried.clone()),
        spoken_as: None,
    });
    let answers = ["```sop\n@a emit 1\n@b join $a y\n@c final_answer $b\n```"];
    let world = finished(next.clone(), &planned(&answers));
    assert_eq!(called(&world), ["join 1 y"]);
    assert_eq!(world.run.ended.as_ref().unwrap().2.as_ref().unwrap()["result"], "1|y");
    let told = &prompts(&world)[0];
    assert!(told.contains("@b join $a x\n") && told.contains("- b: 1|x\n"), "{told}");
    // A plan that cannot be run leaves what there was.
    let world = finished(next, &planned(&["no", "no", "no"]));
    assert_eq!(world.run.carried_sop(0), Some(carried));
}

#[test]
fn a_follow_up_is_checked_as_a_whole_program_is() {
    let first = finished(run_of(desk(None)), &planned(&["```sop\n@a emit 1\n@b join $a x\n```"]));
    let mut next = run_of(desk(None));
    next.conversation = Some(Conversation {
        name: "c".into(),
        orchestrator: "desk".into(),
        snapshot: String::new(),
        carried: first.run.carried_sop(0),
        spoken_as: None,
    });
    for (plan, said) in [
        ("@a emit 1\n@b jion $a x", "unknown command jion"),
        ("@a emit 1\n@b join $b x", "in a cycle: b -> b"),
        ("@a emit 1\n@b join $c x", "depends on undefined variable c"),
        ("@a emit 1\n@a join $a x", "Variable a declared multiple times"),
    ] {
        let answers = [format!("```sop\n{plan}\n```"), "```sop\n@a emit 1\n@b join $a $a\n```".to_owned()];
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        let world = finished(next.clone(), &planned(&answers));
        assert!(prompts(&world)[1].contains(said), "{}", prompts(&world)[1]);
        assert_eq!(called(&world), ["join 1 1"]);
        assert_eq!(values(&world)["b"], "1|1");
    }
    // What the turn before could call and this one cannot is not run, though it stands in the plan as it was.
    let mut less = next.clone();
    let mut orchestrator = desk(None);
    orchestrator.allowed.retain(|name| name != "emit");
    less.plan = run_of(orchestrator).plan;
    let plan = "```sop\n@a emit 1\n@b join $a y\n```";
    let world = finished(less, &planned(&[plan, plan, plan]));
    assert!(why(&world).contains("unknown command emit"), "{}", why(&world));
}

#[test]
fn a_request_that_makes_the_program_too_long_is_refused_and_says_so() {
    let mut spec = run_of(desk(Some("@a emit $input\n@answer final_answer $a")));
    spec.context.insert("ARGUMENTS".into(), json!("x".repeat(3 * 1024 * 1024)));
    let world = finished(spec, &script);
    assert_eq!(world.outcome(), Outcome::Failed);
    assert!(why(&world).starts_with("the program cannot be run: "), "{}", why(&world));
    assert!(why(&world).contains("bytes"), "{}", why(&world));
}

#[test]
fn a_given_program_is_run_again_only_where_the_request_matters() {
    let program = "@fixed emit same\n@own join $input $fixed\n@answer final_answer $own";
    let first = finished(run_of(desk(Some(program))), &script);
    let mut next = run_of(desk(Some(program)));
    next.context.insert("ARGUMENTS".into(), json!("tomorrow"));
    next.conversation = Some(Conversation {
        name: "c".into(),
        orchestrator: "desk".into(),
        snapshot: String::new(),
        carried: first.run.carried_sop(0),
        spoken_as: None,
    });
    let world = finished(next, &script);
    assert_eq!(called(&world), ["join tomorrow same"]);
}

#[test]
fn a_circle_of_orchestrators_is_refused_with_its_path() {
    let mut inner = desk(Some("@x desk again"));
    inner.name = "inner".into();
    inner.allowed = vec!["desk".into()];
    let mut outer = desk(Some("@x inner go\n@answer final_answer $x"));
    outer.allowed = vec!["inner".into()];
    let mut spec = run_of(outer.clone());
    let session = |orchestrator: Orchestrator| {
        let work = CallableWork::Session { orchestrator: Arc::new(orchestrator) };
        Arc::new(Callable { description: String::new(), work })
    };
    spec.skills = BTreeMap::from([("inner".to_owned(), session(inner)), ("desk".to_owned(), session(outer))]);
    let world = finished(spec, &script);
    assert_eq!(world.outcome(), Outcome::Failed);
    assert!(why(&world).contains("desk -> inner -> desk"), "{}", why(&world));
}

#[test]
fn a_program_that_another_one_calls_gives_its_answer_and_keeps_its_variables() {
    let mut inner = desk(Some("@x emit $input\n@own final_answer got $x"));
    inner.name = "inner".into();
    let mut outer = desk(Some("@x inner two words\n@answer final_answer $x"));
    outer.allowed.push("inner".into());
    let mut spec = run_of(outer);
    let work = CallableWork::Session { orchestrator: Arc::new(inner) };
    spec.skills.insert("inner".into(), Arc::new(Callable { description: String::new(), work }));
    let world = finished(spec, &script);
    assert_eq!(values(&world)["answer"], "got two words");
    assert_eq!(called(&world), ["inner two words", "emit two words"]);
}

#[test]
fn the_result_of_a_session_is_bounded_and_what_is_carried_on_is_whole() {
    let long = "长".repeat(10_000);
    let rest: String = (1..300).map(|at| format!("@v{at:03} assign $v000\n")).collect();
    let program = format!("@v000 assign {long}\n{rest}");
    let world = finished(run_of(desk(Some(&program))), &script);
    let result = world.run.ended.as_ref().unwrap().2.clone().unwrap();
    assert_eq!(result["variables"].as_object().unwrap().len(), 200);
    assert_eq!(result["variables_left_out"], 100);
    assert!(result["variables"]["v000"].as_str().unwrap().ends_with("… [8000 more characters]"));
    let carried = world.run.carried_sop(0).unwrap();
    assert_eq!(carried.values.len(), 300);
    assert_eq!(carried.values["v299"], SopValue::Success(long));
}

#[test]
fn a_crash_at_any_commit_loses_nothing_and_repeats_nothing_that_ended() {
    let program = "@a emit 1\n@b emit 2\n@c join $a $b\n@d stop $c\n@e break $c\n@f final_answer $c";
    let whole = finished(run_of(desk(Some(program))), &script);
    for cut in &whole.commits {
        let log = whole.log[..*cut].to_vec();
        let run = Run::replay(&log).unwrap();
        let mut world =
            World { run, log, now: whole.now, commits: Vec::new(), performed: Default::default() };
        let before = called(&world).len();
        world.tell(Input::Recover { epoch: 2 }).unwrap();
        world.perform(|_| 0, &script);
        is_the_fold_of_its_log(&world);
        assert_eq!(values(&world), values(&whole), "cut at {cut}");
        assert!(called(&world).len() == 5 && before <= 5);
    }
}

#[test]
fn ten_thousand_commands_are_two_events_each() {
    let count = 10_000;
    let program: String = (0..count).map(|at| format!("@v{at} nothing {at}\n")).collect();
    let mut wide = desk(Some(&program));
    wide.allowed = vec!["nothing".into()];
    let budget = SopBudget { commands: u32::MAX, prompt_chars: u32::MAX, ..SopBudget::default() };
    wide.session = SessionKind::Sop { fixed: Some(program), budget };
    let mut spec = run_of(wide);
    let noop = Callable { description: String::new(), work: CallableWork::Noop };
    spec.skills = BTreeMap::from([("nothing".to_owned(), Arc::new(noop))]);
    let mut world = World::new(spec).go();
    let next = |world: &World| world.run.wanted().next().map(|(key, _)| key);
    while let Some(key) = next(&world) {
        world.tell(Input::Completed { key, completion: Completion::Noop }).unwrap();
    }
    assert_eq!(world.outcome(), Outcome::Complete);
    // The run, the session's start, its program and its end, the run's end.
    assert_eq!(world.log.len(), 2 * count + 5);
    is_the_fold_of_its_log(&world);
}
