//! The fold of sessions: which stage an orchestrator is in, who works for it, and what it can still be told by name.

use super::growth::{Called, Given};
use super::sop::SopState;
use super::{NodeStatus, Run, ScopeKind, index};
use crate::agent::{AgentState, Duty};
use crate::event::{CallRef, EventKind};
use crate::orchestration::{ContextEntry, Orchestrator, SessionKind};
use crate::plan::Work;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An orchestrator at work.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionState {
    pub stage: Stage,
    /// What preparation found.
    pub entries: Vec<ContextEntry>,
    /// Who works, or worked last, in this stage.
    pub agent: Option<u32>,
    /// Results of called skills so far, and those of them that are too long to be shown, by number.
    pub results: u32,
    pub(crate) long: BTreeMap<u32, Arc<str>>,
    pub sop: SopState,
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Preparing,
    Main,
}

/// Results of more characters are shown by their beginning and a name.
pub(crate) const LONG: usize = 8_000;
const SHOWN: usize = 2_000;

/// What a result says, and whether it is a failure.
pub(crate) fn text_of(given: &Given) -> (String, bool) {
    match given {
        Given::Done(value) => (value.as_str().map_or_else(|| value.to_string(), str::to_owned), false),
        Given::Failed(words) => (format!("failed: {}", words.en), true),
        Given::Cancelled(words) => (format!("canceled: {}", words.en), true),
    }
}

/// The name of a long result.
pub(crate) fn name_of(number: u32) -> String {
    format!("$$tool-res-{number}")
}

/// A result as the model that waits for it sees it.
pub(crate) fn shown(number: u32, text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(LONG) else { return text.to_owned() };
    let head: String = text.chars().take(SHOWN).collect();
    let (name, all) = (name_of(number), LONG + text.get(end..).map_or(0, |rest| rest.chars().count()));
    format!(
        "{head}\n[… these are the first {SHOWN} of {all} characters. The whole result is called {name}: write that name \
         into the prompt of a skill to hand it over whole …]"
    )
}

impl Run {
    /// What the skill gave that a call waits for, as its caller sees it.
    pub(super) fn result_of_call(&self, call: CallRef) -> Option<String> {
        let called = self.called(self.node_of_call(call)?)?;
        let (text, _) = text_of(called.given.as_ref()?);
        Some(shown(self.session(called.session)?.results + 1, &text))
    }

    /// The sessions that have begun, by node.
    pub fn session(&self, node: u32) -> Option<&SessionState> {
        if self.sessions.is_empty() {
            return None;
        }
        self.sessions.get(&node)
    }

    /// The orchestrator whose session a node is.
    pub fn orchestrator(&self, node: u32) -> Option<&Arc<Orchestrator>> {
        match &self.plan_node(node)?.work {
            Work::Session { orchestrator, .. } => Some(orchestrator),
            _ => None,
        }
    }

    pub(super) fn fold_session(&mut self, kind: &EventKind) {
        match kind {
            EventKind::SkillCalled { node, id, by, skill, arguments, starts } => {
                let called = Called::new(by, skill, arguments);
                self.skill_called(*node, id, called, *starts);
            }
            EventKind::SessionPrepared { node, entries } => {
                self.skip_calls(*node);
                if let Some(session) = self.sessions.get_mut(node) {
                    session.entries.clone_from(entries);
                    (session.stage, session.agent) = (Stage::Main, None);
                }
                self.stir(*node);
            }
            EventKind::ProgramPlanned { session, program } => {
                self.program_planned(*session, program);
                self.stir(*session);
            }
            EventKind::ProgramRefused { session, problems } => {
                self.program_refused(*session, problems);
                self.stir(*session);
            }
            _ => {}
        }
    }

    /// The node of a session has started.
    pub(super) fn session_begins(&mut self, node: u32) {
        let Some(orchestrator) = self.orchestrator(node) else { return };
        let stage = if orchestrator.preparation.is_some() { Stage::Preparing } else { Stage::Main };
        let state = SessionState {
            stage,
            entries: Vec::new(),
            agent: None,
            results: 0,
            long: BTreeMap::new(),
            sop: SopState::after(self.carried(node)),
        };
        self.sessions.insert(node, state);
        self.stir(node);
    }

