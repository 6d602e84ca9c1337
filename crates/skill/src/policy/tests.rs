//! Resolution, its reasons, lint and diff.

mod model;
mod truth_table;

use super::*;
use crate::fixture::{broken, internal, inventory, profile, skill};
use crate::profile::{Mode, Profile};
use crate::{Installed, Inventory};
use fugato_model::{Code, SkillName};

fn names<'a>(skills: impl Iterator<Item = &'a Installed>) -> Vec<String> {
    skills.map(Installed::label).collect()
}

fn single(mode: &str, agent: &str) -> String {
    format!("{{\"mode\": \"single\" {mode}, \"node\": {{ {agent} }} }}")
}

/// Codes and pointers of what lint says.
fn findings(text: &str, inventory: &Inventory) -> Vec<(Code, String)> {
    let found = lint(&profile(text), inventory);
    found.into_iter().map(|one| (one.code, one.field.unwrap_or_default())).collect()
}

#[test]
fn the_seeds_three_rules_hold() {
    let installed = inventory(&["a", "b", "c", "only-this-one", "turn-workflow"]);
    let mode = ", \"skills\": {\"visible\": [\"b\", \"a\"]}";
    for (agent, expected) in [
        ("", vec!["b", "a"]),
        ("\"skills\": {}", vec!["b", "a"]),
        ("\"skills\": {\"visible\": []}", vec!["b", "a"]),
        ("\"skills\": {\"visible\": [\"+\", \"turn-workflow\"]}", vec!["b", "a", "turn-workflow"]),
        ("\"skills\": {\"visible\": [\"only-this-one\"]}", vec!["only-this-one"]),
        ("\"skills\": {\"visible\": [\"+\", \"c\"], \"deny\": [\"b\"]}", vec!["a", "c"]),
        ("\"skills\": {\"visible\": [\"c\", \"*\"]}", vec!["c", "a", "b", "only-this-one", "turn-workflow"]),
        ("\"skills\": {\"visible\": [\"+\", \"*\"]}", vec!["b", "a", "c", "only-this-one", "turn-workflow"]),
        ("\"skills\": {\"visible\": [\"-\"]}", vec![]),
        ("\"skills\": {\"none\": true}", vec![]),
        ("\"skills\": {\"deny\": [\"*\"]}", vec![]),
        ("\"skills\": {\"visible\": [\"+\", \"gone\"]}", vec!["b", "a"]),
    ] {
        let profile = profile(&single(mode, agent));
        let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], &installed);
        assert_eq!(names(resolution.visible()), expected, "{agent}");
    }
}

#[test]
fn without_a_block_the_mode_means_everything_and_without_a_list_nothing() {
    let installed = inventory(&["a", "b"]);
    for (mode, expected) in [
        ("", vec!["a", "b"]),
        (", \"skills\": {}", vec![]),
        (", \"skills\": {\"visible\": []}", vec![]),
        (", \"skills\": {\"deny\": [\"a\"]}", vec![]),
        (", \"skills\": {\"none\": true}", vec![]),
    ] {
        let profile = profile(&single(mode, ""));
        let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], &installed);
        assert_eq!(names(resolution.visible()), expected, "{mode}");
    }
}

#[test]
fn deny_at_either_level_wins_over_everything() {
    let installed = inventory(&["a", "b"]);
    let text =
        single(", \"skills\": {\"deny\": [\"a\"]}", "\"skills\": {\"visible\": [\"+\", \"a\", \"*\"]}");
    let profile = profile(&text);
    let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], &installed);
    assert_eq!(names(resolution.visible()), ["b"]);
    assert!(resolution.can_read("a").is_none());
    assert_eq!(resolution.denied().iter().map(ToString::to_string).collect::<Vec<_>>(), ["a"]);
    assert_eq!(resolution.why("a"), Why::DeniedByMode { by: By::Name(0) });
}

