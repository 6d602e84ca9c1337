//! Hard limits of a run, and what has been used of them.

use fugato_model::chat::Usage;
use serde::{Deserialize, Serialize};

/// What a run may use. Each is checked before the thing is done, on every path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Nodes or agents at work at the same time. Waiting for a person holds no slot.
    pub concurrent: u32,
    /// Model calls of one agent. The last one is kept for a wrap-up answer without tools.
    pub steps: u32,
    /// Tool calls one answer may ask for; the rest get an error result.
    pub calls_per_answer: u32,
    /// Tokens of the whole run, in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost of the whole run in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Wall time from the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        // 4 at once is the seed's figure; 50 steps are more than any example needs and end a loop within minutes; 64
        // calls in one answer are a fan-out, 500 are an accident.
        Self { concurrent: 4, steps: 50, calls_per_answer: 64, tokens: None, micro_usd: None, wall_ms: None }
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
        let before = if self.answers == 0 { Some(0) } else { self.micro_usd };
        self.micro_usd = before.zip(micro_usd).map(|(sum, cost)| sum.saturating_add(cost));
        self.usage = self.usage.plus(usage);
        self.answers += 1;
    }

    pub fn tokens(&self) -> u64 {
        self.usage.input_tokens.unwrap_or(0).saturating_add(self.usage.output_tokens.unwrap_or(0))
    }

    /// Which limit leaves no room for another model call.
    pub(crate) fn exhausted(&self, limits: &Limits) -> Option<&'static str> {
        if limits.tokens.is_some_and(|limit| self.tokens() >= limit) {
            return Some("tokens");
        }
        let cost = if self.answers == 0 { Some(0) } else { self.micro_usd };
        match (limits.micro_usd, cost) {
            (Some(limit), Some(cost)) if cost >= limit => Some("cost"),
            // A budget that cannot be checked is not kept by hoping.
            (Some(_), None) => Some("cost (the price of this model is unknown)"),
            _ => None,
        }
    }
}
