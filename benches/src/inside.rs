//! Runs inside this process: what the command line does around a session, without the command line.

use crate::BenchError;
use crate::place::MODEL;
use fugato_engine::{Event, Limits, Plan, RunSpec, SkillPin};
use fugato_runtime::models::{ModelSettings, Models};
use fugato_runtime::runs::{End, Notice, Session, World};
use fugato_runtime::store::Store;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

pub fn runtime() -> Result<Runtime, BenchError> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

pub fn world(dir: &Path, url: &str) -> Arc<World> {
    let env = |name: &str| (name == "FUGATO_OPENAI_COMPATIBLE_URL").then(|| url.into());
    let models = Models::from_env(&env, ModelSettings::default());
    let scratch = dir.join("scratch");
    Arc::new(World::new(models, dir.to_owned(), dir.to_owned(), scratch, std::iter::empty()))
}

/// Hears every event that was stored.
pub type Hears = Box<dyn FnMut(&Event) + Send>;

pub fn create(
    runtime: &Runtime,
    store: Store,
    spec: RunSpec,
    world: Arc<World>,
    hears: Hears,
) -> Result<Session, BenchError> {
    let _inside = runtime.enter();
    Ok(Session::begin(store, spec, world, watcher(hears))?)
}

fn watcher(mut hears: Hears) -> Box<dyn FnMut(Notice) + Send> {
    Box::new(move |notice| {
        if let Notice::Event(event) = notice {
            hears(&event);
        }
    })
}

pub fn drive(runtime: &Runtime, session: &mut Session) -> Result<(), BenchError> {
    let (_controls, inbox) = mpsc::channel(1);
    let end = runtime.block_on(session.drive(inbox))?;
    let status = session.run().status();
    if end != End::Ended || status != "complete" {
        return Err(format!("the run ended as `{status}`: {:?}", session.run().ended).into());
    }
    Ok(())
}

pub fn spec(id: &str, plan: Plan, single: Option<String>, limits: Limits) -> RunSpec {
    RunSpec {
        id: id.to_owned(),
        skill: SkillPin { name: "bench".into(), dir: String::new(), digest: None },
        title: "bench".into(),
        plan,
        single,
        limits,
        model: MODEL.into(),
        ..RunSpec::default()
    }
}
