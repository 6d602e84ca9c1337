//! Reading a directory of agent files: never outside of its fence, never blocking, never more than the limits.

use super::Origin;
use super::roots::Root;
use crate::Places;
use crate::beneath::{DIRECTORY, READ, open_beneath};
use fugato_engine::tools::TOOLS;
use fugato_model::{Code, Diagnostic, Words, words};
use fugato_skill::agent_file::{AgentReading, AgentText, MAX_BYTES, check, read};
use fugato_skill::{Strictness, problems};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Dir, FileType, Mode, fstat, openat};
use rustix::io::Errno;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Agent files of one directory. Forty are a large collection; more than this is a folder of something else.
const MAX_FILES: usize = 256;
/// Entries looked at in one directory tree.
const MAX_ENTRIES: usize = 4096;
/// Collections sort their agents into folders, one or two deep.
const MAX_DEPTH: usize = 3;

/// One agent file that was read, well or not.
pub(super) struct ReadFile {
    pub origin: Origin,
    pub path: PathBuf,
    pub shown: String,
    pub stem: String,
    pub reading: AgentReading,
}

#[derive(Default)]
pub(super) struct Scanned {
    pub files: Vec<ReadFile>,
    /// Of the directory itself.
    pub problems: Vec<Diagnostic>,
}

/// All agent files of a root, by path. A directory that is not there holds none.
pub(super) fn scan(root: &Root, places: &Places) -> Scanned {
    let mut walk = Walk { root, places, scanned: Scanned::default(), entries: 0, names: Vec::new() };
    let (base, prefix) = match &root.fence {
        Some(fence) => (fence.as_path(), root.dir.strip_prefix(fence).unwrap_or(Path::new("")).to_owned()),
        None => (root.dir.as_path(), PathBuf::new()),
    };
    // Nobody's agents are there; that is the usual case.
    let Ok(base) = openat(CWD, base, DIRECTORY, Mode::empty()) else { return walk.scanned };
    let prefix = prefix.to_string_lossy().into_owned();
    walk.directory(base.as_fd(), &prefix, 0);
    walk.names.sort();
    let names = std::mem::take(&mut walk.names);
    for name in names.iter().take(MAX_FILES) {
        walk.file(base.as_fd(), name);
    }
    if names.len() > MAX_FILES {
        let (more, shown) = (names.len() - MAX_FILES, places.show(&root.dir));
        walk.scanned.problems.push(Diagnostic::warning(
            Code::F0122,
            shown,
            words!(
                "more than {MAX_FILES} agent files; {more} are not read",
                "代理文件超过 {MAX_FILES} 个；其余 {more} 个没有读取"
            ),
        ));
    }
    walk.scanned
}

/// Everything to say about one file that was asked for by its path.
pub fn check_file(path: &Path, shown: &str, strictness: Strictness) -> Vec<Diagnostic> {
    let bytes = openat(CWD, path, READ, Mode::empty()).map_err(Trouble::Errno).and_then(content);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match bytes {
        Ok(bytes) => with_tools(|known_tools| {
            check(AgentText { stem: &stem, path: shown, bytes: &bytes, known_tools }, strictness)
        }),
        Err(trouble) => vec![trouble.diagnostic(shown)],
    }
}

struct Walk<'a> {
    root: &'a Root,
    places: &'a Places,
    scanned: Scanned,
    entries: usize,
    /// Paths below the base.
    names: Vec<String>,
}

