//! Hooks in a JSON file: Claude Code's settings and Codex's `hooks.json` have the same shape. Text in, text out; comments,
//! order and layout of everything else stay.

use super::Entry;
use super::calls::{Call, calls};
use super::program::{self, Program};
use crate::hosts::Host;
use fugato_model::{Code, Diagnostic, Words, words};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Value, json};

/// JSON with comments and trailing commas, nothing looser.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};
const BOM: &str = "\u{feff}";
const HOOKS: &str = "hooks";

type Outcome<T> = Result<T, Box<Diagnostic>>;

/// The text with every call of this host in it, exactly once each.
pub(super) fn install(text: &str, host: Host, program: &Program, shown: &str) -> Outcome<String> {
    if text.trim().is_empty() {
        let whole = serde_json::to_string_pretty(&json!({HOOKS: object(host, program)})).unwrap_or_default();
        return Ok(whole + "\n");
    }
    let file = File::open(text, shown)?;
    let hooks = file.hooks()?;
    let mut wanted: Vec<&Call> = calls(host).iter().collect();
    for property in hooks.iter().flat_map(CstObject::properties) {
        let Some(event) = property.decoded_name() else { continue };
        let Some(groups) = property.array_value() else { continue };
        let found = ours(&groups);
        let at = wanted.iter().position(|call| call.event == event);
        let new = at.map(|at| handler(host, wanted.remove(at), program));
        let is_right =
            matches!((&new, found.as_slice()), (Some(new), [one]) if value(one).as_ref() == Some(new));
        if is_right || (new.is_none() && found.is_empty()) {
            continue;
        }
        take_out(&groups, found);
        match new {
            Some(new) => {
                groups.append(input(&json!({HOOKS: [new]})));
            }
            None if groups.elements().is_empty() => property.remove(),
            None => {}
        }
    }
    if !wanted.is_empty() {
        let hooks = match hooks {
            Some(hooks) => hooks,
            None => file.root.object_value_or_set().object_value_or_set(HOOKS),
        };
        for call in wanted {
            hooks.append(call.event, input(&json!([{HOOKS: [handler(host, call, program)]}])));
        }
    }
    Ok(file.text())
}

/// The text without anything of ours, and without what became empty by that.
pub(super) fn remove(text: &str, shown: &str) -> Outcome<String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let file = File::open(text, shown)?;
    let Some(hooks) = file.hooks()? else { return Ok(text.to_owned()) };
    let mut is_less = false;
    for property in hooks.properties() {
        let Some(groups) = property.array_value() else { continue };
        let found = ours(&groups);
        if found.is_empty() {
            continue;
        }
        is_less = true;
        take_out(&groups, found);
        if groups.elements().is_empty() {
            property.remove();
        }
    }
    if is_less
        && hooks.properties().is_empty()
        && let Some(property) = file.root.object_value().and_then(|root| root.get(HOOKS))
    {
        property.remove();
    }
    Ok(file.text())
}

/// What of ours stands in the text.
pub(super) fn entries(text: &str, shown: &str) -> Outcome<Vec<Entry>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let file = File::open(text, shown)?;
    let hooks = file.hooks()?.and_then(|hooks| value(&hooks)).unwrap_or_default();
    let mut entries = Vec::new();
    for (event, groups) in hooks.as_object().into_iter().flatten() {
        for (group_at, group) in groups.as_array().into_iter().flatten().enumerate() {
            let handlers = group.get(HOOKS).and_then(Value::as_array).into_iter().flatten();
            for (at, handler) in handlers.enumerate().filter(|(_, handler)| is_ours(handler)) {
                entries.push(Entry {
                    event: event.clone(),
                    command: [vec![text_of(handler, "command")], arguments(handler)].concat().join(" "),
                    timeout: handler.get("timeout").and_then(Value::as_u64),
                    blocks_on_failure: handler.get("onFailure").is_some_and(|word| word == "block"),
                    at: (group_at, at),
                });
            }
        }
    }
    Ok(entries)
}

/// Every call of a host as the value of `hooks`.
pub(super) fn object(host: Host, program: &Program) -> Value {
    let groups = |call: &Call| (call.event.to_owned(), json!([{HOOKS: [handler(host, call, program)]}]));
    Value::Object(calls(host).iter().map(groups).collect())
}

fn handler(host: Host, call: &Call, program: &Program) -> Value {
    let mut handler = json!({"type": "command", "command": program.command()});
    let Some(fields) = handler.as_object_mut() else { return handler };
    if host == Host::Claude && program.needs_no_shell() {
        // Started without a shell. A version that does not know this field starts the same with one.
        fields.insert("args".to_owned(), json!([]));
    }
    fields.insert("timeout".to_owned(), json!(call.timeout));
    if host == Host::Claude && call.is_guard {
        // Ignored by versions before 2.1.295.
        fields.insert("onFailure".to_owned(), json!("block"));
    }
    handler
}

