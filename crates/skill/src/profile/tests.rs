//! The malformed-input catalogue of profiles (PR1–PR16), and what a good profile reads as.

use super::*;
use fugato_model::{Code, Severity};

fn parse(text: &str) -> Parsed {
    Profile::parse("p.jsonc", text)
}

/// The only diagnostic of a code; everything else is printed when there is none.
fn the(text: &str, code: Code) -> Diagnostic {
    let parsed = parse(text);
    let found: Vec<_> = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.code == code).collect();
    assert_eq!(found.len(), 1, "{code} in {:#?}", parsed.diagnostics);
    let diagnostic = found[0].clone();
    assert!(diagnostic.span.is_some() && diagnostic.frame.is_some(), "a place is missing");
    assert!(!diagnostic.message.zh.is_empty() && diagnostic.message.zh != diagnostic.message.en);
    diagnostic
}

fn director(main: &str) -> String {
    format!("{{\"mode\": \"director\", \"mainAgent\": {{{main}}}}}")
}

fn visible(list: &str) -> String {
    director(&format!("\"skills\": {{\"visible\": {list}}}"))
}

fn deny(list: &str) -> String {
    director(&format!("\"skills\": {{\"deny\": {list}}}"))
}

fn main_is_refused(text: &str) -> bool {
    let profile = parse(text).profile.unwrap();
    profile.agents(Mode::Director)[0].skills.as_ref().unwrap().standing.is_refused()
}

#[test]
fn pr1_a_truncated_file_says_where_it_ends_and_what_was_open() {
    let text = "{\n  \"mode\": \"director\",\n  \"mainAgent\": {\n    \"id\": \"main\"\n";
    let found = the(text, Code::F0201);
    assert_eq!(found.message.en, "end of file inside object opened at line 3");
    let span = found.span.unwrap();
    assert_eq!((span.line, span.column), (5, 1));
    assert_eq!(found.related[0].span.line, 3);
    for (text, inside) in
        [("{\"a\": [1,", "list"), ("{\"a\": \"x", "text"), ("{ /* x", "comment"), ("{", "object")]
    {
        let message = the(text, Code::F0201).message.en;
        assert_eq!(message, format!("end of file inside {inside} opened at line 1"));
    }
}

#[test]
fn every_prefix_of_a_profile_is_refused_with_a_place() {
    let text = template(Mode::Director, fugato_model::Lang::Zh);
    for end in (1..text.trim_end().len()).filter(|end| text.is_char_boundary(*end)) {
        let parsed = parse(text.get(..end).unwrap());
        assert!(parsed.has_errors() && parsed.profile.is_none(), "{end}");
        assert!(parsed.diagnostics.iter().all(|diagnostic| diagnostic.span.is_some()));
    }
}

#[test]
fn pr2_comments_and_trailing_commas_are_accepted() {
    let text = "// top\n{\n  /* mode */ \"mode\": \"single\",\n  \"node\": { \"id\": \"x\", }, // end\n}\n";
    let parsed = parse(text);
    assert_eq!(parsed.diagnostics, []);
    assert_eq!(parsed.profile.unwrap().agents(Mode::Single)[0].id.as_str(), "x");
}

#[test]
fn pr3_a_duplicate_key_names_both_lines_and_closes_the_profile() {
    let text =
        "{\n\"mode\": \"director\",\n\"skills\": {\"deny\": [\"a\"]},\n\"mainAgent\": {},\n\"skills\": {}\n}";
    let found = the(text, Code::F0202);
    assert_eq!(found.message.en, "the key `skills` is written twice, in line 3 and line 5");
    assert_eq!(found.field.as_deref(), Some("/skills"));
    assert_eq!(found.related[0].span.line, 3);
    assert!(parse(text).profile.unwrap().standing.is_refused());
}

#[test]
fn pr4_an_unknown_mode_lists_the_five_nearest_first() {
    let found = the("{\"mode\": \"directer\", \"mainAgent\": {}}", Code::F0203);
    assert!(
        found.message.en.starts_with("unknown mode `directer` (expected `director`, "),
        "{}",
        found.message.en
    );
    for mode in Mode::ALL {
        assert!(found.message.en.contains(mode.as_str()));
    }
    assert_eq!(found.hint.unwrap().en, "did you mean `director`?");
    assert_eq!(found.fix.unwrap().replacement, "\"director\"");
}

