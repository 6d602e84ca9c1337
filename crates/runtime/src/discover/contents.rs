//! Everything inside one skill directory: which files it has, what they hash to, what is wrong with them.
//!
//! Handles, not paths: every file is opened relative to the handle of its directory, without following links, and
//! judged after opening. Knows nothing of roots, scopes or the index.

use super::listing::Listing;
use super::problem::Problem;
use super::stamp::{Stamp, kind_of};
use crate::beneath::{DIRECTORY, READ, open_beneath};
use fugato_model::{Digest, RelPath, Words, words};
use fugato_skill::{is_skill_file, limits};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, readlinkat, statat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

pub(crate) const MAX_SKILL_FILE_BYTES: u64 = limits::SKILL_FILE_BYTES as u64;
/// The largest file agents can read. Larger ones still count for the digest.
pub(crate) const MAX_FILE_BYTES: u64 = limits::FILE_BYTES as u64;
/// Past this a skill is no longer hashed, hence cannot be pinned: one bad directory must not stall discovery.
pub(crate) const MAX_SKILL_BYTES: u64 = limits::SKILL_BYTES as u64;
/// Files (and, separately, directories) of one skill; past it, as above.
pub(crate) const MAX_SKILL_FILES: usize = limits::SKILL_FILES;

/// More complaints than this about one skill help nobody.
const MAX_PROBLEMS: usize = 64;

/// Buffers of one thread, reused from skill to skill.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The directory being looked at.
    pub listing: Listing,
    /// A directory below it.
    below: Listing,
    bytes: Vec<u8>,
}

/// One regular file of a skill.
#[derive(Clone, Debug)]
pub(crate) struct ContentFile {
    pub path: RelPath,
    pub stamp: Stamp,
    pub length: u64,
    pub digest: Digest,
}

/// What an earlier scan knew: asked before a file is read again.
pub(crate) trait Known {
    /// Stamp and digest of a file, unless they are too fresh to be trusted.
    fn file(&self, path: &str) -> Option<(Stamp, Digest)>;
}

/// What was found in a skill directory.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The directory itself (`""`) and those below.
    pub dirs: Vec<(String, Stamp)>,
    /// Sorted by path.
    pub files: Vec<ContentFile>,
    pub problems: Vec<Problem>,
    pub files_read: u32,
}

impl Contents {
    /// Digest over all files; `None` when some could not be read.
    pub(crate) fn digest(&self) -> Option<Digest> {
        let complete = !self.problems.iter().any(Problem::hides_content);
        complete.then(|| {
            let files = self.files.iter();
            fugato_skill::digest_of_sorted(files.map(|file| (file.path.as_str(), file.length, file.digest)))
        })
    }
}

/// Reads a whole skill. Its directory is stamped and listed already (in `scratch.listing`). `on_skill_file` gets the bytes
/// of each file of [`fugato_skill::SKILL_FILE_NAMES`] that had to be read.
pub(crate) fn gather(
    skill: BorrowedFd<'_>,
    stamp: Stamp,
    known: &dyn Known,
    scratch: &mut Scratch,
    on_skill_file: &mut dyn FnMut(&str, &[u8]),
) -> Contents {
    let (total, found) = (0, Contents::default());
    let mut gathering =
        Gathering { skill, known, scratch, on_skill_file, depth: Depth::Content, total, found };
    gathering.all(stamp);
    let mut found = gathering.found;
    found.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The paths of a skill's files, sorted, without reading them. Listed and stamped as for [`gather`].
pub(crate) fn list(skill: BorrowedFd<'_>, stamp: Stamp, scratch: &mut Scratch) -> Vec<RelPath> {
    let (known, on_skill_file) = (&super::digest::Nothing, &mut |_: &str, _: &[u8]| {});
    let (total, found) = (0, Contents::default());
    let mut gathering = Gathering { skill, known, scratch, on_skill_file, depth: Depth::Names, total, found };
    gathering.all(stamp);
    let mut paths: Vec<_> = gathering.found.files.into_iter().map(|file| file.path).collect();
    paths.sort_unstable();
    paths
}

/// How far files are looked into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Opened and judged, for their names.
    Names,
    /// Read and hashed.
    Content,
}

struct Gathering<'a> {
    skill: BorrowedFd<'a>,
    known: &'a dyn Known,
    scratch: &'a mut Scratch,
    on_skill_file: &'a mut dyn FnMut(&str, &[u8]),
    depth: Depth,
    total: u64,
    found: Contents,
}

struct Name {
    /// Relative to the skill.
    path: RelPath,
    kind: FileType,
}

