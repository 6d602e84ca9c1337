//! Everything random about a simulated run: its plan, what the outside world answers, what people say, how the clock
//! jumps. A new kind of work, input or outcome is added here and nowhere else in the simulation.

use crate::*;
use fugato_model::chat::{Answer, Message, ModelFault, Part, Role, StopReason, ToolCall, Usage};
use fugato_model::words;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A stream of numbers from a seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1))
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `sides`, which is at least 1.
    pub fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll() % sides as u64).unwrap()
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A run nobody has thought of.
pub fn spec(dice: &mut Dice) -> RunSpec {
    let single = dice.one_in(4);
    let types = if single && !dice.one_in(4) { types() } else { BTreeMap::new() };
    let is_session = !single && dice.one_in(3);
    let skills = if is_session || dice.one_in(2) { skills(dice) } else { BTreeMap::new() };
    let plan = match (single, is_session) {
        (true, _) => Plan::default(),
        (false, true) => Plan::of_session(Arc::new(orchestrator("desk", dice))),
        (false, false) => plan(dice, !skills.is_empty()),
    };
    let limits = Limits {
        concurrent: 1 + u32::try_from(dice.below(4)).unwrap(),
        steps: 2 + u32::try_from(dice.below(6)).unwrap(),
        calls_per_answer: 1 + u32::try_from(dice.below(4)).unwrap(),
        tokens: dice.one_in(4).then(|| 50 * (1 + dice.roll() % 20)),
        wall_ms: dice.one_in(6).then(|| dice.roll() % 200),
        context_tokens: if dice.one_in(3) { 300 } else { 120_000 },
        ..Limits::default()
    };
    RunSpec {
        id: "run_simulated".into(),
        skill: SkillPin { name: "s".into(), dir: "/s".into(), digest: None },
        title: "t".into(),
        plan,
        single: single.then(|| "Do it.".to_owned()),
        types,
        skills,
        context: BTreeMap::from([("ARGUMENTS".to_owned(), json!("today"))]),
        limits,
        model: "script:x".into(),
        ..RunSpec::default()
    }
}

/// Skills that sessions call: an agent, a program, phases, and orchestrators that call each other.
fn skills(dice: &mut Dice) -> BTreeMap<String, Arc<Callable>> {
    let (agent_type, access) = ("explore".to_owned(), *dice.pick(&[Access::ReadOnly, Access::ReadWrite]));
    let (instructions, model, schema) = ("do".to_owned(), None, None);
    let class = *dice.pick(&[EffectClass::Read, EffectClass::Once]);
    let phases = CallableWork::Phases {
        agent_type: agent_type.clone(),
        access,
        plan: plan(dice, false),
        schema: None,
        nulls: Vec::new(),
    };
    let all = [
        ("alpha", CallableWork::Agent { agent_type, access, instructions, model, schema }),
        ("beta", CallableWork::Script { dir: "/b".into(), entry: "main.sh".into(), class }),
        ("gamma", phases),
        ("delta", CallableWork::Session { orchestrator: Arc::new(orchestrator("delta", dice)) }),
        ("desk", CallableWork::Session { orchestrator: Arc::new(orchestrator("desk", dice)) }),
    ];
    let callable = |work| Arc::new(Callable { description: "d".into(), work });
    all.into_iter().map(|(name, work)| (name.to_owned(), callable(work))).collect()
}

fn orchestrator(name: &str, dice: &mut Dice) -> Orchestrator {
    let some = |dice: &mut Dice| -> Vec<String> {
        let chosen = SKILLS.iter().filter(|_| !dice.one_in(4));
        chosen.map(|name| (*name).to_owned()).collect()
    };
    Orchestrator {
        name: name.into(),
        description: "d".into(),
        instructions: "i".into(),
        session: match dice.below(6) {
            0 => SessionKind::Sop {
                fixed: Some(dice.pick(&PROGRAMS).to_string()),
                budget: SopBudget::default(),
            },
            1 => SessionKind::Sop { fixed: None, budget: SopBudget::default() },
            _ => SessionKind::Loop { steps: 1 + u32::try_from(dice.below(5)).unwrap() },
        },
        allowed: some(dice),
        preparation: dice.one_in(3).then(|| Preparation { instructions: "find".into(), allowed: some(dice) }),
        model: None,
    }
}

/// Programs that can be run, that call in a circle, that fail, and one that is none.
const PROGRAMS: [&str; 5] = [
    "@a alpha one\n@b beta $a\n@c beta two\n@d final_answer $b $c\n",
    "@a gamma $input\n@b delta $a\n@c desk x\n",
    "@a beta x\n@b cannot_complete $a\n",
    "@a alpha x\n@b alpha y\n@c alpha z\n@d beta $a $b $c\n",
    "@a nobody x\n@b $b\n",
];

