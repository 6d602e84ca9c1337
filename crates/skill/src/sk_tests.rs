//! The malformed-input catalogue for skill files, item by item (SK1–SK18, SK22), and properties of reading.

use crate::{Kind, Reading, SkillText, read_orchestrator, read_skill};
use fugato_model::{Code, Diagnostic, Severity};
use proptest::prelude::*;

fn read_in(dir_name: &str, bytes: &[u8]) -> Reading {
    read_skill(SkillText { dir_name, path: "SKILL.md", bytes })
}

fn read(source: &str) -> Reading {
    read_in("pdf-tools", source.as_bytes())
}

fn frontmatter(lines: &str) -> Reading {
    read(&format!("---\n{lines}\n---\nBody\n"))
}

fn named(name: &str) -> Reading {
    frontmatter(&format!("name: {name}\ndescription: d"))
}

fn described(description: &str) -> Reading {
    frontmatter(&format!("name: pdf-tools\ndescription: {description}"))
}

fn only(reading: &Reading, code: Code) -> &Diagnostic {
    let codes: Vec<_> = reading.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, [code], "{:#?}", reading.diagnostics);
    &reading.diagnostics[0]
}

fn place(diagnostic: &Diagnostic) -> (u32, u32) {
    diagnostic.span.map(|span| (span.line, span.column)).unwrap()
}

#[test]
fn sk1_sk2_missing_frontmatter_is_shown_with_an_example() {
    for source in ["", "# Title\n\nText.\n"] {
        let reading = read(source);
        let diagnostic = only(&reading, Code::F0101);
        assert!(!reading.usable);
        assert_eq!(place(diagnostic), (1, 1));
        let hint = &diagnostic.hint.as_ref().unwrap().en;
        assert!(hint.contains("---\nname: pdf-tools\ndescription:"), "{hint}");
    }
    let late = read("\n\n---\nname: pdf-tools\ndescription: d\n---\n");
    let fix = only(&late, Code::F0101).fix.clone().unwrap();
    assert_eq!((fix.start, fix.end, fix.replacement.as_str()), (0, 2, ""));
}

#[test]
fn sk3_unclosed_frontmatter_names_line_1_and_the_end() {
    let reading = read("---\nname: pdf-tools\ndescription: d\n");
    let diagnostic = only(&reading, Code::F0102);
    assert!(!reading.usable);
    assert!(diagnostic.message.en.contains("line 1") && diagnostic.message.en.contains("line 3"));
    assert_eq!(diagnostic.related[0].span.line, 4);
}

#[test]
fn sk4_byte_order_mark_and_crlf_keep_content_and_lines() {
    let source =
        "\u{feff}---\r\nname: pdf-tools\r\ndescription: 读取 PDF\r\nalowed-tools: x\r\n---\r\nBody\r\n";
    let reading = read(source);
    assert!(reading.usable);
    assert_eq!(reading.head.description, "读取 PDF");
    assert_eq!(source.get(reading.body_start..).unwrap(), "Body\r\n");
    assert_eq!(place(only(&reading, Code::F0117)), (4, 1));
}

#[test]
fn sk5_a_rule_inside_a_value_does_not_cut() {
    let reading = frontmatter(
        "name: pdf-tools\ndescription: a --- b\nmetadata:\n  note: |\n    x\n    ---\n    y\nlicense: MIT",
    );
    assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    assert_eq!(
        (reading.head.description.as_str(), reading.head.license.as_deref()),
        ("a --- b", Some("MIT"))
    );
}

#[test]
fn sk6_bad_encodings_say_where_and_what_to_do() {
    let reading = read_in("x", b"---\nname: x\ndescription: caf\xe9\n---\n");
    let diagnostic = only(&reading, Code::F0103);
    assert!(!reading.usable);
    assert!(diagnostic.message.en.contains("0xE9 at offset 28 (line 3)"), "{}", diagnostic.message.en);
    assert_eq!(place(diagnostic), (3, 17));
    for mark in ["", "\u{feff}"] {
        let utf16: Vec<u8> =
            format!("{mark}---\nname: x\n---\n").encode_utf16().flat_map(u16::to_be_bytes).collect();
        let reading = read_in("x", &utf16);
        assert!(only(&reading, Code::F0103).message.en.contains("looks like UTF-16, save as UTF-8"));
    }
}