#[test]
fn internal_skills_are_read_by_name_only_and_never_shown() {
    let installed = Inventory::new(vec![skill("a"), internal("hidden")]);
    let text = |list: &str| single(", \"skills\": {}", &format!("\"skills\": {{\"visible\": {list}}}"));
    let star = profile(&text("[\"*\"]"));
    let resolution = resolve(&star, Mode::Single, &star.agents(Mode::Single)[0], &installed);
    assert!(resolution.can_read("hidden").is_none());
    assert_eq!(resolution.why("hidden"), Why::Unlisted);
    let named = profile(&text("[\"hidden\", \"*\"]"));
    let resolution = resolve(&named, Mode::Single, &named.agents(Mode::Single)[0], &installed);
    assert!(resolution.can_read("hidden").is_some());
    assert_eq!(names(resolution.visible()), ["hidden", "a"]);
    assert_eq!(names(resolution.catalog_entries()), ["a"]);
    assert_eq!(resolution.why("hidden"), Why::GrantedByAgent { index: 0 });
}

#[test]
fn every_name_has_a_reason_with_its_pointer() {
    let installed = Inventory::new(vec![skill("a"), skill("b"), skill("c"), broken("bad"), skill("other")]);
    let text = r#"{"mode": "director", "skills": {"visible": ["a", "bad", "gone", "c"], "deny": ["c"]},
        "mainAgent": {"skills": {"visible": ["+", "b"]}},
        "subAgents": [{"id": "x", "skills": {"visible": ["b"]}}, {"id": "y", "skills": {"deny": ["*"]}}]}"#;
    let profile = profile(text);
    let main = resolve(&profile, Mode::Director, &profile.agents(Mode::Director)[0], &installed);
    let reason = |resolution: &Resolution<'_>, name: &str| {
        let why = resolution.why(name);
        assert_eq!(why.is_visible(), resolution.can_read(name).is_some());
        assert!(!why.words().en.is_empty() && !why.words().zh.is_ascii());
        (why.clone(), resolution.pointer(&why).unwrap_or_default())
    };
    let at = |why, pointer: &str| (why, pointer.to_owned());
    assert_eq!(reason(&main, "a"), at(Why::GrantedByMode { index: 0 }, "/skills/visible/0"));
    assert_eq!(reason(&main, "b"), at(Why::GrantedByAgent { index: 1 }, "/mainAgent/skills/visible/1"));
    assert_eq!(reason(&main, "c"), at(Why::DeniedByMode { by: By::Name(0) }, "/skills/deny/0"));
    let listed = |index| Some((Level::Mode, index));
    assert_eq!(reason(&main, "bad"), at(Why::Broken { listed: listed(1), code: None }, "/skills/visible/1"));
    assert_eq!(reason(&main, "gone"), at(Why::NotInstalled { listed: listed(2) }, "/skills/visible/2"));
    assert_eq!(reason(&main, "other"), at(Why::NotListed { replaced: None }, ""));
    assert_eq!(reason(&main, "no such name!"), at(Why::NotInstalled { listed: None }, ""));
    assert_eq!(main.missing().iter().map(ToString::to_string).collect::<Vec<_>>(), ["bad", "gone"]);
    assert_eq!(main.broken().iter().map(ToString::to_string).collect::<Vec<_>>(), ["bad"]);
    let lines: Vec<_> = main.trace().iter().map(|line| line.name.to_string()).collect();
    assert_eq!(lines, ["a", "bad", "gone", "c", "b"]);
    let lines: Vec<_> = main.trace_all().iter().map(|line| line.name.to_string()).collect();
    assert_eq!(lines, ["a", "bad", "gone", "c", "b", "other"]);

    let own = resolve(&profile, Mode::Director, &profile.agents(Mode::Director)[1], &installed);
    assert_eq!(reason(&own, "a"), at(Why::NotListed { replaced: Some(0) }, "/skills/visible/0"));
    let none = resolve(&profile, Mode::Director, &profile.agents(Mode::Director)[2], &installed);
    assert_eq!(reason(&none, "a"), at(Why::DeniedByAgent { by: By::Star(0) }, "/subAgents/1/skills/deny/0"));
}

