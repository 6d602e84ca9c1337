//! The board over made-up time: what it says, that it fits, and when it speaks up.

use super::*;
use fugato_engine::{AgentPath, By, EffectClass, Plan, PlanNode, RunSpec, SkillPin};
use fugato_model::chat::ToolCall;
use serde_json::Value;

/// A run whose log is told to a board event by event.
struct Told {
    run: Run,
    board: Board,
}

fn told(nodes: &[&str]) -> Told {
    let node = |id: &&str| PlanNode {
        id: (*id).to_owned(),
        phase: 0,
        after: Vec::new(),
        work: Work::Noop,
        output: None,
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    };
    let spec = RunSpec {
        id: "run_1".into(),
        skill: SkillPin { name: "s".into(), dir: "/s".into(), digest: None },
        title: "s".into(),
        plan: Plan { phases: Vec::new(), nodes: nodes.iter().map(node).collect() },
        model: "anthropic/m".into(),
        ..RunSpec::default()
    };
    let kind = EventKind::RunCreated { spec: std::sync::Arc::new(spec) };
    let run = Run::created(&Event { v: 1, seq: 1, at: 0, by: By::User, kind }).unwrap();
    let board = Board::new(&run, 0);
    Told { run, board }
}

impl Told {
    fn tell(&mut self, now: i64, kind: EventKind) {
        let event = Event { v: 1, seq: self.run.seq + 1, at: now, by: By::Engine, kind };
        self.run.apply(&event);
        self.board.event(&event, &self.run, now);
    }

    /// Node `node` is started with an agent that thinks.
    fn thinks(&mut self, now: i64, node: u32, path: &str) {
        self.tell(now, EventKind::NodeStarted { node, attempt: 1, arguments: None });
        let agent = u32::try_from(self.run.agents.len()).unwrap();
        self.tell(
            now,
            EventKind::AgentStarted {
                agent: AgentPath::new(path),
                node: Some(node),
                agent_type: "explore".into(),
                access: fugato_engine::Access::ReadOnly,
                model: "anthropic/m".into(),
                system: String::new(),
                prompt: String::new(),
                delegated: None,
            },
        );
        self.tell(
            now,
            EventKind::ModelRequested {
                agent,
                step: 1,
                purpose: Default::default(),
                reserve: Default::default(),
                max_tokens: None,
            },
        );
    }

    fn lines(&self, now: i64, columns: usize, rows: usize, width: Width) -> Vec<String> {
        let screen = Screen { lang: Lang::En, width, columns, rows };
        let lines = self.board.lines(now, &self.run, screen);
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }
}

#[test]
fn each_line_says_who_does_what_for_how_long_and_the_last_words() {
    let mut told = told(&["setup/指令", "gather/write", "later"]);
    told.thinks(0, 0, "setup/指令");
    told.thinks(500, 1, "gather/write");
    told.board.live("setup/指令", "第一行\n然后看看 \u{1b}[2J文件", 900);
    let call =
        ToolCall { id: "1".into(), name: "Bash".into(), arguments: serde_json::json!({"command": "ls"}) };
    told.tell(1000, EventKind::ToolRequested { agent: 1, step: 1, index: 0, call, class: EffectClass::Once });
    let lines = told.lines(2500, 80, 24, Width::Narrow);
    let expected = [
        r"▸ setup/指令    thinking     2.5 s         然后看看 \u{1b}[2J文件",
        r#"▸ gather/write  tool Bash    2.0 s         {"command":"ls"}"#,
        "⠴ 2 running, 1 queued, 0/3 done, 2.5 s",
    ];
    assert_eq!(lines, expected);
    told.tell(
        3000,
        EventKind::ToolCompleted { agent: 1, step: 1, index: 0, content: String::new(), is_error: false },
    );
    told.tell(3000, EventKind::NodeCompleted { node: 0, value: Value::Null, warnings: Vec::new() });
    assert_eq!(told.lines(3000, 80, 24, Width::Narrow)[1], "⠋ 1 running, 1 queued, 1/3 done, 3.0 s");
    let reason = words!("429 Too Many Requests", "请求过多");
    told.board.retry("gather/write", 30_000, &reason, 3000);
    assert!(told.lines(4000, 80, 24, Width::Narrow)[0].contains("retry in 29.0 s"));
}

