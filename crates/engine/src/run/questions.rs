//! The fold of questions: who waits for a person, and what an answer does.

use super::{NodeStatus, Question, Run, index};
use crate::agent::{AgentState, Turn, WaitsFor};
use crate::decide::{ALWAYS, REPEAT};
use crate::event::{Asked, CallRef, EffectClass, EventKind};
use crate::permission::{Decision, Why};
use crate::question::Wants;
use crate::run::wanted_type;
use crate::tools::{self, DELEGATE};
use fugato_model::chat::{Message, ToolCall};
use fugato_model::{Words, words};
use serde_json::Value;

impl Run {
    /// What a person has allowed for the rest of this run.
    pub fn granted(&self) -> impl Iterator<Item = &str> {
        self.granted.iter().map(String::as_str)
    }

    /// Folds what is asked of people, and what they say.
    pub(super) fn fold_question(&mut self, kind: &EventKind) {
        match kind {
            EventKind::InputRequested { about, text, options, .. } => {
                match *about {
                    Asked::Agent { agent, step, index } | Asked::Permission { agent, step, index } => {
                        self.with_agent(agent, |state| state.wait_for(WaitsFor::Person, step, index));
                        // What a called skill gave is a question to the person.
                        if let Some(node) = self.node_of_call(CallRef { agent, step, index }) {
                            self.returned.remove(&node);
                        }
                    }
                    Asked::Task { agent } => self.with_agent(agent, AgentState::ask_a_person),
                    Asked::Uncertain { .. } => {}
                }
                let (wants, node) = self.wants_of(*about);
                let (text, options) = (text.clone(), options.clone());
                self.open_questions.insert(index(self.questions.len()));
                self.questions.push(Question { about: *about, text, options, wants, node, answer: None });
            }
            EventKind::InputAnswered { question, answer } => self.answered(*question, answer),
            _ => {}
        }
    }

    pub(super) fn answered(&mut self, question: u32, answer: &str) {
        let is_open = self.is_open(question);
        let Some(asked) = self.questions.get_mut(question as usize) else { return };
        self.open_questions.remove(&question);
        asked.answer = Some(answer.to_owned());
        match asked.about {
            _ if !is_open => {}
            Asked::Agent { agent, step, index } => {
                // Checked before it was recorded; a log that says otherwise still has the person's words.
                let value = asked.wants.answer_type.read(answer, &asked.options);
                let value = value.unwrap_or_else(|_| Value::String(answer.to_owned()));
                let mut told = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let call = CallRef { agent, step, index };
                if let Some(result) = self.result_of_call(call) {
                    told = format!("{result}\n\nThe person was asked, and answered: {told}");
                }
                self.call_delivered(call);
                let asked = self.questions.get(question as usize);
                if let Some((name, node)) =
                    asked.and_then(|asked| asked.wants.variable.clone().zip(asked.node))
                {
                    self.set_variable(node, name, value);
                }
                self.with_agent(agent, |state| state.result(index, told, false));
                self.turn_begins(agent);
            }
            // It waits for a slot like any other node.
            Asked::Uncertain { node } if answer == REPEAT => {
                self.leave_work(node);
                self.make_ready(node);
            }
            Asked::Uncertain { .. } => {}
            Asked::Task { agent } => {
                let said = Message::assistant(answer);
                self.with_agent(agent, |state| {
                    state.say(said);
                    state.turn = Turn::Waiting;
                });
            }
            Asked::Permission { agent, step, index } => {
                if answer == ALWAYS
                    && let Some(call) = self.call_of(CallRef { agent, step, index })
                {
                    self.granted.insert(permit(&call));
                }
                self.with_agent(agent, |state| state.wait_for(WaitsFor::Tool, step, index));
            }
        }
    }

    /// What the agent's own call says about the answer it wants.
    pub(super) fn wants_of(&self, about: Asked) -> (Wants, Option<u32>) {
        let Asked::Agent { agent, index, .. } = about else { return (Wants::default(), None) };
        let Some(state) = self.agents.get(agent as usize) else { return (Wants::default(), None) };
        let call = state.messages.last().and_then(|message| message.tool_calls().nth(index as usize));
        let node = state.node.and_then(|node| self.plan_node(node));
        let wants = call.and_then(|call| Wants::of(&call.arguments, node).ok());
        (wants.unwrap_or_default(), state.node)
    }

