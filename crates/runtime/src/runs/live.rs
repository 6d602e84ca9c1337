//! What models and programs say while they say it, for whoever watches from another process. Nothing of it is stored, and a
//! listener that is slow loses some: it sees the gap by the numbers, and the finished message is in the log.
//!
//! A listener has a socket in the state directory; the session that works on the run sends to each it finds there. While
//! nobody listens, that costs a look four times a second, and only while somebody speaks.

use super::session::{Notice, Watcher};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Something that was said just now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spoken {
    /// Counts what the session said; a gap is what was lost.
    pub n: u64,
    pub agent: String,
    pub what: Speech,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speech {
    /// All of it so far, or the end of that: for a listener that has just come.
    SoFar(String),
    More(String),
    /// It is whole: the log has it, or will.
    Over,
}

/// What is kept for a listener that comes in the middle.
const KEPT: usize = 16 * 1024;
/// A datagram holds this with room to spare.
const MOST_AT_ONCE: usize = 24 * 1024;
const LOOK: Duration = Duration::from_millis(250);
/// Paths of sockets are short everywhere.
const LONGEST_PATH: usize = 100;

fn place(state: &Path, run: &str) -> PathBuf {
    state.join("live").join(run)
}

/// The name of a socket that the system takes, however deep the directory is.
fn address(dir: &Path, open: &File, name: &str) -> PathBuf {
    let path = dir.join(name);
    if path.as_os_str().len() <= LONGEST_PATH {
        return path;
    }
    PathBuf::from(format!("/proc/self/fd/{}/{name}", open.as_raw_fd()))
}

/// The end that listens.
#[derive(Debug)]
pub struct Listener {
    socket: UnixDatagram,
    file: PathBuf,
}

impl Listener {
    pub fn open(state: &Path, run: &str) -> io::Result<Self> {
        let dir = place(state, run);
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        sweep(&dir, |pid| crate::store::process::look(pid) == crate::store::process::Seen::Gone);
        let own = std::process::id();
        let mut number = 0u32;
        let name = loop {
            let name = format!("{own}-{number}");
            if fs::symlink_metadata(dir.join(&name)).is_err() {
                break name;
            }
            number += 1;
        };
        let open = File::open(&dir)?;
        let socket = UnixDatagram::bind(address(&dir, &open, &name))?;
        Ok(Self { socket, file: dir.join(name) })
    }

    /// The next that comes within this time.
    pub fn hear(&self, wait: Duration) -> Option<Spoken> {
        self.socket.set_read_timeout(Some(wait)).ok()?;
        let mut bytes = vec![0; 64 * 1024];
        let count = self.socket.recv(&mut bytes).ok()?;
        serde_json::from_slice(bytes.get(..count)?).ok()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
        // Only when nobody else listens.
        let _ = self.file.parent().map(fs::remove_dir);
    }
}

/// Nothing of this process listens any more: for one that is about to end without waiting for its threads.
pub fn stop_listening(state: &Path) {
    let own = std::process::id();
    for dir in fs::read_dir(state.join("live")).into_iter().flatten().flatten() {
        sweep(&dir.path(), |pid| pid == own);
        let _ = fs::remove_dir(dir.path());
    }
}

/// Removes the places of some processes.
fn sweep(dir: &Path, is_meant: impl Fn(u32) -> bool) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.split('-').next()?.parse().ok());
        if pid.is_some_and(&is_meant) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A watcher that also tells whoever listens elsewhere.
pub(super) fn overheard(state: &Path, run: &str, mut watcher: Watcher) -> Watcher {
    let mut speaker = Speaker::new(place(state, run));
    Box::new(move |notice| {
        match &notice {
            Notice::Live { agent, text } => speaker.says(agent, text),
            Notice::Said { agent } | Notice::Retry { agent, .. } => speaker.is_over(agent),
            _ => {}
        }
        watcher(notice);
    })
}

struct Speaker {
    dir: PathBuf,
    open: Option<File>,
    socket: Option<UnixDatagram>,
    listeners: BTreeSet<String>,
    looked: Option<Instant>,
    so_far: HashMap<String, String>,
    n: u64,
}

