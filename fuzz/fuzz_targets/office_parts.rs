//! Any text as the parts of an office file: the zip around them is always sound, so that every change reaches the XML.
#![no_main]

use fugato_world::office::{Wanted, Watch, read};
use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Write};
use std::time::Duration;
use zip::write::SimpleFileOptions;

/// The names of the parts of each kind of file, in the order in which the input gives them.
const KINDS: [&[&str]; 5] = [
    &[
        "word/document.xml",
        "word/_rels/document.xml.rels",
        "word/styles.xml",
        "word/numbering.xml",
        "word/footnotes.xml",
        "docProps/core.xml",
    ],
    &[
        "xl/workbook.xml",
        "xl/_rels/workbook.xml.rels",
        "xl/worksheets/sheet1.xml",
        "xl/styles.xml",
        "xl/sharedStrings.xml",
    ],
    &[
        "ppt/presentation.xml",
        "ppt/_rels/presentation.xml.rels",
        "ppt/slides/slide1.xml",
        "ppt/slides/_rels/slide1.xml.rels",
        "ppt/notesSlides/notesSlide1.xml",
    ],
    &["content.xml", "meta.xml", "META-INF/manifest.xml"],
    &["content.xml", "meta.xml", "META-INF/manifest.xml"],
];

// The first byte chooses the kind and what is wanted; the rest are the parts, with a zero byte between them.
fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let kind = usize::from(choice & 7) % KINDS.len();
    let file = package(kind, rest);
    let wanted = match choice >> 3 & 3 {
        0 => Wanted::default(),
        1 => Wanted { pages: Some("2-3".into()), ..Wanted::default() },
        2 => Wanted { range: Some("B2:C9".into()), ..Wanted::default() },
        _ => Wanted { sheet: Some("1".into()), max_rows: Some(5), ..Wanted::default() },
    };
    let never = || false;
    let watch = Watch::new(&never, Duration::from_secs(60));
    if let Ok(text) = read(&mut Cursor::new(file), "a.zip", &wanted, &watch) {
        assert!(text.len() < 4 << 20);
    }
});

fn package(kind: usize, rest: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let open = ["spreadsheet", "text"].get(kind.wrapping_sub(3));
    if let Some(kind) = open {
        zip.start_file("mimetype", stored).expect("a name");
        write!(zip, "application/vnd.oasis.opendocument.{kind}").expect("memory");
    }
    for (name, part) in KINDS[kind].iter().zip(rest.split(|byte| *byte == 0)) {
        zip.start_file(*name, stored).expect("a name");
        zip.write_all(part).expect("memory");
    }
    zip.finish().expect("a zip").into_inner()
}
