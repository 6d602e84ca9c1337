//! What a host sends: one JSON object, read so that nothing odd in it loses the event. Unknown fields stay.

use fugato_engine::outside::{Input, Spawn};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

use super::text;

/// The fields of one event, unread until somebody asks.
#[derive(Debug, Default)]
pub struct Payload<'p> {
    fields: BTreeMap<String, &'p RawValue>,
    /// Something in it was no text, and was replaced.
    pub is_lossy: bool,
}

/// Why it is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON object at byte {offset}: {problem}")]
pub struct PayloadError {
    pub offset: usize,
    pub problem: String,
}

/// The text of the bytes, and whether something had to be replaced.
pub fn clean(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => (Cow::Borrowed(text), false),
        Cow::Owned(text) => (Cow::Owned(text), true),
    }
}

/// Reads the fields of a cleaned text.
pub fn parse(text: &str, is_lossy: bool) -> Result<Payload<'_>, PayloadError> {
    match serde_json::from_str(text) {
        Ok(fields) => Ok(Payload { fields, is_lossy }),
        Err(error) => {
            let before: usize =
                text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
            let offset = if error.is_eof() { text.len() } else { before + error.column().saturating_sub(1) };
            let problem = if error.is_eof() { "it ends too early".to_owned() } else { short(&error) };
            Err(PayloadError { offset, problem })
        }
    }
}

/// Without the place, which is told as an offset.
fn short(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line").next().unwrap_or_default().to_owned()
}

impl<'p> Payload<'p> {
    pub fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// `None`: missing or null.
    pub fn raw(&self, name: &str) -> Option<&'p RawValue> {
        self.fields.get(name).copied().filter(|raw| raw.get() != "null")
    }

    /// A text; a number or another scalar as it is written.
    pub fn text(&self, name: &str) -> Option<String> {
        let raw = self.raw(name)?.get();
        if raw.starts_with('"') { Some(text::decode(raw).0) } else { Some(text::head(raw, 4096).to_owned()) }
    }

    pub fn value(&self, name: &str) -> Option<Value> {
        let raw = self.raw(name)?.get();
        let value =
            serde_json::from_str(raw).or_else(|_| serde_json::from_str(&text::without_surrogates(raw)));
        // Deeper than anybody reads: kept as text.
        Some(value.unwrap_or_else(|_| Value::String(text::head(raw, 2048).to_owned())))
    }

    /// Everything in it, for an event of which nothing is known; long texts cut.
    pub fn whole(&self) -> Value {
        let fields = self.fields.keys().filter_map(|name| Some((name.clone(), self.value(name)?)));
        text::arguments(Value::Object(fields.collect()))
    }

    pub fn event(&self) -> Option<String> {
        self.text("hook_event_name").or_else(|| self.text("event")).map(|name| canonical(&name))
    }

    /// The host's name of the session, harmless: no path, no control characters, not long.
    pub fn session(&self) -> String {
        harmless(&self.text("session_id").or_else(|| self.text("thread_id")).unwrap_or_default())
    }

    pub fn subagent(&self) -> Option<String> {
        self.text("agent_id").map(|id| harmless(&id))
    }

    /// What is wrong with a call that is about to be made; a guard cannot judge what it cannot read.
    pub fn call_problem(&self) -> Option<String> {
        let named = self.text("tool_name").is_some_and(|name| !name.is_empty());
        if !named {
            return Some("`tool_name` is missing".to_owned());
        }
        match self.fields.get("tool_input").map(|raw| raw.get()) {
            None => Some("`tool_input` is missing".to_owned()),
            Some(raw) if raw.starts_with('{') => None,
            Some(raw) if raw.starts_with('[') => {
                Some("`tool_input` is a list, an object is expected".to_owned())
            }
            Some("null") => Some("`tool_input` is null, an object is expected".to_owned()),
            Some(_) => Some("`tool_input` is not an object".to_owned()),
        }
    }

    /// What happened, as the engine understands it.
    pub fn input(&self, event: &str) -> Input {
        match event {
            "SessionStart" => Input::SessionStarted,
            "SessionEnd" => Input::SessionEnded { reason: self.short("reason") },
            "UserPromptSubmit" => Input::Prompted { prompt: self.long("prompt") },
            "PreToolUse" => self.asks(),
            "PostToolUse" => self.used(false),
            "PostToolUseFailure" => self.used(true),
            "SubagentStart" => Input::SubagentStarted,
            "SubagentStop" => Input::SubagentStopped { text: self.long("last_assistant_message") },
            "Stop" => {
                Input::Stopped { text: self.long("last_assistant_message"), background: self.background() }
            }
            other => Input::Observed { name: text::head(other, 100).to_owned(), payload: self.whole() },
        }
    }

    fn asks(&self) -> Input {
        let tool = self.short("tool_name");
        let input = self.value("tool_input").unwrap_or_default();
        let cwd = self.text("cwd").unwrap_or_default();
        Input::Asks {
            call: harmless(&self.text("tool_use_id").unwrap_or_default()),
            files: files_of(&tool, &input, &cwd),
            spawn: spawn_of(&tool, &input),
            arguments: text::arguments(input),
            tool,
        }
    }

    fn used(&self, has_failed: bool) -> Input {
        let tool = self.short("tool_name");
        let response = self.raw("tool_response").or_else(|| self.raw("error"));
        let (content, whole) = match response {
            Some(raw) => text::result(raw, self.is_lossy || text::has_surrogates(raw.get())),
            None => Default::default(),
        };
        // Large results start no agents.
        let small = response.filter(|raw| raw.get().len() < 256 * 1024);
        let spawn = spawn_of(&tool, &self.value("tool_input").unwrap_or_default());
        let response: Value = small
            .filter(|_| spawn.is_some())
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        Input::Used {
            call: harmless(&self.text("tool_use_id").unwrap_or_default()),
            tool,
            content,
            is_error: has_failed,
            whole,
            started: started_by(&response),
            spawn,
        }
    }

    fn background(&self) -> Option<Vec<String>> {
        let tasks = self.value("background_tasks")?;
        let tasks = tasks.as_array()?;
        let id = |task: &Value| task.get("id").and_then(Value::as_str).map(harmless);
        let runs = |task: &&Value| {
            !matches!(task.get("status").and_then(Value::as_str), Some("completed" | "failed" | "killed"))
        };
        Some(tasks.iter().filter(runs).filter_map(id).collect())
    }

    fn short(&self, name: &str) -> String {
        text::head(&self.text(name).unwrap_or_default(), 200).to_owned()
    }

    /// What people and models write; the beginning of it is kept.
    fn long(&self, name: &str) -> String {
        const MOST: usize = 4000;
        let text = self.text(name).unwrap_or_default();
        if text.len() <= MOST {
            return text;
        }
        // The verdict stands at the end.
        let tail = text.len() - text.len().min(1000);
        let tail = (tail..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        let (start, end) = (text::head(&text, MOST - 1000), text.get(tail..).unwrap_or_default());
        format!("{start}\n… ({} bytes) …\n{end}", text.len())
    }
}

