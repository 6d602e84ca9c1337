//! Files that say in few bytes that there is very much: a process with little memory reads each to an answer or an error.

use super::make::{compound, package_of, pdf};
use super::*;
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Kilobytes of address space: the deep stack of the PDF reader is half of it and is never touched.
const MOST_KILOBYTES: u32 = 1_200_000;
/// Each file takes seconds on a slow machine. Without its limit it takes hours, or all the memory there is.
const MOST_TIME: Duration = Duration::from_secs(420);

type Sample = fn() -> (&'static str, Vec<u8>);

const SAMPLES: [Sample; 9] = [
    cells_repeated_side_by_side_and_downwards,
    one_row_of_long_shared_strings,
    a_table_of_wide_and_empty_cells,
    one_long_address_behind_every_word,
    a_long_cell_repeated_in_a_text,
    one_long_name_for_every_sheet,
    one_long_format_for_every_style,
    a_file_system_of_roots_alone,
    a_page_of_one_wide_line_over_many_narrow_ones,
];

const BOOK: &str = r#"<workbook xmlns:r="r"><sheets><sheet name="s" r:id="a"/></sheets></workbook>"#;
const LINKS: &str = r#"<Relationships><Relationship Id="a" Target="s.xml"/></Relationships>"#;

fn open_document(kind: &str, content: &str) -> Vec<u8> {
    let kind = format!("application/vnd.oasis.opendocument.{kind}");
    package_of(&[("mimetype", kind.as_bytes()), ("content.xml", content.as_bytes())])
}

fn cells_repeated_side_by_side_and_downwards() -> (&'static str, Vec<u8>) {
    let cell = |letter: &str| {
        let text = letter.repeat(20_000);
        format!(r#"<c:table-cell c:number-columns-repeated="10000"><p>{text}</p></c:table-cell>"#)
    };
    let cells: String = ["a", "b", "c", "d", "e", "f", "g", "h"].iter().map(|letter| cell(letter)).collect();
    let row = format!(r#"<c:table-row c:number-rows-repeated="4000000000">{cells}</c:table-row>"#);
    let rows = row.repeat(20);
    ("a.ods", open_document("spreadsheet", &format!("<x><c:table c:name=\"t\">{rows}</c:table></x>")))
}

fn one_row_of_long_shared_strings() -> (&'static str, Vec<u8>) {
    let strings = format!("<sst><si><t>{}</t></si></sst>", "long ".repeat(6_000));
    let sheet = format!(
        "<worksheet><sheetData><row>{}</row></sheetData></worksheet>",
        "<c t=\"s\"><v>0</v></c>".repeat(60_000)
    );
    let parts = [
        ("xl/workbook.xml", BOOK),
        ("xl/_rels/workbook.xml.rels", LINKS),
        ("xl/sharedStrings.xml", &strings),
        ("xl/s.xml", &sheet),
    ];
    ("a.xlsx", make::package(&parts))
}

/// A Word file whose parts are not packed: what packs this well is refused as a bomb.
fn stored(parts: &[(&str, &str)]) -> Vec<u8> {
    use std::io::Write as _;
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, text) in parts {
        zip.start_file(*name, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn a_table_of_wide_and_empty_cells() -> (&'static str, Vec<u8>) {
    let cells = "<w:tc><w:gridSpan w:val=\"200\"/></w:tc>".repeat(250_000);
    let document = format!("<w:document><w:tbl><w:tr>{cells}</w:tr></w:tbl></w:document>");
    ("a.docx", stored(&[("word/document.xml", &document)]))
}

fn one_long_address_behind_every_word() -> (&'static str, Vec<u8>) {
    let address = "x".repeat(1 << 20);
    let links = format!(
        r#"<Relationships><Relationship Id="a" TargetMode="External" Target="https://{address}"/></Relationships>"#
    );
    let link = "<w:hyperlink r:id=\"a\"><w:r><w:t>b </w:t></w:r></w:hyperlink>".repeat(8_000);
    let document = format!("<w:document><w:p>{link}</w:p></w:document>");
    ("a.docx", stored(&[("word/document.xml", &document), ("word/_rels/document.xml.rels", &links)]))
}

fn a_long_cell_repeated_in_a_text() -> (&'static str, Vec<u8>) {
    let text = "word ".repeat(700_000);
    let cell = format!(r#"<table-cell number-columns-repeated="200"><p>{text}</p></table-cell>"#);
    let rows = format!("<table-row>{cell}</table-row>").repeat(2);
    let content = format!("<x><table>{rows}</table></x>");
    let kind = "application/vnd.oasis.opendocument.text";
    ("a.odt", stored(&[("mimetype", kind), ("content.xml", &content)]))
}

fn one_long_name_for_every_sheet() -> (&'static str, Vec<u8>) {
    let name = "x".repeat(1 << 20);
    let links = format!(r#"<Relationships><Relationship Id="a" Target="{name}"/></Relationships>"#);
    let sheets = r#"<sheet name="s" r:id="a"/>"#.repeat(20_000);
    let book = format!("<workbook><sheets>{sheets}</sheets></workbook>");
    ("a.xlsx", stored(&[("xl/workbook.xml", &book), ("xl/_rels/workbook.xml.rels", &links)]))
}

fn one_long_format_for_every_style() -> (&'static str, Vec<u8>) {
    let code = "0".repeat(1 << 20);
    let styles = format!(
        r#"<styleSheet><numFmts><numFmt numFmtId="164" formatCode="{code}"/></numFmts><cellXfs>{}</cellXfs></styleSheet>"#,
        r#"<xf numFmtId="164"/>"#.repeat(20_000)
    );
    let sheet = r#"<worksheet><c s="9"><v>1</v></c></worksheet>"#;
    let parts = [
        ("xl/workbook.xml", BOOK),
        ("xl/_rels/workbook.xml.rels", LINKS),
        ("xl/styles.xml", &styles),
        ("xl/s.xml", sheet),
    ];
    ("a.xlsx", stored(&parts))
}

/// The stream of the file is its directory as well, and every entry of it a root that begins there.
fn a_file_system_of_roots_alone() -> (&'static str, Vec<u8>) {
    let mut root = [0u8; 128];
    root[64] = 2;
    root[66] = 5;
    root[116] = 2;
    let mut file = compound("Workbook", &[]);
    file.truncate(512);
    // As many sectors as one sector of the list can chain, and a list of 109 of them.
    let (tables, sectors) = (109u32, 109u32 * 128);
    for at in 0..tables {
        file[76 + at as usize * 4..][..4].copy_from_slice(&at.to_le_bytes());
    }
    file[48..52].copy_from_slice(&tables.to_le_bytes());
    let next = |at: u32| if at + 1 == sectors { 0xffff_fffe } else { at + 1 };
    for at in 0..sectors {
        file.extend(if at < tables { 0xffff_fffdu32 } else { next(at) }.to_le_bytes());
    }
    root[116..120].copy_from_slice(&tables.to_le_bytes());
    for _ in tables..sectors {
        file.extend(root.repeat(4));
    }
    ("a.xls", file)
}

fn a_page_of_one_wide_line_over_many_narrow_ones() -> (&'static str, Vec<u8>) {
    let mut page = String::from("BT /F1 1 Tf\n");
    for column in 0..20_000 {
        let _ = writeln!(page, "1 0 0 1 {} 9000 Tm (a) Tj", column * 5);
    }
    for row in 1..4_000 {
        let height = 9_000 - row * 2;
        let _ = writeln!(page, "1 0 0 1 0 {height} Tm (b) Tj\n1 0 0 1 50 {height} Tm (c) Tj");
    }
    ("a.pdf", pdf(&[page + "ET"]))
}

#[test]
#[ignore = "the child of what_is_small_in_a_file_and_large_in_memory_is_cut"]
fn reading_child() {
    for sample in SAMPLES {
        let began = Instant::now();
        let (name, bytes) = sample();
        for wanted in [Wanted::default(), range("A1:C9")] {
            let answer = try_read(&bytes, name, &wanted);
            assert!(answer.as_ref().is_ok_and(|text| text.len() < 4 << 20) || answer.is_err());
        }
        println!("{name} of {} bytes: {:?}", bytes.len(), began.elapsed());
    }
}

#[test]
fn what_is_small_in_a_file_and_large_in_memory_is_cut() {
    let script = format!("ulimit -v {MOST_KILOBYTES} 2>/dev/null; exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "office::tests::large::reading_child", "--ignored", "--nocapture"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > MOST_TIME {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(status.success(), "{status} after {:?}", began.elapsed());
}
