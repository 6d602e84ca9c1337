//! What each key leads to.

use super::sample::{
    BEGAN, RUN, all_news, answer_loads, card, drawn, ended, english, key, kinds, later_kinds, model, press,
    type_in,
};
use crate::render::Width;
use crate::tui::model::{Action, ActionEnd, Effect, Message, Model, Start, Unowned, View, What};
use crate::tui::modes::Mode;
use crate::tui::news::{Body, News, Who};
use crate::tui::watched::Card;
use fugato_engine::{AgentPath, Command, MessageKind, Target, Verb};
use fugato_model::{Exit, Lang, words};
use ratatui::crossterm::event::KeyCode;

fn told(effects: Vec<Effect>) -> Option<Command> {
    match effects.into_iter().next()? {
        Effect::Act(Action { what: What::Tell { command, .. }, .. }) => Some(command),
        _ => None,
    }
}

fn direct(verb: Verb, agent: &str, text: Option<&str>) -> Option<Command> {
    let target = if agent == "all" { Target::All } else { Target::Agent(AgentPath::new(agent)) };
    Some(Command::Direct { verb, target, text: text.map(str::to_owned) })
}

#[test]
fn every_intervention_needs_its_own_keys() {
    for (keys, expected) in [
        ("p", direct(Verb::Pause, "收集/研究员", None)),
        ("P", direct(Verb::Pause, "all", None)),
        ("x", None),
        ("xn", None),
        ("xy", direct(Verb::Cancel, "收集/研究员", None)),
        ("r", None),
        ("ry", direct(Verb::Restart, "收集/研究员", None)),
        ("X", None),
        ("Xy", None),
        ("Xyall", None),
        ("Xyal\n", None),
        ("Xn", None),
        ("Xyall\n", direct(Verb::Cancel, "all", None)),
        ("e\n", None),
        ("e改用蓝色", None),
        ("e改用蓝色\n", direct(Verb::Redirect, "收集/研究员", Some("改用蓝色"))),
        (
            "m你好\n",
            Some(Command::Send {
                to: Target::Agent(AgentPath::new("收集/研究员")),
                from: "user".into(),
                text: "你好".into(),
                kind: MessageKind::Handoff,
            }),
        ),
        (
            "Mhi\n",
            Some(Command::Send {
                to: Target::All,
                from: "user".into(),
                text: "hi".into(),
                kind: MessageKind::Handoff,
            }),
        ),
        ("i\n2", Some(Command::Answer { question: 0, answer: "轻松".into() })),
        ("i\n3用敬语\n", Some(Command::Answer { question: 0, answer: "用敬语".into() })),
    ] {
        let mut model = english();
        let effects: Vec<Effect> = keys
            .chars()
            .flat_map(|c| {
                if c == '\n' { press(&mut model, KeyCode::Enter) } else { model.update(Message::Key(key(c))) }
            })
            .collect();
        assert_eq!(told(effects), expected, "{keys}");
    }
}

#[test]
fn a_paused_agent_is_resumed_by_the_same_key() {
    let mut all = kinds();
    all.extend(later_kinds());
    let mut model = model(Lang::En, Width::Narrow, all);
    let effects = type_in(&mut model, "p");
    assert_eq!(told(effects), direct(Verb::Resume, "收集/研究员", None));
    assert_eq!(told(type_in(&mut model, "P")), direct(Verb::Resume, "all", None));
}

#[test]
fn escape_leaves_every_question_without_doing_anything() {
    for keys in ["x", "X", "Xy", "e说", "m说", "i\n", "i\n3说", "r", "?", "/abc"] {
        let mut model = english();
        for c in keys.chars() {
            if c == '\n' {
                press(&mut model, KeyCode::Enter);
            } else {
                model.update(Message::Key(key(c)));
            }
        }
        assert_ne!(model.mode, Mode::Normal, "{keys}");
        assert_eq!(press(&mut model, KeyCode::Esc), [], "{keys}");
        assert_eq!(model.mode, Mode::Normal, "{keys}");
    }
}

#[test]
fn a_run_that_is_over_takes_nothing_and_says_why() {
    let mut all = kinds();
    all.push(ended());
    for keys in ["p", "P", "x", "X", "r", "e", "m", "M", "c"] {
        let mut model = model(Lang::En, Width::Narrow, all.clone());
        assert_eq!(type_in(&mut model, keys), [], "{keys}");
        assert_eq!(model.mode, Mode::Normal, "{keys}");
        assert!(drawn(&mut model, 80, 24).contains("the run has ended (aborted)"), "{keys}");
    }
}

