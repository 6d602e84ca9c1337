//! The short way and the long way of a call make the same log, and no crash between the two loses or repeats anything or lets
//! a call past a directive.

use super::bind::token;
use super::call::Call;
use super::pass::Shown;
use super::quick;
use super::step::command;
use crate::store::faults::{Faults, Step};
use crate::store::leaves::{self, Held, Terms};
use crate::store::outside::Lean;
use crate::store::{Reader, Store, StoreError};
use fugato_engine::outside::{Answer, Guard, Input, Spawn, Who, key_of};
use fugato_engine::{AgentPath, Command, Event, EventKind, MessageKind, Target, Verb};
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A state directory with a session `main` and its agents `a` and `b`.
struct Room {
    state: tempfile::TempDir,
    /// Calls that took the short way.
    quick: usize,
}

fn who(subagent: Option<&str>) -> Who {
    Who {
        host: "claude".into(),
        session: "s".into(),
        subagent: subagent.map(str::to_owned),
        agent_type: subagent.map(|_| "general-purpose".to_owned()).unwrap_or_default(),
        hears: true,
        ..Who::default()
    }
}

fn asks(call: &str) -> Input {
    let (tool, arguments) = ("Bash".into(), json!({"command": "ls"}));
    Input::Asks { call: call.into(), tool, arguments, files: vec![], spawn: None }
}

fn writes(file: &str) -> Input {
    let (tool, arguments) = ("Edit".into(), json!({"file_path": file}));
    Input::Asks { call: "w".into(), tool, arguments, files: vec![file.into()], spawn: None }
}

fn used(call: &str) -> Input {
    let (tool, content) = ("Bash".into(), "ok\nfine".into());
    Input::Used { call: call.into(), tool, content, is_error: false, whole: None, started: None, spawn: None }
}

fn spawns(description: &str) -> Input {
    let spawn = Spawn {
        agent_type: "general-purpose".into(),
        description: description.into(),
        prompt: "do it".into(),
    };
    let arguments = json!({"description": description});
    Input::Asks {
        call: description.into(),
        tool: "Agent".into(),
        arguments,
        files: vec![],
        spawn: Some(spawn),
    }
}

impl Room {
    fn new() -> Self {
        let mut room = Self { state: tempfile::tempdir().unwrap(), quick: 0 };
        for (id, subagent) in [("a", "x1"), ("b", "x2")] {
            room.slowly(None, &spawns(id));
            room.slowly(Some(subagent), &Input::SubagentStarted);
        }
        room
    }

    fn state(&self) -> &Path {
        self.state.path()
    }

    fn call(&self, subagent: Option<&str>) -> Call {
        Call { state: self.state().to_owned(), run: None, who: who(subagent), at: super::call::now() }
    }

    /// By the short way alone.
    fn quickly(&mut self, subagent: Option<&str>, input: &Input) -> bool {
        let is_quick = quick::record(&self.call(subagent), input);
        self.quick += usize::from(is_quick);
        is_quick
    }

    fn slowly(&mut self, subagent: Option<&str>, input: &Input) -> Answer {
        self.call(subagent).once(&mut None, input).unwrap()
    }

    fn either(&mut self, subagent: Option<&str>, input: &Input) -> Answer {
        if self.quickly(subagent, input) { Answer::default() } else { self.slowly(subagent, input) }
    }

    fn run(&self) -> String {
        Reader::open(self.state()).unwrap().unwrap().active().unwrap().unwrap().id
    }

    fn tell_by(&self, store: &Store, told: &Command) -> Result<bool, StoreError> {
        command(store, &self.run(), told).map(|decided| decided.is_ok())
    }

    fn tell(&self, verb: Verb, target: Target) -> bool {
        let told = Command::Direct { verb, target, text: Some("other".into()) };
        let is_done = self.tell_by(&Store::open(self.state()).unwrap(), &told).unwrap();
        self.age_control();
        is_done
    }

    /// As if the last directive had been given a while ago: right after one every call looks into the database.
    fn age_control(&self) {
        let file = self.state().join("runs").join(self.run()).join("control.json");
        if let Ok(file) = std::fs::File::options().write(true).open(file) {
            file.set_modified(SystemTime::now() - Duration::from_secs(5)).unwrap();
        }
    }

