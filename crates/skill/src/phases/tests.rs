//! The whole reading, problem by problem: each case is a file a person could write.

use super::*;
use fugato_model::{Code, Lang};
use proptest::prelude::*;

fn skill_md(phases: &str, body: &str) -> String {
    format!("---\nname: daily\ndescription: d\n{phases}---\n{body}")
}

/// Every path below `_sub/` exists, except `_sub/none`.
fn files(path: &RelPath) -> SubSkill {
    match path.as_str() {
        "_sub/none" => SubSkill::Missing {
            looked_at: vec!["daily/_sub/none/SKILL.md".into()],
            nearest: vec!["_sub/note".into()],
        },
        "_sub/loop" => {
            SubSkill::Recursive { names: ["daily", "_sub/loop", "daily"].map(Into::into).to_vec() }
        }
        "_sub/deep" => SubSkill::TooDeep { names: vec!["x".into(); 9] },
        "_sub/phased" => SubSkill::Phased {
            path: "daily/_sub/phased/SKILL.md".into(),
            text: "---\nmetadata:\n  fugato-run: scripts/a.sh\n---\n".into(),
        },
        "_sub/link" => SubSkill::Unusable {
            path: "daily/_sub/link".into(),
            why: words!("link leads outside of the skill", "链接指向技能目录之外"),
        },
        "self" => SubSkill::Found { path: "SKILL.md".into(), text: String::new() },
        "_sub/script" => SubSkill::Found {
            path: "daily/_sub/script/SKILL.md".into(),
            text: "---\nname: script\ndescription: d\nmetadata:\n  fugato-run: scripts/main.sh\n---\n".into(),
        },
        other => SubSkill::Found {
            path: format!("daily/{other}/SKILL.md"),
            text: format!("# {other}\nUses VAULT and `{{{{notes}}}}`, not OTHER.\n"),
        },
    }
}

fn read_text(text: &str) -> (Option<Phased>, Vec<Diagnostic>) {
    read(Source { path: "SKILL.md", text, side_file: None }, &files)
}

/// Reads `phases:` with the given list below it.
fn list(phases: &str) -> (Option<Phased>, Vec<Diagnostic>) {
    read_text(&skill_md(&format!("phases:\n{phases}"), ""))
}

fn clean(phases: &str) -> Phased {
    let (phased, diagnostics) = list(phases);
    assert_eq!(diagnostics, [], "{phases}");
    phased.unwrap()
}

/// One problem: its code, severity, line, and a part of its message.
#[track_caller]
fn one(phases: &str, code: Code, is_error: bool, line: u32, says: &str) -> Diagnostic {
    let (phased, mut diagnostics) = list(phases);
    assert_eq!(diagnostics.len(), 1, "{diagnostics:#?}");
    let found = diagnostics.remove(0);
    assert_eq!(
        (found.code, found.is_error(), found.span.map(|span| span.line)),
        (code, is_error, Some(line)),
        "{found:?}"
    );
    assert!(found.message.en.contains(says), "{}", found.one_line(Lang::En));
    assert_eq!(phased.is_some(), !is_error);
    found
}

fn hint(found: &Diagnostic) -> &str {
    found.hint.as_ref().map_or("", |hint| hint.en.as_str())
}

const SEED: &str = "  - name: setup
    parallel: true
    subagents:
      - skill: _sub/fetch/get-config
        type: explore
        output: VAULT
      - skill: _sub/fetch/get-directives
        type: explore
        output: DIRECTIVES
        optional: true
  - name: gather
    depends_on: [setup]
    subagents:
      - skill: _sub/fetch/get-calendar
        type: explore
        args: \"scope={{TARGET_DATE}}\"
        output: CALENDAR
  - name: interact
    depends_on: [gather]
    inline: true
";

#[test]
fn the_example_of_the_contract_is_read() {
    let phased = clean(SEED);
    assert_eq!(phased.order, [0, 1, 2]);
    let setup = &phased.phases[0];
    assert!(setup.parallel && !setup.inline && setup.enabled);
    assert_eq!(setup.subagents[0].id, "get-config");
    assert_eq!(setup.subagents[0].output, VarName::parse("VAULT").ok());
    assert_eq!(setup.subagents[0].agent_type, AgentType::Explore);
    assert!(setup.subagents[1].optional && !setup.subagents[0].optional);
    let calendar = &phased.phases[1].subagents[0];
    assert_eq!(phased.phases[1].depends_on, ["setup"]);
    assert_eq!(calendar.args.variables().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["TARGET_DATE"]);
    assert_eq!(calendar.relevant, [VarName::parse("VAULT").unwrap()]);
    assert!(phased.phases[2].inline);
}

