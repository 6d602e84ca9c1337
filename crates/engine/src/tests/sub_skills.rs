//! Sub-skills with phases of their own, from SKILL.md files through the planner to the end of a run.

use super::{World, plain, says};
use crate::planner::{self, Counted, SubPhases, SubSkillFacts, TooLarge};
use crate::*;
use fugato_model::chat::ModelFault;
use fugato_model::{RelPath, words};
use fugato_skill::phases::{Phased, Source, SubSkill, read};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn phased(phases: &str, body: &str) -> (Phased, String) {
    let text = format!("---\nname: s\ndescription: d\nphases:\n{phases}---\n{body}");
    let found = |path: &RelPath| SubSkill::Found {
        path: path.to_string(),
        text: "---\nmetadata:\n  fugato-run: main.sh\n---\nDo.\n".into(),
    };
    let (phased, problems) = read(Source { path: "SKILL.md", text: &text, side_file: None }, &found);
    (phased.unwrap_or_else(|| panic!("{problems:?}")), text)
}

fn facts() -> SubSkillFacts {
    SubSkillFacts { instructions: "Do.".into(), entry: Some("main.sh".into()), ..SubSkillFacts::default() }
}

/// The facts of a sub-skill that has these phases; its own parts are plain.
fn with_phases(phases: &str, body: &str, parts: BTreeMap<RelPath, SubSkillFacts>) -> SubSkillFacts {
    let (phased, text) = phased(phases, body);
    SubSkillFacts { phases: Some(Arc::new(SubPhases { phased, text, parts })), ..facts() }
}

const INNER: &str = "  - name: collect
    parallel: true
    subagents:
      - {skill: fetch, type: script, args: 'for {{ARGUMENTS}}', output: FACTS}
      - {skill: look, type: general-purpose, output: MORE, optional: true}
  - name: sum
    depends_on: [collect]
    subagents:
      - {skill: sum, type: explore, args: '{{FACTS.by}}', output: SUMMARY}
";

/// A skill that calls `brief` in its first phase, with these fields more, and uses what it gives in its second.
fn outer(more: &str, inner: &SubSkillFacts) -> RunSpec {
    let phases = format!(
        "  - name: gather
    subagents:
      - {{skill: brief, type: general-purpose, args: 'about {{{{ARGUMENTS}}}}', output: BRIEF{more}}}
  - name: report
    depends_on: [gather]
    subagents:
      - {{skill: x, type: explore, output: REPORT}}
"
    );
    let (phased, text) = phased(&phases, "");
    let known = |path: &RelPath| if path.as_str() == "brief" { inner.clone() } else { facts() };
    let (plan, nulls) = planner::plan(&phased, &text, &known).unwrap();
    plan.check().unwrap();
    let mut spec = super::spec(Vec::new());
    spec.plan = plan;
    spec.context.extend(nulls);
    spec.context.insert("TODAY".into(), json!("2026-02-15"));
    spec.context.insert("TARGET_DATE".into(), json!("2026-02-16"));
    spec
}

fn brief() -> SubSkillFacts {
    with_phases(INNER, "", BTreeMap::new())
}

fn number(run: &Run, id: &str) -> u32 {
    let at = run.spec.plan.nodes.iter().position(|node| node.id == id);
    u32::try_from(at.unwrap_or_else(|| panic!("no node {id}"))).unwrap()
}

fn status(run: &Run, id: &str) -> NodeStatus {
    run.nodes[number(run, id) as usize].status
}

/// The wanted effect of a node or an agent.
fn of(world: &World, id: &str) -> EffectKey {
    let is = |effect: &Effect| match effect {
        Effect::RunScript { node, .. } => node == id,
        Effect::CallModel { agent, .. } | Effect::RunTool { agent, .. } => agent.as_str() == id,
        _ => false,
    };
    let wanted = world.wanted();
    wanted.iter().find(|(_, effect)| is(effect)).unwrap_or_else(|| panic!("{id}: {wanted:?}")).0
}

fn replays(world: &World) {
    let mut replayed = Run::replay(&world.log).unwrap();
    let mut live = world.run.clone();
    replayed.take_changes();
    live.take_changes();
    assert!(replayed == live, "replay differs");
}

