//! Measures reading: a PDF of 200 pages and a workbook of 100,000 rows, made here, each read whole and in part.
//!
//! `cargo run --release -p fugato-world --example office` prints times and the most memory the process had. With the
//! name of a file (and `pages` or a range) it prints that file as a model would see it.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program for developers"
)]

#[expect(dead_code, reason = "the tests make more kinds of documents than are measured")]
#[path = "../src/office/tests/make.rs"]
mod make;

use fugato_world::office::{Wanted, Watch, read};
use std::fmt::Write as _;
use std::io::Cursor;
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let never = || false;
    let watch = Watch::new(&never, Duration::from_secs(600));
    if let Some(name) = arguments.first() {
        let part = arguments.get(1).cloned();
        let wanted = match part {
            Some(part) if part.contains(':') => Wanted { range: Some(part), ..Wanted::default() },
            pages => Wanted { pages, ..Wanted::default() },
        };
        let began = Instant::now();
        match read(&mut std::fs::File::open(name).unwrap(), name, &wanted, &watch) {
            Ok(text) => println!("{text}"),
            Err(trouble) => println!("error: {trouble}"),
        }
        println!("[{:?}, {} KiB at most]", began.elapsed(), most_memory());
        return;
    }
    for (name, file, parts) in [
        ("200.pdf", pdf(), vec![Wanted::default(), pages("all"), pages("150-151")]),
        ("100000.xlsx", xlsx(), vec![Wanted::default(), range("A1:H100000"), range("A90000:H90010")]),
    ] {
        println!("{name}: {} KiB, {} KiB of memory before", file.len() >> 10, most_memory());
        for wanted in parts {
            let began = Instant::now();
            let text = read(&mut Cursor::new(&file), name, &wanted, &watch).unwrap();
            let (time, memory) = (began.elapsed(), most_memory());
            println!(
                "  {wanted:?}: {time:.2?}, {} KiB of text, {memory} KiB of memory at most",
                text.len() >> 10
            );
        }
    }
}

fn pages(pages: &str) -> Wanted {
    Wanted { pages: Some(pages.into()), ..Wanted::default() }
}

fn range(range: &str) -> Wanted {
    Wanted { range: Some(range.into()), ..Wanted::default() }
}

fn pdf() -> Vec<u8> {
    let lines: Vec<String> = (0..50)
        .map(|at| format!("Line {at} of a page that is as full of words as the pages of a report usually are, more or less."))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    make::pdf(&vec![make::page(&lines); 200])
}

fn xlsx() -> Vec<u8> {
    let mut rows = String::from("<sheetData>");
    for row in 1..=100_000 {
        let _ = write!(
            rows,
            r#"<row r="{row}"><c r="A{row}"><v>{row}</v></c><c r="B{row}" t="s"><v>{}</v></c>"#,
            row % 2
        );
        let _ = write!(
            rows,
            r#"<c r="C{row}" s="1"><v>{}</v></c><c r="D{row}" s="2"><v>0.{row}</v></c>"#,
            40_000 + row % 9000
        );
        let _ = write!(
            rows,
            r#"<c r="E{row}" t="inlineStr"><is><t>customer {row}</t></is></c><c r="F{row}" s="4"><v>{}.5</v></c>"#,
            row * 7
        );
        let _ = write!(
            rows,
            r#"<c r="G{row}"><f>A{row}*2</f><v>{}</v></c><c r="H{row}" t="b"><v>1</v></c></row>"#,
            row * 2
        );
    }
    make::xlsx(&[("Data", rows + "</sheetData>")])
}

/// The most memory this process ever had, in KiB. 0 where the system does not say.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
