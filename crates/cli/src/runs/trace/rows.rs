//! From the log to bars: when each node worked, waited or stood still, and the calls inside. Pure, one pass.

use super::bars::{Bar, Break, CHILD, State, Step, StepKind, Trace, Why};
use fugato_engine::{AfterFailure, AgentPath, Asked, Caller, Event, EventKind, Report, Run, Verdict};
use std::collections::{HashMap, HashSet};

impl Trace {
    pub fn of(events: &[Event], run: &Run) -> Self {
        let mut tracer = Tracer::new(run, events.first().map_or(0, |event| event.at));
        events.iter().for_each(|event| tracer.event(event, run));
        if run.ended.is_some() {
            tracer.close();
        }
        tracer.trace
    }
}

/// Follows a log: the bars so far, and what is still under way. `run` has the event applied, or is further on.
#[derive(Debug, Default)]
pub struct Tracer {
    pub trace: Trace,
    clock: i64,
    /// Bar of a node at work.
    open: HashMap<u32, usize>,
    /// Bar each agent works for now.
    agents: Vec<usize>,
    /// Agents that have a bar of their own, not that of a node.
    alone: HashSet<u32>,
    /// In which word they summed up what is about to end.
    reports: HashMap<u32, Report>,
    /// Bar and step of a call under way.
    calls: HashMap<(u32, u32, Option<u32>), (usize, usize)>,
    /// The same of agents outside, by their host's name for the call.
    outside: HashMap<(u32, String), (usize, usize)>,
    questions: Vec<Option<(usize, Option<usize>)>>,
    /// Of each bar so many steps at least; `None`: all.
    kept: Option<usize>,
}

impl Tracer {
    pub fn new(run: &Run, from: i64) -> Self {
        let reused = run.spec.plan.nodes.iter().filter(|node| run.spec.reused.contains_key(&node.id));
        let bars = reused.map(|node| Bar {
            id: node.id.clone(),
            start: from,
            end: Some(from),
            state: State::Reused,
            ..Bar::default()
        });
        let trace = Trace { from, to: from, resumed: Vec::new(), bars: bars.collect() };
        Self { trace, clock: from, ..Self::default() }
    }

    /// For whoever follows a run for days: of each bar only the newest steps.
    pub fn keeping(mut self, steps: usize) -> Self {
        self.kept = Some(steps);
        self
    }

    pub fn event(&mut self, event: &Event, run: &Run) {
        let before = self.clock;
        // The order is the truth, the clock may have been set back: time never does.
        self.clock = before.max(event.at);
        self.trace.to = self.clock;
        self.happened(&event.kind, before, run);
    }

    /// The run is over: what had not ended has stopped.
    pub fn close(&mut self) {
        let to = self.clock;
        for bar in self.trace.bars.iter_mut().filter(|bar| bar.state == State::Running) {
            (bar.state, bar.end) = (State::Stopped, Some(to));
            bar.breaks.iter_mut().for_each(|pause| pause.end = pause.end.or(Some(to)));
            bar.steps.iter_mut().for_each(|step| step.end = step.end.or(Some(to)));
        }
    }

