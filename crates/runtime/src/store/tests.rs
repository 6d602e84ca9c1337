//! The promises of the store, one test each.

use super::faults::Step;
use super::*;
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;

pub(super) fn new_run(id: &str) -> NewRun {
    NewRun {
        id: id.to_owned(),
        status: RunStatus::Running,
        skill: Some("demo".to_owned()),
        title: None,
        created_at: 1_000,
        parent: None,
        events: vec![b"{\"kind\":\"run.created\"}".to_vec()],
    }
}

pub(super) fn batch(run: &str, epoch: u64, first_seq: u64, count: u64) -> Batch {
    let events =
        (first_seq..first_seq + count).map(|seq| format!("{{\"seq\":{seq}}}").into_bytes()).collect();
    Batch { run: run.to_owned(), epoch, first_seq, events, summary: None, answers: Vec::new() }
}

fn seqs(reader: &Reader, run: &str, from: u64, limit: u64) -> Vec<u64> {
    reader.events(run, from, limit).unwrap().map(|event| event.unwrap().0).collect()
}

struct Fixture {
    dir: tempfile::TempDir,
    store: Store,
    lease: Lease,
}

fn one_run(faults: Faults) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_with(dir.path(), faults).unwrap();
    store.create_run(new_run("run_a")).unwrap();
    let lease = store.acquire("run_a", &Owner::this_process()).unwrap();
    Fixture { dir, store, lease }
}

#[test]
fn events_come_back_in_order_from_any_number() {
    let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
    store.append(batch("run_a", lease.epoch, 2, 100)).wait().unwrap();
    store.append(batch("run_a", lease.epoch, 102, 1)).wait().unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(reader.last_seq("run_a").unwrap(), 102);
    for from in [0, 1, 2, 50, 101, 102] {
        assert_eq!(seqs(&reader, "run_a", from, u64::MAX), (from.max(1)..=102).collect::<Vec<_>>());
    }
    assert!(seqs(&reader, "run_a", 103, 10).is_empty());
    assert!(seqs(&reader, "run_a", u64::MAX, 10).is_empty());
    assert_eq!(seqs(&reader, "run_a", 100, 2), [100, 101]);
    let mut seen = Vec::new();
    let next = reader.events("run_a", 60, 5).unwrap().visit(|seq, event| {
        seen.push((seq, String::from_utf8(event.to_vec()).unwrap()));
        if seq == 61 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(next, Ok(62));
    assert_eq!(seen, [(60, "{\"seq\":60}".to_owned()), (61, "{\"seq\":61}".to_owned())]);
}

#[test]
fn a_run_can_be_owned_from_its_first_moment() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_owned_run(new_run("run_a"), &Owner::this_process()).unwrap();
    store.append(batch("run_a", lease.epoch, 2, 3)).wait().unwrap();
    assert!(matches!(
        store.create_owned_run(new_run("run_a"), &Owner::this_process()),
        Err(StoreError::RunExists { .. })
    ));
    assert!(matches!(store.acquire("run_a", &Owner::this_process()), Err(StoreError::Held { .. })));
    assert_eq!(store.reader().unwrap().lease("run_a").unwrap().unwrap().epoch, lease.epoch);
    drop(lease);
    store.acquire("run_a", &Owner::this_process()).unwrap();
}

#[test]
fn what_is_written_under_a_run_that_never_came_to_exist_is_not_written_into_another_of_that_name() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let first = store.create_owned_run(new_run("run_a"), &Owner::this_process()).unwrap();
    // As yet both have the same epoch, and the next event would be number two in both.
    let (second, receipt) =
        store.begin_owned_run(new_run("run_a"), &Owner::this_process(), None, Hurry::WithTheNext);
    assert_eq!(second.epoch, first.epoch);
    let append = second.append(batch("run_a", second.epoch, 2, 1));
    assert!(matches!(receipt.wait(), Err(StoreError::RunExists { .. })));
    assert_eq!(append.wait(), Err(StoreError::UnknownRun { id: "run_a".to_owned() }));
    let late = second.append(batch("run_a", second.epoch, 2, 1));
    assert_eq!(late.wait(), Err(StoreError::UnknownRun { id: "run_a".to_owned() }));
    assert!(second.renew().is_err());
    drop(second);
    assert_eq!(store.reader().unwrap().lease("run_a").unwrap().unwrap().epoch, first.epoch, "still held");
    store.append(batch("run_a", first.epoch, 2, 1)).wait().unwrap();

    let (third, receipt) =
        store.begin_owned_run(new_run("run_b"), &Owner::this_process(), None, Hurry::WithTheNext);
    let append = third.append(batch("run_b", third.epoch, 2, 1));
    append.wait().unwrap();
    receipt.wait().unwrap();
    assert_eq!(seqs(&store.reader().unwrap(), "run_b", 1, 99), [1, 2]);
    third.renew().unwrap();
    third.release().unwrap();
}

