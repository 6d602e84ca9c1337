//! Reads the rules of a script, with the place of everything that is wrong.

use super::LONGEST_DELAY;
use fugato_model::chat::{StopReason, Usage};
use fugato_model::{Code, Diagnostic, Lang, Words, nearest, words};
use fugato_skill::yaml::{self, Entry, Node, NodeKind, Resolved};
use serde_json::Value;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Larger files are not written by hand.
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Debug)]
pub(in super::super) struct Script {
    pub path: String,
    pub(super) rules: Vec<Rule>,
}

#[derive(Debug, Default)]
pub(super) struct Rule {
    pub when: When,
    pub reply: Reply,
    pub delay: Duration,
    pub fault: Option<Fault>,
    pub retry_after: Option<Duration>,
    pub times: Option<u32>,
    pub used: AtomicU32,
}

/// What a request must look like. What is not said fits everything.
#[derive(Debug, Default)]
pub(super) struct When {
    pub agent: Option<String>,
    pub skill: Option<String>,
    pub step: Option<u32>,
    pub attempt: Option<u32>,
    /// Inside the last message.
    pub text: Option<String>,
    /// Inside the first message.
    pub task: Option<String>,
    /// The last message answers a call of this tool.
    pub tool_result: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Reply {
    pub text: String,
    pub reasoning: String,
    pub tools: Vec<(String, Value)>,
    pub usage: Usage,
    pub stop: Option<StopReason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Status(u16),
    Cut,
    Malformed,
}

/// Why a script cannot be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct ScriptError(pub Diagnostic);

impl ScriptError {
    pub(super) fn unreadable(path: &str, why: &str) -> Box<Self> {
        let message = words!("the script cannot be read: {why}", "无法读取脚本：{why}");
        Box::new(Self(Diagnostic::error(Code::F0601, path, message)))
    }

    /// One line with the place, in both languages.
    pub fn words(&self) -> Words {
        Words { en: self.0.one_line(Lang::En), zh: self.0.one_line(Lang::Zh) }
    }
}

type Read<T> = Result<T, Box<ScriptError>>;

/// The file being read, for places.
struct Source<'a> {
    path: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn wrong<T>(&self, (start, end): (usize, usize), message: Words) -> Read<T> {
        Err(Box::new(ScriptError(
            Diagnostic::error(Code::F0601, self.path, message).at(self.text, start, end),
        )))
    }

    fn expected<T>(&self, entry: &Entry, what: &str, zh: &str) -> Read<T> {
        let name = entry.name();
        self.wrong(entry.value_span(), words!("`{name}` must be {what}", "`{name}` 必须是{zh}"))
    }

    fn unknown<T>(&self, entry: &Entry, known: &[&str]) -> Read<T> {
        let name = entry.name();
        let list = known.join(", ");
        let hint =
            nearest(name, known.iter().copied()).map_or_else(String::new, |near| format!(" (`{near}`?)"));
        self.wrong(
            (entry.key.start, entry.key.end),
            words!("unknown key `{name}`{hint}; known: {list}", "未知的键 `{name}`{hint}；可用：{list}"),
        )
    }

    fn text(&self, entry: &Entry) -> Read<String> {
        match entry.value.text() {
            Some(text) if !entry.value.is_null() => Ok(text.to_owned()),
            _ => self.expected(entry, "text", "文本"),
        }
    }

    fn number(&self, entry: &Entry) -> Read<u32> {
        match entry.value.as_i64().and_then(|number| u32::try_from(number).ok()) {
            Some(number) => Ok(number),
            None => self.expected(entry, "a whole number from 0", "不小于 0 的整数"),
        }
    }

    fn entries<'n>(&self, node: &'n Node) -> Read<&'n [Entry]> {
        match node.entries() {
            Some(entries) => Ok(entries),
            None => self.wrong((node.start, node.end), words!("expected a mapping", "此处应为映射")),
        }
    }

    fn items<'n>(&self, node: &'n Node) -> Read<&'n [Node]> {
        match node.items() {
            Some(items) => Ok(items),
            None => {
                self.wrong((node.start, node.end), words!("expected a list of rules", "此处应为规则列表"))
            }
        }
    }
}