/// The agent a call has started, and its last words if it has ended.
fn started_by(response: &Value) -> Option<(String, Option<String>)> {
    let id = response.get("agentId").or_else(|| response.get("agent_id"))?.as_str()?;
    let is_over = response.get("status").and_then(Value::as_str) == Some("completed");
    let parts = response.get("content").and_then(Value::as_array).filter(|_| is_over);
    let texts = parts.map(|parts| {
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        text::head(&texts.join("\n"), 4000).to_owned()
    });
    Some((harmless(id), texts))
}

/// Tools that start an agent.
fn spawn_of(tool: &str, input: &Value) -> Option<Spawn> {
    if !matches!(tool, "Agent" | "Task" | "spawn_agent") {
        return None;
    }
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| input.get(name)?.as_str());
        text::head(found.unwrap_or_default(), 4000).to_owned()
    };
    Some(Spawn {
        agent_type: text(&["subagent_type", "agent_type"]),
        description: text(&["description", "task_name", "name"]),
        prompt: text(&["prompt", "message"]),
    })
}

/// The files a call is about to write.
fn files_of(tool: &str, input: &Value, cwd: &str) -> Vec<String> {
    const MOST: usize = 50;
    let field = |names: &[&str]| names.iter().find_map(|name| input.get(name)?.as_str()).unwrap_or_default();
    let found: Vec<&str> = match tool {
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => vec![field(&["file_path", "notebook_path"])],
        "apply_patch" => {
            let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
            let name =
                |line: &'_ str| marks.iter().find_map(|mark| line.strip_prefix(mark).map(str::to_owned));
            let lines = field(&["command", "input", "patch"]).lines().filter_map(name);
            return lines.take(MOST).map(|file| absolute(&file, cwd)).collect();
        }
        _ => Vec::new(),
    };
    found.into_iter().filter(|file| !file.is_empty()).map(|file| absolute(file, cwd)).collect()
}

/// By its words alone: two names of one file through a link are not noticed.
fn absolute(file: &str, cwd: &str) -> String {
    let path = std::path::Path::new(cwd).join(file.trim());
    let mut clean = std::path::PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    text::head(&clean.to_string_lossy(), 1000).to_owned()
}

/// `pre_tool_use` and `PreToolUse` are the same.
pub fn canonical(name: &str) -> String {
    const NAMES: [&str; 9] = [
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "SubagentStart",
        "SubagentStop",
        "Stop",
    ];
    let folded = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let wanted = folded(name);
    NAMES.into_iter().find(|known| folded(known) == wanted).map_or_else(|| name.to_owned(), str::to_owned)
}

/// A name of the host as it is, if it is one; anything else becomes a digest.
fn harmless(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    if !name.is_empty() && name.len() <= 128 && name.bytes().all(is_plain) {
        return name.to_owned();
    }
    format!("~{}", fugato_skill::digest_bytes(name.as_bytes()).short())
}
