//! Files that are broken, locked, something else, or made to do harm.

use super::make::{Pdf, compound, deflated, docx, package, package_of, paragraph, pdf, scan, xlsx};
use super::*;
use std::io::{Read, Seek, SeekFrom, Write as _};

#[test]
fn files_that_are_no_documents_say_what_they_are_and_what_to_use() {
    for (bytes, name, expected) in [
        (&b""[..], "a.pdf", "the file is empty"),
        (b"hello there", "a.docx", "not a DOCX file, although its name says so"),
        (b"hello there", "notes.txt", "use the tool `Read`"),
        (b"\x89PNG\r\n\x1a\n....", "a.pdf", "a PNG picture; use the tool `image-ocr`"),
        (b"\x00\x01\x02\x03", "a.bin", "no document I know"),
        (b"PK\x03\x04 cut short", "a.docx", "its end is missing"),
        (b"%PDF-1.7\nnothing else", "a.pdf", "the PDF is damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.xls", "is damaged"),
    ] {
        let told = told(bytes, name);
        assert!(told.contains(expected), "{name}: {told}");
    }
    assert!(told(&package(&[("a.txt", "x")]), "a.docx").contains("a zip archive, not an office document"));
    assert!(told(&package(&[("xl/workbook.bin", "")]), "a.xlsb").contains("save it as XLSX"));
    assert!(told(&compound("WordDocument", b"x"), "a.doc").contains("save it as DOCX"));
    // What a file is, its content says.
    assert!(shown(&pdf(&[make::page(&["I am a PDF"])]), "wrong.docx").contains("I am a PDF"));
}

#[test]
fn locked_files_say_so() {
    assert!(told(&compound("EncryptedPackage", b"x"), "a.docx").contains("protected with a password"));
    let locked = [0x2f, 0, 0, 0];
    let book = [[0x09, 0x08, 16, 0, 0, 6].as_slice(), &[0; 14], &locked].concat();
    assert!(told(&compound("Workbook", &book), "a.xls").contains("protected with a password"));
    let manifest = "<manifest:encryption-data/>";
    let kind = "application/vnd.oasis.opendocument.text";
    let odt = package(&[("mimetype", kind), ("content.xml", "x"), ("META-INF/manifest.xml", manifest)]);
    assert!(told(&odt, "a.odt").contains("protected with a password"));
    let mut file = Pdf::default();
    file.object("<< /Type /Catalog /Pages 2 0 R >>");
    file.object("<< /Type /Pages /Count 0 /Kids [] >>");
    file.object(
        "<< /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <0000000000000000000000000000000000000000000000000000000000000000> /U <1111111111111111111111111111111111111111111111111111111111111111> >>",
    );
    let file = file.finish("/Root 1 0 R /Encrypt 3 0 R /ID [<00> <00>]");
    assert!(told(&file, "a.pdf").contains("protected with a password"), "{}", told(&file, "a.pdf"));
}

/// Zeros without end, but only so many of them.
struct Zeros(u64);

impl Read for Zeros {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = usize::try_from(self.0).unwrap_or(usize::MAX).min(buffer.len());
        buffer[..length].fill(b' ');
        self.0 -= length as u64;
        Ok(length)
    }
}

fn packed_zeros(count: u64) -> Vec<u8> {
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut Zeros(count), &mut packed).unwrap();
    packed.finish().unwrap()
}

