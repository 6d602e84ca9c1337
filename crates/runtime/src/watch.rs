//! Noticing that skills changed: blocks until something below the roots did, and things are quiet again.
//!
//! Says only that something changed; the caller discovers again, and the index makes that cheap. A root that does not
//! exist yet is awaited at its nearest existing parent.

use crate::Root;
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// An editor's save is several events; an installer's work goes on for a while. This long without any, it is over.
const QUIET: Duration = Duration::from_millis(150);
/// Something that never stops writing is reported this often all the same.
const LONGEST: Duration = Duration::from_secs(2);
/// Paths carried by one [`Change`]; past it only the fact counts.
const MAX_PATHS: usize = 1_000;

/// Something below the roots changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Some of the paths concerned: for logs. Not complete when `is_partial`.
    pub paths: BTreeSet<PathBuf>,
    pub is_partial: bool,
}

/// Watches a set of roots until dropped.
#[derive(Debug)]
pub struct Watch {
    watcher: RecommendedWatcher,
    events: Receiver<notify::Result<Event>>,
    roots: Vec<PathBuf>,
    /// What is watched now, and how.
    armed: HashMap<PathBuf, RecursiveMode>,
}

impl Watch {
    pub fn new(roots: &[Root]) -> io::Result<Self> {
        let (sender, events) = channel();
        let watcher = notify::recommended_watcher(sender).map_err(as_io)?;
        let roots = roots.iter().map(|root| root.path.clone()).collect();
        let mut watch = Self { watcher, events, roots, armed: HashMap::new() };
        watch.arm()?;
        Ok(watch)
    }

    /// Waits for a change, at most `timeout`. `None`: nothing happened.
    pub fn next(&mut self, timeout: Duration) -> Option<Change> {
        let until = Instant::now() + timeout;
        let mut change = Change::default();
        while !self.receive(until, &mut change)? {}
        let (mut quiet, latest) = (Instant::now() + QUIET, Instant::now() + LONGEST);
        while let Some(more) = self.receive(quiet.min(latest), &mut change) {
            if more {
                quiet = Instant::now() + QUIET;
            }
        }
        // Directories came or went: watch what is there now. A full table of watches is no reason to miss the rest.
        if self.arm().is_err() {
            change.is_partial = true;
        }
        Some(change)
    }

    /// One event. `None`: time is up. `Some(false)`: it does not concern the roots.
    fn receive(&mut self, until: Instant, change: &mut Change) -> Option<bool> {
        match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Ok(event)) => Some(self.note(&event, change)),
            // The watcher itself has trouble: better one discovery too many.
            Ok(Err(_)) => {
                change.is_partial = true;
                Some(true)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    fn note(&self, event: &Event, change: &mut Change) -> bool {
        if event.need_rescan() {
            change.is_partial = true;
            return true;
        }
        // Reading a skill is no change; discovery itself would cause the next one.
        if matches!(event.kind, EventKind::Access(_)) {
            return false;
        }
        let mut concerns = false;
        for path in event.paths.iter().filter(|path| self.concerns(path)) {
            concerns = true;
            if change.paths.len() < MAX_PATHS {
                change.paths.insert(path.clone());
            } else {
                change.is_partial = true;
            }
        }
        concerns
    }

    /// Below something watched whole, or on the way to a root.
    fn concerns(&self, path: &Path) -> bool {
        let whole = |(dir, mode): (&PathBuf, &RecursiveMode)| {
            *mode == RecursiveMode::Recursive && path.starts_with(dir)
        };
        self.armed.iter().any(whole) || self.roots.iter().any(|root| root.starts_with(path))
    }

    fn arm(&mut self) -> io::Result<()> {
        let wanted = wanted(&self.roots);
        let gone: Vec<_> = self.armed.keys().filter(|dir| !wanted.contains_key(*dir)).cloned().collect();
        for dir in gone {
            let _ = self.watcher.unwatch(&dir);
            self.armed.remove(&dir);
        }
        for (dir, mode) in wanted {
            // A parent watched for a missing root may itself have been replaced; asking again is cheap there.
            if self.armed.get(&dir) == Some(&mode) && mode == RecursiveMode::Recursive && dir.exists() {
                continue;
            }
            match self.watcher.watch(&dir, mode) {
                Ok(()) => {
                    self.armed.insert(dir, mode);
                }
                // Gone between looking and watching.
                Err(error) if matches!(error.kind, ErrorKind::PathNotFound) => {}
                Err(error) => return Err(as_io(error)),
            }
        }
        Ok(())
    }
}

/// What to watch: roots that exist, whole, with the targets of the links in them; else the nearest parent, flat.
fn wanted(roots: &[PathBuf]) -> HashMap<PathBuf, RecursiveMode> {
    let mut wanted = HashMap::new();
    for root in roots {
        if !root.is_dir() {
            if let Some(parent) = root.ancestors().skip(1).find(|dir| dir.is_dir()) {
                wanted.entry(parent.to_owned()).or_insert(RecursiveMode::NonRecursive);
            }
            continue;
        }
        wanted.insert(root.clone(), RecursiveMode::Recursive);
        // The root's own disappearance is seen from above.
        if let Some(parent) = root.parent() {
            wanted.entry(parent.to_owned()).or_insert(RecursiveMode::NonRecursive);
        }
        let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
        for link in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())) {
            match link.path().canonicalize() {
                // A link to a directory around the root is a loop, and watching it would be watching everything.
                Ok(target) if target.is_dir() && !root.starts_with(&target) => {
                    wanted.insert(target, RecursiveMode::Recursive);
                }
                _ => {}
            }
        }
    }
    wanted
}

