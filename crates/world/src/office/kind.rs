//! What a file is, by its content; its name decides only between kinds of plain text.

use super::package::Package;
use super::sheet::xls::OldFile;
use super::{Source, Trouble};
use std::io::Read as _;

#[derive(Debug)]
pub(super) enum Kind<'s> {
    Pdf,
    Word(Package<'s>),
    Slides(Package<'s>),
    Workbook(Package<'s>),
    OpenSheet(Package<'s>),
    /// Text and presentations alike.
    OpenText(Package<'s>),
    /// The stream of a workbook of Excel 97 to 2003.
    OldWorkbook(Vec<u8>),
    Rtf,
    /// Values separated by this character; `None`: whichever fits.
    Separated(Option<u8>),
}

/// Acrobat looks for the mark of a PDF in the first kilobyte.
const PROBE: u64 = 1024;

pub(super) fn of<'s>(source: &'s mut dyn Source, name: &str) -> Result<Kind<'s>, Trouble> {
    source.rewind()?;
    let mut start = Vec::new();
    source.take(PROBE).read_to_end(&mut start)?;
    if start.windows(5).any(|window| window == b"%PDF-") {
        return Ok(Kind::Pdf);
    }
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        return packaged(source);
    }
    if start.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return old(source);
    }
    if start.starts_with(b"{\\rtf") {
        return Ok(Kind::Rtf);
    }
    if let Some(found) = picture(&start) {
        let instead = "use the tool `image-ocr` for the text in it".into();
        return Err(Trouble::NotADocument { found: format!("a {found} picture"), instead });
    }
    plain(&start, &ending(name))
}

/// The format of a picture by its first bytes.
pub fn picture(start: &[u8]) -> Option<&'static str> {
    let is_webp = start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP");
    match start {
        [0x89, b'P', b'N', b'G', ..] => Some("PNG"),
        [0xff, 0xd8, 0xff, ..] => Some("JPEG"),
        [b'G', b'I', b'F', b'8', ..] => Some("GIF"),
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Some("TIFF"),
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some("BMP"),
        _ if is_webp => Some("WebP"),
        _ => None,
    }
}

fn ending(name: &str) -> String {
    name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
}

fn packaged(source: &mut dyn Source) -> Result<Kind<'_>, Trouble> {
    let package = Package::open(source)?;
    if package.has("word/document.xml") || package.has("word/document2.xml") {
        return Ok(Kind::Word(package));
    }
    if package.has("ppt/presentation.xml") {
        return Ok(Kind::Slides(package));
    }
    if package.has("xl/workbook.xml") {
        return Ok(Kind::Workbook(package));
    }
    if package.has("xl/workbook.bin") {
        let instead = "save it as XLSX and read that".into();
        return Err(Trouble::NotADocument { found: "a binary workbook (XLSB)".into(), instead });
    }
    open_document(package)
}

fn open_document(mut package: Package<'_>) -> Result<Kind<'_>, Trouble> {
    let never = || false;
    let watch = super::Watch::new(&never, std::time::Duration::from_secs(60));
    let kind = package.small("mimetype", &watch)?.unwrap_or_default();
    let kind = String::from_utf8_lossy(&kind).trim().to_owned();
    if package.has("content.xml") && kind.starts_with("application/vnd.oasis.opendocument.") {
        if is_open_document_locked(&mut package, &watch)? {
            return Err(Trouble::Protected("document"));
        }
        return match kind.trim_start_matches("application/vnd.oasis.opendocument.") {
            kind if kind.starts_with("spreadsheet") => Ok(Kind::OpenSheet(package)),
            kind if kind.starts_with("text") || kind.starts_with("presentation") => {
                Ok(Kind::OpenText(package))
            }
            kind => Err(Trouble::NotADocument {
                found: format!("an OpenDocument {kind}"),
                instead: "export it as PDF and read that".into(),
            }),
        };
    }
    if package.is_encrypted() {
        return Err(Trouble::Protected("archive"));
    }
    let (found, instead) = if kind == "application/epub+zip" {
        ("an EPUB book", "convert it to PDF or DOCX first")
    } else {
        ("a zip archive, not an office document", "unpack it and read the files in it")
    };
    Err(Trouble::NotADocument { found: found.into(), instead: instead.into() })
}

fn is_open_document_locked(package: &mut Package<'_>, watch: &super::Watch<'_>) -> Result<bool, Trouble> {
    let manifest = package.small("META-INF/manifest.xml", watch)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&manifest).contains("encryption-data"))
}

/// Office files from before 2007, and new ones with a password, which are wrapped the old way.
fn old(source: &mut dyn Source) -> Result<Kind<'_>, Trouble> {
    let file = OldFile::open(super::load(source)?)?;
    if let Some(book) = file.stream("Workbook").or_else(|| file.stream("Book")) {
        return Ok(Kind::OldWorkbook(book));
    }
    if file.has("EncryptedPackage") {
        return Err(Trouble::Protected("document"));
    }
    let (found, instead) = if file.has("WordDocument") {
        ("a Word file from before 2007 (DOC)", "save it as DOCX and read that")
    } else if file.has("PowerPoint Document") {
        ("a PowerPoint file from before 2007 (PPT)", "save it as PPTX and read that")
    } else {
        ("a Microsoft compound file, but no document", "open it in the program that made it")
    };
    Err(Trouble::NotADocument { found: found.into(), instead: instead.into() })
}

fn plain<'s>(start: &[u8], ending: &str) -> Result<Kind<'s>, Trouble> {
    let is_utf16 = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    if !is_utf16 && start.contains(&0) {
        let instead = "PDF, DOCX, PPTX, XLSX, XLS, ODT, ODS, ODP, RTF, CSV and TSV can be read".into();
        return Err(Trouble::NotADocument { found: "no document I know".into(), instead });
    }
    match ending {
        "csv" => Ok(Kind::Separated(None)),
        "tsv" | "tab" => Ok(Kind::Separated(Some(b'\t'))),
        "pdf" | "docx" | "xlsx" | "pptx" | "ods" | "odt" | "odp" | "xls" | "rtf" => {
            let found = format!(
                "not a {} file, although its name says so: it begins like plain text",
                ending.to_uppercase()
            );
            Err(Trouble::NotADocument { found, instead: "use the tool `Read`".into() })
        }
        _ => Err(Trouble::NotADocument { found: "plain text".into(), instead: "use the tool `Read`".into() }),
    }
}
