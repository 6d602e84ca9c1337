//! Where the state of a project lives: outside of it, and shared by all its worktrees.
//!
//! Reads what git wrote (`.git`, `commondir`) without running git. Creates nothing.

use crate::Places;
use crate::places::is_repository;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// `$HARNESS_DIR` if it is set and not empty, else `$FUGATO_HOME/projects/<slug>`.
pub fn state_dir(places: &Places, harness_dir: Option<&OsStr>) -> PathBuf {
    match harness_dir.filter(|dir| !dir.is_empty()) {
        Some(dir) => places.cwd.join(dir),
        None => places.home.join("projects").join(project_slug(&places.cwd)),
    }
}

/// Name of the repository's directory, `-`, and 12 hex digits of the SHA-256 of its canonical git common directory; all
/// worktrees and subdirectories share it. Without git, the same of the working directory itself.
pub fn project_slug(cwd: &Path) -> String {
    let identity = cwd.ancestors().find_map(common_dir).unwrap_or_else(|| canonical(cwd));
    let digest = fugato_skill::digest_bytes(identity.as_os_str().as_encoded_bytes());
    format!("{}-{}", readable_name(&identity), digest.short())
}

/// The git common directory of a directory that has a `.git`.
fn common_dir(dir: &Path) -> Option<PathBuf> {
    if !is_repository(dir) {
        return None;
    }
    let dot_git = dir.join(".git");
    let kind = fs::metadata(&dot_git).ok()?;
    if kind.is_dir() {
        return Some(canonical(&dot_git));
    }
    // A worktree or a submodule: a file with `gitdir: PATH`, relative to where it lies.
    let git_dir = dir.join(small_text(&dot_git)?.trim_end().strip_prefix("gitdir:")?.trim_start());
    let common = small_text(&git_dir.join("commondir")).map(|text| git_dir.join(text.trim_end()));
    Some(canonical(&common.unwrap_or(git_dir)))
}

/// These files hold one path; anything larger, and anything that could block, is not git's.
fn small_text(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= 64 * 1024).then(|| fs::read_to_string(path).ok()).flatten()
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The directory a person knows the repository by: letters and digits of any script, the rest as single hyphens.
fn readable_name(identity: &Path) -> String {
    let last = identity.file_name().and_then(OsStr::to_str);
    let named = if last == Some(".git") { identity.parent().unwrap_or(identity) } else { identity };
    let name = named.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = name.strip_suffix(".git").unwrap_or(&name);
    let mut slug = String::new();
    for c in name.chars() {
        // Room for the digest and for suffixes within the 255 bytes of a file name.
        if slug.len() >= 120 {
            break;
        }
        if c.is_alphanumeric() || c == '_' {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "project".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(home: &Path, cwd: &Path) -> Places {
        Places { home: home.to_owned(), user_home: None, cwd: cwd.to_owned() }
    }

    #[test]
    fn worktrees_and_subdirectories_share_the_state_of_their_repository() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let (repo, tree) = (base.join("我的 项目"), base.join("elsewhere"));
        let git_dir = repo.join(".git/worktrees/elsewhere");
        fs::create_dir_all(&git_dir).unwrap();
        fs::create_dir_all(repo.join("src/deep")).unwrap();
        fs::create_dir_all(&tree).unwrap();
        fs::write(git_dir.join("commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
        let slug = project_slug(&repo);
        assert!(slug.starts_with("我的-项目-") && slug.len() == "我的-项目-".len() + 12, "{slug}");
        assert_eq!(project_slug(&repo.join("src/deep")), slug);
        assert_eq!(project_slug(&tree), slug);
        let state = state_dir(&places(&base.join("home"), &tree), None);
        assert_eq!(state, base.join("home/projects").join(slug));
    }

    #[test]
    fn the_digits_are_those_of_the_common_directory() {
        let temp = tempfile::tempdir().unwrap();
        let repo = temp.path().canonicalize().unwrap().join("repo");
        fs::create_dir_all(repo.join(".git/refs")).unwrap();
        let digest = fugato_skill::digest_bytes(repo.join(".git").to_str().unwrap().as_bytes());
        assert_eq!(project_slug(&repo), format!("repo-{}", digest.short()));
    }

    #[test]
    fn without_git_the_working_directory_counts_and_two_of_one_name_differ() {
        let temp = tempfile::tempdir().unwrap();
        let (a, b) = (temp.path().join("a/x"), temp.path().join("b/x"));
        fs::create_dir_all(&a).unwrap();
        fs::create_dir_all(&b).unwrap();
        assert_ne!(project_slug(&a), project_slug(&b));
    }

    #[test]
    fn harness_dir_wins_unless_empty() {
        let places = places(Path::new("/home/f"), Path::new("/nowhere/p"));
        assert_eq!(state_dir(&places, Some(OsStr::new("/elsewhere"))), Path::new("/elsewhere"));
        assert_eq!(state_dir(&places, Some(OsStr::new("state"))), Path::new("/nowhere/p/state"));
        assert!(state_dir(&places, Some(OsStr::new(""))).starts_with("/home/f/projects"));
    }

    #[test]
    fn any_directory_name_becomes_a_safe_slug() {
        for (name, slug) in [
            ("/a/..hidden", "hidden"),
            ("/", "project"),
            ("/x/---", "project"),
            ("/x/a\u{202e}b\n", "a-b"),
            ("/x/repo.git", "repo"),
            ("/x/Ünï_cödé", "Ünï_cödé"),
        ] {
            assert_eq!(readable_name(Path::new(name)), slug);
        }
        assert!(readable_name(Path::new(&format!("/x/{}", "长".repeat(80)))).len() <= 123);
    }

    #[test]
    fn a_broken_git_file_does_not_hang_or_fail() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(".git"), "nonsense").unwrap();
        assert!(!project_slug(temp.path()).is_empty());
        fs::write(temp.path().join(".git"), "gitdir: /does/not/exist").unwrap();
        assert!(project_slug(temp.path()).starts_with("exist-"));
    }
}
