//! One agent as a small machine: idle → thinking → acting → … → stopped. No I/O: the next step comes out, results go in.

use crate::agent_type::{AgentType, Rights};
use crate::context::{ContextSize, bytes_of};
use crate::event::{AgentPath, CallRef, Purpose, Report, Verdict};
use crate::limits::{Reserve, Spent};
use crate::plan::Access;
use fugato_model::chat::{Message, Part, Role, ToolResult};
use serde_json::Value;
use std::sync::Arc;

/// Everything known of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentState {
    pub path: AgentPath,
    /// The node it works for; `None` for the only agent of a skill without phases.
    pub node: Option<u32>,
    pub agent_type: String,
    pub duty: Duty,
    pub kind: Arc<AgentType>,
    /// What it may use, after everything its parent may not was taken away; `None`: as its access says.
    pub rights: Option<Arc<Rights>>,
    pub access: Access,
    /// The agent that started it, and how many are above it.
    pub parent: Option<u32>,
    pub depth: u32,
    /// The call that waits for its result.
    pub call: Option<CallRef>,
    /// Our name for that call, or for what a person had it go on with: the name of its stream, unique in the run.
    pub call_id: String,
    /// The provider's name for it. Providers use names again.
    pub provider_call_id: String,
    /// What people see of its task.
    pub description: String,
    /// Whoever started it is told by a message.
    pub background: bool,
    /// What is left of the budget that is kept for it.
    pub share: Option<Reserve>,
    /// The conversation of the program that does its work, and the step in which it was last heard of.
    pub session: Option<(u32, Value)>,
    /// That program was stopped in the middle, when the conversation here had this many messages: those it has heard.
    pub cut_at: Option<u32>,
    /// In which word it summed up its work.
    pub report: Option<Report>,
    /// How it ended, once it has, and when.
    pub verdict: Option<Verdict>,
    pub stopped_at: i64,
    /// Messages at the beginning of its conversation that are in the log and no longer in memory.
    pub forgotten: u32,
    pub model: String,
    pub system: Arc<str>,
    /// The conversation. Grows only at its end, except when it is compacted.
    pub messages: Vec<Arc<Message>>,
    /// How often it was compacted: what was sent before cannot be continued.
    pub compactions: u32,
    pub context: ContextSize,
    /// What the model was asked for last.
    pub asked: Purpose,
    /// Of the run's budget, while a call is under way.
    pub reserved: Reserve,
    /// Model calls so far, over all tasks.
    pub step: u32,
    /// Model calls when the present task began: limits are per task.
    pub task_began_at: u32,
    pub turn: Turn,
    pub paused: bool,
    /// Messages it has not seen yet, oldest first.
    pub inbox: Vec<String>,
    /// Answers in this task that could not be used: empty, malformed, unknown tools.
    pub missteps: u32,
    /// The step of the last one: several wrong calls of one answer are one.
    pub misstep_at: u32,
    /// Times it was asked to bring its result into shape, in this task.
    pub repairs: u32,
    pub spent: Spent,
}

/// What an agent is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duty {
    /// A task, with tools of the world.
    #[default]
    Task,
    /// It collects what a session needs before it begins.
    Prepare,
    /// It leads a session: its tools are skills.
    Orchestrate,
    /// It writes the program of a session.
    Plan,
}

/// Where an agent is in its turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// It should be asked for its next step.
    Idle,
    Thinking,
    /// Its tool calls, answered or not, in the order it made them.
    Acting {
        calls: Vec<Slot>,
    },
    /// It has answered, and goes on when it is told something.
    Waiting,
    Stopped,
}

/// One tool call of the present step.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    pub call: String,
    pub waits_for: WaitsFor,
    pub result: Option<ToolResult>,
}

/// Who has the result of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitsFor {
    #[default]
    Tool,
    Person,
    Agent,
    /// A called skill: a node of the plan.
    Skill,
}

/// The agent's state in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentStatus {
    Running,
    Paused,
    AwaitingInput,
    Stopped,
}

impl AgentState {
    pub fn is_live(&self) -> bool {
        self.turn != Turn::Stopped
    }

    /// Steps of the present task.
    pub fn steps_of_task(&self) -> u32 {
        self.step.saturating_sub(self.task_began_at)
    }

