//! Reading these files, whoever wrote them. Two dialects are in the wild; both are understood, unknown words and fields
//! are kept, and only what is not JSON of the right shape is refused.
//!
//! Pure: bytes in, values out. Nothing here acts on what it reads.

use super::status::{Action, AgentWord, MessageType, RunWord};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Larger files are refused unread: ten thousand agents take two megabytes.
pub const LARGEST: usize = 64 * 1024 * 1024;
/// Larger lines are counted as bad.
pub const LONGEST_LINE: usize = 4 * 1024 * 1024;

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("{0} bytes are too many")]
    TooLarge(usize),
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("{expected} is expected, found {found}")]
    Shape { expected: &'static str, found: &'static str },
}

/// Something another program wrote.
#[derive(Clone, Debug, PartialEq)]
pub enum Foreign {
    Directive {
        action: Action,
        target: Target,
        message: String,
        /// `None`: the writer gave none.
        generation: Option<u64>,
        rest: Map<String, Value>,
    },
    Message {
        id: Option<String>,
        from: Option<String>,
        to: Option<String>,
        kind: MessageType,
        body: String,
        timestamp: Option<String>,
        rest: Map<String, Value>,
    },
    /// A line of a stream.
    Event {
        seq: Option<u64>,
        timestamp: Option<String>,
        kind: String,
        message: String,
        rest: Map<String, Value>,
    },
    /// An object that is none of these.
    Unknown(Map<String, Value>),
}

/// Whom a directive concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    All,
    Agents(Vec<String>),
}

/// `run.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignRun {
    pub id: Option<String>,
    pub status: RunWord,
    pub started_at: Option<String>,
    pub updated_at: Option<String>,
    pub agents: Vec<ForeignAgent>,
    /// Key waits for values.
    pub dependencies: BTreeMap<String, Vec<String>>,
    pub generation: Option<u64>,
    pub rest: Map<String, Value>,
}

/// An agent of `run.json`, or `status.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignAgent {
    pub id: String,
    pub role: Option<String>,
    pub task: Option<String>,
    pub status: AgentWord,
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    pub rest: Map<String, Value>,
}

pub fn read_run_json(bytes: &[u8]) -> Result<ForeignRun, ReadError> {
    let mut fields = object(bytes)?;
    let agents = match fields.remove("agents") {
        Some(Value::Array(agents)) => agents.into_iter().filter_map(|agent| agent_of(agent, None)).collect(),
        // The other dialect has agents by their ids.
        Some(Value::Object(agents)) => {
            agents.into_iter().filter_map(|(id, agent)| agent_of(agent, Some(id))).collect()
        }
        None | Some(Value::Null) => Vec::new(),
        Some(other) => return Err(ReadError::Shape { expected: "a list of agents", found: kind_of(&other) }),
    };
    let dependencies = match take(&mut fields, &["dependencies", "dependency_graph"]) {
        Some(Value::Object(edges)) => edges.into_iter().map(|(agent, on)| (agent, names(on))).collect(),
        None | Some(Value::Null) => BTreeMap::new(),
        Some(other) => {
            return Err(ReadError::Shape { expected: "an object of dependencies", found: kind_of(&other) });
        }
    };
    Ok(ForeignRun {
        id: take_text(&mut fields, &["id", "run_id"]),
        status: take_text(&mut fields, &["status"]).as_deref().unwrap_or_default().into(),
        started_at: take_text(&mut fields, &["started_at", "created_at"]),
        updated_at: take_text(&mut fields, &["updated_at"]),
        agents,
        dependencies,
        generation: take_number(&mut fields, "generation"),
        rest: fields,
    })
}

/// `status.json`, as the agent it is about.
pub fn read_status_json(bytes: &[u8]) -> Result<ForeignAgent, ReadError> {
    let fields = object(bytes)?;
    agent_of(Value::Object(fields), None)
        .ok_or(ReadError::Shape { expected: "an `agent_id`", found: "an object without" })
}

/// `control.json`: one directive, or in the other dialect one for each action it names.
pub fn read_control_json(bytes: &[u8]) -> Result<Vec<Foreign>, ReadError> {
    Ok(directives(object(bytes)?))
}

/// The generation a `control.json` has, whoever wrote it. `None`: it cannot be read, or has none.
pub(super) fn control_generation(bytes: &[u8]) -> Option<u64> {
    object(bytes).ok()?.get("generation").and_then(Value::as_u64)
}

