//! Real processes, really killed. The test binary starts itself again as a child that writes and reports what was
//! acknowledged; the parent kills it at a random moment and looks at what is left.
//!
//! `FUGATO_KILLS` sets how many times (40 without it), `FUGATO_SEED` repeats one sequence of moments.

use super::tests::{batch, new_run};
use super::*;
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DIR: &str = "FUGATO_STORE_CHILD_DIR";
const RUNS: [&str; 3] = ["run_a", "run_b", "run_c"];

fn start_child(name: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            &format!("store::crash_tests::{name}"),
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(DIR, dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Each run in its own thread: events of varying number and size, some naming a blob, reported once acknowledged.
#[test]
#[ignore = "the child of killed_processes_lose_nothing_they_were_promised"]
fn writing_child() {
    let Some(dir) = std::env::var_os(DIR) else { panic!("{DIR} is not set") };
    let store = Store::open(dir.as_ref()).unwrap();
    std::thread::scope(|scope| {
        for run in RUNS {
            scope.spawn(|| write_for_ever(&store, run));
        }
    });
}

fn write_for_ever(store: &Store, run: &str) {
    let lease = store.acquire(run, &Owner::this_process()).unwrap();
    let mut next = store.reader().unwrap().last_seq(run).unwrap() + 1;
    loop {
        let count = 1 + next % 7;
        let mut batch = batch(run, lease.epoch, next, count);
        if next.is_multiple_of(3) {
            let digest = store.put_blob(format!("{run} {next}").repeat(300).as_bytes()).unwrap();
            batch.events[0] = format!("{{\"seq\":{next},\"blob\":\"{digest}\"}}").into_bytes();
        }
        store.append(batch).wait().unwrap();
        next += count;
        println!("acked {run} {}", next - 1);
        std::io::stdout().flush().unwrap();
    }
}

struct Moments(u64);

impl Moments {
    fn next(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_micros(self.0 % 40_000)
    }
}

/// Kills the child some moments after it has begun to write; returns the last acknowledged event of each run.
fn run_and_kill(mut child: Child, moment: Duration) -> HashMap<String, u64> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (begun, when) = std::sync::mpsc::channel();
    let listener = std::thread::spawn(move || {
        let mut acked = HashMap::new();
        // The child dies in the middle of a line at times: what is not whole was not reported.
        for line in lines.map_while(Result::ok) {
            let mut words = line.split_whitespace().skip_while(|word| !word.ends_with("acked")).skip(1);
            if let (Some(run), Some(Ok(seq))) = (words.next(), words.next().map(str::parse)) {
                acked.insert(run.to_owned(), seq);
                let _ = begun.send(());
            }
        }
        acked
    });
    when.recv_timeout(Duration::from_secs(60)).expect("the child never acknowledged anything");
    std::thread::sleep(moment);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(status.code().is_none(), "the child ended by itself: {status}");
    listener.join().unwrap()
}

#[test]
fn killed_processes_lose_nothing_they_were_promised() {
    let kills: u32 = std::env::var("FUGATO_KILLS").map_or(40, |kills| kills.parse().unwrap());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let seed = std::env::var("FUGATO_SEED").map_or((now as u64) | 1, |seed| seed.parse().unwrap());
    println!("FUGATO_SEED={seed}");
    let mut moments = Moments(seed);
    let mut left = kills;
    while left > 0 {
        let kills = left.min(KILLS_OF_ONE_STORE);
        kill_one_store(kills, &mut moments);
        left -= kills;
    }
}

/// A store is read whole after each kill; with thousands of kills of one store that would be most of the work.
const KILLS_OF_ONE_STORE: u32 = 100;

fn kill_one_store(kills: u32, moments: &mut Moments) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    RUNS.into_iter().for_each(|run| store.create_run(new_run(run)).unwrap());
    drop(store);
    let mut checked = HashMap::new();
    for kill in 1..=kills {
        let child = start_child("writing_child", dir.path()).stderr(Stdio::null()).spawn().unwrap();
        let acked = run_and_kill(child, moments.next());
        // Looking comes first: a reader must cope with what a dead writer left.
        let reader = Reader::open(dir.path()).unwrap().unwrap();
        for run in RUNS {
            let row = reader.run(run).unwrap();
            let last = acked.get(run).copied().unwrap_or(0);
            assert!(row.last_seq >= last, "kill {kill}: {run} lost {last}, ends at {}", row.last_seq);
            assert_eq!(row.effective_status(), RunStatus::Interrupted, "kill {kill}");
            verify_events(&reader, run, checked.get(run).copied().unwrap_or(1), row.last_seq);
            checked.insert(run, row.last_seq);
        }
        let whole: String =
            reader.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(whole, "ok", "kill {kill}");
    }
    assert!(checked.values().all(|last| *last > 1), "nothing was written: {checked:?}");
}

pub(super) fn verify_events(reader: &Reader, run: &str, from: u64, last: u64) {
    let mut expected = from;
    for event in reader.events(run, from, u64::MAX).unwrap() {
        let (seq, event) = event.unwrap();
        assert_eq!(seq, expected);
        if seq > 1 {
            let value: serde_json::Value = serde_json::from_slice(&event).unwrap();
            assert_eq!(value["seq"], seq);
        }
        for digest in blobs::mentioned(&event) {
            reader.blob(&digest).unwrap();
        }
        expected += 1;
    }
    assert_eq!(expected, last + 1);
}

