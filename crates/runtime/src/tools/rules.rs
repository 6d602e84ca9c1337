//! Which files a walk leaves out: `.gitignore` and `.ignore` files, from the top of the repository downwards.
//!
//! The matching is ripgrep's. The files are opened here, because a rule file in a foreign repository may be a pipe or a
//! link to an endless device, which must not be waited for.

use crate::beneath::READ;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fd::BorrowedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Of a rule file; real ones have a few kilobytes. What is longer is read this far.
const MAX_BYTES: u64 = 1 << 20;
/// Lowest precedence first.
const NAMES: [&str; 2] = [".gitignore", ".ignore"];
/// How far above the project the top of its repository is looked for.
const MAX_ABOVE: usize = 64;

/// The rules that hold in one directory, innermost last.
#[derive(Debug, Default)]
pub(super) struct Rules(Vec<Level>);

#[derive(Debug)]
struct Level {
    matcher: Gitignore,
    base: Base,
}

/// Where the directory of the rules is, seen from the root of the walk.
#[derive(Debug)]
enum Base {
    /// Above it: these components lie between.
    Above(PathBuf),
    /// In it or beneath: so many bytes of a path lead there.
    Within(usize),
}

impl Rules {
    /// The rules of the repository around a root, without those of the root itself.
    pub fn around(root: &Path) -> Self {
        let Ok(root) = root.canonicalize() else { return Self::default() };
        let Some(top) = root.ancestors().take(MAX_ABOVE).find(|dir| crate::places::is_repository(dir)) else {
            return Self::default();
        };
        let above = root.ancestors().skip(1).take_while(|dir| dir.starts_with(top));
        let mut levels = Vec::new();
        for dir in above.collect::<Vec<_>>().into_iter().rev() {
            let Ok(between) = root.strip_prefix(dir) else { continue };
            let read = |name: &str| read_file(CWD, &dir.join(name));
            levels.extend(
                matcher(read).map(|matcher| Level { matcher, base: Base::Above(between.to_owned()) }),
            );
        }
        let exclude = top.join(".git/info/exclude");
        let between = root.strip_prefix(top).unwrap_or(Path::new("")).to_owned();
        if let Some(matcher) = matcher(|name| if name == NAMES[0] { read_file(CWD, &exclude) } else { None })
        {
            levels.insert(0, Level { matcher, base: Base::Above(between) });
        }
        Self(levels)
    }

    /// Adds the rules of a directory to which `length` bytes of a path lead. Gives whether there were any.
    pub fn enter(&mut self, dir: BorrowedFd<'_>, length: usize) -> bool {
        let found = matcher(|name| read_file(dir, Path::new(name)));
        let any = found.is_some();
        self.0.extend(found.map(|matcher| Level { matcher, base: Base::Within(length) }));
        any
    }

    /// Forgets the rules of the last directory.
    pub fn leave(&mut self) {
        self.0.pop();
    }

    /// `path` is relative to the root of the walk. The innermost rule that says anything decides.
    pub fn leaves_out(&self, path: &[u8], is_dir: bool) -> bool {
        for level in self.0.iter().rev() {
            let inner;
            let seen = match &level.base {
                Base::Within(length) => Path::new(OsStr::from_bytes(path.get(*length..).unwrap_or_default())),
                Base::Above(between) => {
                    inner = between.join(OsStr::from_bytes(path));
                    inner.as_path()
                }
            };
            match level.matcher.matched(seen, is_dir) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

fn matcher(read: impl Fn(&str) -> Option<Vec<u8>>) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    for bytes in NAMES.into_iter().filter_map(read) {
        let text = String::from_utf8_lossy(&bytes);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // A rule that is not a rule does not take the others with it.
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().ok().filter(|matcher| !matcher.is_empty())
}

/// A rule file that is a link is no rule file: git says the same.
fn read_file(dir: BorrowedFd<'_>, path: &Path) -> Option<Vec<u8>> {
    let fd = openat(dir, path, READ | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    let stat = fstat(&fd).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::from(fd).take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