#[test]
fn pr5_plus_after_a_name_shows_the_fixed_list() {
    let text = visible("[\"a\", \"+\"]");
    let found = the(&text, Code::F0204);
    assert_eq!(found.field.as_deref(), Some("/mainAgent/skills/visible/1"));
    assert_eq!(found.hint.as_ref().unwrap().en, "write [\"+\", \"a\"]");
    let fix = found.fix.unwrap();
    let fixed = {
        let mut fixed = text.clone();
        fixed.replace_range(fix.start as usize..fix.end as usize, &fix.replacement);
        fixed
    };
    assert_eq!(parse(&fixed).diagnostics, []);
    assert!(main_is_refused(&text));
    let mode = "{\"mode\": \"single\", \"skills\": {\"visible\": [\"+\", \"a\"]}, \"node\": {}}";
    assert_eq!(the(mode, Code::F0204).hint.unwrap().en, "write [\"a\"]");
}

#[test]
fn pr6_plus_as_a_prefix_and_partial_patterns_say_what_was_meant() {
    let found = the(&visible("[\"+foo\"]"), Code::F0205);
    assert_eq!(found.hint.unwrap().en, "did you mean [\"+\", \"foo\"]?");
    assert_eq!(found.fix.unwrap().replacement, "\"+\", \"foo\"");
    assert!(the(&visible("[\"foo-*\"]"), Code::F0205).message.en.contains("partial pattern"));
    assert!(main_is_refused(&visible("[\"foo-*\"]")));
}

#[test]
fn pr7_redundant_entries_read_without_error() {
    for list in ["[\"+\",\"+\"]", "[\"*\",\"*\"]", "[\"a\",\"a\"]", "[\"+\",\"*\"]", "[\"*\",\"x\"]"] {
        assert_eq!(parse(&visible(list)).diagnostics, [], "{list}");
    }
}

#[test]
fn pr8_plus_in_deny_is_refused_and_star_is_not() {
    let found = the(&deny("[\"+\"]"), Code::F0207);
    assert_eq!(found.field.as_deref(), Some("/mainAgent/skills/deny/0"));
    assert!(found.is_error() && main_is_refused(&deny("[\"+\"]")));
    assert_eq!(parse(&deny("[\"*\"]")).diagnostics, []);
}

#[test]
fn pr9_wrong_types_name_pointer_and_type() {
    for (list, pointer, message) in [
        ("\"a\"", "/mainAgent/skills/visible", "found a string (expected a list of skill names)"),
        ("null", "/mainAgent/skills/visible", "found null (expected a list of skill names)"),
        ("[\"a\", 3]", "/mainAgent/skills/visible/1", "found a number (expected a skill name)"),
        ("[[\"a\"]]", "/mainAgent/skills/visible/0", "found a list (expected a skill name)"),
    ] {
        let found = the(&visible(list), Code::F0209);
        assert_eq!((found.field.as_deref(), found.message.en.as_str()), (Some(pointer), message));
        assert!(main_is_refused(&visible(list)));
    }
    for (main, pointer) in [
        ("\"skills\": [\"a\"]", "/mainAgent/skills"),
        ("\"skills\": null", "/mainAgent/skills"),
        ("\"skills\": {\"none\": 1}", "/mainAgent/skills/none"),
        ("\"systemPrompt\": 1", "/mainAgent/systemPrompt"),
        ("\"tools\": \"bash\"", "/mainAgent/tools"),
    ] {
        assert_eq!(the(&director(main), Code::F0209).field.as_deref(), Some(pointer));
    }
    assert_eq!(the("[]", Code::F0209).message.en, "the profile is a list (expected an object)");
}

#[test]
fn pr12_a_name_that_is_not_canonical_is_refused_with_the_right_one() {
    let found = the(&deny("[\"Foo\"]"), Code::F0212);
    assert_eq!(found.hint.unwrap().en, "use `foo`");
    assert_eq!(found.fix.unwrap().replacement, "\"foo\"");
    for list in ["[\"cafe\u{301}\"]", "[\"ｐｄｆ\"]", "[\"a \"]", "[\"\"]", "[\"a\\u200bb\"]", "[\"all\"]"]
    {
        assert!(the(&visible(list), Code::F0212).is_error(), "{list}");
    }
}

