//! The directories in which skills are looked for, in order of precedence.
//!
//! Owns the order and the identity of roots. Does not look inside them: that is `discover`.

use crate::Places;
use fugato_model::{Code, Diagnostic, Scope, ScopeError, words};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// One directory that may hold skills. It need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub scope: Scope,
    /// The higher rank wins when two roots have a skill of one name.
    pub rank: u32,
    pub path: PathBuf,
    /// The root as diagnostics name it.
    pub shown: String,
}

/// What was chosen on the command line, in the profile or in the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub preset: Option<String>,
    pub character: Option<String>,
    /// Further directories (`--skills DIR`), as global roots that win over the other global ones; a later one wins.
    pub extra: Vec<PathBuf>,
}

/// Client directories that hold skills in a project. The first one wins inside one directory.
pub const CLIENT_DIRS: &[&str] = &[
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".github/skills",
    ".cursor/skills",
    ".opencode/skills",
    ".gemini/skills",
];

/// All roots of this invocation, lowest precedence first. No directory appears twice, by whatever path it is reached:
/// the first scope that lists it keeps it (in the home directory `~/.agents/skills` is global, not the project's).
/// A preset or character whose name is no scope name is left out; [`Selection::check`] says so.
pub fn roots(places: &Places, selection: &Selection) -> Vec<Root> {
    let mut list = RootList { places, roots: Vec::new(), seen: HashSet::new() };
    if let Some(home) = &places.user_home {
        list.push(Scope::Global, home.join(".claude/skills"));
        list.push(Scope::Global, home.join(".agents/skills"));
    }
    list.push(Scope::Global, places.scope_dir(&Scope::Global));
    for dir in &selection.extra {
        list.push_again(Scope::Global, places.cwd.join(dir));
    }
    let project = places.project_root();
    let mut dirs: Vec<&Path> = places.cwd.ancestors().take_while(|dir| dir.starts_with(project)).collect();
    dirs.reverse();
    for dir in dirs {
        for client in CLIENT_DIRS.iter().rev() {
            list.push(Scope::Project, dir.join(client));
        }
    }
    for scope in selection.scopes().filter_map(Result::ok) {
        let dir = places.scope_dir(&scope);
        list.push(scope, dir);
    }
    list.roots
}

impl Root {
    /// A root shown by its own path.
    pub fn new(scope: Scope, rank: u32, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let shown = path.to_string_lossy().into_owned();
        Self { scope, rank, path, shown }
    }
}

impl Selection {
    fn scopes(&self) -> impl Iterator<Item = Result<Scope, ScopeError>> {
        let preset = self.preset.as_deref().map(Scope::preset);
        let character = self.character.as_deref().map(Scope::character);
        preset.into_iter().chain(character)
    }

    /// What is wrong with the chosen names.
    pub fn check(&self) -> Vec<Diagnostic> {
        let wrong = |error: ScopeError| {
            Diagnostic::error(Code::F0314, "", error.words()).hint(words!(
                "choose a name without `/`, `:` or control characters",
                "请使用不含 `/`、`:` 和控制字符的名称"
            ))
        };
        self.scopes().filter_map(Result::err).map(wrong).collect()
    }
}

struct RootList<'a> {
    places: &'a Places,
    roots: Vec<Root>,
    seen: HashSet<PathBuf>,
}

impl RootList<'_> {
    fn push(&mut self, scope: Scope, path: PathBuf) {
        // A missing directory has no canonical path; its own path still tells two of them apart.
        let identity = path.canonicalize().unwrap_or_else(|_| path.clone());
        if self.seen.insert(identity) {
            self.add(scope, path);
        }
    }

    /// Asked for by name: moves the directory up to this rank if an earlier root of the list has it.
    fn push_again(&mut self, scope: Scope, path: PathBuf) {
        let identity = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !self.seen.insert(identity.clone()) {
            self.roots
                .retain(|root| root.path.canonicalize().unwrap_or_else(|_| root.path.clone()) != identity);
        }
        self.add(scope, path);
    }

    fn add(&mut self, scope: Scope, path: PathBuf) {
        // Ranks grow with each root; gaps left by moved ones do no harm.
        let rank = self.roots.last().map_or(0, |root| root.rank + 1);
        let shown = self.places.show(&path);
        self.roots.push(Root { scope, rank, path, shown });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn places(base: &Path, cwd: &str) -> Places {
        Places { home: base.join("fugato"), user_home: Some(base.join("home")), cwd: base.join(cwd) }
    }

    fn shown(roots: &[Root], base: &Path) -> Vec<String> {
        let rest = |root: &Root| root.path.strip_prefix(base).unwrap().to_string_lossy().into_owned();
        roots.iter().map(|root| format!("{} {}", root.scope, rest(root))).collect()
    }

    #[test]
    fn scopes_follow_each_other_and_nearer_directories_win() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("repo/.git/refs")).unwrap();
        fs::create_dir_all(base.join("repo/深/处")).unwrap();
        let selection = Selection {
            preset: Some("中文导演".into()),
            character: Some("林黛玉".into()),
            extra: vec!["more".into()],
        };
        let roots = roots(&places(&base, "repo/深/处"), &selection);
        let shown = shown(&roots, &base);
        assert_eq!(shown.len(), 3 + 1 + 3 * CLIENT_DIRS.len() + 2);
        assert_eq!(
            shown[..4],
            [
                "global home/.claude/skills",
                "global home/.agents/skills",
                "global fugato/skills/global",
                "global repo/深/处/more",
            ]
        );
        assert_eq!(shown[4], "project repo/.gemini/skills");
        assert_eq!(shown[10], "project repo/.agents/skills");
        assert_eq!(shown[24], "project repo/深/处/.agents/skills");
        assert_eq!(
            shown[25..],
            [
                "preset:中文导演 fugato/skills/preset/中文导演",
                "character:林黛玉 fugato/skills/character/林黛玉"
            ]
        );
        assert!(roots.windows(2).all(|pair| pair[0].rank < pair[1].rank && pair[0].scope <= pair[1].scope));
    }

    #[test]
    fn one_directory_is_one_root() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("home/.agents/skills")).unwrap();
        fs::create_dir_all(base.join("home/.claude")).unwrap();
        std::os::unix::fs::symlink("../.agents/skills", base.join("home/.claude/skills")).unwrap();
        let roots = roots(&places(&base, "home"), &Selection::default());
        let shown = shown(&roots, &base);
        assert_eq!(
            shown.iter().filter(|root| root.contains(".agents") || root.contains(".claude")).count(),
            1
        );
        assert_eq!(shown[0], "global home/.claude/skills");
    }

    #[test]
    fn naming_a_known_directory_raises_it() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("home/.claude/skills")).unwrap();
        let extra = vec![base.join("home/.claude/skills")];
        let roots = roots(&places(&base, "x"), &Selection { extra, ..Selection::default() });
        assert_eq!(
            shown(&roots, &base)[..3],
            ["global home/.agents/skills", "global fugato/skills/global", "global home/.claude/skills"]
        );
        assert!(roots.windows(2).all(|pair| pair[0].rank < pair[1].rank));
    }

    #[test]
    fn a_hostile_scope_name_is_left_out_and_reported() {
        let temp = tempfile::tempdir().unwrap();
        let selection = Selection { preset: Some("../../etc".into()), ..Selection::default() };
        let roots = roots(&places(temp.path(), "x"), &selection);
        assert!(roots.iter().all(|root| !matches!(root.scope, Scope::Preset(_))));
        assert_eq!(selection.check()[0].code, Code::F0314);
    }
}
