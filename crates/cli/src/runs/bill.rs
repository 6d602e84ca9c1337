//! What a run used, over its whole tree of agents, in the same words wherever it is told.

use super::reporter::cost_words;
use crate::render::count;
use fugato_engine::{AgentView, Run};
use fugato_model::{Words, words};

/// `9 model calls of 4 agents · 1200 tokens · $0.0030`.
pub fn bill(run: &Run) -> Words {
    let (answers, tokens, cost) = (run.spent.answers, run.spent.tokens(), cost_words(run));
    let (calls, used) = (counted(answers, "model call"), counted(tokens, "token"));
    match run.agents.len() {
        0 | 1 => words!("{calls} · {used} · {cost}", "模型调用 {answers} 次 · {tokens} 词元 · {cost}"),
        agents => words!(
            "{calls} of {agents} agents · {used} · {cost}",
            "{agents} 个代理共调用模型 {answers} 次 · {tokens} 词元 · {cost}"
        ),
    }
}

/// Steps of the last task, as the result of the agent says them; and of all, when it had several.
pub fn steps(agent: &AgentView) -> Words {
    let (task, all) = (agent.steps_of_task, agent.steps);
    let steps = counted(u64::from(task), "step");
    if task == all {
        return words!("{steps}", "{task} 步");
    }
    words!("{steps} ({all} in all)", "{task} 步（共 {all} 步）")
}

pub fn counted(n: u64, noun: &str) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), noun)
}
