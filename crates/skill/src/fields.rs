//! The frontmatter fields that exist, and how their values are taken: gently, each oddity a diagnostic.

use crate::problems::{self, found, offset};
use crate::requote::quote;
use crate::yaml::{Entry, Node, Resolved};
use fugato_model::{Code, Diagnostic, Fix, Words, words};

/// The fields of the Agent Skills specification: all that its reference validator accepts.
pub const PORTABLE: [&str; 6] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// Fields of Claude Code, of other clients, and ours. Read or passed over in silence.
pub const EXTRA: [&str; 17] = [
    "when_to_use",
    "argument-hint",
    "arguments",
    "disable-model-invocation",
    "user-invocable",
    "disallowed-tools",
    "model",
    "context",
    "agent",
    "hooks",
    "paths",
    "tags",
    "version",
    "author",
    "phases",
    "debug",
    "internal",
];

/// Is the field one that somebody defined?
pub fn is_known(key: &str) -> bool {
    PORTABLE.contains(&key) || EXTRA.contains(&key)
}

/// Takes values out of one file and collects what is odd about them.
pub(crate) struct Fields<'a> {
    pub path: &'a str,
    pub source: &'a str,
    pub diagnostics: Vec<Diagnostic>,
}

impl Fields<'_> {
    pub(crate) fn error(&self, code: Code, field: &str, entry: &Entry, message: Words) -> Diagnostic {
        let (start, end) = entry.value_span();
        Diagnostic::error(code, self.path, message).field(field).at(self.source, start, end)
    }

    pub(crate) fn warning(&self, code: Code, field: &str, entry: &Entry, message: Words) -> Diagnostic {
        let (start, end) = entry.value_span();
        Diagnostic::warning(code, self.path, message).field(field).at(self.source, start, end)
    }

    /// Text of any scalar; `None` for null. A collection is reported.
    pub(crate) fn text(&mut self, field: &str, entry: &Entry) -> Option<String> {
        match entry.value.resolve() {
            Resolved::Null => None,
            Resolved::Sequence | Resolved::Mapping => {
                self.wrong_type(field, entry, &words!("text", "文本"));
                None
            }
            _ => entry.value.text().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
        }
    }

    /// A boolean. What only YAML 1.1 or a person takes for one is taken too, and reported: a skill that asks to be
    /// hidden must not become visible because of its spelling.
    pub(crate) fn boolean(&mut self, field: &str, entry: &Entry) -> Option<bool> {
        if let Some(value) = entry.value.as_bool() {
            return Some(value);
        }
        if entry.value.is_null() {
            return None;
        }
        let meant = match entry.value.text().map(|text| text.trim().to_ascii_lowercase()).as_deref() {
            Some("true" | "yes" | "on" | "y" | "1") => Some(true),
            Some("false" | "no" | "off" | "n" | "0") => Some(false),
            _ => None,
        };
        let found = found(&entry.value);
        let message = Words {
            en: format!("expected `true` or `false`, found {}", found.en),
            zh: format!("应为 `true` 或 `false`，实际是{}", found.zh),
        };
        let mut diagnostic = self.warning(Code::F0118, field, entry, message);
        if let Some(meant) = meant {
            diagnostic = diagnostic.hint(words!("{field}: {meant}", "{field}: {meant}")).fix(Fix {
                start: offset(entry.value.start),
                end: offset(entry.value.end),
                replacement: meant.to_string(),
            });
        }
        self.diagnostics.push(diagnostic);
        meant
    }

    /// A list of texts: a YAML list, or one text cut by `cut`.
    pub(crate) fn list(&mut self, field: &str, entry: &Entry, cut: fn(&str) -> Vec<String>) -> Vec<String> {
        match entry.value.resolve() {
            Resolved::Null => Vec::new(),
            Resolved::Mapping => {
                self.wrong_type(field, entry, &words!("a list or text", "列表或文本"));
                Vec::new()
            }
            Resolved::Sequence => {
                let items = entry.value.items().unwrap_or_default();
                if items.iter().any(|item| item.text().is_none()) {
                    self.wrong_type(field, entry, &words!("a list of texts", "由文本组成的列表"));
                }
                let texts = items.iter().filter_map(Node::text).map(|text| text.trim().to_owned());
                texts.filter(|text| !text.is_empty()).collect()
            }
            _ => cut(entry.value.text().unwrap_or_default()),
        }
    }

    pub(crate) fn wrong_type(&mut self, field: &str, entry: &Entry, expected: &Words) {
        let found = found(&entry.value);
        let message = Words {
            en: format!("expected {}, found {}; the field is ignored", expected.en, found.en),
            zh: format!("应为{}，实际是{}；该字段被忽略", expected.zh, found.zh),
        };
        let diagnostic = self.warning(Code::F0118, field, entry, message);
        self.diagnostics.push(diagnostic);
    }

    /// Unknown keys, each with what was probably meant.
    pub(crate) fn unknown(&mut self, unknown: &[&Entry], present: &dyn Fn(&str) -> bool) {
        let mut taken: Vec<&str> = Vec::new();
        for entry in unknown.iter().take(crate::limits::REPORTED_KEYS) {
            let key = entry.name();
            let shown = problems::shorten(key);
            // Among all fields, also those already there: otherwise `allowed_tools` beside `allowed-tools` would be
            // taken for `disallowed-tools`.
            let meant = fugato_model::nearest(key, PORTABLE.iter().chain(&EXTRA).copied())
                .filter(|meant| !present(meant) && !taken.contains(meant));
            let diagnostic = Diagnostic::warning(
                Code::F0117,
                self.path,
                words!("unknown key `{shown}`", "未知的键 `{shown}`"),
            )
            .field(key)
            .at(self.source, entry.key.start, entry.key.end);
            let Some(meant) = meant else {
                self.diagnostics.push(diagnostic.hint(words!(
                    "put fields of your own under `metadata:`",
                    "自定义字段请放在 `metadata:` 之下"
                )));
                continue;
            };
            taken.push(meant);
            let mut diagnostic = diagnostic.hint(words!("did you mean `{meant}`?", "是不是 `{meant}`？"));
            // Asking is cheap, changing is not: only what is a slip of the finger is repaired unasked.
            if strsim::osa_distance(&key.to_lowercase(), meant) <= 2 {
                let (start, end) = (offset(entry.key.start), offset(entry.key.end));
                diagnostic = diagnostic.fix(Fix { start, end, replacement: meant.to_owned() });
            }
            self.diagnostics.push(diagnostic);
        }
        let more = unknown.len().saturating_sub(crate::limits::REPORTED_KEYS);
        if more > 0 {
            let message = words!("{more} more unknown keys", "还有 {more} 个未知的键");
            self.diagnostics.push(Diagnostic::warning(Code::F0117, self.path, message));
        }
    }
}

