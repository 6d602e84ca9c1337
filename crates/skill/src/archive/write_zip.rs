//! A skill → `.zip` bytes. The same files always give the same bytes: sorted, one fixed time, two modes.

use super::bundle::BundledFile;
use fugato_model::RelPath;
use std::collections::BTreeMap;
use std::io::Write as _;

/// 1980-01-01 00:00, the first moment a zip can name.
const TIME: u16 = 0;
const DATE: u16 = 1 << 5 | 1;
/// Made by Unix, version 2.0: so that the executable bit is read.
const MADE_BY: u16 = 3 << 8 | 20;
const NEEDS: u16 = 20;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;

/// Packs files below one directory named `dir_name`.
///
/// The caller keeps to the limits of [`read_zip`](super::read_zip): 32-bit sizes are enough for those.
pub fn write_zip(dir_name: &str, files: &BTreeMap<RelPath, BundledFile>) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut central = Vec::new();
    let mut count: u16 = 0;
    for (path, file) in files {
        let name = format!("{dir_name}/{path}");
        let (method, packed) = pack(&file.bytes);
        let mut crc = flate2::Crc::new();
        crc.update(&file.bytes);
        let mut shared = Vec::with_capacity(26);
        shorts(&mut shared, &[NEEDS, FLAGS, method, TIME, DATE]);
        longs(&mut shared, &[crc.sum(), size(&packed), size(&file.bytes)]);
        shorts(&mut shared, &[u16::try_from(name.len()).unwrap_or(u16::MAX), 0]);

        let offset = size(&archive);
        central.extend_from_slice(b"PK\x01\x02");
        shorts(&mut central, &[MADE_BY]);
        central.extend_from_slice(&shared);
        shorts(&mut central, &[0, 0, 0]);
        let mode: u32 = if file.executable { 0o100_755 } else { 0o100_644 };
        longs(&mut central, &[mode << 16, offset]);
        central.extend_from_slice(name.as_bytes());

        archive.extend_from_slice(b"PK\x03\x04");
        archive.extend_from_slice(&shared);
        archive.extend_from_slice(name.as_bytes());
        archive.extend_from_slice(&packed);
        count = count.saturating_add(1);
    }
    let start = size(&archive);
    archive.extend_from_slice(&central);
    archive.extend_from_slice(b"PK\x05\x06");
    shorts(&mut archive, &[0, 0, count, count]);
    longs(&mut archive, &[size(&central), start]);
    shorts(&mut archive, &[0]);
    archive
}

/// Deflates when that helps; else stores.
fn pack(bytes: &[u8]) -> (u16, Vec<u8>) {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    match encoder.write_all(bytes).and_then(|()| encoder.finish()) {
        Ok(packed) if packed.len() < bytes.len() && !is_too_dense(bytes, &packed) => (8, packed),
        _ => (0, bytes.to_vec()),
    }
}

/// What the reader would take for a bomb is stored instead, so that every export can be imported.
fn is_too_dense(bytes: &[u8], packed: &[u8]) -> bool {
    let size = bytes.len() as u64;
    size > super::limit::RATIO_FLOOR && size > packed.len() as u64 * super::limit::MAX_RATIO
}

fn size(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

fn shorts(out: &mut Vec<u8>, values: &[u16]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn longs(out: &mut Vec<u8>, values: &[u32]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}