#[test]
fn a_policy_with_errors_gives_nothing() {
    let installed = inventory(&["a", "foo"]);
    let closed = |text: &str, mode: Mode, level: Option<Level>| {
        let profile = Profile::parse("p", text).profile.unwrap();
        for agent in profile.agents(mode) {
            let resolution = resolve(&profile, mode, agent, &installed);
            if resolution.is_closed() {
                assert_eq!(names(resolution.visible()), [""; 0]);
                assert_eq!(resolution.why("a"), Why::Closed { level });
                assert!(resolution.can_read("a").is_none() && resolution.missing().is_empty());
                return true;
            }
        }
        false
    };
    let agent = |block: &str| single("", &format!("\"skills\": {block}"));
    for block in [
        "{\"deny\": [\"Foo\"]}",
        "{\"deny\": \"foo\"}",
        "[\"a\"]",
        "null",
        "{\"visible\": [\"a\", \"+\"]}",
        "{\"skills\": {\"deny\": [\"foo\"]}}",
        "{\"deny\": [\"foo\", 3]}",
    ] {
        assert!(closed(&agent(block), Mode::Single, Some(Level::Agent)), "{block}");
        let mode = single(&format!(", \"skills\": {block}"), "\"skills\": {\"visible\": [\"a\"]}");
        assert!(closed(&mode, Mode::Single, Some(Level::Mode)), "{block}");
    }
    let twice = single(", \"skills\": {\"deny\": [\"a\"]}, \"skills\": {}", "");
    assert!(closed(&twice, Mode::Single, None));
    assert!(!closed(&single("", ""), Mode::Single, None));
    // Which skills are installed depends on it: without the scope another skill of the name would be meant.
    assert!(closed(&single(", \"preset\": \"../x\"", ""), Mode::Single, None));
    assert!(closed(&single(", \"character\": 3", ""), Mode::Single, None));
    // The file does not have that mode.
    let profile = profile(&single("", ""));
    let resolution = resolve(&profile, Mode::Loop, &profile.agents(Mode::Single)[0], &installed);
    assert!(resolution.is_closed() && resolution.visible().next().is_none());
}

#[test]
fn a_broken_sibling_does_not_close_its_neighbours() {
    let text = r#"{"mode": "director", "mainAgent": {},
        "subAgents": [{"id": "x", "skills": {"deny": ["Foo"]}}, {"id": "y"}]}"#;
    let profile = Profile::parse("p", text).profile.unwrap();
    let installed = inventory(&["a"]);
    let seen: Vec<_> = profile
        .agents(Mode::Director)
        .iter()
        .map(|agent| resolve(&profile, Mode::Director, agent, &installed).visible().count())
        .collect();
    assert_eq!(seen, [1, 0, 1]);
}

#[test]
fn the_key_changes_exactly_with_its_inputs() {
    let key = |text: &str, inventory: &Inventory| {
        let profile = profile(text);
        resolve(&profile, profile.mode, &profile.agents(profile.mode)[0], inventory).key()
    };
    let named = single(", \"skills\": {\"visible\": [\"a\"]}", "");
    let two = inventory(&["a", "b"]);
    assert_eq!(key(&named, &two), key(&named, &two));
    assert_eq!(key(&named, &two), key(&named, &inventory(&["a", "b", "c"])), "another skill does not matter");
    assert_ne!(key(&named, &two), key(&named, &inventory(&["b"])), "the named one does");
    let mut edited = skill("a");
    edited.head.description = "New words.".into();
    assert_ne!(key(&named, &two), key(&named, &Inventory::new(vec![edited, skill("b")])));
    let star = single("", "");
    assert_ne!(key(&star, &two), key(&star, &inventory(&["a", "b", "c"])));
    assert_ne!(
        key(&named, &two),
        key(&single(", \"skills\": {\"visible\": [\"a\"], \"deny\": [\"a\"]}", ""), &two)
    );
    assert_ne!(key(&star, &two), key("{\"mode\": \"loop\", \"loopAgent\": {\"id\": \"node\"}}", &two));
    // What a person is told depends on more than what an agent sees.
    let none = Inventory::new(vec![]);
    assert_ne!(key(&named, &none), key(&named, &Inventory::new(vec![broken("a")])), "missing or broken");
    let all_denied = single(", \"skills\": {\"visible\": [\"*\"], \"deny\": [\"*\"]}", "");
    assert_ne!(key(&all_denied, &two), key(&all_denied, &inventory(&["a"])), "the denied ones are listed");
    // The first node is the one whose key is taken; a review stands between two others.
    let node = |kind: &str| {
        format!(
            r#"{{"mode": "spec", "nodes": [{{"id": "n", "type": "{kind}"}}, {{"id": "w"}}, {{"id": "v"}}],
                "stages": [{{"nodes": ["w"]}}, {{"nodes": ["n"]}}, {{"nodes": ["v"]}}]}}"#
        )
    };
    assert_ne!(key(&node("worker"), &two), key(&node("review"), &two), "a review node has no catalog");
}

