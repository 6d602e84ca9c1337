//! What a fetched body is, and its text: Markdown for pages, text as it is, a name for what another tool must read.

use super::charset::decode;
use super::fetch::Fetched;
use super::markdown::{MarkdownError, to_markdown};

/// A body, as far as this room can read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A page, as Markdown.
    Page { title: Option<String>, markdown: String },
    /// JSON, plain text, source code: as it is.
    Text(String),
    /// Something for another tool.
    Document(DocumentKind),
}

/// Files that are no text, by who can read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    Pdf,
    /// Word, spreadsheet, slides; with the usual ending of its file.
    Office(&'static str),
    Image(&'static str),
    Other,
}

impl DocumentKind {
    /// The ending of a file of this kind.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Office(ending) | Self::Image(ending) => ending,
            Self::Other => "bin",
        }
    }
}

/// Reads a body. `selector` chooses parts of a page by CSS; it has no meaning for anything else.
pub fn read(fetched: &Fetched, selector: Option<&str>) -> Result<Content, MarkdownError> {
    let kind = media_type(&fetched.content_type);
    if let Some(document) = document(&kind, &fetched.bytes) {
        return Ok(Content::Document(document));
    }
    let (text, _) = decode(&fetched.bytes, &fetched.content_type);
    if is_html(&kind, &text) {
        let (title, markdown) = to_markdown(&text, &fetched.url, selector)?;
        return Ok(Content::Page { title, markdown });
    }
    Ok(Content::Text(text))
}

fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_html(kind: &str, text: &str) -> bool {
    match kind {
        "text/html" | "application/xhtml+xml" => true,
        // Servers that know nothing say nothing, or this.
        "" | "application/octet-stream" => {
            let start: String = text.trim_start().chars().take(200).collect::<String>().to_ascii_lowercase();
            ["<!doctype html", "<html", "<head", "<body"].iter().any(|mark| start.starts_with(mark))
        }
        _ => false,
    }
}

/// By the first bytes where they are clear, because servers are often wrong; else by the server's word.
fn document(kind: &str, bytes: &[u8]) -> Option<DocumentKind> {
    let image = [
        (&b"\x89PNG\r\n"[..], "png"),
        (b"\xff\xd8\xff", "jpg"),
        (b"GIF8", "gif"),
        (b"BM", "bmp"),
        (b"II*\0", "tif"),
        (b"MM\0*", "tif"),
    ];
    if bytes.starts_with(b"%PDF-") {
        return Some(DocumentKind::Pdf);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some(DocumentKind::Image("webp"));
    }
    let marked = image.iter().find(|(mark, _)| bytes.starts_with(mark));
    // Two letters begin many texts.
    if let Some((mark, ending)) = marked
        && (mark.len() > 2 || kind.starts_with("image/"))
    {
        return Some(DocumentKind::Image(ending));
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return Some(office(kind).map_or(DocumentKind::Other, DocumentKind::Office));
    }
    let is_text = kind.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml", "x-sh", "sql"]
            .iter()
            .any(|word| kind.ends_with(word));
    match kind {
        "application/pdf" => Some(DocumentKind::Pdf),
        "image/svg+xml" => None,
        _ if kind.starts_with("image/") => Some(DocumentKind::Image("img")),
        _ if kind.starts_with("audio/") || kind.starts_with("video/") => Some(DocumentKind::Other),
        _ if is_text => None,
        _ => {
            let head = bytes.get(..4096).unwrap_or(bytes);
            head.contains(&0).then(|| office(kind).map_or(DocumentKind::Other, DocumentKind::Office))
        }
    }
}

fn office(kind: &str) -> Option<&'static str> {
    let known = [
        ("wordprocessingml", "docx"),
        ("spreadsheetml", "xlsx"),
        ("presentationml", "pptx"),
        ("opendocument.text", "odt"),
        ("opendocument.spreadsheet", "ods"),
        ("opendocument.presentation", "odp"),
        ("ms-excel", "xls"),
    ];
    known.iter().find(|(word, _)| kind.contains(word)).map(|(_, ending)| *ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::Url;

    fn fetched(content_type: &str, bytes: &[u8]) -> Fetched {
        Fetched {
            url: Url::parse("https://x.example/a/").unwrap(),
            status: 200,
            content_type: content_type.into(),
            bytes: bytes.to_vec(),
            is_cut: false,
        }
    }

    #[test]
    fn what_a_body_is_is_told_by_its_bytes_before_the_server() {
        let kind = |content_type: &str, bytes: &[u8]| read(&fetched(content_type, bytes), None).unwrap();
        assert_eq!(kind("text/html", b"%PDF-1.7"), Content::Document(DocumentKind::Pdf));
        assert_eq!(kind("", b"\x89PNG\r\n\x1a\n"), Content::Document(DocumentKind::Image("png")));
        assert_eq!(kind("text/plain", b"BMW is a car"), Content::Text("BMW is a car".into()));
        let word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        assert_eq!(kind(word, b"PK\x03\x04.."), Content::Document(DocumentKind::Office("docx")));
        assert_eq!(kind("application/zip", b"PK\x03\x04.."), Content::Document(DocumentKind::Other));
        assert_eq!(kind("application/json", b"{\"a\": 1}"), Content::Text("{\"a\": 1}".into()));
        assert_eq!(kind("", b"a\0b"), Content::Document(DocumentKind::Other));
        assert!(matches!(kind("", b"<!DOCTYPE html><p>x"), Content::Page { .. }));
        assert_eq!(kind("text/plain", b"<html>"), Content::Text("<html>".into()));
    }
}
