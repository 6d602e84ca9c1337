use super::*;
use fugato_model::Words;
use fugato_runtime::exports::{AgentWord, RunWord};
use fugato_runtime::view::{AgentReceipt, EventRow};

const NOW: i64 = 1_700_000_000_000;

fn event(agent: &str, seq: u64, text: &str) -> EventRow {
    EventRow {
        seq,
        at: Some(NOW - 1000),
        agent: agent.into(),
        kind: "text".into(),
        message: Words { en: text.into(), zh: text.into() },
    }
}

fn agent(id: &str, role: &str, status: AgentWord) -> AgentRow {
    let is_finished = matches!(status, AgentWord::Done);
    AgentRow {
        id: id.into(),
        role: role.into(),
        task: String::new(),
        status,
        phase: String::new(),
        started_at: Some(NOW - 65_000),
        completed_at: is_finished.then_some(NOW - 5_000),
        last_event: Some(event(id, 7, "读取 a|b")),
        last_heartbeat: None,
        acked_generation: 0,
        unread: 0,
    }
}

fn four() -> Overview {
    let dependencies =
        [("reviewer", vec!["builder"]), ("integrator", vec!["reviewer"]), ("tester", vec!["builder"])];
    Overview {
        id: "run_1".into(),
        title: None,
        status: RunWord::Running,
        reason: None,
        started_at: Some(NOW - 3_725_000),
        updated_at: Some(NOW),
        seq: 9,
        generation: 0,
        agents: vec![
            agent("builder", "构建者", AgentWord::Running),
            agent("reviewer", "审校者", AgentWord::Paused),
            agent("integrator", "集成者", AgentWord::Pending),
            agent("tester", "测试者", AgentWord::Done),
        ],
        dependencies: dependencies
            .into_iter()
            .map(|(id, on)| (id.to_owned(), on.into_iter().map(str::to_owned).collect()))
            .collect(),
        events: (0..5).map(|n| event("builder", 9 - n, "长".repeat(70).as_str())).collect(),
        interventions: Vec::new(),
        unreadable: 0,
    }
}

fn layout(columns: Option<usize>) -> Layout {
    Layout { lang: Lang::En, width: Width::Narrow, columns, most: Some(29) }
}

#[test]
fn four_agents_with_chinese_roles_fit_and_look_as_the_original_says() {
    let view = four();
    let text = lines(&view, None, NOW, &layout(None)).join("\n");
    let cut = "长".repeat(59);
    let event = format!("- [2023-11-14T22:13:19Z] builder: {cut}…");
    let expected = format!(
        "## Orchestration Dashboard
- **Run ID**: run_1
- **Status**: running
- **Elapsed**: 1h 2m
- **Agents**: 1 / 4 active

| Agent | Role | Status | Elapsed | Last Event |
|-------|------|--------|---------|------------|
| builder | 构建者 | running | 1m 5s | 读取 a\\|b |
| reviewer | 审校者 | paused | 1m 5s | 读取 a\\|b |
| integrator | 集成者 | pending | 1m 5s | 读取 a\\|b |
| tester | 测试者 | done | 1m 0s | 读取 a\\|b |

### Dependency Graph
builder ──→ reviewer ──→ integrator
builder ──→ tester

### Recent Events (last 5 across all agents)
{event}
{event}
{event}
{event}
{event}

### User Interventions
none"
    );
    assert_eq!(text, expected);
}

#[test]
fn a_terminal_gets_aligned_columns_also_where_chinese_is_two_cells_wide() {
    for width in [Width::Narrow, Width::Wide] {
        let drawn = lines(&four(), None, NOW, &Layout { width, ..layout(Some(70)) });
        let table: Vec<&String> = drawn.iter().filter(|line| line.starts_with('|')).collect();
        assert!(table.iter().all(|line| width.of(line) == width.of(table[0])), "{table:#?}");
        assert!(drawn.iter().all(|line| width.of(line) <= 70), "{drawn:#?}");
        assert!(table[0].starts_with("| Agent      | Role   | Status  | Elapsed | Last Event"), "{table:#?}");
    }
}