impl Walk<'_> {
    fn open(
        &self,
        base: BorrowedFd<'_>,
        path: &str,
        flags: rustix::fs::OFlags,
    ) -> rustix::io::Result<OwnedFd> {
        let path = if path.is_empty() { "." } else { path };
        match self.root.fence {
            Some(_) => open_beneath(base, path, flags),
            None => openat(base, path, flags, Mode::empty()),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.fence.as_ref().unwrap_or(&self.root.dir).join(name)
    }

    fn directory(&mut self, base: BorrowedFd<'_>, path: &str, depth: usize) {
        let listed = self.open(base, path, DIRECTORY).and_then(Dir::new);
        let listed = match listed {
            Ok(listed) => listed,
            Err(Errno::NOENT | Errno::NOTDIR) => return,
            Err(error) => {
                let shown = self.places.show(&self.path(path));
                let diagnostic = Trouble::Errno(error).diagnostic(&shown);
                // Other directories are read all the same.
                self.scanned
                    .problems
                    .push(Diagnostic { severity: fugato_model::Severity::Warning, ..diagnostic });
                return;
            }
        };
        for entry in listed.flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return;
            }
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with('.') || name == "node_modules" {
                continue;
            }
            let below = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            let is_markdown = Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
            if is_markdown {
                self.names.push(below);
            } else if depth + 1 < MAX_DEPTH && entry.file_type() == FileType::Directory {
                self.directory(base, &below, depth + 1);
            }
        }
    }

    fn file(&mut self, base: BorrowedFd<'_>, name: &str) {
        let path = self.path(name);
        let shown = self.places.show(&path);
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let bytes = self.open(base, name, READ).map_err(Trouble::Errno).and_then(content);
        let reading = judge(bytes, &stem, &shown);
        // A note for people among the agents is no broken agent.
        let is_note = stem.eq_ignore_ascii_case("readme")
            && reading.diagnostics.iter().any(|found| found.code == Code::F0101);
        if !is_note {
            self.scanned.files.push(ReadFile { origin: self.root.origin, path, shown, stem, reading });
        }
    }
}

/// Why a file gave no bytes.
enum Trouble {
    Errno(Errno),
    NotRegular(Words),
    TooLarge(u64),
    Broke(std::io::Error),
}

impl Trouble {
    fn diagnostic(&self, shown: &str) -> Diagnostic {
        match self {
            Self::Errno(Errno::XDEV | Errno::LOOP) => Diagnostic::error(
                Code::F0126,
                shown,
                words!(
                    "the link leads out of the project or in a circle; it is not followed",
                    "链接指向项目之外或形成循环，不会跟随"
                ),
            )
            .hint(words!("copy the file into the project", "把文件复制到项目里")),
            Self::Errno(Errno::NOENT) => {
                Diagnostic::error(Code::F0126, shown, words!("the link leads to nothing", "链接的目标不存在"))
            }
            Self::Errno(Errno::NXIO | Errno::NODEV) => {
                problems::not_regular(shown, &words!("a socket or device", "套接字或设备文件"))
            }
            Self::Errno(error) => problems::unreadable(shown, &error.to_string()),
            Self::NotRegular(found) => problems::not_regular(shown, found),
            Self::TooLarge(size) => Diagnostic::error(
                Code::F0122,
                shown,
                words!(
                    "the agent file has {size} bytes (limit {MAX_BYTES})",
                    "代理文件有 {size} 字节（上限 {MAX_BYTES}）"
                ),
            ),
            Self::Broke(error) => problems::unreadable(shown, &error.to_string()),
        }
    }
}

fn content(file: OwnedFd) -> Result<Vec<u8>, Trouble> {
    // Judged after opening: what is checked is what is read.
    let stat = fstat(&file).map_err(Trouble::Errno)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Trouble::NotRegular(words!("a directory", "目录"))),
        FileType::Fifo => return Err(Trouble::NotRegular(words!("a FIFO", "命名管道"))),
        _ => return Err(Trouble::NotRegular(words!("a special file", "特殊文件"))),
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > MAX_BYTES as u64 {
        return Err(Trouble::TooLarge(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // A file that grows while it is read still ends, and is too large then.
    std::fs::File::from(file).take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(Trouble::Broke)?;
    Ok(bytes)
}

fn judge(bytes: Result<Vec<u8>, Trouble>, stem: &str, shown: &str) -> AgentReading {
    match bytes {
        Ok(bytes) => {
            with_tools(|known_tools| read(AgentText { stem, path: shown, bytes: &bytes, known_tools }))
        }
        Err(trouble) => {
            AgentReading { diagnostics: vec![trouble.diagnostic(shown)], ..AgentReading::default() }
        }
    }
}

fn with_tools<T>(work: impl FnOnce(&[&str]) -> T) -> T {
    let names: Vec<&str> = TOOLS.iter().map(|(name, _)| *name).collect();
    work(&names)
}
