//! What other programs write: taken once, whole, in order, whatever else happens to the files; our own never.

use super::*;
use crate::exports::intake::{Intake, Origin, Taken};
use fugato_engine::{Command, MessageKind, Target, Verb};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const RUN: &str = "run_in";

/// A run of two agents with its files, and whatever was taken from them.
struct Bed {
    dir: tempfile::TempDir,
    store: Store,
    writer: Writer,
    intake: Intake,
    taken: Arc<Mutex<Vec<Taken>>>,
    events: Vec<Event>,
}

fn bed() -> Bed {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let nodes = vec![node("build/builder", 0, &[], agent_work()), node("check/审校", 0, &[], agent_work())];
    let events = log(vec![
        created(spec(RUN, &["p"], nodes)),
        agent_started("build/builder", Some(0)),
        agent_started("check/审校", Some(1)),
    ]);
    store_log(&store, &events);
    let writer = Writer::new(RUN, Files::open(&dir.path().join("runs").join(RUN)).unwrap());
    let taken = Arc::default();
    let intake = intake(dir.path(), Vec::new(), &taken);
    let mut bed = Bed { dir, store, writer, intake, taken, events };
    bed.pass();
    bed
}

fn intake(state: &Path, before: Vec<Origin>, taken: &Arc<Mutex<Vec<Taken>>>) -> Intake {
    let keep = taken.clone();
    let import = Box::new(move |found: Vec<Taken>| {
        keep.lock().unwrap().extend(found);
        true
    });
    let dir = state.join("runs").join(RUN);
    Intake::new(&dir, before, import)
}