#[test]
fn a_skill_without_phases_has_none_and_an_empty_list_is_told() {
    assert_eq!(read_text(&skill_md("", "")), (None, Vec::new()));
    for empty in ["phases: []\n", "phases:\n"] {
        let (phased, diagnostics) = read_text(&skill_md(empty, ""));
        assert!(phased.is_none());
        assert_eq!(
            (diagnostics.len(), diagnostics[0].code, diagnostics[0].is_error()),
            (1, Code::F0801, false)
        );
    }
}

#[test]
fn ph1_phases_of_another_type_are_refused_and_a_single_dependency_is_accepted() {
    for wrong in ["phases: setup\n", "phases:\n  setup:\n    inline: true\n", "phases: 7\n"] {
        let (phased, diagnostics) = read_text(&skill_md(wrong, ""));
        assert!(phased.is_none() && diagnostics[0].is_error());
        assert_eq!((diagnostics[0].code, diagnostics.len()), (Code::F0801, 1));
        assert!(diagnostics[0].message.en.contains("expected a list of phases, found"));
    }
    one("  - setup\n", Code::F0801, true, 5, "expected a phase (a map), found the text `setup`");
    let found = one(
        "  - name: a\n    inline: true\n  - name: b\n    depends_on: a\n    inline: true\n",
        Code::F0813,
        false,
        8,
        "`depends_on` is text",
    );
    assert_eq!(found.fix.unwrap().replacement, "[a]");
}

#[test]
fn ph2_names_are_there_and_used_once() {
    let found = one("  - inline: true\n", Code::F0802, true, 5, "phase 1 has no `name`");
    assert_eq!(found.field.as_deref(), Some("phases[0].name"));
    let found = one(
        "  - name: a\n    inline: true\n  - name: a\n    inline: true\n",
        Code::F0802,
        true,
        7,
        "phase `a` is on line 5 and again on line 7",
    );
    assert_eq!(found.related[0].span.line, 5);
    one("  - name: a/b\n    inline: true\n", Code::F0802, true, 5, "contains '/'");
}

#[test]
fn ph3_an_unknown_dependency_has_a_suggestion_and_no_second_error() {
    let phases = SEED.replace("depends_on: [gather]", "depends_on: [gathr]");
    let found = one(&phases, Code::F0803, true, 23, "depends on `gathr`");
    assert_eq!((hint(&found), found.span.unwrap().column), ("did you mean `gather`?", 18));
    // The suggestion counts as the dependency: what it sets may be used.
    let used = "  - name: gather\n    subagents:\n      - {skill: _sub/a, type: explore, output: X}\n  - name: b\n    depends_on: [gathr]\n    subagents:\n      - {skill: _sub/b, type: explore, requires: [X]}\n";
    one(used, Code::F0803, true, 9, "`gathr`");
    one("  - name: a\n    depends_on: [zzz]\n    inline: true\n", Code::F0803, true, 6, "`zzz`");
}

#[test]
fn ph4_every_cycle_is_printed_whole() {
    one("  - name: a\n    depends_on: [a]\n    inline: true\n", Code::F0804, true, 6, "itself: a ──→ a");
    let phase = |name: &str, on: &str| format!("  - {{name: {name}, inline: true, depends_on: [{on}]}}\n");
    let three = phase("a", "b") + &phase("b", "c") + &phase("c", "a") + &phase("d", "a");
    let found = one(&three, Code::F0804, true, 5, "a ──→ b ──→ c ──→ a");
    assert_eq!(found.related.iter().map(|related| related.span.line).collect::<Vec<_>>(), [6, 7]);
    let (_, two) = list(&(phase("a", "b") + &phase("b", "a") + &phase("x", "y") + &phase("y", "x")));
    let drawn: Vec<&str> = two.iter().map(|found| found.message.en.rsplit(": ").next().unwrap()).collect();
    assert_eq!(drawn, ["a ──→ b ──→ a", "x ──→ y ──→ x"]);
}

