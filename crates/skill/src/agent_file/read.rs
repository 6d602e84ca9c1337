//! From the bytes of an agent file to what it says: the lenient reading that loading uses, and the strict check.

use super::tools;
use super::{AgentFile, AgentReading, AgentText, MAX_BYTES, MAX_STEPS, executor, keys, name, permission};
use crate::fields::{Fields, cut_at_commas};
use crate::yaml::{Entry, Node, Resolved};
use crate::{SkillText, Strictness, description, document, problems};
use fugato_model::{Code, Diagnostic, Severity, words};

/// Reads an agent file. Not usable only without parseable frontmatter, a name, a description or something to do the
/// work; everything else is a diagnostic of an agent that loads.
pub fn read(text: AgentText<'_>) -> AgentReading {
    if text.bytes.len() > MAX_BYTES {
        return broken(too_large(text.path, text.bytes.len()));
    }
    let file = SkillText { dir_name: text.stem, path: text.path, bytes: text.bytes };
    let document = match document::open(file) {
        Ok(document) => document,
        Err(found) => return broken(found.diagnostic),
    };
    let mut fields = Fields { path: text.path, source: document.source, diagnostics: document.diagnostics };
    let root = &document.root;
    let mut agent = AgentFile::default();
    name::read(&mut fields, root.entry("name"), text.stem, &mut agent);
    let described = description::read(&mut fields, root.entry("description"));
    for entry in root.entries().unwrap_or_default() {
        read_field(&mut fields, &mut agent, entry, text.known_tools);
    }
    tools::settle(&mut agent);
    agent.steps = steps(&mut fields, root);
    let executor = executor::read(&mut fields, root.entry("executor"), root.entry("command"));
    keys::report_unknown(&mut fields, root, &mut agent);
    agent.prompt = document.source.get(document.body_start..).unwrap_or_default().trim().to_owned();
    let usable = agent.name.is_some() && described.is_some() && executor.is_some();
    agent.description = described.unwrap_or_default();
    agent.executor = executor.unwrap_or_default();
    if agent.prompt.is_empty() && agent.executor.needs_prompt() {
        fields.diagnostics.push(no_prompt(&fields, document.source.len()));
    }
    AgentReading { agent, diagnostics: fields.diagnostics, usable }
}

/// Everything to say about an agent file. Strict: what is forgiven at loading is an error, and so is what only fugato reads.
pub fn check(text: AgentText<'_>, strictness: Strictness) -> Vec<Diagnostic> {
    let mut diagnostics = read(text).diagnostics;
    if strictness == Strictness::Lenient {
        return diagnostics;
    }
    for diagnostic in &mut diagnostics {
        diagnostic.severity = Severity::Error;
    }
    let file = SkillText { dir_name: text.stem, path: text.path, bytes: text.bytes };
    let Ok(document) = document::open(file) else { return diagnostics };
    for entry in keys::OURS.iter().filter_map(|key| document.root.entry(key)) {
        let key = entry.name();
        let message = words!(
            "field `{key}` is read by fugato only; other programs pass over it",
            "字段 `{key}` 只有 fugato 会读取，其他程序会忽略它"
        );
        diagnostics.push(
            Diagnostic::error(Code::F0124, text.path, message)
                .field(key)
                .at(document.source, entry.key.start, entry.key.end)
                .hint(portable_hint(key)),
        );
    }
    diagnostics
}

fn portable_hint(key: &str) -> fugato_model::Words {
    match key {
        "steps" => words!("write `maxTurns:` instead", "改写为 `maxTurns:`"),
        _ => words!("leave it out for an agent that a model does", "若由模型执行，请去掉该字段"),
    }
}

fn broken(diagnostic: Diagnostic) -> AgentReading {
    AgentReading { diagnostics: vec![diagnostic], ..AgentReading::default() }
}

fn too_large(path: &str, found: usize) -> Diagnostic {
    let (found, limit) = (found / 1024, MAX_BYTES / 1024);
    Diagnostic::error(
        Code::F0122,
        path,
        words!(
            "the agent file has {found} KiB (limit {limit} KiB)",
            "代理文件有 {found} KiB（上限 {limit} KiB）"
        ),
    )
    .hint(words!(
        "move long material into a skill and name it in `skills:`",
        "把较长的内容移到技能里，并在 `skills:` 中写上它的名称"
    ))
}

fn no_prompt(fields: &Fields<'_>, end: usize) -> Diagnostic {
    let message = words!(
        "there is no text below the frontmatter: the agent gets no instructions of its own",
        "frontmatter 之下没有正文：代理没有自己的指令"
    );
    Diagnostic::warning(Code::F1104, fields.path, message).at(fields.source, end, end).hint(words!(
        "write below `---` who the agent is, how it works and what it gives back",
        "在 `---` 之下写明代理的角色、做法和要交回的结果"
    ))
}

