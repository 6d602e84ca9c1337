//! Opening a path that must stay inside a directory, whatever links and races do.
//!
//! Linux answers in one call (`openat2` with `RESOLVE_BENEATH`); where that is missing, the same rules are walked
//! component by component over held directory handles. Both refuse absolute links and links that climb out.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use std::collections::VecDeque;

/// Never blocks on a FIFO, never becomes the controlling terminal of a device.
pub(crate) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

/// Opens `path` beneath `dir`, following links as long as they stay inside. [`Errno::XDEV`] means it would leave.
pub(crate) fn open_beneath(dir: BorrowedFd<'_>, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        // EAGAIN: something was renamed meanwhile and the kernel could not prove the answer. A few tries, then the walk.
        for _ in 0..8 {
            match openat2(dir, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                // An old kernel, or a container that forbids the call.
                Err(Errno::NOSYS | Errno::PERM) => break,
                answer => return answer,
            }
        }
    }
    walk_beneath(dir, path, flags)
}

/// As many links as Linux follows before it says "loop".
const MAX_LINKS: u32 = 40;

fn walk_beneath(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mut held: Vec<OwnedFd> = Vec::new();
    let mut rest: VecDeque<Vec<u8>> = split(path.as_bytes())?;
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == b".." {
            // Up means back to a handle we hold, so a directory that is moved away meanwhile cannot take us outside.
            held.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let here = held.last().map_or(root, AsFd::as_fd);
        let last = rest.is_empty();
        let wanted = if last { flags } else { DIRECTORY };
        match openat(here, name.as_slice(), wanted | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(fd) if last => return Ok(fd),
            Ok(fd) => held.push(fd),
            // ELOOP (a link) or ENOTDIR (a link where a directory was asked for).
            Err(error @ (Errno::LOOP | Errno::NOTDIR | Errno::MLINK)) => {
                let Ok(target) = readlinkat(here, name.as_slice(), Vec::new()) else { return Err(error) };
                if last && flags.contains(OFlags::NOFOLLOW) {
                    return Err(error);
                }
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP);
                }
                for component in split(target.as_bytes())?.into_iter().rev() {
                    rest.push_front(component);
                }
            }
            Err(error) => return Err(error),
        }
    }
    // The path ended in `.`, `..` or a link to such: the directory itself.
    openat(held.last().map_or(root, AsFd::as_fd), ".", flags, Mode::empty())
}

fn split(path: &[u8]) -> rustix::io::Result<VecDeque<Vec<u8>>> {
    if path.starts_with(b"/") {
        return Err(Errno::XDEV);
    }
    let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    Ok(parts.map(<[u8]>::to_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    type Opener = fn(BorrowedFd<'_>, &str, OFlags) -> rustix::io::Result<OwnedFd>;

    #[test]
    fn both_ways_of_opening_agree() {
        let temp = tempfile::tempdir().unwrap();
        let skill = temp.path().join("skill");
        fs::create_dir_all(skill.join("a/b")).unwrap();
        fs::write(temp.path().join("secret"), "secret").unwrap();
        fs::write(skill.join("a/b/c.md"), "inside").unwrap();
        symlink("a/b", skill.join("short")).unwrap();
        symlink("../b/c.md", skill.join("a/b/again.md")).unwrap();
        symlink("../../secret", skill.join("a/out")).unwrap();
        symlink("/etc/passwd", skill.join("absolute")).unwrap();
        symlink("loop", skill.join("loop")).unwrap();
        symlink("../skill/a/b/c.md", skill.join("out-and-in")).unwrap();
        let dir = fs::File::open(&skill).unwrap();
        for open in [open_beneath as Opener, walk_beneath as Opener] {
            let read = |path: &str| {
                let mut text = String::new();
                open(dir.as_fd(), path, READ)
                    .map(|fd| fs::File::from(fd).read_to_string(&mut text).unwrap())?;
                Ok::<_, Errno>(text)
            };
            for path in ["a/b/c.md", "short/c.md", "a/b/again.md", "short/../b/c.md"] {
                assert_eq!(read(path).as_deref(), Ok("inside"), "{path}");
            }
            for path in ["a/out", "absolute", "out-and-in", "../secret", "a/../../secret"] {
                assert_eq!(read(path), Err(Errno::XDEV), "{path}");
            }
            assert_eq!(read("loop"), Err(Errno::LOOP));
            // Asked not to follow the last name, both do not.
            let unfollowed = |path: &str| open(dir.as_fd(), path, DIRECTORY | OFlags::NOFOLLOW).map(|_| ());
            assert_eq!(unfollowed("a/b"), Ok(()));
            assert_eq!(unfollowed("short"), Err(Errno::NOTDIR));
            assert_eq!(
                open(dir.as_fd(), "a/b/again.md", READ | OFlags::NOFOLLOW).map(|_| ()),
                Err(Errno::LOOP)
            );
            assert_eq!(read("a/missing"), Err(Errno::NOENT));
            assert_eq!(read("a/b/c.md/x"), Err(Errno::NOTDIR));
        }
    }
}
