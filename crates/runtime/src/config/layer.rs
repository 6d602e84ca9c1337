//! Reading one configuration file: values with the place they stand at, and what is wrong with the rest.

use super::settings::{Kind, SETTINGS, Setting, Value};
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
    pub setting: &'static Setting,
    pub value: Value,
    pub line: u32,
}

/// A file as it is resolved and as it is shown.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub path: &'a Path,
    pub shown: &'a str,
    pub user_home: Option<&'a Path>,
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
            match (Setting::find(&full), value.get_ref()) {
                (Some(setting), _) => self.value(setting, value),
                (None, DeValue::Table(inner)) if is_group => self.table(inner, &format!("{full}.")),
                (None, _) if is_group => self.wrong(&full, value.span(), "a table", "一个表"),
                (None, _) => self.unknown(&full, key.span()),
            }
        }
    }

    fn value(&mut self, setting: &'static Setting, value: &Spanned<DeValue<'_>>) {
        let read = match (setting.kind, value.get_ref()) {
            (Kind::Directories, DeValue::Array(items)) => {
                let text = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
                    DeValue::String(text) if !text.is_empty() => Some(self.resolve(text)),
                    _ => None,
                };
                items.iter().map(text).collect::<Option<Vec<_>>>().map(Value::Directories)
            }
            (kind, DeValue::String(text)) => kind.accept(Value::Text(text.to_string())),
            (kind, DeValue::Integer(number)) => {
                let number = i64::from_str_radix(number.as_str(), number.radix()).ok();
                number.and_then(|number| kind.accept(Value::Integer(number)))
            }
            _ => None,
        };
        let span = value.span();
        match read {
            Some(value) => {
                let line = Span::of(self.text, span.start, span.end).line;
                self.placed.push(Placed { setting, value, line });
            }
            None => {
                let (en, zh) = setting.kind.expected();
                self.wrong(setting.key, span, &en, &zh);
            }
        }
    }

    fn resolve(&self, text: &str) -> PathBuf {
        let base = self.source.path.parent().unwrap_or(Path::new(""));
        resolve_dir(Path::new(text), base, self.source.user_home)
    }

    fn wrong(&mut self, key: &str, span: Range<usize>, en: &str, zh: &str) {
        let found: String = self.text.get(span.clone()).unwrap_or_default().chars().take(60).collect();
        let found = found.lines().next().unwrap_or_default();
        let message = words!("found `{found}`, expected {en}", "值为 `{found}`，应为{zh}");
        self.diagnostics.push(
            Diagnostic::error(Code::F0403, self.source.shown, message)
                .field(key)
                .at(self.text, span.start, span.end),
        );
    }

    fn unknown(&mut self, key: &str, span: Range<usize>) {
        let message = words!("unknown key `{key}` is ignored", "未知的配置项 `{key}`，已忽略");
        let mut diagnostic = Diagnostic::warning(Code::F0402, self.source.shown, message)
            .field(key)
            .at(self.text, span.start, span.end);
        if let Some(near) = nearest(key, SETTINGS.iter().map(|setting| setting.key)) {
            diagnostic = diagnostic.hint(words!("did you mean `{near}`?", "是否想写 `{near}`？"));
        }
        self.diagnostics.push(diagnostic);
    }
}

pub(super) fn resolve_dir(dir: &Path, base: &Path, user_home: Option<&Path>) -> PathBuf {
    match (dir.strip_prefix("~"), user_home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => base.join(dir),
    }
}
