//! One small file per owner of processes, so that whoever starts next can end what a killed owner left behind.
//!
//! The death signal reaches only what we started ourselves; what *that* started is left to the guardian, and to this when
//! the guardian was killed too. Named after the owner's number
//! and start, the file alone says whether its owner lives: no lease and no clock is asked, and a living owner's processes
//! are never touched.

use super::{Note, ProcessLog, Recorded, Swept, procfs, sweep};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the files are, inside a state directory.
const DIR: &str = "processes";
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Records the processes of this program in a state directory, until the log is dropped.
///
/// A file that cannot be written is no reason not to work: then only what carries our death signal is sure to end.
pub fn record_in(state_dir: &Path) -> ProcessLog {
    match Ledger::open(&state_dir.join(DIR)) {
        Ok(ledger) => ProcessLog::new(move |note| ledger.note(note)),
        Err(_) => ProcessLog::default(),
    }
}

/// Ends what owners left behind that are gone, and forgets them.
pub fn sweep_dead_owners(state_dir: &Path) -> Swept {
    let mut all = Swept::default();
    for entry in fs::read_dir(state_dir.join(DIR)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(Owner::parse) else { continue };
        if owner.is_alive() {
            continue;
        }
        let swept = sweep(&recorded(&entry.path()));
        all.ended.extend(&swept.ended);
        if swept.left.is_empty() {
            // Somebody else who sweeps at this moment may have been quicker.
            let _ = fs::remove_file(entry.path());
        }
        all.left.extend(swept.left);
    }
    all
}

/// A process that starts others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pid: u32,
    start: u64,
}

impl Owner {
    pub fn this_process() -> Self {
        let pid = std::process::id();
        Self { pid, start: procfs::stat(pid).map_or(0, |stat| stat.start) }
    }

    /// `1234-567`, the beginning of every mark this owner gives.
    pub fn name(self) -> String {
        format!("{}-{}", self.pid, self.start)
    }

    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('-');
        Some(Self { pid: parts.next()?.parse().ok()?, start: parts.next()?.parse().ok()? })
    }

    /// Stands for everything it starts.
    pub fn everything(self) -> Recorded {
        Recorded {
            pid: 0,
            start_time: self.start,
            boot_id: procfs::boot_id(),
            mark: format!("{}-", self.name()),
        }
    }

    fn is_alive(self) -> bool {
        procfs::stat(self.pid).is_some_and(|stat| stat.start == self.start && !stat.is_ended())
    }
}

struct Ledger {
    path: PathBuf,
    file: File,
}

impl Ledger {
    /// There before anything is started: an owner killed right after its first fork is known too.
    fn open(dir: &Path) -> io::Result<Self> {
        let owner = Owner::this_process();
        fs::create_dir_all(dir)?;
        // Sessions of one process have a file each; the owner's name ends at the second dash.
        let path = dir.join(format!("{}-{}", owner.name(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        let ledger = Self { path, file };
        ledger.note(Note::Started(&owner.everything()));
        Ok(ledger)
    }

    /// Whole lines in one write: a reader sees a line or none of it.
    fn note(&self, note: Note<'_>) {
        let Note::Started(recorded) = note else { return };
        if let Ok(mut line) = serde_json::to_vec(recorded) {
            line.push(b'\n');
            let _ = (&self.file).write_all(&line);
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Everyone who was told of a process holds the log until it has ended.
        let _ = fs::remove_file(&self.path);
    }
}

fn recorded(path: &Path) -> Vec<Recorded> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn orphan(mark: &str) -> Child {
        Command::new("sleep").arg("300").env(super::super::launch::MARK, mark).spawn().unwrap()
    }

    #[test]
    fn a_living_owner_is_left_alone_and_cleans_up_after_itself() {
        let state = tempfile::tempdir().unwrap();
        let log = record_in(state.path());
        let mut child = orphan(&format!("{}-0", Owner::this_process().name()));
        assert_eq!(sweep_dead_owners(state.path()), Swept::default());
        drop(log);
        assert_eq!(fs::read_dir(state.path().join(DIR)).unwrap().count(), 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn everything_a_dead_owner_marked_is_ended_even_what_it_had_no_time_to_record() {
        let state = tempfile::tempdir().unwrap();
        let dir = state.path().join(DIR);
        fs::create_dir_all(&dir).unwrap();
        // A number with another start is another process: this owner is gone.
        let gone = Owner { start: Owner::this_process().start - 1, ..Owner::this_process() };
        let text = format!("{}\n{{\"torn", serde_json::to_string(&gone.everything()).unwrap());
        fs::write(dir.join(format!("{}-0", gone.name())), text).unwrap();
        fs::write(dir.join("not an owner"), "").unwrap();
        let (mut ours, mut others) =
            (orphan(&format!("{}-7", gone.name())), orphan(&format!("{}0-7", gone.name())));
        let swept = sweep_dead_owners(state.path());
        assert_eq!(swept, Swept { ended: vec![ours.id()], left: Vec::new() });
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        ours.wait().unwrap();
        assert!(procfs::stat(others.id()).is_some_and(|stat| !stat.is_ended()));
        others.kill().unwrap();
        others.wait().unwrap();
    }
}
