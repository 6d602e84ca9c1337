//! Claude Code: `claude -p --output-format stream-json`, its arguments and its lines.

use super::stream::{Reader, Story, Verdict, at, number, text};
use super::{Guard, HostTask};
use crate::tools::Access;
use fugato_model::chat::Usage;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;

/// Tools that change nothing. A list of what is there and not of what is forbidden: new tools come with every version.
const READING: &[&str] = &["Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "Skill"];

/// Further ones that are known to us; other names in a list of tools mean tools of ours.
const CHANGING: &[&str] = &[
    "Bash",
    "BashOutput",
    "KillShell",
    "Edit",
    "MultiEdit",
    "Write",
    "NotebookEdit",
    "Task",
    "Agent",
    "TodoWrite",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskStop",
    "TaskOutput",
    "ToolSearch",
    "SlashCommand",
];

/// The arguments; the prompt comes on standard input. `system` is a file when it is too long for an argument.
pub(super) fn arguments(task: &HostTask, system: Option<&Path>) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        ["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
            .map(OsString::from)
            .to_vec();
    let mut add = |name: &str, value: OsString| args.extend([name.into(), value]);
    match (task.access, task.guard) {
        (Access::ReadOnly, _) => add("--permission-mode", "dontAsk".into()),
        (Access::ReadWrite, Guard::Kept) => add("--permission-mode", "acceptEdits".into()),
        (Access::ReadWrite, Guard::Off) => add("--permission-mode", "bypassPermissions".into()),
    }
    if let Some(tools) = available(task) {
        add("--tools", tools.join(",").into());
    }
    let approved = known(&task.tools.approved);
    if !approved.is_empty() {
        add("--allowedTools", approved.join(",").into());
    }
    let denied = known(&task.tools.denied);
    if !denied.is_empty() {
        add("--disallowedTools", denied.join(",").into());
    }
    if let Some(model) = &task.model {
        add("--model", model.into());
    }
    if let Some(turns) = task.max_turns {
        add("--max-turns", turns.to_string().into());
    }
    if let Some(most) = task.max_micro_usd {
        add("--max-budget-usd", format!("{}.{:06}", most / 1_000_000, most % 1_000_000).into());
    }
    match system {
        Some(file) => add("--append-system-prompt-file", file.into()),
        None if task.system.is_empty() => {}
        None => add("--append-system-prompt", (&task.system).into()),
    }
    if let Some(session) = &task.resume {
        add("--resume", (&session.id).into());
    }
    args.extend(task.arguments.iter().cloned());
    args
}

/// Which tools are there at all; `None` leaves it to the host.
fn available(task: &HostTask) -> Option<Vec<&str>> {
    // A command can do anything: with read-only access it is there only for the commands that were approved.
    let may_run = |name: &str| {
        let is_approved = |rule: &String| rule.starts_with("Bash(");
        name == "Bash" && task.tools.approved.iter().any(is_approved)
    };
    let is_listed = |name: &&str| task.tools.only.as_ref().is_none_or(|only| lists(only, name));
    match task.access {
        Access::ReadOnly => {
            let bash = may_run("Bash").then_some("Bash");
            Some(READING.iter().copied().chain(bash).filter(is_listed).collect())
        }
        Access::ReadWrite => {
            task.tools.only.as_ref()?;
            Some(READING.iter().chain(CHANGING).copied().filter(is_listed).collect())
        }
    }
}

fn lists(names: &[String], tool: &str) -> bool {
    names.iter().any(|name| match name.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => name == tool,
    })
}

/// Rules about its own tools, by their full names; the others speak of tools of ours.
fn known(rules: &[String]) -> Vec<String> {
    let all = || READING.iter().chain(CHANGING).copied();
    let of = |rule: &String| -> Vec<String> {
        let name = rule.split_once('(').map_or(rule.as_str(), |(name, _)| name);
        match name.strip_suffix('*') {
            Some(start) => all().filter(|tool| tool.starts_with(start)).map(str::to_owned).collect(),
            None if all().any(|tool| tool == name) || name.starts_with("mcp__") => vec![rule.clone()],
            None => Vec::new(),
        }
    };
    rules.iter().flat_map(of).collect()
}

/// Reads its lines.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Tokens of the message under way: its beginning tells the input, its end the output.
    message: Usage,
    /// Of the messages before it, since the last result.
    messages: Usage,
    /// What the results so far told. There are several when work in the background comes back.
    settled: Usage,
    /// `None` inside: one of them was unknown.
    cost: Option<Option<u64>>,
    /// Whether this message's text came in pieces already.
    was_streamed: bool,
}

