//! Many processes say something to one run at once: everything is recorded, in one order, and answered.
//!
//! `FUGATO_TALKERS` processes say `FUGATO_WORDS` words each (64 and 20 without them; 64 and 1,000 are what is promised).

use super::test_bed::{Bed, agent, node};
use super::{CommandError, command};
use crate::store::Store;
use fugato_engine::{AgentPath, Command, EventKind, Limits, PlanNode, Target, Verb};
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

const STATE: &str = "FUGATO_TALKER_STATE";
const WHO: &str = "FUGATO_TALKER";
const AGENTS: u32 = 16;
const TALKERS: u32 = 64;
const WORDS: u32 = 20;

fn number(name: &str, without: u32) -> u32 {
    std::env::var(name).ok().map_or(without, |text| text.parse().unwrap())
}

/// What a talker says: the same for the same number, another for every talker. Half of the agents are never cancelled.
fn word(who: u32, n: u32) -> Command {
    let dice = (who * 7919 + n * 104_729) % 10_007;
    let agent = |among: u32| Target::Agent(AgentPath::new(&format!("a{}", dice % among)));
    let (verb, target, text) = match dice % 23 {
        0..=7 => (Verb::Pause, agent(AGENTS), None),
        8..=15 => (Verb::Resume, agent(AGENTS), None),
        16 => (Verb::Pause, Target::All, None),
        17 => (Verb::Resume, Target::All, None),
        18 if dice.is_multiple_of(5) => {
            (Verb::Cancel, Target::Agent(AgentPath::new(&format!("a{}", 8 + dice % 8))), None)
        }
        _ => (Verb::Redirect, agent(AGENTS), Some(format!("{who}-{n} 改做别的"))),
    };
    Command::Direct { verb, target, text }
}

#[test]
#[ignore = "a child of many_processes_at_once_are_all_heard_in_one_order"]
fn talking_child() {
    let store = Store::open(std::env::var_os(STATE).unwrap().as_ref()).unwrap();
    let who = number(WHO, 0);
    let (mut taken, mut refused) = (0, 0);
    for n in 0..number("FUGATO_WORDS", WORDS) {
        match command(&store, "run_bed", &word(who, n), Duration::from_secs(300)) {
            Ok(()) => taken += 1,
            Err(CommandError::Refused(refusal)) => {
                assert!(!refusal.words.en.is_empty());
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    println!("taken {taken} refused {refused}");
}

fn talk(state: &std::path::Path, who: u32) -> std::process::Child {
    Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "runs::order_tests::talking_child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(STATE, state)
        .env(WHO, who.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_at_once_are_all_heard_in_one_order() {
    let (talkers, words) = (number("FUGATO_TALKERS", TALKERS), number("FUGATO_WORDS", WORDS));
    let bed = Bed::new();
    // Agents that are always in the middle of something.
    let model =
        "- when: {agent: '*'}\n  delay_ms: 60000\n  tools: [{name: Glob, arguments: {pattern: '*'}}]\n";
    std::fs::write(bed.path("model.yaml"), model).unwrap();
    let nodes =
        (0..AGENTS).map(|at| PlanNode { optional: true, ..node(&format!("a{at}"), &[], agent(), None) });
    let mut spec = bed.spec(nodes.collect());
    spec.limits = Limits { concurrent: AGENTS, ..Limits::default() };
    let store = Store::open(&bed.state()).unwrap();
    let (other, state) = (store.clone(), bed.state());
    let talking = std::thread::spawn(move || {
        // The run is there as soon as its owner is.
        while other.reader().unwrap().run("run_bed").is_err() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let children: Vec<_> = (0..talkers).map(|who| talk(&state, who)).collect();
        let outputs: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let end = Command::Direct { verb: Verb::Cancel, target: Target::All, text: None };
        command(&other, "run_bed", &end, Duration::from_secs(60)).unwrap();
        outputs
    });
    let mut session = super::Session::create(store, spec, bed.world(), Box::new(|_| {})).unwrap();
    session.stay_while_paused();
    let (_controls, inbox) = tokio::sync::mpsc::channel(1);
    session.drive(inbox).await.unwrap();
    session.files_written().await;
    let (mut taken, mut refused) = (0u64, 0u64);
    for output in talking.join().unwrap() {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        let (_, counted) = text.split_once("taken ").unwrap();
        let line = counted.lines().next().unwrap();
        let counts: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        (taken, refused) = (taken + counts[0], refused + counts[1]);
    }
    let said = u64::from(talkers) * u64::from(words);
    assert_eq!(taken + refused, said, "every one is answered");
    let events = super::load(&bed.reader(), "run_bed").unwrap();
    let (mut order, mut applied) = (Vec::new(), BTreeSet::new());
    let (mut recorded, mut turned_down) = (0, 0);
    let mut open: BTreeMap<(u64, u32), &str> = BTreeMap::new();
    for event in &events {
        match &event.kind {
            EventKind::DirectiveRecorded { generation, .. } => {
                recorded += 1;
                order.push(*generation);
            }
            EventKind::DirectiveRefused { generation, .. } => {
                turned_down += 1;
                order.push(*generation);
            }
            EventKind::DirectiveDelivered { generation, agent } => {
                open.insert((*generation, *agent), "delivered");
            }
            EventKind::DirectiveApplied { generation, agent } => {
                open.remove(&(*generation, *agent));
                assert!(applied.insert((*generation, *agent)), "{generation} was applied twice");
            }
            EventKind::DirectiveExpired { generation, agent } => {
                assert_eq!(open.remove(&(*generation, *agent)), Some("delivered"));
            }
            _ => {}
        }
    }
    // The end of the run is one more.
    assert_eq!((recorded, turned_down), (taken + 1, refused));
    assert!(order.iter().copied().eq(1..=said + 1), "one order without gaps");
    assert!(open.is_empty(), "what was delivered was applied or came too late: {}", open.len());
    assert!(bed.reader().commands("run_bed", 0).unwrap().is_empty());
    // The files tell the same.
    let log = std::fs::read_to_string(bed.state().join("runs/run_bed/control.log.jsonl")).unwrap();
    let lines = |receipt: &str| {
        log.lines().filter(|line| line.contains(&format!("\"receipt\":\"{receipt}\""))).count() as u64
    };
    assert_eq!((lines("recorded"), lines("refused")), (recorded, turned_down));
}
