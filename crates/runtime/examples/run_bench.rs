//! Nodes per second of a run whose nodes do nothing: the cost of deciding, storing and folding, and nothing else.
//! `cargo xtask bench` calls it; arguments: numbers of nodes.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measuring program")]

use fugato_engine::{Event, Limits, Plan, PlanNode, Run, RunSpec, SkillPin, Work};
use fugato_runtime::models::{ModelSettings, Models};
use fugato_runtime::runs::{Session, World, load};
use fugato_runtime::store::{Reader, Store};
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let counts: Vec<u32> = std::env::args().skip(1).filter_map(|n| n.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![100, 1_000, 10_000, 100_000] } else { counts };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for count in counts {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let models = Models::from_env(&|_| None, ModelSettings::default());
        let here = dir.path().to_owned();
        let world = World::new(models, here.clone(), here.clone(), here, std::iter::empty());
        let started = Instant::now();
        let mut session = {
            let _inside = runtime.enter();
            Session::create(store, spec(count), Arc::new(world), Box::new(|_| {})).unwrap()
        };
        let (_controls, inbox) = tokio::sync::mpsc::channel(1);
        runtime.block_on(session.drive(inbox)).unwrap();
        let took = started.elapsed();
        assert_eq!(session.run().status(), "complete");
        drop(session);
        let began = Instant::now();
        let reader = Reader::open(dir.path()).unwrap().unwrap();
        let events: Vec<Event> = load(&reader, "run_bench").unwrap();
        let replayed = Run::replay(&events).unwrap();
        assert_eq!(replayed.status(), "complete");
        println!(
            "{count:>7} nodes: {:>8.1} ms, {:>7.0} nodes/s durable; {} events replayed in {:.1} ms",
            took.as_secs_f64() * 1e3,
            f64::from(count) / took.as_secs_f64(),
            events.len(),
            began.elapsed().as_secs_f64() * 1e3
        );
    }
}

/// A random graph: each node waits for up to two earlier ones. The same on every machine.
fn spec(count: u32) -> RunSpec {
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = |below: u32| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        u32::try_from(seed % u64::from(below.max(1))).unwrap()
    };
    let nodes = (0..count).map(|at| {
        let mut after: Vec<u32> = (0..random(3)).filter(|_| at > 0).map(|_| random(at)).collect();
        after.sort_unstable();
        after.dedup();
        PlanNode {
            id: format!("n{at}"),
            phase: 0,
            after,
            work: Work::Noop,
            output: None,
            requires: Vec::new(),
            optional: false,
            fallback_inline: false,
            on_error: None,
        }
    });
    RunSpec {
        id: "run_bench".into(),
        skill: SkillPin { name: "bench".into(), dir: String::new(), digest: None },
        title: "bench".into(),
        plan: Plan { phases: Vec::new(), nodes: nodes.collect() },
        limits: Limits { concurrent: 1024, ..Limits::default() },
        model: "echo".into(),
        ..RunSpec::default()
    }
}
