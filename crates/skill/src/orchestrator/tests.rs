//! Descriptors: what each heading means, and what is said about those that mean nothing.

use super::*;
use proptest::prelude::*;

fn reading(dir_name: &str, source: &str) -> Reading {
    read(SkillText { dir_name, path: "oskill.md", bytes: source.as_bytes() })
}

#[test]
fn headings_give_name_and_description() {
    let trip = reading(
        "x",
        "# Trip Planner\n\nIntro.\n\n## Description\nPlans a trip,\nstep by step.\n\n## Allowed Skills\n- a\n",
    );
    assert!(trip.usable, "{:?}", trip.diagnostics);
    assert_eq!(trip.head.name.unwrap().as_str(), "trip-planner");
    assert_eq!(trip.head.declared_name.as_deref(), Some("Trip Planner"));
    assert_eq!(trip.head.description, "Plans a trip, step by step.");
    assert_eq!(trip.head.kind, Kind::Orchestrator);
}

#[test]
fn the_directory_names_what_has_no_title_and_summary_is_a_description() {
    let plain = reading("helper", "\u{feff}## Summary\r\nHelps.\r\n");
    assert_eq!((plain.head.name.unwrap().as_str(), plain.head.description.as_str()), ("helper", "Helps."));
    assert_eq!(plain.head.declared_name, None);
}

#[test]
fn headings_in_code_fences_do_not_count() {
    let source = "```md\n# Wrong\n## Description\nNo.\n~~~\n```\n# right\n## Description\nYes.\n";
    let fenced = reading("x", source);
    assert_eq!(fenced.head.name.unwrap().as_str(), "right");
    assert_eq!(fenced.head.description, "Yes.");
}

#[test]
fn frontmatter_wins_over_headings() {
    let both =
        reading("x", "---\nname: front\ndescription: From the front.\n---\n# Title\n## Description\nNo.\n");
    assert_eq!(both.head.name.unwrap().as_str(), "front");
    assert_eq!(both.head.description, "From the front.");
}

#[test]
fn without_a_description_it_is_not_usable() {
    let none = reading("x", "# x\n");
    assert!(!none.usable);
    assert_eq!(none.diagnostics[0].code, Code::F0113);
    assert_eq!(none.head.kind, Kind::Orchestrator);
    assert!(!reading("x", "---\nname: [\n---\n# x\n").usable);
}

fn described(rest: &str) -> (Option<OrchestratorSkill>, Vec<Diagnostic>) {
    let source = format!("# helper\n## Description\nHelps.\n{rest}");
    read_descriptor(SkillText { dir_name: "helper", path: "oskill.md", bytes: source.as_bytes() })
}

/// The descriptor, which must have no problem but those named.
fn skill(rest: &str, told: &[Code]) -> OrchestratorSkill {
    let (skill, diagnostics) = described(rest);
    assert_eq!(
        diagnostics.iter().map(|found| found.code).collect::<Vec<_>>(),
        told,
        "{rest}\n{diagnostics:#?}"
    );
    skill.unwrap_or_else(|| panic!("{rest}\n{diagnostics:#?}"))
}

/// The one error of a refused descriptor.
fn refused(rest: &str) -> Diagnostic {
    let (skill, mut diagnostics) = described(rest);
    assert_eq!(skill, None, "{rest}");
    diagnostics.retain(Diagnostic::is_error);
    assert_eq!(diagnostics.len(), 1, "{rest}\n{diagnostics:#?}");
    diagnostics.remove(0)
}

fn line(diagnostic: &Diagnostic) -> u32 {
    diagnostic.span.unwrap().line
}

fn names(allowed: &Allowed) -> Vec<&str> {
    allowed.names().iter().map(|listed| listed.name.as_str()).collect()
}

