//! From events to what the files say: small facts about each agent, and the lines to append.
//!
//! Cost follows the event. Nothing of a conversation, a result or a variable stays here; the same log gives the same
//! files, whoever folds it and whenever.

use super::graph;
use super::lines::{self, Directive};
use super::news::{Ended, News};
use super::record::{Around, Record, Stage};
use super::sentence::{self, Sentence, cut, cut_to};
use super::status::RunWord;
use fugato_engine::{
    AfterFailure, Asked, Callable, Caller, Event, EventKind, MessageKind, Outcome, PlanNode, RunSpec,
    Standing, Target, Verb, Verdict, Work,
};
use fugato_model::Words;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// The role of a node whose work is a sub-skill with phases.
const PHASES: &str = "phases";
/// The role of a node whose work is an orchestrator's session.
const SESSION: &str = "orchestrator";

/// A file that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Log {
    Stream(u32),
    Inbox(u32),
    Outbox(u32),
    Control,
}

/// Does anybody work on the run?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Here,
    Gone,
}

#[derive(Debug)]
pub(super) struct Fold {
    pub id: String,
    pub seq: u64,
    pub started_at: i64,
    /// Never goes back, whatever the machine's clock does: durations made of exported times are not negative.
    pub clock: i64,
    pub generation: u64,
    pub records: Vec<Record>,
    dependencies: Box<RawValue>,
    pub phases: Vec<Arc<str>>,
    /// The newest directive.
    pub directive: Option<Directive>,
    /// Records whose `status.json` is not what it should be.
    pub stale: Vec<u32>,
    pub ended: Option<(Outcome, Words, i64)>,
    /// The newest sentences of all agents, oldest first.
    pub recent: VecDeque<Recent>,
    /// Its agents are processes of other programs.
    is_outside: bool,
    /// When the owner last said that everybody at work still is.
    pub beat: i64,
    by_id: HashMap<Arc<str>, u32>,
    /// Record of each node; joints have none.
    nodes: Vec<Option<u32>>,
    agents: Vec<Agent>,
    questions: Vec<Asker>,
    verbs: Vec<Verb>,
    held: bool,
    paused: u32,
    /// Skills that may be called: a call adds the nodes of its skill.
    skills: BTreeMap<String, Arc<Callable>>,
    roles: HashMap<String, Arc<str>>,
    /// Who waits for whom among what was called.
    edges: graph::Called,
    /// Who of the plan is told when another ends.
    news: News,
    /// Of agents outside: whom each waits for.
    waits: BTreeMap<Arc<str>, Vec<String>>,
}

/// What an agent did last.
#[derive(Debug)]
pub(super) struct Recent {
    pub seq: u64,
    pub at: i64,
    pub record: u32,
    pub sentence: Sentence,
}

/// As many as a dashboard shows.
pub(super) const RECENT: usize = 5;

/// An agent of the engine. Several nodes may be one agent's work in turn.
#[derive(Debug)]
struct Agent {
    record: u32,
    /// The node it works on, when that is a record of its own.
    node: Option<u32>,
    live: bool,
}

/// Whose record says that it waits for an answer.
#[derive(Clone, Copy, Debug, Default)]
struct Asker {
    agent: Option<u32>,
    node: Option<u32>,
}

impl Fold {
    /// The exports of a run right after its first event. `None`: that event is not `run.created`.
    pub fn created(event: &Event) -> Option<Self> {
        let EventKind::RunCreated { spec } = &event.kind else { return None };
        let mut fold = Self {
            id: spec.id.clone(),
            seq: event.seq,
            started_at: event.at,
            clock: event.at,
            generation: 0,
            records: Vec::with_capacity(spec.plan.nodes.len()),
            dependencies: graph::dependencies(&spec.plan),
            phases: spec.plan.phases.iter().map(|phase| phase.name.as_str().into()).collect(),
            directive: None,
            stale: Vec::new(),
            ended: None,
            recent: VecDeque::with_capacity(RECENT),
            is_outside: false,
            beat: 0,
            by_id: HashMap::with_capacity(spec.plan.nodes.len()),
            nodes: Vec::with_capacity(spec.plan.nodes.len()),
            agents: Vec::new(),
            questions: Vec::new(),
            verbs: Vec::new(),
            held: false,
            paused: 0,
            skills: spec.skills.clone(),
            roles: HashMap::new(),
            edges: graph::Called::default(),
            news: News::of(&spec.plan, |node| spec.reused.contains_key(&node.id)),
            waits: BTreeMap::new(),
        };
        fold.plan(spec);
        Some(fold)
    }

