//! Small programs that misbehave in one way each, and the real ones against a mock model.

mod fake;
mod owned;
mod real_claude;
mod real_codex;
mod streams;

use super::*;
use std::sync::{Arc, Mutex};

/// A home, a project and a place for throw-away files; none of them the machine's own.
struct Room {
    root: PathBuf,
    /// Removes it; a process that was told of a room leaves that to who made it.
    _own: Option<tempfile::TempDir>,
}

impl Room {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Beside the homes and not around them: Codex wants no home beneath the temporary directory.
        for name in ["home", "codex", "project", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let root = dir.path().canonicalize().unwrap();
        Self { root, _own: Some(dir) }
    }

    fn at(root: PathBuf) -> Self {
        Self { root, _own: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn env(&self, more: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let places = [("HOME", "home"), ("CODEX_HOME", "codex"), ("TMPDIR", "tmp")];
        let places = places.map(|(name, place)| (name.into(), self.path(place).into_os_string()));
        let path = ("PATH".into(), std::env::var_os("PATH").unwrap_or_default());
        let more = more.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        places.into_iter().chain([path]).chain(more).collect()
    }

    fn task(&self, host: Host, program: impl Into<OsString>, prompt: &str) -> HostTask {
        let mut task = HostTask::new(host, self.path("project"), prompt);
        task.program = program.into();
        task.env = self.env(&[]);
        task.limits.time = Duration::from_secs(180);
        task
    }

    /// A shell script that stands for a host.
    fn fake(&self, host: Host, body: &str) -> HostTask {
        use std::os::unix::fs::PermissionsExt as _;
        let file = self.path("fake");
        std::fs::write(&file, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        self.task(host, file, "do it")
    }
}

async fn run_all(task: HostTask) -> (HostEnd, Vec<HostEvent>) {
    run_until(task, CancelToken::new(), |_| false).await
}

/// Cancels as soon as an event fits.
async fn run_until(
    task: HostTask,
    cancel: CancelToken,
    fits: impl Fn(&HostEvent) -> bool + Send + Sync,
) -> (HostEnd, Vec<HostEvent>) {
    let mut events = Vec::new();
    let token = cancel.clone();
    let end = run(task, cancel, &mut |event| {
        if fits(&event) {
            token.cancel();
        }
        events.push(event);
    })
    .await;
    (end, events)
}

fn said(events: &[HostEvent]) -> String {
    let text = |event: &HostEvent| match event {
        HostEvent::Text(text) => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

/// Calls as `name` and whether they failed, in the order they ended; every started one must have ended.
fn calls(events: &[HostEvent]) -> Vec<(String, bool)> {
    let mut names = std::collections::BTreeMap::new();
    let mut ended = Vec::new();
    for event in events {
        match event {
            HostEvent::ToolStarted { id, name, .. } => {
                assert!(names.insert(id, name).is_none(), "{events:?}");
            }
            HostEvent::ToolEnded { id, is_error, .. } => {
                ended.push((names.remove(id).unwrap().clone(), *is_error));
            }
            _ => {}
        }
    }
    assert!(names.is_empty(), "never ended: {names:?}");
    ended
}

fn failure(end: &HostEnd) -> &Words {
    match &end.end {
        Ending::Failed(words) => words,
        other => panic!("{other:?}"),
    }
}

/// A log that keeps the marks of what was started.
fn marked() -> (ProcessLog, Arc<Mutex<Vec<String>>>) {
    let marks = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&marks);
    let log = ProcessLog::new(move |note| {
        if let crate::process::Note::Started(recorded) = note {
            told.lock().unwrap().push(recorded.mark.clone());
        }
    });
    (log, marks)
}

/// Living processes that carry one of the marks.
fn left(marks: &Mutex<Vec<String>>) -> Vec<String> {
    let marks = marks.lock().unwrap();
    assert!(!marks.is_empty(), "nothing was recorded");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let text = String::from_utf8_lossy(&environment).into_owned();
        let is_marked = text
            .split('\0')
            .filter_map(|part| part.strip_prefix("FUGATO_PROCESS="))
            .any(|value| value.split(':').any(|mark| marks.iter().any(|known| known == mark)));
        if is_marked {
            found.push(std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default());
        }
    }
    found
}

/// Living processes whose environment knows the room.
fn in_room(room: &Room) -> Vec<String> {
    let needle = format!("HOME={}", room.path("home").display());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let knows = entries.filter(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == needle.as_bytes())
    });
    knows.map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default()).collect()
}

/// Seconds nobody else on this machine sleeps, whoever runs these tests at the same time.
fn unusual_time(whole: u32) -> String {
    format!("{whole}.{}", std::process::id())
}

/// Living processes that were started with this argument.
fn started_with(argument: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|part| part == argument.as_bytes())).count()
}

/// Runs a task whose model starts a command that writes `begun` and then waits; cancels in the middle of it.
async fn cancelled_in_a_command(room: &Room, task: HostTask) -> (HostEnd, Vec<HostEvent>) {
    let (cancel, begun) = (CancelToken::new(), room.path("project/begun"));
    let told = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let canceller = {
        let (cancel, told) = (cancel.clone(), Arc::clone(&told));
        tokio::spawn(async move {
            while !begun.exists() || !told.load(std::sync::atomic::Ordering::Acquire) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            cancel.cancel();
        })
    };
    let ended = run_until(task, cancel, |event| {
        let is_call = matches!(event, HostEvent::ToolStarted { .. });
        told.fetch_or(is_call, std::sync::atomic::Ordering::AcqRel);
        false
    })
    .await;
    canceller.abort();
    ended
}
