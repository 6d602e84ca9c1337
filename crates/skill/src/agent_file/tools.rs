//! `tools` and `disallowedTools`: names of this program and of Claude Code, patterns, and rules such as `Bash(git:*)`.

use super::AgentFile;
use crate::fields::{Fields, cut_tools};
use crate::limits::REPORTED_KEYS;
use crate::problems::{offset, shorten};
use crate::yaml::{Entry, Resolved};
use fugato_model::{Code, Diagnostic, Fix, words};

/// A list of tools, in this program's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    /// A `*` at the end stands for any rest.
    pub names: Vec<String>,
    /// Parts of a tool, as written: `Bash(git:*)`.
    pub rules: Vec<String>,
    /// Tools of other programs that have no counterpart here. Passed over.
    pub elsewhere: Vec<String>,
}

/// Tools of Claude Code by what does the same here. Nothing: no counterpart.
const CLAUDE_TOOLS: &[(&str, &[&str])] = &[
    ("MultiEdit", &["Edit"]),
    ("LS", &["Glob"]),
    ("NotebookRead", &["Read"]),
    ("Task", &["Agent"]),
    ("AskUserQuestion", &["ask_user"]),
    ("Skill", &["skill_list", "skill_read", "skill_search"]),
    ("NotebookEdit", &[]),
    ("TodoWrite", &[]),
    ("TodoRead", &[]),
    ("BashOutput", &[]),
    ("KillShell", &[]),
    ("KillBash", &[]),
    ("ExitPlanMode", &[]),
    ("EnterPlanMode", &[]),
    ("SlashCommand", &[]),
    ("ListMcpResourcesTool", &[]),
    ("ReadMcpResourceTool", &[]),
    ("TaskCreate", &[]),
    ("TaskGet", &[]),
    ("TaskList", &[]),
    ("TaskUpdate", &[]),
    ("TaskOutput", &[]),
    ("TaskStop", &[]),
    ("ToolSearch", &[]),
    ("LSP", &[]),
    ("EnterWorktree", &[]),
    ("ExitWorktree", &[]),
    ("TeamCreate", &[]),
    ("TeamDelete", &[]),
];

/// Tools of agents that are decided by the engine and performed by nobody.
const ENGINE_TOOLS: [&str; 4] = ["Agent", "SendMessage", "ask_user", "submit_result"];

/// More names than this are a mistake; the rest is left out.
const MAX_TOOLS: usize = 256;

/// `tools`: `None` means all that the parent has.
pub(super) fn granted(fields: &mut Fields<'_>, entry: &Entry, known: &[&str]) -> Option<Tools> {
    if entry.value.is_null() {
        let message = words!(
            "`tools` is empty: the agent gets every tool of its parent",
            "`tools` 为空：代理会得到上级的全部工具"
        );
        let diagnostic = fields.warning(Code::F0118, "tools", entry, message);
        fields.diagnostics.push(diagnostic.hint(words!(
            "tools: []  (for none), or delete the line",
            "不给工具请写 tools: []，否则删掉这一行"
        )));
        return None;
    }
    // A list that cannot be read grants nothing: guessing would hand out tools.
    Some(read(fields, "tools", entry, known).unwrap_or_default())
}

pub(super) fn read(fields: &mut Fields<'_>, field: &str, entry: &Entry, known: &[&str]) -> Option<Tools> {
    let items = items(fields, field, entry)?;
    let mut list = Reader { field, known, tools: Tools::default(), reported: 0 };
    for item in items.iter().take(MAX_TOOLS) {
        list.take(fields, item);
    }
    if items.len() > MAX_TOOLS {
        let more = items.len() - MAX_TOOLS;
        let message = words!(
            "`{field}` has more than {MAX_TOOLS} entries; {more} are left out",
            "`{field}` 超过 {MAX_TOOLS} 项；其余 {more} 项被忽略"
        );
        let diagnostic = fields.warning(Code::F1101, field, entry, message);
        fields.diagnostics.push(diagnostic);
    }
    Some(list.tools)
}

