//! A master that starts hundreds of subagents in one answer: what does a subagent cost apart from its model call?

use crate::bare::{cpu, tell};
use crate::figure::{Figure, Samples, millis};
use crate::inside;
use crate::place::{Bench, BenchError, MODEL, fresh, told};
use crate::server::MASTER;
use fugato_engine::{Limits, Setting, built_in_types};
use fugato_runtime::runs::{Started, Task, plan_task};
use fugato_runtime::store::Store;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A master asks twice, each subagent once, the subagents all at the same time.
const ROUNDS_OF_LATENCY: f64 = 3.0;

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("delegation")?;
    let (most, latency) = (bench.sizes.agents, bench.sizes.latency_ms);
    let mut figures = Vec::new();
    let mut costs = Vec::new();
    for count in [most.min(4), (most / 8).max(2), most] {
        let url = bench.delegating(count, latency);
        let (mut own, mut used, mut bare) = (Samples::default(), Samples::default(), Samples::default());
        for _ in 0..bench.sizes.rounds {
            let dir = fresh(&room)?;
            let mut command = Command::new(&bench.own);
            let said = told(command.arg("delegation").arg(&dir).args([&url, &count.to_string()]))?;
            let number = |name: &str| said.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
            own.add(number("total_ms") - ROUNDS_OF_LATENCY * f64::from(latency));
            used.add(number("cpu_ms"));
            let mut command = bench.bare_command(&room);
            let said = told(command.args(["bare-many", &url]).arg(bench.tools()).arg(count.to_string()))?;
            bare.add(said.get("cpu_ms").and_then(Value::as_f64).unwrap_or(f64::NAN));
        }
        figures.push(
            Figure::new(format!("{count} subagents of one master, own cost"), "ms", &own)
                .note("wall time less the three latencies nobody can avoid"),
        );
        costs.push((count, used.least(), bare.least()));
    }
    if let [(few, least, bare_least), .., (many, most, bare_most)] = costs.as_slice() {
        let more = f64::from(many.saturating_sub(*few).max(1));
        let (ours, bare) = ((most - least) / more, (bare_most - bare_least) / more);
        let how = "least of the rounds, most subagents less fewest, divided";
        figures.push(
            Figure::of("processor time of one more subagent, its model call included", "ms", ours).note(how),
        );
        figures.push(
            Figure::of("processor time of one more model call of the bare program", "ms", bare).note(how),
        );
        figures.push(
            Figure::of("processor time of one more subagent apart from its model call", "ms", ours - bare)
                .below(0.2)
                .note("the first less the second, both measured in turns; its files for other programs included"),
        );
    }
    Ok(figures)
}

/// A run of a master, alone in its process.
pub fn part(dir: &str, url: &str, count: &str) -> Result<(), BenchError> {
    let dir = Path::new(dir);
    let count: u32 = count.parse()?;
    let runtime = inside::runtime()?;
    let store = Store::open(&dir.join("state"))?;
    let limits = Limits { concurrent: count, calls_per_answer: count, ..Limits::default() };
    let started = Started { model: MODEL.into(), limits, ..Started::default() };
    let text = format!("{MASTER}: start them.");
    let task = Task { text, types: built_in_types(), master: None, setting: Setting::Global };
    let spec = plan_task(task, &started);
    let (began, before) = (Instant::now(), cpu());
    let world = inside::world(dir, url);
    let mut session = inside::create(&runtime, store, spec, world, Box::new(|_| {}))?;
    inside::drive(&runtime, &mut session)?;
    let total_ms = millis(began.elapsed());
    // The files for other programs belong to a subagent too, wherever they are written.
    runtime.block_on(session.files_written());
    let cpu_ms = cpu() - before;
    let agents = session.run().agents.len();
    if agents != count as usize + 1 {
        return Err(format!("{agents} agents instead of {}", count + 1).into());
    }
    tell(&json!({"total_ms": total_ms, "cpu_ms": cpu_ms}))
}
