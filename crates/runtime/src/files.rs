//! Reading the files of one skill: never outside its directory, never blocking, never more than the limit.
//!
//! Owns the opening and the checks after it. What a page or a hit is, is the business of `skill`; who may read, too.

use crate::beneath::{DIRECTORY, READ, open_beneath};
use crate::discover::{FileEntry, MAX_FILE_BYTES, skill_digest};
use fugato_model::{Digest, RelPath, Words, words};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, fstat, openat};
use rustix::io::Errno;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Why a file of a skill was not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("`{0}` does not exist in the skill")]
    NotFound(RelPath),
    #[error("`{0}` leads out of the skill")]
    Outside(RelPath),
    #[error("`{0}` is not a regular file")]
    NotRegular(RelPath),
    #[error("`{path}` has {size} bytes (limit {limit})")]
    TooLarge { path: RelPath, size: u64, limit: u64 },
    #[error("the skill changed since it was pinned (expected {expected}, found {found})")]
    Changed { expected: Digest, found: Found },
    #[error("`{path}` cannot be read: {error}")]
    Io { path: String, error: io::Error },
}

impl FileError {
    /// The same sentence in both languages.
    pub fn words(&self) -> Words {
        match self {
            Self::NotFound(path) => words!("`{path}` does not exist in the skill", "技能中不存在 `{path}`"),
            Self::Outside(path) => words!("`{path}` leads out of the skill", "`{path}` 指向技能目录之外"),
            Self::NotRegular(path) => words!("`{path}` is not a regular file", "`{path}` 不是普通文件"),
            Self::TooLarge { path, size, limit } => words!(
                "`{path}` has {size} bytes (limit {limit})",
                "`{path}` 有 {size} 字节（上限 {limit} 字节）"
            ),
            Self::Changed { expected, found } => words!(
                "the skill changed since it was pinned (expected {expected}, found {found})",
                "技能在锁定后发生了变化（期望 {expected}，实际为 {found}）"
            ),
            Self::Io { path, error } => {
                words!("`{path}` cannot be read: {error}", "无法读取 `{path}`：{error}")
            }
        }
    }
}

/// What is there instead of the pinned content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    Other(Digest),
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Other(digest) => digest.fmt(f),
        }
    }
}

/// An open skill directory. Renaming or replacing the directory does not move the handle elsewhere.
#[derive(Debug)]
pub struct SkillDir {
    fd: OwnedFd,
    dir: PathBuf,
}

impl SkillDir {
    pub fn open(dir: &Path) -> Result<Self, FileError> {
        let failed =
            |error: Errno| FileError::Io { path: dir.to_string_lossy().into_owned(), error: error.into() };
        let fd = openat(CWD, dir, DIRECTORY, Mode::empty()).map_err(failed)?;
        Ok(Self { fd, dir: dir.to_owned() })
    }

