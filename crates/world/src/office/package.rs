//! The zip inside modern office files, read part by part.
//!
//! Of the format only what these files use: stored and deflated parts, found by the central directory. What the
//! directory says of sizes is not believed: bytes are counted as they come out, and a part that unpacks to far more than
//! it should ends the reading. Nothing is ever unpacked as a whole unless it is small.

use super::{Source, Trouble, Watch};
use flate2::read::DeflateDecoder;
use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, SeekFrom};

/// A large workbook has a few hundred parts, a picture book a few thousand.
const MOST_PARTS: usize = 20_000;
/// A sheet of a million full rows. Read in passing, never held.
const MOST_PART_BYTES: u64 = 1 << 30;
/// Parts that are needed as a whole: styles, relations, core properties.
const MOST_SMALL_BYTES: u64 = 16 << 20;
/// Office XML shrinks to a tenth or a thirtieth; deflate can do 1:1032, and only nonsense comes near that.
const MOST_RATIO: u64 = 300;
/// Below this the ratio says nothing.
const RATIO_FROM: u64 = 16 << 20;

pub(super) struct Package<'s> {
    source: &'s mut dyn Source,
    /// By name in lower case: a few programs write names in another case than they refer to them.
    parts: HashMap<String, Part>,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    header_at: u64,
    packed: u64,
    method: u16,
    is_encrypted: bool,
}

impl std::fmt::Debug for Package<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Package({} parts)", self.parts.len())
    }
}

impl<'s> Package<'s> {
    pub fn open(source: &'s mut dyn Source) -> Result<Self, Trouble> {
        let size = source.seek(SeekFrom::End(0))?;
        let (directory_at, directory_size) = directory(source, size)?;
        source.seek(SeekFrom::Start(directory_at))?;
        let mut bytes = Vec::new();
        source.take(directory_size.min(size)).read_to_end(&mut bytes)?;
        let parts = list(&bytes)?;
        Ok(Self { source, parts })
    }

    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub fn is_encrypted(&self) -> bool {
        self.parts.values().any(|part| part.is_encrypted)
    }

    /// A part as it unpacks. `None`: there is none of this name.
    pub fn part<'p>(
        &'p mut self,
        name: &str,
        watch: &'p Watch<'p>,
    ) -> Result<Option<impl BufRead + use<'p>>, Trouble> {
        let Some(part) = self.find(name) else { return Ok(None) };
        if part.is_encrypted {
            return Err(Trouble::Protected("document"));
        }
        self.source.seek(SeekFrom::Start(part.header_at))?;
        let mut header = [0; 30];
        self.source.read_exact(&mut header).map_err(|_| damaged("a part is missing"))?;
        if !header.starts_with(b"PK\x03\x04") {
            return Err(damaged("a part is not where the directory says"));
        }
        let skipped = i64::from(word(&header, 26)) + i64::from(word(&header, 28));
        self.source.seek(SeekFrom::Current(skipped))?;
        let packed = BufReader::new((&mut *self.source).take(part.packed));
        let unpacked: Box<dyn Read + 'p> = match part.method {
            0 => Box::new(packed),
            8 => Box::new(DeflateDecoder::new(packed)),
            other => return Err(damaged(format!("compression method {other} is not one of office files"))),
        };
        let counted = Counted { unpacked, packed: part.packed, name: name.to_owned(), count: 0, watch };
        Ok(Some(BufReader::with_capacity(64 << 10, counted)))
    }

    /// A small part as a whole.
    pub fn small(&mut self, name: &str, watch: &Watch<'_>) -> Result<Option<Vec<u8>>, Trouble> {
        let Some(part) = self.part(name, watch)? else { return Ok(None) };
        let mut bytes = Vec::new();
        part.take(MOST_SMALL_BYTES + 1).read_to_end(&mut bytes).map_err(told)?;
        if bytes.len() as u64 > MOST_SMALL_BYTES {
            return Err(Trouble::Bomb { part: name.to_owned(), bytes: MOST_SMALL_BYTES });
        }
        Ok(Some(bytes))
    }

    fn find(&self, name: &str) -> Option<Part> {
        let name = name.trim_start_matches('/');
        // No name in a zip is longer than this; what refers to one may be, and may do so a million times.
        if name.len() > usize::from(u16::MAX) {
            return None;
        }
        self.parts.get(&name.to_ascii_lowercase()).copied()
    }
}

/// Counts what comes out, and looks at the clock from time to time.
struct Counted<'p> {
    unpacked: Box<dyn Read + 'p>,
    packed: u64,
    name: String,
    count: u64,
    watch: &'p Watch<'p>,
}

thread_local! {
    /// A reader can only fail with an [`io::Error`]; what it really was waits here for [`told`].
    static CAUSE: Cell<Option<Trouble>> = const { Cell::new(None) };
}

