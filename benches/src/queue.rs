//! A master with more subagents than slots: how long after one has ended is the next one's request on its way?
//!
//! The end of an agent is an event, and what it frees is decided with it; so the moment is when that event was stored and
//! told. The model server says when requests arrive, on the same clock: both are processes of one machine.

use crate::bare::tell;
use crate::figure::{Figure, Samples};
use crate::inside;
use crate::place::{Bench, BenchError, MODEL, fresh, told};
use crate::server::MASTER;
use fugato_engine::{EventKind, Limits, Setting, built_in_types};
use fugato_runtime::runs::{Started, Task, plan_task};
use fugato_runtime::store::Store;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("queue")?;
    let count = bench.sizes.agents.min(64);
    let url = bench.delegating(count, 1);
    let (mut gaps, mut worst) = (Samples::default(), Samples::default());
    for _ in 0..bench.sizes.rounds {
        let dir = fresh(&room)?;
        bench.arrivals()?;
        let mut command = Command::new(&bench.own);
        let said = told(command.arg("queue").arg(&dir).args([&url, &count.to_string()]))?;
        let freed = numbers(said.get("freed"));
        let arrived = bench.arrivals()?;
        // One slot: the master asks, each subagent asks once when its turn comes, the master asks again.
        let (expected, found) = (count as usize + 2, arrived.len());
        if found != expected || freed.len() != count as usize {
            return Err(
                format!("{found} requests of {} agents; {expected} were expected", freed.len()).into()
            );
        }
        let mut most = 0.0_f64;
        for (free, next) in freed.iter().zip(arrived.iter().skip(2)).take(count as usize - 1) {
            gaps.add(next - free);
            most = most.max(next - free);
        }
        worst.add(most);
    }
    Ok(vec![
        Figure::new("a slot is free → the next request is with the model", "ms", &gaps)
            .below(1.0)
            .note("from the stored end of a subagent to the arrival of the next one's request at the server"),
        Figure::new("the same, the slowest of a run", "ms", &worst),
    ])
}

fn numbers(list: Option<&Value>) -> Vec<f64> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// A master whose subagents work one at a time, alone in its process.
pub fn part(dir: &str, url: &str, count: &str) -> Result<(), BenchError> {
    let dir = Path::new(dir);
    let count: u32 = count.parse()?;
    let runtime = inside::runtime()?;
    let store = Store::open(&dir.join("state"))?;
    let limits = Limits { concurrent: 1, calls_per_answer: count, ..Limits::default() };
    let started = Started { model: MODEL.into(), limits, ..Started::default() };
    let text = format!("{MASTER}: start them.");
    let task = Task { text, types: built_in_types(), master: None, setting: Setting::Global };
    let freed: Arc<Mutex<Vec<f64>>> = Arc::default();
    let hears = Arc::clone(&freed);
    let hears = Box::new(move |event: &fugato_engine::Event| {
        if matches!(event.kind, EventKind::AgentStopped { agent, .. } if agent > 0) {
            hears.lock().unwrap_or_else(PoisonError::into_inner).push(now());
        }
    });
    let world = inside::world(dir, url);
    let mut session = inside::create(&runtime, store, plan_task(task, &started), world, hears)?;
    inside::drive(&runtime, &mut session)?;
    tell(&json!({"freed": *freed.lock().unwrap_or_else(PoisonError::into_inner)}))
}

/// Milliseconds on the clock that all processes of a machine share.
pub fn now() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    crate::figure::millis(std::time::Duration::try_from(now).unwrap_or_default())
}