#[test]
fn its_phases_run_with_variables_of_their_own_and_the_last_one_gives_the_result() {
    let mut world = World::new(outer("", &brief())).go();
    let run = &world.run;
    assert_eq!(status(run, "gather/brief"), NodeStatus::Running);
    let inside = run.variables_of(number(run, "gather/brief/sum/sum"));
    assert_eq!(inside["ARGUMENTS"], json!("about today"));
    assert_eq!(inside["TARGET_DATE"], json!("2026-02-15"), "a date in its own arguments");
    assert!(!run.variables.contains_key("FACTS"));
    // Two at work inside, and the call takes no slot.
    assert_eq!((world.wanted().len(), run.busy()), (2, 2));
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
    assert_eq!(world.run.variables["BRIEF"], json!({"from": "gather/brief/sum/sum"}));
    assert!(["FACTS", "MORE", "SUMMARY"].iter().all(|name| !world.run.variables.contains_key(*name)));
    assert_eq!(world.run.variables["ARGUMENTS"], json!("today"));
    replays(&world);
}

#[test]
fn without_a_date_of_its_own_it_has_the_callers_target() {
    let mut spec = outer("", &brief());
    spec.context.insert("ARGUMENTS".into(), json!("tea"));
    let world = World::new(spec).go();
    let inside = world.run.variables_of(number(&world.run, "gather/brief/sum/sum"));
    assert_eq!((&inside["TARGET_DATE"], &inside["TODAY"]), (&json!("2026-02-16"), &json!("2026-02-15")));
}

#[test]
fn several_last_outputs_are_an_object_and_the_callers_own_name_is_unwrapped() {
    let two = "  - name: a
    parallel: true
    subagents:
      - {skill: x, type: script, output: ONE}
      - {skill: y, type: script, output: BRIEF}
";
    let mut world = World::new(outer("", &with_phases(two, "", BTreeMap::new()))).go();
    world.perform(|_| 0, &plain);
    assert_eq!(world.run.variables["BRIEF"], json!({"by": "gather/brief/a/y"}));
    let other = two.replace("BRIEF", "TWO");
    let mut world = World::new(outer("", &with_phases(&other, "", BTreeMap::new()))).go();
    world.perform(|_| 0, &plain);
    let both = json!({"ONE": {"by": "gather/brief/a/x"}, "TWO": {"by": "gather/brief/a/y"}});
    assert_eq!(world.run.variables["BRIEF"], both);
}

#[test]
fn inside_the_order_of_failures_is_its_own_and_around_it_the_callers() {
    for (more, then, outcome) in [
        ("", AfterFailure::Abort, Outcome::Failed),
        (", optional: true", AfterFailure::Null, Outcome::Complete),
        (", fallback: inline", AfterFailure::Inline, Outcome::Complete),
        (", fallback: inline, optional: true", AfterFailure::Inline, Outcome::Complete),
    ] {
        let mut spec = outer(more, &brief());
        // A script that may be repeated: what was stopped leaves no doubt.
        for node in &mut spec.plan.nodes {
            if let Work::Script { class, .. } = &mut node.work {
                *class = EffectClass::Read;
            }
        }
        let mut world = World::new(spec).go();
        // Optional inside: it goes on.
        let look = of(&world, "gather/brief/collect/look");
        let failed = || Completion::ModelFailed { fault: ModelFault::Unauthorized, message: "no".into() };
        world.complete(look, failed());
        assert_eq!(status(&world.run, "gather/brief/collect/look"), NodeStatus::Null);
        let fetch = of(&world, "gather/brief/collect/fetch");
        world.complete(fetch, Completion::ScriptFailed { message: words!("gone", "没了"), last_line: None });
        let call = number(&world.run, "gather/brief");
        let happened = world.log.iter().find_map(|event| match &event.kind {
            EventKind::NodeFailed { node, then, message } if *node == call => {
                Some((*then, message.en.clone()))
            }
            _ => None,
        });
        assert_eq!(happened, Some((then, "`gather/brief/collect/fetch`: gone".to_owned())), "{more}");
        assert_eq!(status(&world.run, "gather/brief/sum/sum"), NodeStatus::Skipped);
        replays(&world);
        world.perform(|_| 0, &plain);
        assert_eq!(world.outcome(), outcome, "{more}");
        let brief = world.run.variables.get("BRIEF").cloned();
        match then {
            AfterFailure::Abort => assert_eq!(brief, None),
            AfterFailure::Null => assert_eq!(brief, Some(Value::Null)),
            AfterFailure::Inline => assert_eq!(brief, Some(json!({"from": "main"}))),
        }
        replays(&world);
    }
}