#[test]
fn sk8_a_name_that_is_no_text_falls_back_to_the_directory() {
    for (line, found) in [
        ("name:", "null"),
        ("name: ~", "null"),
        ("name: 42", "number `42`"),
        ("name: true", "boolean"),
        ("name: [a, b]", "a list"),
        ("name: {a: b}", "a map"),
        ("name: ''", "empty text"),
    ] {
        let reading = frontmatter(&format!("{line}\ndescription: d"));
        let diagnostic = only(&reading, Code::F0108);
        assert_eq!(diagnostic.severity, Severity::Error);
        assert_eq!(diagnostic.field.as_deref(), Some("name"));
        assert!(diagnostic.message.en.contains(found), "{}", diagnostic.message.en);
        assert!(reading.usable);
        assert_eq!(reading.head.name.unwrap().as_str(), "pdf-tools");
    }
    let missing = frontmatter("description: d");
    assert!(missing.usable);
    assert!(only(&missing, Code::F0108).message.en.contains("missing"));
    let nowhere = read_in("My Dir", b"---\ndescription: d\n---\n");
    assert!(!nowhere.usable);
    assert_eq!(only(&nowhere, Code::F0108).hint.as_ref().unwrap().en, "name: my-dir");
}

#[test]
fn sk9_a_name_that_breaks_a_rule_is_known_by_its_repair() {
    let long = "a".repeat(65);
    for (name, rule, suggestion) in [
        ("PDF-Tools", "lower case", "pdf-tools"),
        ("-x", "start or end with a hyphen", "x"),
        ("a--b", "two hyphens", "a-b"),
        ("My Skill", "lower case", "my-skill"),
        ("my_skill", "'_'", "my-skill"),
        (long.as_str(), "65 characters (limit 64)", long.get(..64).unwrap()),
    ] {
        let reading = read_in(name, format!("---\nname: {name}\ndescription: d\n---\n").as_bytes());
        let diagnostic = only(&reading, Code::F0109);
        assert!(diagnostic.is_error() && reading.usable);
        assert!(diagnostic.message.en.contains(rule), "{}", diagnostic.message.en);
        assert_eq!(diagnostic.hint.as_ref().unwrap().en, format!("name: {suggestion}"));
        assert_eq!(diagnostic.fix.as_ref().unwrap().replacement, suggestion);
        assert_eq!(reading.head.name.as_ref().unwrap().as_str(), suggestion);
        assert_eq!(reading.head.declared_name.as_deref(), Some(name));
    }
    let hopeless = named("'***'");
    assert!(!hopeless.usable && hopeless.head.name.is_none());
    assert_eq!(hopeless.head.declared_name.as_deref(), Some("***"));
}

#[test]
fn sk10_a_name_that_could_pass_for_another_is_not_loaded() {
    for (name, code_point) in
        [("cafe\u{301}", "U+0301"), ("ｐｄｆ", "U+FF50"), ("pdf\u{200b}tools", "U+200B")]
    {
        let reading = named(name);
        let diagnostic = only(&reading, Code::F0110);
        assert!(!reading.usable && diagnostic.is_error());
        assert!(diagnostic.message.en.contains(code_point), "{}", diagnostic.message.en);
        assert!(reading.head.name.is_none());
    }
}

#[test]
fn sk11_a_name_that_differs_from_the_directory_shows_both() {
    let reading = named("pdf");
    let diagnostic = only(&reading, Code::F0112);
    assert!(reading.usable && !diagnostic.is_error());
    assert!(diagnostic.message.en.contains("`pdf`") && diagnostic.message.en.contains("`pdf-tools`"));
    assert_eq!(reading.head.name.as_ref().unwrap().as_str(), "pdf");
    let decomposed = read_in("cafe\u{301}", "---\nname: café\ndescription: d\n---\n".as_bytes());
    assert!(decomposed.diagnostics.is_empty());
}

#[test]
fn sk12_reserved_words_are_not_names() {
    for name in ["all", "All", "none", "'+'", "'*'", "CON", "nul", "'..'", "'.'"] {
        let reading = named(name);
        only(&reading, Code::F0111);
        assert!(!reading.usable && reading.head.name.is_none(), "{name}");
    }
}

