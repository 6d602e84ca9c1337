//! Measures the store on this disk: durable appends per second, and how quickly a large store shows itself.
//!
//! `cargo run --release -p fugato-runtime --example store_bench [-- DIR]`; without DIR, in a temporary directory.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for the terminal of its author")]

use fugato_runtime::store::{Batch, NewRun, Owner, Reader, Receipt, RunFilter, RunStatus, Store};
use std::collections::VecDeque;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

const EVENT_BYTES: usize = 300;

fn main() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = std::env::args_os().nth(1).map_or_else(|| temporary.path().to_owned(), Into::into);
    disk(&dir);
    single(&dir.join("single"));
    batched(&dir.join("batched"), 32);
    pipelined(&dir.join("pipelined"));
    writers(&dir.join("writers"), 8);
    large(&dir.join("large"));
}

fn new_run(id: &str) -> NewRun {
    NewRun {
        id: id.to_owned(),
        status: RunStatus::Running,
        skill: None,
        title: None,
        created_at: 0,
        parent: None,
        events: Vec::new(),
    }
}

fn events(first: u64, count: u64) -> Vec<Vec<u8>> {
    let event = |seq| {
        let mut event = format!("{{\"v\":1,\"seq\":{seq},\"kind\":\"tool.finished\",\"text\":\"");
        event.extend(std::iter::repeat_n('x', EVENT_BYTES.saturating_sub(event.len() + 2)));
        event.push_str("\"}");
        event.into_bytes()
    };
    (first..first + count).map(event).collect()
}

fn batch(run: &str, epoch: u64, first_seq: u64, count: u64) -> Batch {
    Batch {
        run: run.to_owned(),
        epoch,
        first_seq,
        events: events(first_seq, count),
        summary: None,
        answers: Vec::new(),
    }
}

fn report(what: &str, count: u64, took: Duration) {
    println!("{what:<44} {:>10.0} events/s   ({count} in {took:.2?})", count as f64 / took.as_secs_f64());
}

/// What the disk itself can do: no durable store is faster than this, one at a time.
fn disk(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    let path = dir.join("disk");
    let mut file = std::fs::File::create(&path).unwrap();
    let begun = Instant::now();
    for _ in 0..500 {
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
    }
    report("the disk alone: 4 KiB and a sync", 500, begun.elapsed());
    std::fs::remove_file(path).unwrap();
}

/// One event, wait, the next: what one careful actor gets.
fn single(dir: &Path) {
    let store = Store::open(dir).unwrap();
    store.create_run(new_run("run_a")).unwrap();
    let lease = store.acquire("run_a", &Owner::this_process()).unwrap();
    let begun = Instant::now();
    for seq in 1..=5_000 {
        store.append(batch("run_a", lease.epoch, seq, 1)).wait().unwrap();
    }
    report("single, each waited for", 5_000, begun.elapsed());
}

fn batched(dir: &Path, size: u64) {
    let store = Store::open(dir).unwrap();
    store.create_run(new_run("run_a")).unwrap();
    let lease = store.acquire("run_a", &Owner::this_process()).unwrap();
    let total = 100_000 / size * size;
    let begun = Instant::now();
    for seq in (1..=total).step_by(usize::try_from(size).unwrap()) {
        store.append(batch("run_a", lease.epoch, seq, size)).wait().unwrap();
    }
    report(&format!("batches of {size}, each waited for"), total, begun.elapsed());
}

/// Single events, up to a thousand unanswered: group commit does the batching.
fn pipelined(dir: &Path) {
    let store = Store::open(dir).unwrap();
    store.create_run(new_run("run_a")).unwrap();
    let lease = store.acquire("run_a", &Owner::this_process()).unwrap();
    let mut open: VecDeque<Receipt> = VecDeque::new();
    let begun = Instant::now();
    for seq in 1..=100_000 {
        if open.len() == 1_000 {
            open.pop_front().unwrap().wait().unwrap();
        }
        open.push_back(store.append(batch("run_a", lease.epoch, seq, 1)));
    }
    open.into_iter().for_each(|receipt| receipt.wait().unwrap());
    report("single, 1000 in flight", 100_000, begun.elapsed());
}

/// Several runs at once share their commits.
fn writers(dir: &Path, count: u64) {
    let store = Store::open(dir).unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..count {
            let store = &store;
            scope.spawn(move || {
                let run = format!("run_{writer}");
                store.create_run(new_run(&run)).unwrap();
                let lease = store.acquire(&run, &Owner::this_process()).unwrap();
                for n in 0..400 {
                    store.append(batch(&run, lease.epoch, 1 + n * 32, 32)).wait().unwrap();
                }
            });
        }
    });
    report(&format!("{count} runs, batches of 32"), count * 400 * 32, begun.elapsed());
}

/// A thousand runs with a thousand events each, all left by a process that is gone.
fn large(dir: &Path) {
    let store = Store::open(dir).unwrap();
    let gone = Owner { boot: "an earlier one".to_owned(), ..Owner::this_process() };
    let begun = Instant::now();
    for run in 0..1_000 {
        let id = format!("run_{run:04}");
        store.create_run(new_run(&id)).unwrap();
        let lease = store.acquire(&id, &gone).unwrap();
        for part in 0..10 {
            drop(store.append(batch(&id, lease.epoch, 1 + part * 100, 100)));
        }
        std::mem::forget(lease); // as its process would have
    }
    store.set_active(Some("run_0500")).unwrap();
    report("1000 runs, 1000 events each", 1_000_000, begun.elapsed());
    // As after a crash: the write-ahead log is not folded, so the reader below finds what a dead process leaves.
    let begun = Instant::now();
    let reader = Reader::open(dir).unwrap().unwrap();
    println!("{:<44} {:>10.2?}", "open a reader", begun.elapsed());
    let begun = Instant::now();
    let runs = reader.runs(&RunFilter::default()).unwrap();
    let stale = runs.iter().filter(|run| run.effective_status() == RunStatus::Interrupted).count();
    println!("{:<44} {:>10.2?}   ({stale} interrupted)", "list and classify 1000 runs", begun.elapsed());
    let begun = Instant::now();
    let run = reader.run("run_0777").unwrap();
    let seen = reader.events(&run.id, 1, u64::MAX).unwrap().count();
    println!("{:<44} {:>10.2?}   ({seen} events)", "one run, its whole log", begun.elapsed());
    drop(store);
    let begun = Instant::now();
    let store = Store::open(dir).unwrap();
    println!("{:<44} {:>10.2?}", "open to write, after a clean end", begun.elapsed());
    let begun = Instant::now();
    store.reader().unwrap().check().unwrap();
    println!("{:<44} {:>10.2?}", "check every page", begun.elapsed());
}