#[test]
fn a_run_without_an_owner_is_gone_on_with_and_answers_start_it() {
    let mut model = english();
    model.update(Message::Card(card("interrupted", false)));
    let effects = type_in(&mut model, "c");
    assert!(matches!(effects.as_slice(), [Effect::Act(Action { what: What::GoOn, .. })]));
    type_in(&mut model, "i");
    press(&mut model, KeyCode::Enter);
    let effects = type_in(&mut model, "1");
    let [Effect::Act(Action { what: What::Tell { unowned, .. }, .. })] = effects.as_slice() else { panic!() };
    assert_eq!(*unowned, Unowned::GoOn);
    assert!(drawn(&mut model, 80, 24).contains("interrupted"));
}

#[test]
fn what_becomes_of_an_action_is_said() {
    let mut model = english();
    type_in(&mut model, "p");
    assert!(drawn(&mut model, 80, 24).contains("sent: fugato intervene pause"));
    for (end, says) in [
        (ActionEnd::Applied, "applied: fugato intervene pause"),
        (ActionEnd::Recorded, "recorded, not taken yet"),
        (ActionEnd::Unowned, "nobody works on the run"),
        (
            ActionEnd::Refused(words!("agent `a` has finished", "代理 `a` 已结束")),
            "refused: agent `a` has finished",
        ),
        (ActionEnd::Failed(words!("the disk is full", "磁盘已满")), "failed: the disk is full"),
    ] {
        model.update(Message::Acted { id: 1, end });
        assert!(drawn(&mut model, 80, 24).contains(says), "{says}");
    }
    // A refusal is not in the log; it is in the list of interventions.
    model.update(Message::Acted { id: 1, end: ActionEnd::Refused(words!("it has finished", "已结束")) });
    type_in(&mut model, "7");
    assert!(drawn(&mut model, 100, 24).contains("recorded → refused: it has finished"));
    model.now += 60_000;
    model.update(Message::Tick);
    assert!(model.status.is_none());
}

#[test]
fn y_copies_the_command_of_what_is_seen_or_was_done() {
    let mut model = english();
    let copied = |model: &mut Model| match type_in(model, "y").as_slice() {
        [Effect::Copy(line)] => line.clone(),
        other => panic!("{other:?}"),
    };
    for (view, line) in [
        ("1", format!("fugato runs show {RUN}")),
        ("t", format!("fugato trace {RUN}")),
        ("4", format!("fugato events {RUN} --follow")),
        ("6", format!("fugato answer {RUN} --question 0 TEXT")),
    ] {
        model.status = None;
        type_in(&mut model, view);
        assert_eq!(copied(&mut model), line);
    }
    model.status = None;
    type_in(&mut model, "1p");
    assert_eq!(copied(&mut model), format!("fugato intervene pause 收集/研究员 --run {RUN}"));
}

#[test]
fn the_page_of_an_agent_is_read_from_the_log_and_then_follows() {
    let mut model = english();
    let effects = press(&mut model, KeyCode::Enter);
    assert!(matches!(effects.as_slice(), [Effect::Load { .. }]), "{effects:?}");
    assert_eq!(model.view, View::Agent);
    answer_loads(&mut model, &effects, &all_news(kinds()));
    let page = drawn(&mut model, 80, 24);
    assert!(page.contains("读一读今天的日程") && page.contains("原文.txt"), "{page}");
    // Nothing of a hostile text reaches the terminal as it is.
    assert!(page.contains("\\u{1b}[2J\\u{202e}") && !page.contains('\u{1b}'), "{page}");
    let seq = u64::try_from(kinds().len()).unwrap() + 1;
    let completed = fugato_engine::EventKind::ToolCompleted {
        agent: 0,
        step: 1,
        index: 0,
        content: "两人把落花埋进花冢".into(),
        is_error: false,
    };
    let news = vec![crate::tui::news::samples::news(seq, BEGAN + 20_000, completed)];
    model.update(Message::News { run: RUN.into(), news });
    assert!(drawn(&mut model, 80, 24).contains("两人把落花埋进花冢"));
    press(&mut model, KeyCode::Esc);
    assert_eq!(model.view, View::Board);
}

