//! `fugato events RUN`: the log, as it is or as it grows. Reads only what is new, whatever came before.

use super::reporter::duration;
use super::{find, journal_error, reader, store_error};
use crate::app::App;
use crate::error::{CliError, Outcome};
use crate::printer::{paint, style};
use clap::Args;
use clap_complete::ArgValueCandidates;
use fugato_engine::{Callable, EventKind, Standing};
use fugato_model::{Exit, Words, words};
use fugato_runtime::runs::{JournalError, decode, names_blob};
use fugato_runtime::store::{Lookup, Reader, RunRow, RunStatus, StoreError};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Print the events of a run.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// The run, or the beginning of its id [default: the newest]
    #[arg(add = ArgValueCandidates::new(crate::complete::runs))]
    run: Option<String>,
    /// Go on until the run ends, with what another process adds
    #[arg(long, short)]
    follow: bool,
    /// Only events after the one with this number [default: all]
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// Only events of this type, such as run.ended or node.* (repeatable) [default: all]
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Print each event as one line of JSON
    #[arg(long)]
    jsonl: bool,
}

/// How often a followed log is looked at: at once for eyes, nothing for a machine (one indexed row).
const POLL: Duration = Duration::from_millis(100);
/// Characters of an event's data on a line for eyes.
const SHOWN_CHARS: usize = 120;

pub fn run(args: &EventsArgs, app: &mut App) -> Outcome {
    let reader = reader(app)?;
    let row = find(&reader, args.run.as_deref())?;
    let shape = match (args.jsonl, app.out.json) {
        (true, _) => Shape::Lines,
        (false, true) => Shape::Document,
        (false, false) => Shape::Text,
    };
    let mut log = Log::new(&reader, &row.id, shape, args)?;
    log.begin(app)?;
    let exit = if args.follow {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CliError::internal(&error))?;
        runtime.block_on(follow(&mut log, app))?
    } else {
        log.print_new(app)?;
        Exit::Ok
    };
    log.end(app)?;
    Ok(exit)
}

