//! The structure of a zip file, read strictly: the end record, the central directory, and each local header against it.
//!
//! Two unpackers may read one zip differently (duplicate records, hidden gaps, a second end record, names that differ
//! between the two headers). Each such freedom is refused here, so what is checked is what every tool would unpack.
//! Compressed data is only located, not opened.

use super::limit::MAX_ENTRIES;
use fugato_model::{Code, Words, words};

/// One record of the central directory whose local header agrees with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    /// Position in the central directory, from 1.
    pub number: usize,
    pub name: &'a [u8],
    pub method: u16,
    pub crc: u32,
    pub packed: &'a [u8],
    /// The inflated size the header claims.
    pub claimed: u64,
    pub node: Node,
    /// Unix permission bits; 0 when the archive has none.
    pub permissions: u32,
    pub encrypted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    File,
    Directory,
    Link,
    Special,
}

/// Why the archive cannot be read, and the entry at fault if it is one.
#[derive(Debug)]
pub(super) struct Broken<'a> {
    pub code: Code,
    pub entry: Option<(usize, &'a [u8])>,
    pub why: Words,
}

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: &[u8] = b"PK\x05\x06";
const END_BYTES: usize = 22;
const CENTRAL_BYTES: usize = 46;
const LOCAL_BYTES: usize = 30;
/// A data descriptor: 12 to 24 bytes behind the data, depending on its signature and zip64.
const MAX_DESCRIPTOR_BYTES: usize = 24;
const STREAMED: u16 = 1 << 3;
/// Bit 0: encrypted; bit 6: strong encryption; bit 13: encrypted central directory.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;

/// Reads the whole structure.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Broken<'_>> {
    let end = find_end(bytes)?;
    let mut at = end.start;
    let mut entries = Vec::with_capacity(end.count);
    let mut extents = Vec::with_capacity(end.count);
    for number in 1..=end.count {
        let (entry, extent, next) = central_record(bytes, at, number, &end)?;
        entries.push(entry);
        extents.push(extent);
        at = next;
    }
    if at != end.at {
        return Err(broken(words!(
            "the central directory has records that are not counted",
            "中央目录含有未计入的记录"
        )));
    }
    check_extents(&mut extents, &entries, end.start)?;
    Ok(entries)
}

struct End {
    /// Offset of the end record.
    at: usize,
    /// Offset of the central directory.
    start: usize,
    count: usize,
}

fn find_end(bytes: &[u8]) -> Result<End, Broken<'_>> {
    let tail_from = bytes.len().saturating_sub(END_BYTES + usize::from(u16::MAX));
    let tail = bytes.get(tail_from..).unwrap_or_default();
    // A stored archive inside this one has an end record too; only one may reach to the last byte, and none may hide in
    // the comment behind it.
    let signs: Vec<usize> = memchr::memmem::find_iter(tail, END).map(|at| tail_from + at).collect();
    let reaches_end = |at: &usize| {
        u16_at(bytes, at + 20).is_some_and(|comment| at + END_BYTES + usize::from(comment) == bytes.len())
    };
    let mut fitting = signs.iter().copied().filter(reaches_end);
    let at = match (fitting.next(), fitting.next()) {
        (Some(at), None) if signs.last() == Some(&at) => at,
        (Some(_), _) => return Err(not_plain(words!("it has two end records", "有两个结尾记录"))),
        (None, _) if signs.is_empty() => {
            return Err(broken(words!(
                "it has no end record: truncated, or not a zip file",
                "找不到结尾记录：文件被截断，或不是 zip 文件"
            )));
        }
        (None, _) => return Err(not_plain(words!("bytes follow its end", "结尾之后还有数据"))),
    };
    let field = |offset| u16_at(bytes, at + offset).unwrap_or_default();
    let size = u32_at(bytes, at + 12).unwrap_or_default();
    let start = u32_at(bytes, at + 16).unwrap_or_default();
    let count = field(10);
    if count == u16::MAX || size == u32::MAX || start == u32::MAX {
        return Err(broken(words!(
            "it is a zip64 archive, which is for files above 4 GiB",
            "它是 zip64 归档，用于 4 GiB 以上的文件"
        )));
    }
    if field(4) != 0 || field(6) != 0 || field(8) != count {
        return Err(broken(words!("it is one part of a split archive", "它是分卷归档的一部分")));
    }
    if usize::from(count) > MAX_ENTRIES {
        let why = words!(
            "it has {count} entries (limit {MAX_ENTRIES})",
            "有 {count} 个条目（最多 {MAX_ENTRIES} 个）"
        );
        return Err(Broken { code: Code::F0303, entry: None, why });
    }
    let (size, start) = (size as usize, start as usize);
    if start + size != at {
        return Err(if start + size < at {
            not_plain(words!("it has bytes that belong to no entry", "含有不属于任何条目的数据"))
        } else {
            broken(words!("its central directory lies outside the file", "中央目录超出文件范围"))
        });
    }
    Ok(End { at, start, count: usize::from(count) })
}