#[test]
fn a_failure_inside_stops_who_works_beside_it_and_what_may_have_happened_is_not_done_inline() {
    let mut world = World::new(outer(", fallback: inline, optional: true", &brief())).go();
    // The once-only script is under way when the other one is cancelled by a person.
    let look = AgentPath::new("gather/brief/collect/look");
    let mut spec = outer(", fallback: inline, optional: true", &brief());
    for node in &mut spec.plan.nodes {
        node.optional = node.optional && !node.id.ends_with("look");
    }
    let mut other = World::new(spec).go();
    let key = of(&other, "gather/brief/collect/look");
    other.complete(key, Completion::ModelFailed { fault: ModelFault::Unauthorized, message: "no".into() });
    assert_eq!(status(&other.run, "gather/brief"), NodeStatus::Null, "nobody knows what the script did");
    assert!(other.run.nodes[number(&other.run, "gather/brief") as usize].had_uncertain_effect);
    assert!(!other.run.wanted().any(|(_, effect)| matches!(effect, Effect::RunScript { .. })));
    replays(&other);
    // Cancelled inside, where it is optional, it is null and the rest goes on.
    let cancel = Input::Direct { verb: Verb::Cancel, target: Target::Agent(look), text: None };
    world.tell(cancel).unwrap();
    assert_eq!(status(&world.run, "gather/brief/collect/look"), NodeStatus::Null);
    world.perform(|_| 0, &plain);
    assert_eq!(world.run.variables["BRIEF"], json!({"from": "gather/brief/sum/sum"}));
}

#[test]
fn a_crash_at_any_point_ends_the_same_and_no_finished_inner_work_is_done_again() {
    let mut whole = World::new(outer("", &brief())).go();
    whole.perform(|_| 0, &plain);
    for cut in whole.commits.clone() {
        let log: Vec<Event> = whole.log[..cut].to_vec();
        let run = Run::replay(&log).unwrap();
        let settled: Vec<String> = (0..run.nodes.len())
            .filter(|at| run.nodes[*at].status == NodeStatus::Done)
            .map(|at| run.spec.plan.nodes[at].id.clone())
            .collect();
        let mut again = World::new((*run.spec).clone());
        (again.run, again.log) = (run, log);
        again.tell(Input::Recover { epoch: 2 }).unwrap();
        let before = again.log.len();
        for _ in 0..4 {
            again.perform(|_| 0, &plain);
            let open: Vec<u32> = again.run.open_questions().map(|(number, _)| number).collect();
            for question in open {
                again.tell(Input::Answer { question, answer: "repeat".into() }).unwrap();
            }
        }
        if again.run.ended.as_ref().is_some_and(|_| cut == whole.log.len()) {
            continue;
        }
        assert_eq!(again.outcome(), Outcome::Complete, "cut at {cut}");
        assert_eq!(again.run.variables, whole.run.variables, "cut at {cut}");
        for event in &again.log[before..] {
            if let EventKind::NodeStarted { node, .. } = &event.kind {
                let id = &again.run.spec.plan.nodes[*node as usize].id;
                assert!(!settled.contains(id), "cut at {cut}: {id} ran again");
            }
        }
    }
}

