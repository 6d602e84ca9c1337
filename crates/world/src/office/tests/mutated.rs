//! Real documents with bytes changed, cut and doubled: an answer or an error, never a panic.

use super::make::{docx, ods, odt, page, paragraph, pdf, pptx, scan, xls, xlsx};
use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A small generator of numbers: the same failure comes again with the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at.max(1)),
            1 => drop(bytes.drain(at..(at + random.below(40)).min(bytes.len()))),
            2 => {
                let copy: Vec<u8> = bytes[at..(at + random.below(60)).min(bytes.len())].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            3 => bytes[at] ^= 1 << random.below(8),
            4 => bytes[at] = [0, 255, b'<', b'>', b'[', b'(', b'9', b'/'][random.below(8)],
            _ => bytes[at] = random.next() as u8,
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
}

/// What is inside a zip is packed; these are stored, so that changes reach the XML.
fn unpacked(zip: &[u8]) -> Vec<u8> {
    let mut from = zip::ZipArchive::new(Cursor::new(zip)).unwrap();
    let mut to = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for at in 0..from.len() {
        let mut part = from.by_index(at).unwrap();
        to.start_file(part.name().unwrap().into_owned(), stored).unwrap();
        std::io::copy(&mut part, &mut to).unwrap();
    }
    to.finish().unwrap().into_inner()
}

#[test]
fn thousands_of_changed_documents_never_break_it() {
    let word = docx(&(paragraph("some text") + "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>"));
    let data = r#"<sheetData><row r="1"><c r="A1" t="s"><v>1</v></c><c r="B1" s="3"><v>45356.5</v></c></row></sheetData>"#;
    let book = xlsx(&[("x", data.to_owned())]);
    let text = page(&["Hello", "World"]) + " BT /F2 12 Tf <4F60> Tj ET";
    let samples: Vec<(&str, Vec<u8>)> = vec![
        ("docx", word.clone()),
        ("docx", unpacked(&word)),
        ("xlsx", book.clone()),
        ("xlsx", unpacked(&book)),
        ("pptx", unpacked(&pptx())),
        ("ods", unpacked(&ods())),
        ("odt", unpacked(&odt())),
        ("xls", xls()),
        ("pdf", pdf(&[text.clone(), text])),
        ("pdf", scan(100, 40, &[7; 4000])),
        (
            "rtf",
            br"{\rtf1\ansi\ansicpg936{\fonttbl{\f0 A;}}Hi\par \'b1\'b1 \u20013?\uc0\u-10179\u-8704}".to_vec(),
        ),
        ("csv", "a,b\n\"c\",\"d\"\"e\"\n中,文\n".as_bytes().to_vec()),
    ];
    let each = std::env::var("FUGATO_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(6000)
        / samples.len();
    let seed =
        std::env::var("FUGATO_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed_1234_5678);
    let mut random = Random(seed);
    for (kind, sample) in &samples {
        for case in 0..each {
            let mut bytes = sample.clone();
            mutate(&mut bytes, &mut random);
            let name = format!("a.{kind}");
            let wanted = [Wanted::default(), pages("1-2"), range("A1:B2")][case % 3].clone();
            let answer = catch_unwind(AssertUnwindSafe(|| try_read(&bytes, &name, &wanted)));
            assert!(answer.is_ok(), "{kind}, case {case}, seed {seed}");
        }
    }
}