#[test]
fn pr13_agent_ids_are_checked_and_unique() {
    let sub = |ids: &str| format!("{{\"mode\": \"director\", \"mainAgent\": {{}}, \"subAgents\": [{ids}]}}");
    let text = sub("{\"id\": \"critic\"}, {\"id\": \"x\"}, {\"id\": \"critic\"}");
    let found = the(&text, Code::F0213);
    assert!(found.message.en.contains("`/subAgents/0`") && found.message.en.contains("`/subAgents/2`"));
    let profile = parse(&text).profile.unwrap();
    let standings: Vec<_> =
        profile.agents(Mode::Director).iter().map(|a| (a.id.as_str(), a.standing)).collect();
    assert_eq!(standings, [("main", Standing::Sound), ("critic", Standing::Refused), ("x", Standing::Sound)]);
    for id in ["all", "../x", "", &"x".repeat(300)] {
        let found = the(&sub(&format!("{{\"id\": \"{id}\"}}")), Code::F0213);
        assert_eq!(found.field.as_deref(), Some("/subAgents/0/id"));
    }
    assert!(the(&sub("{}"), Code::F0213).message.en.contains("no `id`"));
    assert!(the(&sub("{\"id\": \"main\"}"), Code::F0213).message.en.contains("`/mainAgent`"));
}

#[test]
fn pr14_missing_blocks_are_refused_and_blocks_of_other_modes_named() {
    let found = the("{\"mode\": \"director\"}", Code::F0214);
    assert_eq!((found.field.as_deref(), found.severity), (Some("/mainAgent"), Severity::Error));
    let found = the("{\"mode\": \"director\", \"mainAgent\": {}, \"loopAgent\": {}}", Code::F0215);
    assert!(found.message.en.contains("ignored in mode director") && !found.is_error());
    for (text, pointer) in [
        ("{\"mode\": \"loop\"}", "/loopAgent"),
        ("{\"mode\": \"spec\"}", "/nodes"),
        ("{\"mode\": \"spec\", \"nodes\": []}", "/nodes/0"),
        ("{\"mode\": \"agenda\", \"planner\": {}}", "/workers"),
        ("{\"mode\": \"single\"}", "/node"),
        ("{\"mainAgent\": {}}", "/mode"),
        ("{\"mode\": \"loop\", \"modes\": {\"single\": {\"node\": {}}}}", "/modes/loop"),
    ] {
        assert_eq!(the(text, Code::F0214).field.as_deref(), Some(pointer), "{text}");
    }
}

#[test]
fn pr15_skills_nested_in_skills_is_refused_with_the_way_out() {
    let text = director("\"skills\": {\"skills\": {\"visible\": [\"a\"]}}");
    let found = the(&text, Code::F0216);
    assert_eq!(found.field.as_deref(), Some("/mainAgent/skills/skills"));
    assert_eq!(found.hint.unwrap().en, "move `visible` and `deny` up one level");
    assert!(main_is_refused(&text));
}

#[test]
fn pr16_deep_huge_and_endless_files_are_refused_without_harm() {
    for bracket in ["[", "{\"a\":"] {
        let found = the(&bracket.repeat(100_000), Code::F0217);
        assert_eq!(found.message.en, "nested more than 64 deep");
    }
    let found = the("{\"mode\": \"loop\", \"loopAgent\": {\"maxRounds\": 1}, \"x-n\": 1e999}", Code::F0217);
    assert_eq!(
        (found.field.as_deref(), found.message.en.as_str()),
        (Some("/x-n"), "the number 1e999 is out of range")
    );
    let prompt = |bytes: usize| director(&format!("\"systemPrompt\": \"{}\"", "x".repeat(bytes)));
    assert!(the(&prompt(5_000_000), Code::F0217).message.en.contains("limit 1048576"));
    let found = the(&prompt(300_000), Code::F0217);
    assert_eq!(found.field.as_deref(), Some("/mainAgent/systemPrompt"));
    assert_eq!(parse(&prompt(256 * 1024)).diagnostics, []);
    assert!(the(&director("\"maxRounds\": -1"), Code::F0217).is_error());
}

