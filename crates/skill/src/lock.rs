//! `skills.lock.json`: which skills, from where, with which bytes; and how what is installed differs from that.
//!
//! Owns the model and the comparison. Reading directories is the business of `runtime`.

use crate::digest_bytes;
use fugato_model::{Code, Diagnostic, Digest, RelPath, Scope, SkillName, words};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The file. Sorted by name, so that it diffs well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockFile {
    pub schema: String,
    pub skills: Vec<LockedSkill>,
}

/// One pinned skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedSkill {
    pub name: SkillName,
    /// Where it was found, without the names of machine or person: `project/.agents/skills/x`, `~/.agents/skills/x`.
    pub source: String,
    pub scope: Scope,
    /// Of the whole skill.
    pub digest: Digest,
    /// Of each file.
    pub files: BTreeMap<RelPath, Digest>,
}

/// One difference between the lock and what is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drift {
    pub name: SkillName,
    pub kind: DriftKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
pub enum DriftKind {
    /// Pinned, not installed.
    Missing,
    /// Installed, not pinned.
    Extra { scope: Scope },
    /// Other bytes than pinned.
    Changed { expected: Digest, found: Digest, files: Vec<FileDrift> },
    /// The same name now comes from another scope.
    ScopeChanged { expected: Scope, found: Scope },
}

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDrift {
    pub path: RelPath,
    pub change: FileChange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    Added,
    Removed,
    Modified,
}

impl LockFile {
    pub const SCHEMA: &str = "fugato.lock/v1";
    pub const FILE_NAME: &str = "skills.lock.json";

    pub fn new(mut skills: Vec<LockedSkill>) -> Self {
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        Self { schema: Self::SCHEMA.to_owned(), skills }
    }

    /// Reads the file; `path` is what diagnostics call it.
    pub fn parse(path: &str, bytes: &[u8]) -> Result<Self, Box<Diagnostic>> {
        let wrong = |why| Box::new(Diagnostic::error(Code::F0312, path, why));
        // The schema first: a newer file should say so rather than complain about a field.
        let document: serde_json::Value = serde_json::from_slice(bytes)
            .map_err(|error| wrong(words!("not JSON: {error}", "不是 JSON：{error}")))?;
        let schema = document.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
        if schema != Self::SCHEMA {
            let (schema, expected) = (fugato_model::escape_for_terminal(schema), Self::SCHEMA);
            let why = words!(
                "schema is `{schema}`, expected `{expected}`",
                "schema 是 `{schema}`，应为 `{expected}`"
            );
            return Err(Box::new(wrong(why).field("/schema")));
        }
        let lock: Self = serde_json::from_value(document)
            .map_err(|error| wrong(words!("not a lock file: {error}", "不是锁定文件：{error}")))?;
        match lock.skills.iter().zip(lock.skills.iter().skip(1)).find(|(a, b)| a.name >= b.name) {
            None => Ok(lock),
            Some((_, second)) => {
                let name = &second.name;
                let why = words!("`{name}` is pinned twice or out of order", "`{name}` 重复锁定或次序不对");
                let hint =
                    words!("write it again with `fugato skill lock`", "用 `fugato skill lock` 重新生成");
                Err(Box::new(wrong(why).hint(hint)))
            }
        }
    }

    /// The file's text: the same skills always give the same bytes.
    pub fn to_text(&self) -> String {
        // Serialising owned strings, digests and maps into a string cannot fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    pub fn get(&self, name: &str) -> Option<&LockedSkill> {
        let at = self.skills.binary_search_by(|skill| skill.name.as_str().cmp(name)).ok()?;
        self.skills.get(at)
    }
}

impl LockedSkill {
    /// The digest of each file.
    pub fn hash_files<'a>(
        files: impl IntoIterator<Item = (&'a RelPath, &'a [u8])>,
    ) -> BTreeMap<RelPath, Digest> {
        files.into_iter().map(|(path, bytes)| (path.clone(), digest_bytes(bytes))).collect()
    }
}

/// What differs, in name order; a skill can both change and move.
pub fn compare(lock: &LockFile, installed: &LockFile) -> Vec<Drift> {
    let mut drifts = Vec::new();
    let names: std::collections::BTreeSet<&SkillName> =
        lock.skills.iter().chain(&installed.skills).map(|skill| &skill.name).collect();
    for name in names {
        let mut drift = |kind| drifts.push(Drift { name: name.clone(), kind });
        match (lock.get(name.as_str()), installed.get(name.as_str())) {
            (Some(_), None) => drift(DriftKind::Missing),
            (None, Some(now)) => drift(DriftKind::Extra { scope: now.scope.clone() }),
            (Some(pinned), Some(now)) => {
                if pinned.scope != now.scope {
                    drift(DriftKind::ScopeChanged {
                        expected: pinned.scope.clone(),
                        found: now.scope.clone(),
                    });
                }
                let files = changed_files(&pinned.files, &now.files);
                if pinned.digest != now.digest || !files.is_empty() {
                    drift(DriftKind::Changed { expected: pinned.digest, found: now.digest, files });
                }
            }
            (None, None) => {}
        }
    }
    drifts
}

