//! The JSON inside a character card picture: a text chunk `ccv3` or `chara` holding base64. Pixels are never decoded.

use super::decode;
use fugato_model::{Words, words};

const SIGNATURE_BYTES: usize = 8;
/// Newest card format first.
const KEYWORDS: [&[u8]; 2] = [b"ccv3", b"chara"];

/// The card's JSON.
pub(super) fn card(png: &[u8]) -> Result<Vec<u8>, Words> {
    let texts: Vec<(&[u8], &[u8])> = chunks(png).filter_map(|(kind, data)| text(kind, data)).collect();
    for keyword in KEYWORDS {
        if let Some((_, content)) = texts.iter().find(|(found, _)| *found == keyword) {
            let content = std::str::from_utf8(content).ok().and_then(decode);
            return content.ok_or_else(|| words!("its card data is not base64", "角色卡数据不是 base64"));
        }
    }
    Err(words!(
        "this picture carries no card (expected a `chara` or `ccv3` text chunk)",
        "图片中没有角色卡（应有 `chara` 或 `ccv3` 文本块）"
    ))
}

/// (kind, data) of each whole chunk; a damaged one ends the list.
fn chunks(png: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = png.get(SIGNATURE_BYTES..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let kind = rest.get(4..8)?;
        let data = rest.get(8..length.checked_add(8)?)?;
        // Four bytes of checksum follow; the content has its own check.
        rest = rest.get(length.checked_add(12)?..).unwrap_or_default();
        Some((kind, data))
    })
}

/// Keyword and text of a `tEXt` or an uncompressed `iTXt` chunk.
fn text<'a>(kind: &[u8], data: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (keyword, rest) = split_at_zero(data)?;
    match kind {
        b"tEXt" => Some((keyword, rest)),
        b"iTXt" => {
            let rest = rest.strip_prefix(&[0, 0])?;
            let (_language, rest) = split_at_zero(rest)?;
            let (_translated, text) = split_at_zero(rest)?;
            Some((keyword, text))
        }
        _ => None,
    }
}

fn split_at_zero(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(0, data)?;
    Some((data.get(..at)?, data.get(at + 1..)?))
}