#[test]
fn a_log_has_no_gaps_and_no_doubles() {
    let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
    for wrong in [0, 1, 3, u64::MAX] {
        let mut batch = batch("run_a", lease.epoch, 2, 1);
        batch.first_seq = wrong;
        assert_eq!(store.append(batch).wait(), Err(StoreError::Conflict { expected_seq: 2 }));
    }
    store.append(batch("run_a", lease.epoch, 2, 3)).wait().unwrap();
    assert_eq!(seqs(&store.reader().unwrap(), "run_a", 1, 99), [1, 2, 3, 4]);
}

#[test]
fn one_refused_batch_does_not_harm_those_committed_with_it() {
    let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
    let mut next = 2;
    let receipts: Vec<_> = (0..200)
        .map(|n| {
            if n % 3 == 0 {
                return store.append(batch("run_a", 99, next, 1));
            }
            next += 1;
            store.append(batch("run_a", lease.epoch, next - 1, 1))
        })
        .collect();
    let results: Vec<_> = receipts.into_iter().map(Receipt::wait).collect();
    let fenced = results.iter().filter(|result| matches!(result, Err(StoreError::Fenced { .. }))).count();
    assert_eq!(fenced, 67);
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 133);
    assert_eq!(seqs(&store.reader().unwrap(), "run_a", 1, 999), (1..=134).collect::<Vec<_>>());
}

#[test]
fn a_summary_changes_with_its_events() {
    let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
    let summary = RunSummary {
        status: RunStatus::Complete,
        title: Some("A fugue".to_owned()),
        updated_at: 5_000,
        details: Some("{\"cost\":1}".to_owned()),
    };
    let with = Batch { summary: Some(summary.clone()), ..batch("run_a", lease.epoch, 2, 1) };
    let refused = Batch {
        summary: Some(RunSummary { status: RunStatus::Failed, ..summary }),
        ..batch("run_a", lease.epoch, 9, 1)
    };
    store.append(with).wait().unwrap();
    store.append(refused).wait().unwrap_err();
    let run = store.reader().unwrap().run("run_a").unwrap();
    assert_eq!(
        (run.status, run.title.as_deref(), run.updated_at),
        (RunStatus::Complete, Some("A fugue"), 5_000)
    );
    assert_eq!((run.details.as_deref(), run.last_seq), (Some("{\"cost\":1}"), 2));
}

#[test]
fn a_run_is_held_by_one_and_an_old_epoch_is_refused() {
    let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
    let StoreError::Held { by } = store.acquire("run_a", &Owner::this_process()).unwrap_err() else {
        panic!()
    };
    assert_eq!(by.owner.pid, std::process::id());
    let old = lease.epoch;
    lease.release().unwrap();
    assert!(matches!(store.append(batch("run_a", old, 2, 1)).wait(), Err(StoreError::Fenced { .. })));
    let lease = store.acquire("run_a", &Owner::this_process()).unwrap();
    assert_eq!(lease.epoch, old + 1);
    assert!(matches!(
        store.append(batch("run_a", old, 2, 1)).wait(),
        Err(StoreError::Fenced { current: 2, .. })
    ));
    store.append(batch("run_a", lease.epoch, 2, 1)).wait().unwrap();
    lease.renew().unwrap();
}