    fn happened(&mut self, kind: &EventKind, before: i64, run: &Run) {
        let now = self.clock;
        if let Some((node, attempt)) = kind.starts() {
            let id = run.plan_node(node).map(|plan| plan.id.clone()).unwrap_or_default();
            self.open.insert(node, self.trace.bars.len());
            self.trace.bars.push(Bar { id, start: now, attempt, ..Bar::default() });
        }
        match kind {
            EventKind::NodeCompleted { node, .. } => self.end(*node, State::Done),
            EventKind::NodeFailed { node, then, .. } => {
                let state = match then {
                    AfterFailure::Inline => State::FellBack,
                    AfterFailure::Null => State::FailedOptional,
                    AfterFailure::Abort => State::Failed,
                };
                self.end(*node, state);
            }
            EventKind::AgentStarted { agent, node, .. } => {
                let bar = match node.and_then(|node| self.open.get(&node).copied()) {
                    Some(bar) => bar,
                    None => {
                        self.alone.insert(u32::try_from(self.agents.len()).unwrap_or(u32::MAX));
                        self.bar_of(run.agent(agent.as_str()).is_some_and(|(at, _)| is_child(run, at)), agent)
                    }
                };
                self.agents.push(bar);
            }
            EventKind::AgentStopped { agent, verdict } if self.alone.contains(agent) => {
                let report = self.reports.remove(agent);
                self.stopped(*agent, state_of(verdict, report));
            }
            EventKind::AgentReported { agent, report } => drop(self.reports.insert(*agent, *report)),
            EventKind::AgentJoined { agent, parent: Some(_), .. } => {
                let bar = self.agents.get(*agent as usize).and_then(|at| self.trace.bars.get_mut(*at));
                if let Some(bar) = bar.filter(|bar| !bar.id.starts_with(CHILD)) {
                    bar.id.insert_str(0, CHILD);
                }
            }
            // It goes on as another bar: between its tasks it did nothing.
            EventKind::AgentContinued { agent, node: None, .. } if self.has_ended(*agent) => {
                let Some(path) = run.agents.get(*agent as usize).map(|state| state.path.clone()) else {
                    return;
                };
                let bar = self.bar_of(is_child(run, *agent), &path);
                if let Some(slot) = self.agents.get_mut(*agent as usize) {
                    *slot = bar;
                }
            }
            EventKind::AgentContinued { agent, node, .. } => {
                let bar = node.and_then(|node| self.open.get(&node).copied());
                if let (Some(slot), Some(bar)) = (self.agents.get_mut(*agent as usize), bar) {
                    *slot = bar;
                }
            }
            EventKind::ModelRequested { agent, step, .. } => {
                self.call((*agent, *step, None), StepKind::Model, model_of(run, *agent));
            }
            EventKind::ModelAnswered { agent, step, .. } => self.called((*agent, *step, None), false),
            EventKind::ModelFailed { agent, step, .. } => self.called((*agent, *step, None), true),
            EventKind::ToolRequested { agent, step, index, call, .. } => {
                self.call((*agent, *step, Some(*index)), StepKind::Tool, call.name.clone());
            }
            EventKind::SkillCalled { by: Caller::Tool { agent, step, index }, skill, .. } => {
                self.call((*agent, *step, Some(*index)), StepKind::Tool, skill.to_string());
            }
            EventKind::ToolCompleted { agent, step, index, is_error, .. } => {
                self.called((*agent, *step, Some(*index)), *is_error);
            }
            EventKind::ToolUncertain { agent, step, index } => {
                self.called((*agent, *step, Some(*index)), true);
            }
            EventKind::ToolAsked { agent, call, tool, .. } => {
                let begun = self.begin(*agent, StepKind::Tool, tool.clone());
                self.outside.extend(begun.map(|step| ((*agent, call.clone()), step)));
            }
            EventKind::ToolAnswered { agent, call, is_error, .. } => {
                let step = self.outside.remove(&(*agent, call.clone()));
                self.finish(step, *is_error);
            }
            EventKind::ToolDenied { agent, call, .. } => {
                let step = self.outside.remove(&(*agent, call.clone()));
                self.finish(step, true);
            }
            EventKind::InputRequested { about, .. } => self.asked(*about),
            EventKind::InputAnswered { question, .. } => self.answered(*question),
            EventKind::RunRecovered { .. } => self.recovered(before, run),
            EventKind::RunEnded { .. } => {
                // A skill without phases has no node that ends: its agent's bar does.
                let outcome = run.ended.as_ref().map(|(outcome, ..)| *outcome);
                let state = match outcome {
                    Some(fugato_engine::Outcome::Complete) => State::Done,
                    Some(fugato_engine::Outcome::Failed) => State::Failed,
                    _ => return,
                };
                // Whoever said how it ended has said it.
                if run.spec.single.is_some()
                    && let Some(bar) = self.trace.bars.first_mut().filter(|bar| bar.end.is_none())
                {
                    (bar.end, bar.state) = (Some(now), state);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, node: u32, state: State) {
        let now = self.clock;
        if let Some(bar) = self.open.remove(&node).and_then(|at| self.trace.bars.get_mut(at)) {
            (bar.end, bar.state) = (Some(now), state);
            bar.breaks.iter_mut().for_each(|pause| pause.end = pause.end.or(Some(now)));
            bar.steps.iter_mut().for_each(|step| step.end = step.end.or(Some(now)));
        }
    }

    /// A bar that is an agent's own.
    fn bar_of(&mut self, is_child: bool, agent: &AgentPath) -> usize {
        let id = if is_child { format!("{CHILD}{agent}") } else { agent.to_string() };
        self.trace.bars.push(Bar { id, start: self.clock, attempt: 1, ..Bar::default() });
        self.trace.bars.len() - 1
    }

    fn has_ended(&self, agent: u32) -> bool {
        let bar = self.agents.get(agent as usize).and_then(|at| self.trace.bars.get(*at));
        self.alone.contains(&agent) && bar.is_some_and(|bar| bar.end.is_some())
    }

    fn stopped(&mut self, agent: u32, state: State) {
        let now = self.clock;
        let bar = self.agents.get(agent as usize).and_then(|at| self.trace.bars.get_mut(*at));
        if let Some(bar) = bar {
            (bar.end, bar.state) = (Some(now), state);
            bar.breaks.iter_mut().for_each(|pause| pause.end = pause.end.or(Some(now)));
            bar.steps.iter_mut().for_each(|step| step.end = step.end.or(Some(now)));
        }
    }

    fn call(&mut self, key: (u32, u32, Option<u32>), kind: StepKind, label: String) {
        let begun = self.begin(key.0, kind, label);
        self.calls.extend(begun.map(|step| (key, step)));
    }

    fn called(&mut self, key: (u32, u32, Option<u32>), failed: bool) {
        let step = self.calls.remove(&key);
        self.finish(step, failed);
    }

    fn begin(&mut self, agent: u32, kind: StepKind, label: String) -> Option<(usize, usize)> {
        let start = self.clock;
        let at = self.agents.get(agent as usize).copied()?;
        let bar = self.trace.bars.get_mut(at)?;
        if let Some(kept) = self.kept.filter(|kept| bar.steps.len() >= 2 * kept) {
            bar.steps.drain(..kept);
            bar.forgotten += kept;
        }
        let number = bar.next_step();
        bar.steps.push(Step { kind, label, start, end: None, failed: false });
        Some((at, number))
    }

    fn finish(&mut self, step: Option<(usize, usize)>, failed: bool) {
        let Some((bar, step)) = step else { return };
        if let Some(step) = self.trace.bars.get_mut(bar).and_then(|bar| bar.step(step)) {
            (step.end, step.failed) = (Some(self.clock), failed);
        }
    }

    fn asked(&mut self, about: Asked) {
        let start = self.clock;
        let at = match about {
            Asked::Agent { agent, .. } | Asked::Permission { agent, .. } | Asked::Task { agent } => {
                self.agents.get(agent as usize).copied()
            }
            Asked::Uncertain { node } => self.open.get(&node).copied(),
        };
        let waiting = at.and_then(|at| {
            let bar = self.trace.bars.get_mut(at)?;
            bar.breaks.push(Break { why: Why::Person, start, end: None });
            let step = matches!(about, Asked::Agent { .. }).then(|| {
                let number = bar.next_step();
                bar.steps.push(Step {
                    kind: StepKind::Question,
                    label: "ask_user".into(),
                    start,
                    end: None,
                    failed: false,
                });
                number
            });
            Some((at, step))
        });
        self.questions.push(waiting);
    }

    fn answered(&mut self, question: u32) {
        let end = Some(self.clock);
        let Some(Some((bar, step))) = self.questions.get(question as usize).copied() else { return };
        let Some(bar) = self.trace.bars.get_mut(bar) else { return };
        let open = bar.breaks.iter_mut().find(|pause| pause.why == Why::Person && pause.end.is_none());
        if let Some(pause) = open {
            pause.end = end;
        }
        if let Some(step) = step.and_then(|step| bar.step(step)) {
            step.end = end;
        }
    }

    /// From the last sign of the old owner to the first of the new one nothing was done, except waiting for a person.
    fn recovered(&mut self, before: i64, run: &Run) {
        let now = self.clock;
        self.trace.resumed.push(now);
        let at_work: Vec<usize> = if run.spec.single.is_some() {
            (0..self.trace.bars.len()).collect()
        } else {
            self.open.values().copied().collect()
        };
        for at in at_work {
            let Some(bar) = self.trace.bars.get_mut(at).filter(|bar| bar.end.is_none()) else { continue };
            if bar.breaks.iter().all(|pause| pause.end.is_some()) {
                bar.breaks.push(Break { why: Why::Nobody, start: before, end: Some(now) });
            }
        }
    }
}

/// How an agent ended, in its own word if it gave one.
fn state_of(verdict: &Verdict, report: Option<Report>) -> State {
    match (verdict, report) {
        (Verdict::Submitted { .. } | Verdict::Answered { .. }, None | Some(Report::Done)) => State::Done,
        (Verdict::Submitted { .. } | Verdict::Answered { .. }, Some(report)) => match report {
            Report::Done | Report::DoneWithConcerns => State::Concerns,
            Report::Blocked => State::Blocked,
            Report::NeedsContext => State::NeedsContext,
        },
        (Verdict::LimitReached { .. }, _) => State::LimitReached,
        (Verdict::Failed { .. }, _) => State::Failed,
        (Verdict::Cancelled, _) => State::Cancelled,
    }
}

fn is_child(run: &Run, agent: u32) -> bool {
    run.agents.get(agent as usize).is_some_and(|state| state.parent.is_some())
}

fn model_of(run: &Run, agent: u32) -> String {
    run.agents.get(agent as usize).map(|agent| agent.model.clone()).unwrap_or_default()
}