impl Script {
    pub(super) fn parse(path: &str, text: &str) -> Read<Self> {
        if text.len() > MOST_BYTES {
            return Err(ScriptError::unreadable(path, &format!("{} > {MOST_BYTES} bytes", text.len())));
        }
        let source = Source { path, text };
        let root = match yaml::parse(text, 0) {
            Ok(root) => root,
            Err(error) => {
                let problem = match error.problem {
                    yaml::Problem::Syntax(words) => words,
                    other => format!("{other:?}"),
                };
                return source.wrong(
                    (error.start, error.end),
                    words!("YAML does not parse: {problem}", "YAML 无法解析：{problem}"),
                );
            }
        };
        let list = root.get("rules").unwrap_or(&root);
        let rules = source.items(list)?.iter().map(|node| rule(&source, node)).collect::<Read<Vec<_>>>()?;
        Ok(Self { path: path.to_owned(), rules })
    }
}

const RULE_KEYS: &[&str] =
    &["when", "reply", "reasoning", "tools", "usage", "stop", "delay_ms", "fault", "retry_after", "times"];

fn rule(source: &Source<'_>, node: &Node) -> Read<Rule> {
    let mut rule = Rule::default();
    for entry in source.entries(node)? {
        match entry.name() {
            "when" => rule.when = when(source, &entry.value)?,
            "reply" => rule.reply.text = source.text(entry)?,
            "reasoning" => rule.reply.reasoning = source.text(entry)?,
            "tools" => {
                let calls = source.items(&entry.value)?.iter().map(|node| tool(source, node));
                rule.reply.tools = calls.collect::<Read<_>>()?;
            }
            "usage" => rule.reply.usage = usage(source, &entry.value)?,
            "stop" => rule.reply.stop = Some(stop(source, entry)?),
            "delay_ms" => {
                rule.delay = Duration::from_millis(source.number(entry)?.into()).min(LONGEST_DELAY);
            }
            "fault" => rule.fault = Some(fault(source, entry)?),
            "retry_after" => rule.retry_after = Some(Duration::from_secs(source.number(entry)?.into())),
            "times" => rule.times = Some(source.number(entry)?),
            _ => return source.unknown(entry, RULE_KEYS),
        }
    }
    let says = rule.fault.is_some()
        || ["reply", "tools", "reasoning", "stop"].iter().any(|key| node.entry(key).is_some());
    if !says {
        return source.wrong(
            (node.start, node.end),
            words!(
                "the rule says nothing: it needs `reply`, `tools` or `fault`",
                "规则没有内容：需要 `reply`、`tools` 或 `fault`"
            ),
        );
    }
    Ok(rule)
}

fn when(source: &Source<'_>, node: &Node) -> Read<When> {
    let mut when = When::default();
    for entry in source.entries(node)? {
        match entry.name() {
            "agent" => when.agent = Some(source.text(entry)?),
            "skill" => when.skill = Some(source.text(entry)?),
            "step" => when.step = Some(source.number(entry)?),
            "attempt" => when.attempt = Some(source.number(entry)?),
            "text" => when.text = Some(source.text(entry)?),
            "task" => when.task = Some(source.text(entry)?),
            "tool_result" => when.tool_result = Some(source.text(entry)?),
            _ => {
                return source
                    .unknown(entry, &["agent", "skill", "step", "attempt", "text", "task", "tool_result"]);
            }
        }
    }
    Ok(when)
}

fn tool(source: &Source<'_>, node: &Node) -> Read<(String, Value)> {
    let (mut name, mut arguments) = (String::new(), Value::Object(serde_json::Map::new()));
    for entry in source.entries(node)? {
        match entry.name() {
            "name" => name = source.text(entry)?,
            "arguments" if entry.value.entries().is_some() => arguments = value(&entry.value),
            "arguments" => return source.expected(entry, "a mapping", "映射"),
            _ => return source.unknown(entry, &["name", "arguments"]),
        }
    }
    if name.is_empty() {
        return source.wrong((node.start, node.end), words!("the tool has no `name`", "工具缺少 `name`"));
    }
    Ok((name, arguments))
}