    fn plan(&mut self, spec: &RunSpec) {
        for node in &spec.plan.nodes {
            let record = self.node(node);
            let (is_reused, now) = (spec.reused.contains_key(&node.id), self.clock);
            if let Some(record) = record.filter(|_| is_reused) {
                self.with(record, |record| record.end(Stage::Done, now));
            }
        }
    }

    /// A further node of the plan; joints have no record.
    fn node(&mut self, node: &PlanNode) -> Option<u32> {
        let (role, task, speaks) = match &node.work {
            Work::Gate => {
                self.nodes.push(None);
                return None;
            }
            Work::Agent { agent_type, skill, .. } => (agent_type.as_str(), skill.clone(), true),
            Work::Phases { skill, .. } => (PHASES, skill.clone(), true),
            Work::Script { skill, entry, .. } => ("script", format!("{skill}/{entry}"), true),
            Work::Inline { .. } => ("inline", node.id.clone(), true),
            Work::Session { orchestrator, .. } => (SESSION, orchestrator.name.clone(), true),
            Work::Noop => ("noop", String::new(), false),
        };
        let role = match self.roles.get(role) {
            Some(role) => role.clone(),
            None => self.roles.entry(role.to_owned()).or_insert_with(|| role.into()).clone(),
        };
        let record = self.add(Record::new(node.id.as_str().into(), role, &cut(&task), Some(node.phase)));
        self.with(record, |record| record.speaks = speaks);
        self.nodes.push(Some(record));
        Some(record)
    }

    /// A call adds what its skill is made of, in the place the run gives it.
    fn called(&mut self, node: u32, id: &str, by: &Caller, skill: &str, arguments: &[Arc<str>]) {
        let session = match by {
            // Whoever prepares has a record of its own.
            Caller::Tool { agent, .. } => {
                self.agents.get(*agent as usize).map(|agent| agent.node.unwrap_or(agent.record))
            }
            Caller::Command { session, .. } => self.node_record(*session),
        };
        let phase = session.and_then(|record| self.records.get(record as usize)?.phase).unwrap_or(0);
        let first_phase = u32::try_from(self.phases.len()).unwrap_or(u32::MAX);
        let is_next = usize::try_from(node).is_ok_and(|node| node == self.nodes.len());
        let Some(callable) = self.skills.get(skill).filter(|_| is_next).cloned() else { return };
        self.edges.called(session.map(|record| self.id_of(record)), id, &callable);
        let added = callable.expand(skill, id, Standing { node, phase, first_phase });
        self.phases.extend(added.phases.iter().map(|phase| Arc::from(phase.name.as_str())));
        // A program says in a comment what a command is for; what it is told is the next best.
        let mut task = match by {
            Caller::Command { says: Some(says), .. } => Some(cut(says)),
            Caller::Command { says: None, .. } | Caller::Tool { .. } => Some(cut(&arguments.join(" "))),
        };
        for node in &added.nodes {
            let record = self.node(node);
            // What it was asked says more than what it is.
            if let (Some(record), Some(task)) = (record, task.take().filter(|task| !task.is_empty())) {
                self.with(record, |record| record.task = task.as_str().into());
            }
        }
    }

    /// A called skill has started with its call: the call is its caller's to tell, the start its own.
    fn starts(&mut self, seq: u64, node: u32, append: &mut dyn FnMut(Log, Vec<u8>)) {
        let (clock, sentence) = (self.clock, sentence::started(1));
        if let Some(record) = self.node_record(node) {
            append(Log::Stream(record), lines::stream(seq, clock, &sentence));
            self.with(record, |record| {
                record.begin(clock);
                record.heartbeat = Some(clock);
                record.heard = true;
                record.progress = cut_to(&sentence.words.en, 60).into();
            });
        }
    }