#[test]
fn ph5_a_phase_is_inline_or_has_subagents() {
    one("  - name: a\n", Code::F0805, true, 5, "neither");
    one("  - name: a\n    subagents: []\n", Code::F0805, true, 5, "neither");
    let both = "  - name: a\n    inline: true\n    subagents:\n      - {skill: _sub/x, type: explore}\n";
    let found = one(both, Code::F0805, true, 6, "both");
    assert_eq!(found.related[0].span.line, 7);
}

#[test]
fn ph6_types_are_known() {
    let with =
        |kind: &str| format!("  - name: a\n    subagents:\n      - skill: _sub/x\n        type: {kind}\n");
    let found = one(&with("writer"), Code::F0806, true, 8, "unknown type `writer`");
    assert!(found.message.en.contains("`explore`, `general-purpose`"));
    assert_eq!(hint(&one(&with("explorer"), Code::F0806, true, 8, "`explorer`")), "type: explore");
    for kind in ["explore", "Explore", "general-purpose", "plan", "coder"] {
        clean(&with(kind));
    }
    assert_eq!(clean(&with("coder")).phases[0].subagents[0].agent_type.as_str(), "coder");
    let text = skill_md(&format!("phases:\n{}", with("writer")), "");
    let source = Source { path: "SKILL.md", text: &text, side_file: None };
    let (phased, diagnostics) = read_knowing(source, &files, &|name| name == "writer");
    assert_eq!(diagnostics, []);
    assert_eq!(phased.unwrap().phases[0].subagents[0].agent_type, AgentType::Other("writer".into()));
    let none = "  - name: a\n    subagents:\n      - skill: _sub/x\n";
    one(none, Code::F0806, false, 7, "`general-purpose` and may write");
}

#[test]
fn ph7_sub_skills_are_inside_and_there() {
    let with =
        |path: &str| format!("  - name: a\n    subagents:\n      - skill: {path}\n        type: explore\n");
    one(&with("../../x"), Code::F0807, true, 7, "goes up");
    one(&with("/etc/x"), Code::F0807, true, 7, "absolute");
    one(&with("'C:\\x'"), Code::F0807, true, 7, "`C:\\x`");
    let missing = one(&with("_sub/none"), Code::F0807, true, 7, "looked at `daily/_sub/none/SKILL.md`");
    assert!(hint(&missing).starts_with("did you mean `_sub/note`?"), "{}", hint(&missing));
    one(&with("_sub/loop"), Code::F0807, true, 7, "leads back to itself: daily ──→ _sub/loop ──→ daily");
    one(&with("_sub/deep"), Code::F0807, true, 7, "9 deep");
    clean(&with("_sub/phased"));
    let program = with("_sub/phased").replace("explore", "script");
    one(&program, Code::F0807, false, 7, "its program runs");
    one(&with("_sub/link"), Code::F0807, true, 7, "outside of the skill");
    one(&with("self"), Code::F0807, true, 7, "this skill itself");
    one("  - name: a\n    subagents:\n      - type: explore\n", Code::F0807, true, 7, "no `skill`");
    // What is switched off need not exist yet.
    clean(&(with("_sub/none") + "    enabled: false\n"));
}

#[test]
fn ph8_two_writers_at_once_are_refused_with_both_lines() {
    let parallel = "  - name: a\n    parallel: true\n    subagents:\n      - {skill: _sub/x, type: explore, output: X}\n      - {skill: _sub/y, type: explore, output: X}\n";
    one(parallel, Code::F0808, true, 9, "write `X`: line 8 and line 9");
    clean(&parallel.replace("parallel: true", "parallel: false"));
    let phase = |name: &str, on: &str| {
        format!(
            "  - name: {name}\n    depends_on: [{on}]\n    subagents:\n      - {{skill: _sub/x, type: explore, output: X}}\n"
        )
    };
    one(&(phase("a", "") + &phase("b", "")), Code::F0808, true, 12, "`a` (line 8) and `b` (line 12)");
    clean(&(phase("a", "") + &phase("b", "a") + &phase("c", "b")));
    // In a row by declaration, and yet `b` and `c` are not ordered.
    let (_, found) = list(&(phase("a", "") + &phase("b", "a") + &phase("c", "a")));
    assert_eq!((found.len(), found[0].code), (1, Code::F0808));
    let inline = "  - {name: a, inline: true, sets: [X]}\n  - {name: b, inline: true, sets: [X]}\n";
    one(inline, Code::F0808, true, 6, "both write `X`");
    clean("  - {name: a, inline: true, sets: [X]}\n  - {name: b, inline: true, enabled: false, sets: [X]}\n");
}

