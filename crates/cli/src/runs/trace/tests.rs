//! Whole charts, compared line by line.

use super::bars::*;
use super::chart::*;
use crate::render::Width;
use crate::render::canvas::strings;
use fugato_engine::{
    AgentPath, Asked, By, Event, EventKind, Outcome, Plan, PlanNode, Report, Run, RunSpec, SkillPin, Verdict,
    Work,
};
use fugato_model::{Lang, words};
use serde_json::Value;

fn chart(columns: usize) -> Chart {
    Chart { lang: Lang::En, width: Width::Narrow, columns, nodes: 40, steps: Steps::All }
}

fn drawn(chart: &Chart, trace: &Trace) -> Vec<String> {
    let strip = |line: &String| anstream::adapter::strip_str(line).to_string();
    strings(&chart.draw(trace)).iter().map(strip).collect()
}

fn node(id: &str) -> PlanNode {
    PlanNode {
        id: id.into(),
        phase: 0,
        after: Vec::new(),
        work: Work::Noop,
        output: None,
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    }
}

/// The trace of a log over these nodes.
fn trace(nodes: &[&str], log: Vec<(i64, EventKind)>) -> Trace {
    let spec = RunSpec {
        id: "run_1".into(),
        skill: SkillPin { name: "s".into(), dir: "/s".into(), digest: None },
        title: "s".into(),
        plan: Plan { phases: Vec::new(), nodes: nodes.iter().map(|id| node(id)).collect() },
        model: "script:/a/model.yaml".into(),
        ..RunSpec::default()
    };
    let created = EventKind::RunCreated { spec: std::sync::Arc::new(spec) };
    let events: Vec<Event> = std::iter::once((1000, created))
        .chain(log)
        .zip(1u64..)
        .map(|((at, kind), seq)| Event { v: 1, seq, at, by: By::Engine, kind })
        .collect();
    Trace::of(&events, &Run::replay(&events).unwrap())
}

fn started(node: u32) -> EventKind {
    EventKind::NodeStarted { node, attempt: 1, arguments: None }
}

fn completed(node: u32) -> EventKind {
    EventKind::NodeCompleted { node, value: Value::Null, warnings: Vec::new() }
}

fn ended() -> EventKind {
    EventKind::RunEnded { outcome: Outcome::Complete, reason: words!("done", "完成"), result: None }
}

#[test]
fn bars_begin_and_end_where_they_did_and_chinese_names_line_up() {
    let trace = trace(
        &["写作/简报", "b"],
        vec![
            (1000, started(0)),
            (1500, completed(0)),
            (1500, started(1)),
            (2000, completed(1)),
            (2000, ended()),
        ],
    );
    let expected = "
           0         500 ms   1.0 s
           ┬─────────┬────────┬
写作/简报  ██████████               500 ms
b                    ██████████     500 ms

█ at work";
    assert_eq!(drawn(&chart(42), &trace).join("\n"), expected.trim_start_matches('\n'));
}

#[test]
fn a_run_of_one_event_and_one_that_has_not_started_anything_are_fine() {
    assert_eq!(drawn(&chart(60), &trace(&["a"], vec![])), ["nothing has started yet"]);
    let one = trace(&["a"], vec![(1000, started(0))]);
    assert_eq!(one.bars.len(), 1);
    let lines = drawn(&chart(60), &one);
    assert!(lines.iter().any(|line| line.starts_with("a  █") && line.contains("0 ms")), "{lines:?}");
}

fn joins(id: &str, number: u32, parent: Option<u32>) -> [EventKind; 2] {
    let started = EventKind::AgentStarted {
        agent: AgentPath::new(id),
        node: None,
        agent_type: "claude".into(),
        access: fugato_engine::Access::ReadWrite,
        model: String::new(),
        system: String::new(),
        prompt: "p".into(),
        delegated: None,
    };
    let joined = EventKind::AgentJoined {
        agent: number,
        origin: std::sync::Arc::default(),
        parent,
        call: String::new(),
        description: String::new(),
        after: Vec::new(),
    };
    [started, joined]
}