impl Reader for Stream {
    fn read(&mut self, line: &Value, story: &mut Story) {
        let parent = text(line, "/parent_tool_use_id");
        match text(line, "/type") {
            Some("system") => system(line, story),
            Some("stream_event") if parent.is_none() => self.piece(line, story),
            Some("assistant") => self.assistant(line, parent, story),
            Some("user") => results(line, story),
            Some("result") => self.result(line, story),
            _ => {}
        }
    }
}

impl Stream {
    fn piece(&mut self, line: &Value, story: &mut Story) {
        match text(line, "/event/type") {
            Some("message_start") => {
                self.messages = self.messages.plus(std::mem::take(&mut self.message));
                self.was_streamed = false;
                // What was said before is not the last word.
                story.verdict = None;
                story.text.clear();
                story.steps = story.steps.saturating_add(1);
                self.count(at(line, "/event/message/usage"), story);
            }
            Some("content_block_delta") => {
                if let Some(piece) = text(line, "/event/delta/text") {
                    self.was_streamed = true;
                    story.text.push_str(piece);
                    story.say(piece);
                }
            }
            Some("message_delta") => self.count(at(line, "/event/usage"), story),
            _ => {}
        }
    }

    fn count(&mut self, usage: &Value, story: &mut Story) {
        let counted = tokens(usage);
        let known = self.message;
        self.message = Usage {
            input_tokens: counted.input_tokens.or(known.input_tokens),
            output_tokens: counted.output_tokens.or(known.output_tokens),
            cache_read_tokens: counted.cache_read_tokens.or(known.cache_read_tokens),
            cache_write_tokens: counted.cache_write_tokens.or(known.cache_write_tokens),
        };
        story.used(self.settled.plus(self.messages).plus(self.message));
    }

    fn assistant(&mut self, line: &Value, parent: Option<&str>, story: &mut Story) {
        story.session(text(line, "/session_id"));
        for part in line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten() {
            match text(part, "/type") {
                Some("text") if parent.is_none() && !self.was_streamed => {
                    let said = text(part, "/text").unwrap_or_default();
                    said.clone_into(&mut story.text);
                    story.say(said);
                }
                Some("tool_use") => {
                    let id = text(part, "/id").unwrap_or_default();
                    let name = text(part, "/name").unwrap_or_default();
                    story.tool_started(id, name, at(part, "/input").clone(), parent);
                }
                _ => {}
            }
        }
    }

    fn result(&mut self, line: &Value, story: &mut Story) {
        story.session(text(line, "/session_id"));
        story.verdict = Some(verdict(line));
        let said = text(line, "/result").unwrap_or_default();
        if story.verdict == Some(Verdict::Done) && !said.is_empty() {
            said.clone_into(&mut story.text);
        }
        if story.steps == 0 {
            let turns = number(line, "/num_turns").and_then(|turns| u32::try_from(turns).ok());
            story.steps = turns.unwrap_or(0);
        }
        self.settle(line, story);
    }

    /// Tokens and cost of everything since the last result, agents it started and small calls on the side included.
    fn settle(&mut self, line: &Value, story: &mut Story) {
        let by_model =
            at(line, "/model_usage_since_last_result").as_object().filter(|models| !models.is_empty());
        let own = if let Some(models) = by_model {
            let (usage, cost) = by_models(models.values());
            let before = self.cost.unwrap_or(Some(0));
            self.cost = Some(before.zip(cost).map(|(before, cost)| before.saturating_add(cost)));
            usage
        } else {
            let usage = tokens(at(line, "/usage"));
            // An error before the first answer reports zeros: nothing was used, and nothing is known.
            if usage.output_tokens.is_none_or(|output| output == 0) {
                return;
            }
            // Versions without counts by result reckon the cost of this process.
            self.cost = Some(at(line, "/total_cost_usd").as_f64().and_then(micro_usd));
            usage
        };
        self.settled = self.settled.plus(own);
        (self.messages, self.message) = Default::default();
        story.used(self.settled);
        story.micro_usd = self.cost.flatten();
    }
}

fn system(line: &Value, story: &mut Story) {
    story.session(text(line, "/session_id"));
    match text(line, "/subtype") {
        Some("api_retry") => {
            let (attempt, most) = (at(line, "/attempt"), at(line, "/max_retries"));
            let why = text(line, "/error").unwrap_or("error");
            story.notice(&format!("retry {attempt} of {most}: {why} ({})", at(line, "/error_status")));
        }
        Some("background_tasks_changed") => {
            story.has_background = at(line, "/tasks").as_array().is_some_and(|tasks| !tasks.is_empty());
        }
        _ => {}
    }
}