#[test]
fn kinds_of_events_that_nobody_knows_are_shown_and_harm_nothing() {
    let mut model = english();
    let seq = u64::try_from(kinds().len()).unwrap() + 1;
    let body = Body::Raw(r#"{"kind":{"type":"agent.levitated","agent":0,"height":3}}"#.into());
    let agent = Some(Who::Number(0));
    let unknown = News { seq, at: BEGAN, kind: "agent.levitated".into(), agent, node: None, body };
    model.update(Message::News { run: RUN.into(), news: vec![unknown] });
    type_in(&mut model, "4");
    assert!(drawn(&mut model, 120, 24).contains("agent.levitated"));
    // What an agent outside reports at its end, by its name.
    let mut all = kinds();
    all.push(fugato_engine::EventKind::AgentStopped {
        agent: 0,
        verdict: fugato_engine::Verdict::Answered { text: "BLOCKED".into() },
    });
    let mut model = super::sample::model(Lang::En, Width::Narrow, all);
    let body = Body::Raw(r#"{"kind":{"type":"directive.expired","generation":1,"agent":0}}"#.into());
    let agent = Some(Who::Number(0));
    let late = News { seq: 99, at: BEGAN, kind: "directive.expired".into(), agent, node: None, body };
    model.update(Message::News { run: RUN.into(), news: vec![late] });
    type_in(&mut model, "7");
    drawn(&mut model, 80, 24);
}

#[test]
fn a_filter_narrows_the_board_the_events_and_the_runs() {
    let mut model = english();
    type_in(&mut model, "/critic");
    let board = drawn(&mut model, 80, 24);
    assert!(board.contains("收集/critic") && !board.contains("收集/日历"), "{board}");
    press(&mut model, KeyCode::Enter);
    press(&mut model, KeyCode::Esc);
    assert!(drawn(&mut model, 80, 24).contains("收集/日历"));
    type_in(&mut model, "4/日历");
    let events = drawn(&mut model, 80, 24);
    assert!(events.contains("收集/日历") && !events.contains("收集/critic"), "{events}");
    press(&mut model, KeyCode::Esc);
    type_in(&mut model, "0/nothing like it");
    assert!(drawn(&mut model, 80, 24).contains("no run fits"));
}

#[test]
fn it_begins_with_the_only_run_at_work_or_with_the_list() {
    let other = |id: &str, is_live: bool| Card { id: id.into(), is_live, ..Card::default() };
    let first = |cards: Vec<Card>| {
        let mut model = Model::new(Lang::En, Width::Narrow, Start::Choose);
        let effects = model.update(Message::Runs(cards));
        (effects, model.view)
    };
    let watch = |id: &str| (vec![Effect::Watch { run: id.into() }], View::Board);
    assert_eq!(first(Vec::new()), (Vec::new(), View::Runs));
    assert_eq!(first(vec![other("a", false)]), watch("a"));
    assert_eq!(first(vec![other("a", false), other("b", false)]), (Vec::new(), View::Runs));
    assert_eq!(first(vec![other("a", false), other("b", true)]), watch("b"));
    assert_eq!(first(vec![other("a", true), other("b", true)]), (Vec::new(), View::Runs));
    // A run that begins while nothing was there.
    let mut model = Model::new(Lang::En, Width::Narrow, Start::Choose);
    model.update(Message::Runs(Vec::new()));
    assert!(drawn(&mut model, 80, 24).contains("fugato demo"));
    assert_eq!(model.update(Message::Runs(vec![other("a", true)])), [Effect::Watch { run: "a".into() }]);
}

#[test]
fn quitting_removing_and_unreadable_stores() {
    let mut model = english();
    assert_eq!(type_in(&mut model, "q"), [Effect::Quit(Exit::Ok)]);
    model.update(Message::Trouble(words!("the database is damaged", "数据库已损坏")));
    assert!(drawn(&mut model, 80, 24).contains("the database is damaged"));
    model.update(Message::Gone { run: RUN.into() });
    assert_eq!(model.view, View::Runs);
    assert!(drawn(&mut model, 80, 24).contains("was removed"));
}

#[test]
fn a_log_that_was_heard_twice_counts_once() {
    let mut model = english();
    let before = drawn(&mut model, 80, 24);
    model.update(Message::News { run: RUN.into(), news: all_news(kinds()) });
    assert_eq!(drawn(&mut model, 80, 24), before);
}
