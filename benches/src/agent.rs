//! One agent and hundreds of tool calls: is the four-hundredth step as cheap as the fiftieth?

use crate::bare::{Outcome, cpu, tell};
use crate::figure::{Figure, Samples, millis};
use crate::inside;
use crate::place::{Bench, BenchError, fresh, told};
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
    let (mut ours, mut bare, mut kept) = (Side::default(), Side::default(), Side::default());
    for _ in 0..bench.sizes.rounds {
        let dir = fresh(&room)?;
        std::fs::copy(room.join("note.txt"), dir.join("note.txt"))?;
        let mut command = Command::new(&bench.own);
        ours.add(told(command.arg("agent").arg(&dir).args([&url, &steps.to_string()]))?, steps)?;
        for (part, side) in [("bare-agent", &mut bare), ("bare-agent-journal", &mut kept)] {
            let mut command = bench.bare_command(&room);
            side.add(told(command.args([part, &url]).arg(bench.tools()).arg("note.txt"))?, steps)?;
        }
    }
    let (early, late) = (ours.step(50, steps), ours.step(400, steps));
    let own = |ours: f64, bare: f64| Figure::of("", "ms", ours - bare);
    let early = own(early, bare.step(50, steps));
    let late = own(late, bare.step(400, steps));
    // Below nothing, where the bare program needs more than we do, is no growth.
    let flat = late.median.max(0.0) / early.median;
    Ok(vec![
        Figure::new(format!("one agent, {steps} tool calls"), "ms", &ours.total)
            .beside(&bare.total)
            .ratio_below(4.0)
            .note("two commits to the disk per step; the bare program keeps nothing"),
        Figure::new(format!("one agent, {steps} tool calls, beside one with a journal"), "ms", &ours.total)
            .beside(&kept.total)
            .note("the bare program with a line and an fdatasync for each answer and each result"),
        Figure::new(format!("one agent, {steps} tool calls, processor time"), "ms", &ours.cpu)
            .beside(&bare.cpu),
        Figure { name: "own processor time of a step, around step 50".into(), ..early },
        Figure { name: "own processor time of a step, around step 400".into(), ..late },
        Figure::of("own processor time of a step, step 400 to step 50", "×", flat)
            .below(1.3)
            .note("the bare program's for the same steps is subtracted; least of the rounds"),
    ])
}

/// One of the programs, over all rounds.
#[derive(Default)]
struct Side {
    total: Samples,
    cpu: Samples,
    rounds: Vec<Vec<f64>>,
}

impl Side {
    fn add(&mut self, told: serde_json::Value, steps: u32) -> Result<(), BenchError> {
        let told: Outcome = serde_json::from_value(told)?;
        if told.answered_at.len() != steps as usize + 1 {
            return Err(format!("{} answers instead of {}", told.answered_at.len(), steps + 1).into());
        }
        self.total.add(told.total_ms);
        self.cpu.add(told.cpu_at.last().copied().unwrap_or(f64::NAN));
        self.rounds.push(told.cpu_at);
        Ok(())
    }

    /// Processor time of one step in the hundred steps around a step (scaled to the steps that were made), of the round
    /// where it was least. Not wall time: that is the disk's, and the disk is shared.
    fn step(&self, around: usize, steps: u32) -> f64 {
        let at = around * steps as usize / 400;
        let width = (steps as usize / 8).max(1);
        let to = (at + width).min(steps as usize);
        let from = to.saturating_sub(2 * width);
        let mut least = Samples::default();
        for used in &self.rounds {
            if let (Some(begin), Some(end)) = (used.get(from), used.get(to)) {
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
    let answered = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let heard = answered.clone();
    let began = Instant::now();
    let hears = Box::new(move |event: &fugato_engine::Event| {
        if matches!(event.kind, EventKind::ModelAnswered { .. }) {
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.0.push(millis(began.elapsed()));
            heard.1.push(cpu());
        }
    });
    let mut session = inside::create(&runtime, store, spec, inside::world(dir, url), hears)?;
    inside::drive(&runtime, &mut session)?;
    let (answered_at, cpu_at) = answered.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let outcome = Outcome { total_ms: millis(began.elapsed()), answered_at, cpu_at };
    tell(&serde_json::to_value(outcome)?)
}