#[test]
fn of_many_who_want_a_run_exactly_one_gets_it() {
    let dir = tempfile::tempdir().unwrap();
    let stores: Vec<_> = std::thread::scope(|scope| {
        let opened: Vec<_> = (0..8).map(|_| scope.spawn(|| Store::open(dir.path()).unwrap())).collect();
        opened.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    stores[0].create_run(new_run("run_a")).unwrap();
    // Left behind by a process of the boot before: everybody may take it over.
    let gone = Owner { boot: "earlier".to_owned(), ..Owner::this_process() };
    std::mem::forget(stores[0].acquire("run_a", &gone).unwrap());
    let won: Vec<Lease> = std::thread::scope(|scope| {
        let tries: Vec<_> = stores
            .iter()
            .map(|store| scope.spawn(|| store.acquire("run_a", &Owner::this_process())))
            .collect();
        tries.into_iter().filter_map(|thread| thread.join().unwrap().ok()).collect()
    });
    assert_eq!(won.len(), 1);
    won[0].renew().unwrap();
    drop(won);
    assert!(stores[7].acquire("run_a", &Owner::this_process()).is_ok(), "free again");
}

#[test]
fn owners_that_are_gone_leave_interrupted_runs_that_can_be_taken_over() {
    let me = Owner::this_process();
    let other_boot = Owner { boot: "earlier".to_owned(), ..me.clone() };
    let reused_pid = Owner { started: me.started + 1, ..me.clone() };
    let dead_pid = Owner { pid: u32::MAX / 4, ..me.clone() };
    for gone in [other_boot, reused_pid, dead_pid] {
        let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
        lease.release().unwrap();
        let stale = store.acquire("run_a", &gone).unwrap();
        let run = store.reader().unwrap().run("run_a").unwrap();
        assert_eq!(
            (run.status.clone(), run.effective_status()),
            (RunStatus::Running, RunStatus::Interrupted)
        );
        let taken = store.acquire("run_a", &me).unwrap();
        assert!(matches!(stale.renew(), Err(StoreError::Fenced { .. })), "the woken one learns it");
        let run = store.reader().unwrap().run("run_a").unwrap();
        assert_eq!(run.effective_status(), RunStatus::Running);
        assert_eq!(store.reader().unwrap().lease("run_a").unwrap().unwrap().epoch, taken.epoch);
    }
}

#[test]
fn an_owner_out_of_sight_counts_as_alive_while_it_gives_signs() {
    let me = Owner::this_process();
    let far = Owner { boot: "other".to_owned(), host: "elsewhere".to_owned(), ..me.clone() };
    let contained = Owner { namespace: "pid:[1]".to_owned(), ..me };
    for owner in [far, contained] {
        let now = lease::now();
        let row = |renewed_at| LeaseRow {
            run: "run_a".to_owned(),
            epoch: 1,
            owner: owner.clone(),
            acquired_at: 0,
            renewed_at,
        };
        assert!(row(now - 5_000).is_alive());
        assert!(!row(now - 40_000).is_alive());
        assert!(row(now + 86_400_000).is_alive(), "our clock went back a day");
    }
}

#[test]
fn a_run_that_ended_stays_ended_without_an_owner() {
    let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
    let done = RunSummary { status: RunStatus::Aborted, title: None, updated_at: 1, details: None };
    store.append(Batch { summary: Some(done), ..batch("run_a", lease.epoch, 2, 1) }).wait().unwrap();
    drop(lease);
    let run = store.reader().unwrap().run("run_a").unwrap();
    assert_eq!(run.effective_status(), RunStatus::Aborted);
}

#[test]
fn runs_are_found_by_unique_prefix_and_listed_newest_first() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Reader::open(dir.path()).unwrap().is_none(), "no store yet");
    let store = Store::open(dir.path()).unwrap();
    for (n, id) in ["run_alpha", "run_alps", "run_beta"].into_iter().enumerate() {
        store.create_run(NewRun { created_at: -(n as i64), ..new_run(id) }).unwrap();
    }
    let reader = Reader::open(dir.path()).unwrap().unwrap();
    let ids: Vec<_> = reader.runs(&RunFilter::default()).unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(ids, ["run_beta", "run_alps", "run_alpha"], "by order of making, whatever the clock said");
    assert_eq!(reader.run("run_b").unwrap().id, "run_beta");
    assert_eq!(reader.run("alph").unwrap().id, "run_alpha");
    assert_eq!(
        reader.run("run_al"),
        Err(Lookup::Ambiguous(vec!["run_alps".to_owned(), "run_alpha".to_owned()]))
    );
    assert_eq!(reader.run("run_betta"), Err(Lookup::Unknown { nearest: Some("run_beta".to_owned()) }));
    assert!(matches!(reader.run(""), Err(Lookup::Unknown { .. })));
    assert!(matches!(reader.run("%'\"\0"), Err(Lookup::Unknown { nearest: None })));
    assert!(reader.active().unwrap().is_none());
    store.set_active(Some("run_alps")).unwrap();
    assert_eq!(reader.active().unwrap().unwrap().id, "run_alps");
    assert!(matches!(store.set_active(Some("nothing")), Err(StoreError::UnknownRun { .. })));
    store.set_active(None).unwrap();
    assert!(reader.active().unwrap().is_none());
}