#[test]
fn ph9_what_is_never_set_is_refused_with_the_nearest_name() {
    let phases = SEED.replace("args: \"scope={{TARGET_DATE}}\"", "requires: [VALT]");
    let found = one(&phases, Code::F0809, true, 20, "`VALT` is set by nothing");
    assert_eq!((hint(&found), found.span.unwrap().column), ("did you mean `VAULT`?", 20));
    let found = one(&SEED.replace("TARGET_DATE", "VALT"), Code::F0809, true, 20, "`VALT`");
    assert_eq!(found.span.unwrap().column, 22);
    let later = SEED.replace("TARGET_DATE", "CALENDAR");
    one(&later, Code::F0809, true, 20, "own output");
    let other = "  - name: a\n    subagents:\n      - {skill: _sub/x, type: explore, output: X}\n  - name: b\n    subagents:\n      - {skill: _sub/y, type: explore, args: '{{X}}'}\n";
    let found = one(other, Code::F0809, true, 10, "set by phase `a`, which need not be complete");
    assert_eq!(hint(&found), "depends_on: [a]");
    clean(&SEED.replace("TARGET_DATE", "DIRECTIVES.user"));
    clean(&SEED.replace("args: \"scope={{TARGET_DATE}}\"", "requires: ['DIRECTIVES?', TODAY]"));
}

#[test]
fn serial_subagents_use_what_came_before_and_parallel_ones_wait() {
    let phase = |parallel: bool, first: &str, second: &str| {
        format!(
            "  - name: a\n    parallel: {parallel}\n    subagents:\n      - {{skill: _sub/x, type: explore, output: X, args: '{first}'}}\n      - {{skill: _sub/y, type: explore, output: Y, args: '{second}'}}\n"
        )
    };
    clean(&phase(false, "", "{{X}}"));
    one(&phase(false, "{{Y}}", ""), Code::F0809, true, 8, "runs later in this phase");
    let (phased, found) = list(&phase(true, "{{Y}}", ""));
    assert_eq!((found.len(), found[0].code, found[0].is_error()), (1, Code::F0815, false));
    assert_eq!(phased.unwrap().phases[0].subagents[0].after, [1]);
    let (phased, found) = list(&phase(true, "{{Y}}", "{{X}}"));
    assert!(phased.is_none());
    let cycle = found.iter().find(|found| found.is_error()).unwrap();
    assert!(cycle.message.en.ends_with("x ──→ y ──→ x"), "{}", cycle.message.en);
}

#[test]
fn inline_phases_set_what_they_say_what_they_mention_and_what_is_expected() {
    let phases = |sets: &str| {
        format!(
            "phases:\n  - name: talk\n    inline: true\n{sets}  - name: write\n    depends_on: [talk]\n    subagents:\n      - {{skill: _sub/w, type: general-purpose, args: '{{{{PLAN}}}}'}}\n"
        )
    };
    let plan = VarName::parse("PLAN").unwrap();
    let (phased, found) = read_text(&skill_md(&phases("    sets: [PLAN]\n"), ""));
    assert_eq!((found, phased.unwrap().phases[0].sets.clone()), (vec![], vec![plan.clone()]));
    let (phased, found) = read_text(&skill_md(&phases(""), "## Talk\n\nAgree on the PLAN.\n"));
    assert_eq!((found, phased.unwrap().phases[0].sets_by_use.clone()), (vec![], vec![plan.clone()]));
    let (phased, found) = read_text(&skill_md(&phases(""), "## Talk\n\nAgree.\n"));
    assert_eq!((found.len(), found[0].code, found[0].is_error()), (1, Code::F0809, false));
    assert_eq!(
        (hint(&found[0]), phased.unwrap().phases[0].sets_by_use.clone()),
        ("sets: [PLAN] in `talk`", vec![plan])
    );
    // It says what it sets, and this is not it.
    let (phased, found) = read_text(&skill_md(&phases("    sets: [OTHER]\n"), "PLAN"));
    assert!(phased.is_none() && found[0].is_error() && found[0].code == Code::F0809);
}

