//! What the settings say about the sandbox and permissions, and what a project's file may not say about them.

use super::kind::Value;
use super::{Config, Layer, Origin, Setting};
use crate::sandbox::{Choice, Door, SandboxSettings};
use fugato_engine::permission::{Mode, Rule, Rules};
use fugato_model::{Code, Diagnostic, Words, words};
use std::path::PathBuf;

impl Config {
    /// What is set about the sandbox.
    pub fn sandbox_settings(&self) -> SandboxSettings {
        let ordinary = SandboxSettings::default();
        let door = |key| match self.get(key).map(|entry| &entry.value) {
            Some(Value::Boolean(true)) => Door::Open,
            _ => Door::Closed,
        };
        let mib = |key| u64::try_from(self.integer(key)).ok().filter(|mib| *mib > 0).map(|mib| mib << 20);
        SandboxSettings {
            backend: match self.text("sandbox.backend") {
                Some("landlock") => Choice::Landlock,
                Some("bubblewrap") => Choice::Bubblewrap,
                Some("none") => Choice::None,
                _ => Choice::Auto,
            },
            network: door("sandbox.network"),
            local_sockets: door("sandbox.local_sockets"),
            writable: self.directories("sandbox.writable"),
            readable: self.directories("sandbox.readable"),
            processes: u64::try_from(self.integer("sandbox.processes")).unwrap_or(ordinary.processes),
            memory_bytes: mib("sandbox.memory_mb"),
            file_bytes: mib("sandbox.file_mb").unwrap_or(ordinary.file_bytes),
        }
    }

    /// The permission rules of all layers. An error when some of them cannot be known: a rule that was meant to forbid
    /// something must not be lost to a slip.
    pub fn permissions(&self) -> Result<Rules, Vec<Diagnostic>> {
        if !self.rule_problems.is_empty() {
            return Err(self.rule_problems.clone());
        }
        let rules = |key| -> Vec<Rule> {
            match self.get(key).map(|entry| &entry.value) {
                // Read as rules before.
                Some(Value::Rules(rules)) => rules.iter().filter_map(|rule| rule.parse().ok()).collect(),
                _ => Vec::new(),
            }
        };
        Ok(Rules {
            mode: self.mode(),
            allow: rules("permissions.allow"),
            ask: rules("permissions.ask"),
            deny: rules("permissions.deny"),
        })
    }

    /// Whether a project's file would take back what the person asked for.
    pub(super) fn would_loosen(&self, setting: &Setting, value: &Value, layer: Layer) -> bool {
        let Value::Text(word) = value else { return false };
        let wanted = Mode::parse(word).unwrap_or_default();
        setting.key == "permissions.mode" && layer.is_of_a_project() && wanted < self.mode()
    }

    fn mode(&self) -> Mode {
        self.text("permissions.mode").and_then(Mode::parse).unwrap_or_default()
    }

    fn directories(&self, key: &str) -> Vec<PathBuf> {
        match self.get(key).map(|entry| &entry.value) {
            Some(Value::Directories(dirs)) => dirs.clone(),
            _ => Vec::new(),
        }
    }
}

/// Why a setting counts only in the person's own file.
pub fn only_yours(key: &str) -> (Code, Words) {
    if key.starts_with("sandbox.") || key.starts_with("permissions.") {
        let why = words!(
            "a file that comes with a project must not give its commands more than you did",
            "随项目而来的文件不能赋予命令超出您许可的权限"
        );
        return (Code::F0406, why);
    }
    let why = words!(
        "a file that comes with a project must not decide what is started, what agents reach or where your keys go",
        "随项目而来的文件不能决定启动什么程序、智能体可访问什么、密钥发往何处"
    );
    (Code::F0405, why)
}

pub(super) fn looser_mode(origin: &Origin) -> Diagnostic {
    let (_, Words { en, zh }) = only_yours("permissions.mode");
    let line = origin.line.unwrap_or_default();
    let message = words!("ignored (line {line}): {en}", "已忽略（第 {line} 行）：{zh}");
    Diagnostic::warning(Code::F0406, origin.file.clone().unwrap_or_default(), message)
        .field("permissions.mode")
}

/// A problem behind which a rule may be hidden: one that does not read, a mode that is none, a file that does not parse.
pub(super) fn hides_rules(found: &Diagnostic) -> bool {
    let of_permissions = found.field.as_ref().is_some_and(|field| field.starts_with("permissions"));
    found.is_error() && (of_permissions || found.code == Code::F0401)
}