impl Gathering<'_> {
    fn all(&mut self, stamp: Stamp) {
        let mut waiting = Vec::new();
        self.found.dirs.push((String::new(), stamp));
        let listing = std::mem::take(&mut self.scratch.listing);
        self.listed(self.skill, "", &listing, &mut waiting);
        self.scratch.listing = listing;
        while let Some(path) = waiting.pop() {
            if self.found.dirs.len() >= MAX_SKILL_FILES {
                return self.too_many();
            }
            if let Err(error) = self.directory(path.as_str(), &mut waiting) {
                self.unreadable(&path, error);
            }
        }
    }

    fn directory(&mut self, path: &str, waiting: &mut Vec<RelPath>) -> rustix::io::Result<()> {
        let dir = open_beneath(self.skill, path, DIRECTORY | OFlags::NOFOLLOW)?;
        // Stamped before listing: a name added meanwhile changes the stamp and is found next time.
        self.found.dirs.push((path.to_owned(), Stamp::of(&fstat(&dir)?)));
        let mut listing = std::mem::take(&mut self.scratch.below);
        let read = listing.read(dir.as_fd());
        self.listed(dir.as_fd(), path, &listing, waiting);
        self.scratch.below = listing;
        read
    }

    fn listed(&mut self, dir: BorrowedFd<'_>, at: &str, listing: &Listing, waiting: &mut Vec<RelPath>) {
        // The files that make it a skill come first: limits must not hide them.
        let describes = |name: &[u8]| at.is_empty() && is_skill_file_name(name);
        let first = listing.names().filter(|(name, _)| describes(name));
        let rest = listing.names().filter(|(name, _)| !describes(name));
        for (name, kind) in first.chain(rest) {
            if self.found.files.len() + waiting.len() > 2 * MAX_SKILL_FILES {
                return self.too_many();
            }
            match name_in(at, name) {
                Ok(path) if fugato_skill::is_not_content(path.file_name()) => {}
                Ok(path) => self.name(dir, Name { path, kind }, waiting),
                Err(problem) => self.problem(problem),
            }
        }
    }

    fn too_many(&mut self) {
        if !self.found.problems.contains(&Problem::TooManyFiles) {
            self.problem(Problem::TooManyFiles);
        }
    }

    fn name(&mut self, dir: BorrowedFd<'_>, name: Name, waiting: &mut Vec<RelPath>) {
        let mut kind = name.kind;
        if kind == FileType::Unknown {
            match statat(dir, name.path.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => kind = kind_of(&stat),
                Err(error) => return self.unreadable(&name.path, error),
            }
        }
        match kind {
            FileType::Directory if is_skill_file(name.path.as_str()) => {
                self.problem(Problem::NotRegular { path: name.path.to_string(), kind });
                waiting.push(name.path);
            }
            FileType::Directory => waiting.push(name.path),
            FileType::RegularFile => self.regular(dir, name.path),
            FileType::Symlink => self.link(name.path),
            kind => self.problem(Problem::NotRegular { path: name.path.to_string(), kind }),
        }
    }

    fn regular(&mut self, dir: BorrowedFd<'_>, path: RelPath) {
        // Only a file that was known before can be spared the opening.
        if let Some((stamp, digest)) = self.known.file(path.as_str())
            && let Ok(stat) = statat(dir, path.file_name(), AtFlags::SYMLINK_NOFOLLOW)
            && Stamp::of(&stat) == stamp
        {
            self.keep(ContentFile { path, stamp, length: stamp.size, digest });
            return;
        }
        match openat(dir, path.file_name(), READ | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(file) => self.opened(&file, path),
            Err(error) => self.unreadable(&path, error),
        }
    }

    fn link(&mut self, path: RelPath) {
        match open_beneath(self.skill, path.as_str(), READ) {
            Ok(file) => self.opened(&file, path),
            Err(Errno::XDEV) => {
                let target = readlinkat(self.skill, path.as_str(), Vec::new()).unwrap_or_default();
                let target = target.to_string_lossy().into_owned();
                self.problem(Problem::LinkLeaves { path: path.to_string(), target });
            }
            Err(Errno::LOOP | Errno::NOENT | Errno::NOTDIR) => {
                self.problem(Problem::LinkBroken { path: path.to_string() });
            }
            Err(error) => self.unreadable(&path, error),
        }
    }

    fn opened(&mut self, file: &OwnedFd, path: RelPath) {
        let stat = match fstat(file) {
            Ok(stat) => stat,
            Err(error) => return self.unreadable(&path, error),
        };
        let (stamp, kind) = (Stamp::of(&stat), kind_of(&stat));
        let path_text = path.as_str();
        let describes = is_skill_file(path_text);
        match kind {
            FileType::RegularFile => {}
            FileType::Directory if !describes => {
                self.problem(Problem::LinkToDirectory { path: path.to_string() });
                return;
            }
            kind => {
                self.problem(Problem::NotRegular { path: path.to_string(), kind });
                return;
            }
        }
        if self.depth == Depth::Names {
            let unread = Digest::from_bytes([0; 32]);
            return self.keep(ContentFile { path, stamp, length: 0, digest: unread });
        }
        if describes && stamp.size > MAX_SKILL_FILE_BYTES {
            let limit = MAX_SKILL_FILE_BYTES;
            self.problem(Problem::TooLarge { path: path.to_string(), size: stamp.size, limit });
            return;
        }
        if !self.has_room(&stamp) {
            return;
        }
        match read_and_hash(file, stamp.size, &mut self.scratch.bytes) {
            Ok((length, digest)) => {
                self.found.files_read += 1;
                if describes {
                    let whole = usize::try_from(length).ok().and_then(|end| self.scratch.bytes.get(..end));
                    (self.on_skill_file)(path_text, whole.unwrap_or_default());
                }
                if length > MAX_FILE_BYTES {
                    let limit = MAX_FILE_BYTES;
                    self.problem(Problem::TooLarge { path: path.to_string(), size: length, limit });
                }
                self.keep(ContentFile { path, stamp, length, digest });
            }
            Err(error) => self.unreadable(&path, error),
        }
    }

    /// Past a limit of the whole skill nothing more is hashed; the problem is said once.
    fn has_room(&mut self, stamp: &Stamp) -> bool {
        let over_bytes = self.total.saturating_add(stamp.size) > MAX_SKILL_BYTES;
        let over_files = self.found.files.len() >= MAX_SKILL_FILES;
        let problem = match (over_bytes, over_files) {
            (false, false) => return true,
            (true, _) => Problem::SkillTooLarge,
            (false, true) => Problem::TooManyFiles,
        };
        if !self.found.problems.contains(&problem) {
            self.problem(problem);
        }
        false
    }

    fn keep(&mut self, file: ContentFile) {
        self.total = self.total.saturating_add(file.length);
        self.found.files.push(file);
    }

    /// A directory full of oddities must not become a list as long: past the first ones, only those that decide count.
    fn problem(&mut self, problem: Problem) {
        let found = &mut self.found.problems;
        let decides =
            problem.is_fatal() || (problem.hides_content() && !found.iter().any(Problem::hides_content));
        if found.len() < MAX_PROBLEMS || decides {
            found.push(problem);
        }
    }

    fn unreadable(&mut self, path: &RelPath, error: Errno) {
        self.problem(Problem::Unreadable { path: path.to_string(), error });
    }
}