    /// The last text it wrote: what is left when a limit ends it.
    pub fn last_text(&self) -> String {
        let spoken = self.messages.iter().rev().filter(|message| message.role == Role::Assistant);
        spoken.map(|message| message.text()).find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// What it has not seen becomes part of the conversation.
    pub(crate) fn take_inbox(&mut self) {
        if !self.inbox.is_empty() {
            let text = std::mem::take(&mut self.inbox).join("\n\n");
            self.say(Message::user(text));
        }
    }

    /// Its program ended in the middle of this step. What it was told before its conversation was heard of, it may not
    /// have heard.
    pub(crate) fn cut(&mut self) {
        if self.session.as_ref().is_some_and(|(step, _)| *step == self.step) {
            self.cut_at = u32::try_from(self.messages.len()).ok();
        }
    }

    /// The call of this step waits for somebody.
    pub(crate) fn wait_for(&mut self, whom: WaitsFor, step: u32, index: u32) {
        match &mut self.turn {
            Turn::Acting { calls } if self.step == step => {
                calls.get_mut(index as usize).into_iter().for_each(|slot| slot.waits_for = whom);
            }
            _ => {}
        }
    }

    /// A person does its work: one step, one answer.
    pub(crate) fn ask_a_person(&mut self) {
        self.take_inbox();
        self.step = self.step.saturating_add(1);
        let slot = Slot { call: String::new(), waits_for: WaitsFor::Person, result: None };
        self.turn = Turn::Acting { calls: vec![slot] };
    }

    /// Is this call of this step still unanswered, and waits for them?
    pub(crate) fn waits(&self, whom: WaitsFor, step: u32, index: u32) -> bool {
        match &self.turn {
            Turn::Acting { calls } if self.step == step => {
                calls.get(index as usize).is_some_and(|slot| slot.waits_for == whom && slot.result.is_none())
            }
            _ => false,
        }
    }

    /// All that is left of this step are questions.
    pub(crate) fn waits_for_a_person(&self) -> bool {
        self.only_waits_for(|whom| whom == WaitsFor::Person)
    }

    /// Nothing of this step is done by itself: it holds no slot.
    pub(crate) fn rests(&self) -> bool {
        self.only_waits_for(|whom| whom != WaitsFor::Tool)
    }

    fn only_waits_for(&self, whom: impl Fn(WaitsFor) -> bool) -> bool {
        let Turn::Acting { calls } = &self.turn else { return false };
        let mut open = calls.iter().filter(|slot| slot.result.is_none()).peekable();
        open.peek().is_some() && open.all(|slot| whom(slot.waits_for))
    }

    /// Does it take a slot while it works? The main agent of a run without phases takes none.
    pub(crate) fn counts(&self) -> bool {
        self.node.is_some() || self.parent.is_some()
    }

    /// Does it take a slot of its own? Whoever works for a node has the node's; a session's node has none.
    pub(crate) fn has_own_slot(&self) -> bool {
        self.parent.is_some() || self.duty != Duty::Task
    }

    pub(crate) fn has_tool(&self, tool: &str) -> bool {
        self.rights.as_ref().is_none_or(|rights| rights.has_tool(tool))
    }

    pub(crate) fn was_cancelled(&self) -> bool {
        self.verdict == Some(Verdict::Cancelled)
    }

    pub(crate) fn say(&mut self, message: Message) {
        self.context.grows(bytes_of(&message));
        self.messages.push(Arc::new(message));
    }

    pub(crate) fn misstep(&mut self, step: u32) {
        if self.missteps == 0 || self.misstep_at != step {
            self.missteps += 1;
        }
        self.misstep_at = step;
    }

    /// Its result is not what was declared: its calls are answered with the reason, or it is told.
    pub(crate) fn repair(&mut self, problem: &str) {
        self.repairs += 1;
        let text = format!("Your result cannot be used: {problem}. Give it again, in the declared shape.");
        match &self.turn {
            Turn::Acting { calls } => {
                let open = (0u32..).zip(calls).filter(|(_, slot)| slot.result.is_none());
                let open: Vec<u32> = open.map(|(at, _)| at).collect();
                open.into_iter().for_each(|at| self.result(at, text.clone(), true));
            }
            _ => self.say(Message::user(text)),
        }
        self.turn = Turn::Idle;
    }

    /// Puts a result into its slot; when all are there, they become one message and the agent is idle again.
    pub(crate) fn result(&mut self, index: u32, content: String, is_error: bool) {
        let Turn::Acting { calls } = &mut self.turn else { return };
        let Some(slot) = calls.get_mut(index as usize).filter(|slot| slot.result.is_none()) else { return };
        slot.result = Some(ToolResult { call: slot.call.clone(), content, is_error });
        if calls.iter().all(|slot| slot.result.is_some()) {
            let parts =
                calls.iter_mut().filter_map(|slot| slot.result.take()).map(Part::ToolResult).collect();
            self.say(Message { role: Role::User, parts });
            self.turn = Turn::Idle;
        }
    }

    /// Ends the turn. Calls without a result get one, so that the conversation can be continued later.
    pub(crate) fn stop(&mut self) {
        // What a person was to do is no call.
        if let Turn::Acting { calls } = &mut self.turn
            && !calls.iter().all(|slot| slot.call.is_empty() && slot.waits_for == WaitsFor::Person)
        {
            let unanswered =
                |call: &str| ToolResult { call: call.to_owned(), content: "ended".into(), is_error: false };
            let parts = calls
                .iter_mut()
                .map(|slot| Part::ToolResult(slot.result.take().unwrap_or_else(|| unanswered(&slot.call))))
                .collect();
            self.say(Message { role: Role::User, parts });
        }
        self.turn = Turn::Stopped;
    }
}
