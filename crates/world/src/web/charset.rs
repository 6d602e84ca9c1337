//! Bytes of a page as text, by the encoding it has: a byte order mark, the server's word, the page's own word, or UTF-8.

use encoding_rs::{Encoding, UTF_8};

/// Pages name their encoding this early, or not at all.
const LOOK: usize = 2048;

/// The text, and the name of the encoding it had. Never fails: what is no character becomes `\u{fffd}`.
pub(super) fn decode(bytes: &[u8], content_type: &str) -> (String, &'static str) {
    let encoding =
        declared(content_type).or_else(|| in_page(bytes.get(..LOOK).unwrap_or(bytes))).unwrap_or(UTF_8);
    // A byte order mark comes before every word about the encoding.
    let (text, used, _) = encoding.decode(bytes);
    (text.into_owned(), used.name())
}

/// `text/html; charset="gb2312"`
fn declared(content_type: &str) -> Option<&'static Encoding> {
    let lower = content_type.to_ascii_lowercase();
    let (_, after) = lower.split_once("charset=")?;
    named(after)
}

/// `<meta charset=gbk>` or `<meta http-equiv=… content="text/html; charset=gbk">`; in XML `encoding="…"`.
fn in_page(head: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    for tag in head.split('<') {
        let word = if tag.starts_with("meta") {
            "charset"
        } else if tag.starts_with("?xml") {
            "encoding"
        } else {
            continue;
        };
        let Some((_, after)) = tag.split_once(word) else { continue };
        let Some(after) = after.trim_start().strip_prefix('=') else { continue };
        if let Some(encoding) = named(after) {
            // A page that can be read so far is not UTF-16, whatever it says.
            return Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 });
        }
    }
    None
}

fn named(text: &str) -> Option<&'static Encoding> {
    let text = text.trim_start().trim_start_matches(['"', '\'']);
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).unwrap_or(text.len());
    Encoding::for_label(text.get(..end)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{BIG5, GB18030, SHIFT_JIS};

    #[test]
    fn the_encoding_is_taken_from_header_page_or_mark() {
        let chinese = "<p>中文，𠮷</p>";
        let gb = GB18030.encode(chinese).0;
        assert_eq!(decode(&gb, "text/html; charset=GB18030").0, chinese);
        assert_eq!(decode(&gb, "text/html; charset=\"gb2312\"").1, "GBK");
        let page = |meta: &str, text: &str, encoding: &'static Encoding| {
            [meta.as_bytes(), &encoding.encode(text).0].concat()
        };
        for meta in ["<meta charset=gb18030>", "<META http-equiv=x content='text/html; CHARSET = gb18030'>"] {
            let text = decode(&page(meta, "中文", GB18030), "text/html").0;
            assert!(text.ends_with("中文"), "{text}");
        }
        let text = decode(&page("<?xml version='1.0' encoding='shift_jis'?>", "日本", SHIFT_JIS), "").0;
        assert!(text.ends_with("日本"));
        assert_eq!(decode(&BIG5.encode("繁體").0, "text/plain;charset=big5").0, "繁體");
        assert_eq!(decode(b"\xff\xfeh\0i\0", "text/html; charset=utf-8"), ("hi".into(), "UTF-16LE"));
        assert_eq!(decode("é".as_bytes(), "text/html; charset=no-such"), ("é".into(), "UTF-8"));
        assert_eq!(decode(b"a\xffb", "").0, "a\u{fffd}b");
    }
}