const SKILLS: [&str; 5] = ["alpha", "beta", "gamma", "delta", "desk"];

/// Kinds of agents: with everything, with little, and a person.
fn types() -> BTreeMap<String, Arc<AgentType>> {
    let mut little = AgentType::named("little");
    (little.steps, little.tools) = (Some(2), Some(vec!["Read".into()]));
    little.access = Access::ReadOnly;
    let mut person = AgentType::named("person");
    person.executor = Executor::Human;
    let all = [AgentType::named("general-purpose"), little, person];
    all.into_iter().map(|kind| (kind.name.clone(), Arc::new(kind))).collect()
}

/// A graph, some of whose nodes are graphs.
fn plan(dice: &mut Dice, has_sessions: bool) -> Plan {
    let mut plan = Plan::default();
    level(&mut plan, None, dice, has_sessions);
    let mut at = 0;
    while at < plan.nodes.len() {
        if matches!(plan.nodes[at].work, Work::Phases { .. }) {
            level(&mut plan, Some(u32::try_from(at).unwrap()), dice, has_sessions);
        }
        at += 1;
    }
    plan.check().unwrap();
    plan
}

/// Nodes of one level: two phases at most, because the last one gives a sub-skill's result.
fn level(plan: &mut Plan, within: Option<u32>, dice: &mut Dice, has_sessions: bool) {
    let first_phase = u32::try_from(plan.phases.len()).unwrap();
    let prefix = within.map_or(String::new(), |call| format!("{}/", plan.nodes[call as usize].id));
    let phases = 1 + u32::try_from(dice.below(2)).unwrap();
    for number in 0..phases {
        let depends_on = if number == 0 { Vec::new() } else { vec![first_phase] };
        plan.phases.push(Phase { name: format!("{prefix}p{number}"), parallel: true, depends_on, within });
    }
    let depth = prefix.matches('/').count();
    let first = plan.nodes.len();
    let count = 1 + dice.below(if within.is_none() { 8 } else { 4 });
    let nodes = &mut plan.nodes;
    let mut level: Vec<String> = Vec::new();
    for at in 0..count {
        let mut after: Vec<u32> = Vec::new();
        for _ in 0..dice.below(3).min(at) {
            after.push(u32::try_from(first + dice.below(at)).unwrap());
        }
        after.sort_unstable();
        after.dedup();
        let work = match depth < 3 && nodes.len() < 40 && dice.one_in(6) {
            true if has_sessions && dice.one_in(2) => session(dice),
            true => call(dice),
            false => work(dice),
        };
        let output = (!matches!(work, Work::Gate | Work::Noop)).then(|| format!("V{at}"));
        let known = &level;
        let requires = match known.is_empty() || !dice.one_in(6) {
            true => Vec::new(),
            false => {
                vec![Requirement { name: dice.pick(known).clone(), may_be_null: dice.one_in(2) }]
            }
        };
        level.extend(output.clone());
        nodes.push(PlanNode {
            id: format!("{prefix}n{at}"),
            phase: first_phase + u32::try_from(at % phases as usize).unwrap(),
            after,
            work,
            output,
            requires,
            optional: !dice.one_in(4),
            fallback_inline: dice.one_in(3),
            on_error: None,
        });
    }
}

/// A sub-skill with phases of its own.
fn call(dice: &mut Dice) -> Work {
    let template = |text: &str| fugato_skill::interpolate::Template::parse(text, 0).unwrap();
    Work::Phases {
        agent_type: "explore".into(),
        access: *dice.pick(&[Access::ReadOnly, Access::ReadWrite]),
        skill: "s".into(),
        instructions: "do".into(),
        args: template(if dice.one_in(12) { "{{NOBODY.x}}" } else { "inside {{ARGUMENTS}}" }),
        relevant: Vec::new(),
        schema: None,
        nulls: if dice.one_in(2) { vec!["OFF".into()] } else { Vec::new() },
    }
}

/// An orchestrator as a part of a plan.
fn session(dice: &mut Dice) -> Work {
    let args = fugato_skill::interpolate::Template::parse("inside {{ARGUMENTS}}", 0).unwrap();
    Work::Session { orchestrator: Arc::new(orchestrator("desk", dice)), args }
}

