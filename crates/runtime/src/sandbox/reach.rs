//! What a command may reach, as the backends take it: places to read, places to write, places to hide.
//!
//! Landlock knows no exceptions beneath an allowed directory. So whatever holds something hidden is taken apart: its
//! other entries are allowed one by one. A link is never allowed by itself, since that would allow what it leads to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The places of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Always readable, even beneath what is hidden: the project, the skill's own directory, what the person opened.
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Where people keep secrets: hidden even inside a project, whose other entries are then allowed one by one.
    pub secrets: Vec<PathBuf>,
    /// Our own: hidden unless it lies in the project itself.
    pub private: Vec<PathBuf>,
}

/// The same, in real paths that do not contain each other's exceptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub hidden: Vec<PathBuf>,
}

/// A directory with more entries is not taken apart to the end: what comes after is not readable.
const MOST_ENTRIES: usize = 20_000;

impl Reach {
    /// Looks at the disk: which of the places exist, and what they really are.
    pub(super) fn places(&self) -> Places {
        let real = |paths: &[PathBuf]| -> BTreeSet<PathBuf> {
            paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
        };
        let (mut read, write) = (real(&self.read), real(&self.write));
        read.extend(write.iter().cloned());
        let (mut secrets, private) = (real(&self.secrets), real(&self.private));
        // What was asked for by name is no secret, nor is what lies in it; and nobody hides a whole home.
        secrets.retain(|secret| !read.iter().any(|path| secret == path) && secret.parent().is_some());
        let hidden: Vec<PathBuf> = secrets.iter().chain(&private).cloned().collect();
        let mut places = Places { hidden: hidden.clone(), ..Places::default() };
        // Among the devices is the terminal the person types on; the few that programs need are named by the backends.
        let everywhere = hidden.iter().map(PathBuf::as_path).chain([Path::new("/dev")]);
        take_apart(Path::new("/"), &everywhere.collect::<Vec<_>>(), &mut places.read);
        let secrets: Vec<&Path> = secrets.iter().map(PathBuf::as_path).collect();
        for path in &read {
            take_apart(path, &secrets, &mut places.read);
        }
        for path in &write {
            take_apart(path, &secrets, &mut places.write);
        }
        places
    }
}

/// The directory, or those of its entries that hide nothing.
fn take_apart(path: &Path, hidden: &[&Path], into: &mut Vec<PathBuf>) {
    if hidden.contains(&path) {
        return;
    }
    let below: Vec<&Path> = hidden.iter().copied().filter(|secret| secret.starts_with(path)).collect();
    if below.is_empty() {
        into.push(path.to_owned());
        return;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten().take(MOST_ENTRIES) {
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            take_apart(&entry.path(), &below, into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_something_hidden_is_taken_apart_and_links_are_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for dir in [
            "home/.ssh",
            "home/code/project",
            "home/.config/gh",
            "home/.config/other",
            "state/runs/1/scratch",
        ] {
            std::fs::create_dir_all(base.join(dir)).unwrap();
        }
        std::os::unix::fs::symlink(".ssh", base.join("home/keys")).unwrap();
        let reach = Reach {
            read: vec![],
            write: vec![base.join("home/code/project"), base.join("state/runs/1/scratch")],
            secrets: vec![base.join("home/.ssh"), base.join("home/.config/gh"), base.join("home/.aws")],
            private: vec![base.join("state")],
        };
        let places = reach.places();
        let below = |paths: &[PathBuf]| -> BTreeSet<String> {
            let rest = |path: &PathBuf| Some(path.strip_prefix(&base).ok()?.display().to_string());
            paths.iter().filter_map(rest).collect()
        };
        let set = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<_>>();
        let own = ["home/code/project", "state/runs/1/scratch"];
        assert_eq!(below(&places.write), set(&own));
        assert_eq!(below(&places.read), set(&[&own[..], &["home/code", "home/.config/other"]].concat()));
    }

    #[test]
    fn a_home_as_project_keeps_its_secrets_and_a_state_in_the_project_is_no_exception() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for dir in [".ssh", "code", "state"] {
            std::fs::create_dir_all(base.join(dir)).unwrap();
        }
        let reach =
            |secrets, private| Reach { write: vec![base.clone()], secrets, private, read: vec![] }.places();
        let home = reach(vec![base.join(".ssh")], vec![]);
        assert!(home.write.contains(&base.join("code")) && !home.write.contains(&base));
        assert!(!home.write.iter().chain(&home.read).any(|path| path.ends_with(".ssh")));
        assert_eq!(reach(vec![], vec![base.join("state")]).write, std::slice::from_ref(&base));
        // Asked for by name.
        let opened =
            Reach { read: vec![base.join(".ssh")], secrets: vec![base.join(".ssh")], ..Reach::default() };
        assert!(opened.places().read.iter().any(|path| base.join(".ssh").starts_with(path)));
    }
}
