//! Three phases, four calls, a model without latency: what a whole small run costs, cold and warm.

use crate::figure::{Figure, Samples, millis};
use crate::place::{Bench, BenchError, MODEL, timed};
use crate::{bare, inside, skills};
use fugato_engine::Limits;
use fugato_runtime::runs::{Started, plan_run};
use fugato_runtime::store::Store;
use std::path::Path;
use std::time::Instant;

const CALLS: u64 = 4;

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("dag")?;
    let skill = room.join("skills").join("bench");
    skills::four_calls(&skill)?;
    let (cold, first, bare_cold) = cold(bench, &room)?;
    let (warm, written, bare_warm) = warm(bench, &room, &skill)?;
    let overhead = warm.median() - bare_warm.median();
    Ok(vec![
        Figure::new("4-call DAG, cold process", "ms", &cold)
            .beside(&bare_cold)
            .below(40.0)
            .ratio_below(5.0)
            .note("`fugato run` from start to exit, in a project that has runs"),
        Figure::new("4-call DAG, cold, first run of a project", "ms", &first)
            .beside(&bare_cold)
            .below(40.0)
            .ratio_below(5.0)
            .note("the same, and the store is made"),
        Figure::new("4-call DAG, warm, whole run", "ms", &warm).beside(&bare_warm),
        Figure::of("4-call DAG, warm, own cost", "ms", overhead)
            .below(5.0)
            .note("reading and planning the skill included; the bare program's median subtracted"),
        Figure::new("4-call DAG, warm, until its files are written too", "ms", &written)
            .note("the files for other programs, which a run's end does not wait for"),
    ])
}

/// Whole processes, in turns.
fn cold(bench: &Bench, room: &Path) -> Result<(Samples, Samples, Samples), BenchError> {
    let (mut again, mut first, mut bare) = (Samples::default(), Samples::default(), Samples::default());
    let url = bench.answering();
    let run = |harness: &Path| {
        let mut command = bench.command(room, &url);
        command.env("HARNESS_DIR", harness).args(["run", "./skills/bench"]);
        timed(&mut command)
    };
    let kept = room.join("state");
    run(&kept)?;
    let before = bench.requests()?;
    for round in 0..bench.sizes.starts {
        again.add_millis(run(&kept)?);
        let mut command = bench.bare_command(room);
        bare.add_millis(timed(command.arg("bare-dag").arg(&url).arg(bench.tools()))?);
        let fresh = room.join(format!("state-{round}"));
        first.add_millis(run(&fresh)?);
        std::fs::remove_dir_all(fresh)?;
    }
    let made = bench.requests()? - before;
    let expected = 3 * CALLS * u64::try_from(bench.sizes.starts)?;
    if made != expected {
        return Err(format!("{made} calls were made, {expected} were expected").into());
    }
    Ok((again, first, bare))
}

/// Many runs in one process and one store, beside many rounds of calls with one client.
fn warm(bench: &Bench, room: &Path, skill: &Path) -> Result<(Samples, Samples, Samples), BenchError> {
    let runtime = inside::runtime()?;
    let url = bench.answering();
    let tools: serde_json::Value = serde_json::from_slice(&std::fs::read(bench.tools())?)?;
    let client = bare::client();
    let store = Store::open(&room.join("warm"))?;
    let found = fugato_runtime::discover_paths(&[skill.to_owned()]).inventory;
    let installed = found.all().first().cloned().ok_or("the skill was not found")?;
    let world = inside::world(skill, &url);
    let (mut ours, mut written, mut bare) = (Samples::default(), Samples::default(), Samples::default());
    for number in 0..bench.sizes.warm_runs {
        let began = Instant::now();
        let started = Started { model: MODEL.into(), limits: Limits::default(), ..Started::default() };
        let (mut spec, _) = plan_run(&installed, &started).map_err(|error| format!("{error:?}"))?;
        spec.id = format!("run_{number}");
        let mut session = inside::create(&runtime, store.clone(), spec, world.clone(), Box::new(|_| {}))?;
        inside::drive(&runtime, &mut session)?;
        ours.add(millis(began.elapsed()));
        drop(session);
        written.add(millis(began.elapsed()));
        let began = Instant::now();
        runtime.block_on(bare::four_calls(&client, &url, &tools))?;
        bare.add(millis(began.elapsed()));
    }
    Ok((ours, written, bare))
}