    fn events(&self) -> Vec<Event> {
        let reader = Reader::open(self.state()).unwrap().unwrap();
        let events = reader.events(&self.run(), 1, u64::MAX).unwrap().map(Result::unwrap);
        let events: Vec<Event> = events.map(|(_, bytes)| serde_json::from_slice(&bytes).unwrap()).collect();
        assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64), "one log without gaps");
        events
    }

    /// Calls of this name that are in the log.
    fn count(&self, name: &str) -> usize {
        let is_it = |kind: &EventKind| matches!(kind, EventKind::ToolAsked { call, .. } if call == name);
        self.events().iter().filter(|event| is_it(&event.kind)).count()
    }

    /// Events in the database itself.
    fn bound(&self) -> i64 {
        let reader = Reader::open(self.state()).unwrap().unwrap();
        let query = "SELECT last_seq FROM runs ORDER BY no DESC LIMIT 1";
        reader.connection().query_row(query, [], |row| row.get(0)).unwrap()
    }

    fn pause_a(&self, faults: Faults) -> Result<bool, StoreError> {
        let target = Target::Agent(AgentPath::new("a"));
        let told = Command::Direct { verb: Verb::Pause, target, text: None };
        self.tell_by(&Store::open_with(self.state(), faults).unwrap(), &told)
    }
}

#[test]
fn a_call_with_nothing_to_decide_is_in_the_log_and_not_in_the_database() {
    let mut room = Room::new();
    let bound = room.bound();
    let reader = Reader::open(room.state()).unwrap().unwrap();
    let stamp = reader.stamp_outside();
    assert!(room.quickly(Some("x1"), &asks("1")) && room.quickly(Some("x1"), &used("1")));
    assert!(room.quickly(None, &asks("2")) && room.quickly(Some("x2"), &writes("/p/a")));
    assert_eq!(room.bound(), bound);
    assert_ne!(reader.stamp_outside(), stamp, "whoever watches is told");
    assert_eq!(room.events().len() as i64, bound + 4);
    let row = Reader::open(room.state()).unwrap().unwrap().run(&room.run()).unwrap();
    assert_eq!(row.last_seq as i64, bound + 4);
    let stream =
        std::fs::read_to_string(room.state().join("runs").join(room.run()).join("agents/a/stream.jsonl"));
    assert!(stream.unwrap().contains(&format!("{{\"seq\":{}", bound + 2)));
    // The next long way binds them, each once.
    room.slowly(None, &Input::SessionStarted);
    assert_eq!(room.bound(), bound + 4);
    assert_eq!((room.count("1"), room.count("2")), (1, 1));
    assert!(room.quickly(Some("x2"), &asks("3")), "passes of others outlive it");
}

#[test]
fn after_so_many_lines_the_next_call_binds_them() {
    let mut room = Room::new();
    let bound = room.bound();
    let mut count = 0;
    while room.quickly(Some("x1"), &asks("n")) {
        count += 1;
        assert!(count <= leaves::MOST_LINES);
    }
    assert_eq!(count, leaves::MOST_LINES);
    room.slowly(Some("x1"), &asks("n"));
    assert_eq!(room.bound(), bound + count as i64 + 1);
    assert!(room.quickly(Some("x1"), &asks("n")));
}

#[test]
fn whoever_writes_what_somebody_else_wrote_takes_the_long_way() {
    let mut room = Room::new();
    assert!(room.quickly(Some("x1"), &writes("/p/a")) && room.quickly(Some("x1"), &writes("/p/a")));
    assert!(!room.quickly(Some("x2"), &writes("/p/a")));
    let told = room.slowly(Some("x2"), &writes("/p/a")).context.join("");
    assert!(told.contains("written by agent `a`"), "{told}");
    assert!(room.quickly(Some("x2"), &writes("/p/a")));
    assert!(!room.quickly(Some("x1"), &writes("/p/a")));
    // All of it is only beside the database: it can go.
    std::fs::remove_dir_all(room.state().join("outside")).unwrap();
    assert!(!room.quickly(Some("x1"), &asks("1")));
    room.slowly(Some("x1"), &asks("1"));
    assert!(room.quickly(Some("x1"), &asks("2")));
    assert!(!room.quickly(Some("x1"), &writes("/p/a")), "who wrote it is known from the database");
}

