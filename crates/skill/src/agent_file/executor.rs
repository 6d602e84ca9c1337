//! `executor` and `command`: who or what does the work. An executor that cannot be read makes the agent unusable:
//! work meant for a person must not be done by a model because of a slip of the pen.

use crate::fields::Fields;
use crate::problems::shorten;
use crate::yaml::{Entry, Node, Resolved};
use fugato_model::{Code, words};

/// What does the work of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Executor {
    #[default]
    Model,
    /// A program that gets the task on its standard input and answers on its standard output.
    Script { command: Vec<String> },
    /// Claude Code as a child process.
    Claude,
    /// Codex as a child process.
    Codex,
    /// A person, through a question.
    Human,
}

const NAMES: [&str; 5] = ["model", "script", "host:claude", "host:codex", "human"];

impl Executor {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Script { .. } => "script",
            Self::Claude => "host:claude",
            Self::Codex => "host:codex",
            Self::Human => "human",
        }
    }

    pub(super) const fn needs_prompt(&self) -> bool {
        matches!(self, Self::Model | Self::Claude | Self::Codex)
    }
}

/// `None`: nothing could do the work.
pub(super) fn read(
    fields: &mut Fields<'_>,
    entry: Option<&Entry>,
    command: Option<&Entry>,
) -> Option<Executor> {
    let argv = command.and_then(|entry| argv(fields, entry));
    let Some(entry) = entry.filter(|entry| !entry.value.is_null()) else {
        unused(fields, command);
        return Some(Executor::Model);
    };
    let Some(text) = fields.text("executor", entry) else {
        return unknown(fields, entry, "");
    };
    let executor = match text.as_str() {
        "script" => return script(fields, entry, argv),
        "model" => Executor::Model,
        "host:claude" => Executor::Claude,
        "host:codex" => Executor::Codex,
        "human" => Executor::Human,
        other => return unknown(fields, entry, other),
    };
    unused(fields, command);
    Some(executor)
}

fn script(fields: &mut Fields<'_>, entry: &Entry, command: Option<Vec<String>>) -> Option<Executor> {
    if let Some(command) = command.filter(|command| !command.is_empty()) {
        return Some(Executor::Script { command });
    }
    let message = words!(
        "`executor: script` needs `command`: what to start",
        "`executor: script` 需要 `command`：要启动的程序"
    );
    let diagnostic = fields.error(Code::F1103, "executor", entry, message);
    fields.diagnostics.push(
        diagnostic.hint(words!("command: [python3, tools/work.py]", "command: [python3, tools/work.py]")),
    );
    None
}

fn unknown(fields: &mut Fields<'_>, entry: &Entry, text: &str) -> Option<Executor> {
    let (shown, expected) = (shorten(text), NAMES.join(", "));
    let message =
        words!("unknown executor `{shown}`; expected {expected}", "未知的执行者 `{shown}`；应为 {expected}");
    let diagnostic = fields.error(Code::F1103, "executor", entry, message);
    let meant = fugato_model::nearest(text, NAMES).unwrap_or("model");
    fields.diagnostics.push(diagnostic.hint(words!("executor: {meant}", "executor: {meant}")));
    None
}

/// A list of words, or one line for the shell.
fn argv(fields: &mut Fields<'_>, entry: &Entry) -> Option<Vec<String>> {
    match entry.value.resolve() {
        Resolved::Null => None,
        Resolved::Mapping => {
            fields.wrong_type(
                "command",
                entry,
                &words!("a list of words, or a line", "词的列表，或一行命令"),
            );
            None
        }
        Resolved::Sequence => {
            let items = entry.value.items().unwrap_or_default();
            let words: Vec<String> = items.iter().filter_map(Node::text).map(str::to_owned).collect();
            if words.len() == items.len() && words.first().is_some_and(|program| !program.trim().is_empty()) {
                return Some(words);
            }
            fields.wrong_type(
                "command",
                entry,
                &words!("a list of words, or a line", "词的列表，或一行命令"),
            );
            None
        }
        _ => {
            let line = fields.text("command", entry)?;
            Some(vec!["sh".to_owned(), "-c".to_owned(), line])
        }
    }
}

fn unused(fields: &mut Fields<'_>, command: Option<&Entry>) {
    let Some(entry) = command.filter(|entry| !entry.value.is_null()) else { return };
    let message = words!(
        "`command` is used by `executor: script` only; it is passed over",
        "`command` 只用于 `executor: script`，已忽略"
    );
    let diagnostic = fields.warning(Code::F1103, "command", entry, message);
    fields.diagnostics.push(diagnostic.hint(words!("executor: script", "executor: script")));
}
