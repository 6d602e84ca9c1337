//! `fugato go "TASK"`: a master agent that does the task, and delegates what others do better.

use super::models::{model_of_run, models};
use super::skills;
use super::start::{HowArgs, begin, hosts, world_of_spec};
use crate::agents::{AgentSelection, known_agents};
use crate::app::{App, SkillSelection};
use crate::error::{CliError, Outcome};
use crate::policy::AgentView;
use clap::Args;
use fugato_engine::{AgentType, Executor, Limits, Rate, Setting};
use fugato_model::words;
use fugato_runtime::agents::model_for;
use fugato_runtime::hosts::Host;
use fugato_runtime::models::Models;
use fugato_runtime::runs::{MASTER_STEPS, Started, Task, plan_task};
use std::collections::BTreeMap;

/// Give a task to a master agent.
#[derive(Debug, Args)]
pub struct GoArgs {
    /// The task, in your words; `-` reads it from the standard input
    #[arg(required = true)]
    task: Vec<String>,
    #[command(flatten)]
    how: HowArgs,
    /// What does the master's work: a model, or Claude Code or Codex as a child process
    #[arg(long, value_name = "HOST", default_value = "model")]
    agent_host: AgentHost,
    /// Start it and go on: it works in the background, and leaves questions open
    #[arg(long, conflicts_with_all = ["json", "jsonl"])]
    detach: bool,
    #[command(flatten)]
    view: AgentView,
    #[command(flatten)]
    selection: SkillSelection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AgentHost {
    Model,
    Claude,
    Codex,
}

impl AgentHost {
    pub fn host(self) -> Option<Host> {
        match self {
            Self::Model => None,
            Self::Claude => Some(Host::Claude),
            Self::Codex => Some(Host::Codex),
        }
    }

    /// An agent as a host's process.
    pub fn kind(self) -> Option<AgentType> {
        let (name, executor) = match self {
            Self::Model => return None,
            Self::Claude => ("host:claude", Executor::Claude),
            Self::Codex => ("host:codex", Executor::Codex),
        };
        Some(AgentType { executor, ..AgentType::named(name) })
    }

    /// The run's own model. A host brings its own; its subagents are asked of it, not of us.
    pub fn model(self, asked: Option<&str>, models: &Models, app: &App) -> Result<String, CliError> {
        match (self, asked) {
            (Self::Claude | Self::Codex, None) => {
                Ok(model_of_run(None, models, app).unwrap_or_else(|_| "echo".to_owned()))
            }
            (_, asked) => model_of_run(asked, models, app),
        }
    }
}

pub fn run(args: &GoArgs, app: &mut App) -> Outcome {
    let text = task_text(&args.task)?;
    if let Some(lacking) = args.agent_host.host().and_then(|host| hosts(app).lacks(host)) {
        return Err(CliError::not_found(lacking));
    }
    let models = models(app);
    let model = args.agent_host.model(args.how.model.as_deref(), &models, app)?;
    let visible = skills::visible(&args.view, &args.selection, app)?;
    let before = Limits { steps: MASTER_STEPS, ..Limits::default() };
    let types = kinds(args, &model, app)?;
    let started = Started {
        permissions: super::confine::permissions(app)?,
        rates: rates(&model, types.iter(), &models),
        model,
        limits: args.how.limits(&before)?,
        catalog: visible.catalog,
        visible: visible.names,
        sets: super::start::sets(&args.how.sets)?,
        ..Started::default()
    };
    let master = args.agent_host.kind();
    let task = Task { text, types, master, setting: setting(app) };
    let spec = plan_task(task, &started);
    let world = world_of_spec(&spec, models, &args.how.sandbox, app);
    begin(spec, world, &args.how, args.detach, app)
}

/// Prices of every model that may be asked: the master's, and those that kinds of agents name.
pub fn rates<'a>(
    model: &str,
    kinds: impl Iterator<Item = &'a AgentType>,
    models: &Models,
) -> BTreeMap<String, Rate> {
    let own = kinds.filter(|kind| kind.executor == Executor::Model).filter_map(|kind| kind.model.as_deref());
    let asked = own.chain([model]);
    asked.filter_map(|model| models.rate(model).map(|rate| (model.to_owned(), rate))).collect()
}

/// In a repository the master writes the code itself.
pub fn setting(app: &App) -> Setting {
    if app.places.is_in_a_repository() { Setting::Project } else { Setting::Global }
}

/// The kinds of agents that are known here; what is wrong with a file is said, and the others work.
fn kinds(args: &GoArgs, model: &str, app: &mut App) -> Result<Vec<AgentType>, CliError> {
    let selection = AgentSelection { profile: args.view.profile() };
    let known = known_agents(&selection, app)?;
    for problem in &known.diagnostics {
        let text = crate::render::report(problem, &app.out);
        app.out.aside(&text);
    }
    let with_model = |mut kind: AgentType| {
        kind.model = kind.model.map(|wanted| match kind.executor {
            Executor::Model => model_for(Some(&wanted), model),
            // A host's own words.
            _ => wanted,
        });
        kind
    };
    Ok(known.list().into_iter().map(with_model).collect())
}

fn task_text(given: &[String]) -> Result<String, CliError> {
    let text = match given {
        [one] if one == "-" => std::io::read_to_string(std::io::stdin()).map_err(|error| {
            CliError::failed(words!("cannot read the task: {error}", "无法读取任务：{error}"))
        })?,
        words => words.join(" "),
    };
    match text.trim() {
        "" => Err(CliError::usage(words!("the task is empty", "任务为空")).hint(words!(
            "for example: fugato go \"summarise README.md\"",
            "例如：fugato go \"总结 README.md\""
        ))),
        text => Ok(text.to_owned()),
    }
}
