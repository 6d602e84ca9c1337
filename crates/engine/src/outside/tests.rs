//! Agents outside, by table and by chance: what is told, what is refused, and that the rows are the fold of the log.

use super::*;
use crate::event::{AgentPath, By, Event, EventKind, MessageKind, Outcome, RunSpec, Target, Verb};
use crate::input::Command;
use crate::run::Run;
use proptest::prelude::*;
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A store in memory: rows as they were written, and the log.
#[derive(Default)]
struct Memory {
    run: RefCell<RunRow>,
    agents: RefCell<BTreeMap<u32, AgentRow>>,
    files: RefCell<BTreeMap<String, u32>>,
    log: RefCell<Vec<Event>>,
}

impl Look for Memory {
    fn agent(&self, number: u32) -> Option<AgentRow> {
        self.agents.borrow().get(&number).cloned()
    }

    fn by_path(&self, path: &str) -> Option<u32> {
        let agents = self.agents.borrow();
        agents.iter().find(|(_, row)| row.path == path).map(|(number, _)| *number)
    }

    fn by_key(&self, key: &str) -> Option<u32> {
        let agents = self.agents.borrow();
        agents.iter().find(|(_, row)| row.key() == key).map(|(number, _)| *number)
    }

    fn live(&self) -> Vec<u32> {
        let agents = self.agents.borrow();
        agents.iter().filter(|(_, row)| row.is_live()).map(|(number, _)| *number).collect()
    }

    fn writer_of(&self, file: &str) -> Option<u32> {
        self.files.borrow().get(file).copied()
    }

    fn paths(&self) -> Vec<String> {
        self.agents.borrow().values().map(|row| row.path.clone()).collect()
    }
}

impl Memory {
    fn new() -> Self {
        let spec = Arc::new(RunSpec { id: "run_t".into(), ..RunSpec::default() });
        let kind = EventKind::RunCreated { spec };
        let memory = Self::default();
        memory.log.borrow_mut().push(Event { v: 1, seq: 1, at: 100, by: By::Host, kind });
        *memory.run.borrow_mut() = RunRow { seq: 1, at: 100, ..RunRow::default() };
        memory
    }

