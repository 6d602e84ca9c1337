//! The browser of a session: found, started at the first call, noticed when it dies, ended whatever happens. Each agent
//! has a context of its own in it.

use super::super::ToolContext;
use super::super::outcome::Failure;
use crate::process::{self, Attached, Spec, Streams, find_program};
use fugato_world::browser::{self, Browser, Context};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;

/// The start of a directory's name in the scratch directory: the rest is its owner and a number.
const PROFILE: &str = "chromium-";
/// Of what the browser complains about, for the sentence when it does not start.
const COMPLAINTS: usize = 4096;
/// Chromium's pipe is at 3 and 4; ours are at 0 and 1. What it prints itself goes nowhere.
const PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// Where a browser lives while there is one.
#[derive(Debug, Default)]
pub(in super::super) struct Host {
    running: tokio::sync::Mutex<Option<Session>>,
}

#[derive(Debug)]
struct Session {
    browser: Browser,
    contexts: HashMap<String, Arc<tokio::sync::Mutex<Context>>>,
    home: Home,
}

/// A process and its directory; both are gone soon after this is.
#[derive(Debug)]
struct Home {
    process: Option<Attached>,
    profile: PathBuf,
}

impl Drop for Home {
    fn drop(&mut self) {
        let profile = std::mem::take(&mut self.profile);
        let ended = self.process.take().map(Attached::kill);
        // A running browser would make its directory again.
        let _ = std::thread::Builder::new().spawn(move || {
            drop(ended.map(tokio::sync::oneshot::Receiver::blocking_recv));
            let _ = std::fs::remove_dir_all(profile);
        });
    }
}

/// The context of an agent, and whether it lost an earlier one.
pub(super) struct Seat {
    pub context: Arc<tokio::sync::Mutex<Context>>,
    pub is_new_browser: bool,
}

impl Host {
    /// The agent's context. Starts the browser if there is none, and again if it died.
    pub(super) async fn seat(&self, context: &ToolContext) -> Result<Seat, Failure> {
        let mut running = self.running.lock().await;
        let died = running.take_if(|session| !session.browser.is_alive());
        let is_new_browser = died.is_some_and(|session| session.contexts.contains_key(&context.agent));
        let session = match &mut *running {
            Some(session) => session,
            none => none.insert(start(context).await?),
        };
        if let Some(known) = session.contexts.get(&context.agent) {
            return Ok(Seat { context: Arc::clone(known), is_new_browser });
        }
        let made = session.browser.context().await.map_err(|error| Failure::new(error.to_string()))?;
        let made = Arc::new(tokio::sync::Mutex::new(made));
        session.contexts.insert(context.agent.clone(), Arc::clone(&made));
        Ok(Seat { context: made, is_new_browser })
    }

    pub async fn close(&self) {
        let Some(mut session) = self.running.lock().await.take() else { return };
        session.browser.close();
        if let Some(process) = session.home.process.take() {
            process.end(Duration::from_secs(3)).await;
        }
        let profile = session.home.profile.clone();
        let _ = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(profile)).await;
    }
}

async fn start(context: &ToolContext) -> Result<Session, Failure> {
    let program = find_browser(context.kept.settings.browser.as_deref(), &context.env).ok_or_else(|| {
        Failure::new(match &context.kept.settings.browser {
            Some(named) => format!("the browser `{}` of the setting browser.program was not found", named.to_string_lossy()),
            None => "no Chromium was found on this machine; the person can install one (Debian: apt-get install chromium) \
                or name it with the setting browser.program. Pages without scripts can be read with WebFetch"
                .to_owned(),
        })
    })?;
    let failed = |why: String| Failure::new(format!("the browser could not be started: {why}"));
    let profile = profile_in(&context.scratch).map_err(|error| failed(error.to_string()))?;
    let mut home = Home { process: None, profile };
    let (process, pipes) =
        process::attach(spec(&program, &home.profile, context)).await.map_err(|words| failed(words.en))?;
    home.process = Some(process);
    let complaints = pipes.errors.map(hear).unwrap_or_default();
    match Browser::connect(pipes.output, pipes.input, context.kept.guard()).await {
        Ok(browser) => Ok(Session { browser, contexts: HashMap::new(), home }),
        Err(error) => {
            let heard = complaints.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let heard = String::from_utf8_lossy(&heard).into_owned();
            let last: Vec<&str> = heard.lines().rev().take(3).collect();
            Err(failed(format!("{error}. {}", super::super::text::on_one_line(&last.join(" / ")))))
        }
    }
}

fn spec(program: &Path, profile: &Path, context: &ToolContext) -> Spec {
    let mut spec = Spec::new("/bin/sh", profile);
    spec.args = vec!["-c".into(), PIPES.into(), program.into()];
    spec.args.extend(
        browser::arguments(&profile.to_string_lossy(), browser_is_sandboxed())
            .into_iter()
            .map(OsString::from),
    );
    // Nothing of the person's: no home with other profiles, no keys, no proxies.
    let path = context.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    spec.env = vec![
        ("PATH".into(), path.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())),
        ("HOME".into(), profile.into()),
        // The profile, where it is started: Chromium makes a socket there, whose path may have a hundred bytes at most.
        ("TMPDIR".into(), ".".into()),
        ("LANG".into(), "C.UTF-8".into()),
    ];
    spec.streams = Streams::Separate;
    spec.grace = Duration::from_secs(2);
    spec.log = context.processes.clone();
    spec
}

/// Reads what the browser complains about, so that it never waits for a reader, and keeps the end.
fn hear(mut errors: tokio::net::unix::pipe::Receiver) -> Arc<Mutex<Vec<u8>>> {
    let heard: Arc<Mutex<Vec<u8>>> = Arc::default();
    let keep = Arc::clone(&heard);
    // Ends with the process: the last writer closes the pipe.
    tokio::spawn(async move {
        let mut chunk = vec![0; 4096];
        while let Ok(read @ 1..) = errors.read(&mut chunk).await {
            let mut kept = keep.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(chunk.get(..read).unwrap_or_default());
            let surplus = kept.len().saturating_sub(COMPLAINTS);
            kept.drain(..surplus);
        }
    });
    heard
}

/// The browser this machine has: the one that was named, else one on the `PATH`, else one in a usual place.
pub fn find_browser(named: Option<&OsStr>, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let is_path = |name: &OsStr| Path::new(name).components().count() > 1;
    match named {
        Some(path) if is_path(path) => Some(PathBuf::from(path)).filter(|path| path.is_file()),
        Some(name) => find_program(name, env),
        None => browser::PROGRAMS
            .iter()
            .find_map(|name| find_program(OsStr::new(name), env))
            .or_else(|| browser::USUAL_PLACES.iter().map(PathBuf::from).find(|path| path.is_file())),
    }
}

/// Whether a browser runs in Chromium's own sandbox here: it refuses to for root.
pub fn browser_is_sandboxed() -> bool {
    !rustix::process::geteuid().is_root()
}

/// A fresh directory, private. What a killed owner left is removed first.
fn profile_in(scratch: &Path) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt as _;
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let scratch = if scratch.as_os_str().is_empty() { std::env::temp_dir() } else { scratch.to_owned() };
    std::fs::create_dir_all(&scratch)?;
    let scratch = scratch.canonicalize()?;
    for entry in std::fs::read_dir(&scratch)?.flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|name| name.strip_prefix(PROFILE)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !is_alive(owner)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let profile = scratch.join(format!("{PROFILE}{}-{number}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&profile)?;
    Ok(profile)
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}