#[test]
fn every_heading_of_the_table_opens_its_field() {
    for heading in ["Instructions", "Guidance", "OVERVIEW", "Orchestration  Guidance"] {
        let skill = skill(&format!("## {heading}\n\nDo it.\n\nWell.\n\n## Skills\n- a\n"), &[]);
        assert_eq!(skill.instructions, "Do it.\n\nWell.", "{heading}");
    }
    for heading in ["Preparation", "Prep", "Context Prep"] {
        let skill = skill(&format!("### {heading} ###\nLook first.\n## Skills\n- a\n"), &[]);
        assert_eq!(skill.preparation.as_deref(), Some("Look first."), "{heading}");
    }
    for heading in ["Allowed Skills", "Allowed-Skills", "Skill Allowlist", "Skills", "allowed_skills"] {
        assert_eq!(names(&skill(&format!("## {heading}\n- a\n"), &[]).allowed), ["a"], "{heading}");
    }
    for heading in ["Allowed-Prep-Skills", "Allowed Preparation Skills", "Prep Skills", "Allowed Prep Skills"]
    {
        let skill = skill(&format!("## Skills\n- a\n## {heading}\n- b\n"), &[]);
        assert_eq!(names(skill.list(Stage::Preparation)), ["b"], "{heading}");
    }
    for heading in ["Session\nloop", "Session Type\n\n- `Loop`", "Session: loop", "session type: LOOP #"] {
        assert_eq!(
            skill(&format!("## Skills\n- a\n## {heading}\n"), &[]).session,
            Session::Loop,
            "{heading}"
        );
    }
    let summary = "# x\n## Summary\nShort.\n## Skills\n- a\n";
    assert_eq!(reading("x", summary).head.description, "Short.");
}

