//! Measures discovery against the least any program would have to do for the same files.
//!
//! `cargo run --release --example discover_bench -- [N] [DIR]` generates N skills in DIR (a temporary directory by
//! default) and prints milliseconds, ratios and peak memory as one JSON document.
//!
//! bare read: two threads walk, read every file and split off the frontmatter. bare stat: one thread asks for the
//! metadata of every file.

use fugato_model::Scope;
use fugato_runtime::{Root, discover};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The best of so many: what the machine can do when nobody disturbs it.
const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let temp = tempfile::tempdir()?;
    let base = arguments.next().map_or_else(|| temp.path().to_owned(), PathBuf::from);
    let (root, index) = (base.join("skills"), base.join("home/skills.index"));
    let files = generate(&root, count)?;
    // Files must have settled, else the index rightly distrusts them.
    std::thread::sleep(Duration::from_millis(2_100));

    let roots = [Root::new(Scope::Global, 0, &root)];
    let before = peak_kib();
    let cold = best(|| {
        let _ = fs::remove_file(&index);
        discover(&roots, Some(&index)).stats.read
    });
    let cold_unindexed = best(|| discover(&roots, None).stats.read);
    let warm = best(|| discover(&roots, Some(&index)).stats.reused);
    let peak = peak_kib();
    let bare_read = best(|| bare_read(&root));
    let bare_stat = best(|| files.iter().filter(|file| fs::metadata(file).is_ok()).count());
    let ratio = |a: Measured, b: Measured| (a.millis / b.millis * 100.0).round() / 100.0;
    let report = serde_json::json!({
        "schema": "fugato.bench.discover/v1",
        "skills": count,
        "files": files.len(),
        "coldMs": cold.millis,
        "coldWithoutIndexMs": cold_unindexed.millis,
        "warmMs": warm.millis,
        "bareReadMs": bare_read.millis,
        "bareStatMs": bare_stat.millis,
        "coldRatio": ratio(cold, bare_read),
        "warmRatio": ratio(warm, bare_stat),
        "peakRssKib": peak,
        "peakRssBeforeKib": before,
        "indexBytes": fs::metadata(&index)?.len(),
        "counted": [cold.counted, warm.counted, bare_read.counted, bare_stat.counted],
    });
    #[expect(clippy::print_stdout, reason = "the report is what this program is for")]
    {
        println!("{report:#}");
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Measured {
    millis: f64,
    counted: usize,
}

fn best(mut work: impl FnMut() -> usize) -> Measured {
    let mut best = Measured { millis: f64::INFINITY, counted: 0 };
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let counted = work();
        let millis = (started.elapsed().as_secs_f64() * 100_000.0).round() / 100.0;
        if millis < best.millis {
            best = Measured { millis, counted };
        }
    }
    best
}

/// Skills as they are in the wild: one file of one to three kilobytes; every fourth has a reference.
fn generate(root: &Path, count: usize) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for n in 0..count {
        let name = format!("skill-{n:05}");
        let dir = root.join(&name);
        fs::create_dir_all(&dir)?;
        let body = "Read the page, then answer in one paragraph. 先读页面，再用一段话回答。\n".repeat(10 + n % 20);
        let head = format!(
            "---\nname: {name}\ndescription: Does number {n} of the things that a person may want done. Use when asked.\n\
             license: MIT\nmetadata:\n  version: \"1.{n}\"\n  tags: [bench, number]\nallowed-tools: Read Grep\n---\n"
        );
        let file = dir.join("SKILL.md");
        fs::write(&file, format!("{head}# {name}\n\n{body}"))?;
        files.push(file);
        if n % 4 == 0 {
            let file = dir.join("references/guide.md");
            fs::create_dir_all(dir.join("references"))?;
            fs::write(&file, &body)?;
            files.push(file);
        }
    }
    Ok(files)
}

/// The floor: list, read, split, with the standard library on two threads.
fn bare_read(root: &Path) -> usize {
    let dirs: Vec<_> = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let (cursor, counted) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(dir) = dirs.get(cursor.fetch_add(1, Ordering::Relaxed)) {
                    counted.fetch_add(read_all(dir), Ordering::Relaxed);
                }
            });
        }
    });
    counted.into_inner()
}

fn read_all(dir: &Path) -> usize {
    let mut counted = 0;
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            counted += read_all(&entry.path());
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            let head = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
            counted += usize::from(std::hint::black_box(head).is_some() || !text.is_empty());
        }
    }
    counted
}

/// The most memory this process ever had, where the system tells.
fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
