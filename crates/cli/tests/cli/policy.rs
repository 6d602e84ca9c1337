//! Profiles against real skills: what the seed document promises, from the binary.

use crate::{env, workspace};
use fugato_testkit::TestEnv;

const SKILLS: [&str; 6] = [
    "director-anti-cliche-zh",
    "director-character-voice-zh",
    "director-turn-workflow-zh",
    "director-dispatch-protocol-zh",
    "voice-critic-method-zh",
    "only-this-one",
];

fn with_skills() -> TestEnv {
    let env = env();
    for name in SKILLS {
        env.skill(name, &format!("name: {name}\ndescription: About {name}."));
    }
    env
}

fn visible(env: &TestEnv, profile: &str, agent: &str) -> Vec<String> {
    env.write("p.jsonc", profile);
    let ran = env.run(["policy", "resolve", "p.jsonc", "--agent", agent, "--json"]).exits(0);
    let document = ran.json();
    assert_eq!(document["schema"], "fugato.policy/v1");
    let names = document["agents"][0]["visible"].as_array().unwrap();
    names.iter().map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
}

const MODE: &str = r#""mode": "director", "skills": {"visible": ["director-anti-cliche-zh", "director-character-voice-zh"]}"#;

#[test]
fn an_agent_without_a_list_inherits_the_mode() {
    let env = with_skills();
    for main in [r#"{}"#, r#"{"skills": {"visible": []}}"#, r#"{"skills": {}}"#] {
        let profile = format!(r#"{{{MODE}, "mainAgent": {main}, "subAgents": []}}"#);
        assert_eq!(visible(&env, &profile, "main"), SKILLS[..2]);
    }
}

#[test]
fn a_leading_plus_inherits_and_appends() {
    let env = with_skills();
    let profile = format!(
        r#"{{{MODE}, "mainAgent": {{"skills": {{"visible": ["+", "director-turn-workflow-zh"]}}}}, "subAgents": []}}"#
    );
    assert_eq!(visible(&env, &profile, "main"), SKILLS[..3]);
}

#[test]
fn a_list_without_plus_replaces() {
    let env = with_skills();
    let profile = format!(
        r#"{{{MODE}, "mainAgent": {{}}, "subAgents": [{{"id": "data", "skills": {{"visible": ["only-this-one"]}}}}]}}"#
    );
    assert_eq!(visible(&env, &profile, "data"), ["only-this-one"]);
}

#[test]
fn deny_always_wins() {
    let env = with_skills();
    let profile = r#"{"mode": "director", "skills": {"deny": ["director-anti-cliche-zh"]},
        "mainAgent": {"skills": {"visible": ["+", "director-anti-cliche-zh"]}}, "subAgents": []}"#;
    assert!(visible(&env, profile, "main").is_empty());
    let document = env.fugato("policy resolve p.jsonc --json").exits(0).json();
    assert_eq!(document["agents"][0]["denied"], serde_json::json!(["director-anti-cliche-zh"]));
    assert_eq!(document["agents"][0]["catalog"], "");
}

#[test]
fn star_means_everything_installed_less_what_is_denied() {
    let env = with_skills();
    let profile = r#"{"mode": "single", "node": {"skills": {"visible": ["*"], "deny": ["only-this-one"]}}}"#;
    let seen = visible(&env, profile, "node");
    assert_eq!(seen.len(), SKILLS.len() - 1);
    assert!(!seen.contains(&"only-this-one".to_owned()));
}

