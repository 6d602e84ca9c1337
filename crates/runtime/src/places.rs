//! The directories a command works with, taken from the environment once and passed on as values.

use fugato_model::{Scope, Words, words};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where things are for this invocation.
#[derive(Clone, Debug)]
pub struct Places {
    /// `FUGATO_HOME`, else the platform's data directory: skills, state, index.
    pub home: PathBuf,
    /// The person's home directory, for `~/.agents/skills` and friends. `None` when there is none.
    pub user_home: Option<PathBuf>,
    /// The directory the command was started in.
    pub cwd: PathBuf,
}

/// The command cannot even say where it is.
#[derive(Debug, thiserror::Error)]
pub enum PlacesError {
    #[error(
        "the working directory was deleted (found nothing at the place this shell is in; `cd` to one that exists)"
    )]
    CwdDeleted,
    #[error("the working directory is not readable: {0}")]
    CwdUnreadable(std::io::Error),
}

impl PlacesError {
    /// The same sentence in both languages.
    pub fn words(&self) -> Words {
        match self {
            Self::CwdDeleted => words!(
                "the working directory was deleted; `cd` to a directory that exists",
                "当前工作目录已被删除；请先 `cd` 到一个存在的目录"
            ),
            Self::CwdUnreadable(error) => {
                words!("the working directory is not readable: {error}", "无法读取当前工作目录：{error}")
            }
        }
    }
}

impl Places {
    /// The places of this process. Fails when the working directory is gone.
    pub fn current() -> Result<Self, PlacesError> {
        let cwd = std::env::current_dir().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => PlacesError::CwdDeleted,
            _ => PlacesError::CwdUnreadable(error),
        })?;
        Ok(Self::from_env(cwd, |name| std::env::var_os(name)))
    }

    /// Reads the environment through `var`, so tests need not change the process's own.
    pub fn from_env(cwd: PathBuf, var: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name: &str| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user_home = path("HOME").or_else(|| path("USERPROFILE"));
        let data = path("XDG_DATA_HOME").filter(|dir| dir.is_absolute()).or_else(|| {
            let home = user_home.as_ref()?;
            Some(if cfg!(target_os = "macos") {
                home.join("Library/Application Support")
            } else if cfg!(windows) {
                path("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming"))
            } else {
                home.join(".local/share")
            })
        });
        let home = path("FUGATO_HOME").map(|home| cwd.join(home));
        let home = home.or_else(|| Some(data?.join("fugato"))).unwrap_or_else(|| cwd.join(".fugato"));
        Self { home, user_home, cwd }
    }

    /// The directory into which skills of a scope are installed.
    pub fn scope_dir(&self, scope: &Scope) -> PathBuf {
        let skills = self.home.join("skills");
        match scope {
            Scope::Global => skills.join("global"),
            Scope::Project => self.project_root().join(".agents/skills"),
            Scope::Preset(name) => skills.join("preset").join(name),
            Scope::Character(name) => skills.join("character").join(name),
        }
    }

    /// The repository around the working directory, else the working directory.
    pub fn project_root(&self) -> &Path {
        self.cwd.ancestors().find(|dir| is_repository(dir)).unwrap_or(&self.cwd)
    }

    /// Whether the working directory lies in a repository.
    pub fn is_in_a_repository(&self) -> bool {
        self.cwd.ancestors().any(is_repository)
    }

    /// The persistent index of discovery.
    pub fn index_file(&self) -> PathBuf {
        self.home.join("cache/skills.index")
    }

    /// A path as a person would name it: relative beneath the working directory, `~/…` beneath home, else in full.
    pub fn show(&self, path: &Path) -> String {
        if let Ok(rest) = path.strip_prefix(&self.cwd) {
            let shown = rest.to_string_lossy();
            return if shown.is_empty() { ".".to_owned() } else { shown.into_owned() };
        }
        match self.user_home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.to_string_lossy()),
            None => path.to_string_lossy().into_owned(),
        }
    }
}

/// A directory with a `.git`, unless everybody may write to it, as to `/tmp`: whoever puts a `.git` there would decide for all
/// projects below it.
pub(crate) fn is_repository(dir: &Path) -> bool {
    holds_git(dir) && !is_everybodys(dir)
}

