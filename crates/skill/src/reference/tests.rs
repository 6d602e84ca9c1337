//! The contract, case by case. Expected texts were produced by `agentskills` 0.1.1 itself.

use super::*;
use proptest::prelude::*;

fn target<'a>(dir_name: &'a str, content: &'a str) -> Target<'a> {
    Target { dir: "/skills/x", dir_name, file: Some(("SKILL.md", content.as_bytes())) }
}

fn errors(dir_name: &str, lines: &str) -> Vec<String> {
    validate(target(dir_name, &format!("---\n{lines}\n---\nBody\n")))
}

#[test]
fn valid_skills_have_no_errors() {
    for (dir, lines) in [
        ("my-skill", "name: my-skill\ndescription: A test skill\nlicense: MIT\nmetadata:\n  author: Test"),
        (
            "my-skill",
            "name: my-skill\ndescription: d\nallowed-tools: Bash(jq:*) Bash(git:*)\ncompatibility: x",
        ),
        ("技能", "name: 技能\ndescription: d"),
        ("мой-навык", "name: мой-навык\ndescription: d"),
        ("café", "name: cafe\u{301}\ndescription: d"),
        ("42", "name: 42\ndescription: true"),
    ] {
        assert_eq!(errors(dir, lines), Vec::<String>::new(), "{lines}");
    }
}

#[test]
fn messages_and_their_order_are_those_of_the_reference() {
    assert_eq!(
        errors("wrong", "zeta: 1\nname: -My--Skill_\nalpha: 2\ncompatibility: x"),
        [
            "Unexpected fields in frontmatter: alpha, zeta. Only ['allowed-tools', 'compatibility', 'description', 'license', 'metadata', 'name'] are allowed.",
            "Skill name '-My--Skill_' must be lowercase",
            "Skill name cannot start or end with a hyphen",
            "Skill name cannot contain consecutive hyphens",
            "Skill name '-My--Skill_' contains invalid characters. Only letters, digits, and hyphens are allowed.",
            "Directory name 'wrong' must match skill name '-My--Skill_'",
            "Missing required field in frontmatter: description",
        ]
    );
    let long = "a".repeat(70);
    assert_eq!(
        errors(
            &long,
            &format!("name: {long}\ndescription: {}\ncompatibility: {}", "x".repeat(1100), "y".repeat(550))
        ),
        [
            format!("Skill name '{long}' exceeds 64 character limit (70 chars)"),
            "Description exceeds 1024 character limit (1100 chars)".to_owned(),
            "Compatibility exceeds 500 character limit (550 chars)".to_owned(),
        ]
    );
    assert_eq!(
        errors("x", "name:\ndescription:\n  - a\ncompatibility:\n  - b"),
        [
            "Field 'name' must be a non-empty string",
            "Field 'description' must be a non-empty string",
            "Field 'compatibility' must be a string",
        ]
    );
    assert_eq!(validate(Target { file: None, ..target("x", "") }), ["Missing required file: SKILL.md"]);
    assert_eq!(path_does_not_exist("/no"), "Path does not exist: /no");
    assert_eq!(not_a_directory("/f"), "Not a directory: /f");
}

#[test]
fn broken_files_give_one_parse_error() {
    for (content, expected) in [
        ("", "SKILL.md must start with YAML frontmatter (---)"),
        ("# Title", "SKILL.md must start with YAML frontmatter (---)"),
        ("\u{feff}---\nname: x\n---\n", "SKILL.md must start with YAML frontmatter (---)"),
        ("---\nname: x\n", "SKILL.md frontmatter not properly closed with ---"),
        ("---\n- a\n---\n", "SKILL.md frontmatter must be a YAML mapping"),
        ("---\n---\n", "SKILL.md frontmatter must be a YAML mapping"),
        ("---\njust text\n---\n", "SKILL.md frontmatter must be a YAML mapping"),
    ] {
        assert_eq!(validate(target("x", content)), [expected], "{content:?}");
        assert_eq!(parse(content).unwrap_err(), ReferenceError::Parse(expected.to_owned()));
    }
}