#[test]
fn ids_that_could_be_paths_are_refused_and_taken_ones_too() {
    let Fixture { dir: _dir, store, lease: _lease } = one_run(Faults::none());
    for id in ["", ".", "..", "a/b", "run\n", "运行", &"x".repeat(129)] {
        assert!(matches!(store.create_run(new_run(id)), Err(StoreError::InvalidId { .. })), "{id:?}");
    }
    assert_eq!(store.create_run(new_run("run_a")), Err(StoreError::RunExists { id: "run_a".to_owned() }));
    assert_eq!(
        store.append(batch("run_b", 1, 1, 1)).wait(),
        Err(StoreError::UnknownRun { id: "run_b".to_owned() })
    );
}

#[test]
fn files_are_for_their_owner_alone() {
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("state").join("project");
    let store = Store::open(&dir).unwrap();
    store.put_blob(b"x").unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&dir.join("blobs"))), (0o700, 0o700));
    for file in ["fugato.db", "fugato.db-wal", "fugato.db-shm", "fugato.lock", "fugato.reserve"] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_full_disk_acknowledges_nothing_and_leaves_room_for_the_last_word() {
    let full = Faults::once(Step::Commit, 3, Errno::NOSPC);
    let Fixture { dir, store, lease } = one_run(full.clone());
    let reserve = dir.path().join("fugato.reserve");
    assert_eq!(std::fs::metadata(&reserve).unwrap().len(), 1024 * 1024);
    assert!(matches!(
        store.append(batch("run_a", lease.epoch, 2, 1)).wait(),
        Err(StoreError::DiskFull { .. })
    ));
    assert!(full.is_struck());
    assert_eq!(store.reader().unwrap().last_seq("run_a").unwrap(), 1);

    let full = Faults::once(Step::Commit, 3, Errno::NOSPC);
    let Fixture { dir, store, lease } = one_run(full);
    let reserve = dir.path().join("fugato.reserve");
    store.append_final(batch("run_a", lease.epoch, 2, 1)).wait().unwrap();
    assert!(!reserve.exists(), "the reserve paid for it");
    store.append(batch("run_a", lease.epoch, 3, 1)).wait().unwrap();
    assert!(reserve.exists(), "space has returned, so it was taken back first");
}

#[test]
fn ordinary_work_waits_until_the_reserve_can_be_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::from(Step::Reserve, 1, Errno::NOSPC);
    let store = Store::open_with(dir.path(), faults.clone()).unwrap();
    assert!(matches!(store.create_run(new_run("run_a")), Err(StoreError::DiskFull { .. })));
    faults.lift();
    store.create_run(new_run("run_a")).unwrap();
    assert!(dir.path().join("fugato.reserve").exists());
}

#[test]
fn sqlite_without_room_is_a_full_disk() {
    let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
    let limit = |pages: i64| {
        store
            .change_even_when_full(move |connection, _| {
                let query = format!("PRAGMA max_page_count = {pages}");
                connection.query_row(&query, [], |_| Ok(())).unwrap();
                Ok(())
            })
            .wait()
            .unwrap();
    };
    limit(1); // rounds up to the size it has
    let large = Batch { events: vec![vec![b'1'; 400_000]], ..batch("run_a", lease.epoch, 2, 1) };
    let refused = store.append(large.clone()).wait();
    assert!(matches!(refused, Err(StoreError::DiskFull { .. })), "{refused:?}");
    limit(1 << 30);
    store.append(large).wait().unwrap();
    assert_eq!(store.reader().unwrap().last_seq("run_a").unwrap(), 2);
    store.reader().unwrap().check().unwrap();
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_before_a_verified_reopening() {
    let faults = Faults::once(Step::CommitSync, 3, Errno::IO);
    let Fixture { dir: _dir, store, lease } = one_run(faults);
    let failed = store.append(batch("run_a", lease.epoch, 2, 1)).wait();
    assert!(matches!(failed, Err(StoreError::Io { .. })), "{failed:?}");
    // The disk said no after the fact: the event may be there or not, and the store says which.
    let next = match store.append(batch("run_a", lease.epoch, 2, 1)).wait() {
        Ok(()) => 3,
        Err(StoreError::Conflict { expected_seq }) => expected_seq,
        Err(error) => panic!("{error}"),
    };
    store.append(batch("run_a", lease.epoch, next, 1)).wait().unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(seqs(&reader, "run_a", 1, 99), (1..=next).collect::<Vec<_>>());
}

#[test]
fn a_disk_that_stays_broken_is_an_error_every_time_and_never_a_hang() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store.create_run(new_run("run_a")).unwrap();
    let epoch = {
        let lease = store.acquire("run_a", &Owner::this_process()).unwrap();
        let epoch = lease.epoch;
        std::mem::forget(lease);
        epoch
    };
    drop(store);
    let faults = Faults::dying_at(2); // the first step is the reserve, which is there already
    let store = Store::open_with(dir.path(), faults.clone()).unwrap();
    for _ in 0..3 {
        let _ = store.append(batch("run_a", epoch, 2, 1)).wait();
    }
    assert!(faults.is_struck());
    assert!(matches!(store.append(batch("run_a", epoch, 9, 1)).wait(), Err(StoreError::Io { .. })));
    faults.lift();
    let answer = store.append(batch("run_a", epoch, 99, 1)).wait();
    assert!(matches!(answer, Err(StoreError::Conflict { .. })), "it works again: {answer:?}");
}

