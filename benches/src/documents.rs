//! Documents as long as people have them, made here and read by `office-read`: time, and the most memory the
//! process ever had. The same at twice the length shows what grows with it.

use crate::bare::tell;
use crate::figure::{Figure, Samples, millis};
use crate::place::{Bench, BenchError, peak_in, told};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use fugato_model::chat::ToolCall;
use fugato_runtime::tools::{CancelToken, ToolBox, ToolContext, ToolLimits};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use zip::write::SimpleFileOptions;

/// Promised: a few seconds.
const MOST_MS: f64 = 3_000.0;
/// What is bounded does not follow the length; the text of a part is at most 2 MiB either way.
const MOST_GROWTH: f64 = 1.5;

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("documents")?;
    let (pages, rows) = (bench.sizes.pages, bench.sizes.rows);
    let mut figures = Vec::new();
    for (name, length, make, part, ending) in [
        (
            format!("PDF of {pages} pages"),
            pages,
            pdf as fn(&Path, u32) -> Result<(), BenchError>,
            "pages",
            "pdf",
        ),
        (format!("XLSX of {rows} rows"), rows, xlsx, "range", "xlsx"),
    ] {
        let (once, twice) = (room.join(format!("once.{ending}")), room.join(format!("twice.{ending}")));
        make(&once, length)?;
        make(&twice, length * 2)?;
        let part_of = |length: u32| if part == "pages" { "all".to_owned() } else { format!("A1:H{length}") };
        for (how, what) in [("its beginning", String::new()), ("all of it", part_of(length))] {
            let read = |file: &Path, what: &str| measured(bench, file, part, what);
            let (mut time, mut memory, mut double) =
                (Samples::default(), Samples::default(), Samples::default());
            for _ in 0..bench.sizes.rounds.min(3) {
                let (ms, kib) = read(&once, &what)?;
                time.add(ms);
                memory.add(kib);
                let more = if what.is_empty() { String::new() } else { part_of(length * 2) };
                double.add(read(&twice, &more)?.1);
            }
            figures.push(Figure::new(format!("{name}, {how}"), "ms", &time).below(MOST_MS));
            figures.push(
                Figure::new(format!("{name}, {how}: peak memory"), "KiB", &memory)
                    .note("of the whole process that reads it, the program itself included"),
            );
            figures.push(
                Figure::of(
                    format!("{name}, {how}: peak memory at twice the length"),
                    "×",
                    double.median() / memory.median(),
                )
                .below(MOST_GROWTH),
            );
        }
    }
    Ok(figures)
}

/// Milliseconds and KiB.
fn measured(bench: &Bench, file: &Path, part: &str, what: &str) -> Result<(f64, f64), BenchError> {
    let said = told(Command::new(&bench.own).arg("document").arg(file).args([part, what]))?;
    let number = |name: &str| said.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
    Ok((number("total_ms"), number("peak_kib")))
}

/// One call of the tool, alone in its process.
pub fn part(file: &str, part: &str, what: &str) -> Result<(), BenchError> {
    let file = Path::new(file);
    let (dir, name) = file.parent().zip(file.file_name()).ok_or("a file has a directory and a name")?;
    let mut arguments = json!({"path": name.to_string_lossy()});
    if let (Some(fields), false) = (arguments.as_object_mut(), what.is_empty()) {
        fields.insert(part.to_owned(), what.into());
    }
    let limits = ToolLimits { time: Duration::from_secs(600), ..ToolLimits::default() };
    let tools = ToolBox::new(ToolContext { roots: vec![dir.to_owned()], limits, ..ToolContext::default() });
    let call = ToolCall { id: "1".into(), name: "office-read".into(), arguments };
    let runtime = crate::inside::runtime()?;
    let began = Instant::now();
    let outcome = runtime.block_on(tools.perform(&call, CancelToken::new(), &mut |_| {}));
    let took = millis(began.elapsed());
    if outcome.is_error || !(outcome.content.contains("customer 1") || outcome.content.contains("Line 1 ")) {
        let shown: String = outcome.content.chars().take(300).collect();
        return Err(format!("`{}` was not read: {shown}", file.display()).into());
    }
    let bytes = outcome.full.as_ref().map_or(outcome.content.len(), Vec::len);
    let peak = std::fs::read_to_string("/proc/self/status").ok().as_deref().and_then(peak_in);
    tell(&json!({"total_ms": took, "peak_kib": peak.unwrap_or(0), "bytes": bytes}))
}