#[test]
fn a_directive_ends_the_short_way_of_whom_it_concerns() {
    for (verb, target, ends) in [
        (Verb::Pause, "a", [true, false]),
        (Verb::Redirect, "b", [false, true]),
        (Verb::Cancel, "a", [true, false]),
        (Verb::Pause, "all", [true, true]),
        (Verb::Cancel, "all", [true, true]),
    ] {
        let mut room = Room::new();
        let target = match target {
            "all" => Target::All,
            path => Target::Agent(AgentPath::new(path)),
        };
        assert!(room.tell(verb, target));
        // The first call after it looks into the database, whoever makes it.
        room.slowly(None, &used("0"));
        let quick = [room.quickly(Some("x1"), &asks("1")), room.quickly(Some("x2"), &asks("1"))];
        assert_eq!(quick.map(|quick| !quick), ends, "{verb:?}");
    }
}

#[test]
fn a_message_news_and_files_of_others_end_it_too() {
    let mut room = Room::new();
    let to = Target::Agent(AgentPath::new("a"));
    let send = Command::Send { to, from: "user".into(), text: "hello".into(), kind: MessageKind::Handoff };
    room.tell_by(&Store::open(room.state()).unwrap(), &send).unwrap();
    assert!(!room.quickly(Some("x1"), &asks("1")) && room.quickly(Some("x2"), &asks("1")));
    assert_eq!(room.slowly(Some("x1"), &asks("1")).context, ["hello"]);
    let dir = room.state().join("runs").join(room.run());
    std::fs::write(dir.join("agents/b/inbox.jsonl"), "{\"body\": \"x\"}\n").unwrap();
    assert!(!room.quickly(Some("x2"), &asks("2")));
    std::fs::write(dir.join("control.json"), "{\"action\": \"pause\", \"target\": \"main\"}").unwrap();
    assert!(!room.quickly(None, &asks("3")));
    assert_eq!(room.slowly(None, &asks("3")).guard, Guard::Hold);
}

#[test]
fn a_directive_whose_commit_fails_leaves_nobody_on_the_short_way_by_mistake() {
    for (step, is_paused) in [(Step::Commit, false), (Step::CommitSync, true)] {
        let mut room = Room::new();
        assert!(room.quickly(Some("x1"), &asks("before")));
        room.pause_a(Faults::once(step, 1, rustix::io::Errno::IO)).unwrap_err();
        room.age_control();
        // Withdrawn and closed before the commit: until somebody has looked, nobody passes.
        assert!(!room.quickly(Some("x1"), &asks("after")) && !room.quickly(Some("x2"), &asks("after")));
        std::fs::remove_file(room.state().join("runs").join(room.run()).join("control.json")).unwrap();
        let guard = room.slowly(Some("x1"), &asks("after")).guard;
        assert_eq!(guard == Guard::Hold, is_paused, "{step:?}");
        assert_eq!((room.count("before"), room.count("after")), (1, 1));
        assert_eq!(room.quickly(Some("x1"), &asks("later")), !is_paused);
    }
}

#[test]
fn a_call_that_dies_in_the_middle_of_the_long_way_loses_and_repeats_nothing() {
    let mut room = Room::new();
    assert!(room.quickly(Some("x1"), &asks("1")) && room.quickly(Some("x2"), &asks("2")));
    let call = room.call(None);
    let mut lean = Lean::open(room.state()).unwrap().unwrap();
    // Before the commit: nothing of it happened, and the leaves are as they were.
    let died = lean.transact(|connection, place| {
        call.one(connection, place, &token(), &asks("3"))?;
        Err::<(), _>(StoreError::Closed)
    });
    died.unwrap_err();
    assert_eq!((room.count("1"), room.count("2"), room.count("3")), (1, 1, 0));
    assert!(!room.quickly(Some("x1"), &asks("4")));
    // After the commit, before the leaves are opened.
    lean.transact(|connection, place| call.one(connection, place, &token(), &asks("3")).map(drop)).unwrap();
    assert_eq!((room.count("1"), room.count("2"), room.count("3")), (1, 1, 1));
    assert!(!room.quickly(Some("x1"), &asks("4")));
    room.slowly(Some("x1"), &asks("4"));
    assert_eq!(["1", "2", "3", "4"].map(|call| room.count(call)), [1; 4]);
    assert!(room.quickly(Some("x1"), &asks("5")));
}