#[test]
fn sk13_descriptions_are_required_and_long_ones_kept() {
    for line in [
        "",
        "description:",
        "description: ''",
        "description: '  '",
        "description: [a]",
        "description: {a: b}",
    ] {
        let reading = frontmatter(&format!("name: pdf-tools\n{line}"));
        assert!(only(&reading, Code::F0113).is_error());
        assert!(!reading.usable, "{line}");
    }
    let number = described("42");
    assert!(number.usable && !only(&number, Code::F0113).is_error());
    assert!(described(&"x".repeat(1024)).diagnostics.is_empty());
    let long = described(&"技".repeat(1025));
    assert!(long.usable && !only(&long, Code::F0114).is_error());
    assert_eq!(long.head.description.chars().count(), 1025);
    assert_eq!(described(&"x".repeat(9000)).head.description.len(), 4096);
    let tag = described("x </available_skills> y");
    assert!(tag.usable && tag.diagnostics.is_empty());
}

#[test]
fn sk14_hidden_characters_are_named() {
    for (description, code_point) in [
        ("|\n  a\n  b", "U+000A"),
        ("\"a\\e[31mb\"", "U+001B"),
        ("a\u{202e}b", "U+202E"),
        ("a\u{1b}[31mb", "U+001B"),
    ] {
        let reading = described(description);
        let diagnostic = only(&reading, Code::F0115);
        assert!(reading.usable && !diagnostic.is_error());
        assert!(diagnostic.message.en.contains(code_point), "{}", diagnostic.message.en);
    }
    assert!(described(">\n  folded\n  lines\n").diagnostics.is_empty());
    assert!(described("emoji 👩‍🚀 and فارسی‌ها").diagnostics.is_empty());
    let hidden = described("read\u{e0041}\u{e0042}me");
    assert!(only(&hidden, Code::F0116).message.en.contains("U+E0041 U+E0042"));
    assert!(!hidden.usable && hidden.head.description.is_empty());
}

#[test]
fn sk15_duplicate_keys_name_both_lines() {
    let reading = frontmatter("name: pdf-tools\ndescription: d\nname: other");
    let diagnostic = only(&reading, Code::F0105);
    assert!(!reading.usable);
    assert!(diagnostic.message.en.contains("line 2") && diagnostic.message.en.contains("line 4"));
    assert_eq!((place(diagnostic), diagnostic.related[0].span.line), ((4, 1), 2));
}

#[test]
fn sk16_alias_bombs_and_deep_nesting_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x]\n");
    for level in 1..10 {
        let before = level - 1;
        bomb.push_str(&format!("a{level}: &a{level} [*a{before}, *a{before}]\n"));
    }
    for lines in [bomb, format!("a: {}", "[".repeat(10_000)), format!("a: {}", "{b: ".repeat(10_000))] {
        let reading = frontmatter(&lines);
        let diagnostic = only(&reading, Code::F0106);
        assert!(!reading.usable);
        assert_eq!(diagnostic.span.unwrap().line, 2);
        assert!(diagnostic.frame.as_ref().unwrap().text.len() <= 240);
    }
}

#[test]
fn sk17_tabs_and_open_quotes_have_line_and_column() {
    for (lines, at) in [
        ("name: pdf-tools\nmetadata:\n\tauthor: x", (4, 1)),
        ("name: pdf-tools\n\tdescription: d", (3, 1)),
        ("\tname: pdf-tools", (2, 1)),
        ("name: pdf-tools\ndescription: \"open", (3, 14)),
        ("name: pdf-tools\ndescription: 'open\nlicense: MIT", (3, 14)),
    ] {
        let reading = frontmatter(lines);
        assert_eq!(place(only(&reading, Code::F0104)), at, "{lines}");
        assert!(!reading.usable);
    }
}

#[test]
fn sk18_an_unknown_key_finds_what_was_meant() {
    let reading = frontmatter("name: pdf-tools\ndescription: d\nalowed-tools: Read");
    let diagnostic = only(&reading, Code::F0117);
    assert!(reading.usable && !diagnostic.is_error());
    assert!(diagnostic.hint.as_ref().unwrap().en.contains("did you mean `allowed-tools`"));
    assert_eq!(diagnostic.fix.as_ref().unwrap().replacement, "allowed-tools");
    let taken = frontmatter("name: pdf-tools\ndescription: d\nallowed-tools: a\nallowed_tools: b");
    assert!(only(&taken, Code::F0117).fix.is_none(), "a fix may not make a duplicate");
    let many: String = (0..100).map(|n| format!("zz{n}: x\n")).collect();
    assert_eq!(frontmatter(&format!("name: pdf-tools\ndescription: d\n{many}")).diagnostics.len(), 17);
}

