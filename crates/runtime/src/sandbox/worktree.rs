//! The repository of a git worktree. Committing in a worktree writes there, so it counts as a part of the project.
//!
//! The file that names it lies in the project, where commands write; it is believed only if the repository, where they
//! do not, names the worktree in return.

use std::path::{Path, PathBuf};

/// The common directory of the repository this project is a worktree of. `None` for everything else.
pub(super) fn repository_of(project: &Path) -> Option<PathBuf> {
    let link = project.join(".git");
    let own = line(&link)?.strip_prefix("gitdir:")?.trim().to_owned();
    let own = project.join(own).canonicalize().ok()?;
    let common = own.join(line(&own.join("commondir"))?).canonicalize().ok()?;
    let named = line(&own.join("gitdir"))?;
    let is_named = own.join(named).canonicalize().ok()? == link.canonicalize().ok()?;
    (own.parent()? == common.join("worktrees") && is_named).then_some(common)
}

/// The one line of such a file. Nothing else is as small, and nothing that could block is read.
fn line(path: &Path) -> Option<String> {
    let about = std::fs::symlink_metadata(path).ok()?;
    let is_small = about.is_file() && about.len() <= 64 * 1024;
    is_small.then(|| std::fs::read_to_string(path).ok()).flatten().map(|text| text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_repository_is_believed_only_if_it_names_the_worktree_in_return() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let (git, tree) = (base.join("main/.git"), base.join("tree"));
        let own = git.join("worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(&tree).unwrap();
        let forged = format!("gitdir: {}\n", own.display());
        fs::write(tree.join(".git"), &forged).unwrap();
        assert_eq!(repository_of(&tree), None, "it says nothing of this worktree");
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        assert_eq!(repository_of(&tree), Some(git.clone()));
        // Another project claims the same.
        let other = base.join("other");
        fs::create_dir_all(other.join("inner")).unwrap();
        fs::write(other.join(".git"), &forged).unwrap();
        assert_eq!(repository_of(&other), None);
        // A directory of the project plays the repository and leads elsewhere.
        fs::write(other.join(".git"), "gitdir: inner\n").unwrap();
        fs::write(other.join("inner/commondir"), format!("{}\n", base.display())).unwrap();
        fs::write(other.join("inner/gitdir"), format!("{}\n", other.join(".git").display())).unwrap();
        assert_eq!(repository_of(&other), None);
        assert_eq!(repository_of(&base.join("main")), None, "the repository itself is in its project");
    }
}