    /// A sub-skill with phases failed, or a session has ended: what was left of it is not done any more.
    fn end_inside(&mut self, call: u32, now: i64) {
        let Some(first) = self.nodes.get(call as usize).copied().flatten() else { return };
        let call = self.records.get(first as usize);
        let Some(call) = call.filter(|call| [PHASES, SESSION].contains(&&*call.role)) else { return };
        let inside = format!("{}/", call.id);
        // Those inside come after whoever called them.
        for at in first..u32::try_from(self.records.len()).unwrap_or(u32::MAX) {
            let record = self.records.get(at as usize);
            if record.is_some_and(|record| {
                record.id.starts_with(&inside) && matches!(record.stage, Stage::Pending | Stage::Working)
            }) {
                self.with(at, |record| record.end(Stage::Cancelled, now));
            }
        }
    }

    fn add(&mut self, record: Record) -> u32 {
        let at = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        self.by_id.insert(record.id.clone(), at);
        self.records.push(record);
        self.stale.push(at);
        at
    }

    /// Folds one event; `append` gets each line it makes, at most one for each file.
    pub fn apply(&mut self, event: &Event, append: &mut dyn FnMut(Log, Vec<u8>)) {
        self.seq = event.seq;
        self.clock = self.clock.max(event.at);
        self.change(event, append);
        if let Some(record) = self.speaker(&event.kind)
            && let Some(sentence) = sentence::of_event(&event.kind, |generation| self.verb(generation))
        {
            let line = lines::stream(event.seq, self.clock, &sentence);
            append(Log::Stream(record), line);
            let clock = self.clock;
            self.with(record, |record| {
                record.heartbeat = Some(clock);
                record.heard = true;
                record.progress = cut_to(&sentence.words.en, 60).into();
            });
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            // The hook does not keep them either: it would have to read them at every call.
            if self.is_outside {
                self.recent.clear();
                return;
            }
            self.recent.push_back(Recent { seq: event.seq, at: clock, record, sentence });
        }
    }