/// Whatever step fails once, and however, work goes on as if it had only been asked too early.
#[test]
fn a_history_completes_past_any_single_fault() {
    for error in [Errno::NOSPC, Errno::IO] {
        for step in 1.. {
            let dir = tempfile::tempdir().unwrap();
            let faults = Faults::once_at(step, error);
            let Ok(store) = Store::open_with(dir.path(), faults.clone()) else { continue };
            for attempt in 0..3 {
                match store.create_run(new_run("run_a")) {
                    Ok(()) | Err(StoreError::RunExists { .. }) => break,
                    Err(failed) => assert!(attempt < 2, "step {step}, {error}: {failed}"),
                }
            }
            let mine = || store.acquire("run_a", &Owner::this_process());
            // Once more: the first may have failed before the fact or after it.
            let lease = mine().or_else(|_| mine()).unwrap();
            let mut next: u64 = 2;
            while next < 11 {
                let _ = store
                    .put_blob(&next.to_be_bytes())
                    .or_else(|_| store.put_blob(&next.to_be_bytes()))
                    .unwrap();
                match store.append(batch("run_a", lease.epoch, next, 3)).wait() {
                    Ok(()) => next += 3,
                    Err(StoreError::Conflict { expected_seq }) => next = expected_seq,
                    Err(failed) => assert!(faults.is_struck(), "step {step}, {error}: {failed}"),
                }
            }
            let reader = store.reader().unwrap();
            assert_eq!(seqs(&reader, "run_a", 1, 99), (1..=10).collect::<Vec<_>>(), "step {step}, {error}");
            reader.check().unwrap();
            if !faults.is_struck() {
                assert!(step > 20, "the sweep ended after {step} steps");
                break;
            }
        }
    }
}

/// Every step of a small history fails once; afterwards exactly what was acknowledged, or one transaction more, is there.
#[test]
fn dying_at_any_step_loses_nothing_that_was_acknowledged() {
    for step in 1.. {
        let dir = tempfile::tempdir().unwrap();
        let faults = Faults::dying_at(step);
        let acked = history(dir.path(), faults.clone());
        let store = Store::open(dir.path()).unwrap();
        let reader = store.reader().unwrap();
        let last = reader.last_seq("run_a").unwrap();
        assert!(acked <= last && last <= acked + 3, "step {step}: {acked} acknowledged, {last} there");
        assert_eq!(seqs(&reader, "run_a", 1, 99), (1..=last).collect::<Vec<_>>());
        for event in reader.events("run_a", 1, 99).unwrap() {
            for digest in blobs::mentioned(&event.unwrap().1) {
                reader.blob(&digest).unwrap();
            }
        }
        reader.check().unwrap();
        if !faults.is_struck() {
            assert!(step > 20, "the sweep ended after {step} steps");
            break;
        }
    }
}

/// Returns the last acknowledged event.
fn history(dir: &Path, faults: Faults) -> u64 {
    let Ok(store) = Store::open_with(dir, faults) else { return 0 };
    if store.create_run(new_run("run_a")).is_err() {
        return 0;
    }
    let mut acked = 1;
    let Ok(lease) = store.acquire("run_a", &Owner::this_process()) else { return acked };
    for round in 0..3u8 {
        let Ok(digest) = store.put_blob(&[round; 5_000]) else { return acked };
        let mut batch = batch("run_a", lease.epoch, acked + 1, 3);
        batch.events[1] = format!("{{\"blob\":\"{digest}\"}}").into_bytes();
        if store.append(batch).wait().is_err() {
            return acked;
        }
        acked += 3;
    }
    acked
}

