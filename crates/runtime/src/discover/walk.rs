//! The walk over all roots: level by level, each level shared by a few threads through one cursor.
//!
//! A directory with a skill file is a skill and is not entered further; any other one is a container. Cost follows the
//! change: a directory whose stamp is that of the index is not listed, a skill whose stamps are is not read.

use super::contents::{Scratch, is_skill_file_name};
use super::index::{Bytes, Child, ContainerEntry, Entry};
use super::inspect::{Inspected, OpenDir, Remembered, inspect};
use super::stamp::{Stamp, kind_of};
use crate::Root;
use crate::beneath::DIRECTORY;
use fugato_model::{Code, Diagnostic, Words, words};
use fugato_skill::{Installed, problems};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Collections nest `plugin/skills/group/name`; nobody was seen to go deeper than five.
const MAX_DEPTH: usize = 6;
/// Directories without a skill. A root that has more is somebody's home or a file system, not a place for skills.
const MAX_CONTAINERS: usize = 20_000;
/// More threads than this wait for the same disk.
const MAX_THREADS: usize = 8;
/// Directories taken from the cursor at once, and below how many it is not worth starting threads.
const BATCH: usize = 16;

/// One root, opened, with what the index knows of it.
pub(super) struct OpenRoot<'a> {
    pub root: &'a Root,
    pub fd: OwnedFd,
    pub scanned_ns: i64,
    pub known: HashMap<&'a [u8], &'a [u8]>,
    /// Device and inode of the root and of all directories above it.
    pub above: OnceLock<HashSet<(u64, u64)>>,
}

/// What the walk found.
#[derive(Default)]
pub(super) struct Found<'a> {
    pub skills: Vec<FoundSkill>,
    pub entries: Vec<Kept<'a>>,
    pub notes: Vec<Diagnostic>,
    pub dirs_listed: u32,
    pub skills_read: u32,
    pub files_read: u32,
    next: Vec<Task>,
}

/// What to remember of one directory: borrowed when the index has it already.
pub(super) struct Kept<'a> {
    pub root: usize,
    pub path: Cow<'a, [u8]>,
    pub entry: Cow<'a, [u8]>,
}

pub(super) struct FoundSkill {
    pub is_link: bool,
    /// Device and inode of the directory.
    pub id: (u64, u64),
    /// Boxed: it passes through several lists on its way to the inventory.
    pub installed: Box<Installed>,
}

struct Task {
    root: usize,
    /// Below the root, `/`-separated; empty for the root itself.
    path: Vec<u8>,
    depth: usize,
    is_link: bool,
}

/// Visits everything below `roots`.
pub(super) fn walk<'a>(roots: &'a [OpenRoot<'a>]) -> Found<'a> {
    let mut all = Found::default();
    let containers = AtomicUsize::new(0);
    let first = |root| Task { root, path: Vec::new(), depth: 0, is_link: false };
    let mut level: Vec<Task> = (0..roots.len()).map(first).collect();
    while !level.is_empty() {
        let cursor = AtomicUsize::new(0);
        let work = || {
            Worker { roots, containers: &containers, found: Found::default(), path: Vec::new() }
                .run(&level, &cursor)
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let threads = threads.min(level.len().div_ceil(BATCH));
        let outputs: Vec<Found<'a>> = std::thread::scope(|scope| {
            let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            helpers.into_iter().filter_map(|helper| helper.join().ok()).chain([own]).collect()
        });
        level.clear();
        for mut output in outputs {
            level.append(&mut output.next);
            all.add(output);
        }
    }
    if containers.into_inner() > MAX_CONTAINERS {
        all.notes.push(Diagnostic::warning(
            Code::F0122,
            roots.first().map(|root| root.root.shown.clone()).unwrap_or_default(),
            words!(
                "more than {MAX_CONTAINERS} directories without a skill; the rest was not searched",
                "不含技能的目录超过 {MAX_CONTAINERS} 个，其余目录未搜索"
            ),
        ));
    }
    all
}

impl<'a> Found<'a> {
    fn add(&mut self, mut other: Found<'a>) {
        self.skills.append(&mut other.skills);
        self.entries.append(&mut other.entries);
        self.notes.append(&mut other.notes);
        self.dirs_listed += other.dirs_listed;
        self.skills_read += other.skills_read;
        self.files_read += other.files_read;
    }
}