/// Pages as full of words as those of a report.
fn pdf(file: &Path, pages: u32) -> Result<(), BenchError> {
    let mut out = BufWriter::new(File::create(file)?);
    let (mut at, mut places) = (0_usize, Vec::new());
    let mut put = |bytes: &[u8], is_object: bool| -> std::io::Result<()> {
        if is_object {
            places.push(at);
        }
        at += bytes.len();
        out.write_all(bytes)
    };
    put(b"%PDF-1.7\n", false)?;
    put(b"1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n", true)?;
    let kids: Vec<String> = (0..pages).map(|page| format!("{} 0 R", 4 + page * 2)).collect();
    let tree = format!("2 0 obj\n<< /Type /Pages /Count {pages} /Kids [{}] >>\nendobj\n", kids.join(" "));
    put(tree.as_bytes(), true)?;
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";
    put(format!("3 0 obj\n{font}\nendobj\n").as_bytes(), true)?;
    for page in 0..pages {
        let (own, content) = (4 + page * 2, 5 + page * 2);
        let about = format!(
            "{own} 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R /Resources << /Font << /F1 3 0 R >> >> >>\nendobj\n"
        );
        put(about.as_bytes(), true)?;
        let mut text = String::from("BT /F1 11 Tf 14 TL 60 780 Td\n");
        for line in 0..50 {
            let _ = writeln!(
                text,
                "(Line {line} of page {page}, which is as full of words as the pages of a report usually are.) Tj T*"
            );
        }
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
        packed.write_all((text + "ET").as_bytes())?;
        let packed = packed.finish()?;
        let head = format!("{content} 0 obj\n<< /Filter /FlateDecode /Length {} >>\nstream\n", packed.len());
        put(&[head.as_bytes(), &packed, b"\nendstream\nendobj\n"].concat(), true)?;
    }
    let mut end = format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1);
    for place in &places {
        let _ = writeln!(end, "{place:010} 00000 n ");
    }
    let _ = write!(end, "trailer << /Size {} /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n", places.len() + 1);
    out.write_all(end.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Numbers, shared and own texts, dates, amounts, formulas and truth values.
fn xlsx(file: &Path, rows: u32) -> Result<(), BenchError> {
    let mut zip = zip::ZipWriter::new(BufWriter::new(File::create(file)?));
    for (name, text) in [
        ("[Content_Types].xml", "<Types/>"),
        (
            "xl/workbook.xml",
            r#"<workbook xmlns:r="r"><sheets><sheet name="Data" sheetId="1" r:id="r1"/></sheets></workbook>"#,
        ),
        (
            "xl/_rels/workbook.xml.rels",
            r#"<Relationships><Relationship Id="r1" Target="worksheets/s1.xml"/></Relationships>"#,
        ),
        (
            "xl/styles.xml",
            r#"<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="4"/></cellXfs></styleSheet>"#,
        ),
        ("xl/sharedStrings.xml", "<sst><si><t>north</t></si><si><t>\u{5317}\u{4eac}</t></si></sst>"),
    ] {
        zip.start_file(name, SimpleFileOptions::default())?;
        zip.write_all(text.as_bytes())?;
    }
    zip.start_file("xl/worksheets/s1.xml", SimpleFileOptions::default())?;
    zip.write_all(br#"<worksheet xmlns="m"><sheetData>"#)?;
    for row in 1..=rows {
        let (shared, date, amount, double) = (row % 2, 40_000 + row % 9000, row * 7, row * 2);
        write!(
            zip,
            r#"<row r="{row}"><c r="A{row}"><v>{row}</v></c><c r="B{row}" t="s"><v>{shared}</v></c><c r="C{row}" s="1"><v>{date}</v></c><c r="D{row}" s="2"><v>0.{row}</v></c><c r="E{row}" t="inlineStr"><is><t>customer {row}</t></is></c><c r="F{row}" s="3"><v>{amount}.5</v></c><c r="G{row}"><f>A{row}*2</f><v>{double}</v></c><c r="H{row}" t="b"><v>1</v></c></row>"#
        )?;
    }
    zip.write_all(b"</sheetData></worksheet>")?;
    zip.finish()?.flush()?;
    Ok(())
}