/// The lines of a file that grows. Bad ones are counted, never a reason to drop the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    pub read: Vec<(usize, Foreign)>,
    /// Number of the line, from 1, and what is wrong with it.
    pub bad: Vec<(usize, ReadError)>,
    /// The last line has no end: its writer may still be at it, or died.
    pub is_torn: bool,
}

/// `stream.jsonl`, `inbox.jsonl`, `outbox.jsonl`, `control.log.jsonl`.
pub fn read_jsonl(bytes: &[u8]) -> Lines {
    let mut lines = Lines { is_torn: bytes.last().is_some_and(|byte| *byte != b'\n'), ..Lines::default() };
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match read_line(line) {
            Ok(read) => lines.read.extend(read.into_iter().map(|read| (at + 1, read))),
            Err(error) => lines.bad.push((at + 1, error)),
        }
    }
    lines
}

/// One line. Several values only for a directive that names several actions.
pub fn read_line(line: &[u8]) -> Result<Vec<Foreign>, ReadError> {
    if line.len() > LONGEST_LINE {
        return Err(ReadError::TooLarge(line.len()));
    }
    let mut fields = object(line)?;
    if fields.contains_key("action") || spoken_action(&fields).is_some() {
        return Ok(directives(fields));
    }
    let is_message = ["body", "instruction", "to"].iter().any(|key| fields.contains_key(*key));
    if is_message {
        return Ok(vec![message(fields)]);
    }
    let Some(kind) = take_text(&mut fields, &["type", "event_type"]) else {
        return Ok(vec![Foreign::Unknown(fields)]);
    };
    // A message of the other dialect says `message` for `body`, and has a sender where an event has none.
    if fields.contains_key("from") {
        fields.insert("type".to_owned(), kind.into());
        return Ok(vec![message(fields)]);
    }
    Ok(vec![Foreign::Event {
        seq: take_number(&mut fields, "seq"),
        timestamp: take_text(&mut fields, &["timestamp", "at"]),
        message: match take(&mut fields, &["message", "data"]) {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        },
        kind,
        rest: fields,
    }])
}

fn message(mut fields: Map<String, Value>) -> Foreign {
    let kind = take_text(&mut fields, &["type", "event_type"]);
    let body = take_text(&mut fields, &["body", "message", "instruction"]).unwrap_or_default();
    Foreign::Message {
        id: take_text(&mut fields, &["id"]),
        from: take_text(&mut fields, &["from"]),
        to: take_text(&mut fields, &["to"]),
        kind: kind.as_deref().unwrap_or("handoff").into(),
        body,
        timestamp: take_text(&mut fields, &["timestamp", "at"]),
        rest: fields,
    }
}

const ACTIONS: [&str; 4] = ["pause", "resume", "cancel", "redirect"];

/// `{"pause": true}` speaks of an action by its name; `false` and null do not.
fn spoken_action(fields: &Map<String, Value>) -> Option<&'static str> {
    ACTIONS.into_iter().find(|action| {
        matches!(fields.get(*action), Some(Value::Bool(true) | Value::String(_) | Value::Array(_)))
    })
}

fn directives(mut fields: Map<String, Value>) -> Vec<Foreign> {
    let generation = take_number(&mut fields, "generation");
    let message = take_text(&mut fields, &["message", "instruction"]).unwrap_or_default();
    if let Some(action) = take_text(&mut fields, &["action"]) {
        let target = target_of(fields.remove("target"));
        let action = action.as_str().into();
        return vec![Foreign::Directive { action, target, message, generation, rest: fields }];
    }
    let mut found = Vec::new();
    while let Some(action) = spoken_action(&fields) {
        let target = match fields.remove(action) {
            Some(Value::Bool(_)) => target_of(fields.get("target").cloned()),
            other => target_of(other),
        };
        found.push((Action::from(action), target));
    }
    if found.is_empty() {
        return vec![Foreign::Unknown(fields)];
    }
    fields.remove("target");
    let directive = |(action, target)| Foreign::Directive {
        action,
        target,
        message: message.clone(),
        generation,
        rest: fields.clone(),
    };
    found.into_iter().map(directive).collect()
}

/// A missing target means everybody.
fn target_of(value: Option<Value>) -> Target {
    match value {
        None | Some(Value::Null) => Target::All,
        Some(value) => {
            let agents = names(value);
            if agents.iter().any(|agent| agent == "all") { Target::All } else { Target::Agents(agents) }
        }
    }
}

