//! Discovery of 1,000 skills, cold and warm: for watching a change of code. The ratios against a bare program, for
//! 10,000 skills, are measured by `examples/discover_bench.rs`.

use fugato_model::Scope;
use fugato_runtime::{Root, discover, discover_at};
use std::time::{Duration, SystemTime};

const SKILLS: usize = 1_000;

fn main() {
    divan::main();
}

#[expect(clippy::expect_used, reason = "without its files there is nothing to measure")]
fn skills() -> (tempfile::TempDir, Vec<Root>) {
    let temp = tempfile::tempdir().expect("a temporary directory");
    for n in 0..SKILLS {
        let dir = temp.path().join(format!("skills/skill-{n}"));
        std::fs::create_dir_all(&dir).expect("a directory");
        let text = format!("---\nname: skill-{n}\ndescription: Number {n}.\n---\n{}", "words\n".repeat(200));
        std::fs::write(dir.join("SKILL.md"), text).expect("a file");
    }
    let roots = vec![Root::new(Scope::Global, 0, temp.path().join("skills"))];
    (temp, roots)
}

#[divan::bench]
fn cold(bencher: divan::Bencher<'_, '_>) {
    let (_temp, roots) = skills();
    bencher.bench(|| discover(&roots, None).stats.read);
}

#[divan::bench]
fn warm(bencher: divan::Bencher<'_, '_>) {
    let (temp, roots) = skills();
    let index = temp.path().join("index");
    let later = SystemTime::now() + Duration::from_secs(60);
    discover_at(&roots, Some(&index), later);
    bencher.bench(|| discover_at(&roots, Some(&index), later).stats.reused);
}
