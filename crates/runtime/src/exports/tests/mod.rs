//! The files as other programs find them: exact, whatever happens to the process, the clock or the files themselves.

mod called;
mod content;
mod damage;
mod intake;
mod killed;
mod live;

use super::files::Files;
use super::fold::Owner;
use super::writer::Writer;
use crate::runs::encode;
use crate::store::{Batch, NewRun, Owner as Process, Reader, RunStatus, RunSummary, Store};
use fugato_engine::{
    Access, AgentPath, By, EffectClass, Event, EventKind, Limits, Phase, Plan, PlanNode, RunSpec, SkillPin,
    Work,
};
use std::collections::BTreeMap;
use std::path::Path;

pub fn node(id: &str, phase: u32, after: &[u32], work: Work) -> PlanNode {
    PlanNode {
        id: id.to_owned(),
        phase,
        after: after.to_vec(),
        work,
        output: None,
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    }
}

pub fn agent_work() -> Work {
    Work::Agent {
        agent_type: "explore".into(),
        access: Access::ReadOnly,
        skill: "_sub/write".into(),
        instructions: "Write.".into(),
        args: Default::default(),
        relevant: Vec::new(),
        schema: None,
        model: None,
    }
}

pub fn script_work() -> Work {
    Work::Script {
        skill: "_sub/fetch".into(),
        dir: None,
        relevant: Vec::new(),
        entry: "scripts/main.sh".into(),
        class: EffectClass::Read,
        instructions: String::new(),
        args: Default::default(),
    }
}

pub fn spec(id: &str, phases: &[&str], nodes: Vec<PlanNode>) -> RunSpec {
    let phase = |name: &&str| Phase {
        name: (*name).to_owned(),
        parallel: false,
        depends_on: Vec::new(),
        within: None,
    };
    RunSpec {
        id: id.to_owned(),
        skill: SkillPin { name: "brief".into(), dir: String::new(), digest: None },
        title: "brief".into(),
        plan: Plan { phases: phases.iter().map(phase).collect(), nodes },
        model: "echo".into(),
        ..RunSpec::default()
    }
}

/// Events of a log, a second apart from 2026-02-15T08:00:00Z on.
pub const BEGAN: i64 = 1_771_142_400_000;

pub fn log(kinds: Vec<EventKind>) -> Vec<Event> {
    let event = |(seq, kind): (u64, EventKind)| {
        let at = BEGAN + 1000 * i64::try_from(seq - 1).unwrap();
        Event { v: Event::VERSION, seq, at, by: By::User, kind }
    };
    (1..).zip(kinds).map(event).collect()
}

pub fn created(spec: RunSpec) -> EventKind {
    EventKind::RunCreated { spec: std::sync::Arc::new(spec) }
}

pub fn agent_started(id: &str, node: Option<u32>) -> EventKind {
    EventKind::AgentStarted {
        agent: AgentPath::new(id),
        node,
        agent_type: "explore".into(),
        access: Access::ReadOnly,
        model: "echo".into(),
        system: String::new(),
        prompt: "Do it.".into(),
        delegated: None,
    }
}

/// A run in the store with these events; nobody holds it afterwards.
pub fn store_log(store: &Store, events: &[Event]) {
    let EventKind::RunCreated { spec } = &events[0].kind else { panic!("a log begins with run.created") };
    store
        .create_run(NewRun {
            id: spec.id.clone(),
            status: RunStatus::Running,
            skill: None,
            title: None,
            created_at: events[0].at,
            parent: None,
            events: vec![encode(&events[0], store).unwrap()],
        })
        .unwrap();
    append(store, &spec.id, &events[1..]);
}

pub fn append(store: &Store, run: &str, events: &[Event]) {
    let Some(first) = events.first() else { return };
    let lease = store.acquire(run, &Process::this_process()).unwrap();
    let batch = Batch {
        run: run.to_owned(),
        epoch: lease.epoch,
        first_seq: first.seq,
        events: events.iter().map(|event| encode(event, store).unwrap()).collect(),
        summary: Some(RunSummary { status: RunStatus::Running, title: None, updated_at: 0, details: None }),
        answers: Vec::new(),
    };
    store.append(batch).wait().unwrap();
    lease.release().unwrap();
}

/// Writes everything the store has of a run, as a session at work would.
pub(super) fn export(state: &Path, run: &str, owner: Owner) {
    let reader = Reader::open(state).unwrap().unwrap();
    let mut writer = Writer::new(run, Files::open(&state.join("runs").join(run)).unwrap());
    writer.pass(&reader, owner, None).unwrap();
    writer.sync();
}

/// The same with its owner at work.
pub fn export_live(state: &Path, run: &str) {
    export(state, run, Owner::Here);
}

/// Every file below a directory with its content; what is hidden is not part of the exports.
pub fn tree(dir: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        // A process that was killed early has written none.
        for entry in std::fs::read_dir(next).into_iter().flatten().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_name().to_str().unwrap().starts_with('.') {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                files.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
    }
    files
}

/// What the files must be: made from the log alone, in a place nobody touched.
pub(super) fn expected(state: &Path, run: &str, owner: Owner) -> BTreeMap<String, String> {
    let fresh = tempfile::tempdir().unwrap();
    let reader = Reader::open(state).unwrap().unwrap();
    Writer::new(run, Files::stage(fresh.path())).pass(&reader, owner, None).unwrap();
    tree(fresh.path())
}
