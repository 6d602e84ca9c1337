//! What changed in the project's files, as `git diff --stat` counts it, condensed.

use fugato_model::escape_for_terminal;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    files: Vec<String>,
    insertions: u64,
    deletions: u64,
}

const KEY_CHANGES: usize = 5;

/// `None`: nothing changed, or this is no repository, or there is no git.
pub fn of(project: &Path) -> Option<Changes> {
    let output = Command::new("git")
        // A look must not write: without this, git may refresh its index.
        .args(["--no-optional-locks", "-C"])
        .arg(project)
        .args(["diff", "--numstat", "-z"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| parse(&output.stdout)).filter(|changes| !changes.files.is_empty())
}

/// `1\t2\tpath\0`; a renamed file has an empty path, then both names.
fn parse(bytes: &[u8]) -> Changes {
    let mut changes = Changes::default();
    let mut parts = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    while let Some(part) = parts.next() {
        let mut fields = part.splitn(3, '\t');
        let (Some(added), Some(removed), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        // Binary files have `-`.
        changes.insertions += added.parse::<u64>().unwrap_or(0);
        changes.deletions += removed.parse::<u64>().unwrap_or(0);
        let path =
            if path.is_empty() { parts.nth(1).unwrap_or_default().into_owned() } else { path.to_owned() };
        changes.files.push(path);
    }
    changes
}

impl Changes {
    pub fn lines(&self) -> [String; 2] {
        let (count, added, removed) = (self.files.len(), self.insertions, self.deletions);
        let key: Vec<_> = self.files.iter().take(KEY_CHANGES).map(|path| escape_for_terminal(path)).collect();
        [
            format!("- {count} files modified ({added} insertions, {removed} deletions)"),
            format!("- Key changes: {}", key.join(", ")),
        ]
    }

    pub fn document(&self) -> Value {
        json!({"files": self.files, "insertions": self.insertions, "deletions": self.deletions})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_with_renames_and_binaries() {
        let changes = parse(b"3\t1\tsrc/\xe4\xb8\xad.rs\x00-\t-\tlogo.png\x001\t0\t\x00old.md\x00new.md\x00");
        assert_eq!(changes.files, ["src/中.rs", "logo.png", "new.md"]);
        assert_eq!(changes.lines()[0], "- 3 files modified (4 insertions, 1 deletions)");
        assert_eq!(changes.lines()[1], "- Key changes: src/中.rs, logo.png, new.md");
    }
}