#[test]
fn secrets_reach_neither_log_nor_blobs_nor_titles() {
    let Fixture { dir, store, lease } = one_run(Faults::none());
    store.set_redactor(Redactor::new([("A_KEY", "sk-canary-0123456789")], ["二号秘密\"引号\"".to_owned()]));
    let leak = serde_json::json!({ "text": "sk-canary-0123456789 / 二号秘密\"引号\"" }).to_string();
    let summary = RunSummary {
        status: RunStatus::Running,
        title: Some("use sk-canary-0123456789".to_owned()),
        updated_at: 0,
        details: Some(leak.clone()),
    };
    let digest = store.put_blob("the key is sk-canary-0123456789".as_bytes()).unwrap();
    let batch = Batch {
        events: vec![leak.into_bytes()],
        summary: Some(summary),
        ..batch("run_a", lease.epoch, 2, 1)
    };
    store.append(batch).wait().unwrap();
    store.create_run(NewRun { title: Some("sk-canary-0123456789".to_owned()), ..new_run("run_b") }).unwrap();
    assert_eq!(store.reader().unwrap().blob(&digest).unwrap(), b"the key is <redacted>");
    drop((store, lease));
    let mut files = vec![dir.path().to_owned()];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for canary in ["sk-canary", "二号秘密"] {
            assert!(
                memchr::memmem::find(&bytes, canary.as_bytes()).is_none(),
                "{canary} in {}",
                path.display()
            );
        }
    }
}

#[test]
fn pruning_spares_live_active_and_young_runs() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let ended = |id: &str, created_at| NewRun { status: RunStatus::Complete, created_at, ..new_run(id) };
    store.create_run(ended("run_parent", 1)).unwrap();
    store
        .create_run(NewRun { parent: Some("run_parent".to_owned()), created_at: 1, ..new_run("run_live") })
        .unwrap();
    let _lease = store.acquire("run_live", &Owner::this_process()).unwrap();
    store.create_run(ended("run_active", 1)).unwrap();
    store.set_active(Some("run_active")).unwrap();
    store.create_run(ended("run_old", 1)).unwrap();
    store.create_run(NewRun { created_at: 1, ..new_run("run_lost") }).unwrap();
    store.create_run(ended("run_young", 1_000_000)).unwrap();
    store.create_run(NewRun { created_at: 1_000_000, ..new_run("run_lost_lately") }).unwrap();
    std::fs::create_dir_all(dir.path().join("runs/run_old")).unwrap();

    let pruned = store.prune(Some(500_000), None).unwrap();
    assert_eq!(pruned.runs, ["run_old", "run_lost"]);
    assert!(!dir.path().join("runs/run_old").exists(), "exports go with their run");
    assert!(matches!(store.remove_run("run_live"), Err(StoreError::Held { .. })));

    let pruned = store.prune(None, Some(0)).unwrap();
    assert_eq!(pruned.runs, ["run_young"], "size alone removes nothing that could be resumed");
    let reader = store.reader().unwrap();
    assert_eq!(reader.runs(&RunFilter::default()).unwrap().len(), 4);
    reader.check().unwrap();
}

#[test]
fn a_removed_run_gives_its_space_back_and_its_number_is_not_used_again() {
    let Fixture { dir, store, lease } = one_run(Faults::none());
    let large = Batch { events: vec![vec![b'1'; 300_000]; 20], ..batch("run_a", lease.epoch, 2, 1) };
    store.append(large).wait().unwrap();
    lease.release().unwrap();
    store.remove_run("run_a").unwrap();
    store.create_run(new_run("run_b")).unwrap();
    assert_eq!(seqs(&store.reader().unwrap(), "run_b", 1, 99), [1]);
    drop(store);
    let size = std::fs::metadata(dir.path().join("fugato.db")).unwrap().len();
    assert!(size < 200_000, "{size} bytes are left");
}