struct Worker<'a, 'l> {
    roots: &'a [OpenRoot<'a>],
    containers: &'l AtomicUsize,
    found: Found<'a>,
    /// Buffer for paths.
    path: Vec<u8>,
}

impl<'a> Worker<'a, '_> {
    fn run(mut self, level: &[Task], cursor: &AtomicUsize) -> Found<'a> {
        let mut scratch = Scratch::default();
        loop {
            let from = cursor.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) =
                level.get(from..level.len().min(from + BATCH)).filter(|batch| !batch.is_empty())
            else {
                return self.found;
            };
            for task in batch {
                if let Some(root) = self.roots.get(task.root) {
                    self.visit(root, task, &mut scratch);
                }
            }
        }
    }

    fn visit(&mut self, root: &'a OpenRoot<'a>, task: &Task, scratch: &mut Scratch) {
        if task.is_link && !self.may_follow(root, task) {
            return;
        }
        let known = root.known.get_key_value(task.path.as_slice());
        let mut remembered = None;
        match known.and_then(|(path, bytes)| Some((*path, *bytes, Entry::decode(bytes)?))) {
            Some((path, bytes, Entry::Container(entry))) => {
                let stat = statat(&root.fd, path_or_dot(&task.path), AtFlags::empty());
                let same = stat.is_ok_and(|stat| Stamp::of(&stat) == entry.stamp);
                if same && entry.stamp.is_settled(root.scanned_ns) {
                    self.container(task, &entry.children);
                    self.keep(task.root, Cow::Borrowed(path), Cow::Borrowed(bytes));
                    return;
                }
            }
            Some((path, bytes, Entry::Skill(entry))) => {
                let known = Remembered { entry: *entry, scanned_ns: root.scanned_ns };
                if known.is_unchanged(root.fd.as_fd(), &task.path, &mut self.path) {
                    self.skill(root, task, known.into_inspected(|| shown(root, &task.path)));
                    self.keep(task.root, Cow::Borrowed(path), Cow::Borrowed(bytes));
                    return;
                }
                remembered = Some(known);
            }
            None => {}
        }
        if let Err(error) = self.read(root, task, remembered.as_ref(), scratch)
            && error != Errno::NOENT
        {
            self.note(root, task, unlistable(error));
        }
    }

    fn read(
        &mut self,
        root: &OpenRoot<'_>,
        task: &Task,
        remembered: Option<&Remembered<'_>>,
        scratch: &mut Scratch,
    ) -> rustix::io::Result<()> {
        let follow = task.is_link || task.path.is_empty();
        let flags = if follow { DIRECTORY } else { DIRECTORY | OFlags::NOFOLLOW };
        let dir = openat(&root.fd, path_or_dot(&task.path), flags, Mode::empty())?;
        let stamp = Stamp::of(&fstat(&dir)?);
        scratch.listing.read(dir.as_fd())?;
        self.found.dirs_listed += 1;
        if scratch.listing.names().any(|(name, _)| is_skill_file_name(name)) {
            let name = dir_name(root, &task.path);
            let shown = shown(root, &task.path);
            let open = OpenDir { fd: dir.as_fd(), stamp, name: &name, shown: &shown };
            let mut inspected = inspect(open, remembered, scratch);
            self.found.skills_read += 1;
            self.found.files_read += inspected.files_read;
            if let Some(entry) = inspected.entry.take() {
                self.keep(task.root, Cow::Owned(task.path.clone()), Cow::Owned(entry));
            }
            self.skill(root, task, inspected);
            return Ok(());
        }
        let mut children = Vec::new();
        for (name, kind) in scratch.listing.names() {
            let kind = match kind {
                FileType::Unknown => {
                    statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).map_or(kind, |stat| kind_of(&stat))
                }
                kind => kind,
            };
            let enter = !std::str::from_utf8(name).is_ok_and(fugato_skill::is_not_content);
            if enter && matches!(kind, FileType::Directory | FileType::Symlink) {
                children.push(Child { name: Bytes(name), is_link: kind == FileType::Symlink });
            }
        }
        self.container(task, &children);
        if let Some(entry) = (ContainerEntry { stamp, children }).encode() {
            self.keep(task.root, Cow::Owned(task.path.clone()), Cow::Owned(entry));
        }
        Ok(())
    }

    fn keep(&mut self, root: usize, path: Cow<'a, [u8]>, entry: Cow<'a, [u8]>) {
        self.found.entries.push(Kept { root, path, entry });
    }

    fn skill(&mut self, root: &OpenRoot<'_>, task: &Task, inspected: Inspected) {
        let root = root.root;
        let path = OsStr::from_bytes(&task.path);
        let installed = Box::new(Installed {
            head: inspected.head,
            scope: root.scope.clone(),
            rank: root.rank,
            dir: if path.is_empty() { root.path.clone() } else { root.path.join(path) },
            file: inspected.file,
            digest: inspected.digest,
            diagnostics: inspected.diagnostics,
            usable: inspected.usable,
        });
        self.found.skills.push(FoundSkill { is_link: task.is_link, id: inspected.id, installed });
    }

    fn container(&mut self, task: &Task, children: &[Child<'_>]) {
        let count = self.containers.fetch_add(1, Ordering::Relaxed);
        if task.depth >= MAX_DEPTH || count >= MAX_CONTAINERS {
            return;
        }
        for child in children {
            let mut path = Vec::with_capacity(task.path.len() + 1 + child.name.0.len());
            if !task.path.is_empty() {
                path.extend_from_slice(&task.path);
                path.push(b'/');
            }
            path.extend_from_slice(child.name.0);
            let depth = task.depth + 1;
            self.found.next.push(Task { root: task.root, path, depth, is_link: child.is_link });
        }
    }

    /// Installers link skills into a root, so links are followed there, and only there; not to what the root lies in.
    fn may_follow(&mut self, root: &OpenRoot<'_>, task: &Task) -> bool {
        let stat = match statat(&root.fd, task.path.as_slice(), AtFlags::empty()) {
            Ok(stat) => stat,
            Err(error) => {
                let words = match error {
                    Errno::LOOP => words!("link leads to itself and is skipped", "链接指向自身，已跳过"),
                    Errno::NOENT => words!("link leads to nothing", "链接的目标不存在"),
                    error => words!("link cannot be followed: {error}", "无法跟随链接：{error}"),
                };
                self.note(root, task, words);
                return false;
            }
        };
        if kind_of(&stat) != FileType::Directory {
            return false;
        }
        if root.above.get_or_init(|| directories_above(root)).contains(&Stamp::of(&stat).id()) {
            self.found.notes.push(problems::link_loops(&shown(root, &task.path)));
            return false;
        }
        if task.depth > 1 {
            let words = words!(
                "linked directory is not searched: links are followed directly in a skill root only",
                "不搜索链接目录：仅跟随技能根目录下的直接链接"
            );
            self.note(root, task, words);
            return false;
        }
        true
    }

    fn note(&mut self, root: &OpenRoot<'_>, task: &Task, message: Words) {
        let code = if task.is_link { Code::F0126 } else { Code::F0121 };
        self.found.notes.push(Diagnostic::warning(code, shown(root, &task.path), message));
    }
}