#[test]
fn the_catalog_is_the_seed_documents_text() {
    let env = with_skills();
    env.write("p.jsonc", format!(r#"{{{MODE}, "mainAgent": {{}}, "subAgents": []}}"#));
    let document = env.fugato("policy resolve p.jsonc --json").exits(0).json();
    assert_eq!(
        document["agents"][0]["catalog"],
        "<available_skills>\n\
         - director-anti-cliche-zh: About director-anti-cliche-zh.\n\
         - director-character-voice-zh: About director-character-voice-zh.\n\
         </available_skills>\n\
         (Use skill_read to consult specific content; skill_search to grep within a skill.)"
    );
    assert!(document["agents"][0]["catalogTokens"].as_u64().unwrap() > 20);
}

#[test]
fn stale_names_are_dropped_for_the_agent_and_shown_to_the_person() {
    let env = with_skills();
    let profile = r#"{"mode": "single", "node": {"skills": {"visible": ["only-this-on", "only-this-one"]}}}"#;
    assert_eq!(visible(&env, profile, "node"), ["only-this-one"]);
    let document = env.fugato("policy resolve p.jsonc --json").exits(0).json();
    assert_eq!(document["agents"][0]["missing"], serde_json::json!(["only-this-on"]));
    env.fugato("policy explain p.jsonc").exits(0).says(&["only-this-on", "not installed"]);
    env.fugato("policy lint p.jsonc").exits(0).says(&["F0211", "only-this-one"]);
    env.fugato("policy lint p.jsonc --strict").exits(1);
}

#[test]
fn an_agents_tools_answer_only_for_what_it_sees() {
    let env = with_skills();
    env.write("p.jsonc", format!(r#"{{{MODE}, "mainAgent": {{}}, "subAgents": [{{"id": "data", "skills": {{"visible": ["only-this-one"]}}}}]}}"#));
    let list = env.fugato("skill ls --as data --profile p.jsonc --json").exits(0).json();
    assert_eq!(list["skills"].as_array().unwrap().len(), 1);
    env.fugato("skill read only-this-one --as data --profile p.jsonc").exits(0).says(&["Text."]);
    let hidden = env.fugato("skill read voice-critic-method-zh --as data --profile p.jsonc").exits(3);
    let missing = env.fugato("skill read no-such-thing-here-zh --as data --profile p.jsonc").exits(3);
    // Word for word the same but for the name: an agent cannot probe for hidden skills.
    assert_eq!(
        hidden.stderr.replace("voice-critic-method-zh", "X"),
        missing.stderr.replace("no-such-thing-here-zh", "X")
    );
    let hits = env.fugato("skill search Text --as data --profile p.jsonc --json").exits(0).json();
    assert_eq!(hits["hits"].as_array().unwrap().len(), 1);
    env.fugato("skill ls --as dat --profile p.jsonc").exits(3).says(&["data"]);
}

#[test]
fn edits_keep_comments_and_never_widen_silently() {
    let env = with_skills();
    let before =
        format!("{{\n  // 模式默认\n  {MODE},\n  \"mainAgent\": {{}}, // thin\n  \"subAgents\": [],\n}}\n");
    env.write("p.jsonc", &before);
    let shown = env.fugato("policy bind p.jsonc main only-this-one --dry-run").exits(0);
    shown.says(&["+"]);
    assert_eq!(env.read("p.jsonc"), before);
    env.fugato("policy bind p.jsonc main only-this-one").exits(0);
    let after = env.read("p.jsonc");
    assert!(after.contains("// 模式默认") && after.contains("// thin"), "{after}");
    assert_eq!(visible(&env, &after, "main").len(), 3);
    env.fugato("policy unbind p.jsonc main only-this-one").exits(0);
    assert_eq!(visible(&env, &env.read("p.jsonc"), "main"), SKILLS[..2]);
    env.fugato("policy bind p.jsonc main director-anti-cliche-zh --deny").exits(0);
    assert_eq!(visible(&env, &env.read("p.jsonc"), "main"), SKILLS[1..2]);
    env.fugato("policy defaults p.jsonc --visible only-this-one").exits(0);
    assert_eq!(visible(&env, &env.read("p.jsonc"), "main"), ["only-this-one"]);
    env.fugato("policy bind p.jsonc ghost only-this-one").exits(3).says(&["main"]);
}

#[test]
fn a_diff_names_what_each_agent_gains_and_loses() {
    let env = with_skills();
    env.write("a.jsonc", format!(r#"{{{MODE}, "mainAgent": {{}}, "subAgents": []}}"#));
    env.write(
        "b.jsonc",
        r#"{"mode": "director", "skills": {"visible": ["only-this-one"]}, "mainAgent": {}, "subAgents": []}"#,
    );
    env.fugato("policy diff a.jsonc b.jsonc")
        .exits(0)
        .says(&["+ only-this-one", "- director-anti-cliche-zh"]);
    env.fugato("policy diff a.jsonc a.jsonc").exits(0).says(&["same skills"]);
}

#[test]
fn each_mode_has_its_own_policy_in_one_file() {
    let env = with_skills();
    env.write(
        "p.jsonc",
        r#"{"mode": "loop", "modes": {
            "loop": {"loopAgent": {"skills": {"visible": ["only-this-one"]}}},
            "single": {"node": {"skills": {"visible": ["voice-critic-method-zh"]}}}}}"#,
    );
    let names = |line: &str| env.fugato(line).exits(0).json()["agents"][0]["visible"][0]["name"].clone();
    assert_eq!(names("policy resolve p.jsonc --json"), "only-this-one");
    assert_eq!(names("policy resolve p.jsonc --json --mode single"), "voice-critic-method-zh");
    env.fugato("policy resolve p.jsonc --mode directer").exits(3).says(&["director"]);
}

#[test]
fn the_worked_director_profile_resolves_as_the_seed_says() {
    let env = env();
    let examples = workspace().join("examples/director");
    let (profile, skills) = (examples.join("profile.jsonc"), examples.join("skills"));
    let shared = [
        "director-anti-cliche-zh",
        "director-character-voice-zh",
        "director-no-meta-zh",
        "director-output-discipline-zh",
        "director-zh-style-baseline",
    ];
    for (agent, own) in [
        ("main", vec!["director-turn-workflow-zh", "director-dispatch-protocol-zh"]),
        ("voice_critic", vec!["voice-critic-method-zh"]),
        ("memory_curator", vec!["event-summary-rules-zh"]),
        ("plot_brainstormer", vec!["plot-brainstormer-method-zh"]),
    ] {
        let ran = env.run([
            "policy",
            "resolve",
            profile.to_str().unwrap(),
            "--skills",
            skills.to_str().unwrap(),
            "--agent",
            agent,
            "--json",
        ]);
        let document = ran.exits(0).json();
        let names: Vec<_> = document["agents"][0]["visible"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["name"].as_str().unwrap().to_owned())
            .collect();
        let expected: Vec<_> = shared.iter().copied().chain(own).collect();
        assert_eq!(names, expected, "{agent}");
        assert_eq!(document["agents"][0]["missing"], serde_json::json!([]));
    }
}

#[test]
fn starting_profiles_of_all_modes_are_clean() {
    let env = env();
    for mode in ["director", "loop", "spec", "agenda", "single"] {
        env.run(["profile", "new", mode, "-o", &format!("{mode}.jsonc")]).exits(0).says(&["policy explain"]);
        env.run(["policy", "lint", "--strict", &format!("{mode}.jsonc")]).exits(0);
    }
    env.fugato("profile new loop -o loop.jsonc").exits(7);
    env.fugato("profile schema").exits(0).says(&["subAgents", "loopAgent"]);
}
