//! Loose leaves: the newest events of a run of agents outside, in a file beside the database until somebody binds them into it.
//!
//! A call of the hook that has nothing to decide adds one line here instead of opening a database. A line is the event as the
//! log will hold it, with its number, so it is bound once however often that is tried, and a reader sees it at its place.
//! Whoever writes to the run's log closes the leaves first, inside its write transaction, and opens them again after the
//! commit unless somebody else has closed them meanwhile: open leaves go on exactly where the database ends. See
//! `docs/decisions/loose-leaves.md`.

use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One event that is not bound yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub seq: u64,
    pub at: i64,
    /// The JSON document.
    pub event: Vec<u8>,
}

/// Under which lines may be added: the head of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Who closed it, by a word nobody else has. `None`: it is open.
    pub closed_by: Option<String>,
    /// Of this very file: a pass that names another one was given by somebody who was left behind.
    pub era: String,
    /// After a power cut nothing here is known to agree with the database.
    pub boot: String,
    /// The last event in the database, and its time.
    pub base: u64,
    pub at: i64,
    /// What `control.json` was; another one may hold a directive.
    pub control: Option<Stamp>,
    /// The process to which the run belongs.
    pub holder: Option<(u32, u64)>,
    /// The marks beside it name the last writer of every file.
    pub marked: bool,
}

/// A file as it was: device, number, size, time of change in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp(pub u64, pub u64, pub u64, pub i64);

impl Stamp {
    /// `None`: there is no such file.
    pub fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        let time = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Some(Self(found.dev(), found.ino(), found.size(), time))
    }
}

/// What was found when the leaves were closed.
#[derive(Clone, Debug, Default)]
pub struct Closed {
    pub token: String,
    pub leaves: Vec<Leaf>,
    /// The marks beside it can be trusted.
    pub marked: bool,
}

/// What to do about somebody who holds the lock and does not let go (a process that was stopped by its terminal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Give up: this can be done later.
    Short,
    /// Go on without them: their line, if it still comes, goes nowhere, and they notice.
    Insist,
}

/// The head has a fixed length, so that it can be written anew in place.
const HEAD: usize = 512;
/// Number, time, length and checksum after each event.
const FOOT: usize = 61;
/// So many lines, or bytes, and the next call binds them: what one call may have to do is bounded.
pub const MOST_LINES: u64 = 256;
pub const MOST_BYTES: u64 = 256 * 1024;
/// Whoever holds the lock writes a few small files.
const SHORT: Duration = Duration::from_millis(80);
const LONG: Duration = Duration::from_secs(1);

/// Where the leaves of a run lie, and what belongs to them.
pub fn dir(state: &Path, run: &str) -> PathBuf {
    state.join("outside").join(run)
}

fn file(state: &Path, run: &str) -> PathBuf {
    dir(state, run).join("leaves")
}

/// The file, locked for as long as this lives.
#[derive(Debug)]
pub struct Held {
    file: File,
    pub terms: Terms,
    length: u64,
}

impl Held {
    /// For whoever adds a line. `None`: there is none, it is not readable, or it is taken for too long.
    pub fn take(state: &Path, run: &str) -> Option<Self> {
        let file = options().open(file(state, run)).ok()?;
        lock(&file, SHORT).ok()?;
        Self::read(file).ok()
    }

    fn read(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, 0)?;
        let terms = serde_json::from_slice(&head)?;
        Ok(Self { file, terms, length })
    }

    /// Number and time of the last event, and whether there is room for another. `None`: full, or its end is torn.
    pub fn end(&self) -> Option<(u64, i64)> {
        if self.length == HEAD as u64 {
            return Some((self.terms.base, self.terms.at));
        }
        let mut foot = [0; FOOT];
        self.file.read_exact_at(&mut foot, self.length.checked_sub(FOOT as u64)?).ok()?;
        let Foot { seq, at, .. } = Foot::read(&foot)?;
        let is_full = seq >= self.terms.base + MOST_LINES || self.length >= MOST_BYTES;
        (!is_full).then_some((seq, at))
    }

    /// Adds one event in one write. `false`: it is not recorded here.
    pub fn add(&mut self, seq: u64, at: i64, event: &[u8]) -> bool {
        let line = line_of(seq, at, event);
        let is_whole = self.file.write_at(&line, self.length).is_ok_and(|count| count == line.len());
        // Somebody who could not wait may have taken the file away.
        is_whole && self.file.metadata().is_ok_and(|found| found.nlink() > 0)
    }

    fn write_head(&self) -> io::Result<()> {
        let mut head = serde_json::to_vec(&self.terms)?;
        if head.len() >= HEAD {
            return Err(ErrorKind::InvalidData.into());
        }
        head.resize(HEAD - 1, b' ');
        head.push(b'\n');
        self.file.write_all_at(&head, 0)
    }
}

