use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn context() -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("VAULT", json!("/Users/me/vault")),
        ("DIRECTIVES", json!({"user": {"preferred_name": "Michi", "full-name": "M"}})),
        ("CALENDAR", json!({"events": [{"title": "Team Standup"}], "count": 1, "none": null})),
        ("EMPTY", Value::Null),
        ("HOSTILE", json!("{{VAULT}} {{{{ }}")),
        ("LIST", json!(["a", 2, {"b": []}])),
    ])
}

fn render(text: &str) -> Result<Rendered, RenderError> {
    let context = context();
    Template::parse(text, 0).unwrap().render(&|name| context.get(name))
}

fn text(template: &str) -> String {
    render(template).unwrap().text
}

#[test]
fn values_are_inserted_as_the_contract_shows() {
    assert_eq!(text("{{VAULT}}"), "/Users/me/vault");
    assert_eq!(text("{{DIRECTIVES.user.preferred_name}}"), "Michi");
    assert_eq!(text("{{CALENDAR.events[0].title}}"), "Team Standup");
    assert_eq!(text("a {{ CALENDAR.count }} b"), "a 1 b");
    assert_eq!(text("{{DIRECTIVES.user.full-name}}"), "M");
    assert_eq!(text("{{CALENDAR.events}}"), r#"[{"title":"Team Standup"}]"#);
    assert_eq!(text("{{LIST.1}}{{LIST[2].b}}"), "2[]");
    assert_eq!(text("{{LIST | lines}}"), "a\n2\n{\"b\":[]}");
    assert_eq!(text("{{VAULT|json}}"), "\"/Users/me/vault\"");
}

#[test]
fn values_are_never_scanned_again() {
    assert_eq!(text("<{{HOSTILE}}>"), "<{{VAULT}} {{{{ }}>");
    assert_eq!(text("{{{{VAULT}}"), "{{VAULT}}");
    assert_eq!(text("{{{{{{VAULT}}"), "{{/Users/me/vault");
    assert_eq!(text("} }} { {x} 技能"), "} }} { {x} 技能");
}

#[test]
fn null_renders_empty_with_a_warning() {
    for template in ["<{{EMPTY}}>", "<{{EMPTY.a[3].b}}>", "<{{CALENDAR.none.x}}>"] {
        let rendered = render(template).unwrap();
        assert_eq!((rendered.text.as_str(), rendered.warnings.len()), ("<>", 1), "{template}");
    }
    assert!(render("{{EMPTY.a}}").unwrap().warnings[0].zh.contains("EMPTY.a"));
}

#[test]
fn what_is_missing_is_an_error_with_its_place() {
    let past = render("x {{CALENDAR.events[9].title}}").unwrap_err();
    assert_eq!(past.problem, RenderProblem::PastTheEnd { length: 1 });
    assert_eq!((past.start, past.end, past.reference.as_str()), (2, 30, "CALENDAR.events[9].title"));
    assert!(past.message.en.contains("`CALENDAR.events` has 1 elements"), "{}", past.message.en);
    let unset = render("{{NOPE}}").unwrap_err();
    assert_eq!(unset.problem, RenderProblem::MissingVariable);
    let key = render("{{CALENDAR.evnts}}").unwrap_err();
    assert_eq!(key.problem, RenderProblem::MissingPath);
    assert!(key.message.en.contains("it has `events`"), "{}", key.message.en);
    for template in ["{{VAULT.x}}", "{{CALENDAR[0]}}", "{{LIST.x}}", "{{CALENDAR.count[0]}}"] {
        assert_eq!(render(template).unwrap_err().problem, RenderProblem::MissingPath, "{template}");
    }
}

#[test]
fn mistakes_are_told_with_line_and_column() {
    for (template, start, end, says) in [
        ("scope={{VAR", 6, 11, "not closed"),
        ("{{VAR\n}}", 0, 5, "not closed"),
        ("{{}}", 0, 4, "names no variable"),
        ("x {{  }}", 2, 8, "names no variable"),
        ("{{a b}}", 3, 4, "unexpected ' '"),
        ("{{2x}}", 2, 3, "starts with '2'"),
        ("{{变量}}", 2, 5, "starts with '变'"),
        ("{{A..b}}", 4, 5, "after `.`"),
        ("{{A.}}", 0, 6, "after `.`"),
        ("{{A[x]}}", 4, 5, "a number"),
        ("{{A[-1]}}", 4, 5, "a number"),
        ("{{A[99999999999999999999999]}}", 4, 5, "a number"),
        ("{{A|sh}}", 3, 4, "unknown filter"),
    ] {
        let error = Template::parse(template, 100).unwrap_err();
        assert_eq!((error.start - 100, error.end - 100), (start, end), "{template}: {}", error.message.en);
        assert!(error.message.en.contains(says), "{template}: {}", error.message.en);
    }
}

#[test]
fn markdown_keeps_braces_that_are_no_reference() {
    let source = "a {{ b c }} {{VAULT}} {{x";
    let (template, errors) = Template::parse_markdown(source, 0);
    assert_eq!((errors.len(), errors[1].start), (2, 22));
    let context = context();
    let rendered = template.render(&|name| context.get(name)).unwrap();
    assert_eq!(rendered.text, "a {{ b c }} /Users/me/vault {{x");
}

#[test]
fn hostile_texts_are_fast_and_bounded() {
    let started = std::time::Instant::now();
    for part in ["{{ ", "{{", "{{a}}", "}}", "{{a.", "{{a[", "{ {"] {
        let text = part.repeat(200_000 / part.len());
        let _ = Template::parse_markdown(&text, 0);
        let _ = Template::parse_markdown(&format!("{text}}}}}"), 0);
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    let big = Value::String("x".repeat(1024 * 1024));
    let template = Template::parse(&"{{A}}".repeat(10_000), 0).unwrap();
    assert_eq!(template.render(&|_| Some(&big)).unwrap_err().problem, RenderProblem::TooLong);
}

proptest! {
    #[test]
    fn text_without_references_is_itself(text in "(\\PC|\n){0,60}") {
        prop_assume!(!text.contains("{{"));
        let template = Template::parse(&text, 0).unwrap();
        prop_assert_eq!(template.variables().count(), 0);
        prop_assert_eq!(template.render(&|_| None).unwrap().text, text);
    }

    #[test]
    fn any_value_arrives_unchanged(value in "(\\PC|\n|\\{\\{|\\}\\}|X){0,40}", before in "[^{]{0,8}") {
        let template = Template::parse(&format!("{before}{{{{X}}}}{before}"), 0).unwrap();
        let held = Value::String(value.clone());
        let rendered = template.render(&|name| (name == "X").then_some(&held)).unwrap();
        prop_assert_eq!(rendered.text, format!("{before}{value}{before}"));
    }

    #[test]
    fn escaping_braces_gives_the_text_back(text in "(\\PC|\\{\\{?|\\}\\}){0,30}") {
        // An odd brace before an escape would join it.
        prop_assume!(!text.contains("{{{"));
        let escaped = text.replace("{{", "{{{{");
        let template = Template::parse(&escaped, 0).unwrap();
        prop_assert_eq!(template.render(&|_| None).unwrap().text, text);
    }

    #[test]
    fn parsing_is_total_and_places_are_inside(text in "(\\PC|\\{\\{|\\}\\}|[a-zA-Z.\\[\\]0-9|\n 技]){0,40}") {
        let (template, errors) = Template::parse_markdown(&text, 0);
        for (variable, place) in template.variables() {
            prop_assert!(text.get(place.start..place.end).is_some_and(|shown| shown.contains(variable.as_str())));
        }
        for error in &errors {
            prop_assert!(text.get(error.start..error.end).is_some(), "{error:?}");
        }
        prop_assert_eq!(Template::parse(&text, 0).is_ok(), errors.is_empty());
    }
}
