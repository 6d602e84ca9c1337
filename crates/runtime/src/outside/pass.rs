//! A pass: a small file that says of one agent "there is nothing to decide". Found by the host's names for the agent.
//!
//! It is written while the leaves of its run are held, right after a commit that left the agent plain, and it is withdrawn
//! inside the transaction that makes the agent anything else, before that commits. It counts only together with open leaves.

use fugato_engine::outside::{AgentRow, RunRow};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Of the agent: two names may share a file.
    pub key: String,
    pub run: String,
    /// Of the leaves it counts with.
    pub era: String,
    pub agent: u32,
    pub id: String,
    pub acked: u64,
    /// Bytes of its inbox and outbox files that are known; longer ones have news.
    pub inbox: u64,
    pub outbox: u64,
    pub process: Option<(u32, u64)>,
}

/// A pass that was read. Whether it still counts is asked once the leaves are held.
#[derive(Debug)]
pub struct Shown {
    pub pass: Pass,
    file: File,
}

impl Shown {
    pub fn of(state: &Path, key: &str) -> Option<Self> {
        let mut file = File::open(path(state, key)).ok()?;
        let mut bytes = Vec::with_capacity(512);
        file.read_to_end(&mut bytes).ok()?;
        let pass: Pass = serde_json::from_slice(&bytes).ok()?;
        (pass.key == key).then_some(Self { pass, file })
    }

    /// One that was withdrawn or replaced has no name any more.
    pub fn counts(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.nlink() > 0)
    }
}

impl Pass {
    /// Only while the leaves of the run are held.
    pub fn give(&self, state: &Path) -> io::Result<()> {
        if Shown::of(state, &self.key).is_some_and(|shown| shown.pass == *self) {
            return Ok(());
        }
        let target = path(state, &self.key);
        let new = target.with_extension(format!("{}.new", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = match options.open(&new) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(dir(state))?;
                options.open(&new)?
            }
            file => file?,
        };
        file.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(&new, target)
    }
}

/// May this agent be given a pass?
pub fn is_due(run: &RunRow, row: &AgentRow) -> bool {
    run.ended.is_none() && row.is_plain()
}

/// Before the commit of whatever makes the agent other than plain. A pass that cannot be taken away keeps that from happening.
pub fn withdraw(state: &Path, key: &str) -> io::Result<()> {
    match fs::remove_file(path(state, key)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn dir(state: &Path) -> PathBuf {
    state.join("outside/pass")
}

fn path(state: &Path, key: &str) -> PathBuf {
    dir(state).join(fugato_skill::digest_bytes(key.as_bytes()).short())
}