/// Files that differ between two versions of a skill, in path order.
pub fn changed_files(
    before: &BTreeMap<RelPath, Digest>,
    after: &BTreeMap<RelPath, Digest>,
) -> Vec<FileDrift> {
    let paths: std::collections::BTreeSet<&RelPath> = before.keys().chain(after.keys()).collect();
    let change = |path| match (before.get(path), after.get(path)) {
        (Some(old), Some(new)) => (old != new).then_some(FileChange::Modified),
        (Some(_), None) => Some(FileChange::Removed),
        (None, _) => Some(FileChange::Added),
    };
    paths
        .into_iter()
        .filter_map(|path| Some(FileDrift { path: path.clone(), change: change(path)? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, scope: &str, files: &[(&str, &str)]) -> LockedSkill {
        let paths: Vec<_> =
            files.iter().map(|(path, text)| (RelPath::parse(path).unwrap(), text.as_bytes())).collect();
        let files = || paths.iter().map(|(path, bytes)| (path, *bytes));
        LockedSkill {
            name: SkillName::parse(name).unwrap(),
            source: format!("project/{name}"),
            scope: scope.parse().unwrap(),
            digest: crate::digest_files(files()),
            files: LockedSkill::hash_files(files()),
        }
    }

    #[test]
    fn the_text_is_stable_and_reads_back() {
        let lock = LockFile::new(vec![
            skill("b", "global", &[("SKILL.md", "x")]),
            skill("a", "preset:中文", &[("SKILL.md", "y")]),
        ]);
        let again = LockFile::new(lock.skills.iter().rev().cloned().collect());
        assert_eq!(lock.to_text(), again.to_text());
        assert_eq!(LockFile::parse("skills.lock.json", lock.to_text().as_bytes()).unwrap(), lock);
        assert!(lock.to_text().starts_with("{\n  \"schema\": \"fugato.lock/v1\""));
    }

    #[test]
    fn each_kind_of_drift_is_found() {
        let lock = LockFile::new(vec![
            skill("gone", "global", &[("SKILL.md", "x")]),
            skill("edited", "global", &[("SKILL.md", "x"), ("a.md", "1"), ("b.md", "2")]),
            skill("moved", "global", &[("SKILL.md", "x")]),
            skill("same", "global", &[("SKILL.md", "x")]),
        ]);
        let now = LockFile::new(vec![
            skill("edited", "global", &[("SKILL.md", "x"), ("a.md", "!"), ("c.md", "2")]),
            skill("moved", "project", &[("SKILL.md", "x")]),
            skill("new", "project", &[("SKILL.md", "x")]),
            skill("same", "global", &[("SKILL.md", "x")]),
        ]);
        let drifts = compare(&lock, &now);
        let names: Vec<_> = drifts.iter().map(|drift| drift.name.as_str()).collect();
        assert_eq!(names, ["edited", "gone", "moved", "new"]);
        let DriftKind::Changed { files, .. } = &drifts[0].kind else { panic!("{drifts:?}") };
        let files: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.change)).collect();
        assert_eq!(
            files,
            [("a.md", FileChange::Modified), ("b.md", FileChange::Removed), ("c.md", FileChange::Added)]
        );
        assert_eq!(drifts[1].kind, DriftKind::Missing);
        assert!(matches!(drifts[2].kind, DriftKind::ScopeChanged { .. }));
        assert!(matches!(drifts[3].kind, DriftKind::Extra { .. }));
        assert_eq!(compare(&lock, &lock), []);
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        for text in
            ["", "{}", "{\"schema\":\"fugato.lock/v2\"}", "{\"schema\":\"fugato.lock/v1\",\"skills\":7}"]
        {
            assert_eq!(LockFile::parse("l", text.as_bytes()).unwrap_err().code, Code::F0312, "{text}");
        }
        let twice = LockFile { schema: LockFile::SCHEMA.into(), skills: vec![skill("a", "global", &[]); 2] };
        assert!(LockFile::parse("l", twice.to_text().as_bytes()).is_err());
    }
}