#[test]
fn agents_outside_are_at_work_until_they_end_and_end_in_their_own_word() {
    let stopped = |agent, text: &str| EventKind::AgentStopped {
        agent,
        verdict: Verdict::Answered { text: text.into() },
    };
    let mut log: Vec<(i64, EventKind)> = joins("main", 0, None).map(|kind| (1000, kind)).into();
    log.extend(joins("builder", 1, Some(0)).map(|kind| (1100, kind)));
    let call = |at, kind| (at, kind);
    let (tool, words) = ("Bash".to_owned(), String::new());
    let asked = EventKind::ToolAsked {
        agent: 1,
        call: "c".into(),
        tool: tool.clone(),
        arguments: Value::Null,
        files: Vec::new(),
    };
    let answered = EventKind::ToolAnswered {
        agent: 1,
        call: "c".into(),
        tool,
        content: words,
        is_error: false,
        whole: None,
    };
    log.extend([call(1200, asked), call(1300, answered)]);
    log.push((1400, EventKind::AgentReported { agent: 1, report: Report::Blocked }));
    log.push((1400, stopped(1, "BLOCKED")));
    let states = |trace: &Trace| -> Vec<(String, State, Option<i64>)> {
        trace.bars.iter().map(|bar| (bar.id.clone(), bar.state, bar.end)).collect()
    };
    let open = trace(&[], log.clone());
    assert_eq!(
        states(&open),
        [("main".into(), State::Running, None), ("↳ builder".into(), State::Blocked, Some(1400))]
    );
    assert!(
        drawn(&chart(80), &open).iter().any(|line| line.contains("main") && line.ends_with("not finished"))
    );
    assert_eq!(
        open.bars[1].steps,
        [Step { kind: StepKind::Tool, label: "Bash".into(), start: 1200, end: Some(1300), failed: false }]
    );
    // It ends well, and so does the run; somebody has it go on.
    log.push((1500, stopped(0, "all done")));
    let again = EventKind::AgentContinued { agent: 0, node: None, prompt: "more".into(), delegated: None };
    log.extend([(1600, again), (1700, stopped(0, "done again")), (1700, ended())]);
    let over = trace(&[], log);
    assert_eq!(
        states(&over),
        [
            ("main".into(), State::Done, Some(1500)),
            ("↳ builder".into(), State::Blocked, Some(1400)),
            ("main".into(), State::Done, Some(1700))
        ]
    );
    let lines = drawn(&chart(80), &over);
    assert!(!lines.iter().any(|line| line.contains("stopped")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("builder") && line.ends_with("blocked")), "{lines:#?}");
}

#[test]
fn a_clock_that_goes_back_gives_no_negative_bar() {
    let log = vec![
        (5000, started(0)),
        (200, completed(0)),
        (300, started(1)),
        (5100, completed(1)),
        (5100, ended()),
    ];
    let trace = trace(&["a", "b"], log);
    assert!(trace.bars.iter().all(|bar| bar.end.unwrap() >= bar.start), "{trace:?}");
    assert_eq!((trace.from, trace.to), (1000, 5100));
    drawn(&chart(40), &trace);
}

#[test]
fn the_time_of_a_person_and_of_nobody_is_told_apart_and_a_resume_is_a_line() {
    let about = Asked::Uncertain { node: 0 };
    let asked = EventKind::InputRequested { question: 0, about, text: "?".into(), options: vec![] };
    let log = vec![
        (1000, started(0)),
        (1100, started(1)),
        (1200, asked),
        (1400, EventKind::RunRecovered { epoch: 2 }),
        (1600, EventKind::InputAnswered { question: 0, answer: "done".into() }),
        (1800, completed(0)),
        (2000, completed(1)),
        (2000, ended()),
    ];
    let expected = "
   0          500 ms    1.0 s
   ┬───────│──┬─────────┬
a  ████░░░░░░░░░░████         800 ms
b    ██·····█████████████     900 ms

█ at work   ░ waiting for you
· nobody at work   │ resumed";
    let trace = trace(&["a", "b"], log);
    assert_eq!(drawn(&chart(36), &trace).join("\n"), expected.trim_start_matches('\n'), "{trace:?}");
}

#[test]
fn a_day_of_waiting_does_not_press_the_work_into_one_column() {
    let day = 86_400_000;
    let log = vec![
        (1000, started(0)),
        (2000, completed(0)),
        (2000 + day, started(1)),
        (3000 + day, completed(1)),
        (3000 + day, ended()),
    ];
    let lines = drawn(&chart(60), &trace(&["a", "b"], log));
    let cells = |line: &String| line.chars().filter(|c| *c == '█').count();
    assert!(cells(&lines[2]) > 10 && cells(&lines[3]) > 10, "{}", lines.join("\n"));
    assert!(lines[0].contains("1 d 00 h") && lines[1].contains('/'), "{}", lines.join("\n"));
}

#[test]
fn ten_thousand_nodes_are_folded_and_what_matters_is_shown() {
    let ids: Vec<String> = (0..10_000).map(|n| format!("n{n}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut log = Vec::new();
    for n in 0..10_000u32 {
        let at = 1000 + i64::from(n);
        log.push((at, started(n)));
        if n != 5000 {
            log.push((at + i64::from(n % 7), completed(n)));
        }
    }
    let trace = trace(&names, log);
    let lines = drawn(&chart(80), &trace);
    assert!(lines.len() < 100, "{}", lines.len());
    assert!(
        lines.iter().any(|line| line.starts_with("n5000 ") && line.contains("not finished")),
        "{lines:?}"
    );
    let folded: usize = lines
        .iter()
        .filter_map(|line| line.trim().strip_prefix('+')?.split(' ').next()?.parse::<usize>().ok())
        .sum();
    assert_eq!(folded, 10_000 - 40);
    assert_eq!(drawn(&Chart { nodes: usize::MAX, ..chart(80) }, &trace).len(), 10_000 + 4);
}

#[test]
fn every_line_fits_every_terminal() {
    let trace = trace(
        &["写作/一个非常长的中文节点名称用来测试宽度", "b"],
        vec![(1000, started(0)), (1500, completed(0)), (1500, started(1))],
    );
    for columns in 20..140 {
        for (width, lang) in [(Width::Narrow, Lang::En), (Width::Wide, Lang::Zh)] {
            for line in drawn(&Chart { width, lang, ..chart(columns) }, &trace) {
                assert!(
                    !line.ends_with("    …"),
                    "a column that does not fit is left out: {columns}: {line}"
                );
                assert!(width.of(&line) <= columns, "{columns}: {line}");
            }
        }
    }
}
