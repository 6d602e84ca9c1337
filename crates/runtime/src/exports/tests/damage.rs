//! Files that were cut, deleted, replaced or written by others: the run is unharmed, and the log gives them back.

use super::*;
use crate::exports::{Exporter, compare, pointed_at, rebuild};
use fugato_engine::{Target, Verb};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

const RUN: &str = "run_torn";
/// As many files as `events` make.
const FILES: usize = 10;

/// Two agents, forty events, messages and directives: every kind of file, several lines each.
fn events() -> Vec<Event> {
    let nodes = vec![node("阶段/一", 0, &[], agent_work()), node("b", 0, &[0], agent_work())];
    let mut kinds = vec![
        created(spec(RUN, &["阶段"], nodes)),
        agent_started("阶段/一", Some(0)),
        agent_started("b", Some(1)),
    ];
    for step in 1..=9 {
        let agent = step % 2;
        kinds.push(EventKind::ModelRequested {
            agent,
            step,
            purpose: Default::default(),
            reserve: Default::default(),
            max_tokens: None,
        });
        kinds.push(EventKind::MessageSent {
            to: agent,
            from: "b".into(),
            text: format!("第{step}条"),
            kind: None,
        });
        let (verb, target) = (if agent == 0 { Verb::Resume } else { Verb::Pause }, Target::All);
        kinds.push(EventKind::DirectiveRecorded { generation: u64::from(step), verb, target, text: None });
        kinds.push(EventKind::DirectiveApplied { generation: u64::from(step), agent });
    }
    log(kinds)
}

fn stored(events: &[Event]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    store_log(&Store::open(dir.path()).unwrap(), events);
    dir
}

fn run_dir(state: &Path) -> std::path::PathBuf {
    state.join("runs").join(RUN)
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (n as u64).max(1)).unwrap()
    }
}

#[test]
fn a_writer_that_takes_over_anywhere_in_the_log_leaves_the_same_files() {
    let events = events();
    for prefix in 1..=events.len() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        store_log(&store, &events[..prefix]);
        export(dir.path(), RUN, Owner::Here);
        append(&store, RUN, &events[prefix..]);
        export(dir.path(), RUN, Owner::Gone);
        assert_eq!(tree(&run_dir(dir.path())), expected(dir.path(), RUN, Owner::Gone), "prefix {prefix}");
    }
}

#[test]
fn files_cut_at_any_byte_are_whole_again_when_the_run_is_taken_over() {
    let dir = stored(&events());
    export(dir.path(), RUN, Owner::Gone);
    let whole = tree(&run_dir(dir.path()));
    assert_eq!(whole.len(), FILES, "{:?}", whole.keys());
    let mut random = Random(0x9E37_79B9);
    for (name, text) in &whole {
        for _ in 0..12 {
            let cut = random.below(text.len());
            fs::write(run_dir(dir.path()).join(name), &text.as_bytes()[..cut]).unwrap();
            export(dir.path(), RUN, Owner::Gone);
            assert_eq!(tree(&run_dir(dir.path())), whole, "{name} cut at {cut}");
        }
    }
}

#[test]
fn rebuilding_restores_whatever_was_done_to_the_files_and_keeps_what_it_finds() {
    let dir = stored(&events());
    assert_eq!(compare(dir.path(), 9).unwrap().behind, [RUN]);
    assert_eq!(rebuild(dir.path()).unwrap().restored, FILES);
    let whole = tree(&run_dir(dir.path()));
    assert_eq!(pointed_at(dir.path()).as_deref(), Some(RUN));
    assert_eq!(compare(dir.path(), 9).unwrap().behind, Vec::<String>::new());
    let mut random = Random(0xDEAD_BEEF);
    for (name, text) in &whole {
        let file = run_dir(dir.path()).join(name);
        let damages: [&dyn Fn(usize); 5] = [
            &|cut| fs::write(&file, &text.as_bytes()[..cut]).unwrap(),
            &|_| fs::remove_file(&file).unwrap(),
            &|_| {
                fs::remove_file(&file).unwrap();
                fs::create_dir(&file).unwrap();
                fs::write(file.join("precious"), "foreign").unwrap();
            },
            &|cut| {
                let mut bytes = text.clone().into_bytes();
                bytes[cut] ^= 1;
                fs::write(&file, bytes).unwrap();
            },
            &|_| {
                fs::remove_file(&file).unwrap();
                std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
            },
        ];
        for (at, damage) in damages.iter().enumerate() {
            damage(random.below(text.len()));
            let rebuilt = rebuild(dir.path()).unwrap();
            assert_eq!(tree(&run_dir(dir.path())), whole, "{name} damage {at}");
            assert_eq!(
                (rebuilt.restored, rebuilt.intact, rebuilt.failed.len()),
                (1, FILES - 1, 0),
                "{name} damage {at}"
            );
        }
        let kept = file.parent().unwrap().join(".quarantine");
        let precious =
            fs::read_dir(&kept).unwrap().any(|entry| entry.unwrap().path().join("precious").exists());
        assert!(precious, "{name}: what stood in the way is kept");
    }
    assert_eq!(rebuild(dir.path()).unwrap().restored, 0);
}

