//! The lines of a run: one per change of state, and the orchestrator's own when a skill says `debug: true`.

use crate::printer::{Printer, paint, style};
use fugato_engine::{AfterFailure, Event, EventKind, NodeStatus, Run, Target, Verb, Verdict, Work};
use fugato_model::{Lang, Words, words};
use serde_json::Value;
use std::collections::HashMap;

/// Follows a run event by event.
#[derive(Debug, Default)]
pub struct Reporter {
    /// A board shows who is at work: only what ended gets a line.
    has_board: bool,
    first_at: Option<i64>,
    started: HashMap<u32, i64>,
    phases: HashMap<u32, Phase>,
    /// When each subagent began its task.
    agents: HashMap<String, i64>,
    /// Nodes of the plan that are counted in their phases.
    counted: usize,
}

/// A phase that somebody wrote; what a session calls stands in one that nobody did.
fn phase_of_skill(run: &Run, number: u32) -> Option<&fugato_engine::Phase> {
    let is_session = |call: u32| run.orchestrator(call).is_some();
    run.plan_phase(number).filter(|phase| !phase.within.is_some_and(is_session))
}

/// How far a phase is.
#[derive(Debug, Default)]
struct Phase {
    /// Nodes that have not ended.
    left: usize,
    has_begun: bool,
    /// `None`: before this process took the run over.
    since: Option<i64>,
}

/// Somebody said something to the run, from here or elsewhere.
fn directed(verb: Verb, target: &Target, run: &Run, out: &mut Printer) {
    let target = match target {
        Target::All => "all".to_owned(),
        Target::Agent(path) => path.to_string(),
    };
    let (id, en, zh) = match verb {
        Verb::Pause => (&run.spec.id, "paused", "已暂停"),
        Verb::Resume => (&run.spec.id, "goes on", "继续"),
        Verb::Cancel => (&run.spec.id, "cancelled", "已取消"),
        Verb::Redirect => (&run.spec.id, "given another task", "已换任务"),
        Verb::Restart => (&run.spec.id, "begins again", "重新开始"),
    };
    match verb {
        Verb::Pause => out.note(&words!(
            "{target}: {en}. Go on: fugato resume {target} --run {id}",
            "{target}：{zh}。继续：fugato resume {target} --run {id}"
        )),
        _ => out.note(&words!("{target}: {en}", "{target}：{zh}")),
    }
}

/// Longer values are cut: the whole value is in the log.
const SHOWN_CHARS: usize = 60;

impl Reporter {
    /// For a run as it stands: a phase that was under way before goes on.
    pub fn new(run: &Run, has_board: bool) -> Self {
        let mut reporter = Self { has_board, ..Self::default() };
        reporter.grow(run, None);
        reporter
    }

    /// Counts the nodes that it does not know yet: a plan grows with the skills that are called.
    fn grow(&mut self, run: &Run, starting: Option<u32>) {
        for (node, state) in (0u32..).zip(&run.nodes).skip(self.counted) {
            let Some(plan) = run.plan_node(node).filter(|plan| !matches!(plan.work, Work::Gate)) else {
                continue;
            };
            let phase = self.phases.entry(plan.phase).or_default();
            let has_ended = state.status.has_ended() || state.status == NodeStatus::Failed;
            phase.left += usize::from(!has_ended);
            phase.has_begun |= state.attempt > 0 && starting != Some(node);
        }
        self.counted = run.nodes.len();
    }