#[test]
fn pr7_redundant_entries_are_named() {
    let installed = Inventory::new(vec![skill("a"), skill("x"), internal("hidden")]);
    let at = |index: usize| (Code::F0206, format!("/node/skills/visible/{index}"));
    for (list, expected) in [
        ("[\"+\",\"+\"]", vec![at(1)]),
        ("[\"*\",\"*\"]", vec![at(1)]),
        ("[\"a\",\"a\"]", vec![at(1)]),
        ("[\"+\",\"*\"]", vec![at(0)]),
        ("[\"*\",\"x\"]", vec![at(1)]),
        ("[\"*\",\"hidden\"]", vec![]),
        ("[\"-\",\"a\"]", vec![at(1)]),
        ("[\"a\",\"x\"]", vec![]),
    ] {
        let text = single("", &format!("\"skills\": {{\"visible\": {list}}}"));
        assert_eq!(findings(&text, &installed), expected, "{list}");
    }
    let again = single(", \"skills\": {\"visible\": [\"a\"]}", "\"skills\": {\"visible\": [\"+\", \"a\"]}");
    assert_eq!(findings(&again, &installed), [at(1)]);
}

#[test]
fn pr8_and_empty_lists_warn() {
    let installed = inventory(&["a"]);
    let text = single("", "\"skills\": {\"deny\": [\"*\"]}");
    let found = lint(&profile(&text), &installed);
    assert_eq!((found[0].code, found[0].is_error()), (Code::F0208, false));
    assert!(found[0].message.en.contains("the agent sees nothing"));
    let text = single("", "\"skills\": {\"visible\": []}");
    assert_eq!(findings(&text, &installed), [(Code::F0219, "/node/skills/visible".into())]);
    let mode = single(", \"skills\": {\"visible\": [], \"deny\": [\"*\"]}", "");
    assert_eq!(findings(&mode, &installed), [(Code::F0208, "/skills/deny/0".into())]);
}

#[test]
fn pr10_a_denied_name_that_is_not_installed_is_an_error_unless_allowed() {
    let installed = inventory(&["scripts-experimental"]);
    let text = single("", "\"skills\": {\"deny\": [\"scripts-experimentl\"]}");
    let found = lint(&profile(&text), &installed);
    assert_eq!((found[0].code, found[0].is_error()), (Code::F0210, true));
    assert_eq!(found[0].hint.as_ref().unwrap().en, "did you mean `scripts-experimental`?");
    let allowed = single("", "\"skills\": {\"deny\": [\"nothing-like-it\"], \"allowMissing\": true}");
    assert_eq!(findings(&allowed, &installed), []);
    let far = lint(&profile(&single("", "\"skills\": {\"deny\": [\"qqq\"]}")), &installed);
    assert!(far[0].hint.as_ref().unwrap().en.contains("allowMissing"));
}

#[test]
fn pr11_stale_and_broken_names_warn_where_they_stand() {
    let installed = Inventory::new(vec![skill("voice-critic"), broken("bad")]);
    let text = single(
        ", \"skills\": {\"visible\": [\"bad\"]}",
        "\"skills\": {\"visible\": [\"+\", \"voice-critc\"]}",
    );
    let found = lint(&profile(&text), &installed);
    let seen: Vec<_> =
        found.iter().map(|one| (one.code, one.is_error(), one.field.clone().unwrap())).collect();
    assert_eq!(
        seen,
        [
            (Code::F0221, false, "/skills/visible/0".to_owned()),
            (Code::F0211, false, "/node/skills/visible/1".to_owned())
        ]
    );
    assert_eq!(found[1].hint.as_ref().unwrap().en, "did you mean `voice-critic`?");
    assert!(found.iter().all(|one| one.span.is_some() && one.frame.is_some()));
}

#[test]
fn lint_looks_at_every_mode_of_the_file() {
    let text = r#"{"mode": "loop", "modes": {"loop": {"loopAgent": {}},
        "single": {"skills": {"visible": ["gone"]}, "node": {}}}}"#;
    assert_eq!(findings(text, &inventory(&["a"])), [(Code::F0211, "/modes/single/skills/visible/0".into())]);
}