#[test]
fn no_line_ever_reaches_the_edge_of_the_screen_and_many_are_counted() {
    let ids: Vec<String> = (0..200).map(|n| format!("一个阶段/名字很长的代理{n}")).collect();
    let mut told = told(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    for (node, id) in (0u32..).zip(&ids) {
        told.thinks(0, node, id);
        told.board.live(id, &"很长的文本".repeat(500), 10);
    }
    for width in [Width::Narrow, Width::Wide] {
        for (columns, rows) in [(1, 1), (5, 3), (20, 10), (80, 24), (200, 50)] {
            let lines = told.lines(99_000, columns, rows, width);
            assert!(lines.len() <= rows.max(3), "{columns}x{rows}: {lines:?}");
            for line in &lines {
                assert!(columns < 20 || width.of(line) < columns, "{columns}: {line}");
            }
        }
    }
    assert!(told.lines(0, 80, 24, Width::Narrow).contains(&"  +189 more at work".to_owned()));
    told.tell(
        1,
        EventKind::RunEnded {
            outcome: fugato_engine::Outcome::Complete,
            reason: words!("d", "完"),
            result: None,
        },
    );
    assert_eq!(told.lines(1, 80, 24, Width::Narrow), Vec::<String>::new());
}

#[test]
fn a_minute_of_silence_is_told_once_with_its_reason_and_any_sign_of_life_ends_it() {
    let mut told = told(&["a", "b"]);
    told.thinks(0, 0, "a");
    assert_eq!(told.board.stalls(59_999), []);
    let stalls = told.board.stalls(75_000);
    assert_eq!(stalls.len(), 1);
    assert_eq!(
        stalls[0].en,
        "a: nothing heard for 1 m 15 s; waiting for the model anthropic/m since 1 m 15 s"
    );
    assert_eq!(told.board.stalls(90_000), []);
    told.board.live("a", "x", 100_000);
    assert_eq!(told.board.stalls(150_000), []);
    assert_eq!(told.board.stalls(160_000).len(), 1);
    told.board.retry("a", 60_000, &words!("429", "429"), 170_000);
    assert!(told.board.stalls(231_000)[0].en.contains("asked again: 429"));
    let about = Asked::Agent { agent: 0, step: 1, index: 0 };
    told.tell(300_000, EventKind::InputRequested { question: 0, about, text: "?".into(), options: vec![] });
    assert_eq!(told.board.stalls(900_000), [], "a person may take as long as they like");
}

#[test]
fn a_sign_of_life_names_the_one_who_takes_longest() {
    let mut told = told(&["a", "b"]);
    assert_eq!(told.board.heartbeat(10_000), None);
    told.thinks(0, 0, "a");
    told.thinks(5000, 1, "b");
    assert_eq!(told.board.heartbeat(12_000).unwrap().en, "… a: thinking, 12.0 s so far (+1)");
}

#[test]
fn a_resumed_run_begins_with_what_was_under_way() {
    let mut before = told(&["a", "b", "c"]);
    before.thinks(0, 0, "a");
    before.tell(5, EventKind::NodeStarted { node: 1, attempt: 1, arguments: None });
    before.tell(9, EventKind::NodeCompleted { node: 1, value: Value::Null, warnings: Vec::new() });
    let after = Told { board: Board::new(&before.run, 0), run: before.run };
    assert_eq!(
        after.lines(100, 80, 24, Width::Narrow),
        ["▸ a  thinking    0.1 s", "⠙ 1 running, 1 queued, 1/3 done, 0.1 s"]
    );
}