/// Nobody adds a line from now on, until [`open`] is called with the same token. Inside a write transaction of the database.
pub fn close(state: &Path, run: &str, boot: &str, token: &str, patience: Patience) -> io::Result<Closed> {
    let path = file(state, run);
    let open = || options().create(true).open(&path);
    let file = match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(dir(state, run))?;
            open()?
        }
        file => file?,
    };
    let is_stuck = match (patience, lock(&file, if patience == Patience::Short { SHORT } else { LONG })) {
        (Patience::Insist, Err(error)) if error.kind() == ErrorKind::WouldBlock => true,
        (_, locked) => locked.map(|()| false)?,
    };
    if is_stuck {
        // Taken away first and read then: a line that is not read finds the file gone.
        fs::remove_file(&path)?;
        let leaves = leaves_in(&whole(&file)?);
        let fresh = options().create_new(true).open(&path)?;
        lock(&fresh, SHORT)?;
        shut(fresh, Terms::default(), boot, token)?;
        return Ok(Closed { token: token.to_owned(), leaves, marked: false });
    }
    let leaves = leaves_in(&whole(&file)?);
    // A head that cannot be read is nobody's promise.
    let terms = Held::read(file.try_clone()?).map(|held| held.terms).unwrap_or_default();
    let marked = shut(file, terms, boot, token)?;
    Ok(Closed { token: token.to_owned(), leaves, marked })
}

fn shut(file: File, mut terms: Terms, boot: &str, token: &str) -> io::Result<bool> {
    terms.marked &= terms.boot == boot;
    if terms.era.is_empty() {
        token.clone_into(&mut terms.era);
    }
    (terms.boot, terms.closed_by) = (boot.to_owned(), Some(token.to_owned()));
    let held = Held { file, terms, length: 0 };
    held.write_head()?;
    Ok(held.terms.marked)
}

/// After the commit: what was bound goes, and lines may be added again. `None`: somebody else has closed them since, who will
/// see to it. They are open when the value is dropped.
pub fn open(state: &Path, run: &str, token: &str, mut terms: Terms) -> io::Result<Option<Held>> {
    let file = options().open(file(state, run))?;
    lock(&file, SHORT)?;
    let mut held = Held::read(file)?;
    if held.terms.closed_by.as_deref() != Some(token) {
        return Ok(None);
    }
    held.file.set_len(HEAD as u64)?;
    terms.era = std::mem::take(&mut held.terms.era);
    (held.length, held.terms) = (HEAD as u64, terms);
    held.write_head()?;
    Ok(Some(held))
}

/// The run is over.
pub fn remove(state: &Path, run: &str) {
    let _ = fs::remove_dir_all(dir(state, run));
}

/// What is not bound, or was just now. To be read before the database, for then nothing is missing between the two.
pub fn read(state: &Path, run: &str) -> Vec<Leaf> {
    let bytes = options().write(false).open(file(state, run)).and_then(|file| whole(&file));
    bytes.map(|bytes| leaves_in(&bytes)).unwrap_or_default()
}

/// Changes whenever a line was added in any run.
pub fn stamp(state: &Path) -> u64 {
    let Ok(runs) = fs::read_dir(state.join("outside")) else { return 0 };
    let stamps = runs.flatten().filter_map(|run| Stamp::of(&run.path().join("leaves")));
    stamps.fold(1, |sum, Stamp(_, number, length, time)| {
        sum.wrapping_add(number.wrapping_mul(31)).wrapping_add(length).wrapping_add(time.cast_unsigned())
    })
}

fn whole(file: &File) -> io::Result<Vec<u8>> {
    // What is longer was not written by us.
    let length = file.metadata()?.len().min(4 * MOST_BYTES);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Whole lines from the beginning on; what follows a torn one was never answered for.
fn leaves_in(bytes: &[u8]) -> Vec<Leaf> {
    let mut leaves: Vec<Leaf> = Vec::new();
    for line in bytes.get(HEAD..).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
        let Some((event, foot)) = line.len().checked_sub(FOOT).and_then(|at| line.split_at_checked(at))
        else {
            break;
        };
        let Some(Foot { seq, at, length, sum }) = Foot::read(foot) else { break };
        let follows = leaves.last().is_none_or(|last| seq == last.seq + 1);
        if length != event.len() || sum != checksum(event, seq, at) || !follows {
            break;
        }
        leaves.push(Leaf { seq, at, event: event.to_vec() });
    }
    leaves
}

fn line_of(seq: u64, at: i64, event: &[u8]) -> Vec<u8> {
    let (length, sum) = (event.len(), checksum(event, seq, at));
    let foot = format!(" {seq:016x} {:016x} {length:08x} {sum:016x}\n", at.cast_unsigned());
    [event, foot.as_bytes()].concat()
}

struct Foot {
    seq: u64,
    at: i64,
    length: usize,
    sum: u64,
}