#[test]
fn a_list_is_read_in_any_way_people_write_lists() {
    let list = "- a\n* b (the second)\n+ c - the third\n1. d\n2) e\n\nf\n- `g`\n- **h** — bold\n- i: says why\n<!-- no -->\n\n(nothing)\n- a\n";
    let skill = skill(&format!("## Allowed Skills\n{list}"), &[]);
    assert_eq!(names(&skill.allowed), ["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
    let source = format!("# helper\n## Description\nHelps.\n## Allowed Skills\n{list}");
    for listed in skill.allowed.names() {
        assert_eq!(source.get(listed.place.start..listed.place.end), Some(listed.name.as_str()));
    }
    assert_eq!(names(&self::skill("## Skills\r\n- a\r\n- b-c (x)\r\n", &[]).allowed), ["a", "b-c"]);
}

#[test]
fn os1_without_a_list_every_skill_but_itself_is_allowed_with_a_note() {
    let skill = skill("", &[Code::F1201]);
    assert_eq!(skill.allowed, Allowed::Unstated);
    assert!(skill.admits(Stage::Main, "anything") && skill.admits(Stage::Preparation, "anything"));
    assert!(!skill.admits(Stage::Main, "helper") && !skill.owns("anything"));
    let (_, told) = described("");
    assert!(!told[0].is_error() && told[0].message.en.contains("all skills exposed"));
}

#[test]
fn os2_an_empty_list_allows_nothing_and_is_told() {
    for rest in ["## Allowed Skills\n", "## Allowed Skills\n\n(none yet)\n\n## Session\nloop\n"] {
        let skill = skill(rest, &[Code::F1202]);
        assert_eq!(skill.allowed, Allowed::Only(Vec::new()));
        assert!(!skill.admits(Stage::Main, "anything"));
    }
    assert!(!described("## Skills\n").1[0].is_error());
    // Said in a word, it is meant.
    assert_eq!(skill("## Skills\n- none\n", &[]).allowed, Allowed::Only(Vec::new()));
}

#[test]
fn os3_a_lone_mark_is_refused_and_all_is_a_word() {
    for mark in ["- *", "*", "-", "- -", "* *", "1. *", "- `*`"] {
        let told = refused(&format!("## Allowed Skills\n{mark}\n"));
        assert_eq!((told.code, line(&told)), (Code::F1203, 5), "{mark}");
        assert!(told.hint.unwrap().en.contains("all"));
    }
    let all = skill("## Allowed Skills\n- all\n", &[]);
    assert_eq!(all.allowed, Allowed::All);
    assert!(all.admits(Stage::Main, "anything") && !all.admits(Stage::Main, "helper"));
    for rest in ["## Skills\n- all\n- a\n", "## Skills\n- a\n- none\n", "## Skills\n- all\n- none\n"] {
        assert_eq!(refused(rest).code, Code::F1203);
    }
}

#[test]
fn os4_an_unknown_name_is_told_with_the_nearest_and_the_list_stays_a_list() {
    let rest = "## Skills\n- pdf-tool\n- shell\n- Shell Tools\n## Prep Skills\n- nobody\n";
    let skill = skill(rest, &[]);
    let source = format!("# helper\n## Description\nHelps.\n{rest}");
    let mut installed = crate::fixture::inventory(&["pdf-tools", "shell", "helper"]).all().to_vec();
    installed.push(crate::fixture::broken("nobody"));
    let installed = crate::Inventory::new(installed);
    let told = lint(&skill, "oskill.md", &source, &installed);
    assert_eq!(
        told.iter().map(|found| (found.code, line(found))).collect::<Vec<_>>(),
        [(Code::F1204, 5), (Code::F1204, 7), (Code::F1204, 9)]
    );
    assert!(told.iter().all(|found| !found.is_error()));
    let text = SkillText { dir_name: "helper", path: "oskill.md", bytes: source.as_bytes() };
    assert_eq!(lint_text(text, &installed), told);
    assert!(told[0].hint.as_ref().unwrap().en.contains("pdf-tools"));
    assert!(told[2].message.en.contains("broken"));
    assert_eq!(names(&skill.allowed), ["pdf-tool", "shell", "Shell Tools"]);
    assert!(!skill.admits(Stage::Main, "pdf-tools") && skill.owns("shell"));
}

#[test]
fn os5_itself_is_refused_at_its_line_and_a_circle_at_the_call() {
    let told = refused("## Skills\n- a\n- helper (me)\n");
    assert_eq!((told.code, line(&told)), (Code::F1205, 6));
    assert_eq!(line(&refused("## Skills\n- a\n## Prep Skills\n- helper\n")), 7);
    let [a, b, c] = ["a", "b", "c"].map(|name| SkillName::parse(name).unwrap());
    assert_eq!(refuse_cycle(&[a.clone(), b.clone()], &c), Ok(()));
    let refused = refuse_cycle(&[c, a.clone(), b.clone()], &a).unwrap_err();
    assert_eq!(refused.path, [a.clone(), b, a]);
    assert!(refused.to_string().ends_with("a -> b -> a") && refused.words().zh.contains("a -> b -> a"));
}

#[test]
fn os6_a_misspelt_session_is_told_and_two_sessions_are_refused() {
    for (word, told) in [
        ("lop", &[Code::F1206][..]),
        ("loop session", &[Code::F1206]),
        ("sop", &[]),
        ("SOP Lang", &[]),
        ("agentic", &[]),
        ("", &[]),
    ] {
        assert_eq!(
            skill(&format!("## Skills\n- a\n## Session\n{word}\n"), told).session,
            Session::Sop,
            "{word}"
        );
    }
    let (_, told) = described("## Skills\n- a\n## Session: lop\n");
    assert_eq!((line(&told[0]), told[0].is_error()), (6, false));
    assert!(
        told[0].message.en.contains("`loop` or `sop`") && told[0].hint.as_ref().unwrap().en.contains("loop")
    );
    let told = refused("## Skills\n- a\n## Session\nloop\n## Session\nsop\n");
    assert_eq!((told.code, line(&told), told.related[0].span.line), (Code::F1207, 8, 6));
    let told = refused("## Skills\n- a\n## Session: loop\n## Session Type\nsop\n");
    assert!(told.message.en.contains("line 6") && told.message.en.contains("line 7"));
}

#[test]
fn os7_two_aliases_of_one_field_are_refused_with_both_lines() {
    for (first, second) in [
        ("Skills", "Allowed Skills"),
        ("Prep", "Preparation"),
        ("Guidance", "Overview"),
        ("Prep Skills", "Allowed-Prep-Skills"),
        ("Skills", "Skills"),
    ] {
        let told = refused(&format!("## {first}\n- a\n## {second}\n- b\n"));
        assert_eq!(
            (told.code, line(&told), told.related[0].span.line),
            (Code::F1207, 6, 4),
            "{first} {second}"
        );
        assert!(told.message.en.contains("line 4") && told.message.zh.contains("第 6 行"));
    }
    assert_eq!(refused("## Summary\nAgain.\n").code, Code::F1207);
}

#[test]
fn os8_preparation_has_the_main_list_or_its_own_and_an_empty_one_is_nothing() {
    let absent = skill("## Skills\n- a\n", &[]);
    assert_eq!(absent.prep_allowed, PrepAllowed::AsMain);
    assert!(absent.admits(Stage::Preparation, "a") && !absent.admits(Stage::Preparation, "b"));
    let empty = skill("## Skills\n- a\n## Allowed-Prep-Skills\n", &[]);
    assert_eq!(empty.prep_allowed, PrepAllowed::Own(Allowed::Only(Vec::new())));
    assert!(!empty.admits(Stage::Preparation, "a") && empty.admits(Stage::Main, "a"));
    let given = skill("## Skills\n- a\n## Allowed-Prep-Skills\n- b\n", &[]);
    assert!(given.admits(Stage::Preparation, "b") && !given.admits(Stage::Preparation, "a"));
    assert!(!given.admits(Stage::Main, "b"));
    let all = skill("## Skills\n- a\n## Allowed-Prep-Skills\n- all\n", &[]);
    assert!(all.admits(Stage::Preparation, "z") && !all.admits(Stage::Preparation, "helper"));
}

#[test]
fn os9_what_stands_in_a_code_fence_is_neither_heading_nor_entry() {
    let rest = "## Instructions\nWrite:\n```md\n## Allowed Skills\n- wrong\n## Nonsense\n```\n## Skills\n- a\n~~~\n- wrong\n~~~\n";
    let skill = skill(rest, &[]);
    assert_eq!(names(&skill.allowed), ["a"]);
    assert!(skill.instructions.ends_with("## Nonsense\n```"));
}

#[test]
fn unknown_sections_are_told_and_headings_inside_texts_are_text() {
    let (skill, told) = described("## Skills\n- a\n## Alowed Prep Skills\n- b\n### Part\n## Notes\nx\n");
    assert_eq!(
        told.iter().map(|found| (found.code, line(found))).collect::<Vec<_>>(),
        [(Code::F1208, 6), (Code::F1208, 9)]
    );
    assert!(told[0].hint.as_ref().unwrap().en.contains("Prep-Skills"));
    assert_eq!(skill.unwrap().prep_allowed, PrepAllowed::AsMain);
    let text = "## Instructions\n# One\nx\n### Step 1\ny\n#### Detail\nz";
    let inside = self::skill(&format!("## Skills\n- a\n{text}\n"), &[]);
    assert_eq!(inside.instructions, "# One\nx\n### Step 1\ny\n#### Detail\nz");
    self::skill("## Skills\n- a\n## Instructions\nx\n### Alowed Skills\n- b\n", &[Code::F1208]);
}

#[test]
fn fields_in_the_frontmatter_are_told_instead_of_leaving_everything_allowed() {
    let source = "---\nname: x\ndescription: d\nallowed-skills: [a]\nsession: loop\n---\n## Skills\n- b\n";
    let told = reading("x", source).diagnostics;
    assert_eq!(
        told.iter().map(|found| (found.code, line(found))).collect::<Vec<_>>(),
        [(Code::F1208, 4), (Code::F1208, 5)]
    );
    assert!(told[0].hint.as_ref().unwrap().en.contains("## Allowed Skills"));
}

#[test]
fn a_fixed_program_is_read_with_or_without_a_fence() {
    let plain = skill("## Skills\n- pdf\n## SOP\n# Reads it.\n@a pdf x\n@b final_answer $a\n", &[]);
    let program = plain.program.unwrap();
    assert_eq!(program.get("a").unwrap().description.as_deref(), Some("Reads it."));
    let fenced = "## SOP\nFirst the file:\n```sop\n# Reads it.\n@a pdf x\n## not a heading\n@b final_answer $a\n```\nThat is all.\n";
    let fenced = skill(&format!("## Skills\n- pdf\n{fenced}"), &[]).program.unwrap();
    assert_eq!(fenced.get("b").unwrap().line, 12);
    assert_eq!(skill("## Skills\n- pdf\n", &[]).program, None);
    let untitled = reading("x", "## Description\nd\n## Skills\n- pdf\n## SOP\n# Reads it.\n@a pdf\n");
    assert_eq!(untitled.head.name.unwrap().as_str(), "x");
}

#[test]
fn a_fixed_program_that_cannot_run_is_refused_at_its_line() {
    for (program, code, at) in [
        ("@a pdf \"x\n", Code::F1209, 7),
        ("\nhello\n@a pdf\n", Code::F1209, 8),
        ("", Code::F1209, 6),
        ("```\n@a pdf\n```\n```\n@b pdf\n```\n", Code::F1209, 10),
        ("```\n@a pdf $b\n```\n", Code::F1210, 8),
        ("@a pdf\n@a pdf\n", Code::F1210, 8),
        ("@a pdf $a\n", Code::F1210, 7),
        ("@a pfd x\n", Code::F1211, 7),
        ("@a shell x\n", Code::F1211, 7),
    ] {
        let told = refused(&format!("## Skills\n- pdf\n## SOP\n{program}"));
        assert_eq!((told.code, line(&told)), (code, at), "{program}");
    }
    let told = refused("## Skills\n- pdf\n## Session: loop\n## SOP\n@a pdf\n");
    assert_eq!((told.code, line(&told)), (Code::F1206, 7));
}

#[test]
fn commands_of_a_program_without_a_list_are_known_by_what_is_installed() {
    let rest = "## SOP\n@a pfd x\n@b helper x\n@c pdf\n";
    let source = format!("# helper\n## Description\nHelps.\n{rest}");
    let skill = skill(rest, &[Code::F1201]);
    let told = lint(&skill, "oskill.md", &source, &crate::fixture::inventory(&["pdf", "helper"]));
    assert_eq!(
        told.iter().map(|found| (found.code, line(found))).collect::<Vec<_>>(),
        [(Code::F1211, 5), (Code::F1211, 6)]
    );
}

#[test]
fn many_mistakes_are_told_as_a_few_and_a_number() {
    let rest: String = (0..100).map(|n| format!("## Part {n}\n")).collect();
    let (_, told) = described(&format!("## Skills\n- a\n{rest}"));
    assert_eq!(told.len(), limits::REPORTED_KEYS + 1);
    assert!(told.last().unwrap().message.en.starts_with("84 more"));
    let rest = "## x\n".repeat(30_000) + &"## Skills\n- a\n".repeat(20_000);
    let (skill, told) = described(&rest);
    assert_eq!((skill, told.len()), (None, 2 * limits::REPORTED_KEYS + 2));
}

/// What a page shows gives what the page is about, and nothing else.
#[test]
fn the_pages_of_these_errors_show_what_they_say() {
    let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let mut shown = 0;
    for code in Code::ALL.iter().filter(|code| code.as_str().starts_with("F12")) {
        let page = std::fs::read_to_string(pages.join(format!("{code}.md"))).unwrap_or_default();
        assert!(page.starts_with(&format!("# {code}: {}\n", code.title())), "{code}");
        assert!(page.contains("\n## 中文\n"), "{code}");
        let Some(example) = page.split("```md\n").nth(1).and_then(|rest| rest.split("```").next()) else {
            continue;
        };
        shown += 1;
        let found = reading("helper", example).diagnostics;
        assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), [*code], "{example}");
        assert!(found[0].hint.is_some() && found[0].message.en != found[0].message.zh);
    }
    assert_eq!(shown, 10);
}

