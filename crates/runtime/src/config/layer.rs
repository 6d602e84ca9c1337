//! Reading one configuration file: values with the place they stand at, and what is wrong with the rest.

use super::kind::{Kind, Value};
use super::section::{Field, SECTIONS, Section, Trust};
use super::settings::{SETTINGS, Setting};
use fugato_model::{Code, Diagnostic, Span, nearest, words};
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Nobody writes a megabyte of settings.
const MAX_BYTES: u64 = 1024 * 1024;

/// A value and the line it stands on.
#[derive(Debug)]
pub(super) struct Placed {
    pub what: What,
    pub value: Value,
    pub line: u32,
}

/// What a value is of.
#[derive(Clone, Debug)]
pub(super) enum What {
    Setting(&'static Setting),
    Field(&'static Section, String, &'static Field),
}

/// A file as it is resolved and as it is shown.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub path: &'a Path,
    pub shown: &'a str,
    pub user_home: Option<&'a Path>,
    /// For a file that came with a project: whether a provider is given a key.
    pub is_keyed: Option<&'a dyn Fn(&str) -> bool>,
}

/// Reads a file. A missing one is empty; one that does not parse is empty with an error.
pub(super) fn read(source: Source<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Placed> {
    let text = match text_of(source.path) {
        Ok(Some(text)) => text,
        Ok(None) => return Vec::new(),
        Err(error) => {
            let message = words!("file is ignored: {error}", "该文件已忽略：{error}");
            diagnostics.push(Diagnostic::error(Code::F0401, source.shown, message));
            return Vec::new();
        }
    };
    parse(&text, source, diagnostics)
}

pub(super) fn parse(text: &str, source: Source<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Placed> {
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            diagnostics.push(unparsable(text, source.shown, error.message(), error.span()));
            return Vec::new();
        }
    };
    let mut reading = Reading { text, source, diagnostics, placed: Vec::new() };
    reading.table(table.get_ref(), "");
    reading.placed
}

pub(super) fn unparsable(text: &str, shown: &str, why: &str, span: Option<Range<usize>>) -> Diagnostic {
    let why = why.trim_end();
    let message =
        words!("not valid TOML, so the file is ignored: {why}", "不是有效的 TOML，该文件已忽略：{why}");
    let span = span.unwrap_or(0..0);
    Diagnostic::error(Code::F0401, shown, message).at(text, span.start, span.end)
}

/// `None` when there is no such file. Never blocks: a FIFO is refused before it is opened.
pub(super) fn text_of(path: &Path) -> std::io::Result<Option<String>> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !meta.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::other(format!("larger than {MAX_BYTES} bytes")));
    }
    Ok(Some(text))
}

struct Reading<'a> {
    text: &'a str,
    source: Source<'a>,
    diagnostics: &'a mut Vec<Diagnostic>,
    placed: Vec<Placed>,
}