    fn change(&mut self, event: &Event, append: &mut dyn FnMut(Log, Vec<u8>)) {
        let now = self.clock;
        match &event.kind {
            EventKind::NodeStarted { node, .. } => self.with_node(*node, |record| record.begin(now)),
            EventKind::NodeCompleted { node, warnings, .. } => {
                let stage = if warnings.is_empty() { Stage::Done } else { Stage::Concerns };
                self.with_node(*node, |record| record.end(stage, now));
                self.end_inside(*node, now);
                let how = if warnings.is_empty() { Ended::Done } else { Ended::WithConcerns };
                self.tell_waiting(event.seq, *node, how, append);
            }
            EventKind::SessionPrepared { node, .. } => self.end_inside(*node, now),
            EventKind::NodeFailed { node, then, message } => {
                if *then != AfterFailure::Inline {
                    self.tell_waiting(event.seq, *node, Ended::Failed(&message.en), append);
                }
                self.with_node(*node, |record| match then {
                    AfterFailure::Inline => record.stage = Stage::Pending,
                    // Who was cancelled did not fail by itself.
                    AfterFailure::Null | AfterFailure::Abort if record.stage == Stage::Cancelled => {}
                    AfterFailure::Null | AfterFailure::Abort => record.end(Stage::Failed, now),
                });
                self.end_inside(*node, now);
            }
            EventKind::AgentQueued { agent, .. } => {
                // It is there before it works: whoever looks sees that it waits.
                if !self.by_id.contains_key(&agent.0) {
                    let kind = agent.as_str().rsplit_once('-').map_or(agent.as_str(), |(kind, _)| kind);
                    self.add(Record::new(agent.0.clone(), kind.into(), "", None));
                }
            }
            EventKind::AgentStarted { agent, node, agent_type, prompt, delegated, .. } => {
                let record = match self.by_id.get(&agent.0) {
                    Some(record) => *record,
                    None => {
                        self.add(Record::new(agent.0.clone(), agent_type.as_str().into(), &cut(prompt), None))
                    }
                };
                if delegated.is_some() {
                    let task = cut(prompt);
                    self.with(record, |record| record.task = task.as_str().into());
                }
                let node = self.other_record(*node, record);
                self.agents.push(Agent { record, node, live: true });
                self.with(record, |record| record.begin(now));
            }
            EventKind::AgentContinued { agent, node, .. } => {
                let Some(record) = self.record_of(*agent) else { return };
                let node = self.other_record(*node, record);
                if let Some(agent) = self.agents.get_mut(*agent as usize) {
                    (agent.node, agent.live) = (node, true);
                }
                let was_over = self.records.get(record as usize).is_some_and(Record::is_over);
                self.with(record, |record| record.begin(now));
                if was_over {
                    self.hold(record);
                }
            }
            EventKind::AgentJoined { agent, after, .. } => {
                self.is_outside = true;
                self.recent.clear();
                let Some(record) = self.record_of(*agent) else { return };
                self.hold(record);
                if !after.is_empty() {
                    self.waits.insert(self.id_of(record), after.clone());
                    self.dependencies = serde_json::value::to_raw_value(&self.waits).unwrap_or_default();
                }
            }
            EventKind::MessageDelivered { agent, count } => {
                let Some(record) = self.record_of(*agent) else { return };
                self.with(record, |record| record.unread = record.unread.saturating_sub(u64::from(*count)));
            }
            EventKind::AgentReported { agent, report } => {
                let Some(record) = self.record_of(*agent) else { return };
                self.with(record, |record| record.report = Some(*report));
            }
            EventKind::AgentStopped { agent, verdict } => self.stopped(*agent, verdict),
            EventKind::InputRequested { about, .. } => self.asked(*about),
            EventKind::InputAnswered { question, .. } => self.answered(*question),
            EventKind::MessageSent { to, from, text, kind } => {
                self.message(event.seq, *to, from, text, *kind, append);
            }
            EventKind::DirectiveRecorded { generation, verb, target, text } => {
                let directive = Directive::new(*generation, *verb, target, text.as_deref());
                append(Log::Control, lines::directive(event.seq, now, event.by, &directive));
                self.directed(*generation, *verb, target);
                self.directive = Some(directive);
            }
            EventKind::DirectiveApplied { generation, agent } => {
                let Some(record) = self.record_of(*agent) else { return };
                self.with(record, |record| record.acked = record.acked.max(*generation));
                let id = self.id_of(record);
                append(Log::Control, lines::receipt(event.seq, now, *generation, &id, "applied"));
            }
            EventKind::DirectiveDelivered { generation, agent } => {
                let Some(record) = self.record_of(*agent) else { return };
                let id = self.id_of(record);
                append(Log::Control, lines::receipt(event.seq, now, *generation, &id, "delivered"));
            }
            EventKind::DirectiveExpired { generation, agent } => {
                let Some(record) = self.record_of(*agent) else { return };
                let id = self.id_of(record);
                append(Log::Control, lines::receipt(event.seq, now, *generation, &id, "expired"));
            }
            EventKind::DirectiveHeld { generation, node } => {
                let Some(record) = self.node_record(*node) else { return };
                self.with(record, |record| record.acked = record.acked.max(*generation));
                let id = self.id_of(record);
                append(Log::Control, lines::receipt(event.seq, now, *generation, &id, "applied"));
            }
            EventKind::DirectiveRefused { generation, reason, verb, target, text } => {
                self.generation = *generation;
                self.verbs.push(verb.unwrap_or(Verb::Pause));
                let directive = verb
                    .zip(target.as_ref())
                    .map(|(verb, target)| Directive::new(*generation, verb, target, text.as_deref()));
                append(Log::Control, lines::refused(event.seq, now, *generation, reason, directive.as_ref()));
            }
            EventKind::RunEnded { outcome, reason, .. } => {
                self.ended = Some((*outcome, reason.clone(), now));
                self.all_stale();
            }
            EventKind::LimitsRaised { .. } => {
                if matches!(self.ended, Some((Outcome::BudgetExhausted, ..))) {
                    self.ended = None;
                    self.all_stale();
                }
            }
            EventKind::SkillCalled { node, id, by, skill, arguments, starts } => {
                self.called(*node, id, by, skill, arguments);
                if *starts {
                    self.starts(event.seq, *node, append);
                }
            }
            EventKind::NodeRestarted { node } => {
                self.news.restarted(*node);
                self.with_node(*node, |record| record.stage = Stage::Pending);
            }
            EventKind::ModelRequested { agent, .. } => {
                // It sees its inbox now.
                if let Some(record) = self.record_of(*agent) {
                    self.with(record, |record| record.unread = 0);
                }
            }
            EventKind::AgentRestarted { agent } => {
                let Some(record) = self.record_of(*agent) else { return };
                let was_paused = self.records.get(record as usize).is_some_and(|record| record.paused);
                self.paused -= u32::from(was_paused).min(self.paused);
                self.with(record, |record| (record.paused, record.questions) = (false, 0));
            }
            EventKind::RunCreated { .. }
            | EventKind::RunRecovered { .. }
            | EventKind::ForeignSkipped { .. }
            | EventKind::ProgramPlanned { .. }
            | EventKind::ProgramRefused { .. }
            | EventKind::NodeUncertain { .. }
            | EventKind::NodeWarned { .. }
            | EventKind::NodePrinted { .. }
            | EventKind::AgentCompacted { .. }
            | EventKind::AgentWaiting { .. }
            | EventKind::AgentHosted { .. }
            | EventKind::AgentInterrupted { .. }
            | EventKind::AgentActed { .. }
            | EventKind::RepairAsked { .. }
            | EventKind::ToolRefused { .. }
            | EventKind::SkillUsed { .. }
            | EventKind::TimerFired { .. }
            | EventKind::ModelRetried { .. }
            | EventKind::ModelAnswered { .. }
            | EventKind::ModelFailed { .. }
            | EventKind::ToolRequested { .. }
            | EventKind::ToolCompleted { .. }
            | EventKind::ToolUncertain { .. }
            | EventKind::AgentAnnounced { .. }
            | EventKind::AgentWarned { .. }
            | EventKind::ToolAsked { .. }
            | EventKind::ToolDenied { .. }
            | EventKind::ToolAnswered { .. }
            | EventKind::HostObserved { .. } => {}
        }
    }