fn results(line: &Value, story: &mut Story) {
    for part in line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten() {
        if text(part, "/type") == Some("tool_result") {
            let id = text(part, "/tool_use_id").unwrap_or_default();
            let is_error = at(part, "/is_error").as_bool().unwrap_or(false);
            story.tool_ended(id, is_error, &flat(at(part, "/content")));
        }
    }
}

/// The text of a result, which may be a text or a list of parts.
fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| text(part, "/text"));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn verdict(line: &Value) -> Verdict {
    let is_error = at(line, "/is_error").as_bool().unwrap_or(false);
    match text(line, "/subtype") {
        Some("error_max_turns" | "error_max_budget_usd") => return Verdict::TurnLimit,
        Some("success") if !is_error => return Verdict::Done,
        _ => {}
    }
    let errors = at(line, "/errors").as_array().into_iter().flatten().filter_map(Value::as_str);
    let errors: Vec<&str> = errors.collect();
    let said = text(line, "/result").filter(|said| !said.is_empty());
    Verdict::Failed(match said {
        _ if !errors.is_empty() => errors.join("; "),
        Some(said) => said.to_owned(),
        None => text(line, "/subtype").unwrap_or("error").to_owned(),
    })
}

/// Tokens of all models together, and what they cost if every price is known.
fn by_models<'a>(models: impl Iterator<Item = &'a Value>) -> (Usage, Option<u64>) {
    let mut sum = Usage::default();
    let mut cost = Some(0_u64);
    for used in models {
        let (read, written) =
            (number(used, "/cacheReadInputTokens"), number(used, "/cacheCreationInputTokens"));
        let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
        sum = sum.plus(Usage {
            input_tokens: number(used, "/inputTokens").map(|input| input.saturating_add(cached)),
            output_tokens: number(used, "/outputTokens"),
            cache_read_tokens: read,
            cache_write_tokens: written,
        });
        // For a model it does not know it takes the price of another one.
        let is_known = text(used, "/costBasis") != Some("unknown");
        let own = at(used, "/costUSD").as_f64().and_then(micro_usd).filter(|_| is_known);
        cost = cost.zip(own).map(|(sum, own)| sum.saturating_add(own));
    }
    (sum, cost)
}

/// It tells input without what was cached; ours is with it, as everybody else's.
fn tokens(usage: &Value) -> Usage {
    let (read, written) =
        (number(usage, "/cache_read_input_tokens"), number(usage, "/cache_creation_input_tokens"));
    let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    Usage {
        input_tokens: number(usage, "/input_tokens").map(|input| input.saturating_add(cached)),
        output_tokens: number(usage, "/output_tokens"),
        cache_read_tokens: read,
        cache_write_tokens: written,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a small positive number"
)]
fn micro_usd(usd: f64) -> Option<u64> {
    let micro = (usd * 1e6).round();
    (0.0..1e15).contains(&micro).then_some(micro as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Host;

    #[test]
    fn rules_speak_of_the_hosts_own_tools_by_their_full_names() {
        let mut task = HostTask::new(Host::Claude, "/", "x");
        task.access = Access::ReadWrite;
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        task.tools.only = Some(names(&["Read", "Web*", "Bash", "browser-*", "submit_result"]));
        task.tools.approved = names(&["Bash(git log:*)", "canvas-read"]);
        task.tools.denied = names(&["Web*", "browser-click", "Write(.github/**)", "mcp__db__drop"]);
        let args: Vec<String> =
            arguments(&task, None).iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let value = |name: &str| {
            let at = args.iter().position(|arg| arg == name);
            at.and_then(|at| args.get(at + 1)).cloned().unwrap_or_default()
        };
        assert_eq!(value("--tools"), "Read,WebFetch,WebSearch,Bash");
        assert_eq!(value("--allowedTools"), "Bash(git log:*)");
        assert_eq!(value("--disallowedTools"), "WebFetch,WebSearch,Write(.github/**),mcp__db__drop");
        task.access = Access::ReadOnly;
        assert_eq!(available(&task).unwrap(), ["Read", "WebFetch", "WebSearch", "Bash"]);
        task.tools.approved.clear();
        assert_eq!(available(&task).unwrap(), ["Read", "WebFetch", "WebSearch"]);
        task.tools.only = Some(names(&["*"]));
        task.access = Access::ReadWrite;
        assert!(available(&task).unwrap().contains(&"Edit"));
    }
}