impl Reading<'_> {
    fn table(&mut self, table: &DeTable<'_>, prefix: &str) {
        for (key, value) in table {
            let full = format!("{prefix}{}", key.get_ref());
            let is_group = SETTINGS.iter().any(|setting| setting.key.starts_with(&format!("{full}.")));
            let section = Section::find(&full);
            match (Setting::find(&full), section, value.get_ref()) {
                (Some(setting), ..) if self.source.is_keyed.is_some() && !setting.is_for_projects() => {
                    self.loosening(setting, key.span());
                }
                (Some(setting), ..) => self.value(What::Setting(setting), value),
                (None, Some(section), DeValue::Table(names)) => self.names(section, names),
                (None, None, DeValue::Table(inner)) if is_group => self.table(inner, &format!("{full}.")),
                (None, section, _) if is_group || section.is_some() => {
                    self.wrong(&full, value.span(), Kind::Texts, ("a table", "一个表"));
                }
                _ => self.unknown(&full, key.span()),
            }
        }
    }

    fn names(&mut self, section: &'static Section, names: &DeTable<'_>) {
        for (name, value) in names {
            let DeValue::Table(fields) = value.get_ref() else {
                let full = format!("{}.{}", section.name, name.get_ref());
                self.wrong(&full, value.span(), Kind::Texts, ("a table", "一个表"));
                continue;
            };
            for (key, value) in fields {
                let name = name.get_ref();
                match section.field(key.get_ref()) {
                    Some(field) if self.is_trusted(field, name) => {
                        self.value(What::Field(section, name.to_string(), field), value);
                    }
                    Some(field) => self.untrusted(&section.key(name, field.key), key.span()),
                    None => self.unknown_field(section, name, key.get_ref(), key.span()),
                }
            }
        }
    }

    fn is_trusted(&self, field: &Field, name: &str) -> bool {
        let Some(is_keyed) = self.source.is_keyed else { return true };
        match field.trust {
            Trust::Anyone => true,
            Trust::Person => false,
            Trust::PersonIfKeyed => !is_keyed(name),
        }
    }

    fn value(&mut self, what: What, value: &Spanned<DeValue<'_>>) {
        let kind = what.kind();
        let span = value.span();
        if let (Kind::Rules, DeValue::Array(items)) = (kind, value.get_ref()) {
            let rules = items.iter().filter_map(|item| self.rule(&what.key(), item)).collect();
            let line = Span::of(self.text, span.start, span.end).line;
            self.placed.push(Placed { what, value: Value::Rules(rules), line });
            return;
        }
        match self.read(kind, value.get_ref()) {
            Some(value) => {
                let line = Span::of(self.text, span.start, span.end).line;
                self.placed.push(Placed { what, value, line });
            }
            None => {
                let (en, zh) = kind.expected();
                self.wrong(&what.key(), span, kind, (&en, &zh));
            }
        }
    }

    fn read(&self, kind: Kind, value: &DeValue<'_>) -> Option<Value> {
        match (kind, value) {
            (Kind::Directories, DeValue::Array(items)) => {
                let text = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
                    DeValue::String(text) if !text.is_empty() => Some(self.resolve(text)),
                    _ => None,
                };
                items.iter().map(text).collect::<Option<Vec<_>>>().map(Value::Directories)
            }
            (Kind::Hosts, DeValue::Array(items)) => {
                let text = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
                    DeValue::String(text) => Some(text.to_string()),
                    _ => None,
                };
                let hosts: Option<Vec<_>> = items.iter().map(text).collect();
                kind.accept(Value::Hosts(hosts?))
            }
            (Kind::Model, DeValue::String(text)) => match text.strip_prefix("script:") {
                Some(file) => Some(Value::Text(format!("script:{}", self.resolve(file).display()))),
                None => kind.accept(Value::Text(text.to_string())),
            },
            (Kind::Texts, DeValue::Table(table)) => {
                let texts = table.iter().map(|(name, value)| match value.get_ref() {
                    DeValue::String(text) => Some((name.get_ref().to_string(), text.to_string())),
                    _ => None,
                });
                let texts: Option<_> = texts.collect();
                kind.accept(Value::Texts(texts?))
            }
            (Kind::Money, DeValue::Float(number)) => super::kind::money(number.as_str()).map(Value::Money),
            (Kind::Money, DeValue::Integer(number)) => super::kind::money(number.as_str()).map(Value::Money),
            (Kind::Date, DeValue::Datetime(date)) => kind.accept(Value::Text(date.to_string())),
            (kind, DeValue::String(text)) => kind.accept(Value::Text(text.to_string())),
            (kind, DeValue::Boolean(value)) => kind.accept(Value::Boolean(*value)),
            (kind, DeValue::Integer(number)) => {
                let number = i64::from_str_radix(number.as_str(), number.radix()).ok();
                number.and_then(|number| kind.accept(Value::Integer(number)))
            }
            _ => None,
        }
    }

    fn resolve(&self, text: &str) -> PathBuf {
        let base = self.source.path.parent().unwrap_or(Path::new(""));
        resolve_dir(Path::new(text), base, self.source.user_home)
    }

    fn wrong(&mut self, key: &str, span: Range<usize>, kind: Kind, (en, zh): (&str, &str)) {
        if !kind.may_be_shown() {
            let message = words!("the value is ignored; expected {en}", "该值已忽略；应为{zh}");
            let mut diagnostic = Diagnostic::error(Code::F0403, self.source.shown, message).field(key);
            // The place without the line itself: it may hold a key.
            diagnostic.span = Some(Span::of(self.text, span.start, span.end));
            self.diagnostics.push(diagnostic);
            return;
        }
        let found: String = self.text.get(span.clone()).unwrap_or_default().chars().take(60).collect();
        let found = found.lines().next().unwrap_or_default();
        let message = words!("found `{found}`, expected {en}", "值为 `{found}`，应为{zh}");
        self.diagnostics.push(
            Diagnostic::error(Code::F0403, self.source.shown, message)
                .field(key)
                .at(self.text, span.start, span.end),
        );
    }

    /// A rule that cannot be read is left out, and no run starts until it is repaired.
    fn rule(&mut self, key: &str, item: &Spanned<DeValue<'_>>) -> Option<String> {
        let span = item.span();
        let DeValue::String(text) = item.get_ref() else {
            let (en, zh) = Kind::Rules.expected();
            self.wrong(key, span, Kind::Rules, (&en, &zh));
            return None;
        };
        match text.parse::<fugato_engine::permission::Rule>() {
            Ok(_) => Some(text.to_string()),
            Err(error) => {
                // Inside the quotes, when it is written as simply as rules are.
                let is_plain = self.text.get(span.start + 1..).is_some_and(|rest| rest.starts_with(&**text));
                let start = if is_plain { span.start + 1 + error.at.min(text.len()) } else { span.start };
                let (en, zh) = (error.message.en, error.message.zh);
                let message = words!("no permission rule: {en}", "不是权限规则：{zh}");
                let diagnostic = Diagnostic::error(Code::F0403, self.source.shown, message).field(key);
                self.diagnostics.push(diagnostic.at(self.text, start, span.end));
                None
            }
        }
    }

    fn loosening(&mut self, setting: &Setting, span: Range<usize>) {
        let (key, (code, message)) = (setting.key, super::only_yours(setting.key));
        let (en, zh) = (message.en, message.zh);
        let own = "fugato config set --layer user";
        let diagnostic =
            Diagnostic::warning(code, self.source.shown, words!("ignored: {en}", "已忽略：{zh}"));
        let hint = words!("yours can: {own} {key} VALUE", "您自己的设置可以：{own} {key} 值");
        self.diagnostics.push(diagnostic.field(key).at(self.text, span.start, span.end).hint(hint));
    }

    fn untrusted(&mut self, key: &str, span: Range<usize>) {
        let (en, zh) = {
            let message = super::only_yours(key).1;
            (message.en, message.zh)
        };
        let message = words!("ignored: {en}", "已忽略：{zh}");
        let own = "fugato config set --layer user";
        let diagnostic = Diagnostic::warning(Code::F0405, self.source.shown, message)
            .field(key)
            .at(self.text, span.start, span.end)
            .hint(words!("yours can: {own} '{key}' VALUE", "您自己的设置可以：{own} '{key}' 值"));
        self.diagnostics.push(diagnostic);
    }

    fn unknown_field(&mut self, section: &Section, name: &str, key: &str, span: Range<usize>) {
        let full = section.key(name, key);
        let message = words!("unknown key `{full}` is ignored", "未知的配置项 `{full}`，已忽略");
        let mut diagnostic = Diagnostic::warning(Code::F0402, self.source.shown, message).field(&full);
        // The place without the line itself: people put keys here.
        diagnostic.span = Some(Span::of(self.text, span.start, span.end));
        let sounds_secret = ["key", "token", "secret", "password"].iter().any(|word| key.contains(word));
        if section.name == "providers" && sounds_secret {
            diagnostic = diagnostic.hint(words!(
                "a key does not belong in a file: name its variable with `key_env`, or print it with `key_command`",
                "密钥不应写在文件中：用 `key_env` 指定变量，或用 `key_command` 输出"
            ));
        } else if let Some(near) = nearest(key, section.fields.iter().map(|field| field.key)) {
            diagnostic = diagnostic.hint(words!("did you mean `{near}`?", "是否想写 `{near}`？"));
        }
        self.diagnostics.push(diagnostic);
    }

    fn unknown(&mut self, key: &str, span: Range<usize>) {
        let message = words!("unknown key `{key}` is ignored", "未知的配置项 `{key}`，已忽略");
        let mut diagnostic = Diagnostic::warning(Code::F0402, self.source.shown, message)
            .field(key)
            .at(self.text, span.start, span.end);
        let known =
            SETTINGS.iter().map(|setting| setting.key).chain(SECTIONS.iter().map(|section| section.name));
        if let Some(near) = nearest(key, known) {
            diagnostic = diagnostic.hint(words!("did you mean `{near}`?", "是否想写 `{near}`？"));
        }
        self.diagnostics.push(diagnostic);
    }
}

impl What {
    fn kind(&self) -> Kind {
        match self {
            Self::Setting(setting) => setting.kind,
            Self::Field(_, _, field) => field.kind,
        }
    }

    fn key(&self) -> String {
        match self {
            Self::Setting(setting) => setting.key.to_owned(),
            Self::Field(section, name, field) => section.key(name, field.key),
        }
    }
}

pub(super) fn resolve_dir(dir: &Path, base: &Path, user_home: Option<&Path>) -> PathBuf {
    match (dir.strip_prefix("~"), user_home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => base.join(dir),
    }
}
