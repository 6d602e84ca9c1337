//! The files of runs of agents outside, written by whoever appended to the log: a few lines and one small document, without
//! folding anything. What is written here is what [`super::rebuild`] would write from the log.

use super::lines::{self, Directive};
use super::moment::timestamp;
use super::name::agent_dir;
use super::sentence::{self, cut, cut_to};
use super::status::{AgentWord, RunWord};
use super::{files, tail};
use crate::store::outside::{Aside, Known, NewAside};
use fugato_engine::outside::{AgentRow, RunRow, Stopped};
use fugato_engine::{Event, EventKind, Outcome, Report, Verb};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What some events add to the files of their run.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// Lines by the file they belong to, under the run's directory.
    lines: BTreeMap<String, Vec<u8>>,
    /// The newest directive.
    pub control: Option<Vec<u8>>,
    pub asides: BTreeMap<u32, NewAside>,
}

impl Pages {
    /// `first_new`: the number of the next agent that starts. `id_of`: the ids of agents. `verb_of`: which directive a
    /// number is. `read` and `sent`: events that came out of an inbox
    /// or outbox file, which has their lines already.
    pub fn gather(
        events: &[Event],
        [read, sent]: [&BTreeSet<u64>; 2],
        first_new: u32,
        id_of: &dyn Fn(u32) -> Option<String>,
        verb_of: &dyn Fn(u64) -> Option<Verb>,
    ) -> Self {
        let mut pages = Self::default();
        let mut redirect: Option<&str> = None;
        let mut next = first_new;
        for event in events {
            let (seq, at) = (event.seq, event.at);
            match &event.kind {
                EventKind::MessageSent { to, from, text, kind } => {
                    let Some(to) = id_of(*to) else { continue };
                    let instruction =
                        redirect.filter(|instruction| from == "user" && text.ends_with(instruction));
                    let line = lines::message(seq, at, from, &to, text, instruction, *kind);
                    if !read.contains(&seq) {
                        pages.add(&format!("{}/inbox.jsonl", dir_of(&to)), &line);
                    }
                    if from != "user" && !sent.contains(&seq) {
                        pages.add(&format!("{}/outbox.jsonl", dir_of(from)), &line);
                    }
                }
                EventKind::DirectiveRecorded { generation, verb, target, text } => {
                    redirect = text.as_deref().filter(|_| *verb == Verb::Redirect);
                    let directive = Directive::new(*generation, *verb, target, text.as_deref());
                    pages.add(CONTROL_LOG, &lines::directive(seq, at, event.by, &directive));
                    pages.control = Some(super::render::control_json(&directive));
                }
                EventKind::DirectiveApplied { generation, agent } => {
                    pages.receipt(event, *generation, id_of(*agent), "applied");
                }
                EventKind::DirectiveDelivered { generation, agent } => {
                    pages.receipt(event, *generation, id_of(*agent), "delivered");
                }
                EventKind::DirectiveExpired { generation, agent } => {
                    pages.receipt(event, *generation, id_of(*agent), "expired");
                }
                EventKind::DirectiveRefused { generation, reason, verb, target, text } => {
                    let directive = verb
                        .zip(target.as_ref())
                        .map(|(verb, target)| Directive::new(*generation, verb, target, text.as_deref()));
                    pages.add(CONTROL_LOG, &lines::refused(seq, at, *generation, reason, directive.as_ref()));
                }
                _ => {}
            }
            let mut speaker = speaker(&event.kind);
            if let EventKind::AgentStarted { .. } = event.kind {
                speaker = Some(next);
                next += 1;
            }
            if let Some(agent) = speaker {
                pages.say(event, agent, id_of, verb_of);
            }
        }
        pages
    }

    fn say(
        &mut self,
        event: &Event,
        agent: u32,
        id_of: &dyn Fn(u32) -> Option<String>,
        verb_of: &dyn Fn(u64) -> Option<Verb>,
    ) {
        let Some(sentence) = sentence::of_event(&event.kind, verb_of) else { return };
        let Some(id) = id_of(agent) else { return };
        self.add(&format!("{}/stream.jsonl", dir_of(&id)), &lines::stream(event.seq, event.at, &sentence));
        let aside = self.asides.entry(agent).or_default();
        (aside.progress, aside.heartbeat) = (Some(cut_to(&sentence.words.en, PROGRESS)), Some(event.at));
    }