fn fail(cause: Trouble) -> io::Error {
    CAUSE.set(Some(cause));
    io::Error::other("stopped")
}

/// What an error of reading a part really was.
pub(super) fn told(error: io::Error) -> Trouble {
    CAUSE.take().unwrap_or_else(|| Trouble::damaged("document", error))
}

/// The same, for readers that wrap the error.
pub(super) fn told_or(otherwise: impl FnOnce() -> Trouble) -> Trouble {
    CAUSE.take().unwrap_or_else(otherwise)
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.watch.check().map_err(fail)?;
        let length = self.unpacked.read(buffer)?;
        self.count += length as u64;
        let is_dense = self.count > RATIO_FROM && self.count / self.packed.max(1) > MOST_RATIO;
        if is_dense || self.count > MOST_PART_BYTES {
            return Err(fail(Trouble::Bomb { part: self.name.clone(), bytes: self.count }));
        }
        Ok(length)
    }
}

/// Where the central directory is and how long, from the record at the end.
fn directory(source: &mut dyn Source, size: u64) -> Result<(u64, u64), Trouble> {
    // The record has 22 bytes and a comment of at most 65,535; before it may stand the one for large files.
    let from = size.saturating_sub(22 + 65_535 + 20);
    source.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    source.take(size - from).read_to_end(&mut tail)?;
    let at = (0..tail.len().saturating_sub(21))
        .rev()
        .find(|at| tail.get(*at..).is_some_and(|rest| rest.starts_with(b"PK\x05\x06")))
        .ok_or_else(|| damaged("its end is missing"))?;
    let record = tail.get(at..).unwrap_or_default();
    let (length, offset) = (u64::from(long(record, 12)), u64::from(long(record, 16)));
    if offset != u64::from(u32::MAX) && length != u64::from(u32::MAX) {
        return Ok((offset, length));
    }
    let locator = at.checked_sub(20).and_then(|at| tail.get(at..)).unwrap_or_default();
    if !locator.starts_with(b"PK\x06\x07") {
        return Err(damaged("its directory cannot be found"));
    }
    source.seek(SeekFrom::Start(very_long(locator, 8).min(size)))?;
    let mut large = [0; 56];
    source.read_exact(&mut large).map_err(|_| damaged("its directory cannot be found"))?;
    if !large.starts_with(b"PK\x06\x06") {
        return Err(damaged("its directory cannot be found"));
    }
    Ok((very_long(&large, 48), very_long(&large, 40)))
}

fn list(mut bytes: &[u8]) -> Result<HashMap<String, Part>, Trouble> {
    let mut parts = HashMap::new();
    while bytes.starts_with(b"PK\x01\x02") {
        let (name, extra, comment) = (word(bytes, 28), word(bytes, 30), word(bytes, 32));
        let name_end = 46 + usize::from(name);
        let extra_end = name_end + usize::from(extra);
        let Some(raw) = bytes.get(46..name_end) else { break };
        let mut part = Part {
            header_at: u64::from(long(bytes, 42)),
            packed: u64::from(long(bytes, 20)),
            method: word(bytes, 10),
            is_encrypted: word(bytes, 8) & 1 != 0,
        };
        enlarge(&mut part, bytes.get(name_end..extra_end).unwrap_or_default(), long(bytes, 24));
        // Windows programs that write `xl\workbook.xml` exist.
        let name = String::from_utf8_lossy(raw).replace('\\', "/").to_ascii_lowercase();
        if parts.insert(name, part).is_none() && parts.len() > MOST_PARTS {
            return Err(Trouble::TooLarge { what: "the number of parts".into(), limit: MOST_PARTS as u64 });
        }
        bytes = bytes.get(extra_end + usize::from(comment)..).unwrap_or_default();
    }
    if parts.is_empty() {
        return Err(damaged("it has no parts"));
    }
    Ok(parts)
}

/// Sizes of large files stand in an extra field, in a fixed order, each only if its short form is all ones.
fn enlarge(part: &mut Part, mut extra: &[u8], unpacked: u32) {
    while extra.len() >= 4 {
        let length = usize::from(word(extra, 2));
        let field = extra.get(4..4 + length).unwrap_or_default();
        if word(extra, 0) == 1 {
            let mut at = if unpacked == u32::MAX { 8 } else { 0 };
            if part.packed == u64::from(u32::MAX) {
                part.packed = very_long(field, at);
                at += 8;
            }
            if part.header_at == u64::from(u32::MAX) {
                part.header_at = very_long(field, at);
            }
            return;
        }
        extra = extra.get(4 + length..).unwrap_or_default();
    }
}

fn damaged(why: impl std::fmt::Display) -> Trouble {
    Trouble::damaged("document", why)
}

/// Little-endian numbers; 0 where there are no bytes.
pub(super) fn word(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u16::from_le_bytes(*chunk))
}

pub(super) fn long(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

pub(super) fn very_long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u64::from_le_bytes(*chunk))
}