#[test]
fn strict_yaml_is_refused_as_invalid() {
    for lines in [
        "name: [invalid\ndescription: broken",
        "name: x\nmetadata: {a: b}",
        "tags: [a]",
        "name: x\nname: y",
        "name: &a x",
        "name: !!str x",
        "description: a: b",
        "\tname: x",
        "name: \tx",
        "name: x\n\t",
        "name: a\tb",
        "a:\n  b: c\nd:\n    e: f",
        "name: a\u{1b}b",
        "name: \"x",
    ] {
        let errors = errors("x", lines);
        assert_eq!(errors.len(), 1, "{lines}");
        assert!(errors[0].starts_with("Invalid YAML in frontmatter: line "), "{errors:?}");
    }
}

#[test]
fn a_rule_inside_a_value_does_not_cut_here() {
    let (fields, body) = parse("---\nname: x\ndescription: a --- b\n---\n\n Body --- \n").unwrap();
    assert_eq!(fields["description"], "a --- b");
    assert_eq!(body, "Body ---");
}

#[test]
fn scalars_are_text_and_metadata_is_python_text() {
    let source = "---\nname: no\na: 0x10\nb: ~\nc:\nl:\n- a\n- b: c\nmetadata:\n  v: 1.0\n  e:\n  a:\n    b: c\n    'd': \"it's\"\n  l:\n    - 1\n    - \"q\\\"'\"\n  f: |\n    x\n    y\n---\n";
    let (fields, _) = parse(source).unwrap();
    let expected = serde_json::json!({
        "name": "no", "a": "0x10", "b": "~", "c": "", "l": ["a", {"b": "c"}],
        "metadata": {"v": "1.0", "e": "", "a": "{'b': 'c', 'd': \"it's\"}", "l": "['1', 'q\"\\'']", "f": "x\ny\n"}
    });
    assert_eq!(Value::Object(fields), expected);
}

#[test]
fn properties_print_as_python_prints_them() {
    let content = "---\r\ndescription: ' Tab\t\"é😀\" '\r\nname: x\r\nlicense: MIT\r\nextra: 1\r\nallowed-tools: Read\r\nmetadata:\r\n  version: 1.0\r\n---\r\n";
    let properties = properties(target("x", content)).unwrap();
    assert_eq!(
        properties.to_json(),
        "{\n  \"name\": \"x\",\n  \"description\": \"Tab\\t\\\"\\u00e9\\ud83d\\ude00\\\"\",\n  \"license\": \"MIT\",\n  \"allowed-tools\": \"Read\",\n  \"metadata\": {\n    \"version\": \"1.0\"\n  }\n}"
    );
    assert_eq!(
        json_dumps(&serde_json::json!({"a": [], "b": {}, "c": ["\u{7f}\u{1}"]})),
        "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    \"\\u007f\\u0001\"\n  ]\n}"
    );
}

#[test]
fn properties_say_what_is_missing() {
    for (lines, expected) in [
        ("description: d", "Missing required field in frontmatter: name"),
        ("name: x", "Missing required field in frontmatter: description"),
        ("name: ' '\ndescription: d", "Field 'name' must be a non-empty string"),
        ("name: x\ndescription:", "Field 'description' must be a non-empty string"),
    ] {
        let error = properties(target("x", &format!("---\n{lines}\n---\n"))).unwrap_err();
        assert_eq!(error, ReferenceError::Validation(expected.to_owned()));
    }
    let missing = properties(Target { file: None, ..target("x", "") }).unwrap_err();
    assert_eq!(missing, ReferenceError::Parse("SKILL.md not found in /skills/x".to_owned()));
}

#[test]
fn the_prompt_block_is_escaped() {
    let content = "---\nname: x\ndescription: Use <foo> & \"bar's\"\n---\n";
    assert_eq!(
        to_prompt(&[target("x", content)]).unwrap(),
        "<available_skills>\n<skill>\n<name>\nx\n</name>\n<description>\nUse &lt;foo&gt; &amp; &quot;bar&#x27;s&quot;\n</description>\n<location>\n/skills/x/SKILL.md\n</location>\n</skill>\n</available_skills>"
    );
    assert_eq!(to_prompt(&[]).unwrap(), "<available_skills>\n</available_skills>");
}

proptest! {
    #[test]
    fn any_content_gets_a_verdict(content in "(---|\n|[a-z]{1,4}: |[ :\\[{&*!|>'\"#-]{0,3}|\\PC{0,4}){0,20}") {
        let target = target("x", &content);
        if properties(target).is_err() {
            prop_assert!(!validate(target).is_empty());
        }
    }
}