/// Where an entry's header and data lie.
struct Extent {
    from: usize,
    to: usize,
    streamed: bool,
    number: usize,
}

fn central_record<'a>(
    bytes: &'a [u8],
    at: usize,
    number: usize,
    end: &End,
) -> Result<(Entry<'a>, Extent, usize), Broken<'a>> {
    let cut = || {
        broken(words!("entry {number}: its record is cut off or damaged", "条目 {number}：记录被截断或损坏"))
    };
    if u32_at(bytes, at) != Some(CENTRAL) {
        return Err(cut());
    }
    let short = |offset| u16_at(bytes, at + offset).ok_or_else(cut);
    let long = |offset| u32_at(bytes, at + offset).ok_or_else(cut);
    let (name_length, extra_length) = (usize::from(short(28)?), usize::from(short(30)?));
    let extra_at = at + CENTRAL_BYTES + name_length;
    let next = extra_at + extra_length + usize::from(short(32)?);
    if next > end.at {
        return Err(cut());
    }
    let name = bytes.get(at + CENTRAL_BYTES..extra_at).ok_or_else(cut)?;
    let extra = bytes.get(extra_at..extra_at + extra_length).ok_or_else(cut)?;
    let fail = |why| Broken { code: Code::F0306, entry: Some((number, name)), why };
    let (packed_size, claimed, offset) = (long(20)?, long(24)?, long(42)?);
    if [packed_size, claimed, offset].contains(&u32::MAX) {
        return Err(fail(words!(
            "it uses zip64, which is for files above 4 GiB",
            "使用了 zip64，它用于 4 GiB 以上的文件"
        )));
    }
    if short(34)? != 0 {
        return Err(fail(words!("it lies in another part of a split archive", "位于分卷归档的另一部分")));
    }
    let (flags, method, crc) = (short(8)?, short(10)?, long(16)?);
    let data = local_data(bytes, offset as usize, name, flags, method).map_err(fail)?;
    let to = data + packed_size as usize;
    let packed = bytes.get(data..to).filter(|_| to <= end.start);
    let packed =
        packed.ok_or_else(|| fail(words!("its data lies outside the archive", "数据超出归档范围")))?;
    if unicode_name(extra).is_some_and(|other| other != name) {
        return Err(fail(words!("it has two different names", "有两个不同的名称")));
    }
    let attributes = long(38)?;
    let node = node_of(short(4)? >> 8, attributes, name, extra);
    let entry = Entry {
        number,
        name,
        method,
        crc,
        packed,
        claimed: u64::from(claimed),
        node,
        permissions: (attributes >> 16) & 0o7777,
        encrypted: flags & ENCRYPTED != 0,
    };
    let extent = Extent { from: offset as usize, to, streamed: flags & STREAMED != 0, number };
    Ok((entry, extent, next))
}

/// Checks the local header against the central record and gives the offset of the data.
fn local_data(bytes: &[u8], at: usize, name: &[u8], flags: u16, method: u16) -> Result<usize, Words> {
    let cut = || words!("its header is missing or damaged", "头部缺失或损坏");
    if u32_at(bytes, at) != Some(LOCAL) {
        return Err(cut());
    }
    let short = |offset| u16_at(bytes, at + offset).ok_or_else(cut);
    let name_length = usize::from(short(26)?);
    let own_name = bytes.get(at + LOCAL_BYTES..at + LOCAL_BYTES + name_length).ok_or_else(cut)?;
    if own_name != name {
        return Err(words!("its two headers give different names", "两处头部给出的名称不同"));
    }
    if short(8)? != method || (short(6)? ^ flags) & (ENCRYPTED | STREAMED) != 0 {
        return Err(words!("its two headers contradict each other", "两处头部互相矛盾"));
    }
    Ok(at + LOCAL_BYTES + name_length + usize::from(short(28)?))
}

/// No byte before the central directory belongs to two entries or to none.
fn check_extents<'a>(extents: &mut [Extent], entries: &[Entry<'a>], until: usize) -> Result<(), Broken<'a>> {
    extents.sort_by_key(|extent| extent.from);
    let mut end = 0;
    let mut slack = 0;
    for extent in extents.iter() {
        if extent.from < end {
            let entry = entries.get(extent.number - 1).map(|entry| (entry.number, entry.name));
            let why = words!("it overlaps another entry", "与另一条目重叠");
            return Err(Broken { code: Code::F0306, entry, why });
        }
        if extent.from - end > slack {
            return Err(between(end));
        }
        end = extent.to;
        slack = if extent.streamed { MAX_DESCRIPTOR_BYTES } else { 0 };
    }
    if until < end || until - end > slack { Err(between(end)) } else { Ok(()) }
}