    /// Whoever begins while everybody is paused is paused.
    fn hold(&mut self, record: u32) {
        if self.held && self.records.get(record as usize).is_some_and(|record| !record.paused) {
            self.paused += 1;
            self.with(record, |record| record.paused = true);
        }
    }

    fn stopped(&mut self, agent: u32, verdict: &Verdict) {
        let Some(stopped) = self.agents.get_mut(agent as usize) else { return };
        stopped.live = false;
        let (record, now) = (stopped.record, self.clock);
        let is_node = self.is_node(record);
        let was_paused = self.records.get(record as usize).is_some_and(|record| record.paused);
        self.paused -= u32::from(was_paused).min(self.paused);
        self.with(record, |record| match verdict {
            Verdict::Cancelled => record.end(Stage::Cancelled, now),
            // Whether a node's work is good is the node's next event.
            _ if is_node => (record.paused, record.questions) = (false, 0),
            Verdict::Submitted { .. } | Verdict::Answered { .. } => record.end(record.answered(), now),
            Verdict::LimitReached { text, .. } if !text.is_empty() => record.end(Stage::Concerns, now),
            Verdict::LimitReached { .. } | Verdict::Failed { .. } => record.end(Stage::Failed, now),
        });
    }

    fn asked(&mut self, about: Asked) {
        let asker = match about {
            Asked::Agent { agent, .. } | Asked::Permission { agent, .. } | Asked::Task { agent } => {
                let agent = self.agents.get(agent as usize);
                Asker { agent: agent.map(|agent| agent.record), node: agent.and_then(|agent| agent.node) }
            }
            Asked::Uncertain { node } => Asker { agent: self.node_record(node), node: None },
        };
        self.questions.push(asker);
        for record in [asker.agent, asker.node].into_iter().flatten() {
            self.with(record, |record| record.questions += 1);
        }
    }

