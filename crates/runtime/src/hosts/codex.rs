//! Codex: `codex exec --json`, its arguments and its lines.

use super::stream::{Reader, Story, Verdict, at, number, since, text};
use super::{Guard, HostTask};
use crate::tools::Access;
use fugato_model::chat::Usage;
use serde_json::{Value, json};
use std::ffi::OsString;

/// The arguments; the prompt comes on standard input. `system` is what is to be told besides, if it fits an argument.
pub(super) fn arguments(task: &HostTask, system: Option<&str>) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        ["exec", "--json", "--skip-git-repo-check", "--color", "never"].map(OsString::from).to_vec();
    match (task.access, task.guard) {
        (Access::ReadOnly, _) => args.extend(["--sandbox", "read-only"].map(OsString::from)),
        (Access::ReadWrite, Guard::Kept) => args.extend(["--sandbox", "workspace-write"].map(OsString::from)),
        (Access::ReadWrite, Guard::Off) => args.push("--dangerously-bypass-approvals-and-sandbox".into()),
    }
    if let Some(model) = &task.model {
        args.extend(["--model".into(), model.into()]);
    }
    if let Some(system) = system {
        // A JSON string is a TOML string.
        args.extend(["-c".into(), format!("developer_instructions={}", Value::from(system)).into()]);
    }
    args.extend(task.arguments.iter().cloned());
    if let Some(session) = &task.resume {
        args.extend(["resume".into(), (&session.id).into()]);
    }
    args.push("-".into());
    args
}

/// Reads its lines.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The next item begins another answer of the model: every call of the last one has ended.
    is_next_answer: bool,
}

impl Reader for Stream {
    fn read(&mut self, line: &Value, story: &mut Story) {
        match text(line, "/type") {
            Some("thread.started") => story.session(text(line, "/thread_id")),
            Some("turn.started") => {
                self.is_next_answer = true;
                story.verdict = None;
            }
            Some("item.started" | "item.updated") => self.item(at(line, "/item"), Stage::Begun, story),
            Some("item.completed") => self.item(at(line, "/item"), Stage::Over, story),
            Some("turn.completed") => {
                story.verdict = Some(Verdict::Done);
                count(at(line, "/usage"), story);
            }
            Some("turn.failed") => {
                let why = text(line, "/error/message").unwrap_or("the turn failed");
                story.verdict = Some(Verdict::Failed(why.to_owned()));
            }
            Some("error") => {
                let why = text(line, "/message").unwrap_or("error");
                story.last_error = Some(why.to_owned());
                story.notice(why);
            }
            _ => {}
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begun,
    Over,
}

impl Stream {
    fn item(&mut self, item: &Value, stage: Stage, story: &mut Story) {
        let id = text(item, "/id").unwrap_or_default();
        match text(item, "/type") {
            Some("agent_message") if stage == Stage::Over => {
                self.answer(story);
                let said = text(item, "/text").unwrap_or_default();
                said.clone_into(&mut story.text);
                story.say(said);
            }
            Some("reasoning") => self.answer(story),
            Some("error") => story.notice(text(item, "/message").unwrap_or_default()),
            Some("agent_message" | "todo_list") | None => {}
            Some(kind) => {
                if !story.is_open(id) {
                    self.answer(story);
                    let (name, arguments) = call(kind, item);
                    story.tool_started(id, &name, arguments, None);
                }
                if stage == Stage::Over {
                    let (is_error, result) = outcome(item);
                    story.tool_ended(id, is_error, &result);
                    self.is_next_answer |= !story.has_open();
                }
            }
        }
    }

    fn answer(&mut self, story: &mut Story) {
        if std::mem::take(&mut self.is_next_answer) {
            story.steps = story.steps.saturating_add(1);
        }
    }
}

/// A call in the words of our own tools, where we have one like it.
fn call(kind: &str, item: &Value) -> (String, Value) {
    match kind {
        "command_execution" => ("Bash".to_owned(), json!({"command": at(item, "/command")})),
        "file_change" => ("Edit".to_owned(), json!({"changes": at(item, "/changes")})),
        "web_search" => ("WebSearch".to_owned(), json!({"query": at(item, "/query")})),
        "mcp_tool_call" => {
            let (server, tool) =
                (text(item, "/server").unwrap_or("mcp"), text(item, "/tool").unwrap_or("tool"));
            (format!("mcp__{server}__{tool}"), at(item, "/arguments").clone())
        }
        _ => (kind.to_owned(), json!({})),
    }
}

fn outcome(item: &Value) -> (bool, String) {
    let is_error = matches!(text(item, "/status"), Some("failed" | "declined"))
        || at(item, "/exit_code").as_i64().is_some_and(|code| code != 0);
    let result = text(item, "/aggregated_output")
        .or_else(|| text(item, "/error/message"))
        .map_or_else(|| item.get("result").map(Value::to_string).unwrap_or_default(), str::to_owned);
    (is_error, result)
}

/// Told at the end of a turn, and counted from the beginning of the conversation.
fn count(usage: &Value, story: &mut Story) {
    let before = story.before.counted;
    let own = |place: &str, before| since(number(usage, place), before);
    story.used(Usage {
        input_tokens: own("/input_tokens", before.input_tokens),
        output_tokens: own("/output_tokens", before.output_tokens),
        cache_read_tokens: own("/cached_input_tokens", before.cache_read_tokens),
        cache_write_tokens: own("/cache_write_input_tokens", before.cache_write_tokens),
    });
}