    /// Did a person's answer set this variable of an inline phase?
    pub(super) fn was_answered(&self, node: u32, name: &str) -> bool {
        self.questions.iter().any(|question| {
            question.node == Some(node)
                && question.answer.is_some()
                && question.wants.variable.as_deref() == Some(name)
        })
    }

    /// Does anybody still wait for an answer to this?
    pub fn is_open(&self, question: u32) -> bool {
        self.questions.get(question as usize).is_some_and(|question| {
            question.answer.is_none()
                && match question.about {
                    Asked::Agent { agent, step, index } | Asked::Permission { agent, step, index } => self
                        .agents
                        .get(agent as usize)
                        .is_some_and(|state| state.waits(WaitsFor::Person, step, index)),
                    Asked::Task { agent } => {
                        self.agents.get(agent as usize).is_some_and(AgentState::waits_for_a_person)
                    }
                    Asked::Uncertain { node } => {
                        self.node(node).is_some_and(|state| state.status == NodeStatus::Uncertain)
                    }
                }
        })
    }

    /// Questions that somebody should answer, with their numbers, oldest first.
    pub fn open_questions(&self) -> impl Iterator<Item = (u32, &Question)> {
        let open = self.open_questions.iter().copied().filter(|at| self.is_open(*at));
        open.filter_map(|at| Some((at, self.questions.get(at as usize)?)))
    }

    /// A question for a person to read, in their language where it is ours; an agent's words are its own.
    pub fn question_words(&self, number: u32) -> Words {
        let Some(question) = self.questions.get(number as usize) else { return words!("", "") };
        let said = || Words { en: question.text.clone(), zh: question.text.clone() };
        let Asked::Permission { agent, step, index } = question.about else { return said() };
        let at = CallRef { agent, step, index };
        let Some(call) = self.call_of(at).filter(|_| self.is_open(number)) else { return said() };
        let rights = self.agents.get(agent as usize).and_then(|state| state.rights.as_deref());
        let class = tools::class_of(&call.name).unwrap_or(EffectClass::Read);
        match self.spec.permissions.decide(&call, Some(class), rights) {
            Decision::Ask { why } => self.may_it(at, &call, &why),
            _ => said(),
        }
    }

    /// May it?
    pub(crate) fn may_it(&self, at: CallRef, call: &ToolCall, why: &Why) -> Words {
        let agent =
            self.agents.get(at.agent as usize).map(|state| state.path.to_string()).unwrap_or_default();
        let Words { en, zh } = why.words();
        let call = shown(call);
        words!("May `{agent}` run this? ({en})\n{call}", "允许 `{agent}` 执行吗？（{zh}）\n{call}")
    }

    /// Whoever asked is gone: nobody waits for these answers.
    pub(super) fn forget_questions(&mut self, agent: u32) {
        let questions = &self.questions;
        let is_of = |at: &u32| {
            let about = questions.get(*at as usize).map(|question| question.about);
            matches!(
                about,
                Some(Asked::Agent { agent: a, .. } | Asked::Permission { agent: a, .. } | Asked::Task { agent: a })
                    if a == agent
            )
        };
        self.open_questions.retain(|at| !is_of(at));
    }
}

/// A call, for a person who decides about it. What is left out of the middle of a long one is said: nobody should allow
/// what they did not see without knowing that.
fn shown(call: &ToolCall) -> String {
    let what = match call.arguments.get("command").and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        None => call.arguments.to_string(),
    };
    let count = what.chars().count();
    if count <= SHOWN_CHARS {
        return format!("{}: {what}", call.name);
    }
    let half = SHOWN_CHARS / 2;
    let head: String = what.chars().take(half).collect();
    let tail: String = what.chars().skip(count - half).collect();
    let left_out = count - 2 * half;
    format!("{}: {head}\n[… {left_out} characters, whole in `fugato events` …]\n{tail}", call.name)
}

/// Of a call that a person is asked about.
const SHOWN_CHARS: usize = 4000;

/// What "always" allows for the rest of a run: the tool, of a shell only this very command, of agents only this kind.
pub(crate) fn permit(call: &ToolCall) -> String {
    let text = |key: &str| call.arguments.get(key).and_then(Value::as_str);
    let kind = (call.name == DELEGATE).then(|| wanted_type(call));
    match kind.or_else(|| text("command")) {
        Some(exactly) => format!("{}({exactly})", call.name),
        None => call.name.clone(),
    }
}