#[test]
fn ph10_templates_are_checked_where_they_stand() {
    let with = |args: &str| {
        format!(
            "  - name: a\n    subagents:\n      - skill: _sub/x\n        type: explore\n        args: {args}\n"
        )
    };
    for (args, column, says) in [
        ("\"scope={{VAR\"", 22, "not closed"),
        ("'{{}}'", 16, "names no variable"),
        ("'{{a b}}'", 19, "unexpected ' '"),
        ("\"tab\\t {{a b}}\"", 25, "unexpected ' '"),
    ] {
        let found = one(&with(args), Code::F0810, true, 9, says);
        assert_eq!(found.span.unwrap().column, column, "{args}");
    }
    let folded = with(">\n          first line\n          {{NOPE}} and {{a b}}");
    assert_eq!(one(&folded, Code::F0810, true, 11, "unexpected").span.unwrap().column, 27);
}

#[test]
fn unquoted_braces_are_read_as_text() {
    let (phased, found) = list(
        "  - name: a\n    subagents:\n      - skill: _sub/x\n        type: explore\n        args: {{ARGUMENTS}}\n",
    );
    assert_eq!(found, []);
    let phased = phased.unwrap();
    let (name, place) = phased.phases[0].subagents[0].args.variables().next().unwrap();
    assert_eq!((name.as_str(), place.end - place.start), ("ARGUMENTS", 13));
}

#[test]
fn ph13_output_names_follow_the_rule() {
    let with = |name: &str| {
        format!(
            "  - name: a\n    subagents:\n      - skill: _sub/x\n        type: explore\n        output: {name}\n"
        )
    };
    one(&with("ARGUMENTS"), Code::F0811, true, 9, "set by the run itself");
    assert_eq!(hint(&one(&with("a-b"), Code::F0811, true, 9, "contains '-'")), "output: a_b");
    one(&with("__proto__"), Code::F0811, true, 9, "reserved");
    let (_, found) = list("  - {name: a, inline: true, sets: [TODAY]}\n");
    assert_eq!(found[0].code, Code::F0811);
}

#[test]
fn values_of_another_type_are_refused() {
    for (line, says) in [
        ("parallel: \"yes\"", "found the text `yes`"),
        ("inline: 1", "found the number `1`"),
        ("enabled: [true]", "found a list"),
    ] {
        let phases =
            format!("  - name: a\n    {line}\n    subagents:\n      - {{skill: _sub/x, type: explore}}\n");
        one(&phases, Code::F0813, true, 6, says);
    }
    let with = |line: &str| {
        format!("  - name: a\n    subagents:\n      - skill: _sub/x\n        type: explore\n        {line}\n")
    };
    one(&with("args: [a]"), Code::F0813, true, 9, "expected text, found a list");
    one(&with("optional: perhaps"), Code::F0813, true, 9, "`true` or `false`");
    one(&with("fallback: outline"), Code::F0813, true, 9, "expected `inline`");
    one(&with("requires: {a: b}"), Code::F0813, true, 9, "expected a list");
    one(&with("schema: nothing"), Code::F0813, true, 9, "JSON Schema");
    one(&with("requires: [a-b]"), Code::F0811, true, 9, "`a-b` is not a variable");
    one(&with("output: [A]"), Code::F0813, true, 9, "expected text");
    one("  - name: a\n    subagents: _sub/x\n", Code::F0813, true, 6, "expected a list");
    one("  - name: a\n    subagents: [_sub/x]\n", Code::F0801, true, 6, "expected a subagent");
}

#[test]
fn unknown_keys_are_told_and_old_ones_are_read() {
    let with = |line: &str| {
        format!("  - name: a\n    subagents:\n      - skill: _sub/x\n        type: explore\n        {line}\n")
    };
    assert_eq!(hint(&one(&with("outputs: X"), Code::F0814, false, 9, "`outputs`")), "did you mean `output`?");
    one(&with("colour: red"), Code::F0814, false, 9, "unknown key `colour`");
    let (phased, found) = list(&with("store_as: X"));
    assert_eq!((found.len(), found[0].code), (1, Code::F0814));
    assert_eq!(phased.unwrap().phases[0].subagents[0].output, VarName::parse("X").ok());
}