#[test]
fn lines_of_others_survive_a_live_export_and_are_kept_by_a_rebuild() {
    let events = events();
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store_log(&store, &events[..20]);
    export(dir.path(), RUN, Owner::Here);
    let inbox = run_dir(dir.path()).join("agents/b/inbox.jsonl");
    let foreign = "{\"type\":\"redirect\",\"instruction\":\"停\",\"at\":\"2026-01-01T00:00:00Z\"}\n";
    let ours = fs::read_to_string(&inbox).unwrap();
    fs::write(&inbox, format!("{ours}{foreign}")).unwrap();
    append(&store, RUN, &events[20..]);
    export(dir.path(), RUN, Owner::Gone);
    let all = fs::read_to_string(&inbox).unwrap();
    assert!(all.starts_with(&format!("{ours}{foreign}")), "{all}");
    assert_eq!(all.replace(foreign, ""), expected(dir.path(), RUN, Owner::Gone)["agents/b/inbox.jsonl"]);
    rebuild(dir.path()).unwrap();
    let kept = fs::read_to_string(inbox.parent().unwrap().join(".quarantine/inbox.jsonl.1")).unwrap();
    assert_eq!(kept, all);
}

#[test]
fn a_newer_directive_of_another_program_is_not_overwritten() {
    let dir = stored(&events());
    export(dir.path(), RUN, Owner::Here);
    let control = run_dir(dir.path()).join("control.json");
    let foreign = r#"{"action":"cancel","target":"all","message":"","generation":10}"#;
    fs::write(&control, foreign).unwrap();
    export(dir.path(), RUN, Owner::Gone);
    rebuild(dir.path()).unwrap();
    assert_eq!(fs::read_to_string(&control).unwrap(), foreign);
}

/// Exports a stored run as its session would; returns the warnings.
async fn live(state: &Path) -> Vec<String> {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let told = warnings.clone();
    let exporter = Exporter::start(state, RUN, 1, move |words| told.lock().unwrap().push(words.en));
    exporter.committed(&Arc::default());
    exporter.settle().await;
    exporter.settle().await;
    drop(exporter);
    let warnings = warnings.lock().unwrap();
    warnings.clone()
}

#[tokio::test]
async fn what_cannot_be_written_is_told_once_and_set_right_at_the_end_where_possible() {
    let dir = stored(&events());
    let run = run_dir(dir.path());
    fs::create_dir_all(run.join("run.json/foreign")).unwrap();
    fs::create_dir_all(run.join("agents")).unwrap();
    fs::write(run.join("agents/b"), "a file where a directory belongs").unwrap();
    let warnings = live(dir.path()).await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("agents/b") && warnings[0].contains("doctor --rebuild"), "{warnings:?}");
    assert_eq!(tree(&run), expected(dir.path(), RUN, Owner::Gone));
    assert_eq!(
        fs::read_to_string(run.join("agents/.quarantine/b.1")).unwrap(),
        "a file where a directory belongs"
    );
}

#[tokio::test]
async fn without_a_place_to_write_there_is_a_warning_and_nothing_else() {
    let dir = stored(&events());
    fs::write(dir.path().join("runs"), "not a directory").unwrap();
    let warnings = live(dir.path()).await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(fs::read_to_string(dir.path().join("runs")).unwrap(), "not a directory");
    assert_eq!(rebuild(dir.path()).unwrap().failed, []);
    assert_eq!(tree(&run_dir(dir.path())), expected(dir.path(), RUN, Owner::Gone));
}

#[tokio::test]
async fn a_directory_that_may_not_be_written_is_a_warning() {
    if rustix::process::geteuid().is_root() {
        return; // permissions do not bind the superuser
    }
    let dir = stored(&events());
    fs::create_dir(dir.path().join("runs")).unwrap();
    fs::set_permissions(dir.path().join("runs"), fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(live(dir.path()).await.len(), 1);
    fs::set_permissions(dir.path().join("runs"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(rebuild(dir.path()).unwrap().failed, []);
}

#[tokio::test]
async fn another_programs_orchestrator_directory_is_left_alone() {
    let dir = stored(&events());
    fs::create_dir(dir.path().join("orchestrator")).unwrap();
    fs::write(dir.path().join("orchestrator/run.json"), "theirs").unwrap();
    assert_eq!(live(dir.path()).await.len(), 1);
    assert!(compare(dir.path(), 9).unwrap().blocked);
    assert_eq!(fs::read_to_string(dir.path().join("orchestrator/run.json")).unwrap(), "theirs");
    assert_eq!(tree(&run_dir(dir.path())), expected(dir.path(), RUN, Owner::Gone));
}

#[tokio::test]
async fn files_deleted_under_a_live_export_are_back_when_it_ends() {
    let events = events();
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store_log(&store, &events[..25]);
    let exporter = Exporter::start(dir.path(), RUN, 1, |_| {});
    exporter.settle().await;
    fs::remove_dir_all(run_dir(dir.path()).join("agents")).unwrap();
    append(&store, RUN, &events[25..]);
    exporter.committed(&Arc::default());
    exporter.settle().await;
    assert_eq!(tree(&run_dir(dir.path())), expected(dir.path(), RUN, Owner::Gone));
}