#[test]
fn sk22_sizes_are_bounded() {
    let large = read(&"x".repeat(crate::limits::SKILL_FILE_BYTES + 1));
    assert!(only(&large, Code::F0122).message.en.contains("512.0 KiB (limit 512 KiB)"));
    let wide = frontmatter(&format!("name: pdf-tools\ndescription: d\nx: {}", "y".repeat(64 * 1024)));
    assert!(only(&wide, Code::F0122).message.en.contains("frontmatter"));
    assert!(!wide.usable);
    let body = format!("---\nname: pdf-tools\ndescription: d\n---\n{}", "z".repeat(500_000));
    assert!(read(&body).usable, "one long line of the body is fine");
}

#[test]
fn an_unquoted_colon_is_read_as_text_with_a_fix() {
    let reading = frontmatter("name: pdf-tools\ndescription: Use when: asked\nmetadata:\n  note: a: b");
    assert!(reading.usable);
    assert_eq!(reading.head.description, "Use when: asked");
    let [first, second] = reading.diagnostics.as_slice() else { panic!("{:?}", reading.diagnostics) };
    assert_eq!((first.code, first.severity, place(first)), (Code::F0119, Severity::Warning, (3, 14)));
    assert_eq!(first.fix.as_ref().unwrap().replacement, "\"Use when: asked\"");
    assert_eq!(place(second), (5, 9));
}

#[test]
fn every_field_is_read() {
    let head = frontmatter(
        "name: pdf-tools\ndescription: d\nlicense: Apache-2.0\ncompatibility: needs git\nallowed-tools: Read, Bash(git add:*)\n\
         metadata:\n  tags: a, b\n  version: 1.0\n  author: {name: x}\ntags: [b, c]\nwhen_to_use: often\n\
         argument-hint: [file] [--flag]\ndisable-model-invocation: true\nuser-invocable: false\ninternal: true\n\
         debug: false\nhooks: {}\npaths: ['*.pdf']\nphases:\n  - name: one\n    inline: true",
    )
    .head;
    assert_eq!(
        (head.license.as_deref(), head.compatibility.as_deref()),
        (Some("Apache-2.0"), Some("needs git"))
    );
    assert_eq!(head.allowed_tools, ["Read", "Bash(git add:*)"]);
    assert_eq!(head.tags, ["a", "b", "c"]);
    assert_eq!(head.version.as_deref(), Some("1.0"));
    assert!(head.model_hidden && head.user_hidden && head.internal);
    assert_eq!(head.kind, Kind::Phases);
    let list = frontmatter("name: pdf-tools\ndescription: d\nallowed-tools:\n  - Read\n  - Bash(git *)").head;
    assert_eq!(list.allowed_tools, ["Read", "Bash(git *)"]);
}

#[test]
fn phases_may_live_in_a_side_file_inside_the_skill() {
    for key in ["fugato-phases", "phases_file"] {
        let good =
            frontmatter(&format!("name: pdf-tools\ndescription: d\nmetadata:\n  {key}: ./phases.yaml"));
        assert_eq!((good.head.kind, good.head.phases_file.as_deref()), (Kind::Phases, Some("phases.yaml")));
        assert!(good.diagnostics.is_empty());
        let bad = frontmatter(&format!("name: pdf-tools\ndescription: d\nmetadata:\n  {key}: ../p.yaml"));
        assert_eq!(only(&bad, Code::F0125).field.as_deref(), Some(format!("metadata.{key}").as_str()));
        assert_eq!(bad.head.phases_file, None);
    }
}

