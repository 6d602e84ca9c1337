//! The profiles in a directory that somebody wants checked.

use std::path::{Path, PathBuf};

/// Deeper, a profile is somebody's data rather than something to check.
const PROFILE_DEPTH: usize = 4;

/// Files beneath a directory that look like profiles: JSON with a `mode`. Other JSON is not ours to judge.
pub(super) fn profiles_in(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(dir.to_owned(), 0)];
    while let Some((dir, depth)) = open.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            let is_hidden = name.to_string_lossy().starts_with('.');
            if kind.is_dir() && !is_hidden && name != "node_modules" && depth < PROFILE_DEPTH {
                open.push((path, depth + 1));
            } else if kind.is_file() && looks_like_a_profile(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn looks_like_a_profile(path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|ending| ending == "json" || ending == "jsonc");
    if !is_json || std::fs::metadata(path).is_ok_and(|meta| meta.len() > 1024 * 1024) {
        return false;
    }
    let text = std::fs::read_to_string(path).unwrap_or_default();
    fugato_skill::profile::has_mode(&text)
}