/// A zip whose part `name` is packed already, and which says of it the size that it has packed.
fn bomb(name: &str, packed: &[u8], beside: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in beside {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file(name, stored).unwrap();
    zip.write_all(packed).unwrap();
    let mut bytes = zip.finish().unwrap().into_inner();
    // The part was stored packed; now both of its headers say that it is.
    for (mark, method_at, name_at) in [(b"PK\x03\x04", 8, 30), (b"PK\x01\x02", 10, 46)] {
        let at = (0..bytes.len())
            .rev()
            .find(|at| bytes[*at..].starts_with(mark) && bytes[*at + name_at..].starts_with(name.as_bytes()));
        bytes[at.unwrap() + method_at] = 8;
    }
    bytes
}

#[test]
fn a_zip_bomb_as_a_document_ends_with_an_error_and_little_memory() {
    let book = [(
        "xl/workbook.xml",
        r#"<workbook xmlns:r="r"><sheets><sheet name="a" r:id="x"/></sheets></workbook>"#,
    )];
    let blanks = packed_zeros(1 << 28);
    let small = [("word/document.xml", "<w:document/>")];
    for (file, part) in [
        (bomb("word/document.xml", &blanks, &[]), "word/document.xml"),
        (bomb("word/styles.xml", &blanks, &small), "word/styles.xml"),
        (bomb("docProps/core.xml", &blanks, &small), "docProps/core.xml"),
        (bomb("xl/worksheets/sheet1.xml", &blanks, &book), "xl/worksheets/sheet1.xml"),
        (bomb("xl/sharedStrings.xml", &blanks, &book), "xl/sharedStrings.xml"),
    ] {
        let told = told(&file, "bomb.docx");
        let is_stopped = told.contains(part) && told.contains("unpacks to far more")
            || told.contains("one piece of its XML");
        assert!(is_stopped, "{part}: {told}");
    }
}

#[test]
fn a_bomb_as_a_pdf_is_not_unpacked() {
    let zeros = vec![b' '; 1 << 20];
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..200 {
        packed.write_all(&zeros).unwrap();
    }
    let once = packed.finish().unwrap();
    for (filter, data) in [("/FlateDecode", once.clone()), ("[/FlateDecode /FlateDecode]", deflated(&once))] {
        let mut file = Pdf::default();
        file.object("<< /Type /Catalog /Pages 2 0 R >>");
        file.object("<< /Type /Pages /Count 1 /Kids [3 0 R] >>");
        file.object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>");
        file.stream(&format!("/Filter {filter}"), &data);
        let told = told(&file.finish("/Root 1 0 R"), "bomb.pdf");
        assert!(told.contains("unpacks to far more"), "{told}");
    }
}

#[test]
fn pictures_full_of_brackets_are_no_nesting_but_hidden_nesting_is_found() {
    let gray = vec![b'['; 300 * 300];
    assert!(told(&scan(300, 300, &gray), "scan.pdf").contains("no text layer"));
    // A page that calls its own drawing a picture.
    let mut file = Pdf::default();
    file.object("<< /Type /Catalog /Pages 2 0 R >>");
    file.object("<< /Type /Pages /Count 1 /Kids [3 0 R] >>");
    file.object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>");
    let deep = deflated(format!("{} TJ", "[".repeat(1_000_000)).as_bytes());
    file.stream("/Subtype /Image /Filter /FlateDecode", &deep);
    assert!(told(&file.finish("/Root 1 0 R"), "deep.pdf").contains("nested thousands deep"));
    let hidden = format!("%PDF-1.7\n1 0 obj << /A % /Image >> stream\n{}\nendstream", "[".repeat(1_000_000));
    assert!(told(hidden.as_bytes(), "deep.pdf").contains("nested thousands deep"));
}

#[test]
fn a_page_that_draws_itself_without_end_stops_with_the_time() {
    let mut file = Pdf::default();
    file.object("<< /Type /Catalog /Pages 2 0 R >>");
    file.object("<< /Type /Pages /Count 1 /Kids [3 0 R] >>");
    file.object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /XObject << /F 5 0 R >> >> >>");
    file.stream("", b"/F Do");
    let level = |next: usize| {
        format!("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F {next} 0 R >> >>")
    };
    for at in 0..30 {
        file.stream(&level(6 + at), &b"/F Do ".repeat(10));
    }
    file.stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9]", b"");
    let bytes = file.finish("/Root 1 0 R");
    let never = || false;
    let watch = Watch::new(&never, Duration::from_secs(1));
    let stopped = read(&mut Cursor::new(&bytes), "a.pdf", &Wanted::default(), &watch);
    assert!(matches!(stopped, Err(Trouble::OutOfTime)), "{stopped:?}");
}

#[test]
fn nesting_without_end_is_an_error_and_no_crash() {
    let deep = "<w:tbl><w:tr><w:tc>".repeat(100_000);
    assert!(told(&docx(&deep), "deep.docx").contains("nested more than"));
    let mut file = Pdf::default();
    file.object(format!("<< /Type /Catalog /Pages 2 0 R /X {} >>", "[".repeat(1_000_000)));
    file.object("<< /Type /Pages /Count 0 /Kids [] >>");
    assert!(told(&file.finish("/Root 1 0 R"), "deep.pdf").contains("nested thousands deep"));
    let page = format!("{} TJ", "[".repeat(1_000_000));
    assert!(told(&pdf(&[page]), "deep.pdf").contains("nested thousands deep"));
    // As deep as it is let through.
    let page = format!("{} TJ", "[".repeat(3990));
    let _ = try_read(&pdf(&[page]), "deep.pdf", &Wanted::default());
    let rtf = "{".repeat(1_000_000) + "x";
    assert!(shown(format!("{{\\rtf1 {rtf}").as_bytes(), "deep.rtf").contains('x'));
}