pub(super) fn unlistable(error: Errno) -> Words {
    words!("directory cannot be listed: {error}", "无法列出目录：{error}")
}

fn path_or_dot(path: &[u8]) -> &[u8] {
    if path.is_empty() { b"." } else { path }
}

fn shown(root: &OpenRoot<'_>, path: &[u8]) -> String {
    if path.is_empty() {
        root.root.shown.clone()
    } else {
        format!("{}/{}", root.root.shown, String::from_utf8_lossy(path))
    }
}

/// The name the directory has, also when the root itself is the skill and was given as `.` or `..`.
fn dir_name(root: &OpenRoot<'_>, path: &[u8]) -> String {
    if path.is_empty() {
        let own = |path: &std::path::Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name =
            root.root.path.canonicalize().ok().and_then(|path| own(&path)).or_else(|| own(&root.root.path));
        return name.unwrap_or_default();
    }
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    OsStr::from_bytes(last).to_string_lossy().into_owned()
}

fn directories_above(root: &OpenRoot<'_>) -> HashSet<(u64, u64)> {
    let mut above = HashSet::new();
    let mut here = root.fd.try_clone().ok();
    while let Some(dir) = here {
        let fresh = fstat(&dir).is_ok_and(|stat| above.insert(Stamp::of(&stat).id()));
        // The top is its own parent.
        here = fresh.then(|| openat(&dir, "..", DIRECTORY, Mode::empty()).ok()).flatten();
    }
    above
}
