//! A run for tests: three phases with Chinese roles, a master with subagents, questions, directives.

use crate::render::Width;
use crate::tui::draw::{screen, sheet};
use crate::tui::model::{Effect, Message, Model, Start};
use crate::tui::news::News;
use crate::tui::news::samples::news;
use crate::tui::watched::Card;
use fugato_engine::{
    Access, AgentPath, Asked, EffectClass, EventKind, Outcome, Phase, Plan, PlanNode, RunSpec, SkillPin,
    Target, Verb, Work,
};
use fugato_model::chat::{Answer, Message as Chat, Part, Role, StopReason, ToolCall, Usage};
use fugato_model::{Lang, words};
use fugato_skill::interpolate::Template;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;
use std::sync::Arc;

pub const RUN: &str = "run_abc123";
/// A moment in November 2026.
pub const BEGAN: i64 = 1_794_812_400_000;

pub fn card(status: &str, is_live: bool) -> Card {
    Card {
        id: RUN.to_owned(),
        status: status.to_owned(),
        title: "日报 daily-brief".to_owned(),
        created_at: BEGAN,
        updated_at: BEGAN + 60_000,
        last_seq: 0,
        is_live,
    }
}

fn node(id: &str, phase: u32, after: &[u32], work: Work, output: &str) -> PlanNode {
    PlanNode {
        id: id.to_owned(),
        phase,
        after: after.to_vec(),
        work,
        output: Some(output.to_owned()),
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    }
}

fn agent_work() -> Work {
    Work::Agent {
        agent_type: "explore".into(),
        access: Access::ReadOnly,
        skill: "_sub/read".into(),
        instructions: "Read.".into(),
        args: Template::default(),
        relevant: Vec::new(),
        schema: None,
        model: None,
    }
}

fn plan() -> Plan {
    let phase = |name: &str, parallel: bool, depends_on: &[u32]| Phase {
        name: name.to_owned(),
        parallel,
        depends_on: depends_on.to_vec(),
        within: None,
    };
    let script = Work::Script {
        skill: "_sub/fetch".into(),
        dir: None,
        entry: "main.sh".into(),
        class: EffectClass::Read,
        instructions: String::new(),
        args: Template::default(),
        relevant: Vec::new(),
    };
    Plan {
        phases: vec![phase("收集", true, &[]), phase("写作", false, &[0])],
        nodes: vec![
            node("收集/日历", 0, &[], script, "CALENDAR"),
            node("收集/研究员", 0, &[], agent_work(), "FACTS"),
            node("收集/critic", 0, &[], agent_work(), "CRITIQUE"),
            node("写作/作者", 1, &[0, 1, 2], agent_work(), "BRIEF"),
        ],
    }
}

fn spec() -> RunSpec {
    RunSpec {
        id: RUN.to_owned(),
        skill: SkillPin { name: "daily-brief".into(), ..SkillPin::default() },
        title: "日报 daily-brief".into(),
        plan: plan(),
        model: "script:model.yaml".into(),
        visible: "写作规则\npdf".into(),
        ..RunSpec::default()
    }
}

fn started(path: &str, node: Option<u32>) -> EventKind {
    EventKind::AgentStarted {
        agent: AgentPath::new(path),
        node,
        agent_type: "explore".into(),
        access: Access::ReadOnly,
        model: "script:model.yaml".into(),
        system: "system".into(),
        prompt: "读一读今天的日程，然后写下要点。".into(),
        delegated: None,
    }
}

pub fn answered(agent: u32, step: u32, parts: Vec<Part>) -> EventKind {
    let usage = Usage { input_tokens: Some(1200), output_tokens: Some(80), ..Usage::default() };
    let message = Chat { role: Role::Assistant, parts };
    let answer = Answer { message, stop: StopReason::ToolUse, usage };
    EventKind::ModelAnswered { agent, step, answer: Arc::new(answer), micro_usd: Some(1500) }
}

fn call(id: &str, name: &str, arguments: serde_json::Value) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments })
}

