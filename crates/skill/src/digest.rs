//! The identity of a skill's content: one SHA-256 that is the same for a directory, an archive and an embedded payload.
//!
//! Definition, version 1. Take the files of the skill that [belong](belongs) to it, sorted by the bytes of their path
//! (`/` as separator). Hash the line `fugato-skill-1\n`, then for each file: path bytes, one zero byte, length as u64
//! little-endian, SHA-256 of the content (32 raw bytes). Modes, times and empty directories do not count. A link that
//! stays inside the skill counts as a file with the content it leads to; other links do not count.
//!
//! Owns the definition only: walking directories is the business of `runtime`.

use fugato_model::{Digest, RelPath};
use sha2::{Digest as _, Sha256};

/// Changes when the definition does, so that digests of two definitions can never be equal by accident.
const DOMAIN: &[u8] = b"fugato-skill-1\n";

/// Names that are never part of a skill: version control, packages that a lock file restores, and what file managers
/// leave in every directory they show. Looking at a skill must not change its digest.
const NOT_CONTENT: &[&str] =
    &[".git", ".hg", ".svn", ".jj", ".bzr", "node_modules", ".DS_Store", "__MACOSX", "Thumbs.db"];

/// Directories in which an install prepares its work, beside installed skills: what is in them is not installed.
pub const STAGE_PREFIX: &str = ".fugato-stage-";

/// The digest of a skill given as (path, content), in any order. Files that do not [belong](belongs) are skipped.
pub fn digest_files<'a>(files: impl IntoIterator<Item = (&'a RelPath, &'a [u8])>) -> Digest {
    let entries: Vec<_> = files
        .into_iter()
        .filter(|(path, _)| belongs(path))
        .map(|(path, bytes)| (path.as_str(), length(bytes), digest_bytes(bytes)))
        .collect();
    combine(entries)
}

/// The digest of a skill whose files were hashed before: (path, length, SHA-256 of the content), in any order.
pub fn digest_of_entries(entries: &[(RelPath, u64, Digest)]) -> Digest {
    let entries = entries.iter().filter(|(path, _, _)| belongs(path));
    combine(entries.map(|(path, length, digest)| (path.as_str(), *length, *digest)).collect())
}

/// The plain SHA-256 of one file.
pub fn digest_bytes(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(bytes).into())
}

/// Is this path content of a skill, rather than something a tool put beside it?
pub fn belongs(path: &RelPath) -> bool {
    path.components().all(|name| !is_not_content(name))
}

/// Is this a name, of a directory or a file, that no walk looks at?
pub fn is_not_content(name: &str) -> bool {
    NOT_CONTENT.contains(&name) || name.starts_with(STAGE_PREFIX)
}

fn combine(mut entries: Vec<(&str, u64, Digest)>) -> Digest {
    entries.sort_unstable();
    digest_of_sorted(entries)
}

/// As [`digest_of_entries`], for a caller that has only files that belong, sorted by the bytes of their path.
pub fn digest_of_sorted<'a>(entries: impl IntoIterator<Item = (&'a str, u64, Digest)>) -> Digest {
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    for (path, length, digest) in entries {
        hash.update(path.as_bytes());
        hash.update([0]);
        hash.update(length.to_le_bytes());
        hash.update(digest.as_bytes());
    }
    Digest::from_bytes(hash.finalize().into())
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn the_definition_never_changes_silently() {
        let (skill, guide) = (path("SKILL.md"), path("参考/a.md"));
        let digest = digest_files([(&guide, b"guide".as_slice()), (&skill, b"skill".as_slice())]);
        // Recomputed by hand from the definition above: a difference here breaks every lock file in the world.
        let mut bytes = b"fugato-skill-1\n".to_vec();
        for (name, content) in [("SKILL.md", "skill"), ("参考/a.md", "guide")] {
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(&5u64.to_le_bytes());
            bytes.extend_from_slice(&Sha256::digest(content.as_bytes()));
        }
        assert_eq!(digest, digest_bytes(&bytes));
    }

    #[test]
    fn what_tools_leave_beside_a_skill_does_not_count() {
        let skill = path("SKILL.md");
        let alone = digest_files([(&skill, b"s".as_slice())]);
        for left in [".git/hooks/x", "a/node_modules/b.js", ".DS_Store", "a/.DS_Store", "__MACOSX/._SKILL.md"]
        {
            let left = path(left);
            assert_eq!(digest_files([(&skill, b"s".as_slice()), (&left, b"x".as_slice())]), alone, "{left}");
        }
    }

    proptest! {
        #[test]
        fn order_does_not_matter_and_content_does(
            files in proptest::collection::btree_map("[a-z]{1,2}(/[a-z]{1,2})?", proptest::collection::vec(any::<u8>(), 0..20), 1..6)
        ) {
            let files: Vec<_> = files.iter().map(|(name, bytes)| (path(name), bytes.clone())).collect();
            let forward = digest_files(files.iter().map(|(p, b)| (p, b.as_slice())));
            let backward = digest_files(files.iter().rev().map(|(p, b)| (p, b.as_slice())));
            prop_assert_eq!(forward, backward);
            let entries: Vec<_> = files.iter().map(|(p, b)| (p.clone(), length(b), digest_bytes(b))).collect();
            prop_assert_eq!(forward, digest_of_entries(&entries));
            let mut changed = files.clone();
            changed[0].1.push(0);
            prop_assert_ne!(forward, digest_files(changed.iter().map(|(p, b)| (p, b.as_slice()))));
        }
    }
}
