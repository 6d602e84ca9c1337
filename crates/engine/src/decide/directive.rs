//! Pause, resume, cancel, redirect: one total order, each applied or refused with the state named.

use super::{Recorder, refuse, refuse_if_ended};
use crate::agent::{AgentState, Turn};
use crate::driver::stop;
use crate::event::{EventKind, Outcome, Target, Verb, Verdict};
use crate::input::Refusal;
use fugato_model::words;

pub fn direct(
    recorder: &mut Recorder<'_>,
    verb: Verb,
    target: &Target,
    text: Option<&str>,
) -> Result<(), Refusal> {
    if verb == Verb::Restart {
        return super::restart::restart(recorder, target);
    }
    refuse_if_ended(recorder.run)?;
    let agents = match target {
        Target::All => live(recorder),
        Target::Agent(path) => vec![find(recorder, path.as_str())?],
    };
    check(recorder, verb, target, &agents, text)?;
    let generation = recorder.run.generation + 1;
    recorder.emit(EventKind::DirectiveRecorded {
        generation,
        verb,
        target: target.clone(),
        text: text.map(str::to_owned),
    });
    for agent in &agents {
        match verb {
            Verb::Pause => interrupt(recorder, *agent),
            Verb::Resume | Verb::Restart => {}
            Verb::Redirect => {
                let task = text.unwrap_or_default();
                let text = format!("The operator redirects you. This supersedes your task:\n\n{task}");
                recorder.emit(EventKind::MessageSent { to: *agent, from: "user".into(), text });
                interrupt(recorder, *agent);
            }
            // The whole run ends below; its agents with it.
            Verb::Cancel if *target == Target::All => {}
            Verb::Cancel => {
                stop(recorder, *agent, Verdict::Cancelled);
            }
        }
        recorder.emit(EventKind::DirectiveApplied { generation, agent: *agent });
    }
    if verb == Verb::Cancel && *target == Target::All {
        // Children first: nobody is told anything any more.
        for agent in agents.into_iter().rev() {
            recorder.emit(EventKind::AgentStopped { agent, verdict: Verdict::Cancelled });
        }
        recorder.emit(EventKind::RunEnded {
            outcome: Outcome::Aborted,
            reason: words!("cancelled by the operator", "已被操作者取消"),
            result: None,
        });
    }
    Ok(())
}

/// A host's turn is many effects, and ends perhaps in an hour: it is stopped, and goes on later where it was. What a model
/// was asked, it answers first.
fn interrupt(recorder: &mut Recorder<'_>, agent: u32) {
    let state = recorder.run.agents.get(agent as usize);
    let works = |state: &&AgentState| state.turn == Turn::Thinking && state.kind.executor.is_host();
    if let Some(step) = state.filter(works).map(|state| state.step) {
        recorder.emit(EventKind::AgentInterrupted { agent, step });
    }
}

pub fn send(recorder: &mut Recorder<'_>, to: &Target, from: &str, text: &str) -> Result<(), Refusal> {
    refuse_if_ended(recorder.run)?;
    if text.trim().is_empty() {
        return refuse(words!("the message is empty", "消息为空"));
    }
    let agents = match to {
        Target::All => live(recorder),
        Target::Agent(path) => vec![find(recorder, path.as_str())?],
    };
    for to in agents {
        super::delegate::told(recorder, to, from, text)?;
    }
    Ok(())
}

/// The table of legal moves.
fn check(
    recorder: &Recorder<'_>,
    verb: Verb,
    target: &Target,
    agents: &[u32],
    text: Option<&str>,
) -> Result<(), Refusal> {
    if verb == Verb::Redirect && text.is_none_or(|text| text.trim().is_empty()) {
        return refuse(words!("a redirect needs an instruction", "重定向需要给出新的指令"));
    }
    let state = |agent: u32| recorder.run.agents.get(agent as usize);
    match target {
        Target::All => {
            let any_paused = agents.iter().filter_map(|agent| state(*agent)).any(|agent| agent.paused);
            match verb {
                Verb::Resume if !recorder.run.held && !any_paused => {
                    refuse(words!("nothing is paused", "没有暂停的代理"))
                }
                Verb::Pause if recorder.run.held => {
                    refuse(words!("the run is paused already", "运行已经暂停"))
                }
                _ => Ok(()),
            }
        }
        Target::Agent(path) => {
            let Some(agent) = agents.first().and_then(|agent| state(*agent)) else { return Ok(()) };
            if !agent.is_live() {
                return refuse(words!("agent `{path}` has finished", "代理 `{path}` 已结束"));
            }
            match verb {
                Verb::Resume if !agent.paused => refuse(words!(
                    "agent `{path}` is running, not paused",
                    "代理 `{path}` 正在运行，没有暂停"
                )),
                Verb::Pause if agent.paused => {
                    refuse(words!("agent `{path}` is paused already", "代理 `{path}` 已经暂停"))
                }
                _ => Ok(()),
            }
        }
    }
}

fn live(recorder: &Recorder<'_>) -> Vec<u32> {
    let agents = (0u32..).zip(&recorder.run.agents);
    agents.filter(|(_, agent)| agent.is_live()).map(|(at, _)| at).collect()
}

fn find(recorder: &Recorder<'_>, path: &str) -> Result<u32, Refusal> {
    match recorder.run.agent(path) {
        Some((at, _)) => Ok(at),
        None => {
            let known: Vec<&str> = recorder.run.agents.iter().map(|agent| agent.path.as_str()).collect();
            let list = known.join(", ");
            let near = fugato_model::nearest(path, known).map(str::to_owned);
            let (hint_en, hint_zh) = match near {
                Some(near) => (format!("; did you mean `{near}`?"), format!("；是不是 `{near}`？")),
                None => (String::new(), String::new()),
            };
            refuse(words!(
                "agent '{path}' not found; available agents: {list}{hint_en}",
                "没有代理 '{path}'；现有代理：{list}{hint_zh}"
            ))
        }
    }
}
