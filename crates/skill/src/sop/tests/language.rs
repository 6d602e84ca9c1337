//! What a text means, and what is said about one that means nothing.

use super::*;
use crate::place::Place;
use crate::sop::{Argument, Problem};

fn literals(text: &str, name: &str) -> Vec<String> {
    let program = program(text);
    let arguments = program.get(name).unwrap().arguments.iter();
    arguments
        .map(|argument| match argument {
            Argument::Literal(text) => text.to_string(),
            Argument::Reference(name) => format!("-> {name}"),
        })
        .collect()
}

#[test]
fn arguments_are_words_strings_references_and_continuation_lines() {
    let text = "  @a join x \"two words\" $b 'it''s' \"$b\" $b.c # note\n  indented\n\n\tlast  \n\n@b emit\n@b.c emit";
    assert_eq!(
        literals(text, "a"),
        ["x", "two words", "-> b", "its", "$b", "-> b.c", "  indented\n\n\tlast  "]
    );
    assert_eq!(literals("@a emit\r\none\r\ntwo\r\n", "a"), ["one\ntwo"]);
    assert_eq!(literals("\u{feff}@a emit x", "a"), ["x"]);
    assert_eq!(literals("@变量 emit 值 $另一个\n@另一个 emit", "变量"), ["值", "-> 另一个"]);
}

#[test]
fn a_hash_starts_a_comment_wherever_it_stands_outside_quotes() {
    assert_eq!(literals("@a emit one#two three", "a"), ["one"]);
    assert_eq!(literals("@a emit 'one#two' three", "a"), ["one#two", "three"]);
    assert_eq!(errors("@a#b emit x"), ["Line 1: command name missing for @a"]);
}

#[test]
fn comments_above_a_declaration_describe_it_and_others_do_not() {
    let text = "# lost\n\n# Fetches\n#   the page.\n@a emit x\n## Joins.\n@b join $a\n# of nobody\n\n@c emit\n# text\nis text\n# Of d.\n@d emit";
    let program = program(text);
    let said = |name: &str| program.get(name).unwrap().description.clone();
    assert_eq!(said("a").as_deref(), Some("Fetches\nthe page."));
    assert_eq!(said("b").as_deref(), Some("Joins."));
    assert_eq!(said("c"), None);
    assert_eq!(said("d").as_deref(), Some("Of d."));
    assert_eq!(literals(text, "a"), ["x"]);
    assert_eq!(literals(text, "b"), ["-> a"]);
    assert_eq!(literals(text, "c"), ["# text\nis text"]);
    let mut interpreter = start(text);
    let commands = interpreter.ready();
    assert_eq!(commands[0].description.as_deref(), Some("Fetches\nthe page."));
}

#[test]
fn a_here_doc_keeps_everything_and_is_only_for_assign_without_arguments() {
    let text =
        "@a assign\n\n --begin-x--\n@not a declaration\n# no comment\n\n--begin-x--\n  --end-x--\n@b emit $a";
    assert_eq!(literals(text, "a"), ["@not a declaration\n# no comment\n\n--begin-x--"]);
    assert_eq!(literals("@a assign\n--begin-x--\n--end-x--", "a"), [""]);
    assert_eq!(literals("@a emit\n--begin-x--\ny\n--end-x--", "a"), ["--begin-x--\ny\n--end-x--"]);
    assert_eq!(literals("@a assign p\n--begin-x--\ny", "a"), ["p", "--begin-x--\ny"]);
    assert_eq!(literals("@a assign\n--begin- --\ny", "a"), ["--begin- --\ny"]);
    assert_eq!(
        errors("@a assign\n--begin-x--\ny\n--end-x--\nstray"),
        ["Line 5: declaration must start with @"]
    );
}

#[test]
fn all_mistakes_are_told_each_once_in_the_order_of_the_lines() {
    let text = "stray\nmore stray\n@ emit\n@a\n@b emit \"x\n@c emit 'y\\q'\n@d emit $a $b $nowhere $nowhere\n@e emit 1\n@e emit 2\n@e emit 3\n@f join $g\n@g join $f\n@h join $h";
    assert_eq!(
        errors(text),
        [
            "Line 1: declaration must start with @",
            "Line 3: variable name missing",
            "Line 4: command name missing for @a",
            "Unterminated string literal at line 5",
            "Invalid escape sequence at line 6",
            "Variable d depends on undefined variable nowhere",
            "Variable e declared multiple times",
            "Variables depend on each other in a cycle: f -> g -> f",
            "Variables depend on each other in a cycle: h -> h",
        ]
    );
}