fn between<'a>(at: usize) -> Broken<'a> {
    not_plain(if at == 0 {
        words!("other data precedes the first entry", "第一个条目之前还有其他数据")
    } else {
        words!("it has bytes that belong to no entry", "含有不属于任何条目的数据")
    })
}

/// What the entry is. Type bits of Unix are believed whoever claims to have written them: an honest DOS archive has none.
fn node_of(host: u16, attributes: u32, name: &[u8], extra: &[u8]) -> Node {
    const REPARSE_POINT: u32 = 0x400;
    let directory = name.ends_with(b"/");
    if has_link_target(extra) || (matches!(host, 0 | 10 | 11 | 14) && attributes & REPARSE_POINT != 0) {
        return Node::Link;
    }
    match (attributes >> 16) & 0o170_000 {
        0 | 0o100_000 | 0o040_000 if directory => Node::Directory,
        0 | 0o100_000 => Node::File,
        0o120_000 => Node::Link,
        _ => Node::Special,
    }
}

/// Blocks of an extra field. A damaged block ends the list; nothing here is needed to unpack.
fn blocks(mut extra: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let id = u16_at(extra, 0)?;
        let length = usize::from(u16_at(extra, 2)?);
        let data = extra.get(4..4 + length)?;
        extra = extra.get(4 + length..).unwrap_or_default();
        Some((id, data))
    })
}

/// PKWARE's and ASi's Unix blocks can carry the target of a hard or symbolic link.
fn has_link_target(extra: &[u8]) -> bool {
    blocks(extra).any(|(id, data)| match id {
        0x000d => data.len() > 12,
        0x756e => data.len() > 14,
        _ => false,
    })
}

/// Info-ZIP's second name (block 0x7075: version, crc, name), which some tools prefer over the first.
fn unicode_name(extra: &[u8]) -> Option<&[u8]> {
    blocks(extra).find(|(id, _)| *id == 0x7075).and_then(|(_, data)| data.get(5..))
}

fn broken<'a>(why: Words) -> Broken<'a> {
    Broken { code: Code::F0306, entry: None, why }
}

fn not_plain<'a>(why: Words) -> Broken<'a> {
    let Words { en, zh } = why;
    broken(Words { en: format!("not a plain zip: {en}"), zh: format!("不是纯粹的 zip：{zh}") })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}