/// What happens up to the middle of a run: one script done, one agent thinking, one asks.
pub fn kinds() -> Vec<EventKind> {
    let asked =
        call("c1", "ask_user", json!({"question": "哪种语气？ Which tone?", "options": ["formal", "轻松"]}));
    let hostile = "看\u{1b}[2J\u{202e}完了 \u{7}ok";
    let requested = |agent, step| EventKind::ModelRequested {
        agent,
        step,
        purpose: fugato_engine::Purpose::Step,
        reserve: fugato_engine::Reserve::default(),
        max_tokens: None,
    };
    vec![
        EventKind::RunCreated { spec: Arc::new(spec()) },
        EventKind::NodeStarted { node: 0, attempt: 1, arguments: Some(json!({"day": "today"})) },
        EventKind::NodeStarted { node: 1, attempt: 1, arguments: None },
        started("收集/研究员", Some(1)),
        EventKind::NodeStarted { node: 2, attempt: 1, arguments: None },
        started("收集/critic", Some(2)),
        EventKind::NodePrinted { node: 0, stdout: "10:00 会议\n".into() },
        EventKind::NodeCompleted { node: 0, value: json!("10:00 会议"), warnings: Vec::new() },
        requested(0, 1),
        requested(1, 1),
        answered(
            0,
            1,
            vec![Part::Text { text: hostile.into() }, call("c0", "Read", json!({"path": "原文.txt"}))],
        ),
        EventKind::ToolRequested {
            agent: 0,
            step: 1,
            index: 0,
            call: ToolCall { id: "c0".into(), name: "Read".into(), arguments: json!({"path": "原文.txt"}) },
            class: EffectClass::Read,
        },
        answered(1, 1, vec![asked]),
        EventKind::InputRequested {
            question: 0,
            about: Asked::Agent { agent: 1, step: 1, index: 0 },
            text: "哪种语气？ Which tone?".into(),
            options: vec!["formal".into(), "轻松".into()],
        },
    ]
}

/// After that: somebody intervened, and the run ended.
pub fn later_kinds() -> Vec<EventKind> {
    vec![
        EventKind::DirectiveRecorded {
            generation: 1,
            verb: Verb::Pause,
            target: Target::Agent(AgentPath::new("收集/研究员")),
            text: None,
        },
        EventKind::DirectiveApplied { generation: 1, agent: 0 },
        EventKind::DirectiveRecorded {
            generation: 2,
            verb: Verb::Redirect,
            target: Target::Agent(AgentPath::new("收集/critic")),
            text: Some("只看标题 and nothing else".into()),
        },
        // By its fields, as the log has it: other versions have more of them.
        serde_json::from_value(json!({
            "type": "directive.refused", "generation": 2,
            "reason": words!("agent `收集/critic` has finished", "代理 `收集/critic` 已结束"),
        }))
        .unwrap(),
        EventKind::InputAnswered { question: 0, answer: "轻松".into() },
    ]
}

pub fn ended() -> EventKind {
    EventKind::RunEnded {
        outcome: Outcome::Aborted,
        reason: words!("cancelled by the operator", "已被操作者取消"),
        result: None,
    }
}

pub fn all_news(kinds: Vec<EventKind>) -> Vec<News> {
    let numbered = (1u64..).zip(kinds);
    numbered.map(|(seq, kind)| news(seq, BEGAN + i64::try_from(seq).unwrap() * 1000, kind)).collect()
}

/// A screen with the run on it, 90 seconds after it began.
pub fn model(lang: Lang, width: Width, kinds: Vec<EventKind>) -> Model {
    let mut model = Model::new(lang, width, Start::Run(RUN.to_owned()));
    model.now = BEGAN + 90_000;
    let effects = model.update(Message::Runs(vec![card("running", true)]));
    assert_eq!(effects, [Effect::Watch { run: RUN.to_owned() }]);
    model.update(Message::News { run: RUN.to_owned(), news: all_news(kinds) });
    model
}

pub fn english() -> Model {
    model(Lang::En, Width::Narrow, kinds())
}

pub fn key(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)
}

pub fn press(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    model.update(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

/// Types letter by letter; what comes of the last one.
pub fn type_in(model: &mut Model, text: &str) -> Vec<Effect> {
    text.chars().map(|c| model.update(Message::Key(key(c)))).last().unwrap_or_default()
}

/// What the effects of opening a page would bring.
pub fn answer_loads(model: &mut Model, effects: &[Effect], all: &[News]) {
    for effect in effects {
        if let Effect::Load { run, row, place, seqs } = effect {
            let news = all.iter().filter(|one| seqs.contains(&one.seq)).cloned().collect();
            model.update(Message::Page { run: run.clone(), row: *row, place: *place, news });
        }
    }
}

/// The screen as a person sees it, line by line.
pub fn drawn(model: &mut Model, columns: u16, rows: u16) -> String {
    model.update(Message::Resize(usize::from(columns), usize::from(rows)));
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let (screen, width) = (screen(model), model.width);
    terminal.draw(|frame| sheet::put(&screen, frame.buffer_mut(), width, sheet::Paint::Colours)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut lines: Vec<String> = Vec::new();
    for row in 0..rows {
        let mut line = String::new();
        let mut column = 0;
        while column < columns {
            let symbol = buffer[(column, row)].symbol();
            line.push_str(symbol);
            column += u16::try_from(width.of(symbol).max(1)).unwrap();
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}
