//! What becomes of descriptors: who may call what, and what is refused before anything runs.

use super::*;
use crate::runs::plan_run;
use fugato_engine::Access;
use fugato_skill::Inventory;
use std::path::Path;

fn write(root: &Path, path: &str, text: &str) {
    let full = root.join(path);
    std::fs::create_dir_all(full.parent().unwrap()).unwrap();
    std::fs::write(full, text).unwrap();
}

fn oskill(root: &Path, name: &str, rest: &str) {
    write(root, &format!("{name}/oskill.md"), &format!("# {name}\n## Description\nDoes {name}.\n{rest}"));
}

fn plain(root: &Path, name: &str, more: &str) {
    let text = format!("---\nname: {name}\ndescription: About {name}.\n{more}---\nDo {name}.\n");
    write(root, &format!("{name}/SKILL.md"), &text);
}

fn inventory(root: &Path) -> Arc<Inventory> {
    Arc::new(crate::discover_paths(&[root.to_owned()]).inventory)
}

fn planned(root: &Path, name: &str) -> Result<(RunSpec, Vec<Diagnostic>), StartError> {
    planned_with(root, name, Started::default())
}

fn planned_with(root: &Path, name: &str, started: Started) -> Result<(RunSpec, Vec<Diagnostic>), StartError> {
    let installed = inventory(root);
    let skill = installed.get(name).unwrap().clone();
    plan_run(&skill, &Started { installed, arguments: "a request".to_owned(), ..started })
}

fn session(spec: &RunSpec) -> &Orchestrator {
    match &spec.plan.nodes[..] {
        [PlanNode { work: Work::Session { orchestrator, .. }, .. }] => orchestrator,
        other => panic!("{other:?}"),
    }
}

fn codes(warnings: &[Diagnostic]) -> Vec<Code> {
    warnings.iter().map(|warning| warning.code).collect()
}