    fn receipt(&mut self, event: &Event, generation: u64, agent: Option<String>, receipt: &'static str) {
        if let Some(agent) = agent {
            self.add(CONTROL_LOG, &lines::receipt(event.seq, event.at, generation, &agent, receipt));
        }
    }

    fn add(&mut self, file: &str, line: &[u8]) {
        self.lines.entry(file.to_owned()).or_default().extend_from_slice(line);
    }

    /// Appends the lines. The first failure is told; the other files are written all the same.
    pub fn append(&self, dir: &Path) -> io::Result<()> {
        let mut first = Ok(());
        for (file, bytes) in &self.lines {
            first = first.and(append(&dir.join(file), bytes));
        }
        first
    }
}

const CONTROL_LOG: &str = "control.log.jsonl";

fn dir_of(id: &str) -> String {
    format!("agents/{}", agent_dir(id))
}

/// The files of an agent.
pub(crate) fn agent_file(dir: &Path, id: &str, file: &str) -> PathBuf {
    dir.join(dir_of(id)).join(file)
}

fn speaker(kind: &EventKind) -> Option<u32> {
    match kind {
        EventKind::AgentStopped { agent, .. }
        | EventKind::AgentContinued { agent, .. }
        | EventKind::AgentWaiting { agent }
        | EventKind::AgentAnnounced { agent, .. }
        | EventKind::AgentReported { agent, .. }
        | EventKind::AgentWarned { agent, .. }
        | EventKind::ToolAsked { agent, .. }
        | EventKind::ToolDenied { agent, .. }
        | EventKind::ToolAnswered { agent, .. }
        | EventKind::HostObserved { agent: Some(agent), .. }
        | EventKind::DirectiveApplied { agent, .. }
        | EventKind::MessageSent { to: agent, .. } => Some(*agent),
        _ => None,
    }
}

/// What a call that needed no decision adds to the files of its agent.
pub(crate) fn show_call(dir: &Path, event: &Event, id: &str, acked: u64) -> io::Result<()> {
    let Some(sentence) = sentence::of_event(&event.kind, |_| None) else { return Ok(()) };
    let line = lines::stream(event.seq, event.at, &sentence);
    let first = append(&agent_file(dir, id, "stream.jsonl"), &line);
    let progress = cut_to(&sentence.words.en, PROGRESS);
    let row = AgentRow { path: id.to_owned(), acked, ..AgentRow::default() };
    first.and(write_status(dir, &row, &Aside { progress, heartbeat: event.at, ..Aside::default() }))
}

/// What an agent does, in few words.
const PROGRESS: usize = 60;

/// `status.json` of one agent.
pub(crate) fn write_status(dir: &Path, row: &AgentRow, aside: &Aside) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        agent_id: &'a str,
        status: AgentWord,
        phase: &'a str,
        progress: &'a str,
        last_heartbeat: Option<String>,
        acked_generation: u64,
        unread: usize,
    }
    let bytes = document(&Document {
        agent_id: &row.path,
        status: word_of(row),
        phase: "",
        progress: &aside.progress,
        last_heartbeat: (aside.heartbeat != 0).then(|| timestamp(aside.heartbeat)),
        acked_generation: row.acked,
        unread: row.unread.len(),
    });
    replace(&agent_file(dir, &row.path, "status.json"), &bytes, files::Durability::Later)
}