struct File<'t> {
    mark: &'t str,
    body: &'t str,
    shown: &'t str,
    root: CstRootNode,
}

impl<'t> File<'t> {
    fn open(text: &'t str, shown: &'t str) -> Outcome<Self> {
        let (mark, body) = text.strip_prefix(BOM).map_or(("", text), |body| (BOM, body));
        let root = CstRootNode::parse(body, &OPTIONS).map_err(|error| {
            let (why, range) = (error.kind().to_string(), error.range());
            let message = words!(
                "this is not JSON, so nothing was written: {why}",
                "这不是合法的 JSON，因此没有写入：{why}"
            );
            problem(shown, body, range.start..range.end, message)
        })?;
        Ok(Self { mark, body, shown, root })
    }

    /// The object with the events, if there is one.
    fn hooks(&self) -> Outcome<Option<CstObject>> {
        let Some(root) = self.root.object_value() else {
            let message = words!(
                "the file is not a JSON object, so nothing was written",
                "该文件不是 JSON 对象，因此没有写入"
            );
            return Err(problem(self.shown, self.body, 0..0, message));
        };
        let named: Vec<_> = root
            .properties()
            .into_iter()
            .filter(|one| one.decoded_name().as_deref() == Some(HOOKS))
            .collect();
        let place = || {
            let start = self.body.find("\"hooks\"").unwrap_or(0);
            start..start + "\"hooks\"".len().min(self.body.len())
        };
        let property = match named.as_slice() {
            [] => return Ok(None),
            [one] => one,
            _ => {
                let message = words!(
                    "`hooks` stands there twice, so nothing was written",
                    "`hooks` 出现了两次，因此没有写入"
                );
                return Err(problem(self.shown, self.body, place(), message));
            }
        };
        let Some(hooks) = property.object_value() else {
            let message =
                words!("`hooks` is not an object, so nothing was written", "`hooks` 不是对象，因此没有写入");
            return Err(problem(self.shown, self.body, place(), message));
        };
        for event in hooks.properties() {
            if event.array_value().is_none() {
                let name = event.decoded_name().unwrap_or_default();
                let message = words!(
                    "`hooks.{name}` is not a list, so nothing was written",
                    "`hooks.{name}` 不是列表，因此没有写入"
                );
                return Err(problem(self.shown, self.body, place(), message));
            }
        }
        Ok(Some(hooks))
    }

    fn text(&self) -> String {
        format!("{}{}", self.mark, self.root)
    }
}

fn problem(shown: &str, source: &str, range: std::ops::Range<usize>, message: Words) -> Box<Diagnostic> {
    let hint = words!("repair the file, then run the command again", "请修复该文件后重新运行");
    Box::new(Diagnostic::error(Code::F0407, shown, message).hint(hint).at(source, range.start, range.end))
}

/// Handlers of ours in the groups of one event.
fn ours(groups: &CstArray) -> Vec<CstNode> {
    let handlers = |group: CstNode| group.as_object().and_then(|group| group.array_value(HOOKS));
    let all = groups.elements().into_iter().filter_map(handlers).flat_map(|handlers| handlers.elements());
    all.filter(|handler| value(handler).is_some_and(|value| is_ours(&value))).collect()
}

/// Removes handlers, and the groups that held nothing else.
fn take_out(groups: &CstArray, handlers: Vec<CstNode>) {
    handlers.into_iter().for_each(CstNode::remove);
    for group in groups.elements() {
        let is_empty = group
            .as_object()
            .and_then(|group| group.array_value(HOOKS))
            .is_some_and(|handlers| handlers.elements().is_empty());
        if is_empty {
            group.remove();
        }
    }
}

/// The whole file as a value; `None` when it cannot be read.
pub(super) fn root(text: &str) -> Option<Value> {
    jsonc_parser::parse_to_serde_value(text.strip_prefix(BOM).unwrap_or(text), &OPTIONS).ok()
}

/// A node without its comments.
fn value(node: &impl std::fmt::Display) -> Option<Value> {
    jsonc_parser::parse_to_serde_value(&node.to_string(), &OPTIONS).ok()
}

fn is_ours(handler: &Value) -> bool {
    program::ours(&text_of(handler, "command"), &arguments(handler)).is_some()
}

fn text_of(handler: &Value, key: &str) -> String {
    handler.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn arguments(handler: &Value) -> Vec<String> {
    let given = handler.get("args").and_then(Value::as_array).into_iter().flatten();
    given.filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