impl Foot {
    fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.strip_prefix(' ')?.strip_suffix('\n')?;
        let mut words = text.split(' ').map(|word| u64::from_str_radix(word, 16).ok());
        let (seq, at) = (words.next()??, words.next()??.cast_signed());
        Some(Self { seq, at, length: usize::try_from(words.next()??).ok()?, sum: words.next()?? })
    }
}

/// FNV-1a: shows what a crash tore, and is no guard against anybody.
fn checksum(event: &[u8], seq: u64, at: i64) -> u64 {
    let numbers = seq.to_le_bytes().into_iter().chain(at.to_le_bytes());
    event.iter().copied().chain(numbers).fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let carefully = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    options.read(true).write(true).mode(0o600).custom_flags(carefully.cast_signed());
    options
}

fn lock(file: &File, patience: Duration) -> io::Result<()> {
    let until = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(fs::TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_micros(100));
            }
            Err(fs::TryLockError::WouldBlock) => return Err(ErrorKind::WouldBlock.into()),
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(state: &Path, base: u64) -> Held {
        close(state, "run_a", "boot", "me", Patience::Short).unwrap();
        let terms = Terms { boot: "boot".into(), base, at: 7, ..Terms::default() };
        open(state, "run_a", "me", terms).unwrap().unwrap()
    }

    #[test]
    fn what_was_added_is_found_in_order_and_numbered_on() {
        let state = tempfile::tempdir().unwrap();
        drop(opened(state.path(), 41));
        for n in 42..=44_u64 {
            let mut held = Held::take(state.path(), "run_a").unwrap();
            assert_eq!(held.end().unwrap().0, n - 1);
            assert!(held.add(n, 9, format!("{{\"seq\":{n}}}").as_bytes()));
        }
        let leaves = read(state.path(), "run_a");
        assert_eq!(leaves.iter().map(|leaf| leaf.seq).collect::<Vec<_>>(), [42, 43, 44]);
        assert_eq!(leaves[2].event, b"{\"seq\":44}");
        let closed = close(state.path(), "run_a", "boot", "you", Patience::Short).unwrap();
        assert_eq!(closed.leaves, leaves);
        assert!(Held::take(state.path(), "run_a").unwrap().terms.closed_by.is_some());
    }

    #[test]
    fn a_torn_end_hides_nothing_before_it_and_nothing_is_added_after_it() {
        let state = tempfile::tempdir().unwrap();
        let mut held = opened(state.path(), 1);
        assert!(held.add(2, 9, b"{}"));
        drop(held);
        let path = file(state.path(), "run_a");
        let whole = fs::read(&path).unwrap();
        let next = line_of(3, 9, b"{\"a\":1}");
        for cut in 1..next.len() {
            fs::write(&path, [&whole[..], &next[..cut]].concat()).unwrap();
            assert_eq!(read(state.path(), "run_a").len(), 1, "{cut}");
            assert_eq!(Held::take(state.path(), "run_a").unwrap().end(), None, "{cut}");
        }
        let mut changed = [&whole[..], &next[..]].concat();
        let at = whole.len() + 2;
        changed[at] ^= 1;
        fs::write(&path, changed).unwrap();
        assert_eq!(read(state.path(), "run_a").len(), 1);
    }

    #[test]
    fn only_who_closed_them_last_opens_them() {
        let state = tempfile::tempdir().unwrap();
        drop(opened(state.path(), 1));
        close(state.path(), "run_a", "boot", "first", Patience::Short).unwrap();
        close(state.path(), "run_a", "boot", "second", Patience::Short).unwrap();
        let terms = || Terms { boot: "boot".into(), ..Terms::default() };
        assert!(open(state.path(), "run_a", "first", terms()).unwrap().is_none());
        assert!(open(state.path(), "run_a", "second", terms()).unwrap().is_some());
    }

    #[test]
    fn marks_of_another_boot_are_not_trusted() {
        let state = tempfile::tempdir().unwrap();
        close(state.path(), "run_a", "boot", "me", Patience::Short).unwrap();
        let terms = Terms { boot: "boot".into(), marked: true, ..Terms::default() };
        drop(open(state.path(), "run_a", "me", terms).unwrap());
        assert!(close(state.path(), "run_a", "boot", "me", Patience::Short).unwrap().marked);
        assert!(!close(state.path(), "run_a", "later", "me", Patience::Short).unwrap().marked);
    }

    #[test]
    fn somebody_who_holds_them_for_ever_is_left_behind_and_notices() {
        let state = tempfile::tempdir().unwrap();
        let mut stuck = opened(state.path(), 1);
        let refused = close(state.path(), "run_a", "boot", "you", Patience::Short);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::WouldBlock);
        close(state.path(), "run_a", "boot", "you", Patience::Insist).unwrap();
        assert!(!stuck.add(2, 9, b"{}"), "its line went nowhere");
        let terms = Held::take(state.path(), "run_a").unwrap().terms;
        assert!(terms.closed_by.is_some() && terms.era != stuck.terms.era);
    }
}