#[cfg(unix)]
fn is_everybodys(dir: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    const STICKY_AND_OPEN: u32 = 0o1002;
    std::fs::metadata(dir).is_ok_and(|dir| dir.permissions().mode() & STICKY_AND_OPEN == STICKY_AND_OPEN)
}

#[cfg(not(unix))]
fn is_everybodys(_dir: &Path) -> bool {
    false
}

/// Is this the top of a repository? Sandboxes put an empty `.git` where there is none while a command runs, to keep it from
/// making one: that must not make another project of it.
fn holds_git(dir: &Path) -> bool {
    let dot_git = dir.join(".git");
    match std::fs::read_dir(&dot_git) {
        Ok(mut entries) => entries.next().is_some(),
        // A worktree has a file; what cannot be read is somebody's.
        Err(_) => dot_git.exists(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_git_directory_makes_no_project() {
        let temp = tempfile::tempdir().unwrap();
        let inner = temp.path().join("inner");
        std::fs::create_dir_all(inner.join(".git")).unwrap();
        assert!(!holds_git(&inner) && !holds_git(temp.path()));
        std::fs::write(inner.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(temp.path().join(".git"), "gitdir: elsewhere\n").unwrap();
        assert!(holds_git(&inner) && holds_git(temp.path()));
    }

    fn places(vars: &[(&str, &str)]) -> Places {
        Places::from_env("/projects/项目".into(), |name| {
            vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
        })
    }

    #[cfg(unix)]
    #[test]
    fn a_repository_that_anybody_could_have_made_is_none() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().join("a/b");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(temp.path().join(".git/objects")).unwrap();
        let places = Places { home: "/f".into(), user_home: None, cwd: project.clone() };
        assert_eq!(places.project_root(), temp.path());
        std::fs::set_permissions(temp.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(places.project_root(), project);
        assert!(!places.is_in_a_repository());
    }

    #[test]
    fn fugato_home_comes_first_and_relative_data_directories_are_ignored() {
        assert_eq!(places(&[("FUGATO_HOME", "/f"), ("HOME", "/h")]).home, Path::new("/f"));
        assert_eq!(places(&[("FUGATO_HOME", "state")]).home, Path::new("/projects/项目/state"));
        assert!(places(&[("HOME", "/h"), ("XDG_DATA_HOME", "relative")]).home.starts_with("/h"));
        assert_eq!(places(&[("HOME", "/h"), ("XDG_DATA_HOME", "/d")]).home, Path::new("/d/fugato"));
        assert_eq!(places(&[("HOME", "")]).home, Path::new("/projects/项目/.fugato"));
    }

    #[test]
    fn paths_are_shown_as_people_name_them() {
        let places = places(&[("HOME", "/h")]);
        assert_eq!(places.show(Path::new("/projects/项目/a/b")), "a/b");
        assert_eq!(places.show(Path::new("/projects/项目")), ".");
        assert_eq!(places.show(Path::new("/h/.agents")), "~/.agents");
        assert_eq!(places.show(Path::new("/hh/x")), "/hh/x");
    }

    /// In a process of its own: the working directory belongs to the whole process.
    #[test]
    fn a_deleted_working_directory_is_an_error_and_no_panic() {
        const CHILD: &str = "FUGATO_TEST_IN_DELETED_DIRECTORY";
        if std::env::var_os(CHILD).is_some() {
            assert!(matches!(Places::current(), Err(PlacesError::CwdDeleted)));
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("gone");
        std::fs::create_dir(&dir).unwrap();
        let name = "places::tests::a_deleted_working_directory_is_an_error_and_no_panic";
        let child = std::process::Command::new("sh")
            .args(["-c", "cd \"$0\" && rmdir \"$0\" && exec \"$1\" --exact \"$2\""])
            .args([dir.as_os_str(), std::env::current_exe().unwrap().as_os_str(), name.as_ref()])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    fn both_languages_name_a_deleted_working_directory() {
        let words = PlacesError::CwdDeleted.words();
        assert!(words.en.contains("deleted") && words.zh.contains("删除"));
    }
}