#[test]
fn who_was_slower_than_the_next_does_not_open_what_that_one_closed() {
    let room = Room::new();
    let call = room.call(Some("x1"));
    let mut lean = Lean::open(room.state()).unwrap().unwrap();
    let (first, second) = (token(), token());
    let mut one = |token: &str| {
        lean.transact(|connection, place| call.one(connection, place, token, &asks("1"))).unwrap().1
    };
    let (earlier, later) = (one(&first), one(&second));
    super::step::finish(room.state(), earlier);
    assert!(!quick::record(&call, &asks("2")), "its end of the log is not the end");
    super::step::finish(room.state(), later);
    assert!(quick::record(&call, &asks("2")));
    assert_eq!((room.count("1"), room.count("2")), (2, 1));
}

#[test]
fn who_was_stopped_while_giving_a_pass_gives_none_after_a_directive() {
    let mut room = Room::new();
    let key = key_of("claude", "s", Some("x1"));
    let stale = Shown::of(room.state(), &key).unwrap().pass;
    let stopped = Held::take(room.state(), &room.run()).unwrap();
    assert!(room.pause_a(Faults::none()).unwrap(), "a directive does not wait for ever");
    room.age_control();
    room.slowly(None, &used("0"));
    stale.give(room.state()).unwrap();
    drop(stopped);
    assert!(!room.quickly(Some("x1"), &asks("1")));
    assert_eq!(room.slowly(Some("x1"), &asks("1")).guard, Guard::Hold);
}

#[test]
fn nothing_is_believed_after_the_machine_was_started_again() {
    let mut room = Room::new();
    assert!(room.quickly(Some("x1"), &asks("1")));
    let (state, run) = (room.state().to_owned(), room.run());
    let kept = std::fs::read(leaves::dir(&state, &run).join("leaves")).unwrap();
    let boot = crate::store::process::boot();
    let old = String::from_utf8(kept).unwrap().replace(&boot, &"0".repeat(boot.len()));
    std::fs::write(leaves::dir(&state, &run).join("leaves"), old).unwrap();
    assert!(!room.quickly(Some("x1"), &asks("2")));
    room.slowly(Some("x1"), &asks("2"));
    assert_eq!((room.count("1"), room.count("2")), (1, 1), "what is whole is kept");
    assert!(room.quickly(Some("x1"), &asks("3")));
    // The database lost its last commits with the power, the leaves did not: they are numbered on.
    let closed = leaves::close(&state, &run, &boot, "cut", leaves::Patience::Short).unwrap();
    let last = closed.leaves.last().unwrap().seq;
    let terms = Terms { base: last + 7, boot: boot.clone(), ..Terms::default() };
    let mut held = leaves::open(&state, &run, "cut", terms).unwrap().unwrap();
    let leaf = closed.leaves.last().unwrap();
    assert!(held.add(last + 8, leaf.at, &leaf.event));
    drop(held);
    room.slowly(Some("x1"), &asks("4"));
    assert_eq!(["3", "4"].map(|call| room.count(call)), [1, 1]);
}

#[test]
fn a_run_that_is_over_leaves_nothing_of_it() {
    let mut room = Room::new();
    let run = room.run();
    assert!(room.quickly(None, &asks("1")));
    room.slowly(None, &Input::Stopped { text: "DONE".into(), background: Some(vec![]) });
    assert!(!leaves::dir(room.state(), &run).exists());
    assert_eq!(std::fs::read_dir(room.state().join("outside/pass")).unwrap().count(), 0);
    assert!(!room.quickly(None, &asks("2")));
}