    fn answered(&mut self, question: u32) {
        let asker = self.questions.get(question as usize).copied().unwrap_or_default();
        for record in [asker.agent, asker.node].into_iter().flatten() {
            self.with(record, |record| record.questions = record.questions.saturating_sub(1));
        }
    }

    fn message(
        &mut self,
        seq: u64,
        to: u32,
        from: &str,
        text: &str,
        kind: Option<MessageKind>,
        append: &mut dyn FnMut(Log, Vec<u8>),
    ) {
        let Some(record) = self.record_of(to) else { return };
        let to = self.id_of(record);
        // A redirect reaches its agent as a message, wrapped in words for the model; programs get the instruction alone.
        // Logs from before messages had kinds say it by what came before.
        let acked = self.records.get(record as usize).map_or(0, |record| record.acked);
        let is_redirect = |newest: &&Directive| match kind {
            Some(kind) => kind == MessageKind::Redirect,
            None => newest.verb == Verb::Redirect && newest.generation > acked && from == "user",
        };
        let instruction = self
            .directive
            .as_ref()
            .filter(is_redirect)
            .map(|newest| newest.message.as_str())
            .filter(|instruction| text.ends_with(instruction));
        let line = lines::message(seq, self.clock, from, &to, text, instruction, kind);
        if let Some(sender) = self.by_id.get(from) {
            append(Log::Outbox(*sender), line.clone());
        }
        append(Log::Inbox(record), line);
        self.with(record, |record| record.unread += 1);
    }

    /// Whoever waits for a node that has ended finds it in its inbox.
    fn tell_waiting(&mut self, seq: u64, node: u32, how: Ended<'_>, append: &mut dyn FnMut(Log, Vec<u8>)) {
        let Some(record) = self.node_record(node) else { return };
        let from = self.id_of(record);
        for (waiting, text) in self.news.ended(node, &from, how) {
            let Some(record) = self.node_record(waiting) else { continue };
            let to = self.id_of(record);
            append(Log::Inbox(record), lines::news(seq, self.clock, &from, &to, &text));
        }
    }

    fn directed(&mut self, generation: u64, verb: Verb, target: &Target) {
        self.generation = generation;
        // Generations count up by one; a gap would only cost a sentence its verb.
        self.verbs.push(verb);
        let paused = match verb {
            Verb::Pause => true,
            Verb::Resume => false,
            Verb::Cancel | Verb::Redirect | Verb::Restart => return,
        };
        let records: Vec<u32> = match target {
            Target::All => {
                self.held = paused;
                let live = self.agents.iter().filter(|agent| agent.live).map(|agent| agent.record);
                // Who has not started is held by its own name only, and let go with everybody.
                let waits = |(_, record): &(u32, &Record)| record.stage == Stage::Pending && record.paused;
                let waiting = (0u32..).zip(&self.records).filter(waits).map(|(at, _)| at);
                if paused { live.collect() } else { live.chain(waiting).collect() }
            }
            Target::Agent(path) => {
                let goes_on =
                    |record: &u32| self.records.get(*record as usize).is_some_and(|record| !record.is_over());
                self.by_id.get(&path.0).copied().filter(goes_on).into_iter().collect()
            }
        };
        for record in records {
            let before = self.records.get(record as usize).is_some_and(|record| record.paused);
            match (before, paused) {
                (false, true) => self.paused += 1,
                (true, false) => self.paused = self.paused.saturating_sub(1),
                _ => {}
            }
            self.with(record, |record| record.paused = paused);
        }
    }

    /// How the run stands, and why if it does not go on.
    pub fn standing(&self, owner: Owner) -> (RunWord, Option<&Words>) {
        match (&self.ended, owner) {
            (Some((Outcome::Complete, ..)), _) => (RunWord::Complete, None),
            (Some((Outcome::Failed, reason, _)), _) => (RunWord::Failed, Some(reason)),
            (Some((Outcome::Aborted, reason, _)), _) => (RunWord::Aborted, Some(reason)),
            // It waits for a larger budget, and `resume` continues it.
            (Some((Outcome::BudgetExhausted, reason, _)), _) => (RunWord::Interrupted, Some(reason)),
            (None, _) if self.is_paused() => (RunWord::Paused, None),
            (None, Owner::Gone) if !self.waits_for_a_person() => (RunWord::Interrupted, None),
            (None, _) => (RunWord::Running, None),
        }
    }

