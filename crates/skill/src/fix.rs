//! Repairs: applying the fixes of diagnostics, and moving `phases` where every client accepts them.
//!
//! Everything not named by a fix stays byte for byte.

use crate::yaml::{Entry, Layout, Node, NodeKind};
use crate::{SkillText, document};
use fugato_model::Fix;

/// The source with every fix applied. Overlapping fixes: the first in the file wins, the other waits for the next check.
pub fn apply(source: &str, fixes: &[Fix]) -> String {
    let mut ordered: Vec<(usize, usize, &str)> = fixes
        .iter()
        .filter_map(|fix| {
            let (start, end) = (usize::try_from(fix.start).ok()?, usize::try_from(fix.end).ok()?);
            source.get(start..end)?;
            Some((start, end, fix.replacement.as_str()))
        })
        .collect();
    ordered.sort_by_key(|(start, end, _)| (*start, *end));
    let mut result = String::with_capacity(source.len() + 64);
    let mut at = 0;
    let mut last = None;
    for (start, end, replacement) in ordered {
        // Two insertions at one place are two opinions; an insertion before a replacement is not.
        if start < at || last == Some((start, end)) {
            continue;
        }
        result.push_str(source.get(at..start).unwrap_or_default());
        result.push_str(replacement);
        (at, last) = (end, Some((start, end)));
    }
    result.push_str(source.get(at..).unwrap_or_default());
    result
}

/// A skill whose phases live in a side file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portable {
    pub skill_md: String,
    /// The `phases:` block as it stood.
    pub phases_yaml: String,
}

/// Name of the side file [`make_portable`] writes.
pub const PHASES_FILE: &str = "phases.yaml";

/// Moves top-level `phases` into a side file named by `metadata.fugato-phases`. `None`: there are none, the file does not
/// parse, or `metadata` cannot take one more field.
pub fn make_portable(source: &str) -> Option<Portable> {
    let text = SkillText { dir_name: "", path: "", bytes: source.as_bytes() };
    let document = document::open(text).ok()?;
    let entries = document.root.entries()?;
    // `{name: …, phases: …}` has no lines to move.
    if matches!(document.root.kind, NodeKind::Mapping { layout: Layout::Flow, .. }) {
        return None;
    }
    let at = entries.iter().position(|entry| entry.name() == "phases")?;
    let phases = entries.get(at)?;
    if phases.value.items().is_none_or(<[Node]>::is_empty) {
        return None;
    }
    let start = line_start(source, phases.key.start);
    let limit = entries.get(at + 1).map_or(document.yaml.end, |next| line_start(source, next.key.start));
    let end = line_end(source, phases.value.end).min(limit);
    let block = source.get(start..end)?;
    let line_break = if block.contains("\r\n") { "\r\n" } else { "\n" };
    let mut fixes = vec![Fix { start: narrow(start)?, end: narrow(end)?, replacement: String::new() }];
    match entries.iter().find(|entry| entry.name() == "metadata") {
        None => {
            let added = format!("metadata:{line_break}  fugato-phases: {PHASES_FILE}{line_break}");
            if let Some(fix) = fixes.first_mut() {
                fix.replacement = added;
            }
        }
        Some(metadata) => fixes.push(add_to_metadata(source, metadata, line_break)?),
    }
    let mut phases_yaml = block.to_owned();
    if !phases_yaml.ends_with('\n') {
        phases_yaml.push_str(line_break);
    }
    Some(Portable { skill_md: apply(source, &fixes), phases_yaml })
}