    /// The whole content of a file. Links are followed as long as they stay inside.
    pub fn read(&self, path: &RelPath) -> Result<Vec<u8>, FileError> {
        let file = open_beneath(self.fd.as_fd(), path.as_str(), READ).map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR => FileError::NotFound(path.clone()),
            Errno::XDEV | Errno::LOOP => FileError::Outside(path.clone()),
            // Sockets and devices without a driver cannot even be opened.
            Errno::NXIO | Errno::NODEV => FileError::NotRegular(path.clone()),
            error => failed(path, error.into()),
        })?;
        // Judged after opening: what is checked is what is read.
        let stat = fstat(&file).map_err(|error| failed(path, error.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(FileError::NotRegular(path.clone()));
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let too_large = |size| FileError::TooLarge { path: path.clone(), size, limit: MAX_FILE_BYTES };
        if size > MAX_FILE_BYTES {
            return Err(too_large(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // A file that grows while it is read still ends at the limit.
        let mut file = std::fs::File::from(file).take(MAX_FILE_BYTES + 1);
        file.read_to_end(&mut bytes).map_err(|error| failed(path, error))?;
        let length = bytes.len() as u64;
        if length > MAX_FILE_BYTES { Err(too_large(length)) } else { Ok(bytes) }
    }

    /// All files that belong to the skill, sorted. Unreadable corners are left out.
    pub fn list(&self) -> Vec<RelPath> {
        crate::discover::list_files(self.fd.as_fd())
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn failed(path: &RelPath, error: io::Error) -> FileError {
    FileError::Io { path: path.to_string(), error }
}

/// A skill as it was when a run pinned its digest. Every read is checked against the content of that moment, so what is
/// returned is exactly what was pinned, or [`FileError::Changed`].
#[derive(Debug)]
pub struct Pinned {
    skill: SkillDir,
    /// Sorted by path.
    files: Vec<FileEntry>,
}

impl Pinned {
    /// Fails with [`FileError::Changed`] when the directory no longer has that digest.
    pub fn open(dir: &Path, digest: Digest) -> Result<Self, FileError> {
        let skill = SkillDir::open(dir)?;
        let (found, files) = skill_digest(dir)
            .map_err(|error| FileError::Io { path: dir.to_string_lossy().into_owned(), error })?;
        if found != digest {
            return Err(FileError::Changed { expected: digest, found: Found::Other(found) });
        }
        Ok(Self { skill, files })
    }

    pub fn read(&self, path: &RelPath) -> Result<Vec<u8>, FileError> {
        let at = self.files.binary_search_by(|file| file.path.cmp(path));
        let pinned = at.ok().and_then(|at| self.files.get(at));
        let pinned = pinned.ok_or_else(|| FileError::NotFound(path.clone()))?;
        let changed = |found| FileError::Changed { expected: pinned.digest, found };
        let bytes = self.skill.read(path).map_err(|error| match error {
            FileError::NotFound(_) | FileError::Outside(_) | FileError::NotRegular(_) => {
                changed(Found::Nothing)
            }
            other => other,
        })?;
        match fugato_skill::digest_bytes(&bytes) {
            found if found == pinned.digest => Ok(bytes),
            found => Err(changed(Found::Other(found))),
        }
    }

    pub fn list(&self) -> impl Iterator<Item = &RelPath> {
        self.files.iter().map(|file| &file.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn only_regular_files_inside_are_read() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("skill");
        fs::create_dir_all(dir.join("references/.git")).unwrap();
        fs::write(temp.path().join("secret"), "secret").unwrap();
        fs::write(dir.join("SKILL.md"), "skill").unwrap();
        fs::write(dir.join("references/.git/x"), "no").unwrap();
        fs::write(dir.join("references/说明.md"), "guide").unwrap();
        symlink("references/说明.md", dir.join("inside.md")).unwrap();
        symlink("/etc/passwd", dir.join("passwd")).unwrap();
        symlink("../secret", dir.join("secret")).unwrap();
        rustix::fs::mknodat(CWD, dir.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let big = fs::File::create(dir.join("big")).unwrap();
        big.set_len(MAX_FILE_BYTES + 1).unwrap();
        let skill = SkillDir::open(&dir).unwrap();
        assert_eq!(skill.read(&path("references/说明.md")).unwrap(), b"guide");
        assert_eq!(skill.read(&path("inside.md")).unwrap(), b"guide");
        assert!(matches!(skill.read(&path("passwd")), Err(FileError::Outside(_))));
        assert!(matches!(skill.read(&path("secret")), Err(FileError::Outside(_))));
        assert!(matches!(skill.read(&path("fifo")), Err(FileError::NotRegular(_))));
        assert!(matches!(skill.read(&path("references")), Err(FileError::NotRegular(_))));
        assert!(matches!(skill.read(&path("big")), Err(FileError::TooLarge { .. })));
        assert!(matches!(skill.read(&path("missing")), Err(FileError::NotFound(_))));
        assert!(matches!(skill.read(&path("SKILL.md/x")), Err(FileError::NotFound(_))));
        let listed: Vec<_> = skill.list().iter().map(RelPath::to_string).collect();
        assert_eq!(listed, ["SKILL.md", "big", "inside.md", "references/说明.md"]);
    }

    #[test]
    fn a_link_swapped_in_while_reading_never_leads_out() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("skill");
        fs::create_dir_all(dir.join("real")).unwrap();
        fs::create_dir(temp.path().join("outside")).unwrap();
        fs::write(temp.path().join("outside/a.md"), "secret").unwrap();
        fs::write(dir.join("real/a.md"), "inside").unwrap();
        let skill = SkillDir::open(&dir).unwrap();
        let stop = AtomicBool::new(false);
        let (mut inside, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for target in ["out", "in"] {
                        symlink(if target == "in" { "real" } else { "../outside" }, dir.join("next"))
                            .unwrap();
                        fs::rename(dir.join("next"), dir.join("flip")).unwrap();
                    }
                }
            });
            // On a busy machine the swapping thread may not run for a while: go on until both sides were met.
            let (started, mut left) = (std::time::Instant::now(), trials());
            let patience = std::time::Duration::from_secs(60);
            while left > 0 || ((inside == 0 || refused == 0) && started.elapsed() < patience) {
                left = left.saturating_sub(1);
                match skill.read(&path("flip/a.md")) {
                    Ok(bytes) => {
                        assert_eq!(bytes, b"inside");
                        inside += 1;
                    }
                    Err(FileError::Outside(_) | FileError::NotFound(_)) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(inside > 0 && refused > 0, "the race was not run: {inside} inside, {refused} refused");
    }

    /// Small in the normal test command, large in the soak.
    fn trials() -> u32 {
        std::env::var("FUGATO_RACE_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000)
    }

    #[test]
    fn a_pinned_skill_gives_what_was_pinned_or_says_that_it_changed() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("SKILL.md"), "one").unwrap();
        fs::write(temp.path().join("side.md"), "side").unwrap();
        let (digest, _) = skill_digest(temp.path()).unwrap();
        let pinned = Pinned::open(temp.path(), digest).unwrap();
        assert_eq!(pinned.read(&path("SKILL.md")).unwrap(), b"one");
        fs::write(temp.path().join("SKILL.md"), "two").unwrap();
        fs::write(temp.path().join("new.md"), "new").unwrap();
        fs::remove_file(temp.path().join("side.md")).unwrap();
        let changed = pinned.read(&path("SKILL.md"));
        assert!(matches!(changed, Err(FileError::Changed { found: Found::Other(_), .. })), "{changed:?}");
        assert!(matches!(
            pinned.read(&path("side.md")),
            Err(FileError::Changed { found: Found::Nothing, .. })
        ));
        assert!(matches!(pinned.read(&path("new.md")), Err(FileError::NotFound(_))));
        assert!(matches!(Pinned::open(temp.path(), digest), Err(FileError::Changed { .. })));
    }
}
