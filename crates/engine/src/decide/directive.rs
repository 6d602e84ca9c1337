//! Pause, resume, cancel, redirect: one total order, each applied or refused with the state named.

use super::{Recorder, legal, refuse, refuse_if_ended};
use crate::agent::{AgentState, Turn};
use crate::driver::stop;
use crate::event::{EventKind, MessageKind, Outcome, Target, Verb, Verdict};
use crate::input::Refusal;
use crate::run::{Found, by_operator};
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
    if verb == Verb::Redirect && text.is_none_or(|text| text.trim().is_empty()) {
        return refuse(words!("a redirect needs an instruction", "重定向需要给出新的指令"));
    }
    let found = match target {
        Target::All => {
            legal::for_all(recorder.run, verb)?;
            recorder.run.live.iter().map(|agent| Found::Agent(*agent)).collect()
        }
        Target::Agent(path) => {
            let found = find(recorder, path.as_str())?;
            legal::for_one(recorder.run, verb, path, found)?;
            vec![found]
        }
    };
    let generation = recorder.run.generation.saturating_add(1);
    recorder.emit(EventKind::DirectiveRecorded {
        generation,
        verb,
        target: target.clone(),
        text: text.map(str::to_owned),
    });
    if verb == Verb::Cancel && *target == Target::All {
        cancel_all(recorder, generation, &found);
        return Ok(());
    }
    for found in found {
        match found {
            Found::Agent(agent) => apply(recorder, generation, verb, agent, text),
            Found::Node(node) => {
                recorder.emit(EventKind::DirectiveHeld { generation, node });
                if verb == Verb::Cancel {
                    crate::driver::give_up(recorder, node, by_operator());
                }
            }
        }
    }
    Ok(())
}

fn apply(recorder: &mut Recorder<'_>, generation: u64, verb: Verb, agent: u32, text: Option<&str>) {
    match verb {
        Verb::Pause => interrupt(recorder, agent),
        Verb::Resume | Verb::Restart => {}
        Verb::Redirect => {
            let task = text.unwrap_or_default();
            let text = format!("The operator redirects you. This supersedes your task:\n\n{task}");
            let (from, kind) = ("user".to_owned(), Some(MessageKind::Redirect));
            recorder.emit(EventKind::MessageSent { to: agent, from, text, kind });
            // It takes effect when the agent sees it; until then it may still end as it was.
            recorder.emit(EventKind::DirectiveDelivered { generation, agent });
            return interrupt(recorder, agent);
        }
        Verb::Cancel => stop(recorder, agent, Verdict::Cancelled),
    }
    recorder.emit(EventKind::DirectiveApplied { generation, agent });
}

/// The whole run ends, its agents with it. Children first: nobody is told anything any more.
fn cancel_all(recorder: &mut Recorder<'_>, generation: u64, found: &[Found]) {
    for found in found.iter().rev() {
        if let Found::Agent(agent) = *found {
            recorder.emit(EventKind::DirectiveApplied { generation, agent });
            recorder.emit(EventKind::AgentStopped { agent, verdict: Verdict::Cancelled });
        }
    }
    recorder.emit(EventKind::RunEnded { outcome: Outcome::Aborted, reason: by_operator(), result: None });
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

pub fn send(
    recorder: &mut Recorder<'_>,
    to: &Target,
    from: &str,
    text: &str,
    kind: MessageKind,
) -> Result<(), Refusal> {
    refuse_if_ended(recorder.run)?;
    if text.trim().is_empty() {
        return refuse(words!("the message is empty", "消息为空"));
    }
    match to {
        Target::All => {
            let live: Vec<u32> = recorder.run.live.iter().copied().collect();
            // To everybody or to nobody: a message that some got and some did not could not be sent again.
            for agent in &live {
                super::delegate::takes(recorder.run, *agent, text)?;
            }
            live.into_iter().try_for_each(|agent| super::delegate::told(recorder, agent, from, text, kind))
        }
        Target::Agent(path) => match find(recorder, path.as_str())? {
            Found::Agent(agent) => super::delegate::told(recorder, agent, from, text, kind),
            Found::Node(_) => refuse(words!(
                "`{path}` has no agent that could read a message",
                "`{path}` 没有可以接收消息的代理"
            )),
        },
    }
}

fn find(recorder: &Recorder<'_>, path: &str) -> Result<Found, Refusal> {
    if let Some(found) = recorder.run.target(path) {
        return Ok(found);
    }
    let run = &recorder.run;
    let is_work = |node: &&crate::plan::PlanNode| {
        !matches!(node.work, crate::plan::Work::Gate | crate::plan::Work::Noop)
    };
    let nodes = run.plan_nodes().filter(is_work).map(|node| node.id.as_str());
    let mut known: Vec<&str> = nodes.chain(run.agents.iter().map(|agent| agent.path.as_str())).collect();
    let mut seen = std::collections::BTreeSet::new();
    known.retain(|name| seen.insert(*name));
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
