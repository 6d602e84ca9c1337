//! Measures what a PDF would unpack to before the parser may unpack it, for the parser itself knows no limit.
//!
//! First over the raw bytes, because the parser unpacks its tables while it opens the file; then over the objects, which
//! by then are decrypted and whose filters are known.

use super::super::{Trouble, Watch};
use flate2::read::ZlibDecoder;
use hayro_interpret::hayro_syntax::Filter;
use hayro_interpret::hayro_syntax::Pdf;
use hayro_interpret::hayro_syntax::object::{Array, Name, Object, Stream};
use hayro_interpret::hayro_syntax::page::Page;
use memchr::memmem;
use std::io::{self, Read};

/// One stream: a page full of maps has 50 MiB of drawing.
const MOST_STREAM_BYTES: u64 = 128 << 20;
/// All streams that are not pictures.
const MOST_TOTAL_BYTES: u64 = 2 << 30;
/// Arrays in arrays: real files go ten deep. Brackets in binary data and in text rarely miss their partner this often.
const MOST_DEPTH: i64 = 4000;
/// A stream in a stream in a stream.
const MOST_FILTERS: u32 = 4;
/// How far before a stream its dictionary is looked for.
const HEAD: usize = 1024;
/// Tables of an encrypted file cannot be measured before it is opened; these may unpack to a thousand times as much.
const MOST_LOCKED_TABLES: usize = 1 << 20;

pub(super) fn check(bytes: &[u8], watch: &Watch<'_>) -> Result<(), Trouble> {
    let mut meter = Meter { watch, total: 0 };
    let is_locked = memmem::find(bytes, b"/Encrypt").is_some();
    let (mut locked_tables, mut depth) = (0usize, Depth::default());
    // Up to where nesting was looked at.
    let mut last = 0;
    for found in memmem::find_iter(bytes, b"stream") {
        let before = bytes.get(last.min(found)..found).unwrap_or_default();
        if found < last || before.ends_with(b"end") {
            continue;
        }
        let Some(data) = after_line_end(bytes.get(found + 6..).unwrap_or_default()) else { continue };
        depth.take(before)?;
        last = found;
        let head = before.get(before.len().saturating_sub(HEAD)..).unwrap_or_default();
        if is_named_picture(head) {
            // Gray pixels may be brackets; they are not parsed.
            last = found + memmem::find(data, b"endstream").unwrap_or(0);
        } else if is_locked {
            if memmem::find(head, b"ObjStm").is_some() {
                locked_tables += memmem::find(data, b"endstream").unwrap_or(data.len());
            }
            if locked_tables > MOST_LOCKED_TABLES {
                return Err(Trouble::Protected("PDF"));
            }
        } else if is_zlib(data) {
            meter.count(data, MOST_FILTERS)?;
        }
    }
    depth.take(bytes.get(last..).unwrap_or_default())
}

fn after_line_end(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(b"\r\n").or_else(|| bytes.strip_prefix(b"\n")).or_else(|| bytes.strip_prefix(b"\r"))
}

/// Whether what stands before a stream calls it a picture, and nothing there could mean something else to the parser:
/// no table of objects (`/First`), no name in disguise (`#`), no comment on the line of the word `stream`.
fn is_named_picture(head: &[u8]) -> bool {
    let dict =
        memmem::rfind(head, b" obj").or_else(|| memmem::rfind(head, b"\nobj")).and_then(|at| head.get(at..));
    let dict = dict.unwrap_or(head);
    let line = dict
        .iter()
        .rposition(|byte| matches!(byte, b'\n' | b'\r'))
        .and_then(|at| dict.get(at..))
        .unwrap_or(dict);
    let has = |word: &[u8]| memmem::find(dict, word).is_some();
    has(b"/Image") && !has(b"/First") && !dict.contains(&b'#') && !line.contains(&b'%')
}

/// Every stream that may be unpacked for its text, by its real filters.
pub(super) fn check_objects(pdf: &Pdf, watch: &Watch<'_>) -> Result<(), Trouble> {
    let mut meter = Meter { watch, total: 0 };
    for object in pdf.objects() {
        let Object::Stream(stream) = object else { continue };
        watch.check()?;
        let is_picture = stream.dict().get::<Name<'_>>("Subtype").is_some_and(|kind| *kind == *b"Image");
        if !is_picture {
            meter.measure(&stream)?;
        }
    }
    Ok(())
}

/// What is drawn on a page, whatever it calls itself.
pub(super) fn check_page(page: &Page<'_>, watch: &Watch<'_>) -> Result<(), Trouble> {
    let mut meter = Meter { watch, total: 0 };
    if let Some(stream) = page.raw().get::<Stream<'_>>("Contents") {
        meter.measure(&stream)?;
    }
    if let Some(streams) = page.raw().get::<Array<'_>>("Contents") {
        for stream in streams.iter::<Stream<'_>>() {
            meter.measure(&stream)?;
        }
    }
    Ok(())
}