#[test]
fn entities_are_never_expanded() {
    let body = r#"<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "boom"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>
    <w:document><w:p><w:r><w:t>before &b;&f; &amp; &#20013; after</w:t></w:r></w:p></w:document>"#;
    let text = shown(&package(&[("word/document.xml", body)]), "x.docx");
    assert!(text.contains("before  & 中 after") && !text.contains("boom"), "{text}");
}

#[test]
fn one_endless_piece_of_xml_is_not_kept() {
    let name = "x".repeat(20 << 20);
    let text = package(&[("word/document.xml", &format!("<w:document {name}=\"1\"/>"))]);
    assert!(told(&text, "x.docx").contains("one piece of its XML is longer"), "{}", told(&text, "x.docx"));
}

#[test]
fn too_many_parts_and_false_places_are_refused() {
    let names: Vec<String> = (0..20_100).map(|at| format!("p{at}")).collect();
    let parts: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert!(told(&package_of(&parts), "x.docx").contains("the number of parts"));
    let mut file = docx(&paragraph("x"));
    let at = file.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    file[at + 42..at + 46].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    let _ = try_read(&file, "x.docx", &Wanted::default());
}

#[test]
fn cells_at_the_end_of_the_world_cost_nothing() {
    let data = r#"<sheetData><row r="1"><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row><row r="4294967295"><c r="A4294967295"><v>3</v></c></row></sheetData>"#;
    let text = shown(&xlsx(&[("x", data.to_owned())]), "x.xlsx");
    assert!(text.contains("| | A | XFD |") && text.contains("| 4294967295 | 3 |"), "{text}");
    let quote = format!("a,\"{}", "b\n".repeat(2 << 20));
    let text = shown(quote.as_bytes(), "open-quote.csv");
    assert!(text.len() < 120_000, "{}", text.len());
}

#[test]
fn a_picture_too_large_to_unpack_is_left_out() {
    let file = String::from_utf8_lossy(&scan(100, 100, &[0; 10_000])).into_owned();
    assert!(file.contains("/Width 100 /Height 100"));
    let bytes = scan(90_000, 90_000, &[0; 10_000]);
    let never = || false;
    let watch = Watch::new(&never, Duration::from_secs(60));
    assert!(crate::office::page_images(&mut Cursor::new(&bytes), None, &watch).unwrap().is_empty());
}

#[test]
fn a_cancel_and_the_end_of_the_time_stop_the_reading() {
    let body: String = (0..20_000).map(|at| paragraph(&format!("paragraph {at}"))).collect();
    let pages = vec![make::page(&["text"; 40]); 50];
    for (file, name) in [(docx(&body), "a.docx"), (pdf(&pages), "a.pdf"), (b"a,b\n".repeat(100_000), "a.csv")]
    {
        let asked = std::sync::atomic::AtomicU32::new(0);
        // Not at once: in the middle of the work.
        let soon = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 3;
        let watch = Watch::new(&soon, Duration::from_secs(60));
        let stopped = read(&mut Cursor::new(&file), name, &Wanted::default(), &watch);
        assert!(matches!(stopped, Err(Trouble::Cancelled)), "{name}: {stopped:?}");
        let never = || false;
        let late = Watch::new(&never, Duration::ZERO);
        let stopped = read(&mut Cursor::new(&file), name, &Wanted::default(), &late);
        assert!(matches!(stopped, Err(Trouble::OutOfTime)), "{name}: {stopped:?}");
    }
}

/// A file that breaks off when it is read.
struct Broken(Cursor<Vec<u8>>);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0.position() > 100 { Err(std::io::Error::other("disk")) } else { self.0.read(buffer) }
    }
}

impl Seek for Broken {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn a_disk_that_fails_is_told() {
    for (file, name) in
        [(docx(&paragraph("x")), "a.docx"), (pdf(&[String::new()]), "a.pdf"), (b"a,b\n".repeat(100), "a.csv")]
    {
        let never = || false;
        let watch = Watch::new(&never, Duration::from_secs(60));
        let told = read(&mut Broken(Cursor::new(file)), name, &Wanted::default(), &watch).unwrap_err();
        assert!(told.to_string().contains("disk") || told.to_string().contains("damaged"), "{told}");
    }
}