#[test]
fn a_run_travels_in_one_file_with_its_blobs() {
    let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
    let digest = store.put_blob(&[0, 159, 146, 150]).unwrap();
    let event = format!("{{\"blob\":\"{digest}\",\"n\":1.50}}").into_bytes();
    store.append(Batch { events: vec![event.clone()], ..batch("run_a", lease.epoch, 2, 1) }).wait().unwrap();
    let mut file = Vec::new();
    export_run(&store.reader().unwrap(), "run_a", &mut file).unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    let other = Store::open(elsewhere.path()).unwrap();
    let imported = import_run(&other, &mut file.as_slice()).unwrap();
    assert_eq!(imported, Imported { id: "run_a".to_owned(), events: 2, blobs: 1 });
    let reader = other.reader().unwrap();
    let events: Vec<_> = reader.events("run_a", 1, 9).unwrap().map(|event| event.unwrap().1).collect();
    assert_eq!(events[1], event, "byte for byte");
    assert_eq!(reader.blob(&digest).unwrap(), [0, 159, 146, 150]);
    assert_eq!(reader.run("run_a").unwrap().skill.as_deref(), Some("demo"));
    assert!(matches!(import_run(&other, &mut file.as_slice()), Err(StoreError::RunExists { .. })));
}

#[test]
fn a_broken_archive_brings_nothing() {
    let Fixture { dir: _dir, store, lease: _lease } = one_run(Faults::none());
    let mut file = Vec::new();
    export_run(&store.reader().unwrap(), "run_a", &mut file).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Store::open(elsewhere.path()).unwrap();
    for cut in 0..file.len() {
        let answer = import_run(&other, &mut &file[..cut]);
        assert!(matches!(answer, Err(StoreError::Archive { .. })), "{cut}: {answer:?}");
    }
    let text = String::from_utf8(file).unwrap();
    for wrong in [
        text.replace("run_a", "../a"),
        text.replace("archive/v1", "archive/v9"),
        text.lines().rev().map(|line| format!("{line}\n")).collect(),
        "null\n".to_owned(),
    ] {
        assert!(
            matches!(import_run(&other, &mut wrong.as_bytes()), Err(StoreError::Archive { .. })),
            "{wrong}"
        );
    }
    assert!(other.reader().unwrap().runs(&RunFilter::default()).unwrap().is_empty());
}

#[test]
fn a_store_of_a_newer_program_or_no_store_at_all_is_refused_and_left_alone() {
    let Fixture { dir, store, lease } = one_run(Faults::none());
    drop((store, lease));
    let database = dir.path().join("fugato.db");
    let connection = Connection::open(&database).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let expected = StoreError::Newer { path: database.clone(), found: 99, supported: schema::current() };
    assert_eq!(Store::open(dir.path()).unwrap_err(), expected);
    assert_eq!(Reader::open(dir.path()).unwrap_err(), expected);

    for foreign in ["not a database at all, but long enough to have a header.".repeat(20), "x".to_owned()] {
        std::fs::write(&database, &foreign).unwrap();
        assert!(matches!(Store::open(dir.path()), Err(StoreError::Damaged { .. })));
        assert!(matches!(Reader::open(dir.path()), Err(StoreError::Damaged { .. })));
        assert_eq!(std::fs::read_to_string(&database).unwrap(), foreign);
    }
}

#[test]
fn a_foreign_database_is_not_taken_for_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("fugato.db")).unwrap();
    connection.execute_batch("PRAGMA application_id = 7; CREATE TABLE t (a)").unwrap();
    assert!(matches!(Store::open(dir.path()), Err(StoreError::Damaged { .. })));
}

#[test]
fn a_migration_keeps_a_backup_and_one_that_fails_changes_nothing() {
    let Fixture { dir, store, lease } = one_run(Faults::none());
    let place = Place::new(dir.path());
    let turn = place.prepare().unwrap();
    let next = |step| [schema::MIGRATIONS, &[step]].concat();
    let better = next("ALTER TABLE runs ADD COLUMN mood TEXT");
    let busy = schema::open_to_write(&place, &turn, &better).unwrap_err();
    assert_eq!(busy, StoreError::Busy { path: place.database.clone() }, "while an older program has it open");
    turn.unlock().unwrap();
    drop((store, lease));

    let broken = next("ALTER TABLE runs ADD COLUMN mood TEXT; UPDATE runs SET mood = nothing()");
    schema::open_to_write(&place, &turn, &broken).unwrap_err();
    turn.unlock().unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.reader().unwrap().last_seq("run_a").unwrap(), 1, "still the old schema, still whole");
    drop(store);

    let connection = schema::open_to_write(&place, &turn, &better).unwrap();
    assert_eq!(schema::identity(&connection).unwrap().0, schema::current() + 1);
    connection.execute("UPDATE runs SET mood = 'fine'", []).unwrap();
    let backup = Connection::open(place.backup(schema::current())).unwrap();
    assert_eq!(schema::identity(&backup).unwrap().0, schema::current());
    let runs: i64 = backup.query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap();
    assert_eq!(runs, 1);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let error = Store::open(&file.join("state")).unwrap_err();
    assert!(error.words().en.contains("file/state") && error.words().zh.contains("file/state"), "{error:?}");
    assert_eq!(error.code(), fugato_model::Code::F0701);
    assert!(Reader::open(&file.join("state")).is_err_and(|error| error.code() == fugato_model::Code::F0701));
}

