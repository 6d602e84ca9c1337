//! The end of a file of lines: how far it goes, and what a crash left torn there.

use super::files::QUARANTINE;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Where a file of lines ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub length: u64,
    /// The event of the last line that is ours.
    pub last_seq: u64,
}

impl Tail {
    pub const EMPTY: Self = Self { length: 0, last_seq: 0 };
    /// A file that cannot be used: it has every line, so that none is written to it.
    pub const BROKEN: Self = Self { length: 0, last_seq: u64::MAX };
}

/// Neither through a link nor into a pipe that nobody reads.
pub(super) const CAREFULLY: i32 =
    (rustix::fs::OFlags::NOFOLLOW.bits() | rustix::fs::OFlags::NONBLOCK.bits()) as i32;

pub(super) fn open_carefully(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(CAREFULLY).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
}

/// Looks at a file before the first line is added to it. A last line without its end was torn by a crash: it is moved to
/// `.quarantine`, else the next line would be glued to it and two were lost.
pub(super) fn look(path: &Path) -> io::Result<Tail> {
    let file = match OpenOptions::new().read(true).write(true).custom_flags(CAREFULLY).open(path) {
        Ok(file) if file.metadata()?.is_file() => file,
        Ok(_) => return Err(ErrorKind::InvalidInput.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Tail { length: 0, last_seq: 0 }),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let whole = end_of_last_line(&file, length)?;
    if whole < length {
        let mut torn = &file;
        torn.seek(SeekFrom::Start(whole))?;
        quarantine_bytes(path, &mut torn.take(length - whole))?;
        file.set_len(whole)?;
        file.sync_all()?;
    }
    Ok(Tail { length: whole, last_seq: last_seq(&file, whole)? })
}

pub(super) fn ends_with_newline(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    Ok(end_of_last_line(file, length)? == length)
}

/// Bytes up to and including the last line break.
fn end_of_last_line(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut block = vec![0; BLOCK];
    while end > 0 {
        let start = end.saturating_sub(BLOCK as u64);
        let part = block.get_mut(..usize::try_from(end - start).unwrap_or(0)).unwrap_or_default();
        file.read_exact_at(part, start)?;
        if let Some(at) = memchr::memrchr(b'\n', part) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// The number in the last line that has one. Lines of other programs have none.
fn last_seq(file: &File, length: u64) -> io::Result<u64> {
    let mut window = BLOCK as u64;
    loop {
        let start = length.saturating_sub(window);
        let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(0)];
        file.read_exact_at(&mut bytes, start)?;
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        if start > 0 && !lines.is_empty() {
            lines.remove(0); // begins before the window
        }
        if let Some(seq) = lines.iter().rev().find_map(|line| seq_of(line)) {
            return Ok(seq);
        }
        if start == 0 {
            return Ok(0);
        }
        window *= 4;
    }
}

fn seq_of(line: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Numbered {
        seq: u64,
    }
    serde_json::from_slice::<Numbered>(line).ok().map(|line| line.seq)
}

const BLOCK: usize = 64 * 1024;

/// Puts bytes beside a file, under a name that is free.
pub(super) fn quarantine_bytes(path: &Path, bytes: &mut dyn Read) -> io::Result<()> {
    let place = quarantine_place(path)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&place)?;
    io::copy(bytes, &mut file)?;
    file.sync_all()
}

/// Moves whatever has this name out of the way.
pub(super) fn quarantine(path: &Path) -> io::Result<()> {
    let place = quarantine_place(path)?;
    fs::rename(path, place)
}

fn quarantine_place(path: &Path) -> io::Result<std::path::PathBuf> {
    let dir = path.parent().unwrap_or(Path::new(".")).join(QUARANTINE);
    DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let taken = |n: &u32| fs::symlink_metadata(dir.join(format!("{name}.{n}"))).is_err();
    let free = (1..100_000).find(taken).ok_or(ErrorKind::AlreadyExists)?;
    Ok(dir.join(format!("{name}.{free}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_put_aside_and_the_rest_says_how_far_it_goes() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("stream.jsonl");
        assert_eq!(look(&file).unwrap(), Tail { length: 0, last_seq: 0 });
        fs::write(&file, "{\"seq\":3}\n{\"seq\":7,\"x\":1}\n{\"mine\":true}\n{\"seq\":9,\"me").unwrap();
        let tail = look(&file).unwrap();
        assert_eq!(tail.last_seq, 7);
        assert_eq!(fs::read(&file).unwrap().len() as u64, tail.length);
        let kept = fs::read_to_string(dir.path().join(".quarantine/stream.jsonl.1")).unwrap();
        assert_eq!(kept, "{\"seq\":9,\"me");
        assert_eq!(look(&file).unwrap(), tail);
    }

    #[test]
    fn the_last_number_is_found_behind_megabytes_of_foreign_lines() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("inbox.jsonl");
        let foreign =
            format!("{{\"type\":\"redirect\",\"instruction\":\"{}\"}}\n", "x".repeat(500)).repeat(3000);
        fs::write(&file, format!("{{\"seq\":4}}\n{foreign}")).unwrap();
        assert_eq!(look(&file).unwrap().last_seq, 4);
        fs::write(&file, "x".repeat(300_000)).unwrap();
        assert_eq!(look(&file).unwrap(), Tail { length: 0, last_seq: 0 });
    }

    #[test]
    fn links_pipes_and_directories_are_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link, pipe) = (dir.path().join("real"), dir.path().join("link"), dir.path().join("pipe"));
        fs::write(&real, "precious").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(look(&link).is_err() && look(&pipe).is_err() && look(dir.path()).is_err());
        assert_eq!(fs::read_to_string(&real).unwrap(), "precious");
    }
}