fn work(dice: &mut Dice) -> Work {
    let template = |text: &str| fugato_skill::interpolate::Template::parse(text, 0).unwrap();
    match dice.below(9) {
        0 => Work::Noop,
        1 => Work::Gate,
        2 | 3 => Work::Inline {
            section: template("Ask {{ARGUMENTS}}"),
            sets: if dice.one_in(2) { vec!["SET".into()] } else { Vec::new() },
        },
        4 | 5 => Work::Script {
            skill: "s".into(),
            dir: None,
            relevant: Vec::new(),
            entry: "main.sh".into(),
            class: *dice.pick(&[EffectClass::Read, EffectClass::Idempotent, EffectClass::Once]),
            instructions: "do".into(),
            // One that cannot be rendered: the failure happens before anything starts.
            args: template(if dice.one_in(12) { "{{NOBODY.x}}" } else { "{{ARGUMENTS}}" }),
        },
        _ => Work::Agent {
            agent_type: "explore".into(),
            access: *dice.pick(&[Access::ReadOnly, Access::ReadWrite]),
            skill: "s".into(),
            instructions: "do".into(),
            args: template("{{ARGUMENTS}}"),
            relevant: Vec::new(),
            schema: None,
            model: None,
        },
    }
}

/// What the world answers. In a calm world everything succeeds at the first try.
pub fn completion(effect: &Effect, run: &Run, calm: bool, dice: &mut Dice) -> Completion {
    match effect {
        Effect::CallModel { .. } if calm => says("{\"calm\": true}"),
        Effect::CallModel { agent, .. } if duty_of(run, agent) == Duty::Plan && !dice.one_in(5) => {
            says(&format!("```sop\n{}```", dice.pick(&PROGRAMS)))
        }
        Effect::CallModel { agent, .. } if duty_of(run, agent) != Duty::Task && !dice.one_in(5) => {
            let chosen: Vec<(&str, Value)> = (0..=dice.below(3)).map(|_| skill(dice)).collect();
            calls(&chosen)
        }
        Effect::CallModel { agent, .. } if agent.as_str() == "main" && dice.one_in(2) => {
            let chosen: Vec<(&str, Value)> = (0..=dice.below(4)).map(|_| delegation(dice)).collect();
            calls(&chosen)
        }
        Effect::CallModel { .. } => model(dice),
        Effect::RunTool { .. } => {
            Completion::Tool { content: "ok".into(), is_error: dice.one_in(5), used: None }
        }
        Effect::RunScript { .. } if !calm && dice.one_in(5) => {
            Completion::ScriptFailed { message: words!("no", "否"), last_line: None }
        }
        Effect::RunScript { .. } if !calm && dice.one_in(10) => {
            Completion::ScriptCutShort { message: words!("too long", "超时") }
        }
        Effect::RunScript { .. } if !calm && dice.one_in(8) => {
            Completion::Script { stdout: "{\"success\": false, \"message\": \"no\"}".into() }
        }
        Effect::RunScript { .. } if !calm && dice.one_in(6) => {
            Completion::Script { stdout: "{\"requiresInput\": true, \"message\": \"which?\"}".into() }
        }
        Effect::RunScript { .. } if !calm && dice.one_in(6) => {
            Completion::Script { stdout: "long ".repeat(2_000) }
        }
        Effect::RunScript { node, .. } => Completion::Script { stdout: format!("{{\"by\": \"{node}\"}}") },
        _ => Completion::Noop,
    }
}

fn duty_of(run: &Run, agent: &AgentPath) -> Duty {
    run.agent(agent.as_str()).map_or(Duty::Task, |(_, state)| state.duty)
}

fn model(dice: &mut Dice) -> Completion {
    const FAULTS: [ModelFault; 4] =
        [ModelFault::Malformed, ModelFault::Rejected, ModelFault::Unauthorized, ModelFault::ContextOverflow];
    match dice.below(12) {
        0 => Completion::ModelFailed { fault: *dice.pick(&FAULTS), message: "no".into() },
        1 => says("  "),
        2 => calls(&[("submit_result", json!({"result": {"SET": 1}}))]),
        3 => says("{\"success\": false, \"message\": \"gone\"}"),
        4..=8 => {
            let count = 1 + dice.below(4);
            let chosen: Vec<(&str, Value)> = (0..count).map(|_| tool(dice)).collect();
            calls(&chosen)
        }
        _ => says("```json\n{\"a\": [1, 2]}\n```"),
    }
}

fn tool(dice: &mut Dice) -> (&'static str, Value) {
    match dice.below(10) {
        6 => delegation(dice),
        7..=9 => skill(dice),
        0 | 1 => ("ask_user", json!({"question": "?", "options": ["a", "b"]})),
        2 => ("Read", json!({"path": "a"})),
        3 => ("Bash", json!({"command": "date"})),
        4 => ("Write", json!({"path": "a", "content": "b"})),
        _ => ("Nothing", json!([])),
    }
}