#[test]
fn everything_a_subagent_says_is_kept() {
    let phased = clean(
        "  - name: a\n    optional: true\n    subagents:\n      - skill: _sub/script/\n        type: script\n        fallback: inline\n        on_error: ' no luck '\n        schema: {type: object, required: [a], properties: {n: {minimum: 1.5}}}\n      - {skill: _sub/script, type: script, optional: false}\n      - {skill: _sub/script.2, type: explore}\n",
    );
    let ids: Vec<&str> = phased.phases[0].subagents.iter().map(|subagent| subagent.id.as_str()).collect();
    assert_eq!(ids, ["script", "script.2", "script.2.2"]);
    let first = &phased.phases[0].subagents[0];
    assert!(first.fallback_inline && first.optional && !phased.phases[0].subagents[1].optional);
    assert_eq!((first.on_error.as_deref(), first.skill.as_str()), (Some("no luck"), "_sub/script"));
    let schema =
        serde_json::json!({"type": "object", "required": ["a"], "properties": {"n": {"minimum": 1.5}}});
    assert_eq!(first.schema, Some(schema));
}

#[test]
fn a_script_needs_an_entry_point() {
    let with = |path: &str| format!("  - name: a\n    subagents:\n      - {{skill: {path}, type: script}}\n");
    clean(&with("_sub/script"));
    one(&with("_sub/x"), Code::F0816, true, 7, "`daily/_sub/x/SKILL.md`");
    for (value, says) in [("/bin/sh", "absolute"), ("../x", "goes up"), ("''", "no `metadata.fugato-run`")] {
        let text = format!("---\nmetadata:\n  fugato-run: {value}\n---\n");
        assert!(entry_point(&text).unwrap_err().en.contains(says), "{value}");
    }
}

#[test]
fn sections_are_found_by_heading_and_their_templates_are_checked() {
    let phases = "phases:\n  - {name: preflight, inline: true}\n  - {name: interact, inline: true, depends_on: [preflight]}\n  - {name: rest, inline: true, depends_on: [interact]}\n";
    let body = "# Daily\n\n## Pre-flight\n\nCheck.\n\n### Detail\nx\n\n```\n## interact\nnot this\n```\n## Phase 2: Interact\n\nHello {{TARGET_DATE}}.\n# End\n";
    let text = skill_md(phases, body);
    let (phased, found) = read_text(&text);
    assert_eq!(found, []);
    let phased = phased.unwrap();
    let shown = |index: usize| phased.markdown(&phased.phases[index], &text);
    assert!(shown(0).starts_with("\nCheck.\n") && shown(0).ends_with("not this\n```\n"), "{}", shown(0));
    assert_eq!(shown(1), "\nHello {{TARGET_DATE}}.\n");
    assert_eq!(shown(2), body);
    let template = phased.markdown_template(&phased.phases[1], &text);
    let place = template.variables().next().unwrap().1;
    assert_eq!(text.get(place.start..place.end), Some("{{TARGET_DATE}}"));

    // An inline phase comes before, so it may be meant to set the variable; naming it in braces is no promise.
    let (phased, found) = read_text(&text.replace("TARGET_DATE", "TARGET_DAY"));
    assert!(phased.is_some());
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|found| found.code == Code::F0809 && hint(found).contains("`TARGET_DATE`")));
    let (phased, found) = read_text(&text.replace("Check.", "{{TARGET_DAY}}"));
    assert!(phased.is_none());
    let error = found.iter().find(|found| found.is_error()).unwrap();
    assert_eq!((error.code, hint(error)), (Code::F0809, "did you mean `TARGET_DATE`?"));
    let sample = text.replace("{{TARGET_DATE}}", "{{ your text }} {{{{X}}");
    let (phased, found) = read_text(&sample);
    assert!(phased.is_some());
    assert!(found.iter().all(|found| found.code == Code::F0810 && !found.is_error()), "{found:?}");
}