#[test]
fn a_store_that_was_deleted_beneath_us_acknowledges_nothing() {
    let Fixture { dir, store, lease } = one_run(Faults::none());
    std::fs::remove_file(dir.path().join("fugato.db")).unwrap();
    let answer = store.append(batch("run_a", lease.epoch, 2, 1)).wait();
    assert!(matches!(answer, Err(StoreError::Damaged { .. })), "{answer:?}");
    let answer = store.append(batch("run_a", lease.epoch, 2, 1)).wait();
    assert!(answer.is_err(), "nor is an empty one made in its place");
    assert!(!dir.path().join("fugato.db").exists());
}

#[test]
fn many_stores_of_one_directory_work_in_one_process() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 6;
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let dir = dir.path();
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let store = Store::open(dir).unwrap();
                    let id = format!("run_{thread}_{round}");
                    let lease = store.create_owned_run(new_run(&id), &Owner::this_process()).unwrap();
                    store.append(batch(&id, lease.epoch, 2, 1)).wait().unwrap();
                    assert_eq!(seqs(&store.reader().unwrap(), &id, 1, 99), [1, 2]);
                }
            });
        }
    });
    let reader = Reader::open(dir.path()).unwrap().unwrap();
    reader.check().unwrap();
    assert_eq!(reader.runs(&RunFilter::default()).unwrap().len() as u64, THREADS * ROUNDS);
    let mut left = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.all(|name| !name.to_string_lossy().starts_with(".fugato")), "a staged file was left");
}

/// Locks of a file belong to the whole process, and to close any descriptor of it drops them all: another process would
/// take the store for one that nobody has open.
#[test]
#[cfg(target_os = "linux")]
fn a_second_store_in_a_process_leaves_the_first_one_its_locks() {
    let dir = tempfile::tempdir().unwrap();
    let first = Store::open(dir.path()).unwrap();
    first.create_run(new_run("run_a")).unwrap();
    let (_, file) = first.place().identity().unwrap();
    let locks = || {
        let (owner, file) = (format!(" {} ", std::process::id()), format!(":{file} "));
        let all = std::fs::read_to_string("/proc/locks").unwrap();
        all.lines().filter(|lock| lock.contains(&owner) && lock.contains(&file)).count()
    };
    assert_eq!(locks(), 1, "an open database is locked against whoever would take it for unused");
    let second = Store::open(dir.path()).unwrap();
    assert_eq!(locks(), 1, "another store of the same process was opened");
    drop(second);
    assert_eq!(locks(), 1, "and closed");
    drop(first);
    assert_eq!(locks(), 0);
}

#[test]
fn a_reader_sees_commits_while_the_writer_works() {
    let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
    let reader = store.reader().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..300 {
                store.append(batch("run_a", lease.epoch, 2 + n * 4, 4)).wait().unwrap();
            }
        });
        let mut last = 0;
        while !writer.is_finished() {
            let now = reader.last_seq("run_a").unwrap();
            assert!(now >= last);
            assert_eq!(seqs(&reader, "run_a", now, 1), [now], "what the row promises is there");
            last = now;
        }
    });
    assert_eq!(seqs(&reader, "run_a", 1, u64::MAX).len(), 1201);
}

#[test]
fn large_and_empty_batches_pass() {
    let Fixture { dir: _dir, store, lease } = one_run(Faults::none());
    store.append(batch("run_a", lease.epoch, 77, 0)).wait().unwrap();
    let huge = Batch { events: vec![vec![b'7'; 40 * 1024 * 1024]], ..batch("run_a", lease.epoch, 2, 1) };
    store.append(huge).wait().unwrap();
    store.append(batch("run_a", lease.epoch, 3, 20_000)).wait().unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(seqs(&reader, "run_a", 20_001, 9), [20_001, 20_002]);
    assert_eq!(reader.events("run_a", 2, 1).unwrap().next().unwrap().unwrap().1.len(), 40 * 1024 * 1024);
}