#[test]
#[ignore = "the child of a_directory_that_cannot_be_written_can_still_be_read"]
fn reading_child() {
    let dir = std::env::var_os(DIR).unwrap();
    let begun = Instant::now();
    let refused = Store::open(dir.as_ref()).unwrap_err();
    println!("\ncode {} path {}", refused.code(), refused.words().en.contains(&*dir.to_string_lossy()));
    let reader = Reader::open(dir.as_ref()).unwrap().unwrap();
    println!("status {}", reader.run("run_a").unwrap().effective_status());
    println!("events {}", reader.events("run_a", 1, 99).unwrap().count());
    assert!(begun.elapsed() < Duration::from_secs(30));
}

/// As somebody whom permissions bind: the superuser starts the child as `nobody`.
fn read_only_view(dir: &Path) -> String {
    let mut command = start_child("reading_child", dir);
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn a_directory_that_cannot_be_written_can_still_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("state 状态%");
    std::fs::create_dir(&dir).unwrap();
    let store = Store::open(&dir).unwrap();
    store.create_run(new_run("run_a")).unwrap();
    let lock_up = |mode| {
        std::fs::set_permissions(outer.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for file in std::fs::read_dir(&dir).unwrap() {
            std::fs::set_permissions(file.unwrap().path(), std::fs::Permissions::from_mode(0o444)).unwrap();
        }
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let expected = ["code F0701 path true", "status interrupted", "events 1"];
    let lines_of = |text: String| {
        let known = |line: &&str| ["code", "status", "events"].iter().any(|word| line.starts_with(word));
        text.lines().filter(known).map(str::to_owned).collect::<Vec<_>>()
    };
    // With the writer's log still beside it, as after a crash …
    lock_up(0o555);
    assert_eq!(lines_of(read_only_view(&dir)), expected);
    // … with the log but without its index …
    lock_up(0o755);
    let index = dir.join("fugato.db-shm");
    std::fs::rename(&index, outer.path().join("aside")).unwrap();
    lock_up(0o555);
    assert_eq!(lines_of(read_only_view(&dir)), expected);
    // … and after a clean end, when neither is there.
    lock_up(0o755);
    std::fs::rename(outer.path().join("aside"), &index).unwrap();
    for file in std::fs::read_dir(&dir).unwrap() {
        std::fs::set_permissions(file.unwrap().path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    drop(store);
    assert!(!index.exists());
    lock_up(0o555);
    assert_eq!(lines_of(read_only_view(&dir)), expected);
    lock_up(0o755);
}

#[test]
#[ignore = "the child of a_disk_that_is_really_full_pauses_and_resumes"]
fn filling_child() {
    let dir = std::path::PathBuf::from(std::env::var_os(DIR).unwrap());
    let ballast = dir.join("ballast");
    std::fs::write(&ballast, vec![1; 2 * 1024 * 1024]).unwrap();
    let store = Store::open(&dir.join("state")).unwrap();
    store.create_run(new_run("run_a")).unwrap();
    let lease = store.acquire("run_a", &Owner::this_process()).unwrap();
    let next = || store.reader().unwrap().last_seq("run_a").unwrap() + 1;
    let large = |seq| Batch { events: vec![vec![b'7'; 50_000]], ..batch("run_a", lease.epoch, seq, 1) };
    let mut acked = 1;
    let refused = loop {
        match store.append(large(acked + 1)).wait() {
            Ok(()) => acked += 1,
            Err(error) => break error,
        }
        assert!(acked < 1_000, "the disk never filled");
    };
    assert!(matches!(refused, StoreError::DiskFull { .. }), "{refused:?}");
    assert_eq!(next(), acked + 1, "nothing unacknowledged is there, nothing acknowledged is missing");
    assert!(
        store.put_blob(&vec![9; 3_000_000]).is_err_and(|error| matches!(error, StoreError::DiskFull { .. }))
    );

    let paused = RunSummary { status: RunStatus::Paused, title: None, updated_at: 1, details: None };
    let last = Batch { summary: Some(paused), ..batch("run_a", lease.epoch, acked + 1, 1) };
    store.append_final(last).wait().unwrap();
    acked += 1;
    assert_eq!(store.reader().unwrap().run("run_a").unwrap().status, RunStatus::Paused);
    lease.renew().unwrap();

    let mut refusals = 0;
    while store.append(large(acked + 1)).wait().map(|()| acked += 1).is_err() {
        refusals += 1;
        if refusals == 3 {
            std::fs::remove_file(&ballast).unwrap();
        }
        assert!(refusals < 5, "space returned, work did not");
    }
    store.append(large(acked + 1)).wait().unwrap();
    assert_eq!(next(), acked + 2);
    let reader = store.reader().unwrap();
    assert_eq!(reader.events("run_a", 1, u64::MAX).unwrap().filter(Result::is_ok).count() as u64, acked + 1);
    reader.check().unwrap();
    println!("\nfilled after {acked}, {refusals} refused");
}

/// On a file system of six megabytes, where this process may mount one.
#[test]
fn a_disk_that_is_really_full_pauses_and_resumes() {
    const NO_MOUNT: i32 = 77;
    let dir = tempfile::tempdir().unwrap();
    let child = start_child("filling_child", dir.path());
    let script = "mount -t tmpfs -o size=6m tmpfs \"$0\" 2>/dev/null || exit 77; exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script])
        .arg(dir.path())
        .arg(child.get_program())
        .args(child.get_args());
    command.env(DIR, dir.path());
    let Ok(output) = command.output() else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(NO_MOUNT) || said.contains("unshare") {
        println!("not tried: {said}");
        return;
    }
    assert!(output.status.success(), "{}{said}", String::from_utf8_lossy(&output.stdout));
}