#[test]
fn a_side_file_is_read_in_place_of_the_frontmatter() {
    let text = "---\nname: daily\ndescription: d\nmetadata:\n  phases_file: phases.yaml\n---\n## talk\nHi.\n";
    let side = |yaml: &str| {
        let source = Source { path: "SKILL.md", text, side_file: Some(("phases.yaml", yaml)) };
        read(source, &files)
    };
    let (phased, found) = side("# comment\ndebug: true\nphases:\n  - name: talk\n    inline: true\n");
    assert_eq!(found, []);
    let phased = phased.unwrap();
    assert!(phased.debug && phased.file == "phases.yaml");
    assert_eq!(phased.markdown(&phased.phases[0], text), "Hi.\n");
    assert!(side("- name: talk\n  inline: true\n").0.is_some());
    let (_, found) = side("phases:\n  - name: talk\n");
    assert_eq!((found[0].path.as_str(), found[0].span.unwrap().line), ("phases.yaml", 2));
    for (yaml, code, is_error) in [
        ("", Code::F0801, false),
        ("phases: []\n", Code::F0801, false),
        ("steps: []\n", Code::F0801, true),
        ("just text\n", Code::F0801, true),
        ("phases: [\n", Code::F0104, true),
        ("phases:\n  - name: a\n    name: b\n", Code::F0105, true),
    ] {
        let (phased, found) = side(yaml);
        assert!(phased.is_none());
        assert_eq!((found[0].code, found[0].is_error(), found.len()), (code, is_error, 1), "{yaml:?}");
    }
    let (_, found) = read(Source { path: "SKILL.md", text, side_file: None }, &files);
    assert_eq!((found[0].code, found[0].span.unwrap().line), (Code::F0125, 5));
    let both = text.replace("metadata:", "phases:\n  - {name: talk, inline: true}\nmetadata:");
    let (phased, found) =
        read(Source { path: "SKILL.md", text: &both, side_file: Some(("p", "phases: []")) }, &files);
    assert!(phased.is_none());
    assert_eq!((found[0].code, found[0].is_error(), found.len()), (Code::F0801, true, 1));
    assert_eq!(side(&"#\n".repeat(crate::limits::PHASES_FILE_BYTES)).1[0].code, Code::F0812);
}

#[test]
fn relevant_variables_are_those_required_or_mentioned() {
    let phased = clean(
        "  - name: a\n    subagents:\n      - {skill: _sub/a, type: explore, output: notes}\n      - {skill: _sub/b, type: explore, output: VAULT}\n      - {skill: _sub/c, type: explore, output: unused}\n  - name: b\n    depends_on: [a]\n    subagents:\n      - {skill: _sub/d, type: explore, requires: [unused]}\n",
    );
    let names = |names: &[VarName]| names.iter().map(|name| name.as_str().to_owned()).collect::<Vec<_>>();
    let subagent = &phased.phases[1].subagents[0];
    assert_eq!(names(&subagent.relevant), ["unused", "VAULT", "notes"]);
    let text = "Read $vault, ${root} and {{ notes }}; use VAULT, unused words and A.";
    assert_eq!(names(&relevant_variables(subagent, text)), ["unused", "vault", "root", "notes", "VAULT"]);
}

/// Five hundred phases with ten thousand dependencies, as a side file.
fn large() -> String {
    let mut yaml = String::from("phases:\n");
    for index in 0..500usize {
        let on: Vec<String> = (index.saturating_sub(20)..index).map(|before| format!("p{before}")).collect();
        yaml.push_str(&format!(
            "  - name: p{index}\n    depends_on: [{}]\n    subagents:\n      - {{skill: _sub/x, type: explore, output: V{index}, args: '{{{{V{}}}}}'}}\n",
            on.join(", "),
            index.saturating_sub(1)
        ));
    }
    yaml.replace("'{{V0}}'}\n  - name: p1\n", "'{{TODAY}}'}\n  - name: p1\n")
}

const NAMED: &str = "---\nname: daily\ndescription: d\nmetadata:\n  fugato-phases: p.yaml\n---\n";

#[test]
fn ph14_five_hundred_phases_are_accepted_and_one_more_is_refused() {
    let side = |yaml: &str| {
        read(Source { path: "SKILL.md", text: NAMED, side_file: Some(("p.yaml", yaml)) }, &files)
    };
    let yaml = large();
    let (phased, found) = side(&yaml);
    assert_eq!(found, []);
    let phased = phased.unwrap();
    let edges: usize = phased.phases.iter().map(|phase| phase.depends_on.len()).sum();
    assert_eq!((phased.phases.len(), edges, phased.order.len()), (500, 9_790, 500));
    for count in [501, 1_000] {
        let many: String =
            (0..count).map(|index| format!("  - {{name: p{index}, inline: true}}\n")).collect();
        let (phased, found) = side(&format!("phases:\n{many}"));
        assert!(phased.is_none());
        assert_eq!((found.len(), found[0].code), (1, Code::F0812));
        assert!(found[0].message.en.contains(&format!("{count} phases (limit 500)")));
    }
}

