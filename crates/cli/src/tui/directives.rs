//! What was told to a run, and what became of it: recorded → delivered → applied, or refused and why, or too late.
//!
//! Read by the names of the events and their fields: agents outside and later versions have more of them.

use super::news::{News, Who};
use fugato_engine::{Run, Target, Verb};
use fugato_model::Words;
use serde_json::Value;

/// One directive of the log.
#[derive(Clone, Debug)]
pub struct Directive {
    pub generation: u64,
    pub at: i64,
    pub verb: Verb,
    pub target: Target,
    pub text: Option<String>,
    /// Agents it has reached, and those in whom it has taken effect.
    pub delivered: Vec<String>,
    pub applied: Vec<String>,
    /// Agents that ended before it came to them.
    pub expired: Vec<String>,
    pub refused: Option<Words>,
    /// It ended the run, or had a node begin again: nobody is left who could say so.
    pub is_done: bool,
}

/// All of them, oldest first.
#[derive(Debug, Default)]
pub struct Directives {
    pub list: Vec<Directive>,
}

/// More are in `control.log.jsonl`; at times twice as many are kept.
const MOST: usize = 2_000;

/// How far one has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The owner of the run has it.
    Recorded,
    Delivered,
    Applied,
    Expired,
    Refused,
}

impl Directives {
    pub fn event(&mut self, news: &News, run: &Run) {
        let name = match &*news.kind {
            "node.restarted" => return self.settle(Verb::Restart),
            "run.ended" => return self.settle(Verb::Cancel),
            kind => match kind.strip_prefix("directive.") {
                Some(name) => name,
                None => return,
            },
        };
        let fields = news.fields();
        let Some(generation) = fields.get("generation").and_then(Value::as_u64) else { return };
        if matches!(name, "recorded" | "refused") && self.find(generation).is_none() {
            self.list.extend(new(generation, news.at, &fields));
            if self.list.len() > 2 * MOST {
                self.list.drain(..MOST);
            }
        }
        let whom = || {
            let agent = news.agent.as_ref().and_then(|who| match who {
                Who::Path(path) => Some(path.clone()),
                Who::Number(at) => run.agents.get(*at as usize).map(|agent| agent.path.to_string()),
            });
            let node = || news.node.and_then(|node| run.plan_node(node)).map(|node| node.id.clone());
            agent.or_else(node)
        };
        let Some(own) = self.find(generation) else { return };
        match name {
            "delivered" => own.delivered.extend(whom()),
            "applied" | "held" => own.applied.extend(whom()),
            "expired" => own.expired.extend(whom()),
            "refused" => {
                own.refused = fields.get("reason").cloned().and_then(|why| serde_json::from_value(why).ok());
            }
            _ => {}
        }
    }

    /// What ends a run or a node leaves nobody who could say that it was applied.
    fn settle(&mut self, verb: Verb) {
        if let Some(own) = self.list.last_mut().filter(|own| own.verb == verb && own.refused.is_none()) {
            own.is_done = true;
        }
    }

    fn find(&mut self, generation: u64) -> Option<&mut Directive> {
        // Receipts follow their directive closely.
        self.list.iter_mut().rev().find(|own| own.generation == generation)
    }
}

fn new(generation: u64, at: i64, fields: &Value) -> Option<Directive> {
    let field = |name: &str| fields.get(name).cloned();
    Some(Directive {
        generation,
        at,
        verb: serde_json::from_value(field("verb")?).ok()?,
        target: serde_json::from_value(field("target")?).ok()?,
        text: field("text").and_then(|text| text.as_str().map(str::to_owned)),
        delivered: Vec::new(),
        applied: Vec::new(),
        expired: Vec::new(),
        refused: None,
        is_done: false,
    })
}

impl Directive {
    pub fn receipt(&self) -> Receipt {
        // `pause all` and `resume all` hold the run itself, also where no agent is at work.
        let holds = self.target == Target::All && matches!(self.verb, Verb::Pause | Verb::Resume);
        let is_applied = self.is_done || holds || !self.applied.is_empty();
        match (&self.refused, is_applied, self.delivered.is_empty()) {
            (Some(_), ..) => Receipt::Refused,
            (None, true, _) => Receipt::Applied,
            (None, false, _) if !self.expired.is_empty() => Receipt::Expired,
            (None, false, false) => Receipt::Delivered,
            (None, false, true) => Receipt::Recorded,
        }
    }
}
