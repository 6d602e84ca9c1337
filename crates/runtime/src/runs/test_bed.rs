//! A small real run for tests: real store, real processes, a scripted model, and counters in the project.

use super::{Control, End, Notice, RunError, Session, World};
use crate::models::{ModelSettings, Models};
use crate::store::{Reader, Store};
use fugato_engine::{Access, EffectClass, Event, Input, Phase, Plan, PlanNode, Run, RunSpec, SkillPin, Work};
use fugato_skill::interpolate::Template;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A project with a skill, a model and a state directory; gone when dropped.
pub struct Bed {
    pub room: tempfile::TempDir,
}

/// What became of a session, and every event it acknowledged.
pub struct Driven {
    pub end: Result<End, RunError>,
    pub acked: Vec<Event>,
    pub run: Run,
}

impl Bed {
    /// The model answers every agent with a text too long for the log itself.
    pub fn new() -> Self {
        let room = tempfile::tempdir().unwrap();
        let bed = Self { room };
        std::fs::create_dir_all(bed.path("project")).unwrap();
        let long = "长".repeat(3_000);
        let model = format!(
            "- when: {{agent: main, step: 1}}\n  tools: [{{name: ask_user, arguments: {{question: 名字}}}}]\n\
             - when: {{agent: main}}\n  tools: [{{name: submit_result, arguments: {{result: {{NAME: 林}}}}}}]\n\
             - when: {{}}\n  reply: '{{\"text\": \"{long}\"}}'\n  usage: {{input_tokens: 7, output_tokens: 3}}\n"
        );
        std::fs::write(bed.path("model.yaml"), model).unwrap();
        for name in ["one", "two", "three", "once"] {
            bed.script(name, &format!("echo '{{\"by\": \"{name}\"}}'"));
        }
        bed
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// A script that counts itself, in the project, before anything else.
    pub fn script(&self, name: &str, body: &str) {
        let file = self.path("skill").join(name).join("main.sh");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let counter = self.path("project/counter").display().to_string();
        std::fs::write(&file, format!("#!/bin/sh\necho {name} >> '{counter}'\n{body}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// How often a script was begun, ever.
    pub fn times(&self, name: &str) -> usize {
        let counted = std::fs::read_to_string(self.path("project/counter")).unwrap_or_default();
        counted.lines().filter(|line| *line == name).count()
    }

    pub fn world(&self) -> Arc<World> {
        Arc::new(World::new(
            Models::from_env(&|_| None, ModelSettings::default()),
            self.path("skill"),
            self.path("project"),
            self.path("scratch"),
            [("PATH".into(), std::env::var_os("PATH").unwrap_or_default())].into_iter(),
        ))
    }

    pub fn spec(&self, nodes: Vec<PlanNode>) -> RunSpec {
        RunSpec {
            id: "run_bed".into(),
            skill: SkillPin {
                name: "bed".into(),
                dir: self.path("skill").display().to_string(),
                digest: None,
            },
            title: "bed".into(),
            plan: Plan {
                phases: vec![Phase {
                    name: "p".into(),
                    parallel: true,
                    depends_on: Vec::new(),
                    within: None,
                }],
                nodes,
            },
            context: BTreeMap::from([("TODAY".to_owned(), "2026-02-14".into())]),
            model: format!("script:{}", self.path("model.yaml").display()),
            ..RunSpec::default()
        }
    }

    pub async fn create(&self, store: Store, spec: RunSpec) -> Result<Driven, RunError> {
        let (watcher, acked) = watcher();
        let session = Session::create(store, spec, self.world(), watcher)?;
        Ok(drive(session, acked).await)
    }

    pub async fn begin(&self, store: Store, spec: RunSpec) -> Result<Driven, RunError> {
        let (watcher, acked) = watcher();
        let session = Session::begin(store, spec, self.world(), watcher)?;
        Ok(drive(session, acked).await)
    }

    pub async fn resume(&self, store: Store, inputs: Vec<Input>) -> Result<Driven, RunError> {
        let (watcher, acked) = watcher();
        let mut session = Session::resume(store, &self.state(), "run_bed", self.world(), watcher)?;
        inputs.into_iter().for_each(|input| session.tell(input));
        Ok(drive(session, acked).await)
    }

    pub fn reader(&self) -> Reader {
        Reader::open(&self.state()).unwrap().unwrap()
    }
}

type Acked = Arc<Mutex<Vec<Event>>>;

fn watcher() -> (Box<dyn FnMut(Notice) + Send>, Acked) {
    let acked = Acked::default();
    let seen = acked.clone();
    let watcher = move |notice| {
        if let Notice::Event(event) = notice {
            seen.lock().unwrap().push((*event).clone());
        }
    };
    (Box::new(watcher), acked)
}

async fn drive(mut session: Session, acked: Acked) -> Driven {
    let (_controls, inbox) = tokio::sync::mpsc::channel::<Control>(1);
    let end = session.drive(inbox).await;
    let run = session.run().clone();
    let acked = acked.lock().unwrap().clone();
    Driven { end, acked, run }
}

pub fn node(id: &str, after: &[u32], work: Work, output: Option<&str>) -> PlanNode {
    PlanNode {
        id: id.into(),
        phase: 0,
        after: after.to_vec(),
        work,
        output: output.map(str::to_owned),
        requires: Vec::new(),
        optional: false,
        fallback_inline: false,
        on_error: None,
    }
}

pub fn script(name: &str, class: EffectClass) -> Work {
    Work::Script {
        skill: name.into(),
        dir: None,
        relevant: Vec::new(),
        entry: "main.sh".into(),
        class,
        instructions: "do".into(),
        args: template(""),
    }
}

pub fn agent() -> Work {
    Work::Agent {
        agent_type: "explore".into(),
        access: Access::ReadOnly,
        skill: "one".into(),
        instructions: "do".into(),
        args: template(""),
        relevant: Vec::new(),
        schema: None,
        model: None,
    }
}

pub fn inline(sets: &str) -> Work {
    Work::Inline { section: template("Ask."), sets: vec![sets.into()] }
}

fn template(text: &str) -> Template {
    Template::parse(text, 0).unwrap()
}

/// Three programs, a model with a long answer and a joint: every kind of write a run makes.
pub fn small() -> Vec<PlanNode> {
    vec![
        node("one", &[], script("one", EffectClass::Read), Some("ONE")),
        node("two", &[], script("two", EffectClass::Idempotent), Some("TWO")),
        node("once", &[0], script("once", EffectClass::Once), Some("ONCE")),
        node("write", &[1, 2], agent(), Some("TEXT")),
        node("three", &[3], script("three", EffectClass::Read), Some("THREE")),
    ]
}

/// Is this process still there, not counting a zombie?
pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}