    /// Tells one event; `run` is the run the event belongs to, for names.
    pub fn event(&mut self, event: &Event, run: &Run, out: &mut Printer) {
        self.first_at.get_or_insert(event.at);
        match &event.kind {
            EventKind::SkillCalled { node, starts, .. } => {
                self.grow(run, starts.then_some(*node));
                if *starts {
                    self.started(*node, 1, event.at, run, out);
                }
            }
            EventKind::NodeStarted { node, attempt, .. } => self.started(*node, *attempt, event.at, run, out),
            EventKind::NodeCompleted { node, value, warnings } => {
                self.completed(*node, (value, warnings), event.at, run, out);
            }
            EventKind::NodeWarned { warnings, .. } => {
                for warning in warnings {
                    let text = escaped(warning.in_lang(out.lang));
                    out.aside(&format!("  {}", paint(style::WARN, text)));
                }
            }
            EventKind::NodeFailed { node, message, then } => {
                self.failed(*node, (message, *then), event.at, run, out);
            }
            EventKind::ToolRequested { agent, call, .. } if !self.has_board => {
                let (agent, arguments) = (agent_name(run, *agent), short(&call.arguments));
                out.aside(&paint(style::DIM, format!("  {agent} · {} {arguments}", call.name)));
            }
            EventKind::AgentStarted { agent, agent_type, delegated: Some(_), .. } => {
                self.agents.insert(agent.to_string(), event.at);
                let Some((_, state)) = run.agent(agent.as_str()).filter(|_| !self.has_board) else { return };
                let (mark, id) = (paint(style::DIM, "▸"), paint(style::NAME, escaped(agent.as_str())));
                let what = escaped(&format!("{agent_type}  {}", state.description));
                out.aside(&format!("{mark} {id}  {}", paint(style::DIM, what)));
            }
            EventKind::AgentContinued { agent, delegated: Some(_), .. } => {
                let Some(state) = run.agents.get(*agent as usize) else { return };
                self.agents.insert(state.path.to_string(), event.at);
                if !self.has_board {
                    let (mark, id) =
                        (paint(style::DIM, "▸"), paint(style::NAME, escaped(state.path.as_str())));
                    out.aside(&format!("{mark} {id}  {}", paint(style::DIM, "…")));
                }
            }
            EventKind::AgentStopped { agent, verdict } if is_child(run, *agent) => {
                self.child_ended(*agent, verdict, event.at, run, out);
            }
            EventKind::AgentStopped { agent, verdict: Verdict::LimitReached { limit, .. } } => {
                let agent = agent_name(run, *agent);
                out.note(&words!("{agent} reached the limit of {limit}", "{agent} 达到 {limit} 上限"));
            }
            EventKind::InputRequested { question, .. } => {
                out.aside(&asked(run, *question, out.lang));
            }
            EventKind::DirectiveRecorded { verb, target, .. } => directed(*verb, target, run, out),
            EventKind::ForeignSkipped { file, problem } => {
                let (file, en, zh) = (file, &problem.en, &problem.zh);
                out.note(&words!("not taken from `{file}`: {en}", "未采用 `{file}` 的内容：{zh}"));
            }
            _ => {}
        }
    }

    fn child_ended(&self, agent: u32, verdict: &Verdict, at: i64, run: &Run, out: &mut Printer) {
        let Some(state) = run.agents.get(agent as usize) else { return };
        let took = self.agents.get(state.path.as_str()).map(|since| format!("  {}", duration(at - since)));
        let took = paint(style::DIM, took.unwrap_or_default());
        let id = paint(style::NAME, escaped(state.path.as_str()));
        let (mark, said) = match verdict {
            Verdict::Submitted { value } => (paint(style::GOOD, "✓"), short(value)),
            Verdict::Answered { text } => (paint(style::GOOD, "✓"), short(&Value::String(text.clone()))),
            Verdict::LimitReached { limit, .. } => {
                let words = words!("reached the limit of {limit}", "达到 {limit} 上限");
                (paint(style::WARN, "!"), words.in_lang(out.lang).to_owned())
            }
            Verdict::Failed { message } => (paint(style::BAD, "✗"), escaped(message)),
            Verdict::Cancelled => {
                (paint(style::BAD, "✗"), words!("cancelled", "已取消").in_lang(out.lang).to_owned())
            }
        };
        out.aside(&format!("{mark} {id}{took}  {said}"));
    }