#[test]
fn whatever_the_size_there_are_at_most_29_lines_and_all_agents_are_accounted_for() {
    let changes = Changes::default();
    for (running, done, edges) in [(0, 0, 0), (3, 10, 0), (40, 0, 3), (2, 500, 60), (30, 30, 30), (0, 29, 29)]
    {
        let mut view = four();
        view.agents = (0..running).map(|n| agent(&format!("r{n}"), "r", AgentWord::Running)).collect();
        view.agents.extend((0..done).map(|n| agent(&format!("d{n}"), "d", AgentWord::Done)));
        view.dependencies = (0..edges).map(|n| (format!("x{n}"), vec![format!("y{n}")])).collect();
        let told = |generation| Intervention {
            generation: Some(generation),
            at: None,
            action: "pause".into(),
            target: "all".into(),
            message: String::new(),
            receipts: Vec::new(),
        };
        view.interventions = (1..=8).rev().map(told).collect();
        for changes in [None, Some(&changes)] {
            let drawn = lines(&view, changes, NOW, &layout(None));
            assert!(drawn.len() <= 29, "{} lines: {drawn:#?}", drawn.len());
            let rows = drawn.iter().filter(|line| line.starts_with("| ")).count() - 1;
            let folded = drawn
                .iter()
                .find_map(|line| line.strip_prefix("| +")?.split(' ').next()?.parse::<usize>().ok());
            let seen = rows - usize::from(folded.is_some()) + folded.unwrap_or(0);
            assert_eq!(seen, running + done, "{drawn:#?}");
            let events = drawn.iter().filter(|line| line.starts_with("- [2023")).count();
            assert!((3..=5).contains(&events));
            if running <= 8 {
                assert!(
                    (0..running).all(|n| drawn.iter().any(|line| line.starts_with(&format!("| r{n} ")))),
                    "{drawn:#?}"
                );
            }
        }
        let all = lines(&view, None, NOW, &Layout { most: None, ..layout(None) });
        assert!(all.len() > running + done + edges);
    }
}

#[test]
fn the_fold_is_blank_lines_then_finished_agents_then_edges_then_events() {
    let mut view = four();
    view.agents.extend((0..4).map(|n| agent(&format!("d{n}"), "d", AgentWord::Done)));
    let drawn = lines(&view, None, NOW, &layout(None));
    assert!(
        !drawn.contains(&String::new()) && drawn.iter().any(|line| line.starts_with("| d3")),
        "{drawn:#?}"
    );
    view.agents.extend((4..20).map(|n| agent(&format!("d{n}"), "d", AgentWord::Done)));
    let drawn = lines(&view, None, NOW, &layout(None));
    assert!(drawn.iter().any(|line| line.contains(" more | ") && line.contains("done")), "{drawn:#?}");
    assert!(drawn.contains(&"builder ──→ tester".to_owned()));
    assert_eq!(drawn.iter().filter(|line| line.starts_with("- [2023")).count(), 5);
    assert_eq!(drawn.len(), 29);
}

#[test]
fn directives_say_how_far_they_have_come_and_hostile_text_is_made_harmless() {
    let mut view = four();
    let why = Some(Words { en: "agent `x` is running, not paused".into(), zh: "正在运行".into() });
    let receipt = |agent: Option<&str>, state, why| AgentReceipt {
        agent: agent.map(str::to_owned),
        state,
        at: None,
        why,
    };
    view.interventions = vec![
        Intervention {
            generation: Some(2),
            at: None,
            action: "resume".into(),
            target: "x".into(),
            message: String::new(),
            receipts: vec![receipt(None, ReceiptState::Refused, why)],
        },
        Intervention {
            generation: Some(1),
            at: None,
            action: "redirect".into(),
            target: "builder".into(),
            message: "改成\u{1b}[31m 红\n色".into(),
            receipts: vec![receipt(Some("builder"), ReceiptState::Delivered, None)],
        },
    ];
    view.agents[0].role = "a\u{202e}b\n|c".into();
    view.agents[0].last_event = None;
    view.status = RunWord::Interrupted;
    view.reason = Some(Words {
        en: "its process (pid 7) is gone".into(),
        zh: "其进程（pid 7）已不存在".into(),
    });
    let drawn = lines(&view, None, NOW, &layout(None));
    for wanted in [
        "- **Status**: interrupted (its process (pid 7) is gone)",
        "- [2] resume x: refused: agent `x` is running, not paused",
        "- [1] redirect builder \"改成\\u{1b}[31m 红 色\": delivered",
        "| builder | a\\u{202e}b \\|c | running | 1m 5s | (silent for 1m 5s) no events yet |",
    ] {
        assert!(drawn.iter().any(|line| line == wanted), "{wanted}: {drawn:#?}");
    }
    assert!(!drawn.concat().contains('\u{1b}'));
}

#[test]
fn time_is_minutes_and_seconds_and_from_an_hour_on_hours_and_minutes() {
    for (ms, text) in [
        (-5, "0m 0s"),
        (59_999, "0m 59s"),
        (3_599_000, "59m 59s"),
        (3_600_000, "1h 0m"),
        (90_061_000, "25h 1m"),
    ] {
        assert_eq!(elapsed(ms), text);
    }
}

#[test]
fn an_agent_that_is_silent_is_said_to_be() {
    let mut view = four();
    if let Some(event) = &mut view.agents[0].last_event {
        event.at = Some(NOW - 125_000);
    }
    let drawn = lines(&view, None, NOW, &layout(None));
    assert!(drawn.iter().any(|line| line.contains("(silent for 2m 5s) 读取")), "{drawn:#?}");
}