#[test]
fn every_kind_of_skill_is_pinned_as_what_a_call_of_it_becomes() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    oskill(root, "desk", "## Allowed Skills\n- read\n- count\n- brief\n- inner\n## Session: loop\n");
    plain(root, "read", "");
    plain(root, "count", "metadata:\n  fugato-run: main.sh\n  fugato-effect: read\n");
    write(root, "count/main.sh", "#!/bin/sh\necho 1\n");
    let phases = "phases:\n  - name: get\n    subagents:\n      - {skill: _sub/x, type: script, output: X}\n";
    plain(root, "brief", phases);
    write(
        root,
        "brief/_sub/x/SKILL.md",
        "---\nname: x\ndescription: d\nmetadata:\n  fugato-run: x.sh\n---\nX.\n",
    );
    write(root, "brief/_sub/x/x.sh", "#!/bin/sh\n");
    oskill(root, "inner", "## Allowed Skills\n- count\n## SOP\n@a count 1\n@b final_answer $a\n");
    let (spec, warnings) = planned(root, "desk").unwrap();
    assert_eq!(warnings, []);
    let desk = session(&spec);
    assert_eq!(desk.session, SessionKind::Loop { steps: 20 });
    assert_eq!(desk.allowed, ["read", "count", "brief", "inner"]);
    assert_eq!(desk.preparation, None);
    let work = |name: &str| &spec.skills[name].work;
    let CallableWork::Agent { agent_type, access, instructions, .. } = work("read") else { panic!() };
    assert_eq!(
        (agent_type.as_str(), *access, instructions.as_str()),
        ("general-purpose", Access::ReadWrite, "Do read.")
    );
    assert_eq!(spec.skills["read"].description, "About read.");
    let CallableWork::Script { dir, entry, class } = work("count") else { panic!() };
    assert!(dir.ends_with("count") && entry == "main.sh" && *class == fugato_engine::EffectClass::Read);
    let CallableWork::Phases { plan, .. } = work("brief") else { panic!() };
    let dirs: Vec<_> = plan
        .nodes
        .iter()
        .filter_map(|node| match &node.work {
            Work::Script { dir, skill, .. } => {
                Some((dir.clone().unwrap().ends_with("_sub/x"), skill.as_str()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(dirs, [(true, "brief/_sub/x")]);
    assert!(spec.digests.contains_key("count/main.sh") && spec.digests.contains_key("brief/_sub/x/x.sh"));
    let CallableWork::Session { orchestrator } = work("inner") else { panic!() };
    let SessionKind::Sop { fixed: Some(program), .. } = &orchestrator.session else { panic!() };
    assert!(program.contains("@a count") && orchestrator.allowed == ["count"]);
}

#[test]
fn the_four_states_of_a_list_and_of_that_of_preparation() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    plain(root, "a", "");
    plain(root, "b", "");
    let lists = |rest: &str| {
        oskill(root, "desk", &format!("## Preparation\nLook.\n{rest}"));
        let (spec, warnings) = planned(root, "desk").unwrap();
        let desk = session(&spec);
        let prep = desk.preparation.clone().unwrap().allowed;
        (desk.allowed.join(" "), prep.join(" "), codes(&warnings))
    };
    let told = |main: &str, prep: &str, codes: &[Code]| (main.to_owned(), prep.to_owned(), codes.to_vec());
    assert_eq!(lists(""), told("a b", "a b", &[Code::F1201]));
    assert_eq!(lists("## Allowed Skills\n"), told("", "", &[Code::F1202]));
    assert_eq!(lists("## Allowed Skills\n- a\n"), told("a", "a", &[]));
    assert_eq!(lists("## Allowed Skills\n- a\n- gone\n"), told("a", "a", &[Code::F1204]));
    assert_eq!(lists("## Allowed Skills\n- gone\n"), told("", "", &[Code::F1204]));
    assert_eq!(lists("## Allowed Skills\n- a\n## Allowed-Prep-Skills\n"), told("a", "", &[]));
    assert_eq!(lists("## Allowed Skills\n- a\n## Allowed-Prep-Skills\n- b\n"), told("a", "b", &[]));
}

#[test]
fn a_circle_of_lists_is_refused_with_the_way_and_an_open_list_goes_around_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    oskill(root, "a", "## Allowed Skills\n- b\n");
    oskill(root, "b", "## Allowed Skills\n- c\n");
    oskill(root, "c", "## Allowed Skills\n- a\n");
    plain(root, "work", "");
    let Err(StartError::Invalid(told)) = planned(root, "a") else { panic!() };
    assert_eq!((told.len(), told[0].code), (1, Code::F1205));
    assert!(told[0].message.en.ends_with("a -> b -> c -> a"), "{}", told[0].message.en);
    assert!(told[0].path.ends_with("c/oskill.md") && told[0].span.unwrap().line == 5);
    // Nobody wrote that this one calls any of them.
    oskill(root, "open", "");
    let (spec, warnings) = planned(root, "open").unwrap();
    assert_eq!(session(&spec).allowed, ["work"]);
    assert_eq!(warnings.iter().filter(|warning| warning.code == Code::F1213).count(), 3);
}

#[test]
fn open_lists_that_name_each_other_can_both_run() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    oskill(root, "one", "");
    oskill(root, "two", "");
    plain(root, "work", "");
    let (spec, _) = planned(root, "one").unwrap();
    assert_eq!(session(&spec).allowed, ["two", "work"]);
    let CallableWork::Session { orchestrator } = &spec.skills["two"].work else { panic!() };
    assert_eq!(orchestrator.allowed, ["work"]);
    let strict = Orchestration { open_lists: OpenLists::Refused, ..Orchestration::default() };
    let started = Started { orchestration: strict, ..Started::default() };
    let Err(StartError::Invalid(told)) = planned_with(root, "one", started) else { panic!() };
    assert_eq!(codes(&told), [Code::F1201]);
}

#[test]
fn what_is_broken_elsewhere_is_left_out_and_told() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    oskill(root, "desk", "## Allowed Skills\n- torn\n- lost\n- fine\n");
    plain(root, "torn", "phases:\n  - name: a\n    subagents:\n      - {skill: _sub/none, type: explore}\n");
    plain(root, "lost", "metadata:\n  fugato-run: gone.sh\n");
    plain(root, "fine", "");
    let (spec, warnings) = planned(root, "desk").unwrap();
    assert_eq!(session(&spec).allowed, ["fine"]);
    assert_eq!(codes(&warnings), [Code::F1213, Code::F1213]);
    // A program that needs what is left out cannot run.
    oskill(root, "desk", "## Allowed Skills\n- lost\n## SOP\n@a lost 1\n");
    let Err(StartError::Invalid(told)) = planned(root, "desk") else { panic!() };
    assert_eq!((codes(&told), told[0].span.unwrap().line), (vec![Code::F1211], 7));
}

#[test]
fn the_policy_of_the_agent_holds_for_everybody_below() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    oskill(root, "desk", "## Allowed Skills\n- inner\n- secret\n");
    oskill(root, "inner", "## Allowed Skills\n- secret\n- fine\n");
    plain(root, "secret", "");
    plain(root, "fine", "");
    let text = r#"{"mode": "single", "node": {"skills": {"visible": ["*"], "deny": ["secret"]}}}"#;
    let profile = fugato_skill::profile::Profile::parse_bytes("p.json", text.as_bytes()).profile.unwrap();
    let mode = fugato_skill::profile::Mode::Single;
    let agent = profile.agents(mode)[0].id.to_string();
    let policy = Some(fugato_skill::policy::AgentPolicy { profile, mode, agent });
    let (spec, warnings) = planned_with(root, "desk", Started { policy, ..Started::default() }).unwrap();
    assert_eq!(spec.skills.keys().collect::<Vec<_>>(), ["fine", "inner"]);
    assert_eq!(codes(&warnings), [Code::F1212]);
}

#[test]
fn an_open_list_has_room_for_so_many_and_says_so() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    (0..OFFERED + 3).for_each(|at| plain(root, &format!("s{at:03}"), ""));
    oskill(root, "desk", "");
    let (spec, warnings) = planned(root, "desk").unwrap();
    assert_eq!(session(&spec).allowed.len(), OFFERED);
    assert!(warnings.iter().any(|warning| warning.message.en.contains("3 are not")));
}
