//! Hard limits of a run, what has been used of them, and whether one more model call fits.
//!
//! A call is paid for before it is made: an estimate is set aside, the answer is capped to what is left, and what was not
//! used goes back when the answer is there. Several agents at once can therefore not overdraw one budget together.

use crate::agent::AgentState;
use crate::agent_type::Executor;
use crate::run::Run;
use fugato_model::chat::Usage;
use serde::{Deserialize, Serialize};

/// What a run may use. Each is checked before the thing is done, on every path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Nodes or agents at work at the same time. Waiting for a person holds no slot.
    pub concurrent: u32,
    /// Model calls of one agent. The last one is kept for a wrap-up answer without tools.
    pub steps: u32,
    /// Agents above the lowest: 1 is a master and its subagents, which start none themselves.
    #[serde(default = "depth", skip_serializing_if = "is_usual_depth")]
    pub depth: u32,
    /// Tool calls one answer may ask for; the rest get an error result.
    pub calls_per_answer: u32,
    /// Tokens of the whole run, in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost of the whole run in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Time some process worked on the run. Waiting for a person while nobody does costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Tool calls of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_tokens: Option<u32>,
    /// A conversation that is longer is summed up.
    #[serde(default = "context_tokens")]
    pub context_tokens: u64,
}

impl Default for Limits {
    fn default() -> Self {
        // 4 at once is the seed's figure; 50 steps are more than any example needs and end a loop within minutes; 64
        // calls in one answer are a fan-out, 500 are an accident.
        Self {
            concurrent: 4,
            steps: 50,
            depth: depth(),
            calls_per_answer: 64,
            tokens: None,
            micro_usd: None,
            wall_ms: None,
            tool_calls: None,
            answer_tokens: None,
            context_tokens: context_tokens(),
        }
    }
}

/// Each level copies context, and a failure two levels down is hard to understand.
fn depth() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde calls")]
fn is_usual_depth(depth: &u32) -> bool {
    *depth == self::depth()
}

/// Below the smallest window of the large models, with room for an answer; smaller ones say so when they overflow.
fn context_tokens() -> u64 {
    120_000
}

/// What a token costs, in billionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub input_nano_usd: u64,
    pub output_nano_usd: u64,
}

/// A part of the budget that is spoken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    pub tokens: u64,
    #[serde(default)]
    pub micro_usd: u64,
}

impl Reserve {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.micro_usd = self.micro_usd.saturating_add(other.micro_usd);
    }

    pub(crate) fn give_back(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.micro_usd = self.micro_usd.saturating_sub(other.micro_usd);
    }
}

/// What a run has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub usage: Usage,
    /// `None`: at least one answer has an unknown price, so the sum is unknown too.
    pub micro_usd: Option<u64>,
    pub answers: u64,
    pub tool_calls: u64,
}

impl Spent {
    pub(crate) fn add(&mut self, usage: Usage, micro_usd: Option<u64>) {
        self.micro_usd = self.cost().zip(micro_usd).map(|(sum, cost)| sum.saturating_add(cost));
        self.usage = self.usage.plus(usage);
        self.answers += 1;
    }

    pub fn tokens(&self) -> u64 {
        self.usage.input_tokens.unwrap_or(0).saturating_add(self.usage.output_tokens.unwrap_or(0))
    }

    /// Nothing asked, nothing owed.
    fn cost(&self) -> Option<u64> {
        if self.answers == 0 { Some(0) } else { self.micro_usd }
    }
}

/// May the next call be made?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Yes, with this set aside and the answer no longer than this.
    Yes(Reserve, Option<u32>),
    /// Not now: calls under way hold what is left, and may give some of it back.
    Wait,
    Exhausted(&'static str),
}

/// An answer that a budget caps below this is not worth its question.
const SMALLEST_ANSWER: u64 = 16;
/// What is set aside for an answer nobody capped: most are far shorter, and the rest goes back.
const USUAL_ANSWER: u32 = 8192;

