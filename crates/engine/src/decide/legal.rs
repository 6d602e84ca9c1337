//! The table of legal moves: what a directive may ask of whom, as it stands. What is not legal is refused with the state
//! named.

use super::refuse;
use crate::event::{AgentPath, Verb, Verdict};
use crate::input::Refusal;
use crate::plan::Work;
use crate::run::{Found, NodeStatus, Run};
use fugato_model::words;

pub(super) fn for_all(run: &Run, verb: Verb) -> Result<(), Refusal> {
    match verb {
        Verb::Resume if !run.held && run.paused.is_empty() && run.held_nodes.is_empty() => {
            refuse(words!("nothing is paused", "没有暂停的代理"))
        }
        Verb::Pause if run.held && run.paused.len() == run.live.len() => {
            refuse(words!("the run is paused already", "运行已经暂停"))
        }
        Verb::Redirect if run.live.is_empty() => refuse(words!("no agent is at work", "没有正在工作的代理")),
        _ => Ok(()),
    }
}

pub(super) fn for_one(run: &Run, verb: Verb, path: &AgentPath, found: Found) -> Result<(), Refusal> {
    match found {
        Found::Agent(agent) => for_agent(run, verb, path, agent),
        Found::Node(node) => for_node(run, verb, path, node),
    }
}

fn for_agent(run: &Run, verb: Verb, path: &AgentPath, agent: u32) -> Result<(), Refusal> {
    let Some(state) = run.agents.get(agent as usize) else { return Ok(()) };
    if !state.is_live() {
        let (en, zh) = match &state.verdict {
            Some(Verdict::Cancelled) => ("cancelled", "已取消"),
            Some(Verdict::Failed { .. }) => ("failed", "失败"),
            Some(Verdict::LimitReached { .. }) => ("limit reached", "达到上限"),
            _ => ("done", "完成"),
        };
        return refuse(words!("agent `{path}` has finished ({en})", "代理 `{path}` 已结束（{zh}）"));
    }
    match verb {
        Verb::Resume if !state.paused => {
            refuse(words!("agent `{path}` is running, not paused", "代理 `{path}` 正在运行，没有暂停"))
        }
        Verb::Pause if state.paused => {
            refuse(words!("agent `{path}` is paused already", "代理 `{path}` 已经暂停"))
        }
        _ => Ok(()),
    }
}

fn for_node(run: &Run, verb: Verb, path: &AgentPath, node: u32) -> Result<(), Refusal> {
    let status = run.node(node).map(|state| state.status);
    match (status, verb) {
        (Some(NodeStatus::Pending | NodeStatus::Ready), _) => for_pending(run, verb, path, node),
        (Some(NodeStatus::Running), Verb::Cancel) => Ok(()),
        (Some(NodeStatus::Running), _) => {
            let is_script = run.plan_node(node).is_some_and(|plan| matches!(plan.work, Work::Script { .. }));
            let (en, zh) = if is_script {
                ("a script at work", "正在执行的脚本")
            } else {
                ("at work", "正在执行")
            };
            refuse(words!(
                "`{path}` is {en}: it can only be cancelled or restarted",
                "`{path}` 是{zh}：只能取消或重新开始"
            ))
        }
        (Some(NodeStatus::Uncertain), _) => refuse(words!(
            "`{path}` may or may not have taken effect: answer its question first",
            "`{path}` 是否已生效尚不确定：请先回答它的问题"
        )),
        _ => {
            let (en, zh) = match status {
                Some(NodeStatus::Done) => ("done", "完成"),
                _ => ("failed", "失败"),
            };
            refuse(words!("`{path}` has finished ({en})", "`{path}` 已结束（{zh}）"))
        }
    }
}

fn for_pending(run: &Run, verb: Verb, path: &AgentPath, node: u32) -> Result<(), Refusal> {
    let is_held = run.held_nodes.contains(&node);
    match verb {
        Verb::Pause if is_held => refuse(words!("`{path}` is paused already", "`{path}` 已经暂停")),
        Verb::Resume if !is_held => refuse(words!(
            "`{path}` has not started (pending), and is not paused",
            "`{path}` 尚未开始（pending），也没有暂停"
        )),
        Verb::Pause | Verb::Resume => Ok(()),
        Verb::Cancel | Verb::Redirect | Verb::Restart => {
            refuse(words!("`{path}` has not started (pending)", "`{path}` 尚未开始（pending）"))
        }
    }
}
