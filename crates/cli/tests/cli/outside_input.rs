//! What a host may send to the hook, and worse: nothing in it makes a guard say yes, and nothing is lost.

use crate::outside::{Room, Said, feed};
use fugato_engine::Verb;
use serde_json::json;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn nothing_to_read_denies_a_guard_and_leaves_an_observer_alone() {
    let room = Room::new();
    for (event, code) in [(None, 2), (Some("PreToolUse"), 2), (Some("pre_tool_use"), 2), (Some("Stop"), 0)] {
        let said = Said::of(&feed(room.hook().args(event), b" \n").wait_with_output().unwrap());
        assert_eq!((said.code, said.stdout.as_str()), (code, ""), "{event:?}");
        assert!(said.stderr.contains("standard input is empty"), "{said:?}");
    }
    let said = Said::of(&room.hook().stdin(Stdio::null()).output().unwrap());
    assert_eq!(said.code, 2);
}

#[test]
fn a_standard_input_that_is_never_closed_is_given_up() {
    let room = Room::new();
    for (event, code) in [("PreToolUse", 2), ("PostToolUse", 0)] {
        let mut child = room.hook().arg(event).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"{\"hook_event_name\":\"PreToolUse\"").unwrap();
        let began = Instant::now();
        let said = Said::of(&child.wait_with_output().unwrap());
        drop(stdin);
        assert_eq!(said.code, code);
        assert!(said.stderr.contains("not closed within 2 seconds"), "{said:?}");
        assert!(began.elapsed() >= Duration::from_millis(1500), "it did wait");
    }
}

#[test]
fn a_terminal_is_no_host() {
    let room = Room::new();
    let master =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let name = rustix::pty::ptsname(master.as_fd(), Vec::new()).unwrap();
    let terminal = std::fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let said = Said::of(&room.hook().stdin(terminal).output().unwrap());
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("is a terminal"), "{said:?}");
}

#[test]
fn what_is_no_json_is_denied_with_its_place() {
    let room = Room::new();
    let said = room.call(b"{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Ba");
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(said.stderr.contains("at byte 50") && said.stderr.contains("ends too early"), "{said:?}");
    assert_eq!(room.call(b"not json").code, 2);
    assert_eq!(room.call(b"[1, 2]").code, 2);
    assert_eq!(room.call(b"{}").code, 2, "no event");
    let said = room.call(b"{\"hook_event_name\": \"Stop\", \"x\": ");
    assert_eq!(said.code, 0, "an agent may always end: {said:?}");
    assert!(said.stderr.contains("nothing was recorded"));
}

#[test]
fn unknown_events_and_fields_are_kept() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    let mut payload = room.payload("TeleportStart", Some("x1"));
    payload["destination"] = json!({"planet": "火星"});
    room.says(&payload).is_silent();
    let events = room.events();
    let raw = events.iter().find(|event| event["kind"]["type"] == "host.observed").unwrap();
    assert_eq!(raw["kind"]["name"], "TeleportStart");
    assert_eq!(raw["kind"]["payload"]["destination"]["planet"], "火星");
    // A newer version of a known event is judged by the same rules.
    let mut newer = room.payload("PreToolUse", Some("x1"));
    newer["quantum"] = json!([1, {"a": null}]);
    room.tell(Verb::Pause, "a", None).unwrap();
    room.says(&newer).denies("paused");
}

#[test]
fn a_call_without_its_arguments_is_not_judged_but_denied() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    for (input, word) in [
        (None, "`tool_input` is missing"),
        (Some(json!(null)), "`tool_input` is null"),
        (Some(json!([1])), "`tool_input` is a list"),
        (Some(json!("ls")), "`tool_input` is not an object"),
    ] {
        let mut payload = room.payload("PreToolUse", Some("x1"));
        let fields = payload.as_object_mut().unwrap();
        fields.remove("tool_input");
        if let Some(input) = &input {
            fields.insert("tool_input".into(), input.clone());
        }
        room.says(&payload).denies(word);
        payload["hook_event_name"] = "PostToolUse".into();
        room.says(&payload).is_silent();
    }
    assert_eq!(room.count("tool.answered"), 4, "an observer records what there is");
    let mut nameless = room.payload("PreToolUse", Some("x1"));
    nameless.as_object_mut().unwrap().remove("tool_name");
    room.says(&nameless).denies("`tool_name` is missing");
}

#[test]
fn fifty_megabytes_are_cut_at_a_character_and_known_by_their_digest() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    let mut payload = room.payload("PostToolUse", Some("x1"));
    payload["tool_response"] = "长".repeat(17_500_000).into();
    room.says(&payload).is_silent();
    let events = room.events();
    let answered = &events.iter().find(|event| event["kind"]["type"] == "tool.answered").unwrap()["kind"];
    let content = answered["content"].as_str().unwrap();
    assert!(content.len() <= 2048 && content.chars().all(|c| c == '长'), "{}", content.len());
    assert_eq!(answered["whole"]["bytes"], 17_500_000 * 3 + 2);
    assert!(answered["whole"]["digest"].as_str().unwrap().len() >= 64);
}

