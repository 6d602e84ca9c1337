//! Measures discovery against the least any program would have to do for the same files.
//!
//! `cargo run --release --example discover_bench -- [N] [DIR]` generates N skills in DIR (a temporary directory by
//! default; one that has them already is used as it is) and prints milliseconds, ratios and peak memory as one JSON document.
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
const ROUNDS: usize = 9;

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
    // In turns, so that a disturbance of the machine does not hit one of them alone.
    let [mut cold, mut unindexed, mut warm, mut read, mut stat] = [Measured::NONE; 5];
    let mut peak = None;
    for _ in 0..ROUNDS {
        let _ = fs::remove_file(&index);
        cold.best(|| discover(&roots, Some(&index)), |found| found.stats.read);
        unindexed.best(|| discover(&roots, None), |found| found.stats.read);
        warm.best(|| discover(&roots, Some(&index)), |found| found.stats.reused);
        peak = peak_kib();
        read.best(|| bare_read(&root), |count| *count);
        stat.best(|| files.iter().filter(|file| fs::metadata(file).is_ok()).count(), |count| *count);
    }
    let ratio = |a: Measured, b: Measured| (a.millis / b.millis * 100.0).round() / 100.0;
    let report = serde_json::json!({
        "schema": "fugato.bench.discover/v1",
        "skills": count,
        "files": files.len(),
        "coldMs": cold.millis,
        "coldWithoutIndexMs": unindexed.millis,
        "warmMs": warm.millis,
        "bareReadMs": read.millis,
        "bareStatMs": stat.millis,
        "coldRatio": ratio(cold, read),
        "warmRatio": ratio(warm, stat),
        "peakRssKib": peak,
        "peakRssBeforeKib": before,
        "indexBytes": fs::metadata(&index)?.len(),
        "counted": [cold.counted, warm.counted, read.counted, stat.counted],
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

impl Measured {
    const NONE: Self = Self { millis: f64::INFINITY, counted: 0 };

    /// Keeps the better of this and another try.
    fn best<T>(&mut self, work: impl FnOnce() -> T, count: impl FnOnce(&T) -> usize) {
        let started = Instant::now();
        let result = work();
        let millis = (started.elapsed().as_secs_f64() * 100_000.0).round() / 100.0;
        let counted = count(&result);
        if millis < self.millis {
            *self = Self { millis, counted };
        }
    }
}

/// Skills as they are in the wild: one file of one to three kilobytes; every fourth has a reference, every fifth more
/// than the plain fields.
fn generate(root: &Path, count: usize) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for n in 0..count {
        let name = format!("skill-{n:05}");
        let dir = root.join(&name);
        let body =
            "Read the page, then answer in one paragraph. 先读页面，再用一段话回答。\n".repeat(10 + n % 20);
        let more = "metadata:\n  version: \"1.0\"\n  tags: [bench, number]\n";
        let more = if n % 5 == 0 { more } else { "" };
        let head = format!(
            "---\nname: {name}\ndescription: Does number {n} of the things that a person may want done. Use when \
             asked.\nlicense: MIT\nallowed-tools: Read, Grep\n{more}---\n"
        );
        files.push(write_once(&dir, "SKILL.md", &format!("{head}# {name}\n\n{body}"))?);
        if n % 4 == 0 {
            files.push(write_once(&dir.join("references"), "guide.md", &body)?);
        }
    }
    Ok(files)
}

fn write_once(dir: &Path, name: &str, text: &str) -> std::io::Result<PathBuf> {
    let file = dir.join(name);
    if !file.exists() {
        fs::create_dir_all(dir)?;
        fs::write(&file, text)?;
    }
    Ok(file)
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
