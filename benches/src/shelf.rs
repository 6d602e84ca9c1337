//! A project with a long past: a thousand runs, a million events, most of them left by processes that are gone. How long
//! until `fugato runs` answers?

use crate::figure::{Figure, Samples};
use crate::place::{Bench, BenchError, timed};
use fugato_runtime::store::{Batch, NewRun, Owner, Reader, RunFilter, RunStatus, Store};
use std::fs::File;
use std::path::Path;

/// About what an event of a real run weighs.
const EVENT_BYTES: usize = 300;

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("shelf")?;
    let state = room.join("state");
    fill(&state, bench.sizes.runs, bench.sizes.events_per_run)?;
    let limit = bench.sizes.runs.to_string();
    let list = |arguments: &[&str]| timed(bench.command(&room, "").args(arguments));
    let (mut cold, mut warm, mut all) = (Samples::default(), Samples::default(), Samples::default());
    let mut how = "";
    for _ in 0..bench.sizes.rounds {
        how = forget(&state)?;
        cold.add_millis(list(&["runs", "--json"])?);
        warm.add_millis(list(&["runs", "--json"])?);
        all.add_millis(list(&["runs", "--json", "--limit", &limit])?);
    }
    let reader = Reader::open(&state)?.ok_or("the store is gone")?;
    let rows = reader.runs(&RunFilter::default())?;
    let stale = rows.iter().filter(|row| row.effective_status() == RunStatus::Interrupted).count();
    let (runs, events) = (rows.len(), rows.iter().map(|row| row.last_seq).sum::<u64>());
    if stale != runs {
        return Err(format!("{stale} of {runs} runs count as interrupted, all should").into());
    }
    Ok(vec![
        Figure::new("first `runs` of a large store", "ms", &cold)
            .below(1000.0)
            .note(format!("{runs} runs, {events} events; {how}")),
        Figure::new("`runs` again", "ms", &warm),
        Figure::new("`runs`, every run classified", "ms", &all)
            .below(1000.0)
            .note("each run's owner is looked for: all are gone, all are interrupted"),
    ])
}

fn fill(state: &Path, runs: u32, events: u32) -> Result<(), BenchError> {
    let store = Store::open(state)?;
    let gone = Owner { pid: 1, started: 1, ..Owner::this_process() };
    for number in 0..runs {
        let run = format!("run_{number:04}");
        store.create_run(NewRun {
            id: run.clone(),
            status: RunStatus::Running,
            skill: Some("bench".to_owned()),
            title: Some(format!("bench {number}")),
            created_at: i64::from(number) * 1000,
            parent: None,
            events: Vec::new(),
        })?;
        let lease = store.acquire(&run, &gone)?;
        for first_seq in (1..=u64::from(events)).step_by(100) {
            let last = u64::from(events).min(first_seq + 99);
            let events = (first_seq..=last).map(event).collect();
            drop(store.append(Batch {
                run: run.clone(),
                epoch: lease.epoch,
                first_seq,
                events,
                summary: None,
                answers: Vec::new(),
            }));
        }
        // Its process ended without a word.
        std::mem::forget(lease);
    }
    Ok(())
}

fn event(seq: u64) -> Vec<u8> {
    let mut event = format!("{{\"v\":1,\"seq\":{seq},\"text\":\"").into_bytes();
    event.resize(EVENT_BYTES - 2, b'x');
    event.extend_from_slice(b"\"}");
    event
}

/// Drops the store's pages from the system's memory; the program itself stays there.
fn forget(state: &Path) -> Result<&'static str, BenchError> {
    for entry in std::fs::read_dir(state)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let file = File::open(entry.path())?;
            file.sync_all()?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok("pages of the store dropped from the page cache before each")
}