proptest! {
    #![proptest_config(crate::fixture::one_in(2))]

    #[test]
    fn any_descriptor_is_read_and_a_mistake_never_allows_more(
        lines in "((# |## |### |- |1\\. )?(Skills|Allowed Skills|SOP|Session: ?|loop|Prep|Description|```|\\*|a|b c|all|@x a \\$y)?\r?\n){0,14}",
    ) {
        let text = SkillText { dir_name: "x", path: "oskill.md", bytes: lines.as_bytes() };
        let (skill, diagnostics) = read_descriptor(text);
        prop_assert_eq!(skill.is_some(), read(text).usable);
        prop_assert!(skill.is_some() || diagnostics.iter().any(Diagnostic::is_error));
        if let Some(skill) = skill {
            let has_list = lines.contains("Skills");
            prop_assert!(has_list || skill.allowed == Allowed::Unstated);
            for listed in skill.allowed.names() {
                prop_assert_eq!(lines.get(listed.place.start..listed.place.end), Some(listed.name.as_str()));
            }
            prop_assert!(!skill.admits(Stage::Main, skill.name.as_str()));
        }
    }
}

/// The guide shows descriptors and programs that are beyond reproach.
#[test]
fn what_the_guide_shows_is_sound() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/orchestration.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = |opens: &str, closes: &str| -> Vec<String> {
        let found = page.split(opens).skip(1).map(|rest| rest.split(closes).next().unwrap().to_owned());
        found.collect()
    };
    let descriptors = blocks("\n````md\n", "````");
    assert_eq!(descriptors.len(), 2);
    for source in &descriptors {
        let text = SkillText { dir_name: "x", path: "oskill.md", bytes: source.as_bytes() };
        let (skill, told) = read_descriptor(text);
        assert_eq!((skill.is_some(), told), (true, Vec::new()), "{source}");
    }
    let programs = blocks("\n```sop\n", "```");
    assert_eq!(programs.len(), 3);
    for source in &programs {
        let given = |name: &str| (name == "input").then(|| "x".into());
        assert!(Program::parse_given(source, &given).is_ok(), "{source}");
    }
}
