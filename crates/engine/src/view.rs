//! A run as people and programs see it: derived from the state on demand, never stored.

use crate::agent::{AgentStatus, Turn};
use crate::event::{Outcome, Report, Verdict};
use crate::limits::Spent;
use crate::run::{NodeStatus, Run};
use fugato_model::Lang;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The whole run.
#[derive(Clone, Debug, Serialize)]
pub struct RunView {
    pub id: String,
    pub skill: String,
    /// `running`, `paused`, `awaiting_input`, or how it ended.
    pub status: String,
    pub reason: Option<String>,
    pub result: Option<Value>,
    pub seq: u64,
    pub nodes: Vec<NodeView>,
    pub agents: Vec<AgentView>,
    pub questions: Vec<QuestionView>,
    pub variables: BTreeMap<String, Value>,
    pub spent: Spent,
}

#[derive(Clone, Debug, Serialize)]
pub struct NodeView {
    pub id: String,
    pub phase: String,
    pub status: &'static str,
    pub attempt: u32,
    pub message: Option<String>,
    pub warnings: Vec<String>,
    /// Not run: its result comes from the parent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct AgentView {
    pub id: String,
    pub agent_type: String,
    /// Who started it, by which call, and what for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The provider's name for that call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider_call: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub status: &'static str,
    /// Model calls over all its tasks, and of the last one: what its result and its stream say.
    pub steps: u32,
    pub steps_of_task: u32,
    pub spent: Spent,
    /// What it ended with: its answer, what it submitted, or why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

#[derive(Clone, Debug, Serialize)]
pub struct QuestionView {
    pub id: u32,
    pub text: String,
    pub options: Vec<String>,
    /// `text`, `number`, `boolean`, `json` or `choice`.
    pub answer_type: &'static str,
    /// The variable that takes the answer.
    pub variable: Option<String>,
    pub answer: Option<String>,
}

impl Run {
    /// The state in one word, as lists show it.
    pub fn status(&self) -> &'static str {
        match &self.ended {
            Some((Outcome::Complete, ..)) => "complete",
            Some((Outcome::Failed, ..)) => "failed",
            Some((Outcome::Aborted, ..)) => "aborted",
            Some((Outcome::BudgetExhausted, ..)) => "budget_exhausted",
            None if self.is_paused() => "paused",
            None if self.is_waiting_for_a_person() => "awaiting_input",
            None => "running",
        }
    }

    /// Nothing is under way and a question is open.
    pub fn is_waiting_for_a_person(&self) -> bool {
        self.wanted().next().is_none() && self.open_questions().next().is_some()
    }

    pub fn agent_status(&self, agent: u32) -> AgentStatus {
        match self.agents.get(agent as usize) {
            Some(state) if state.turn == Turn::Stopped => AgentStatus::Stopped,
            Some(state) if state.paused => AgentStatus::Paused,
            Some(state) if state.waits_for_a_person() => AgentStatus::AwaitingInput,
            _ => AgentStatus::Running,
        }
    }

    pub fn view(&self, lang: Lang) -> RunView {
        let ended = self.ended.as_ref();
        let nodes = self.plan_nodes().zip(&self.nodes);
        let nodes =
            nodes.filter(|(plan, _)| !matches!(plan.work, crate::plan::Work::Gate)).map(|(plan, state)| {
                let phase = self.plan_phase(plan.phase);
                NodeView {
                    id: plan.id.clone(),
                    phase: phase.map(|phase| phase.name.clone()).unwrap_or_default(),
                    status: node_word(state.status, ended.is_some()),
                    attempt: state.attempt,
                    message: state.message.as_ref().map(|words| words.in_lang(lang).to_owned()),
                    warnings: state.warnings.iter().map(|words| words.in_lang(lang).to_owned()).collect(),
                    reused: self.spec.reused.contains_key(&plan.id),
                }
            });
        let agents = (0u32..).zip(&self.agents).map(|(at, agent)| AgentView {
            id: agent.path.to_string(),
            agent_type: agent.agent_type.clone(),
            parent: agent
                .parent
                .and_then(|parent| self.agents.get(parent as usize))
                .map(|parent| parent.path.to_string()),
            call: agent.call_id.clone(),
            provider_call: agent.provider_call_id.clone(),
            description: agent.description.clone(),
            status: match self.agent_status(at) {
                AgentStatus::Running => "running",
                AgentStatus::Paused => "paused",
                AgentStatus::AwaitingInput => "awaiting_input",
                AgentStatus::Stopped => match &agent.verdict {
                    Some(Verdict::Failed { .. }) => "failed",
                    Some(Verdict::Cancelled) => "cancelled",
                    Some(Verdict::LimitReached { .. }) => "limit_reached",
                    _ => agent.report.unwrap_or(Report::Done).as_str(),
                },
            },
            steps: agent.step,
            steps_of_task: agent.steps_of_task(),
            spent: agent.spent,
            result: agent.verdict.as_ref().and_then(ended_with),
        });
        let questions = (0u32..).zip(&self.questions).map(|(id, question)| QuestionView {
            id,
            text: question.text.clone(),
            options: question.options.clone(),
            answer_type: question.wants.answer_type.as_str(),
            variable: question.wants.variable.clone(),
            answer: question.answer.clone(),
        });
        RunView {
            id: self.spec.id.clone(),
            skill: self.spec.skill.name.clone(),
            status: self.status().to_owned(),
            reason: ended.map(|(_, reason, _)| reason.in_lang(lang).to_owned()),
            result: ended.and_then(|(.., result)| result.clone()),
            seq: self.seq,
            nodes: nodes.collect(),
            agents: agents.collect(),
            questions: questions.collect(),
            variables: self.variables.clone(),
            spent: self.spent,
        }
    }
}

fn ended_with(verdict: &Verdict) -> Option<Value> {
    match verdict {
        Verdict::Submitted { value } => Some(value.clone()),
        Verdict::Answered { text } | Verdict::LimitReached { text, .. } => Some(text.as_str().into()),
        Verdict::Failed { message } => Some(message.as_str().into()),
        Verdict::Cancelled => None,
    }
}

/// A node that never started in a run that is over was skipped: derived, not recorded.
fn node_word(status: NodeStatus, is_over: bool) -> &'static str {
    match (status, is_over) {
        (NodeStatus::Pending | NodeStatus::Ready | NodeStatus::Running, true) => "skipped",
        (NodeStatus::Pending, false) => "pending",
        (NodeStatus::Ready, false) => "queued",
        (NodeStatus::Running, false) => "running",
        (NodeStatus::Uncertain, _) => "uncertain",
        (NodeStatus::Done, _) => "done",
        (NodeStatus::Null, _) => "failed_optional",
        (NodeStatus::Failed, _) => "failed",
        (NodeStatus::Skipped, _) => "skipped",
    }
}