    /// It has ended, or begins again. What the run's own session came to is kept for whoever asks later.
    pub(super) fn session_ends(&mut self, node: u32) {
        self.due.remove(&node);
        if (node as usize) < self.spec.plan.nodes.len() {
            if let Some(session) = self.sessions.get_mut(&node) {
                session.long.clear();
            }
        } else {
            self.sessions.remove(&node);
        }
    }

    /// What an agent that works on a node is there for.
    pub(super) fn duty_at(&self, node: Option<u32>) -> Duty {
        let Some((node, session)) = node.and_then(|node| Some((node, self.session(node)?))) else {
            return Duty::Task;
        };
        match (session.stage, self.orchestrator(node).map(|orchestrator| &orchestrator.session)) {
            (_, None) => Duty::Task,
            (Stage::Preparing, _) => Duty::Prepare,
            (Stage::Main, Some(SessionKind::Loop { .. })) => Duty::Orchestrate,
            (Stage::Main, Some(SessionKind::Sop { .. })) => Duty::Plan,
        }
    }

    /// Somebody works for a session.
    pub(super) fn works_for(&mut self, node: Option<u32>, agent: u32) {
        let Some(node) = node else { return };
        if let Some(session) = self.sessions.get_mut(&node) {
            session.agent = Some(agent);
            if session.stage == Stage::Main {
                session.sop.planner_works();
            }
            self.stir(node);
        }
    }

    /// Keeps the set of sessions that have something to decide.
    pub(super) fn stir(&mut self, node: u32) {
        let is_running = self.node(node).is_some_and(|state| state.status == NodeStatus::Running);
        if is_running && self.is_due(node) {
            self.due.insert(node);
        } else {
            self.due.remove(&node);
        }
    }

    fn is_due(&self, node: u32) -> bool {
        let Some(session) = self.session(node) else { return false };
        match (session.stage, self.orchestrator(node).map(|orchestrator| &orchestrator.session)) {
            (_, None) => false,
            (Stage::Preparing, _) | (Stage::Main, Some(SessionKind::Loop { .. })) => session.agent.is_none(),
            (Stage::Main, Some(SessionKind::Sop { .. })) => session.sop.is_due(),
        }
    }

    /// A result was delivered: it is counted, and kept if it was too long to be shown.
    pub(super) fn keep_result(&mut self, session: u32, given: &Given) {
        let Some(session) = self.sessions.get_mut(&session) else { return };
        session.results += 1;
        let (text, _) = text_of(given);
        if text.chars().nth(LONG).is_some() {
            session.long.insert(session.results, text.into());
        }
    }

    /// A person has answered whoever leads a session: its turn begins anew.
    pub(super) fn turn_begins(&mut self, agent: u32) {
        self.with_agent(agent, |state: &mut AgentState| {
            if state.duty == Duty::Orchestrate {
                state.task_began_at = state.step;
                (state.missteps, state.repairs) = (0, 0);
            }
        });
    }

    /// The phase in which a session's calls stand.
    pub(super) fn phase_of_session(&self, node: u32) -> Option<u32> {
        match self.scope(self.called_by(node)?)?.kind {
            ScopeKind::Session { phase } => Some(phase),
            ScopeKind::Phases => None,
        }
    }

    /// What the stage before had called and not waited for is not done any more.
    fn skip_calls(&mut self, node: u32) {
        let Some(at) = self.called_by(node) else { return };
        let mut calls = Vec::new();
        self.skip_members(at, &mut calls);
        calls.into_iter().for_each(|call| self.close_scope(call));
    }

    /// Nodes that calls have added so far.
    pub(crate) fn added(&self) -> u32 {
        index(self.nodes.len().saturating_sub(self.spec.plan.nodes.len()))
    }
}