#[test]
fn a_rerun_from_an_inner_node_keeps_what_does_not_depend_on_it() {
    let mut world = World::new(outer("", &brief())).go();
    world.perform(|_| 0, &plain);
    let mut spec = (*world.run.spec).clone();
    let from = |name: &str| {
        let kept = spec.plan.unaffected(&spec.plan.named(name), results(&world.log));
        kept.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(from("gather/brief/sum"), ["gather/brief/collect/fetch", "gather/brief/collect/look"]);
    assert_eq!(from("gather/brief/collect/fetch"), ["gather/brief/collect/look"]);
    assert_eq!(from("gather"), Vec::<String>::new());
    let whole_call = ["collect/fetch", "collect/look", "sum/sum"].map(|id| format!("gather/brief/{id}"));
    assert_eq!(from("report")[0], "gather/brief");
    assert_eq!(from("report")[1..], whole_call);
    spec.reused = spec.plan.unaffected(&spec.plan.named("gather/brief/sum"), results(&world.log));
    let mut again = World::new(spec).go();
    assert_eq!(again.wanted().len(), 1);
    again.perform(|_| 0, &plain);
    assert_eq!(again.outcome(), Outcome::Complete);
    assert_eq!(again.run.variables, world.run.variables);
    assert_eq!(again.performed.len(), 2, "the inner sum, and the report");
    assert_eq!(results(&again.log), results(&world.log), "a rerun of the rerun knows what both ran");
    replays(&again);
    // A whole call that is kept runs nothing inside.
    let mut spec = (*world.run.spec).clone();
    spec.reused = spec.plan.unaffected(&spec.plan.named("report"), results(&world.log));
    let mut again = World::new(spec).go();
    again.perform(|_| 0, &plain);
    assert_eq!((again.outcome(), again.performed.len()), (Outcome::Complete, 1));
    replays(&again);
}

#[test]
fn a_restart_begins_everything_inside_again() {
    let mut world = World::new(outer("", &brief())).go();
    let fetch = of(&world, "gather/brief/collect/fetch");
    world.complete(fetch, Completion::Script { stdout: "{\"by\": \"first\"}".into() });
    let restart = |id: &str| Input::Direct {
        verb: Verb::Restart,
        target: Target::Agent(AgentPath::new(id)),
        text: None,
    };
    world.tell(restart("gather/brief")).unwrap();
    assert_eq!(world.run.nodes[number(&world.run, "gather/brief") as usize].attempt, 2);
    assert!(of(&world, "gather/brief/collect/fetch") != fetch, "another attempt");
    assert!(!results(&world.log).contains_key("gather/brief/collect/fetch"), "what it had is not its result");
    of(&world, "gather/brief/collect/look.2");
    replays(&world);
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
    replays(&world);
}

#[test]
fn nobody_inside_may_more_than_the_caller_and_inline_phases_have_their_own_conversation() {
    let inner = "  - name: ask
    inline: true
    sets: [NAME]
  - name: write
    depends_on: [ask]
    subagents:
      - {skill: x, type: general-purpose, output: TEXT}
";
    let body = "\n# ask\n\nAsk about {{ARGUMENTS}}.\n";
    let mut spec = outer("", &with_phases(inner, body, BTreeMap::new()));
    for node in &mut spec.plan.nodes {
        if let Work::Phases { access, .. } = &mut node.work {
            *access = Access::ReadOnly;
        }
    }
    let mut world = World::new(spec).go();
    let main = of(&world, "gather/brief/main");
    let (_, state) = world.run.agent("gather/brief/main").unwrap();
    assert_eq!(state.access, Access::ReadOnly);
    assert!(state.messages[0].text().contains("Ask about about today."));
    world.complete(main, says("```json\n{\"NAME\": \"林\"}\n```"));
    let (_, state) = world.run.agent("gather/brief/write/x").unwrap();
    assert_eq!(state.access, Access::ReadOnly);
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
    assert!(!world.run.variables.contains_key("NAME"));
    assert_eq!(world.run.variables["BRIEF"], json!({"from": "gather/brief/write/x"}));
}

#[test]
fn levels_inside_levels_fail_outwards_and_end_inwards() {
    let deep = "  - name: deep
    subagents:
      - {skill: brief, type: general-purpose, output: DEEP}
";
    let parts = || BTreeMap::from([(RelPath::parse("brief").unwrap(), brief())]);
    let mut world = World::new(outer("", &with_phases(deep, "", parts()))).go();
    world.perform(|_| 0, &plain);
    assert_eq!(world.run.variables["BRIEF"], json!({"from": "gather/brief/deep/brief/sum/sum"}));
    let mut world = World::new(outer(", optional: true", &with_phases(deep, "", parts()))).go();
    let fetch = of(&world, "gather/brief/deep/brief/collect/fetch");
    world.complete(fetch, Completion::ScriptFailed { message: words!("gone", "没了"), last_line: None });
    let message = world.run.nodes[number(&world.run, "gather/brief") as usize].message.clone().unwrap();
    assert_eq!(message.en, "`gather/brief/deep/brief/collect/fetch`: gone");
    assert_eq!(status(&world.run, "gather/brief"), NodeStatus::Null);
    assert_eq!(status(&world.run, "gather/brief/deep/brief/sum/sum"), NodeStatus::Skipped);
    world.perform(|_| 0, &plain);
    assert_eq!(world.outcome(), Outcome::Complete);
    replays(&world);
}

#[test]
fn all_levels_together_keep_to_the_limits_and_many_ways_are_not_walked() {
    // Each level calls the next ten times: 10^8 ways.
    let mut inner = facts();
    for _ in 0..8 {
        let calls = "      - {skill: brief, type: explore}\n".repeat(10);
        let phases = format!("  - name: a\n    subagents:\n{calls}");
        let parts = BTreeMap::from([(RelPath::parse("brief").unwrap(), inner)]);
        inner = with_phases(&phases, "", parts);
    }
    let (top, text) = phased("  - name: a\n    subagents:\n      - {skill: brief, type: explore}\n", "");
    let planned = planner::plan(&top, &text, &|_| inner.clone());
    assert_eq!(planned.unwrap_err(), TooLarge { limit: 500, of: Counted::Phases });
}