/// `*` is everything; a rule beside the whole tool says nothing.
pub(super) fn settle(agent: &mut AgentFile) {
    if let Some(tools) = &mut agent.tools {
        if tools.names.iter().any(|name| name == "*") {
            agent.tools = None;
        } else {
            let names = std::mem::take(&mut tools.names);
            tools.rules.retain(|rule| !names.iter().any(|name| name == tool_of(rule)));
            // A part of a tool is still that tool, held to the part.
            let parts: Vec<String> = tools.rules.iter().map(|rule| tool_of(rule).to_owned()).collect();
            tools.names = names;
            for part in parts {
                push(&mut tools.names, &part);
            }
        }
    }
    // Forbidding a part leaves the rest of the tool; forbidding the tool makes the part moot.
    let disallowed = &mut agent.disallowed;
    let names = &disallowed.names;
    disallowed.rules.retain(|rule| !names.iter().any(|name| name == tool_of(rule)));
}

fn tool_of(rule: &str) -> &str {
    rule.split_once('(').map_or(rule, |(tool, _)| tool)
}

/// One entry and where it stands.
struct Item {
    text: String,
    start: usize,
    end: usize,
}

fn items(fields: &mut Fields<'_>, field: &str, entry: &Entry) -> Option<Vec<Item>> {
    match entry.value.resolve() {
        Resolved::Null => None,
        Resolved::Mapping => {
            fields.wrong_type(field, entry, &words!("a list or text", "列表或文本"));
            None
        }
        Resolved::Sequence => {
            let list = entry.value.items().unwrap_or_default();
            if list.iter().any(|item| item.text().is_none()) {
                fields.wrong_type(field, entry, &words!("a list of texts", "由文本组成的列表"));
            }
            let texts = list.iter().filter_map(|item| {
                let text = item.text()?.trim().to_owned();
                (!text.is_empty()).then_some(Item { text, start: item.start, end: item.end })
            });
            Some(texts.collect())
        }
        _ => {
            // Positions are found again in the source, in order; a text with escapes points at the whole value.
            let whole = fields.source.get(entry.value.start..entry.value.end).unwrap_or_default();
            let mut from = 0;
            let cut = cut_tools(entry.value.text().unwrap_or_default()).into_iter().map(|text| {
                match whole.get(from..).and_then(|rest| rest.find(&text)) {
                    Some(at) => {
                        let start = entry.value.start + from + at;
                        from += at + text.len();
                        Item { end: start + text.len(), start, text }
                    }
                    None => Item { text, start: entry.value.start, end: entry.value.end },
                }
            });
            Some(cut.collect())
        }
    }
}

struct Reader<'a> {
    field: &'a str,
    known: &'a [&'a str],
    tools: Tools,
    reported: usize,
}