/// A picture's own stream, before it is unpacked.
pub(super) fn check_picture(stream: &Stream<'_>, watch: &Watch<'_>) -> Result<(), Trouble> {
    Meter { watch, total: 0 }.unpack(stream, None)
}

fn is_zlib(data: &[u8]) -> bool {
    matches!(data, [first, second, ..]
        if first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31))
}

fn bomb(bytes: u64) -> Trouble {
    Trouble::Bomb { part: "a stream of the PDF".into(), bytes }
}

struct Meter<'w> {
    watch: &'w Watch<'w>,
    total: u64,
}

impl Meter<'_> {
    /// By the filters the stream names: what cannot be measured cheaply is bounded by what its method can do at most.
    fn measure(&mut self, stream: &Stream<'_>) -> Result<(), Trouble> {
        self.unpack(stream, Some(Depth::default()))
    }

    fn unpack(&mut self, stream: &Stream<'_>, depth: Option<Depth>) -> Result<(), Trouble> {
        let raw = stream.raw_data();
        let (mut factor, mut flates) = (1u64, 0u32);
        for filter in stream.filters() {
            match filter {
                Filter::FlateDecode => flates += 1,
                Filter::LzwDecode => factor = factor.saturating_mul(1400),
                Filter::RunLengthDecode => factor = factor.saturating_mul(64),
                Filter::Ascii85Decode => factor = factor.saturating_mul(4),
                _ => {}
            }
        }
        if flates == 0 {
            if let (Some(mut depth), 1) = (depth, factor) {
                depth.take(&raw)?;
            }
            let most = (raw.len() as u64).saturating_mul(factor);
            return if most > MOST_TOTAL_BYTES { Err(bomb(most)) } else { Ok(()) };
        }
        if flates == 1 && factor == 1 {
            return self.count_with(&raw, 1, depth);
        }
        // Deflate shrinks to a thousandth at best; a chain of filters around a large stream is nobody's document.
        let most = (raw.len() as u64).saturating_mul(factor).saturating_mul(1032u64.saturating_pow(flates));
        if is_zlib(&raw) && most > MOST_STREAM_BYTES {
            self.count_with(&raw, MOST_FILTERS, depth)
        } else if most > MOST_TOTAL_BYTES {
            Err(bomb(most))
        } else {
            Ok(())
        }
    }

    /// Unpacks into nothing, counting; goes on inside when what comes out is packed again.
    fn count(&mut self, data: &[u8], filters: u32) -> Result<(), Trouble> {
        self.count_with(data, filters, Some(Depth::default()))
    }

    fn count_with(&mut self, data: &[u8], filters: u32, mut depth: Option<Depth>) -> Result<(), Trouble> {
        let mut reader: Box<dyn Read + '_> = Box::new(data);
        for _ in 0..filters {
            let mut unpacked = ZlibDecoder::new(reader);
            let mut start = [0; 2];
            let length = unpacked.read(&mut start).unwrap_or(0);
            let start = start.get(..length).unwrap_or_default().to_vec();
            let is_packed_again = is_zlib(&start);
            reader = Box::new(io::Cursor::new(start).chain(unpacked));
            if !is_packed_again {
                break;
            }
        }
        let (mut chunk, mut count) = (vec![0; 32 << 10], 0u64);
        loop {
            self.watch.check()?;
            let length = reader.read(&mut chunk).unwrap_or(0);
            if length == 0 {
                return Ok(());
            }
            if let Some(depth) = &mut depth {
                depth.take(chunk.get(..length).unwrap_or_default())?;
            }
            count += length as u64;
            self.total += length as u64;
            if count > MOST_STREAM_BYTES || self.total > MOST_TOTAL_BYTES {
                return Err(bomb(count.max(self.total)));
            }
        }
    }
}

/// How deep brackets nest. The parser goes down a level of its stack with each.
#[derive(Default)]
struct Depth {
    now: i64,
    last: u8,
}

impl Depth {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        for byte in bytes {
            match byte {
                b'[' => self.now += 1,
                b']' => self.now = (self.now - 1).max(0),
                b'<' if self.last == b'<' => self.now += 1,
                b'>' if self.last == b'>' => self.now = (self.now - 1).max(0),
                _ => {}
            }
            self.last = *byte;
            if self.now > MOST_DEPTH {
                return Err(Trouble::damaged("PDF", "it is nested thousands deep"));
            }
        }
        Ok(())
    }
}
