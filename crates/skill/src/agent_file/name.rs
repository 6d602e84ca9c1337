//! The name of an agent: what the file declares, what it may be called, and the file's own name as a last resort.

use super::AgentFile;
use crate::fields::{Fields, as_yaml_value};
use crate::problems::{found, offset, shorten};
use crate::yaml::{Entry, Resolved};
use fugato_model::{AgentId, Code, Diagnostic, Fix, SkillName, Words, words};
use unicode_normalization::UnicodeNormalization;

const FIELD: &str = "name";

/// Reads `name`. A name that breaks a rule is known by its repair; one that could pass for another is none.
pub(super) fn read(fields: &mut Fields<'_>, entry: Option<&Entry>, stem: &str, agent: &mut AgentFile) {
    let Some(entry) = entry else {
        let message = words!("`name` is missing", "缺少 `name`");
        let diagnostic =
            Diagnostic::warning(Code::F0108, fields.path, message).field(FIELD).at(fields.source, 0, 3);
        agent.name = from_file(fields, diagnostic, stem);
        return;
    };
    let text = match entry.value.resolve() {
        Resolved::Text(text) if !text.trim().is_empty() => text.trim(),
        _ => {
            let found = found(&entry.value);
            let message = Words {
                en: format!("`name` must be text, found {}", found.en),
                zh: format!("`name` 必须是文本，实际是{}", found.zh),
            };
            let diagnostic = fields.warning(Code::F0108, FIELD, entry, message);
            agent.name = from_file(fields, diagnostic, stem);
            return;
        }
    };
    let hidden = |c: char| fugato_model::is_hidden(c) || !std::iter::once(c).nfkc().eq(std::iter::once(c));
    if !text.nfkc().eq(text.chars()) || text.chars().any(hidden) {
        let code_points = fugato_model::show_code_points(text, |c| hidden(c) || !c.is_ascii());
        let message = words!(
            "name has hidden or non-canonical characters ({code_points}); it could pass for another",
            "名称含有隐藏或非规范字符（{code_points}），可能被冒充"
        );
        let diagnostic = fields.error(Code::F0110, FIELD, entry, message);
        fields.diagnostics.push(with_suggestion(diagnostic, entry, SkillName::suggest(text).as_ref()));
        agent.declared_name = Some(text.to_owned());
        return;
    }
    let error = match AgentId::parse(text) {
        Ok(name) => {
            agent.name = Some(name);
            return;
        }
        Err(error) => error,
    };
    let suggestion = SkillName::suggest(text);
    let (shown, Words { en, zh }) = (shorten(text), error.words());
    let message = words!("name `{shown}` breaks a rule: {en}", "名称 `{shown}` 不合规则：{zh}");
    let diagnostic = fields.error(Code::F0109, FIELD, entry, message);
    fields.diagnostics.push(with_suggestion(diagnostic, entry, suggestion.as_ref()));
    agent.declared_name = Some(text.to_owned());
    agent.name = suggestion.and_then(|name| AgentId::parse(name.as_str()).ok());
}

fn from_file(fields: &mut Fields<'_>, diagnostic: Diagnostic, stem: &str) -> Option<AgentId> {
    let name = AgentId::parse(stem).ok().or_else(|| AgentId::parse(SkillName::suggest(stem)?.as_str()).ok());
    let shown = name.as_ref().map_or("my-agent", AgentId::as_str);
    let value = as_yaml_value(shown);
    let mut diagnostic = diagnostic.hint(words!("name: {value}", "name: {value}"));
    if name.is_none() {
        // Nothing else says what it is called.
        diagnostic.severity = fugato_model::Severity::Error;
    }
    fields.diagnostics.push(diagnostic);
    name
}

fn with_suggestion(diagnostic: Diagnostic, entry: &Entry, suggestion: Option<&SkillName>) -> Diagnostic {
    let Some(name) = suggestion else {
        return diagnostic.hint(words!(
            "use letters, digits and hyphens, such as `my-agent`",
            "使用字母、数字和连字符，例如 `my-agent`"
        ));
    };
    let value = as_yaml_value(name.as_str());
    diagnostic.hint(words!("name: {value}", "name: {value}")).fix(Fix {
        start: offset(entry.value.start),
        end: offset(entry.value.end),
        replacement: value,
    })
}