#[test]
fn halves_of_characters_are_replaced_and_said_to_be() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    let mut payload = room.payload("PostToolUse", Some("x1"));
    payload["tool_response"] = "@".into();
    let text = payload.to_string();
    let (before, after) = text.split_once('@').unwrap();
    let with = |value: &[u8]| [before.as_bytes(), value, after.as_bytes()].concat();
    room.call(&with(b"lone \\ud800 half")).is_silent();
    room.call(&with(b"bad \xff\xfe bytes")).is_silent();
    room.call(&with(b"pair \\ud83d\\ude00 fine")).is_silent();
    let events = room.events();
    let answered: Vec<_> = events.iter().filter(|event| event["kind"]["type"] == "tool.answered").collect();
    assert_eq!(answered.len(), 3, "nothing is lost");
    let said: Vec<_> = answered.iter().map(|event| event["kind"]["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["lone \u{fffd} half", "bad \u{fffd}\u{fffd} bytes", "pair \u{1f600} fine"]);
    let lossy: Vec<_> = answered.iter().map(|event| event["kind"]["whole"]["lossy"] == true).collect();
    assert_eq!(lossy, [true, true, false]);
}

#[test]
fn names_of_sessions_are_never_paths() {
    let room = Room::new();
    for session in ["../../../etc/x", "a\0b", &"s".repeat(10_000), ""] {
        let mut asks = room.payload("PreToolUse", None);
        asks["session_id"] = session.into();
        asks["agent_id"] = "../../y".into();
        asks["tool_name"] = "Agent".into();
        asks["tool_input"] = json!({"description": "../../../tmp/evil", "subagent_type": "../x"});
        room.says(&asks).is_silent();
    }
    let run = room.json("run.json");
    for agent in run["agents"].as_array().unwrap() {
        let id = agent["id"].as_str().unwrap();
        assert!(!id.contains(['/', '.', '\0']) && id.len() <= 40, "{id}");
    }
    let outside: Vec<_> = walk(room.state.parent().unwrap().parent().unwrap());
    assert!(
        outside.iter().all(|path| path.contains("/projects/project-") || path.contains("/cache")),
        "{outside:?}"
    );
    assert!(room.events().iter().all(|event| !event.to_string().contains(&"s".repeat(200))));
}

fn walk(dir: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

#[test]
fn a_store_that_is_taken_is_not_waited_for_and_nothing_is_lost() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    room.tell(Verb::Pause, "a", None).unwrap();
    let before = room.events().len();
    // As while another version changes the tables.
    let taken = std::fs::File::options().write(true).open(room.state.join("fugato.lock")).unwrap();
    taken.lock().unwrap();
    for n in 0..3 {
        let mut payload = room.payload("PostToolUse", Some("x1"));
        payload["tool_response"] = format!("result {n}").into();
        let said = room.says(&payload);
        assert_eq!(said.code, 0);
        assert!(said.stderr.contains("put aside"), "{said:?}");
    }
    let said = room.asks(Some("x1"));
    said.denies("paused");
    let other = room.asks(None);
    assert_eq!((other.code, other.stdout.as_str()), (0, ""), "by what can be read, this one may go on");
    taken.unlock().unwrap();
    room.says(&room.payload("PostToolUse", None)).is_silent();
    let events = room.events();
    let kinds: Vec<_> =
        events[before..].iter().map(|event| event["kind"]["type"].as_str().unwrap().to_owned()).collect();
    let answered = ["tool.answered"; 3].into_iter();
    assert_eq!(kinds, answered.chain(["tool.asked", "tool.asked", "tool.answered"]).collect::<Vec<_>>());
    for n in 0..3 {
        assert_eq!(events[before + n]["kind"]["content"], format!("result {n}"));
    }
    assert!(!room.state.join("spool").exists());
}

#[test]
fn a_store_that_cannot_be_read_denies() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    for side in ["fugato.db-wal", "fugato.db-shm"] {
        let _ = std::fs::remove_file(room.state.join(side));
    }
    std::fs::write(room.state.join("fugato.db"), "garbage ".repeat(1000)).unwrap();
    room.asks(Some("x1")).denies("cannot tell whether this call may run");
    let said = room.says(&room.payload("PostToolUse", Some("x1")));
    assert_eq!((said.code, said.stdout.as_str()), (0, ""));
}

#[test]
fn calls_at_once_are_all_recorded_and_killed_ones_whole_or_not_at_all() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    let payload = room.payload("PreToolUse", Some("x1")).to_string();
    let mut finished = 0;
    for round in 0..4 {
        let mut children: Vec<_> = (0..8).map(|_| room.start(payload.as_bytes())).collect();
        for (at, child) in children.iter_mut().enumerate() {
            if (at + round) % 4 == 0 {
                child.kill().unwrap();
            }
        }
        let codes = children.into_iter().map(|child| child.wait_with_output().unwrap().status.code());
        finished += codes.filter(|code| *code == Some(0)).count();
    }
    room.asks(None).is_silent();
    let events = room.events();
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.iter().copied().eq(1..=seqs.len() as u64));
    let asked = events.iter().filter(|event| event["kind"]["type"] == "tool.asked").count();
    assert!((finished..=4 * 8).contains(&(asked - 2)), "{finished} ended well, {} are recorded", asked - 2);
    assert!(finished >= 20);
    for line in room.file("agents/a/stream.jsonl").lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
}

#[test]
fn the_big_program_answers_the_same() {
    let room = Room::new();
    room.spawn("c1", "a", "x1");
    room.tell(Verb::Cancel, "a", None).unwrap();
    let payload = room.payload("PreToolUse", Some("x1")).to_string();
    let ask = |words: &[&str]| {
        let mut big = room.env.command();
        big.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Said::of(&feed(&mut big, payload.as_bytes()).wait_with_output().unwrap())
    };
    for words in [&["hook"][..], &["hook", "PreToolUse"], &["hook", "--host", "claude", "PreToolUse"]] {
        ask(words).denies("cancelled");
    }
    let codex = ask(&["hook", "--host", "codex"]);
    codex.is_silent();
    let mut empty: Command = room.env.command();
    let said = Said::of(&empty.args(["hook", "PreToolUse"]).stdin(Stdio::null()).output().unwrap());
    assert_eq!(said.code, 2);
}