    fn started(&mut self, node: u32, attempt: u32, at: i64, run: &Run, out: &mut Printer) {
        self.begin_phase(at, node, run, out);
        self.started.insert(node, at);
        if !self.has_board {
            let again = if attempt > 1 { format!(" ({attempt})") } else { String::new() };
            let (mark, id) = (paint(style::DIM, "▸"), paint(style::NAME, name(run, node)));
            let says = run.says(node).map(|says| format!("  {}", first_line(says))).unwrap_or_default();
            out.aside(&format!("{mark} {id}{again}  {}{says}", paint(style::DIM, kind_of(run, node))));
        }
        if run.spec.debug
            && let Some((skill, kind)) = spawned(run, node)
        {
            out.aside(&format!("[orchestrator] Spawning: {} (type: {})", escaped(skill), escaped(kind)));
        }
    }

    fn completed(
        &mut self,
        node: u32,
        (value, warnings): (&Value, &[Words]),
        at: i64,
        run: &Run,
        out: &mut Printer,
    ) {
        let lang = out.lang;
        let took = self.took(node, at);
        // What a session answers is shown whole, right below.
        let own = run.plan_node(node).filter(|plan| !matches!(plan.work, Work::Session { .. }));
        let output = own.and_then(|plan| plan.output.as_ref());
        let shown = output.map(|output| format!("  {output} = {}", short(value))).unwrap_or_default();
        let (mark, id) = (paint(style::GOOD, "✓"), paint(style::NAME, name(run, node)));
        out.aside(&format!("{mark} {id}{took}{shown}"));
        for warning in warnings {
            let warning = escaped(warning.in_lang(lang));
            out.aside(&format!("  {}", paint(style::WARN, warning)));
        }
        self.set_variables(node, run, out);
        self.end_node(at, node, run, out);
    }

    fn failed(
        &mut self,
        node: u32,
        (message, then): (&Words, AfterFailure),
        at: i64,
        run: &Run,
        out: &mut Printer,
    ) {
        let took = self.took(node, at);
        let next = match then {
            // Whoever called it decides what its failure means.
            _ if run.called(node).is_some() => "",
            AfterFailure::Inline => " → inline",
            AfterFailure::Null => " → null",
            AfterFailure::Abort => " → abort",
        };
        let (mark, id) = (paint(style::BAD, "✗"), paint(style::NAME, name(run, node)));
        let message = escaped(message.in_lang(out.lang));
        out.aside(&format!("{mark} {id}{took}  {message}{next}"));
        if let Some(on_error) = run.plan_node(node).and_then(|plan| plan.on_error.as_ref()) {
            let on_error = escaped(on_error);
            out.aside(&format!("  {}", paint(style::WARN, on_error)));
        }
        if then == AfterFailure::Null {
            self.set_variables(node, run, out);
        }
        if then != AfterFailure::Inline {
            self.end_node(at, node, run, out);
        }
    }

    /// What the node put into the context, as the context has it now.
    fn set_variables(&self, node: u32, run: &Run, out: &mut Printer) {
        if !run.spec.debug {
            return;
        }
        let Some(plan) = run.plan_node(node) else { return };
        let sets = match &plan.work {
            Work::Inline { sets, .. } => sets.as_slice(),
            _ => &[],
        };
        for name in plan.output.iter().chain(sets) {
            let value = run.variables_of(node).get(name).unwrap_or(&Value::Null);
            out.aside(&format!("[orchestrator] Set {name}: {}", short(value)));
        }
    }

    fn begin_phase(&mut self, at: i64, node: u32, run: &Run, out: &mut Printer) {
        let Some(number) = run.plan_node(node).map(|plan| plan.phase) else { return };
        let phase = self.phases.entry(number).or_default();
        if phase.has_begun {
            return;
        }
        (phase.has_begun, phase.since) = (true, Some(at));
        if run.spec.debug
            && let Some(named) = phase_of_skill(run, number)
        {
            out.aside(&format!("[orchestrator] Starting phase: {}", escaped(&named.name)));
        }
    }

    fn end_node(&mut self, at: i64, node: u32, run: &Run, out: &mut Printer) {
        let Some(number) = run.plan_node(node).map(|plan| plan.phase) else { return };
        let Some(phase) = self.phases.get_mut(&number) else { return };
        phase.left = phase.left.saturating_sub(1);
        if phase.left == 0
            && run.spec.debug
            && let Some(named) = phase_of_skill(run, number)
        {
            let ms = (at - phase.since.or(self.first_at).unwrap_or(at)).max(0);
            out.aside(&format!("[orchestrator] Phase {} completed in {ms}ms", escaped(&named.name)));
        }
    }

