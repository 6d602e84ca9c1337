//! Discovery of what a person named: a skill file, a skill directory, or a tree of skills. No index: the answer must
//! be about the bytes that are there now.

use super::{Discovery, discover};
use crate::Root;
use fugato_model::{Code, Diagnostic, Scope, words};
use fugato_skill::is_skill_file;
use std::path::{Path, PathBuf};

/// Finds the skills in `paths`. Diagnostics name files the way the paths were given. What does not exist or is no
/// skill is an error among the notes.
pub fn discover_paths(paths: &[PathBuf]) -> Discovery {
    let mut notes = Vec::new();
    let mut roots: Vec<Root> = Vec::new();
    for path in paths {
        match root_of(path) {
            // A file and its directory, or one path twice, are one skill.
            Ok(root) if roots.iter().any(|known| known.path == root.path) => {}
            Ok(root) => roots.push(root),
            Err(note) => notes.push(*note),
        }
    }
    let mut discovery = discover(&roots, None);
    discovery.notes.append(&mut notes);
    discovery
}

fn root_of(path: &Path) -> Result<Root, Box<Diagnostic>> {
    let shown = path.to_string_lossy().into_owned();
    let wrong = |message| Box::new(Diagnostic::error(Code::F0121, shown.clone(), message));
    let meta = std::fs::metadata(path)
        .map_err(|error| wrong(words!("`{shown}` cannot be read: {error}", "无法读取 `{shown}`：{error}")))?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let dir = if meta.is_dir() && !is_skill_file(name) {
        path
    } else if is_skill_file(name) {
        path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
    } else {
        let message = words!(
            "`{shown}` is not a skill (expected a directory, `SKILL.md`, `skill.md` or `oskill.md`)",
            "`{shown}` 不是技能（应为目录、`SKILL.md`、`skill.md` 或 `oskill.md`）"
        );
        return Err(wrong(message));
    };
    let absolute = std::path::absolute(dir)
        .map_err(|error| wrong(words!("`{shown}` cannot be read: {error}", "无法读取 `{shown}`：{error}")))?;
    let mut root = Root::new(Scope::Project, 0, absolute);
    let shown_dir = dir.to_string_lossy();
    let trimmed = shown_dir.trim_end_matches('/');
    root.shown = if trimmed.is_empty() { shown_dir.into_owned() } else { trimmed.to_owned() };
    Ok(root)
}
