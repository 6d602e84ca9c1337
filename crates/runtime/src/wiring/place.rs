//! Where each host keeps the settings in which hooks are named.

use super::{json, toml};
use crate::Places;
use crate::hosts::Host;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// For whom a hook is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every project of the person.
    User,
    /// This project, on this machine.
    Project,
}

impl Scope {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// How a file of settings is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Json,
    Toml,
}

/// A file in which hooks of a host are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub host: Host,
    pub scope: Scope,
    pub file: PathBuf,
    pub syntax: Syntax,
}

/// The directories of the hosts.
#[derive(Clone, Debug)]
pub struct Dirs {
    /// `None`: there is no home directory.
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    project: PathBuf,
}

impl Dirs {
    /// `CLAUDE_CONFIG_DIR` and `CODEX_HOME` as the hosts read them.
    pub fn new(places: &Places, var: impl Fn(&str) -> Option<OsString>) -> Self {
        let named = |name: &str| var(name).filter(|value| !value.is_empty()).map(|dir| places.cwd.join(dir));
        let in_home = |dir: &str| Some(places.user_home.as_ref()?.join(dir));
        Self {
            claude: named("CLAUDE_CONFIG_DIR").or_else(|| in_home(".claude")),
            codex: named("CODEX_HOME").or_else(|| in_home(".codex")),
            project: places.project_root().to_owned(),
        }
    }

    /// `None`: nobody knows where this person's settings are.
    pub fn place(&self, host: Host, scope: Scope) -> Option<Place> {
        let (file, syntax) = match (host, scope) {
            (Host::Claude, Scope::User) => (self.claude.as_ref()?.join("settings.json"), Syntax::Json),
            // The one that is not shared through git: what is written names a path of this machine.
            (Host::Claude, Scope::Project) => {
                (self.project.join(".claude").join("settings.local.json"), Syntax::Json)
            }
            (Host::Codex, Scope::User) => codex(self.codex.as_ref()?),
            (Host::Codex, Scope::Project) => codex(&self.project.join(".codex")),
        };
        Some(Place { host, scope, file, syntax })
    }

    /// Where Codex keeps which hooks the person trusts.
    pub fn codex_config(&self) -> Option<PathBuf> {
        Some(self.codex.as_ref()?.join("config.toml"))
    }
}

/// Codex reads both files and warns when hooks stand in both: so ours joins whatever is there.
fn codex(dir: &Path) -> (PathBuf, Syntax) {
    let (own, config) = (dir.join("hooks.json"), dir.join("config.toml"));
    let text = |file: &Path| super::read(file).ok().flatten().unwrap_or_default();
    let is_ours_in_json = || json::entries(&text(&own), "").is_ok_and(|entries| !entries.is_empty());
    if toml::has_hooks(&text(&config))
        && !is_ours_in_json()
        && (!own.exists() || toml::has_ours(&text(&config)))
    {
        return (config, Syntax::Toml);
    }
    (own, Syntax::Json)
}
