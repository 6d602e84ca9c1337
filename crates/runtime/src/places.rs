//! The directories a command works with, taken from the environment once and passed on as values.

use fugato_model::Scope;
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

impl Places {
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

    /// The nearest ancestor that holds a `.git`, else the working directory.
    pub fn project_root(&self) -> &Path {
        self.cwd.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(&self.cwd)
    }
}
