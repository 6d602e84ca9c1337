//! Configuration: layers of TOML, environment and flags, folded into one value per setting that knows where it is from.
//!
//! Built-in < user < project < local < environment < flags. Reading never fails: what is wrong is a diagnostic, and
//! the layers below keep their say.

mod agents;
mod edit;
mod hosts;
mod kind;
mod layer;
mod models;
mod orchestration;
mod safety;
mod schema;
mod section;
mod settings;
mod web;

pub use edit::{set, unset};
pub use kind::{Kind, Value};
pub use safety::only_yours;
pub use schema::schema;
pub use section::{Field, NamedEntry, SECTIONS, Section, Trust};
pub use settings::{Default, SETTINGS, Setting};

use crate::{Places, Selection};
use fugato_model::{Code, Diagnostic, Lang, words};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Who may say what a setting is. The later one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    BuiltIn,
    User,
    Project,
    Local,
    Env,
    Flag,
}

impl Layer {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Env => "env",
            Self::Flag => "flag",
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub layer: Layer,
    /// The file as people name it, the variable, or the flag.
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// One setting with its value.
#[derive(Clone, Debug)]
pub struct ConfigEntry {
    pub setting: &'static Setting,
    pub value: Value,
    pub origin: Origin,
}

/// The settings of this invocation: one entry per row of [`SETTINGS`], and those of [`SECTIONS`] that somebody set.
#[derive(Clone, Debug)]
pub struct Config {
    entries: Vec<ConfigEntry>,
    named: Vec<NamedEntry>,
    /// What keeps the permission rules from being known.
    rule_problems: Vec<Diagnostic>,
}

impl Config {
    /// Folds all layers. `env` reads a variable; `flags` are (key, value) as typed.
    pub fn load(
        places: &Places,
        env: impl Fn(&str) -> Option<OsString>,
        flags: &[(&str, String)],
    ) -> (Self, Vec<Diagnostic>) {
        let mut config = Self::default();
        let mut diagnostics = Vec::new();
        for (layer, path) in files(places, &env) {
            let shown = places.show(&path);
            let is_keyed = |provider: &str| config.is_keyed(provider);
            let is_keyed = layer.is_of_a_project().then_some(&is_keyed as &dyn Fn(&str) -> bool);
            let user_home = places.user_home.as_deref();
            let source = layer::Source { path: &path, shown: &shown, user_home, is_keyed };
            let read = layer::read(source, &mut diagnostics);
            for placed in read {
                let origin = Origin { layer, file: Some(shown.clone()), line: Some(placed.line) };
                let value = placed.value;
                match placed.what {
                    layer::What::Setting(setting) if config.would_loosen(setting, &value, layer) => {
                        diagnostics.push(safety::looser_mode(&origin));
                    }
                    layer::What::Setting(setting) => config.put(setting, value, origin),
                    layer::What::Field(section, name, field) => {
                        config.put_named(NamedEntry { section, name, field, value, origin });
                    }
                }
            }
        }
        config.check_prices(&mut diagnostics);
        config.check_hosts(&mut diagnostics);
        for setting in SETTINGS {
            let value = env(setting.env).filter(|value| !value.is_empty());
            if let Some(text) = value {
                config.typed(
                    setting,
                    &text.to_string_lossy(),
                    Layer::Env,
                    setting.env,
                    places,
                    &mut diagnostics,
                );
            }
        }
        for (key, text) in flags {
            if let Some(setting) = Setting::find(key) {
                let flag = format!("--{}", setting.key);
                config.typed(setting, text, Layer::Flag, &flag, places, &mut diagnostics);
            }
        }
        config.rule_problems =
            diagnostics.iter().filter(|found| safety::hides_rules(found)).cloned().collect();
        (config, diagnostics)
    }

    /// All settings in the order of the table.
    pub fn entries(&self) -> &[ConfigEntry] {
        &self.entries
    }

    pub fn get(&self, key: &str) -> Option<&ConfigEntry> {
        self.entries.iter().find(|entry| entry.setting.key == key)
    }

    /// The configured language; `None` follows the locale.
    pub fn lang(&self) -> Option<Lang> {
        self.text("lang").and_then(Lang::from_tag)
    }

    pub fn color(&self) -> ColorChoice {
        match self.text("color") {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            _ => ColorChoice::Auto,
        }
    }

    pub fn catalog_budget_bytes(&self) -> usize {
        usize::try_from(self.integer("catalog.budget_bytes")).unwrap_or(0)
    }