fn usage(source: &Source<'_>, node: &Node) -> Read<Usage> {
    let mut usage = Usage::default();
    for entry in source.entries(node)? {
        let slot = match entry.name() {
            "input" | "input_tokens" => &mut usage.input_tokens,
            "output" | "output_tokens" => &mut usage.output_tokens,
            "cache_read" | "cache_read_tokens" => &mut usage.cache_read_tokens,
            "cache_write" | "cache_write_tokens" => &mut usage.cache_write_tokens,
            _ => return source.unknown(entry, &["input", "output", "cache_read", "cache_write"]),
        };
        *slot = Some(source.number(entry)?.into());
    }
    Ok(usage)
}

fn stop(source: &Source<'_>, entry: &Entry) -> Read<StopReason> {
    match entry.value.text() {
        Some("end_turn") => Ok(StopReason::EndTurn),
        Some("max_tokens") => Ok(StopReason::MaxTokens),
        Some("refusal") => Ok(StopReason::Refusal),
        _ => source.expected(
            entry,
            "`end_turn`, `max_tokens` or `refusal`",
            " `end_turn`、`max_tokens` 或 `refusal`",
        ),
    }
}

fn fault(source: &Source<'_>, entry: &Entry) -> Read<Fault> {
    match entry.value.text() {
        Some("cut") => Ok(Fault::Cut),
        Some("malformed") => Ok(Fault::Malformed),
        Some(text) => match text.parse::<u16>() {
            Ok(status @ (408 | 429 | 500..=599)) => Ok(Fault::Status(status)),
            _ => source.expected(
                entry,
                "`429`, `500` to `599`, `cut` or `malformed`",
                " `429`、`500` 到 `599`、`cut` 或 `malformed`",
            ),
        },
        None => source.expected(
            entry,
            "`429`, `500`, `cut` or `malformed`",
            " `429`、`500`、`cut` 或 `malformed`",
        ),
    }
}

/// A YAML tree as JSON. The parser bounds its depth.
fn value(node: &Node) -> Value {
    match (&node.kind, node.resolve()) {
        (NodeKind::Sequence { items, .. }, _) => items.iter().map(value).collect(),
        (NodeKind::Mapping { entries, .. }, _) => {
            let pairs = entries.iter().map(|entry| (entry.name().to_owned(), value(&entry.value)));
            Value::Object(pairs.collect())
        }
        (_, Resolved::Null) => Value::Null,
        (_, Resolved::Bool(value)) => value.into(),
        (_, Resolved::Integer(value)) => value.into(),
        (_, Resolved::Float(value)) => value.into(),
        (_, Resolved::Text(text)) => text.into(),
        (_, Resolved::Sequence | Resolved::Mapping) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (text, expected) in [
            ("- whem: {agent: a}\n  reply: x\n", "s.yaml:1:3: unknown key `whem` (`when`?)"),
            ("- when: {step: soon}\n  reply: x\n", "s.yaml:1:16: `step` must be a whole number"),
            ("- reply: x\n- when: {agent: a}\n", "s.yaml:2:3: the rule says nothing"),
            ("- tools: [{arguments: {}}]\n", "s.yaml:1:11: the tool has no `name`"),
            ("- tools: [{name: A, arguments: [1]}]\n", "`arguments` must be a mapping"),
            ("- fault: 200\n", "`fault` must be"),
            ("reply: x\n", "expected a list of rules"),
            ("- reply: [\n", "YAML does not parse"),
            ("- reply: {a: b}\n", "`reply` must be text"),
        ] {
            let error = Script::parse("s.yaml", text).unwrap_err().words().en;
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn rules_may_stand_under_a_key() {
        assert_eq!(Script::parse("s", "rules:\n  - reply: x\n").unwrap().rules.len(), 1);
    }
}
