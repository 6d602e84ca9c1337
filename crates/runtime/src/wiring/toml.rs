//! Hooks in Codex's `config.toml`, for people who keep theirs there. Text in, text out; comments and layout stay.

use super::Entry;
use super::calls::{Call, calls};
use super::program::{self, Program};
use crate::hosts::Host;
use fugato_model::{Code, Diagnostic, words};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

const HOOKS: &str = "hooks";
/// Beside the events stands what the person trusts.
const STATE: &str = "state";

type Outcome<T> = Result<T, Box<Diagnostic>>;

pub(super) fn open(text: &str, shown: &str) -> Outcome<DocumentMut> {
    text.parse::<DocumentMut>().map_err(|error| {
        let why = error.message().trim_end().to_owned();
        let span = error.span().unwrap_or(0..0);
        let message = words!(
            "this is not TOML, so nothing was written: {why}",
            "这不是合法的 TOML，因此没有写入：{why}"
        );
        let hint = words!("repair the file, then run the command again", "请修复该文件后重新运行");
        Box::new(Diagnostic::error(Code::F0407, shown, message).hint(hint).at(text, span.start, span.end))
    })
}

/// Are hooks of anybody named in this text?
pub(super) fn has_hooks(text: &str) -> bool {
    let Ok(document) = text.parse::<DocumentMut>() else { return false };
    let hooks = document.get(HOOKS).and_then(Item::as_table_like);
    hooks.is_some_and(|hooks| hooks.iter().any(|(event, _)| event != STATE))
}

pub(super) fn has_ours(text: &str) -> bool {
    entries(text, "").is_ok_and(|entries| !entries.is_empty())
}

pub(super) fn install(text: &str, host: Host, program: &Program, shown: &str) -> Outcome<String> {
    let wanted: Vec<Entry> = calls(host).iter().map(|call| wanted(call, program)).collect();
    let same = |one: &Entry, other: &Entry| {
        (&one.event, &one.command, one.timeout) == (&other.event, &other.command, other.timeout)
    };
    let found = entries(text, shown)?;
    let is_right = found.len() == wanted.len()
        && wanted.iter().all(|entry| found.iter().any(|other| same(entry, other)));
    if is_right {
        return Ok(text.to_owned());
    }
    let mut document = open(&remove(text, shown)?, shown)?;
    let hooks = document.entry(HOOKS).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(hooks) = hooks.as_table_like_mut() else { return Err(not_a_table(HOOKS, shown)) };
    for call in calls(host) {
        let groups = hooks.entry(call.event).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        match groups {
            Item::ArrayOfTables(groups) => {
                let mut handlers = ArrayOfTables::new();
                handlers.push(handler(call, program).into_table());
                let mut group = Table::new();
                group.insert(HOOKS, Item::ArrayOfTables(handlers));
                groups.push(group);
            }
            Item::Value(Value::Array(groups)) => {
                let handlers: Array = [Value::InlineTable(handler(call, program))].into_iter().collect();
                let group: InlineTable = [(HOOKS, Value::Array(handlers))].into_iter().collect();
                groups.push(group);
            }
            _ => return Err(not_a_table(&format!("{HOOKS}.{}", call.event), shown)),
        }
    }
    Ok(document.to_string())
}

