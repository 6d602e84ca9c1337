//! The description of a skill: the one thing a model reads before it decides.

use crate::fields::Fields;
use crate::limits::{DESCRIPTION_CHARS, KEPT_DESCRIPTION_CHARS};
use crate::problems::found;
use crate::yaml::{Entry, Resolved};
use fugato_model::{Code, Diagnostic, Words, is_hidden, is_tag_block, show_code_points, words};

const FIELD: &str = "description";

/// Reads `description`. `None`: there is none that could be shown to a model.
pub(crate) fn read(fields: &mut Fields<'_>, entry: Option<&Entry>) -> Option<String> {
    let Some(entry) = entry else {
        let message = words!("`description` is missing", "缺少 `description`");
        let diagnostic =
            Diagnostic::error(Code::F0113, fields.path, message).field(FIELD).at(fields.source, 0, 3);
        fields.diagnostics.push(diagnostic.hint(example()));
        return None;
    };
    let text = match entry.value.resolve() {
        Resolved::Text(text) if !text.trim().is_empty() => text.trim(),
        // `description: 42` is odd, and still a description.
        Resolved::Bool(_) | Resolved::Integer(_) | Resolved::Float(_) => {
            report_type(fields, entry, Accepted::AsText);
            entry.value.text().unwrap_or_default()
        }
        _ => {
            report_type(fields, entry, Accepted::No);
            return None;
        }
    };
    check_length(fields, entry, text);
    let usable = check_characters(fields, entry, text);
    usable.then(|| text.chars().take(KEPT_DESCRIPTION_CHARS).collect())
}

#[derive(Clone, Copy)]
enum Accepted {
    AsText,
    No,
}

fn report_type(fields: &mut Fields<'_>, entry: &Entry, accepted: Accepted) {
    let found = found(&entry.value);
    let message = Words {
        en: format!("`description` must be text, found {}", found.en),
        zh: format!("`description` 必须是文本，实际是{}", found.zh),
    };
    let diagnostic = match accepted {
        Accepted::AsText => fields.warning(Code::F0113, FIELD, entry, message),
        Accepted::No => fields.error(Code::F0113, FIELD, entry, message),
    };
    fields.diagnostics.push(diagnostic.hint(example()));
}

fn example() -> Words {
    words!("description: What it does, and when to use it.", "description: 它做什么、什么时候用。")
}

fn check_length(fields: &mut Fields<'_>, entry: &Entry, text: &str) {
    let chars = if text.len() <= DESCRIPTION_CHARS { 0 } else { text.chars().count() };
    if chars > DESCRIPTION_CHARS {
        let message = words!(
            "the description has {chars} characters (limit {DESCRIPTION_CHARS}); catalogs show the first {DESCRIPTION_CHARS}",
            "描述有 {chars} 个字符（上限 {DESCRIPTION_CHARS}）；目录里只显示前 {DESCRIPTION_CHARS} 个"
        );
        let diagnostic = fields.warning(Code::F0114, FIELD, entry, message);
        fields.diagnostics.push(diagnostic.hint(words!("move details into the body", "把细节移到正文")));
    }
}

/// Says which characters no catalog will show. False: there is text only a model would see.
fn check_characters(fields: &mut Fields<'_>, entry: &Entry, text: &str) -> bool {
    if text.bytes().all(|b| (b' '..0x7F).contains(&b)) {
        return true;
    }
    if text.chars().any(is_tag_block) {
        let shown = show_code_points(text, is_tag_block);
        let message = words!(
            "the description has invisible tag characters ({shown}): text that a model reads and a person does not",
            "描述含有不可见的标签字符（{shown}）：模型会读到，人却看不见"
        );
        let diagnostic = fields.error(Code::F0116, FIELD, entry, message);
        fields.diagnostics.push(diagnostic.hint(words!("type the description again", "请重新输入这段描述")));
        return false;
    }
    let stripped = |c: char| is_hidden(c) && !matches!(c, '\t' | '\u{200C}' | '\u{200D}');
    if text.chars().any(stripped) {
        let shown = show_code_points(text, stripped);
        let message = words!(
            "the description has control or bidirectional characters ({shown}); catalogs leave them out",
            "描述含有控制字符或双向字符（{shown}）；目录里会去掉"
        );
        let diagnostic = fields.warning(Code::F0115, FIELD, entry, message);
        fields
            .diagnostics
            .push(diagnostic.hint(words!("write the description as one line of text", "把描述写成一行文字")));
    }
    true
}
