//! What some bytes are, judged by the bytes: the extension of a file is a claim of whoever named it.

/// A kind of content that someone may hand to `skill add`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Zip,
    Json,
    Png,
    /// Another archive or executable format, by its usual name.
    Other(&'static str),
    Text,
    Unknown,
}

const MAGIC: [(&[u8], Content); 12] = [
    (b"PK\x03\x04", Content::Zip),
    (b"PK\x05\x06", Content::Zip),
    (b"\x89PNG\r\n\x1a\n", Content::Png),
    (b"\x1f\x8b", Content::Other("gzip")),
    (b"7z\xbc\xaf\x27\x1c", Content::Other("7z")),
    (b"Rar!\x1a\x07", Content::Other("rar")),
    (b"\xfd7zXZ\0", Content::Other("xz")),
    (b"\x28\xb5\x2f\xfd", Content::Other("zstd")),
    (b"BZh", Content::Other("bzip2")),
    (b"%PDF", Content::Other("PDF")),
    (b"\x7fELF", Content::Other("ELF")),
    (b"MZ", Content::Other("Windows program")),
];

/// Looks at the first bytes.
pub fn sniff(bytes: &[u8]) -> Content {
    if let Some((_, content)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return *content;
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Content::Other("tar");
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match text.trim_ascii_start().first() {
        Some(b'{' | b'[') => Content::Json,
        Some(_) if std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0) => Content::Text,
        _ => Content::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides() {
        assert_eq!(sniff(b"PK\x03\x04..."), Content::Zip);
        assert_eq!(sniff(b"\xef\xbb\xbf \n{\"a\":1}"), Content::Json);
        assert_eq!(sniff(b"---\nname: x\n"), Content::Text);
        assert_eq!(sniff(b"\x1f\x8b\x08"), Content::Other("gzip"));
        assert_eq!(sniff(b"\0\0\0"), Content::Unknown);
        assert_eq!(sniff(b""), Content::Unknown);
    }
}