/// `run.json`, of everybody in it.
pub(crate) fn write_run(
    dir: &Path,
    id: &str,
    created_at: i64,
    run: &RunRow,
    agents: &[(u32, AgentRow)],
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        id: &'a str,
        status: RunWord,
        started_at: String,
        updated_at: String,
        generation: u64,
        seq: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason_zh: Option<&'a str>,
        agents: Vec<Entry<'a>>,
        dependencies: BTreeMap<&'a str, &'a [String]>,
    }
    #[derive(Serialize)]
    struct Entry<'a> {
        id: &'a str,
        role: &'a str,
        task: String,
        status: AgentWord,
        started_at: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        completed_at: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        dir: Option<String>,
    }
    let entry = |row: &'_ AgentRow| {
        let own = agent_dir(&row.path);
        (own != row.path).then(|| format!("agents/{own}"))
    };
    let entries = agents.iter().map(|(_, row)| Entry {
        id: &row.path,
        role: &row.role,
        task: cut(&row.task),
        status: word_of(row),
        started_at: timestamp(row.started_at),
        completed_at: row.stopped_at.map(timestamp),
        dir: entry(row),
    });
    let waits = agents.iter().filter(|(_, row)| !row.after.is_empty());
    let status = match run.ended {
        Some(Outcome::Complete) => RunWord::Complete,
        Some(Outcome::Failed) => RunWord::Failed,
        Some(Outcome::Aborted | Outcome::BudgetExhausted) => RunWord::Aborted,
        None if run.held || run.paused > 0 => RunWord::Paused,
        None => RunWord::Running,
    };
    let reason = run.reason.as_ref().filter(|_| status != RunWord::Complete);
    let bytes = document(&Document {
        id,
        status,
        started_at: timestamp(created_at),
        updated_at: timestamp(run.at),
        generation: run.generation,
        seq: run.seq,
        reason: reason.map(|words| words.en.as_str()),
        reason_zh: reason.map(|words| words.zh.as_str()),
        agents: entries.collect(),
        dependencies: waits.map(|(_, row)| (row.path.as_str(), row.after.as_slice())).collect(),
    });
    // Two processes may come here in the other order than they committed in: the later state stays.
    with_parent(&dir.join("run.json"), || fs::metadata(dir).map(drop))?;
    let _turn = files::take_turn(dir).map_err(|error| error.error)?;
    let found = files::read_file(&dir.join("run.json"), super::foreign::LARGEST).unwrap_or_default();
    let shown = super::foreign::read_run_json(&found).ok();
    let shown = shown.and_then(|shown| shown.rest.get("seq").and_then(serde_json::Value::as_u64));
    if shown.is_some_and(|shown| shown > run.seq) {
        return Ok(());
    }
    replace(&dir.join("run.json"), &bytes, files::Durability::Now)
}

/// `control.json`. What another program has put there meanwhile is not ours to lose: it stays until it is imported.
pub(crate) fn write_control(dir: &Path, known: &Known, bytes: &[u8]) -> io::Result<()> {
    match read_control(dir) {
        Some(found) if !known.has(&found) && !bytes.starts_with(&found) => Ok(()),
        _ => replace(&dir.join("control.json"), bytes, files::Durability::Now),
    }
}

pub(crate) fn read_control(dir: &Path) -> Option<Vec<u8>> {
    files::read_file(&dir.join("control.json"), 64 * 1024)
}

fn word_of(row: &AgentRow) -> AgentWord {
    match (row.stopped, row.report) {
        (Some(Stopped::Cancelled), _) => AgentWord::Cancelled,
        (Some(Stopped::Failed), _) => AgentWord::Failed,
        (Some(Stopped::Done), None | Some(Report::Done)) => AgentWord::Done,
        (Some(Stopped::Done), Some(Report::DoneWithConcerns)) => AgentWord::DoneWithConcerns,
        (Some(Stopped::Done), Some(Report::Blocked)) => AgentWord::Blocked,
        (Some(Stopped::Done), Some(Report::NeedsContext)) => AgentWord::NeedsContext,
        (None, _) if row.paused => AgentWord::Paused,
        (None, _) => AgentWord::Running,
    }
}

fn document(value: &impl Serialize) -> Vec<u8> {
    // Structures of strings and numbers always serialise.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Makes the directory only when it turns out to be missing.
fn with_parent<T>(path: &Path, work: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match work() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = path.parent().unwrap_or(Path::new("."));
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            work()
        }
        done => done,
    }
}

/// Whole lines, in one call: two processes that append at once do not mix theirs.
fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).read(true).create(true).mode(0o600).custom_flags(tail::CAREFULLY);
    let mut file = with_parent(path, || options.open(path))?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    // A line that a killed process left torn stays alone.
    let mut last = [b'\n'];
    if found.len() > 0 {
        file.read_exact_at(&mut last, found.len() - 1)?;
    }
    if last != [b'\n'] {
        file.write_all(b"\n")?;
    }
    file.write_all(bytes)
}

fn replace(path: &Path, bytes: &[u8], durability: files::Durability) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let parent = path.parent().unwrap_or(Path::new("."));
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let new = parent.join(format!("{}{}.{number}", files::TEMPORARY, std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(tail::CAREFULLY);
    let mut file = with_parent(path, || options.open(&new))?;
    let written = file.write_all(bytes).and_then(|()| match durability {
        files::Durability::Now => file.sync_all(),
        files::Durability::Later => Ok(()),
    });
    let placed = written.and_then(|()| fs::rename(&new, path));
    if placed.is_err() {
        // The old file is whole, which is what counts.
        let _ = fs::remove_file(&new);
    }
    placed
}
