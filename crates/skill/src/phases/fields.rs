//! How the values of a phase are taken: strictly, because a misread `parallel` or `optional` changes what runs.

use super::report::Report;
use crate::fields::{as_yaml_value, cut_at_commas};
use crate::place::Place;
use crate::problems::{found, offset, shorten};
use crate::variable::VarName;
use crate::yaml::{Entry, Node, Resolved};
use fugato_model::{Code, Fix, Words, words};
use serde_json::{Map, Number, Value};

/// One mapping of the file and how messages call it: `phases[2].subagents[0]`.
pub(super) struct Fields<'n, 'r, 'a> {
    pub node: &'n Node,
    pub label: String,
    pub report: &'r mut Report<'a>,
}

/// A text and where it stands.
pub(super) type Placed = (String, Place);

pub(super) fn place(entry: &Entry) -> Place {
    let (start, end) = entry.value_span();
    Place::new(start, end)
}

pub(super) fn node_place(node: &Node) -> Place {
    Place::new(node.start, node.end)
}

impl<'n> Fields<'n, '_, '_> {
    /// A field that is there and not null.
    pub(super) fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.node.entry(key).filter(|entry| !entry.value.is_null())
    }

    pub(super) fn label(&self, key: &str) -> String {
        format!("{}.{key}", self.label)
    }

    pub(super) fn boolean(&mut self, key: &str, default: bool) -> bool {
        let Some(entry) = self.entry(key) else { return default };
        if let Some(value) = entry.value.as_bool() {
            return value;
        }
        let meant = match entry.value.text().map(|text| text.trim().to_ascii_lowercase()).as_deref() {
            Some("true" | "yes" | "on" | "y" | "1") => Some(true),
            Some("false" | "no" | "off" | "n" | "0") => Some(false),
            _ => None,
        };
        let label = self.label(key);
        let message = expected(&words!("`true` or `false`", " `true` 或 `false`"), &entry.value);
        self.report.error(Code::F0813, |file| {
            let diagnostic = file.error(Code::F0813, place(entry), message).field(label);
            match meant {
                Some(meant) => diagnostic.hint(words!("{key}: {meant}", "{key}: {meant}")).fix(Fix {
                    start: offset(entry.value.start),
                    end: offset(entry.value.end),
                    replacement: meant.to_string(),
                }),
                None => diagnostic,
            }
        });
        default
    }

    /// Text of any scalar, as written.
    pub(super) fn text(&mut self, key: &str) -> Option<Placed> {
        let entry = self.entry(key)?;
        match entry.value.text() {
            Some(text) => Some((text.to_owned(), place(entry))),
            None => {
                self.wrong_type(key, entry, &words!("text", "文本"));
                None
            }
        }
    }

    /// A list of texts. One text is accepted for a list of one, and told.
    pub(super) fn list(&mut self, key: &str) -> Vec<Placed> {
        let Some(entry) = self.entry(key) else { return Vec::new() };
        match entry.value.resolve() {
            Resolved::Mapping => {
                self.wrong_type(key, entry, &words!("a list", "列表"));
                Vec::new()
            }
            Resolved::Sequence => {
                let mut texts = Vec::new();
                for item in entry.value.items().unwrap_or_default() {
                    match item.text().map(str::trim).filter(|text| !text.is_empty()) {
                        Some(text) => texts.push((text.to_owned(), node_place(item))),
                        None => {
                            let message = expected(&words!("text", "文本"), item);
                            let label = self.label(key);
                            self.report.error(Code::F0813, |file| {
                                file.error(Code::F0813, node_place(item), message).field(label)
                            });
                        }
                    }
                }
                texts
            }
            _ => self.text_for_list(key, entry),
        }
    }

    fn text_for_list(&mut self, key: &str, entry: &Entry) -> Vec<Placed> {
        let texts = cut_at_commas(entry.value.text().unwrap_or_default());
        let written: Vec<String> = texts.iter().map(|text| as_yaml_value(text)).collect();
        let replacement = format!("[{}]", written.join(", "));
        let label = self.label(key);
        self.report.warning(Code::F0813, |file| {
            let message =
                words!("`{key}` is text and read as a list of names", "`{key}` 是文本，已按名称列表读取");
            file.warning(Code::F0813, place(entry), message)
                .field(label)
                .hint(words!("{key}: {replacement}", "{key}: {replacement}"))
                .fix(Fix {
                    start: offset(entry.value.start),
                    end: offset(entry.value.end),
                    replacement: replacement.clone(),
                })
        });
        texts.into_iter().map(|text| (text, place(entry))).collect()
    }

    /// The name of a variable that gets a value.
    pub(super) fn output(&mut self, key: &str, (text, place): &Placed) -> Option<VarName> {
        match VarName::parse_output(text.trim()) {
            Ok(name) => Some(name),
            Err(error) => {
                let (label, shown, why) = (self.label(key), shorten(text), error.words());
                self.report.error(Code::F0811, |file| {
                    let message = Words {
                        en: format!("`{shown}` cannot be a variable: {}", why.en),
                        zh: format!("`{shown}` 不能作变量名：{}", why.zh),
                    };
                    let diagnostic = file.error(Code::F0811, *place, message).field(label);
                    match VarName::suggest(text) {
                        Some(name) => diagnostic.hint(words!("{key}: {name}", "{key}: {name}")),
                        None => diagnostic,
                    }
                });
                None
            }
        }
    }

    pub(super) fn wrong_type(&mut self, key: &str, entry: &Entry, what: &Words) {
        let (label, message) = (self.label(key), expected(what, &entry.value));
        self.report.error(Code::F0813, |file| file.error(Code::F0813, place(entry), message).field(label));
    }

    /// Keys nobody reads, each with what was probably meant.
    pub(super) fn unknown(&mut self, known: &[&str]) {
        for entry in self.node.entries().unwrap_or_default() {
            let key = entry.name();
            if known.contains(&key) {
                continue;
            }
            let (label, shown) = (self.label(key), shorten(key));
            let present = |name: &str| self.node.entry(name).is_some();
            let meant = fugato_model::nearest(key, known.iter().copied()).filter(|meant| !present(meant));
            self.report.warning(Code::F0814, |file| {
                let message = words!("unknown key `{shown}`", "未知的键 `{shown}`");
                let diagnostic = file.warning(Code::F0814, node_place(&entry.key), message).field(label);
                match meant {
                    Some(meant) => diagnostic.hint(words!("did you mean `{meant}`?", "是不是 `{meant}`？")),
                    None => diagnostic.hint(words!("delete the line", "删除这一行")),
                }
            });
        }
    }
}

/// "expected …, found …".
pub(super) fn expected(what: &Words, node: &Node) -> Words {
    let found = found(node);
    Words {
        en: format!("expected {}, found {}", what.en, found.en),
        zh: format!("应为{}，实际是{}", what.zh, found.zh),
    }
}

/// A YAML tree as JSON. Its depth is bounded by the YAML parser.
pub(crate) fn to_json(node: &Node) -> Value {
    match node.resolve() {
        Resolved::Null => Value::Null,
        Resolved::Bool(value) => Value::Bool(value),
        Resolved::Integer(value) => Value::Number(value.into()),
        Resolved::Float(value) => Number::from_f64(value).map_or(Value::Null, Value::Number),
        Resolved::Text(text) => Value::String(text.to_owned()),
        Resolved::Sequence => Value::Array(node.items().unwrap_or_default().iter().map(to_json).collect()),
        Resolved::Mapping => {
            let entries = node.entries().unwrap_or_default();
            let fields = entries.iter().map(|entry| (entry.name().to_owned(), to_json(&entry.value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}