fn read_field(fields: &mut Fields<'_>, agent: &mut AgentFile, entry: &Entry, known_tools: &[&str]) {
    match entry.name() {
        "tools" => agent.tools = tools::granted(fields, entry, known_tools),
        "disallowedTools" => {
            agent.disallowed = tools::read(fields, "disallowedTools", entry, known_tools).unwrap_or_default();
        }
        "model" => agent.model = model(fields, entry),
        "skills" => agent.skills = names(fields, "skills", entry),
        "mcpServers" => agent.mcp_servers = servers(fields, entry),
        "permissionMode" => agent.permission = permission::read(fields, entry),
        _ => {}
    }
}

/// `inherit` is how Claude Code says nothing.
fn model(fields: &mut Fields<'_>, entry: &Entry) -> Option<String> {
    let text = fields.text("model", entry)?;
    if text == "inherit" {
        return None;
    }
    if text.chars().count() > MAX_MODEL_CHARS
        || text.chars().any(|c| c.is_whitespace() || fugato_model::is_hidden(c))
    {
        fields.wrong_type("model", entry, &words!("the name of a model", "模型名称"));
        return None;
    }
    Some(text)
}

/// The longest names of models have some sixty characters.
const MAX_MODEL_CHARS: usize = 200;

fn names(fields: &mut Fields<'_>, field: &str, entry: &Entry) -> Option<Vec<String>> {
    if entry.value.is_null() || entry.value.resolve() == Resolved::Mapping {
        if !entry.value.is_null() {
            fields.wrong_type(field, entry, &words!("a list or text", "列表或文本"));
        }
        return None;
    }
    Some(fields.list(field, entry, cut_at_commas))
}

/// Names, or maps of a name to a definition. A definition is not taken from a file: it would start a program.
fn servers(fields: &mut Fields<'_>, entry: &Entry) -> Option<Vec<String>> {
    let mut servers = Vec::new();
    let mut defined = false;
    match entry.value.resolve() {
        Resolved::Null => return None,
        Resolved::Mapping => {
            defined = true;
            servers.extend(keys_of(&entry.value));
        }
        Resolved::Sequence => {
            for item in entry.value.items().unwrap_or_default() {
                match item.text() {
                    Some(text) => servers.push(text.trim().to_owned()),
                    None => {
                        defined = true;
                        servers.extend(keys_of(item));
                    }
                }
            }
        }
        _ => servers = fields.list("mcpServers", entry, cut_at_commas),
    }
    servers.retain(|name| !name.is_empty());
    if defined {
        let message = words!(
            "servers are not started from an agent file; the names are read, the definitions are not",
            "不会从代理文件启动服务器；只读取名称，不采用其定义"
        );
        let diagnostic = fields.warning(Code::F1105, "mcpServers", entry, message);
        fields.diagnostics.push(diagnostic.hint(words!(
            "define the server in the settings and list its name here",
            "请在设置中定义服务器，这里只写名称"
        )));
    }
    Some(servers)
}

fn keys_of(node: &Node) -> Vec<String> {
    node.entries().unwrap_or_default().iter().map(|entry| entry.name().trim().to_owned()).collect()
}

/// `steps`, or Claude Code's `maxTurns`.
fn steps(fields: &mut Fields<'_>, root: &Node) -> Option<u32> {
    let turns = root.entry("maxTurns").and_then(|entry| count(fields, "maxTurns", entry));
    let steps = root.entry("steps").and_then(|entry| count(fields, "steps", entry));
    if let (Some(turns), Some(steps), Some(entry)) = (turns, steps, root.entry("maxTurns"))
        && turns != steps
    {
        let message = words!(
            "`steps` is {steps} and `maxTurns` is {turns}; `steps` counts",
            "`steps` 为 {steps}，`maxTurns` 为 {turns}；以 `steps` 为准"
        );
        let diagnostic = fields.warning(Code::F0118, "maxTurns", entry, message);
        fields.diagnostics.push(diagnostic.hint(words!("delete one of the two", "删除其中一个")));
    }
    steps.or(turns)
}

fn count(fields: &mut Fields<'_>, field: &str, entry: &Entry) -> Option<u32> {
    if entry.value.is_null() {
        return None;
    }
    // `"20"` in quotes is meant as the number.
    let number = entry.value.as_i64().or_else(|| entry.value.text()?.trim().parse().ok());
    let Some(number) = number.filter(|number| *number >= 1) else {
        fields.wrong_type(
            field,
            entry,
            &words!("a whole number from 1 to {MAX_STEPS}", "1 到 {MAX_STEPS} 的整数"),
        );
        return None;
    };
    if number > i64::from(MAX_STEPS) {
        let message = words!(
            "`{field}` is {number}; no agent gets more than {MAX_STEPS}",
            "`{field}` 为 {number}；代理最多 {MAX_STEPS} 步"
        );
        let shown = problems::shorten(entry.value.text().unwrap_or_default());
        let diagnostic = fields.warning(Code::F0118, field, entry, message);
        fields.diagnostics.push(diagnostic.hint(words!(
            "{field}: {MAX_STEPS}  (instead of {shown})",
            "{field}: {MAX_STEPS}（而不是 {shown}）"
        )));
    }
    Some(u32::try_from(number).unwrap_or(MAX_STEPS).min(MAX_STEPS))
}
