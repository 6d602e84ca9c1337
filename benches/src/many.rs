//! Hundreds of agents at once, and a model that takes its time: does anything but the model take time, and what does an
//! agent weigh?

use crate::figure::{Figure, Samples};
use crate::place::{Bench, BenchError, peak_of, timed};
use crate::skills;
use std::process::Command;

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("many")?;
    let (count, latency) = (bench.sizes.agents, bench.sizes.latency_ms);
    skills::many(&room.join("skills/many"), count)?;
    skills::many(&room.join("skills/one"), 1)?;
    let url = bench.waiting(latency);
    let ours = |skill: &str| -> Command {
        let mut command = bench.command(&room, &url);
        command.args(["run", skill, "--concurrent", &count.to_string()]);
        command
    };
    let bare = |count: u32| -> Command {
        let mut command = bench.bare_command(&room);
        command.args(["bare-many", &url]).arg(bench.tools()).arg(count.to_string());
        command
    };
    timed(&mut ours("./skills/one"))?;
    let (mut wall, mut bare_wall) = (Samples::default(), Samples::default());
    let (mut weight, mut bare_weight) = (Samples::default(), Samples::default());
    let before = bench.requests()?;
    for _ in 0..bench.sizes.rounds {
        wall.add_millis(timed(&mut ours("./skills/many"))?);
        bare_wall.add_millis(timed(&mut bare(count))?);
    }
    let expected = 2 * u64::from(count) * u64::try_from(bench.sizes.rounds)?;
    let made = bench.requests()? - before;
    if made != expected {
        return Err(format!("{made} calls were made, {expected} were expected").into());
    }
    // Apart from the times: looking at a process slows it.
    for _ in 0..bench.sizes.rounds.min(5) {
        weight.add(each(peak_of(&mut ours("./skills/many"))?, peak_of(&mut ours("./skills/one"))?, count));
        bare_weight.add(each(peak_of(&mut bare(count))?, peak_of(&mut bare(1))?, count));
    }
    Ok(vec![
        Figure::new(format!("{count} agents at once, {latency} ms of latency"), "ms", &wall)
            .beside(&bare_wall)
            .ratio_below(1.6)
            .note("cold processes"),
        Figure::new("memory per agent", "KiB", &weight)
            .beside(&bare_weight)
            .below(64.0)
            .note(format!("peak RSS of {count} agents less that of one, divided")),
    ])
}

/// KiB of one of many.
fn each(many: u64, one: u64, count: u32) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "KiB of a process are far below 2^52")]
    let more = many.saturating_sub(one) as f64;
    more / f64::from(count.saturating_sub(1).max(1))
}