/// Does one more call of this agent fit into what is left?
pub(crate) fn fit(run: &Run, agent: &AgentState) -> Fit {
    let limits = &run.spec.limits;
    if limits.tokens.is_none() && limits.micro_usd.is_none() {
        return Fit::Yes(Reserve::default(), limits.answer_tokens);
    }
    if let Some(share) = agent.share {
        return fit_share(run, agent, share);
    }
    let input = agent.context.tokens();
    let mut answer = u64::from(limits.answer_tokens.unwrap_or(USUAL_ANSWER));
    let others_hold = !run.reserved.is_nothing();
    let refuse = |what| if others_hold { Fit::Wait } else { Fit::Exhausted(what) };
    if let Some(limit) = limits.tokens {
        let left = limit.saturating_sub(run.spent.tokens()).saturating_sub(run.reserved.tokens);
        answer = answer.min(left.saturating_sub(input));
        if answer < SMALLEST_ANSWER {
            return refuse("tokens");
        }
    }
    let mut micro_usd = 0;
    if let Some(limit) = limits.micro_usd
        && agent.kind.executor.is_host()
    {
        let Some(spent) = run.spent.cost().filter(|_| agent.kind.executor == Executor::Claude) else {
            return Fit::Exhausted(unknown_cost(agent));
        };
        // What it will cost is known afterwards: it gets all that is left, and stops by itself.
        micro_usd = limit.saturating_sub(spent).saturating_sub(run.reserved.micro_usd);
        if micro_usd == 0 {
            return refuse("cost");
        }
    } else if let Some(limit) = limits.micro_usd {
        // A budget that cannot be checked is not kept by hoping.
        let (Some(rate), Some(spent)) = (run.spec.rates.get(&agent.model), run.spent.cost()) else {
            return Fit::Exhausted("cost (the price of this model is unknown)");
        };
        let left = limit.saturating_sub(spent).saturating_sub(run.reserved.micro_usd).saturating_mul(1000);
        let question = input.saturating_mul(rate.input_nano_usd);
        if left < question || (left == question && rate.output_nano_usd > 0) {
            return refuse("cost");
        }
        let affordable = (left - question).checked_div(rate.output_nano_usd).unwrap_or(u64::MAX);
        answer = answer.min(affordable);
        if answer < SMALLEST_ANSWER {
            return refuse("cost");
        }
        micro_usd = question.saturating_add(answer.saturating_mul(rate.output_nano_usd)).div_ceil(1000);
    }
    let reserve = Reserve { tokens: input.saturating_add(answer), micro_usd };
    Fit::Yes(reserve, Some(u32::try_from(answer).unwrap_or(u32::MAX)))
}

fn unknown_cost(agent: &AgentState) -> &'static str {
    match agent.kind.executor {
        Executor::Codex => "cost (Codex does not tell what it costs)",
        _ => "cost (what was used so far is unknown)",
    }
}

/// Does it fit into what was kept for this agent alone?
fn fit_share(run: &Run, agent: &AgentState, share: Reserve) -> Fit {
    let limits = &run.spec.limits;
    let input = agent.context.tokens();
    let mut answer = u64::from(limits.answer_tokens.unwrap_or(USUAL_ANSWER));
    if limits.tokens.is_some() {
        answer = answer.min(share.tokens.saturating_sub(input));
        if answer < SMALLEST_ANSWER {
            return Fit::Exhausted("tokens");
        }
    }
    if limits.micro_usd.is_some() && agent.kind.executor.is_host() {
        if agent.kind.executor != Executor::Claude {
            return Fit::Exhausted(unknown_cost(agent));
        }
        if share.micro_usd == 0 {
            return Fit::Exhausted("cost");
        }
    } else if limits.micro_usd.is_some() {
        let Some(rate) = run.spec.rates.get(&agent.model) else {
            return Fit::Exhausted("cost (the price of this model is unknown)");
        };
        let question = input.saturating_mul(rate.input_nano_usd);
        let left = share.micro_usd.saturating_mul(1000).saturating_sub(question);
        answer = answer.min(left.checked_div(rate.output_nano_usd).unwrap_or(u64::MAX));
        if answer < SMALLEST_ANSWER {
            return Fit::Exhausted("cost");
        }
    }
    // The share itself is set aside already.
    Fit::Yes(Reserve::default(), Some(u32::try_from(answer).unwrap_or(u32::MAX)))
}

/// Which limit ended a host's turn: it does not say, but what it cost does.
pub(crate) fn reached(run: &Run, agent: u32) -> &'static str {
    let share = run.agents.get(agent as usize).and_then(|state| state.share);
    let is_paid_out = match (run.spec.limits.micro_usd, share) {
        (None, _) => false,
        (Some(_), Some(share)) => share.micro_usd == 0,
        (Some(limit), None) => run.spent.cost().is_none_or(|spent| spent >= limit),
    };
    if is_paid_out { "cost" } else { "steps" }
}

/// What is left of the run's budget, nothing set aside counted; `None`: it has none.
pub(crate) fn left(run: &Run) -> Option<Reserve> {
    let limits = &run.spec.limits;
    if limits.tokens.is_none() && limits.micro_usd.is_none() {
        return None;
    }
    let rest = |limit: Option<u64>, spent: u64, reserved: u64| {
        limit.map_or(0, |limit| limit.saturating_sub(spent).saturating_sub(reserved))
    };
    Some(Reserve {
        tokens: rest(limits.tokens, run.spent.tokens(), run.reserved.tokens),
        micro_usd: rest(limits.micro_usd, run.spent.cost().unwrap_or(0), run.reserved.micro_usd),
    })
}

/// Would a call after this one still fit into the agent's share? The last one is kept for an answer.
pub(crate) fn is_last_of_share(run: &Run, agent: &AgentState) -> bool {
    let Some(share) = agent.share.filter(|_| run.spec.limits.tokens.is_some()) else { return false };
    // The next question holds this one, its answer and what tools give.
    let next = agent.context.tokens().saturating_mul(2).saturating_add(LEAST_STEP);
    agent.context.tokens().saturating_add(next) > share.tokens
}

/// Tokens a step adds at the least.
const LEAST_STEP: u64 = 256;
