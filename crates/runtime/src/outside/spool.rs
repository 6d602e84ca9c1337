//! When the store is locked or broken, what happened is put into a file of its own; the next call that gets through takes all
//! of them up, in the order they came.

use super::call::Call;
use super::host::Host;
use super::payload::{clean, parse};
use fugato_engine::outside::{Input, Who};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

#[derive(Serialize, Deserialize)]
struct Spooled {
    at: i64,
    host: String,
    event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    payload: String,
}

/// Larger payloads keep their fields, cut.
const LARGEST: usize = 64 * 1024;
/// More files than this at once are left to the next call.
const MOST: usize = 200;

/// Puts one event aside.
pub fn put(call: &Call, host: Host, event: &str, text: &str) -> std::io::Result<()> {
    let payload = if text.len() <= LARGEST {
        text.to_owned()
    } else {
        parse(text, false).map(|payload| payload.whole().to_string()).unwrap_or_default()
    };
    let spooled = Spooled {
        at: call.at,
        host: host.as_str().to_owned(),
        event: event.to_owned(),
        name: call.who.name.clone(),
        run: call.run.clone(),
        payload,
    };
    let dir = dir(&call.state);
    DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
    let nanos =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let name = format!("{nanos:024}-{}", std::process::id());
    let new = dir.join(format!(".{name}"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(&serde_json::to_vec(&spooled).unwrap_or_default())?;
    // Whole or absent: a name without a dot is complete.
    fs::rename(&new, dir.join(name))
}

fn dir(state: &Path) -> PathBuf {
    state.join("spool")
}

/// Nothing waits. Whoever has put something aside is recorded before what happens now.
pub fn is_empty(state: &Path) -> bool {
    fs::symlink_metadata(dir(state)).is_err()
}

/// What waits, oldest first.
pub struct Waiting {
    files: Vec<PathBuf>,
    pub calls: Vec<(Call, Input)>,
}

/// Looks without taking anything away. To be called inside a write transaction: one process at a time is there.
pub fn waiting(state: &Path) -> Waiting {
    let dir = dir(state);
    let mut waiting = Waiting { files: Vec::new(), calls: Vec::new() };
    let Ok(entries) = fs::read_dir(&dir) else { return waiting };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.retain(|name| !name.to_string_lossy().starts_with('.'));
    names.sort();
    names.truncate(MOST);
    for name in names {
        let path = dir.join(name);
        if let Ok(bytes) = fs::read(&path) {
            waiting.calls.extend(understand(state, &bytes));
            waiting.files.push(path);
        }
    }
    waiting
}

impl Waiting {
    /// They are recorded. Before the commit, so that nobody takes them up twice.
    pub fn done(self, state: &Path) {
        if self.files.is_empty() {
            return;
        }
        for file in self.files {
            let _ = fs::remove_file(file);
        }
        // Fails while there is more, or another call is putting something there.
        let _ = fs::remove_dir(dir(state));
    }
}

fn understand(state: &Path, bytes: &[u8]) -> Option<(Call, Input)> {
    let Spooled { at, host, event, name, run, payload } = serde_json::from_slice(bytes).ok()?;
    let host = Host::named(&host)?;
    let (text, is_lossy) = clean(payload.as_bytes());
    let payload = parse(&text, is_lossy).ok()?;
    let who = Who { is_late: true, hears: false, ..super::hook::who(&payload, host, &event, name) };
    let input = payload.input(&event);
    Some((Call { state: state.to_owned(), run, who, at }, input))
}