#[test]
fn ph14_large_graphs_are_checked_quickly() {
    // The promise is 100 ms when optimised; without optimisation parsing the YAML alone takes longer.
    let limit = if cfg!(debug_assertions) { 3_000 } else { 100 };
    let chain: String = (0..500)
        .map(|index| format!("  - {{name: p{index}, inline: true, depends_on: [p{}]}}\n", (index + 1) % 500))
        .collect();
    let unknown: String = (0..500)
        .map(|index| {
            format!("  - {{name: p{index}, inline: true, depends_on: [{}]}}\n", ["zz"; 20].join(","))
        })
        .collect();
    let writers: String = (0..500)
        .map(|index| {
            format!(
                "  - {{name: p{index}, subagents: [{}]}}\n",
                ["{skill: a, type: explore, output: X}"; 8].join(", ")
            )
        })
        .collect();
    for yaml in
        [large(), format!("phases:\n{chain}"), format!("phases:\n{unknown}"), format!("phases:\n{writers}")]
    {
        let source = Source { path: "SKILL.md", text: NAMED, side_file: Some(("p.yaml", &yaml)) };
        let started = std::time::Instant::now();
        let (_, found) = read(source, &files);
        let took = started.elapsed();
        assert!(took.as_millis() < limit, "{took:?}");
        assert!(found.len() <= 40, "{}", found.len());
    }
}

#[test]
fn problems_past_the_limit_are_counted() {
    let unknown: String =
        (0..30).map(|index| format!("  - {{name: p{index}, inline: true, depends_on: [zz]}}\n")).collect();
    let (_, found) = list(&unknown);
    assert_eq!(found.len(), crate::limits::REPORTED_KEYS + 1);
    assert!(found.last().unwrap().message.en.starts_with("14 more"));
    // Many warnings are no error.
    let odd: String =
        (0..30).map(|index| format!("  - {{name: p{index}, inline: true, colour: red}}\n")).collect();
    let (phased, found) = list(&odd);
    assert!(phased.is_some() && found.iter().all(|found| !found.is_error()));
    assert_eq!(found.len(), crate::limits::REPORTED_KEYS + 1);
}

#[test]
fn a_broken_skill_file_is_told_as_such() {
    let (phased, found) = read_text("no frontmatter");
    assert!(phased.is_none());
    assert_eq!(found[0].code, Code::F0101);
}

/// YAML like that of phases, with what breaks it mixed in.
fn phase_like() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => "  - name: [abc]",
        2 => "    depends_on: \\[[abc](, [abcd])?\\]",
        2 => "    (inline|parallel|enabled|optional): (true|false|yes|1)",
        1 => "    sets: \\[?[ABX]\\]?",
        2 => "    subagents:\n      - skill: (_sub/[ab]|\\.\\./x|self|_sub/none)\n        type: (explore|script|x)",
        2 => "        (output|requires|args): ('\\{\\{[ABX.\\[0\\] ]{0,4}\\}\\}'|[ABX]|\\[[ABX]\\]|TODAY)",
        1 => "[a-z: \\[\\]{}'\"-]{0,12}",
    ];
    prop::collection::vec(line, 0..14).prop_map(|lines| format!("phases:\n{}\n", lines.join("\n")))
}

proptest! {
    #[test]
    fn reading_is_total_and_what_passes_is_sound(yaml in phase_like(), body in "(## [abc]\n|\\{\\{[AX]\\}\\}|\\PC|\n){0,12}") {
        let text = skill_md(&yaml, &body);
        let (phased, diagnostics) = read_text(&text);
        let broken = diagnostics.iter().any(Diagnostic::is_error);
        prop_assert!(!(broken && phased.is_some()));
        if let Some(phased) = phased {
            let mut order = phased.order.clone();
            for (position, &index) in phased.order.iter().enumerate() {
                for name in &phased.phases[index].depends_on {
                    let before = phased.phases.iter().position(|phase| phase.name == *name).unwrap();
                    prop_assert!(phased.order.iter().position(|&at| at == before).unwrap() < position);
                }
            }
            order.sort_unstable();
            prop_assert_eq!(order, (0..phased.phases.len()).collect::<Vec<_>>());
        }
    }
}