fn agent_of(value: Value, id: Option<String>) -> Option<ForeignAgent> {
    let mut fields = match value {
        Value::Object(fields) => fields,
        // A bare name is an agent of which nothing else is known.
        Value::String(name) if id.is_none() => Map::from_iter([("id".to_owned(), name.into())]),
        Value::String(status) => Map::from_iter([("status".to_owned(), status.into())]),
        _ => Map::new(),
    };
    let own = take_text(&mut fields, &["id", "agent_id"]);
    Some(ForeignAgent {
        id: own.or(id)?,
        role: take_text(&mut fields, &["role"]),
        task: take_text(&mut fields, &["task"]),
        status: take_text(&mut fields, &["status"]).as_deref().unwrap_or("unknown").into(),
        started_at: take_text(&mut fields, &["started_at", "created_at"]),
        completed_at: take_text(&mut fields, &["completed_at"]),
        rest: fields,
    })
}

fn names(value: Value) -> Vec<String> {
    match value {
        Value::String(name) => vec![name],
        Value::Array(values) => {
            values.into_iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, ReadError> {
    if bytes.len() > LARGEST {
        return Err(ReadError::TooLarge(bytes.len()));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => Err(ReadError::Shape { expected: "an object", found: kind_of(&other) }),
        Err(error) => Err(ReadError::NotJson(error.to_string())),
    }
}

fn take(fields: &mut Map<String, Value>, names: &[&str]) -> Option<Value> {
    names.iter().find_map(|name| fields.shift_remove(*name))
}

/// The first of these fields that is text; what is not text stays where it is.
fn take_text(fields: &mut Map<String, Value>, names: &[&str]) -> Option<String> {
    let name = names.iter().find(|name| fields.get(**name).is_some_and(Value::is_string))?;
    match fields.shift_remove(*name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn take_number(fields: &mut Map<String, Value>, name: &str) -> Option<u64> {
    let number = fields.get(name).and_then(Value::as_u64)?;
    fields.shift_remove(name);
    Some(number)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn bytes(value: &Value) -> Vec<u8> {
        value.to_string().into_bytes()
    }

    fn directive(value: &Value) -> (String, Target, String, Option<u64>) {
        let read = read_control_json(&bytes(value)).unwrap();
        let [Foreign::Directive { action, target, message, generation, .. }] = read.as_slice() else {
            panic!("{read:?}")
        };
        (action.to_string(), target.clone(), message.clone(), *generation)
    }

    fn agents(names: &[&str]) -> Target {
        Target::Agents(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn both_dialects_of_a_run_are_read_and_unknown_parts_kept() {
        let ours = read_run_json(&bytes(&json!({
            "id": "run_1", "status": "running", "started_at": "t0", "updated_at": "t1", "generation": 3,
            "agents": [{"id": "构建", "role": "explore", "task": "x", "status": "awaiting_input", "started_at": "t"}],
            "dependencies": {"b": ["a"]}, "mood": "good",
        })))
        .unwrap();
        assert_eq!(
            (ours.status, ours.generation, &ours.agents[0].status),
            (RunWord::Running, Some(3), &AgentWord::AwaitingInput)
        );
        assert_eq!(ours.dependencies["b"], ["a"]);
        assert_eq!(ours.rest, json!({"mood": "good"}).as_object().unwrap().clone());
        let theirs = read_run_json(&bytes(&json!({
            "run_id": "r", "status": "dreaming", "created_at": "t0", "dependency_graph": {"b": "a"},
            "agents": {"a": {"status": "napping"}, "b": "done", "c": 7}, "generation": "three",
        })))
        .unwrap();
        assert_eq!(theirs.status, RunWord::Other("dreaming".into()));
        assert_eq!(
            (theirs.started_at.as_deref(), theirs.dependencies["b"].as_slice()),
            (Some("t0"), &["a".to_owned()][..])
        );
        let words: Vec<_> =
            theirs.agents.iter().map(|agent| (agent.id.as_str(), agent.status.as_str())).collect();
        assert_eq!(words, [("a", "napping"), ("b", "done"), ("c", "unknown")]);
        assert_eq!(theirs.rest["generation"], "three");
    }

    #[test]
    fn directives_of_both_dialects_mean_the_same() {
        let all = Target::All;
        for (value, expected) in [
            (
                json!({"action": "pause", "target": "b", "message": "", "generation": 4}),
                ("pause", agents(&["b"]), Some(4)),
            ),
            (json!({"action": "pause", "target": "all"}), ("pause", all.clone(), None)),
            (json!({"action": "pause"}), ("pause", all.clone(), None)),
            (json!({"pause": true}), ("pause", all.clone(), None)),
            (json!({"pause": true, "target": "b"}), ("pause", agents(&["b"]), None)),
            (json!({"pause": "b", "resume": false}), ("pause", agents(&["b"]), None)),
            (json!({"cancel": ["a", "b"], "generation": 2}), ("cancel", agents(&["a", "b"]), Some(2))),
            (json!({"action": "explode", "target": ["a"]}), ("explode", agents(&["a"]), None)),
        ] {
            let (action, target, _, generation) = directive(&value);
            assert_eq!((action.as_str(), target, generation), expected, "{value}");
        }
        let (_, _, message, _) = directive(&json!({"redirect": "a", "instruction": "停"}));
        assert_eq!(message, "停");
        let two = read_control_json(br#"{"pause": "a", "resume": ["b"], "why": 1}"#).unwrap();
        assert_eq!(two.len(), 2);
        assert!(
            matches!(&two[1], Foreign::Directive { action: Action::Resume, rest, .. } if rest["why"] == 1)
        );
        assert!(matches!(read_control_json(b"{}").unwrap().as_slice(), [Foreign::Unknown(_)]));
    }

    #[test]
    fn lines_of_both_dialects_are_read_and_bad_ones_counted_with_their_numbers() {
        let text = concat!(
            r#"{"from": "a", "to": "b", "type": "handoff", "body": "x", "timestamp": "t", "id": "m1"}"#,
            "\n",
            r#"{"from": "a", "type": "gossip", "message": "y"}"#,
            "\n\n",
            r#"{"type": "redirect", "instruction": "停", "at": "t"}"#,
            "\n",
            "not json\n[1]\n",
            r#"{"event_type": "tool", "data": {"n": 1}, "timestamp": "t"}"#,
            "\n",
            r#"{"seq": 3, "type": "started", "message": "m"}"#,
            "\n",
            r#"{"nothing": "known"}"#,
            "\n",
            r#"{"seq": 4, "ty"#
        );
        let lines = read_jsonl(text.as_bytes());
        assert!(lines.is_torn);
        assert_eq!(lines.bad.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [5, 6, 10]);
        let read: Vec<(usize, String)> = lines
            .read
            .iter()
            .map(|(at, read)| {
                let short = match read {
                    Foreign::Message { kind, body, .. } => format!("message {kind} {body}"),
                    Foreign::Event { seq, kind, message, .. } => format!("event {seq:?} {kind} {message}"),
                    Foreign::Directive { action, .. } => format!("directive {action}"),
                    Foreign::Unknown(fields) => format!("unknown {}", fields.len()),
                };
                (*at, short)
            })
            .collect();
        let expected = [
            (1, "message handoff x"),
            (2, "message gossip y"),
            (4, "message redirect 停"),
            (7, "event None tool {\"n\":1}"),
            (8, "event Some(3) started m"),
            (9, "unknown 1"),
        ];
        assert_eq!(read, expected.map(|(at, text)| (at, text.to_owned())));
    }

    #[test]
    fn what_is_not_an_object_is_refused_with_what_was_found() {
        assert_eq!(
            read_run_json(b"[]").unwrap_err(),
            ReadError::Shape { expected: "an object", found: "a list" }
        );
        assert!(matches!(read_run_json(b"").unwrap_err(), ReadError::NotJson(_)));
        assert!(matches!(read_control_json(&b"[".repeat(100_000)).unwrap_err(), ReadError::NotJson(_)));
        assert!(matches!(read_line(&vec![b' '; LONGEST_LINE + 1]).unwrap_err(), ReadError::TooLarge(_)));
    }

    /// Any JSON, with the words that mean something well represented.
    fn any_json() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            "action",
            "target",
            "pause",
            "resume",
            "cancel",
            "redirect",
            "all",
            "agents",
            "dependencies",
            "id",
            "dependency_graph",
            "status",
            "type",
            "event_type",
            "data",
            "body",
            "message",
            "from",
            "to",
            "seq",
            "generation",
            "instruction",
            "中",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            word.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..8)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_is_read_or_refused(value in any_json()) {
            let bytes = bytes(&value);
            let _ = read_run_json(&bytes);
            let _ = read_status_json(&bytes);
            let directives = read_control_json(&bytes);
            prop_assert_eq!(directives.is_ok(), value.is_object());
            let lines = read_jsonl(&bytes);
            prop_assert_eq!(lines.bad.len(), usize::from(!value.is_object()));
        }
    }
}