fn add_to_metadata(source: &str, metadata: &Entry, line_break: &str) -> Option<Fix> {
    let insert =
        |at: usize, text: String| Some(Fix { start: narrow(at)?, end: narrow(at)?, replacement: text });
    match &metadata.value.kind {
        NodeKind::Mapping { entries, .. }
            if entries.iter().any(|entry| matches!(entry.name(), "fugato-phases" | "phases_file")) =>
        {
            None
        }
        NodeKind::Mapping { entries, layout: Layout::Flow } => {
            let comma = if entries.is_empty() { "" } else { ", " };
            insert(metadata.value.start + 1, format!("fugato-phases: {PHASES_FILE}{comma}"))
        }
        NodeKind::Mapping { entries, layout: Layout::Block } => {
            // Above the first field, so that comments at the end stay with what they follow.
            let first = entries.first()?;
            let start = line_start(source, first.key.start);
            let indent = source.get(start..first.key.start)?;
            insert(start, format!("{indent}fugato-phases: {PHASES_FILE}{line_break}"))
        }
        NodeKind::Scalar { .. } if metadata.value.is_null() => {
            let end = line_end(source, metadata.key.end);
            insert(end, format!("  fugato-phases: {PHASES_FILE}{line_break}"))
                // `metadata: null` is a value in the way.
                .filter(|_| metadata.value.start == metadata.value.end)
        }
        _ => None,
    }
}

fn line_start(source: &str, at: usize) -> usize {
    source.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}

/// Past the line break of the line `at` is in.
fn line_end(source: &str, at: usize) -> usize {
    source.get(at..).and_then(|rest| rest.find('\n')).map_or(source.len(), |found| at + found + 1)
}

