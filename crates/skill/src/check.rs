//! Checking a skill file for its author: the lenient reading's diagnostics, or those plus what other clients refuse.

use crate::reference::{self, Target};
use crate::{SkillText, document, fields, read_skill};
use fugato_model::{Code, Diagnostic, Severity, words};

/// How much is forgiven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// What loading forgives.
    #[default]
    Lenient,
    /// What the reference validator of the Agent Skills specification forgives: nothing.
    Strict,
}

/// Everything to say about a `SKILL.md`. Strict: an error for whatever the reference validator refuses.
pub fn check(text: SkillText<'_>, strictness: Strictness) -> Vec<Diagnostic> {
    let mut diagnostics = read_skill(text).diagnostics;
    if strictness == Strictness::Lenient {
        return diagnostics;
    }
    for diagnostic in &mut diagnostics {
        if is_refused_by_reference(diagnostic.code) {
            diagnostic.severity = Severity::Error;
        }
    }
    diagnostics.extend(not_portable(text));
    diagnostics.extend(other_refusal(text, &diagnostics));
    diagnostics
}

/// Loads, and is an error to the reference.
fn is_refused_by_reference(code: Code) -> bool {
    matches!(code, Code::F0112 | Code::F0114 | Code::F0117 | Code::F0119 | Code::F0123)
}

/// Fields that somebody defined, but not the specification.
fn not_portable(text: SkillText<'_>) -> Vec<Diagnostic> {
    let Ok(document) = document::open(text) else { return Vec::new() };
    let entries = document.root.entries().unwrap_or_default();
    let extra = entries.iter().filter(|entry| fields::EXTRA.contains(&entry.name()));
    extra
        .map(|entry| {
            let key = entry.name();
            let message = words!(
                "field `{key}` is not part of the Agent Skills specification; the reference validator refuses it",
                "字段 `{key}` 不属于 Agent Skills 规范，参考校验器会拒绝"
            );
            let hint = match key {
                "phases" => words!(
                    "fugato skill check --fix portable  (moves it to `phases.yaml`, named by `metadata.fugato-phases`)",
                    "fugato skill check --fix portable（移到 `phases.yaml`，由 `metadata.fugato-phases` 指明）"
                ),
                "tags" | "version" | "author" | "internal" => {
                    words!("move it to `metadata.{key}`", "移到 `metadata.{key}`")
                }
                _ => words!("leave it out, or move it under `metadata:`", "删掉它，或移到 `metadata:` 之下"),
            };
            Diagnostic::error(Code::F0124, text.path, message)
                .field(key)
                .at(document.source, entry.key.start, entry.key.end)
                .hint(hint)
        })
        .collect()
}

/// Whatever else the reference refuses (flow collections, uneven indentation, a byte order mark), in its words: a file
/// that passes here passes there.
fn other_refusal(text: SkillText<'_>, found: &[Diagnostic]) -> Option<Diagnostic> {
    if found.iter().any(Diagnostic::is_error) {
        return None;
    }
    let file = text.path.rsplit(['/', '\\']).next().unwrap_or(text.path);
    let target = Target { dir: text.dir_name, dir_name: text.dir_name, file: Some((file, text.bytes)) };
    let refusal = reference::validate(target).into_iter().next()?;
    let message =
        words!("the reference validator refuses the file: {refusal}", "参考校验器拒绝该文件：{refusal}");
    let diagnostic = Diagnostic::error(Code::F0124, text.path, message);
    let source = std::str::from_utf8(text.bytes).unwrap_or_default();
    Some(match place(source, &refusal) {
        Some(at) => diagnostic.at(source, at, at + 1),
        None => diagnostic.at(source, 0, 0),
    })
}

/// The byte offset of `line N, column M` in a message of ours.
fn place(source: &str, message: &str) -> Option<usize> {
    let (_, rest) = message.split_once("line ")?;
    let (line, rest) = rest.split_once(", column ")?;
    let (column, _) = rest.split_once(':')?;
    let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
    let start: usize = source.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let rest = source.get(start..)?;
    Some(start + rest.char_indices().nth(column.checked_sub(1)?).map_or(rest.len(), |(at, _)| at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn codes(source: &str, strictness: Strictness) -> Vec<(Code, bool)> {
        let text = SkillText { dir_name: "pdf", path: "pdf/SKILL.md", bytes: source.as_bytes() };
        check(text, strictness).iter().map(|d| (d.code, d.is_error())).collect()
    }

    #[test]
    fn what_loads_with_a_warning_is_an_error_when_strict() {
        for (lines, code) in [
            ("name: other\ndescription: d".to_owned(), Code::F0112),
            (format!("name: pdf\ndescription: {}", "x".repeat(1025)), Code::F0114),
            ("name: pdf\ndescription: d\ncolour: red".to_owned(), Code::F0117),
            ("name: pdf\ndescription: a: b".to_owned(), Code::F0119),
            (format!("name: pdf\ndescription: d\ncompatibility: {}", "x".repeat(501)), Code::F0123),
        ] {
            let source = format!("---\n{lines}\n---\n");
            assert_eq!(codes(&source, Strictness::Lenient), [(code, false)], "{source}");
            assert_eq!(codes(&source, Strictness::Strict), [(code, true)], "{source}");
        }
    }

    #[test]
    fn fields_of_other_specifications_are_not_portable() {
        let source =
            "---\nname: pdf\ndescription: d\nphases:\n  - name: a\n    inline: true\nmodel: x\n---\n";
        assert_eq!(codes(source, Strictness::Lenient), []);
        assert_eq!(codes(source, Strictness::Strict), [(Code::F0124, true), (Code::F0124, true)]);
        let text = SkillText { dir_name: "pdf", path: "SKILL.md", bytes: source.as_bytes() };
        let hint = check(text, Strictness::Strict)[0].hint.clone().unwrap();
        assert!(hint.en.contains("metadata.fugato-phases") && hint.zh.contains("metadata.fugato-phases"));
    }

    #[test]
    fn what_only_the_reference_refuses_is_told_with_its_place() {
        let source = "---\nname: pdf\ndescription: d\nmetadata:\n  tags: [a, b]\n---\n";
        assert_eq!(codes(source, Strictness::Lenient), []);
        let text = SkillText { dir_name: "pdf", path: "SKILL.md", bytes: source.as_bytes() };
        let strict = check(text, Strictness::Strict);
        assert_eq!((strict.len(), strict[0].code, strict[0].is_error()), (1, Code::F0124, true));
        assert_eq!(strict[0].span.map(|span| (span.line, span.column)), Some((5, 9)));
    }

    #[test]
    fn a_clean_file_is_clean_in_both() {
        let source = "---\nname: pdf\ndescription: d\nmetadata:\n  tags: a, b\n---\n";
        assert_eq!(codes(source, Strictness::Strict), []);
    }

    proptest! {
        #![proptest_config(crate::fixture::one_in(4))]

        #[test]
        fn a_file_that_passes_strictly_passes_the_reference(
            lines in "((name|description|metadata|license|phases|x): ?|pdf|[ :\\[\\]{}&*|>'\"#-]{0,2}|[a-zé]{0,4}|\n){0,20}",
        ) {
            let source = format!("---\nname: pdf\ndescription: d\n{lines}\n---\n");
            let file = Some(("SKILL.md", source.as_bytes()));
            let refused = !reference::validate(Target { dir: "pdf", dir_name: "pdf", file }).is_empty();
            let has_error = codes(&source, Strictness::Strict).iter().any(|(_, error)| *error);
            prop_assert!(!refused || has_error);
        }
    }
}