fn as_io(error: notify::Error) -> io::Error {
    let at = error.paths.first().map(|path| format!(" (at `{}`)", path.display())).unwrap_or_default();
    match error.kind {
        ErrorKind::MaxFilesWatch => io::Error::new(
            io::ErrorKind::QuotaExceeded,
            format!(
                "the system's limit of watched directories is reached{at}; raise it with \
                 `sudo sysctl fs.inotify.max_user_watches=524288`"
            ),
        ),
        ErrorKind::Io(error) if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            io::Error::new(
                io::ErrorKind::QuotaExceeded,
                "the system's limit of watchers is reached; raise it with \
                 `sudo sysctl fs.inotify.max_user_instances=512`",
            )
        }
        ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}{at}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fugato_model::Scope;
    use std::fs;

    /// Long enough for a loaded machine; a passing test never waits for it.
    const SOON: Duration = Duration::from_secs(20);

    fn watch(roots: &[&Path]) -> Watch {
        let roots: Vec<_> = roots.iter().map(|path| Root::new(Scope::Global, 0, *path)).collect();
        Watch::new(&roots).unwrap()
    }

    #[test]
    fn many_writes_are_one_change() {
        let temp = tempfile::tempdir().unwrap();
        let mut watch = watch(&[temp.path()]);
        fs::create_dir(temp.path().join("skill")).unwrap();
        for n in 0..20 {
            fs::write(temp.path().join(format!("skill/{n}.md")), "x").unwrap();
        }
        let change = watch.next(SOON).unwrap();
        assert!(change.paths.iter().any(|path| path.ends_with("skill")), "{change:?}");
        assert_eq!(watch.next(Duration::from_millis(400)), None);
        fs::write(temp.path().join("skill/3.md"), "y").unwrap();
        assert!(watch.next(SOON).unwrap().paths.contains(&temp.path().join("skill/3.md")));
    }

    #[test]
    fn reading_is_no_change() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("a"), "x").unwrap();
        let mut watch = watch(&[temp.path()]);
        fs::read(temp.path().join("a")).unwrap();
        assert_eq!(watch.next(Duration::from_millis(300)), None);
    }

    #[test]
    fn a_root_that_comes_later_is_seen_and_then_watched_inside() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join(".agents/skills");
        let mut watch = watch(&[&root]);
        fs::write(temp.path().join("unrelated"), "x").unwrap();
        assert_eq!(watch.next(Duration::from_millis(300)), None);
        fs::create_dir(temp.path().join(".agents")).unwrap();
        assert!(watch.next(SOON).is_some());
        fs::create_dir(&root).unwrap();
        assert!(watch.next(SOON).is_some());
        fs::create_dir(root.join("技能")).unwrap();
        assert!(watch.next(SOON).is_some());
        fs::write(root.join("技能/SKILL.md"), "x").unwrap();
        assert!(watch.next(SOON).is_some());
        fs::remove_dir_all(temp.path().join(".agents")).unwrap();
        assert!(watch.next(SOON).is_some());
        fs::create_dir_all(&root).unwrap();
        assert!(watch.next(SOON).is_some());
        fs::write(root.join("again"), "x").unwrap();
        assert!(watch.next(SOON).is_some());
    }

    #[test]
    fn a_linked_skill_is_watched_where_it_lies() {
        let temp = tempfile::tempdir().unwrap();
        let (root, far) = (temp.path().join("root"), temp.path().join("far"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&far).unwrap();
        std::os::unix::fs::symlink(&far, root.join("linked")).unwrap();
        std::os::unix::fs::symlink(temp.path(), root.join("loop")).unwrap();
        let mut watch = watch(&[&root]);
        fs::write(far.join("SKILL.md"), "x").unwrap();
        assert!(watch.next(SOON).is_some());
    }

    #[test]
    fn limits_are_named_with_their_remedy() {
        let error = as_io(notify::Error::new(ErrorKind::MaxFilesWatch).add_path("/x".into()));
        assert!(error.to_string().contains("max_user_watches"), "{error}");
    }
}