#[test]
fn wrong_types_are_reported_and_never_widen_visibility() {
    let reading = frontmatter("name: pdf-tools\ndescription: d\ninternal: yes\nlicense: [a]\nmetadata: text");
    assert!(reading.usable && reading.head.internal);
    let codes: Vec<_> = reading.diagnostics.iter().map(|d| (d.code, d.field.as_deref().unwrap())).collect();
    assert_eq!(codes, [(Code::F0118, "internal"), (Code::F0118, "license"), (Code::F0118, "metadata")]);
    let long = frontmatter(&format!("name: pdf-tools\ndescription: d\ncompatibility: {}", "x".repeat(501)));
    only(&long, Code::F0123);
    for lines in ["phases: []", "phases: text"] {
        let reading = frontmatter(&format!("name: pdf-tools\ndescription: d\n{lines}"));
        only(&reading, Code::F0118);
        assert_eq!(reading.head.kind, Kind::Skill);
    }
}

#[test]
fn frontmatter_that_is_no_mapping_says_what_it_is() {
    for (lines, found) in
        [("- a\n- b", "a list"), ("just text", "the text `just text`"), ("# comment", "null")]
    {
        let reading = frontmatter(lines);
        assert!(only(&reading, Code::F0107).message.en.contains(found));
        assert!(!reading.usable);
    }
}

#[test]
fn every_diagnostic_speaks_both_languages() {
    let sources = [
        "",
        "---\nname: A B\ndescription: a: b\nfoo: x\ninternal: on\n---\n",
        "---\nname: x\nname: y\n---\n",
    ];
    for diagnostic in sources.iter().flat_map(|source| read(source).diagnostics) {
        assert!(diagnostic.message.zh.chars().any(|c| c > '\u{2E80}'), "{:?}", diagnostic.message);
        assert!(!diagnostic.message.en.chars().any(|c| c > '\u{2E80}'), "{:?}", diagnostic.message);
    }
}

#[test]
fn every_code_of_skill_files_has_a_page_in_both_languages() {
    let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    for code in Code::ALL.iter().filter(|code| code.as_str().starts_with("F01")) {
        let page = std::fs::read_to_string(pages.join(format!("{code}.md"))).unwrap_or_default();
        assert!(page.starts_with(&format!("# {code}: {}\n", code.title())), "{code}");
        assert!(page.contains("\n## 中文\n"), "{code}");
    }
}

/// Ten thousand skills at every start: run with `--release -- --ignored --nocapture` to see the number.
#[test]
#[ignore = "a measurement, only meaningful with optimisation"]
fn ten_thousand_skills_are_read_in_well_under_100_ms() {
    let plain = "---\nname: pdf-tools\ndescription: Extract text and tables from PDF files, fill forms and merge documents. Use when the user mentions PDF files or forms.\nlicense: Apache-2.0\nallowed-tools: Read, Write, Bash(python:*)\nmetadata:\n  author: example\n  version: \"1.0\"\n---\n# Body\n";
    let full = plain.replace("  author: example\n", "  note: >\n    pdf forms\n");
    for (what, source) in [("simple", plain), ("full parser", &full)] {
        let started = std::time::Instant::now();
        for _ in 0..10_000 {
            assert!(read(source).usable);
        }
        println!("{what}: 10,000 × {} bytes in {:?}", source.len(), started.elapsed());
    }
}

proptest! {
    #![proptest_config(crate::fixture::one_in(2))]

    #[test]
    fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), dir in "\\PC{0,8}") {
        let text = SkillText { dir_name: &dir, path: "p", bytes: &bytes };
        prop_assert!(!read_skill(text).usable || !bytes.is_empty());
        let _ = read_orchestrator(text);
    }

    #[test]
    fn no_frontmatter_makes_reading_panic(
        lines in "((name|description|metadata|phases|tags|internal|x): ?|[ \t:\\[\\]{}&*!|>'\"%@`,#?-]{0,4}|[a-zé技\u{202e}\u{e0041}]{0,5}|\r?\n){0,30}",
        dir in "[a-zA-Z -]{0,6}",
    ) {
        let source = format!("---\n{lines}\n---\nBody");
        let reading = read_in(&dir, source.as_bytes());
        prop_assert!(reading.body_start <= source.len() && source.is_char_boundary(reading.body_start));
        prop_assert!(reading.usable || reading.diagnostics.iter().any(Diagnostic::is_error));
        if reading.usable {
            prop_assert!(reading.head.name.is_some() && !reading.head.description.is_empty());
        }
        for fix in reading.diagnostics.iter().filter_map(|d| d.fix.as_ref()) {
            prop_assert!(source.get(fix.start as usize..fix.end as usize).is_some());
        }
    }
}
