//! The dashboard of a long run: how long until `fugato status` has answered, its own start included? Beside a bare program
//! start, because most of it is that.

use crate::figure::{Figure, Samples};
use crate::place::{Bench, BenchError, timed};
use fugato_engine::{Access, AgentPath, By, Event, EventKind, Phase, Plan, PlanNode, RunSpec, Work};
use fugato_runtime::exports::Exporter;
use fugato_runtime::runs::encode;
use fugato_runtime::store::{Batch, NewRun, Owner, RunStatus, RunSummary, Store};
use std::sync::Arc;

const AGENTS: u32 = 100;
const RUN: &str = "run_long";

pub fn measure(bench: &Bench) -> Result<Vec<Figure>, BenchError> {
    let room = bench.room("status")?;
    let state = room.join("state");
    let events = u64::from(bench.sizes.runs) * u64::from(bench.sizes.events_per_run) / 10;
    let store = Store::open(&state)?;
    // Held by this process, which lives: the run is at work.
    let lease = fill(&store, events)?;
    drop(Exporter::start(&state, RUN, AGENTS as usize, |_| {}));
    let look = |arguments: &[&str]| timed(bench.command(&room, "").args(arguments));
    let (mut text, mut json, mut start) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..bench.sizes.starts {
        start.add_millis(look(&["version"])?);
        text.add_millis(look(&["status"])?);
        json.add_millis(look(&["status", "--json"])?);
    }
    std::fs::remove_dir_all(state.join("runs"))?;
    let mut folded = Samples::default();
    for _ in 0..bench.sizes.rounds {
        folded.add_millis(look(&["status", "--run", RUN])?);
    }
    drop(lease);
    Ok(vec![
        Figure::new("`status` of a long run", "ms", &text)
            .beside(&start)
            .below(20.0)
            .note(format!("{AGENTS} agents, {events} events, at work; beside it: `version`")),
        Figure::new("`status --json`", "ms", &json).below(20.0),
        Figure::new("`status` without the run's files", "ms", &folded).note("the whole log is folded"),
    ])
}

fn fill(store: &Store, count: u64) -> Result<fugato_runtime::store::Lease, BenchError> {
    let spec = Arc::new(spec());
    let at = |seq: u64, kind| Event {
        v: Event::VERSION,
        seq,
        at: 1_771_142_400_000 + i64::try_from(seq).unwrap_or(0) * 10,
        by: By::Agent,
        kind,
    };
    let created = at(1, EventKind::RunCreated { spec });
    let new = NewRun {
        id: RUN.to_owned(),
        status: RunStatus::Running,
        skill: Some("bench".to_owned()),
        title: Some("bench".to_owned()),
        created_at: created.at,
        parent: None,
        events: vec![encode(&created, store)?],
    };
    let lease = store.create_owned_run(new, &Owner::this_process())?;
    let kinds = (0..AGENTS).map(started).chain((0..).map(happened));
    let events: Vec<Event> =
        (2..=count.max(u64::from(AGENTS) + 2)).zip(kinds).map(|(seq, kind)| at(seq, kind)).collect();
    for part in events.chunks(500) {
        let encoded = part.iter().map(|event| encode(event, store)).collect::<Result<_, _>>()?;
        let updated_at = part.last().map_or(0, |event| event.at);
        drop(store.append(Batch {
            run: RUN.to_owned(),
            epoch: lease.epoch,
            first_seq: part.first().map_or(0, |event| event.seq),
            events: encoded,
            summary: Some(RunSummary { status: RunStatus::Running, title: None, updated_at, details: None }),
            answers: Vec::new(),
        }));
    }
    // Waits for all of them.
    lease.renew()?;
    Ok(lease)
}

fn spec() -> RunSpec {
    let work = || Work::Agent {
        agent_type: "explore".into(),
        access: Access::ReadOnly,
        skill: "_sub/look".into(),
        instructions: "Look.".into(),
        args: Default::default(),
        relevant: Vec::new(),
        schema: None,
        model: None,
    };
    let node = |at: u32| PlanNode {
        id: format!("look/{at}"),
        phase: 0,
        after: if at > 0 && at.is_multiple_of(3) { vec![at - 1] } else { Vec::new() },
        work: work(),
        output: None,
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    };
    let phases = vec![Phase { name: "look".into(), parallel: true, depends_on: Vec::new(), within: None }];
    let plan = Plan { phases, nodes: (0..AGENTS).map(node).collect() };
    RunSpec { id: RUN.into(), title: "bench".into(), plan, model: "echo".into(), ..RunSpec::default() }
}

fn started(at: u32) -> EventKind {
    EventKind::AgentStarted {
        agent: AgentPath::new(&format!("look/{at}")),
        node: Some(at),
        agent_type: "explore".into(),
        access: Access::ReadOnly,
        model: "echo".into(),
        system: String::new(),
        prompt: "Look at it.".into(),
        delegated: None,
    }
}

fn happened(at: u32) -> EventKind {
    let (agent, step, content) = (at % AGENTS, at / AGENTS + 1, "结果 result ".repeat(12));
    EventKind::ToolCompleted { agent, step, index: 0, content, is_error: false }
}