fn skill(dice: &mut Dice) -> (&'static str, Value) {
    match dice.below(24) {
        0 => ("final_answer", json!({"answer": "all of $$tool-res-1"})),
        1 => ("final_answer", json!({"answer": "done"})),
        2 => ("cannot_complete", json!({"reason": "no"})),
        3 => ("submit_context", json!({"entries": {"a": "b"}})),
        4 => (*dice.pick(&SKILLS), json!({"nothing": 1})),
        5 => (*dice.pick(&SKILLS), json!({"prompt": "with $$tool-res-1"})),
        _ => (*dice.pick(&SKILLS), json!({"prompt": "this"})),
    }
}

fn delegation(dice: &mut Dice) -> (&'static str, Value) {
    let background = dice.one_in(3);
    if dice.one_in(3) {
        let to = *dice.pick(&["little-1", "general-purpose-1", "person-1", "little-2", "main", "c0"]);
        return ("SendMessage", json!({"to": to, "message": "more", "run_in_background": background}));
    }
    let kind = *dice.pick(&["general-purpose", "little", "little", "person", "unknown"]);
    ("Agent", json!({"prompt": "part", "subagent_type": kind, "run_in_background": background}))
}

fn says(text: &str) -> Completion {
    answered(Message::assistant(text), StopReason::EndTurn)
}

fn calls(calls: &[(&str, Value)]) -> Completion {
    let parts = calls.iter().enumerate().map(|(at, (name, arguments))| {
        Part::ToolCall(ToolCall { id: format!("c{at}"), name: (*name).into(), arguments: arguments.clone() })
    });
    answered(Message { role: Role::Assistant, parts: parts.collect() }, StopReason::ToolUse)
}

fn answered(message: Message, stop: StopReason) -> Completion {
    let usage = Usage { input_tokens: Some(10), output_tokens: Some(5), ..Usage::default() };
    Completion::Answered { answer: Box::new(Answer { message, stop, usage }), micro_usd: Some(10) }
}

/// What people and other programs say, sensible or not.
pub fn input(run: &Run, dice: &mut Dice) -> Input {
    let target = |dice: &mut Dice| match (dice.below(5), run.agents.len()) {
        (0, _) => match run.nodes.len() {
            0 => Target::Agent(AgentPath::new("ghost")),
            nodes => {
                let node = u32::try_from(dice.below(nodes)).unwrap();
                Target::Agent(AgentPath::new(&run.plan_node(node).unwrap().id))
            }
        },
        (1 | 2, _) | (_, 0) => Target::All,
        (_, agents) => Target::Agent(run.agents[dice.below(agents)].path.clone()),
    };
    match dice.below(12) {
        10 => Input::Tick,
        11 => direct(Verb::Restart, target(dice)),
        0 | 1 => direct(Verb::Pause, target(dice)),
        2 | 3 => direct(Verb::Resume, target(dice)),
        4 => direct(Verb::Redirect, target(dice)),
        5 => match target(dice) {
            Target::All if !dice.one_in(4) => Input::Go,
            chosen => direct(Verb::Cancel, chosen),
        },
        6 => Input::Send {
            to: target(dice),
            from: "user".into(),
            text: "look".into(),
            kind: MessageKind::Handoff,
        },
        7 => Input::Raise { limits: raised(run) },
        _ => {
            let question = u32::try_from(dice.below(run.questions.len() + 1)).unwrap();
            let answer = (*dice.pick(&["repeat", "done", "fail", "林"])).to_owned();
            Input::Answer { question, answer }
        }
    }
}

pub fn direct(verb: Verb, target: Target) -> Input {
    Input::Direct { verb, target, text: Some("another task".into()) }
}

/// Room for everything that is left.
pub fn raised(run: &Run) -> Limits {
    let limits = run.spec.limits.clone();
    Limits { tokens: None, micro_usd: None, wall_ms: None, steps: limits.steps + 5, ..limits }
}

/// The next reading of a clock that people, leap seconds and suspended laptops play with.
pub fn tick(now: i64, dice: &mut Dice) -> i64 {
    const DAY: i64 = 86_400_000;
    match dice.below(40) {
        0 => now - DAY,
        1 => now + 3650 * DAY,
        2 | 3 => now - 1000,
        4 => now + 8 * 3_600_000,
        _ => now + i64::try_from(dice.below(500)).unwrap(),
    }
}
