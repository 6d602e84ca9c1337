//! `fugato trace`: the run as a waterfall, from the log.

use super::reporter::duration;
use crate::printer::{paint, style};
use crate::render::Width;
use fugato_engine::{Event, EventKind, Run};
use fugato_model::{Lang, words};
use std::collections::HashMap;

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    pub id: String,
    pub start: i64,
    pub end: Option<i64>,
    pub state: &'static str,
    pub attempt: u32,
}

/// The bars of a run in the order they began.
pub fn bars(events: &[Event], run: &Run) -> Vec<Bar> {
    let at = events.first().map_or(0, |event| event.at);
    let reused = run.spec.plan.nodes.iter().filter(|node| run.spec.reused.contains_key(&node.id));
    let taken = |id: &str| Bar { id: id.to_owned(), start: at, end: Some(at), state: "reused", attempt: 0 };
    let mut bars: Vec<Bar> = reused.map(|node| taken(&node.id)).collect();
    let mut open: HashMap<u32, usize> = HashMap::new();
    for event in events {
        match &event.kind {
            EventKind::NodeStarted { node, attempt, .. } => {
                open.insert(*node, bars.len());
                let id = run.plan_node(*node).map(|plan| plan.id.clone()).unwrap_or_default();
                bars.push(Bar { id, start: event.at, end: None, state: "running", attempt: *attempt });
            }
            EventKind::NodeCompleted { node, .. } | EventKind::NodeFailed { node, .. } => {
                let state =
                    if matches!(event.kind, EventKind::NodeCompleted { .. }) { "done" } else { "failed" };
                if let Some(bar) = open.remove(node).and_then(|at| bars.get_mut(at)) {
                    // A clock that was set back in between gives no negative time.
                    (bar.end, bar.state) = (Some(event.at.max(bar.start)), state);
                }
            }
            EventKind::RunRecovered { .. } => {
                bars.push(Bar {
                    id: "(resumed)".into(),
                    start: event.at,
                    end: Some(event.at),
                    state: "resumed",
                    attempt: 1,
                });
            }
            _ => {}
        }
    }
    bars
}

/// Draws bars over the time from the first to the last event.
pub fn draw(bars: &[Bar], from: i64, to: i64, columns: usize, width: Width, lang: Lang) -> Vec<String> {
    let names = bars.iter().map(|bar| width.of(&bar.id)).max().unwrap_or(0).min(40);
    let room = columns.saturating_sub(names + 14).clamp(10, 100);
    let span = usize::try_from((to - from).max(1)).unwrap_or(usize::MAX);
    let place = |at: i64| usize::try_from((at - from).max(0)).unwrap_or(0).saturating_mul(room) / span;
    bars.iter()
        .map(|bar| {
            let (start, end) = (place(bar.start).min(room - 1), place(bar.end.unwrap_or(to)).min(room));
            let length = end.saturating_sub(start).max(1);
            let (look, cell) = match bar.state {
                "done" => (style::GOOD, "█"),
                "failed" => (style::BAD, "█"),
                "resumed" => (style::WARN, "│"),
                "reused" => (style::DIM, "·"),
                _ => (style::WARN, "░"),
            };
            let name = width.cut(&bar.id, names);
            let pad = " ".repeat(names.saturating_sub(width.of(&name)));
            let took = match (bar.state, bar.end) {
                ("resumed", _) => String::new(),
                ("reused", _) => words!("reused", "沿用").in_lang(lang).to_owned(),
                (_, Some(end)) => duration(end - bar.start),
                (_, None) => "…".to_owned(),
            };
            let line = format!(
                "{name}{pad}  {}{}  {}",
                " ".repeat(start),
                paint(look, cell.repeat(length)),
                paint(style::DIM, took)
            );
            line.trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_jumps_gives_no_negative_time() {
        let plan =
            serde_json::json!({"phases": [], "nodes": [{"id": "n", "phase": 0, "work": {"type": "noop"}}]});
        let spec = serde_json::json!({
            "id": "run_1", "skill": {"name": "s", "dir": "/s"}, "title": "t", "plan": plan, "context": {},
            "limits": fugato_engine::Limits::default(), "model": "echo",
        });
        const DAY: i64 = 86_400_000;
        let kinds = [
            (0, serde_json::json!({"type": "run.created", "spec": spec})),
            (3650 * DAY, serde_json::json!({"type": "node.started", "node": 0, "attempt": 1})),
            (-DAY, serde_json::json!({"type": "run.recovered", "epoch": 2})),
            (-DAY, serde_json::json!({"type": "node.completed", "node": 0, "value": null})),
        ];
        let events: Vec<Event> = kinds
            .into_iter()
            .zip(1..)
            .map(|((at, kind), seq)| {
                let event = serde_json::json!({"v": 1, "seq": seq, "at": at, "by": "engine", "kind": kind});
                serde_json::from_value(event).unwrap()
            })
            .collect();
        let run = Run::replay(&events).unwrap();
        let bars = bars(&events, &run);
        assert_eq!(bars[0].id, "n");
        assert!(bars.iter().all(|bar| bar.end.is_some_and(|end| end >= bar.start)), "{bars:?}");
        assert!(
            draw(&bars, 0, -DAY, 60, Width::Narrow, fugato_model::Lang::En)
                .iter()
                .all(|line| !line.contains('-'))
        );
    }

    #[test]
    fn bars_begin_and_end_where_they_did_and_an_open_end_reaches_now() {
        let bar = |id: &str, start, end| Bar { id: id.into(), start, end, state: "done", attempt: 1 };
        let bars = [bar("写", 0, Some(50)), bar("b", 50, None)];
        let lines = draw(&bars, 0, 100, 36, Width::Narrow, Lang::En);
        let plain: Vec<_> = lines.iter().map(|l| anstream::adapter::strip_str(l).to_string()).collect();
        assert_eq!(plain[0], format!("写  {}  50 ms", "█".repeat(10)));
        assert_eq!(plain[1], format!("b   {}{}  …", " ".repeat(10), "█".repeat(10)));
    }
}
