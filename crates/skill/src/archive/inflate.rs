//! The bytes of one entry, counted while they come out. Headers are believed in nothing: not size, not checksum.

use super::central::Entry;
use super::limit::{MAX_RATIO, RATIO_FLOOR, Tally, too_large};
use fugato_model::{Code, Words, words};
use std::io::Read as _;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Unpacks an entry and charges its bytes to the tally. Stops at the first limit.
pub(super) fn inflate(entry: &Entry<'_>, tally: &mut Tally) -> Result<Vec<u8>, (Code, Words)> {
    if entry.encrypted {
        return Err((Code::F0306, words!("it is encrypted", "已加密")));
    }
    let bytes = match entry.method {
        STORED => stored(entry, tally)?,
        DEFLATED => deflated(entry, tally)?,
        other => {
            let method = method_name(other);
            return Err((
                Code::F0306,
                words!(
                    "its compression is {method} (expected stored or deflate)",
                    "压缩方式是 {method}（应为 stored 或 deflate）"
                ),
            ));
        }
    };
    let found = bytes.len() as u64;
    if found != entry.claimed {
        return Err(false_size(entry.claimed, &found.to_string()));
    }
    let mut crc = flate2::Crc::new();
    crc.update(&bytes);
    if crc.sum() != entry.crc {
        let (expected, found) = (entry.crc, crc.sum());
        return Err((
            Code::F0306,
            words!(
                "its checksum is {found:08x}, expected {expected:08x}: the data is damaged",
                "校验和是 {found:08x}，应为 {expected:08x}：数据已损坏"
            ),
        ));
    }
    tally.bytes(found)?;
    Ok(bytes)
}

fn stored(entry: &Entry<'_>, tally: &Tally) -> Result<Vec<u8>, (Code, Words)> {
    if entry.packed.len() as u64 > tally.left() {
        return Err(too_large());
    }
    Ok(entry.packed.to_vec())
}

fn deflated(entry: &Entry<'_>, tally: &Tally) -> Result<Vec<u8>, (Code, Words)> {
    let packed = entry.packed.len() as u64;
    let by_ratio = packed.saturating_mul(MAX_RATIO).max(RATIO_FLOOR);
    let most = by_ratio.min(tally.left());
    let mut decoder = flate2::bufread::DeflateDecoder::new(entry.packed);
    let mut bytes = Vec::new();
    // One byte past the smallest bound is enough to know that it is crossed.
    let read = decoder.by_ref().take(most.min(entry.claimed) + 1).read_to_end(&mut bytes);
    let found = bytes.len() as u64;
    if found > most && found > by_ratio {
        return Err((
            Code::F0303,
            words!("it grows more than {MAX_RATIO} times when unpacked", "解压后膨胀超过 {MAX_RATIO} 倍"),
        ));
    }
    if found > most {
        return Err(too_large());
    }
    if found > entry.claimed {
        return Err(false_size(entry.claimed, &format!("> {}", entry.claimed)));
    }
    if read.is_err() || decoder.total_in() != packed {
        return Err((
            Code::F0306,
            words!("its compressed data is damaged or cut off", "压缩数据损坏或被截断"),
        ));
    }
    Ok(bytes)
}

fn false_size(claimed: u64, found: &str) -> (Code, Words) {
    (
        Code::F0303,
        words!(
            "its header says {claimed} bytes but it has {found}",
            "头部声称 {claimed} 字节，实际为 {found} 字节"
        ),
    )
}

fn method_name(method: u16) -> String {
    let name = match method {
        1 => "shrink",
        2..=5 => "reduce",
        6 => "implode",
        9 => "deflate64",
        12 => "bzip2",
        14 => "lzma",
        20 | 93 => "zstd",
        95 => "xz",
        98 => "ppmd",
        99 => "AES encryption",
        _ => return format!("method {method}"),
    };
    name.to_owned()
}