    fn step<T>(&self, by: By, now: i64, work: impl FnOnce(&mut Desk<'_>) -> T) -> T {
        let run = self.run.borrow().clone();
        let mut desk = Desk::new(self, run, by, now);
        let value = work(&mut desk);
        let (run, agents, changed, events) = desk.finish();
        // Only what is said to have changed is written: the rest must be as it was.
        if changed.run || changed.shown {
            *self.run.borrow_mut() = run;
        } else {
            let mut stored = self.run.borrow_mut();
            (stored.seq, stored.at) = (run.seq, run.at);
        }
        self.agents.borrow_mut().extend(agents);
        self.files.borrow_mut().extend(changed.files);
        self.log.borrow_mut().extend(events);
        value
    }

    fn host(&self, who: &Who, input: Input) -> Answer {
        self.step(By::Host, 200, |desk| decide(desk, who, input))
    }

    fn tell(&self, verb: Verb, target: &str, text: Option<&str>) -> Result<(), String> {
        let target = match target {
            "all" => Target::All,
            path => Target::Agent(AgentPath::new(path)),
        };
        let direct = Command::Direct { verb, target, text: text.map(str::to_owned) };
        self.step(By::User, 300, |desk| command(desk, &direct)).map_err(|refusal| refusal.words.en)
    }

    fn send(&self, to: &str, text: &str) -> Result<(), String> {
        let send = Command::Send {
            to: Target::Agent(AgentPath::new(to)),
            from: "user".into(),
            text: text.into(),
            kind: MessageKind::Handoff,
        };
        self.step(By::User, 300, |desk| command(desk, &send)).map_err(|refusal| refusal.words.en)
    }

    fn row(&self, path: &str) -> AgentRow {
        self.agent(self.by_path(path).unwrap_or_else(|| panic!("no {path}: {:?}", self.paths()))).unwrap()
    }

    fn kinds(&self) -> Vec<String> {
        let log = self.log.borrow();
        log.iter().map(|event| serde_json::to_value(&event.kind).unwrap()["type"].to_string()).collect()
    }

    fn count(&self, kind: &str) -> usize {
        self.kinds().iter().filter(|found| found.contains(kind)).count()
    }

    /// The rows once more, from nothing but the log.
    fn refolded(&self) -> (RunRow, BTreeMap<u32, AgentRow>, BTreeMap<String, u32>) {
        let mut desk = Desk::new(&Nothing, RunRow::default(), By::Host, 0);
        for event in self.log.borrow().iter() {
            desk.fold(event);
        }
        let (run, agents, changed, _) = desk.finish();
        (run, agents, changed.files)
    }
}

fn session(session: &str) -> Who {
    Who { host: "claude".into(), session: session.into(), hears: true, ..Who::default() }
}

fn sub(session_id: &str, id: &str) -> Who {
    Who { subagent: Some(id.into()), agent_type: "general-purpose".into(), ..session(session_id) }
}

fn asks(call: &str) -> Input {
    let arguments = json!({"command": "ls"});
    Input::Asks { call: call.into(), tool: "Bash".into(), arguments, files: vec![], spawn: None }
}

fn spawns(call: &str, description: &str, prompt: &str) -> Input {
    let spawn = Spawn {
        agent_type: "general-purpose".into(),
        description: description.into(),
        prompt: prompt.into(),
    };
    let arguments = json!({"description": description});
    Input::Asks { call: call.into(), tool: "Agent".into(), arguments, files: vec![], spawn: Some(spawn) }
}

fn writes(file: &str) -> Input {
    let (tool, arguments) = ("Write".into(), json!({}));
    Input::Asks { call: "w".into(), tool, arguments, files: vec![file.into()], spawn: None }
}

fn stops(text: &str) -> Input {
    Input::Stopped { text: text.into(), background: Some(vec![]) }
}

/// A session with two subagents, `a` and `b`.
fn two() -> Memory {
    let memory = Memory::new();
    memory.host(&session("s"), spawns("c1", "a", "do a"));
    memory.host(&sub("s", "x1"), Input::SubagentStarted);
    memory.host(&session("s"), spawns("c2", "b", "do b\nDEPENDS_ON: a"));
    memory.host(&sub("s", "x2"), Input::SubagentStarted);
    memory
}

#[test]
fn a_spawn_makes_agents_with_the_names_people_gave_them() {
    let memory = two();
    assert_eq!(memory.paths(), ["main", "a", "b"]);
    let b = memory.row("b");
    assert_eq!(
        (b.role.as_str(), b.parent, b.after.as_slice()),
        ("general-purpose", Some(0), &["a".to_owned()][..])
    );
    assert_eq!(b.task, "do b\nDEPENDS_ON: a");
    assert!(memory.run.borrow().announced.is_empty());
    let run = Run::replay(memory.log.borrow().iter()).unwrap();
    let view = run.view(fugato_model::Lang::En);
    assert_eq!(view.agents.len(), 3);
    assert_eq!(view.agents[1].parent.as_deref(), Some("main"));
}

#[test]
fn agents_started_at_once_take_the_calls_of_their_kind_in_order() {
    let memory = Memory::new();
    memory.host(&session("s"), spawns("c1", "first", ""));
    memory.host(&session("s"), spawns("c2", "second", ""));
    memory.host(&sub("s", "x1"), asks("t"));
    let used = Input::Used {
        call: "c2".into(),
        tool: "Agent".into(),
        content: String::new(),
        is_error: false,
        whole: None,
        started: Some(("x2".into(), None)),
        spawn: None,
    };
    memory.host(&session("s"), used);
    assert_eq!(memory.row("first").origin.subagent.as_deref(), Some("x1"));
    assert_eq!(memory.row("second").origin.subagent.as_deref(), Some("x2"));
}

#[test]
fn a_pause_holds_and_then_denies_and_resume_says_nothing() {
    let memory = two();
    memory.tell(Verb::Pause, "all", None).unwrap();
    assert_eq!(memory.host(&sub("s", "x1"), asks("1")).guard, Guard::Hold);
    let held = |over| Input::Held { call: "1".into(), tool: "Bash".into(), patience_is_over: over };
    assert_eq!(memory.host(&sub("s", "x1"), held(false)).guard, Guard::Hold);
    assert_eq!(memory.host(&sub("s", "x1"), held(true)).guard, Guard::Deny(Denial::Paused));
    memory.tell(Verb::Resume, "a", None).unwrap();
    assert_eq!(memory.host(&sub("s", "x1"), asks("2")).guard, Guard::Open);
    assert_eq!(memory.host(&sub("s", "x2"), asks("3")).guard, Guard::Hold, "the others stay paused");
    assert_eq!(memory.row("a").acked, 2);
    // Whoever joins while all are paused is paused.
    assert_eq!(memory.host(&session("other"), asks("4")).guard, Guard::Hold);
    memory.tell(Verb::Resume, "all", None).unwrap();
    assert!(memory.tell(Verb::Resume, "all", None).unwrap_err().contains("nothing is paused"));
}

#[test]
fn who_is_cancelled_is_refused_for_ever_and_marked_at_once() {
    let memory = two();
    memory.tell(Verb::Cancel, "a", None).unwrap();
    assert!(memory.row("a").is_cancelled());
    for call in ["1", "2", "3"] {
        assert_eq!(memory.host(&sub("s", "x1"), asks(call)).guard, Guard::Deny(Denial::Cancelled));
    }
    assert_eq!((memory.count("directive.delivered"), memory.count("directive.applied")), (1, 1));
    assert_eq!(memory.host(&sub("s", "x2"), asks("4")).guard, Guard::Open);
    assert!(memory.tell(Verb::Resume, "a", None).unwrap_err().contains("finished"));
    memory.host(&sub("s", "x1"), Input::SubagentStopped { text: "DONE".into() });
    assert!(memory.row("a").is_cancelled(), "its own last words change nothing");
    memory.tell(Verb::Cancel, "main", None).unwrap();
    memory.host(&session("s"), Input::Prompted { prompt: "go on".into() });
    assert_eq!(memory.host(&session("s"), asks("5")).guard, Guard::Deny(Denial::Cancelled));
}

#[test]
fn cancel_all_ends_the_run_and_still_refuses() {
    let memory = two();
    memory.tell(Verb::Cancel, "all", None).unwrap();
    assert_eq!(memory.run.borrow().ended, Some(Outcome::Aborted));
    for who in [session("s"), sub("s", "x1"), sub("s", "x2")] {
        assert_eq!(memory.host(&who, asks("9")).guard, Guard::Deny(Denial::Cancelled));
    }
    assert!(memory.tell(Verb::Pause, "all", None).is_err());
}

#[test]
fn cancel_reaches_those_below() {
    let memory = two();
    memory.tell(Verb::Cancel, "main", None).unwrap();
    assert!(memory.row("a").is_cancelled() && memory.row("b").is_cancelled());
    assert_eq!(memory.run.borrow().ended, Some(Outcome::Aborted));
}

#[test]
fn a_redirect_denies_once_and_is_told_again_with_the_next_call() {
    let memory = two();
    assert!(memory.tell(Verb::Redirect, "a", Some(" ")).is_err());
    memory.tell(Verb::Redirect, "a", Some("old")).unwrap();
    memory.tell(Verb::Redirect, "a", Some("write the docs")).unwrap();
    assert_eq!(memory.count("directive.expired"), 1, "the older one never comes");
    let first = memory.host(&sub("s", "x1"), asks("1"));
    assert_eq!(first.guard, Guard::Deny(Denial::Redirected("write the docs".into())));
    let second = memory.host(&sub("s", "x1"), asks("2"));
    assert_eq!(second.guard, Guard::Open);
    assert!(second.context.last().unwrap().ends_with("write the docs"), "{second:?}");
    let third = memory.host(&sub("s", "x1"), asks("3"));
    assert_eq!((third.guard, third.context.len()), (Guard::Open, 0));
    assert!(memory.row("a").due.is_empty());
}

#[test]
fn a_redirect_keeps_an_agent_from_ending() {
    let memory = two();
    memory.tell(Verb::Redirect, "a", Some("one more thing")).unwrap();
    let answer = memory.host(&sub("s", "x1"), Input::SubagentStopped { text: "DONE".into() });
    assert!(answer.block.unwrap().ends_with("one more thing"));
    assert!(memory.row("a").is_live());
    let answer = memory.host(&sub("s", "x1"), Input::SubagentStopped { text: "DONE".into() });
    assert_eq!(answer.block, None);
    assert!(!memory.row("a").is_live());
}

#[test]
fn messages_are_told_once_in_order_and_a_full_inbox_says_so() {
    let memory = two();
    memory.send("a", "one").unwrap();
    memory.send("a", "two").unwrap();
    let deaf = Who { hears: false, ..sub("s", "x1") };
    assert!(memory.host(&deaf, asks("0")).context.is_empty());
    assert_eq!(memory.host(&sub("s", "x1"), asks("1")).context, ["one", "two"]);
    assert!(memory.host(&sub("s", "x1"), asks("2")).context.is_empty());
    memory.send("a", &"x".repeat(900_000)).unwrap();
    assert!(memory.send("a", &"y".repeat(200_000)).unwrap_err().contains("inbox full"));
    assert!(memory.send("ghost", "hello").unwrap_err().contains("available agents: main, a, b"));
}

#[test]
fn dependants_are_told_when_what_they_wait_for_is_done() {
    let memory = two();
    let told = memory.host(&sub("s", "x2"), asks("1"));
    assert!(told.context.is_empty(), "that it waits was told when it started");
    memory.host(&sub("s", "x1"), Input::SubagentStopped { text: "STATUS: DONE\nbuilt it".into() });
    let told = memory.host(&sub("s", "x2"), asks("2")).context.join("\n");
    assert!(told.contains("`a`, for which you wait, is DONE") && told.contains("go on"), "{told}");
    assert!(memory.run.borrow().waits.is_empty());
}

#[test]
fn two_agents_that_write_one_file_are_warned() {
    let memory = two();
    assert!(memory.host(&sub("s", "x1"), writes("/p/a.rs")).context.is_empty());
    memory.host(&sub("s", "x2"), Input::SubagentStarted);
    let told = memory.host(&sub("s", "x2"), writes("/p/a.rs")).context.join("");
    assert!(told.contains("written by agent `a`"), "{told}");
    assert_eq!(memory.count("agent.warned"), 1);
    memory.host(&sub("s", "x1"), Input::SubagentStopped { text: String::new() });
    memory.host(&sub("s", "x1"), writes("/p/b.rs"));
}

#[test]
fn a_run_ends_with_its_last_agent_and_leaves_no_ghosts() {
    let memory = two();
    memory.host(&sub("s", "x1"), Input::SubagentStopped { text: "BLOCKED".into() });
    let background = Input::Stopped { text: "wait".into(), background: Some(vec!["x2".into()]) };
    memory.host(&session("s"), background);
    assert_eq!(memory.run.borrow().ended, None, "one still works");
    memory.host(&session("s"), stops("DONE"));
    assert_eq!(memory.row("b").stopped, Some(Stopped::Failed), "the host does not know it any more");
    assert_eq!(memory.run.borrow().ended, Some(Outcome::Complete));
    let memory = two();
    memory.host(&session("s"), Input::SessionEnded { reason: "other".into() });
    assert_eq!((memory.run.borrow().live, memory.run.borrow().ended), (0, Some(Outcome::Aborted)));
    let memory = two();
    memory.host(&session("t"), asks("1"));
    memory.step(By::Engine, 1, |desk| lose(desk, |origin| origin.session == "s"));
    assert_eq!((memory.run.borrow().live, memory.run.borrow().ended), (1, None));
}

#[test]
fn what_was_only_put_aside_is_recorded_and_decides_nothing() {
    let memory = two();
    memory.tell(Verb::Pause, "a", None).unwrap();
    let late = Who { is_late: true, ..sub("s", "x1") };
    assert_eq!(memory.host(&late, asks("1")).guard, Guard::Open);
    assert_eq!(memory.count("directive.applied"), 0);
    assert_eq!(memory.count("tool.asked"), 3);
}

fn any_input() -> impl Strategy<Value = Input> {
    let word =
        || prop_oneof![Just(String::new()), Just("a".to_owned()), Just("DONE".to_owned()), "\\PC{0,12}"];
    let call = || (0..4u8).prop_map(|n| format!("c{n}"));
    prop_oneof![
        Just(Input::SessionStarted),
        word().prop_map(|prompt| Input::Prompted { prompt }),
        call().prop_map(|call| asks(&call)),
        (call(), word()).prop_map(|(call, text)| spawns(&call, &text, "DEPENDS_ON: a, b, zz")),
        (0..3u8).prop_map(|n| writes(&format!("/f{n}"))),
        (call(), any::<bool>()).prop_map(|(call, patience_is_over)| Input::Held {
            call,
            tool: "Bash".into(),
            patience_is_over
        }),
        (call(), proptest::option::of((0..3u8, proptest::option::of(word()))), any::<bool>()).prop_map(
            |(call, started, is_error)| {
                let started = started.map(|(n, last)| (format!("x{n}"), last));
                let (tool, content) = ("Agent".into(), String::new());
                Input::Used { call, tool, content, is_error, whole: None, started, spawn: None }
            }
        ),
        Just(Input::SubagentStarted),
        word().prop_map(|text| Input::SubagentStopped { text }),
        (
            word(),
            proptest::option::of(proptest::collection::vec((0..3u8).prop_map(|n| format!("x{n}")), 0..3))
        )
            .prop_map(|(text, background)| Input::Stopped { text, background }),
        word().prop_map(|reason| Input::SessionEnded { reason }),
        word().prop_map(|name| Input::Observed { name, payload: json!({"x": 1}) }),
    ]
}

/// What a call that knows the agent to be plain would record without a decision.
fn foreseen(memory: &Memory, who: &Who, input: &Input) -> Option<EventKind> {
    let agent = memory.by_key(&key_of(&who.host, &who.session, who.subagent.as_deref()))?;
    let is_plain = memory.run.borrow().ended.is_none() && memory.agent(agent)?.is_plain();
    let others = |file: &String| memory.writer_of(file).is_some_and(|by| by != agent);
    let is_contested = matches!(input, Input::Asks { files, .. } if files.iter().any(others));
    plain_event(agent, input).filter(|_| is_plain && !is_contested)
}

#[derive(Clone, Debug)]
enum Deed {
    Host(Box<(Who, Input)>),
    Tell(Verb, String, Option<String>),
    Send(String, String),
    Lose(u8),
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let who = (0..3u8, proptest::option::of(0..3u8), any::<bool>(), any::<bool>()).prop_map(
        |(s, x, hears, is_late)| Who {
            subagent: x.map(|x| format!("x{x}")),
            hears,
            is_late,
            ..session(&format!("s{s}"))
        },
    );
    let target =
        || prop_oneof![Just("all"), Just("main"), Just("a"), Just("agent"), Just("claude"), Just("zz")];
    let verb = prop_oneof![
        Just(Verb::Pause),
        Just(Verb::Resume),
        Just(Verb::Cancel),
        Just(Verb::Redirect),
        Just(Verb::Restart)
    ];
    prop_oneof![
        8 => (who, any_input()).prop_map(|call| Deed::Host(Box::new(call))),
        3 => (verb, target(), proptest::option::of("[a-z ]{0,5}"))
            .prop_map(|(verb, target, text)| Deed::Tell(verb, target.into(), text)),
        1 => (target(), "[a-z]{0,3}").prop_map(|(target, text)| Deed::Send(target.into(), text)),
        1 => (0..3u8).prop_map(Deed::Lose),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::tests::cases(120), ..ProptestConfig::default() })]
    #[test]
    fn rows_are_the_fold_of_the_log_whatever_happens(deeds in proptest::collection::vec(any_deed(), 0..50)) {
        let memory = Memory::new();
        for deed in deeds {
            match deed {
                Deed::Host(call) => {
                    let foreseen = foreseen(&memory, &call.0, &call.1);
                    let before = memory.log.borrow().len();
                    let answer = memory.host(&call.0, call.1);
                    if let Some(kind) = foreseen {
                        let log = memory.log.borrow();
                        prop_assert_eq!(log[before..].iter().map(|event| &event.kind).collect::<Vec<_>>(), vec![&kind]);
                        prop_assert_eq!((answer.guard, answer.context, answer.block), (Guard::Open, vec![], None));
                    }
                }
                Deed::Tell(verb, target, text) => drop(memory.tell(verb, &target, text.as_deref())),
                Deed::Send(to, text) => drop(memory.send(&to, &text)),
                Deed::Lose(n) => memory.step(By::Engine, 50, |desk| {
                    lose(desk, |origin| origin.session == format!("s{n}"));
                }),
            }
        }
        let (run, agents, files) = memory.refolded();
        prop_assert_eq!(&run, &*memory.run.borrow());
        prop_assert_eq!(&agents, &*memory.agents.borrow());
        prop_assert_eq!(&files, &*memory.files.borrow());
        let live = agents.values().filter(|row| row.is_live());
        prop_assert_eq!(live.clone().count(), run.live as usize);
        prop_assert_eq!(live.filter(|row| row.paused).count(), run.paused as usize);
        prop_assert!(run.ended.is_none() || run.live == 0, "a ghost");
        // One log, without gaps and never back in time; every directive has at most one end for each agent.
        let log = memory.log.borrow();
        prop_assert!(log.windows(2).all(|pair| pair[1].seq == pair[0].seq + 1 && pair[1].at >= pair[0].at));
        let ends = |kind: &EventKind| match kind {
            EventKind::DirectiveApplied { generation, agent }
            | EventKind::DirectiveExpired { generation, agent } => Some((*generation, *agent)),
            _ => None,
        };
        let mut seen = std::collections::BTreeSet::new();
        for end in log.iter().filter_map(|event| ends(&event.kind)) {
            prop_assert!(seen.insert(end), "{end:?} twice");
        }
        // The run as everybody else sees it agrees.
        let whole = Run::replay(log.iter()).unwrap();
        prop_assert_eq!(whole.agents.len(), agents.len());
        for (state, row) in whole.agents.iter().zip(agents.values()) {
            prop_assert_eq!(state.path.as_str(), row.path.as_str());
            let is_paused = state.is_live() && state.paused;
            prop_assert_eq!((state.is_live(), is_paused), (row.is_live(), row.paused), "{}", row.path);
        }
    }
}