/// Until the run ends, the person has enough, or nobody reads any more.
async fn follow(log: &mut Log<'_>, app: &mut App) -> Outcome {
    // Registered before anything is shown, so that there is no moment at which Ctrl-C is not quiet.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| CliError::internal(&error))?;
    let mut told = RunStatus::Running;
    loop {
        // The row first: events that were stored together with an end are there when it says so.
        let row = match log.reader.run(&log.id) {
            Ok(row) => row,
            Err(Lookup::Store(error)) => return Err(store_error(&error)),
            Err(_) => {
                let id = &log.id;
                app.out.note(&words!("run {id} was removed", "运行 {id} 已被移除"));
                return Ok(Exit::Ok);
            }
        };
        log.print_new(app)?;
        app.out.flush()?;
        if is_over(&row) || app.out.is_unread() {
            return Ok(Exit::Ok);
        }
        let status = row.effective_status();
        if status != told {
            if let Some(news) = standing_still(&row.id, &status) {
                app.out.note(&news);
            }
            told = status;
        }
        tokio::select! {
            _ = interrupt.recv() => return Ok(Exit::Interrupted),
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

fn is_over(row: &RunRow) -> bool {
    row.status.is_final() || row.status.as_str() == "budget_exhausted"
}

/// Why nothing comes, and what to type in another terminal.
fn standing_still(id: &str, status: &RunStatus) -> Option<Words> {
    match status.as_str() {
        "awaiting_input" => Some(words!(
            "waiting for an answer: fugato answer {id} TEXT",
            "等待回答：fugato answer {id} 内容"
        )),
        "paused" => Some(words!("paused. Go on: fugato resume {id}", "已暂停。继续：fugato resume {id}")),
        "interrupted" => Some(words!(
            "interrupted: its process is gone. Go on: fugato resume {id}",
            "已中断：其进程已不存在。继续：fugato resume {id}"
        )),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    Lines,
    /// One JSON document, written as it grows.
    Document,
}

struct Log<'r> {
    reader: &'r Reader,
    id: String,
    shape: Shape,
    types: &'r [String],
    /// The number of the next event to read.
    next: u64,
    printed: u64,
    /// Of the first event: times are shown from there.
    start: i64,
    /// Names of nodes by their number.
    nodes: Vec<String>,
    /// What a call adds to them, by the skill.
    skills: BTreeMap<String, Arc<Callable>>,
}

impl<'r> Log<'r> {
    fn new(reader: &'r Reader, id: &str, shape: Shape, args: &'r EventsArgs) -> Result<Self, CliError> {
        let mut log = Self {
            reader,
            id: id.to_owned(),
            shape,
            types: &args.types,
            next: args.since.unwrap_or(0).saturating_add(1),
            printed: 0,
            start: 0,
            nodes: Vec::new(),
            skills: BTreeMap::new(),
        };
        if shape == Shape::Text {
            let first = reader.events(id, 1, 1).map_err(|error| store_error(&error))?.next();
            if let Some(Ok((seq, bytes))) = first
                && let Ok(event) = decode(seq, &bytes, reader)
            {
                log.start = event.at;
                if let EventKind::RunCreated { spec } = event.kind {
                    log.nodes = spec.plan.nodes.iter().map(|node| node.id.clone()).collect();
                    log.skills = spec.skills.clone();
                }
            }
            log.learn_names()?;
        }
        Ok(log)
    }

    /// Calls before the first event that is printed have added nodes, too.
    fn learn_names(&mut self) -> Result<(), CliError> {
        if self.skills.is_empty() || self.next <= 1 {
            return Ok(());
        }
        let events = self.reader.events(&self.id, 1, self.next - 1).map_err(|error| store_error(&error))?;
        let learn = |_, bytes: &[u8]| {
            self.learn(bytes);
            ControlFlow::Continue(())
        };
        events.visit(learn).map(drop).map_err(|error| store_error(&error))
    }

    /// The names of the nodes that a call adds.
    fn learn(&mut self, bytes: &[u8]) {
        let is_call = |text: &str| text.contains("\"skill.called\"");
        if self.skills.is_empty() || !std::str::from_utf8(bytes).is_ok_and(is_call) {
            return;
        }
        let Ok(Value::Object(mut event)) = serde_json::from_slice(bytes) else { return };
        let kind = event.remove("kind").unwrap_or_default();
        let text = |key: &str| kind.get(key).and_then(Value::as_str).unwrap_or_default();
        let is_next = kind.get("node").and_then(Value::as_u64) == u64::try_from(self.nodes.len()).ok();
        let Some(skill) =
            self.skills.get(text("skill")).filter(|_| is_next && text("type") == "skill.called")
        else {
            return;
        };
        let added = skill.expand(text("skill"), text("id"), Standing { node: 0, phase: 0, first_phase: 0 });
        self.nodes.extend(added.nodes.into_iter().map(|node| node.id));
    }

    fn begin(&self, app: &mut App) -> Result<(), CliError> {
        match self.shape {
            Shape::Document => {
                let id = &self.id;
                app.out.line(format!("{{\"schema\":\"fugato.events/v1\",\"run\":\"{id}\",\"events\":["))
            }
            Shape::Text | Shape::Lines => Ok(()),
        }
    }

    fn end(&self, app: &mut App) -> Result<(), CliError> {
        match self.shape {
            Shape::Document => app.out.line("]}"),
            Shape::Text | Shape::Lines => Ok(()),
        }
    }

    fn print_new(&mut self, app: &mut App) -> Result<(), CliError> {
        let events =
            self.reader.events(&self.id, self.next, u64::MAX).map_err(|error| store_error(&error))?;
        let mut outcome = Ok(());
        let next = events
            .visit(|seq, bytes| match self.print(seq, bytes, app) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    outcome = Err(error);
                    ControlFlow::Break(())
                }
            })
            .map_err(|error| store_error(&error))?;
        self.next = next;
        outcome
    }

    fn print(&mut self, seq: u64, bytes: &[u8], app: &mut App) -> Result<(), CliError> {
        self.learn(bytes);
        let unreadable = |error: &dyn std::fmt::Display| {
            journal_error(&JournalError::Unreadable { seq, error: error.to_string() })
        };
        if !self.types.is_empty() {
            let peeked: Peeked<'_> = serde_json::from_slice(bytes).map_err(|error| unreadable(&error))?;
            if !self.types.iter().any(|pattern| fits(pattern, &peeked.kind.name)) {
                return Ok(());
            }
        }
        // Most events are printed as they are stored: nothing is made of them on the way.
        let text = match names_blob(bytes) {
            false => Cow::Borrowed(std::str::from_utf8(bytes).map_err(|error| unreadable(&error))?),
            true => match decode(seq, bytes, self.reader) {
                Ok(event) => {
                    Cow::Owned(serde_json::to_string(&event).map_err(|error| CliError::internal(&error))?)
                }
                // Long content that is lost: the event still says where it was.
                Err(JournalError::Store(StoreError::LostBlob { .. })) => String::from_utf8_lossy(bytes),
                Err(error) => return Err(journal_error(&error)),
            },
        };
        self.printed += 1;
        match self.shape {
            Shape::Lines => app.out.line(text),
            Shape::Document if self.printed > 1 => app.out.line(format!(",{text}")),
            Shape::Document => app.out.line(text),
            Shape::Text => {
                let value: Value = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
                app.out.line(self.line(seq, value))
            }
        }
    }

    fn line(&self, seq: u64, mut event: Value) -> String {
        let at = event.get("at").and_then(Value::as_i64).unwrap_or(self.start);
        let mut data = event.get_mut("kind").map(Value::take).unwrap_or_default();
        let kind = data.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut node = String::new();
        if let Some(object) = data.as_object_mut() {
            object.remove("type");
            let number = object.get("node").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
            if let Some(name) = number.and_then(|number| self.nodes.get(number)) {
                object.remove("node");
                node = format!("{} ", fugato_model::escape_for_terminal(name));
            }
        }
        let rest: String = data.to_string().chars().take(SHOWN_CHARS).collect();
        let rest = fugato_model::escape_for_terminal(&rest).into_owned();
        let time = paint(style::DIM, format!("{:>9}", duration(at.saturating_sub(self.start))));
        format!("{seq:>5} {time} {} {node}{rest}", paint(style::NAME, kind))
    }
}

/// Only the type of an event.
#[derive(Deserialize)]
struct Peeked<'b> {
    #[serde(borrow)]
    kind: PeekedKind<'b>,
}

#[derive(Deserialize)]
struct PeekedKind<'b> {
    #[serde(rename = "type", borrow)]
    name: Cow<'b, str>,
}

/// `node.*`, `*.failed`, `run.ended`; a bare `node` means all of `node.…`.
fn fits(pattern: &str, kind: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = kind.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty() || (rest.starts_with('.') && !first.contains('.'));
    };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_whole_by_family_or_with_stars() {
        for (pattern, kind, expected) in [
            ("node.*", "node.failed", true),
            ("node", "node.failed", true),
            ("node.", "node.failed", false),
            ("nod", "node.failed", false),
            ("*.failed", "node.failed", true),
            ("*", "run.ended", true),
            ("n*e.*d", "node.failed", true),
            ("n*x*d", "node.failed", false),
            ("run.ended", "run.ended", true),
            ("run.ended", "run.created", false),
            ("", "run.created", false),
            ("*d*d", "d", false),
        ] {
            assert_eq!(fits(pattern, kind), expected, "{pattern} {kind}");
        }
    }
}