fn narrow(offset: usize) -> Option<u32> {
    u32::try_from(offset).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Strictness, check, read_skill};
    use proptest::prelude::*;

    fn fix(start: u32, end: u32, replacement: &str) -> Fix {
        Fix { start, end, replacement: replacement.to_owned() }
    }

    #[test]
    fn fixes_apply_in_file_order_without_overlap() {
        assert_eq!(apply("abcdef", &[fix(4, 5, "E"), fix(0, 1, "A")]), "AbcdEf");
        assert_eq!(apply("abcdef", &[fix(0, 3, "X"), fix(2, 4, "Y")]), "Xdef");
        assert_eq!(apply("abc", &[fix(1, 1, "-"), fix(1, 1, "+")]), "a-bc");
        assert_eq!(apply("技能", &[fix(1, 2, "x"), fix(9, 12, "y")]), "技能");
    }

    fn text(source: &str) -> SkillText<'_> {
        SkillText { dir_name: "pdf-tools", path: "SKILL.md", bytes: source.as_bytes() }
    }

    fn fixed(source: &str) -> String {
        let fixes: Vec<Fix> =
            check(text(source), Strictness::Lenient).into_iter().filter_map(|d| d.fix).collect();
        apply(source, &fixes)
    }

    #[test]
    fn fixing_and_checking_again_is_clean() {
        for source in [
            "---\nname: PDF Tools\ndescription: Use when: asked\nalowed-tools: Read\ninternal: yes\n---\nBody\n",
            "---\r\nname:\r\ndescription: \"d\"\r\nmetadata:\r\n  note: a: \"b\"\r\n---\r\n",
            "\n\n---\nname: pdf-tools\ndescription: d\n---\n",
            "---\nname: 42\ndescription: a\n  b: c\n---\n",
        ] {
            let again = check(text(&fixed(source)), Strictness::Lenient);
            assert!(again.is_empty(), "{}\n{again:#?}", fixed(source));
        }
    }

    #[test]
    fn phases_move_to_a_side_file_and_the_rest_stays() {
        let source = "---\nname: pdf-tools # mine\nphases:\n  # first\n  - name: a\n    inline: true\n\n# about the licence\nlicense: MIT\ndescription: d\n---\nBody --- \n";
        let portable = make_portable(source).unwrap();
        assert_eq!(portable.phases_yaml, "phases:\n  # first\n  - name: a\n    inline: true\n");
        assert_eq!(
            portable.skill_md,
            "---\nname: pdf-tools # mine\nmetadata:\n  fugato-phases: phases.yaml\n\n# about the licence\nlicense: MIT\ndescription: d\n---\nBody --- \n"
        );
        assert!(check(text(&portable.skill_md), Strictness::Strict).is_empty());
        let head = read_skill(text(&portable.skill_md)).head;
        assert_eq!((head.kind, head.phases_file.as_deref()), (Kind::Phases, Some("phases.yaml")));
    }

    #[test]
    fn existing_metadata_gets_one_more_field() {
        for (metadata, expected) in [
            (
                "metadata:\r\n    author: x\r\n",
                "metadata:\r\n    fugato-phases: phases.yaml\r\n    author: x\r\n",
            ),
            ("metadata: {author: x}\r\n", "metadata: {fugato-phases: phases.yaml, author: x}\r\n"),
            ("metadata: {}\r\n", "metadata: {fugato-phases: phases.yaml}\r\n"),
            ("metadata:\r\n", "metadata:\r\n  fugato-phases: phases.yaml\r\n"),
        ] {
            let source =
                format!("---\r\nname: x\r\n{metadata}phases:\r\n- name: a\r\n  inline: true\r\n---\r\nBody");
            let portable = make_portable(&source).unwrap();
            assert_eq!(portable.skill_md, format!("---\r\nname: x\r\n{expected}---\r\nBody"));
            assert_eq!(portable.phases_yaml, "phases:\r\n- name: a\r\n  inline: true\r\n");
        }
    }

    #[test]
    fn what_has_nothing_to_move_or_no_place_for_it_is_left_alone() {
        for lines in [
            "name: x",
            "phases: []",
            "phases: text",
            "metadata: text\nphases:\n  - name: a",
            "metadata:\n  fugato-phases: p\nphases:\n  - name: a",
            "{phases: [a]}",
        ] {
            assert_eq!(make_portable(&format!("---\n{lines}\n---\n")), None, "{lines}");
        }
    }

    proptest! {
        #[test]
        fn fixing_ends_with_nothing_left_to_fix(
            name in "[A-Za-z0-9_é: -]{0,9}",
            description in "[A-Za-z:\"'\\\\ @-]{1,12}",
            more in "((alowed-tools|licence|Metadata|internal|debug|x): (yes|[a-z: ]{0,5}|'on'))?",
        ) {
            let mut source = format!("---\nname: {name}\ndescription: {description}\n{more}\n---\n");
            let usable = read_skill(text(&source)).usable;
            for _ in 0..3 {
                source = fixed(&source);
            }
            let again = read_skill(text(&source));
            prop_assert!(again.diagnostics.iter().all(|d| d.fix.is_none()), "{source}\n{:#?}", again.diagnostics);
            prop_assert!(again.usable || !usable, "a fix broke {source}");
        }

        #[test]
        fn moving_phases_loses_no_line(
            before in "((license: MIT|# note|compatibility: x|metadata:\n  a: b)\n){0,1}",
            after in "((tags: t|\n|# note|version: '1')\n){0,2}",
            steps in prop::collection::vec("[a-z]{1,5}", 1..4),
        ) {
            let phases: String = steps.iter().map(|step| format!("  - name: {step}\n    inline: true\n")).collect();
            let source = format!("---\nname: x\ndescription: d\n{before}phases:\n{phases}{after}---\nBody\n");
            let Some(portable) = make_portable(&source) else { return Ok(()) };
            let kept: Vec<_> = source.lines().collect();
            let all = format!("{}{}", portable.skill_md, portable.phases_yaml);
            for line in kept {
                prop_assert!(all.lines().any(|other| other == line), "{line:?} is lost");
            }
            prop_assert!(!portable.skill_md.contains("phases:\n"));
            let moved = crate::yaml::parse(&portable.phases_yaml, 0).unwrap();
            prop_assert_eq!(moved.get("phases").and_then(|p| p.items()).map(<[_]>::len), Some(steps.len()));
        }
    }
}
