//! The short way of the hook among real processes: it never outruns a directive, and nothing is lost or recorded twice when
//! calls are killed anywhere.

use crate::outside::{Room, Said};
use fugato_engine::{AgentPath, Command as Told, Target, Verb};
use fugato_runtime::runs::command;
use fugato_runtime::store::{Reader, Store};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

impl Room {
    /// Bytes of events that are not in the database; 0: the last call looked there.
    fn loose(&self) -> u64 {
        const HEAD: u64 = 512;
        let file = self.state.join("outside").join(self.run()).join("leaves");
        std::fs::metadata(file).map_or(0, |found| found.len().saturating_sub(HEAD))
    }

    /// Calls until one takes the short way. Right after a directive they all look into the database.
    fn until_quick(&self, subagent: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            // As if the last directive had been given a while ago.
            let control =
                std::fs::File::options().write(true).open(self.state.join("orchestrator/control.json"));
            if let Ok(control) = control {
                let _ = control.set_modified(SystemTime::now() - Duration::from_secs(5));
            }
            self.asks(Some(subagent));
            if self.loose() > 0 {
                return;
            }
            assert!(Instant::now() < until, "no call takes the short way");
        }
    }
}

/// Tells the others to stop, also when a check has failed.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A call of a host, from before its start to after its end, that was let through.
type Passed = (Instant, Instant);

#[test]
fn no_call_that_starts_after_a_pause_is_let_through() {
    const ROUNDS: u32 = 200;
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    room.spawn("c2", "b", "x2");
    let store = Store::open(&room.state).unwrap();
    let tell = |verb: Verb, target: &Target| {
        let told = Told::Direct { verb, target: target.clone(), text: None };
        command(&store, &room.run(), &told, Duration::from_secs(30)).unwrap();
    };
    let (is_over, passed) = (AtomicBool::new(false), Mutex::new(Vec::<Passed>::new()));
    let mut paused: Vec<(Instant, Instant)> = Vec::new();
    let killed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        // Agent `a` never stops asking; `b` does not either, and is killed again and again.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(3));
                let began = Instant::now();
                let said = room.asks(Some("x1"));
                if said.stdout.is_empty() && said.code == 0 {
                    passed.lock().unwrap().push((began, Instant::now()));
                }
            }
        });
        scope.spawn(|| {
            for n in 0_u64.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let mut child = room.start(room.payload("PreToolUse", Some("x2")).to_string().as_bytes());
                std::thread::sleep(Duration::from_micros(n * 311 % 9000));
                killed.fetch_add(u64::from(child.kill().is_ok()), Ordering::Relaxed);
                child.wait().unwrap();
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        let _ending = Ending(&is_over);
        for round in 0..ROUNDS {
            let target = if round % 2 == 0 { Target::All } else { Target::Agent(AgentPath::new("a")) };
            room.until_quick("x1");
            tell(Verb::Pause, &target);
            let began = Instant::now();
            room.asks(Some("x1")).denies("paused");
            paused.push((began, Instant::now()));
            tell(Verb::Resume, &target);
        }
    });
    let passed = passed.into_inner().unwrap();
    for (began, ended) in &passed {
        let within = paused.iter().find(|(from, to)| began >= from && ended <= to);
        assert_eq!(within, None, "a call was let through within a pause");
    }
    assert!(passed.len() > 100 && killed.into_inner() > 50, "{} calls passed", passed.len());
    drop(store);
    room.asks(None);
    let events = room.events();
    assert!(
        events.iter().enumerate().all(|(at, event)| event["seq"] == json!(at + 1)),
        "one log without gaps"
    );
    assert!(Reader::open(&room.state).unwrap().unwrap().check().is_ok());
}

#[test]
fn calls_killed_anywhere_are_recorded_once_or_not_at_all() {
    const ROUNDS: usize = 40;
    let room = Room::new();
    for n in 0..3 {
        room.spawn(&format!("c{n}"), &format!("agent {n}"), &format!("x{n}"));
    }
    let mut ended_well: BTreeMap<String, bool> = BTreeMap::new();
    let mut loose = 0;
    for round in 0..ROUNDS {
        let mut children = Vec::new();
        for n in 0..6 {
            let id = format!("call-{round}-{n}");
            let who = format!("x{}", n % 3);
            let mut payload = room.payload("PreToolUse", Some(&who));
            // Some take the long way and bind what the others have added.
            let event = if n == 5 && round % 3 == 0 { "SubagentStart" } else { "PreToolUse" };
            payload["hook_event_name"] = event.into();
            payload["tool_use_id"] = id.as_str().into();
            if event == "PreToolUse" {
                ended_well.insert(id.clone(), false);
            }
            children.push((id, room.start(payload.to_string().as_bytes())));
        }
        for (at, (_, child)) in children.iter_mut().enumerate() {
            if (at + round) % 3 == 0 {
                std::thread::sleep(Duration::from_micros((at * 733 + round * 419) as u64 % 5000));
                child.kill().unwrap();
            }
        }
        for (id, child) in children {
            let said = Said::of(&child.wait_with_output().unwrap());
            if let Some(is_well) = ended_well.get_mut(&id) {
                *is_well = said.code == 0;
            }
        }
        loose += u32::from(room.loose() > 0);
    }
    assert!(loose > 5, "hardly a call took the short way");
    room.asks(None).is_silent();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let events = room.events();
    for event in events.iter().filter(|event| event["kind"]["type"] == "tool.asked") {
        *counts.entry(event["kind"]["call"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    for (id, is_well) in &ended_well {
        let count = counts.get(id).copied().unwrap_or_default();
        assert!(count <= 1 && (count == 1 || !is_well), "{id}: {count} times, ended well: {is_well}");
    }
    assert!(ended_well.values().filter(|is_well| **is_well).count() > 100);
    assert!(
        events.iter().enumerate().all(|(at, event)| event["seq"] == json!(at + 1)),
        "one log without gaps"
    );
}

#[test]
fn what_is_not_in_the_database_yet_is_shown_by_everything() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    room.until_quick("x1");
    let mut payload = room.payload("PreToolUse", Some("x1"));
    payload["tool_input"] = json!({"command": "echo mark-42"});
    room.says(&payload).is_silent();
    let loose = room.loose();
    assert!(loose > 0);
    let run = room.run();
    for words in [&["status"][..], &["events", &run], &["runs", "show", &run]] {
        let shown = room.env.run(words).exits(0);
        if words[0] != "runs" {
            shown.says(&["mark-42"]);
        }
    }
    assert!(room.file("agents/a/stream.jsonl").contains("mark-42"));
    assert!(room.file("agents/a/status.json").contains("mark-42"));
    assert_eq!(room.loose(), loose, "looking changes nothing");
    let exported = room.env.run(["runs", "ls", "--json"]).exits(0).json();
    assert_eq!(exported["runs"][0]["events"], json!(room.events().len()));
    // A rebuild of the files tells the same.
    let before = room.file("agents/a/stream.jsonl");
    room.env.fugato("doctor --rebuild").exits(0);
    assert_eq!(room.file("agents/a/stream.jsonl"), before);
}