    /// Cells of characters of ambiguous width.
    /// Whether clicks and the wheel are for our screen and not for the terminal.
    pub fn has_mouse(&self) -> bool {
        !matches!(self.get("ui.mouse").map(|entry| &entry.value), Some(Value::Boolean(false)))
    }

    pub fn ambiguous_width(&self) -> usize {
        if self.integer("ui.ambiguous_width") == 2 { 2 } else { 1 }
    }

    /// The roots chosen by `skills.*`.
    pub fn selection(&self) -> Selection {
        let extra = match self.get("skills.extra").map(|entry| &entry.value) {
            Some(Value::Directories(dirs)) => dirs.clone(),
            _ => Vec::new(),
        };
        let text = |key| self.text(key).map(str::to_owned);
        Selection { preset: text("skills.preset"), character: text("skills.character"), extra }
    }

    fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn integer(&self, key: &str) -> i64 {
        match self.get(key).map(|entry| &entry.value) {
            Some(Value::Integer(number)) => *number,
            _ => 0,
        }
    }

    fn put(&mut self, setting: &'static Setting, value: Value, origin: Origin) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.setting.key == setting.key) {
            let value = match (&mut entry.value, value) {
                // Rules of all layers count: who comes later must not lose what who came before forbade.
                (Value::Rules(before), Value::Rules(mut more)) => {
                    let mut all = std::mem::take(before);
                    all.append(&mut more);
                    Value::Rules(all)
                }
                (_, value) => value,
            };
            (entry.value, entry.origin) = (value, origin);
        }
    }

    fn typed(
        &mut self,
        setting: &'static Setting,
        text: &str,
        layer: Layer,
        source: &str,
        places: &Places,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let Some(mut value) = setting.kind.read(text) else {
            diagnostics.push(wrong_value(setting.key, setting.kind, text, source));
            return;
        };
        if let Value::Directories(dirs) = &mut value {
            for dir in dirs {
                *dir = layer::resolve_dir(dir, &places.cwd, places.user_home.as_deref());
            }
        }
        self.put(setting, value, Origin { layer, file: Some(source.to_owned()), line: None });
    }
}

impl std::default::Default for Config {
    fn default() -> Self {
        let built_in = |setting: &'static Setting| ConfigEntry {
            setting,
            value: setting.default_value(),
            origin: Origin { layer: Layer::BuiltIn, file: None, line: None },
        };
        Self {
            entries: SETTINGS.iter().map(built_in).collect(),
            named: Vec::new(),
            rule_problems: Vec::new(),
        }
    }
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// The configuration files of this invocation, lowest layer first. They need not exist.
pub fn files(places: &Places, env: impl Fn(&str) -> Option<OsString>) -> Vec<(Layer, PathBuf)> {
    let xdg = env("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let xdg = xdg.or_else(|| Some(places.user_home.as_ref()?.join(".config")));
    let mut files = Vec::new();
    files.extend(xdg.map(|dir| (Layer::User, dir.join("fugato/config.toml"))));
    files.push((Layer::User, user_file(places)));
    files.push((Layer::Project, places.project_root().join("fugato.toml")));
    files.push((Layer::Local, places.project_root().join("fugato.local.toml")));
    files
}

/// The file `config set` writes by default.
pub fn user_file(places: &Places) -> PathBuf {
    places.home.join("config.toml")
}

/// A wrong value; it is not shown where it may be a key.
fn wrong_value(key: &str, kind: Kind, text: &str, source: &str) -> Diagnostic {
    let (en, zh) = kind.expected();
    let message = if kind.may_be_shown() {
        let text: String = text.chars().take(60).collect();
        let text = fugato_model::escape_for_terminal(&text);
        words!("found `{text}`, expected {en}", "值为 `{text}`，应为{zh}")
    } else {
        words!("expected {en}", "应为{zh}")
    };
    Diagnostic::error(Code::F0403, source, message).field(key)
}

fn unknown_key(key: &str, shown: &str) -> Diagnostic {
    let message = words!("unknown key `{key}`", "未知的配置项 `{key}`");
    let diagnostic = Diagnostic::error(Code::F0402, shown, message).field(key);
    match fugato_model::nearest(key, SETTINGS.iter().map(|setting| setting.key)) {
        Some(near) => diagnostic.hint(words!("did you mean `{near}`?", "是否想写 `{near}`？")),
        None => diagnostic,
    }
}

fn not_writable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let shown = path.to_string_lossy().into_owned();
    let message = words!("`{shown}` cannot be written: {error}", "无法写入 `{shown}`：{error}");
    Diagnostic::error(Code::F0404, shown.clone(), message)
}

#[cfg(test)]
mod tests;
