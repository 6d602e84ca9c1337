//! The directories in which agent files are looked for, the weakest first.

use super::Origin;
use crate::Places;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// One directory that may hold agent files. It need not exist.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub origin: Origin,
    pub dir: PathBuf,
    /// Links may not lead out of this directory. `None`: the person's own files, whose links are theirs.
    pub fence: Option<PathBuf>,
}

/// Of one directory, the first one wins: the same order as for skills.
const CLIENT_DIRS: [&str; 2] = [".agents/agents", ".claude/agents"];

pub(super) fn roots(places: &Places) -> Vec<Root> {
    let mut roots = Vec::new();
    let mut seen = HashSet::new();
    let mut push = |origin, dir: PathBuf, fence: Option<&Path>| {
        let identity = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        if seen.insert(identity) {
            roots.push(Root { origin, dir, fence: fence.map(Path::to_owned) });
        }
    };
    if let Some(home) = &places.user_home {
        for client in CLIENT_DIRS.iter().rev() {
            push(Origin::User, home.join(client), None);
        }
    }
    push(Origin::User, places.home.join("agents"), None);
    let project = places.project_root();
    let mut dirs: Vec<&Path> = places.cwd.ancestors().take_while(|dir| dir.starts_with(project)).collect();
    dirs.reverse();
    for dir in dirs {
        for client in CLIENT_DIRS.iter().rev() {
            push(Origin::Project, dir.join(client), Some(project));
        }
    }
    roots
}