#[test]
fn many_findings_are_counted_not_collected() {
    let keys: Vec<String> = (0..60_000).map(|n| format!("\"k{n}\":1")).collect();
    let text = director(&keys.join(","));
    let started = std::time::Instant::now();
    let parsed = parse(&text);
    assert_eq!(parsed.diagnostics.len(), 101);
    assert!(parsed.diagnostics[100].message.en.contains("59900 more warnings"));
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn unknown_keys_warn_with_the_nearest() {
    let found = the(&director("\"systemPromt\": \"\""), Code::F0218);
    assert_eq!(found.hint.unwrap().en, "did you mean `systemPrompt`?");
    assert!(found.severity == Severity::Warning && found.field.as_deref() == Some("/mainAgent/systemPromt"));
    assert_eq!(parse(&director("\"x-note\": 1")).diagnostics, []);
    assert_eq!(parse(&director("\"skills\": {\"x-note\": 1}")).diagnostics, []);
}

/// Each of these would give an agent more than its author meant, if the key were merely ignored.
#[test]
fn a_misspelt_policy_is_refused_and_gives_nothing() {
    let inventory = crate::fixture::inventory(&["a", "b"]);
    let mode = |block: &str| format!(r#"{{"mode": "director", {block}, "mainAgent": {{}}}}"#);
    for (text, field, near) in [
        (director(r#""skills": {"denny": ["a"]}"#), "/mainAgent/skills/denny", "deny"),
        (director(r#""skills": {"Visible": ["a"]}"#), "/mainAgent/skills/Visible", "visible"),
        (director(r#""skils": {"visible": ["a"]}"#), "/mainAgent/skils", "skills"),
        (director(r#""skills": {"visible": ["a"]}, "skill": {"deny": ["a"]}"#), "/mainAgent/skill", "skills"),
        (mode(r#""skills": {"visible": ["*"], "dney": ["a"]}"#), "/skills/dney", "deny"),
        (mode(r#""Skills": {"deny": ["a"]}"#), "/Skills", "skills"),
    ] {
        let found = the(&text, Code::F0218);
        assert_eq!((found.severity, found.field.as_deref()), (Severity::Error, Some(field)), "{text}");
        assert_eq!(found.hint.unwrap().en, format!("did you mean `{near}`?"), "{text}");
        let profile = parse(&text).profile.unwrap();
        let agent = &profile.agents(Mode::Director)[0];
        let resolution = crate::policy::resolve(&profile, Mode::Director, agent, &inventory);
        assert!(resolution.is_closed() && resolution.visible().next().is_none(), "{text}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_the_offset() {
    let parsed = Profile::parse_bytes("p", b"{\n\"mode\": \"\xff\"}");
    assert_eq!(parsed.diagnostics[0].code, Code::F0201);
    assert!(parsed.diagnostics[0].message.en.contains("offset 11"));
    assert_eq!(parsed.diagnostics[0].span.unwrap().line, 2);
    let utf16: Vec<u8> = [0xff, 0xfe, b'{', 0].to_vec();
    assert!(Profile::parse_bytes("p", &utf16).diagnostics[0].hint.as_ref().unwrap().en.contains("UTF-16"));
    let bom = "\u{feff}{\"mode\": \"single\", \"node\": {\"skills\": {\"deny\": [\"Foo\"]}}}";
    let parsed = Profile::parse_bytes("p", bom.as_bytes());
    let fix = parsed.diagnostics[0].fix.clone().unwrap();
    assert_eq!(
        bom.get(fix.start as usize..fix.end as usize),
        Some("\"Foo\""),
        "offsets are those of the file"
    );
}

#[test]
fn syntax_errors_have_words_in_both_languages() {
    for text in [
        "{mode: 1}",
        "{'mode': 1}",
        "{\"a\" 1}",
        "{\"a\": }",
        "{\"a\": 1 \"b\": 2}",
        "{} {}",
        "{\"a\": ]}",
        "{\"a\": ,}",
        "{\"a\": x}",
        "{\"a\": 0x1}",
        "{\"a\": .5}",
        "{\"a\": \"\\q\"}",
        "{\"a\": \"x\ny\"}",
        "{,}",
        "",
        "  // only\n",
        "{\"a\": \"\\ud800\"}",
        "{\"a\": -}",
        "{\"a\": NaN}",
        "{]",
    ] {
        let found = the(text, Code::F0201);
        assert!(found.message.en.is_ascii() && !found.message.zh.is_ascii(), "{text}: {:?}", found.message);
    }
}

#[test]
fn several_modes_keep_their_own_policy() {
    let text = r#"{ "mode": "loop", "preset": "中文 导演", "modes": {
        "director": { "skills": {"visible": ["a"]}, "mainAgent": {}, "subAgents": [{"id": "critic"}] },
        "loop": { "loopAgent": {"id": "walker", "skills": {"none": true}} }
    } }"#;
    let parsed = parse(text);
    assert_eq!(parsed.diagnostics, []);
    let profile = parsed.profile.unwrap();
    assert_eq!((profile.mode, profile.modes()), (Mode::Loop, vec![Mode::Director, Mode::Loop]));
    assert_eq!(profile.preset.as_deref(), Some("中文 导演"));
    let ids =
        |mode| profile.agents(mode).iter().map(|a| (a.id.as_str(), a.pointer.as_str())).collect::<Vec<_>>();
    assert_eq!(
        ids(Mode::Director),
        [("main", "/modes/director/mainAgent"), ("critic", "/modes/director/subAgents/0")]
    );
    assert_eq!(ids(Mode::Loop), [("walker", "/modes/loop/loopAgent")]);
    assert!(profile.mode_skills(Mode::Loop).is_none() && profile.agents(Mode::Spec).is_empty());
}

#[test]
fn a_policy_beside_modes_is_refused_because_it_would_be_ignored() {
    let text = r#"{"mode": "loop", "skills": {"deny": ["x"]}, "modes": {"loop": {"loopAgent": {}}}}"#;
    let found = the(text, Code::F0215);
    assert!(found.is_error() && found.field.as_deref() == Some("/skills"));
    assert!(parse(text).profile.unwrap().standing.is_refused());
    let one = parse(r#"{"modes": {"loop": {"loopAgent": {}}}}"#);
    assert_eq!((one.diagnostics.len(), one.profile.unwrap().mode), (0, Mode::Loop));
    the(r#"{"modes": {"lop": {}, "loop": {"loopAgent": {}}}}"#, Code::F0203);
}

#[test]
fn every_role_is_read_with_its_fixed_id() {
    let roles = |text: &str| {
        let profile = parse(text).profile.unwrap();
        let agents = profile.agents(profile.mode).iter();
        agents.map(|agent| format!("{}={}", agent.id, agent.role)).collect::<Vec<_>>()
    };
    assert_eq!(roles(r#"{"mode": "single", "node": {}}"#), ["node=single"]);
    assert_eq!(roles(r#"{"mode": "loop", "loopAgent": {}}"#), ["loop=loop"]);
    assert_eq!(
        roles(r#"{"mode": "agenda", "planner": {}, "workers": [{"id": "w"}], "finalWorker": {}}"#),
        ["planner=planner", "w=worker", "final=final_worker"]
    );
    assert_eq!(
        roles(r#"{"mode": "spec", "nodes": [{"id": "r", "type": "review"}, {"id": "w"}]}"#),
        ["r=review_node", "w=worker_node"]
    );
    assert!(!AgentRole::ReviewNode.gets_catalog() && AgentRole::WorkerNode.gets_catalog());
}

#[test]
fn stages_must_fit_the_nodes() {
    let spec = |stages: &str| {
        format!(
            r#"{{"mode": "spec", "nodes": [{{"id": "a"}}, {{"id": "r", "type": "review"}}, {{"id": "b"}}], "stages": [{stages}]}}"#
        )
    };
    let good = spec(r#"{"nodes": ["a"]}, {"nodes": ["r"]}, {"mode": "parallel", "nodes": ["b"]}"#);
    let parsed = parse(&good);
    assert_eq!(parsed.diagnostics, []);
    let profile = parsed.profile.unwrap();
    assert_eq!(profile.policy(Mode::Spec).unwrap().stages[2].mode, StageMode::Parallel);
    let found = the(&spec(r#"{"nodes": ["a", "b", "r", "aa"]}, {"nodes": ["b"]}"#), Code::F0220);
    assert_eq!(found.field.as_deref(), Some("/stages/0/nodes/3"));
    assert!(the(&spec(r#"{"nodes": ["a", "r"]}, {"nodes": ["b", "a"]}"#), Code::F0222).is_error());
    assert!(
        the(&spec(r#"{"nodes": ["a", "b"]}, {"nodes": ["r"]}"#), Code::F0222)
            .message
            .en
            .contains("last stage")
    );
    assert!(!the(&spec(r#"{"nodes": ["r"]}, {"nodes": ["b"]}"#), Code::F0222).is_error());
}

proptest::proptest! {
    #![proptest_config(crate::fixture::cases())]

    #[test]
    fn any_text_is_answered(text in "(\\PC|\n){0,80}|[\\[\\]{}\",:/*+a\\\\ \n]{0,60}") {
        let parsed = parse(&text);
        proptest::prop_assert!(parsed.profile.is_some() || parsed.has_errors());
    }
}

mod schema {
    use super::super::*;
    use serde_json::{Value, json};

    fn accepts(schema: &Value, document: &Value) -> bool {
        jsonschema::draft202012::new(schema).unwrap().is_valid(document)
    }

    #[test]
    fn the_seeds_example_is_valid_and_mistakes_are_not() {
        let any = schema(None);
        let director = schema(Some(Mode::Director));
        let example = json!({
            "mode": "director",
            "skills": { "visible": ["director-anti-cliche-zh", "director-zh-style-baseline"] },
            "mainAgent": { "systemPrompt": "x", "skills": { "visible": ["+", "director-turn-workflow-zh"] } },
            "subAgents": [{ "id": "voice_critic", "skills": { "visible": ["+", "voice-critic-method-zh"] } }]
        });
        assert!(accepts(&any, &example) && accepts(&director, &example));
        let with = |pointer: &str, value: Value| {
            let mut document = example.clone();
            *document.pointer_mut(pointer).unwrap() = value;
            document
        };
        for (pointer, value) in [
            ("/mode", json!("directer")),
            ("/mainAgent/skills/visible", json!("a")),
            ("/mainAgent/skills/visible", json!(["a", "+"])),
            ("/mainAgent/skills/visible", json!(["+foo"])),
            ("/mainAgent/skills", json!({ "skills": {} })),
            ("/mainAgent/skills", json!({ "deny": ["+"] })),
            ("/mainAgent/skills", json!({ "deny": ["Foo"] })),
            ("/skills/visible", json!(["+", "a"])),
            ("/subAgents/0", json!({ "skills": {} })),
            ("/subAgents/0/id", json!("../x")),
            ("/mainAgent", json!({ "maxRounds": 0 })),
        ] {
            let document = with(pointer, value);
            assert!(!accepts(&any, &document) && !accepts(&director, &document), "{document}");
        }
        assert!(!accepts(&any, &json!({ "mode": "director" })));
    }

    #[test]
    fn templates_and_several_modes_are_valid() {
        for mode in Mode::ALL {
            let text = template(mode, fugato_model::Lang::En);
            let document: Value = jsonc_parser::parse_to_serde_value(&text, &OPTIONS).unwrap();
            assert!(accepts(&schema(Some(mode)), &document) && accepts(&schema(None), &document), "{mode}");
        }
        let several =
            json!({ "mode": "loop", "modes": { "loop": { "loopAgent": {} }, "single": { "node": {} } } });
        assert!(accepts(&schema(None), &several));
    }

    #[test]
    fn reader_and_schema_know_the_same_keys() {
        let keys = |schema: &Value, pointer: &str| {
            let map = schema.pointer(pointer).unwrap().as_object().unwrap();
            map.keys().cloned().collect::<std::collections::BTreeSet<_>>()
        };
        let owned = |keys: &[&str]| {
            keys.iter().map(|key| (*key).to_owned()).collect::<std::collections::BTreeSet<_>>()
        };
        for mode in Mode::ALL {
            let schema = schema(Some(mode));
            let expected = owned(&[fields::FILE_KEYS, &fields::mode_fields(mode)].concat());
            assert_eq!(keys(&schema, "/properties"), expected);
            let agent = owned(&fields::agent_fields(AgentRole::Main));
            assert_eq!(keys(&schema, "/$defs/agent/properties"), agent);
            let node = owned(&fields::agent_fields(AgentRole::WorkerNode));
            assert_eq!(keys(&schema, "/$defs/node/properties"), node);
            assert_eq!(keys(&schema, "/$defs/agentSkills/properties"), owned(fields::SKILLS_KEYS));
            assert_eq!(keys(&schema, "/$defs/stage/properties"), owned(fields::STAGE_KEYS));
        }
    }
}
