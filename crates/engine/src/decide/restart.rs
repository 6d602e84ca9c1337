//! The operator has a node begin again: whoever works on it is stopped, and another attempt starts.

use super::{Recorder, refuse, refuse_if_ended};
use crate::event::{EventKind, MessageKind, Target, Verb, Verdict};
use crate::input::Refusal;
use crate::run::NodeStatus;
use fugato_model::words;

pub fn restart(recorder: &mut Recorder<'_>, target: &Target) -> Result<(), Refusal> {
    refuse_if_ended(recorder.run)?;
    let Target::Agent(path) = target else {
        return refuse(words!("restart names one node, not `all`", "restart 只能针对一个节点，不能是 `all`"));
    };
    let live = recorder.run.agent(path.as_str()).filter(|(_, state)| state.is_live());
    if let Some((agent, _)) = live.filter(|(_, state)| state.node.is_none()) {
        break_off(recorder, target, agent);
        return Ok(());
    }
    let node = find(recorder, path.as_str())?;
    match recorder.run.node(node).map(|state| state.status) {
        Some(NodeStatus::Running) => {}
        Some(NodeStatus::Uncertain) => {
            return refuse(words!(
                "`{path}` may or may not have taken effect: answer its question first",
                "`{path}` 是否已生效尚不确定：请先回答它的问题"
            ));
        }
        Some(NodeStatus::Done | NodeStatus::Null | NodeStatus::Failed) => {
            let run = &recorder.run.spec.id;
            return refuse(words!(
                "`{path}` has finished; begin again from it: fugato rerun {run} --from {path}",
                "`{path}` 已结束；从它重新开始：fugato rerun {run} --from {path}"
            ));
        }
        _ => return refuse(words!("`{path}` has not started", "`{path}` 尚未开始")),
    }
    let generation = recorder.run.generation.saturating_add(1);
    let target = target.clone();
    recorder.emit(EventKind::DirectiveRecorded { generation, verb: Verb::Restart, target, text: None });
    let works = |agent: &crate::AgentState| agent.node == Some(node) && agent.is_live();
    let agent = (0u32..).zip(&recorder.run.agents).find(|(_, agent)| works(agent)).map(|(at, _)| at);
    if let Some(agent) = agent {
        recorder.emit(EventKind::AgentStopped { agent, verdict: Verdict::Cancelled });
        recorder.emit(EventKind::DirectiveApplied { generation, agent });
    }
    if let Some(scope) = recorder.run.called_by(node) {
        crate::driver::stop_agents(recorder, scope);
    }
    recorder.emit(EventKind::NodeRestarted { node });
    Ok(())
}

/// An agent that no plan has: nothing else could be begun in its place, so it goes on itself.
fn break_off(recorder: &mut Recorder<'_>, target: &Target, agent: u32) {
    let generation = recorder.run.generation.saturating_add(1);
    let (verb, target) = (Verb::Restart, target.clone());
    recorder.emit(EventKind::DirectiveRecorded { generation, verb, target, text: None });
    crate::driver::stop_children(recorder, agent);
    recorder.emit(EventKind::AgentRestarted { agent });
    let text = "The operator had you break off what you were doing. Calls without a result were stopped and may or may \
                not have taken effect: look before you repeat one. Then go on with your task.";
    let (from, text) = ("user".to_owned(), text.to_owned());
    recorder.emit(EventKind::MessageSent { to: agent, from, text, kind: Some(MessageKind::Handoff) });
    recorder.emit(EventKind::DirectiveApplied { generation, agent });
}

/// By the name of the node, or of an agent that works on it.
fn find(recorder: &Recorder<'_>, path: &str) -> Result<u32, Refusal> {
    let run = &recorder.run;
    let by_id = (0u32..).zip(run.plan_nodes()).find(|(_, node)| node.id == path).map(|(at, _)| at);
    match by_id.or_else(|| run.agent(path).and_then(|(_, agent)| agent.node)) {
        Some(node) => Ok(node),
        None => {
            let known = run.plan_nodes().map(|node| node.id.as_str());
            let near = fugato_model::nearest(path, known).map(str::to_owned);
            let (hint_en, hint_zh) = match near {
                Some(near) => (format!("; did you mean `{near}`?"), format!("；是不是 `{near}`？")),
                None => (String::new(), String::new()),
            };
            refuse(words!("there is no node `{path}`{hint_en}", "没有节点 `{path}`{hint_zh}"))
        }
    }
}