#[test]
fn a_cycle_is_printed_without_what_only_leads_to_it() {
    let text = "@z join $x\n@x join $w $y\n@y join $x\n@w emit\n@v join $y $u\n@u join $v";
    assert_eq!(
        errors(text),
        [
            "Variables depend on each other in a cycle: x -> y -> x",
            "Variables depend on each other in a cycle: v -> u -> v"
        ]
    );
    let many: String = (0..1_000).map(|n| format!("@v{n} join $v{}\n", (n + 1) % 1_000)).collect();
    let told = errors(&many);
    assert_eq!(told.len(), 1);
    assert!(told[0].ends_with("v18 -> v19 -> (980 more) -> v0"), "{told:?}");
}

#[test]
fn unknown_commands_are_told_with_the_nearest() {
    let program = program("@a fetch-pag x\n@b assign y\n@c zzz\n@d final_anser $b\n@e fetch-page");
    let found = program.unknown_commands(&["fetch-page", "summarise"]);
    let told: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "Line 1: unknown command fetch-pag for @a (did you mean fetch-page?)",
            "Line 3: unknown command zzz for @c",
            "Line 4: unknown command final_anser for @d (did you mean final_answer?)"
        ]
    );
    assert_eq!(found[0].place, Place::new(3, 12));
}

#[test]
fn errors_point_into_the_file_around_the_program() {
    let file = "one\ntwo\n@a emit $b\nrest";
    let part = Place::new(8, 18);
    let found = Program::parse_inside(file, part, &|_| None).unwrap_err();
    assert_eq!((found[0].line, found[0].place), (3, part));
    let diagnostic = found[0].diagnostic("x.md", file);
    assert_eq!(diagnostic.span.unwrap().line, 3);
    assert!(diagnostic.message.zh.contains('b') && diagnostic.hint.is_some());
}

#[test]
fn a_misspelt_reference_gets_a_hint_and_a_hostile_name_is_escaped() {
    let found = Program::parse("@source emit\n@b join $sorce").unwrap_err();
    assert!(
        matches!(&found[0].problem, Problem::UndefinedVariable { near: Some(near), .. } if &**near == "source")
    );
    assert!(!errors("@a join $\u{1b}[31m")[0].contains('\u{1b}'));
    let long = "x".repeat(100_000);
    assert!(errors(&format!("@{long}"))[0].len() < 200);
    // Looking for the nearest of two such names would take minutes.
    assert!(errors(&format!("@{long}y emit\n@b join ${long}"))[0].len() < 200);
}

#[test]
fn a_program_over_the_limit_is_not_read() {
    let text = "#".repeat(crate::limits::SOP_PROGRAM_BYTES + 1);
    assert_eq!(errors(&text).len(), 1);
}

#[test]
fn levels_are_made_of_dependencies_with_names_sorted() {
    let program = program("@z emit\n@end join $mid $z\n@mid join $a\n@a emit");
    let levels: Vec<Vec<&str>> = program
        .levels()
        .into_iter()
        .map(|level| level.into_iter().map(|declaration| &*declaration.name).collect())
        .collect();
    assert_eq!(levels, [vec!["a", "z"], vec!["mid"], vec!["end"]]);
    let end = program.get("end").unwrap();
    assert_eq!(program.dependencies(end).map(|name| &**name).collect::<Vec<_>>(), ["mid", "z"]);
}

#[test]
fn printing_is_what_a_person_would_write() {
    let text = "# Says it.\n@a emit plain \"two words\" \"$x\" \"\" $b\nmore\ntext\n@b $cmd \"it's\"";
    let printed =
        "# Says it.\n@a emit plain \"two words\" \"$x\" \"\" $b \"more\\ntext\"\n@b $cmd \"it's\"\n";
    assert_eq!(program(text).to_string(), printed);
    assert_eq!(program(printed), program(text));
}

/// Each error is drawn with its place, so half a million of them would be drawn for an hour.
#[test]
fn of_very_many_errors_the_first_are_told() {
    let text: String = (0..80_000).map(|at| format!("@a{at} emit $b{at}\n")).collect();
    let errors = Program::parse(&text).unwrap_err();
    assert_eq!((errors.len(), errors.last().unwrap().line), (1_000, 1_000));
    let last = errors.last().unwrap().diagnostic("p.sop", &text);
    assert!(last.message.en.contains("b999"), "{}", last.message.en);
    let unknown = Program::parse(&text.replace('$', "")).unwrap().unknown_commands(&["join"]);
    assert_eq!(unknown.len(), 1_000);
}