    /// With its blanks; nothing where another process saw it start.
    fn took(&self, node: u32, at: i64) -> String {
        let took = self.started.get(&node).map(|since| paint(style::DIM, duration(at - since)));
        took.map(|took| format!("  {took}")).unwrap_or_default()
    }
}

/// Unknown cost is not 0.
pub fn cost_words(run: &Run) -> String {
    match (run.spent.answers, run.spent.micro_usd) {
        (0, _) => "$0".to_owned(),
        (_, None) => "$—".to_owned(),
        (_, Some(micro)) => format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100),
    }
}

/// `12 ms`, `3.4 s`, `5 m 06 s`, `7 h 08 m`, `9 d 10 h`. A clock that jumped back gives no negative time.
pub fn duration(ms: i64) -> String {
    match ms.max(0) {
        ms @ 0..1000 => format!("{ms} ms"),
        ms @ 1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        ms @ 60_000..3_600_000 => format!("{} m {:02} s", ms / 60_000, ms % 60_000 / 1000),
        ms @ 3_600_000..86_400_000 => format!("{} h {:02} m", ms / 3_600_000, ms % 3_600_000 / 60_000),
        ms => format!("{} d {:02} h", ms / 86_400_000, ms % 86_400_000 / 3_600_000),
    }
}

pub fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cut: String = text.chars().take(SHOWN_CHARS).collect();
    let cut = if cut.len() < text.len() { format!("{cut}…") } else { cut };
    fugato_model::escape_for_terminal(&cut).into_owned()
}

/// What people are told of a command, on one line.
fn first_line(says: &str) -> String {
    escaped(says.lines().next().unwrap_or_default())
}

fn kind_of(run: &Run, node: u32) -> &'static str {
    match run.plan_node(node).map(|plan| &plan.work) {
        Some(Work::Script { .. }) => "script",
        Some(Work::Inline { .. }) => "inline",
        Some(Work::Agent { .. }) => "agent",
        Some(Work::Phases { .. }) => "phases",
        Some(Work::Session { .. }) => "orchestrator",
        _ => "",
    }
}

/// Sub-skill and type of what is spawned; the main conversation spawns nothing.
fn spawned(run: &Run, node: u32) -> Option<(&str, &str)> {
    if run.nodes.get(node as usize).is_some_and(|state| state.inline) {
        return None;
    }
    match run.plan_node(node).map(|plan| &plan.work)? {
        Work::Agent { skill, agent_type, .. } | Work::Phases { skill, agent_type, .. } => {
            Some((skill, agent_type))
        }
        Work::Script { skill, .. } => Some((skill, "script")),
        Work::Session { orchestrator, .. } => Some((&orchestrator.name, "orchestrator")),
        _ => None,
    }
}

fn name(run: &Run, node: u32) -> String {
    let id = run.plan_node(node).map(|plan| plan.id.as_str()).unwrap_or_default();
    escaped(id)
}

fn is_child(run: &Run, agent: u32) -> bool {
    run.agents.get(agent as usize).is_some_and(|state| state.parent.is_some())
}

fn agent_name(run: &Run, agent: u32) -> String {
    run.agents.get(agent as usize).map(|agent| escaped(agent.path.as_str())).unwrap_or_default()
}

/// A question as a person reads it, line by line; a call that waits to be allowed may have many.
pub fn asked(run: &Run, number: u32, lang: Lang) -> String {
    let words = run.question_words(number);
    let options = run.questions.get(number as usize).map(|question| question.options.join(" / "));
    let options = options.filter(|options| !options.is_empty()).map(|options| format!(" [{options}]"));
    let text = format!("{}{}", words.in_lang(lang), options.unwrap_or_default());
    let lines: Vec<String> = text.lines().map(escaped).collect();
    format!("{} {}  (#{number})", paint(style::WARN, "?"), lines.join("\n  "))
}

fn escaped(text: &str) -> String {
    fugato_model::escape_for_terminal(text).into_owned()
}