impl Reader<'_> {
    fn take(&mut self, fields: &mut Fields<'_>, item: &Item) {
        let text = item.text.as_str();
        let (name, rest) = match text.split_once('(') {
            Some((name, rest)) => (name.trim_end(), Some(rest)),
            None => (text, None),
        };
        match rest {
            Some(rest) if !rest.ends_with(')') || name.is_empty() => self.unclosed(fields, item),
            // `Bash(*)` and `Bash()` are the tool.
            Some("*)" | ")") | None => self.whole(fields, item, name),
            Some(rest) => {
                for tool in self.resolve(fields, item, name) {
                    push(&mut self.tools.rules, &format!("{tool}({rest}"));
                }
            }
        }
    }

    fn whole(&mut self, fields: &mut Fields<'_>, item: &Item, name: &str) {
        for tool in self.resolve(fields, item, name) {
            push(&mut self.tools.names, &tool);
        }
    }

    /// The names here that the text stands for; none when it stands for nothing.
    fn resolve(&mut self, fields: &mut Fields<'_>, item: &Item, name: &str) -> Vec<String> {
        if name == "*" || self.is_known(name) {
            return vec![name.to_owned()];
        }
        if let Some(server) = name.strip_prefix("mcp__") {
            return vec![if server.contains("__") { server.to_owned() } else { format!("{server}__*") }];
        }
        // Tools of servers are known only once the server runs.
        if name.contains("__") {
            return vec![name.to_owned()];
        }
        if let Some((_, here)) = CLAUDE_TOOLS.iter().find(|(claude, _)| *claude == name) {
            if here.is_empty() {
                push(&mut self.tools.elsewhere, name);
            }
            return here.iter().map(|tool| (*tool).to_owned()).collect();
        }
        if let Some(prefix) = name.strip_suffix('*')
            && self.known.iter().any(|tool| tool.starts_with(prefix))
        {
            return vec![name.to_owned()];
        }
        let other_case = self.every().find(|tool| tool.eq_ignore_ascii_case(name)).map(str::to_owned);
        self.unknown(fields, item, name, other_case.as_deref());
        other_case.map(|tool| self.resolve(fields, item, &tool)).unwrap_or_default()
    }

    fn is_known(&self, name: &str) -> bool {
        self.known.contains(&name) || ENGINE_TOOLS.contains(&name)
    }

    fn every(&self) -> impl Iterator<Item = &str> {
        let claude = CLAUDE_TOOLS.iter().map(|(name, _)| *name);
        self.known.iter().copied().chain(ENGINE_TOOLS).chain(claude)
    }

    fn unknown(&mut self, fields: &mut Fields<'_>, item: &Item, name: &str, other_case: Option<&str>) {
        self.reported += 1;
        if self.reported > REPORTED_KEYS {
            return;
        }
        let shown = shorten(name);
        let nearest = other_case.or_else(|| fugato_model::nearest(name, self.every()));
        let message = match other_case {
            Some(tool) => words!(
                "tool `{shown}` is written `{tool}`; it was read so",
                "工具 `{shown}` 应写作 `{tool}`，已按此读取"
            ),
            None => words!("unknown tool `{shown}`; it is left out", "未知的工具 `{shown}`，已忽略"),
        };
        let mut diagnostic = Diagnostic::warning(Code::F1101, fields.path, message).field(self.field).at(
            fields.source,
            item.start,
            item.end,
        );
        diagnostic = match nearest {
            Some(tool) => diagnostic.hint(words!("did you mean `{tool}`?", "是不是 `{tool}`？")),
            None => diagnostic.hint(words!(
                "`fugato agents show general-purpose` lists the tools that are here",
                "`fugato agents show general-purpose` 会列出这里的工具"
            )),
        };
        let is_plain = fields.source.get(item.start..item.end) == Some(name);
        if let Some(tool) = other_case.filter(|_| is_plain) {
            let (start, end) = (offset(item.start), offset(item.end));
            diagnostic = diagnostic.fix(Fix { start, end, replacement: tool.to_owned() });
        }
        fields.diagnostics.push(diagnostic);
    }

    fn unclosed(&mut self, fields: &mut Fields<'_>, item: &Item) {
        self.reported += 1;
        if self.reported > REPORTED_KEYS {
            return;
        }
        let shown = shorten(&item.text);
        let message = words!(
            "`{shown}` is no rule: expected `Tool(pattern)`; it is left out",
            "`{shown}` 不是规则：应为 `工具(模式)`；已忽略"
        );
        fields.diagnostics.push(
            Diagnostic::warning(Code::F1101, fields.path, message)
                .field(self.field)
                .at(fields.source, item.start, item.end)
                .hint(words!("Bash(git status:*)", "Bash(git status:*)")),
        );
    }
}

fn push(list: &mut Vec<String>, text: &str) {
    if !list.iter().any(|known| known == text) {
        list.push(text.to_owned());
    }
}