#[test]
fn diff_tells_who_gains_and_who_loses() {
    let text = |main: &str, sub: &str| {
        format!(
            "{{\"mode\": \"director\", \"skills\": {{\"visible\": [\"a\"]}}, \"mainAgent\": {{\"skills\": {{\"visible\": {main}}}}}, \"subAgents\": [{{\"id\": \"{sub}\"}}]}}"
        )
    };
    let (before, after) = (profile(&text("[\"+\", \"b\"]", "x")), profile(&text("[\"+\", \"c\"]", "y")));
    let installed = inventory(&["a", "b", "c"]);
    let changes = diff((&before, &installed), (&after, &installed));
    let shown: Vec<String> = changes
        .iter()
        .map(|change| format!("{} {:?} +{:?} -{:?}", change.agent, change.change, change.gained, change.lost))
        .collect();
    assert_eq!(shown, ["main Changed +[`c`] -[`b`]", "y Added +[`a`] -[]", "x Removed +[] -[`a`]"]);
    assert!(changes[0].widens() && changes.iter().all(|change| !change.words().zh.is_ascii()));
    assert_eq!(diff((&before, &installed), (&before, &installed)), []);
    // The same policy over another inventory: one skill gone, one with other content.
    let mut edited = skill("a");
    edited.digest = Some(fugato_model::Digest::from_bytes([7; 32]));
    let later = Inventory::new(vec![edited]);
    let changes = diff((&before, &installed), (&before, &later));
    assert_eq!(changes[0].lost.len(), 1);
    assert_eq!(changes[0].replaced[0].as_str(), "a");
}

#[test]
fn a_huge_policy_is_read_resolved_and_linted_quickly() {
    let names: Vec<String> = (0..20_000).map(|n| format!("\"skill-{n}\"")).collect();
    let list = names.join(",");
    let text = format!(
        "{{\"mode\": \"single\", \"skills\": {{\"visible\": [{list}], \"deny\": [{list}]}}, \"node\": {{}}}}"
    );
    let started = std::time::Instant::now();
    let profile = profile(&text);
    let installed = inventory(&["a"]);
    let resolution = resolve(&profile, Mode::Single, &profile.agents(Mode::Single)[0], &installed);
    assert_eq!(resolution.trace().len(), 20_000);
    assert_eq!(lint(&profile, &installed).len(), 201);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn what_an_orchestrator_owns_leaves_the_surface_of_agents_and_stays_callable() {
    let mut desk = skill("desk");
    desk.head.owns = vec!["a".to_owned(), "hidden".to_owned()];
    let installed = Inventory::new(vec![skill("a"), skill("b"), internal("hidden"), desk]);
    let owned = Why::Owned { by: vec![SkillName::parse("desk").unwrap()] };
    let everybody = unrestricted(&installed);
    assert_eq!(names(everybody.visible()), ["b", "desk"]);
    assert!(everybody.can_read("a").is_none());
    assert_eq!(everybody.why("a"), owned);
    assert!(owned.words().en.contains("owned by desk"));
    let orchestrator = everybody.for_orchestrators();
    assert_eq!(names(orchestrator.visible()), ["b", "desk", "a"]);
    assert!(orchestrator.can_call("a").is_some() && orchestrator.can_call("hidden").is_some());
    // Naming it gives it back, and a deny takes it from the orchestrator too.
    let text = |block: &str| single("", &format!("\"skills\": {block}"));
    let named = profile(&text("{\"visible\": [\"a\"]}"));
    let resolution = resolve(&named, Mode::Single, &named.agents(Mode::Single)[0], &installed);
    assert_eq!(names(resolution.visible()), ["a"]);
    let denied = profile(&text("{\"visible\": [\"*\"], \"deny\": [\"a\"]}"));
    let resolution = resolve(&denied, Mode::Single, &denied.agents(Mode::Single)[0], &installed);
    assert!(resolution.for_orchestrators().can_call("a").is_none());
    // What was decided is not decided again.
    let seen = Inventory::new(installed.all().iter().filter(|skill| skill.label() != "b").cloned().collect());
    assert_eq!(names(decided(&seen).visible()), ["a", "desk", "hidden"]);
    assert_eq!(names(decided(&seen).catalog_entries()), ["a", "desk"]);
}
