//! The fields that exist in agent files, and what to say about those that do not.

use super::AgentFile;
use crate::fields::Fields;
use crate::limits::REPORTED_KEYS;
use crate::phases::to_json;
use crate::problems::{self, offset};
use crate::yaml::{Entry, Node};
use fugato_model::{Code, Diagnostic, Fix, words};

/// Read here and by Claude Code.
const READ: [&str; 9] = [
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "maxTurns",
    "skills",
    "mcpServers",
    "permissionMode",
];

/// Read here only.
pub(super) const OURS: [&str; 3] = ["executor", "command", "steps"];

/// Fields other programs act on: kept, and passed over in silence.
const ELSEWHERE: [&str; 12] = [
    "color",
    "hooks",
    "memory",
    "background",
    "effort",
    "isolation",
    "initialPrompt",
    "version",
    "author",
    "license",
    "tags",
    "metadata",
];

/// Names people give to fields that are called otherwise.
const MEANT: [(&str, &str); 8] = [
    ("allowed-tools", "tools"),
    ("allowed_tools", "tools"),
    ("allowedTools", "tools"),
    ("disallowed-tools", "disallowedTools"),
    ("max_turns", "maxTurns"),
    ("max-turns", "maxTurns"),
    ("mcp_servers", "mcpServers"),
    ("permission-mode", "permissionMode"),
];

/// What a text under `prompt:` and the like should have been.
const BODY: [&str; 5] = ["prompt", "system", "systemPrompt", "system_prompt", "instructions"];

pub(super) fn report_unknown(fields: &mut Fields<'_>, root: &Node, agent: &mut AgentFile) {
    let entries = root.entries().unwrap_or_default();
    let mut reported = 0usize;
    for entry in entries.iter().filter(|entry| !READ.contains(&entry.name()) && !OURS.contains(&entry.name()))
    {
        agent.others.insert(entry.name().to_owned(), to_json(&entry.value));
        if ELSEWHERE.contains(&entry.name()) {
            continue;
        }
        reported += 1;
        if reported <= REPORTED_KEYS {
            let diagnostic = unknown(fields, entry, root);
            fields.diagnostics.push(diagnostic);
        }
    }
    if let Some(more) = reported.checked_sub(REPORTED_KEYS).filter(|more| *more > 0) {
        let message = words!("{more} more unknown keys", "还有 {more} 个未知的键");
        fields.diagnostics.push(Diagnostic::warning(Code::F0117, fields.path, message));
    }
}

fn unknown(fields: &Fields<'_>, entry: &Entry, root: &Node) -> Diagnostic {
    let key = entry.name();
    let shown = problems::shorten(key);
    let diagnostic =
        Diagnostic::warning(Code::F0117, fields.path, words!("unknown key `{shown}`", "未知的键 `{shown}`"))
            .field(key)
            .at(fields.source, entry.key.start, entry.key.end);
    if BODY.contains(&key) {
        return diagnostic
            .hint(words!("write the instructions below the closing `---`", "请把指令写在结尾的 `---` 之下"));
    }
    let known = READ.into_iter().chain(OURS).chain(ELSEWHERE);
    let synonym = MEANT.iter().find(|(written, _)| *written == key).map(|(_, meant)| *meant);
    let meant =
        synonym.or_else(|| fugato_model::nearest(key, known)).filter(|meant| root.entry(meant).is_none());
    let Some(meant) = meant else {
        return diagnostic
            .hint(words!("put fields of your own under `metadata:`", "自定义字段请放在 `metadata:` 之下"));
    };
    let diagnostic = diagnostic.hint(words!("did you mean `{meant}`?", "是不是 `{meant}`？"));
    if synonym.is_none() && strsim::osa_distance(&key.to_lowercase(), &meant.to_lowercase()) > 2 {
        return diagnostic;
    }
    let (start, end) = (offset(entry.key.start), offset(entry.key.end));
    diagnostic.fix(Fix { start, end, replacement: meant.to_owned() })
}