#[test]
fn only_the_hook_adds_to_such_a_log() {
    let mut room = Room::new();
    assert!(room.quickly(None, &asks("1")));
    let store = Store::open(room.state()).unwrap();
    let row = store.reader().unwrap().run(&room.run()).unwrap();
    let batch = crate::store::Batch {
        run: row.id.clone(),
        epoch: row.epoch,
        first_seq: row.last_seq,
        events: vec![b"{}".to_vec()],
        summary: None,
        answers: Vec::new(),
    };
    assert!(matches!(store.append(batch).wait(), Err(StoreError::Outside { .. })));
    assert!(!room.quickly(None, &asks("2")), "nobody adds a line with a number that may be taken");
    room.slowly(None, &asks("2"));
    assert_eq!((room.count("1"), room.count("2")), (1, 1));
}

#[derive(Clone, Debug)]
enum Deed {
    Host(u8, Box<Input>),
    Tell(Verb, u8),
    Send(u8),
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let input = prop_oneof![
        6 => Just(asks("c")),
        6 => Just(used("c")),
        4 => (0..3_u8).prop_map(|n| writes(&format!("/f{n}"))),
        1 => Just(Input::SubagentStarted),
        1 => Just(Input::SubagentStopped { text: "DONE".into() }),
        1 => Just(Input::Prompted { prompt: "go".into() }),
        1 => Just(spawns("c")),
        1 => Just(Input::Observed { name: "Odd".into(), payload: json!({}) }),
    ];
    let verb = prop_oneof![1 => Just(Verb::Pause), 3 => Just(Verb::Resume), 1 => Just(Verb::Redirect), 1 => Just(Verb::Cancel)];
    prop_oneof![
        12 => (0..3_u8, input).prop_map(|(who, input)| Deed::Host(who, Box::new(input))),
        2 => (verb, 0..4_u8).prop_map(|(verb, to)| Deed::Tell(verb, to)),
        1 => (0..3_u8).prop_map(Deed::Send),
    ]
}

const IDS: [&str; 3] = ["main", "a", "b"];
const WHO: [Option<&str>; 3] = [None, Some("x1"), Some("x2")];

proptest! {
    #![proptest_config(ProptestConfig { cases: fugato_testkit::cases(24), ..ProptestConfig::default() })]
    #[test]
    fn both_ways_make_the_same_log_and_give_the_same_answers(deeds in proptest::collection::vec(any_deed(), 1..40)) {
        let (mut both, mut long) = (Room::new(), Room::new());
        let stores = [Store::open(both.state()).unwrap(), Store::open(long.state()).unwrap()];
        for deed in deeds {
            let told = match deed {
                Deed::Host(n, input) => {
                    let subagent = WHO[usize::from(n)];
                    let answers = (both.either(subagent, &input), long.slowly(subagent, &input));
                    prop_assert_eq!(
                        (answers.0.guard, answers.0.context, answers.0.block),
                        (answers.1.guard, answers.1.context, answers.1.block)
                    );
                    continue;
                }
                Deed::Tell(verb, to) => {
                    let target = IDS.get(usize::from(to)).map_or(Target::All, |id| Target::Agent(AgentPath::new(id)));
                    Command::Direct { verb, target, text: Some("other".into()) }
                }
                Deed::Send(to) => {
                    let to = Target::Agent(AgentPath::new(IDS[usize::from(to)]));
                    Command::Send { to, from: "user".into(), text: "hello".into(), kind: MessageKind::Handoff }
                }
            };
            let decided = (both.tell_by(&stores[0], &told).unwrap(), long.tell_by(&stores[1], &told).unwrap());
            prop_assert_eq!(decided.0, decided.1);
            both.age_control();
        }
        let kinds = |room: &Room| room.events().into_iter().skip(1).map(|event| event.kind).collect::<Vec<_>>();
        let (found, expected) = (kinds(&both), kinds(&long));
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.into_iter().zip(expected) {
            prop_assert_eq!(without_process(found), without_process(expected));
        }
    }
}

/// Which thread of the test called is not of interest.
fn without_process(kind: EventKind) -> serde_json::Value {
    let mut value = serde_json::to_value(kind).unwrap();
    if let Some(origin) = value.get_mut("origin").and_then(serde_json::Value::as_object_mut) {
        origin.remove("process");
    }
    value
}