    /// Nobody works, because somebody said so.
    fn is_paused(&self) -> bool {
        let at_work = |record: &Record| record.stage == Stage::Working && !record.paused;
        let is_live = |agent: &Agent| {
            agent.live && self.records.get(agent.record as usize).is_some_and(|record| !record.paused)
        };
        match (self.held, self.paused) {
            (true, _) => !self.agents.iter().any(is_live),
            (false, 0) => false,
            (false, _) => !self.records.iter().any(at_work),
        }
    }

    pub fn around(&self, owner: Owner) -> Around {
        match (&self.ended, owner) {
            (Some((Outcome::Complete | Outcome::Failed | Outcome::Aborted, _, at)), _) => Around::Over(*at),
            (Some((Outcome::BudgetExhausted, ..)), _) | (None, Owner::Gone) => Around::Held,
            (None, Owner::Here) => Around::Live,
        }
    }

    /// A question is open and nobody works meanwhile: such a run needs no living process.
    fn waits_for_a_person(&self) -> bool {
        let working: Vec<&Record> =
            self.records.iter().filter(|record| record.stage == Stage::Working).collect();
        let asks = |record: &&Record| record.questions > 0;
        // Who waits for somebody that asks waits for the same person.
        let waits = |record: &Record| {
            working
                .iter()
                .filter(|record| asks(record))
                .any(|asker| asker.id.strip_prefix(&*record.id).is_some_and(|below| below.starts_with('/')))
        };
        !working.is_empty() && working.iter().all(|record| asks(record) || waits(record))
    }

    /// Whoever is at work is still at work, though nothing was heard of it.
    pub fn beat(&mut self, now: i64) {
        self.beat = now;
        let at_work = |(_, record): &(u32, &Record)| record.stage == Stage::Working;
        let working: Vec<u32> = (0u32..).zip(&self.records).filter(at_work).map(|(at, _)| at).collect();
        working.into_iter().for_each(|record| self.with(record, |_| {}));
    }

    /// Every agent that has not ended looks different now.
    pub fn all_stale(&mut self) {
        for at in 0..u32::try_from(self.records.len()).unwrap_or(u32::MAX) {
            if self.records.get(at as usize).is_some_and(|record| !record.is_over()) {
                self.with(at, |_| {});
            }
        }
    }

