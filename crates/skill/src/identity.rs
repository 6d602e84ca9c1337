//! The name of a skill: what it declares, what it may be called, and what its directory says.

use crate::fields::{Fields, as_yaml_value};
use crate::problems::{found, offset, shorten};
use crate::yaml::{Entry, Resolved};
use fugato_model::{Code, Diagnostic, Fix, NameError, SkillName, Words, words};
use unicode_normalization::UnicodeNormalization;

/// Who a skill is.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    /// `None`: it cannot be used under any name.
    pub name: Option<SkillName>,
    /// What the file says, when that is not the name.
    pub declared: Option<String>,
}

const FIELD: &str = "name";

/// Reads `name`. A skill without one is known by its directory; one whose name could pass for another has none.
pub(crate) fn read(fields: &mut Fields<'_>, entry: Option<&Entry>, dir_name: &str) -> Identity {
    let Some(entry) = entry else {
        let message = words!("`name` is missing", "缺少 `name`");
        let diagnostic =
            Diagnostic::error(Code::F0108, fields.path, message).field(FIELD).at(fields.source, 0, 3);
        return from_directory(fields, diagnostic, dir_name, None);
    };
    match entry.value.resolve() {
        Resolved::Text(text) if !text.trim().is_empty() => declared(fields, entry, text, dir_name),
        _ => {
            let found = found(&entry.value);
            let message = Words {
                en: format!("`name` must be text, found {}", found.en),
                zh: format!("`name` 必须是文本，实际是{}", found.zh),
            };
            let diagnostic = fields.error(Code::F0108, FIELD, entry, message);
            from_directory(fields, diagnostic, dir_name, Some(entry))
        }
    }
}

/// No name of its own: the directory's, if that can be one.
fn from_directory(
    fields: &mut Fields<'_>,
    diagnostic: Diagnostic,
    dir_name: &str,
    entry: Option<&Entry>,
) -> Identity {
    let name = SkillName::parse(dir_name).ok();
    let suggested = name.clone().or_else(|| SkillName::suggest(dir_name));
    let mut diagnostic = match &suggested {
        Some(name) => diagnostic.hint(words!("name: {}", "name: {}", as_yaml_value(name.as_str()))),
        None => diagnostic.hint(words!("name: my-skill", "name: my-skill")),
    };
    // A value that stands on the line of its key can be replaced; the rest is left to the person.
    if let (Some(name), Some(entry)) = (&name, entry) {
        let (start, end) = if entry.value.start == entry.value.end {
            (entry.value.start + 1, entry.value.start + 1)
        } else {
            (entry.value.start, entry.value.end)
        };
        let space = if start == end { " " } else { "" };
        let replacement = format!("{space}{}", as_yaml_value(name.as_str()));
        if !fields.source.get(entry.key.end..end).is_some_and(|text| text.contains('\n')) {
            diagnostic = diagnostic.fix(Fix { start: offset(start), end: offset(end), replacement });
        }
    }
    fields.diagnostics.push(diagnostic);
    Identity { name, declared: None }
}

fn declared(fields: &mut Fields<'_>, entry: &Entry, text: &str, dir_name: &str) -> Identity {
    let error = match SkillName::parse(text) {
        Ok(name) => {
            compare_with_directory(fields, entry, &name, dir_name);
            return Identity { name: Some(name), declared: None };
        }
        Err(error) => error,
    };
    let suggestion = SkillName::suggest(text);
    let reserved =
        error == NameError::Reserved || SkillName::parse(&text.to_lowercase()) == Err(NameError::Reserved);
    let shown = shorten(text);
    let kept = Some(text.to_owned());
    if reserved {
        let message = words!("name `{shown}` is a reserved word", "名称 `{shown}` 是保留字");
        let diagnostic = fields.error(Code::F0111, FIELD, entry, message);
        fields.diagnostics.push(diagnostic.hint(words!("name: {}-skill", "name: {}-skill", safe_stem(text))));
        return Identity { name: None, declared: kept };
    }
    if let NameError::NotCanonical(code_points) = &error {
        let message = words!(
            "name has hidden or non-canonical characters ({code_points}); it could pass for another",
            "名称含有隐藏或非规范字符（{code_points}），可能被冒充"
        );
        let diagnostic = fields.error(Code::F0110, FIELD, entry, message);
        fields.diagnostics.push(with_suggestion(diagnostic, entry, suggestion.as_ref()));
        return Identity { name: None, declared: kept };
    }
    let rule = rule(&error);
    let message = Words {
        en: format!("name `{shown}` breaks a rule: {}", rule.en),
        zh: format!("名称 `{shown}` 不合规则：{}", rule.zh),
    };
    let diagnostic = fields.error(Code::F0109, FIELD, entry, message);
    fields.diagnostics.push(with_suggestion(diagnostic, entry, suggestion.as_ref()));
    if let Some(name) = &suggestion
        && text != dir_name
    {
        compare_with_directory(fields, entry, name, dir_name);
    }
    Identity { name: suggestion, declared: kept }
}

fn with_suggestion(diagnostic: Diagnostic, entry: &Entry, suggestion: Option<&SkillName>) -> Diagnostic {
    let Some(name) = suggestion else {
        return diagnostic.hint(words!(
            "use lower-case letters, digits and single hyphens, such as `my-skill`",
            "使用小写字母、数字和单个连字符，例如 `my-skill`"
        ));
    };
    let value = as_yaml_value(name.as_str());
    diagnostic.hint(words!("name: {value}", "name: {value}")).fix(Fix {
        start: offset(entry.value.start),
        end: offset(entry.value.end),
        replacement: value,
    })
}

fn compare_with_directory(fields: &mut Fields<'_>, entry: &Entry, name: &SkillName, dir_name: &str) {
    // Some file systems store names decomposed; that is not the author's doing.
    if dir_name.is_empty() || dir_name == name.as_str() || dir_name.nfkc().eq(name.as_str().chars()) {
        return;
    }
    let shown = shorten(dir_name);
    let message = words!(
        "name `{name}` differs from its directory `{shown}`",
        "名称 `{name}` 与所在目录 `{shown}` 不一致"
    );
    let diagnostic = fields.warning(Code::F0112, FIELD, entry, message);
    fields.diagnostics.push(diagnostic.hint(words!(
        "rename the directory to `{name}`, or write `name: {shown}`",
        "把目录改名为 `{name}`，或写成 `name: {shown}`"
    )));
}

fn rule(error: &NameError) -> Words {
    match error {
        NameError::Empty => words!("it is empty", "不能为空"),
        NameError::TooLong(found) => {
            words!("it has {found} characters (limit 64)", "有 {found} 个字符（上限 64）")
        }
        NameError::UpperCase => words!("letters must be lower case", "字母必须小写"),
        NameError::OuterHyphen => words!("it may not start or end with a hyphen", "不能以连字符开头或结尾"),
        NameError::DoubleHyphen => words!("it may not have two hyphens in a row", "不能有连续的连字符"),
        NameError::BadCharacter(' ') => words!("it may not contain spaces", "不能包含空格"),
        NameError::BadCharacter(c) => {
            words!(
                "it contains {c:?}; only letters, digits and hyphens are accepted",
                "包含 {c:?}；只接受字母、数字和连字符"
            )
        }
        NameError::NotCanonical(_) | NameError::Reserved => error.words(),
    }
}

/// The letters of a reserved word, so that a suggestion starts from what the person wrote.
fn safe_stem(text: &str) -> String {
    let letters: String = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).take(20).collect();
    if letters.is_empty() { "my".to_owned() } else { letters }
}
