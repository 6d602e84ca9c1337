//! One agent and hundreds of tool calls: is the four-hundredth step as cheap as the fiftieth?

use crate::bare::{Outcome, tell};
use crate::figure::{Figure, Samples, millis};
use crate::inside;
use crate::place::{Bench, BenchError, told};
use fugato_engine::{EventKind, Limits, Plan};
use fugato_runtime::store::Store;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("agent")?;
    std::fs::write(room.join("note.txt"), "A small file.\nOf two lines.\n")?;
    let steps = bench.sizes.steps;
    let url = bench.stepping(steps);
    let (mut ours, mut bare) = (Side::default(), Side::default());
    for _ in 0..bench.sizes.rounds {
        let dir = tempfile::tempdir_in(&room)?;
        std::fs::copy(room.join("note.txt"), dir.path().join("note.txt"))?;
        let mut command = Command::new(&bench.own);
        ours.add(&told(command.arg("agent").arg(dir.path()).args([&url, &steps.to_string()]))?, steps)?;
        let mut command = bench.bare_command(&room);
        bare.add(&told(command.args(["bare-agent", &url]).arg(bench.tools()).arg("note.txt"))?, steps)?;
    }
    let early = ours.step(50, steps) - bare.step(50, steps);
    let late = ours.step(400, steps) - bare.step(400, steps);
    Ok(vec![
        Figure::new(format!("one agent, {steps} tool calls"), "ms", &ours.total)
            .beside(&bare.total)
            .ratio_below(4.0),
        Figure::of("own cost of a step, around step 50", "ms", early),
        Figure::of("own cost of a step, around step 400", "ms", late),
        Figure::of("own cost of a step, step 400 to step 50", "×", late / early)
            .below(1.3)
            .note("the bare program's time for the same steps is subtracted; least of the rounds"),
    ])
}

/// One of the two programs, over all rounds.
#[derive(Default)]
struct Side {
    total: Samples,
    rounds: Vec<Vec<f64>>,
}

impl Side {
    fn add(&mut self, told: &serde_json::Value, steps: u32) -> Result<(), BenchError> {
        let total = told.get("total_ms").and_then(serde_json::Value::as_f64).ok_or("no time was told")?;
        let answered: Vec<f64> =
            serde_json::from_value(told.get("answered_at").cloned().unwrap_or_default())?;
        if answered.len() != steps as usize + 1 {
            return Err(format!("{} answers instead of {}", answered.len(), steps + 1).into());
        }
        self.total.add(total);
        self.rounds.push(answered);
        Ok(())
    }

    /// The time of one step around a step, of the round where it was least. Steps are scaled to those that were made.
    fn step(&self, around: usize, steps: u32) -> f64 {
        let at = around * steps as usize / 400;
        let width = (steps as usize / 8).max(1);
        let (from, to) = (at.saturating_sub(width), at);
        let mut least = Samples::default();
        for answered in &self.rounds {
            if let (Some(begin), Some(end)) = (answered.get(from), answered.get(to)) {
                least.add((end - begin) / f64::from(u32::try_from(to - from).unwrap_or(1)));
            }
        }
        least.least()
    }
}

/// A run of one agent, alone in its process.
pub fn part(dir: &str, url: &str, steps: &str) -> Result<(), BenchError> {
    let dir = Path::new(dir);
    let steps: u32 = steps.parse()?;
    let runtime = inside::runtime()?;
    let store = Store::open(&dir.join("state"))?;
    let limits = Limits { steps: steps + 2, ..Limits::default() };
    let text = "Read the note again and again.".to_owned();
    let spec = inside::spec("run_bench", Plan::default(), Some(text), limits);
    let answered = Arc::new(Mutex::new(Vec::new()));
    let heard = answered.clone();
    let began = Instant::now();
    let hears = Box::new(move |event: &fugato_engine::Event| {
        if matches!(event.kind, EventKind::ModelAnswered { .. }) {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(millis(began.elapsed()));
        }
    });
    let mut session = inside::create(&runtime, store, spec, inside::world(dir, url), hears)?;
    inside::drive(&runtime, &mut session)?;
    let answered_at = answered.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let outcome = Outcome { total_ms: millis(began.elapsed()), answered_at };
    tell(&serde_json::to_value(outcome)?)
}