/// [`is_skill_file`] for a name as the file system gives it.
pub(super) fn is_skill_file_name(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(is_skill_file)
}

fn name_in(at: &str, name: &[u8]) -> Result<RelPath, Problem> {
    let unusable = |why: Words| {
        let name = String::from_utf8_lossy(name);
        let path = if at.is_empty() { name.into_owned() } else { format!("{at}/{name}") };
        Problem::Unnamable { path, why }
    };
    let text =
        std::str::from_utf8(name).map_err(|_| unusable(words!("the name is not UTF-8", "名称不是 UTF-8")))?;
    let parsed = if at.is_empty() { RelPath::parse(text) } else { RelPath::parse(&format!("{at}/{text}")) };
    parsed.map_err(|error| unusable(error.words()))
}

/// Small files are read by one call and stay in `buffer`; larger ones pass through it piece by piece.
fn read_and_hash(file: &OwnedFd, size: u64, buffer: &mut Vec<u8>) -> rustix::io::Result<(u64, Digest)> {
    let limit = usize::try_from(MAX_SKILL_FILE_BYTES).unwrap_or(usize::MAX);
    let piece = usize::try_from(size).unwrap_or(usize::MAX).min(limit);
    if buffer.len() < piece {
        buffer.resize(piece.next_power_of_two(), 0);
    }
    let mut hash = Sha256::new();
    let mut length = 0u64;
    loop {
        let left = usize::try_from(size.saturating_sub(length)).unwrap_or(usize::MAX).min(piece);
        let mut filled = 0;
        while let Some(space) = buffer.get_mut(filled..left).filter(|space| !space.is_empty()) {
            match rustix::io::read(file, space) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        hash.update(buffer.get(..filled).unwrap_or_default());
        length += filled as u64;
        // Not the size that was promised: the stamp no longer matches either, so the next scan reads it again.
        if filled < left || length >= size {
            return Ok((length, Digest::from_bytes(hash.finalize().into())));
        }
    }
}