    /// Whose stream an event belongs to.
    fn speaker(&self, kind: &EventKind) -> Option<u32> {
        let record = match kind {
            // An agent's own start and end say more than those of the node it was made for.
            EventKind::NodeStarted { node, .. } => {
                self.node_record(*node).filter(|record| !self.is_agent(*record))
            }
            EventKind::AgentStopped { agent, verdict } => {
                let record = self.record_of(*agent);
                record.filter(|record| *verdict == Verdict::Cancelled || !self.is_node(*record))
            }
            EventKind::NodeCompleted { node, .. }
            | EventKind::NodeFailed { node, .. }
            | EventKind::NodeWarned { node, .. }
            | EventKind::NodePrinted { node, .. }
            | EventKind::DirectiveHeld { node, .. }
            | EventKind::NodeRestarted { node }
            | EventKind::NodeUncertain { node } => self.node_record(*node),
            EventKind::SessionPrepared { node, .. }
            | EventKind::SkillCalled { by: Caller::Command { session: node, .. }, .. }
            | EventKind::ProgramPlanned { session: node, .. }
            | EventKind::ProgramRefused { session: node, .. } => self.node_record(*node),
            EventKind::SkillCalled { by: Caller::Tool { agent, .. }, .. } => self.record_of(*agent),
            EventKind::AgentStarted { agent, .. } | EventKind::AgentQueued { agent, .. } => {
                self.by_id.get(&agent.0).copied()
            }
            EventKind::AgentContinued { agent, .. }
            | EventKind::AgentWaiting { agent }
            | EventKind::AgentHosted { agent, .. }
            | EventKind::AgentInterrupted { agent, .. }
            | EventKind::AgentRestarted { agent }
            | EventKind::AgentActed { agent, .. }
            | EventKind::ModelRequested { agent, .. }
            | EventKind::ModelAnswered { agent, .. }
            | EventKind::ModelFailed { agent, .. }
            | EventKind::ModelRetried { agent, .. }
            | EventKind::ToolRequested { agent, .. }
            | EventKind::ToolCompleted { agent, .. }
            | EventKind::ToolUncertain { agent, .. }
            | EventKind::ToolRefused { agent, .. }
            | EventKind::AgentCompacted { agent, .. }
            | EventKind::RepairAsked { agent, .. }
            | EventKind::SkillUsed { agent, .. }
            | EventKind::DirectiveApplied { agent, .. }
            | EventKind::DirectiveExpired { agent, .. }
            | EventKind::MessageSent { to: agent, .. }
            | EventKind::AgentAnnounced { agent, .. }
            | EventKind::AgentJoined { agent, .. }
            | EventKind::AgentReported { agent, .. }
            | EventKind::AgentWarned { agent, .. }
            | EventKind::ToolAsked { agent, .. }
            | EventKind::ToolDenied { agent, .. }
            | EventKind::ToolAnswered { agent, .. }
            | EventKind::HostObserved { agent: Some(agent), .. }
            | EventKind::MessageDelivered { agent, .. } => self.record_of(*agent),
            EventKind::InputRequested { .. } => self.questions.last().and_then(|asker| asker.agent),
            EventKind::InputAnswered { question, .. } => {
                self.questions.get(*question as usize).and_then(|asker| asker.agent)
            }
            EventKind::RunCreated { .. }
            | EventKind::RunRecovered { .. }
            | EventKind::LimitsRaised { .. }
            | EventKind::TimerFired { .. }
            | EventKind::RunEnded { .. }
            | EventKind::ForeignSkipped { .. }
            | EventKind::HostObserved { agent: None, .. }
            | EventKind::DirectiveRecorded { .. }
            | EventKind::DirectiveDelivered { .. }
            | EventKind::DirectiveRefused { .. } => None,
        };
        record.filter(|record| self.records.get(*record as usize).is_some_and(|record| record.speaks))
    }

    /// Who waits for whom, as JSON.
    pub fn dependencies(&self) -> Cow<'_, RawValue> {
        self.edges.beside(&self.dependencies)
    }

    pub fn phase_of(&self, record: &Record) -> &str {
        record.phase.and_then(|phase| self.phases.get(phase as usize)).map_or("", |phase| phase)
    }

    fn id_of(&self, record: u32) -> Arc<str> {
        self.records.get(record as usize).map_or_else(|| "".into(), |record| record.id.clone())
    }

    fn record_of(&self, agent: u32) -> Option<u32> {
        self.agents.get(agent as usize).map(|agent| agent.record)
    }

    fn node_record(&self, node: u32) -> Option<u32> {
        self.nodes.get(node as usize).copied().flatten()
    }

    fn other_record(&self, node: Option<u32>, record: u32) -> Option<u32> {
        node.and_then(|node| self.node_record(node)).filter(|node| *node != record)
    }

    /// Is it a node of the plan?
    fn is_node(&self, record: u32) -> bool {
        self.records.get(record as usize).is_some_and(|record| record.phase.is_some())
    }

    /// Does an agent of its own do its work?
    fn is_agent(&self, record: u32) -> bool {
        let role = self.records.get(record as usize).map(|record| &*record.role);
        !matches!(role, None | Some("script" | "inline" | "noop"))
    }

    fn verb(&self, generation: u64) -> Option<Verb> {
        let at = usize::try_from(generation.checked_sub(1)?).ok()?;
        self.verbs.get(at).copied()
    }

    fn with_node(&mut self, node: u32, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.node_record(node) {
            self.with(record, change);
        }
    }

    fn with(&mut self, record: u32, change: impl FnOnce(&mut Record)) {
        let Some(found) = self.records.get_mut(record as usize) else { return };
        change(found);
        if !found.stale {
            found.stale = true;
            self.stale.push(record);
        }
    }
}