impl Speaker {
    fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            open: None,
            socket: None,
            listeners: BTreeSet::new(),
            looked: None,
            so_far: HashMap::new(),
            n: 0,
        }
    }

    fn says(&mut self, agent: &str, text: &str) {
        self.look();
        let so_far = self.so_far.entry(agent.to_owned()).or_default();
        so_far.push_str(text);
        if so_far.len() > 2 * KEPT {
            *so_far = tail(so_far, KEPT).to_owned();
        }
        let mut rest = text;
        while !rest.is_empty() {
            let (now, later) = split(rest, MOST_AT_ONCE);
            self.tell(agent, Speech::More(now.to_owned()));
            rest = later;
        }
    }

    fn is_over(&mut self, agent: &str) {
        if self.so_far.remove(agent).is_some() {
            self.tell(agent, Speech::Over);
        }
    }

    /// Who is there now? Whoever is new is told what was said so far.
    fn look(&mut self) {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return;
        }
        self.looked = Some(Instant::now());
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let found: BTreeSet<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        if found.is_empty() {
            (self.open, self.socket) = (None, None);
        } else if self.open.is_none() {
            self.open = File::open(&self.dir).ok();
            self.socket = UnixDatagram::unbound().ok().filter(|socket| socket.set_nonblocking(true).is_ok());
        }
        let new: Vec<String> = found.difference(&self.listeners).cloned().collect();
        self.listeners = found;
        for listener in new {
            for (agent, text) in self.so_far.clone() {
                let what = Speech::SoFar(tail(&text, KEPT).to_owned());
                let _ = self.send(&listener, &Spoken { n: self.n, agent, what });
            }
        }
    }

    fn tell(&mut self, agent: &str, what: Speech) {
        self.n += 1;
        let spoken = Spoken { n: self.n, agent: agent.to_owned(), what };
        let deaf: Vec<String> =
            self.listeners.iter().filter(|listener| self.send(listener, &spoken).is_err()).cloned().collect();
        for listener in deaf {
            self.listeners.remove(&listener);
            // Its process is gone, and so is its place.
            let _ = fs::remove_file(self.dir.join(&listener));
        }
    }

    /// An error: nobody listens there. One that is only slow loses this.
    fn send(&self, listener: &str, spoken: &Spoken) -> io::Result<()> {
        let (Some(socket), Some(open)) = (&self.socket, &self.open) else { return Ok(()) };
        let bytes = serde_json::to_vec(spoken).unwrap_or_default();
        match socket.send_to(&bytes, address(&self.dir, open, listener)) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Err(error),
            _ => Ok(()),
        }
    }
}

/// The last bytes of a text, from the beginning of a character on.
fn tail(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}

fn split(text: &str, most: usize) -> (&str, &str) {
    let mut at = text.len().min(most);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    text.split_at_checked(at).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    fn say(watcher: &mut Watcher, text: &str) {
        watcher(Notice::Live { agent: "作者".into(), text: text.into() });
    }

    fn heard(listener: &Listener) -> Speech {
        listener.hear(SOON).expect("something was said").what
    }

    #[test]
    fn whoever_comes_hears_what_was_said_so_far_and_then_the_rest() {
        // Deeper than a socket's own path may be.
        let room = tempfile::tempdir().unwrap();
        let state = room.path().join("深".repeat(40)).join("project-0123456789ab");
        fs::create_dir_all(&state).unwrap();
        let mut watcher = overheard(&state, "run_a", Box::new(|_| {}));
        say(&mut watcher, "从前");
        let listener = Listener::open(&state, "run_a").unwrap();
        std::thread::sleep(LOOK);
        say(&mut watcher, "有一座");
        assert_eq!(heard(&listener), Speech::SoFar("从前".into()));
        assert_eq!(heard(&listener), Speech::More("有一座".into()));
        let long = "山".repeat(20_000);
        say(&mut watcher, &long);
        let mut whole = String::new();
        while whole.len() < long.len() {
            let Speech::More(part) = heard(&listener) else { panic!() };
            whole.push_str(&part);
        }
        assert_eq!(whole, long);
        watcher(Notice::Said { agent: "作者".into() });
        assert_eq!(heard(&listener), Speech::Over);
        drop(listener);
        assert!(!state.join("live/run_a").exists(), "nothing is left");
    }

    #[test]
    fn a_listener_that_died_or_never_reads_holds_nobody() {
        let state = tempfile::tempdir().unwrap();
        let dead = Listener::open(state.path(), "run_a").unwrap();
        let file = dead.file.clone();
        // Its socket is closed; its place is left.
        let left = file.with_extension("left");
        fs::rename(&file, &left).unwrap();
        drop(dead);
        let deaf = Listener::open(state.path(), "run_a").unwrap();
        let mut watcher = overheard(state.path(), "run_a", Box::new(|_| {}));
        for _ in 0..5_000 {
            say(&mut watcher, "words ");
        }
        assert!(!left.exists(), "the place of the dead one is cleared");
        assert!(deaf.hear(SOON).is_some());
        stop_listening(state.path());
        assert!(!state.path().join("live/run_a").exists());
    }
}
