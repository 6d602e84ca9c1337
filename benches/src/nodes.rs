//! Nodes that do nothing, thousands of them: deciding, storing and folding, and nothing else. Also what happens to the
//! rest when one node is slow, and how soon a killed run goes on.

use crate::bare::tell;
use crate::figure::{Figure, Samples, millis};
use crate::inside;
use crate::journal::{CONCURRENT, graph};
use crate::place::{Bench, BenchError, fresh, timed, told};
use crate::skills::{self, STRAGGLER_CHAIN};
use fugato_engine::{Limits, Plan, PlanNode, Work};
use fugato_runtime::store::{Reader, RunFilter, Store};
use serde_json::json;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUN: &str = "run_bench";

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("nodes")?;
    let count = bench.sizes.nodes;
    let (mut ours, mut bare, mut least) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..bench.sizes.rounds {
        ours.add(once(&room, "nodes", &bench.own, count)?);
        bare.add(once(&room, "bare-journal", &bench.bare, count)?);
        least.add(once(&room, "bare-loop", &bench.bare, count)?);
    }
    let mut figures = vec![
        Figure::new(format!("{count} nodes of a random graph"), "ms", &ours)
            .beside(&bare)
            .ratio_below(2.5)
            .note("from creating the run to its end, every event durable; bare: a tokio task per node"),
        Figure::new(format!("{count} nodes, beside a loop without tasks"), "ms", &ours).beside(&least),
    ];
    let mut costs = Vec::new();
    for count in bench.sizes.node_counts {
        let mut cost = Samples::default();
        for _ in 0..bench.sizes.rounds.min(if count > 50_000 { 3 } else { 7 }) {
            cost.add(once(&room, "nodes", &bench.own, count)? * 1e3 / f64::from(count));
        }
        figures.push(Figure::new(format!("cost per node, {count} nodes"), "µs", &cost));
        costs.push(cost.least());
    }
    // The smallest has the fixed cost of creating a run in it, which is not a cost of nodes.
    let flat = match costs.as_slice() {
        [_, thousand, .., most] => most / thousand,
        _ => f64::NAN,
    };
    let [_, from, .., to] = bench.sizes.node_counts;
    figures.push(Figure::of(format!("cost per node, {to} to {from}"), "×", flat).below(1.3));
    Ok(figures)
}

fn once(room: &Path, part: &str, program: &Path, count: u32) -> Result<f64, BenchError> {
    let dir = fresh(room)?;
    let mut command = Command::new(program);
    let answer = told(command.arg(part).arg(&dir).arg(count.to_string()).current_dir(room))?;
    answer.get("total_ms").and_then(serde_json::Value::as_f64).ok_or_else(|| "no time was told".into())
}

fn plan(count: u32) -> Plan {
    let node = |(at, after): (usize, Vec<u32>)| PlanNode {
        id: format!("n{at}"),
        phase: 0,
        after,
        work: Work::Noop,
        output: None,
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    };
    Plan { phases: Vec::new(), nodes: graph(count).into_iter().enumerate().map(node).collect() }
}

/// A whole run, alone in its process.
pub fn part(dir: &str, count: &str) -> Result<(), BenchError> {
    let dir = Path::new(dir);
    let plan = plan(count.parse()?);
    let runtime = inside::runtime()?;
    let store = Store::open(&dir.join("state"))?;
    let limits = Limits { concurrent: CONCURRENT, ..Limits::default() };
    let spec = inside::spec(RUN, plan, None, limits);
    let began = Instant::now();
    let mut session = inside::create(&runtime, store, spec, inside::world(dir, ""), Box::new(|_| {}))?;
    inside::drive(&runtime, &mut session)?;
    tell(&json!({"total_ms": millis(began.elapsed())}))
}

pub fn straggler(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("straggler")?;
    let slow = bench.sizes.straggler_ms;
    skills::straggler(&room.join("skills/bench"), slow)?;
    let url = bench.answering();
    let run = || timed(bench.command(&room, &url).args(["run", "./skills/bench"]));
    run()?;
    let (mut ours, mut bare, mut ideal) = (Samples::default(), Samples::default(), Samples::default());
    ideal.add(f64::from(slow + slow / STRAGGLER_CHAIN));
    for _ in 0..bench.sizes.rounds {
        ours.add_millis(run()?);
        let mut command = bench.bare_command(&room);
        command.args(["bare-chains", &url]).arg(bench.tools()).arg(slow.to_string());
        bare.add_millis(timed(&mut command)?);
    }
    Ok(vec![
        Figure::new("two chains, one straggler, beside the ideal", "ms", &ours)
            .beside(&ideal)
            .ratio_below(1.1)
            .note("a cold process; the ideal is the waits of the longer chain, and no program"),
        Figure::new("two chains, one straggler, beside the bare program", "ms", &ours).beside(&bare),
    ])
}

/// A run is killed in the middle; then the real program takes it over.
pub fn resume(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("resume")?;
    let mut first_work = Samples::default();
    for _ in 0..bench.sizes.rounds {
        let dir = fresh(&room)?;
        killed(bench, &dir)?;
        first_work.add_millis(until_new_work(bench, &dir)?);
    }
    let count = long(bench);
    Ok(vec![
        Figure::new(format!("resume of a killed run of {count} nodes, until new work"), "ms", &first_work)
            .below(200.0)
            .note("`fugato resume` from process start to its first event of a node"),
    ])
}

/// Nodes of a run that has a middle: a few hundred that do nothing are one commit.
fn long(bench: &Bench) -> u32 {
    bench.sizes.nodes.max(10_000)
}

/// Leaves a run that was killed with about half of its events; asks again when it was too quick.
fn killed(bench: &Bench, dir: &Path) -> Result<(), BenchError> {
    let state = dir.join("state");
    for _ in 0..20 {
        let _ = std::fs::remove_dir_all(&state);
        let mut child = Command::new(&bench.own)
            .arg("nodes")
            .arg(dir)
            .arg(long(bench).to_string())
            .stdout(Stdio::null())
            .spawn()?;
        let half = u64::from(long(bench));
        let mut seen = 0;
        while child.try_wait()?.is_none() && seen < half {
            seen = last_seq(&state).unwrap_or(0);
            std::thread::sleep(Duration::from_micros(200));
        }
        child.kill()?;
        child.wait()?;
        let left = last_seq(&state).unwrap_or(0);
        if (half / 2..half * 2).contains(&left) {
            return Ok(());
        }
    }
    Err("no run could be killed in its middle".into())
}

fn last_seq(state: &Path) -> Option<u64> {
    let reader = Reader::open(state).ok()??;
    let rows = reader.runs(&RunFilter::default()).ok()?;
    rows.first().map(|row| row.last_seq)
}

fn until_new_work(bench: &Bench, dir: &Path) -> Result<Duration, BenchError> {
    let began = Instant::now();
    let mut command = bench.command(dir, &bench.answering());
    let mut child = command.args(["resume", RUN, "--jsonl"]).stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().ok_or("no output")?;
    let mut took = None;
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        if took.is_none() && line.contains("\"node.") {
            took = Some(began.elapsed());
        }
    }
    let status = child.wait()?;
    match took {
        Some(took) if status.success() => Ok(took),
        _ => Err(format!("resume ended with {status} and {took:?}").into()),
    }
}