pub(super) fn remove(text: &str, shown: &str) -> Outcome<String> {
    if entries(text, shown)?.is_empty() {
        return Ok(text.to_owned());
    }
    let mut document = open(text, shown)?;
    let Some(hooks) = document.get_mut(HOOKS).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    let events: Vec<String> =
        hooks.iter().map(|(event, _)| event.to_owned()).filter(|event| event != STATE).collect();
    for event in events {
        let Some(groups) = hooks.get_mut(&event) else { continue };
        let is_empty = match groups {
            Item::ArrayOfTables(groups) => {
                let emptied: Vec<bool> = groups.iter_mut().map(|group| take_out(group)).collect();
                let mut emptied = emptied.into_iter();
                groups.retain(|_| !emptied.next().unwrap_or(false));
                groups.is_empty()
            }
            Item::Value(Value::Array(groups)) => {
                let take =
                    |group: &mut Value| group.as_inline_table_mut().is_some_and(|group| take_out(group));
                let emptied: Vec<bool> = groups.iter_mut().map(take).collect();
                let mut emptied = emptied.into_iter();
                groups.retain(|_| !emptied.next().unwrap_or(false));
                groups.is_empty()
            }
            _ => false,
        };
        if is_empty {
            hooks.remove(&event);
        }
    }
    if hooks.is_empty() {
        document.remove(HOOKS);
    }
    Ok(document.to_string())
}

/// Removes our handlers from a group; whether that emptied it.
fn take_out(group: &mut dyn TableLike) -> bool {
    let (before, after) = match group.get_mut(HOOKS) {
        Some(Item::ArrayOfTables(handlers)) => {
            let before = handlers.len();
            handlers.retain(|handler| !is_ours(handler));
            (before, handlers.len())
        }
        Some(Item::Value(Value::Array(handlers))) => {
            let before = handlers.len();
            handlers.retain(|handler| !handler.as_inline_table().is_some_and(|handler| is_ours(handler)));
            (before, handlers.len())
        }
        _ => return false,
    };
    after == 0 && before > 0
}

pub(super) fn entries(text: &str, shown: &str) -> Outcome<Vec<Entry>> {
    let document = open(text, shown)?;
    let hooks = document.get(HOOKS).and_then(Item::as_table_like);
    let mut entries = Vec::new();
    for (event, groups) in hooks.iter().flat_map(|hooks| hooks.iter()).filter(|(event, _)| *event != STATE) {
        for (group_at, group) in tables(groups).into_iter().enumerate() {
            let handlers = group.get(HOOKS).map(tables).unwrap_or_default();
            for (at, handler) in handlers.into_iter().enumerate().filter(|(_, handler)| is_ours(*handler)) {
                entries.push(Entry {
                    event: event.to_owned(),
                    command: command_of(handler).to_owned(),
                    timeout: handler
                        .get("timeout")
                        .and_then(Item::as_integer)
                        .and_then(|n| n.try_into().ok()),
                    blocks_on_failure: false,
                    at: (group_at, at),
                });
            }
        }
    }
    Ok(entries)
}

/// The tables of a list, however it is written.
fn tables(item: &Item) -> Vec<&dyn TableLike> {
    match item {
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table as &dyn TableLike).collect(),
        Item::Value(Value::Array(values)) => values
            .iter()
            .filter_map(|value| value.as_inline_table().map(|table| table as &dyn TableLike))
            .collect(),
        _ => Vec::new(),
    }
}

fn is_ours(handler: &dyn TableLike) -> bool {
    program::ours(command_of(handler), &[]).is_some()
}

fn command_of(handler: &dyn TableLike) -> &str {
    handler.get("command").and_then(Item::as_str).unwrap_or_default()
}

fn wanted(call: &Call, program: &Program) -> Entry {
    Entry {
        event: call.event.to_owned(),
        command: program.command(),
        timeout: Some(call.timeout.into()),
        blocks_on_failure: false,
        at: (0, 0),
    }
}

fn handler(call: &Call, program: &Program) -> InlineTable {
    [
        ("type", Value::from("command")),
        ("command", Value::from(program.command())),
        ("timeout", Value::from(i64::from(call.timeout))),
    ]
    .into_iter()
    .collect()
}

fn not_a_table(field: &str, shown: &str) -> Box<Diagnostic> {
    let message = words!(
        "`{field}` is not a list of tables, so nothing was written",
        "`{field}` 不是表的列表，因此没有写入"
    );
    Box::new(Diagnostic::error(Code::F0407, shown, message).field(field))
}