impl Bed {
    fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join("runs").join(RUN).join(file)
    }

    fn pass(&mut self) {
        let reader = Reader::open(self.dir.path()).unwrap().unwrap();
        self.writer.pass(&reader, Owner::Here, Some(&mut self.intake)).unwrap();
        self.intake.look(&self.writer);
    }

    /// Something happens in the run itself.
    fn happens(&mut self, kind: EventKind) {
        let seq = self.events.last().unwrap().seq + 1;
        let event = Event { v: Event::VERSION, seq, at: BEGAN, by: By::User, kind };
        append(&self.store, RUN, std::slice::from_ref(&event));
        self.events.push(event);
        self.pass();
    }

    fn directed(&mut self, generation: u64, verb: Verb) {
        self.happens(EventKind::DirectiveRecorded { generation, verb, target: Target::All, text: None });
    }

    fn looks(&mut self) -> Vec<String> {
        self.intake.look(&self.writer);
        self.told()
    }

    /// What was taken since the last time, in short.
    fn told(&self) -> Vec<String> {
        let short = |taken: Taken| match taken.command {
            Some(Command::Direct { verb, target, text }) => {
                let target = match target {
                    Target::All => "all".to_owned(),
                    Target::Agent(path) => path.to_string(),
                };
                format!("{verb:?} {target} {}", text.unwrap_or_default()).trim().to_owned()
            }
            Some(Command::Send { to: Target::Agent(to), from, text, kind }) => {
                format!("{kind:?} {from}→{to}: {text}")
            }
            Some(Command::Skipped { file, problem }) => format!("skipped {file}: {}", problem.en),
            None => "nothing new".to_owned(),
            other => format!("{other:?}"),
        };
        std::mem::take(&mut *self.taken.lock().unwrap()).into_iter().map(short).collect()
    }

    fn append(&self, file: &str, text: &str) {
        let mut open = fs::OpenOptions::new().append(true).create(true).open(self.path(file)).unwrap();
        open.write_all(text.as_bytes()).unwrap();
    }

    /// Looks until something was taken; a writer that stopped in the middle is waited for.
    fn looks_until_told(&mut self) -> Vec<String> {
        let began = Instant::now();
        loop {
            let told = self.looks();
            if !told.is_empty() || began.elapsed() > Duration::from_secs(20) {
                return told;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn both_dialects_of_a_directive_become_commands_and_the_same_content_only_once() {
    let mut bed = bed();
    assert_eq!(bed.looks(), [""; 0]);
    for (text, expected) in [
        (
            r#"{"action":"pause","target":"build/builder","message":"","generation":1}"#,
            vec!["Pause build/builder"],
        ),
        (
            r#"{"action":"pause","target":"builder","message":"why","generation":2}"#,
            vec!["Pause build/builder why"],
        ),
        (r#"{"pause": true}"#, vec!["Pause all"]),
        (r#"{"resume": ["builder", "审校"]}"#, vec!["Resume build/builder", "Resume check/审校"]),
        (r#"{"cancel": "ghost"}"#, vec!["Cancel ghost"]),
        (
            r#"{"action":"explode"}"#,
            vec![
                "skipped control.json: there is no action `explode`; there are: pause, resume, cancel, redirect",
            ],
        ),
    ] {
        fs::write(bed.path("control.json"), text).unwrap();
        assert_eq!(bed.looks(), expected, "{text}");
        assert_eq!(bed.looks(), [""; 0], "{text}");
        // Written again as it was: nothing new is asked.
        fs::write(bed.path("control.json"), text).unwrap();
        assert_eq!(bed.looks(), [""; 0], "{text}");
    }
}

#[test]
fn our_own_directives_are_never_taken_and_a_foreign_one_between_them_is() {
    let mut bed = bed();
    bed.directed(1, Verb::Pause);
    let ours = fs::read(bed.path("control.json")).unwrap();
    assert_eq!(bed.told(), [""; 0]);
    fs::write(bed.path("control.json"), r#"{"action":"cancel","target":"builder","generation":9}"#).unwrap();
    // Ours comes before anybody looked: theirs is taken first, and then ours stands there.
    bed.directed(2, Verb::Resume);
    assert_eq!(bed.told(), ["Cancel build/builder"]);
    assert!(fs::read_to_string(bed.path("control.json")).unwrap().contains("\"generation\":2"));
    // Somebody puts an old one of ours back.
    fs::write(bed.path("control.json"), ours).unwrap();
    assert_eq!(bed.looks(), [""; 0]);
    assert!(!bed.path(".quarantine").exists(), "what was taken need not be kept");
}

#[test]
fn what_is_written_into_the_file_that_ours_replaced_is_not_lost() {
    let mut bed = bed();
    bed.directed(1, Verb::Pause);
    // Somebody has opened the file and not written yet when ours takes its place.
    let mut slow = fs::OpenOptions::new().write(true).truncate(true).open(bed.path("control.json")).unwrap();
    bed.directed(2, Verb::Resume);
    assert_eq!(bed.told(), [""; 0]);
    slow.write_all(br#"{"action":"pause","target":"builder","generation":7}"#).unwrap();
    drop(slow);
    assert_eq!(bed.looks_until_told(), ["Pause build/builder"]);
    assert!(fs::read_to_string(bed.path("control.json")).unwrap().contains("\"generation\":2"));
}

#[test]
fn half_written_too_large_and_strange_files_are_said_and_stay() {
    let mut bed = bed();
    fs::write(bed.path("control.json"), r#"{"action":"pau"#).unwrap();
    assert_eq!(bed.looks(), [""; 0], "its writer may be at it");
    fs::write(bed.path("control.json"), r#"{"action":"pause"}"#).unwrap();
    assert_eq!(bed.looks(), ["Pause all"]);
    fs::write(bed.path("control.json"), r#"{"action":"res"#).unwrap();
    let told = bed.looks_until_told();
    assert!(told[0].starts_with("skipped control.json: not JSON"), "{told:?}");
    assert_eq!(fs::read(bed.path("control.json")).unwrap(), br#"{"action":"res"#);
    fs::write(bed.path("control.json"), vec![b' '; 2 << 20]).unwrap();
    assert!(bed.looks()[0].contains("2097152 bytes are too many"));
    assert_eq!(bed.looks(), [""; 0]);
    fs::write(bed.path("control.json"), r#"{"version": 99, "action": "resume", "target": null, "mood": 1}"#)
        .unwrap();
    assert_eq!(bed.looks(), ["Resume all"], "what is not known is no reason to drop what is");
}

#[test]
fn a_writer_that_stops_in_the_middle_is_told_of_soon_and_what_it_finishes_later_is_taken() {
    let mut bed = bed();
    let mut slow = fs::File::create(bed.path("control.json")).unwrap();
    slow.write_all(br#"{"action":"pause","#).unwrap();
    // The file is still open.
    let told = bed.looks_until_told();
    assert!(told.len() == 1 && told[0].starts_with("skipped control.json: not JSON"), "{told:?}");
    assert_eq!(bed.looks(), [""; 0], "it is said once");
    slow.write_all(br#""target":"builder"}"#).unwrap();
    assert_eq!(bed.looks_until_told(), ["Pause build/builder"]);
    drop(slow);
    assert_eq!(bed.looks(), [""; 0]);
    // The same, and ours takes its place meanwhile.
    let mut slow = fs::File::create(bed.path("control.json")).unwrap();
    slow.write_all(br#"{"action":"cancel","#).unwrap();
    bed.directed(1, Verb::Resume);
    let told = bed.looks_until_told();
    assert!(told.len() == 1 && told[0].starts_with("skipped control.json"), "{told:?}");
    assert!(fs::read_to_string(bed.path("control.json")).unwrap().contains("\"generation\":1"));
    slow.write_all(br#""target":"builder"}"#).unwrap();
    drop(slow);
    assert_eq!(bed.looks_until_told(), ["Cancel build/builder"]);
    assert_eq!(bed.looks(), [""; 0]);
}

#[test]
fn lines_of_others_become_messages_in_order_and_ours_do_not() {
    let mut bed = bed();
    let inbox = "agents/build/builder/inbox.jsonl";
    bed.append(
        inbox,
        "{\"from\":\"check/审校\",\"to\":\"builder\",\"type\":\"question\",\"body\":\"几个？\"}\n",
    );
    bed.append(inbox, "{\"type\":\"redirect\",\"instruction\":\"停\",\"at\":\"t\"}\nnot json\n{\"id\":\"m1\",\"body\":\"eins\"}\n");
    assert_eq!(
        bed.looks(),
        [
            "Question outside→build/builder: 几个？",
            "Redirect build/builder 停",
            "skipped agents/build/builder/inbox.jsonl: not JSON: expected ident at line 1 column 2",
            "Handoff outside→build/builder: eins",
        ]
    );
    // Ours is written between theirs.
    let (from, text, kind) = ("user".to_owned(), "unser".to_owned(), Some(MessageKind::Handoff));
    bed.happens(EventKind::MessageSent { to: 0, from, text, kind });
    assert_eq!(bed.told(), [""; 0]);
    // The same name is the same message; the same words without a name are another one.
    bed.append(inbox, "{\"id\":\"m1\",\"body\":\"zwei\"}\n{\"body\":\"go on\"}\n{\"body\":\"go on\"}\n");
    assert_eq!(bed.looks(), ["Handoff outside→build/builder: go on", "Handoff outside→build/builder: go on"]);
    // Torn: first its writer is waited for, then taken as it is.
    bed.append(inbox, "{\"body\":\"half");
    assert_eq!(bed.looks(), [""; 0]);
    bed.append(inbox, " and whole\"}");
    assert_eq!(bed.looks_until_told(), ["Handoff outside→build/builder: half and whole"]);
    assert_eq!(bed.looks(), [""; 0]);
}

#[test]
fn a_redirect_that_is_written_to_both_its_places_is_one() {
    let mut bed = bed();
    let inbox = "agents/build/builder/inbox.jsonl";
    fs::write(
        bed.path("control.json"),
        r#"{"action":"redirect","target":"builder","message":"停","generation":1}"#,
    )
    .unwrap();
    bed.append(inbox, "{\"type\":\"redirect\",\"instruction\":\"停\",\"at\":\"t\"}\n");
    assert_eq!(bed.looks(), ["Redirect build/builder 停", "nothing new"]);
}

#[test]
fn whoever_takes_the_run_over_takes_nothing_twice_and_what_was_left() {
    let mut first = bed();
    let inbox = "agents/build/builder/inbox.jsonl";
    first.append(inbox, "{\"body\":\"a\"}\n{\"body\":\"a\"}\n");
    fs::write(first.path("control.json"), r#"{"pause": true}"#).unwrap();
    first.intake.look(&first.writer);
    let before: Vec<Origin> = first.taken.lock().unwrap().iter().map(|taken| taken.origin.clone()).collect();
    assert_eq!(before.len(), 3);
    // Nobody listens: somebody writes.
    first.append(inbox, "{\"body\":\"a\"}\n{\"body\":\"b\"}\n");
    let taken = Arc::default();
    let mut second = intake(first.dir.path(), before, &taken);
    second.look(&first.writer);
    first.taken = taken;
    assert_eq!(first.told(), ["Handoff outside→build/builder: a", "Handoff outside→build/builder: b"]);
    // The file is made anew from the log: what was taken is known.
    fs::write(first.path(inbox), "{\"body\":\"a\"}\n{\"body\":\"b\"}\n").unwrap();
    second.look(&first.writer);
    assert_eq!(first.told(), [""; 0]);
}

/// Three ways to write a file, as programs do it, at once with ours.
#[test]
fn foreign_writers_race_with_ours_and_nothing_is_lost_or_taken_twice() {
    let mut bed = bed();
    bed.directed(1, Verb::Pause);
    let path = bed.path("control.json");
    let writers: Vec<_> = (0..3)
        .map(|who| {
            let path = path.clone();
            std::thread::spawn(move || {
                for n in 0..40 {
                    let text = format!(
                        r#"{{"action":"redirect","target":"builder","message":"{who}-{n}","generation":{n}}}"#
                    );
                    if who == 0 {
                        fs::write(&path, &text).unwrap();
                    } else {
                        let beside = path.with_file_name(format!("their-{who}.tmp"));
                        fs::write(&beside, &text).unwrap();
                        fs::rename(&beside, &path).unwrap();
                    }
                    std::thread::sleep(Duration::from_millis(7));
                }
            })
        })
        .collect();
    let mut generation = 1;
    let mut told = Vec::new();
    while !writers.iter().all(std::thread::JoinHandle::is_finished) {
        generation += 1;
        bed.directed(generation, if generation % 2 == 0 { Verb::Resume } else { Verb::Pause });
        told.extend(bed.told());
        told.extend(bed.looks());
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        told.extend(bed.looks());
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut seen = BTreeMap::new();
    for one in &told {
        assert!(one.starts_with("Redirect build/builder"), "only theirs are taken: {one}");
        *seen.entry(one.clone()).or_insert(0) += 1;
    }
    assert!(seen.values().all(|count| *count == 1), "{seen:?}");
    // The slot holds one: what another of them replaced before anybody could look is theirs to lose. What we replaced is
    // not: the last word of each, and most of the others, are there.
    assert!(seen.len() > 20, "{} of 120 were seen", seen.len());
    let last = fs::read_to_string(&path).unwrap();
    let is_ours = last.contains("\"target\":\"all\"");
    assert!(is_ours || told.iter().any(|one| last.contains(one.rsplit(' ').next().unwrap())), "{last}");
}
