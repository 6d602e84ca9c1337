//! The power goes out. A child writes as a store writes while its system calls are recorded (`strace`); from the
//! recording, disks are made as they could be after a power cut at any moment: what was not synced is there, is not, or is
//! there in part, in any order. Each must open, and have everything that had been acknowledged.
//!
//! `FUGATO_POWER_CUTS` sets how many disks (300 without it), `FUGATO_SEED` begins with another seed.

mod disk;
mod recording;

use super::crash_tests::verify_events;
use super::tests::{batch, new_run};
use super::*;
use disk::{Dice, Disk};
use recording::{Call, record};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

const DIR: &str = "FUGATO_STORE_CHILD_DIR";
const RUNS: [&str; 2] = ["run_a", "run_b"];

/// What is said on standard output is acknowledged: it is in the recording, between the system calls.
fn acknowledge(what: &str) {
    let mut out = std::io::stdout();
    out.write_all(format!("\nacknowledged {what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Opens and closes the store (each close brings the log into the database and deletes it), with checkpoints on the way.
#[test]
#[ignore = "the child of a_power_cut_at_any_moment_loses_nothing_that_was_acknowledged"]
fn power_child() {
    let dir = PathBuf::from(std::env::var_os(DIR).unwrap()).join("state");
    let mut next = BTreeMap::from(RUNS.map(|run| (run, 2)));
    for cycle in 0..6u64 {
        let store = Store::open(&dir).unwrap();
        for run in RUNS.into_iter().filter(|_| cycle == 0) {
            store.create_run(new_run(run)).unwrap();
            acknowledge(&format!("event {run} 1"));
        }
        let leases = RUNS.map(|run| (run, store.acquire(run, &Owner::this_process()).unwrap()));
        let epochs = BTreeMap::from(leases.each_ref().map(|(run, lease)| (*run, lease.epoch)));
        for turn in 0..6u64 {
            for run in RUNS {
                let first = next[run];
                let mut batch = batch(run, epochs[run], first, 1 + (first + turn) % 4);
                let count = batch.events.len() as u64;
                if turn % 2 == 0 {
                    let digest = store.put_blob(format!("{run} {first} ").repeat(900).as_bytes()).unwrap();
                    batch.events[0] = format!("{{\"seq\":{first},\"blob\":\"{digest}\"}}").into_bytes();
                }
                if turn == 3 {
                    let filling = "x".repeat(9_000);
                    batch.events[0] = format!("{{\"seq\":{first},\"filling\":\"{filling}\"}}").into_bytes();
                }
                store.append(batch).wait().unwrap();
                next.insert(run, first + count);
                acknowledge(&format!("event {run} {}", first + count - 1));
            }
            if turn == 2 {
                let id = store.command(RUNS[0], &format!("{{\"cycle\":{cycle}}}")).unwrap();
                acknowledge(&format!("command {} {id}", RUNS[0]));
            }
            if turn == 4 {
                let mode = ["PASSIVE", "FULL", "RESTART", "TRUNCATE"][usize::try_from(cycle % 4).unwrap()];
                let other = Connection::open(dir.join("fugato.db")).unwrap();
                other.pragma_update(None, "synchronous", "FULL").unwrap();
                other.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).unwrap();
            }
        }
    }
}

/// What had been acknowledged before a moment.
#[derive(Clone, Debug, Default)]
struct Promised {
    events: BTreeMap<String, u64>,
    commands: Vec<i64>,
}

impl Promised {
    fn before(calls: &[Call]) -> Self {
        let mut promised = Self::default();
        for call in calls {
            let Call::Said(text) = call else { continue };
            for line in text.lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                match words.as_slice() {
                    ["acknowledged", "event", run, seq] => {
                        promised.events.insert((*run).to_owned(), seq.parse().unwrap());
                    }
                    ["acknowledged", "command", _, id] => promised.commands.push(id.parse().unwrap()),
                    _ => {}
                }
            }
        }
        promised
    }

    /// Does the store in this directory have it all, and is it sound?
    fn is_kept_in(&self, dir: &Path) {
        let store = Store::open(dir).unwrap();
        let reader = store.reader().unwrap();
        let whole: String =
            reader.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(whole, "ok");
        writer::verify(&reader.connection, store.place()).unwrap();
        for (run, last) in &self.events {
            let row = reader.run(run).unwrap();
            assert!(row.last_seq >= *last, "{run} lost {last}, ends at {}", row.last_seq);
            // Also every blob that an event names, byte for byte its digest.
            verify_events(&reader, run, 1, row.last_seq);
        }
        let waiting = reader.commands(RUNS[0], 0).unwrap_or_default();
        for id in &self.commands {
            assert!(waiting.iter().any(|command| command.id == *id), "command {id} is lost");
        }
        // After the fault new work succeeds.
        let owner = Owner::this_process();
        if let Some((run, _)) = self.events.iter().next() {
            let lease = store.acquire(run, &owner).unwrap();
            let first = store.reader().unwrap().last_seq(run).unwrap() + 1;
            store.append(batch(run, lease.epoch, first, 1)).wait().unwrap();
        }
    }
}

/// The calls of the child.
fn recorded(root: &Path) -> Vec<Call> {
    let this = std::env::current_exe().unwrap().into_os_string();
    let child =
        ["--exact", "store::power_tests::power_child", "--ignored", "--nocapture", "--test-threads=1"];
    let command: Vec<_> = std::iter::once(this).chain(child.map(Into::into)).collect();
    record(&command, (DIR, root.as_os_str()), root)
}

#[test]
fn a_power_cut_at_any_moment_loses_nothing_that_was_acknowledged() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let cuts = number("FUGATO_POWER_CUTS").unwrap_or(300);
    let first = number("FUGATO_SEED").unwrap_or(1);
    let room = tempfile::tempdir().unwrap();
    let root = room.path().canonicalize().unwrap();
    let calls = recorded(&root);
    let promised = Promised::before(&calls);
    assert!(promised.events.values().all(|last| *last > 60) && promised.commands.len() == 6, "{promised:?}");
    // Memory where there is some to be had: thousands of disks are made.
    let shm = Path::new("/dev/shm");
    let place = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
    let mut kinds = BTreeMap::<&str, u64>::new();
    let mut failing = Vec::new();
    for seed in first..first + cuts {
        let mut dice = Dice::new(seed);
        let moment = dice.below(calls.len() + 1);
        let before = calls.get(..moment).unwrap();
        let room = tempfile::tempdir_in(&place).unwrap();
        let survived = Disk::after(before, &root).survive(&mut dice);
        for (kind, count) in &survived.fates {
            *kinds.entry(kind).or_default() += count;
        }
        survived.write_to(room.path());
        let state = room.path().join("state");
        let kept = std::panic::catch_unwind(|| Promised::before(before).is_kept_in(&state));
        if kept.is_err() {
            failing.push((seed, moment));
        }
    }
    println!("{cuts} power cuts in {} system calls: {kinds:?}", calls.len());
    assert!(failing.is_empty(), "repeat with FUGATO_SEED=… FUGATO_POWER_CUTS=1: {failing:?}");
    // A simulation that loses nothing proves nothing.
    if cuts >= 300 {
        assert!(["kept", "dropped", "torn", "name lost"].iter().all(|kind| kinds[kind] > 10), "{kinds:?}");
    }
}

/// The test of the test: a store that is told its writes are durable when they are not does lose them.
#[test]
fn without_its_syncs_a_power_cut_does_lose_something() {
    let room = tempfile::tempdir().unwrap();
    let root = room.path().canonicalize().unwrap();
    let mut calls = recorded(&root);
    // From the middle on, nothing is synced: as a disk that lies would have it.
    let middle = calls.len() / 2;
    let synced: Vec<Call> = calls.drain(..middle).collect();
    let unsynced = calls.into_iter().filter(|call| !matches!(call, Call::Sync(_)));
    let calls: Vec<Call> = synced.into_iter().chain(unsynced).collect();
    let lost = (1..200u64).any(|seed| {
        let mut dice = Dice::new(seed);
        let room = tempfile::tempdir().unwrap();
        Disk::after(&calls, &root).survive(&mut dice).write_to(room.path());
        let state = room.path().join("state");
        std::panic::catch_unwind(|| Promised::before(&calls).is_kept_in(&state)).is_err()
    });
    assert!(lost, "the simulated disk loses nothing");
}
