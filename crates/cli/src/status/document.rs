//! `--json`: `fugato.status/v1`. Times are as programs write them; the whole, whatever the dashboard folds.

use fugato_model::Lang;
use fugato_runtime::exports::timestamp;
use fugato_runtime::view::{AgentRow, EventRow, Intervention, Overview};
use serde_json::{Value, json};

pub fn document(view: &Overview, now: i64, lang: Lang) -> Value {
    json!({
        "schema": "fugato.status/v1",
        "run": view.id,
        "title": view.title,
        "status": view.status,
        "reason": view.reason.as_ref().map(|reason| reason.in_lang(lang)),
        "started_at": time(view.started_at),
        "updated_at": time(view.updated_at),
        "elapsed_ms": view.elapsed(now),
        "seq": view.seq,
        "generation": view.generation,
        "active": view.is_running(),
        "total": view.agents.len(),
        "agents": view.agents.iter().map(|one| agent(one, view.until(now), lang)).collect::<Vec<_>>(),
        "dependencies": view.dependencies,
        "events": view.events.iter().map(|one| event(one, lang)).collect::<Vec<_>>(),
        "interventions": view.interventions.iter().map(|one| intervention(one, lang)).collect::<Vec<_>>(),
        "unreadable_lines": view.unreadable,
    })
}

fn agent(agent: &AgentRow, now: i64, lang: Lang) -> Value {
    json!({
        "id": agent.id,
        "role": agent.role,
        "task": agent.task,
        "status": agent.status,
        "phase": agent.phase,
        "started_at": time(agent.started_at),
        "completed_at": time(agent.completed_at),
        "elapsed_ms": agent.elapsed(now),
        "silent_ms": agent.silent(now),
        "last_heartbeat": time(agent.last_heartbeat),
        "acked_generation": agent.acked_generation,
        "unread": agent.unread,
        "last_event": agent.last_event.as_ref().map(|last| event(last, lang)),
    })
}

fn event(event: &EventRow, lang: Lang) -> Value {
    json!({
        "seq": event.seq,
        "timestamp": time(event.at),
        "agent": event.agent,
        "type": event.kind,
        "message": event.message.in_lang(lang),
    })
}

pub fn intervention(told: &Intervention, lang: Lang) -> Value {
    let receipts = told.receipts.iter().map(|receipt| {
        json!({
            "agent": receipt.agent,
            "state": receipt.state.as_str(),
            "timestamp": time(receipt.at),
            "reason": receipt.why.as_ref().map(|why| why.in_lang(lang)),
        })
    });
    json!({
        "generation": told.generation,
        "timestamp": time(told.at),
        "action": told.action,
        "target": told.target,
        "message": told.message,
        "state": told.state().as_str(),
        "receipts": receipts.collect::<Vec<_>>(),
    })
}

fn time(at: Option<i64>) -> Option<String> {
    at.map(timestamp)
}