/// `a, b c` → tags separated by commas; spaces belong to a tag.
pub(crate) fn cut_at_commas(text: &str) -> Vec<String> {
    let items = text.split([',', '，', '、']).map(|item| item.trim().to_owned());
    items.filter(|item| !item.is_empty()).collect()
}

/// `Read, Bash(git add:*) Write` → tools separated by commas or spaces, parentheses kept whole.
pub(crate) fn cut_tools(text: &str) -> Vec<String> {
    let mut tools = Vec::new();
    let mut tool = String::new();
    let mut depth = 0usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            if !tool.is_empty() {
                tools.push(std::mem::take(&mut tool));
            }
        } else {
            tool.push(c);
        }
    }
    if !tool.is_empty() {
        tools.push(tool);
    }
    tools
}

/// A text as a YAML value: plain when that reads back as the same text, else quoted.
pub(crate) fn as_yaml_value(text: &str) -> String {
    let line = format!("k: {text}\n");
    let plain =
        crate::yaml::parse(&line, 0).is_ok_and(|node| node.get("k").and_then(Node::as_str) == Some(text));
    if plain { text.to_owned() } else { quote(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_cut_outside_of_parentheses() {
        assert_eq!(cut_tools("Bash(jq:*) Bash(git:*)"), ["Bash(jq:*)", "Bash(git:*)"]);
        assert_eq!(cut_tools("Read,Write , Bash(git add:*, x)"), ["Read", "Write", "Bash(git add:*, x)"]);
        assert_eq!(cut_tools(" , "), Vec::<String>::new());
        assert_eq!(cut_tools("a) b"), ["a)", "b"]);
    }

    #[test]
    fn values_are_quoted_only_when_needed() {
        assert_eq!(as_yaml_value("pdf-tools"), "pdf-tools");
        assert_eq!(as_yaml_value("123"), "\"123\"");
        assert_eq!(as_yaml_value("a: b"), "\"a: b\"");
    }
}
